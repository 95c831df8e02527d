#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares `convolve` with SciPy's correlate and convolve and with OpenCV's filter2D.  build=FOLDER"""

import json
import os
import subprocess
import tempfile

import cv2
import numpy
from scipy import ndimage

import bridge
import frame

FOLDER = tempfile.TemporaryDirectory(prefix="hone-convolve-")
SCIPY_MODES = {"replicate": "nearest", "reflect": "reflect", "reflect101": "mirror", "wrap": "grid-wrap",
               "constant": "constant"}
OPENCV_MODES = {"replicate": cv2.BORDER_REPLICATE, "reflect": cv2.BORDER_REFLECT, "reflect101": cv2.BORDER_REFLECT_101}


def path(name):
    return os.path.join(FOLDER.name, name)


def hone(*arguments, status=0):
    result = subprocess.run([os.path.join(frame.build(), "hone"), *arguments], capture_output=True, text=True, check=False,
                            cwd=FOLDER.name)
    frame.check(result.returncode == status, f"hone {' '.join(arguments)[:200]} ends with {result.returncode}: "
                                             f"{result.stderr[-400:]}")
    return result


def write(name, pixels):
    """Of one channel of bytes."""
    with open(name, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % pixels.shape[::-1] + pixels.tobytes())


def apply(pixels, parameters, variant=None):
    return bridge.apply("convolve " + parameters, pixels, variant=variant)


def picture(kind, height, width, channels=1, seed=1):
    source = numpy.random.default_rng(seed)
    shape = (height, width) if channels == 1 else (height, width, channels)
    if kind == "f32":
        return source.random(shape, dtype=numpy.float32) * 4 - 2
    limits = numpy.iinfo({"u8": numpy.uint8, "u16": numpy.uint16, "s16": numpy.int16}[kind])
    return source.integers(limits.min, limits.max, shape, endpoint=True, dtype=limits.dtype)


def weights(width, height, seed=2):
    return numpy.random.default_rng(seed).integers(-9, 9, (height, width), endpoint=True)


def spelled(kernel):
    numbers = " ".join(repr(v) if isinstance(v, float) else str(v) for v in kernel.flatten().tolist())
    return f"kernel='{kernel.shape[1]}x{kernel.shape[0]}: {numbers}'"


