#!/bin/bash
# Verifies an example plan, then its broken twin.
set -uo pipefail
planproof=$1
cd "$(dirname "$0")/.."
reports=$(mkdir -p build/demo && cd build/demo && pwd)
show() {
  echo
  echo "\$ planproof verify $1"
  local report="$reports/$(basename "$1" .json).report.json"
  "$planproof" verify --no-cache --json "$report" "$1"
  status=$?
  echo "report for machines: $report"
  [[ $status == "$2" ]] || { echo "demo: expected exit code $2, got $status" >&2; exit 1; }
}
show examples/mlp_tp2.json 0
show examples/mlp_tp2_broken.json 1
