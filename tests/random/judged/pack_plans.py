"""Declared operators over packs and over dimensions that an attribute names, and plans that cut or turn the other
dimensions.
"""

# Bodies over x[i.. | j]; {w} is a weight of the same dimension.
BODIES = [
    "sum(j2: [j2 <= j] * x[i.. | j2])",
    "sum(j2: [j2 < j] * x[i.. | j2]) + x[i.. | j]",
    "x[i.. | j] - mean(j2: x[i.. | j2])",
    "x[i.. | j] * max(j2: x[i.. | j2])",
    "max(j2: where(j2 <= j, x[i.. | j2], x[i.. | j]))",
    "where(j % 2 == 0, x[i.. | j], -x[i.. | j])",
    "sum(j2: where(j2 == extent(j) - 1 - j, x[i.. | j2], 0))",
    "sum(j2: where(j2 == (j + 1) % 3, x[i.. | j2], 0)) + x[i.. | j]",
    "abs(x[i.. | j]) + min(j2: x[i.. | j2])",
    "x[i.. | j] * sum(j2: x[i.. | j2] ^ 2)",
    "sum(j2, j3: [j2 + j3 == j] * x[i.. | j2] * x[i.. | j3])",
]
# Bodies that reduce x[i.. | r..]; the dimensions may be kept.
REDUCED = ["sum(r..: x[i.. | r..])", "mean(r..: x[i.. | r..] ^ 2)", "max(r..: x[i.. | r..])",
           "min(r..: abs(x[i.. | r..]))",
           "sum(r..: max(x[i.. | r..], 0)) - 1", "sum(r..: x[i.. | r..]) * max(r..: x[i.. | r..])"]


def plan(random):
    """One operator over a tensor of two or three dimensions, of which the plan cuts some that the operator leaves
    alone.
    """
    rank = random.choice([1, 2, 2, 3])
    shape = [random.choice([1, 2, 3, 4]) for _ in range(rank)]
    reduced = random.random() < .4
    dims = sorted(random.sample(range(rank), random.randint(1, rank))) if reduced else [random.randrange(rank)]
    keep = random.random() < .5
    ties = random.choice(["even", "first", "all", "zero"])
    body = random.choice(REDUCED if reduced else BODIES)
    lines = declaration("f", body, ties, reduced)
    mesh, cuts = {}, {}
    for axis, k in zip("ab", random.sample(range(rank), rank)):
        if k not in dims or random.random() < .1:
            mesh[axis] = random.choice([2, 2, 3])
            shape[k] = mesh[axis] * random.choice([1, 2])
            cuts[k] = axis
    attributes = attributes_of(dims, keep, reduced, rank, random)
    model = [{"op": "f", "in": "x", "out": "y", "attrs": attributes}]
    operators, claimed = laid_out(random, rank, dims, keep, reduced)
    out_cuts = {place(k, dims, keep, reduced): axis for k, axis in cuts.items() if k not in dims or not reduced or keep}
    operators = operators or [{**model[0], "attrs": attributes_of(dims, keep, reduced, rank, random)}]
    relation = {str(k): axis for k, axis in out_cuts.items()}
    program = {"inputs": {"x": {str(k): axis for k, axis in cuts.items()}}, "operators": operators,
               "outputs": {"y": claimed or "y"}}
    if random.random() < .4:
        program["lineage"] = {claimed or "y": {"of": "y", **relation}}
    if reduced and rank == len(dims) and not keep:
        lines = declaration("f", body, ties, reduced, True)
    return {"planproof": 1, "operators": lines,
            "specification": {"inputs": {"x": shape}, "operators": model, "outputs": {"y": relation}},
            "plan": {"mesh": mesh or {"a": 1}, "programs": [program]}}


def declaration(name, body, ties, reduced, whole=False):
    if not reduced:
        return [f"op {name}(x[i.. | j]) {{dim = -1}}", "  where j at dim", f"  ties {ties}",
                f"  -> y[i.. | j] = {body}"]
    if whole:  # nothing is left of the dimensions
        plain = body.replace("i.. | ", "")
        return [f"op {name}(x[r..]) {{dim = none, keepdim = false}} ties {ties}", f"  -> y[1] = {plain}"]
    return [f"op {name}(x[i.. | r..]) {{dim = none, keepdim = false}}", "  where r.. at dim, kept if keepdim",
            f"  ties {ties}",
            f"  -> y[i..] = {body}"]


def attributes_of(dims, keep, reduced, rank, random):
    named = [k - rank if random.random() < .3 else k for k in dims]
    if not reduced:
        return {"dim": named[0]}
    result = {"keepdim": keep} if keep or random.random() < .5 else {}
    if len(dims) < rank or random.random() < .5:
        result["dim"] = named if len(named) > 1 or random.random() < .5 else named[0]
    return result


def place(k, dims, keep, reduced):
    """Where a dimension of x is in y."""
    return k - sum(d < k for d in dims) if reduced and not keep else k


def laid_out(random, rank, dims, keep, reduced):
    """The same on the tensor with its dimensions in another order, if they are turned back."""
    if random.random() < .5 or rank < 2 or (reduced and not keep):
        return None, None
    order = random.sample(range(rank), rank)
    there = [order.index(d) for d in dims]
    attributes = attributes_of(sorted(there), keep, reduced, rank, random)
    back = [order.index(k) for k in range(rank)]
    return [{"op": "permute", "in": "x", "out": "turned", "attrs": {"dims": order}},
            {"op": "f", "in": "turned", "out": "done", "attrs": attributes},
            {"op": "permute", "in": "done", "out": "back", "attrs": {"dims": back}}], "back"
