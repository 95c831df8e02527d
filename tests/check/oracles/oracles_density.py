#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares `density` with OpenCV's sums and with counts in NumPy."""

import os
import subprocess
import tempfile

import cv2
import numpy

import bridge
import frame

RNG = numpy.random.default_rng(7)
OPENCV_BORDERS = {"replicate": cv2.BORDER_REPLICATE, "reflect": cv2.BORDER_REFLECT,
                  "reflect101": cv2.BORDER_REFLECT_101, "constant": cv2.BORDER_CONSTANT}
NUMPY_BORDERS = {"replicate": "edge", "reflect": "symmetric", "reflect101": "reflect", "wrap": "wrap"}


def same(chain, got, wanted):
    wrong = numpy.argwhere(got != wanted)
    assert len(wrong) == 0, (f"{chain}: {len(wrong)} wrong, the first at {wrong[0]}: {got[tuple(wrong[0])]}, "
                             f"should be {wanted[tuple(wrong[0])]}")


def opencv_sums(pixels, size, border):
    """hone's window of even size reaches one pixel further before the centre than behind it, as OpenCV's."""
    sums = cv2.boxFilter(pixels.astype(numpy.float64), cv2.CV_64F, (size, size), normalize=False,
                         borderType=OPENCV_BORDERS[border])
    return numpy.rint(sums).astype(numpy.int64)


def numpy_counts(pixels, size, border):
    before = size // 2
    padded = numpy.pad(pixels != 0, ((before, size - 1 - before),) * 2, mode=NUMPY_BORDERS[border])
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (size, size))
    return windows.sum(axis=(2, 3), dtype=numpy.int64)


def test_sums_against_opencv():
    for dtype, sizes in ((numpy.uint8, (4, 15, 31)), (numpy.uint16, (1, 8, 31))):
        pixels = RNG.integers(0, numpy.iinfo(dtype).max + 1, (67, 93), dtype=dtype)
        for size, border in zip(sizes, ("replicate", "reflect101", "constant")):
            sums = opencv_sums(pixels, size, border)
            threshold = int(numpy.median(sums))
            chain = f"density size={size} threshold={threshold} border={border}"
            same(chain, bridge.apply(chain, pixels), numpy.where(sums >= threshold, sums, 0))


def test_counts_against_numpy():
    mask = (RNG.random((71, 90)) < 0.03).astype(numpy.uint8) * 200
    for size, border in ((31, "replicate"), (12, "reflect"), (45, "wrap")):
        counts = numpy_counts(mask, size, border)
        threshold = int(numpy.median(counts))
        chain = f"density size={size} threshold={threshold} mask=yes border={border}"
        same(chain, bridge.apply(chain, mask), numpy.where(counts >= threshold, counts, 0))


def marks_of(sums, threshold):
    return numpy.where(sums >= threshold, 255, 0).astype(numpy.uint8)


def same_marks(chain, pixels, wanted, variant=None):
    got = bridge.apply(chain, pixels, variant=variant)
    assert got.dtype == numpy.uint8, f"{chain}: marks are {got.dtype}, should be uint8"
    same(f"{chain} {variant or ''}", got, wanted)


def test_marks_against_opencv():
    for dtype, sizes in ((numpy.uint8, (4, 15, 31)), (numpy.uint16, (1, 8, 31))):
        pixels = RNG.integers(0, numpy.iinfo(dtype).max + 1, (67, 93), dtype=dtype)
        for size, border in zip(sizes, ("replicate", "reflect101", "constant")):
            sums = opencv_sums(pixels, size, border)
            for threshold in (int(numpy.median(sums)), int(sums.max()), int(sums.max()) + 1):
                chain = f"density size={size} threshold={threshold} output=marks border={border}"
                same_marks(chain, pixels, marks_of(sums, threshold))


