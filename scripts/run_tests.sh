#!/bin/bash
# run_tests.sh BUILD [JOBS [CTEST OPTIONS]]
# Runs the tests of a build directory; says aloud how many were skipped, and why. Ends with ctest's
# own summary line.
set -uo pipefail
build=$1
jobs=${2:-2}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error "$@" \
  2>&1 | tee "$log" | grep -Ev '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test +#[0-9]+:.* Passed)'
status=${PIPESTATUS[0]}

skipped=$(grep -cE 'Test +#[0-9]+:.*\*\*\*Skipped' "$log")
if ((skipped > 0)); then
  echo "SKIPPED TESTS: $skipped (most need ../shared/data, which is not part of the repository)"
else
  echo "SKIPPED TESTS: 0"
fi
grep -E '^[0-9]+% tests passed' "$log"
exit "$status"
