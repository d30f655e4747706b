#!/usr/bin/env python3
"""Writes the larger examples and their broken twins. Run from this directory.

llama_dp2_pp2_tp2_mb2.json   a Llama block with vocabulary-parallel embedding and loss on 8 devices,
                             two microbatches, forward and backward
moe_dp2_ep2.json             a mixture-of-experts layer on 4 devices
"""
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
from plan_json import op, over, write  # noqa: E402


def back(forward, gradient, **produces):
    """The derivative of the operator that defines `forward`; _ in a keyword stands for a dot."""
    return {"backward": forward, "grad": {forward: gradient},
            "out": {k.replace("_", "."): v for k, v in produces.items()}}


def llama():
    B, S, H, HEADS, F, V, DP, TP, MB = 16, 8, 32, 4, 64, 48, 2, 2, 2
    D = H // HEADS
    b, heads, v = B // (DP * MB), HEADS // TP, V // TP

    def attention(batch, count):
        def split(name):
            return [op("view", name, name + ".v", size=[batch, S, count, D]),
                    op("permute", name + ".v", name + ".h", dims=[0, 2, 1, 3])]
        return ([op("rms_norm", ["x0", "n1"], "a", eps=1e-5)] +
                [op("linear", ["a", "w" + n], n) for n in "qkv"] +
                split("q") + split("k") + split("v") +
                [op("apply_rotary_half", ["q.h", "cosine", "sine"], "q.r"),
                 op("apply_rotary_half", ["k.h", "cosine", "sine"], "k.r"),
                 op("transpose", "k.r", "k.t", dim0=2, dim1=3), op("matmul", ["q.r", "k.t"], "qk"),
                 op("mul", ["qk", 0.353553], "scaled"), op("causal_mask", "scaled", "masked"),
                 op("softmax", "masked", "prob", dim=-1), op("matmul", ["prob", "v.h"], "o.h"),
                 op("permute", "o.h", "o.p", dims=[0, 2, 1, 3]),
                 op("reshape", "o.p", "o", shape=[batch, S, count * D])])

    def feed_forward():
        return [op("rms_norm", ["x1", "n2"], "m", eps=1e-5), op("linear", ["m", "wg"], "gate"),
                op("linear", ["m", "wu"], "up"), op("silu", "gate", "act"),
                op("mul", ["act", "up"], "hidden")]

    def head(batch):
        return [op("rms_norm", ["x2", "n3"], "f", eps=1e-5),
                op("view", "f", "f.t", size=[batch * S, H]), op("linear", ["f.t", "wh"], "logits")]

    parameters = {"we": [V, H], "n1": [H], "wq": [H, H], "wk": [H, H], "wv": [H, H], "wo": [H, H],
                  "n2": [H], "wg": [F, H], "wu": [F, H], "wd": [H, F], "n3": [H], "wh": [V, H]}
    cut = {"we": "0", "wq": "0", "wk": "0", "wv": "0", "wo": "1", "wg": "0", "wu": "0", "wd": "1",
           "wh": "0"}
    relation = {p: ({cut[p]: "tp"} if p in cut else {}) for p in parameters}
    specification = {
        "inputs": {"ids": f"int64[{B}, {S}]", "target": f"int64[{B * S}]"},
        "buffers": {"cosine": [S, D], "sine": [S, D]},
        "parameters": parameters,
        "operators": [op("embedding", ["ids", "we"], "x0")] + attention(B, HEADS) +
                     [op("linear", ["o", "wo"], "att"), op("add", ["x0", "att"], "x1")] +
                     feed_forward() +
                     [op("linear", ["hidden", "wd"], "ff"), op("add", ["x1", "ff"], "x2")] + head(B) +
                     [op("token_loss", ["logits", "target"], "token"), op("sum", "token", "loss")],
        "gradients": {"loss": "loss", "of": list(parameters)},
        "premises": {"ids": [0, V], "target": [0, V]},
        "outputs": {"loss": {}, **{"grad." + p: r for p, r in relation.items()}}}
    for n, entry in enumerate(specification["operators"]):
        entry["source"] = f"llama.py:{20 + n}"

    batch = {"0": ["dp", "microbatch"]}
    rows = batch  # of the view [batch * S, ...]: rows of one copy and microbatch stay together

    def collect(*names):
        """Gradients of parameters: summed over microbatches, then over data-parallel copies."""
        return [entry for n in names
                for entry in (op("accumulate", "d." + n, "acc." + n),
                              over("all_reduce", "dp", "acc." + n, "grad." + n))]

    first = {
        "name": "first", "devices": {"pp": 0},
        "inputs": {"ids": batch, "cosine": {}, "sine": {},
                   **{p: relation[p] for p in ("we", "n1", "wq", "wk", "wv", "wo")}},
        "operators":
            [op("embedding", ["ids", "we"], "x0.part", start=f"=tp * {v}", stop=f"=tp * {v} + {v}"),
             over("all_reduce", "tp", "x0.part", "x0")] + attention(b, heads) +
            [op("linear", ["o", "wo"], "att.part"), over("all_reduce", "tp", "att.part", "att"),
             op("add", ["x0", "att"], "x1"),
             op("move", "last:g.x1", "g.x1"),
             back("att.part", "g.x1", o="g.o", wo="d.wo"),
             back("o", "g.o", o_p="g.o.p"), back("o.p", "g.o.p", o_h="g.o.h"),
             {"backward": "o.h", "grad": {"o.h": "g.o.h"}, "out": {"prob": "g.prob", "v.h": "g.v.h"}},
             back("prob", "g.prob", masked="g.masked"), back("masked", "g.masked", scaled="g.scaled"),
             back("scaled", "g.scaled", qk="g.qk"),
             {"backward": "qk", "grad": {"qk": "g.qk"}, "out": {"q.r": "g.q.r", "k.t": "g.k.t"}},
             back("k.t", "g.k.t", k_r="g.k.r"), back("q.r", "g.q.r", q_h="g.q.h"),
             back("k.r", "g.k.r", k_h="g.k.h")] +
            [entry for n in "qkv" for entry in
             (back(n + ".h", f"g.{n}.h", **{n + "_v": f"g.{n}.v"}),
              back(n + ".v", f"g.{n}.v", **{n: "g." + n}),
              back(n, "g." + n, a="g.a." + n, **{"w" + n: "d.w" + n}))] +
            [op("add", ["g.a.q", "g.a.k"], "g.a.qk"), op("add", ["g.a.qk", "g.a.v"], "g.a.part"),
             over("all_reduce", "tp", "g.a.part", "g.a"),
             back("a", "g.a", x0="g.x0.norm", n1="d.n1"), op("add", ["g.x1", "g.x0.norm"], "g.x0"),
             back("x0.part", "g.x0", we="d.we")] + collect("we", "n1", "wq", "wk", "wv", "wo"),
        "lineage": {**{t: batch for t in ("x0", "a", "att", "x1")},
                    **{t: {**batch, dim: "tp"} for dim, names in
                       {"1": "q.h k.h v.h q.r k.r k.t qk scaled masked prob o.h",
                        "2": "q k v q.v k.v v.v o.p o"}.items() for t in names.split()},
                    "x0.part": {"of": "x0", **batch, "partial": "tp"},
                    "att.part": {"of": "att", **batch, "partial": "tp"},
                    **{"g." + t: {"of": "grad." + t, **batch} for t in ("x1", "a", "x0")},
                    **{"g." + t: {"of": "grad." + t, **batch, dim: "tp"} for dim, names in
                       {"1": "prob masked scaled qk k.t q.r k.r q.h k.h v.h o.h",
                        "2": "o o.p q k v q.v k.v v.v"}.items() for t in names.split()}}}
    last = {
        "name": "last", "devices": {"pp": 1},
        "inputs": {"target": {"0": ["dp", "microbatch"]}, "grad.loss": {},
                   **{p: relation[p] for p in ("n2", "wg", "wu", "wd", "n3", "wh")}},
        "operators":
            [op("move", "first:x1", "x1")] + feed_forward() +
            [op("linear", ["hidden", "wd"], "ff.part"), over("all_reduce", "tp", "ff.part", "ff"),
             op("add", ["x1", "ff"], "x2")] + head(b) +
            [op("exp_mass", "logits", "mass.part"), over("all_reduce", "tp", "mass.part", "mass"),
             op("target_logit", ["logits", "target"], "hit.part", start=f"=tp * {v}"),
             over("all_reduce", "tp", "hit.part", "hit"),
             op("vocab_parallel_loss", ["mass", "hit"], "token"), op("sum", "token", "loss.part"),
             op("accumulate", "loss.part", "loss.acc"), over("all_reduce", "dp", "loss.acc", "loss"),
             back("loss.part", "grad.loss", token="g.token"),
             back("token", "g.token", mass="g.mass", hit="g.hit"),
             back("mass.part", "g.mass", logits="g.logits.mass"),
             back("hit.part", "g.hit", logits="g.logits.hit"),
             op("add", ["g.logits.mass", "g.logits.hit"], "g.logits"),
             {"backward": "logits", "grad": {"logits": "g.logits"},
              "out": {"f.t": "g.f.part", "wh": "d.wh"}},
             over("all_reduce", "tp", "g.f.part", "g.f.t"), back("f.t", "g.f.t", f="g.f"),
             back("f", "g.f", x2="g.x2", n3="d.n3"),
             back("ff.part", "g.x2", hidden="g.hidden", wd="d.wd"),
             back("hidden", "g.hidden", act="g.act", up="g.up"), back("act", "g.act", gate="g.gate"),
             back("gate", "g.gate", m="g.m.gate", wg="d.wg"),
             back("up", "g.up", m="g.m.up", wu="d.wu"),
             op("add", ["g.m.gate", "g.m.up"], "g.m.part"),
             over("all_reduce", "tp", "g.m.part", "g.m"),
             back("m", "g.m", x1="g.x1.norm", n2="d.n2"),
             op("add", ["g.x2", "g.x1.norm"], "g.x1")] + collect("n2", "wg", "wu", "wd", "n3", "wh"),
        "lineage": {**{t: batch for t in ("x1", "m", "ff", "x2", "f")},
                    **{t: {**batch, "2": "tp"} for t in ("gate", "up", "act", "hidden")},
                    "ff.part": {"of": "ff", **batch, "partial": "tp"},
                    "f.t": rows, "logits": {**rows, "1": "tp"}, "token": rows,
                    "g.token": {"of": "grad.token", **rows},
                    "g.logits": {"of": "grad.logits", **rows, "1": "tp"},
                    "g.f.t": {"of": "grad.f.t", **rows},
                    **{"g." + t: {"of": "grad." + t, **batch} for t in ("f", "x2", "m", "x1")},
                    **{"g." + t: {"of": "grad." + t, **batch, "2": "tp"}
                       for t in ("hidden", "act", "up", "gate")}}}
    content = {
        "planproof": 1,
        "note": "A Llama block: embedding and attention on the first pipeline stage, the rest on the last",
        "operators": [
            "op token_loss(logits[t, v], target[t]: int) -> loss[t] = "
            "log(sum(v: exp(logits[t, v]))) - sum(u: [target[t] == u] * logits[t, u])",
            "op exp_mass(logits[t, v]) -> s[t] = sum(v: exp(logits[t, v]))",
            "op target_logit(logits[t, v], target[t]: int) {start = 0} -> l[t] = "
            "sum(v: [target[t] - start == v] * logits[t, v])"],
        "specification": specification,
        "plan": {"mesh": {"dp": DP, "pp": 2, "tp": TP}, "microbatches": MB, "programs": [first, last]}}
    write("llama_dp2_pp2_tp2_mb2.json", content)
    broken = copy.deepcopy(content)
    broken["note"] = ("The Llama block without the all_reduce over tp of the gradient that enters the "
                      "feed-forward norm")
    operators = broken["plan"]["programs"][1]["operators"]
    at = operators.index(over("all_reduce", "tp", "g.m.part", "g.m"))
    operators[at] = op("identity", "g.m.part", "g.m")
    write("llama_dp2_pp2_tp2_mb2_broken.json", broken)


