#!/usr/bin/env python3
"""Writes special_values.json: operators whose wrong twins have the same value on many inputs.

Each row computes y from a, of the same shape [rows, width]. The model has all of it, a rank its part of the rows, or
of the columns (`cut`). `$N` and `$n` are the rows of the model and of a rank, `$H` and `$h` their widths, `$R` is the
number of ranks.
"""
import json
import os

ROWS = []


def row(name, equal, model, right, wrong, cut=0):
    ROWS.append({"name": name, "equal": equal, "cut": cut, "model": model, "right": right, "wrong": wrong})


def keep(**more):
    return {"keepdim": True, **more}


A, Y = "a", "y"
TP = {"over": "tp"}


def elementwise():
    def simple(name, equal, model, wrong, right=None):
        row(name, equal, model, right or model, wrong)

    same = [["identity", A, Y]]
    relu = [["relu", A, Y]]
    simple("relu_left_out", "positive", relu, same, [["maximum", [A, 0], Y]])
    simple("abs_left_out", "positive", [["abs", A, Y]], same, [["neg", A, "m"], ["abs", "m", Y]])
    simple("relu_for_abs", "positive", [["abs", A, Y]], relu, [["mul", [A, A], "q"], ["sqrt", "q", Y]])
    simple("square_left_out", "at 0 and 1", [["mul", [A, A], Y]], same, [["square", A, Y]])
    simple("cube_for_itself", "at 0, 1 and -1", same, [["pow", [A, 3], Y]], [["neg", A, "m"], ["neg", "m", Y]])
    simple("square_for_abs", "at 0, 1 and -1", [["abs", A, Y]], [["square", A, Y]])
    simple("sum_for_product", "at 0 and 2", [["mul", [A, A], Y]], [["add", [A, A], Y]])
    simple("sigmoid_reflected", "at 0", [["sigmoid", A, Y]], [["sigmoid", A, "s"], ["sub", [1, "s"], Y]],
           [["neg", A, "m"], ["sigmoid", "m", "s"], ["sub", [1, "s"], Y]])
    simple("tanh_by_sigmoid", "at 0 and far out", [["tanh", A, Y]],
           [["sigmoid", A, "s"], ["mul", ["s", 2], "d"], ["sub", ["d", 1], Y]],
           [["mul", [A, 2], "b"], ["sigmoid", "b", "s"], ["mul", ["s", 2], "d"], ["sub", ["d", 1], Y]])
    simple("sine_left_out", "at 0", [["sin", A, Y]], same, [["neg", A, "m"], ["sin", "m", "s"], ["neg", "s", Y]])
    simple("cosine_left_out", "at 0", [["cos", A, Y]], [["mul", [A, 0], "z"], ["add", ["z", 1], Y]],
           [["neg", A, "m"], ["cos", "m", Y]])
    simple("exp_to_first_order", "at 0", [["exp", A, Y]], [["add", [A, 1], Y]],
           [["mul", [A, 0.5], "b"], ["exp", "b", "e"], ["mul", ["e", "e"], Y]])
    simple("gelu_by_tanh", "nearly everywhere", [["gelu", A, Y]], [["gelu", A, Y, {"approximate": "tanh"}]],
           [["neg", A, "m"], ["gelu", "m", "g"], ["add", [A, "g"], Y]])
    simple("silu_for_gelu", "at 0 and far out", [["gelu", A, Y]], [["silu", A, Y]])
    simple("relu_for_silu", "at 0 and far out", [["silu", A, Y]], relu, [["sigmoid", A, "s"], ["mul", [A, "s"], Y]])
    simple("clamp_left_out", "between 0 and 1", [["clamp", A, Y, {"min": 0, "max": 1}]], relu,
           [["maximum", [A, 0], "p"], ["minimum", ["p", 1], Y]])
    simple("softplus_for_itself", "far out", same, [["exp", A, "e"], ["add", ["e", 1], "f"], ["log", "f", Y]],
           [["exp", A, "e"], ["log", "e", Y]])
    simple("maximum_for_minimum", "at 1", [["minimum", [A, 1], Y]], [["maximum", [A, 1], Y]],
           [["neg", A, "m"], ["maximum", ["m", -1], "q"], ["neg", "q", Y]])
    simple("sign_lost", "at 0", [["sub", [A, 1], Y]], [["sub", [1, A], "m"], ["abs", "m", Y]],
           [["sub", [1, A], "m"], ["neg", "m", Y]])


