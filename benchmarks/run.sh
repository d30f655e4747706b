#!/bin/bash
# Micro-benchmarks, then whole commands: times by hyperfine, peak memory summed over all processes by
# sampling (scripts/measure_memory.py).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
planproof=$build/cli/planproof
data=${PLANPROOF_SHARED:-../shared}/data/nnscaler

if [[ -x $build/benchmarks/planproof_benchmarks ]]; then
  "$build/benchmarks/planproof_benchmarks" --benchmark_min_time=0.2
fi

echo
echo "whole commands (median of 5, --no-cache --jobs 2)"
python3 - <<'PYTHON' | while IFS=$'\t' read -r name files budget; do
import json, os, glob
data = os.environ.get("PLANPROOF_SHARED", "../shared") + "/data/nnscaler/"
for plan in json.load(open("benchmarks/budgets.json"))["plans"]:
    if os.path.exists(data + plan["parallel"]):
        print(plan["name"], data + plan["logical"] + " " + data + plan["parallel"],
              plan.get("seconds", ""), sep="\t")
for path in sorted(glob.glob("examples/*.json")):
    print(path, path, "", sep="\t")
PYTHON
  command="$planproof verify -q --no-cache --jobs 2 $files"
  times=$(mktemp)
  hyperfine -N --warmup 1 --runs 5 --ignore-failure --style none --export-json "$times" "$command" \
    >/dev/null 2>&1
  median=$(python3 -c "import json,sys; print('%.3f' % json.load(open(sys.argv[1]))['results'][0]['median'])" "$times")
  rm -f "$times"
  # shellcheck disable=SC2086
  memory=$(python3 scripts/measure_memory.py $command)
  printf '%-32s %8s s %8s MiB%s\n' "$name" "$median" "$memory" "${budget:+   budget $budget s}"
done
[[ -d $data ]] || echo "($data is not there: only examples were timed)"
