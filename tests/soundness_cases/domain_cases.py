"""Where both sides have values: a plan may be undefined only where the model is."""
from case_files import case, op, over, single, spec


def domain_rows():
    for n in (4, 3):
        model = spec([op("mul", ["x", 0], "y")], ["y"], inputs={"x": [n, n]})
        case(f"S17_zero_times_logarithm_{n}", "UNKNOWN", model,
             single(["x"], [op("log", "x", "u"), op("mul", ["u", 0], "y")]),
             "a product with the number 0 loses where the other factor is defined",
             judge=False)
        case(f"S17_zero_times_mask_{n}", ["REFUTED", "UNKNOWN"], model,
             single(["x"], [op("causal_mask", ["x"], "u"), op("mul", ["u", 0], "y")]),
             "0 times minus infinity is no number", judge=False)
        for name, total, verdict in (("defined", "z", "PROVED"), ("nowhere", "d", "UNKNOWN")):
            centred = [op("mean", "z", "m", dim=0, keepdim=True), op("sub", ["z", "m"], "d")]
            model = spec(centred + [op("sum", total, "t"), op("reciprocal", "t", "u"),
                                    op("sub", ["u", "u"], "w"), op("add", ["x", "w"], "y")], ["y"],
                         inputs={"x": [n], "z": [n]})
            case(f"S17_false_lineage_{name}_{n}", verdict, model,
                 single(["x", "z"], [op("sum", "z", "v"), op("sub", ["v", "v"], "w"),
                                     op("add", ["x", "w"], "y")], lineage={"v": {"of": "u"}}),
                 "a claim that failed hides where the model is defined", judge=False,
                 premises=[f"sum{{k1_0 in 0:{n}}}(z[k1_0]) != 0"] if verdict == "PROVED" else [])
        lookup = ["op lookup(id[t]: int, w[v, h]) -> y[t, h] = sum(v: [id[t] - 3 == v] * w[v, h])",
                  "op shift(id[t]: int) -> y[t]: int64 = id[t] - 3"]
        rows = [op("shift", "ids", "moved"), op("embedding", ["moved", "w"], "y")]
        for name, high in (("some", 8), ("none", 3)):
            model = spec([op("lookup", ["ids", "w"], "y")], ["y"],
                         inputs={"ids": f"int64[{n}]", "w": [5, 2]}, premises={"ids": [0, high]})
            case(f"S17_plan_reads_rows_of_{name}_{n}", "UNKNOWN", model, single(["ids", "w"], rows),
                 "a condition that an operator of the plan declares is lost", operators=lookup,
                 judge=False)
        bounded = [line for least in (1, 2, 3) for line in
                   (f"op rows_from_{least}(id[t]: int, w[v, h])",
                    f'  premise {least} <= id[t] "ids are {least} or more"',
                    "  -> y[t, h] = sum(v: [id[t] == v] * w[v, h])")]
        model = spec([op("rows_from_2", ["ids", "w"], "y")], ["y"],
                     inputs={"ids": f"int64[{n}]", "w": [8, 2]})
        for least, verdict in ((1, "PROVED"), (2, "PROVED"), (3, ["REFUTED", "UNKNOWN"])):
            case(f"S17_ids_from_{least}_where_the_model_has_them_from_2_{n}", verdict, model,
                 single(["ids", "w"], [op(f"rows_from_{least}", ["ids", "w"], "y")]),
                 "a bound of integers is taken to follow from a looser one", operators=bounded,
                 judge=False)
        case(f"S17_dropout_in_the_plan_{n}", "PROVED",
             spec([op("identity", "x", "y")], ["y"], inputs={"x": [n]}),
             single(["x"], [op("dropout", "x", "y", p=0.5)]),
             "what an operator of the plan assumes is not said", judge=False,
             premises=["dropout is the identity"])
        case(f"S17_zero_that_is_positive_{n}", "UNKNOWN",
             spec([op("add", ["x", "z"], "y")], ["y"], inputs={"x": [n]}, zeros={"z": [n]},
                  premises={"z": "positive"}), single(["x", "z"], [op("add", ["x", "z"], "y")]),
             "a premise that a constant never meets", judge=False)


