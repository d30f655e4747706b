"""Files of a dump: rankN.safetensors with the tensors, rankN.json with what the rank says of them
(docs/compare.md)."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import torch

from planproof.errors import RecordingError

FORMAT = 1

_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
          torch.uint8: "U8", torch.bool: "BOOL"}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}
for _type in ("float8_e4m3fn", "float8_e5m2"):
    if hasattr(torch, _type):
        _NAMES[getattr(torch, _type)] = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}[_type]


def can_be_written(tensor: torch.Tensor) -> bool:
    """Its elements have a name in the format."""
    return tensor.dtype in _NAMES


def _bytes_of(tensor: torch.Tensor) -> bytes:
    tensor = tensor.detach().cpu().contiguous()
    size = tensor.numel() * tensor.element_size()
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""


def write_tensors(path: str, tensors: Mapping[str, torch.Tensor]) -> None:
    """A safetensors file."""
    header: Dict[str, Any] = {}
    parts: List[bytes] = []
    offset = 0
    for name, tensor in tensors.items():
        part = _bytes_of(tensor)
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(part)]}
        offset += len(part)
        parts.append(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for part in parts:
            file.write(part)


def read_tensors(path: str) -> Dict[str, torch.Tensor]:
    """The tensors of a safetensors file."""
    with open(path, "rb") as file:
        content = file.read()
    length = int.from_bytes(content[:8], "little")
    start = 8 + length
    tensors = {}
    for name, entry in json.loads(content[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = torch.frombuffer(bytearray(content[start + begin:start + end]), dtype=torch.uint8) \
            if end > begin else torch.empty(0, dtype=torch.uint8)
        tensors[name] = raw.view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_rank(directory: str, rank: int, mesh: Sequence[Tuple[str, int, int]], dtype: torch.dtype,
               tensors: Mapping[str, torch.Tensor]) -> None:
    """One rank's files. `mesh` has name, size and the rank's coordinate of each axis; `tensors` are
    in the order of their computation. The manifest comes last: without it nothing is read."""
    os.makedirs(directory, exist_ok=True)
    ranks = 1
    for _, size, _ in mesh:
        ranks *= size
    if not 0 <= rank < ranks:
        raise RecordingError(f"the mesh has {ranks} ranks, this one is number {rank}")
    path = os.path.join(directory, f"rank{rank}")
    write_tensors(path + ".safetensors", tensors)
    manifest = {"planproof_dump": FORMAT, "rank": rank, "ranks": ranks,
                "mesh": [[name, size] for name, size, _ in mesh],
                "coordinates": [coordinate for _, _, coordinate in mesh],
                "dtype": str(dtype).replace("torch.", ""), "file": f"rank{rank}.safetensors",
                "tensors": list(tensors)}
    with open(path + ".json", "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.write("\n")
