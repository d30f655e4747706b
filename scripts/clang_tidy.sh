#!/bin/bash
# Runs clang-tidy with the checks of .clang-tidy over the sources given, or over all of ours.
# Needs a configured build directory (first argument) for compile_commands.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
if (($#)); then
  files=("$@")
else
  mapfile -t files < <(git ls-files '*.cc' ':!third_party' ':!tests' ':!*_fuzz.cc' ':!benchmarks')
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-14 --quiet --extra-arg=-Wno-unknown-warning-option --warnings-as-errors='*' -p "$build" 2>/dev/null
echo "tidy: ${#files[@]} files are clean"
