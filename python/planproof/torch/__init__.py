"""Records what a PyTorch program executes in one training iteration, and has it proved.

    planproof.torch.record(step, f"rank{rank}.trace", model=model, optimizer=optimizer,
                           inputs={"x": shard(x, 0, rank, 2)})

docs/torch.md walks through it; docs/torch-trace.md says what a trace is.
"""
from planproof.torch.launch import Training, check, launch
from planproof.torch.places import phase
from planproof.torch.recording import record
from planproof.torch.relations import Held, Input, Output, Part, bounded, part, reduced, shard

__all__ = ["Held", "Input", "Output", "Part", "Training", "bounded", "check", "launch", "part",
           "phase", "record", "reduced", "shard"]