def moe():
    T, H, F, E, DP, EP = 16, 8, 12, 4, 2, 2
    e = E // EP
    experts = {"wg": [E, F, H], "wu": [E, F, H], "wd": [E, H, F]}

    def layer(start, stop):
        return [op("gate_fw", ["x", "router"], ["weight", "index"], topk=2),
                op("nnscaler_moe_gmm", ["x", "index", "weight", "wg", "wu", "wd"], "y.part",
                   n_routed_experts=E, local_expert_start=start, local_expert_end=stop)]

    whole = layer(0, E)
    whole[1]["out"] = "y"
    specification = {
        "inputs": {"x": [T, H], "g": [T, H]}, "parameters": {"router": [E, H], **experts},
        "operators": whole + [op("mul", ["y", "g"], "weighted"), op("sum", "weighted", "loss")],
        "gradients": {"loss": "loss", "of": list(experts)},
        "outputs": {"y": {"0": "dp"}, **{"grad." + p: {"0": "ep"} for p in experts}}}
    content = {
        "planproof": 1,
        "note": "Two of four experts on each rank of ep, tokens cut over dp",
        "specification": specification,
        "plan": {"mesh": {"dp": DP, "ep": EP}, "programs": [{
            "inputs": {"x": {"0": "dp"}, "g": {"0": "dp"}, "router": {},
                       **{p: {"0": "ep"} for p in experts}},
            "operators": layer(f"=ep * {e}", f"=ep * {e} + {e}") +
                         [over("all_reduce", "ep", "y.part", "y"),
                          {"backward": "y.part", "grad": {"y.part": "g"},
                           "out": {p: "d." + p for p in experts}}] +
                         [over("all_reduce", "dp", "d." + p, "grad." + p) for p in experts],
            "lineage": {"y.part": {"of": "y", "0": "dp", "partial": "ep"}}}]}}
    write("moe_dp2_ep2.json", content)
    broken = copy.deepcopy(content)
    broken["note"] = "The expert layer where every rank takes its experts for the first two"
    broken["plan"]["programs"][0]["operators"][:2] = layer(0, e)
    write("moe_dp2_ep2_broken.json", broken)


if __name__ == "__main__":
    llama()
    moe()
