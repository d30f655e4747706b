#!/usr/bin/env python3
"""Runs a command and prints its peak memory in MiB: resident sets of the process and all its
descendants, summed, sampled every 2 milliseconds."""
import os
import sys
import time

PAGE = os.sysconf("SC_PAGESIZE")


def children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as stream:
            return [int(word) for word in stream.read().split()]
    except OSError:
        return []


def resident(process):
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def total(process):
    return resident(process) + sum(total(child) for child in children(process))


def peak_mebibytes(command):
    """At least the largest resident set of any one of the processes, which the kernel keeps."""
    process = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    peak = 0
    while True:
        peak = max(peak, total(process))
        done, _, usage = os.wait4(process, os.WNOHANG)
        if done:
            return max(peak, usage.ru_maxrss * 1024) / 2**20
        time.sleep(0.002)


if __name__ == "__main__":
    print(f"{peak_mebibytes(sys.argv[1:]):.0f}")
