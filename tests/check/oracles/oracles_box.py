#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`box` of signed shorts, and of sums over 32 bits, against SciPy's sums of whole numbers, and against OpenCV's and known means."""

import os
import subprocess
import tempfile

import cv2
import numpy
from scipy import ndimage

import bridge
import frame

SEED = 20261122


def picture(shape):
    """All levels, and places where every level is the least or the most."""
    pixels = numpy.random.default_rng(SEED).integers(-32768, 32768, shape, dtype=numpy.int16)
    pixels[:9, :9], pixels[-9:, -9:] = -32768, 32767
    return pixels


def mean(pixels, width, height, mode, value=0):
    """Exact sums; a mean and a half go up. Alpha is copied."""
    planes = pixels[..., None] if pixels.ndim == 2 else pixels
    ones = numpy.ones((height, width), numpy.int64)
    sums = numpy.stack([ndimage.correlate(planes[..., c].astype(numpy.int64), ones, mode=mode, cval=value)
                        for c in range(planes.shape[2])], axis=-1)
    result = (2 * sums + width * height) // (2 * width * height)
    if planes.shape[2] == 4:
        result[..., 3] = planes[..., 3]
    return result.reshape(pixels.shape).astype(pixels.dtype)


def same(got, wanted, what):
    frame.check(got.dtype == wanted.dtype, f"{what}: the result is {got.dtype}")
    wrong = numpy.argwhere(got != wanted)
    frame.check(len(wrong) == 0, f"{what}: {len(wrong)} differ, the first at {wrong[:1].tolist()}: "
                                 f"{got[tuple(wrong[0])] if len(wrong) else ''} instead of "
                                 f"{wanted[tuple(wrong[0])] if len(wrong) else ''}")


def test_every_variant_against_scipy():
    pixels = picture((37, 75))
    wanted = mean(pixels, 6, 4, "nearest")
    for variant, got in bridge.by_variant("box", "box width=6 height=4", pixels, least=5):
        same(got, wanted, variant)


def test_sums_of_more_than_32_bits_against_scipy():
    """Even and odd areas; bands of fewer rows than the image; unsigned shorts in colours as well."""
    for shape, kind, width, height in (((37, 75), "int16", 200, 400), ((37, 75), "uint16", 211, 333),
                                       ((150, 30, 3), "uint16", 303, 333), ((21, 44, 4), "int16", 257, 256)):
        pixels = picture(shape).view(kind)
        wanted = mean(pixels, width, height, "nearest")
        for variant in ("doubles", "abreast", "tall") if len(shape) == 2 else ("doubles",):
            same(bridge.apply(f"box width={width} height={height}", pixels, variant=variant), wanted, f"{variant} {shape} {kind}")
        same(bridge.apply(f"box width={width} height={height}", pixels), wanted, f"chosen {shape} {kind}")


def sums_of(pixels, width, height, pad, value=0):
    """Exact sums over windows of one channel, from an integral image."""
    left, top = width // 2, height // 2
    given = {"constant_values": value} if pad == "constant" else {}
    whole = numpy.pad(pixels.astype(numpy.int64), ((top, height - 1 - top), (left, width - 1 - left)), mode=pad, **given)
    table = numpy.zeros((whole.shape[0] + 1, whole.shape[1] + 1), numpy.int64)
    table[1:, 1:] = whole.cumsum(0).cumsum(1)
    return table[height:, width:] - table[:-height, width:] - table[height:, :-width] + table[:-height, :-width]


