"""Writes journals of a healthy run of any length, without running it: AdamW with the learning rate 0, whose moments stand still, so
that all steps are alike and no law alarms. For timing `planproof monitor check`."""
import json
import struct
import zlib

TEXTS = ("", "AdamW", "parameter", "gradient", "exp_avg", "exp_avg_sq", "step")
BEGIN, CLIP, BEFORE, AFTER = range(4)
ONE_NUMBER = (1 << 64) - 1
NAN = float("nan")


def frame(kind, payload):
    head = struct.pack("<IB", len(payload), kind)
    return head + payload + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head[4:])))


def framed_json(kind, content):
    return frame(kind, json.dumps(content).encode())


def header(rank, world):
    return framed_json(1, {"rank": rank, "world": world, "every": 1, "torch": "2", "device": "cpu", "program": "00", "start": 0,
                           "modules": [["", "Model"]],
                           "optimizers": [{"name": "AdamW", "class": "torch.optim.adamw.AdamW", "wrapped": []}]})


def table(tensors):
    return framed_json(3, {"tensors": [
        {"name": f"blocks.{number}.layer.weight", "of": [64, 64], "dtype": "float32", "local": 4096, "trainable": True,
         "optimizers": [0]} for number in range(tensors)]})


def options(tensors):
    return framed_json(4, {"optimizer": 0, "groups": [
        {"lr": 0.0, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01, "amsgrad": False, "maximize": False, "foreach": None,
         "capturable": False, "differentiable": False, "fused": None, "tensors": list(range(tensors)), "others": []}]})


def values(moment, word, tensors, value):
    """Sets of which each tensor is 64 x 64 times `value`, but for the sketches, which are none in particular."""
    n = tensors
    sketches = [64 * value * (0.3 + k / 7) for k in range(4) for _ in range(n)]
    return moment, word, 6, (struct.pack("<BIII", moment, 0, TEXTS.index(word), n) + struct.pack(f"<{n}I", *range(n)) +
                             struct.pack(f"<{n}d", *[64 * value] * n) + struct.pack(f"<{4 * n}d", *sketches) +
                             struct.pack(f"<{n}Q", *[(number + 1) * hash(value) % (1 << 64) for number in range(n)]))


def elements(moment, word, tensors, value):
    n = tensors
    position = ONE_NUMBER if word == "step" else 7
    return moment, word, 7, (struct.pack("<BIII", moment, 0, TEXTS.index(word), n) + struct.pack(f"<{n}I", *range(n)) +
                             struct.pack(f"<{n}Q", *[position] * n) + struct.pack(f"<{n}d", *[value] * n))


def facts(tensors):
    """Of one step, but for its number."""
    parameter, gradient, square = 0.5, 0.25, 0.0625
    sets = [values(BEGIN, "parameter", tensors, parameter), values(CLIP, "gradient", tensors, gradient)]
    for moment in (BEFORE, AFTER):
        if moment == BEFORE:
            sets += [values(BEFORE, "gradient", tensors, gradient), elements(BEFORE, "gradient", tensors, gradient)]
        for word, value in (("parameter", parameter), ("exp_avg", gradient), ("exp_avg_sq", square)):
            sets += [values(moment, word, tensors, value), elements(moment, word, tensors, value)]
        sets.append(elements(moment, "step", tensors, 100.0))
    return [(kind, payload) for _, _, kind, payload in sets]


def event(type_, flags, subject, a=NAN, b=NAN, c=0):
    return struct.pack("<HHIddq", type_, flags, (1 << 32) - 1 if subject is None else subject, a, b, c)


def events(tensors):
    norm = 64 * 0.25 * tensors ** 0.5
    two = struct.unpack("<q", struct.pack("<d", 2.0))[0]
    found = [event(1, 1, 1), event(2, 3, 0), event(3, 3, 0, c=1), event(4, 2, 1, 1.0, 1.0),
             event(6, 0, None, norm, 2 * norm, two), event(8, 0, 1, c=tensors), event(9, 0, 1)]
    return struct.pack("<II", len(found), 1) + b"".join(found)


def write(path, steps, tensors=300, rank=0, world=1):
    """Writes a journal of so many sampled steps."""
    sets, own = facts(tensors), events(tensors)
    with open(path, "wb") as stream:
        stream.write(b"PPMONIT\n" + struct.pack("<I", 1) + header(rank, world))
        stream.write(b"".join(frame(2, text.encode()) for text in TEXTS))
        stream.write(table(tensors) + options(tensors))
        for step in range(steps):
            number = struct.pack("<Q", step)
            stream.write(b"".join(frame(kind, number + payload) for kind, payload in sets))
            stream.write(frame(5, number + struct.pack("<Q", step) + own))
        stream.write(framed_json(10, {"reason": "closed", "steps": steps}))
