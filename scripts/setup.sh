#!/bin/bash
# Installs the Debian or Ubuntu packages that building and testing need, and only those that are
# missing. Works as root or with sudo; does nothing (and needs no rights) when all are present.
# With `demo`, without those that only tests, benchmarks and clusters need.
set -euo pipefail

packages=(
  cmake ninja-build g++ make
  libabsl-dev libgmp-dev libmpfr-dev libmpfi-dev nlohmann-json3-dev libcli11-dev
  libprotobuf-dev protobuf-compiler libz3-dev libsqlite3-dev libxxhash-dev libjemalloc-dev zlib1g-dev libminizip-dev libyaml-dev
)

[[ "${1:-}" == demo ]] || packages+=(
  libopenmpi-dev openmpi-bin
  libgtest-dev libgmock-dev libbenchmark-dev hyperfine time xz-utils
  clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev
  python3 python3-pytest python3-venv
  llvm-16-dev    # APFloat, the reference of rounding
  python3-numpy  # runs scripts of stages that are wrong
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ "$status" == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing packages: ${missing[*]}" >&2
    echo "setup: run 'apt-get install ${missing[*]}' as root, then try again" >&2
    exit 1
  fi
  as_root=(sudo)
fi

# Mirrors fail now and then: three attempts each.
attempt() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    sleep $((try * 5))
  done
  echo "setup: failed three times: $*" >&2
  return 1
}

echo "setup: installing ${missing[*]}" >&2
attempt "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2
attempt "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -q install -y --no-install-recommends "${missing[@]}" >&2
