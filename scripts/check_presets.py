"""What CMakePresets.json promises, read off the commands that it leads to: a release is compiled with -O2 in all layers (loops over
lanes with -O3), and neither takes warnings for errors nor has an option that only saves seconds; `ci` takes warnings for errors."""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VECTORS = "runtime_check/tape_machine.cc"
ONLY_SAVES_SECONDS = ("ggc-min-heapsize", "cmake_pch", "-Og", "-O1")


def commands(preset, directory):
    """Command lines by source, of everything but tests."""
    build = os.path.join(directory, preset)
    subprocess.run(
        ["cmake", "--preset", preset, "-B", build, "-DPLANPROOF_TESTS=OFF", "-DPLANPROOF_BENCHMARKS=OFF"],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return {entry["file"]: entry["command"] for entry in json.load(file)}


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        release = commands("release", directory)
        for source, command in release.items():
            level = re.findall(r" (-O\S*)", command)[-1:]
            if level != ["-O3" if source.endswith(VECTORS) else "-O2"]:
                wrong.append(f"release: {source} is compiled with {level}")
            for option in ("-Werror", *ONLY_SAVES_SECONDS):
                if option in command:
                    wrong.append(f"release: {source} is compiled with {option}")
        ci = commands("ci", directory)
        for source, command in ci.items():
            if "-Werror" not in command:
                wrong.append(f"ci: {source} is compiled without -Werror")
    if not release or not ci:
        wrong.append("nothing is compiled")
    for line in wrong[:20]:
        print(f"presets: {line}", file=sys.stderr)
    print(f"presets: {len(release)} commands of release, {len(ci)} of ci")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
