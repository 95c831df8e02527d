#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`add` against OpenCV, NumPy and what the command writes."""

import os
import subprocess
import tempfile

import cv2
import numpy

import bridge
import frame

SEED = 20240611


def pair(kind, shape):
    source = numpy.random.default_rng(SEED)
    if kind == "float32":
        return [source.normal(0, 1e3, shape).astype(kind) for _ in range(2)]
    return [source.integers(numpy.iinfo(kind).min, numpy.iinfo(kind).max + 1, shape, dtype=kind) for _ in range(2)]


def test_every_variant_against_opencv():
    for kind in ("uint8", "uint16", "int16", "float32"):
        for shape in ((61, 83), (33, 50, 3), (40, 31, 4)):
            a, b = pair(kind, shape)
            wanted = cv2.add(a, b)
            for variant in bridge.variants("add"):
                got = bridge.apply("add", a, second=b, variant=variant)
                frame.check(numpy.array_equal(got, wanted),
                            f"{variant} {kind} {shape}: {numpy.count_nonzero(got != wanted)} differ")


def test_all_pairs_of_bytes():
    """Every sum of two bytes, in every place of a word."""
    a, b = (m.astype("uint8") for m in numpy.meshgrid(numpy.arange(256), numpy.arange(256)))
    wanted = numpy.minimum(a.astype(int) + b, 255)
    for shift in range(4):
        first, second = numpy.roll(a, shift, 1), numpy.roll(b, shift, 1)
        for variant in bridge.variants("add"):
            got = bridge.apply("add", first, second=second, variant=variant)
            frame.check(numpy.array_equal(got, numpy.roll(wanted, shift, 1)), f"{variant}, shifted by {shift}")


def test_adding_nothing_and_order():
    """a + 0 = a, a + b = b + a."""
    for kind in ("uint8", "uint16", "int16", "float32"):
        a, b = pair(kind, (37, 129))
        frame.check(numpy.array_equal(bridge.apply("add", a, second=numpy.zeros_like(a)), a), f"{kind}: a + 0")
        frame.check(numpy.array_equal(bridge.apply("add", a, second=b), bridge.apply("add", b, second=a)), f"{kind}: b + a")


def test_command_adds_a_file():
    a, b = pair("uint8", (30, 45))
    with tempfile.TemporaryDirectory() as folder:
        one, two, out = (os.path.join(folder, name) for name in ("a.pgm", "b.pgm", "out.pgm"))
        cv2.imwrite(one, a)
        cv2.imwrite(two, b)
        subprocess.run([os.path.join(frame.build(), "hone"), "apply", "-q", f"add image={two}", one, "-o", out],
                       check=True, timeout=100)
        frame.check(numpy.array_equal(cv2.imread(out, cv2.IMREAD_UNCHANGED), cv2.add(a, b)), "the file differs")


def test_command_adds_gradients():
    """s16 that a filter makes, or that a file holds, meets s16 of a file."""
    a, _ = pair("uint8", (30, 45))
    b, _ = pair("int16", (30, 45))
    gradient = cv2.Sobel(a, cv2.CV_16S, 1, 0, borderType=cv2.BORDER_REPLICATE)
    with tempfile.TemporaryDirectory() as folder:
        one, two, out = (os.path.join(folder, name) for name in ("a.png", "b.tif", "out.tif"))
        cv2.imwrite(one, a)
        cv2.imwrite(two, b)
        for chain, source, wanted in ((f"sobel output=dx | add image={two}", one, cv2.add(gradient, b)),
                                      (f"add image={two}", two, cv2.add(b, b))):
            subprocess.run([os.path.join(frame.build(), "hone"), "apply", "-q", chain, source, "-o", out], check=True, timeout=100)
            got = cv2.imread(out, cv2.IMREAD_UNCHANGED)
            frame.check(got.dtype == numpy.int16 and numpy.array_equal(got, wanted), f"{chain}: the file differs")


def test_other_sizes_and_formats_are_refused():
    a, b = pair("uint8", (30, 45))
    for second in (b[:29], b[:, :44], b.astype("uint16"), numpy.dstack([b] * 3)):
        try:
            bridge.apply("add", a, second=second)
        except bridge.Failed as failure:
            frame.check("must be 45x30 u8 x1" in str(failure), f"the message is: {failure}")
        else:
            raise AssertionError(f"a second image of {second.shape} {second.dtype} was taken")


frame.main(globals())
