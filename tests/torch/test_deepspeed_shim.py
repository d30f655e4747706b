"""The shim changes no value: parameters after some steps are those of an engine that nobody looks at."""
import importlib.util
import os

import pytest

torch = pytest.importorskip("torch")
if importlib.util.find_spec("deepspeed") is None:
    pytest.skip("no deepspeed", allow_module_level=True)
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402


def train(rank, directory, stage):
    """Saves the parameters after three steps with the shim and without it."""
    store = dist.FileStore(f"{directory}/store", 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                      MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    from planproof.torch.shims import deepspeed as shim
    from models import text
    from transformer import Transformer, loss_of
    from zero import engine_of
    after = []
    for looked_at in (True, False):
        torch.manual_seed(0)
        engine = engine_of(Transformer(), stage, clip=0.5)
        held = shim.Held(engine) if looked_at else None
        tokens, labels = text(2)
        for _ in range(3):
            engine.backward(loss_of(engine(tokens[rank:rank + 1]), labels[rank:rank + 1]))
            engine.step()
            assert held is None or held.gradients()
        after.append([getattr(each, "ds_tensor", each).detach().clone()
                      for each in engine.module.parameters()])
    torch.save(after, f"{directory}/{rank}")
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_parameters_after_steps_are_the_same(stage, tmp_path):
    multiprocessing.start_processes(train, (str(tmp_path), stage), 2, start_method="fork")
    for rank in range(2):
        seen, unseen = torch.load(tmp_path / str(rank))
        assert len(seen) == 21
        for ours, theirs in zip(seen, unseen):
            assert torch.equal(ours, theirs)


def persistent(mesh):
    from zero import deepspeed, training
    plain = deepspeed.initialize

    def initialize(config, **more):
        config["zero_optimization"]["stage3_param_persistence_threshold"] = 100
        return plain(config=config, **more)

    deepspeed.initialize = initialize
    return training(mesh, 3)


def test_parameters_that_stage_3_keeps_whole_are_refused(tmp_path):
    from planproof.errors import RecordingError
    from planproof.torch import launch
    with pytest.raises(RecordingError, match="^layers.0.norm1.weight is kept whole .*persistence_threshold=0$"):
        launch(persistent, {"dp": 2}, tmp_path, start_method="fork")
