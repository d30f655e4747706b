#!/bin/bash
# Generated pages must equal what the program prints; every command shown in the documentation between
# "<!-- run -->" and the end of its code block must run and print what the block says.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
planproof=$build/cli/planproof
if [[ -f docs/operators.md ]]; then
  diff -u docs/operators.md <("$planproof" operators --markdown) ||
    { echo "docs/operators.md is out of date: run 'make docs'" >&2; exit 1; }
fi
python3 scripts/run_doc_examples.py "$planproof" README.md docs/*.md
