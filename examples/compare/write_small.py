"""Writes the dumps in `small/`: a perceptron y = relu(x u^T) v^T in float32, whose hidden units are divided over two ranks.

    python3 examples/compare/write_small.py examples/compare/small

`right` adds up what the ranks have of y; in `broken` rank 1 keeps its own term. Nothing but Python is needed: any
program that writes such files can be compared (docs/compare.md).
"""
import json
import os
import random
import struct
import sys

ROWS, INPUTS, HIDDEN, OUTPUTS = 4, 6, 8, 3


def single(value):
    """Rounded to float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def product(a, b):
    """a b^T, rounded after every operation."""
    out = []
    for row in a:
        out.append([])
        for column in b:
            total = 0.0
            for x, y in zip(row, column):
                total = single(total + single(x * y))
            out[-1].append(total)
    return out


def relu(a):
    return [[max(x, 0.0) for x in row] for row in a]


def added(a, b):
    return [[single(x + y) for x, y in zip(*rows)] for rows in zip(a, b)]


def perturbed(a, sample):
    signs = random.Random(sample)
    return [[single(x * (1 + signs.choice([-1, 1]) * 2.0**-23)) for x in row] for row in a]


def write(directory, rank, ranks, tensors):
    """One rank's files: tensors by name, each a list of rows."""
    os.makedirs(directory, exist_ok=True)
    header, values, offset = {}, b"", 0
    for name, rows in tensors.items():
        part = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
        header[name] = {"dtype": "F32", "shape": [len(rows), len(rows[0])], "data_offsets": [offset, offset + len(part)]}
        offset += len(part)
        values += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{directory}/rank{rank}.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + values)
    manifest = {"planproof_dump": 1, "rank": rank, "ranks": ranks, "mesh": [["tp", ranks]] if ranks > 1 else [],
                "coordinates": [rank] if ranks > 1 else [], "dtype": "float32", "file": f"rank{rank}.safetensors",
                "tensors": list(tensors)}
    with open(f"{directory}/rank{rank}.json", "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.write("\n")


def main(out):
    numbers = random.Random(0)
    x, u, v = ([[single(numbers.uniform(-1, 1)) for _ in range(columns)] for _ in range(rows)]
               for rows, columns in ((ROWS, INPUTS), (HIDDEN, INPUTS), (OUTPUTS, HIDDEN)))
    for sample in range(4):
        own = [perturbed(a, 10 * sample + number) if sample else a for number, a in enumerate((x, u, v))]
        hidden = relu(product(own[0], own[1]))
        write(f"{out}/reference" + (f"/perturbed{sample}" if sample else ""), 0, 1,
              {"input/x": own[0], "initial/u": own[1], "initial/v": own[2], "forward/hidden": hidden,
               "forward/y": product(hidden, own[2])})
    half = HIDDEN // 2
    parts = [(u[:half], [row[:half] for row in v]), (u[half:], [row[half:] for row in v])]
    hidden = [relu(product(x, part[0])) for part in parts]
    terms = [product(h, part[1]) for h, part in zip(hidden, parts)]
    for rank in range(2):
        for name, y in (("right", added(*terms)), ("broken", added(*terms) if rank == 0 else terms[1])):
            write(f"{out}/{name}", rank, 2, {"input/x": x, "initial/u": parts[rank][0], "initial/v": parts[rank][1],
                                             "forward/hidden": hidden[rank], "forward/y": y})


if __name__ == "__main__":
    main(sys.argv[1])
