#!/bin/bash
# fuzz.sh BUILD SECONDS [--keep]
# Runs every libFuzzer target (*_fuzz.cc of the layers) under sanitizers for SECONDS each, starting from
# seeds made by scripts and from tests/fuzz/corpus/TARGET. New inputs stay in the build directory; a
# crash stops the script. --keep writes the smallest inputs with the same coverage, at most 200 kB of
# them per target, to tests/fuzz/corpus, from where tests/fuzz replays them.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-fuzz}
seconds=${2:-60}
keep=${3:-}
targets=()
while read -r source; do
  targets+=("$(basename "$source" .cc)")
done < <(git ls-files '*_fuzz.cc')
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
  -DCMAKE_CXX_COMPILER=clang++-14 -DPLANPROOF_FUZZ=ON -DPLANPROOF_SANITIZE=ON \
  -DPLANPROOF_TESTS=OFF -DPLANPROOF_BENCHMARKS=OFF
cmake --build "$build" -j "$(nproc)" --target "${targets[@]}"
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  committed=tests/fuzz/corpus/$target
  mkdir -p "$corpus" "$committed"
  case $target in
    pickle_fuzz) python3 tests/frontend/write_nnscaler_plan.py --corpus "$corpus" ;;
    plan_fuzz) cp examples/*.json "$corpus" ;;
    declaration_fuzz) cp sdfg/operators/*.op "$corpus" ;;
  esac
  program=$(find "$build" -name "$target" -type f -perm -u+x)
  echo "fuzz: $target for $seconds s"
  "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$build/" "$corpus" "$committed"
  if [[ $keep == --keep ]]; then
    rm -rf "$build/merged" && mkdir "$build/merged"
    "$program" -merge=1 "$build/merged" "$committed" "$corpus"
    rm -rf "$committed" && mkdir "$committed"
    total=0
    while read -r size path; do
      ((total += size, total > 200000)) && break
      cp "$path" "$committed/"
    done < <(find "$build/merged" -type f -printf '%s %p\n' | sort -n)
    echo "fuzz: $target keeps $(find "$committed" -type f | wc -l) inputs"
  fi
done