def correlate(pixels, kernel, border, value=0, anchor=None):
    """In whole numbers or double precision; alpha is copied."""
    left, top = anchor or (kernel.shape[1] // 2, kernel.shape[0] // 2)
    origin = (top - kernel.shape[0] // 2, left - kernel.shape[1] // 2)
    planes = pixels[..., None] if pixels.ndim == 2 else pixels
    kind = numpy.float64 if pixels.dtype == numpy.float32 or kernel.dtype.kind == "f" else numpy.int64
    sums = [ndimage.correlate(planes[..., c].astype(kind), kernel.astype(kind), mode=SCIPY_MODES[border], cval=value,
                              origin=origin) for c in range(planes.shape[2])]
    return numpy.stack(sums, axis=-1).reshape(pixels.shape)


def store(values, like):
    info = numpy.iinfo(like.dtype)
    return numpy.clip(numpy.rint(values), info.min, info.max).astype(like.dtype)


def same(got, wanted, what):
    wrong = numpy.argwhere(got != wanted)
    frame.check(len(wrong) == 0, f"{what}: {len(wrong)} differ, the first at {wrong[:1].tolist()}: "
                                 f"{got[tuple(wrong[0])] if len(wrong) else ''} instead of "
                                 f"{wanted[tuple(wrong[0])] if len(wrong) else ''}")


def test_integers_against_scipy():
    """Exactly: weights are whole numbers, the scale a power of two."""
    sizes = [(3, 3), (5, 4), (2, 6), (1, 1), (31, 2)]
    for (width, height), border in zip(sizes, SCIPY_MODES):
        kernel, pixels = weights(width, height), picture("u8", 23, 41)
        text = f"{spelled(kernel)} scale=0.0625 offset=100 border={border}"
        if border == "constant":
            text += " border-value=77"
        sums = correlate(pixels, kernel, border, 77)
        same(apply(pixels, text), store(sums / 16 + 100, pixels), text)


def test_formats_against_scipy():
    kernel = weights(5, 5)
    for kind, channels in (("u16", 1), ("u8", 3), ("u16", 4), ("u8", 4)):
        pixels = picture(kind, 19, 37, channels)
        wanted = store(correlate(pixels, kernel, "reflect") / 32 + 9, pixels)
        if channels == 4:
            wanted[..., 3] = pixels[..., 3]
        same(apply(pixels, spelled(kernel) + " scale=0.03125 offset=9 border=reflect"), wanted, f"{kind} x{channels}")


def test_signed_shorts_against_scipy():
    """Every variant; sums of 32 and of 64 bits and of floats, results that saturate at both ends, halves to even."""
    for kernel, scale in ((weights(5, 4), 0.0625), (weights(3, 3) * 9001, 2**-17), (numpy.ones((1, 2), int), 0.5)):
        pixels = picture("s16", 19, 43)
        pixels[:6, :6], pixels[-6:, -6:] = -32768, 32767
        text = f"{spelled(kernel)} scale={scale!r} border=constant border-value=-300"
        wanted = store((correlate(pixels, kernel, "constant", -300).astype(numpy.float32) * numpy.float32(scale)), pixels)
        for variant, got in bridge.by_variant("convolve", "convolve " + text, pixels, least=4):
            frame.check(got.dtype == numpy.int16, f"{text} {variant}: {got.dtype}")
            same(got, wanted, f"{text} {variant}")


def test_pairs_of_products_against_scipy():
    """16 bits whose sums pass 2^24 with weights that fit 16 bits: odd and even windows, all channels and ends of the range."""
    borders = list(SCIPY_MODES)
    for kind in ("u16", "s16"):
        for channels, (width, height) in enumerate(((15, 15), (4, 5), (9, 4), (7, 7)), 1):
            kernel, border = weights(width, height) * (3 if width == 15 else 60), borders[channels]
            pixels, info = picture(kind, 37, 83, channels), numpy.iinfo("uint16" if kind == "u16" else "int16")
            pixels[:9, :20], pixels[-9:, -20:] = info.min, info.max
            text = f"{spelled(kernel)} scale=0.0009765625 offset=1000 border={border} border-value=300"
            frame.check(2**24 < numpy.abs(kernel).sum() * 32768 < 2**31, "sums of another class")
            sums = correlate(pixels, kernel, border, 300).astype(numpy.float32)
            wanted = store(sums * numpy.float32(2**-10) + numpy.float32(1000), pixels)
            if channels == 4:
                wanted[..., 3] = pixels[..., 3]
            try:
                got = apply(pixels, text, "vectors")
            except bridge.Failed as reason:
                frame.check("cannot run here" in str(reason), str(reason))
                got = apply(pixels, text)
            same(got, wanted, f"{kind} x{channels} {width}x{height} {border}")


def test_floats_against_scipy():
    for channels, kernel in ((1, weights(7, 6) / 7.0), (3, weights(5, 5) * 0.37)):
        pixels = picture("f32", 21, 35, channels)
        got = apply(pixels, spelled(kernel) + " scale=0.5 offset=-2")
        wanted = correlate(pixels, kernel, "replicate") * 0.5 - 2
        error = numpy.abs(got - wanted).max() / (0.5 * numpy.abs(kernel).sum() * numpy.abs(pixels).max() + 2)
        frame.check(error < 2e-6, f"f32 x{channels}: error {error}")


def test_anchors_against_opencv():
    pixels = picture("u8", 26, 33)
    for (width, height), (left, top), border in (((3, 3), (0, 2), "replicate"), ((4, 6), (3, 0), "reflect"),
                                                 ((6, 1), (5, 0), "reflect101")):
        kernel = weights(width, height)
        wanted = cv2.filter2D(pixels, cv2.CV_64F, kernel.astype(numpy.float64), anchor=(left, top), delta=50,
                              borderType=OPENCV_MODES[border])
        got = apply(pixels, f"{spelled(kernel)} offset=50 anchor-x={left} anchor-y={top} border={border}")
        same(got, store(wanted, pixels), f"{width}x{height} anchor {left},{top}")


def test_turned_kernels_against_scipy_convolve():
    kernel, pixels = weights(5, 3), picture("u8", 20, 30)
    wanted = ndimage.convolve(pixels.astype(numpy.int64), kernel, mode="nearest")
    same(apply(pixels, spelled(kernel) + " flip=yes"), store(wanted, pixels), "flip=yes")


def test_the_write_up():
    """Its rule for edges: pixels whose window leaves the image are 0, alpha is copied."""
    kernel, pixels = weights(3, 3), picture("u8", 20, 33, 4)
    wanted = store(correlate(pixels, kernel[::-1, ::-1], "replicate"), pixels)
    wanted[0, :], wanted[-1, :], wanted[:, 0], wanted[:, -1] = 0, 0, 0, 0
    wanted[..., 3] = pixels[..., 3]
    for rung in ("filterImage", "filterImageCached"):
        got = apply(pixels, spelled(kernel) + " flip=yes border=zero-outside", rung)
        same(got, wanted, rung)


def test_fractions_keep_their_promise():
    """Weights that are no whole numbers are made such for integer formats: within 1/64 level of the true sum."""
    for kind, kernel in (("u8", cv2.getGaussianKernel(15, 2.3) @ cv2.getGaussianKernel(9, 1.1).T),
                         ("u16", cv2.getGaussianKernel(5, 1) @ cv2.getGaussianKernel(7, 3).T)):
        pixels = picture(kind, 40, 50)
        sums = correlate(pixels, kernel, "replicate")
        got = apply(pixels, spelled(kernel)).astype(numpy.float64)
        error = numpy.abs(got - sums).max()
        frame.check(error <= 0.5 + 1 / 64 + 0.01, f"{kind}: error {error}")


def test_every_variant_with_a_large_kernel():
    """31x31 from a file, once with numbers that factorise and once with ones that do not."""
    variants = [v["name"] for v in json.loads(hone("filters", "convolve", "--json").stdout)["variants"]]
    pixels = picture("u8", 37, 75)
    product = numpy.outer(weights(1, 31).flatten() % 5, weights(31, 1).flatten() % 7)
    for name, kernel in (("general", weights(31, 31)), ("product", product)):
        numpy.savetxt(path(name + ".txt"), kernel, fmt="%d", header="rows of weights")
        wanted = store(correlate(pixels, kernel, "reflect") / 256.0, pixels)
        chain = f"convolve kernel='{path(name)}.txt' scale=0.00390625 border=reflect"
        for variant, got in bridge.by_variant("convolve", chain, pixels, names=variants, least=3):
            same(got, wanted, f"{name}, {variant}")


def test_kernels_that_are_wrong():
    """The message says where, and what would be right."""
    with open(path("bad.txt"), "w", encoding="utf-8") as file:
        file.write("# two rows\n1 2 3\n4 five 6\n")
    with open(path("ragged.txt"), "w", encoding="utf-8") as file:
        file.write("1 2 3\n4 5\n")
    with open(path("zero.txt"), "wb") as file:
        file.write(b"3x1: 1 2\0 3")
    with open(path("large.txt"), "wb") as file:
        file.write(b" " * (1 << 19))
    open(path("empty.txt"), "wb").close()
    write(path("in.pam"), picture("u8", 5, 5))
    if os.path.exists(path("out.pam")):
        os.remove(path("out.pam"))
    for text, parts, status in (
            ("3x3: 1 2 3 4 5 6 7 8", ("has 9 weights, not 8",), 2),
            ("3x1: 1 2 3 4", ("has 3 weights, not 4",), 2),
            ("3x1: 1 two 3", ("column 8", "'two'", "numbers such as"), 2),
            ("3x1: 1 nan 3", ("'nan'", "numbers such as"), 2),
            ("3x1: 1 inf 3", ("'inf'",), 2),
            ("3x1: 1 0x10 3", ("'0x10'",), 2),
            ("3x1: 1 1e99 3", ("out of range", "1e30"), 2),
            ("33x33: 1", ("33x33", "1 to 31"), 2),
            ("0x3: 1", ("0x3", "1 to 31"), 2),
            ("3x3", ("':'",), 2),
            ("1 2 3", ("WIDTHxHEIGHT",), 2),
            (": 1 2 3", ("WIDTHxHEIGHT",), 2),
            ("bad.txt", ("bad.txt", "line 3, column 3", "'five'"), 2),
            ("ragged.txt", ("line 2", "2 weights", "has 3"), 2),
            ("empty.txt", ("no weights",), 2),
            ("zero.txt", ("no text",), 3),
            ("large.txt", ("larger than the limit",), 3),
            ("none.txt", ("none.txt",), 3),
            ("/", ("not a regular file",), 3)):
        message = hone("apply", f"convolve kernel='{text}'", path("in.pam"), "-o", path("out.pam"), status=status).stderr
        for part in parts:
            frame.check(part in message, f"kernel={text!r}: '{part}' is missing in: {message}")
    message = hone("apply", "convolve kernel='3x1: 1 2 3' anchor-x=3", path("in.pam"), "-o", path("out.pam"),
                   status=2).stderr
    frame.check("anchor-x=3" in message and "0 to 2" in message, message)
    frame.check(not os.path.exists(path("out.pam")), "a wrong kernel left an output")


frame.main(globals())
