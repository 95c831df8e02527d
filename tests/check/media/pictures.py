#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Channels, samples and descriptions of picture files, by a reader and a writer of TIFF of our own.  pictures.py build=FOLDER"""

import atexit
import json
import os
import re
import struct
import subprocess
import xml.etree.ElementTree
import zlib

import cv2
import numpy as np
import tifffile
from PIL import Image

import bridge
import frame
from place import Place

WIDTH, HEIGHT = 37, 29
COMPILED = Place()
atexit.register(COMPILED.__exit__)


class Here(Place):
    """A folder for one test; programs are compiled once for all of them."""

    def __init__(self):
        super().__init__()
        self.environment["XDG_CACHE_HOME"] = COMPILED.environment["XDG_CACHE_HOME"]


FORMATS = {"u": 1, "i": 2, "f": 3, "c": 6}
SIZES = {1: "B", 2: "s", 3: "H", 4: "I", 12: "d", 16: "Q"}


def tiles_of(image, tile):
    height, width = image.shape[:2]
    padded = np.pad(image, ((0, -height % tile), (0, -width % tile), (0, 0)))
    return [padded[y:y + tile, x:x + tile].tobytes() for y in range(0, height, tile) for x in range(0, width, tile)]


def page_tags(image, gray, extra, description, tile):
    """Tags of a page and its pixels in pieces; `image` is rows x columns x channels, or channels first where `tile` is "planes",
    "packed planes" (by deflate) or "tiled planes"."""
    planes, packed = tile in ("planes", "packed planes", "tiled planes"), tile == "packed planes"
    height, width, channels = (*image.shape[1:], image.shape[0]) if planes else image.shape
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [image.dtype.itemsize * 8] * channels), 259: (3, [8 if packed else 1]),
            262: (3, [1 if gray else 2]), 277: (3, [channels]), 284: (3, [2 if planes else 1]),
            339: (3, [FORMATS[image.dtype.kind]] * channels)}
    if description:
        tags[270] = (2, description.encode() + b"\0")
    if extra:
        tags[338] = (3, extra)
    if tile == "planes" or packed:
        pieces = [zlib.compress(plane.tobytes()) if packed else plane.tobytes() for plane in image]
    elif tile:
        tile = 16 if planes else tile
        pieces = [piece for plane in (image[..., None] if planes else [image]) for piece in tiles_of(plane, tile)]
        tags |= {322: (4, [tile]), 323: (4, [tile])}
    else:
        pieces = [image.tobytes()]
    return tags, pieces, height, 324 if tags.get(322) else 273


def write_tiff(name, images, gray=True, extra=(), description=None, tile=0):
    data, links = b"II*\0\0\0\0\0", 4
    for image in images:
        tags, pieces, height, where = page_tags(image, gray, list(extra), description, tile)
        offsets = []
        for piece in pieces:
            offsets.append(len(data))
            data += piece + b"\0" * (len(piece) % 2)
        tags[where] = (4, offsets)
        tags[325 if where == 324 else 279] = (4, [len(piece) for piece in pieces])
        if where == 273:
            tags[278] = (4, [height])
        entries = b""
        for tag, (kind, values) in sorted(tags.items()):
            raw = values if kind == 2 else struct.pack(f"<{len(values)}{SIZES[kind]}", *values)
            if len(raw) > 4:
                data, raw = data + raw + b"\0" * (len(raw) % 2), struct.pack("<I", len(data))
            entries += struct.pack("<HHI", tag, kind, len(values)) + raw.ljust(4, b"\0")
        data = data[:links] + struct.pack("<I", len(data)) + data[links + 4:]
        links = len(data) + 2 + len(entries)
        data += struct.pack("<H", len(tags)) + entries + b"\0\0\0\0"
        description = None
    with open(name, "wb") as file:
        file.write(data)


def read_pages(name):
    """The tags of each page of an uncompressed TIFF, and their pixels."""
    with open(name, "rb") as file:
        data = file.read()
    pages, at = [], struct.unpack("<I", data[4:8])[0]
    frame.check(data[:4] == b"II*\0", f"{name}: no TIFF")
    while at:
        count, tags = struct.unpack("<H", data[at:at + 2])[0], {}
        for i in range(count):
            tag, kind, number, raw = struct.unpack("<HHI4s", data[at + 2 + 12 * i:at + 14 + 12 * i])
            if kind not in SIZES:
                continue
            size = struct.calcsize(SIZES[kind].replace("s", "c")) * number
            raw = raw if size <= 4 else data[struct.unpack("<I", raw)[0]:][:size]
            tags[tag] = raw[:size].rstrip(b"\0").decode() if kind == 2 else list(
                struct.unpack(f"<{number}{SIZES[kind]}", raw[:size]))
        pages.append(tags)
        at = struct.unpack("<I", data[at + 2 + 12 * count:][:4])[0]
    return pages, [pixels_of(page, data) for page in pages]


