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


def apply(chain, pixels, suffix):
    """The chain's result as the numbers in a file."""
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "in.tiff" if pixels.dtype == numpy.float32 else "in.png")
        target = os.path.join(folder, "out" + suffix)
        cv2.imwrite(source, pixels)
        result = subprocess.run([os.path.join(frame.build(), "hone"), "apply", chain, source, "-o", target, "-q"],
                                capture_output=True, text=True)
        assert result.returncode == 0, f"{chain}: {result.stderr}"
        if suffix == ".csv":
            return numpy.loadtxt(target, dtype=numpy.int64, delimiter=",", ndmin=2)
        if suffix == ".json":
            with open(target, encoding="utf-8") as file:
                return json.load(file)
        return cv2.imread(target, cv2.IMREAD_UNCHANGED)


def same(got, wanted, what):
    assert got.shape == wanted.shape, f"{what}: {got.shape}, should be {wanted.shape}"
    assert (got == wanted).all(), f"{what}: differs in {(got != wanted).sum()} places"


def test_bytes_against_opencv():
    pixels = RNG.integers(0, 256, (83, 119), dtype=numpy.uint8) // 3
    for bins in (256, 64, 7, 1):
        wanted = cv2.calcHist([pixels], [0], None, [bins], [0, 256]).astype(numpy.int64).reshape(1, bins)
        same(apply(f"histogram bins={bins}", pixels, ".csv"), wanted, f"{bins} bins")


def test_shorts_against_numpy():
    pixels = RNG.integers(0, 65536, (61, 77), dtype=numpy.uint16)
    for bins in (256, 1000, 65536):
        wanted = numpy.histogram(pixels, bins, (0, 65536))[0].reshape(1, bins)
        same(apply(f"histogram bins={bins}", pixels, ".csv"), wanted, f"{bins} bins")


def test_floats_against_numpy():
    """Powers of two, so that no product is rounded; what lies outside belongs to the bins at the ends."""
    pixels = RNG.normal(0.5, 0.4, (50, 60)).astype(numpy.float32)
    pixels[0, :4] = numpy.nan, numpy.inf, -numpy.inf, 1
    for bins in (2, 256, 4096):
        inside = numpy.clip(pixels[~numpy.isnan(pixels)], 0, 1)
        wanted = numpy.histogram(inside, bins, (0, 1))[0].reshape(1, bins)
        same(apply(f"histogram bins={bins}", pixels, ".csv"), wanted, f"{bins} bins")


def test_channels_as_json():
    """OpenCV's order is blue, green, red; files and hone have red first."""
    pixels = RNG.integers(0, 200, (40, 50, 3), dtype=numpy.uint8)
    table = apply("histogram bins=32", pixels, ".json")
    assert (table["width"], table["height"], table["channels"], table["type"]) == (32, 1, 3, "u32"), table
    wanted = numpy.stack([numpy.histogram(pixels[:, :, 2 - c], 32, (0, 256))[0] for c in range(3)], axis=1)
    same(numpy.array(table["rows"]), wanted[numpy.newaxis], "json")


def test_picture():
    pixels = RNG.integers(0, 256, (64, 64), dtype=numpy.uint8) | 16
    counts = numpy.histogram(pixels, 100, (0, 256))[0]
    bars = -(-counts * 256 // counts.max())
    wanted = (256 - numpy.arange(256)[:, numpy.newaxis] <= bars) * 255
    same(apply("histogram bins=100 output=picture", pixels, ".png"), wanted, "picture")


frame.main(globals())
