"""Chains of operators that move elements, and others that move them in the same way."""


def somewhere_and_back(random, tensor, shape, prefix):
    """Operators that give the tensor of the same shape again, moved about: a roll, a flip, a transposition, ...
    Returns them and declarations.
    """
    k = random.randrange(len(shape))
    extent = shape[k]
    rank = len(shape)

    def op(kind, operands, out, **attributes):
        return {"op": kind, "in": operands, "out": prefix + out, **({"attrs": attributes} if attributes else {})}

    def rolled():
        at = random.randrange(extent + 1)
        return [op("slice", tensor, "low", dim=k, start=0, stop=at), op("slice", tensor, "high", dim=k, start=at),
                op("concat", [prefix + "high", prefix + "low"], "out", dim=k)]

    def flipped():
        return [op("flip", tensor, "out", dims=[k])]

    def padded():
        margins = [0] * (2 * (rank - 1 - k)) + [random.randint(0, 2), random.randint(0, 2)]
        value = random.choice([0, 1, -0.5])
        start = random.randint(0, sum(margins[-2:]))
        return [op("pad", tensor, "wide", pad=margins, value=value),
                op("narrow", prefix + "wide", "out", dim=k, start=start, length=extent)]

    def transposed():
        other = random.randrange(rank)
        return [op("transpose", tensor, "t", dim0=k, dim1=other), op("neg", prefix + "t", "n"),
                op("transpose", prefix + "n", "out", dim0=k, dim1=other)]

    def repeated():
        times = [1] * rank
        times[k] = 2
        return [op("repeat", tensor, "wide", repeats=times),
                op("narrow", prefix + "wide", "out", dim=k, start=random.randint(0, extent), length=extent)]

    def interleaved():
        return [op("repeat_interleave", tensor, "wide", repeats=2, dim=k),
                op("slice", prefix + "wide", "out", dim=k, start=0, stop=extent)]

    def turned():
        size = 1
        for e in shape:
            size *= e
        return [op("reshape", tensor, "flat", shape=[size]), op("flip", prefix + "flat", "back", dims=[0]),
                op("view", prefix + "back", "out", size=list(shape))]

    def permuted():
        dims = list(range(rank))
        random.shuffle(dims)
        return [op("permute", tensor, "p", dims=dims), op("reshape", prefix + "p", "out", shape=list(shape))]

    chain = random.choice([rolled, flipped, padded, transposed, repeated, interleaved, turned, permuted])()
    return chain, []
