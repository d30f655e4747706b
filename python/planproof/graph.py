"""What specifications and programs share: named tensors, and operators that define them."""
from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from planproof import signatures
from planproof.encoding import literal, number
from planproof.errors import PlanError
from planproof.relations import suggestion
from planproof.signatures import Signature
from planproof.source import Source, caller
from planproof.tensors import Operand, Tensor, TensorLike

#: Names for the outputs of an operator: one, or a list of which trailing ones may be left out.
Out = Union[str, Tensor, Sequence[Union[str, Tensor]], None]


class Graph:
    """Tensors by name and operators in order. Unknown attributes are operators:
    `graph.linear(x, w, out="y")` is `graph.op("linear", x, w, out="y")`."""

    title = "graph"

    def __init__(self) -> None:
        self._defined: Dict[str, Source] = {}
        self._implied: Set[str] = set()  # names that backward operators may give
        self._numbered: Set[str] = set()  # names that nobody chose
        self._last: Dict[str, int] = {}  # the number of the last one, by operator
        self._operators: List[Dict[str, Any]] = []
        self._definition: Dict[str, Dict[str, Any]] = {}  # of each output, the operator
        self._sources: Dict[Tuple[Any, ...], Source] = {}  # by position in the content
        self._declared: Dict[str, Tuple[Signature, ...]] = {}

    # Names

    def tensor(self, name: TensorLike) -> Tensor:
        """The tensor of that name."""
        return Tensor(self._name(name), self)

    def _knows(self, name: str) -> bool:
        return name in self._defined or name in self._implied

    def _fail(self, message: str) -> PlanError:
        return PlanError(message, caller())

    def _name(self, value: TensorLike) -> str:
        """The name of a tensor that is known here."""
        if isinstance(value, Tensor):
            if value.graph is not self:
                raise self._fail(self._foreign(value))
            return value.name
        if not isinstance(value, str):
            raise self._fail(f"a tensor or its name is expected, not {value!r}")
        if not self._knows(value):
            near = suggestion(value, [*self._defined, *self._implied])
            raise self._fail(f'"{value}" is not defined in {self.title}{near}')
        return value

    def _foreign(self, value: Tensor) -> str:
        return f'"{value.name}" is a tensor of {value.graph.title}, not of {self.title}'

    def _define(self, name: Union[str, Tensor], source: Source) -> Tensor:
        word = name.name if isinstance(name, Tensor) else name
        if not isinstance(word, str) or not word:
            raise PlanError(f"a name is expected, not {word!r}", source)
        if word in self._defined:
            first = self._defined[word]
            raise PlanError(f'"{word}" is already defined in {self.title}, at {first.locate("")}; '
                            "every name is defined once", source)
        self._defined[word] = source
        self._implied.discard(word)
        return Tensor(word, self)

    def _unused(self, stem: str) -> str:
        count = self._last.get(stem, 0) + 1
        while self._knows(f"{stem}.{count}"):
            count += 1
        self._last[stem] = count
        return f"{stem}.{count}"

    # Values

    def _operand(self, value: Operand) -> Any:
        if value is None:
            return None
        if isinstance(value, (Tensor, str)):
            return self._name(value)
        if not isinstance(value, bool) and isinstance(value, (numbers.Number, Decimal)):
            return self._value(value, literal)
        raise self._fail(f"an operand is a tensor, a name or a number, not {value!r}")

    def _value(self, value: Any, encode: Callable[[Any], Any]) -> Any:
        try:
            return encode(value)
        except (TypeError, ValueError) as error:
            raise self._fail(str(error)) from None

    def _attribute(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (list, tuple)):
            return [self._attribute(entry) for entry in value]
        return self._value(value, number)

    # Operators

    def _forms(self, operator: str) -> Tuple[Signature, ...]:
        return self._declared.get(operator) or signatures.builtin(operator)

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if operator.startswith("_"):
            raise AttributeError(operator)
        known = signatures.builtin_names()
        if known is not None and operator not in known and operator not in self._declared:
            near = suggestion(operator, [*known, *self._declared])
            raise _UnknownOperator(f'no operator "{operator}" is declared{near}', caller())

        def call(*operands: Operand, **keywords: Any) -> Any:
            return self.op(operator, *operands, **keywords)

        call.__name__ = operator
        return call

    def op(self, operator: str, *operands: Any, out: Out = None, name: Optional[str] = None,
           attrs: Optional[Mapping[str, Any]] = None, note: Optional[str] = None,
           **attributes: Any) -> Any:
        """Adds an operator. Operands are tensors, names, numbers (a Fraction is exact) or None;
        keywords are attributes. Gives its output, or a tuple if there are several."""
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        content: Dict[str, Any] = {"op": operator}
        reads = [self._operand(value) for value in operands]
        content["in"] = reads[0] if len(reads) == 1 else reads
        values = {key: self._attribute(value)
                  for key, value in {**(attrs or {}), **attributes}.items()}
        form = self._form(operator, reads, values)
        content["out"] = self._names(out, operator, self._count(form, values))
        if values:
            content["attrs"] = values
        return self._add(content, name, note)

    def _form(self, operator: str, reads: List[Any], values: Dict[str, Any]) -> Optional[Signature]:
        """The overload that is called; None if nothing is known of the operator."""
        forms = self._forms(operator)
        fitting = [form for form in forms if form.accepts(len(reads))]
        if forms and not fitting:
            calls = " or ".join(dict.fromkeys(form.call() for form in forms))
            raise self._fail(f"{calls} is given {len(reads)} operand"
                             f"{'' if len(reads) == 1 else 's'}: {', '.join(map(str, reads))}")
        known = {key for form in forms for key in form.attributes}
        for key in values:
            if forms and key not in known:
                raise self._fail(f'{operator} has no attribute "{key}"{suggestion(key, known)}')
        return fitting[0] if fitting else None

    def _count(self, signature: Optional[Signature], values: Dict[str, Any]) -> int:
        if signature is None:
            return 1
        if signature.outputs is not None:
            return signature.outputs
        pieces = values.get("chunks", values.get("times", values.get("split_size_or_sections")))
        return pieces if isinstance(pieces, int) else len(pieces) if pieces else 1

    def _names(self, out: Out, stem: str, count: int) -> Union[str, List[str]]:
        if out is None:
            first = self._unused(stem)
            names = [first] if count == 1 else [f"{first}.{i}" for i in range(count)]
            self._numbered.update(names)
            return first if count == 1 else names
        if isinstance(out, (str, Tensor)):
            return str(out)
        return [str(name) for name in out]

    def _add(self, content: Dict[str, Any], name: Optional[str] = None,
             note: Optional[str] = None) -> Any:
        """Appends an operator whose outputs are named; defines them."""
        source = caller()
        names = [content["out"]] if isinstance(content["out"], str) else content["out"]
        outputs = [self._define(word, source) for word in names]
        for word in names:
            self._definition[word] = content
        if name is not None:
            content["name"] = name
        if note is not None:
            content["note"] = note
        content["source"] = str(source)
        self._record(content, source)
        return outputs[0] if isinstance(content["out"], str) else tuple(outputs)

    def _record(self, content: Dict[str, Any], source: Source) -> None:
        self._sources[("operators", len(self._operators))] = source
        self._operators.append(content)

    def declare(self, declarations: str) -> None:
        """Declares operators in the language of docs/operator-language.md."""
        self._declared.update(signatures.declared(declarations))
        self._keep_declarations(declarations.strip("\n").splitlines())

    def _keep_declarations(self, lines: List[str]) -> None:
        raise NotImplementedError


class _UnknownOperator(PlanError, AttributeError):
    """An AttributeError, too, so that hasattr() answers."""
