"""What the operators of communication do: which tensors they read and write, in which group."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist

from planproof.errors import RecordingError

#: Namespaces whose operators communicate.
NAMESPACES = ("c10d", "_c10d_functional")

_REDUCTIONS = {0: "sum", 1: "avg", 2: "product", 3: "min", 4: "max", 8: "premul_sum"}

Tensors = List[torch.Tensor]


@dataclass
class Exchange:
    """One collective of one tensor (or list of one tensor per rank), as docs/torch-trace.md has it."""

    collective: str
    inputs: Tensors = field(default_factory=list)
    outputs: Tensors = field(default_factory=list)
    reduce: Optional[str] = None
    root: Optional[int] = None
    peer: Optional[int] = None
    tag: Optional[int] = None
    in_splits: Optional[List[int]] = None
    out_splits: Optional[List[int]] = None


@dataclass
class Call:
    """What an operator of communication does."""

    group: Any
    ranks: List[int]
    exchanges: List[Exchange]
    #: The call returns before the communication has ended.
    asynchronous: bool


def arguments(func: Any, args: Sequence[Any], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments by their names in the schema; defaults where nothing was passed."""
    named = {}
    for index, argument in enumerate(func._schema.arguments):
        if index < len(args):
            named[argument.name] = args[index]
        elif argument.name in kwargs:
            named[argument.name] = kwargs[argument.name]
        elif argument.has_default_value():
            named[argument.name] = argument.default_value
    return named


def _reduction(value: Any) -> str:
    if isinstance(value, str):
        word = value.lower()
    else:
        kind = value.op() if isinstance(value, torch.ScriptObject) else value
        word = _REDUCTIONS.get(int(kind), str(kind))
    if word == "premul_sum":
        raise RecordingError("the factor of a PREMUL_SUM cannot be read; with FSDP2 call "
                             "set_force_sum_reduction_for_comms(True) on the model")
    if word not in ("sum", "avg", "max", "min"):
        raise RecordingError(f"a reduction by {word} cannot be recorded")
    return word


def _group(named: Dict[str, Any]) -> Any:
    value = named.get("process_group", named.get("group_name"))
    if isinstance(value, str):
        return dist.distributed_c10d._resolve_process_group(value)
    if isinstance(value, torch.ScriptObject):
        return dist.ProcessGroup.unbox(value)
    return value


def _split(sizes: Sequence[int]) -> Optional[List[int]]:
    values = [int(size) for size in sizes]
    return values if values and len(set(values)) > 1 else None


class _Reader:
    """The arguments of one call, and its result."""

    def __init__(self, named: Dict[str, Any], result: Any, ranks: List[int]) -> None:
        self.named, self.result, self.ranks = named, result, ranks

    def one(self, name: str) -> torch.Tensor:
        value: torch.Tensor = self.named[name]
        return value

    def many(self, name: str) -> Tensors:
        """A list of tensors; the only one if there is a list per device."""
        value = self.named[name]
        if value and isinstance(value[0], (list, tuple)):
            if len(value) > 1:
                raise RecordingError("communication of several devices in one process")
            value = value[0]
        return list(value or [])

    def results(self) -> Tensors:
        return list(self.result) if isinstance(self.result, (list, tuple)) else [self.result]

    def reduction(self) -> str:
        return _reduction(self.named["reduce_op"])

    def rank(self, name: str) -> int:
        """A rank of the group as one of the job."""
        return self.ranks[int(self.named[name])]

    def here(self, name: str) -> bool:
        return self.rank(name) == dist.get_rank()


Rule = Callable[[_Reader], List[Exchange]]


def _in_place(kind: str, name: str) -> Rule:
    def rule(call: _Reader) -> List[Exchange]:
        return [Exchange(kind, [each], [each], reduce=call.reduction())
                for each in ([call.one(name)] if name == "input" else call.many(name))]
    return rule


