#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`integral` against NumPy's cumulative sums and OpenCV."""

import os
import shutil
import tempfile

import cv2
import numpy

import bridge
import frame

SEED = 20240611


def picture(kind, shape):
    source = numpy.random.default_rng(SEED)
    if kind == "float32":
        return source.normal(0, 1, shape).astype(kind)
    return source.integers(0, numpy.iinfo(kind).max + 1, shape, dtype=kind)


def sums(a):
    """Whole numbers wrap around in 32 bits; floats in double precision."""
    wide = numpy.float64 if a.dtype == numpy.float32 else numpy.uint32
    return a.cumsum(axis=1, dtype=wide).cumsum(axis=0, dtype=wide)


def near(got, a, what):
    """The bound of the filter's description."""
    height, width = a.shape[:2]
    wanted = sums(a)
    bound = 0
    if a.dtype == numpy.float32:
        bound = 6e-8 * numpy.abs(a).max() * width * height * (200 + (width + height) / 16)
    frame.check(got.dtype == (numpy.float32 if bound else numpy.uint32), f"{what}: the result is {got.dtype}")
    wrong = numpy.argwhere(numpy.abs(got.astype(float) - wanted.astype(float)) > bound)
    frame.check(len(wrong) == 0, f"{what}: {len(wrong)} sums differ, the first at {wrong[:1].tolist()}")


ALONE = {"persistent": "GROUP=1 CHUNK=1", "lookback_tiles": "WARPS=1 REGISTERS=0 STREAM=0"}


def by_each_variant(a):
    """Names of variants, and what they make of an image: `once` only of one of which two rows fit its work-group,
    `once_vectors` of integers, and those in ALONE, with groups of one work-item as CPUs must: few groups, or many
    small tiles, have long chains of floats."""
    for variant in bridge.variants("integral"):
        if (variant == "once_vectors" or variant in ALONE) and a.dtype == numpy.float32:
            continue
        if variant in ALONE:
            for spins in (4000, 0):
                yield f"{variant} SPINS={spins}", bridge.apply("integral", a, variant=variant, config=f"{ALONE[variant]} SPINS={spins}")
        elif variant != "once":
            yield variant, bridge.apply("integral", a, variant=variant)
        elif 2 * a[0].nbytes <= 1024 * 16:
            yield variant, bridge.apply("integral", a, variant=variant, config="GROUP=1024")


def test_every_format_against_numpy():
    for kind, all_channels in (("uint8", (1, 3, 4)), ("uint16", (1,)), ("float32", (1, 3))):
        for channels in all_channels:
            a = picture(kind, (147, 203) if channels == 1 else (147, 203, channels))
            for variant, result in by_each_variant(a):
                near(result, a, f"{variant} {kind} x{channels}")


def test_sums_wrap_around():
    a = numpy.full((420, 400), 65535, numpy.uint16)
    frame.check(a.sum(dtype=numpy.uint64) > 2**33, "the picture is too small to wrap")
    for variant, result in by_each_variant(a):
        near(result, a, variant)


def test_bright_bytes():
    """The largest sums that halves of a lane must hold."""
    for channels in (1, 2, 4):
        a = numpy.full((300, 513, channels), 255, numpy.uint8)
        a = a[:, :, 0] if channels == 1 else a
        near(bridge.apply("integral", a, variant="vectors"), a, f"x{channels}")


def test_against_opencv():
    a = picture("uint8", (777, 1031))
    wanted = cv2.integral(a)[1:, 1:].astype(numpy.uint32)
    frame.check(numpy.array_equal(bridge.apply("integral", a), wanted), "differs from cv2.integral")


def test_floats_keep_their_small_parts():
    """Long sums, whose error would grow with each term if they were one chain."""
    a = numpy.full((512, 4096), 0.1, numpy.float32)
    wanted = sums(a)
    for variant, got in by_each_variant(a):
        worst = numpy.abs(got / wanted - 1).max()
        frame.check(worst < 2e-5, f"{variant}: off by {worst:.2g} of a sum")


def test_window_sums_by_corners():
    """What integral images are for: any window's sum from four of them, wrapped or not."""
    a = picture("uint16", (400, 700))
    s = numpy.pad(bridge.apply("integral", a), ((1, 0), (1, 0)))
    got = s[31:, 31:] - s[:-31, 31:] - s[31:, :-31] + s[:-31, :-31]
    wanted = numpy.lib.stride_tricks.sliding_window_view(a, (31, 31)).sum(axis=(2, 3), dtype=numpy.uint32)
    frame.check(numpy.array_equal(got, wanted), "windows of 31x31 differ")


class Place:
    """Makes arrays that begin so many bytes behind the start of a cache line, in memory that knows what was written."""

    def __init__(self, offset):
        self.offset, self.memory, self.start, self.bytes = offset, None, 0, 0

    def __call__(self, shape, kind):
        self.bytes = int(numpy.prod(shape)) * numpy.dtype(kind).itemsize
        self.memory = numpy.full(self.bytes + 192, 0xAA, numpy.uint8)
        self.start = -self.memory.ctypes.data % 64 + 64 + self.offset
        return self.memory[self.start:self.start + self.bytes].view(kind).reshape(shape)

    def rest(self):
        return numpy.concatenate([self.memory[:self.start], self.memory[self.start + self.bytes:]])


