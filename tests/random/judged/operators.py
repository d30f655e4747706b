"""All operators by name: built-in ones and those that a plan file declares; their results and their derivatives."""
import elementwise
import language_parser
import movement
import tape
from language_meaning import DeclaredOperator
from tensors import Malformed, Tensor, Undecided

CONSTANT_FOR_DERIVATIVES = ("detach",)


class Operators:
    def __init__(self, declarations=()):
        self.declared = {}
        grouped = {}
        for declaration in declarations:
            for name in declaration.names:
                grouped.setdefault(name, []).append(declaration)
        for name, own in grouped.items():
            if is_built_in(name):
                raise Malformed(f"{name} is built in")
            self.declared[name] = DeclaredOperator(own)

    @classmethod
    def of_file(cls, plan_file):
        """The operators that the file's key `operators` brings along."""
        return cls(language_parser.parse(plan_file.get("operators", [])))

    def knows(self, name):
        return name in self.declared or is_built_in(name)

    def evaluate(self, name, operands, attributes):
        """The outputs. Operands are tensors, numbers, or None where one is left out."""
        if name in self.declared:
            return self.declared[name].evaluate(operands, attributes)
        if name in elementwise.ELEMENTWISE:
            return elementwise.elementwise(name, operands, attributes)
        function = elementwise.COMPUTING.get(name) or movement.MOVEMENT.get(name)
        if function is None:
            raise Undecided(f"operator {name} is not covered")
        if any(not isinstance(operand, Tensor) for operand in operands if operand is not None):
            raise Malformed(f"{name} has tensors as operands")
        try:
            return function([o for o in operands if o is not None], attributes)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            raise Malformed(f"{name}: {error}") from error

    def is_constant(self, name):
        """Whether the derivative is zero by declaration."""
        if name in self.declared:
            return self.declared[name].is_constant_for_derivatives
        return name in CONSTANT_FOR_DERIVATIVES

    def gradients(self, name, operands, attributes, output_gradients):
        """Of each real operand (None for others), given those of the outputs, None where nothing depends on one."""
        variables = []
        for operand in operands:
            if isinstance(operand, Tensor) and operand.is_real():
                variables.append(Tensor(operand.shape, [tape.Var(v) for v in operand.flat], operand.kind))
            else:
                variables.append(operand)
        results = []
        if not self.is_constant(name):
            outputs = self.evaluate(name, variables, attributes)
            for output, gradient in zip(outputs, output_gradients):
                if gradient is not None:
                    if gradient.shape != output.shape:
                        raise Malformed(f"{name}: a gradient has another shape than its tensor")
                    results += [(e, g) for e, g in zip(output.flat, gradient.flat)]
        found = tape.backward(results)
        return [Tensor(v.shape, [found.get(e.number, 0) for e in v.flat], v.kind)
                if isinstance(v, Tensor) and v.is_real() else None for v in variables]


def is_built_in(name):
    return name in elementwise.ELEMENTWISE or name in elementwise.COMPUTING or name in movement.MOVEMENT
