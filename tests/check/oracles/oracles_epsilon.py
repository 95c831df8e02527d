#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""epsilon against its formula in NumPy, which gathers the whole window at once and counts in 64-bit integers.

    oracles_epsilon.py build=FOLDER
"""

import ctypes
import os
import shutil
import tempfile

import numpy

import bridge
import frame

# An empty cache of our own, before the library looks.
FOLDER = tempfile.mkdtemp(prefix="hone-epsilon-")
os.environ["XDG_CACHE_HOME"] = os.environ["XDG_DATA_HOME"] = FOLDER

TYPES = {"uint8": 0, "uint16": 1, "float32": 2}
BORDERS = {"replicate": "edge", "reflect": "symmetric", "reflect101": "reflect", "wrap": "wrap", "constant": "constant"}


class Hone:
    """The library, a device of it, and handles that are given back."""

    def __init__(self):
        self.library = ctypes.CDLL(os.path.join(frame.build(), "libhone.so"))
        self.error = bridge.Error()
        self.device = self.make("hone_device_open", ctypes.byref(bridge.Request(no_disk_cache=True)))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments, ctypes.byref(self.error))
        if status:
            raise RuntimeError(f"{name}: {self.error.message.decode()} {self.error.log.decode()[:500]}")

    def make(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def plan(self, chain, desc, variant=None):
        parsed = self.make("hone_chain_parse", chain.encode())
        options = bridge.Options(variant=variant.encode() if variant else None, tune=1)
        try:
            return self.make("hone_plan_create", self.device, parsed, ctypes.byref(desc), ctypes.byref(options))
        finally:
            self.library.hone_chain_destroy(ctypes.byref(parsed))

    def apply(self, chain, picture, variant=None):
        height, width = picture.shape[:2]
        channels = picture.shape[2] if picture.ndim == 3 else 1
        plan = self.plan(chain, bridge.Desc(width, height, TYPES[picture.dtype.name], channels, 0), variant)
        result = numpy.empty_like(picture)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (picture, result)]
        self.call("hone_plan_apply", plan, pointers[0], ctypes.c_size_t(0), pointers[1], ctypes.c_size_t(0))
        self.library.hone_plan_destroy(ctypes.byref(plan))
        return result


def formula(plane, radius, threshold, border="replicate", value=0):
    """The definition, of one plane."""
    if border == "zero-outside":
        result = formula(plane, radius, threshold)
        inside = numpy.zeros(plane.shape, bool)
        inside[radius:plane.shape[0] - radius, radius:plane.shape[1] - radius] = True
        return numpy.where(inside, result, 0)
    extra = {"constant_values": value} if border == "constant" else {}
    wide = numpy.float32 if plane.dtype == numpy.float32 else numpy.int64
    padded = numpy.pad(plane, radius, mode=BORDERS[border], **extra).astype(wide)
    side = 2 * radius + 1
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (side, side)).reshape(*plane.shape, side * side)
    limit = numpy.float32(threshold / 255) if wide is numpy.float32 else threshold
    near = numpy.abs(windows - plane[..., None].astype(wide)) <= limit
    count = near.sum(axis=2)
    if wide is numpy.float32:
        return (windows.astype(numpy.float64) * near).sum(axis=2) / count
    total = (windows * near).sum(axis=2)
    return (2 * total + count) // (2 * count)


def picture(kind, shape, seed):
    """Smooth, with noise and edges: windows hold near and far pixels alike."""
    source = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[:shape[0], :shape[1]]
    base = 0.5 + 0.3 * numpy.sin(x / 9) * numpy.cos(y / 7) + 0.25 * ((x // 11 + y // 13) % 2)
    values = base + source.normal(0, 0.05, shape[:2])
    if len(shape) == 3:
        values = numpy.stack([numpy.roll(values, 5 * c, axis=1) for c in range(shape[2])], axis=2)
    if kind == "float32":
        return values.astype(numpy.float32)
    return numpy.clip(values * numpy.iinfo(kind).max, 0, numpy.iinfo(kind).max).astype(kind)


def compare(got, image, radius, threshold, text, allowed=0.0, **rest):
    wanted = image.copy().astype(numpy.float64)
    channels = [()] if image.ndim == 2 else [(c,) for c in range(min(image.shape[2], 3))]
    for c in channels:
        wanted[(..., *c)] = formula(image[(..., *c)], radius, threshold, **rest)
    worst = numpy.abs(got.astype(numpy.float64) - wanted)
    place = numpy.unravel_index(worst.argmax(), worst.shape)
    assert worst[place] <= allowed, f"{text}: {got[place]} at {place}, should be {wanted[place]}"


PACKED = (None, "bytes", "halves")  # the variant of one's own choice, and those for planes of bytes


def test_formula():
    cases = [("uint8", (41, 67), 4, 16, {}), ("uint8", (23, 90), 1, 0, {}), ("uint8", (40, 45), 15, 255, {}),
             ("uint8", (37, 61), 7, 40, {}), ("uint8", (33, 70), 8, 128, {}), ("uint8", (33, 70), 5, 127, {}),
             ("uint8", (29, 50, 3), 3, 90, {}), ("uint8", (29, 50, 4), 2, 25, {}),
             ("uint16", (31, 70), 4, 4000, {}), ("uint16", (20, 33, 3), 15, 65535, {}),
             ("float32", (31, 70), 4, 16, {}), ("float32", (20, 33, 4), 6, 30.5, {})]
    cases += [("uint8", (12, 21), 6, 30, {"border": border}) for border in ("wrap", "reflect", "zero-outside")]
    cases += [("uint8", (35, 81), 4, 30, {"border": border}) for border in ("wrap", "reflect101", "zero-outside")]
    cases.append(("uint8", (35, 81), 4, 30, {"border": "constant", "value": 77}))
    for number, (kind, shape, radius, threshold, rest) in enumerate(cases):
        image = picture(kind, shape, number)
        chain = f"epsilon radius={radius} threshold={threshold}"
        chain += f" border={rest['border']}" if "border" in rest else ""
        chain += f" border-value={rest['value']}" if "value" in rest else ""
        for variant in PACKED if kind == "uint8" and len(shape) == 2 and number % 2 == 0 else PACKED[:1]:
            compare(HONE.apply(chain, image, variant), image, radius, threshold, f"{chain} {kind} {shape} {variant}",
                    1e-5 if kind == "float32" else 0, **rest)


def test_every_threshold():
    """One picture that holds each difference from the centre about as often as the others."""
    image = numpy.random.default_rng(7).integers(0, 256, (24, 70), numpy.uint8)
    for variant in PACKED:
        for threshold in (*range(0, 256, 15), 126, 127, 128, 254):
            got = HONE.apply(f"epsilon radius=2 threshold={threshold}", image, variant)
            compare(got, image, 2, threshold, f"threshold {threshold} {variant}")


def test_even_areas():
    """Flat but for single pixels that are just near, or just too far, at any place: where all is near, sums are shared."""
    source = numpy.random.default_rng(11)
    for kind, channels, radius, threshold, border in (
            ("uint8", 1, 4, 12, "replicate"), ("uint8", 1, 3, 0, "reflect"), ("uint8", 1, 7, 255, "wrap"), ("uint8", 1, 5, 61, "constant"),
            ("uint8", 1, 8, 30, "replicate"), ("uint16", 1, 4, 300, "replicate"), ("uint16", 1, 8, 65535, "reflect101"),
            ("uint16", 1, 3, 1, "zero-outside"), ("uint8", 2, 4, 12, "wrap"), ("uint8", 3, 4, 12, "replicate"), ("uint8", 4, 4, 20, "constant"),
            ("uint16", 2, 4, 500, "reflect")):
        most = numpy.iinfo(kind).max
        levels = numpy.clip([0, 1, threshold // 2, threshold, threshold + 1, 2 * threshold, most - threshold, most], 0, most)
        image = numpy.repeat(source.choice(levels, (4, 3, channels)), 12, axis=0).repeat(90, axis=1).astype(kind)
        image = image + ((numpy.arange(image.size) % 3).reshape(image.shape) * (image < most - 1)).astype(kind)
        for _ in range(24 // channels):
            image[source.integers(image.shape[0]), source.integers(image.shape[1]), source.integers(channels)] = source.choice(levels)
        image = image[..., 0] if channels == 1 else image
        rest = {"border": border, "value": most // 2} if border == "constant" else {"border": border}
        chain = f"epsilon radius={radius} threshold={threshold} border={border}" + (f" border-value={most // 2}" if border == "constant" else "")
        compare(HONE.apply(chain, image), image, radius, threshold, f"{chain} {kind} x{channels}", **rest)


def test_largest_sums():
    """Edges as high as the threshold: the windows whose sums in half precision come nearest to what that holds."""
    for threshold in (16, 25, 26, 100, 227, 228, 255):
        image = numpy.zeros((30, 60), numpy.uint8)
        image[:, 29:] = threshold
        image[11, 7] = image[20, 40] = 255
        for variant in PACKED[1:]:
            chain = f"epsilon threshold={threshold}"
            compare(HONE.apply(chain, image, variant), image, 4, threshold, f"{chain} {variant}")


def rung_pictures():
    """For sums of rounded numbers: every level as a flat picture, noise around each, and ordinary contents."""
    levels = numpy.arange(256, dtype=numpy.uint8)
    flat = numpy.repeat(numpy.repeat(levels.reshape(16, 16), 12, axis=0), 12, axis=1)
    noise = numpy.random.default_rng(3).integers(-9, 10, flat.shape)
    yield "levels", flat
    yield "noise", numpy.clip(flat.astype(int) + noise, 0, 255).astype(numpy.uint8)
    yield "picture", picture("uint8", (100, 132), 5)


# How far from exact a rung may be; None: exact.
RUNGS = {"1": 1, "2": 5, "3": 5, "4": 5, "5": 5, "6": 5, "4-1": 5, "4-1-1": 5, "4-1-2": 5, "4-2": 5,
         "1-exact": 0, "1-buffer": 0, "4-exact": 0, "5-exact": 0, "6-exact": 0, "4-1-exact": 0, "4-1-1-exact": 0,
         "4-1-2-exact": 0, "4-2-exact": 0}


def test_rungs():
    """Each rung of the guide's table by its number: those in half precision within their bound, their twins exactly."""
    worst = {}
    for name, image in rung_pictures():
        for threshold in (16, 255):
            wanted = formula(image, 4, threshold)
            for rung, allowed in RUNGS.items():
                chain = f"epsilon threshold={threshold}" + (" accuracy=relaxed" if allowed else "")
                got = HONE.apply(chain, image, rung)
                error = int(numpy.abs(got.astype(int) - wanted).max())
                worst[rung] = max(worst.get(rung, 0), error)
                assert error <= allowed, f"rung {rung}, {name}, threshold {threshold}: off by {error}, {allowed} allowed"
    print("# largest errors: " + ", ".join(f"{rung} {error}" for rung, error in worst.items()))