def rows_of_one_rank():
    top, mean = [["max", A, "m", keep(dim=-1)]], [["mean", A, "m", keep(dim=-1)]]
    softmax = [["softmax", A, Y, {"dim": -1}]]
    row("softmax_scaled", "equal elements of a row", softmax,
        [*top, ["sub", [A, "m"], "d"], ["softmax", "d", Y, {"dim": -1}]],
        [*mean, ["sub", [A, "m"], "d"], ["mul", ["d", 2], "b"], ["softmax", "b", Y, {"dim": -1}]])
    row("softmax_uniform", "equal elements of a row", softmax,
        [["exp", A, "e"], ["sum", "e", "t", keep(dim=-1)], ["div", ["e", "t"], Y]],
        [["mul", [A, 0], "z"], ["add", ["z", "$1/H"], Y]])
    row("softmax_of_the_other_dimension", "equal elements", softmax, softmax, [["softmax", A, Y, {"dim": 0}]])
    plus = [["add", [A, "m"], Y]]
    row("mean_for_maximum", "equal elements of a row", top + plus, top + [["add", ["m", A], Y]], mean + plus)
    row("sum_for_maximum", "one element that is not 0, and positive", top + plus, top + plus,
        [["sum", A, "m", keep(dim=-1)], *plus])
    row("first_for_mean", "equal elements of a row", mean + plus,
        [["sum", A, "s", keep(dim=-1)], ["mul", ["s", "$1/H"], "m"], *plus],
        [["narrow", A, "m", {"dim": 1, "start": 0, "length": 1}], *plus])
    row("first_for_maximum", "rows that descend", top + plus, top + plus,
        [["narrow", A, "m", {"dim": 1, "start": 0, "length": 1}], *plus])
    row("minimum_for_maximum", "equal elements of a row", top + plus,
        [["neg", A, "r"], ["min", "r", "q", keep(dim=-1)], ["neg", "q", "m"], *plus],
        [["min", A, "m", keep(dim=-1)], *plus])
    row("maximum_for_logsumexp", "one element far above the others",
        [["logsumexp", A, "m", keep(dim=-1)], *plus],
        [["exp", A, "e"], ["sum", "e", "s", keep(dim=-1)], ["log", "s", "m"], *plus], top + plus)
    squares = [["mul", [A, A], "q"], ["mean", "q", "m", keep(dim=-1)]]
    row("variance_not_centred", "rows of mean 0",
        [["mean", A, "c", keep(dim=-1)], ["sub", [A, "c"], "d"], ["mul", ["d", "d"], "q"],
         ["mean", "q", "m", keep(dim=-1)], *plus],
        [["mul", [A, A], "q"], ["mean", "q", "e", keep(dim=-1)], ["mean", A, "c", keep(dim=-1)],
         ["mul", ["c", "c"], "f"], ["sub", ["e", "f"], "m"], *plus], squares + plus)
    row("square_of_mean", "equal elements of a row", squares + plus, squares + plus,
        [["mean", A, "c", keep(dim=-1)], ["mul", ["c", "c"], "m"], *plus])
    row("square_of_sum", "one element that is not 0",
        [["mul", [A, A], "q"], ["sum", "q", "m", keep(dim=-1)], *plus],
        [["square", A, "q"], ["sum", "q", "m", keep(dim=-1)], *plus],
        [["sum", A, "s", keep(dim=-1)], ["mul", ["s", "s"], "m"], *plus])
    row("row_reversed", "rows that read the same backwards", [["identity", A, Y]],
        [["flip", A, "f", {"dims": [1]}], ["flip", "f", Y, {"dims": [1]}]], [["flip", A, Y, {"dims": [1]}]])
    row("row_rotated", "equal elements of a row", [["identity", A, Y]],
        [["narrow", A, "p", {"dim": 1, "start": 0, "length": 1}],
         ["narrow", A, "q", {"dim": 1, "start": 1, "length": "$H-1"}], ["cat", ["p", "q"], Y, {"dim": 1}]],
        [["narrow", A, "p", {"dim": 1, "start": 0, "length": 1}],
         ["narrow", A, "q", {"dim": 1, "start": 1, "length": "$H-1"}], ["cat", ["q", "p"], Y, {"dim": 1}]])
    row("norm_without_mean", "rows of mean 0", [["layer_norm", A, Y, {"normalized_shape": ["$H"]}]],
        [["layer_norm", A, Y, {"normalized_shape": ["$H"]}]], [["rms_norm", A, Y, {"eps": 1e-5}]])
    row("cumulative_sum_shifted", "rows that begin with zeros", [["cumsum", A, Y, {"dim": 1}]],
        [["cumsum", A, Y, {"dim": 1}]], [["cumsum", A, "c", {"dim": 1}], ["sub", ["c", A], Y]])


