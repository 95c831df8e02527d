#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`colormap` against OpenCV's maps, colours everybody knows, and the rainbow as its comment describes it."""

import cv2
import numpy

import bridge
import frame

LEVELS = numpy.arange(256, dtype="uint8").reshape(4, 64)


def colors(name, variant=None):
    return bridge.apply(f"colormap map={name}", LEVELS, variant=variant).reshape(256, 3)


def published(name):
    bgr = cv2.applyColorMap(LEVELS, getattr(cv2, "COLORMAP_" + name.upper()))
    return bgr[:, :, ::-1].reshape(256, 3)


def tables():
    """Variants that take every map."""
    return [name for name in bridge.variants("colormap") if name != "formula"]


def test_tables_against_opencv():
    for name in ("viridis", "magma"):
        for variant in tables():
            frame.check(numpy.array_equal(colors(name, variant), published(name)), f"{variant} {name}")


def test_turbo_is_near_the_published_one():
    worst = numpy.abs(colors("turbo").astype(int) - published("turbo")).max()
    frame.check(worst <= 2, f"off by {worst} levels")


def test_rainbow_walks_from_blue_to_red():
    """Anchors, and between them straight legs: numpy.interp over four edges of the colour cube."""
    edges = [(0, 0, 255), (0, 255, 255), (0, 255, 0), (255, 255, 0), (255, 0, 0)]
    ways = numpy.arange(256) * 4
    wanted = numpy.stack([numpy.interp(ways, numpy.arange(5) * 255, [edge[c] for edge in edges]) for c in range(3)], 1)
    for variant in bridge.variants("colormap"):
        frame.check(numpy.array_equal(colors("rainbow", variant), wanted), variant)


def test_gray_stays_gray():
    for variant in bridge.variants("colormap"):
        frame.check(numpy.array_equal(colors("gray", variant), numpy.repeat(LEVELS.reshape(256, 1), 3, 1)), variant)


def test_all_levels_of_u16():
    """The nearest of 256 levels, for every value."""
    values = numpy.arange(65536, dtype="uint16").reshape(256, 256)
    wanted = numpy.rint(values.astype(float) / 257).astype("uint8")
    for variant in bridge.variants("colormap"):
        got = bridge.apply("colormap map=gray", values, variant=variant)
        frame.check(numpy.array_equal(got, numpy.dstack([wanted] * 3)), variant)


def test_all_levels_of_s16():
    """As those of u16, counted from the least number: 0 is in the middle."""
    values = numpy.arange(-32768, 32768).astype("int16").reshape(256, 256)
    wanted = numpy.rint((values.astype(float) + 32768) / 257).astype("uint8")
    frame.check(wanted[128, 0] == 128, "0 is not in the middle")
    for variant in bridge.variants("colormap"):
        got = bridge.apply("colormap map=gray", values, variant=variant)
        frame.check(numpy.array_equal(got, numpy.dstack([wanted] * 3)), variant)


def test_floats_from_0_to_1():
    values = numpy.linspace(-0.25, 1.25, 3002, dtype="float32")
    values = numpy.concatenate([values, numpy.float32([numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30])]).reshape(31, 97)
    scaled = numpy.nan_to_num(values * numpy.float32(255), nan=0, posinf=300, neginf=-300)
    wanted = numpy.clip(numpy.rint(scaled), 0, 255).astype("uint8")
    for variant in bridge.variants("colormap"):
        got = bridge.apply("colormap map=gray", values, variant=variant)
        frame.check(numpy.array_equal(got, numpy.dstack([wanted] * 3)), variant)


def test_polynomials_are_within_a_level():
    for name in ("viridis", "magma", "turbo"):
        got = bridge.apply(f"colormap map={name} accuracy=relaxed", LEVELS, variant="polynomial").reshape(256, 3)
        worst = numpy.abs(got.astype(int) - colors(name)).max()
        frame.check(worst <= 1, f"{name}: off by {worst}")


frame.main(globals())
