#!/bin/bash
# Micro-benchmarks, whole commands (whole_commands.py), sweeps (sweeps.py), the monitor of training runs (monitor_speed.py); then plots
# and the page.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
if [[ -x $build/benchmarks/planproof_benchmarks ]]; then
  "$build/benchmarks/planproof_benchmarks" --benchmark_min_time=0.2
fi
echo
python3 benchmarks/whole_commands.py "$build"
echo
python3 benchmarks/sweeps.py --build "$build"
echo
python3 benchmarks/monitor_speed.py "$build"
python3 benchmarks/plots.py
python3 benchmarks/write_page.py