def ranks():
    whole = [["all_gather", A, "g", {**TP, "dim": 0}]]
    plus = [["add", [A, "m"], Y]]

    def over_rows(op, **more):
        return [[op, A, "m", keep(dim=0)], *plus]

    def reduced(local, reduce, last=()):
        return [[local, A, "p", keep(dim=0)], ["all_reduce", "p", "m", {**TP, "reduce": reduce}], *last, *plus]

    row("own_block_for_mean", "equal blocks", over_rows("mean"), reduced("mean", "avg"), over_rows("mean"))
    row("own_block_for_maximum", "equal blocks", over_rows("max"), reduced("max", "max"), over_rows("max"))
    row("first_block_for_mean", "equal blocks", over_rows("mean"), reduced("mean", "avg"),
        [["mean", A, "p", keep(dim=0)], ["broadcast", "p", "m", {**TP, "root": 0}], *plus])
    row("maximum_of_sums", "one block that is not 0, and positive", over_rows("sum"), reduced("sum", "sum"),
        reduced("sum", "max"))
    row("maximum_of_means", "equal blocks", over_rows("mean"), reduced("mean", "avg"), reduced("mean", "max"))
    row("minimum_of_maxima", "equal blocks", over_rows("max"), reduced("max", "max"), reduced("max", "min"))
    row("mean_of_maxima", "equal blocks", over_rows("max"), reduced("max", "max"), reduced("max", "avg"))
    row("sum_of_maxima", "one block that is not 0, and positive", over_rows("max"), reduced("max", "max"),
        reduced("max", "sum"))
    row("twice_the_neighbour", "equal blocks", over_rows("sum"), reduced("sum", "sum"),
        [["sum", A, "p", keep(dim=0)], ["permute", "p", "o", {**TP, "shift": 1}],
         ["mul", ["o", "$R"], "m"], *plus])
    relu = [["relu", A, "r"], ["sum", "r", "p", keep(dim=0)]]
    row("maximum_of_sums_of_positive", "one block that is not 0",
        [["relu", A, "r"], ["sum", "r", "m", keep(dim=0)], *plus],
        [*relu, ["all_reduce", "p", "m", TP], *plus],
        [*relu, ["all_reduce", "p", "m", {**TP, "reduce": "max"}], *plus])
    row("positive_after_the_sum", "blocks of one sign",
        [["sum", A, "s", keep(dim=0)], ["relu", "s", "m"], *plus],
        [["sum", A, "p", keep(dim=0)], ["all_reduce", "p", "s", TP], ["relu", "s", "m"], *plus],
        [["sum", A, "p", keep(dim=0)], ["relu", "p", "s"], ["all_reduce", "s", "m", TP], *plus])
    row("variance_of_blocks", "blocks of equal mean",
        [["mean", A, "c", keep(dim=0)], ["sub", [A, "c"], "d"], ["mul", ["d", "d"], "q"],
         ["mean", "q", "m", keep(dim=0)], *plus],
        [["mean", A, "p", keep(dim=0)], ["all_reduce", "p", "c", {**TP, "reduce": "avg"}],
         ["sub", [A, "c"], "d"], ["mul", ["d", "d"], "q"], ["mean", "q", "v", keep(dim=0)],
         ["all_reduce", "v", "m", {**TP, "reduce": "avg"}], *plus],
        [["mean", A, "c", keep(dim=0)], ["sub", [A, "c"], "d"], ["mul", ["d", "d"], "q"],
         ["mean", "q", "v", keep(dim=0)], ["all_reduce", "v", "m", {**TP, "reduce": "avg"}], *plus])
    row("ranks_permuted", "equal blocks", [["identity", A, Y]],
        [["permute", A, "p", {**TP, "shift": 1}], ["permute", "p", Y, {**TP, "shift": -1}]],
        [["permute", A, Y, {**TP, "shift": 1}]])
    row("ranks_mirrored", "blocks that read the same backwards", [["identity", A, Y]],
        [*whole, ["narrow", "g", Y, {"dim": 0, "start": "=tp * $n", "length": "$n"}]],
        [*whole, ["narrow", "g", Y, {"dim": 0, "start": "=($R - 1 - tp) * $n", "length": "$n"}]])
    row("first_slice_for_own", "equal blocks", [["identity", A, Y]],
        [*whole, ["chunk", "g", Y, {**TP, "dim": 0}]],
        [*whole, ["narrow", "g", Y, {"dim": 0, "start": 0, "length": "$n"}]])
    row("rows_in_turn", "rows of equal content at equal places of blocks", [["identity", A, Y]],
        [["all_to_all", A, "p", {**TP, "split_dim": 0, "concat_dim": 0}],
         ["all_to_all", "p", Y, {**TP, "split_dim": 0, "concat_dim": 0}]],
        [["all_to_all", A, Y, {**TP, "split_dim": 0, "concat_dim": 0}]])
    row("own_rows_only", "equal blocks", [["softmax", A, Y, {"dim": 0}]],
        [["exp", A, "e"], ["sum", "e", "p", keep(dim=0)], ["all_reduce", "p", "t", TP], ["div", ["e", "t"], Y]],
        [["softmax", A, "s", {"dim": 0}], ["mul", ["s", "$1/R"], Y]])


