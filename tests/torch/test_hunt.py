"""The hunt tells right configurations from wrong ones, by verdict and in numbers."""
import pytest

torch = pytest.importorskip("torch")

import configurations  # noqa: E402
import hunt  # noqa: E402


def build(mesh, kind):
    """Data parallel; the loss is the mean of the ranks' and not their sum."""
    from models import Mlp, batch
    from planproof.torch import Training, reduced, shard
    model = Mlp()
    x, y = batch()
    inputs = {"x": x, "y": y}
    if kind == "fails":
        raise ValueError("on purpose")
    if mesh is not None:
        rank, ranks = mesh.get_rank(), mesh.size()
        model = torch.nn.parallel.DistributedDataParallel(model)
        x, y = (each.chunk(ranks)[rank].clone() for each in (x, y))
        inputs = {"x": shard(x, 0, rank, ranks), "y": shard(y, 0, rank, ranks)}

    def step():
        model.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return {"loss": loss if mesh is None else reduced(loss, kind)}

    return Training(step, model, inputs=inputs)


@pytest.mark.parametrize("kind, verdict", [("avg", "PROVED"), ("sum", "REFUTED"), ("fails", "not recorded")])
def test_a_row_says_what_became_of_a_configuration(kind, verdict, tmp_path, monkeypatch):
    monkeypatch.setattr(configurations, "CONFIGURATIONS", dict(configurations.CONFIGURATIONS))
    monkeypatch.setattr(hunt, "CONFIGURATIONS", configurations.CONFIGURATIONS)
    configurations.add("own", {"dp": 2}, build, kind=kind)
    row = hunt.hunt("own", tmp_path, limit=60, double=True)
    assert (row["verdict"], row["ranks"]) == (verdict, 2)
    if kind == "avg":
        assert row["difference"] < 1e-12 and not row["reason"]
    elif kind == "sum":
        assert row["difference"] > 0.5 and "[output loss]" in row["reason"]
    else:
        assert row["reason"] == "ValueError: on purpose"


def test_reasons_are_counted_without_names():
    assert hunt.kind_of("reference: layers.0.mlp: aten.sign.default (x), at a/b.py:3") == \
        hunt.kind_of("reference: layers.1.mlp: aten.sgn.default (y), at a/c.py:44").replace("c.py", "b.py")


def test_names_are_of_one_configuration_each():
    assert len(configurations.CONFIGURATIONS) > 150
    with pytest.raises(AssertionError):
        configurations.add("plain_tp4", {"tp": 4}, build)
