#!/usr/bin/env python3
"""Writes goldens/*.json: small models in JAX, 64 bits, on the CPU. Run: make_goldens.py [FAMILY...]

Needs jax and optax (written with 0.10 and 0.2). The models are written from their papers and published
code, not from the generator: two training steps on one batch, with the inputs, the loss, all gradients
and all updated tensors of each step. golden_test.cc compares the generator's
logical graphs with them.
"""
import json
import pathlib
import sys

import jax
import numpy as np
import optax

jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

LEARNING_RATE, BETAS, EPSILON, DECAY, CLIP = 3e-4, (0.9, 0.95), 1e-8, 0.1, 1.0


def rms_norm(x, weight, epsilon):
    return weight * (x / jnp.sqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + epsilon))


def rotary_turns(sequence, size, base):
    """exp(i position base^(-2 pair / size)) as complex numbers [sequence, size / 2]."""
    frequencies = base ** (-np.arange(0, size, 2) / size)
    return np.exp(1j * np.outer(np.arange(sequence), frequencies))


def turn_pairs(x, turns):
    """Neighbouring entries of [batch, sequence, heads, size] as complex numbers, turned."""
    pairs = jax.lax.complex(x[..., 0::2], x[..., 1::2]) * turns[None, :, None, :]
    return jnp.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)


