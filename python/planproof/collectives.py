"""Collectives of a program: over axes of the mesh, or between programs."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from planproof.errors import PlanError
from planproof.graph import Graph, Out
from planproof.relations import suggestion
from planproof.source import caller
from planproof.tensors import Tensor, TensorLike

#: An axis of the mesh, or several, outermost first.
Axes = Union[str, Sequence[str]]
#: A tensor of this program; between programs the tensors of all participants, or "program:tensor".
Shards = Union[TensorLike, Sequence[TensorLike]]


class Collectives(Graph):
    """The collectives that a program may issue. `async_` names a handle: the collective is started,
    and `wait` waits for it."""

    axes: Tuple[str, ...] = ()

    def all_reduce(self, tensor: Shards, over: Optional[Axes] = None, *,
                   reduce: Optional[str] = None, out: Out = None,
                   async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """The reduction (sum, max, min, avg) over the ranks."""
        return self.collective("all_reduce", tensor, over, out, async_, note, reduce=reduce)

    def accumulate(self, tensor: TensorLike, *, out: Out = None,
                   note: Optional[str] = None) -> Tensor:
        """The sum over microbatches."""
        return self.collective("accumulate", tensor, None, out, None, note)

    def all_gather(self, tensor: Shards, over: Optional[Axes] = None, *, dim: int, out: Out = None,
                   async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """The ranks' tensors concatenated along `dim`."""
        return self.collective("all_gather", tensor, over, out, async_, note, dim=dim)

    def reduce_scatter(self, tensor: Shards, over: Optional[Axes] = None, *, dim: int,
                       reduce: Optional[str] = None, out: Out = None,
                       async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """The rank's chunk along `dim` of the reduction."""
        return self.collective("reduce_scatter", tensor, over, out, async_, note, dim=dim,
                               reduce=reduce)

    def all_to_all(self, tensor: Shards, over: Optional[Axes] = None, *, split_dim: int,
                   concat_dim: int, out: Out = None, async_: Optional[str] = None,
                   note: Optional[str] = None) -> Tensor:
        """The r-th chunks of all ranks, concatenated."""
        return self.collective("all_to_all", tensor, over, out, async_, note,
                               split_dim=split_dim, concat_dim=concat_dim)

    def broadcast(self, tensor: TensorLike, over: Axes, *, root: int, out: Out = None,
                  async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """The root's tensor."""
        return self.collective("broadcast", tensor, over, out, async_, note, root=root)

    def reduce(self, tensor: TensorLike, over: Axes, *, root: int, out: Out = None,
               async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """The sum on the root; an unspecified number elsewhere."""
        return self.collective("reduce", tensor, over, out, async_, note, root=root)

    def permute(self, tensor: TensorLike, over: Optional[Axes] = None, *,
                shift: Optional[int] = None, pairs: Optional[Sequence[Sequence[int]]] = None,
                dims: Optional[Sequence[int]] = None, out: Out = None,
                async_: Optional[str] = None, note: Optional[str] = None) -> Tensor:
        """The sender's tensor: rank r sends to r + shift, or as `pairs` say. Without `over` the
        tensor operator of that name, with `dims`."""
        if over is None:
            moved: Tensor = self.op("permute", tensor, dims=dims, out=out, note=note)
            return moved
        listed = [list(pair) for pair in pairs] if pairs is not None else None
        return self.collective("permute", tensor, over, out, async_, note, shift=shift,
                               pairs=listed)

    def chunk(self, tensor: TensorLike, over: Optional[Axes] = None, *, dim: int = 0,
              chunks: Optional[int] = None, out: Out = None, note: Optional[str] = None) -> Any:
        """The rank's own chunk of its own tensor. Without `over` the tensor operator of that
        name, which gives all `chunks`."""
        if over is None:
            return self.op("chunk", tensor, chunks=chunks, dim=dim, out=out, note=note)
        return self.collective("chunk", tensor, over, out, None, note, dim=dim)

    def collective(self, operator: str, shards: Shards, over: Optional[Axes], out: Out,
                   async_: Optional[str], note: Optional[str], **keys: Any) -> Tensor:
        """Adds a collective; keys that are None are left out."""
        content: Dict[str, Any] = {"op": operator}
        if over is not None:
            content["over"] = self._axes(over)
        elif operator != "accumulate" and isinstance(shards, (str, Tensor)):
            raise self._fail(f"{operator} needs an axis of the mesh: over="
                             f"{' or '.join(repr(axis) for axis in self.axes)}")
        content.update({key: self._attribute(value) for key, value in keys.items()
                        if value is not None})
        if isinstance(shards, (str, Tensor)):
            content["in"] = self._name(shards)
        else:
            content["in"] = [self._place(shard) for shard in shards]
        content["out"] = self._names(out, operator, 1)
        if async_ is not None:
            content["async"] = async_
        result: Tensor = self._add(content, None, note)
        return result

    def _axes(self, over: Axes) -> Union[str, List[str]]:
        names = [over] if isinstance(over, str) else list(over)
        for name in names:
            if name not in self.axes:
                near = suggestion(name, self.axes)
                raise PlanError(f'no axis of the mesh is named "{name}"{near}', caller())
        return names[0] if isinstance(over, str) else names

    def _place(self, shard: TensorLike) -> str:
        raise NotImplementedError