def quotient_rows():
    for n in (4, 3):
        vectors = {"x": [n], "y": [n]}
        identity = [op("identity", "x", "z")]
        quotient = [op("mul", ["x", "y"], "p"), op("div", ["p", "y"], "z")]
        plan = single(["x", "y"], quotient)
        case(f"S18_premise_of_the_specification_{n}", "PROVED",
             spec(identity, ["z"], inputs=vectors, premises={"y": "nonzero"}), plan,
             "a condition of the plan that the specification states")
        # The model divides by y, too, for another output; without that output it does not.
        inverse = [op("reciprocal", "y", "r")]
        for name, outputs, verdict in (("an_output", ["z", "r"], "PROVED"),
                                       ("no_output", ["z"], "REFUTED")):
            case(f"S18_the_model_divides_for_{name}_{n}", verdict,
                 spec(identity + inverse, outputs, inputs=vectors),
                 single(["x", "y"], quotient + (inverse if "r" in outputs else [])),
                 "an operator that no output depends on says where the model is defined",
                 judge=False)
        # Elsewhere the plan does otherwise: where the model divides by y, it has no value there.
        other = [op("eq", ["y", 0], "b"), op("add", ["x", 1], "x1"), op("where", ["b", "x1", "x"], "z")]
        for name, outputs, verdict in (("undefined", ["z", "r"], ["PROVED", "UNKNOWN"]),
                                       ("defined", ["z"], "REFUTED")):
            case(f"S18_differs_where_the_model_is_{name}_{n}", verdict,
                 spec(identity + inverse, outputs, inputs=vectors),
                 single(["x", "y"], other + (inverse if "r" in outputs else [])),
                 "a counterexample at which another output of the model has no value", judge=False)
        part = [op("slice", "y", "h", dim=0, start=0, stop=n - 1), op("reciprocal", "h", "r")]
        case(f"S18_the_model_divides_by_some_{n}", "REFUTED",
             spec(identity + part, ["z", "r"], inputs=vectors), single(["x", "y"], quotient + part),
             "what holds of some elements is taken to hold of all", judge=False)
        # Sharded, and read at another index.
        case(f"S18_divisor_of_another_rank_{n}", "PROVED",
             spec([op("div", ["x", "y"], "z")], {"z": {"0": "dp"}}, inputs=vectors),
             single({"x": {"0": "dp"}, "y": {"0": "dp"}},
                    [over("permute", "dp", "y", "from_left", shift=1),
                     over("permute", "dp", "from_left", "back", shift=-1),
                     op("div", ["x", "back"], "z")], mesh={"dp": n}),
             "a condition of a rank about another rank's part")
        roots = [op("sqrt", "x", "r"), op("square", "r", "z")]
        case(f"S18_square_of_root_{n}", "REFUTED", spec(identity, ["z"], inputs={"x": [n]}),
             single(["x"], roots), "the plan's root has no value for negative numbers", judge=False)
        case(f"S18_square_of_root_of_nonnegative_{n}", "PROVED",
             spec(identity, ["z"], inputs={"x": [n]}, premises={"x": "nonnegative"}),
             single(["x"], roots), "a declared sign grants the root")
        logarithm = [op("log", "x", "l"), op("exp", "l", "z")]
        case(f"S18_exponential_of_logarithm_{n}", "REFUTED",
             spec(identity, ["z"], inputs={"x": [n]}), single(["x"], logarithm),
             "the plan's logarithm has no value for negative numbers", judge=False)
        case(f"S18_logarithm_where_the_model_has_a_root_{n}", "REFUTED",
             spec([op("sqrt", "x", "r"), op("square", "r", "z")], ["z"], inputs={"x": [n]}),
             single(["x"], logarithm), "0 has a root and no logarithm", judge=False)


def variance_rows():
    """E[x^2] - E[x]^2 + eps is positive by the inequality of Cauchy and Schwarz, which no operator says."""
    for n in (8, 6):
        centred = [op("mean", "x", "m", dim=0, keepdim=True), op("sub", ["x", "m"], "d"),
                   op("square", "d", "q"), op("mean", "q", "v", dim=0, keepdim=True)]
        moments = [op("sum", "x", "s", dim=0, keepdim=True), op("square", "x", "q"),
                   op("sum", "q", "t", dim=0, keepdim=True),
                   over("all_reduce", "dp", "s", "s_all"), over("all_reduce", "dp", "t", "t_all"),
                   op("mul", ["s_all", {"literal": f"1/{n}"}], "m"),
                   op("mul", ["t_all", {"literal": f"1/{n}"}], "e"), op("square", "m", "mm"),
                   op("sub", ["e", "mm"], "v"), op("sub", ["x", "m"], "d")]
        for name, eps, verdict in (("and_more", 0.001, "PROVED"), ("alone", 0, "PROVED"),
                                   ("and_less", -0.001, "PROVED")):
            scale = [op("add", ["v", eps], "u"), op("rsqrt", "u", "r"), op("mul", ["d", "r"], "y")]
            case(f"S18_variance_{name}_{n}", verdict,
                 spec(centred + scale, {"y": {"0": "dp"}}, inputs={"x": [n, 3]}),
                 single({"x": {"0": "dp"}}, moments + scale, mesh={"dp": 2}),
                 "a condition of the plan in another form than the model's", judge=False)
        inverse = [op("add", ["v", 0.001], "u"), op("rsqrt", "u", "r")]
        total = [op("mul", ["r", 0], "z"), op("add", ["x", "z"], "y")]
        case(f"S18_variance_of_the_plan_{n}", "PROVED",
             spec([op("identity", "x", "y")], {"y": {"0": "dp"}}, inputs={"x": [n, 3]}),
             single({"x": {"0": "dp"}}, moments + inverse + total, mesh={"dp": 2}),
             "a condition that always holds is none", judge=False)


