"""The command `planproof` of an installed package."""
import os
import sys

from planproof.binary import find_binary
from planproof.errors import BinaryNotFound


def main() -> None:
    """Becomes the program."""
    try:
        path = find_binary()
    except BinaryNotFound as error:
        sys.exit(f"planproof: {error}")
    os.execv(path, ["planproof", *sys.argv[1:]])


if __name__ == "__main__":
    main()
