#!/bin/bash
# Without compiler, libraries or packages, configuration and setup end with one line that says what is missing and which command
# installs it. Works in a scratch directory; some seconds, since nothing is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tools" "$scratch/empty"
cmake=$(command -v cmake)

# expect WHAT LINE: the last command failed, and its log has exactly one line of ours: LINE, a regular expression.
expect() {
  local lines
  lines=$(grep -E '^ *(planproof|setup): ' "$scratch/log" || true)
  if ((status == 0)) || [[ $(wc -l <<<"$lines") != 1 ]] || ! grep -qE "$2" <<<"$lines"; then
    cat "$scratch/log" >&2
    echo "missing: $1: exit code $status, and not the line '$2'" >&2
    exit 1
  fi
  echo "missing: $1:$(sed 's/^ *[a-z]*: / /' <<<"$lines" | cut -c1-100)"
}
# configure [NAME=VALUE...] OPTIONS...: in a directory of its own.
configure() {
  rm -rf "$scratch/build"
  local environment=()
  while [[ ${1:-} =~ ^[A-Z]+= ]]; do
    environment+=("$1")
    shift
  done
  status=0
  env -u CXX "${environment[@]}" "$cmake" -S . -B "$scratch/build" "$@" >"$scratch/log" 2>&1 || status=$?
}

configure PATH="$scratch/tools"
expect "no compiler" 'a C\+\+ compiler is missing: run scripts/setup.sh, or apt-get install g\+\+ '
configure CXX=no-such-compiler
expect "no compiler CXX" 'no-such-compiler .by the variable CXX. is missing: run scripts/setup.sh, or apt-get install g\+\+ '
configure PATH="$scratch/tools" CXX="$(command -v c++)" -G Ninja
expect "no ninja" 'ninja is missing: run scripts/setup.sh, or apt-get install ninja-build '
configure -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON
expect "no absl" 'absl is missing: run scripts/setup.sh, or apt-get install libabsl-dev '
configure -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON
expect "no CLI11, no GTest" 'CLI11, GTest are missing: run scripts/setup.sh, or apt-get install libcli11-dev libgtest-dev libgmock-dev '
nothing=(-DCMAKE_FIND_ROOT_PATH="$scratch/empty")
for kind in LIBRARY INCLUDE PACKAGE; do nothing+=("-DCMAKE_FIND_ROOT_PATH_MODE_$kind=ONLY"); done
configure "${nothing[@]}"
for package in libabsl-dev libprotobuf-dev protobuf-compiler nlohmann-json3-dev libcli11-dev libgmp-dev libmpfr-dev libmpfi-dev \
  libsqlite3-dev libxxhash-dev zlib1g-dev libminizip-dev libyaml-dev libgtest-dev; do
  expect "no library at all ($package)" "are missing: run scripts/setup.sh, or apt-get install .*$package " >/dev/null
  # What setup.sh installs for the whole program, too.
  grep -qE "(^| )$package( |$)" scripts/setup.sh || { echo "missing: setup.sh does not install $package" >&2; exit 1; }
done
expect "no library at all" 'absl, .* are missing'

# Without rights and sudo setup.sh says what to run, and without apt where to read on. Both see no package.
bash=$(command -v bash)
for tool in dirname cat; do ln -s "$(command -v "$tool")" "$scratch/tools"; done
setup() {
  local as=()
  ((EUID != 0)) || as=("$(command -v setpriv)" --reuid=65534 --regid=65534 --clear-groups)
  status=0
  env PATH="$scratch/tools" "${as[@]}" "$bash" "$scratch/setup.sh" "$@" >"$scratch/log" 2>&1 || status=$?
}
chmod 755 "$scratch" "$scratch/tools"
cp scripts/setup.sh "$scratch/setup.sh"
setup demo
expect "no apt" 'no apt-get: docs/install.md names'
for tool in apt-get dpkg-query; do
  printf '#!%s\nexit 1\n' "$bash" >"$scratch/tools/$tool"
  chmod 755 "$scratch/tools/$tool"
done
setup demo
expect "no rights" "run 'apt-get install cmake ninja-build g\+\+ .*libz3-dev.*' as root"
echo "missing: each is named in one line with the command that installs it"
