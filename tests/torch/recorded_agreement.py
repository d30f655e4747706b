"""Whether changed logs still compute what was recorded, by running them on the recorded values."""
import numpy
import torch

from planproof.errors import RecordingError
from planproof.torch import replay

#: Relative to the largest element of a result.
DIFFERS = 1e-4


def numbers(content, dtype):
    """Bytes as numbers of that type."""
    found = torch.from_numpy(numpy.array(content)).view(getattr(torch, dtype))
    return torch.view_as_real(found).double() if found.dtype.is_complex else found.double()


class Refused(Exception):
    """PyTorch does not run the changed logs: nothing is known of what they compute."""


def items_in(value):
    """Numbers read from tensors that an argument has."""
    if isinstance(value, dict):
        yield from [value["item"]] if "item" in value else []
        value = list(value.values())
    for each in value if isinstance(value, list) else []:
        yield from items_in(each)


def deviations(traces, values):
    """By how much each result of each rank is not the recorded one, relative to its size. None if the logs take other numbers out
    of tensors than were recorded and compute with them. Numbers that only steer the program are assumed to be the recorded ones, which
    the verdict says."""
    try:
        ranks, outcome = replay.run_together(list(zip(traces, values)))
    except (RecordingError, RuntimeError, ValueError, TypeError, IndexError, AttributeError, KeyError) as error:
        raise Refused(str(error)) from error
    used = {item for trace in traces for entry in trace["operators"] for item in items_in([entry.get("args"), entry.get("kwargs")])}
    if any(int(each.rsplit(" ", 1)[1]) in used for each in outcome.differences):
        return None
    found = []
    for rank in ranks:
        for entry, *both in rank.results():
            dtype = rank.trace["tensors"][entry["tensor"]][1]
            try:
                now, recorded = (numbers(each, dtype) for each in both)
                away = (now - recorded).abs().max().item() if now.numel() else 0.0
            except RuntimeError:
                return None
            scale = recorded.abs().max().item() if recorded.numel() else 0.0
            found.append(away / max(scale, 1e-12) if away == away else numpy.inf)
    return found


def perturbed(trace, values):
    """The values of a rank with each real number that it held changed by as much as one rounding."""
    changed = dict(values)
    for entry in trace["inputs"]:
        storage, dtype, *_ = trace["tensors"][entry["tensor"]]
        key = f"storage_{storage}"
        if dtype != "float32" or key not in changed:
            continue
        held = numpy.frombuffer(changed[key].tobytes(), dtype).copy()
        held *= 1 + 1e-7 * numpy.cos(12.9898 * numpy.arange(len(held)) + len(entry["name"]))
        changed[key] = numpy.frombuffer(held.tobytes(), changed[key].dtype)
    return changed


def differs_from_recorded(mutants, traces, values):
    """Whether a result of the changed logs is another one than rounding explains: AdamW makes a step of a gradient that is rounding."""
    found = deviations(mutants, values)
    if found is None:
        return True
    rounding = deviations(traces, [perturbed(trace, each) for trace, each in zip(traces, values)]) or [0.0] * len(found)
    return any(each > max(DIFFERS, 100 * other) for each, other in zip(found, rounding))