def pixels_of(first, data):
    kind = {1: "u", 2: "i", 3: "f"}[first.get(339, [1])[0]] + str(first[258][0] // 8)
    height, width, channels = first[257][0], first[256][0], first.get(277, [1])[0]
    tiled = 324 in first
    pixels = b"".join(data[offset:offset + length] for offset, length in zip(first[324 if tiled else 273], first[325 if tiled else 279]))
    if not tiled:
        return np.frombuffer(pixels, kind).reshape(height, width, channels)
    wide, high = first[322][0], first[323][0]
    tiles = np.frombuffer(pixels, kind).reshape(-(-height // high), -(-width // wide), high, wide, channels)
    return np.concatenate(np.concatenate(tiles, 1), 1)[:height, :width]


def read_tiff(name):
    """The tags of each page, and the pixels of the first."""
    pages, pixels = read_pages(name)
    return pages, pixels[0]


def mean(image):
    """The mean of 3 x 3, by NumPy."""
    wide = np.pad(image.astype(float), ((1, 1), (1, 1), (0, 0)), mode="edge")
    return sum(wide[y:y + image.shape[0], x:x + image.shape[1]] for y in range(3) for x in range(3)) / 9


def random(channels, kind="u2"):
    values = np.random.default_rng(channels).integers(0, 60000, (HEIGHT, WIDTH, channels))
    return values.astype(kind) if kind[0] != "f" else (values / 70000).astype(kind)


def blurred(place, name, *more, chain="box size=3"):
    said = place.run("apply", chain, place.path(name), "-o", place.path("out.tif"), "--compression", "none", *more).stderr
    pages, pixels = read_tiff(place.path("out.tif"))
    frame.check(len(pages) == 1, f"{name}: {len(pages)} pages")
    return pages[0], pixels, said


# ---- Descriptions ----

OME = ('<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0" '
       'Name="cells &amp; more"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint16" SizeX="37" SizeY="29" SizeC="2" '
       'SizeZ="2" SizeT="1" PhysicalSizeX="0.25" PhysicalSizeXUnit="µm"><Channel ID="Channel:0:0" SamplesPerPixel="1" '
       'Name="DAPI"/><Channel ID="Channel:0:1" SamplesPerPixel="1"/><TiffData IFD="0" PlaneCount="4"/></Pixels></Image></OME>')


def test_a_stack_s_description_becomes_that_of_the_page():
    with Here() as place:
        stack = [random(1) for _ in range(4)]
        write_tiff(place.path("ij.tif"), stack,
                   description="ImageJ=1.53\nimages=4\nchannels=2\nslices=2\nhyperstack=true\nmode=gray\nunit=um\n")
        tags, _, said = blurred(place, "ij.tif", "--pages", "2")
        frame.check(tags[270] == "ImageJ=1.53\nimages=1\nunit=um\n", f"ImageJ: {tags[270]!r}")
        frame.check("ImageJ" in said, f"said: {said}")
        write_tiff(place.path("shaped.tif"), stack, description='{"shape": [4, 29, 37]}')
        frame.check(blurred(place, "shaped.tif", "--pages", "1")[0][270] == '{"shape": [29, 37]}', "shaped")
        write_tiff(place.path("ome.tif"), stack, description=OME)
        for chain, wide, high, axis in (("box size=3", WIDTH, HEIGHT, "X"), ("transpose", HEIGHT, WIDTH, "Y")):
            space = "{http://www.openmicroscopy.org/Schemas/OME/2016-06}"
            image = xml.etree.ElementTree.fromstring(blurred(place, "ome.tif", "--pages", "1", chain=chain)[0][270]).find(space + "Image")
            pixels = image.find(space + "Pixels")
            wanted = {"SizeX": str(wide), "SizeY": str(high), "SizeZ": "1", "SizeC": "1", "SizeT": "1", "Type": "uint16",
                      f"PhysicalSize{axis}": "0.25", f"PhysicalSize{axis}Unit": "µm"}
            frame.check(wanted.items() <= pixels.attrib.items() and image.get("Name") == "cells & more", f"OME: {pixels.attrib}")
            frame.check([c.get("Name") for c in pixels.findall(space + "Channel")] == ["DAPI"], "channels")


def test_a_description_that_is_true_stays():
    one = OME.replace('SizeC="2"', 'SizeC="1"').replace('SizeZ="2"', 'SizeZ="1"')
    with Here() as place:
        for text in (one, "a person's words", "ImageJ=1.53\nimages=1\nmin=3\n"):
            write_tiff(place.path("one.tif"), [random(1)], description=text)
            tags, _, said = blurred(place, "one.tif")
            frame.check(tags[270] == text and not said, f"{tags[270]} {said}")


# ---- Channels ----

def test_channels_that_are_no_alpha_are_all_filtered():
    cases = ((2, True, [0], 0), (2, True, [], 0), (2, True, [0], "planes"), (3, True, [0, 0], 0), (4, True, [0, 0, 0], 0),
             (4, True, [0, 0, 0], "planes"), (4, True, [0, 0, 0], "packed planes"), (4, False, [0], 0), (4, False, [0], 16), (2, True, [0], "tiled planes"),
             (3, False, [], "tiled planes"), (4, False, [0], "tiled planes"))
    with Here() as place:
        for channels, gray, extra, tile in cases:
            image = random(channels)
            write_tiff(place.path("in.tif"), [np.moveaxis(image, 2, 0) if "planes" in str(tile) else image], gray, extra, tile=tile)
            tags, pixels, _ = blurred(place, "in.tif")
            what = f"{channels} channels, extra {extra}, {tile}"
            frame.check(abs(pixels - mean(image)).max() <= 0.51, f"{what}: off by {abs(pixels - mean(image)).max()}")
            beyond = channels - (1 if gray else 3)
            frame.check(tags.get(338, []) == [0] * beyond and tags[262] == [1 if gray else 2], f"{what}: {tags}")


def test_declared_alpha_is_alpha():
    with Here() as place:
        for channels, gray in ((2, True), (4, False)):
            image = random(channels)
            write_tiff(place.path("in.tif"), [image], gray, [2])
            tags, pixels, _ = blurred(place, "in.tif", chain="sobel")
            frame.check((pixels[..., -1] == image[..., -1]).all() and tags[338] == [2], f"{channels}: {tags}")


def multiplied(channels, kind):
    """Colours that are multiplied by alpha, which is 0 in some places, and what they are without it, by NumPy."""
    full = 1 if kind[0] == "f" else np.iinfo(kind).max
    share = np.random.default_rng(3).random((2, HEIGHT, WIDTH, channels))
    image = (np.concatenate([share[0][..., :-1] * share[1][..., -1:], share[1][..., -1:]], 2) * full).astype(kind)
    image[5:12, 3:15] = 0
    colours, alpha = image[..., :-1].astype(float), image[..., -1:].astype(float)
    colours = np.where(alpha > 0, colours * full / np.where(alpha > 0, alpha, 1), 0)
    return image, np.concatenate([colours, alpha], 2)


def test_colours_are_divided_by_associated_alpha():
    with Here() as place:
        for kind, bound in (("u1", 0.5), ("u2", 0.5), ("f2", 1e-7), ("f4", 1e-7), ("f8", 1e-7)):
            for channels, tile in ((2, 0), (2, "planes"), (2, 16), (4, 0), (4, "planes"), (4, 16)):
                image, wanted = multiplied(channels, kind)
                write_tiff(place.path("in.tif"), [np.moveaxis(image, 2, 0) if tile == "planes" else image], channels == 2, [1], tile=tile)
                tags, pixels, said = blurred(place, "in.tif", chain="transpose")
                off = abs(pixels.swapaxes(0, 1) - wanted).max()
                frame.check(off <= bound and tags[338] == [2], f"{kind} x{channels} {tile}: off by {off}, {tags.get(338)}, {said}")
        for channels, tile in ((2, 0), (2, "planes"), (4, 0)):
            image = multiplied(channels, "i2")[0]
            write_tiff(place.path("in.tif"), [np.moveaxis(image, 2, 0) if tile == "planes" else image], channels == 2, [1], tile=tile)
            said = place.run("apply", "transpose", place.path("in.tif"), "-o", place.path("out.tif"), status=3).stderr
            frame.check("signed numbers of 16 bits" in said and "(ExtraSamples 2)" in said, said)
        subprocess.run(["convert", "-size", "4x4", "xc:rgba(100,96,89,0.5)", "-compress", "lzw", "-depth", "32", "-define",
                        "quantum:format=floating-point", "-define", "tiff:alpha=associated", place.path("in.tif")], check=True, timeout=100)
        place.run("apply", "transpose", place.path("in.tif"), "-o", place.path("out.tif"), "--compression", "none")
        pixels = read_tiff(place.path("out.tif"))[1]
        subprocess.run(["tiffcp", "-c", "none", place.path("in.tif"), place.path("plain.tif")], check=True, timeout=100)
        stored = read_tiff(place.path("plain.tif"))[1][0, 0]  # ImageMagick 7 also multiplies alpha
        wanted = np.array([100, 96, 89]) / 255 * 0.5
        frame.check(abs(stored[:3] - wanted).max() < 1e-4 and pixels[0, 0, 3] == stored[3], f"ImageMagick's: {stored}, {pixels[0, 0]}")
        frame.check(abs(pixels[0, 0, :3] * stored[3] - wanted).max() < 1e-4, f"ImageMagick's: {stored}, {pixels[0, 0]}")


def test_what_cannot_be_kept_is_refused():
    with Here() as place:
        write_tiff(place.path("two.tif"), [random(2)], extra=[0])
        for name, wanted in (("out.png", ".tif"), ("out.pam", ".tif")):
            said = place.run("apply", "box", place.path("two.tif"), "-o", place.path(name), status=2).stderr
            frame.check("alpha" in said and wanted in said, said)
        write_tiff(place.path("mixed.tif"), [random(3)], extra=[0, 2])
        said = place.run("apply", "box", place.path("mixed.tif"), "-o", place.path("out.tif"), status=3).stderr
        frame.check("1 are alpha" in said and "files of their own" in said, said)


# ---- Alpha ----

def transparent(channels=4, kind="u1"):
    """Alpha of all levels, pieces of none and of full, and colours behind all of them."""
    full = 255 if kind == "u1" else 65535
    image = np.random.default_rng(7).integers(0, full + 1, (HEIGHT, WIDTH, channels)).astype(kind)
    image[5:12, 3:15, -1] = 0
    image[15:25, 20:33, -1] = full
    return image


def half_up(numerator, divisor):
    return (2 * numerator + divisor) // (2 * divisor)


def weighed_mean(image, size=3, outside=None):
    """A box, colours multiplied by alpha to 16 bits and back, in whole numbers."""
    wide = image.astype(np.int64)
    alpha, full = wide[..., 3:], np.iinfo(image.dtype).max
    scale = 65535 // full
    many = np.concatenate([half_up(wide[..., :3] * alpha * scale, full), alpha * scale], 2)
    pad = ((size // 2, size // 2), (size // 2, size // 2), (0, 0))
    many = np.pad(many, pad, mode="edge") if outside is None else np.pad(many, pad, constant_values=outside * scale)
    total = sum(many[y:y + HEIGHT, x:x + WIDTH] for y in range(size) for x in range(size))
    mean, alpha = half_up(total, size * size), half_up(total[..., 3:], size * size)
    colours = half_up(np.minimum(mean[..., :3], alpha) * full, np.maximum(alpha, 1))
    return np.concatenate([colours, half_up(alpha, scale)], 2)


def weighed(place, chain, *names, more=()):
    """What --json says of each output: whether alpha weighed, and the filters that ran."""
    said = place.run("apply", chain, *[place.path(name) for name in names], "-o", place.path("out/"), "-j", "1", "--json", *more).stdout
    lines = [json.loads(line) for line in said.splitlines()]
    return [(line["alpha_weighed"], " ".join(step["filter"] for step in line["steps"])) for line in lines]


def test_hidden_colours_stay_hidden_as_in_imagemagick():
    y, x = np.mgrid[:160, :200]
    image = np.zeros((160, 200, 4), "u1")
    image[..., 1] = 255
    image[np.hypot(x - 100, y - 80) < 50] = (100, 95, 90, 255)
    with Here() as place:
        write_tiff(place.path("disc.tif"), [image], False, [2])
        _, ours, _ = blurred(place, "disc.tif", chain="gaussian sigma=5")
        subprocess.run(["convert", place.path("disc.tif"), "-blur", "0x5", "-depth", "8", "RGBA:" + place.path("theirs")],
                       check=True, timeout=60)
        with open(place.path("theirs"), "rb") as file:
            theirs = np.frombuffer(file.read(), "u1").reshape(image.shape).astype(int)
        seen = np.minimum(theirs[..., 3], ours[..., 3]) >= 32
        frame.check(abs(ours[..., 3] - theirs[..., 3]).max() <= 4, f"alpha: {abs(ours[..., 3] - theirs[..., 3]).max()}")
        frame.check(abs(ours[seen] - theirs[seen]).max() <= 3, f"colours: {abs(ours[seen] - theirs[seen]).max()}")
        frame.check(ours[..., 1][ours[..., 3] > 0].max() <= 96, "green shines through")
        frame.check(0 < np.count_nonzero((ours[..., 3] > 0) & (ours[..., 3] < 255)), "alpha is not blurred")


def test_means_weigh_colours_by_alpha():
    image = transparent()
    with Here() as place:
        write_tiff(place.path("in.tif"), [image], False, [2])
        for chain, outside in (("box size=3", None), ("box size=3 border=constant border-value=40", 40),
                               ("convolve kernel='3x3: 1 1 1 1 1 1 1 1 1' scale=0.1111111111111111", None)):
            tags, got, _ = blurred(place, "in.tif", chain=chain)
            off = abs(got.astype(int) - weighed_mean(image, outside=outside)).max()
            frame.check(off <= (1 if "convolve" in chain else 0) and tags[338] == [2], f"{chain}: off by {off}, {tags[338]}")
        gray = transparent(2)
        write_tiff(place.path("gray.tif"), [gray], True, [2])
        _, got, _ = blurred(place, "gray.tif")
        frame.check((got == weighed_mean(gray[..., [0, 0, 0, 1]])[..., 2:]).all(), "gray and alpha")
        deep = transparent(4, "u2")
        write_tiff(place.path("deep.tif"), [deep], False, [2])
        _, got, _ = blurred(place, "deep.tif")
        part = mean(np.concatenate([deep[..., :3] * (deep[..., 3:] / 65535), deep[..., 3:]], 2))
        wanted = np.where(part[..., 3:] > 0, part[..., :3] * 65535 / np.maximum(part[..., 3:], 1e-9), 0)
        off = max(abs(got[..., :3] - wanted).max(), abs(got[..., 3] - part[..., 3]).max())
        frame.check(got.dtype == np.uint16 and off <= 1, f"u16: off by {off}")
        got = blurred(place, "deep.tif", "--reproducible")[1]
        frame.check((got == weighed_mean(deep)).all(), "exact u16: 16 bits between")
        alpha = part[..., 3:]
        worst = (abs(got[..., :3] - wanted) - 1.5 * 65535 / np.maximum(alpha, 1))[(alpha > 1)[..., 0]].max()
        frame.check(worst <= 0.5, f"exact u16: {worst} beyond what docs/numbers.md says")
        for chain in ("box size=3 | box size=5 exact=yes border=constant border-value=7", "box size=3 exact=yes | box size=5 border=constant border-value=7"):
            got = blurred(place, "deep.tif", chain=chain)[1]
            wanted = blurred(place, "deep.tif", "--reproducible", chain=chain)[1]
            frame.check((got == wanted).all(), f"{chain}: one exact filter of a run")


def test_alpha_copy_is_the_library_s_rule():
    with Here() as place:
        for kind in ("u1", "u2"):
            image = transparent(4, kind)
            write_tiff(place.path("in.tif"), [image], False, [2])
            wanted = bridge.apply("box size=3", image)
            for chain, more in (("box size=3", ["--alpha", "copy"]), ("box size=3 alpha=copy", [])):
                got = blurred(place, "in.tif", *more, chain=chain)[1]
                frame.check(got.dtype == wanted.dtype and (got == wanted).all(), f"{kind} {chain} {more}")
        said = place.run("apply", "box", place.path("in.tif"), "-o", place.path("o.tif"), "--alpha", "no", status=2).stderr
        frame.check("auto or copy" in said, said)


def test_only_means_of_what_can_be_seen_through_are_weighed():
    image, full = transparent(), transparent()
    full[..., 3] = 255
    with Here() as place:
        for name, pixels in (("a.tif", full), ("b.tif", image), ("c.tif", full)):
            write_tiff(place.path(name), [pixels], False, [2])
        names = ("a.tif", "b.tif", "c.tif")
        frame.check(weighed(place, "box size=3", *names) ==
                    [(False, "box"), (True, "premultiply box unpremultiply"), (False, "box")], "taking turns")
        for name, pixels in (("a.tif", bridge.apply("box size=3", full)), ("b.tif", weighed_mean(image))):
            frame.check((read_tiff(place.path("out", name))[1] == pixels).all(), name)
        around = "premultiply box box unpremultiply"
        for chain, wanted in (("box size=3 | box size=5 | sobel", (True, around + " sobel")), ("sobel", (False, "sobel")),
                              ("convolve offset=9", (False, "convolve")), ("box | sobel | box", (True, "premultiply box unpremultiply "
                                                                          "sobel premultiply box unpremultiply")),
                              ("premultiply | box", (False, "premultiply box"))):
            got = weighed(place, chain, "b.tif")
            frame.check(got == [wanted], f"{chain}: {got}")


def test_second_images_keep_their_filters():
    image, other = transparent(), transparent()[::-1] // 3
    with Here() as place:
        write_tiff(place.path("in.tif"), [image], False, [2])
        write_tiff(place.path("other.tif"), [other], False, [2])
        got = blurred(place, "in.tif", chain=f"box size=3 | add image={place.path('other.tif')}")[1]
        frame.check((got == np.minimum(weighed_mean(image) + other, 255)).all(), "box, then the sum")
        for name, pixels in (("in.tif", transparent(4, "u2")), ("other.tif", transparent(4, "u2") // 3)):
            write_tiff(place.path(name), [pixels], False, [2])
        chain = f"box size=3 | add image={place.path('other.tif')} | histogram"
        ran = weighed(place, chain, "in.tif", more=("--format", "csv"))
        frame.check(ran == [(True, "premultiply box unpremultiply add histogram")], f"counted after the sum: {ran}")


# ---- Samples ----

def test_floats_of_other_sizes_are_read():
    with Here() as place:
        for kind in ("f2", "f8"):
            for channels, tile in ((1, 0), (1, 16), (3, 32), (3, 0), (3, "packed planes")):
                image = random(channels, kind)
                write_tiff(place.path("in.tif"), [np.moveaxis(image, 2, 0) if "planes" in str(tile) else image], channels == 1, tile=tile)
                _, pixels, said = blurred(place, "in.tif")
                frame.check(pixels.dtype == np.float32 and abs(pixels - mean(image)).max() < 1e-6, f"{kind} x{channels} {tile}")
                frame.check(f"{8 * image.dtype.itemsize}-bit floating point is read as f32" in said, said)
        for kind in ("i2", "f4", "f8", "u1"):
            tifffile.imwrite(place.path("in.tif"), random(1, kind)[..., 0], photometric="miniswhite")
            said = blurred(place, "in.tif")[2]
            frame.check(("smallest numbers are white" in said) == (kind != "u1"), f"{kind}: {said}")
        special = np.array([[0, -0.0, 65504, -1, 2 ** -24, -2 ** -14, np.inf, -np.inf, np.nan, 1 / 3]], "f2")[..., None]
        write_tiff(place.path("in.tif"), [special])
        pixels = blurred(place, "in.tif", chain="transpose")[1]
        frame.check(pixels.tobytes() == special.astype("f4").tobytes() or np.array_equal(
            pixels.ravel(), special.astype("f4").ravel(), equal_nan=True), f"{pixels.ravel()}")


def test_levels_in_per_cent_are_as_strong_in_every_format():
    with Here() as place:
        image = random(1) // 257 // 16 * 16
        for kind, scale in (("u1", 1), ("u2", 257), ("f4", 1 / 255)):
            write_tiff(place.path(kind + ".tif"), [(image * scale).astype(kind)])
        names = [place.path(kind + ".tif") for kind in ("u1", "u2", "f4")]
        results = []
        for chain in ("epsilon radius=2 threshold=8%", "epsilon radius=2 threshold=20"):
            place.run("apply", chain, *names, "-o", place.path("out/"), "-j", "1")
            results.append([read_tiff(place.path("out", kind + ".tif"))[1] for kind in ("u1", "u2", "f4")])
        u8, u16, f32 = results[0]
        frame.check(abs(u16 / 257 - u8).max() <= 0.51 and abs(f32 * 255 - u8).max() <= 0.51, "the formats differ")
        frame.check((results[0][0] == results[1][0]).all() and (results[0][1] != results[1][1]).any(), "8% of u8 is 20")
        write_tiff(place.path("s16.tif"), [np.full((6, 8, 1), -5, "i2")], True)
        for percent, level in ((20, 6553), (-20, -6553), (100, 32767), (-100, -32767)):
            for chain in (f"convolve kernel='1x1: 0' offset={percent}%",
                          f"convolve kernel='3x1: 0 0 1' border=constant border-value={percent}%"):
                got = blurred(place, "s16.tif", chain=chain)[1][:, -1]
                frame.check(got.dtype == np.int16 and (got == level).all(), f"{chain} of s16: {got}")
        said = place.run("apply", "epsilon threshold=101%", names[0], "-o", place.path("out.tif"), status=2).stderr
        frame.check("threshold=101% does not fit u8 pixels; it takes 0% to 100%" in said, said)
        said = place.run("apply", "box border=constant border-value=-1%", names[0], "-o", place.path("out.tif"), status=2).stderr
        frame.check("border-value=-1% does not fit u8 pixels; it takes 0% to 100%" in said, said)
        place.run("apply", "epsilon radius=8%", names[0], "-o", place.path("out.tif"), status=2)


def test_a_plain_number_over_mixed_depths_warns_once():
    with Here() as place:
        names = {}
        for name, kind in (("a", "u1"), ("b", "u2"), ("c", "u2"), ("d", "u1"), ("e", "f4")):
            names[name] = place.path(name + ".tif")
            write_tiff(names[name], [random(1).astype(kind)])
        for chain, files, times in (("epsilon threshold=20", "abcd", 1), ("epsilon threshold=8%", "ab", 0), ("epsilon threshold=20", "ade", 0),
                                    ("box size=3 border=constant border-value=20", "ab", 1), ("box size=3", "ab", 0)):
            said = place.run("apply", chain, *[names[name] for name in files], "-o", place.path("out/"), "-j", "1").stderr
            frame.check(said.count("=20 counts levels of each image's own format") == times, f"{chain} of {files}: {said}")
            frame.check(not times or "=7.8% is as strong in all images as 20 is in u8" in said, said)
        for level, files, meant in ((20, "ae", "u8"), (30, "ae", "u8"), (128, "ab", "u8"), (255, "ab", "u8"), (300, "ab", "u16")):
            told = set()
            for order in (files, files[::-1]):  # as when the threads open them in another one
                said = place.run("apply", f"convolve offset={level}", *[names[name] for name in order], "-o", place.path("out/"), "-j", "1").stderr
                told.add(re.search(r"offset=([0-9.e-]+)% is as strong in all images as \d+ is in (\w+)", said).groups())
            frame.check(len(told) == 1, f"{level}: {told}")
            percent, kind = told.pop()  # rounded to two digits, 30 would be 31, and 300 be 301
            frame.check(kind == meant and round(float(percent) * {"u8": 255, "u16": 65535}[meant] / 100) == level, f"{level}: {percent}")


def test_sums_over_mixed_depths_warn_once():
    with Here() as place:
        names = [place.path(kind + ".tif") for kind in ("u1", "u2", "u1b")]
        for name in names:
            write_tiff(name, [random(1).astype("u2" if name == names[1] else "u1")])
        for chain, times in (("density size=3 threshold=300", 1), ("density size=3 mask=yes threshold=5", 0), ("density size=3", 0)):
            for order in (names, names[1:]):
                said = place.run("apply", chain, *order, "-o", place.path("out/"), "-j", "1").stderr
                frame.check(said.count("counts sums of levels of each image's own format") == times, f"{chain}: {said}")
                frame.check(not times or "threshold=77100 is as strong in u16 as 300 is in u8" in said, said)  # 300 * 257


def test_logarithmic_tiffs_are_refused():
    with Here() as place:
        for photometric, kind in ((32844, "LogL"), (32845, "LogLuv")):
            write_tiff(place.path("in.tif"), [random(3, "i2")], photometric == 32844)
            with open(place.path("in.tif"), "r+b") as file:
                data = file.read()
                for tag, value in ((262, photometric), (259, 34676)):
                    at = data.index(struct.pack("<HHI", tag, 3, 1)) + 8
                    data = data[:at] + struct.pack("<H", value) + data[at + 2:]
                file.seek(0)
                file.write(data)
            said = place.run("apply", "transpose", place.path("in.tif"), "-o", place.path("out.tif"), status=3).stderr
            frame.check("in.tif' holds LogLuv or LogL samples, which cannot be read" in said, f"{kind}: {said}")


def test_chroma_is_not_taken_for_colours():
    """YCbCr of TIFF, as ImageMagick writes it; JPEG's in a TIFF is read."""
    with Here() as place:
        for compression, status in (("none", 3), ("lzw", 3), ("jpeg", 0)):
            subprocess.run(["convert", "-size", "64x48", "gradient:red-blue", "-colorspace", "YCbCr", "-quality", "95", "-compress", compression, place.path("in.tif")],
                           check=True, timeout=100)
            said = place.run("apply", "box size=1", place.path("in.tif"), "-o", place.path("out.png"), status=status).stderr
            frame.check(("holds YCbCr samples that are not compressed as JPEG" in said and "save it as RGB" in said) == (status == 3), f"{compression}: {said}")
        blue, green, red = cv2.imread(place.path("out.png")).transpose(2, 0, 1)
        frame.check(red[0].min() > 245 and blue[-1].min() > 245 and green.max() < 12, f"{red[0, 0]} {blue[-1, 0]} {green.max()}")


def test_signed_alpha_weighs_nothing():
    """The largest s16 is no full scale, and 32767.0 would be a weight of f32: what would be wrong is refused."""
    with Here() as place:
        image = random(4, "i2")
        write_tiff(place.path("in.tif"), [image], False, [2])
        for chain in ("premultiply", "unpremultiply type=u16"):
            said = place.run("apply", chain, place.path("in.tif"), "-o", place.path("out.tif"), status=2).stderr
            frame.check("does not take s16 pixels, whose full range is not known; it takes u8, u16, f32" in said, said)
        _, pixels, said = blurred(place, "in.tif", chain="transpose")
        frame.check(pixels.dtype == np.int16 and (pixels == image.transpose(1, 0, 2)).all(), said)
        _, pixels, said = blurred(place, "in.tif", chain="box size=3")
        frame.check(pixels.dtype == np.int16 and (pixels[..., 3] == image[..., 3]).all(), "alpha stays")


def write_palette(path, palettes, bits=8):
    """A TIFF of pages of 16x16 indices, each of as many as there are; palettes: for each page 2^bits x 3 of 16 bits."""
    indices = np.arange(256) & (1 << bits) - 1
    packed = np.packbits(np.unpackbits(indices.astype("u1")[:, None], axis=1)[:, 8 - bits:]).tobytes()
    with open(path, "wb") as file:
        file.write(struct.pack("<2sHI", b"II", 42, 8))
        for page, colours in enumerate(palettes):
            values = np.asarray(colours, "<u2").T.tobytes()
            at = file.tell()
            data = at + 2 + 10 * 12 + 4
            end = data + len(packed) + len(values)
            tags = [(256, 3, 1, 16), (257, 3, 1, 16), (258, 3, 1, bits), (259, 3, 1, 1), (262, 3, 1, 3), (273, 4, 1, data),
                    (277, 3, 1, 1), (278, 3, 1, 16), (279, 4, 1, len(packed)), (320, 3, 3 << bits, data + len(packed))]
            file.write(struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags))
            file.write(struct.pack("<I", end if page + 1 < len(palettes) else 0) + packed + values)
    return indices.reshape(16, 16)


def test_palettes_of_eight_bits_are_read_as_such():
    """Writers multiply levels by 256 or 257, or do not."""
    levels = np.random.default_rng(5).integers(0, 256, (256, 3))
    with Here() as place:
        for factor in 256, 257, 1:
            indices = write_palette(place.path("in.tif"), [levels * factor])
            _, pixels, said = blurred(place, "in.tif", chain="box size=1")
            frame.check("palette" not in said and pixels.dtype == np.uint8, f"{factor}: {said}")
            frame.check(np.array_equal(pixels, levels[indices]), f"{factor}: {pixels[0, :4]}")


def test_palettes_of_sixteen_bits_are_read_as_such():
    """One of grays gives gray, and pages of several palettes go one by one."""
    random_colours = np.random.default_rng(6)
    fine = random_colours.integers(0, 65536, (256, 3))
    gray = np.repeat(random_colours.integers(0, 65536, (256, 1)), 3, axis=1)
    with Here() as place:
        indices = write_palette(place.path("in.tif"), [fine])
        _, pixels, said = blurred(place, "in.tif", chain="box size=1")
        frame.check("palette" not in said and np.array_equal(pixels, fine[indices]), f"{said} {pixels[0, :4]}")
        write_palette(place.path("in.tif"), [gray])
        _, pixels, said = blurred(place, "in.tif", chain="box size=1")
        frame.check(np.array_equal(pixels, gray[indices][..., :1]), f"{said} {pixels.shape} {pixels.flat[:4]}")
        for stack in [fine, fine], [fine, fine[::-1]]:
            write_palette(place.path("in.tif"), stack)
            place.run("apply", "box size=1", place.path("in.tif"), "-o", place.path("out.tif"), "--compression", "none")
            pixels = read_pages(place.path("out.tif"))[1]
            frame.check(len(pixels) == 2 and all(np.array_equal(page, colours[indices]) for page, colours in zip(pixels, stack)),
                        f"{len(pixels)}")


def test_palettes_of_sixteen_bits_are_said_to_lose_them():
    """Those of less than a byte for an index are left to libvips."""
    fine = np.random.default_rng(6).integers(0, 65536, (16, 3))
    with Here() as place:
        indices = write_palette(place.path("in.tif"), [fine], bits=4)
        _, pixels, said = blurred(place, "in.tif", chain="box size=1")
        frame.check("16 bits, of which the upper 8 are read" in said, said)
        frame.check(np.array_equal(pixels, fine[indices] >> 8), f"{pixels[0, :4]} instead of {fine[indices][0, :4] >> 8}")


def test_what_is_converted_is_said_once():
    with Here() as place:
        names = [place.path(f"{i}.tif") for i in range(3)]
        for name, kind in zip(names, ("f8", "f8", "i4")):
            write_tiff(name, [random(1, kind)])
        said = place.run("apply", "box", *names, "-o", place.path("out/")).stderr
        frame.check(said.count("64-bit floating point") == 1 and said.count("signed 32-bit integers") == 1, said)


def test_white_of_ten_and_twelve_bits_is_white():
    """By FFmpeg's decoder, from RGB that is stored as it is."""
    with Here() as place:
        ramp = np.tile(np.linspace(0, 65535, 64).astype(np.uint16), (16, 1))
        cv2.imwrite(place.path("in.png"), cv2.merge([ramp, ramp[:, ::-1], ramp]))
        for bits in (10, 12):
            kind = f"gbrp{bits}le"
            for command in (["in.png", "-c:v", "libaom-av1", "-crf", "0", "-cpu-used", "8", "-pix_fmt", kind, "-still-picture", "1", "in.avif"],
                            ["in.avif", "-f", "rawvideo", "-pix_fmt", kind, "in.raw"]):
                command[0], command[-1] = place.path(command[0]), place.path(command[-1])
                subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", *command], check=True, timeout=100)
            place.run("apply", "transpose", place.path("in.avif"), "-o", place.path("out.png"))
            got = cv2.imread(place.path("out.png"), cv2.IMREAD_UNCHANGED).transpose(1, 0, 2)
            wanted = np.fromfile(place.path("in.raw"), "<u2").reshape(3, 16, 64)[[1, 0, 2]].transpose(1, 2, 0) * (65535 / ((1 << bits) - 1))
            frame.check(abs(got - wanted).max() < 1 and got.max() == 65535, f"{bits} bits: off by {abs(got - wanted).max()}, {got.max()}")


def decoded(place, name, kind, shape):
    """The samples of a picture by FFmpeg's decoder, which tells `kind` of them: nothing is converted."""
    probe = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=pix_fmt", "-of", "csv=p=0", place.path(name)], check=True, timeout=100, capture_output=True)
    frame.check(probe.stdout.decode().strip() == kind, f"{name}: {probe.stdout}")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", place.path(name), "-f", "rawvideo", place.path("raw")], check=True, timeout=100)
    return np.fromfile(place.path("raw"), "<u2" if "le" in kind else "u1").reshape(shape)


def test_avif_and_heic_hold_more_than_eight_bits():
    """12, or in HEIC 10 where the input has no more. Luma of gray is what was encoded, up to the codec's last bit."""
    levels = np.tile(np.linspace(0, 65535, 128).astype(np.uint16), (64, 1))
    with Here() as place:
        cv2.imwrite(place.path("in.png"), levels)
        cv2.imwrite(place.path("in8.png"), (levels >> 8).astype(np.uint8))
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", place.path("in.png"), "-c:v", "libaom-av1", "-crf", "0", "-cpu-used", "8", "-pix_fmt", "gbrp10le",
                        "-still-picture", "1", place.path("in10.avif")], check=True, timeout=100)
        for source, bits in (("in.png", 12), ("in10.avif", 12), ("in8.png", 8)):
            place.run("apply", "box size=1", place.path(source), "-o", place.path("out.avif"), "--quality", "100", "--force")
            luma = decoded(place, "out.avif", "yuv444p" + (f"{bits}le" if bits > 8 else ""), (3, 64, 128))[0]
            off = abs(luma.astype(int) - np.rint(levels * (((1 << bits) - 1) / 65535)).astype(int))
            coarse = 8 if source == "in10.avif" else 1
            frame.check(off.max() <= coarse and luma.max() == (1 << bits) - 1 and luma.min() == 0, f"{source}: off by {off.max()}, {luma.min()} to {luma.max()}")
            frame.check(coarse > 1 or (off > 0).mean() < 0.1, f"{source}: {(off > 0).mean():.2f} of all are off")
        for source, bits in (("in.png", 12), ("in10.avif", 10), ("in8.png", 8)):
            place.run("apply", "box size=1", place.path(source), "-o", place.path("out.heic"), "--force")
            with open(place.path("out.heic"), "rb") as file:
                data = file.read()
            depths = data[data.index(b"hvcC") + 4 + 17:][:2]  # of luma and chroma, less 8, in the lower three bits
            frame.check([8 + (depth & 7) for depth in depths] == [bits, bits], f"{source}: {depths}")
            place.run("apply", "box size=1", place.path("out.heic"), "-o", place.path("out.png"), "--force")
            got = cv2.imread(place.path("out.png"), cv2.IMREAD_UNCHANGED)[..., :3].astype(int) * (257 if bits == 8 else 1)
            frame.check(abs(got - levels[..., None]).max() < 1024 and got.max() > 65000, f"{source}: {abs(got - levels[..., None]).max()}")
        said = place.run("apply", "integral", place.path("in.png"), "-o", place.path("out.avif"), "--force", status=2).stderr
        frame.check("AVIF holds 8 or 12 bits; this result is u32" in said, said)


def test_white_of_jpeg_2000_is_white():
    with Here() as place:
        for bits in (10, 12, 14):
            levels = (np.arange(64 * 64) * ((1 << bits) - 1) // 4095).astype("<u2")
            levels.tofile(place.path("in.raw"))
            for name in ("in.jp2", "in.j2k"):
                subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", f"gray{bits}le", "-s", "64x64", "-i", place.path("in.raw"),
                                "-c:v", "libopenjpeg", "-format", name[3:], "-frames:v", "1", place.path(name)], check=True, timeout=100)
                place.run("apply", "transpose", place.path(name), "-o", place.path("out.png"), "--trust")
                got = cv2.imread(place.path("out.png"), cv2.IMREAD_UNCHANGED).T.ravel()
                off = abs(got - levels * (65535 / ((1 << bits) - 1))).max()
                frame.check(off < 1 and got.max() == 65535, f"{name}, {bits} bits: off by {off}, {got.max()}")


def test_lab_of_sixteen_bits_keeps_them():
    """By OpenCV, whose white is a little different."""
    with Here() as place:
        colours = np.random.default_rng(1).uniform(0.1, 0.9, (HEIGHT, WIDTH, 3)).astype(np.float32)
        lab = cv2.cvtColor(colours, cv2.COLOR_RGB2Lab) * np.array([655.35, 256, 256])
        write_tiff(place.path("in.tif"), [lab.round().astype(np.int32).astype("u2")], False)
        rgb, cielab = (struct.pack("<HHIH", 262, 3, 1, value) for value in (2, 8))
        with open(place.path("in.tif"), "r+b") as file:
            data = file.read()
            file.seek(data.index(rgb))
            file.write(cielab)
        _, pixels, _ = blurred(place, "in.tif", chain="transpose | transpose")
        off = abs(pixels / 65535 - colours).max() * 255
        frame.check(pixels.dtype == np.uint16 and off < 1 and len(np.unique(pixels)) > 2000, f"{pixels.dtype}: off by {off} levels of 8 bits")


def test_cmyk_without_a_profile_is_told():
    """Once in a run: nobody knows which inks were meant. White paper is white all the same, and ink is dark."""
    with Here() as place:
        os.mkdir(place.path("in"))
        for name in ("a.tif", "b.tif"):
            tifffile.imwrite(place.path("in", name), np.repeat(np.uint8([[[0] * 4, [255] * 4]]), 8, 0), photometric="separated")
        said = place.run("apply", "box size=1", place.path("in"), "-o", place.path("out") + "/", "--format", "png").stderr
        frame.check(said.count("CMYK without a profile is converted to sRGB by a common one") == 1, said)
        white, dark = cv2.imread(place.path("out", "a.png"))[0].astype(int)
        frame.check(white.min() >= 250 and dark.max() <= 80, f"{white} {dark}")


def test_samples_that_cannot_be_read_are_named():
    with Here() as place:
        write_tiff(place.path("in.tif"), [random(1, "i8")])
        said = place.run("apply", "box", place.path("in.tif"), "-o", place.path("out.tif"), status=3).stderr
        frame.check("integers of 64 bits" in said and "damaged" not in said, said)
        for kind, bits in (("c8", 64), ("c16", 128)):
            write_tiff(place.path("in.tif"), [random(1).astype(kind)])
            said = place.run("apply", "box", place.path("in.tif"), "-o", place.path("out.tif"), status=3).stderr
            frame.check(f"holds complex numbers of {bits} bits" in said and "floating point of 16, 32 and 64" in said, said)
        for bits, kind, wanted in (("12", "Grayscale", "12 bits, which"), ("4", "TrueColor", "4 bits in several channels, which")):
            subprocess.run(["convert", "-size", "20x20", "plasma:", "-type", kind, "-depth", bits, place.path("in.tif")], check=True, timeout=100)
            said = place.run("apply", "box", place.path("in.tif"), "-o", place.path("out.tif"), status=3).stderr
            frame.check(f"holds integers of {wanted} cannot be read" in said and "damaged" not in said, said)


def test_tiled_planes_of_other_colours_are_no_damage():
    with Here() as place:
        write_tiff(place.path("in.tif"), [np.moveaxis(random(3), 2, 0)], False, tile="tiled planes")
        photometric, cielab = (struct.pack("<HHIH", 262, 3, 1, value) for value in (2, 8))
        with open(place.path("in.tif"), "r+b") as file:
            data = file.read()
            file.seek(data.index(photometric))
            file.write(cielab)
        said = place.run("apply", "box", place.path("in.tif"), "-o", place.path("out.tif"), status=3).stderr
        frame.check("holds each channel by itself in tiles" in said and "PlanarConfiguration 1" in said and "damaged" not in said, said)


def test_a_lossless_webp_stays_lossless():
    """All samples, of pictures and of animations; not one that was lossy, nor where a quality is asked for."""
    image = np.random.default_rng(3).integers(0, 256, (40, 60, 3), np.uint8)
    with Place() as place:
        inputs = {"exact.webp": 101, "lossy.webp": 80}
        for name, quality in inputs.items():
            frame.check(cv2.imwrite(place.path(name), image, (cv2.IMWRITE_WEBP_QUALITY, quality)), name)
        frame.check(cv2.imwrite(place.path("in.png"), image), "in.png")
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=60x40:rate=10:duration=0.5", "-pix_fmt", "bgra", "-c:v", "libwebp_anim",
                        "-lossless", "1", place.path("moving.webp")], check=True)
        for name, more, exact in (("exact.webp", (), True), ("exact.webp", ("--quality", "80"), False), ("lossy.webp", (), False), ("in.png", (), False),
                                  ("in.png", ("--compression", "lossless"), True), ("lossy.webp", ("--compression", "lossless"), True),
                                  ("moving.webp", (), True)):
            place.run("apply", "box size=1", place.path(name), "-o", place.path("out.webp"), "--force", *more)
            with open(place.path("out.webp"), "rb") as file:
                data = file.read()
            kinds = [kind for kind in (b"VP8L", b"VP8 ") if kind in data]
            frame.check(kinds == [b"VP8L" if exact else b"VP8 "], f"{name} {more}: {kinds}")
            if exact and name != "moving.webp":
                frame.check((cv2.imread(place.path("out.webp")) == cv2.imread(place.path(name))).all(), "samples differ")


def test_lossless_is_for_some():
    """In a folder each output heeds what is meant for it; what none heeds is an error."""
    image = np.random.default_rng(3).integers(0, 256, (40, 60, 3), np.uint8)
    with Place() as place:
        os.mkdir(place.path("in"))
        for name, quality in (("a.webp", (cv2.IMWRITE_WEBP_QUALITY, 80)), ("b.jpg", ()), ("c.tif", (cv2.IMWRITE_TIFF_COMPRESSION, 5))):
            frame.check(cv2.imwrite(place.path("in", name), image, quality), name)
        place.run("apply", "box size=1", place.path("in"), "-o", place.path("out/"), "--compression", "lossless", "--quality", "100")
        for name in ("a.webp", "c.tif"):
            frame.check((cv2.imread(place.path("out", name)) == cv2.imread(place.path("in", name))).all(), f"{name}: samples differ")
        with Image.open(place.path("out", "c.tif")) as kept:
            frame.check(kept.info["compression"] == "tiff_lzw", kept.info["compression"])
        for source, out, options, message in (("a.webp", "x.webp", ("--compression", "lossless", "--quality", "80"), "leave one of both out"),
                                              ("a.webp", "x.webp", ("--compression", "lzw"), "it is for TIFF, and it takes lossless"),
                                              ("a.webp", "x.png", ("--compression", "lossless"), "PNG, TIFF and PNM are lossless anyway"),
                                              ("b.jpg", "x.tif", ("--compression", "lossless"), "PNG, TIFF and PNM are lossless anyway")):
            said = place.run("apply", "box", place.path("in", source), "-o", place.path(out), *options, status=2).stderr
            frame.check(message in said, said)


def test_avif_and_heic_are_lossless_or_refused():
    """Gray always is, and colours with libvips 8.16: as FFmpeg reads the one and ImageMagick the other."""
    random_samples = np.random.default_rng(8)
    with Place() as place:
        for channels in 1, 3, 4:
            image = random_samples.integers(1, 256, (40, 60, channels), np.uint8)  # of alpha 0 no filter keeps colours
            frame.check(cv2.imwrite(place.path("in.png"), image), "in.png")
            for name, read in (("out.avif", ("ffmpeg", "-v", "error", "-y", "-i")), ("out.heic", ("convert",))):
                result = place.any("apply", "box size=1", place.path("in.png"), "-o", place.path(name), "--compression", "lossless", "--force")
                if result.returncode == 2 and channels > 1:
                    frame.check("with losses in any case: write a .png or .tif" in result.stderr, result.stderr)
                    continue
                frame.check(result.returncode == 0, result.stderr)
                subprocess.run([*read, place.path(name), place.path("back.png")], check=True, timeout=60)
                back = np.atleast_3d(cv2.imread(place.path("back.png"), cv2.IMREAD_UNCHANGED))
                of_both = min(channels, back.shape[2], 3)  # FFmpeg leaves alpha out
                frame.check((back[..., :of_both] == image[..., :of_both]).all(), f"{name}, {channels}: {back[0, 0]} instead of {image[0, 0]}")
                place.run("apply", "box size=1", place.path(name), "-o", place.path("own.png"), "--force")
                own = np.atleast_3d(cv2.imread(place.path("own.png"), cv2.IMREAD_UNCHANGED))
                frame.check((own[..., :channels] == image).all(), f"{name}, {channels}: as hone reads it")
        frame.check(cv2.imwrite(place.path("in.png"), image.astype("u2") * 257), "in.png")
        said = place.run("apply", "box", place.path("in.png"), "-o", place.path("out.avif"), "--compression", "lossless", "--force", status=2).stderr
        frame.check("8 or 12 bits, so that --compression lossless cannot keep all of u16" in said, said)


def test_what_comes_before_damage_is_taken_with_a_warning():
    with Here() as place:
        image = np.random.default_rng(3).integers(0, 256, (500, 700, 4), np.uint8)
        image[..., 3] |= 254
        for suffix in ("png", "jpg", "ppm"):
            whole, bad, out = (place.path(f"{name}.{suffix}") for name in ("whole", "bad", "out"))
            cv2.imwrite(whole, image if suffix == "png" else image[..., :3])
            with open(whole, "rb") as file:
                data = file.read()
            damages = [data[:len(data) * 6 // 10]]
            damages += [data[:len(data) * 6 // 10] + bytes(64) + data[len(data) * 6 // 10 + 64:]] if suffix == "png" else []
            for damaged in damages:
                with open(bad, "wb") as file:
                    file.write(damaged)
                said = place.run("apply", "box size=1", bad, "-o", place.path("out.png"), status=3).stderr
                frame.check("--accept-damaged" in said, f"{suffix}: {said}")
                said = place.run("apply", "box size=1", bad, "-o", place.path("out.png"), "--force", "--accept-damaged").stderr
                frame.check(said.count("\n") == 1 and "warning: " in said and "damaged: " in said, f"{suffix}: {said}")
                if suffix == "png": # read twice in bands: what alpha is, and the pixels
                    said = place.run("apply", "box size=1", bad, "-o", place.path("out.png"), "--force", "--accept-damaged", "--memory", "1M").stderr
                    frame.check(said.count("warning: ") == 1 and "damaged: " in said, f"in bands: {said}")
                rows = len(image) // 4
                frame.check(np.array_equal(cv2.imread(place.path("out.png"))[:rows], cv2.imread(whole)[:rows]), f"{suffix}: other rows")


def test_a_file_that_is_cut_off_is_an_error():
    with Here() as place:
        for tile in (0, 16):
            write_tiff(place.path("whole.tif"), [random(1, "f8")], tile=tile)
            with open(place.path("whole.tif"), "rb") as file:
                raw = file.read()
            # The pixels' offsets point behind the end.
            at = struct.unpack("<I", raw[4:8])[0]
            with open(place.path("cut.tif"), "wb") as file:
                file.write(b"II*\0" + struct.pack("<I", 8) + raw[at:])
            said = place.run("apply", "box", place.path("cut.tif"), "-o", place.path("out.tif"), status=3).stderr
            frame.check(said.startswith("hone: ") and said.count("\n") <= 2, f"said: {said}")


if __name__ == "__main__":
    frame.main(globals())
