# SPDX-License-Identifier: BSD-2-Clause
# A thin cover over CMake and Ninja. `make` builds build/hone; `make test` and `make demo` also install what is missing.

BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc)
NINJA = ninja -C $(1) -j$(JOBS)

.PHONY: all setup setup-test tests test test-all demo bench install clean format lint

all: setup
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release $(CMAKE_FLAGS) >/dev/null
	@$(call NINJA,$(BUILD))

setup:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh test

# Everything that the default run of the tests needs, built.
tests: setup-test all
	@$(call NINJA,$(BUILD)) tests
	@cmake --preset sanitize >/dev/null
	@$(call NINJA,build-sanitize) tests

test: tests
	@tests/run --build $(BUILD)

# The long sweeps as well.
test-all: tests
	@cmake --preset thread >/dev/null
	@$(call NINJA,build-thread) tests
	@tests/run --build $(BUILD) --all

demo: all
	@scripts/demo.sh

bench: all
	@bench/run

install: all
	@cmake --install $(BUILD)

clean:
	rm -rf build build-*

format:
	@scripts/setup.sh lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i

lint:
	@scripts/setup.sh lint
	@git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
	@git ls-files '*.sh' '.ci/run' | xargs shellcheck
	@tests/check/rules.py
