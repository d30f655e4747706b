#!/bin/bash
# Checks the formatting of every C++ file that git knows; with --fix, mends it.
set -euo pipefail
cd "$(dirname "$0")/.."
clang_format=$(command -v clang-format-14 || command -v clang-format)
mapfile -t files < <(git ls-files '*.cc' '*.h' ':!third_party')
((${#files[@]})) || exit 0
if [[ "${1:-}" == "--fix" ]]; then
  "$clang_format" -i "${files[@]}"
else
  "$clang_format" --dry-run --Werror "${files[@]}"
  echo "format: ${#files[@]} files are formatted"
fi
