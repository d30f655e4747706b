"""Operands, attributes and outputs are read off declarations."""
import pytest

from planproof import signatures


def test_every_built_in_operator_has_a_signature():
    names = signatures.builtin_names()
    assert len(names) > 100
    assert [name for name in names if not signatures.builtin(name)] == []


@pytest.mark.parametrize("name, call, outputs", [
    ("linear", "linear(x, w, bias?)", 1), ("cat", "cat(x0, x1?, ...)", 1),
    ("adamw", "adamw(p, g, m, v)", 3), ("gate_fw", "gate_fw(x, w, bias?)", 2),
    ("split", "split(x)", None), ("where", "where(condition, x, y)", 1),
    ("apply_rotary_emb", "apply_rotary_emb(xq, xk, freqs)", 2)])
def test_calls_and_outputs(name, call, outputs):
    form, = signatures.builtin(name)
    assert (form.call(), form.outputs) == (call, outputs)


def test_integers_and_constants():
    assert signatures.builtin("embedding")[0].integers == {"id"}
    assert signatures.builtin("vocab_parallel_max")[0].constant
    assert not signatures.builtin("softmax")[0].constant


def test_own_declarations():
    found = signatures.declared("""
## op no(x) is documentation
op scaled(x[b.., k], mask[b..]: int, bias[k]? = 1) {by: real, only mode in ("a", "b") = "a"}
  stop_gradient
  -> y[b.., k] = x[b.., k] * by   # not -> this
  -> z[b..] = sum(k: x[b.., k])
op other(x) -> y = x
""")
    assert sorted(found) == ["other", "scaled"]
    form, = found["scaled"]
    assert form.call() == "scaled(x, mask, bias?)"
    assert form.attributes == {"by", "mode"} and form.integers == {"mask"}
    assert form.outputs == 2 and form.constant