def test_rows_begin_anywhere_in_a_cache_line():
    """`once_vectors` begins rows with part of a vector, so that its stores are whole cache lines."""
    cases = [(kind, channels, "LINES=4") for kind in ("uint8", "uint16") for channels in (1, 2, 3, 4)]
    for kind, channels, config in cases + [("uint8", 3, "LINES=2 STREAM=1"), ("uint8", 1, "LINES=8 STREAM=1 BANDS=4")]:
        for height, width in ((19, 48), (5, 32)):
            a = picture(kind, (height, width) if channels == 1 else (height, width, channels))
            for offset in range(0, 64, 4):
                place, what = Place(offset), f"{kind} {width}x{height} x{channels} {config}, {offset} bytes on"
                near(bridge.apply("integral", a, variant="once_vectors", config=config, make=place), a, what)
                frame.check((place.rest() == 0xAA).all(), f"{what}: wrote outside")


def with_changed_kernel(changes, a, variant="lookback", file_name="kernel.cl", **how):
    """The result of a variant where its kernel file reads otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("filter", "filters", "cl"):
            shutil.copytree(os.path.join(frame.ROOT, "src", name), os.path.join(folder, name))
        path = os.path.join(folder, "filters", "integral", file_name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes:
            frame.check(text.count(old) >= 1, f"{file_name} has no '{old}'")
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.environ["HONE_KERNEL_DIR"] = folder
        bridge.device.cache_clear()
        try:
            return bridge.apply("integral", a, variant=variant, **how)
        finally:
            del os.environ["HONE_KERNEL_DIR"]
            bridge.device.cache_clear()


# Bands begin from the bottom: whoever waits, waits for bands that cannot begin.
UPSIDE_DOWN = ("int band = ticket,", "int band = (height + ROWS - 1) / ROWS - 1 - (int)ticket,")


def test_waiting_in_vain_ends_and_the_sums_are_right():
    a = picture("uint8", (700, 300))
    for spins in (20000, 0):
        near(with_changed_kernel([UPSIDE_DOWN], a, config=f"SPINS={spins}"), a, f"SPINS={spins}")


def test_that_somebody_gave_up_there():
    """The test above shows something: without the passes that form the sums again, they are wrong."""
    a = picture("uint8", (700, 300))
    try:
        got = with_changed_kernel([UPSIDE_DOWN, ("state[1] != 0 && ", "state[1] == 7 && ")], a)
    except bridge.Failed as reason:
        frame.check("wrong" in str(reason), f"failed otherwise: {reason}")
    else:
        frame.check(not numpy.array_equal(got, sums(a)), "all sums are right")


# Tiles are taken from the last one on, so that what most of them wait for has not begun.
LAST_TILE_FIRST = ("all->ticket = atomic_inc(&counters[0]);", "all->ticket = get_num_groups(0) - 1 - atomic_inc(&counters[0]);")


def tiles(a, spins, changes):
    how = {"variant": "lookback_tiles", "file_name": "lookback.cl", "config": f"{ALONE['lookback_tiles']} SPINS={spins}"}
    return with_changed_kernel(changes, a, **how)


def test_tiles_that_wait_in_vain():
    for kind, shape in (("uint8", (70, 61)), ("uint16", (41, 33, 3)), ("float32", (40, 50)), ("uint8", (50, 20, 4))):
        a = picture(kind, shape)
        for spins in (4000, 0):
            near(tiles(a, spins, [LAST_TILE_FIRST]), a, f"{kind} SPINS={spins}")


def test_that_tiles_gave_up_there():
    """The test above shows something: without sums of their own, the results are wrong."""
    a = picture("uint8", (70, 61))
    try:
        got = tiles(a, 4000, [LAST_TILE_FIRST, ("found = sum_alone(s, p, chunk, lane);", "found = 0;")])
    except bridge.Failed as reason:
        frame.check("wrong" in str(reason), f"failed otherwise: {reason}")
    else:
        frame.check(not numpy.array_equal(got, sums(a)), "all sums are right")


def test_impatient_bands():
    for kind in ("uint8", "float32"):
        a = picture(kind, (601, 977))
        near(bridge.apply("integral", a, variant="lookback", config="SPINS=0"), a, kind)


def test_tiles_come_out_alike():
    """Floats are added in one order, whoever comes first, as long as nobody gives up."""
    a = picture("float32", (97, 161))
    runs = [tiles(a, 4000, [("spin < SPINS", "true")]) for _ in range(4)]
    near(runs[0], a, "floats")
    for again in runs[1:]:
        frame.check(numpy.array_equal(runs[0], again), "another run gave other sums")


frame.main(globals())
