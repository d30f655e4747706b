"""The signatures by which the reader takes arguments apart are PyTorch's: overloads, names and order of parameters, kinds, defaults."""
import pytest

torch = pytest.importorskip("torch")
import write_schemas  # noqa: E402

write_schemas.register()


def compared():
    """Overloads whose package is installed."""
    for overload, line in write_schemas.committed().items():
        schema = write_schemas.installed(overload)
        if schema is None and not overload.startswith("aten."):
            continue
        yield overload, line, schema


def test_every_signature_is_the_one_that_torch_prints():
    differ = [f"{line}\n    torch: {schema}" for _, line, schema in compared() if line != schema]
    assert not differ, "python tests/torch/write_schemas.py writes them anew:\n" + "\n".join(differ)
    assert len(list(compared())) > 400


def test_each_overload_is_named_once_and_in_order():
    with open(write_schemas.PATH) as file:
        overloads = [write_schemas.overload_of(line) for line in file]
    assert overloads == sorted(set(overloads))


def test_recorded_operators_are_looked_up_by_these_names():
    """What a trace calls an operator is what the file calls it."""
    for overload in (torch.ops.aten.add_.Tensor, torch.ops.aten.abs.default, torch.ops.aten.max.other):
        assert str(overload) in write_schemas.committed()
        assert write_schemas.installed(str(overload)) == str(overload._schema)
