"""Rows about ranks, element types, parameters and lineage: what a plan does, not how terms are decided."""
from case_files import case, op, over, single, spec


def off_root_rows():
    for n in (4, 6):
        rest = [op("sub", ["s", "t"], "d"), op("mean", "d", "e"), op("silu", "x", "z"),
                op("add", ["z", "e"], "y")]
        model = spec([op("silu", "x", "y")], ["y"], inputs={"x": [n, 3]})
        inputs = {"x": {}, "part": {"of": "x", "0": "tp"}}
        exchanged = over("permute", "tp", "part", "other", shift=1)
        case(f"S11_two_reductions_{n}", ["UNKNOWN", "REFUTED"], model,
             single(inputs, [exchanged, over("reduce", "tp", "part", "s", root=0),
                             over("reduce", "tp", "other", "t", root=0)] + rest, mesh={"tp": 2}),
             "what two reductions leave off the root is equal", judge=False)
        case(f"S11_replicas_{n}", ["UNKNOWN", "REFUTED"], model,
             single(inputs, [over("reduce", "tp", "part", "s", root=0),
                             over("permute", "dp", "s", "t", shift=1)] + rest,
                    mesh={"dp": 2, "tp": 2}),
             "what a reduction leaves off the root is equal on replicas", judge=False)
        case(f"S11_from_the_root_{n}", "PROVED", model,
             single(inputs, [exchanged, over("reduce", "tp", "part", "s1", root=0),
                             over("reduce", "tp", "other", "t1", root=0),
                             over("broadcast", "tp", "s1", "s", root=0),
                             over("broadcast", "tp", "t1", "t", root=0)] + rest, mesh={"tp": 2}),
             "the same sums, from the root")
        halves = [over("reduce", "tp", "part", "half", root=0)]
        differ = {out: halves + [op("concat", ["half", "half"], out, dim=0)] for out in ("s", "t")}
        case(f"S11_exceptions_{n}", ["UNKNOWN", "REFUTED"], model,
             single(inputs, [op("identity", "x", "s"), op("identity", "x", "t")] + rest,
                    mesh={"tp": 2}, exceptions=[{"at": {"tp": [0, 1]}, "replace": out, "with": own}
                                                for out, own in differ.items()]),
             "two reductions with one temporary name leave the same off the root", judge=False)