def _between(kind: str, source: str, target: str, reduces: bool = False) -> Rule:
    """One tensor in, one out, or as many pairs in coalesced forms."""
    def rule(call: _Reader) -> List[Exchange]:
        sources, targets = call.named[source], call.named[target]
        if isinstance(sources, torch.Tensor):
            sources, targets = [sources], [targets]
        reduce = call.reduction() if reduces else None
        return [Exchange(kind, [a], [b], reduce=reduce) for a, b in zip(sources, targets)]
    return rule


def _lists(kind: str, source: str, target: str, reduces: bool = False) -> Rule:
    """A list of one tensor per rank on one side or on both."""
    def rule(call: _Reader) -> List[Exchange]:
        reduce = call.reduction() if reduces else None
        return [Exchange(kind, call.many(source), call.many(target), reduce=reduce)]
    return rule


def _all_to_all_base(call: _Reader) -> List[Exchange]:
    return [Exchange("all_to_all", [call.one("input")], [call.one("output")],
                     in_splits=_split(call.named["input_split_sizes"]),
                     out_splits=_split(call.named["output_split_sizes"]))]


def _broadcast(call: _Reader) -> List[Exchange]:
    return [Exchange("broadcast", [each], [each], root=call.rank("root_rank"))
            for each in call.many("tensors")]


def _reduce(call: _Reader) -> List[Exchange]:
    return [Exchange("reduce", [each], [each] if call.here("root_rank") else [],
                     reduce=call.reduction(), root=call.rank("root_rank"))
            for each in call.many("tensors")]


def _gather(call: _Reader) -> List[Exchange]:
    here = call.here("root_rank")
    return [Exchange("gather", call.many("input_tensors"),
                     call.many("output_tensors") if here else [], root=call.rank("root_rank"))]


def _scatter(call: _Reader) -> List[Exchange]:
    here = call.here("root_rank")
    return [Exchange("scatter", call.many("input_tensors") if here else [],
                     call.many("output_tensors"), root=call.rank("root_rank"))]


def _send(call: _Reader) -> List[Exchange]:
    return [Exchange("send", [each], peer=call.rank("dst"), tag=int(call.named["tag"]))
            for each in call.many("tensors")]


def _receive(call: _Reader) -> List[Exchange]:
    return [Exchange("recv", [], [each], peer=call.rank("src"), tag=int(call.named["tag"]))
            for each in call.many("tensors")]


def _functional(kind: str, reduces: bool = False) -> Rule:
    """Results are new tensors, one for each that is passed."""
    def rule(call: _Reader) -> List[Exchange]:
        passed = call.named.get("input", call.named.get("inputs"))
        inputs = [passed] if isinstance(passed, torch.Tensor) else list(passed)
        reduce = call.reduction() if reduces else None
        exchanges = [Exchange(kind, [a], [b], reduce=reduce)
                     for a, b in zip(inputs, call.results())]
        for exchange in exchanges:
            if kind == "broadcast":
                exchange.root = call.rank("src")
            if kind == "all_to_all":
                exchange.in_splits = _split(call.named["input_split_sizes"])
                exchange.out_splits = _split(call.named["output_split_sizes"])
        return exchanges
    return rule