def columns():
    """Columns over the ranks: sums over the width are terms."""
    plus = [["add", [A, "m"], Y]]

    def model(op):
        return [[op, A, "m", keep(dim=-1)], *plus]

    def plan(op, reduce):
        return [[op, A, "p", keep(dim=-1)], ["all_reduce", "p", "m", {**TP, "reduce": reduce}], *plus]

    row("columns_own_mean", "equal blocks of columns", model("mean"), plan("mean", "avg"), model("mean"), cut=1)
    row("columns_maximum_of_sums", "one block that is not 0, and positive", model("sum"), plan("sum", "sum"),
        plan("sum", "max"), cut=1)
    row("columns_average_of_maxima", "equal blocks of columns", model("max"), plan("max", "max"),
        plan("max", "avg"), cut=1)
    row("columns_softmax_of_blocks", "blocks of one sum", [["softmax", A, Y, {"dim": -1}]],
        [["max", A, "o", keep(dim=-1)], ["all_reduce", "o", "m", {**TP, "reduce": "max"}], ["sub", [A, "m"], "d"],
         ["exp", "d", "e"], ["sum", "e", "p", keep(dim=-1)], ["all_reduce", "p", "t", TP], ["div", ["e", "t"], Y]],
        [["softmax", A, "s", {"dim": -1}], ["mul", ["s", "$1/R"], Y]], cut=1)
    row("columns_softmax_shifted_apart", "blocks of one maximum", [["softmax", A, Y, {"dim": -1}]],
        [["exp", A, "e"], ["sum", "e", "p", keep(dim=-1)], ["all_reduce", "p", "t", TP], ["div", ["e", "t"], Y]],
        [["max", A, "m", keep(dim=-1)], ["sub", [A, "m"], "d"], ["exp", "d", "e"],
         ["sum", "e", "p", keep(dim=-1)], ["all_reduce", "p", "t", TP], ["div", ["e", "t"], Y]], cut=1)
    row("columns_swapped", "equal blocks of columns", [["identity", A, Y]],
        [["all_gather", A, "g", {**TP, "dim": 1}], ["chunk", "g", Y, {**TP, "dim": 1}]],
        [["permute", A, Y, {**TP, "shift": 1}]], cut=1)
    row("columns_bias_added_by_every_rank", "terms that are 0", [["sum", A, "s", keep(dim=-1)], ["add", ["s", 1], "m"],
                                                               *plus],
        [["sum", A, "p", keep(dim=-1)], ["all_reduce", "p", "s", TP], ["add", ["s", 1], "m"], *plus],
        [["sum", A, "p", keep(dim=-1)], ["add", ["p", A], "q"], ["sum", "q", "r", keep(dim=-1)],
         ["all_reduce", "r", "s", TP], ["add", ["s", 1], "m"], *plus], cut=1)
    row("columns_square_of_terms", "one block that is not 0",
        [["sum", A, "s", keep(dim=-1)], ["mul", ["s", "s"], "m"], *plus],
        [["sum", A, "p", keep(dim=-1)], ["all_reduce", "p", "s", TP], ["mul", ["s", "s"], "m"], *plus],
        [["sum", A, "p", keep(dim=-1)], ["mul", ["p", "p"], "s"], ["all_reduce", "s", "m", TP], *plus], cut=1)


def main():
    for part in (elementwise, rows_of_one_rank, ranks, columns):
        part()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "special_values.json")
    with open(path, "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(entry) for entry in ROWS) + "\n]\n")
    print(len(ROWS), "rows")


if __name__ == "__main__":
    main()
