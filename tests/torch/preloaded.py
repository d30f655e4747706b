"""What torch imports when it is first needed, which takes a second or more: processes that are forked from one that has it begin at
once. Not for programs that change torch before it is imported, as those of frameworks do."""
import torch._dynamo  # noqa: F401
import torch.distributed.fsdp  # noqa: F401
import torch.distributed.pipelining  # noqa: F401
import torch.distributed.tensor.parallel  # noqa: F401
