"""Functions and methods of torch that are replaced while a run is monitored, and put back afterwards."""
from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any, Callable, List, Tuple

_MISSING = object()


class Patches:
    """What was replaced, in order."""

    def __init__(self) -> None:
        self._undo: List[Tuple[Any, str, Any, Any]] = []

    def function(self, module: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
        """Replaces a module's function by `make(function)`, also under the names by which other modules have imported it.
        False if there is none."""
        original = getattr(module, name, None)
        if original is None:
            return False
        replacement = _like(original, make(original))
        self._set(module, name, replacement)
        for other in list(sys.modules.values()):
            if isinstance(other, ModuleType):
                for key, value in list(vars(other).items()):
                    if value is original:
                        self._set(other, key, replacement)
        return True

    def method(self, kind: type, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
        """Replaces a method in the class that defines it for `kind`. False if there is none, or it has been replaced."""
        for each in kind.__mro__:
            original = each.__dict__.get(name)
            if original is None:
                continue
            if not callable(original) or getattr(original, "_planproof", False):
                return False
            self._set(each, name, _like(original, make(original)))
            return True
        return False

    def attribute(self, holder: Any, name: str, value: Any) -> None:
        """Sets an attribute of an object."""
        self._set(holder, name, value)

    def _set(self, holder: Any, name: str, value: Any) -> None:
        self._undo.append((holder, name, vars(holder).get(name, _MISSING), value))
        setattr(holder, name, value)

    def restore(self) -> None:
        """Puts everything back, except what somebody else has replaced since."""
        for holder, name, before, own in reversed(self._undo):
            if vars(holder).get(name, _MISSING) is not own:
                continue
            if before is _MISSING:
                delattr(holder, name)
            else:
                setattr(holder, name, before)
        self._undo = []


def _like(original: Any, replacement: Callable[..., Any]) -> Callable[..., Any]:
    functools.update_wrapper(replacement, original)
    replacement._planproof = True  # type: ignore[attr-defined]
    return replacement
