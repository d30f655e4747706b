"""What a plan file means, apart from names of computed tensors, sources, notes and the order in
which terms are added: two files with equal meaning are one plan."""
import hashlib
import json
from fractions import Fraction

_TERMS = {}  # of each sum, by its digest


def _digest(operator, *parts):
    """Short for an expression, so that one that occurs often is written out once."""
    text = json.dumps([operator, *parts])
    return operator + "#" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _communicates(entry):
    return "over" in entry or entry.get("op") in ("accumulate", "move") or \
        any(":" in str(value) for value in _listed(entry.get("in")))


def _exact(value):
    if isinstance(value, dict):
        return {key: _exact(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(part) for part in value]
    return value if isinstance(value, (bool, str)) or value is None else str(Fraction(str(value)))


def _listed(value):
    return value if isinstance(value, list) else [value]


class Graph:
    """Tensors of a specification or program as expressions of what nothing computes."""

    def __init__(self, leaves, operators, programs):
        self.leaves, self.operators, self.programs = leaves, operators, programs
        self.definition, self.known = {}, {}
        for entry in operators:
            for index, name in enumerate(self._outputs(entry)):
                self.definition[name] = (entry, index)

    def _outputs(self, entry):
        if "backward" not in entry:
            return _listed(entry.get("out", []))
        if "out" in entry:
            return list(entry["out"].values())
        return [f"grad.{name}" for name in _listed(self._forward(entry)["in"])]

    def _forward(self, entry):
        return next(other for other in self.operators if "backward" not in other and
                    entry["backward"] in (other.get("name"), _listed(other.get("out", ""))[0]))

    def expression(self, name):
        """The tensor in terms of leaves; the order of terms in sums does not count."""
        if name not in self.known:
            self.known[name] = self._expression(name)
        return self.known[name]

    def _expression(self, name):
        if name not in self.definition:
            if name not in self.leaves and name.startswith("grad."):
                return _digest("gradient", self.expression(name[len("grad."):]))
            return _digest("leaf", name)
        entry, index = self.definition[name]
        if "backward" in entry:
            return self._backward(entry, index)
        operands = [self._operand(value) for value in _listed(entry["in"])]
        keys = {key: value for key, value in entry.items()
                if key not in ("op", "in", "out", "source", "note", "name", "phase")}
        if entry["op"] == "add" and not keys:
            terms = sorted(term for operand in operands
                           for term in _TERMS.get(operand, [operand]))
            total = _digest("sum", terms)
            _TERMS[total] = terms
            return total
        return _digest(entry["op"], operands, _exact(keys), index)

    def _operand(self, value):
        if not isinstance(value, str):
            return _exact(value["literal"] if isinstance(value, dict) else value)
        program, _, tensor = value.partition(":")
        if tensor:
            return _digest("of", program, self.programs[program].expression(tensor))
        return self.expression(value)

    def _backward(self, entry, index):
        forward = self._forward(entry)
        outputs, operands = _listed(forward["out"]), _listed(forward["in"])
        grads = {output: entry.get("grad", {}).get(output, f"grad.{output}") for output in outputs}
        wanted = list(entry["out"])[index] if "out" in entry else operands[index]
        given = [self.expression(grad) for grad in grads.values()
                 if grad in self.definition or grad in self.leaves]
        if forward["op"] == "add" and "attrs" not in forward and len(given) == 1:
            return given[0]  # so that a plan may pass the gradient on by hand
        return _digest("backward", self.expression(outputs[0]), given,
                       [self._operand(value) for value in entry.get("in", [])],
                       int(wanted) if wanted.isdigit() else operands.index(wanted))


def _relations(graph, relations, model):
    """By expressions of the tensor and of the logical tensor that it is a slice of."""
    return {graph.expression(name):
            {**_exact(relation), "of": model.expression(relation.get("of", name))}
            for name, relation in relations.items()}


def meaning(content):
    """Of a file in JSON form: required outputs, claims, communication, schedules."""
    roles = ("inputs", "parameters", "buffers", "ones", "zeros")
    said, plan = content["specification"], content["plan"]
    leaves = {name: shape for role in roles for name, shape in said.get(role, {}).items()}
    model = Graph(leaves, said["operators"], {})
    gradients = said["gradients"]
    result = {"leaves": {role: said.get(role, {}) for role in roles},
              "premises": _exact(said.get("premises", {})),
              "gradients": [gradients["loss"], sorted(gradients["of"])],
              "updates": {name: model.expression(new)
                          for name, new in said.get("updates", {}).items()},
              "outputs": {name: [_exact(relation), model.expression(name)]
                          for name, relation in said["outputs"].items()},
              "mesh": list(plan["mesh"].items()), "microbatches": plan.get("microbatches", 1),
              "programs": {}}
    required = [*said["outputs"], *said.get("updates", {}).values()]
    programs = {}
    for index, entry in enumerate(plan["programs"]):
        programs[entry.get("name", f"program{index}")] = Graph(entry["inputs"], entry["operators"],
                                                               programs)
    lineage = {}
    for (name, graph), entry in zip(programs.items(), plan["programs"]):
        communication = sorted(graph.expression(_listed(operator["out"])[0])
                               for operator in entry["operators"] if _communicates(operator))
        result["programs"][name] = {
            "devices": entry.get("devices"), "inputs": _exact(entry["inputs"]),
            "communication": communication,
            "claims": {output: graph.expression(entry.get("outputs", {}).get(output, output))
                       for output in required if output in graph.definition},
            "buffers": sorted(str([graph.expression(tensor), buffer])
                              for tensor, buffer in entry.get("buffers", {}).items()),
            "steps": _steps(entry.get("schedule"), plan.get("microbatches", 1))}
        lineage[name] = _relations(graph, entry.get("lineage", {}), model)
    return result, lineage


def _steps(schedule, microbatches, values=None):
    """The steps of a schedule, written out."""
    values = {"microbatches": microbatches, **(values or {})}
    steps = []
    for step in schedule or []:
        if isinstance(step, dict):
            for i in range(_number(step["from"], values), _number(step["to"], values)):
                steps += _steps(step["do"], microbatches, {**values, step["for"]: i})
            continue
        phase, _, when = step.partition(":")
        if not when:
            steps.append(phase)
            continue
        first, dots, last = when.partition("..")
        start = _number(first, values)
        stop = _number(last, values) if dots else start + 1
        steps += [f"{phase}:{i}" for i in range(start, stop)]
    return steps


def _number(expression, values):
    """Sums and differences of numbers and names, which is all that these schedules have."""
    total = 0
    for term in str(expression).replace("-", "+-").split("+"):
        term = term.strip()
        sign, word = (-1, term[1:].strip()) if term.startswith("-") else (1, term)
        total += sign * (int(word) if word.isdigit() else values[word])
    return total
