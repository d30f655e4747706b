"""Dumps the tensors of one training iteration, for `planproof compare`.

    with planproof.torch.dump("run", model, optimizer, mesh={"dp": 2, "tp": 2}):
        train_step(batch)

and, in one process, `planproof.torch.dump_reference("reference", step, model, optimizer)`. docs/compare.md has the rest.
"""
from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist
from torch import nn

from planproof.errors import RecordingError
from planproof.torch.dump_file import can_be_written, read_tensors, write_rank
from planproof.torch.dump_state import TrainingState, perturb_parameters, perturbed

Path = Union[str, "os.PathLike[str]"]
#: A DeviceMesh, sizes of axes (outermost first, ranks numbered in that order), or (size, coordinate).
Mesh = Union[None, Any, Mapping[str, Union[int, Tuple[int, int]]]]
Models = Union[nn.Module, Sequence[nn.Module]]

#: The name of the whole model, which has none of its own.
WHOLE = "<model>"


class _Given(torch.autograd.Function):
    """Another value, whose gradient is the gradient of the first."""

    @staticmethod
    def forward(_: Any, value: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        return given.to(value.dtype).to(value.device).clone()

    @staticmethod
    def backward(_: Any, *gradients: Any) -> Any:
        return gradients[0], None


def _leaves(value: Any, path: Tuple[str, ...] = ()) -> Iterator[Tuple[Tuple[str, ...], torch.Tensor]]:
    """The tensors within tuples, lists and dictionaries, and where they are."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, str(key)))
    elif isinstance(value, (tuple, list)):
        for number, item in enumerate(value):
            yield from _leaves(item, (*path, str(number)))


def _named(name: str, value: Any) -> List[Tuple[str, torch.Tensor]]:
    """Tensors with names: that of the whole, if there is one only."""
    leaves = [(path, tensor) for path, tensor in _leaves(value) if can_be_written(_local(tensor))]
    return [(name if len(leaves) == 1 else "/".join((name, *path)), tensor)
            for path, tensor in leaves]


def _mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same with each tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return type(value)((key, _mapped(item, change)) for key, item in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(item, change) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(item, change) for item in value)
    return value


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """What this rank holds of a DTensor; other tensors are what it holds."""
    to_local = getattr(tensor, "to_local", None)
    return to_local() if to_local is not None else tensor


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return _local(tensor.detach()).to("cpu", copy=True)


def _in_backward() -> bool:
    current: Callable[[], int] = getattr(torch._C, "_current_graph_task_id")
    return current() != -1


class _Recorder:
    """Hooks on one model, and what they saw."""

    def __init__(self, models: Models, optimizer: Any, inputs: bool,
                 given: Mapping[str, torch.Tensor], change_input: Optional[Callable[[Any], Any]]):
        self.modules, self.parameters = _names_of(models)
        self.optimizer, self.inputs, self.given, self.change_input = optimizer, inputs, given, change_input
        self.initial: Dict[str, torch.Tensor] = {}
        self.forward: Dict[str, torch.Tensor] = {}
        self.backward: Dict[str, torch.Tensor] = {}
        self.gradients: Dict[str, torch.Tensor] = {}
        self.calls: Dict[str, int] = {}
        self.handles: List[Any] = []

    def __enter__(self) -> "_Recorder":
        self.initial = {name: _copy(parameter) for name, parameter in self.parameters.items()}
        for name, module in self.modules.items():
            self.handles.append(module.register_forward_pre_hook(self._before(name), with_kwargs=True))
            self.handles.append(module.register_forward_hook(self._after(name)))
        if self.optimizer is not None:
            self._watch_step()
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self.handles:
            handle.remove()
        if not self.gradients:
            self._take_gradients()

    def _watch_step(self) -> None:
        """Gradients are taken as the optimizer gets them, before it clips or clears them."""
        if hasattr(self.optimizer, "register_step_pre_hook"):
            self.handles.append(self.optimizer.register_step_pre_hook(
                lambda *_: self._take_gradients()))
            return
        own = self.optimizer.step

        def step(*arguments: Any, **options: Any) -> Any:
            self._take_gradients()
            return own(*arguments, **options)

        self.optimizer.step = step
        self.handles.append(_Restored(self.optimizer))

    def _take_gradients(self) -> None:
        for name, parameter in self.parameters.items():
            gradient = getattr(parameter, "main_grad", None)
            gradient = parameter.grad if gradient is None else gradient
            if gradient is not None:
                self.gradients[name] = _copy(gradient)

    def _before(self, name: str) -> Callable[..., Any]:
        def hook(_: nn.Module, arguments: Tuple[Any, ...], options: Dict[str, Any]) -> Any:
            if not _in_backward():
                self.calls[name] = self.calls.get(name, 0) + 1
            called = self._called("input", name)
            if name == WHOLE and self.change_input is not None:
                arguments, options = _mapped((arguments, options), self.change_input)
            tensors = _named(called, {**{str(n): each for n, each in enumerate(arguments)}, **options})
            if (self.inputs or name == WHOLE) and not _in_backward():
                self.forward.update((key, _copy(tensor)) for key, tensor in tensors)
            names = {id(tensor): key for key, tensor in tensors if key in self.given}
            return _mapped((arguments, options),
                           lambda tensor: self._given_for(names.get(id(tensor)), tensor))
        return hook

    def _given_for(self, name: Optional[str], tensor: torch.Tensor) -> torch.Tensor:
        if name is None:
            return tensor
        given = self.given[name]
        if given.shape != tensor.shape:
            raise RecordingError(f"{name} has shape {list(tensor.shape)}, the file has {list(given.shape)}: "
                                 "it was made for another run")
        if not tensor.is_floating_point():
            return given.to(tensor.dtype).to(tensor.device)
        return _Given.apply(tensor, given)  # type: ignore[no-any-return]

    def _after(self, name: str) -> Callable[..., Any]:
        def hook(_: nn.Module, __: Any, result: Any) -> None:
            again = _in_backward()  # recomputed: its values are known, its gradients are not
            for key, tensor in _named(self._called("forward", name), result):
                if not again:
                    self.forward[key] = _copy(tensor)
                if tensor.requires_grad:
                    tensor.register_hook(self._gradient("backward" + key[len("forward"):]))
        return hook

    def _gradient(self, name: str) -> Callable[[torch.Tensor], Optional[torch.Tensor]]:
        def hook(gradient: torch.Tensor) -> Optional[torch.Tensor]:
            self.backward[name] = _copy(gradient)
            given = self.given.get(name)
            return None if given is None else given.to(gradient.dtype).to(gradient.device)
        return hook

    def _called(self, kind: str, name: str) -> str:
        """Names of later calls (microbatches) are numbered from 2."""
        calls = self.calls.get(name, 1)
        return f"{kind}/{name}" + (f"#{calls}" if calls > 1 else "")

    def tensors(self) -> Dict[str, torch.Tensor]:
        """All by name, in the order in which they were computed."""
        found: Dict[str, torch.Tensor] = {}
        after = {name: _copy(parameter) for name, parameter in self.parameters.items()}
        found.update((f"initial/{name}", tensor) for name, tensor in self.initial.items())
        found.update(self.forward)
        found.update(self.backward)
        found.update((f"gradient/{name}", tensor) for name, tensor in reversed(self.gradients.items()))
        if self.optimizer is not None:
            for name, tensor in after.items():
                wide = torch.promote_types(tensor.dtype, torch.float32)
                found[f"update/{name}"] = tensor.to(wide) - self.initial[name].to(wide)
            found.update((f"parameter/{name}", tensor) for name, tensor in after.items())
        return found


class _Restored:
    """Takes a `step` that was put over an optimizer's away again."""

    def __init__(self, optimizer: Any):
        self.optimizer = optimizer

    def remove(self) -> None:
        del self.optimizer.step


def _names_of(models: Models) -> Tuple[Dict[str, nn.Module], Dict[str, nn.Parameter]]:
    """Modules and parameters by name. What wraps a model for data parallelism has no part in names."""
    modules: Dict[str, nn.Module] = {}
    parameters: Dict[str, nn.Parameter] = {}
    chunks = [models] if isinstance(models, nn.Module) else list(models)
    for number, model in enumerate(chunks):
        prefix = f"{number}." if len(chunks) > 1 else ""
        if isinstance(model, nn.parallel.DistributedDataParallel):
            model = model.module
        for name, module in model.named_modules():
            modules[(prefix + name).rstrip(".") or WHOLE] = module
        parameters.update((prefix + name, each) for name, each in model.named_parameters())
    return modules, parameters


def _axes_of(mesh: Mesh) -> List[Tuple[str, int, int]]:
    """Name, size and this rank's coordinate of each axis."""
    together = dist.is_available() and dist.is_initialized()
    rank, world = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
    if mesh is None:
        return [("rank", world, rank)] if world > 1 else []
    if not isinstance(mesh, Mapping):
        names = mesh.mesh_dim_names or [f"axis{number}" for number in range(mesh.ndim)]
        return list(zip(names, mesh.shape, mesh.get_coordinate()))
    axes: List[Tuple[str, int, int]] = []
    rest = rank
    for name, size in reversed(list(mesh.items())):
        if isinstance(size, int):
            axes.append((name, size, rest % size))
            rest //= size
        else:
            axes.append((name, size[0], size[1]))
    product = 1
    for _, extent, _ in axes:
        product *= extent
    if product != world:
        raise RecordingError(f"the mesh has {product} ranks, {world} are running")
    return axes[::-1]


def _dtype_of(models: Models, dtype: Optional[torch.dtype]) -> torch.dtype:
    """The narrowest floating-point type of the parameters, if none is said."""
    if dtype is not None:
        return dtype
    types = {each.dtype for each in _names_of(models)[1].values() if each.is_floating_point()}
    return max(types, key=lambda each: torch.finfo(each).eps, default=torch.float32)


@contextmanager
def dump(directory: Path, model: Models, optimizer: Any = None, *, mesh: Mesh = None,
         dtype: Optional[torch.dtype] = None, inputs: bool = False,
         stage_inputs: Optional[Path] = None) -> Iterator[None]:
    """Writes what the iteration in the block computes into the directory, on every rank: results of
    modules and their gradients, gradients of parameters, parameters before and after.

    `mesh`: a DeviceMesh, sizes of axes, outermost first, or for each axis (size, this rank's
    coordinate). `dtype`: what the run computes in, if that is not the narrowest type of the
    parameters (autocast). `inputs`: also what each module gets. `stage_inputs`: a directory that
    `planproof compare --stage-inputs` wrote; each module then gets the reference's inputs and
    gradients."""
    axes = _axes_of(mesh)
    rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
    given: Mapping[str, torch.Tensor] = {}
    if stage_inputs is not None:
        path = os.path.join(os.fspath(stage_inputs), f"rank{rank}.safetensors")
        if not os.path.isfile(path):
            raise RecordingError(f"{path} is no file: planproof compare --stage-inputs writes it")
        given = read_tensors(path)
    recorder = _Recorder(model, optimizer, inputs or bool(given), given, None)
    with recorder:
        yield
    write_rank(os.fspath(directory), rank, axes, _dtype_of(model, dtype), recorder.tensors())


def dump_reference(directory: Path, step: Callable[[], Any], model: Models, optimizer: Any = None, *,
                   samples: int = 3, dtype: Optional[torch.dtype] = None, inputs: bool = False,
                   seed: int = 0) -> None:
    """Runs `step`, an iteration of one process, as it is, and `samples` times before with parameters
    and floating-point inputs changed by one epsilon of the type, up or down: how much that changes
    a tensor is what rounding is expected to do to it. `step` reads the same batch each time.
    Afterwards model, optimizer and random numbers are as if `step` had run once."""
    directory = os.fspath(directory)
    stale = os.path.join(directory, f"perturbed{samples + 1}")
    if samples < 1:
        raise RecordingError("at least one perturbed run is needed")
    if os.path.exists(stale):
        raise RecordingError(f"{stale} is of another reference: remove {directory} first")
    run_type = _dtype_of(model, dtype)
    epsilon = torch.finfo(run_type).eps
    parameters = _names_of(model)[1]
    state = TrainingState(_names_of(model)[0].values(), parameters.values(), optimizer)
    for sample in [*range(1, samples + 1), 0]:
        generator = torch.Generator().manual_seed(seed * 1000003 + sample)
        change: Optional[Callable[[torch.Tensor], torch.Tensor]] = None
        if sample:
            perturb_parameters(parameters.values(), epsilon, generator)

            def change(tensor: torch.Tensor, g: torch.Generator = generator) -> torch.Tensor:
                return perturbed(tensor, epsilon, g)
        recorder = _Recorder(model, optimizer, inputs, {}, change)
        with recorder:
            step()
        where = os.path.join(directory, f"perturbed{sample}") if sample else directory
        write_rank(where, 0, [], run_type, recorder.tensors())
        if sample:
            state.restore()
