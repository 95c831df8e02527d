#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""`gaussian` against SciPy's gaussian_filter in double precision, with a window so wide that nothing is cut."""

import decimal
import itertools
import json
import math
import os
import subprocess

import numpy
import scipy.ndimage

import bridge
import frame

SEED = 20240611
MODES = {"replicate": "nearest", "reflect": "reflect", "reflect101": "mirror", "wrap": "wrap", "constant": "constant"}
TYPES = ("uint8", "uint16", "float32")
# What design and issue promise: levels, or parts of full scale.
BOUNDS = {"uint8": 1, "uint16": 2e-4 * 65535, "float32": 2e-4}
DIRECT_BOUNDS = {"uint8": 1, "uint16": 1.5, "float32": 1e-5}


def blurred(image, chain, variant=None):
    return bridge.apply(chain, image, variant=variant).astype(float)


def picture(kind, shape, smooth=False):
    """Noise, or blocks of full black and white, where recursions are worst."""
    source = numpy.random.default_rng(SEED)
    unit = source.random(shape)
    if smooth:
        unit = numpy.kron(source.integers(0, 2, (shape[0] // 16 + 1, shape[1] // 16 + 1)), numpy.ones((16, 16)))
        unit = unit[:shape[0], :shape[1]]
    return unit.astype("float32") if kind == "float32" else numpy.rint(unit * numpy.iinfo(kind).max).astype(kind)


def compare(image, options, sigma, bounds, mode="nearest", value=0.0, variant=None):
    kind = image.dtype.name
    wanted = scipy.ndimage.gaussian_filter(image.astype(float), sigma, mode=mode, cval=value, truncate=9)
    if kind != "float32":
        wanted = numpy.rint(wanted)
    off = numpy.abs(blurred(image, f"gaussian sigma={sigma} {options}", variant) - wanted).max()
    frame.check(off <= bounds[kind], f"{kind} sigma={sigma} {options}: off by {off}, allowed {bounds[kind]}")


def test_recursive_against_scipy():
    for kind in TYPES:
        for sigma in (0.3, 2, 10, 60):
            for smooth in (False, True):
                compare(picture(kind, (131, 173), smooth), "method=recursive", sigma, BOUNDS)


def test_choice_against_scipy():
    """Whatever `auto` takes here."""
    for kind in TYPES:
        for sigma in (3, 4.7, 10, 31):
            for smooth in (False, True):
                compare(picture(kind, (131, 173), smooth), "", sigma, BOUNDS)


def stripes(kind, shape, period):
    """Full black and white, across and down: what sampling at about every `period`-th pixel shows worst."""
    y, x = numpy.indices(shape)
    unit = (2 * x // period + 2 * y // period) % 2
    return unit.astype("float32") if kind == "float32" else (unit * numpy.iinfo(kind).max).astype(kind)


def test_grid_against_scipy():
    """Each step of the grid, where it begins, between, and where it ends."""
    for kind in TYPES:
        least = 2.5 if kind == "uint8" else 5
        for sigma in (1, 1.4, 1.99, 2, 2.6, 2.8, 4, 6, 7.9, 8, 12.3, 50):
            compare(picture(kind, (151, 173), smooth=True), "", sigma * least, BOUNDS, variant="grid")
            for period in (2, 8, 15, 16, 17):
                if sigma in (1, 1.4, 2, 2.8, 4, 8):
                    compare(stripes(kind, (131, 155), period), "", sigma * least, BOUNDS, variant="grid")


def worst_picture(sigma, bits):
    """Full scale wherever whole weights, parts of 2^bits, are above those that they were rounded from."""
    weights = numpy.exp(-0.5 * (numpy.arange(-math.ceil(5 * sigma), math.ceil(5 * sigma) + 1) / sigma) ** 2)
    weights /= weights.sum()
    whole = numpy.rint(weights * 2 ** bits)
    whole[len(whole) // 2] += 2 ** bits - whole.sum()
    more = numpy.outer(whole, whole) / 4 ** bits > numpy.outer(weights, weights)
    return more, (numpy.outer(whole, whole) / 4 ** bits - numpy.outer(weights, weights))[more].sum()


def test_worst_pictures_of_rounded_weights():
    """The default keeps its bound in u16, and exact=yes differs by as much as docs/numbers.md says."""
    for sigma in (5, 6, 6.9):
        compare(worst_picture(sigma, 16)[0].astype("uint16") * 65535, "", sigma, BOUNDS, variant="matrix16")
    for sigma in (1.42, 2.89, 3.35, 3.88, 4):
        compare(worst_picture(sigma, 16)[0].astype("uint16") * 65535, "", sigma, BOUNDS, variant="strips16")
    for kind, sigma, bits, promised in (("uint8", 5.66, 15, 5.5e-4), ("uint16", 6, 16, 2.92e-4)):
        more, off = worst_picture(sigma, bits)
        full = numpy.iinfo(kind).max
        frame.check(0.95 * promised < off <= promised, f"{kind}: weights are off by {off}, said are {promised}")
        compare(more.astype(kind) * full, "exact=yes", sigma, {kind: math.ceil(promised * full)})


def test_not_finite_in_windows_of_turned_rows():
    """NaN and infinity reach as far as the window does, which is further than what is weighted elsewhere."""
    for sigma, value in itertools.product((1, 2.3, 3.4), ("nan", "-inf")):
        radius = math.ceil(5 * sigma)
        for y, x in ((0, 0), (40, 60), (79, 346)):
            image = numpy.zeros((80, 347), "float32")
            image[y, x] = float(value)
            got = blurred(image, f"gaussian sigma={sigma}", "turned")
            inside = numpy.zeros(image.shape, bool)
            inside[max(y - radius, 0):y + radius + 1, max(x - radius, 0):x + radius + 1] = True
            frame.check((numpy.isfinite(got) == ~inside).all(), f"sigma={sigma}, {value} at {x},{y}: not in the whole window alone")


def test_direct_against_scipy():
    for kind in TYPES:
        for sigma in (0.3, 2, 10, 60):
            compare(picture(kind, (131, 173)), "method=fir", sigma, DIRECT_BOUNDS)


def test_borders_against_scipy():
    for kind in TYPES:
        for ours, theirs in MODES.items():
            value = 0.25 if kind == "float32" else 77
            for sigma in (2, 21):
                compare(picture(kind, (61, 47)), f"border={ours} border-value={value}", sigma, BOUNDS, theirs, value)


def test_bands_in_pieces():
    """Rows that CPUs cut into several pieces, one of them short, or into so many that others are far away, with every border."""
    for kind in ("uint16", "float32"):
        for ours, theirs in MODES.items():
            value = 0.25 if kind == "float32" else 77
            for sigma in (1, 3.3):
                image = picture(kind, (9, 20011, 3) if kind == "float32" else (39, 2003))
                blur = [sigma, sigma, 0][:image.ndim]
                wanted = scipy.ndimage.gaussian_filter(image.astype(float), blur, mode=theirs, cval=value, truncate=9)
                for variant in ("bands", "turned"):
                    got = blurred(image, f"gaussian sigma={sigma} border={ours} border-value={value}", variant)
                    off = numpy.abs(got - wanted).max()
                    frame.check(off <= BOUNDS[kind], f"{variant} {kind} sigma={sigma} {ours}: off by {off}, allowed {BOUNDS[kind]}")


COLOURS = ((3, 107), (3, 16), (3, 5), (4, 99), (4, 9))  # channels and width: of several strips, and of less than one


def test_coarse_rows_in_pieces():
    """Rows of integers that are so wide that they are cut, and images lower than what lies beyond their edges."""
    for width, channels, height, sigma in ((17000, 1, 20, 10), (9001, 3, 9, 41), (5003, 4, 30, 7.5), (20011, 2, 1, 20)):
        image = picture("uint8", (height, width), True)
        planes = [numpy.roll(image, 100 * channel, 1) for channel in range(channels)]
        for kind, scale in (("uint8", 1), ("uint16", 257)):
            pixels = numpy.stack(planes, axis=-1).astype(kind) * numpy.array(scale, kind)
            given = pixels[..., 0] if channels == 1 else pixels
            for border in ("replicate", "reflect", "reflect101", "wrap", "constant border-value=50%"):
                got = blurred(given, f"gaussian sigma={sigma} border={border} alpha=filter", "coarse").reshape(pixels.shape)
                value = 0.5 * numpy.iinfo(kind).max
                for channel in range(channels):
                    wanted = scipy.ndimage.gaussian_filter(pixels[..., channel].astype(float), sigma, mode=MODES[border.split()[0]],
                                                           cval=value, truncate=9)
                    off = numpy.abs(got[..., channel] - numpy.rint(wanted)).max()
                    frame.check(off <= BOUNDS[kind], f"{kind} {pixels.shape} sigma={sigma} {border}: off by {off}")


def keep_alpha(wanted, image):
    if image.shape[2:] == (4,):
        wanted[..., 3] = image[..., 3]
    return wanted


def test_matrix_in_colour():
    """Channels that are taken apart and put together, at every border."""
    for (channels, width), (ours, theirs) in itertools.product(COLOURS, MODES.items()):
        for kind, variant, sigma in (("uint8", "matrix", 4.4), ("uint16", "matrix16", 3)):
            image = picture(kind, (53, width, channels))
            wanted = scipy.ndimage.gaussian_filter(image.astype(float), [sigma, sigma, 0], mode=theirs, cval=77, truncate=9)
            got = blurred(image, f"gaussian sigma={sigma} border={ours} border-value=77", variant)
            off = numpy.abs(got - numpy.rint(keep_alpha(wanted, image))).max()
            frame.check(off <= BOUNDS[kind], f"{kind} {channels} channels of {width} sigma={sigma} {ours}: off by {off}")


def test_what_stays_as_it_is():
    """A flat picture; the mean of a wrapped picture, since all weights sum to 1."""
    for sigma in (0.5, 3, 40, 500):
        flat = numpy.full((40, 33), 0.7, "float32")
        for method in ("fir", "recursive"):
            got = blurred(flat, f"gaussian sigma={sigma} method={method} border=reflect")
            frame.check(numpy.abs(got - 0.7).max() < 1e-5, f"flat, sigma={sigma}: off by {numpy.abs(got - 0.7).max()}")
        noise = picture("float32", (40, 33))
        got = blurred(noise, f"gaussian sigma={sigma} border=wrap")
        frame.check(abs(got.mean() - noise.mean()) < 1e-5, f"mean, sigma={sigma}: {got.mean()} of {noise.mean()}")


def test_forms_for_gpus_against_scipy():
    """Before rounding, u8 is at most 0.31 levels off: 0.24 that the window cuts off, and 0.07 for halves."""
    for variant, sigmas in (("packed", (0.3, 2, 4.7)), ("matrix", (0.3, 2, 4.7, 9))):
        for sigma in sigmas:
            for smooth in (False, True):
                image = picture("uint8", (67, 150), smooth)
                wanted = scipy.ndimage.gaussian_filter(image.astype(float), sigma, mode="nearest", truncate=9)
                off = numpy.abs(blurred(image, f"gaussian sigma={sigma}", variant) - wanted).max() - 0.5
                frame.check(off <= 0.31, f"{variant}, sigma={sigma}: off by {off} before rounding")


def test_grid_matrix_at_every_border():
    """Strips of one and of several, narrower than what a point sees, and higher than one walk; before rounding."""
    for ours, theirs in MODES.items():
        for sigma, shape in ((5, (70, 513)), (7.3, (389, 31)), (16, (53, 250))):
            for smooth in (False, True):
                image = picture("uint8", shape, smooth)
                wanted = scipy.ndimage.gaussian_filter(image.astype(float), sigma, mode=theirs, cval=77, truncate=9)
                got = blurred(image, f"gaussian sigma={sigma} border={ours} border-value=77", "grid_matrix")
                off = numpy.abs(got - wanted).max() - 0.5
                frame.check(off <= 0.3, f"sigma={sigma} {shape} {ours}: off by {off} before rounding")


def exact_weights(sigma, bits):
    """As docs/numbers.md defines them, from decimals of 40 digits: each rounded, but the centre, which takes the rest."""
    decimal.getcontext().prec = 40
    radius = math.ceil(5 * sigma)
    spread = 2 * decimal.Decimal(sigma) ** 2
    weights = [(-decimal.Decimal(i * i) / spread).exp() for i in range(radius + 1)]
    total = 2 * sum(weights) - weights[0]
    whole = [int((w / total * 2 ** bits).to_integral_value()) for w in weights]
    whole[0] = 2 ** bits - 2 * sum(whole[1:])
    return whole


def exactly_blurred(image, sigma, mode, value):
    """The whole window in integers of 64 bits, rounded half up."""
    bits = 24 if sigma > 6 else 15 if image.dtype == numpy.uint8 else 16
    weights = exact_weights(sigma, bits)
    radius = len(weights) - 1
    pads = {"replicate": "edge", "reflect": "symmetric", "reflect101": "reflect", "wrap": "wrap", "constant": "constant"}
    filling = {"constant_values": value} if mode == "constant" else {}
    sides = [(radius, radius)] * 2 + [(0, 0)] * (image.ndim - 2)
    wide = numpy.pad(image.astype("uint64"), sides, pads[mode], **filling)
    for axis in (0, 1):
        length = wide.shape[axis] - 2 * radius
        wide = sum(numpy.uint64(weights[abs(i)]) * wide.take(range(radius + i, radius + i + length), axis)
                   for i in range(-radius, radius + 1))
    return ((wide + numpy.uint64(2 ** (2 * bits - 1))) >> numpy.uint64(2 * bits)).astype(image.dtype)


def test_exact_against_integers():
    """Every variant of exact=yes; stripes of two pixels make ties."""
    for kind in ("uint8", "uint16"):
        for sigma, mode in ((0.3, "reflect"), (2, "constant"), (5.9, "constant"), (10, "constant"), (13.3, "constant")):
            for image in (picture(kind, (47, 150)), stripes(kind, (47, 150), 2)):
                wanted = exactly_blurred(image, sigma, mode, 77)
                others = ("exact_strips",) if sigma < 6 else ("exact_doubles", "exact_turned")
                for variant in ("exact", *others[:1 if kind == "uint16" else 2]):
                    got = bridge.apply(f"gaussian sigma={sigma} border={mode} border-value=77 exact=yes", image,
                                       variant=variant)
                    wrong = int((got != wanted).sum())
                    frame.check(wrong == 0, f"{kind} sigma={sigma} {mode} {variant}: {wrong} values differ")


def ties(kind, sigma):
    """Windows of noise, beside each other and repeated down, whose sums are halfway between two levels, or a unit beside."""
    bits = 15 if kind == "uint8" else 16
    weights = numpy.array(exact_weights(sigma, bits))
    weights = numpy.concatenate((weights[:0:-1], weights))
    noise = numpy.random.default_rng(SEED).integers(0, numpy.iinfo(kind).max, 1 << 20, dtype=kind, endpoint=True)
    rest = numpy.convolve(noise.astype("int64"), weights, "valid") % (1 << bits) - (1 << bits - 1)
    found = numpy.nonzero(numpy.abs(rest) <= 1)[0][:40]
    frame.check(len(set(rest[found])) == 3, f"{kind} sigma={sigma}: no ties in {len(found)} windows")
    return numpy.tile(numpy.concatenate([noise[i:i + len(weights)] for i in found]), (40, 1))


def test_exact_decides_ties():
    """Where the upper words of sums cannot tell."""
    for kind in ("uint8", "uint16"):
        for sigma in (0.5, 2, 5.9):
            image = ties(kind, sigma)
            for turned in (image, numpy.ascontiguousarray(image.T)):
                got = bridge.apply(f"gaussian sigma={sigma} exact=yes", turned, variant="exact_strips")
                wrong = int((got != exactly_blurred(turned, sigma, "replicate", 0)).sum())
                frame.check(wrong == 0, f"{kind} sigma={sigma}: {wrong} values differ")


def test_exact_strips_of_every_sigma():
    """How weights are split, and where sums of their parts are carried, differs from sigma to sigma: noise, and the
    largest sums."""
    for kind, steps in (("uint8", 3), ("uint16", 12)):
        for step in range(30, 600, steps):
            sigma = step / 100
            for image in (picture(kind, (45, 67)), stripes(kind, (45, 67), 2), picture(kind, (45, 67), smooth=True)):
                got = bridge.apply(f"gaussian sigma={sigma} exact=yes", image, variant="exact_strips")
                wrong = int((got != exactly_blurred(image, sigma, "replicate", 0)).sum())
                frame.check(wrong == 0, f"{kind} sigma={sigma}: {wrong} values differ")


def test_exact_strips_are_joined():
    """Wider than a strip and higher than a band, every border, and channels of which alpha is copied."""
    noise = numpy.random.default_rng(SEED)
    for kind, mode in itertools.product(("uint8", "uint16"), MODES):
        for channels, width in ((1, 1111), (2, 517), (3, 351), (4, 351), (1, 1025), (1, 1087), (1, 33), (1, 17), (3, 5), (3, 9)):
            shape = (131, width) if channels == 1 else (131, width, channels)
            image = noise.integers(0, numpy.iinfo(kind).max, shape, dtype=kind, endpoint=True)
            wanted = exactly_blurred(image, 1.3, mode, 77)
            if channels == 4:
                wanted[..., 3] = image[..., 3]
            got = bridge.apply(f"gaussian sigma=1.3 border={mode} border-value=77 exact=yes", image, variant="exact_strips")
            wrong = int((got != wanted).sum())
            frame.check(wrong == 0, f"{kind} {mode} {channels} channels of {width}: {wrong} values differ")


def test_exact_doubles():
    """Rows of whole blocks of vectors, of single ones and of less than one, and channels of which alpha is copied; stripes
    make ties, and the widest window has more rows than are weighted at a time."""
    cases = ((1, 300, 6.1, "constant"), (1, 13, 7, "constant"), (1, 83, 14, "constant"), (3, 47, 7, "wrap"),
             (4, 35, 6.5, "reflect"), (4, 1, 7, "reflect"))
    for kind, (channels, width, sigma, mode) in itertools.product(("uint8", "uint16"), cases):
        image = stripes(kind, (37, width), 2) if channels == 1 else picture(kind, (37, width, channels))
        same_as_integers(image, sigma, mode, "exact_doubles")


def same_as_integers(image, sigma, mode, variant):
    wanted = keep_alpha(exactly_blurred(image, sigma, mode, 77), image)
    got = bridge.apply(f"gaussian sigma={sigma} border={mode} border-value=77 exact=yes", image, variant=variant)
    wrong = int((got != wanted).sum())
    frame.check(wrong == 0, f"{image.shape} {image.dtype} {mode} sigma={sigma}: {wrong} values differ")


def test_exact_turned():
    """Several bands and pieces of rows, every border, and channels of which alpha is copied; the largest sums, and noise
    with so many results that some are near ties."""
    cases = ((1, 700, 6.1), (1, 16, 7), (2, 83, 9), (3, 150, 7), (4, 99, 6.5), (4, 4, 7))
    for mode, (channels, width, sigma) in itertools.product(MODES, cases):
        same_as_integers(picture("uint8", (67, width) if channels == 1 else (67, width, channels)), sigma, mode, "exact_turned")
    for sigma in (6.01, 8.3, 17, 25):
        for image in (picture("uint8", (150, 401)), picture("uint8", (150, 401), smooth=True), numpy.full((40, 70), 255, "uint8"),
                      stripes("uint8", (90, 131), 2)):
            same_as_integers(image, sigma, "replicate", "exact_turned")


def test_exact_matrix_in_colour():
    for kind, (channels, width) in itertools.product(("uint8", "uint16"), COLOURS):
        for sigma, mode in ((1, "constant"), (2.9, "wrap")):
            image = picture(kind, (53, width, channels))
            wanted = keep_alpha(exactly_blurred(image, sigma, mode, 77), image)
            got = bridge.apply(f"gaussian sigma={sigma} border={mode} border-value=77 exact=yes", image, variant="exact_matrix")
            wrong = int((got != wanted).sum())
            frame.check(wrong == 0, f"{kind} {channels} channels of {width} sigma={sigma} {mode}: {wrong} values differ")


def test_exact_is_near_the_gaussian():
    for kind in ("uint8", "uint16"):
        for sigma in (0.3, 2, 6, 60):
            compare(picture(kind, (131, 173), smooth=True), "exact=yes", sigma, BOUNDS)


def test_exact_hides_variants_from_what_follows():
    image = picture("uint8", (61, 160))
    results = [bridge.apply("gaussian sigma=2 exact=yes | sobel", image, variant=f"gaussian:{v}")
               for v in ("exact", "exact_strips")]
    frame.check((results[0] == results[1]).all(), "exact=yes | sobel differs between variants")


def costs(variant):
    """Floats moved and operations for a pixel of one float, of a variant, as `hone filters` says."""
    text = subprocess.run([os.path.join(frame.build(), "hone"), "filters", "gaussian", "--json"], capture_output=True,
                          text=True, check=True, timeout=100).stdout
    found = next(v for v in json.loads(text)["variants"] if v["name"] == variant)
    names = {"C": 1, "BITS": 32, "TYPE": 2}
    return eval(found["bytes"], {}, names) / 4, eval(found["operations"], {}, names)  # of numbers and operators alone


def test_costs_are_those_of_the_write_up():
    """Its table 2: 14 floats read and written, 64 operations, 4.6 of these for one of those, 2030 megapixels/s; without the
    transposes 10 floats."""
    memory, operations = costs("transposed4")
    frame.check((memory, operations) == (14, 64), f"transposed4: {memory} floats, {operations} operations")
    frame.check(round(operations / memory, 1) == 4.6, f"ratio {operations / memory}")
    memory, operations = costs("lines4")
    frame.check((memory, operations) == (10, 64), f"lines4: {memory} floats, {operations} operations")


frame.main(globals())
