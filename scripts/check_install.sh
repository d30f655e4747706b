#!/bin/bash
# Installs a build, moves the tree, and uses it: every public header compiles alone, what is exported names no
# path of this machine, and a program built with find_package verifies a plan.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/moved"
prefix=$scratch/moved
"$prefix/bin/planproof" --version

for header in "$prefix"/include/planproof/*.h; do
  name=planproof/$(basename "$header")
  echo "#include \"$name\"" > "$scratch/alone.cc"
  "${CXX:-c++}" -std=c++20 -Wall -Werror -fsyntax-only -I "$prefix/include" "$scratch/alone.cc" ||
    { echo "install: $name does not compile alone" >&2; exit 1; }
  if grep -Hn '#include "\(google\|[a-z_]*/.*\.pb\.h\)' "$header"; then
    echo "install: $name shows protobuf" >&2
    exit 1
  fi
done
other=$(find "$prefix/include" -name '*.h' ! -path "$prefix/include/planproof/*")
if [[ -n $other ]]; then
  echo "install: headers outside of planproof/: $other" >&2
  exit 1
fi
if grep -rn '[";:>]/[a-zA-Z]\|'"$PWD"'\|'"$scratch" "$prefix"/lib*/cmake/planproof "$prefix"/lib*/*/cmake/planproof 2>/dev/null; then
  echo "install: an absolute path is exported" >&2
  exit 1
fi

mkdir "$scratch/consumer"
cat > "$scratch/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
find_package(planproof REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE planproof::planproof)
CMAKE
# The program of docs/library.md.
sed -n '/^<!-- program -->$/,/^```$/p' docs/library.md | sed '1,2d;$d' > "$scratch/consumer/main.cc"
cmake -S "$scratch/consumer" -B "$scratch/consumer/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$scratch/consumer/build" >/dev/null
verdict() {
  local status=0
  "$scratch/consumer/build/consumer" "$2" | head -1 || status=${PIPESTATUS[0]}
  ((status == $1)) || { echo "install: $2: exit code $status, expected $1" >&2; exit 1; }
}
verdict 0 examples/mlp_tp2.json
verdict 1 examples/mlp_tp2_broken.json
verdict 2 examples/first_plan/missing_comma.json
verdict 64 examples/no_such_plan.json
