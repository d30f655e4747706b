"""Whether slices of a logical tensor cover it, and overlap only where declared (docs/plan-format.md, "Cover")."""
from tensors import Malformed, size_of


class Holding:
    """The slices of one input or claim of a program, on all its ranks and in all microbatches."""

    def __init__(self, program, name, relation, shape, local):
        self.name = f"{name} of {program.name}"
        self.overlap = bool(relation.content.get("overlap"))
        self.slices = set()
        for device in program.devices:
            for m in range(program.plan.microbatches):
                _, positions = relation.positions(shape, program.place(device, m), local)
                own = frozenset(positions)
                if len(own) < len(positions) and not self.overlap:
                    raise Malformed(f"{self.name} holds an element twice")
                self.slices.add(own)
        self.everything = frozenset().union(*self.slices)


def check_holdings(name, holdings, shape):
    """All slices that are held of one tensor."""
    if len(frozenset().union(*(h.everything for h in holdings))) < size_of(shape):
        raise Malformed(f"{name} is not covered")
    for holding in holdings:
        if not holding.overlap and not _apart(holding.slices, holding.slices):
            raise Malformed(f"slices of {holding.name} overlap")
    for k, first in enumerate(holdings):
        for second in holdings[:k]:
            if first.everything == second.everything or first.overlap or second.overlap:
                continue
            if not _apart(first.slices, second.slices):
                raise Malformed(f"slices of {first.name} and {second.name} overlap")


def _apart(first, second):
    """Whether slices are equal or disjoint."""
    return all(a == b or not a & b for a in first for b in second)
