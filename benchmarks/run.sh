#!/bin/bash
# Micro-benchmarks, then whole commands (see whole_commands.py).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
if [[ -x $build/benchmarks/planproof_benchmarks ]]; then
  "$build/benchmarks/planproof_benchmarks" --benchmark_min_time=0.2
fi
echo
python3 benchmarks/whole_commands.py "$build"
