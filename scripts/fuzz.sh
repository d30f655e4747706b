#!/bin/bash
# fuzz.sh BUILD SECONDS [--keep] [TARGET...]
# Runs libFuzzer targets (tests/fuzz/*_fuzz.cc; all of them, or those named) under address and
# undefined-behaviour sanitizers, one after the other for SECONDS each, starting from seeds made by scripts
# and from tests/fuzz/corpus/TARGET. New inputs stay in BUILD/corpus; a crash stops the script and leaves
# its input in BUILD. --keep then writes the smallest inputs with the same coverage, none above 16 kB and
# at most 200 kB of them per target, to tests/fuzz/corpus/TARGET.tar.xz, from where the tests replay them;
# inputs with a name of their own lie beside it in tests/fuzz/corpus/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-fuzz}
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
keep=
if [[ ${1:-} == --keep ]]; then
  keep=$1
  shift
fi
targets=("$@")
if ((${#targets[@]} == 0)); then
  for source in tests/fuzz/*_fuzz.cc; do
    targets+=("$(basename "$source" .cc)")
  done
fi
clang=$(command -v clang++-14 || command -v clang++ || compgen -c clang++- | sort -V | tail -1)
[[ -n $clang ]] || { echo "fuzz: clang is missing: run scripts/setup.sh" >&2; exit 1; }
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
  -DCMAKE_CXX_COMPILER="$clang" -DPLANPROOF_FUZZ=ON -DPLANPROOF_SANITIZE=ON -DPLANPROOF_WERROR=ON \
  -DPLANPROOF_TESTS=OFF -DPLANPROOF_BENCHMARKS=OFF
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target write_seed_plans "${targets[@]}"
# Stack traces of allocations and a long quarantine would cost a good part of the time.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=16
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  committed=$build/committed/$target
  rm -rf "$committed"
  mkdir -p "$corpus" "$committed"
  [[ ! -f tests/fuzz/corpus/$target.tar.xz ]] ||
    tar -xJf "tests/fuzz/corpus/$target.tar.xz" -C "$committed"
  [[ ! -d tests/fuzz/corpus/$target ]] || cp "tests/fuzz/corpus/$target"/* "$committed"
  case $target in
    pickle_fuzz) python3 tests/frontend/write_nnscaler_plan.py --corpus "$corpus" ;;
    plan_json_fuzz)
      cp examples/m*.json examples/pipeline*.json examples/rotary_sp2.json examples/*/*.json "$corpus"
      "$build/tests/fuzz/write_seed_plans" json "$corpus" examples/first_plan/plan.json ;;
    plan_binary_fuzz)
      "$build/tests/fuzz/write_seed_plans" binary "$corpus" examples/m*.json examples/pipeline*.json examples/rotary_sp2.json \
        examples/first_plan/plan.json ;;
    declaration_fuzz) cp sdfg/operators/*.op examples/own_operator/*.op "$corpus" ;;
  esac
  program=$build/tests/fuzz/$target
  echo "fuzz: $target for $seconds s"
  "$program" -max_total_time="$seconds" -max_len=16384 -timeout=60 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="$build/$target-" "$corpus" "$committed"
  if [[ $keep == --keep ]]; then
    rm -rf "$build/merged" && mkdir "$build/merged"
    "$program" -merge=1 -max_len=16384 "$build/merged" "$committed" "$corpus"
    kept=()
    total=0
    while read -r size name; do
      ((total += size, total > 200000)) && break
      kept+=("$name")
    done < <(find "$build/merged" -type f -printf '%s %f\n' | sort -n)
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 \
      -cJf "tests/fuzz/corpus/$target.tar.xz" -C "$build/merged" "${kept[@]}"
    echo "fuzz: $target keeps ${#kept[@]} inputs"
  fi
done