def declared_rows():
    safe = ["op safe_inverse(x[n])", "  premise x[n] > 0 \"positive\"", "  -> y[n] = 1 / x[n]"]
    for n in (4, 6):
        model = spec([op("safe_inverse", "x", "y")], {"y": {"0": "dp"}}, inputs={"x": [n]})
        plan = single({"x": {"0": "dp"}}, [op("safe_inverse", "x", "y")], mesh={"dp": 2})
        case(f"S18_declared_by_both_{n}", "PROVED", model, plan,
             "a declared condition of a shard follows from that of the whole", operators=safe)
        quotient = spec([op("reciprocal", "x", "y")], {"y": {"0": "dp"}}, inputs={"x": [n]})
        case(f"S18_declared_by_the_plan_{n}", "UNKNOWN", quotient, plan,
             "a condition that the plan's operator declares is no condition of the model",
             operators=safe, judge=False)
        logarithm = [op("reciprocal", "x", "y"), op("log", "x", "l")]
        case(f"S18_declared_by_the_plan_met_by_the_model_{n}", "PROVED",
             spec(logarithm, {"y": {"0": "dp"}, "l": {"0": "dp"}}, inputs={"x": [n]}),
             single({"x": {"0": "dp"}}, [op("safe_inverse", "x", "y"), op("log", "x", "l")],
                    mesh={"dp": 2}), "x > 0 where the model takes its logarithm", operators=safe)


def masked_rows():
    least = ["op least(x[i, k]) ties none -> y[i] = min(k: where(k < 2, -inf, x[i, k]))",
             "op count(x[k]) ties none -> y[1] = sum(v: [x[v] == max(k: where(k == v, -inf, x[k]))])"]
    for n in (5, 6):
        tail = [op("narrow", "x", "t", dim=1, start=2, length=n - 2), op("min", "t", "y", dim=[1])]
        case(f"S19_least_of_masked_{n}", ["UNKNOWN", "REFUTED"],
             spec([op("least", "x", "y")], {"y": {"0": "dp"}}, inputs={"x": [4, n]}),
             single({"x": {"0": "dp"}}, tail, mesh={"dp": 2}),
             "a masked piece is left out of a minimum, of which it is the least", operators=least,
             judge=False)
        shares = [op("count", "x", "c"), op("div", ["x", "c"], "q"), op("mul", ["q", "c"], "y")]
        case(f"S19_count_of_masked_maximum_{n}", ["UNKNOWN", "REFUTED"],
             spec([op("identity", "x", "y")], ["y"], inputs={"x": [n]}),
             single(["x"], shares), "a maximum over the others is attained nowhere", operators=least,
             judge=False)


def chosen_divisor_rows():
    """What a rewriting divides by must not be taken for what the model divides by."""
    for n in (4, 3):
        ids = {"inputs": {"ids": "int64[3]", "x": [n], "w": [n], "z": [n]},
               "premises": {"ids": [0, n]}}
        heads = {
            "entry": ("(idx[t], x[n], w[n], z[i]) ties none -> y[t, i]",
                      "[idx[t] == i] * z[i] * sum(j: x[j] / (w[idx[t]] + x[j]))",
                      f"sum(k: sum(j: (w[k] + x[j]) / (w[k] + x[j]))) - {n * n}"),
            "sum": ("(idx[t], x[n], w[n], z[n]) ties none -> y[t]",
                    "sum(i: [idx[t] == i] * z[i] * x[i] / (w[idx[t]] + x[i]))",
                    f"sum(k: (w[k] + x[k]) / (w[k] + x[k])) - {n}")}
        for name, (head, value, more) in heads.items():
            for plan, verdict in (("model", "PROVED"), ("further", ["REFUTED", "UNKNOWN"])):
                case(f"S21_{plan}_divides_by_what_an_id_chooses_for_a_{name}_{n}", verdict,
                     spec([op("model", ["ids", "x", "w", "z"], "y")], ["y"], **ids),
                     single(["ids", "x", "w", "z"], [op(plan, ["ids", "x", "w", "z"], "y")]),
                     "an id is replaced in a divisor, and what all entries would have to meet is granted",
                     operators=[f"op model{head} = {value}", f"op further{head} = {value} + ({more})"],
                     judge=False)
        head, value = "(x[k], z[i], w[one]) ties none -> y[i]", \
            f"z[i] + sum(k: [k == i - 3] * x[k] / (k - {n + 1} + w[0]))"
        beyond = f"(i - {n + 4} + w[0]) / (i - {n + 4} + w[0]) - 1"
        for plan, verdict in (("model", "PROVED"), ("further", ["REFUTED", "UNKNOWN"])):
            case(f"S22_{plan}_divides_inside_the_sum_{n}", verdict,
                 spec([op("model", ["x", "z", "w"], "y")], ["y"],
                      inputs={"x": [n], "z": [n + 5], "w": [1]}),
                 single(["x", "z", "w"], [op(plan, ["x", "z", "w"], "y")]),
                 "a sum's variable is replaced by an index outside its range, and what is not divided "
                 "by there is granted",
                 operators=[f"op model{head} = {value}", f"op further{head} = {value} + {beyond}"],
                 judge=False)


def write_rows():
    chosen_divisor_rows()
    domain_rows()
    masked_rows()
    quotient_rows()
    variance_rows()
    declared_rows()
