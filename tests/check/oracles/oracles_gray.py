#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`gray` against exact fractions, OpenCV, ImageMagick and what the command writes."""

import fractions
import os
import subprocess
import tempfile

import cv2
import numpy

import bridge
import frame

SEED = 20240611
# As the recommendations write them.
WEIGHTS = {"bt601": ("0.299", "0.587", "0.114"), "bt709": ("0.2126", "0.7152", "0.0722"), "average": ("1/3", "1/3", "1/3")}


def rounded(pixels, name):
    """Half up, in integers: over the common denominator of the weights."""
    weights = [fractions.Fraction(w) for w in WEIGHTS[name]]
    over = numpy.lcm.reduce([w.denominator for w in weights])
    total = sum(int(w * over) * pixels[..., i].astype("int64") for i, w in enumerate(weights))
    return ((2 * total + over) // (2 * over)).astype(pixels.dtype)


def random(kind, shape):
    limits = numpy.iinfo(kind)
    return numpy.random.default_rng(SEED).integers(limits.min, limits.max + 1, shape, dtype=kind)


def test_integers_against_fractions():
    for kind in ("uint8", "uint16", "int16"):
        for channels in (3, 4):
            pixels = random(kind, (41, 117, channels))
            pixels[0, :9] = numpy.iinfo(kind).max
            pixels[1, :9] = numpy.iinfo(kind).min
            for name in WEIGHTS:
                wanted = rounded(pixels, name)
                for variant in bridge.variants("gray"):
                    got = bridge.apply(f"gray weights={name}", pixels, variant=variant)
                    frame.check(got.shape == wanted.shape and numpy.array_equal(got, wanted),
                                f"{variant} {kind} x{channels} {name}: {numpy.count_nonzero(got != wanted)} differ")


def test_all_ties_of_bytes():
    """Every pixel whose mean ends in a half, and those one below it, where a rounded weight would show."""
    levels = numpy.arange(256)
    for name, weights, over in (("bt601", (299, 587, 114), 1000), ("bt709", (2126, 7152, 722), 10000)):
        total = sum(w * levels.reshape([-1 if i == k else 1 for i in range(3)]) for k, w in enumerate(weights))
        at = numpy.argwhere((total % over == over // 2) | (total % over == over // 2 - 1)).astype("uint8")
        at = numpy.resize(at, (-(-len(at) // 64), 64, 3))
        for variant in bridge.variants("gray"):
            frame.check(numpy.array_equal(bridge.apply(f"gray weights={name}", at, variant=variant), rounded(at, name)),
                        f"{variant} {name}")


def test_floats():
    pixels = numpy.random.default_rng(SEED).normal(0, 1e3, (37, 53, 3)).astype("float32")
    for name, weights in WEIGHTS.items():
        wanted = pixels.astype("float64") @ [float(fractions.Fraction(w)) for w in weights]
        for variant in bridge.variants("gray"):
            worst = numpy.abs(bridge.apply(f"gray weights={name}", pixels, variant=variant) - wanted).max()
            frame.check(worst <= 2.5e-7 * numpy.abs(pixels).max(), f"{variant} {name}: off by {worst}")


def test_near_opencv():
    """OpenCV's weights have 15 bits: a level apart where a mean is close to a half."""
    for kind in ("uint8", "uint16"):
        pixels = random(kind, (60, 80, 3))
        theirs = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(int)
        difference = numpy.abs(bridge.apply("gray", pixels).astype(int) - theirs)
        frame.check(difference.max() <= (1 if kind == "uint8" else 3) and (kind != "uint8" or (difference > 0).mean() < 0.02),
                    f"{kind}: {difference.max()}, {(difference > 0).mean():.1%} differ")


def apply(chain, source, out, status=0):
    done = subprocess.run([os.path.join(frame.build(), "hone"), "apply", "-q", chain, source, "-o", out], capture_output=True,
                          text=True, check=False, timeout=100)
    frame.check(done.returncode == status, f"{chain}: {done.returncode}, {done.stderr}")
    return done.stderr


def test_near_imagemagick():
    """The command's file against -grayscale, which keeps fractions of a level; gray files pass, alpha goes."""
    pixels = random("uint8", (30, 40, 4))
    with tempfile.TemporaryDirectory() as folder:
        source, ours, theirs, again = (os.path.join(folder, n) for n in ("in.png", "ours.png", "theirs.png", "again.png"))
        cv2.imwrite(source, pixels)
        for name, method in (("bt601", "Rec601Luma"), ("bt709", "Rec709Luma"), ("average", "Average")):
            apply(f"gray weights={name}", source, ours)
            subprocess.run(["convert", source, "-alpha", "off", "-grayscale", method, "-depth", "8", theirs], check=True, timeout=100)
            a, b = (cv2.imread(n, cv2.IMREAD_UNCHANGED) for n in (ours, theirs))
            frame.check(a.shape == (30, 40) and numpy.abs(a.astype(int) - b).max() <= 1, f"{name}: {a.shape}")
        apply("gray", ours, again)
        frame.check(numpy.array_equal(cv2.imread(again, cv2.IMREAD_UNCHANGED), a), "gray of gray differs")


def test_messages_name_it():
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in.ppm"), os.path.join(folder, "out.png")
        cv2.imwrite(source, random("uint8", (8, 8, 3)))
        said = apply("colormap", source, out, 2)
        frame.check("'gray | colormap'" in said, said)
        apply("gray | colormap", source, out)
        frame.check("'gray'" in apply("grayscale", source, out, 2), "the answer to 'grayscale'")


frame.main(globals())
