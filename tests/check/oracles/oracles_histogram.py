#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares `histogram` with OpenCV's and NumPy's, and its picture with bars drawn in NumPy."""

import json
import os
import subprocess
import tempfile

import cv2
import numpy

import frame

RNG = numpy.random.default_rng(11)


def apply(chain, pixels, suffix, *options):
    """The chain's result as the numbers in a file."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "in.tiff" if pixels.dtype in (numpy.float32, numpy.int16) else "in.png")
        target = os.path.join(folder, "out" + suffix)
        cv2.imwrite(source, pixels)
        result = subprocess.run([os.path.join(frame.build(), "hone"), "apply", chain, source, "-o", target, "-q", *options],
                                capture_output=True, text=True)
        assert result.returncode == 0, f"{chain}: {result.stderr}"
        if suffix == ".csv":
            return numpy.loadtxt(target, delimiter=",", ndmin=2, skiprows=1)
        if suffix == ".json":
            with open(target, encoding="utf-8") as file:
                return json.load(file)
        return cv2.imread(target, cv2.IMREAD_UNCHANGED)


def same(got, wanted, what):
    assert got.shape == wanted.shape, f"{what}: {got.shape}, should be {wanted.shape}"
    assert (got == wanted).all(), f"{what}: differs in {(got != wanted).sum()} places"


def counted(chain, pixels):
    """The table in a CSV file: edges, counts, and what was outside: below, above, NaN."""
    lines = apply(chain, pixels, ".csv")
    outside = {"below": 0, "above": 0, "nan": 0}
    for low, high, count in lines[~numpy.isfinite(lines[:, :2]).all(axis=1)]:
        outside["nan" if numpy.isnan(low) else "below" if numpy.isneginf(low) else "above"] = count
    bins = lines[numpy.isfinite(lines[:, :2]).all(axis=1)]
    assert (bins[1:, 0] == bins[:-1, 1]).all(), f"{chain}: the bins do not touch"
    return numpy.append(bins[:, 0], bins[-1, 1]), bins[:, 2].astype(numpy.int64), outside


def check_numpy(chain, pixels, bins, limits):
    """The edges are NumPy's, and the counts those that NumPy finds between them. Gives what is outside."""
    edges, counts, outside = counted(chain, pixels)
    wanted = numpy.linspace(*limits, bins + 1)
    span = max(abs(limits[0]), abs(limits[1]))
    assert edges.shape == wanted.shape and (abs(edges - wanted) <= 1e-15 * span).all(), f"{chain}: edges {edges}"
    same(counts, numpy.histogram(pixels[~numpy.isnan(pixels)].astype(numpy.float64), edges)[0], chain)
    assert outside["below"] == (pixels < edges[0]).sum() and outside["above"] == (pixels > edges[-1]).sum(), outside
    assert outside["nan"] == numpy.isnan(pixels).sum(), outside
    return outside


def test_bytes_against_opencv():
    pixels = RNG.integers(0, 256, (83, 119), dtype=numpy.uint8) // 3
    for bins in (256, 64, 7, 1):
        wanted = cv2.calcHist([pixels], [0], None, [bins], [0, 256]).astype(numpy.int64).reshape(bins)
        edges, counts, _ = counted(f"histogram bins={bins}", pixels)
        same(counts, wanted, f"{bins} bins")
        assert (abs(edges - numpy.linspace(0, 256, bins + 1)) < 1e-12).all(), edges


def test_bytes_that_are_mostly_the_same():
    """More of them than a counter of 16 bits holds, however many such counters take turns."""
    pixels = numpy.full((1000, 1300), 7, numpy.uint8)
    pixels[::9, ::7] = 200
    for config in ("COPIES=1 PARTS=1", "COPIES=4 PARTS=1", "COPIES=8 PARTS=1"):
        counts = apply("histogram", pixels, ".csv", "--variant", "shares", "--config", config)[:, 2]
        same(counts.astype(numpy.int64), numpy.bincount(pixels.ravel(), minlength=256), config)


def test_ranges_of_bytes():
    pixels = RNG.integers(0, 256, (83, 119), dtype=numpy.uint8)
    for bins, least, most in ((256, 0, 255), (33, -7.5, 99.25), (65536, -1e6, 1e6)):
        check_numpy(f"histogram bins={bins} min={least} max={most}", pixels, bins, (least, most))


def test_shorts_against_numpy():
    pixels = RNG.integers(1000, 50000, (61, 77), dtype=numpy.uint16)
    for bins in (256, 65536):
        check_numpy(f"histogram bins={bins}", pixels, bins, (int(pixels.min()), int(pixels.max())))
        check_numpy(f"histogram bins={bins} min=0 max=65536", pixels, bins, (0, 65536))
    outside = check_numpy("histogram bins=1000 min=2000.5", pixels, 1000, (2000.5, int(pixels.max())))
    assert outside["below"] > 0, outside


