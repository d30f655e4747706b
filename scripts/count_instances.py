#!/usr/bin/env python3
"""Counts the operator instances of a generated plan from the model and the strategy alone, and compares
them with a report of `planproof verify --json`. It reads no plan and shares no code with planproof.

    count_instances.py --preset L3 [--report report.json]
    count_instances.py --model gpt-tiny --dp 2 --tp 2 --pp 2 --microbatches 2 --report report.json

What counts as an instance (docs/report.md): one operator at one place where it computes something of its
own. A place is a rank in a microbatch; ranks, or microbatches, that hold the same values and compute the
same from them count once. So an operator on activations counts dp x microbatches times, within a
tensor-parallel region (and with sequence parallelism outside of it) tp times as many; an optimizer step
counts tp times if the parameter is cut, else once. A collective counts for each of its ranks, a collective
over several axes for each axis. The backward operator of an operator is one operator, however many
gradients it gives.
"""
import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Model:
    """What decides which operators there are."""
    family: str  # llama, gpt, deepseek
    layers: int
    grouped: bool = True  # fewer key-value heads than heads
    biases: bool = False  # of queries, keys and values (llama)
    tied: bool = False  # embedding and output layer
    compressed: bool = True  # queries by a low rank (deepseek)
    dense_layers: int = 1  # leading ones without routed experts (deepseek)


# From the papers and published configurations, not from the generator.
MODELS = {
    "llama-tiny": Model("llama", 2), "llama3-8b": Model("llama", 32),
    "llama3-70b": Model("llama", 80), "llama3-405b": Model("llama", 126),
    "qwen-tiny": Model("llama", 2, biases=True), "qwen2-7b": Model("llama", 28, biases=True),
    "qwen2-72b": Model("llama", 80, biases=True),
    "gpt-tiny": Model("gpt", 2, tied=True), "gpt3-125m": Model("gpt", 12, tied=True),
    "gpt3-1.3b": Model("gpt", 24, tied=True), "gpt3-175b": Model("gpt", 96, tied=True),
    "deepseek-tiny": Model("deepseek", 2),
    "deepseek-v3-16b": Model("deepseek", 27, compressed=False),
    "deepseek-v3-236b": Model("deepseek", 60), "deepseek-v3-671b": Model("deepseek", 61, dense_layers=3),
}


@dataclass(frozen=True)
class Strategy:
    dp: int = 1
    tp: int = 1
    pp: int = 1
    microbatches: int = 1
    sequence_parallel: bool = False
    loss_scale: bool = False


# TrainVerify (SOSP '25), table of plans.
PRESETS = {
    "L1": ("llama3-8b", Strategy(512, 1, 1, 1)), "L2": ("llama3-70b", Strategy(16, 8, 4, 32)),
    "L3": ("llama3-405b", Strategy(64, 8, 16, 16)), "D1": ("deepseek-v3-16b", Strategy(16, 4, 2, 16)),
    "D2": ("deepseek-v3-236b", Strategy(16, 8, 4, 16)),
    "D3": ("deepseek-v3-671b", Strategy(32, 8, 8, 16)),
}


class Count:
    """Operators by the axes over which they differ: d (dp), m (microbatch), t (tp)."""

    def __init__(self, strategy):
        self.strategy = strategy
        self.operators = Counter()
        self.cut = self.whole = 0  # parameters by whether tp cuts them
        self.cut_outside_layers = self.whole_outside_layers = 0
        self.in_layer = False
        self.whole_partial = 0  # of the whole ones: gradients that are also sums over tp
        self.inside = "dmt"  # activations within a tensor-parallel region
        self.sequence_cut = strategy.sequence_parallel and strategy.tp > 1
        self.outside = "dmt" if self.sequence_cut else "dm"

    def add(self, axes, number=1):
        self.operators[axes] += number

    def forward_and_backward(self, axes, number=1):
        self.add(axes, 2 * number)

    def enter(self, consumers):
        """Into a tensor-parallel region, where so many operators read the value."""
        if self.strategy.tp > 1:
            # All-gather and, backward, reduce-scatter; or, backward, an all-reduce.
            self.add("dmt", 2 if self.sequence_cut else 1)
        self.add(self.inside, consumers - 1)  # the sum of their gradients

    def leave(self):
        """Out of a tensor-parallel region."""
        if self.strategy.tp > 1:
            # Reduce-scatter and, backward, all-gather; or an all-reduce.
            self.add("dmt", 2 if self.sequence_cut else 1)

    def parameters(self, cut=0, outside=0, alike=0):
        """`outside`: whole, used on activations that lie as outside of tensor-parallel regions;
        `alike`: whole, used by all ranks of tp in the same way."""
        if self.strategy.tp > 1:
            self.cut += cut
        else:
            outside += cut
        self.whole += outside + alike
        if not self.in_layer:
            self.cut_outside_layers += cut if self.strategy.tp > 1 else 0
            self.whole_outside_layers += outside + alike
        self.whole_partial += outside if self.sequence_cut else 0

    def reduce_over_batch(self, axes, operators=1, also=""):
        """Sums over microbatches and ranks of dp (and `also`) of what else differs over `axes`."""
        if self.strategy.microbatches > 1:
            self.add("d" + axes + also, operators)
        if self.strategy.dp > 1:
            self.add("d" + axes + also, operators)
        if also:
            self.add(axes + also, operators)

    def total(self):
        extent = {"d": self.strategy.dp, "m": self.strategy.microbatches, "t": self.strategy.tp}
        instances = 0
        for axes, number in self.operators.items():
            for axis in set(axes):
                number *= extent[axis]
            instances += number
        return instances


