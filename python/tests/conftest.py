# SPDX-License-Identifier: BSD-2-Clause
import numpy
import pytest


@pytest.fixture
def random():
    return numpy.random.default_rng(7)


@pytest.fixture
def gray(random):
    return random.integers(0, 256, (61, 83), dtype=numpy.uint8)


@pytest.fixture
def colour(random):
    return random.integers(0, 256, (47, 64, 3), dtype=numpy.uint8)
