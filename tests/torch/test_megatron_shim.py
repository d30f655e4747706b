"""The shim changes no value: Megatron's loss and gradients are those of a GPT written in plain torch."""
import importlib.util

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("megatron") is None:
    pytest.skip("no megatron.core", allow_module_level=True)
import torch.multiprocessing as multiprocessing  # noqa: E402
from torch.nn import functional  # noqa: E402


def plain_gpt(weights, tokens, labels, heads=4):
    """The loss of a GPT with the weights of Megatron's: heads of q, k and v lie side by side."""
    def norm(name, x):
        return functional.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"])

    def linear(name, x):
        return functional.linear(x, weights[name + ".weight"], weights[name + ".bias"])

    length = tokens.shape[1]
    x = weights["embedding.word_embeddings.weight"][tokens] \
        + weights["embedding.position_embeddings.weight"][:length]
    hidden = torch.full((length, length), float("-inf")).triu(1)
    for layer in range(2):
        name = f"decoder.layers.{layer}."
        q, k, v = linear(name + "self_attention.linear_qkv", norm(name + "input_layernorm", x)) \
            .unflatten(-1, (heads, -1)).transpose(1, 2).chunk(3, -1)
        scores = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + hidden, -1)
        attended = (scores @ v).transpose(1, 2).flatten(-2)
        x = x + linear(name + "self_attention.linear_proj", attended)
        inner = functional.gelu(linear(name + "mlp.linear_fc1", norm(name + "pre_mlp_layernorm", x)))
        x = x + linear(name + "mlp.linear_fc2", inner)
    logits = norm("decoder.final_layernorm", x) @ weights["output_layer.weight"].t()
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def compare(_):
    from megatron_gpt import batch, config, gpt, start
    start(None)
    model = gpt(config())
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    tokens, labels = batch()
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    mask = torch.ones(1, 1, tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
    loss = model(tokens, positions, mask, labels=labels).mean()
    loss.backward()
    weights = {name: value.detach().clone().requires_grad_() for name, value in model.named_parameters()}
    expected = plain_gpt(weights, tokens, labels)
    expected.backward()
    torch.testing.assert_close(loss, expected)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, weights[name].grad, msg=name)


def test_loss_and_gradients_are_those_of_a_plain_gpt():
    multiprocessing.start_processes(compare, (), 1, start_method="fork")


def plain_mixture(weights, tokens, labels, heads=4):
    """The loss of a GPT with a mixture of four experts, two for each token, with the weights of Megatron's."""
    def norm(name, x):
        return functional.rms_norm(x, x.shape[-1:], weights[name + ".weight"], 1e-5)

    def gated(name, x):
        gate, up = functional.linear(x, weights[name + ".linear_fc1.weight"]).chunk(2, -1)
        return functional.linear(functional.silu(gate) * up, weights[name + ".linear_fc2.weight"])

    length = tokens.shape[1]
    x = weights["embedding.word_embeddings.weight"][tokens] \
        + weights["embedding.position_embeddings.weight"][:length]
    hidden = torch.full((length, length), float("-inf")).triu(1)
    for layer in range(2):
        name = f"decoder.layers.{layer}."
        projected = functional.linear(norm(name + "input_layernorm", x),
                                      weights[name + "self_attention.linear_qkv.weight"])
        q, k, v = projected.unflatten(-1, (heads, -1)).transpose(1, 2).chunk(3, -1)
        scores = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + hidden, -1)
        x = x + functional.linear((scores @ v).transpose(1, 2).flatten(-2),
                                  weights[name + "self_attention.linear_proj.weight"])
        inner = norm(name + "pre_mlp_layernorm", x)
        best, chosen = functional.linear(inner, weights[name + "mlp.router.weight"]).topk(2, -1)
        shares = torch.zeros(*inner.shape[:-1], 4).scatter(-1, chosen, torch.softmax(best, -1))
        for expert in range(4):
            x = x + shares[..., expert, None] * gated(f"{name}mlp.experts.local_experts.{expert}", inner)
    logits = norm("decoder.final_layernorm", x) @ weights["output_layer.weight"].t()
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def compare_mixture(_, dispatcher):
    from megatron_gpt import batch, start
    from megatron_schedule import experts, stage
    start(None)
    model = stage(experts(None, dispatcher), tied=False)
    tokens, labels = batch()
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    mask = torch.ones(1, 1, tokens.shape[1], tokens.shape[1], dtype=torch.bool).triu(1)
    loss = model(tokens, positions, mask, labels=labels).mean()
    loss.backward()
    weights = {name: value.detach().clone().requires_grad_() for name, value in model.named_parameters()}
    expected = plain_mixture(weights, tokens, labels)
    expected.backward()
    torch.testing.assert_close(loss, expected)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, weights[name].grad, msg=name)


@pytest.mark.parametrize("dispatcher", ["allgather", "alltoall"])
def test_a_mixture_of_experts_is_that_of_its_definition(dispatcher):
    multiprocessing.start_processes(compare_mixture, (dispatcher,), 1, start_method="fork")