def norm(count, parameters=1):
    count.forward_and_backward(count.outside)
    count.parameters(outside=parameters)


def residual(count):
    count.forward_and_backward(count.outside)
    count.add(count.outside)  # the gradient of the stream: that of the sum plus that of the block


def attention_core(count, grouped):
    # Scores, scale, mask, softmax, mix, heads side by side; queries by group.
    count.forward_and_backward(count.inside, 7 if grouped else 6)


def output_projection(count, bias):
    count.forward_and_backward(count.inside)
    count.parameters(cut=1)
    count.leave()
    if bias:
        count.forward_and_backward(count.outside)
        count.parameters(outside=1)


def llama_attention(count, model):
    norm(count)
    count.enter(consumers=3)
    count.forward_and_backward(count.inside, 3 + 3 + 1)  # projections, heads, rotation
    count.parameters(cut=6 if model.biases else 3)
    attention_core(count, model.grouped)
    output_projection(count, bias=False)
    residual(count)


def swiglu(count):
    count.forward_and_backward(count.inside, 4)  # two projections, SiLU, product
    count.parameters(cut=2)
    output_projection(count, bias=False)


def dense_feed_forward(count):
    norm(count)
    count.enter(consumers=2)
    swiglu(count)
    residual(count)


def gpt_layer(count):
    norm(count, parameters=2)
    count.enter(consumers=3)
    count.forward_and_backward(count.inside, 3 + 3)  # projections, heads
    count.parameters(cut=6)
    attention_core(count, grouped=False)
    output_projection(count, bias=True)
    residual(count)
    norm(count, parameters=2)
    count.enter(consumers=1)
    count.forward_and_backward(count.inside, 2)  # projection, GELU
    count.parameters(cut=2)
    output_projection(count, bias=True)
    residual(count)


def latent_attention(count, model):
    norm(count)
    count.add(count.outside)  # the norm is read twice: by queries, and by keys and values
    if model.compressed:
        count.forward_and_backward(count.outside)
        count.parameters(outside=1)
        norm(count)
    count.enter(consumers=1)
    count.forward_and_backward(count.inside, 3)  # queries, heads, split
    count.parameters(cut=1)
    count.forward_and_backward(count.outside, 2)  # compressed keys and values, split
    count.parameters(outside=1)
    norm(count)
    count.enter(consumers=1)
    count.forward_and_backward(count.inside, 3)  # keys and values, heads, split
    count.parameters(cut=1)
    count.enter(consumers=1)  # the part of the keys that is rotated, which all heads share
    count.add("dm")  # as one head
    count.add(count.inside)
    # Rotation, the rotated key as a tensor of one head less, both parts of the scores, their sum;
    # scale, mask, softmax, mix, heads side by side.
    count.forward_and_backward(count.inside, 5 + 5)
    output_projection(count, bias=False)
    residual(count)


def experts_feed_forward(count):
    norm(count)
    count.add(count.outside)  # the norm is read twice: by the router, and by the experts
    # The router: all ranks of tp choose alike, on whole sequences.
    if count.sequence_cut:
        count.add("dmt", 3)  # all-gather; backward: each rank's copy, and its part of it
    count.forward_and_backward("dm", 2)  # a list of tokens, choice
    count.parameters(alike=1)
    if count.strategy.tp > 1:
        count.add("dmt")  # the gradient of the choice's weights, summed over the ranks' experts
    # The experts read whole sequences, too.
    count.enter(consumers=3)  # routed experts, and two projections of the shared ones
    count.add("dm")  # a list of tokens
    count.add(count.inside)
    count.forward_and_backward(count.inside, 2)  # routed experts, as sequences
    count.parameters(cut=3)
    count.leave()
    swiglu(count)  # shared experts
    count.forward_and_backward(count.outside)  # sum of routed and shared
    residual(count)


def layers(count, model):
    count.in_layer = True
    for layer in range(model.layers):
        if model.family == "gpt":
            gpt_layer(count)
            continue
        if model.family == "llama":
            llama_attention(count, model)
        else:
            latent_attention(count, model)
        if model.family == "deepseek" and layer >= model.dense_layers:
            experts_feed_forward(count)
        else:
            dense_feed_forward(count)
    count.in_layer = False


def embedding(count, model):
    count.forward_and_backward(count.inside)
    count.leave()
    count.parameters(cut=1)
    if model.family == "gpt":
        count.forward_and_backward(count.outside, 2)  # rows by position, sum
        count.parameters(outside=1)


