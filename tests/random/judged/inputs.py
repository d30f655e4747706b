"""Random values of a model's inputs, in styles that reach kinks, zeros, ties and the edges of ranges."""
from fractions import Fraction

from reals import compare
from tensors import INTEGER_TYPES, Tensor, Undecided, indices, size_of

STYLES = ("generic", "small", "ties", "fractions", "positive", "separated", "equal", "zeros", "negative", "sparse",
          "generic", "large", "separated", "ones")


class Inputs:
    def __init__(self, model, random):
        self.model = model
        self.random = random
        self.widest = max([e for _, shape, _ in model.leaves.values() for e in shape], default=1)

    def draw(self, style):
        """Values of all leaves whose premises hold, by name."""
        return {name: self._tensor(name, shape, kind, style, self._shared(style))
                for name, (role, shape, kind) in self.model.leaves.items() if role not in ("ones", "zeros")}

    def _shared(self, style):
        """What all elements of a tensor have in common."""
        if style == "separated":
            return self.random.choice([-10, -3, 0, 3, 10])
        return self._real(style) if style == "equal" else 0

    def _tensor(self, name, shape, kind, style, shared):
        premises = self.model.premises.get(name, [])
        for _ in range(100):
            flat = [self._element(kind, premises, style, shared) for _ in range(size_of(shape))]
            tensor = Tensor(shape, flat, kind)
            if meets(tensor, premises):
                return tensor
        raise Undecided(f"no values of {name} meet its premises")

    def _element(self, kind, premises, style, shared):
        r = self.random
        if kind == "bool":
            return r.choice({"zeros": [0], "ones": [1]}.get(style, [0, 1]))
        if kind in INTEGER_TYPES:
            return self._whole(premises, style)
        value = shared if style == "equal" else shared + self._real(style)
        if "positive" in premises:
            value = abs(value) or r.choice([1, 2, Fraction(1, 3)])
        elif "nonnegative" in premises:
            value = abs(value)
        elif "nonzero" in premises and value == 0:
            value = r.choice([-1, 1, 2])
        return value

    def _whole(self, premises, style):
        r = self.random
        ranges = [p for p in premises if isinstance(p, list)]
        if ranges:
            low, high = max(p[0] for p in ranges), min(p[1] for p in ranges)
        elif style in ("negative", "large"):
            low, high = (-3, self.widest + 3) if style == "negative" else (-120, 120)
        else:
            low, high = (-1 if style == "sparse" else 0), self.widest + r.choice([0, 0, 1])
        if style in ("equal", "zeros") and low <= 0 < high:
            return 0
        if style in ("ties", "small") and r.random() < .6:
            return r.choice([low, high - 1])
        return r.randrange(low, max(high, low + 1))

    def _real(self, style):
        r = self.random
        fraction = lambda: Fraction(r.randint(-12, 12), r.choice([2, 3, 4]))
        return {"generic": lambda: r.randint(-9, 9), "small": lambda: r.choice([-1, 0, 1]),
                "ties": lambda: r.choice([-1, 2]), "fractions": fraction,
                "equal": lambda: r.randint(-3, 3), "positive": lambda: r.randint(1, 7),
                "separated": lambda: Fraction(r.randint(-4, 4), 4), "zeros": lambda: 0, "ones": lambda: 1,
                "negative": lambda: -r.randint(1, 6), "sparse": lambda: r.choice([0, 0, 0, r.randint(-3, 3)]),
                "large": lambda: r.choice([-1, 1]) * r.randint(1, 1000)}[style]()


def meets(tensor, premises):
    for premise in premises:
        if isinstance(premise, list):
            good = all(premise[0] <= v < premise[1] for v in tensor.flat)
        elif premise == "row unmasked":
            good = all(any(compare(tensor.at(*index, k), 0) for k in range(tensor.shape[-1]))
                       for index in indices(tensor.shape[:-1]))
        elif premise == "no tie":
            good = len(set(tensor.flat)) == len(tensor.flat)
        else:
            good = all({"positive": v > 0, "nonnegative": v >= 0, "nonzero": v != 0}[premise] for v in tensor.flat)
        if not good:
            return False
    return True
