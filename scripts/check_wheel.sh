#!/bin/bash
# check_wheel.sh [BUILD]
# Builds the wheel as `pip install .` does, installs it into a fresh virtual environment, and runs docs/python.md
# with it. What BUILD, a build directory, has compiled is used; it is then configured for wheels. Otherwise the build
# directory is a new one, which is kept. Skipped where PyPI, from which the build backend comes, cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset PYTHONPATH PLANPROOF_BINARY
python=$(command -v /usr/bin/python3 || command -v python3)

"$python" -m venv "$scratch/venv"
pip=("$scratch/venv/bin/pip" --quiet --disable-pip-version-check)
if ! "${pip[@]}" --retries 1 --timeout 15 install 'pytest>=7' 'scikit-build-core>=0.10' >"$scratch/log" 2>&1; then
  tail -1 "$scratch/log" >&2
  echo "wheel: SKIPPED, since PyPI cannot be reached"
  exit 0
fi

# Without a compiler, what pip shows has one line that says what is missing and which command installs it.
mkdir "$scratch/tools"
for tool in cmake ninja; do ln -s "$(command -v "$tool")" "$scratch/tools"; done
if PATH=$scratch/tools "${pip[@]}" wheel --no-deps --no-build-isolation --wheel-dir "$scratch" \
    --config-settings=build-dir="$scratch/no-compiler" . >"$scratch/log" 2>&1; then
  echo "wheel: it was built without a compiler" >&2
  exit 1
fi
grep -q 'planproof: .*C++ compiler.* is missing: run scripts/setup.sh, or apt-get install g++' "$scratch/log" ||
  { cat "$scratch/log" >&2; echo "wheel: nothing says that the compiler is missing" >&2; exit 1; }

# The options of the other build, for the same objects.
options=()
for option in PLANPROOF_WERROR PLANPROOF_QUICK_COMPILATION; do
  value=$([[ ! -f "${1:-}/CMakeCache.txt" ]] || sed -n "s/^$option:BOOL=//p" "$1/CMakeCache.txt")
  [[ -z $value ]] || options+=("--config-settings=cmake.define.$option=$value")
done
"${pip[@]}" wheel --no-deps --wheel-dir "$scratch" "${options[@]}" \
  --config-settings=build-dir="${1:-build-wheel-test}" .
wheel=$(echo "$scratch"/*.whl)
other=$("$python" -m zipfile --list "$wheel" | awk 'NR > 1 {print $1}' |
  grep -Ev '^planproof((/torch(/(shims|monitoring))?)?/([a-z0-9_]+|__(init|main)__)\.py|/py\.typed|/bin/(planproof|libplanproof_z3\.so)|-[0-9.]+\.dist-info/.*)$' || true)
if [[ -n $other ]]; then
  echo "wheel: it holds more than is needed: $other" >&2
  exit 1
fi

"${pip[@]}" install "$wheel"
"$scratch/venv/bin/planproof" --version
"$scratch/venv/bin/python" scripts/run_doc_examples.py --python "$scratch/venv/bin/python" docs/python.md
echo "wheel: $(basename "$wheel") works, $(du -k "$wheel" | cut -f1) kB"
