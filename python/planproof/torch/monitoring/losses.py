"""Sees results of loss functions, and from what backward passes start."""
from __future__ import annotations

import math
from typing import Any, Callable, Dict, Optional, Sequence

import torch

from planproof.torch.monitoring.hooks import in_backward
from planproof.torch.monitoring.journal import Number, Type
from planproof.torch.monitoring.patches import Patches
from planproof.torch.monitoring.steps import Steps, on_host

GRADIENT_GIVEN, SCALAR_ROOT = 1, 2
GRADIENTS_ENABLED = 2

_FUNCTIONS = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
              "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
              "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss",
              "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss")
#: The key of a loss's value in the metadata of its node in the graph of autograd.
_VALUE = "planproof_loss"
#: Nodes that multiply by a number if only one of their inputs has a gradient, and such as change no value.
_FACTORS = frozenset(["MulBackward0", "DivBackward0", "NegBackward0"])
_SAME = frozenset(["ToCopyBackward0", "ViewBackward0", "ReshapeAliasBackward0", "UnsafeViewBackward0", "SqueezeBackward0",
                   "SqueezeBackward1", "UnsqueezeBackward0", "AliasBackward0", "CloneBackward0", "ExpandBackward0"])
_WRAPPER = "_DDPSinkBackward"
_LONGEST_CHAIN = 64


def mark(value: Any, number: Number) -> None:
    """Notes at the node of a loss what its value is, as an event has it. The note lives as long as the graph."""
    if isinstance(value, torch.Tensor) and value.grad_fn is not None and value.numel() == 1:
        value.grad_fn.metadata[_VALUE] = number if _is_plain(value) else math.nan


def _loss_below(root: torch.Tensor) -> Optional[Number]:
    """The value of the loss function's result that the root is a multiple of; None if it is none."""
    node: Any = root.grad_fn
    number = int(root.output_nr)
    for _ in range(_LONGEST_CHAIN):
        if node is None:
            return None
        found = node.metadata.get(_VALUE)
        if found is not None:
            return found  # type: ignore[no-any-return]
        name, edges = node.name(), node.next_functions
        if name == _WRAPPER:
            edges = edges[number:number + 1]
        elif name not in _FACTORS and name not in _SAME:
            return None
        with_gradient = [edge for edge in edges if edge[0] is not None]
        if len(with_gradient) != 1:
            return None
        node, number = with_gradient[0]
    return None


def _factor(root: torch.Tensor, number: Number) -> Number:
    """What the root, whose value is `number`, is divided by a loss function's result."""
    below = _loss_below(root)
    if below is None or not _is_plain(root):
        return math.nan
    if isinstance(below, torch.Tensor) and isinstance(number, torch.Tensor):
        return number / below if below.device == number.device else math.nan
    if isinstance(below, torch.Tensor) or isinstance(number, torch.Tensor):
        return math.nan
    return number / below if below else math.nan


class Losses:
    """Wrappers of loss functions and of `torch.autograd.backward`."""

    def __init__(self, steps: Steps, patches: Patches, begins: Callable[[], None],
                 of_loss: Callable[[str, Sequence[Any], Dict[str, Any]], None]) -> None:
        """`begins` is called before each backward pass; `of_loss` gets the arguments of loss functions in sampled steps."""
        self._steps, self._begins, self._of_loss = steps, begins, of_loss
        self._depth = 0
        self.closed = False
        for name in _FUNCTIONS:
            patches.function(torch.nn.functional, name, self._loss_function(name))
        patches.function(torch.autograd, "backward", self._backward)

    def _loss_function(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any, **options: Any) -> Any:
                if torch.compiler.is_compiling() or self.closed or self._depth or in_backward() or torch.jit.is_tracing():
                    return original(*arguments, **options)
                self._depth += 1
                try:
                    result = original(*arguments, **options)
                finally:
                    self._depth -= 1
                if isinstance(result, torch.Tensor) and result.numel() == 1 and not _is_transformed(result):
                    number = on_host(result)
                    self._steps.add(Type.LOSS_FUNCTION, GRADIENTS_ENABLED * torch.is_grad_enabled(), name, number)
                    mark(result, number)
                    if self._steps.sampled:
                        self._of_loss(name, arguments, options)
                return result
            return called
        return make

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, grad_tensors: Any = None, *rest: Any, **options: Any) -> Any:
            if not (torch.compiler.is_compiling() or self.closed or in_backward()):
                roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors) if _is_list(tensors) else []
                given = [grad_tensors] if isinstance(grad_tensors, torch.Tensor) else list(grad_tensors or [])
                for root, gradient in zip(roots, [*given, *[None] * len(roots)]):
                    if isinstance(root, torch.Tensor):
                        self._starts(root, gradient is not None)
                self._begins()
            return original(tensors, grad_tensors, *rest, **options)
        return backward

    def _starts(self, root: torch.Tensor, given: bool) -> None:
        scalar = root.numel() == 1 and not _is_transformed(root)
        name = root.grad_fn.name() if root.grad_fn is not None else "AccumulateGrad"
        number: Number = on_host(root) if scalar else math.nan
        self._steps.add(Type.BACKWARD, GRADIENT_GIVEN * given | SCALAR_ROOT * scalar, name,
                        number, _factor(root, number) if scalar else math.nan)

    def said(self, value: Any) -> None:
        """The program says what its loss is."""
        number = on_host(value)
        mark(value, number)
        self._steps.add(Type.LOSS, a=number)


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether this rank has all of it."""
    return type(tensor) is torch.Tensor or not hasattr(tensor, "device_mesh")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_transformed(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no numbers now: within functorch's transforms, or on the device "meta"."""
    return tensor.is_meta or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