_RULES: Dict[str, Rule] = {
    "c10d::allreduce_": _in_place("all_reduce", "tensors"),
    "c10d::allreduce_coalesced_": _in_place("all_reduce", "tensors"),
    "c10d::_allgather_base_": _between("all_gather", "input_tensor", "output_tensor"),
    "c10d::allgather_into_tensor_coalesced_": _between("all_gather", "inputs", "outputs"),
    "c10d::allgather_": _lists("all_gather", "input_tensors", "output_tensors"),
    "c10d::_reduce_scatter_base_":
        _between("reduce_scatter", "input_tensor", "output_tensor", True),
    "c10d::reduce_scatter_tensor_coalesced_":
        _between("reduce_scatter", "inputs", "outputs", True),
    "c10d::reduce_scatter_": _lists("reduce_scatter", "input_tensors", "output_tensors", True),
    "c10d::alltoall_base_": _all_to_all_base,
    "c10d::alltoall_": _lists("all_to_all", "input_tensors", "output_tensors"),
    "c10d::broadcast_": _broadcast,
    "c10d::reduce_": _reduce,
    "c10d::gather_": _gather,
    "c10d::scatter_": _scatter,
    "c10d::send": _send,
    "c10d::recv_": _receive,
    "c10d::barrier": lambda call: [Exchange("barrier")],
    "c10d::monitored_barrier_": lambda call: [Exchange("barrier")],
    "_c10d_functional::all_reduce": _functional("all_reduce", True),
    "_c10d_functional::all_reduce_": _functional("all_reduce", True),
    "_c10d_functional::all_reduce_coalesced": _functional("all_reduce", True),
    "_c10d_functional::all_reduce_coalesced_": _functional("all_reduce", True),
    "_c10d_functional::all_gather_into_tensor": _functional("all_gather"),
    "_c10d_functional::all_gather_into_tensor_out": _functional("all_gather"),
    "_c10d_functional::all_gather_into_tensor_coalesced": _functional("all_gather"),
    "_c10d_functional::reduce_scatter_tensor": _functional("reduce_scatter", True),
    "_c10d_functional::reduce_scatter_tensor_out": _functional("reduce_scatter", True),
    "_c10d_functional::reduce_scatter_tensor_coalesced": _functional("reduce_scatter", True),
    "_c10d_functional::all_to_all_single": _functional("all_to_all"),
    "_c10d_functional::broadcast": _functional("broadcast"),
    "_c10d_functional::broadcast_": _functional("broadcast"),
}


def communicates(func: Any) -> bool:
    """Whether this is an operator with an entry in the table."""
    return func._schema.name in _RULES


def read(func: Any, args: Sequence[Any], kwargs: Dict[str, Any], result: Any) -> Call:
    """What a call did; `result` is what it returned."""
    named = arguments(func, args, kwargs)
    group = _group(named)
    ranks = dist.get_process_group_ranks(group)
    exchanges = _RULES[func._schema.name](_Reader(named, result, ranks))
    asynchronous = func.namespace == "_c10d_functional" or bool(named.get("async_op", True))
    return Call(group, ranks, exchanges, asynchronous)


def inputs_before(call_inputs: Sequence[Exchange]) -> List[Tensors]:
    """Copies of what the exchanges read."""
    return [[tensor.clone() for tensor in exchange.inputs] for exchange in call_inputs]


def reduced_in_order(call: Call, before: List[Tensors]) -> int:
    """Overwrites results of sums with sums in the group's order, so that a replay can repeat them
    bit for bit: backends choose the order by size and algorithm. `before`: inputs of the exchanges
    as they were. The communication has ended on this rank. Returns how many collectives that took."""
    calls = 0
    for exchange, inputs in zip(call.exchanges, before):
        if exchange.reduce not in ("sum", "avg") or not exchange.outputs:
            continue
        if exchange.collective not in ("all_reduce", "reduce_scatter"):
            continue
        own = torch.cat([each.reshape(-1) for each in inputs])
        gathered = [torch.empty_like(own) for _ in call.ranks]
        dist.all_gather(gathered, own, group=call.group)
        calls += 1
        total = reduction(gathered, exchange.reduce)
        if exchange.collective == "reduce_scatter":
            total = total.chunk(len(call.ranks))[dist.get_group_rank(call.group, dist.get_rank())]
        exchange.outputs[0].copy_(total.view(exchange.outputs[0].shape))
    return calls


def reduction(parts: Sequence[torch.Tensor], kind: str) -> torch.Tensor:
    """The reduction of all ranks' parts, one after the other."""
    total = parts[0].clone()
    for part in parts[1:]:
        if kind in ("sum", "avg"):
            total += part
        elif kind == "max":
            total = torch.maximum(total, part)
        else:
            total = torch.minimum(total, part)
    return total / len(parts) if kind == "avg" else total
