"""Records what a PyTorch program executes in one training iteration, and has it proved.

    planproof.torch.record(step, f"rank{rank}.trace", model=model, optimizer=optimizer,
                           inputs={"x": shard(x, 0, rank, 2)})

docs/torch.md walks through it; docs/torch-trace.md says what a trace is.
"""
import warnings

# `python -m planproof.torch.launch` runs a module that this package has imported, on purpose.
warnings.filterwarnings("ignore", r"'planproof\.torch\.(launch|replay)' found in sys.modules",
                        RuntimeWarning)

from planproof.torch.dump import dump, dump_reference  # noqa: E402
from planproof.torch.launch import Training, check, launch  # noqa: E402
from planproof.torch.monitor import monitor  # noqa: E402
from planproof.torch.monitoring.alarms import Alarm, RunAlarm  # noqa: E402
from planproof.torch.places import phase  # noqa: E402
from planproof.torch.recording import record, recording  # noqa: E402
from planproof.torch.relations import Held, Input, Output, Part, bounded, part, reduced, shard  # noqa: E402

__all__ = ["Alarm", "Held", "Input", "Output", "Part", "RunAlarm", "Training", "bounded", "check", "dump", "dump_reference", "launch",
           "monitor", "part", "phase", "record", "recording", "reduced", "shard"]
