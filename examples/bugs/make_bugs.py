#!/usr/bin/env python3
"""Writes small plans of published bugs for which the generator's models have no place, each with the
plan as it should be (docs/bugs.md). Run from this directory.

GG2   a loss that balances experts, computed alike on all ranks, whose gradient is reduce-scattered
GG3   shards of unequal length, padded for an all-gather and sliced after it
GG4   an expert cut over ranks that hold different parts of the sequence
X2    eps added to each shard's part of a norm, before the parts are summed
X5    two collectives in another order on one of the ranks
X7    shards of rows that are permuted before a gather and never put back
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from plan_json import op, over, write  # noqa: E402


def pair(name, note, fault, specification, mesh, right, broken):
    """Two files: the programs as they should be, and as the bug has them."""
    for suffix, text, programs in (("", note, right), ("_broken", fault, broken)):
        write(f"{name}{suffix}.json", {"planproof": 1, "note": text, "specification": specification,
                                       "plan": {"mesh": mesh, "programs": programs}})


def balance_loss():
    tokens, experts = 8, 4
    specification = {
        "inputs": {"x": [tokens, 6]},
        "parameters": {"w": [experts, 6], "n": [6]},
        "operators": [op("mul", ["x", "n"], "h"), op("linear", ["h", "w"], "scores"),
                      op("softmax", "scores", "p", dim=-1), op("mean", "p", "load", dim=0),
                      op("square", "load", "load2"), op("sum", "load2", "loss")],
        "gradients": {"loss": "loss", "of": ["w", "n"]},
        "outputs": ["loss", "grad.w", "grad.n"]}

    def program(back):
        return [{
            "inputs": {"x": {"0": "tp"}, "w": {}, "n": {}, "grad.loss": {}},
            "operators": [
                op("mul", ["x", "n"], "h"), over("all_gather", "tp", "h", "h.all", dim=0),
                op("linear", ["h.all", "w"], "scores"), op("softmax", "scores", "p", dim=-1),
                op("mean", "p", "load", dim=0), op("square", "load", "load2"),
                op("sum", "load2", "loss"),
                {"backward": "loss"}, {"backward": "load2"}, {"backward": "load"},
                {"backward": "p"},
                {"backward": "scores", "out": {"h.all": "grad.h.all", "w": "grad.w"}}] + back +
                [{"backward": "h", "out": {"n": "grad.n.part"}},
                 over("all_reduce", "tp", "grad.n.part", "grad.n")],
            "lineage": {"h": {"0": "tp"}, "scores": {}, "p": {}, "load": {}, "grad.p": {},
                        "grad.scores": {}, "grad.h.all": {"of": "grad.h"}, "grad.h": {"0": "tp"}}}]

    pair("GG2", "every rank has computed the whole gradient, and divides before the sum",
         "GG2.json without the division by the number of ranks", specification, {"tp": 2},
         program([op("mul", ["grad.h.all", 0.5], "grad.h.share"),
                  over("reduce_scatter", "tp", "grad.h.share", "grad.h", dim=0)]),
         program([over("reduce_scatter", "tp", "grad.h.all", "grad.h", dim=0)]))


def padded_shards():
    specification = {"inputs": {"x": [7, 4]}, "parameters": {"w": [5, 4]},
                     "operators": [op("mul", ["x", "x"], "a"), op("linear", ["a", "w"], "y")],
                     "outputs": ["y"]}

    def program(rank, pad):
        rows = [0, 4] if rank == 0 else [4, 7]
        local = [op("mul", ["x", "x"], "a")]
        local.append(op("identity", "a", "padded") if rank == 0 else
                     op("pad", "a", "padded", pad=pad))
        return {"name": f"r{rank}", "devices": {"tp": rank},
                "inputs": {"x": {"0": rows}, "w": {}},
                "operators": local + [
                    {"op": "all_gather", "in": ["r0:padded", "r1:padded"], "out": "gathered",
                     "dim": 0},
                    op("slice", "gathered", "a.all", dim=0, start=0, stop=7),
                    op("linear", ["a.all", "w"], "y")],
                "lineage": {"a": {"0": rows}, "a.all": {"of": "a"}, "y": {}}}

    pair("GG3", "the shorter shard is padded at its end, and the end of what is gathered is cut off",
         "GG3.json with the row of zeros in front of the shorter shard: it is kept, the last row is lost",
         specification, {"tp": 2}, [program(r, [0, 0, 0, 1]) for r in (0, 1)],
         [program(r, [0, 0, 1, 0]) for r in (0, 1)])


def diagonal_blocks():
    specification = {"inputs": {"x": [8, 6]}, "parameters": {"up": [12, 6], "down": [6, 12]},
                     "operators": [op("linear", ["x", "up"], "h"), op("silu", "h", "a"),
                                   op("linear", ["a", "down"], "y")],
                     "outputs": {"y": {"0": "tp"}}}

    def program(up, down, lineage):
        return [{"inputs": {"x": {"0": "tp"}, "up": up, "down": down},
                 "operators": [op("linear", ["x", "up"], "h"), op("silu", "h", "a"),
                               op("linear", ["a", "down"], "y")],
                 "lineage": dict(lineage, y={"0": "tp"})}]

    blocks = {"map": ["tp * 4 + i0", "tp * 6 + i1"]}
    pair("GG4", "every rank has the whole expert and its part of the sequence",
         "GG4.json with the expert cut over the ranks: the tokens of a rank meet its shard only",
         specification, {"tp": 2},
         program({}, {}, {"h": {"0": "tp"}, "a": {"0": "tp"}}),
         program({"0": "tp"}, {"1": "tp"}, {"h": blocks, "a": blocks}))


def eps_per_shard():
    specification = {"inputs": {"x": [4, 8]}, "parameters": {"w": [8]},
                     "operators": [op("square", "x", "x2"),
                                   op("sum", "x2", "s", dim=-1, keepdim=True),
                                   op("add", ["s", 0.001], "t"), op("rsqrt", "t", "r"),
                                   op("mul", ["x", "r"], "z"), op("mul", ["z", "w"], "y")],
                     "outputs": {"y": {"1": "tp"}}}

    def program(total):
        return [{"inputs": {"x": {"1": "tp"}, "w": {"0": "tp"}},
                 "operators": [op("square", "x", "x2"),
                               op("sum", "x2", "s.part", dim=-1, keepdim=True)] + total +
                              [op("rsqrt", "t", "r"), op("mul", ["x", "r"], "z"),
                               op("mul", ["z", "w"], "y")],
                 "lineage": {"x2": {"1": "tp"}, "s.part": {"of": "s", "partial": "tp"}, "t": {},
                             "r": {}, "z": {"1": "tp"}, "y": {"1": "tp"}}}]

    pair("X2", "a norm along a dimension that is cut: eps is added to the sum",
         "X2.json with eps added on every rank, before the sum", specification, {"tp": 2},
         program([over("all_reduce", "tp", "s.part", "s"), op("add", ["s", 0.001], "t")]),
         program([op("add", ["s.part", 0.001], "t.part"), over("all_reduce", "tp", "t.part", "t")]))


def order_of_collectives():
    specification = {"inputs": {"x": [4, 4]}, "parameters": {"v": [4, 4], "w": [4, 4]},
                     "operators": [op("linear", ["x", "v"], "a"), op("linear", ["x", "w"], "b"),
                                   op("add", ["a", "b"], "y")],
                     "outputs": ["y"]}

    def program(rank, first, second):
        def reduced(name):
            return {"op": "all_reduce", "in": [f"r0:{name}.part", f"r1:{name}.part"], "out": name}
        half = [0, 2] if rank == 0 else [2, 4]
        return {"name": f"r{rank}", "devices": {"tp": rank},
                "inputs": {"x": {"1": half}, "v": {"1": half}, "w": {"1": half}},
                "operators": [op("linear", ["x", "v"], "a.part"), op("linear", ["x", "w"], "b.part"),
                              reduced(first), reduced(second), op("add", ["a", "b"], "y")]}

    pair("X5", "both ranks reduce a, then b",
         "X5.json where the second rank reduces b first: each waits for the other",
         specification, {"tp": 2}, [program(0, "a", "b"), program(1, "a", "b")],
         [program(0, "a", "b"), program(1, "b", "a")])


def permuted_rows():
    specification = {"inputs": {"x": [8, 4]}, "parameters": {"w": [4, 6]},
                     "operators": [op("square", "x", "h"), op("matmul", ["h", "w"], "y")],
                     "outputs": {"y": {"0": "a", "1": "b"}}}

    def program(moves, gathered):
        return [{"inputs": {"x": {"0": ["a", "b"], "1": "c"}, "w": {"0": "c", "1": "b"}},
                 "operators": [op("square", "x", "h")] + moves +
                              [over("all_gather", "b", gathered, "h.rows", dim=0),
                               op("matmul", ["h.rows", "w"], "y.part"),
                               over("all_reduce", "c", "y.part", "y")],
                 "lineage": {"h": {"0": ["a", "b"], "1": "c"},
                             "h.rows": {"of": "h", "0": "a", "1": "c"},
                             "y.part": {"of": "y", "0": "a", "1": "b", "partial": "c"},
                             "y": {"0": "a", "1": "b"}}}]

    there = over("permute", "a", "h", "h.moved", pairs=[[0, 1], [1, 0]])
    back = over("permute", "a", "h.moved", "h.back", pairs=[[0, 1], [1, 0]])
    pair("X7", "x[(a, b), c] w[c, b]: shards of rows are exchanged along a, and exchanged back",
         "X7.json without the way back: rows are gathered in another order than they are claimed",
         specification, {"a": 2, "b": 2, "c": 2}, program([there, back], "h.back"),
         program([there], "h.moved"))


balance_loss()
padded_shards()
diagonal_blocks()
eps_per_shard()
order_of_collectives()
permuted_rows()
