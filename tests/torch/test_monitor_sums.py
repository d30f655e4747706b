"""Norms, sketches and fingerprints are those that docs/monitor-format.md defines, whoever holds which part."""
import os
import sys

import pytest

torch = pytest.importorskip("torch")
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "monitor"))

import numpy  # noqa: E402
from naive_sums import sums as naive  # noqa: E402
from planproof.torch.monitoring import sums as module  # noqa: E402
from planproof.torch.monitoring.device_sums import DeviceSums  # noqa: E402
from planproof.torch.monitoring.sums import HostSums, Slot  # noqa: E402
from planproof.torch.relations import Part  # noqa: E402

SHAPES = [(), (1,), (7,), (3, 5), (4, 3, 2, 2), (2, 1, 3), (1, 4)]
TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64, torch.int64]


def values(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.int64:
        return torch.randint(-9, 9, shape, generator=generator)
    return torch.randn(shape, generator=generator, dtype=dtype if dtype.is_complex else torch.float64).to(dtype)


def measured(name, tensor, part=None, kept=1 << 20):
    found = HostSums(kept).measure([Slot(name, part or Part(tuple(tensor.shape)))], [tensor])
    return float(found.norms[0]), list(found.sketches[:, 0]), int(found.fingerprints[0])


def is_same(found, expected, tolerance):
    scale = expected[0] * 4 + 1e-30
    assert abs(found[0] - expected[0]) <= tolerance * scale
    assert all(abs(a - b) <= tolerance * scale for a, b in zip(found[1], expected[1]))
    assert found[2] == expected[2]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("dtype", TYPES)
def test_sums_are_those_of_the_format(dtype, together, monkeypatch):
    if not together:
        monkeypatch.setattr(module, "SMALL", 0)
    for shape in SHAPES:
        tensor = values(shape, dtype)
        is_same(measured("a.weight", tensor), naive("a.weight", tensor), 1e-12 if dtype in (torch.float64, torch.int64) else 1e-6)


def test_many_tensors_together_have_the_sums_of_each():
    tensors = [values(shape, dtype, seed) for seed, (shape, dtype) in enumerate(
        (shape, dtype) for shape in SHAPES for dtype in TYPES)]
    slots = [Slot(f"tensor {number}", Part(tuple(tensor.shape))) for number, tensor in enumerate(tensors)]
    found = HostSums(1 << 20).measure(slots, tensors)
    for number, (slot, tensor) in enumerate(zip(slots, tensors)):
        is_same((found.norms[number], found.sketches[:, number], found.fingerprints[number]), naive(slot.name, tensor), 1e-6)


@pytest.mark.parametrize("together", [True, False])
def test_parts_add_up_to_the_whole(together, monkeypatch):
    if not together:
        monkeypatch.setattr(module, "SMALL", 0)
    whole = values((6, 5, 3), torch.float32)
    norm, sketches, fingerprint = naive("w", whole)
    places = [Part((6, 5, 3), [[[0, 2], [4, 1]], [[0, 5]], [[0, 3]]]), Part((6, 5, 3), [[[2, 2], [5, 1]], [[0, 5]], [[0, 3]]])]
    flats = [Part((6, 5, 3), flat=(start, end - start)) for start, end in zip([0, 1, 17, 49, 88], [1, 17, 49, 88, 90])]
    for parts in (places, flats):
        found = [measured("w", part.of_whole(whole), part) for part in parts]
        assert sum(each[2] for each in found) % (1 << 64) == fingerprint
        assert abs(sum(each[0] ** 2 for each in found) - norm ** 2) < 1e-5 * norm ** 2
        assert all(abs(sum(each[1][k] for each in found) - sketches[k]) < 1e-5 * norm for k in range(4))


def test_strides_change_nothing():
    tensor = values((40, 70), torch.float32)
    for other in (tensor.t().contiguous().t(), torch.stack([tensor, tensor], 2)[:, :, 0]):
        assert not other.is_contiguous()
        is_same(measured("w", other), naive("w", tensor), 1e-6)


def test_more_elements_than_are_worked_on_at_once(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 64)
    tensor = values((50, 60), torch.float32)
    is_same(measured("w", tensor), naive("w", tensor), 1e-6)
    assert tensor.numel() > module.SMALL


@pytest.mark.parametrize("size", [3, 3000])
@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_what_is_not_finite_has_no_norm_and_no_sketch(bad, size):
    tensor = torch.ones(size)
    tensor[1] = bad
    norm, sketches, fingerprint = measured("w", tensor)
    assert norm != norm and all(each != each for each in sketches) and fingerprint == naive("w", tensor)[2]


@pytest.mark.parametrize("scale", [1e-25, 1e25, 2e-15, 2e15])
def test_squares_beyond_float32_have_a_norm(scale):
    tensor = torch.full((2050,), scale)
    norm = measured("w", tensor)[0]
    assert abs(norm / (scale * 2050 ** 0.5) - 1) < 1e-6


def test_sums_are_taken_from_another_moment_only_if_bits_are_the_same():
    tensor = values((50, 60), torch.float32)
    host, slot = HostSums(1 << 20), Slot("w", Part((50, 60)))
    known = host.measure([slot], [tensor])
    known.norms[0] = 7.0
    assert host.measure([slot], [tensor], known).norms[0] == 7.0
    tensor[3, 4] = torch.nextafter(tensor[3, 4], torch.tensor(9.0))
    assert host.measure([slot], [tensor], known).norms[0] != 7.0


def test_weights_are_kept_within_the_memory_that_is_allowed(monkeypatch):
    monkeypatch.setattr(module, "KEPT_LEAST", 3000)
    host = HostSums(0)
    for number in range(9):
        tensor = values((50, 60), torch.float32)
        host.measure([Slot(f"w{number}", Part((50, 60)))], [tensor])
        assert host._bytes <= 3000
    assert len(host._kept) == 1  # 110 factors of 24 bytes


def test_autocast_does_not_reach_sums():
    tensor = values((50, 60), torch.float32)
    expected = measured("w", tensor)
    with torch.autocast("cpu", torch.bfloat16):
        assert measured("w", tensor) == expected


def test_medium_precision_of_products_does_not_reach_sums():
    tensor = values((300, 600), torch.float32)
    expected = measured("w", tensor)
    torch.set_float32_matmul_precision("medium")
    try:
        found = measured("w", tensor)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert all(abs(a - b) < 1e-6 * expected[0] for a, b in zip(found[1], expected[1])) and numpy.isfinite(found[0])


@pytest.mark.parametrize("chunk", [1, 8, 1 << 16])
@pytest.mark.parametrize("dtype", TYPES)
def test_sums_on_a_device_are_those_of_the_format(dtype, chunk):
    device = DeviceSums(0)
    device._chunk = chunk
    tensors = [values(shape, dtype) for shape in SHAPES]
    found = device.measure([Slot(f"w{n}", Part(tuple(tensor.shape))) for n, tensor in enumerate(tensors)], tensors)(False)
    for number, tensor in enumerate(tensors):
        is_same((found.norms[number], found.sketches[:, number], found.fingerprints[number]), naive(f"w{number}", tensor), 1e-12)


def test_sums_on_a_device_of_parts_and_of_what_is_not_finite():
    whole = values((6, 5), torch.bfloat16)
    slots = [Slot("w", Part((6, 5), flat=(0, 13))), Slot("w", Part((6, 5), flat=(13, 17)))]
    found = DeviceSums(0).measure(slots, [slot.part.of_whole(whole) for slot in slots])(True)
    assert int(found.fingerprints.sum()) == naive("w", whole)[2]
    whole[2, 2] = float("nan")
    found = DeviceSums(0).measure([Slot("w", Part((6, 5)))], [whole])(True)
    assert numpy.isnan(found.norms[0]) and numpy.isnan(found.sketches).all() and int(found.fingerprints[0]) == naive("w", whole)[2]
