"""The programs by name. Modules of this directory add theirs when they are imported."""
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Dict

#: Modules with programs.
MODULES = ("layers", "sequences", "activations", "losses", "optimizers", "experts", "reductions", "rings", "wrappers", "frameworks")


@dataclass(frozen=True)
class Program:
    """A program: what it is `build(mesh)` for, and whether the ranks compute what one process does."""

    mesh: Dict[str, int]
    build: Callable[[Any], Any]
    right: bool = True
    #: Computed in float64, so that rounding hides nothing.
    double: bool = True
    #: Options of `planproof.torch.launch`.
    options: Dict[str, Any] = field(default_factory=dict)


PROGRAMS: Dict[str, Program] = {}


def program(mesh, name=None, right=True, double=True, options=None, **arguments):
    """Adds the decorated `build(mesh, **arguments)`; several decorators make a family."""
    def add(build):
        key = name or build.__name__
        assert key not in PROGRAMS, key
        PROGRAMS[key] = Program(mesh, partial(build, **arguments), right, double, options or {})
        return build
    return add