def test_tall_and_wide_windows_of_bytes():
    """Sums of columns beyond 16 bits, and windows so wide that work-items sum up their columns; tiles that share rows."""
    for shape, width, height, border, pad, config in (
            ((150, 300), 41, 201, "replicate", "edge", "BATCH=2 AT_ONCE=2 TEAMS=2 WG_X=64"),
            ((90, 700), 501, 140, "reflect", "symmetric", "WG_X=128"),
            ((60, 250, 3), 203, 333, "constant border-value=200", "constant", "BATCH=1 WG_X=128"),
            ((70, 300), 63, 101, "reflect101", "reflect", "BATCH=2 AT_ONCE=2 TEAMS=4 WG_X=32")):
        pixels = numpy.random.default_rng(SEED).integers(0, 256, shape, dtype=numpy.uint8)
        planes = pixels[..., None] if pixels.ndim == 2 else pixels
        sums = numpy.stack([sums_of(planes[..., c], width, height, pad, 200) for c in range(planes.shape[2])], axis=-1)
        wanted = ((2 * sums + width * height) // (2 * width * height)).reshape(shape).astype(numpy.uint8)
        for variant in ("abreast", "tall"):
            got = bridge.apply(f"box width={width} height={height} border={border}", pixels, variant=variant, config=config)
            same(got, wanted, f"{variant} {config} {shape} {width}x{height} {border}")


def test_sums_of_bytes_that_wrap_around():
    """What is known of a sum from the mean above it: black and white as high as the window make the largest steps."""
    noise = numpy.random.default_rng(SEED).integers(0, 256, (300, 200), dtype=numpy.uint8)
    for width, height in ((17, 17), (31, 31), (80, 80), (92, 93), (100, 100), (101, 101), (110, 40), (85, 255), (21, 255),
                          (60, 200), (3, 100)):
        rows, columns = numpy.arange(300)[:, None], numpy.arange(200)
        steps = (rows // height % 2 * 255 + 0 * columns).astype(numpy.uint8)
        fields = ((rows // height + columns // width) % 2 * 255).astype(numpy.uint8)
        colours = numpy.stack([noise, steps, fields], axis=-1)
        for pixels in (255 - steps, colours):
            planes = pixels[..., None] if pixels.ndim == 2 else pixels
            sums = numpy.stack([sums_of(planes[..., c], width, height, "edge") for c in range(planes.shape[2])], axis=-1)
            wanted = ((2 * sums + width * height) // (2 * width * height)).reshape(pixels.shape).astype(numpy.uint8)
            got = bridge.apply(f"box width={width} height={height}", pixels, variant="bands", config="ROWS=64")
            same(got, wanted, f"{pixels.shape} {width}x{height}")


def means_of(planes, width, height, pad, value):
    """Channels as an image, and their means, halves upwards; alpha stays."""
    pixels = numpy.stack(planes, axis=-1)
    sums = numpy.stack([sums_of(plane, width, height, pad, value) for plane in planes], axis=-1)
    wanted = ((2 * sums + width * height) // (2 * width * height)).astype(pixels.dtype)
    if len(planes) == 4:
        wanted[..., 3] = pixels[..., 3]
    return (pixels[..., 0], wanted[..., 0]) if len(planes) == 1 else (pixels, wanted)


def test_sums_of_words_that_wrap_around():
    """The same of u16 and windows whose sums need more than 32 bits; doubles take them, too."""
    noise = numpy.random.default_rng(SEED).integers(0, 65536, (330, 150), dtype=numpy.uint16)
    for width, height, border, pad in ((257, 256, "replicate", "edge"), (301, 301, "replicate", "edge"), (1501, 44, "replicate", "edge"),
                                       (330, 200, "constant border-value=60000", "constant"), (37, 1900, "replicate", "edge")):
        rows, columns = numpy.arange(330)[:, None], numpy.arange(150)
        steps = (rows // min(height, 150) % 2 * 65535 + 0 * columns).astype(numpy.uint16)
        fields = ((rows // 44 + columns // 100) % 2 * 65535).astype(numpy.uint16)
        for planes in ([65535 - steps], [noise, steps, fields], [steps, noise & 1 | 65534, fields, noise]):
            pixels, wanted = means_of(planes, width, height, pad, 60000)
            for variant in ("bands", "doubles"):
                got = bridge.apply(f"box width={width} height={height} border={border}", pixels, variant=variant, config="ROWS=64")
                same(got, wanted, f"{variant} {pixels.shape} {width}x{height} {border}")


def test_what_sums_of_bytes_change_by():
    """Means from those of the row above: the largest steps, means near halves and on them, and every way beyond the edges."""
    noise = numpy.random.default_rng(SEED).integers(0, 256, (130, 333), dtype=numpy.uint8)
    for width, height, border, pad in ((101, 101, "replicate", "edge"), (110, 110, "reflect", "symmetric"),
                                       (301, 38, "reflect101", "reflect"), (37, 301, "replicate", "edge"),
                                       (1200, 3, "constant border-value=200", "constant"), (330, 130, "wrap", "wrap"),
                                       (501, 501, "replicate", "edge")):
        rows, columns = numpy.arange(130)[:, None], numpy.arange(333)
        steps = (rows // min(height, 60) % 2 * 255 + 0 * columns).astype(numpy.uint8)
        fields = ((rows // 40 + columns // min(width, 100)) % 2 * 255).astype(numpy.uint8)
        for planes in ([noise], [noise & 1], [steps, noise & 1], [steps, fields, noise], [fields, noise, noise & 1, steps]):
            pixels, wanted = means_of(planes, width, height, pad, 200)
            got = bridge.apply(f"box width={width} height={height} border={border}", pixels, variant="changes", config="ROWS=64")
            same(got, wanted, f"{pixels.shape} {width}x{height} {border}")


def test_tall_windows_of_floats():
    """First windows from sums of bands: NaNs and infinities stay in the windows that have them."""
    for shape, width, height, border, pad, config in (
            ((600, 60), 20, 301, "replicate", "edge", "WORDS=8 BATCH=2 RUN=16 WG_X=64"),
            ((400, 50), 33, 270, "reflect", "symmetric", "RUN=8 WG_X=64")):
        pixels = numpy.random.default_rng(SEED).random(shape, dtype=numpy.float32)
        odd = numpy.zeros(shape, bool)
        odd[77, 31] = odd[350, 8] = True
        wanted = sums_of(numpy.where(odd, 0, pixels.astype(numpy.float64) * 2**40), width, height, pad) / 2**40 / (width * height)
        seen = sums_of(odd, width, height, pad) > 0
        for value in (numpy.float32("nan"), numpy.float32("-inf")):
            got = bridge.apply(f"box width={width} height={height} border={border}", numpy.where(odd, value, pixels),
                               variant="tall_pieces", config=config)
            frame.check((numpy.isfinite(got) == ~seen).all(), f"{config}: {value} where it is not, or not where it is")
            error = numpy.abs(got - wanted)[~seen].max(initial=0)
            frame.check(error < 1e-5 and not seen.all(), f"{config}: off by {error}")


def test_borders_and_channels_against_scipy():
    for parameters, width, height, mode, value, shape in (
            ("size=5 border=constant border-value=-32768", 5, 5, "constant", -32768, (23, 41)),
            ("size=1 border=wrap", 1, 1, "grid-wrap", 0, (23, 41, 3)),
            ("width=70 height=1300 border=reflect101", 70, 1300, "mirror", 0, (23, 41, 4))):
        pixels = picture(shape)
        same(bridge.apply("box " + parameters, pixels), mean(pixels, width, height, mode, value), parameters)


def test_wrapped_columns():
    """Where rows are whole numbers of what a work-item reads, columns beyond an edge are read at the other one; else one by one."""
    for shape, width, height in (((60, 192), 31, 9), ((60, 190), 31, 9), ((40, 192), 300, 5), ((50, 256), 20, 180)):
        pixels = numpy.random.default_rng(SEED).integers(0, 256, shape, dtype=numpy.uint8)
        sums = sums_of(pixels, width, height, "wrap")
        wanted = ((2 * sums + width * height) // (2 * width * height)).astype(numpy.uint8)
        chain = f"box width={width} height={height} border=wrap"
        for variant in ("abreast", "tall", "sums"):
            config = "PX=16 WG_X=256" if variant == "sums" else "WG_X=64"
            same(bridge.apply(chain, pixels, variant=variant, config=config), wanted, f"{variant} {shape} {chain}")
        for variant in ("pieces", "tall_pieces"):
            got = bridge.apply(chain, pixels.astype(numpy.float32), variant=variant, config="RUN=4 WG_X=128")
            error = numpy.abs(got - sums / (width * height)).max()
            frame.check(error < 255e-5, f"{variant} {shape} {chain}: off by {error}")


def test_halves_go_up():
    """Known means of two: -1.5 is -1, -0.5 is 0, 0.5 is 1; and the ends of the format stay."""
    pixels = numpy.array([[-2, -1, 0, 1, 2, 32767, 32767, -32768, -32768]], numpy.int16)
    wanted = numpy.array([[-2, -1, 0, 1, 2, 16385, 32767, 0, -32768]], numpy.int16)
    same(bridge.apply("box width=2 height=1", pixels), wanted, "means of two")


def test_command_keeps_them():
    """A gradient, smoothed; one of a picture with alpha, which has no scale there to weigh colours by; a file of signed shorts."""
    source = numpy.random.default_rng(SEED)
    gray, four = (source.integers(0, 256, shape, dtype=numpy.uint8) for shape in ((30, 45), (30, 45, 4)))
    gradient, gradients = (cv2.Sobel(p, cv2.CV_16S, 1, 0, borderType=cv2.BORDER_REPLICATE) for p in (gray, four[..., :3]))
    signed = picture((30, 45))
    with tempfile.TemporaryDirectory() as folder:
        for chain, name, pixels, wanted in (("sobel output=dx | box size=3", "a.png", gray, mean(gradient, 3, 3, "nearest")),
                                            ("sobel output=dx | box size=3", "b.png", four, mean(gradients, 3, 3, "nearest")),
                                            ("box size=3", "c.tif", signed, mean(signed, 3, 3, "nearest"))):
            into, out = (os.path.join(folder, path) for path in (name, "out.tif"))
            cv2.imwrite(into, pixels)
            subprocess.run([os.path.join(frame.build(), "hone"), "apply", "-q", chain, into, "-o", out], check=True, timeout=100)
            got = cv2.imread(out, cv2.IMREAD_UNCHANGED)
            same(got[..., :3] if pixels.ndim == 3 else got, wanted, f"{chain} {name}")
            os.remove(out)


frame.main(globals())
