"""Signatures of operators as the PyTorch that is installed prints them, for frontend/torch/aten_schemas.txt.

    python tests/torch/write_schemas.py [aten.max.other ...] [--without aten.view_copy.dtype ...]

Writes those that the file has anew, and those that are named besides."""
import argparse
import os
import re

import torch

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "frontend", "torch", "aten_schemas.txt")


def register():
    """Operators that are only there once somebody has imported them."""
    import torch.distributed.fsdp._fully_shard._fsdp_collectives  # noqa: F401
    try:
        from torchtitan.ops import scatter_add  # noqa: F401
    except ImportError:
        pass


def overload_of(line):
    """'aten.add_.Tensor' of 'aten::add_.Tensor(Tensor(a!) self, ...'."""
    namespace, name = re.match(r"(\w+)::([\w.]+)\(", line).groups()
    return f"{namespace}.{name}" if "." in name else f"{namespace}.{name}.default"


def committed():
    with open(PATH) as file:
        return {overload_of(line): line.rstrip("\n") for line in file if line.strip()}


def installed(overload):
    """None if this PyTorch has no such overload."""
    namespace, name, form = overload.split(".")
    try:
        return str(getattr(getattr(getattr(torch.ops, namespace), name), form)._schema)
    except AttributeError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("overloads", nargs="*")
    parser.add_argument("--without", nargs="+", default=[])
    arguments = parser.parse_args()
    register()
    known = committed()
    lines = []
    for overload in sorted((set(known) | set(arguments.overloads)) - set(arguments.without)):
        schema = installed(overload)
        if schema is None and overload not in known:
            parser.error(f"{overload} is no operator of torch {torch.__version__}")
        lines.append(schema or known[overload])
    with open(PATH, "w") as file:
        file.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