def test_floats_against_numpy():
    """By themselves in the range of what is finite, the last bin with its upper edge."""
    pixels = (RNG.normal(0.5, 0.4, (50, 60)) * 1000).astype(numpy.float32)
    pixels[0, :5] = numpy.nan, numpy.inf, -numpy.inf, numpy.inf, numpy.nan
    finite = pixels[numpy.isfinite(pixels)]
    for bins in (1, 10, 3001):
        limits = float(finite.min()), float(finite.max())
        assert check_numpy(f"histogram bins={bins}", pixels, bins, limits) == {"below": 1, "above": 2, "nan": 2}
        check_numpy(f"histogram bins={bins} min=-0.1 max=300.7", pixels, bins, (-0.1, 300.7))


def test_signed_shorts():
    """They stay what they are; PNG has none."""
    pixels = RNG.integers(-32768, 32768, (40, 50), dtype=numpy.int16)
    check_numpy("histogram bins=100", pixels, 100, (int(pixels.min()), int(pixels.max())))
    same(apply("transpose", pixels, ".tif"), pixels.T, "transpose")
    assert apply("transpose", pixels, ".tif").dtype == numpy.int16


def test_alpha_is_not_in_the_range():
    """Full alpha is 65535; colours are 100 to 2999. Alpha is counted like the others, and lies above."""
    pixels = RNG.integers(100, 3000, (40, 50, 4), dtype=numpy.uint16)
    pixels[:, :, 3] = 65535
    table = apply("histogram bins=64", pixels, ".json")
    colours = pixels[:, :, :3]
    assert (table["edges"][0], table["edges"][-1]) == (colours.min(), colours.max()), table["edges"]
    assert table["above"] == [0, 0, 0, 2000], table["above"]


def test_edges_finer_than_floats():
    """More bins than there are floats between the ends, and values on the edges themselves."""
    pixels = numpy.float32(16777216) + 2 * RNG.integers(0, 9, (20, 30)).astype(numpy.float32)
    check_numpy("histogram bins=1000", pixels, 1000, (16777216, 16777232))
    check_numpy("histogram bins=16 min=16777216 max=16777232", pixels, 16, (16777216, 16777232))


def test_one_value():
    """NumPy's rule: half to either side."""
    for value, kind in ((7, numpy.uint16), (0.25, numpy.float32)):
        check_numpy("histogram bins=4", numpy.full((3, 4), value, kind), 4, (value - 0.5, value + 0.5))
    nothing = numpy.full((3, 4), numpy.nan, numpy.float32)
    assert check_numpy("histogram bins=4", nothing, 4, (0, 1))["nan"] == 12


def test_range_behind_a_filter():
    """That of what the last filter sees."""
    pixels = RNG.integers(3000, 60000, (40, 50), dtype=numpy.uint16)
    small = pixels[::-1].copy()
    small[0, 0] = 65535
    check_numpy("transpose | histogram bins=50", small, 50, (int(small.min()), 65535))
    gradient = cv2.Sobel(small.astype(numpy.float64), -1, 1, 0, borderType=cv2.BORDER_REPLICATE)
    edges, counts, _ = counted("sobel output=dx | histogram bins=50", small)
    assert (edges[0], edges[-1]) == (gradient.min(), gradient.max()), edges
    same(counts, numpy.histogram(gradient, edges)[0], "gradients")


def test_channels_as_json():
    """OpenCV's order is blue, green, red; files and hone have red first."""
    pixels = RNG.integers(0, 200, (40, 50, 3), dtype=numpy.uint8)
    table = apply("histogram bins=32 max=160", pixels, ".json")
    assert (table["width"], table["height"], table["channels"], table["type"]) == (32, 1, 3, "u32"), table
    wanted = numpy.stack([numpy.histogram(pixels[:, :, 2 - c], 32, (0, 160))[0] for c in range(3)], axis=1)
    same(numpy.array(table["rows"]), wanted[numpy.newaxis], "json")
    assert table["edges"] == [5 * i for i in range(33)], table["edges"]
    assert table["above"] == [int((pixels[:, :, 2 - c] > 160).sum()) for c in range(3)], table["above"]
    assert table["below"] == table["nan"] == [0, 0, 0], table
    table = apply("histogram bins=2", numpy.array([[numpy.nan, 1, 2]], numpy.float32), ".json")
    assert (table["edges"], table["nan"], table["rows"]) == ([1, 1.5, 2], 1, [[1, 1]]), table


def test_picture():
    pixels = RNG.integers(0, 256, (64, 64), dtype=numpy.uint8) | 16
    counts = numpy.histogram(pixels, 100, (0, 256))[0]
    bars = -(-counts * 256 // counts.max())
    wanted = (256 - numpy.arange(256)[:, numpy.newaxis] <= bars) * 255
    same(apply("histogram bins=100 output=picture", pixels, ".png"), wanted, "picture")


frame.main(globals())
