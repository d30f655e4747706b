"""torchtitan 0.3 without a GPU.

    from planproof.torch.shims import torchtitan
    torchtitan.install()                     # before other modules of torchtitan are imported

The device is the CPU, and attention is torch's scaled_dot_product_attention by its definition: kernels of flex attention are
compiled for GPUs. Documents are not told apart in a sequence."""
from __future__ import annotations

import importlib.metadata
import sys
from typing import Any

import torch
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


def _attention(_: str) -> Any:
    """torch's attention, whatever is asked for."""
    from torchtitan.models.common.attention import ScaledDotProductAttention
    return ScaledDotProductAttention.Config()


def sum_gradients(model: torch.nn.Module) -> None:
    """Has FSDP2 reduce by sums: the factor of the reduction that it would use for a divisor cannot be read."""
    for module in model.modules():
        if hasattr(module, "set_force_sum_reduction_for_comms"):
            module.set_force_sum_reduction_for_comms(True)
