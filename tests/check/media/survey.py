#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every filter in tiles, on images of which a fraction fits the memory, against untiled runs.

    survey.py build=FOLDER [effort=quick|default] [TEST...]

effort=default: 12000x9000 pixels and --memory 64M. effort=quick: sides and windows of a quarter, and a sixteenth of the memory.
Where a chain needs more, it gets half as much again as the least that does. Files have to be identical, byte for byte, where docs/numbers.md says that a filter is exact, else within twice its bound.
"""

import filecmp
import json
import os
import re

import cv2
import numpy as np

import frame
import place as places
from pictures import Here

SCALE = 4 if frame.option("effort", "default") == "default" else 1
WIDTH, HEIGHT, MEMORY = 3000 * SCALE, 2250 * SCALE, f"{4 * SCALE * SCALE}M"
WHOLE = "64G"  # as much as nobody has: no tiles

SUFFIXES = {("u1", 1): ".pgm", ("u1", 3): ".ppm", ("u2", 1): ".pgm", ("u2", 3): ".ppm", ("f4", 1): ".pfm", ("f4", 3): ".pfm",
            ("u1", 4): ".tif", ("u2", 4): ".tif", ("f4", 4): ".tif"}


def chains_with_alpha(kind, channels, second):
    same = SUFFIXES[kind, channels]
    if kind == "f4":
        yield f"dot image={second}", ".pfm", 2 * 4e-6
    yield "premultiply | sobel", same, 0
    yield f"premultiply | box size={5 * SCALE} alpha=filter | unpremultiply", same, 2e-5 if kind == "f4" else 0
    yield f"box size={5 * SCALE}", same, 2e-5 if kind == "f4" else 0


PART = 300  # rows of an image that are made, or looked at, at a time


def picture(kind, channels, seed):
    """The rows of an image, some at a time: noise on a slope, so that neither rows nor columns are alike."""
    most = 1 if kind == "f4" else np.iinfo(kind).max
    noise = np.random.default_rng(seed).random((PART + 7, WIDTH, channels), "f4")
    slope = 3 * np.arange(WIDTH, dtype="f4")[None, :, None]
    for y in range(0, HEIGHT, PART):
        rows = np.roll(noise, (y // 7, y // 3), (0, 1))[:PART] + (np.arange(y, y + PART, dtype="f4")[:, None, None] + slope) % 500 / 500
        yield (most / 2 * rows).astype(kind)


def write(path, kind, channels, seed):
    """A PNM or PFM, or with alpha a TIFF."""
    if channels == 4:
        image = np.concatenate(list(picture(kind, channels, seed)))
        frame.check(cv2.imwrite(path, image, [cv2.IMWRITE_TIFF_COMPRESSION, 1]), path)
        return
    with open(path, "wb") as file:
        if kind == "f4":
            file.write(b"%s %d %d -1\n" % (b"PF" if channels == 3 else b"Pf", WIDTH, HEIGHT))
        else:
            file.write(b"P%d %d %d %d\n" % (6 if channels == 3 else 5, WIDTH, HEIGHT, np.iinfo(kind).max))
        for rows in picture(kind, channels, seed):
            file.write(rows.astype({"u1": "u1", "u2": ">u2", "f4": "<f4"}[kind]).tobytes())


def weights(side):
    """As text; no two rows or columns are alike."""
    return f"kernel='{side}x{side}: " + " ".join(str(1 + (i * 7 + i // side) % 9) for i in range(side * side)) + "'"


def chains(kind, channels, second):
    """(chain, suffix of the result, bound of the difference in levels; 0: identical files). For `integral` the bound is for each
    pixel that is summed up."""
    real, same, add = kind == "f4", SUFFIXES[kind, channels], f"add image={second}"
    loose = {"u1": 2, "u2": 2 * 13.107, "f4": 4e-4}[kind]
    close = 2e-5 if real else 0  # twice the bound of sums of floats
    yield add, same, 0
    yield f"box size={50 * SCALE}", same, close
    yield f"box width=7 height={30 * SCALE} border=reflect", same, close
    yield f"convolve {weights(3)} scale=0.02 border=reflect101", same, close
    yield f"convolve {weights(7 if SCALE == 1 else 21)} scale=0.0004", same, close
    yield f"epsilon radius={2 * SCALE} threshold=20%", same, close
    yield "gaussian sigma=1", same, loose
    yield f"gaussian sigma={5 * SCALE}", same, loose
    yield f"gaussian sigma={(20 if channels == 1 else 8) * SCALE} method=recursive border=reflect", same, loose
    yield "histogram", ".csv", 0
    yield "integral", ".tif", 2 * 6e-8 * (200 + (WIDTH + HEIGHT) / 16) if real else 0
    yield "sobel", same, close
    yield "sobel output=dx border=constant border-value=9", ".tif", 8 * close
    yield "transpose", same, 0
    yield f"box size={5 * SCALE} | sobel norm=l1 | transpose", same, 8 * close
    yield f"{add} | epsilon radius=2 | box size=9", same, 2 * close
    if channels == 3:
        yield "gray | sobel", SUFFIXES[kind, 1], 8 * close
    if not real:
        yield f"gaussian sigma={2 * SCALE} exact=yes | sobel output=dy", ".tif", 0
        yield f"density size={30 * SCALE} threshold=1000", ".tif", 0
        yield "density size=9 mask=yes threshold=20 output=marks | transpose | box size=4", ".pgm" if channels == 1 else ".ppm", 0
    if channels == 1:
        yield "colormap map=viridis", ".ppm", 0
    if channels == 1 and not real:
        yield "demosaic method=malvar pattern=gbrg", SUFFIXES[kind, 3], 0


def apply(place, chain, name, out, memory):
    """The number of bands."""
    command = "apply", chain, place.path(name), "-o", place.path(out), "--json", "--memory"
    result = place.any(*command, memory)
    least = re.search(r"--memory has to be at least (\d+)M$", result.stderr, re.M)
    if least:
        result = place.any(*command, f"{int(least.group(1)) * 3 // 2}M")
    frame.check(result.returncode == 0, f"{chain} on {name}: {result.stderr[-400:]}")
    return json.loads(result.stdout).get("bands", 0)


def largest_difference(got, wanted, summed):
    """`summed`: for each of the pixels above and to the left."""
    got, wanted = (cv2.imread(path, cv2.IMREAD_UNCHANGED) for path in (got, wanted))
    frame.check(got.shape == wanted.shape and got.dtype == wanted.dtype, f"{got.shape} {got.dtype}, not {wanted.shape} {wanted.dtype}")
    largest = 0
    for y in range(0, got.shape[0], PART):
        off = np.abs(got[y:y + PART].astype("f8") - wanted[y:y + PART]).reshape(-1, got.shape[1], got.size // got.shape[0] // got.shape[1])
        if summed:
            off /= (np.arange(y, y + len(off)) + 1.0)[:, None, None] * (np.arange(got.shape[1]) + 1.0)[None, :, None]
        largest = max(largest, off.max())
    return largest


def compare(place, chain, name, suffix, bound):
    """(number of bands, largest difference), or an exception."""
    names = "tiled" + suffix, "whole" + suffix
    bands, none = apply(place, chain, name, names[0], MEMORY), apply(place, chain, name, names[1], WHOLE)
    got, wanted = map(place.path, names)
    what = f"{chain} on {name}, {bands} bands"
    frame.check(bands > 2 and none == 0, f"{what} against {none}: not in bands, or both")
    same = filecmp.cmp(got, wanted, shallow=False)
    frame.check(same or bound, f"{what}: another file")
    off = 0 if same else largest_difference(got, wanted, chain == "integral")
    frame.check(off <= bound, f"{what}: differs by {off}, more than {bound}")
    for path in got, wanted:
        os.remove(path)
    return bands, off


def survey(kind, channels, chains=chains):
    failures, count = [], 0
    with Here() as place:
        name, second = "in" + SUFFIXES[kind, channels], "second" + SUFFIXES[kind, channels]
        write(place.path(name), kind, channels, 1)
        write(place.path(second), kind, channels, 2)
        for chain, suffix, bound in chains(kind, channels, place.path(second)):
            count += 1
            print(f"# {chain.replace(place.folder + '/', '')[:80]}: ", end="")
            try:
                bands, off = compare(place, chain, name, suffix, bound)
                print(f"{bands} bands, " + (f"differs by {off:.3g}" if off else "identical"), flush=True)
            except AssertionError as failure:
                failures.append(str(failure))
                print("wrong", flush=True)
    frame.check(not failures, f"{len(failures)} of {count}: {failures}")


def test_u8_gray():
    survey("u1", 1)


def test_u8_rgb():
    survey("u1", 3)


def test_u16_gray():
    survey("u2", 1)


def test_u16_rgb():
    survey("u2", 3)


def test_f32_gray():
    survey("f4", 1)


def test_f32_rgb():
    survey("f4", 3)


def test_u16_rgba():
    survey("u2", 4, chains_with_alpha)


def test_f32_rgba():
    survey("f4", 4, chains_with_alpha)


def test_every_filter_is_in_a_chain():
    known = {item["name"] for item in places.Place().json("filters")["filters"]}
    listed = [chain for kind, channels in SUFFIXES for chain, _, _ in chains(kind, channels, "other")]
    listed += [chain for chain, _, _ in chains_with_alpha("f4", 4, "other")]
    used = {step.split()[0] for chain in listed for step in chain.split("|")}
    frame.check(known == used, f"not in any: {known - used}; unknown: {used - known}")


if __name__ == "__main__":
    frame.main(globals(), "effort")
