"""Rows about tensors that are zero for all inputs: whatever a plan does with them, only if they are."""
from case_files import case, op, single, spec


def key_bias_rows():
    """A bias of all keys shifts each row of scores: the softmax and the loss do not depend on it."""
    for s, h in ((4, 3), (3, 5)):
        def attention(dim):
            return [op("add", ["K", "b"], "kb"), op("linear", ["Q", "kb"], "s"),
                    op("softmax", "s", "p", dim=dim), op("matmul", ["p", "V"], "o")]

        def model(of, dim=-1):
            loss = [op("mul", ["o", "g"], "z"), op("sum", "z", "l")]
            query = [op("add", ["X", "a"], "Q")]
            return spec(query + attention(dim) + loss, [f"grad.{of}"],
                        inputs={"X": [s, h], "K": [s, h], "V": [s, h], "g": [s, h]},
                        parameters={"a": [h], "b": [h]}, gradients={"loss": "l", "of": [of]})

        def plan(last, dim=-1):
            query = [op("add", ["X", "a"], "Q")]
            rows = [op("linear", ["g", "V"], "dp"), op("mul", ["p", "dp"], "e"),
                    op("sum", "e", "D", dim=dim, keepdim=True), op("sub", ["dp", "D"], "f"),
                    op("mul", ["p", "f"], "ds")]
            return query + attention(dim) + rows + last

        inputs = ["X", "a", "K", "b", "V", "g"]
        keys = [op("transpose", "ds", "dst", dim0=0, dim1=1), op("matmul", ["dst", "Q"], "dk")]
        bias = keys + [op("sum", "dk", "db", dim=0)]
        twice = bias + [op("mul", ["db", 2], "y")]
        outputs = {"grad.b": "y"}
        case(f"S16_key_bias_twice_{s}", "PROVED", model("b"), single(inputs, plan(twice), outputs),
             "the gradient of a bias of all keys is zero: twice it is the same", judge=False)
        case(f"S16_key_bias_squared_{s}", "PROVED", model("b"),
             single(inputs, plan(bias + [op("mul", ["db", "db"], "y")]), outputs,
                    lineage={"db": {"of": "grad.b"}}),
             "the same, squared", judge=False)
        some = keys + [op("slice", "dk", "part", dim=0, start=1, stop=s),
                       op("sum", "part", "y", dim=0)]
        case(f"S16_key_bias_of_some_keys_{s}", "REFUTED", model("b"),
             single(inputs, plan(some), outputs), "the sum over all keys but one is not zero")
        case(f"S16_key_bias_of_queries_{s}", "REFUTED", model("b", dim=0),
             single(inputs, plan(twice, dim=0), outputs),
             "shares of a column do not cancel over a row")
        queries = [op("matmul", ["ds", "kb"], "dq"), op("sum", "dq", "da", dim=0)]
        case(f"S16_query_bias_twice_{s}", "REFUTED", model("a"),
             single(inputs, plan(queries + [op("mul", ["da", 2], "y")]), {"grad.a": "y"}),
             "the gradient of a bias of the queries is not zero")
        case(f"S16_query_bias_{s}", "PROVED", model("a"),
             single(inputs, plan(queries + [op("identity", "da", "y")]), {"grad.a": "y"}),
             "the same gradient once")


def deviation_rows():
    for n in (6, 5):
        centred = [op("mean", "x", "m", dim=0, keepdim=True), op("sub", ["x", "m"], "d")]
        right = spec(centred + [op("sum", "d", "t"), op("exp", "t", "y")], ["y"], inputs={"x": [n]})
        case(f"S16_sum_of_deviations_{n}", "PROVED", right,
             single(["x"], centred + [op("sum", "d", "t"), op("mul", ["t", 3], "u"),
                                      op("exp", "u", "y")]),
             "deviations from the mean add up to zero", judge=False)
        part = [op("slice", "d", "e", dim=0, start=0, stop=n - 1)]
        case(f"S16_sum_of_some_deviations_{n}", "REFUTED",
             spec(centred + part + [op("sum", "e", "t"), op("exp", "t", "y")], ["y"],
                  inputs={"x": [n]}),
             single(["x"], centred + part + [op("sum", "e", "t"), op("mul", ["t", 3], "u"),
                                             op("exp", "u", "y")]),
             "all but one do not")
        quotient = [op("mul", ["x", "z"], "a"), op("div", ["a", "z"], "b"),
                    op("sub", ["b", "x"], "t")]
        case(f"S16_zero_where_defined_{n}", "PROVED",
             spec(quotient + [op("exp", "t", "y")], ["y"], inputs={"x": [n], "z": [n]}),
             single(["x", "z"], quotient + [op("mul", ["t", 3], "u"), op("exp", "u", "y")]),
             "x z / z - x is zero where z is not", premises=["z[i0] != 0"], judge=False)


def hidden_block_rows():
    """What a causal mask hides may be multiplied by anything; the diagonal is not hidden."""
    for s in (4, 6):
        h = s // 2
        shares = [op("causal_mask", "S", "m"), op("softmax", "m", "p", dim=-1)]
        right = spec(shares + [op("matmul", ["p", "V"], "y")], ["y"],
                     inputs={"S": [s, s], "V": [s, 3], "W": [s, 3]})

        def plan(cut):
            """Rows before h take columns from `cut` on times W."""
            return shares + [
                op("slice", "p", "early", dim=0, start=0, stop=h),
                op("slice", "p", "late", dim=0, start=h, stop=s),
                op("slice", "early", "seen", dim=1, start=0, stop=cut),
                op("slice", "early", "hidden", dim=1, start=cut, stop=s),
                op("slice", "V", "V0", dim=0, start=0, stop=cut),
                op("slice", "W", "W1", dim=0, start=cut, stop=s),
                op("matmul", ["seen", "V0"], "a"), op("matmul", ["hidden", "W1"], "b"),
                op("add", ["a", "b"], "y0"), op("matmul", ["late", "V"], "y1"),
                op("concat", ["y0", "y1"], "y", dim=0)]

        lineage = {"p": {"of": "p"}}
        case(f"S16_hidden_block_{s}", "PROVED", right,
             single(["S", "V", "W"], plan(h), lineage=lineage),
             "shares that a mask hides are zero", judge=False)
        case(f"S16_hidden_block_and_diagonal_{s}", "REFUTED", right,
             single(["S", "V", "W"], plan(h - 1), lineage=lineage), "one of them is not hidden")


def write_rows():
    key_bias_rows()
    deviation_rows()
    hidden_block_rows()
