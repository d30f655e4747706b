"""Rows about indices that a generic one must not stand for: constants, and free ones that coincide."""
from case_files import case, op, over, single, spec


def gate_rows():
    # Every rank holds the first half; the factor tp % 1 is 0 and does not move it.
    for n in (4, 64):
        model = spec([op("mul", ["x", 2], "y")], ["y"], inputs={"x": [n]})
        half = n // 2
        first = {"map": [f"i0 + {half} * tp * (tp % 1)"], "shape": [half], "overlap": True}
        second = {"of": "x", "map": [f"i0 + {half}"], "shape": [half], "overlap": True}
        required = {"map": [f"i0 + {half} * tp * (tp % 1)"], "shape": [half]}
        case(f"S20_required_by_a_gate_that_never_opens_{n}", "MALFORMED",
             {**model, "outputs": {"y": required}},
             single({"x": {**first, "map": ["i0"]}, "x2": second}, [op("mul", ["x", 2], "y")],
                    mesh={"tp": 2}),
             "half of the output is required of nobody", judge=False)
        case(f"S20_held_by_a_gate_that_never_opens_{n}", "MALFORMED", model,
             single({"x": first}, [op("mul", ["x", 2], "h"),
                                   over("all_gather", "tp", "h", "y", dim=0)], mesh={"tp": 2}),
             "half of the input is held by nobody", judge=False)


def constant_rows():
    for n in (5, 100):
        model = spec([op("mul", ["z", 2], "y")], ["y"], inputs={"z": [n]})
        for name, at in (("first", 0), ("second", 1), ("last", n - 1)):
            case(f"R23_{name}_for_all_{n}", "REFUTED", model,
                 single(["z"], [op("slice", "z", "one", dim=0, start=at, stop=at + 1),
                                op("expand", "one", "all", size=[n]), op("mul", ["all", 2], "y")]),
                 "a claim tested at an index that the plan reads as a constant")
        # The same by the relation of an input, and on one rank only.
        case(f"R23_input_of_one_index_{n}", "REFUTED", model,
             single({"z": {"overlap": True},
                     "all": {"of": "z", "map": ["0"], "shape": [n], "overlap": True}},
                    [op("mul", ["all", 2], "y")]),
             "the constant stands in an input relation")
        case(f"R23_one_rank_{n}", "REFUTED", model,
             single(["z"], [op("slice", "z", "one", dim=0, start=0, stop=1),
                            op("expand", "one", "all", size=[n]), op("mul", ["z", 2], "y")],
                    mesh={"tp": 2},
                    exceptions=[{"at": {"tp": 1}, "replace": "y",
                                 "with": op("add", ["z", "all"], "y")}]),
             "the constant is read on one rank")
        case(f"R23_rest_and_first_{n}", "PROVED", model,
             single(["z"], [op("slice", "z", "one", dim=0, start=0, stop=1),
                            op("slice", "z", "rest", dim=0, start=1, stop=n),
                            op("add", ["one", "one"], "y0"), op("mul", ["rest", 2], "y1"),
                            op("concat", ["y0", "y1"], "y", dim=0)]),
             "the first element beside the rest")
    for n in (4, 60):
        outer = [op("unsqueeze", "z", "row", dim=0), op("unsqueeze", "z", "column", dim=1)]
        model = spec(outer + [op("mul", ["row", "column"], "y")], ["y"], inputs={"z": [n]})
        case(f"R24_constant_row_{n}", "REFUTED", model,
             single(["z"], outer + [op("slice", "column", "one", dim=0, start=1, stop=2),
                                    op("mul", ["row", "one"], "y1"),
                                    op("expand", "y1", "y", size=[n, n])]),
             "two indices tested at 0 and 1, of which the plan reads 1 as a constant")
        case(f"R24_squared_sum_{n}", "PROVED",
             spec([op("sum", "z", "s"), op("square", "s", "y")], ["y"], inputs={"z": [n]}),
             single(["z"], [op("slice", "z", "one", dim=0, start=0, stop=1),
                            op("slice", "z", "rest", dim=0, start=1, stop=n), op("sum", "one", "a"),
                            op("sum", "rest", "b"), op("add", ["a", "b"], "s"),
                            op("square", "s", "y")]),
             "the square of a sum from which an element was taken")


def coincidence_rows():
    # f(x_i) + f(x_j) + f(sum - x_i - x_j) is the sum of f over three elements where i and j differ.
    for n in (3, 4):
        for name, f in (("exp", "exp"), ("square", "square")):
            outer = [op("unsqueeze", "x", "row", dim=0), op("unsqueeze", "x", "column", dim=1),
                     op("sum", "x", "s"), op("sub", ["s", "row"], "s1"),
                     op("sub", ["s1", "column"], "s2"), op(f, "row", "a"), op(f, "column", "b"),
                     op(f, "s2", "c"), op("add", ["a", "b"], "ab"), op("add", ["ab", "c"], "y")]
            case(f"R25_{name}_of_three_{n}", "REFUTED",
                 spec(outer, ["y"], inputs={"x": [n]}),
                 single(["x"], [op(f, "x", "e"), op("sum", "e", "t"), op("unsqueeze", "t", "u", dim=0),
                                op("expand", "u", "y", size=[n, n])]),
                 "two free indices that are only tested where they differ")


