"""Rows on which wrong reductions, derivatives and algebra fail."""
from case_files import case, op, over, single, spec


def reduction_rows():
    for tag, n in (("1024", 1024), ("3", 3)):
        case(f"R1_expanded_sum_{tag}", "REFUTED",
             spec([op("expand", "c", "e", size=[n]), op("sum", "e", "y")], ["y"],
                  inputs={"c": [1]}),
             single(["c"], [op("mul", ["c", 2], "y")]),
             "unweighted sums over 2 representatives")
        case(f"R2_expanded_mean_{tag}", "PROVED",
             spec([op("expand", "c", "e", size=[n]), op("mean", "e", "y")], ["y"],
                  inputs={"c": [1]}),
             single(["c"], [op("identity", "c", "y")]),
             "original 1/D with unweighted sums")
        case(f"R2_mean_gradient_{tag}", "PROVED",
             spec([op("add", ["x", "b"], "s"), op("mean", "s", "m")], ["grad.b"],
                  inputs={"x": [n]}, parameters={"b": [1]}, ones={"one": [1]},
                  gradients={"loss": "m", "of": ["b"]}),
             single(["one"], [op("identity", "one", "gb")], {"grad.b": "gb"}),
             "original 1/D with unweighted sums, in a derivative")
    for tag, n in (("8", 8), ("6", 6)):
        case(f"R3_variance_{tag}", "PROVED",
             spec([op("mean", "x", "mu"), op("sub", ["x", "mu"], "d"), op("square", "d", "q"),
                   op("mean", "q", "v")], ["v"], inputs={"x": [n]}),
             single({"x": {"0": "tp"}},
                    [op("sum", "x", "s"), over("all_reduce", "tp", "s", "S"),
                     op("div", ["S", n], "mu"), op("square", "x", "x2"), op("sum", "x2", "q"),
                     over("all_reduce", "tp", "q", "Q"), op("div", ["Q", n], "m2"),
                     op("square", "mu", "mu2"), op("sub", ["m2", "mu2"], "v")], mesh={"tp": 2}),
             "original 1/D with unweighted sums")
    for tag, n in (("5", 5), ("4", 4)):
        powers = [op("sum", "x", "p1")]
        for k in (2, 3, 4):
            powers += [op("pow", ["x", k], f"x{k}"), op("sum", f"x{k}", f"p{k}")]
        # n (p2 p4 - p3^2) - p1 (p1 p4 - p2 p3) + p2 (p1 p3 - p2^2)
        minors = [op("mul", ["p2", "p4"], "a1"), op("square", "p3", "a2"), op("sub", ["a1", "a2"], "a"),
                  op("mul", ["p1", "p4"], "b1"), op("mul", ["p2", "p3"], "b2"),
                  op("sub", ["b1", "b2"], "b"), op("mul", ["p1", "p3"], "c1"),
                  op("square", "p2", "c2"), op("sub", ["c1", "c2"], "c"), op("mul", ["a", n], "ta"),
                  op("mul", ["p1", "b"], "tb"), op("mul", ["p2", "c"], "tc"),
                  op("sub", ["ta", "tb"], "tab"), op("add", ["tab", "tc"], "det")]
        case(f"R4_power_sum_determinant_{tag}", "REFUTED",
             spec(powers + minors, ["det"], inputs={"x": [n]}, zeros={"zero": [1]}),
             single(["zero"], [op("identity", "zero", "det")]),
             "any 2 weighted representatives; it needs 3")
    for tag, n in (("4", 4), ("3", 3)):
        powers = [op("sum", "x", "p1"), op("pow", ["x", 2], "x2"), op("sum", "x2", "p2"),
                  op("pow", ["x", 3], "x3"), op("sum", "x3", "p3")]
        case(f"R5_newton_{tag}", "REFUTED",
             spec(powers + [op("pow", ["p1", 3], "c"), op("mul", ["p3", 2], "d"),
                            op("add", ["c", "d"], "y")], ["y"], inputs={"x": [n]}),
             single(["x"], powers[:3] + [op("mul", ["p1", "p2"], "e"), op("mul", ["e", 3], "y")]),
             "2 unweighted representatives")
    for tag, b, h in (("8", 3, 8), ("5", 4, 5)):
        norms = {"layer_norm": op("layer_norm", ["x", "w"], "y", normalized_shape=[h], eps=0),
                 "rms_norm": op("rms_norm", ["x", "w"], "y", eps=0),
                 "softmax": op("softmax", "x", "y", dim=-1)}
        for kind, forward in norms.items():
            inputs = ["x", "g"] if kind == "softmax" else ["x", "w", "g"]
            parameters = {"x": [b, h]} if kind == "softmax" else {"x": [b, h], "w": [h]}
            backward = {"backward": "y", "grad": {"y": "g"}, "out": {"x": "gx"}}
            model = spec([forward, op("mul", ["y", "g"], "yg"), op("sum", "yg", "loss")],
                         ["grad.x"], inputs={"g": [b, h]}, parameters=parameters,
                         gradients={"loss": "loss", "of": ["x"]})
            case(f"R6_{kind}_gradient_{tag}", "REFUTED", model,
                 single(inputs, [forward, backward, op("mul", ["gx", 2], "g2")], {"grad.x": "g2"}),
                 "2 representatives (1 for rms_norm and softmax): both sides are identically 0")
            case(f"R6_{kind}_gradient_right_{tag}", "PROVED", model,
                 single(inputs, [forward, backward], {"grad.x": "gx"}),
                 "the same gradient unscaled")
    for tag, n in (("4", 4), ("3", 3)):
        other = [op("sum", "x", "s"), op("sub", ["s", "x"], "d")]
        case(f"R7_max_{tag}", "REFUTED", spec([op("max", "x", "y")], ["y"], inputs={"x": [n]}),
             single(["x"], other + [op("max", "d", "y")]), "2 unweighted representatives")
        case(f"R7_flip_{tag}", "REFUTED",
             spec([op("flip", "x", "y", dims=[0])], ["y"], inputs={"x": [n]}),
             single(["x"], other[:1] + [op("sub", ["s", "x"], "y")]),
             "2 unweighted representatives (true at n = 2)")
    for tag, n in (("32", 32), ("5", 5)):
        case(f"R8_transpose_{tag}", "REFUTED",
             spec([op("identity", "x", "y")], ["y"], inputs={"x": [n, n]}),
             single(["x"], [op("transpose", "x", "y", dim0=0, dim1=1)]),
             "1 representative for a batch-like dimension")
    for a, b in ((4, 6), (5, 6)):
        def strided(p, q):
            return [op("view", "x", "v", size=[p, q]), op("transpose", "v", "t", dim0=0, dim1=1),
                    op("reshape", "t", "y", shape=[p * q])]
        case(f"R9_strides_{a * b}", "REFUTED", spec(strided(a, b), ["y"], inputs={"x": [a * b]}),
             single(["x"], strided(b, a)), "reducing extents without their strides")
    for sizes in ([3, 5], [4, 7]):
        n = sum(sizes)
        def uneven(scale):
            programs = []
            for r in range(2):
                programs.append({
                    "name": f"r{r}", "devices": {"tp": r},
                    "inputs": {"x": {"0": {"over": "tp", "sizes": sizes}}},
                    "operators": [op("mean", "x", "m")] +
                                 ([op("mul", ["m", {"literal": f"{sizes[r]}/{n}"}], "p")] if scale
                                  else [op("mul", ["m", 0.5], "p")]) +
                                 [op("all_reduce", ["r0:p", "r1:p"], "y")]})
            return {"mesh": {"tp": 2}, "programs": programs}
        model = spec([op("mean", "x", "y")], ["y"], inputs={"x": [n]})
        case(f"R10_uneven_mean_{n}", "REFUTED", model, uneven(False),
             "reduced extents as divisors")
        case(f"R10_uneven_mean_weighted_{n}", "PROVED", model, uneven(True),
             "the same with each mean weighted by its share")
    for tag, n, tp in (("16", 16, 2), ("12", 12, 4)):
        for wrong in (False, True):
            case(f"R11_{'local' if wrong else 'global'}_divisor_{tag}",
                 "REFUTED" if wrong else "PROVED",
                 spec([op("sum", "x", "s"), op("div", ["s", n], "y")], ["y"], inputs={"x": [n]}),
                 single({"x": {"0": "tp"}},
                        [op("sum", "x", "s"), op("div", ["s", n // tp if wrong else n], "p"),
                         over("all_reduce", "tp", "p", "y")], mesh={"tp": tp}),
                 "dropping original extents")
    for n in (5, 3):
        case(f"R12_product_of_sums_{n}", "REFUTED",
             spec([op("sum", "x", "a"), op("sum", "y", "b"), op("mul", ["a", "b"], "z")], ["z"],
                  inputs={"x": [n], "y": [n]}),
             single(["x", "y"], [op("mul", ["x", "y"], "p"), op("sum", "p", "s"),
                                 op("mul", ["s", n], "z")]),
             "1 representative")
    causal = ("op causal_mean(x[k]) -> y[k] = sum(j: where(j <= k, x[j], 0)) "
              "/ sum(l: where(l <= k, x[l] - x[l] + 1, 0))")
    for n in (16, 3):
        case(f"R13_causal_mean_{n}", "PROVED",
             spec([op("expand", "c", "e", size=[n]), op("causal_mean", "e", "y")], ["y"],
                  inputs={"c": [1]}),
             single(["c"], [op("expand", "c", "e", size=[n]), op("identity", "e", "y")]),
             "fixed weights per representative", operators=causal)
        case(f"R13_causal_mean_wrong_{n}", "REFUTED",
             spec([op("causal_mean", "x", "y")], ["y"], inputs={"x": [n]}),
             single(["x"], [op("identity", "x", "y")]),
             "one representative per interval", operators=causal)
    positional = ["op at_position(x[s, h]) -> y[s, h] = x[s, h] * s",
                  "op at_square(x[s, h]) -> y[s, h] = x[s, h] * s ^ 2"]
    for n in (8, 3):
        case(f"R14_position_{n}", "REFUTED",
             spec([op("at_position", "x", "y")], ["y"], inputs={"x": [n, 4]}),
             single(["x"], [op("at_square", "x", "y")]), "positions {0, 1} only",
             operators=positional)
    collide = ("op collision(a[i]: int, b[i]: int, c[i]: int) -> y[i] = "
               "1 - (1 - [a[i] == b[i]]) * (1 - [b[i] == c[i]]) * (1 - [a[i] == c[i]])")
    for vocabulary in (1024, 5):
        case(f"R15_pigeonhole_{vocabulary}", "REFUTED",
             spec([op("collision", ["a", "b", "c"], "n"), op("float", "n", "y")], ["y"],
                  inputs={"a": "int64[1]", "b": "int64[1]", "c": "int64[1]"}, ones={"one": [1]},
                  premises={t: [0, vocabulary] for t in "abc"}),
             single(["one"], [op("identity", "one", "y")]), "a vocabulary of 2 representatives",
             operators=collide)
    for v in (8, 3):
        case(f"R16_two_ids_{v}", "REFUTED",
             spec([op("embedding", ["id1", "w"], "y")], ["y"],
                  inputs={"id1": "int64[4]", "id2": "int64[4]"}, parameters={"w": [v, 4]},
                  premises={"id1": [0, v], "id2": [0, v]}),
             single(["id2", "w"], [op("embedding", ["id2", "w"], "y")]),
             "a vocabulary of 1 representative")
    for n, b in ((8, 4), (6, 3)):
        model = spec([op("matmul", ["x", "w"], "h"), op("linear", ["h", "w"], "y")], ["y"],
                     inputs={"x": [b, n]}, parameters={"w": [n, n]})
        case(f"R18_columns_{n}", "PROVED", model,
             single({"x": {}, "w": {"1": "tp"}},
                    [op("matmul", ["x", "w"], "h"), op("linear", ["h", "w"], "p"),
                     over("all_reduce", "tp", "p", "y")], mesh={"tp": 2}),
             "too few representatives for two sums over one class")
        case(f"R18_columns_then_rows_{n}", "REFUTED", model,
             single({"x": {}, "wc": {"of": "w", "1": "tp"}, "wr": {"of": "w", "0": "tp"}},
                    [op("matmul", ["x", "wc"], "h"), op("matmul", ["h", "wr"], "p"),
                     over("all_reduce", "tp", "p", "y")], mesh={"tp": 2}),
             "too few representatives for two sums over one class")
    for b, s in ((4, 8), (3, 6)):
        half = s // 2
        strided = {"map": [f"i0 / {half} * {s} + tp * {half} + i0 % {half}"]}
        for tag, relation in (("box", {"0": "tp"}), ("strided", strided)):
            case(f"R19_merge_{tag}_{b * s}", "REFUTED" if tag == "box" else "PROVED",
                 spec([op("view", "x", "y", size=[b * s])], {"y": relation}, inputs={"x": [b, s]}),
                 single({"x": {"1": "tp"}}, [op("view", "x", "y", size=[b * half])],
                        mesh={"tp": 2}),
                 "lineage as one box per merged dimension")
    for n in (4, 3):
        case(f"R20_reciprocal_deviations_{n}", "REFUTED",
             spec([op("mean", "x", "mu"), op("sub", ["x", "mu"], "d"), op("reciprocal", "d", "r"),
                   op("sum", "r", "y")], ["y"], inputs={"x": [n]}, zeros={"zero": [1]}),
             single(["zero"], [op("identity", "zero", "y")]),
             "counting sums on the reduced form")
        case(f"R21_ratio_{n}", "REFUTED",
             spec([op("sum", "x", "s"), op("add", ["x", "s"], "d"), op("div", ["x", "d"], "q"),
                   op("sum", "q", "y")], ["y"], inputs={"x": [n]}, ones={"one": [1]}),
             single(["one"], [op("mul", ["one", {"literal": f"{n}/{n + 1}"}], "y")]),
             "1 representative")
    for n in (4096, 1000):
        ratio = [op("mul", ["w", "w"], "q"), op("sum", "q", "s"), op("sqrt", "s", "norm"),
                 op("add", ["norm", {"literal": "1/1000"}], "d"), op("reciprocal", "d", "ratio")]
        clipped = [op("clamp", "ratio", "c", max=1), op("mul", ["w", "c"], "y")]
        model = spec(ratio + clipped, ["y"], parameters={"w": [n]})
        case(f"R22_limit_left_out_{n}", "REFUTED", model,
             single(["w"], ratio + [op("mul", ["w", "ratio"], "y")]),
             "inputs of one size: a limit for small norms is met by small inputs only", judge=False)
        case(f"R22_limit_{n}", "PROVED", model, single(["w"], ratio + clipped), "the same, right")


def differentiation_rows():
    for n in (8, 6):
        model = spec([op("exp", "x", "f"), op("sum", "f", "l"), op("grad_norm", "grad.x", "norm")],
                     ["norm"], parameters={"x": [n]}, gradients={"loss": "l", "of": ["x"]})
        local = [op("exp", "x", "f"), op("sum", "f", "l"),
                 {"backward": "l", "out": {"f": "gf"}, "grad": {"l": "grad.l"}},
                 {"backward": "f", "out": {"x": "gx"}, "grad": {"f": "gf"}}]
        inputs = {"x": {"0": "tp"}, "grad.l": {}}
        case(f"D1_gradient_norm_{n}", "PROVED", model,
             single(inputs, local + [op("grad_norm", "gx", "q"),
                                     over("all_reduce", "tp", "q", "norm")], mesh={"tp": 2}),
             "differentiating the reduced sum gives (w f')^2 for w f'^2")
        case(f"D1_summed_shards_{n}", "REFUTED", model,
             single(inputs, local + [over("all_reduce", "tp", "gx", "s"),
                                     op("grad_norm", "s", "norm")], mesh={"tp": 2}),
             "the square of the sum for the sum of squares")
    rules = [f"op max_{r}(a[i..], b[i..]) ties {r} -> y[i..] = max(a[i..], b[i..])"
             for r in ("first", "even", "all", "zero")]
    rules.append("op max_none(a[i..], b[i..]) ties none -> y[i..] = max(a[i..], b[i..])")
    relus = [f"op relu_{r}(a[i..]) ties {r} -> y[i..] = max(a[i..], 0)"
             for r in ("first", "even", "all", "zero")]
    relus.append("op relu_none(a[i..]) ties none -> y[i..] = max(a[i..], 0)")
    for n in (4, 3):
        def replicas(rule):
            return [op(f"max_{rule}", ["x", "x"], "y"), op("sum", "y", "l")]
        def gradient(rule):
            return single(["x", "grad.l"],
                          replicas(rule) + [{"backward": "l", "out": {"y": "gy"}},
                                            {"backward": "y", "grad": {"y": "gy"},
                                             "out": {"x": "gx"}}], {"grad.x": "gx"})
        def model(rule):
            return spec(replicas(rule), ["grad.x"], parameters={"x": [n]},
                        gradients={"loss": "l", "of": ["x"]})
        why = "the gradient of a maximum of two replicas depends on the tie rule"
        case(f"D2_no_tie_rule_{n}", "UNKNOWN", model("none"), gradient("none"), why, rules,
             judge=False)
        case(f"D2_one_tie_rule_{n}", "PROVED", model("even"), gradient("even"), why, rules)
        case(f"D2_two_tie_rules_{n}", "REFUTED", model("first"), gradient("all"), why, rules)

        def padded(rule):
            return [op("pad", "x", "p", pad=[0, 2]), op(f"relu_{rule}", "p", "y"),
                    op("mul", ["y", "g"], "z"), op("sum", "z", "l")]
        def padded_model(rule):
            return spec(padded(rule), ["grad.p"], inputs={"g": [n + 2]}, parameters={"x": [n]},
                        gradients={"loss": "l", "of": ["p"]})
        def padded_plan(rule):
            return single(["x", "g"],
                          padded(rule)[:2] + [{"backward": "y", "grad": {"y": "g"},
                                               "out": {"p": "gp"}}], {"grad.p": "gp"})
        why = "the gradient of relu on rows padded with zeros depends on the tie rule"
        case(f"D3_no_tie_rule_{n}", "UNKNOWN", padded_model("none"), padded_plan("none"), why,
             relus, judge=False)
        case(f"D3_one_tie_rule_{n}", "PROVED", padded_model("zero"), padded_plan("zero"), why, relus)
        case(f"D3_two_tie_rules_{n}", "REFUTED", padded_model("zero"), padded_plan("all"), why,
             relus)
        h = 2 * n
        case(f"D3_norm_of_row_{n}", "PROVED",
             spec([op("square", "x", "q"), op("sum", "q", "s", dim=1), op("sqrt", "s", "y"),
                   op("sum", "y", "l")], ["grad.x"], parameters={"x": [n, h]},
                  gradients={"loss": "l", "of": ["x"]}),
             single({"x": {"1": "tp"}, "one": {"of": "grad.l"}},
                    [op("square", "x", "q"), op("sum", "q", "p", dim=1),
                     over("all_reduce", "tp", "p", "s"), op("sqrt", "s", "y"), op("sum", "y", "l"),
                     {"backward": "l", "grad": {"l": "one"}, "out": {"y": "gy"}},
                     {"backward": "y", "grad": {"y": "gy"}, "out": {"s": "gs"}},
                     {"backward": "p", "grad": {"p": "gs"}, "out": {"q": "gq"}},
                     {"backward": "q", "grad": {"q": "gq"}, "out": {"x": "gx"}},
                     over("all_gather", "tp", "gx", "g", dim=1)],
                    {"grad.x": "g"}, mesh={"tp": 2}),
             "the premise that no row is zero must be listed", premises=[""])
    for t, v in ((8, 6), (6, 4)):
        model = spec([op("embedding", ["ids", "w"], "y"), op("mul", ["y", "g"], "z"),
                      op("sum", "z", "l")], ["grad.w"],
                     inputs={"ids": f"int64[{t}]", "g": [t, 4]}, parameters={"w": [v, 4]},
                     premises={"ids": [0, v]}, gradients={"loss": "l", "of": ["w"]})
        inputs = {"ids": {"0": "dp"}, "g": {"0": "dp"}, "w": {}}
        scatter = [op("embedding", ["ids", "w"], "y"),
                   {"backward": "y", "grad": {"y": "g"}, "out": {"w": "gw"}}]
        case(f"D4_scatter_add_{t}", "PROVED", model,
             single(inputs, scatter + [over("all_reduce", "dp", "gw", "sum")], {"grad.w": "sum"},
                    mesh={"dp": 2}),
             "ids may repeat")
        case(f"D4_scatter_set_{t}", "UNKNOWN", model,
             single(inputs, [op("scatter_set", ["ids", "g", "w"], "gw"),
                             over("all_reduce", "dp", "gw", "sum")], {"grad.w": "sum"},
                    mesh={"dp": 2}),
             "\"set\" in place of \"add\" depends on the order of writes and is not declared",
             judge=False)
    for n in (4, 3):
        model = spec([op("linear", ["x", "w"], "h"), op("exp", "h", "a"), op("linear", ["a", "v"], "y"),
                      op("mul", ["y", "g"], "z"), op("sum", "z", "l")], ["grad.v"],
                     inputs={"x": [n, n], "g": [n, n]}, parameters={"w": [n, n], "v": [n, n]},
                     gradients={"loss": "l", "of": ["v"]})
        forward = [op("linear", ["x", "w"], "h"), op("exp", "h", "a"), op("linear", ["a", "v"], "y")]
        case(f"D5_other_forward_{n}", ["REFUTED", "MALFORMED"], model,
             single(["x", "w", "v", "g"],
                    forward + [{"backward": "h", "grad": {"h": "g"}, "out": {"w": "gv"}}],
                    {"grad.v": "gv"}),
             "a backward operator that belongs to another forward operator")
        case(f"D5_other_inputs_{n}", ["REFUTED", "MALFORMED"], model,
             single(["x", "w", "v", "g"],
                    forward + [{"backward": "y", "in": ["h", "v"], "grad": {"y": "g"},
                                "out": {"v": "gv"}}], {"grad.v": "gv"}),
             "a backward operator that reads inputs of another one")
        case(f"D5_right_{n}", "PROVED", model,
             single(["x", "w", "v", "g"],
                    forward + [{"backward": "y", "grad": {"y": "g"}, "out": {"v": "gv"}}],
                    {"grad.v": "gv"}), "the same, right")


def algebra_rows():
    for n in (4, 3):
        vector = {"x": [n], "y": [n]}
        quotient = [op("mul", ["x", "y"], "p"), op("div", ["p", "y"], "z")]
        case(f"A1_cancelled_{n}", "PROVED", spec(quotient, ["z"], inputs=vector),
             single(["x"], [op("identity", "x", "z")]),
             "Z3 alone refutes at y = 0", premises=["y"])
        case(f"A1_cancelled_in_plan_{n}", "REFUTED",
             spec([op("identity", "x", "z")], ["z"], inputs=vector),
             single(["x", "y"], quotient), "a premise that only the plan needs", judge=False)
        root = [op("square", "x", "q"), op("sqrt", "q", "z")]
        case(f"A2_root_of_square_{n}", "REFUTED", spec(root, ["z"], inputs={"x": [n]}),
             single(["x"], [op("identity", "x", "z")]), "sqrt(x^2) = x")
        case(f"A2_absolute_{n}", "PROVED", spec(root, ["z"], inputs={"x": [n]}),
             single(["x"], [op("abs", "x", "z")]), "sqrt(x^2) = |x|")
        u = [op("exp", "x", "e"), op("add", ["e", 1], "u")]
        case(f"A3_positive_root_{n}", "PROVED",
             spec(u + [op("square", "u", "q"), op("pow", ["q", 0.5], "z")], ["z"],
                  inputs={"x": [n]}),
             single(["x"], [op("exp", "x", "e"), op("add", ["e", 1], "z")]),
             "(u^2)^(1/2) = u needs u > 0 proved")
        masks = ["op keep(x[i.., j], m[i.., j]) -> y[i.., j] = where(m[i.., j], x[i.., j], -inf)",
                 "op keep_big(x[i.., j], m[i.., j]) -> y[i.., j] = where(m[i.., j], x[i.., j], -10000)",
                 "op keep_zero(x[i.., j], m[i.., j]) -> y[i.., j] = where(m[i.., j], x[i.., j], 0)"]
        model = spec([op("keep", ["x", "m"], "s"), op("softmax", "s", "y", dim=-1)], ["y"],
                     inputs={"x": [n, 6], "m": f"bool[{n}, 6]"}, premises={"m": "row unmasked"})
        case(f"A4_masked_softmax_{n}", "PROVED", model,
             single(["x", "m"], [op("exp", "x", "e"), op("keep_zero", ["e", "m"], "k"),
                                 op("sum", "k", "s", dim=-1, keepdim=True),
                                 op("div", ["k", "s"], "y")]),
             "-inf is a tag under exp", operators=masks, premises=["m"])
        case(f"A4_large_negative_{n}", "REFUTED", model,
             single(["x", "m"], [op("keep_big", ["x", "m"], "s"), op("softmax", "s", "y", dim=-1)]),
             "-10000 in place of -inf (differs for x near -10000)", operators=masks, judge=False)
        lowest = ["op hide(x[i.., j]) -> y[i.., j] = where(j < 6, -inf, x[i.., j])",
                  "op lower(a, b) ties even -> y = min(a, b)"]
        stable = [op("max", "x", "m0", dim=-1, keepdim=True), op("hide", "m0", "m1")]
        shares = [op("sub", ["x", "m"], "d"), op("exp", "d", "e"),
                  op("sum", "e", "s", dim=-1, keepdim=True), op("div", ["e", "s"], "y")]
        model = spec([op("softmax", "x", "y", dim=-1)], ["y"], inputs={"x": [n, 6]})
        case(f"A4_minimum_with_hidden_{n}", "REFUTED", model,
             single(["x"], stable + [op("lower", ["m0", "m1"], "m")] + shares),
             "what is subtracted from scores cancels, unless it is infinite", operators=lowest,
             judge=False)
        case(f"A4_maximum_with_hidden_{n}", "PROVED", model,
             single(["x"], stable + [op("maximum", ["m0", "m1"], "m")] + shares),
             "a row that is hidden altogether leaves the maximum as it is", operators=lowest)
        case(f"A5_zero_over_y_{n}", "PROVED",
             spec([op("reciprocal", "y", "r"), op("mul", ["r", 0], "z")], ["z"],
                  inputs={"y": [n]}, zeros={"zero": [n]}),
             single(["zero"], [op("identity", "zero", "z")]),
             "a premise must survive a product with 0", premises=["y"])
        third = spec([op("mul", ["x", {"literal": "1/3"}], "z")], ["z"], inputs={"x": [n]})
        plan = single(["x"], [op("mul", ["x", 0.333333343], "z")])
        case(f"A6_rounded_third_{n}", "REFUTED", third, plan, "rounding literals", judge=False)
        for name, read, exact in (("other", "0.333333343", "0.34"), ("large", "3.5e38", "4e38"),
                                  ("small", "-1e39", "-2e39"), ("integer", "16777217", "16777216"),
                                  ("between", "16777217.0", "16777216")):
            case(f"A6_declared_{name}_{n}", "MALFORMED", {**third, "literals": {read: exact}},
                 plan, "a literal is not the float32 rounding of what it is read as; beyond float32 "
                 "none is")
        case(f"A6_declared_third_{n}", "PROVED", {**third, "literals": {"0.333333343": "1/3"}}, plan,
             "the premise that the literal is a rounding must be listed",
             premises=["0.333333343"])
        case(f"A7_power_of_exp_{n}", "PROVED",
             spec([op("div", ["x", 8], "d"), op("exp", "d", "e"), op("pow", ["e", 8], "z")], ["z"],
                  inputs={"x": [n]}),
             single(["x"], [op("exp", "x", "z")]), "exp(x/8)^8 = exp(x)")
        case(f"A7_log_of_product_{n}", "PROVED",
             spec([op("mul", ["u", "v"], "p"), op("log", "p", "z")], ["z"],
                  inputs={"u": [n], "v": [n]}, premises={"u": "positive", "v": "positive"}),
             single(["u", "v"], [op("log", "u", "a"), op("log", "v", "b"), op("add", ["a", "b"], "z")]),
             "log(u v) = log u + log v for positive u and v", premises=["u", "v"])
        inverse = [op("log", "x", "l"), op("neg", "l", "m"), op("exp", "m", "z")]
        case(f"A7_exp_of_log_{n}", "PROVED",
             spec([op("reciprocal", "x", "z")], ["z"], inputs={"x": [n]}, premises={"x": "positive"}),
             single(["x"], inverse), "exp(-log x) = 1/x for positive x", premises=["x"])
        case(f"A7_exp_of_log_anywhere_{n}", ["UNKNOWN", "REFUTED"],
             spec([op("reciprocal", "x", "z")], ["z"], inputs={"x": [n]}),
             single(["x"], inverse), "log x is defined for positive x only", judge=False)
        case(f"A7_exp_of_twice_log_{n}", ["UNKNOWN", "REFUTED"],
             spec([op("identity", "x", "z")], ["z"], inputs={"x": [n]}, premises={"x": "positive"}),
             single(["x"], [op("log", "x", "l"), op("mul", ["l", 2], "m"), op("exp", "m", "z")]),
             "exp(2 log x) is x^2, not x", judge=False)
        h = 2 * n
        soft = spec([op("softmax", "x", "y", dim=-1)], ["y"], inputs={"x": [3, h]})
        case(f"A8_shifted_softmax_{n}", "PROVED", soft,
             single(["x"], [op("max", "x", "m", dim=-1, keepdim=True), op("sub", ["x", "m"], "d"),
                            op("softmax", "d", "y", dim=-1)]), "softmax(x) = softmax(x - max(x))")
        case(f"A8_online_softmax_{n}", "PROVED",
             {**soft, "outputs": {"y": {"1": "block"}}},
             single({"x": {"1": "block"}},
                    [op("max", "x", "m", dim=-1, keepdim=True), op("sub", ["x", "m"], "d"),
                     op("exp", "d", "e"), op("sum", "e", "s", dim=-1, keepdim=True),
                     over("all_reduce", "block", "m", "M", reduce="max"),
                     op("sub", ["m", "M"], "c"), op("exp", "c", "f"), op("mul", ["s", "f"], "t"),
                     over("all_reduce", "block", "t", "S"), op("mul", ["e", "f"], "n"),
                     op("div", ["n", "S"], "y")], mesh={"block": 2}),
             "two-block online softmax is softmax")
        case(f"A9_contradictory_premises_{n}", "UNKNOWN",
             spec([op("log", "y", "a"), op("neg", "y", "m"), op("log", "m", "b"),
                   op("add", ["a", "b"], "z")], ["z"], inputs={"y": [n]}),
             single(["y"], [op("identity", "y", "z")]),
             "y > 0 and y < 0 together: no sample satisfies the premises", judge=False)
        case(f"A9_contradictory_equal_{n}", "UNKNOWN",
             spec([op("neg", "y", "m"), op("log", "m", "z")], ["z"], inputs={"y": [n]},
                  premises={"y": "positive"}),
             single(["y"], [op("neg", "y", "m"), op("log", "m", "z")]),
             "a vacuous truth is not proved", judge=False)
        counts = ["op fixed_points(id[n]: int) -> c[k:1] = sum(i: [id[i] == i]) + 0 * k",
                  "op if_any(x[n], c[k:1]) -> y[n] = where(c[0] > 0, x[n], 2 * x[n])"]
        ids = {"inputs": {"x": [n], "ids": f"int64[{n}]"}, "premises": {"ids": [0, n]}}
        case(f"A10_fixed_points_{n}", "REFUTED",
             spec([op("identity", "x", "y")], ["y"], **ids),
             single(["x", "ids"], [op("fixed_points", "ids", "c"), op("mul", ["x", "c"], "t"),
                                   op("div", ["t", "c"], "y")]),
             "[i = ids[i]] taken to hold for some i, so that a division is not seen to be one by 0",
             operators=counts, judge=False)
        case(f"A10_any_fixed_point_{n}", "REFUTED",
             spec([op("identity", "x", "y")], ["y"], **ids),
             single(["x", "ids"], [op("fixed_points", "ids", "c"), op("if_any", ["x", "c"], "y")]),
             "[i = ids[i]] taken to hold for some i, under a comparison", operators=counts)


def write_rows():
    reduction_rows()
    differentiation_rows()
    algebra_rows()
