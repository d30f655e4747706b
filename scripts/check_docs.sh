#!/bin/bash
# Every command shown in the documentation between "<!-- run -->" and the end of its code block must
# run and print what the block says; blocks that show a file or a plan must be right too. (That docs/operators.md is current is a test of its own.)
set -euo pipefail
cd "$(dirname "$0")/.."
python3 scripts/run_doc_examples.py "$1/cli/planproof" README.md docs/*.md
