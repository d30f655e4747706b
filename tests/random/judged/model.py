"""The role `specification`: evaluates the model and derives its gradients by reverse mode."""
import re
from fractions import Fraction

from operators import Operators
from reals import exact
from tensors import INTEGER_TYPES, Malformed, REAL_TYPES, Tensor, Undecided, size_of

TYPE = re.compile(r"(\w+)\s*\[(.*)\]")


def tensor_type(content):
    """(shape, element type)."""
    if isinstance(content, list):
        return tuple(content), "float32"
    if isinstance(content, dict):
        return tuple(content["shape"]), content.get("dtype", "float32")
    match = TYPE.fullmatch(content)
    if not match or match.group(1) not in REAL_TYPES + INTEGER_TYPES + ("bool",):
        raise Malformed(f"type {content!r}")
    return tuple(int(e) for e in match.group(2).split(",") if e.strip()), match.group(1)


def as_list(value):
    return [] if value is None else value if isinstance(value, list) else [value]


def operand_number(value):
    """A literal operand, or None if it is none."""
    if isinstance(value, dict):
        return exact(Fraction(value["literal"]))
    return None if isinstance(value, (str, type(None))) else value


class Model:
    """A specification without values."""

    def __init__(self, content, operators: Operators):
        self.content = content
        self.operators = operators
        self.leaves = {}  # name: (role, shape, element type)
        for role in ("inputs", "parameters", "buffers", "ones", "zeros"):
            for name, kind in content.get(role, {}).items():
                if name == "note":
                    continue
                if name in self.leaves:
                    raise Malformed(f"{name} is defined twice")
                self.leaves[name] = (role, *tensor_type(kind))
        self.steps = self._sorted(content.get("operators", []))
        self.gradients = as_list(content.get("gradients"))
        self.premises = {name: as_premises(p) for name, p in content.get("premises", {}).items()}

    def _sorted(self, listed):
        """In an order in which names are defined before they are read."""
        known, waiting, result = set(self.leaves), list(listed), []
        for operator in listed:
            for name in as_list(operator.get("out")):
                if name in self.leaves or sum(name in as_list(o.get("out")) for o in listed) > 1:
                    raise Malformed(f"{name} is defined twice")
        gradients = {f"grad.{name}" for name in known} | {
            f"grad.{n}" for o in listed for n in as_list(o.get("out"))}
        while waiting:
            ready = [o for o in waiting if all(not isinstance(n, str) or n in known or n in gradients
                                               for n in as_list(o.get("in")))]
            if not ready:
                raise Malformed("an operator reads what nothing defines")
            for operator in ready:
                known |= set(as_list(operator.get("out")))
                waiting.remove(operator)
            result += ready
        return result

    def evaluate(self, leaves):
        """All logical tensors by name, given those of the leaves (those of ones and zeros are added)."""
        values = dict(leaves)
        for name, (role, shape, kind) in self.leaves.items():
            if role in ("ones", "zeros"):
                values[name] = Tensor(shape, [int(role == "ones")] * size_of(shape), kind)
        late = []
        for operator in self.steps:
            if all(not isinstance(n, str) or n in values for n in as_list(operator.get("in"))):
                self._run(operator, values)
            else:
                late.append(operator)
        for gradient in self.gradients:
            self._differentiate(gradient, values)
        for operator in late:
            if any(isinstance(n, str) and n not in values for n in as_list(operator.get("in"))):
                raise Malformed("an operator reads a gradient that is not derived")
            self._run(operator, values)
        return values

    def depends_on(self, outputs):
        """Names of the tensors on which these depend: where their operators are defined, the model is."""
        found, waiting = set(), list(outputs)
        makers = {name: o for o in self.steps for name in as_list(o.get("out"))}
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            operator = makers.get(name, {})
            waiting += as_list(operator.get("out"))  # an operator is defined, or it is not
            waiting += [n for n in as_list(operator.get("in")) if isinstance(n, str)]
            if not operator and name.startswith("grad."):
                waiting += [gradient["loss"] for gradient in self.gradients]
        if any(name.startswith("grad.") for name in found):
            found |= {f"grad.{name}" for name in found}
        return found

    def _run(self, operator, values):
        if not self.operators.knows(operator["op"]):
            raise Undecided(f"operator {operator['op']} is not known")
        outputs = self.operators.evaluate(operator["op"], self._operands(operator, values),
                                          operator.get("attrs", {}))
        names = as_list(operator["out"])
        if len(names) > len(outputs):
            raise Malformed("too many outputs")
        values.update(zip(names, outputs))

    def _operands(self, operator, values):
        return [values[n] if isinstance(n, str) else operand_number(n) for n in as_list(operator["in"])]

    def _differentiate(self, gradient, values):
        loss, of = gradient["loss"], gradient["of"]
        if any(name not in values for name in [loss, *of]):
            raise Malformed("a gradient of what nothing defines")
        needed = set(of)
        for operator in self.steps:
            if needed & {n for n in as_list(operator["in"]) if isinstance(n, str)}:
                needed |= set(as_list(operator["out"]))
        found = {loss: [Tensor(values[loss].shape, [1] * len(values[loss].flat), values[loss].kind)]}
        for operator in reversed(self.steps):
            names = as_list(operator["out"])
            if not any(name in found and name in needed for name in names):
                continue
            if not all(not isinstance(n, str) or n in values for n in as_list(operator["in"])):
                continue
            operands = self._operands(operator, values)
            own = [total(found[name]) if name in found else None for name in names]
            results = self.operators.gradients(operator["op"], operands, operator.get("attrs", {}), own)
            merged = {}  # one contribution per operator, also where it reads a tensor twice
            for name, result in zip(as_list(operator["in"]), results):
                if isinstance(name, str) and result is not None and name in needed:
                    merged.setdefault(name, []).append(result)
            for name, parts in merged.items():
                found.setdefault(name, []).append(total(parts))
        for name, parts in found.items():
            if name in needed or name == loss:
                if f"grad.{name}" in values:
                    raise Undecided("a gradient of two losses")
                values[f"grad.{name}"] = total(parts)
        if any(name not in found for name in of):
            raise Malformed("the loss does not depend on what it is differentiated by")


def total(tensors):
    if len(tensors) == 1:
        return tensors[0]
    return Tensor(tensors[0].shape, [sum(es) for es in zip(*(t.flat for t in tensors))], tensors[0].kind)


def as_premises(content):
    """A list of words and ranges."""
    if isinstance(content, list) and len(content) == 2 and all(isinstance(e, int) for e in content):
        return [content]
    return as_list(content)
