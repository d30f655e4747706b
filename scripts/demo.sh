#!/bin/bash
# Verifies an example plan, then its broken twin.
set -uo pipefail
planproof=$1
cd "$(dirname "$0")/.."
show() {
  echo
  echo "\$ planproof verify $1"
  "$planproof" verify --no-cache "$1"
  status=$?
  [[ $status == "$2" ]] || { echo "demo: expected exit code $2, got $status" >&2; exit 1; }
}
show examples/mlp_tp2.json 0
show examples/mlp_tp2_broken.json 1
