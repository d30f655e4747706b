#!/bin/bash
# Installs the Debian or Ubuntu packages that building and testing need, and only those that are
# missing. Works as root or with sudo; does nothing (and needs no rights) when all are present.
# With `demo`, without those that only tests, benchmarks and clusters need; with `test`, without the
# tools that check this repository itself (formatting, clang-tidy, fuzzers). docs/install.md tells more.
set -euo pipefail

packages=(
  cmake ninja-build g++ make
  libabsl-dev libgmp-dev libmpfr-dev libmpfi-dev nlohmann-json3-dev libcli11-dev
  libprotobuf-dev protobuf-compiler libz3-dev libsqlite3-dev libxxhash-dev libjemalloc-dev zlib1g-dev libminizip-dev libyaml-dev
)

[[ "${1:-}" == demo ]] || packages+=(
  nettle-dev  # SHA-256 of recorded values; the prover alone reads none
  libopenmpi-dev openmpi-bin
  libgtest-dev libgmock-dev libbenchmark-dev hyperfine time xz-utils
  python3 python3-pytest python3-venv
  'llvm-16-dev|llvm-17-dev|llvm-18-dev|llvm-19-dev'  # APFloat, the reference of rounding
  python3-numpy                                      # runs scripts of stages that are wrong
)

# Sources are formatted by version 14. Where a system has newer ones alone, nothing is formatted there.
[[ "${1:-}" == demo || "${1:-}" == test ]] || packages+=(
  'clang-14|clang-16|clang-18|clang-19' 'clang-format-14|clang-format'
  'clang-tidy-14|clang-tidy' 'libclang-rt-14-dev|libclang-rt-16-dev|libclang-rt-18-dev|libclang-rt-19-dev'
)

if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt-get: docs/install.md names the libraries and tools to install" >&2
  exit 1
fi

installed() {
  [[ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true)" == "install ok installed" ]]
}

# Entries of `packages`, each one package or alternatives, the preferred first.
missing=()
for entry in "${packages[@]}"; do
  found=
  for package in ${entry//|/ }; do
    if installed "$package"; then found=1; fi
  done
  [[ -n $found ]] || missing+=("$entry")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: packages are missing: run 'apt-get install ${missing[*]%%|*}' as root, then try again" >&2
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

attempt "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2

# Of alternatives, the first that this system has.
chosen=()
for entry in "${missing[@]}"; do
  for package in ${entry//|/ }; do
    if [[ -n "$(apt-cache madison "$package")" ]]; then
      chosen+=("$package")
      continue 2
    fi
  done
  chosen+=("${entry%%|*}")  # apt-get says that there is none
done

echo "setup: installing ${chosen[*]}" >&2
attempt "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -q install -y --no-install-recommends "${chosen[@]}" >&2
