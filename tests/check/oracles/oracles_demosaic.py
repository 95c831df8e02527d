#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`demosaic` against OpenCV (bilinear, away from the edges), the filters of Malvar, He and Cutler 2004 by convolution, and
pictures that every demosaicing must give back."""

import fractions

import cv2
import numpy

import bridge
import frame

SEED = 20240611
PATTERNS = ("rggb", "bggr", "grbg", "gbrg")


def mosaic(kind, shape, seed=SEED):
    return numpy.random.default_rng(seed).integers(0, numpy.iinfo(kind).max + 1, shape, dtype=kind)


# Figure 2 of the paper: weights over 8, by what is at hand and what is wanted.
PAPER = {
    "green": ["0 0 -1 0 0", "0 0 2 0 0", "-1 2 4 2 -1", "0 0 2 0 0", "0 0 -1 0 0"],
    "row": ["0 0 1/2 0 0", "0 -1 0 -1 0", "-1 4 5 4 -1", "0 -1 0 -1 0", "0 0 1/2 0 0"],
    "diagonal": ["0 0 -3/2 0 0", "0 2 0 2 0", "-3/2 0 6 0 -3/2", "0 2 0 2 0", "0 0 -3/2 0 0"],
}


def paper_filter(name):
    if name == "column":
        return paper_filter("row").T
    return numpy.array([[float(fractions.Fraction(w)) for w in row.split()] for row in PAPER[name]]) / 8


def pad_colors_apart(samples, mode):
    """Two samples more on each side, every second row and column padded for itself."""
    height, width = samples.shape
    padded = numpy.zeros((height + 4, width + 4), samples.dtype)
    for j in range(2):
        for i in range(2):
            padded[j::2, i::2] = numpy.pad(samples[j::2, i::2], 1, mode=mode)
    return padded


def pad(samples, border):
    if border == "reflect101":
        return numpy.pad(samples, 2, mode="reflect")
    if border == "constant":
        return numpy.pad(samples, 2, mode="constant", constant_values=7)
    return pad_colors_apart(samples, {"replicate": "edge", "reflect": "symmetric", "wrap": "wrap"}[border])


def convolved(padded, weights):
    height, width = padded.shape[0] - 4, padded.shape[1] - 4
    total = numpy.zeros((height, width))
    for j in range(5):
        for i in range(5):
            total += weights[j, i] * padded[j:j + height, i:i + width]
    return total


def malvar(samples, pattern, border):
    padded, most = pad(samples, border).astype(float), numpy.iinfo(samples.dtype).max
    made = {name: convolved(padded, paper_filter(name)) for name in ("green", "row", "column", "diagonal")}
    made = {name: numpy.clip(numpy.floor(plane + 0.5), 0, most) for name, plane in made.items()}
    result = numpy.zeros(samples.shape + (3,), samples.dtype)
    for y in range(2):
        for x in range(2):
            own = pattern[2 * y + x]
            for channel, wanted in enumerate("rgb"):
                if wanted == own:
                    plane = samples
                elif own != "g":
                    plane = made["green" if wanted == "g" else "diagonal"]
                else:
                    plane = made["row" if wanted in pattern[2 * y:2 * y + 2] else "column"]
                result[y::2, x::2, channel] = plane[y::2, x::2]
    return result


def test_malvar_against_the_paper():
    for kind, shape in (("uint8", (38, 92)), ("uint16", (24, 66))):
        for number, pattern in enumerate(PATTERNS):
            samples = mosaic(kind, shape, SEED + number)
            wanted = malvar(samples, pattern, "replicate")
            for variant in bridge.variants("demosaic"):
                got = bridge.apply(f"demosaic method=malvar pattern={pattern}", samples, variant=variant)
                frame.check(numpy.array_equal(got, wanted),
                            f"{variant} {kind} {pattern}: {numpy.count_nonzero(got != wanted)} differ")


def test_borders_keep_colors_apart():
    samples = mosaic("uint8", (14, 20))
    for border in ("replicate", "reflect", "reflect101", "wrap", "constant"):
        chain = f"demosaic method=malvar border={border}" + (" border-value=7" if border == "constant" else "")
        frame.check(numpy.array_equal(bridge.apply(chain, samples), malvar(samples, "rggb", border)), border)


def test_bilinear_against_opencv():
    for kind in ("uint8", "uint16"):
        for pattern in PATTERNS:
            samples = mosaic(kind, (50, 70))
            wanted = cv2.cvtColor(samples, getattr(cv2, f"COLOR_Bayer{pattern.upper()}2RGB"))[1:-1, 1:-1]
            for variant in bridge.variants("demosaic"):
                got = bridge.apply(f"demosaic pattern={pattern}", samples, variant=variant)[1:-1, 1:-1]
                frame.check(numpy.array_equal(got, wanted), f"{variant} {kind} {pattern}")


def test_even_colors_come_back():
    """A picture of one colour, seen through the filter array."""
    color = {"r": 200, "g": 90, "b": 31}
    for method in ("bilinear", "malvar"):
        for pattern in PATTERNS:
            samples = numpy.tile(numpy.array([color[c] for c in pattern], "uint8").reshape(2, 2), (11, 23))
            got = bridge.apply(f"demosaic method={method} pattern={pattern} border=reflect101", samples)
            frame.check((got == [200, 90, 31]).all(), f"{method} {pattern}: {got[0, 0]}")


def test_gray_ramps_come_back():
    """Both methods keep what is linear, where all three colours are the same."""
    y, x = numpy.mgrid[0:40, 0:60]
    ramp = (3 * x + 2 * y).astype("uint16")
    for method in ("bilinear", "malvar"):
        got = bridge.apply(f"demosaic method={method}", ramp)[2:-2, 2:-2]
        frame.check(numpy.array_equal(got, numpy.dstack([ramp[2:-2, 2:-2]] * 3)), method)


frame.main(globals())