def causal_attention(q, k, v, scale):
    """One key and value per query head; [batch, sequence, heads, size]."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * scale
    scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)


def masked_mean_loss(logits, target, mask):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)[..., 0]
    return jnp.sum(-picked * mask) / jnp.maximum(jnp.sum(mask), 1)


def swiglu(x, gate, up, down):
    return (jax.nn.silu(x @ gate.T) * (x @ up.T)) @ down.T


class Llama:
    """Meta's llama/model.py with the real form of rotary embeddings."""
    layers, hidden, width, heads, groups, size, vocabulary, sequence, batch = 2, 8, 12, 4, 2, 2, 16, 4, 2
    epsilon = 1e-5
    vanishing = []  # parameters whose gradient is zero by an identity

    def shapes(self):
        yield "embedding.weight", (self.vocabulary, self.hidden)
        for n in range(self.layers):
            p = f"layers.{n}."
            yield p + "attention_norm.weight", (self.hidden,)
            yield p + "q.weight", (self.heads * self.size, self.hidden)
            yield p + "k.weight", (self.groups * self.size, self.hidden)
            yield p + "v.weight", (self.groups * self.size, self.hidden)
            yield p + "o.weight", (self.hidden, self.heads * self.size)
            yield p + "ffn_norm.weight", (self.hidden,)
            yield p + "gate.weight", (self.width, self.hidden)
            yield p + "up.weight", (self.width, self.hidden)
            yield p + "down.weight", (self.hidden, self.width)
        yield "norm.weight", (self.hidden,)
        yield "head.weight", (self.vocabulary, self.hidden)

    def buffers(self):
        turns = rotary_turns(self.sequence, self.size, 500000.0)
        return {"rotary": np.stack([turns.real, turns.imag], axis=-1)}

    def loss(self, w, ids, target, mask):
        turns = rotary_turns(self.sequence, self.size, 500000.0)
        x = w["embedding.weight"][ids]
        split = lambda t, count: t.reshape(self.batch, self.sequence, count, self.size)
        for n in range(self.layers):
            p = lambda name: w[f"layers.{n}.{name}.weight"]
            a = rms_norm(x, p("attention_norm"), self.epsilon)
            q = turn_pairs(split(a @ p("q").T, self.heads), turns)
            k = turn_pairs(split(a @ p("k").T, self.groups), turns)
            v = split(a @ p("v").T, self.groups)
            k, v = (jnp.repeat(t, self.heads // self.groups, axis=2) for t in (k, v))
            y = causal_attention(q, k, v, self.size ** -0.5)
            x = x + y.reshape(self.batch, self.sequence, -1) @ p("o").T
            x = x + swiglu(rms_norm(x, p("ffn_norm"), self.epsilon), p("gate"), p("up"), p("down"))
        x = rms_norm(x, w["norm.weight"], self.epsilon)
        return masked_mean_loss(x @ w["head.weight"].T, target, mask)


class DeepSeek:
    """DeepSeek-V3: the paper's equations 1 to 16, with complex rotary embeddings as in its model.py."""
    layers, dense_layers, hidden, width, heads, vocabulary, sequence, batch = 2, 1, 8, 12, 2, 16, 4, 2
    query_rank, latent, plain, size, value = 6, 4, 4, 2, 4
    experts, shared, active, clusters, active_clusters, expert_width, scale = 8, 1, 2, 4, 2, 8, 2.5
    epsilon = 1e-6
    vanishing = []

    def shapes(self):
        yield "embedding.weight", (self.vocabulary, self.hidden)
        for n in range(self.layers):
            p = f"layers.{n}."
            yield p + "attention_norm.weight", (self.hidden,)
            yield p + "q_down.weight", (self.query_rank, self.hidden)
            yield p + "q_norm.weight", (self.query_rank,)
            yield p + "q.weight", (self.heads * (self.plain + self.size), self.query_rank)
            yield p + "kv_down.weight", (self.latent + self.size, self.hidden)
            yield p + "kv_norm.weight", (self.latent,)
            yield p + "kv.weight", (self.heads * (self.plain + self.value), self.latent)
            yield p + "o.weight", (self.hidden, self.heads * self.value)
            yield p + "ffn_norm.weight", (self.hidden,)
            if n < self.dense_layers:
                inner, p = self.width, p
            else:
                inner, p = self.shared * self.expert_width, p + "shared."
                yield f"layers.{n}.router.weight", (self.experts, self.hidden)
                yield f"layers.{n}.routed.gate.weight", (self.experts, self.expert_width, self.hidden)
                yield f"layers.{n}.routed.up.weight", (self.experts, self.expert_width, self.hidden)
                yield f"layers.{n}.routed.down.weight", (self.experts, self.hidden, self.expert_width)
            yield p + "gate.weight", (inner, self.hidden)
            yield p + "up.weight", (inner, self.hidden)
            yield p + "down.weight", (self.hidden, inner)
        yield "norm.weight", (self.hidden,)
        yield "head.weight", (self.vocabulary, self.hidden)

    def buffers(self):
        turns = rotary_turns(self.sequence, self.size, 10000.0)
        bias = np.random.default_rng(7).normal(size=self.experts) * 0.1
        return {"rotary": np.stack([turns.real, turns.imag], axis=-1),
                **{f"layers.{n}.router.bias": bias for n in range(self.dense_layers, self.layers)}}

    def attention(self, p, x, turns):
        rows = (self.batch, self.sequence)
        q = rms_norm(x @ p("q_down").T, p("q_norm"), self.epsilon) @ p("q").T
        q = q.reshape(*rows, self.heads, self.plain + self.size)
        q = jnp.concatenate([q[..., :self.plain], turn_pairs(q[..., self.plain:], turns)], axis=-1)
        down = x @ p("kv_down").T
        kv = rms_norm(down[..., :self.latent], p("kv_norm"), self.epsilon) @ p("kv").T
        kv = kv.reshape(*rows, self.heads, self.plain + self.value)
        shared_key = turn_pairs(down[..., None, self.latent:], turns)
        k = jnp.concatenate([kv[..., :self.plain], jnp.repeat(shared_key, self.heads, axis=2)], axis=-1)
        y = causal_attention(q, k, kv[..., self.plain:], (self.plain + self.size) ** -0.5)
        return y.reshape(*rows, -1) @ p("o").T

    def mixture(self, p, x, bias):
        affinity = jax.nn.sigmoid(x @ p("router").T)
        biased = (affinity + bias).reshape(*x.shape[:2], self.clusters, -1)
        cluster_scores = jnp.sort(biased, axis=-1)[..., -2:].sum(axis=-1)
        allowed = jax.lax.top_k(cluster_scores, self.active_clusters)[1]
        mask = jax.nn.one_hot(allowed, self.clusters).sum(axis=-2)[..., None] > 0
        chosen = jax.lax.top_k(jnp.where(mask, biased, -jnp.inf).reshape(affinity.shape), self.active)[1]
        picked = jax.nn.one_hot(chosen, self.experts, dtype=float).sum(axis=-2)
        gates = picked * affinity
        gates = self.scale * gates / gates.sum(axis=-1, keepdims=True)
        out = swiglu(x, p("shared.gate"), p("shared.up"), p("shared.down"))
        for e in range(self.experts):
            out += gates[..., e, None] * swiglu(x, *(p("routed." + w)[e] for w in ("gate", "up", "down")))
        return out

    def loss(self, w, ids, target, mask):
        turns = rotary_turns(self.sequence, self.size, 10000.0)
        x = w["embedding.weight"][ids]
        for n in range(self.layers):
            p = lambda name: w[f"layers.{n}.{name}.weight"]
            x = x + self.attention(p, rms_norm(x, p("attention_norm"), self.epsilon), turns)
            a = rms_norm(x, p("ffn_norm"), self.epsilon)
            if n < self.dense_layers:
                x = x + swiglu(a, p("gate"), p("up"), p("down"))
            else:
                x = x + self.mixture(p, a, self.buffers()[f"layers.{n}.router.bias"])
        x = rms_norm(x, w["norm.weight"], self.epsilon)
        return masked_mean_loss(x @ w["head.weight"].T, target, mask)


class Qwen(Llama):
    """Qwen2: Llama with biases on queries, keys and values, added before the rotation."""
    epsilon = 1e-6

    def shapes(self):
        yield from super().shapes()
        for n in range(self.layers):
            for name, count in (("q", self.heads), ("k", self.groups), ("v", self.groups)):
                yield f"layers.{n}.{name}.bias", (count * self.size,)

    def loss(self, w, ids, target, mask):
        turns = rotary_turns(self.sequence, self.size, 500000.0)
        x = w["embedding.weight"][ids]
        for n in range(self.layers):
            p = lambda name: w[f"layers.{n}.{name}.weight"]
            a = rms_norm(x, p("attention_norm"), self.epsilon)
            q, k, v = ((a @ p(name).T + w[f"layers.{n}.{name}.bias"]).reshape(
                self.batch, self.sequence, -1, self.size) for name in "qkv")
            q, k = turn_pairs(q, turns), turn_pairs(k, turns)
            k, v = (jnp.repeat(t, self.heads // self.groups, axis=2) for t in (k, v))
            y = causal_attention(q, k, v, self.size ** -0.5)
            x = x + y.reshape(self.batch, self.sequence, -1) @ p("o").T
            x = x + swiglu(rms_norm(x, p("ffn_norm"), self.epsilon), p("gate"), p("up"), p("down"))
        x = rms_norm(x, w["norm.weight"], self.epsilon)
        return masked_mean_loss(x @ w["head.weight"].T, target, mask)


class Gpt:
    """GPT-3: openai/gpt-2's src/model.py without dropout; the embedding is the output layer, too."""
    layers, hidden, heads, vocabulary, sequence, batch = 2, 8, 4, 16, 4, 2
    epsilon = 1e-5
    # A bias of all keys adds the same to all scores of a query.
    vanishing = [f"layers.{n}.k.bias" for n in range(layers)]

    def shapes(self):
        yield "embedding.weight", (self.vocabulary, self.hidden)
        yield "positions.weight", (self.sequence, self.hidden)
        for n in range(self.layers):
            p = f"layers.{n}."
            yield p + "attention_norm.weight", (self.hidden,)
            yield p + "attention_norm.bias", (self.hidden,)
            for name in "qkvo":
                yield f"{p}{name}.weight", (self.hidden, self.hidden)
                yield f"{p}{name}.bias", (self.hidden,)
            yield p + "ffn_norm.weight", (self.hidden,)
            yield p + "ffn_norm.bias", (self.hidden,)
            yield p + "up.weight", (4 * self.hidden, self.hidden)
            yield p + "up.bias", (4 * self.hidden,)
            yield p + "down.weight", (self.hidden, 4 * self.hidden)
            yield p + "down.bias", (self.hidden,)
        yield "norm.weight", (self.hidden,)
        yield "norm.bias", (self.hidden,)

    def buffers(self):
        return {"position_ids": np.tile(np.arange(self.sequence), (self.batch, 1))}

    def norm(self, w, name, x):
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        deviation = jnp.sqrt(jnp.mean(jnp.square(centred), axis=-1, keepdims=True) + self.epsilon)
        return w[name + ".weight"] * (centred / deviation) + w[name + ".bias"]

    def gelu(self, x):
        # The constant is the double nearest to sqrt(2 / pi), as in PyTorch.
        return 0.5 * x * (1 + jnp.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))

    def loss(self, w, ids, target, mask):
        x = w["embedding.weight"][ids] + w["positions.weight"]
        for n in range(self.layers):
            p = f"layers.{n}."
            linear = lambda name, t: t @ w[f"{p}{name}.weight"].T + w[f"{p}{name}.bias"]
            a = self.norm(w, p + "attention_norm", x)
            q, k, v = (linear(name, a).reshape(self.batch, self.sequence, self.heads, -1) for name in "qkv")
            y = causal_attention(q, k, v, (self.hidden // self.heads) ** -0.5)
            x = x + linear("o", y.reshape(self.batch, self.sequence, -1))
            x = x + linear("down", self.gelu(linear("up", self.norm(w, p + "ffn_norm", x))))
        return masked_mean_loss(self.norm(w, "norm", x) @ w["embedding.weight"].T, target, mask)


def train(model, seed):
    random = np.random.default_rng(seed)
    weights = {name: jnp.asarray(random.normal(size=shape) * (0.6 if len(shape) > 1 else 0.2) +
                                 (1 if len(shape) == 1 else 0)) for name, shape in model.shapes()}
    tokens = (model.batch, model.sequence)
    ids, target = (random.integers(0, model.vocabulary, size=tokens) for _ in range(2))
    mask = (random.random(size=tokens) < 0.8).astype(float)
    golden = {"inputs": {"ids": ids, "target": target, "loss_mask": mask, **model.buffers(), **weights}}
    optimizer = optax.adamw(LEARNING_RATE, *BETAS, EPSILON, weight_decay=DECAY)
    state = optimizer.init(weights)
    golden["steps"] = []
    for _ in range(2):
        loss, gradients = jax.value_and_grad(model.loss)(weights, ids, target, mask)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in gradients.values()))
        scale = jnp.minimum(CLIP / (norm + 1e-6), 1)  # torch.nn.utils.clip_grad_norm_
        updates, state = optimizer.update({n: scale * g for n, g in gradients.items()}, state, weights)
        weights = optax.apply_updates(weights, updates)
        step = {"loss": loss, "grad_norm": norm}
        for name in weights:
            step["grad." + name] = gradients[name]
            step[name + ".new"] = weights[name]
            step[name + ".exp_avg.new"] = state[0].mu[name]
            step[name + ".exp_avg_sq.new"] = state[0].nu[name]
        golden["steps"].append(step)
        print(f"  loss {float(loss):.6f}, norm {float(norm):.6f}")
    return golden


def flat(value):
    if isinstance(value, dict):
        return {key: flat(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [flat(entry) for entry in value]
    array = np.atleast_1d(np.asarray(value))
    return {"shape": list(array.shape), "values": array.ravel().tolist()}


FAMILIES = {"llama": Llama, "deepseek": DeepSeek, "qwen": Qwen, "gpt": Gpt}


def main():
    directory = pathlib.Path(__file__).parent / "goldens"
    for name in sys.argv[1:] or FAMILIES:
        print(name)
        model = FAMILIES[name]()
        golden = flat(train(model, seed=1))
        if model.vanishing:
            golden["vanishing"] = [form.format(t) for t in model.vanishing for form in
                                   ("grad.{}", "{}.exp_avg.new", "{}.exp_avg_sq.new")]
        (directory / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
