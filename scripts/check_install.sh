#!/bin/bash
# Installs a build into a temporary directory and builds a program against it with find_package.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >/dev/null
mkdir "$scratch/consumer"
cat > "$scratch/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(consumer CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(planproof REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE planproof::planproof_frontend planproof::planproof_stages)
CMAKE
cat > "$scratch/consumer/main.cc" <<'CPP'
#include <cstdio>
#include "frontend/plan/read_plan.h"
#include "stages/verify.h"
int main(int argc, char** argv) {
  if (argc < 2) return 64;
  auto problem = planproof::plan::ReadPlan({argv[1]}, planproof::sdfg::OperatorLibrary::BuiltIn());
  if (!problem.ok()) return 2;
  const planproof::stages::Result result = planproof::stages::Verify(*problem, {});
  std::printf("%s\n", planproof::stages::VerdictName(result.verdict));
  return planproof::stages::VerdictExitCode(result.verdict);
}
CPP
cmake -S "$scratch/consumer" -B "$scratch/consumer/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build "$scratch/consumer/build" >/dev/null
"$scratch/consumer/build/consumer" examples/mlp_tp2.json
"$scratch/prefix/bin/planproof" --version
