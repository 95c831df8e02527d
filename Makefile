# SPDX-License-Identifier: BSD-2-Clause
# A thin cover over CMake and Ninja. `make` builds build/hone; `make test` and `make demo` also install what is missing.

BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc)
NINJA = ninja -C $(1) -j$(JOBS)

.PHONY: all setup setup-test setup-python setup-gst python test-python test-clusters gst test-gst test-own-filters tests tests-full test test-full test-all demo bench install uninstall deb clean format lint

all: setup
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release $(CMAKE_FLAGS) >/dev/null
	@$(call NINJA,$(BUILD))

setup:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh test

setup-python:
	@scripts/setup.sh python

# The Python package as a wheel, in build-python/wheels; pip fetches its build tool, scikit-build-core.
PYTHON ?= /usr/bin/python3
python: setup-python
	@$(PYTHON) -m venv build-python/venv
	@build-python/venv/bin/pip wheel --quiet --no-deps --wheel-dir build-python/wheels ./python
	@ls build-python/wheels/*.whl

test-python: all setup-python
	@tests/run --build $(BUILD) check-python

# hone.dask: a scheduler and workers, as root on a network of namespaces.
test-clusters: all setup-python
	@tests/check/library/python.py build=$(abspath $(BUILD)) dask cluster

# Filters in a file of the user's own, and the examples of them.
test-own-filters: tests
	@tests/run --build $(BUILD) check-own_filters harness-own

# The GStreamer element, build/gstreamer-1.0/libgsthone.so. Configures anew: GStreamer may just have been installed.
setup-gst:
	@scripts/setup.sh gst

gst: setup-gst
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release $(CMAKE_FLAGS) >/dev/null
	@$(call NINJA,$(BUILD)) gst

test-gst: gst tests
	@tests/run --build $(BUILD) gst-element check-gstreamer

# The test programs, and for test-full those with sanitizers, too.
tests: setup-test all
	@$(call NINJA,$(BUILD)) tests

tests-full: tests
	@cmake --preset sanitize >/dev/null
	@$(call NINJA,build-sanitize) tests

# Some minutes: every filter and variant, every unit.
test: tests
	@tests/run --build $(BUILD)

# The rest; .ci/run runs both.
test-full: tests-full
	@tests/run --build $(BUILD) --tier full

# The long sweeps as well.
test-all: tests-full
	@cmake --preset thread >/dev/null
	@$(call NINJA,build-thread) tests
	@tests/run --build $(BUILD) --tier fast,full,all

demo: all
	@scripts/demo.sh

bench: all
	@bench/run

install: all
	@cmake --install $(BUILD)

# What the last `make install` put there (DESTDIR as it was then), and the folders of its own, if they are empty now.
uninstall:
	@scripts/uninstall.sh $(BUILD)

# Debian packages in build-deb, checked by lintian.
deb:
	@scripts/setup.sh deb
	@scripts/deb.sh

clean:
	rm -rf build build-*

format:
	@scripts/setup.sh lint
	@git ls-files '*.c' '*.h' '*.cl' '*.clh' | xargs clang-format -i

lint:
	@scripts/setup.sh lint
	@git ls-files '*.c' '*.h' '*.cl' '*.clh' | xargs clang-format --dry-run -Werror
	@git ls-files '*.sh' '.ci/run' | xargs shellcheck
	@tests/check/house/rules.py
