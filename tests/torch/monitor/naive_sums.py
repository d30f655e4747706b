"""Sums of docs/monitor-format.md, element by element in double precision, and not by what writes journals."""
import itertools

import torch

MASK = 2 ** 64 - 1
UNSIGNED = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def splitmix64(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & MASK
    return x ^ x >> 31


def fnv1a64(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 & MASK
    return value


def weights(name, index):
    """Four weights of sketches and that of the fingerprint, of the element at an index in the whole."""
    sketches, fingerprint = [1.0] * 4, 1
    for dimension, i in enumerate(index or (0,)):
        h = splitmix64((fnv1a64(name) + splitmix64(dimension + 1) + i) & MASK)
        for k in range(4):
            sketches[k] *= (1 - 2 * (h >> 4 * k & 1)) * (8 + (h >> 4 * k + 1 & 7)) / 8
        fingerprint = fingerprint * (splitmix64(h) | 1) & MASK
    return sketches, fingerprint


def sums(name, tensor, start=None):
    """Norm, sketches, fingerprint of a tensor that begins at the index `start` of the whole."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
        start = (*(start or (0,) * (tensor.dim() - 1)), 0)
    start = start or (0,) * tensor.dim()
    size = tensor.element_size()
    bits = tensor.contiguous().view(UNSIGNED[size])
    squares, sketches, fingerprint = 0.0, [0.0] * 4, 0
    for index in itertools.product(*map(range, tensor.shape)):
        own, weight = weights(name, tuple(at + first for at, first in zip(index, start)))
        value = float(tensor[index])
        squares += value * value
        sketches = [each + w * value for each, w in zip(sketches, own)]
        fingerprint += (int(bits[index]) % (1 << 8 * size)) * weight
    return squares ** 0.5, sketches, fingerprint & MASK
