#!/bin/bash
# Runs every libFuzzer target (*_fuzz.cc of the layers) under sanitizers for SECONDS each, starting from
# its seeds in tests/corpus/TARGET. New inputs stay in the build directory; a crash stops the script.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-fuzz}
seconds=${2:-60}
targets=()
while read -r source; do
  targets+=("$(basename "$source" .cc)")
done < <(git ls-files '*_fuzz.cc')
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_COMPILER=clang++-14 -DPLANPROOF_FUZZ=ON -DPLANPROOF_SANITIZE=ON \
  -DPLANPROOF_TESTS=OFF -DPLANPROOF_BENCHMARKS=OFF
cmake --build "$build" -j "$(nproc)" --target "${targets[@]}"
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  seeds=()
  [[ -d tests/corpus/$target ]] && seeds=("tests/corpus/$target")
  if [[ $target == pickle_fuzz ]]; then
    python3 tests/frontend/write_nnscaler_plan.py --corpus "$corpus"
  fi
  echo "fuzz: $target for $seconds s"
  "$(find "$build" -name "$target" -type f -perm -u+x)" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$build/" "$corpus" "${seeds[@]}"
done
