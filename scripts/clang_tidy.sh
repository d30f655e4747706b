#!/bin/bash
# clang_tidy.sh BUILD [FILE...]
# Runs clang-tidy with the checks of .clang-tidy over the sources given, or over all of ours. BUILD is a
# build directory, for compile_commands.json and generated headers. Prints each finding once per source
# in which it shows; where clang-tidy itself fails, what it wrote on stderr.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
shift
if (($#)); then
  files=("$@")
else
  # The checkout may belong to somebody else (continuous integration runs as root).
  mapfile -t files < <(git -c safe.directory='*' ls-files '*.cc' ':!third_party')
fi
((${#files[@]})) || { echo "tidy: git knows no sources here" >&2; exit 1; }
export build
export tidy=clang-tidy-14
command -v "$tidy" >/dev/null || { echo "tidy: $tidy is not installed (make setup)" >&2; exit 1; }
[[ -f $build/compile_commands.json ]] || { echo "tidy: no $build/compile_commands.json" >&2; exit 1; }

# Where several sources are compiled at once, the commands of single ones come from a configuration that is
# made for this; its generated headers are those of BUILD.
commands=$build
if grep -q 'Unity/unity_' "$build/compile_commands.json"; then
  commands=$build/single_sources
  cmake -S . -B "$commands" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPLANPROOF_UNITY=OFF >/dev/null
fi
export commands

# GCC's warnings that Clang does not know are no findings.
check() {
  local findings errors status=0
  errors=$(mktemp)
  findings=$("$tidy" --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option \
    --extra-arg="-I$build/generated" -p "$commands" "$1" 2>"$errors") || status=$?
  if ((status != 0)); then
    if [[ $findings == *error:* ]]; then
      printf '%s\n' "$findings" | sed "s|$PWD/||"
    else
      echo "tidy: $tidy failed on $1 with exit code $status:"
      grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?generated' "$errors"
    fi
  fi
  rm -f "$errors"
  return "$status"
}
export -f check

started=$SECONDS
if printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$1" || exit 1' -; then
  echo "tidy: ${#files[@]} files are clean ($((SECONDS - started)) s)"
else
  echo "tidy: findings above, in ${#files[@]} files ($((SECONDS - started)) s)" >&2
  exit 1
fi
