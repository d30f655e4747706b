"""Backward operators of a program."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Union

from planproof.collectives import Collectives
from planproof.relations import suggestion
from planproof.source import caller
from planproof.tensors import Operand, Tensor, TensorLike

#: Operands, or operands and names for their gradients.
Of = Union[Sequence[TensorLike], Mapping[Any, Any]]


class Differentiation(Collectives):
    """Derivatives of local operators, one by one or of everything between collectives."""

    def __init__(self) -> None:
        super().__init__()
        self._inputs: Dict[str, Any] = {}

    def gradients(self, outputs: Union[TensorLike, Sequence[TensorLike]],
                  grads: Union[TensorLike, Sequence[TensorLike]], of: Of) -> Any:
        """Reverse mode from `outputs`, whose gradients are `grads`, to the tensors in `of`: the
        backward operators in between, last one first, and the sums of what several consumers
        contribute. `of` may give names to the results: `{w: "grad.w"}`. A collective on the way
        whose result is not in `of` is an error: its backward collective is for the plan to say."""
        ends = [outputs] if isinstance(outputs, (str, Tensor)) else list(outputs)
        seeds = [grads] if isinstance(grads, (str, Tensor)) else list(grads)
        named = {self._name(key): str(value) for key, value in of.items()} \
            if isinstance(of, Mapping) else {self._name(key): None for key in of}
        if len(ends) != len(seeds):
            raise self._fail(f"{len(ends)} outputs, but {len(seeds)} gradients")
        known: Dict[str, List[Tensor]] = {}
        for end, seed in zip(ends, seeds):
            known.setdefault(self._name(end), []).append(self.tensor(seed))
        path = self._path(set(known), set(named))
        left = {name: len(terms) for name, terms in known.items()}
        for entry, operands in path:
            for name in operands:
                left[name] = left.get(name, 0) + 1
        missing = [name for name in named if name not in left]
        if missing:
            raise self._fail(f'"{missing[0]}" has no part in {", ".join(map(str, ends))}')
        for entry, operands in path:
            names = entry["out"] if isinstance(entry["out"], list) else [entry["out"]]
            given = {name: self._total(known[name], None) for name in names if name in known}
            known.update({name: [total] for name, total in given.items()})
            out = {name: named.get(name) if left[name] == 1 and named.get(name) else
                   self._gradient_name(name) for name in operands}
            results = self.backward(names[0], given, out)
            for name, result in zip(operands, results if isinstance(results, tuple)
                                    else [results]):
                known.setdefault(name, []).append(result)
        totals = tuple(self._total(known[name], word) for name, word in named.items())
        return totals[0] if len(totals) == 1 else totals

    def _total(self, terms: List[Tensor], name: Optional[str]) -> Tensor:
        total = terms[0]
        for index, term in enumerate(terms[1:], 2):
            total = self.op("add", total, term, out=name if index == len(terms) else None)
        return total

    def _path(self, ends: Set[str], starts: Set[str]) -> List[Any]:
        """The operators from `starts` to `ends`, last one first, each with its operands on the
        way."""
        needed = set(starts)
        for entry in self._operators:
            if "backward" not in entry and entry["op"] != "wait" and \
                    needed.intersection(self._operands(entry)):
                needed.update([entry["out"]] if isinstance(entry["out"], str) else entry["out"])
        path, reached = [], set(ends)
        for entry in reversed(self._operators):
            if "out" not in entry or "backward" in entry:
                continue
            names = [entry["out"]] if isinstance(entry["out"], str) else entry["out"]
            operands = [name for name in self._operands(entry) if name in needed]
            if not operands or not reached.intersection(names):
                continue
            if "over" in entry or entry["op"] in ("accumulate", "move"):
                if starts.issuperset(names):
                    continue
                raise self._fail(
                    f'{entry["op"]} ({names[0]}) is on the way: take gradients of {names[0]}, '
                    f"write the collective of its backward pass, and go on from {operands[0]}")
            path.append((entry, operands))
            reached.update(operands)
        return path

    def _operands(self, entry: Mapping[str, Any]) -> List[str]:
        """Tensors of which an operator has a derivative that is not zero by declaration."""
        listed = entry["in"] if isinstance(entry["in"], list) else [entry["in"]]
        forms = [] if "over" in entry else \
            [form for form in self._forms(entry["op"]) if form.accepts(len(listed))]
        if forms and forms[0].constant:
            return []
        words = forms[0].operands if forms and not forms[0].variadic else ()
        return list(dict.fromkeys(
            name for i, name in enumerate(listed) if isinstance(name, str)
            and not (i < len(words) and words[i] in forms[0].integers)))

    def backward(self, of: TensorLike,
                 grad: Union[TensorLike, Sequence[TensorLike], Mapping[Any, TensorLike],
                             None] = None,
                 out: Union[Mapping[Any, Any], Sequence[TensorLike], None] = None, *,
                 reads: Optional[Sequence[Operand]] = None, note: Optional[str] = None) -> Any:
        """The derivative of the local operator with that output (or name).

        `grad`: the gradient of its output, the gradients of its outputs, or a mapping of outputs
        to gradients; by default `grad.OUTPUT`. `out`: operands to names for their gradients, or a
        list of operands, whose gradients are then `grad.NAME`, or `d.NAME` for an input of the
        program; by default `grad.NAME` for every operand that is computed or a parameter.
        `reads`: tensors to read in place of the forward operator's operands."""
        word = str(of)
        forward = self._definition.get(word) or next(
            (entry for entry in self._operators if entry.get("name") == word), None)
        if forward is None or "backward" in forward:
            raise self._fail(f'no operator of {self.title} defines "{word}"'
                             f"{suggestion(word, self._definition)}")
        outputs = forward["out"] if isinstance(forward["out"], list) else [forward["out"]]
        content: Dict[str, Any] = {"backward": forward.get("name", outputs[0])}
        if isinstance(grad, Mapping):
            content["grad"] = {str(key): self._name(value) for key, value in grad.items()}
        elif grad is not None and not isinstance(grad, (str, Tensor)):
            content["grad"] = {name: self._name(value) for name, value in zip(outputs, grad)
                               if value is not None}
        elif grad is not None:
            content["grad"] = {word if word in outputs else outputs[0]: self._name(grad)}
        elif len(outputs) == 1:
            self._name(f"grad.{outputs[0]}")
        if reads is not None:
            content["in"] = [self._operand(value) for value in reads]
        operands = forward["in"] if isinstance(forward["in"], list) else [forward["in"]]
        if out is None:
            results = {name: f"grad.{name}" for name in self._operands(forward)
                       if name in self._definition or self._is_parameter(name)}
            self._implied.update(name for name in results.values() if name not in self._defined)
            self._add_backward(content, [], note)
            handles = [Tensor(name, self) for name in results.values()]
        else:
            results = self._gradients(out, operands)
            content["out"] = results
            handles = self._add_backward(content, list(results.values()), note)
        return handles[0] if len(handles) == 1 else tuple(handles)

    def _gradients(self, out: Any, operands: Sequence[Any]) -> Dict[str, str]:
        pairs = list(out.items()) if isinstance(out, Mapping) else \
            [(key, self._gradient_name(str(key))) for key in out]
        results = {}
        for key, value in pairs:
            word = str(key)
            if not word.isdigit() and word not in operands:
                known = [name for name in operands if isinstance(name, str)]
                raise self._fail(f'the operator does not read "{word}"{suggestion(word, known)}')
            results[word] = str(value)
        return results

    def _gradient_name(self, operand: str) -> str:
        name = f"d.{operand}" if operand in self._inputs else f"grad.{operand}"
        return name if not self._knows(name) else self._unused(name)

    def _add_backward(self, content: Dict[str, Any], names: List[str],
                      note: Optional[str]) -> List[Tensor]:
        source = caller()
        handles = [self._define(name, source) for name in names]
        self._definition.update({name: content for name in names})
        if note is not None:
            content["note"] = note
        content["source"] = str(source)
        self._record(content, source)
        return handles

    def _is_parameter(self, name: str) -> bool:
        raise NotImplementedError