def test_luma_in_place():
    """The Y plane of an NV12 frame is filtered where it lies: no copy of it, and nothing else of the frame is touched."""
    width, height = 214, 60
    for pitch, start in ((214, 0), (256, 0), (219, 3), (320, 64)):
        desc, offset = bridge.Desc(), ctypes.c_size_t()
        HONE.call("hone_frame_plane", 0, width, height, ctypes.c_size_t(pitch), 0, ctypes.byref(desc),
                  ctypes.byref(offset))
        bytes_ = start + pitch * height + pitch * ((height + 1) // 2)
        source = numpy.random.default_rng(pitch)
        frames = [source.integers(0, 256, bytes_ + 16, numpy.uint8) for _ in range(2)]
        frames[0][start:start + pitch * height].reshape(height, pitch)[:, :width] = picture("uint8", (height, width), 9)
        before = [f.copy() for f in frames]
        images = [HONE.make("hone_image_wrap", HONE.device, ctypes.byref(desc),
                            ctypes.c_void_p(f.ctypes.data + start + offset.value)) for f in frames]
        plan = HONE.plan("epsilon", desc)
        HONE.call("hone_plan_run", plan, images[0], images[1], None, ctypes.c_size_t(0), None)
        HONE.call("hone_image_download", images[1], None, ctypes.c_size_t(0), None, ctypes.c_size_t(0), None)
        HONE.call("hone_device_finish", HONE.device)
        assert all(HONE.library.hone_image_is_zero_copy(image) for image in images), f"pitch {pitch}: copied"
        HONE.library.hone_plan_destroy(ctypes.byref(plan))
        for image in images:
            HONE.library.hone_image_destroy(ctypes.byref(image))
        luma = [f[start:start + pitch * height].reshape(height, pitch)[:, :width] for f in before]
        before[1][start:start + pitch * height].reshape(height, pitch)[:, :width] = formula(luma[0], 4, 16)
        assert (frames[0] == before[0]).all(), f"pitch {pitch}: the input changed"
        wrong = numpy.flatnonzero(frames[1] != before[1])
        assert wrong.size == 0, f"pitch {pitch}: {wrong.size} bytes are wrong, the first at {wrong[0] - start}"


try:
    HONE = Hone()
    frame.main(globals())
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
