"""The environment of a rank: as torchrun makes it, and what a program reads of it."""
from __future__ import annotations

import os
import re
import sys
import sysconfig
from contextlib import contextmanager
from types import FrameType
from typing import Dict, Iterator, Optional

import torch

from planproof.errors import RecordingError

#: Where a rank is, as torchrun says it.
PLACES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
          "ROLE_WORLD_SIZE")
#: Where ranks meet; another one in every run.
_MEETING = ("MASTER_ADDR", "MASTER_PORT")
_SECRET = re.compile("TOKEN|SECRET|PASS|KEY|CREDENTIAL", re.IGNORECASE)

_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_SELF = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD = os.path.abspath(sysconfig.get_paths()["stdlib"]) + os.sep
_INSTALLED = tuple(os.path.abspath(sysconfig.get_paths()[key]) + os.sep for key in ("purelib", "platlib"))
#: Functions of the standard library and of torch that read a variable for their caller.
_FOR_OTHERS = ("__getitem__", "get", "getenv", "__contains__", "pop", "setdefault", "get_node_local_rank")


def nodes_of(world: int, nodes: Optional[int]) -> int:
    """The number of nodes: two, unless it is said, where there are four ranks or more."""
    if nodes is None:
        return 2 if world >= 4 else 1
    if not 1 <= nodes <= world:
        raise RecordingError(f"{world} ranks cannot be placed on {nodes} nodes: between 1 and {world} are expected")
    return nodes


def placed(rank: int, world: int, nodes: int) -> Dict[str, str]:
    """The variables that torchrun gives a rank. Nodes hold as many ranks each, the last ones less if these are not even."""
    most = -(-world // nodes)
    node, local = divmod(rank, most)
    return {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(min(most, world - node * most)), "GROUP_RANK": str(node), "NODE_RANK": str(node),
            "GROUP_WORLD_SIZE": str(-(-world // most)), "ROLE_RANK": str(rank), "ROLE_WORLD_SIZE": str(world)}


@contextmanager
def read_environment(found: Dict[str, str]) -> Iterator[None]:
    """Variables that the program's own files read within are put into `found` with their values, not those that torch, Python
    or installed packages read for themselves: a framework asks for the rank's place to join the others, whatever the
    program does by it. What seems to be secret has no value."""
    kind = type(os.environ)
    plain = kind.__getitem__

    def item(environment: "os._Environ[str]", name: str) -> str:
        value = plain(environment, name)
        if isinstance(name, str) and name not in found and name not in _MEETING and _is_program(sys._getframe(1)):
            found[name] = "(not recorded)" if _SECRET.search(name) else str(value)
        return value

    setattr(kind, "__getitem__", item)
    try:
        yield
    finally:
        setattr(kind, "__getitem__", plain)


def _is_program(frame: Optional[FrameType]) -> bool:
    """Whether it is a file of the program that reads a variable in this frame."""
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        installed = path.startswith(_INSTALLED)
        of_torch = path.startswith(_TORCH)
        standard = frame.f_code.co_filename.startswith("<frozen") or (path.startswith(_STANDARD) and not installed)
        if not ((standard or of_torch) and frame.f_code.co_name in _FOR_OTHERS):
            return not (installed or standard or of_torch or path.startswith(_SELF))
        frame = frame.f_back
    return False
