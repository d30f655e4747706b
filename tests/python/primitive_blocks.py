#!/usr/bin/env python3
"""Writes transformer blocks in primitive operators, as XLA does, as one plan file without lineage.

    primitive_blocks.py LAYERS [OUT.json]

A block is a norm, attention, a norm and a gated perceptron, each behind a residual connection; the
loss is the sum of squares of what the last one gives, differentiated as JAX does it, and one step of
SGD updates each weight. The plan runs dp 2 x tp 4: heads and widths are cut over tp, sequences over
dp. Where XLA has computed something before, the plan takes that, and the model computes it again.
"""

import json
import sys
from dataclasses import dataclass

DP, TP = 2, 4


@dataclass(frozen=True)
class Dimensions:
    """The model's, by default those of Llama 3 405B."""

    sequences: int = 4
    tokens: int = 2048
    hidden: int = 16384
    heads: int = 128
    head: int = 128
    feed_forward: int = 53248

    def of_rank(self):
        return Dimensions(self.sequences // DP, self.tokens, self.hidden, self.heads // TP,
                          self.head, self.feed_forward // TP)


RATE = 0.0625
SCALE = 0.0625  # of the scores
WEIGHTS = ("an", "wv", "wq", "wk", "wo", "fn", "w1", "w3", "w2")  # in the order of their first use
CUT = {"wv": 1, "wq": 1, "wk": 1, "wo": 0, "w1": 1, "w3": 1, "w2": 0}  # dimension that tp cuts
UPDATED = ("an", "fn", "w1", "w2", "w3", "wk", "wo", "wq", "wv")


def weight(layer, name):
    return f"p_{layer}___{name}__.0"


def shape_of(name, d):
    return {
        "an": [d.hidden], "fn": [d.hidden],
        "wv": [d.hidden, d.heads, d.head], "wq": [d.hidden, d.heads, d.head],
        "wk": [d.hidden, d.heads, d.head], "wo": [d.heads, d.head, d.hidden],
        "w1": [d.hidden, d.feed_forward], "w3": [d.hidden, d.feed_forward],
        "w2": [d.feed_forward, d.hidden],
    }[name]


class Program:
    """The operators of the model, or of what all ranks of the plan run."""

    def __init__(self, dimensions, parallel):
        self.d, self.parallel = dimensions, parallel
        self.operators = []
        self.count = {}

    def add(self, op, inputs, stem=None, **attributes):
        stem = stem or op
        number = self.count.get(stem, 0)
        self.count[stem] = number + 1
        out = f"{stem}.{number}"
        over = attributes.pop("over", None)
        operator = {"op": op, "in": inputs[0] if len(inputs) == 1 else list(inputs), "out": out}
        if attributes:
            operator["attrs"] = attributes
        if over:
            operator["over"] = over
        self.operators.append(operator)
        return out

    def mul(self, a, b):
        return self.add("mul", [a, b])

    def reshape(self, a, shape):
        return self.add("reshape", [a], shape=shape)

    def expand(self, a, shape, size):
        return self.add("expand", [self.reshape(a, shape)], size=size)

    def einsum(self, equation, a, b):
        return self.add("einsum", [a, b], stem="dot", equation=equation)

    def permute(self, a, dims):
        return self.add("permute", [a], dims=dims)

    def sum_over(self, axis, a):
        return self.add("all_reduce", [a], over=axis) if self.parallel else a

    def broadcast(self, a, kept, flat, size):
        """As JAX writes a product with an operand of fewer elements: of shape `kept` and then `size`."""
        b = self.expand(a, kept, kept)
        return self.expand(self.reshape(b, flat), kept, size)


class Norm:
    """The root mean square, and what its derivative uses."""

    def __init__(self, p, x, gain):
        d = p.d
        self.p, self.x = p, x
        self.size = [d.sequences, d.tokens, d.hidden]
        self.rows, self.row = [d.sequences, d.tokens, 1], [d.sequences, d.tokens]
        self.ones, self.flat = [1, 1, d.hidden], [d.hidden]
        total = p.add("sum", [p.mul(x, x)], dim=[2])
        mean = p.add("div", [p.reshape(total, self.rows), d.hidden])
        self.variance = p.add("add", [mean, 1e-05])
        self.inverse = p.add("rsqrt", [self.variance])
        self.inverse_spread = self.spread_inverse()
        self.normal = p.mul(x, self.inverse_spread)
        self.gain = p.reshape(gain, self.ones)
        self.gain_spread = self.spread_gain()
        self.out = p.mul(self.normal, self.gain_spread)

    def spread_inverse(self):
        return self.p.broadcast(self.inverse, self.rows, self.row, self.size)

    def spread_gain(self):
        return self.p.broadcast(self.gain, self.ones, self.flat, self.size)

    def backward(self, grad, residual):
        """The gradient of what was normed, with that of the residual connection."""
        p = self.p
        scaled = p.mul(grad, self.gain_spread if p.parallel else self.spread_gain())
        direct = p.mul(scaled, self.inverse_spread if p.parallel else self.spread_inverse())
        total = p.add("add", [residual, direct])
        along = p.add("sum", [p.mul(self.x, scaled)], dim=[2])
        along = p.reshape(along, self.rows)
        root = p.mul(p.add("div", [self.inverse, self.variance]), -0.5)
        share = p.add("div", [p.mul(along, root), p.d.hidden])
        share = p.expand(p.reshape(share, self.row), self.rows, self.size)
        first = p.mul(share, self.x)
        total = p.add("add", [total, first])
        second = first if p.parallel else p.mul(self.x, share)
        return p.add("add", [total, second])


class Block:
    def __init__(self, p, layer, x):
        d = p.d
        self.p, self.layer = p, layer
        w = {name: weight(layer, name) for name in WEIGHTS}
        self.w = w
        self.scores = [d.sequences, d.heads, d.tokens, d.tokens]
        self.columns, self.column = self.scores[:3] + [1], self.scores[:3]
        self.attention_norm = Norm(p, x, w["an"])
        n = self.attention_norm.out
        self.v = p.einsum("abc,cde->abde", n, w["wv"])
        self.q = p.einsum("abc,cde->abde", n, w["wq"])
        self.k = p.einsum("abc,cde->abde", n, w["wk"])
        scores = p.mul(p.einsum("abcd,aecd->acbe", self.q, self.k), SCALE)
        largest = p.reshape(p.add("max", [scores], dim=[3]), self.columns)
        largest = p.broadcast(largest, self.columns, self.column, self.scores)
        self.exp = p.add("exp", [p.add("sub", [scores, largest])])
        self.total = p.reshape(p.add("sum", [self.exp], dim=[3]), self.columns)
        self.total_spread = self.spread_total()
        self.weights = p.add("div", [self.exp, self.total_spread])
        self.mixed = p.einsum("abcd,aceb->acde", self.v, self.weights)
        out = p.sum_over("tp", p.einsum("abcd,bce->ade", self.mixed, w["wo"]))
        self.x = p.add("add", [x, out])
        self.perceptron_norm = Norm(p, self.x, w["fn"])
        n = self.perceptron_norm.out
        self.gate = p.add("tanh", [p.einsum("abc,cd->abd", n, w["w1"])])
        self.up = p.einsum("abc,cd->abd", n, w["w3"])
        self.hidden = p.mul(self.gate, self.up)
        self.out = p.add("add", [self.x, p.sum_over("tp", p.einsum("abc,cd->abd", self.hidden, w["w2"]))])

    def spread_total(self):
        return self.p.broadcast(self.total, self.columns, self.column, self.scores)

    def backward(self, grad, last):
        """The gradient of the block's input; that of the first block is not asked for."""
        p, w = self.p, self.w
        self.grad_out = grad
        grad_hidden = p.einsum("abc,dc->abd", grad, w["w2"])
        self.grad_up = p.mul(self.gate, grad_hidden)
        through_up = p.sum_over("tp", p.einsum("abc,dc->abd", self.grad_up, w["w3"]))
        through_gate = p.mul(grad_hidden, self.up)
        above = p.add("add", [self.gate, 1])
        below = p.add("sub", [1, self.gate])
        self.grad_gate = p.mul(through_gate, p.mul(above, below))
        through_gate = p.sum_over("tp", p.einsum("abc,dc->abd", self.grad_gate, w["w1"]))
        self.grad_perceptron = p.add("add", [through_up, through_gate])
        grad = self.perceptron_norm.backward(self.grad_perceptron, grad)
        self.grad_x = grad
        mixed = p.permute(p.einsum("abc,dec->abde", grad, w["wo"]), [0, 2, 3, 1])
        self.grad_v = p.permute(p.einsum("abcd,abde->abce", mixed, self.weights), [0, 3, 1, 2])
        to_v = p.sum_over("tp", p.einsum("abcd,ecd->abe", self.grad_v, w["wv"]))
        grad_weights = p.einsum("abcd,aebc->abde", mixed, self.v)
        divided = p.add("div", [grad_weights, self.total_spread if p.parallel else self.spread_total()])
        square = p.add("div", [1, p.mul(self.total, self.total)])
        square = p.broadcast(square, self.columns, self.column, self.scores)
        along = p.mul(p.mul(grad_weights, square), self.exp)
        along = p.reshape(p.add("sum", [along], dim=[3]), self.columns)
        along = p.reshape(p.add("neg", [along]), self.column)
        along = p.expand(along, self.columns, self.scores)
        grad_scores = p.mul(p.mul(p.add("add", [divided, along]), self.exp), SCALE)
        self.grad_k = p.permute(p.einsum("abcd,acbe->abde", grad_scores, self.q), [0, 2, 1, 3])
        to_k = p.sum_over("tp", p.einsum("abcd,ecd->abe", self.grad_k, w["wk"]))
        total = p.add("add", [to_v, to_k])
        self.grad_q = p.permute(p.einsum("abcd,adbe->abce", grad_scores, self.k), [0, 2, 1, 3])
        to_q = p.sum_over("tp", p.einsum("abcd,ecd->abe", self.grad_q, w["wq"]))
        self.grad_attention = p.add("add", [total, to_q])
        return None if last else self.attention_norm.backward(self.grad_attention, grad)

    def updated(self, name):
        p = self.p
        if name in ("an", "fn"):
            norm, grad = ((self.attention_norm, self.grad_attention) if name == "an" else
                          (self.perceptron_norm, self.grad_perceptron))
            total = p.sum_over("dp", p.add("sum", [p.mul(norm.normal, grad)], dim=[0, 1]))
            grad = p.reshape(p.reshape(total, norm.ones), norm.flat)
        else:
            perceptron, attention = self.perceptron_norm.out, self.attention_norm.out
            equation, a, b, dims = {
                "w1": ("abc,abd->cd", self.grad_gate, perceptron, [1, 0]),
                "w2": ("abc,abd->cd", self.grad_out, self.hidden, [1, 0]),
                "w3": ("abc,abd->cd", self.grad_up, perceptron, [1, 0]),
                "wk": ("abcd,abe->cde", self.grad_k, attention, [2, 0, 1]),
                "wo": ("abc,adeb->cde", self.grad_x, self.mixed, [1, 2, 0]),
                "wq": ("abcd,abe->cde", self.grad_q, attention, [2, 0, 1]),
                "wv": ("abcd,abe->cde", self.grad_v, attention, [2, 0, 1]),
            }[name]
            grad = p.permute(p.sum_over("dp", p.einsum(equation, a, b)), dims)
        return p.add("sub", [self.w[name], p.mul(grad, RATE)])


def program(dimensions, layers, parallel):
    p = Program(dimensions, parallel)
    x, blocks = "x.0", []
    for layer in range(layers):
        blocks.append(Block(p, layer, x))
        x = blocks[-1].out
    grad = p.add("add", [x, x])
    for block in reversed(blocks):
        grad = block.backward(grad, last=block.layer == 0)
    updated = [block.updated(name) for block in blocks for name in UPDATED]
    for n, value in enumerate(updated):
        p.operators.append({"op": "identity", "in": value, "out": f"out{n}"})
    return p.operators


def plan(layers, dimensions=Dimensions()):
    names = [("an", 0)] + [("x", 0)] + [(name, 0) for name in WEIGHTS[1:]]
    names += [(name, layer) for layer in range(1, layers) for name in WEIGHTS]
    shapes, held = {}, {}
    for name, layer in names:
        if name == "x":
            shapes["x.0"] = [dimensions.sequences, dimensions.tokens, dimensions.hidden]
            held["x.0"] = {"0": "dp"}
            continue
        shapes[weight(layer, name)] = shape_of(name, dimensions)
        held[weight(layer, name)] = {str(CUT[name]): "tp"} if name in CUT else {}
    outputs = {f"out{layer * len(UPDATED) + n}": held[weight(layer, name)]
               for layer in range(layers) for n, name in enumerate(UPDATED)}
    return {
        "planproof": 1,
        "specification": {"inputs": shapes, "operators": program(dimensions, layers, False),
                          "outputs": outputs},
        "plan": {"mesh": {"dp": DP, "tp": TP}, "programs": [{
            "inputs": held, "operators": program(dimensions.of_rank(), layers, True),
            "outputs": list(outputs)}]},
    }


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    text = json.dumps(plan(int(sys.argv[1])))
    if len(sys.argv) == 3:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