def instance_rows():
    """One operator that differs by rank, and types in which 1 + 1 is not 2."""
    # x[i + 2, j + a + 10] with a = 3 on rank 0 and 4 on rank 1. The constant 3 of rank 0 is built
    # before -3, the constant 4 of rank 1 after it.
    pick = ["op pick(x[n, m]) {a: int} -> y[i:2, j:2] = x[i + 5 - 3, j + a + 10]"]
    for n, m in ((16, 24), (9, 19)):
        for name, verdict, rows, columns in (("wrong", "REFUTED", (2, 5), (13, 7)),
                                             ("right", "PROVED", (2, 2), (13, 14))):
            block = []
            for r in (0, 1):
                block += [op("slice", "x", f"rows{r}", dim=0, start=rows[r], stop=rows[r] + 2),
                          op("slice", f"rows{r}", f"block{r}", dim=1, start=columns[r],
                             stop=columns[r] + 2)]
            model = spec(block + [op("concat", ["block0", "block1"], "y", dim=0)],
                         {"y": {"0": "tp"}}, inputs={"x": [n, m]})
            case(f"S12_constant_by_rank_{name}_{n}", verdict, model,
                 single({"x": {}}, [op("pick", "x", "y", a="=tp + 3")], mesh={"tp": 2}),
                 "instances of an operator compared node by node that were built in another order",
                 operators=pick)
    # On rank r the element r mod 2: the derivatives of ranks 0 and 2 to 4 have three forms, of which
    # one reproduces another.
    rotated = ["op whole(x[p]) -> y[i:{n}] = x[i % 2]",
               "op whole_but_first(x[p]) -> y[i:{n}] = where(i == 0, x[1], x[i % 2])",
               "op one(x[p]) {{s: int}} -> y[i:1] = x[(i + s) % 2]"]
    for n in (5, 7):
        for name, model_op, verdict in (("right", "whole", "PROVED"),
                                        ("wrong", "whole_but_first", "REFUTED")):
            model = spec([op(model_op, "x", "y"), op("mul", ["y", "g"], "z"), op("sum", "z", "l")],
                         ["grad.x"], inputs={"x": [2], "g": [n]}, gradients={"loss": "l", "of": ["x"]})
            case(f"S12_derivative_by_rank_{name}_{n}", verdict, model,
                 single({"x": {}, "g": {"0": "a"}},
                        [op("one", "x", "y", s="=a"),
                         {"backward": "y", "grad": {"y": "g"}, "out": {"x": "px"}},
                         over("all_reduce", "a", "px", "grad.x")], mesh={"a": n}),
                 "ranks that another form reproduces get the default form", operators=[
                     text.format(n=n) for text in rotated])
    for n in (4, 3):
        signs = [op("lt", ["x", 0], "a"), op("lt", ["z", 0], "b")]
        sums = [op("float", "a", "a.f"), op("float", "b", "b.f"), op("add", ["a.f", "b.f"], "y")]
        model = spec(signs + sums, ["y"], inputs={"x": [n], "z": [n]})
        case(f"S13_truth_values_added_{n}", "MALFORMED", model,
             single(["x", "z"], signs + [op("add", ["a", "b"], "c"), op("float", "c", "y")]),
             "the sum of two truth values is their disjunction")
        case(f"S13_required_as_truth_value_{n}", "MALFORMED",
             spec([op("lt", ["x", "z"], "a"), op("float", "a", "y")], ["y"],
                  inputs={"x": [n], "z": [n]}), single(["x", "z"], [op("lt", ["x", "z"], "y")]),
             "what reads the output adds truth values where the model adds numbers", judge=False)
        case(f"S13_numbers_added_{n}", "PROVED", model, single(["x", "z"], signs + sums),
             "the same, of numbers")
        model = spec([op("long", "x", "a"), op("add", ["a", "a"], "b"), op("float", "b", "y")], ["y"],
                     inputs={"x": f"int8[{n}]"}, premises={"x": [0, 128]})
        case(f"S13_bytes_added_{n}", "MALFORMED", model,
             single(["x"], [op("add", ["x", "x"], "b"), op("float", "b", "y")]),
             "a sum in 8 bits wraps around")
        model = spec([op("lt", ["x", 0], "a"), op("float", "a", "a.f"), op("sum", "a.f", "y")], ["y"],
                     inputs={"x": [2 * n]})
        case(f"S13_truth_values_reduced_{n}", "MALFORMED", model,
             single({"x": {"0": "tp"}}, [op("lt", ["x", 0], "a"), over("all_reduce", "tp", "a", "c"),
                                         op("float", "c", "c.f"), op("sum", "c.f", "y")],
                    mesh={"tp": 2}), "a sum of truth values over ranks is their disjunction")
        case(f"S13_counts_reduced_{n}", "PROVED", model,
             single({"x": {"0": "tp"}}, [op("lt", ["x", 0], "a"), op("sum", "a", "p"),
                                         over("all_reduce", "tp", "p", "n"), op("float", "n", "y")],
                    mesh={"tp": 2}), "the same, of counts")
        rest = [op("float", "a", "f"), op("add", ["f", "f"], "y")]
        model = spec([op("lt", ["x", 0], "a")] + rest, {"y": {"0": "tp"}}, inputs={"x": [2 * n]})
        for name, verdict, kind in (("other", "MALFORMED", "identity"), ("same", "PROVED", "float")):
            case(f"S13_{name}_type_on_one_rank_{n}", verdict, model,
                 single({"x": {"0": "tp"}}, [op("lt", ["x", 0], "a")] + rest, mesh={"tp": 2},
                        exceptions=[{"at": {"tp": 1}, "replace": "f", "with": op(kind, "a", "f")}]),
                 "one rank adds truth values where the others add numbers")
        model = spec([op("exp", "x", "y")], {"y": {"0": "tp"}}, inputs={"x": [2 * n]})
        for name, verdict, first, second in (("twice", "MALFORMED", {"tp": [0, 1]}, {"tp": 1}),
                                             ("once", "REFUTED", {"tp": 0}, {"tp": 1})):
            given = [{"at": at, "replace": "y", "with": op(kind, "x", "y")}
                     for at, kind in ((first, "sin"), (second, "exp"))]
            case(f"S12_exception_{name}_{n}", verdict, model,
                 single({"x": {"0": "tp"}}, [op("exp", "x", "y")], mesh={"tp": 2},
                        exceptions=given), "the last of two exceptions for one output wins")
        forward = [op("lt", ["x", 0], "a"), op("float", "a", "f"), op("mul", ["f", "w"], "y")]
        model = spec(forward + [op("mul", ["y", "g"], "z"), op("sum", "z", "loss")], ["grad.w"],
                     inputs={"x": [n], "g": [n]}, parameters={"w": [n]},
                     gradients={"loss": "loss", "of": ["w"]})
        for name, verdict, read in (("other", "MALFORMED", "a"), ("same", "PROVED", "f")):
            backward = {"backward": "y", "in": [read, "w"], "grad": {"y": "g"}, "out": {"w": "gw"}}
            case(f"S13_{name}_type_in_backward_{n}", verdict, model,
                 single(["x", "w", "g"], forward + [backward], {"grad.w": "gw"}),
                 "a backward operator reads truth values where the forward one read numbers")
        float_x = [op("float", "x", "y")]
        for name, kind in (("byte", "int8"), ("truth_value", "bool")):
            case(f"S13_number_kept_as_{name}_{n}", "MALFORMED",
                 spec(float_x, ["y"], inputs={"x": f"int64[{n}]"}, premises={"x": [0, 1000]}),
                 single(["x"], [op("keep", "x", "k"), op("float", "k", "y")]),
                 "a declared operator states a type that does not hold its numbers",
                 operators=[f"op keep(x[n]: int) -> y[n]: {kind} = x[n]"])
        mask = [op("lt", ["x", 5], "m")]
        fill = op("masked_fill", ["x", "m"], "f", value=2.5)
        model = spec(mask + [op("float", "x", "r"), op("masked_fill", ["r", "m"], "y", value=2.5)],
                     ["y"], inputs={"x": f"int64[{n}]"}, premises={"x": [0, 16]})
        case(f"S13_fraction_among_integers_{n}", "MALFORMED", model,
             single(["x"], mask + [fill, op("float", "f", "y")]),
             "a tensor of integers is filled with 2.5, which becomes 2")