# Of the vocabulary's part [low, high), read at `label - start`, as tensor-parallel losses and embeddings do it.
MASKED_PARTS = [
    "op chosen(p[t, v], label[t]: int) {start = 0, low = 0, high: int}"
    " -> g[t, v] = p[t, v] + [where(low <= label[t] and label[t] < high, label[t] - start, 0) == v]"
    " * (sum(u: [where(low <= label[t] and label[t] < high, label[t] - start, 0) == u] * p[t, u])"
    " - [low <= label[t] and label[t] < high] - p[t, v])",
    "op rows(label[b, s]: int, w[v, h]) {start = 0, low = 0, high: int}"
    " -> y[b, s, h] = [low <= label[b, s] and label[b, s] < high]"
    " * sum(v: [where(low <= label[b, s] and label[b, s] < high, label[b, s] - start, 0) == v] * w[v, h])"]


def masked_part_rows():
    for n in (4, 3):
        vocabulary = 2 * n
        right = {"start": f"={n} * tp", "low": f"={n} * tp", "high": f"={n} * tp + {n}"}
        faults = {"right": {}, "low": {"low": f"={n} * tp + tp"}, "high": {"high": f"={n} * tp + {n} - tp"},
                  "start": {"start": f"={n} * tp - tp"}}
        for name, fault in faults.items():
            verdict = "PROVED" if name == "right" else ["REFUTED", "UNKNOWN"]
            case(f"S23_gradient_of_a_masked_part_{name}_{n}", verdict,
                 spec([op("chosen", ["p", "label"], "g", high=vocabulary)], {"g": {"1": "tp"}},
                      inputs={"p": [3, vocabulary], "label": "int64[3]"},
                      premises={"label": [0, vocabulary]}),
                 {"mesh": {"tp": 2}, "programs": [{
                     "inputs": {"p": {"1": "tp"}, "label": {}},
                     "operators": [op("chosen", ["p", "label"], "g", **{**right, **fault})]}]},
                 "an equality that holds elsewhere decides a mask", operators=MASKED_PARTS)
        for name, fault in {**faults, "halves": {}}.items():
            verdict = "PROVED" if name == "right" else ["REFUTED", "UNKNOWN"]
            halves = ["second", "first"] if name == "halves" else ["first", "second"]
            case(f"S24_sequence_of_a_masked_part_{name}_{n}", verdict,
                 spec([op("rows", ["label", "w"], "y", high=vocabulary)], {"y": {"1": "tp"}},
                      inputs={"label": "int64[2, 6]", "w": [vocabulary, 5]},
                      premises={"label": [0, vocabulary]}),
                 {"mesh": {"tp": 2}, "programs": [{
                     "inputs": {"label": {}, "w": {"0": "tp"}},
                     "operators": [op("rows", ["label", "w"], "part", **{**right, **fault}),
                                   op("slice", "part", "first", dim=1, start=0, stop=3),
                                   op("slice", "part", "second", dim=1, start=3, stop=6),
                                   op("concat", halves, "stacked", dim=0),
                                   {"op": "reduce_scatter", "over": "tp", "dim": 0, "in": "stacked",
                                    "out": "y"}]}]},
                 "a chunk is taken for the one beside it", operators=MASKED_PARTS)


def masked_row_rows():
    """Which element of a row is the largest, where some elements are minus infinity."""
    for n in (4, 5):
        def largest(masked):
            return masked + [op("topk", "m", ["v", "i"], k=1), op("embedding", ["i", "w"], "y")]

        inputs = ["x", "z", "w"]
        total = [op("add", ["x", "z"], "t")]
        model = spec(largest(total + [op("causal_mask", ["t"], "m")]), ["y"],
                     inputs={"x": [n, n], "z": [n, n], "w": [n, 3]})
        turned = [op("add", ["z", "x"], "t")]
        case(f"R26_mask_{n}", "PROVED", model, single(inputs, largest(turned + [op("causal_mask", ["t"], "m")])),
             "the same row, with the same elements masked")
        never = ["REFUTED", "UNKNOWN"]
        case(f"R26_no_mask_{n}", never, model, single(inputs, largest(total + [op("identity", "t", "m")])),
             "a masked row is taken for the row of its values")
        case(f"R26_mask_from_one_{n}", never, model,
             single(inputs, largest(total + [op("causal_mask", ["t"], "m", start=1)])), "which elements are masked is lost")
        case(f"R26_mask_of_zeros_{n}", never, model,
             single(inputs, largest(total + [op("tril_of", "t", "m")])), "minus infinity is taken for 0",
             operators=["op tril_of(x[q, k]) -> y[q, k] = where(k <= q, x[q, k], 0)"])
        case(f"R26_other_values_{n}", never, model, single(inputs, largest([op("causal_mask", ["x"], "m")])),
             "rows with equal masks are taken for equal")


def write_rows():
    masked_row_rows()
    masked_part_rows()
    gate_rows()
    constant_rows()
    coincidence_rows()
