#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`premultiply` and `unpremultiply` against NumPy's whole numbers, and against each other."""

import re

import numpy

import bridge
import frame

FULL = {"uint8": 255, "uint16": 65535}
NAMES = {"uint8": "u8", "uint16": "u16", "float32": "f32"}


def divided(numerator, divisor):
    """Rounded half up."""
    return (2 * numerator + divisor) // (2 * divisor)


def pairs(kind):
    """Gray and alpha: all pairs of bytes; of words those at the ends, and many others."""
    if kind == "uint8":
        values = numpy.arange(256)
    else:
        few = numpy.random.default_rng(3).integers(0, 65536, 200)
        values = numpy.unique(numpy.concatenate([numpy.arange(40), 65535 - numpy.arange(40), few]))
    return numpy.dstack(numpy.meshgrid(values, values)).astype(kind)


def premultiplied(image, full, to):
    wide = image.astype("int64")
    weights = numpy.concatenate([numpy.repeat(wide[..., -1:], image.shape[2] - 1, 2), numpy.full_like(wide[..., -1:], full)], 2)
    return divided(wide * weights * to, full * full)


def unpremultiplied(image, full, to):
    wide = image.astype("int64")
    alpha = numpy.repeat(wide[..., -1:], image.shape[2] - 1, 2)
    colours = numpy.where(alpha == 0, 0, divided(numpy.minimum(wide[..., :-1], alpha) * to, numpy.maximum(alpha, 1)))
    return numpy.concatenate([colours, divided(wide[..., -1:] * to, full)], 2)


def four(image):
    """The same gray levels as parts of colours."""
    return numpy.concatenate([image[..., :1], image[::-1, :, :1], image[:, ::-1]], 2)


def test_integers_are_exact():
    for name, wanted in (("premultiply", premultiplied), ("unpremultiply", unpremultiplied)):
        for kind, full in FULL.items():
            for image in (pairs(kind), four(pairs(kind))):
                for other, to in FULL.items():
                    right = wanted(image, full, to)
                    least = 3 if other == kind else 2
                    for variant, got in bridge.by_variant(name, f"{name} type={NAMES[other]}", image, least=least):
                        frame.check(got.dtype == other and (got == right).all(),
                                    f"{name} {kind} to {other}, {variant}: {numpy.count_nonzero(got != right)} differ")


def test_exact_is_taken_for_integers():
    """And refused for what is computed in floating point."""
    image = four(pairs("uint8"))
    for name, wanted in (("premultiply", premultiplied), ("unpremultiply", unpremultiplied)):
        got = bridge.apply(f"{name} type=u16 exact=yes", image)
        frame.check((got == wanted(image, 255, 65535)).all(), name)
        for source, more in ((image, "type=f32"), (image.astype("float32"), "type=u8")):
            try:
                bridge.apply(f"{name} {more} exact=yes", source)
            except bridge.Failed as failure:
                frame.check("u8" in str(failure) and "u16" in str(failure), str(failure))
            else:
                raise AssertionError(f"{name} {more} exact=yes of {source.dtype} was taken")


def test_floats():
    source = numpy.random.default_rng(5)
    image = source.uniform(-1, 2, (41, 67, 4)).astype("float32")
    image[::7, ::5, 3] = 0
    image[3::7, 3::5, 3] = 1
    alpha = image[..., 3:].astype(float)
    product = numpy.concatenate([image[..., :3] * alpha, alpha], 2).astype("float32")
    quotient = numpy.where(alpha == 0, 0, image[..., :3] / numpy.where(alpha == 0, 1, alpha))
    quotient = numpy.concatenate([quotient, alpha], 2).astype("float32")
    for name, wanted in (("premultiply", product), ("unpremultiply", quotient)):
        got = bridge.apply(name, image)
        frame.check((got == wanted).all(), f"{name}: {numpy.count_nonzero(got != wanted)} differ")
        got = bridge.apply(name + " type=u16", image)
        right = numpy.rint(numpy.clip(wanted * numpy.float32(65535), 0, 65535))
        frame.check(got.dtype == numpy.uint16 and (got == right).all(), f"{name} to u16")
        got = bridge.apply(name + " type=f32", (image[..., :] > 0.5).astype("uint8") * numpy.uint8(255))
        frame.check(got.dtype == numpy.float32 and got.max() == 1, f"{name} of u8 to f32: {got.max()}")


def test_there_and_back():
    """Sixteen bits between keep every colour of eight whose alpha is not 0; so does single precision those of sixteen."""
    for kind, between in (("uint8", "u16"), ("uint16", "f32")):
        image = four(pairs(kind))
        got = bridge.apply(f"premultiply type={between} | unpremultiply type={NAMES[kind]}", image)
        wanted = numpy.where(image[..., 3:] == 0, 0, image)
        frame.check((got == wanted).all(), f"{kind}: {numpy.count_nonzero(got != wanted)} differ")


def test_what_has_no_alpha_is_refused():
    for channels in (1, 3):
        try:
            bridge.apply("premultiply", numpy.zeros((5, 7, channels), "uint8"))
        except bridge.Failed as failure:
            frame.check(re.search(rf"of {channels} channels?;", str(failure)), str(failure))
        else:
            raise AssertionError(f"{channels} channels were taken")


frame.main(globals())
