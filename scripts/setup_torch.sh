#!/bin/bash
# Makes a virtual environment with PyTorch and the frameworks whose programs are recorded, at the versions that
# the tests of tests/torch are for: setup_torch.sh [DIRECTORY], by default .cache/torch in the checkout. About 6 GB and some
# minutes. Does nothing if the environment has these versions.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
directory=${1:-$here/.cache/torch}
packages=(
  torch==2.15.0 numpy==2.4.6 transformers==5.23.0 accelerate==1.15.0 megatron-core==0.16.1
  deepspeed==0.19.8 torchtitan==0.3.0 spmd_types==0.2.3 pytest==9.2.0
)

if [[ -x $directory/bin/python ]]; then
  installed=$("$directory/bin/python" -m pip list --format=freeze 2>/dev/null || true)
  missing=()
  for package in "${packages[@]}"; do
    grep -qixF "$package" <<<"$installed" || missing+=("$package")
  done
  ((${#missing[@]})) || exit 0
  echo "setup_torch: installs ${missing[*]}" >&2
else
  python3 -m venv "$directory"
fi
# deepspeed is built from source; its operators are not needed.
DS_BUILD_OPS=0 "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
echo "$directory/bin/python"
