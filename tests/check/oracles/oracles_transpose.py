#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`transpose` against NumPy and OpenCV, at sizes that fill the widest blocks."""

import ctypes

import cv2
import numpy

import bridge
import frame

SEED = 20240611


def picture(kind, shape):
    source = numpy.random.default_rng(SEED)
    if kind == "float32":
        return source.normal(0, 1e3, shape).astype(kind)
    return source.integers(numpy.iinfo(kind).min, numpy.iinfo(kind).max + 1, shape, dtype=kind)


def same(got, wanted, what):
    frame.check(got.shape == wanted.shape, f"{what}: {got.shape} instead of {wanted.shape}")
    wrong = numpy.argwhere(got != wanted)
    frame.check(len(wrong) == 0, f"{what}: {len(wrong)} elements differ, the first at {wrong[:1].tolist()}")


def usable(variant, kind, channels):
    if variant == "image":
        return channels in (1, 4) and kind in ("uint8", "uint16")  # formats that every device with images has
    return variant != "bytes" or channels * numpy.dtype(kind).itemsize in (1, 2, 4)


def test_every_format_against_numpy():
    for kind in ("uint8", "uint16", "int16", "float32"):
        for channels in (1, 2, 3, 4):
            a = picture(kind, (203, 157) if channels == 1 else (203, 157, channels))
            wanted = a.swapaxes(0, 1)
            for variant in bridge.variants("transpose"):
                if usable(variant, kind, channels):
                    got = bridge.apply("transpose", a, variant=variant)
                    same(got, wanted, f"{variant} {kind} x{channels}")


def test_sizes_of_the_vector_kernel():
    """Around its blocks (64 rows of 16 bytes), its items, and rows that fill cache lines."""
    for kind in ("uint8", "uint16", "float32"):
        for height, width in ((64, 16), (65, 17), (63, 15), (128, 64), (129, 65), (256, 300), (320, 271), (1, 300), (300, 1)):
            a = picture(kind, (height, width))
            for config in ("COLUMNS=64 ROWS=64 STREAM=1", "COLUMNS=256 ROWS=256", "COLUMNS=32 ROWS=4096 STREAM=1"):
                got = bridge.apply("transpose", a, variant="vectors", config=config)
                same(got, a.T, f"{kind} {width}x{height} {config}")


def test_against_opencv():
    for kind in ("uint8", "uint16", "float32"):
        for shape in ((333, 500), (500, 333, 3), (128, 192, 4)):
            a = picture(kind, shape)
            same(bridge.apply("transpose", a), cv2.transpose(a), f"{kind} {shape}")


def test_twice_is_nothing():
    a = picture("uint16", (411, 97, 3))
    same(bridge.apply("transpose | transpose", a), a, "there and back")


def test_rows_apart():
    """Any pitch on both sides; what lies between rows stays."""
    for kind in ("uint8", "float32"):
        for variant in ("tiles", "bytes", "vectors"):
            store, result = picture(kind, (150, 141)), picture(kind, (131, 163))
            a, wanted = store[:, 5:136], result.copy()
            wanted[:, 7:157] = a.T
            plan = bridge.make_plan("transpose", a, None, variant, None)
            into = result[:, 7:]
            try:
                bridge.call("hone_plan_apply", plan, bridge.pointer(a), ctypes.c_size_t(store.strides[0]),
                            bridge.pointer(into), ctypes.c_size_t(result.strides[0]))
            finally:
                bridge.library().hone_plan_destroy(ctypes.byref(plan))
            same(result, wanted, f"{variant} {kind}")


frame.main(globals())