def integer_rows():
    """The search for a counterexample survives what it cannot evaluate."""
    for n in (4, 3):
        model = spec([op("max", "x", "m", dim=0), op("float", "m", "y")], ["y"],
                     inputs={"x": f"int64[{n}, 5]"}, premises={"x": [0, 16]})
        case(f"S15_largest_id_{n}", ["PROVED", "UNKNOWN"], model,
             single({"x": {"0": "dp"}}, [op("select", "x", "own", dim=0, index=0),
                                         over("all_reduce", "dp", "own", "all", reduce="max"),
                                         op("float", "all", "y")], mesh={"dp": n}),
             "the larger of two integers is a choice between them", judge=False)


def per_rank_rows():
    """Each rank is to hold its part; all ranks hold one and the same tensor."""
    for n in (4, 6):
        first = op("slice", "z", "y", dim=0, start=0, stop=n // 2)
        model = spec([op("exp", "x", "y")], {"y": {"0": "dp"}}, inputs={"x": [n]})
        case(f"S14_one_part_everywhere_{n}", "REFUTED", model,
             single(["x"], [op("exp", "x", "z"), first], mesh={"dp": 2}),
             "all ranks hold the first rank's part")
        constant = spec([op("mul", ["one", 2], "y")], {"y": {"0": "dp"}}, ones={"one": [n]}, inputs={})
        case(f"S14_equal_parts_{n}", "PROVED", constant,
             single(["one"], [op("mul", ["one", 2], "z"), first], mesh={"dp": 2}),
             "the same where all parts are equal")


def lineage_rows():
    for b, n in ((8, 4), (6, 3)):
        model = spec([op("linear", ["x", "w"], "y"), op("mul", ["y", "g"], "z"), op("sum", "z", "l")],
                     ["grad.w"], inputs={"x": [b, n], "g": [b, n]}, parameters={"w": [n, n]},
                     gradients={"loss": "l", "of": ["w"]})
        inputs = {"x": {"0": "dp"}, "g": {"0": "dp"}, "w": {}}
        local = [op("linear", ["x", "w"], "y"),
                 {"backward": "y", "grad": {"y": "g"}, "out": {"w": "gw"}}]
        case(f"S1_missing_all_reduce_{b}", "REFUTED", model,
             single(inputs, local, {"grad.w": "gw"}, mesh={"dp": 2},
                    lineage={"gw": {"of": "grad.w"}}),
             "gradients left partial do sum to the logical gradient")
        case(f"S1_all_reduce_{b}", "PROVED", model,
             single(inputs, local + [over("all_reduce", "dp", "gw", "s")], {"grad.w": "s"},
                    mesh={"dp": 2}, lineage={"gw": {"of": "grad.w", "partial": "dp"}}),
             "the same with its all-reduce")
    for n in (4, 3):
        terms = {"r0": "x1", "r1": "x2", "s0": "x2", "s1": "x1"}
        programs = []
        for name, term in terms.items():
            operators = [op("identity", term, "t")]
            outputs = {}
            if name[0] == "r":
                operators += [op("move", f"s{name[1]}:t", "other"), op("mul", ["t", "other"], "p"),
                              op("all_reduce", ["r0:p", "r1:p"], "y")]
            programs.append({"name": name, "devices": {"replica": "rs".index(name[0]),
                                                       "rank": int(name[1])},
                             "inputs": [term], "operators": operators,
                             "lineage": {"t": {"of": "x", "partial": "rank"}}, "outputs": outputs})
        case(f"S2_swapped_terms_{n}", "REFUTED",
             spec([op("add", ["x1", "x2"], "x"), op("square", "x1", "q1"), op("square", "x2", "q2"),
                   op("add", ["q1", "q2"], "y")], {"y": {"on": {"replica": 0}}},
                  inputs={"x1": [n], "x2": [n]}),
             {"mesh": {"replica": 2, "rank": 2}, "programs": programs},
             "replicas equal in total and not term by term")
        case(f"S3_partial_maxima_{n}", "PROVED",
             spec([op("max", "x", "m", dim=0), op("exp", "m", "y")], ["y"],
                  inputs={"x": [2 * n, n]}),
             single({"x": {"0": "tp"}},
                    [op("max", "x", "p", dim=0), over("all_reduce", "tp", "p", "m", reduce="max"),
                     op("exp", "m", "y")], mesh={"tp": 2},
                    lineage={"p": {"of": "m", "partial": {"max": "tp"}}, "m": {}}),
             "\"all terms but one free\" cannot express a maximum")
    for q, k, d in ((4, 6, 3), (3, 5, 4)):
        attention = [op("linear", ["Q", "K"], "s"), op("softmax", "s", "p", dim=-1),
                     op("matmul", ["p", "V"], "o")]
        model = spec(attention + [op("mul", ["o", "g"], "z"), op("sum", "z", "l")], ["grad.Q"],
                     inputs={"K": [k, d], "V": [k, d], "g": [q, d]}, parameters={"Q": [q, d]},
                     gradients={"loss": "l", "of": ["Q"]})
        flash = [op("linear", ["g", "V"], "dp"), op("mul", ["g", "o"], "go"),
                 op("sum", "go", "D", dim=-1, keepdim=True), op("sub", ["dp", "D"], "e"),
                 op("mul", ["p", "e"], "ds"), op("matmul", ["ds", "K"], "dq")]
        case(f"S4_flash_backward_{q}", "PROVED", model,
             single(["Q", "K", "V", "g"], attention + flash, {"grad.Q": "dq"},
                    lineage={"o": {}, "p": {}, "s": {}}),
             "rowsum(dO * O) for sum(P dP): false where O is cut as a free boundary variable")
    for n in (4, 3):
        model = spec([op("sub", ["a", "b"], "u"), op("sub", ["b", "a"], "v")], ["u", "v"],
                     inputs={"a": [n], "b": [n]})
        names = {"p": {"of": "a"}, "q": {"of": "b"}}
        case(f"S6_swapped_lineages_{n}", "REFUTED", model,
             single({"p": {"of": "b"}, "q": {"of": "a"}, "r": {"of": "b"}, "s": {"of": "a"}},
                    [op("sub", ["p", "q"], "u"), op("sub", ["r", "s"], "v")]),
             "a - b with its lineages swapped, beside b - a: two classes")
        case(f"S6_lineages_{n}", "PROVED", model,
             single({**names, "r": {"of": "b"}, "s": {"of": "a"}},
                    [op("sub", ["p", "q"], "u"), op("sub", ["r", "s"], "v")]), "the same, right")
    for s in (8192, 24):
        half, d = s // 2, 4
        model = spec([op("apply_rotary_half", ["x", "cosine", "sine"], "y")], {"y": {"0": "sp"}},
                     inputs={"x": [s, d]}, buffers={"cosine": [s, d], "sine": [s, d]})
        def rotary(start, stop):
            return [op("slice", "cosine", "c", dim=0, start=start, stop=stop),
                    op("slice", "sine", "n", dim=0, start=start, stop=stop),
                    op("apply_rotary_half", ["x", "c", "n"], "y")]
        inputs = {"x": {"0": "sp"}, "cosine": {}, "sine": {}}
        case(f"S7_offset_of_table_{s}", "REFUTED", model,
             single(inputs, rotary(0, half), mesh={"sp": 2}),
             "offsets rebased although the table is read at absolute positions")
        case(f"S7_both_offsets_{s}", "PROVED", model,
             single(inputs, rotary(f"=sp * {half}", f"=sp * {half} + {half}"), mesh={"sp": 2}),
             "the same with the table sliced along")
    for n in (8, 6):
        half = n // 2
        model = spec([op("sgd", ["w", "g"], "w.new", lr=0.5)], [], inputs={"g": [n, n]},
                     parameters={"w": [n, n]}, updates={"w": "w.new"})
        gathered = [over("all_gather", "b", "w", "wb", dim=1), over("all_gather", "a", "wb", "W", dim=0)]
        def block(name, out, row, column):
            return [op("slice", name, out + ".r", dim=0, start=f"={row} * {half}",
                       stop=f"={row} * {half} + {half}"),
                    op("slice", out + ".r", out, dim=1, start=f"={column} * {half}",
                       stop=f"={column} * {half} + {half}")]
        for tag, row, column in (("right", "a", "b"), ("transposed", "b", "a")):
            case(f"S9_updated_block_{tag}_{n}", "PROVED" if tag == "right" else "REFUTED", model,
                 single({"w": {"0": "a", "1": "b"}, "g": {}},
                        gathered + block("W", "wl", row, column) + block("g", "gl", row, column) +
                        [op("sgd", ["wl", "gl"], "w.new", lr=0.5)], mesh={"a": 2, "b": 2}),
                 "the updated parameter in another relation than it was read: the next iteration "
                 "breaks")
        case(f"S9_updated_rows_{n}", ["REFUTED", "MALFORMED"], model,
             single({"w": {"1": "tp"}, "g": {"0": "tp"}},
                    [over("all_gather", "tp", "w", "W", dim=1),
                     over("chunk", "tp", "W", "wl", dim=0),
                     op("sgd", ["wl", "g"], "w.new", lr=0.5)], mesh={"tp": 2}),
             "read by columns, updated by rows", judge=False)
        case(f"S9_updated_one_of_two_{n}", "MALFORMED", model,
             single({"w": {"1": "tp"}, "copy": {"of": "w"}, "g": {"1": "tp"}},
                    [op("sgd", ["w", "g"], "w.new", lr=0.5)], mesh={"tp": 2}),
             "two slices of a parameter are read and one is updated", judge=False)
    for microbatches in (4, 3):
        b, n = 2 * microbatches, 3
        model = spec([op("linear", ["x", "w"], "y"), op("mul", ["y", "g"], "z"), op("sum", "z", "l")],
                     ["grad.w"], inputs={"x": [b, n], "g": [b, n]}, parameters={"w": [n, n]},
                     gradients={"loss": "l", "of": ["w"]})
        local = [op("linear", ["x", "w"], "y"),
                 {"backward": "y", "grad": {"y": "g"}, "out": {"w": "gw"}}]
        inputs = {"x": {"0": "microbatch"}, "g": {"0": "microbatch"}, "w": {}}
        pairs = [[1, 0]] + [[i, i] for i in range(1, microbatches)]
        case(f"S10_microbatch_twice_{microbatches}", ["REFUTED", "MALFORMED"], model,
             single(inputs, local + [over("permute", "microbatch", "gw", "gp", pairs=pairs),
                                     op("accumulate", "gp", "sum")], {"grad.w": "sum"},
                    microbatches=microbatches),
             "one microbatch counted twice, another missing, the total count right")
        case(f"S10_each_once_{microbatches}", "PROVED", model,
             single(inputs, local + [op("accumulate", "gw", "sum")], {"grad.w": "sum"},
                    microbatches=microbatches), "the same, right")


def repeated_rows():
    """The model computes some things twice, which are then one; what only looks like it is another."""
    for n in (4, 3):
        vectors = {"x": [n], "z": [n]}
        model = spec([op("mul", ["x", 2], "a"), op("sub", ["x", "z"], "u"), op("mul", ["x", 2], "b"),
                      op("mul", ["x", 3], "c"), op("sub", ["z", "x"], "v"), op("exp", "b", "e"),
                      op("mul", ["u", "c"], "p"), op("mul", ["v", "a"], "q"), op("add", ["p", "q"], "s"),
                      op("add", ["s", "e"], "y")], ["y"], inputs=vectors)
        for name, factor, operands, verdict in (
                ("once", 3, ["z", "x"], "PROVED"), ("another_number", 2, ["z", "x"], "REFUTED"),
                ("another_order", 3, ["x", "z"], "REFUTED")):
            plan = [op("mul", ["x", 2], "a"), op("exp", "a", "e"), op("mul", ["x", factor], "c"),
                    op("sub", ["x", "z"], "u"), op("sub", operands, "v"), op("mul", ["u", "c"], "p"),
                    op("mul", ["v", "a"], "q"), op("add", ["p", "q"], "s"), op("add", ["s", "e"], "y")]
            case(f"S25_computed_{name}_{n}", verdict, model, single(["x", "z"], plan),
                 "operators of the model that differ are taken for one")


def parts_rows():
    """What is joined, added up and read in parts again, as gradients in one buffer are."""
    def part(source, start, n, out):
        return op("slice", source, out, dim=0, start=start, stop=start + n)

    for n in (4, 3):
        names = {f"{which}{r}": [n] for r in (0, 1) for which in ("a", "b")}
        model = spec([op("add", ["a0", "a1"], "a"), op("add", ["b0", "b1"], "b"),
                      op("mul", ["a0", "c"], "d")], ["a", "b", "d"], inputs={**names, "c": [n]})
        variants = (  # orders of parts by rank, places that are read, the last output, the tensor that is read
            ("right", ("ab", "ab"), (0, n), "mul", "sum", "PROVED"),
            ("another_order", ("ba", "ba"), (n, 0), "mul", "sum", "PROVED"),
            ("orders_differ", ("ab", "ba"), (0, n), "mul", "sum", "REFUTED"),
            ("places_exchanged", ("ab", "ab"), (n, 0), "mul", "sum", "REFUTED"),
            ("one_place_off", ("ab", "ab"), (1, n), "mul", "sum", "REFUTED"),
            ("before_the_sum", ("ab", "ab"), (0, n), "mul", "all", "REFUTED"),
            ("wrong_behind_it", ("ab", "ab"), (0, n), "add", "sum", "REFUTED"))
        for name, orders, (at_a, at_b), last, read, verdict in variants:
            programs = []
            for r, order in enumerate(orders):
                programs.append({
                    "name": f"r{r}", "devices": {"dp": r}, "inputs": {f"a{r}": {}, f"b{r}": {}, "a0": {}, "c": {}},
                    "operators": [op("concat", [f"{which}{r}" for which in order], "all", dim=0),
                                  {"op": "all_reduce", "in": ["r0:all", "r1:all"], "out": "sum"},
                                  part(read, at_a, n, "a"), part(read, at_b, n, "b"),
                                  op(last, ["a0", "c"], "d")]})
            case(f"S26_parts_{name}_{n}", verdict, model, {"mesh": {"dp": 2}, "programs": programs},
                 "a part of a sum is taken for another one, or what stands behind it for what made it")
        # On one rank nothing is folded: each tensor is taken from the operator that it names.
        rest = [op("concat", ["a0", "b0"], "all", dim=0), op("mul", ["all", "all"], "s"), part("s", n, n, "y")]
        for last, verdict in (("mul", "PROVED"), ("add", "REFUTED")):
            case(f"S26_behind_a_part_{last}_{n}", verdict,
                 spec(rest + [op("mul", ["a0", "c"], "z")], ["y", "z"], inputs={"a0": [n], "b0": [n], "c": [n]}),
                 single({"a0": {}, "b0": {}, "c": {}}, rest + [op(last, ["a0", "c"], "z")]),
                 "operators get other numbers, and tensors keep those of what made them")
        numbers = ["op numbered(x[i]: int) -> y[i]: int64 = i"]
        wide = {"x": f"int64[{n}]", "z": f"int64[{n}]"}
        joined = [op("concat", ["x", "z"], "all", dim=0), op("numbered", "all", "p"), part("p", n, n, "y")]
        for name, plan, verdict in (("of_all", joined, "PROVED"), ("of_the_part", [op("numbered", "z", "y")], "REFUTED")):
            case(f"S26_places_{name}_{n}", verdict, spec(joined, ["y"], inputs=wide),
                 single({"x": {}, "z": {}}, plan), "the place in what is joined is taken for that in the part",
                 operators=numbers)


def write_rows():
    repeated_rows()
    parts_rows()
    off_root_rows()
    instance_rows()
    integer_rows()
    per_rank_rows()
    lineage_rows()
