#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`dot` against numpy.einsum in double precision, and where the arithmetic is exact."""

import numpy

import bridge
import frame

SEED = 20240611


def test_every_variant_against_einsum():
    source = numpy.random.default_rng(SEED)
    for shape, scale in (((61, 83, 4), 1.0), ((20, 257, 4), 1e3)):
        a, b = (source.normal(0, scale, shape).astype("float32") for _ in range(2))
        wanted = numpy.einsum("yxc,yxc->yx", a.astype(float), b.astype(float))
        bound = 1e-6 * numpy.abs(a).max() * numpy.abs(b).max()
        for variant in bridge.variants("dot"):
            got = bridge.apply("dot", a, second=b, variant=variant)
            worst = numpy.abs(got - wanted).max()
            frame.check(got.shape == shape[:2] and worst <= bound, f"{variant} {shape}: off by {worst}, allowed {bound}")


def test_small_integers_are_exact():
    """Products and sums below 2^24 do not round, in whatever order."""
    source = numpy.random.default_rng(SEED + 1)
    a, b = (source.integers(-1000, 1001, (35, 47, 4)) for _ in range(2))
    for variant in bridge.variants("dot"):
        got = bridge.apply("dot", a.astype("float32"), second=b.astype("float32"), variant=variant)
        frame.check(numpy.array_equal(got, (a * b).sum(2)), f"{variant} rounds")


def test_unit_vectors_pick_a_channel():
    a = numpy.random.default_rng(SEED + 2).normal(0, 1, (16, 33, 4)).astype("float32")
    for channel in range(4):
        unit = numpy.zeros_like(a)
        unit[:, :, channel] = 1
        frame.check(numpy.array_equal(bridge.apply("dot", a, second=unit), a[:, :, channel]), f"channel {channel}")


def test_five_million_pairs():
    """The number of pairs in the guide, as an image of 2500 x 2000."""
    a = (numpy.arange(2500 * 2000 * 4, dtype=numpy.int64) % 97).astype("float32").reshape(2000, 2500, 4)
    b = (numpy.arange(2500 * 2000 * 4, dtype=numpy.int64) % 89).astype("float32").reshape(2000, 2500, 4)
    frame.check(numpy.array_equal(bridge.apply("dot", a, second=b), numpy.einsum("yxc,yxc->yx", a, b)), "they differ")


frame.main(globals())