def test_marks_of_counts_against_numpy():
    mask = (RNG.random((71, 90)) < 0.03).astype(numpy.uint8) * 200
    for size, border in ((31, "replicate"), (12, "reflect"), (45, "wrap")):
        counts = numpy_counts(mask, size, border)
        for threshold in (1, int(numpy.median(counts)), int(counts.max())):
            chain = f"density size={size} threshold={threshold} mask=yes output=marks border={border}"
            same_marks(chain, mask, marks_of(counts, threshold))


VARIANTS = ("direct", "integral", "sliding", "packed", "compact")


def test_marks_at_the_ends():
    """A threshold of 0 marks what has nothing around it, too, and one beyond all sums nothing; in every variant that needs
    no more than OpenCL, and in the one that is chosen."""
    black, white, inside = (numpy.full((40, 50), value, numpy.uint8) for value in (0, 255, 0))
    inside[4:-4, 4:-4] = 255
    for variant in (None, *VARIANTS):
        for mask, largest in (("yes", 81), ("no", 81 * 255)):
            chain = f"density size=9 mask={mask} output=marks border=zero-outside"
            same_marks(f"{chain} threshold=0", black, inside, variant)
            same_marks(f"{chain} threshold={largest}", white, inside, variant)
            same_marks(f"{chain} threshold={largest + 1}", white, 0, variant)
    for threshold, wanted in ((0, 255), (1, 0), (4294967295, 0)):
        same_marks(f"density size=9 output=marks threshold={threshold}", black, wanted)


def test_largest_sum_of_sixteen_bits():
    """One pixel of 65535: thresholds beyond it are none of 16 bits."""
    white = numpy.full((20, 30), 65535, numpy.uint16)
    same_marks("density size=1 threshold=65535 output=marks", white, 255)
    same_marks("density size=1 threshold=65536 output=marks", white, 0)
    same("sums of 65535", bridge.apply("density size=1 threshold=65535", white), 65535)
    same("sums beyond", bridge.apply("density size=1 threshold=65536", white), 0)


def test_alpha_beside_marks():
    """Colours are marked each on its own; alpha stays, of 16 bits as its share of 255."""
    for dtype in (numpy.uint8, numpy.uint16):
        most = numpy.iinfo(dtype).max
        pixels = RNG.integers(0, most + 1, (47, 61, 4), dtype=dtype)
        if dtype == numpy.uint16:
            pixels[0, :2, 3] = 25828, 25829  # on either side of 100.5 shares of 257
        wanted = numpy.dstack([marks_of(opencv_sums(pixels[:, :, c], 6, "replicate"), 18 * most) for c in range(4)])
        wanted[:, :, 3] = numpy.floor(pixels[:, :, 3] / (most / 255) + 0.5)
        for variant in (None, "direct", "integral", "compact"):
            same_marks(f"density size=6 threshold={18 * most} output=marks", pixels, wanted, variant)


def test_all_sums_add_up():
    """Under border=wrap each pixel lies in size*size windows."""
    pixels = RNG.integers(0, 256, (40, 53), dtype=numpy.uint8)
    total = bridge.apply("density size=9 border=wrap", pixels).sum()
    assert total == 81 * int(pixels.sum()), f"sums add up to {total}, should be {81 * int(pixels.sum())}"


def test_type_of_the_result():
    """u16 as long as the largest sum fits, u32 beyond, and no window whose sum might not fit that."""
    white = numpy.full((20, 20), 255, numpy.uint8)
    same("16", bridge.apply("density size=16", white), 65280)
    same("beyond 16 bits", bridge.apply("density size=16 threshold=65536", white), 0)
    same("17", bridge.apply("density size=17", white), 73695)
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.png"), os.path.join(folder, "out.csv")
        cv2.imwrite(source, white)
        result = subprocess.run([os.path.join(frame.build(), "hone"), "apply", "density size=4105", source, "-o", target],
                                capture_output=True, text=True)
        assert result.returncode != 0 and "at most 4104" in result.stderr, result.stderr


frame.main(globals())