def loss(count, model):
    norm(count, parameters=2 if model.family == "gpt" else 1)
    count.add("dm")  # tokens that count
    count.reduce_over_batch("")
    count.add("")  # at least 1
    count.enter(consumers=1)
    count.forward_and_backward(count.inside)  # logits
    if count.strategy.tp > 1:
        count.add("dmt")  # the largest logit, which is not differentiated
        count.forward_and_backward("dmt", 2)  # sum of exponentials, the target's logit
        count.add("dmt", 3)  # their all-reduces
        count.forward_and_backward("dm")
    else:
        count.forward_and_backward("dm", 3)
    count.add(count.inside)  # two contributions to the logits' gradient
    count.forward_and_backward("dm", 3)  # mask, sum, quotient
    if count.strategy.loss_scale:
        count.forward_and_backward("dm")
    count.reduce_over_batch("")


def tied_embedding(count, model, stages):
    """The output layer's weight: one more parameter, or the embedding's again."""
    if not model.tied:
        count.parameters(cut=1)
        return 0
    if stages == 1:
        count.add(count.inside)  # the sum of the two gradients
        return 0
    count.parameters(cut=1)  # the last stage's copy
    return 1


def updates(count, model, copies):
    """Reduction of the gradients, norm, clipping, AdamW."""
    stages = count.strategy.pp
    count.reduce_over_batch("t", count.cut)
    count.reduce_over_batch("", count.whole - count.whole_partial)
    count.reduce_over_batch("", count.whole_partial, also="t")
    squares_cut, squares_whole = count.cut, count.whole
    if count.strategy.tp > 1:
        squares_cut -= copies
    else:
        squares_whole -= copies
    count.add("t", squares_cut)
    count.add("", squares_whole)
    if count.strategy.loss_scale:
        count.add("t", count.cut)
        count.add("", count.whole)
    # A layer's squares are added up: those that tp cuts, those that it does not, then both. A
    # parameter of no layer is by itself.
    singles_cut = count.cut_outside_layers - (copies if count.strategy.tp > 1 else 0)
    singles = singles_cut + count.whole_outside_layers - (copies if count.strategy.tp == 1 else 0)
    layers_with_cut = model.layers if count.strategy.tp > 1 else 0
    count.add("t", squares_cut - singles_cut - layers_with_cut)
    count.add("t", layers_with_cut + singles_cut)  # all-reduces
    count.add("", squares_whole - (singles - singles_cut) - model.layers)
    count.add("", layers_with_cut)
    count.add("", model.layers + singles - stages)  # a stage's layers and other parameters
    if stages > 1:
        count.add("", stages)  # the sum over stages
    count.add("", 4 * stages)  # root, epsilon, quotient, at most 1
    count.add("t", 2 * count.cut)
    count.add("", 2 * count.whole)


def count_instances(model, strategy):
    count = Count(strategy)
    embedding(count, model)
    layers(count, model)
    loss(count, model)
    copies = tied_embedding(count, model, strategy.pp)
    # Moves between stages: sent and received.
    count.forward_and_backward(count.outside, 2 * (strategy.pp - 1))
    updates(count, model, copies)
    if copies:
        # The two stages add up their accumulated parts before the sum over dp.
        count.add("dt" if strategy.tp > 1 else "d", 2)
    return count.total()


def main():
    parser = argparse.ArgumentParser(description="Operator instances of a generated plan.")
    parser.add_argument("--preset", choices=sorted(PRESETS))
    parser.add_argument("--model", choices=sorted(MODELS))
    parser.add_argument("--layers", type=int, help="if not the model's")
    for name in ("dp", "tp", "pp", "microbatches"):
        parser.add_argument("--" + name, type=int, default=1)
    parser.add_argument("--sequence-parallel", action="store_true")
    parser.add_argument("--loss-scale", action="store_true", help="gradients are scaled")
    parser.add_argument("--report", help="of planproof verify --json, to compare with")
    given = parser.parse_args()
    if given.preset:
        name, strategy = PRESETS[given.preset]
        strategy = replace(strategy, sequence_parallel=given.sequence_parallel,
                           loss_scale=given.loss_scale)
    elif given.model:
        name = given.model
        strategy = Strategy(given.dp, given.tp, given.pp, given.microbatches,
                            given.sequence_parallel, given.loss_scale)
    else:
        parser.error("give --preset or --model")
    model = MODELS[name]
    if given.layers:
        model = replace(model, layers=given.layers)
    counted = count_instances(model, strategy)
    if not given.report:
        print(counted)
        return 0
    report = json.load(open(given.report, encoding="utf-8"))
    operators = report["operators"]
    # Listed with the verdict: what no required output depends on, such as the scaled loss, of which
    # only the gradient is used.
    idle = sum(int(re.search(r"\((\d+) instances\)$", text)[1]) for text in report["without_effect"])
    print(f"counted {counted}, reported {operators['parallel']}, covered {operators['covered']}" +
          (f", without effect {idle}" if idle else ""))
    return 0 if counted == operators["parallel"] == operators["covered"] + idle else 1


if __name__ == "__main__":
    sys.exit(main())
