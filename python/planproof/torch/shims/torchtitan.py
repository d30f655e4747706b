"""torchtitan 0.3 without a GPU.

    from planproof.torch.shims import torchtitan
    torchtitan.install()                     # before other modules of torchtitan are imported

The device is the CPU, and attention is torch's scaled_dot_product_attention by its definition: kernels of flex attention are
compiled for GPUs. Documents are not told apart in a sequence. gloo exchanges lists of tensors only if all have one size, so
what spmd_types sends as lists goes as one tensor with its splits."""
from __future__ import annotations

import importlib.metadata
import sys
from typing import Any, Sequence

import torch
import torch.distributed as dist
from torch.nn.attention import SDPBackend

from planproof.errors import RecordingError

VERSION = "0.3"


def install() -> None:
    """Redirects, for the rest of this process."""
    if "torchtitan.distributed" in sys.modules and "torchtitan.tools.utils" not in sys.modules:
        raise RecordingError("install the shim before other modules of torchtitan are imported")
    version = importlib.metadata.version("torchtitan")
    if not version.startswith(VERSION):
        raise RecordingError(f"the shim is for torchtitan {VERSION}, this is {version}")
    import torchtitan.tools.utils as tools
    tools.device_type, tools.device_module = "cpu", torch.cpu  # type: ignore[attr-defined]
    from torchtitan.models.common import attention, config_utils
    attention.ScaledDotProductAttention.sdpa_backends = [SDPBackend.MATH]
    config_utils.get_attention_config = _attention
    import spmd_types._dist as used_by_spmd_types
    used_by_spmd_types.set_dist(_Distributed())


class _Distributed:
    """torch.distributed, with an all-to-all of lists that gloo has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(dist, name)

    @staticmethod
    def all_to_all(outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor],
                   group: Any = None) -> None:
        """Tensors of any sizes along dimension 0."""
        received = torch.empty([sum(map(len, outputs)), *outputs[0].shape[1:]],
                               dtype=outputs[0].dtype)
        dist.all_to_all_single(received, torch.cat(list(inputs)), [*map(len, outputs)],
                               [*map(len, inputs)], group=group)
        for output, piece in zip(outputs, received.split([*map(len, outputs)])):
            output.copy_(piece)


def _attention(_: str) -> Any:
    """torch's attention, whatever is asked for."""
    from torchtitan.models.common.attention import ScaledDotProductAttention
    return ScaledDotProductAttention.Config()


def sum_gradients(model: torch.nn.Module) -> None:
    """Has FSDP2 reduce by sums: the factor of the reduction that it would use for a divisor cannot be read."""
    for module in model.modules():
        if hasattr(module, "set_force_sum_reduction_for_comms"):
            module.set_force_sum_reduction_for_comms(True)
