#!/bin/bash
# Runs every libFuzzer target for SECONDS each, starting from its committed corpus. New inputs stay in
# the build directory.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=${2:-60}
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++-14 \
  -DPLANPROOF_FUZZ=ON -DPLANPROOF_TESTS=OFF -DPLANPROOF_BENCHMARKS=OFF
cmake --build "$build" -j "$(nproc)" --target fuzzers
while read -r target; do
  name=$(basename "$target")
  mkdir -p "$build/corpus/$name"
  seeds=()
  [[ -d "tests/corpus/$name" ]] && seeds=("tests/corpus/$name")
  echo "fuzz: $name for $seconds s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    "$build/corpus/$name" "${seeds[@]}"
done < <(find "$build" -name '*_fuzz' -type f -perm -u+x)
