# The everyday commands. Everything is built by CMake; this file only says which targets make what.
#   make demo            install what is missing, build the prover, verify an example and its broken twin
#   make test            build and run all tests
#   make test-sanitize   the same under address and undefined-behaviour sanitizers (-core: what .ci/run does)
#   make bench           micro-benchmarks and whole commands
#   make acceptance      the acceptance list, line by line, long suites in samples (ACCEPTANCE=--full: hours)
#   make cuda-check      all checks of the CUDA backend, on a machine with a GPU (elsewhere it says so)
#   make fuzz            each reader under libFuzzer, FUZZ_SECONDS (default 60) per reader
#   make format, make tidy, make install (PREFIX), make clean
# PRESET is one of CMakePresets.json, for a new build directory: `ci` compiles faster what then runs slower, and takes warnings for
# errors. CMAKE_OPTIONS are added (-DCMAKE_CXX_COMPILER=clang++).
JOBS ?= $(shell nproc)
BUILD ?= build
PRESET ?= release
CMAKE_OPTIONS ?=
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
ACCEPTANCE ?=
PLANPROOF = $(BUILD)/cli/planproof

.PHONY: all setup tested demo program test test-sanitize test-sanitize-core bench acceptance cuda-check fuzz format check-format tidy docs install clean
all: tested
	cmake --build $(BUILD) -j $(JOBS)

# What only tests and clusters need (half a gigabyte of LLVM) is not waited for where only the demo is asked for.
ONLY_DEMO := $(if $(filter-out demo,$(MAKECMDGOALS)),,$(filter demo,$(MAKECMDGOALS)))
setup:
	@scripts/setup.sh $(ONLY_DEMO)

$(BUILD)/build.ninja: | setup
	cmake --preset $(PRESET) -B $(BUILD) $(CMAKE_OPTIONS) \
	  $(if $(ONLY_DEMO),-DPLANPROOF_TESTS=OFF -DPLANPROOF_PROVER_ONLY=ON)

# Configured again, since packages may have come, and the demo may have been first.
tested: $(BUILD)/build.ninja
	cmake -DPLANPROOF_TESTS=ON -DPLANPROOF_PROVER_ONLY=OFF $(BUILD) >$(BUILD)/configuration.log

# In a new build directory the prover alone, in one that is there what it was configured for.
demo: $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j $(JOBS) --target planproof_program
	@scripts/demo.sh $(PLANPROOF)

# The whole program, without tests.
program: $(BUILD)/build.ninja
	@cmake -DPLANPROOF_PROVER_ONLY=OFF $(BUILD) >$(BUILD)/configuration.log
	@cmake --build $(BUILD) -j $(JOBS) --target planproof_program

test: tested
	cmake --build $(BUILD) -j $(JOBS)
	scripts/run_tests.sh $(BUILD) $(JOBS)

SANITIZE = cmake --preset sanitize $(CMAKE_OPTIONS)
$(BUILD)-sanitize/build.ninja: | setup
	$(SANITIZE) -B $(BUILD)-sanitize

test-sanitize: $(BUILD)-sanitize/build.ninja
	cmake --build $(BUILD)-sanitize -j $(JOBS)
	PLANPROOF_SANITIZED=1 scripts/run_tests.sh $(BUILD)-sanitize $(JOBS)

# The layers that a verdict rests on, and the readers of untrusted files.
empty :=
space := $(empty) $(empty)
CORE = solver sdfg lineage verdict_cache stages frontend
$(BUILD)-sanitize-core/build.ninja: | setup
	$(SANITIZE) -B $(BUILD)-sanitize-core "-DPLANPROOF_SANITIZED_LAYERS=$(subst $(space),;,$(CORE))"

test-sanitize-core: $(BUILD)-sanitize-core/build.ninja
	cmake --build $(BUILD)-sanitize-core -j $(JOBS) --target fuzz_replays \
	  $(foreach layer,$(CORE),$(if $(wildcard tests/$(layer)/*_test.cc),$(layer)_tests))
	PLANPROOF_SANITIZED=1 scripts/run_tests.sh $(BUILD)-sanitize-core $(JOBS) \
	  -R '^(solver|sdfg|lineage|verdict_cache|stages|frontend|fuzz)\.'

bench: tested
	cmake --build $(BUILD) -j $(JOBS)
	benchmarks/run.sh $(BUILD)

acceptance: tested
	cmake --build $(BUILD) -j $(JOBS)
	python3 scripts/acceptance.py --build $(BUILD) $(ACCEPTANCE)

cuda-check: tested
	cmake --build $(BUILD) -j $(JOBS) --target planproof_program runtime_check_tests
	python3 scripts/cuda_check.py $(BUILD)

fuzz: setup
	scripts/fuzz.sh $(BUILD)-fuzz $(FUZZ_SECONDS)

format:
	scripts/check_format.sh --fix

check-format:
	scripts/check_format.sh

tidy: program
	scripts/clang_tidy.sh $(BUILD)

docs: tested
	cmake --build $(BUILD) -j $(JOBS) --target sdfg_tests structure_tests
	PLANPROOF_WRITE_DOCS=1 $(BUILD)/tests/sdfg/sdfg_tests --gtest_filter='*ReferenceDocument*'
	PLANPROOF_WRITE_DOCS=1 $(BUILD)/tests/structure/structure_tests --gtest_filter='*ListIsCurrent*'

install: program
	cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-sanitize-core $(BUILD)-fuzz
