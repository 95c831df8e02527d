#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks and animations, page by page: TIFF by a reader and a writer of our own, GIF and WebP by ImageMagick and by their chunks.
pages.py build=FOLDER"""

import json
import os
import struct
import subprocess
import xml.etree.ElementTree

import cv2
import numpy as np
import tifffile

import frame
from pictures import Here, read_pages, write_tiff

SPACE = "{http://www.openmicroscopy.org/Schemas/OME/2016-06}"
OME = ('<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0" '
       'Name="cells"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" SizeX="37" SizeY="29" SizeC="2" SizeZ="3" SizeT="1" '
       'PhysicalSizeX="0.25" PhysicalSizeZ="2"><Channel ID="Channel:0:0" SamplesPerPixel="1" Name="DAPI"/>'
       '<Channel ID="Channel:0:1" SamplesPerPixel="1" Name="GFP"/><TiffData IFD="0" PlaneCount="6"/></Pixels></Image></OME>')
IMAGEJ = "ImageJ=1.53\nimages=6\nchannels=2\nslices=3\nhyperstack=true\nmode=gray\nunit=um\n"
SHAPED = '{"shape": [2, 3, 29, 37], "axes": "CZYX"}'


def stack(kind="u1", channels=1, count=6):
    most = 1 if kind[0] == "f" else np.iinfo(kind).max
    return [(most * np.random.default_rng(page).random((29, 37, channels))).astype(kind) for page in range(count)]


def apply(place, chain, name, out, *more, status=0):
    return place.run("apply", chain, place.path(name), "-o", place.path(out), *more, status=status).stderr


def check_turned(got, images, what):
    same = len(got) == len(images) and all(np.array_equal(g, i.swapaxes(0, 1)) for g, i in zip(got, images))
    frame.check(same, f"{what}: {len(got)} of {len(images)} pages, or others")


# ---- TIFF ----

def test_every_page_is_filtered_by_itself():
    cases = (("u1", 1, {}), ("u2", 3, {"gray": False}), ("f8", 1, {}), ("u2", 4, {"extra": [0, 0, 0], "tile": "packed planes"}),
             ("u1", 3, {"gray": False, "tile": 16}), ("u2", 4, {"extra": [0, 0, 0]}))
    with Here() as place:
        for kind, channels, more in cases:
            images = stack(kind, channels, 4)
            write_tiff(place.path("in.tif"), [np.moveaxis(i, 2, 0) if "planes" in str(more.get("tile")) else i for i in images], **more)
            apply(place, "transpose", "in.tif", "out.tif", "--compression", "none")
            pages, got = read_pages(place.path("out.tif"))
            check_turned(got, [i.astype("f4") if kind == "f8" else i for i in images], f"{kind} x{channels} {more}")
            frame.check(all(page.get(338) == more.get("extra") for page in pages), f"{more}: the channels are declared otherwise")
            apply(place, "transpose", "in.tif", "some.tif", "--pages", "2-3", "--compression", "none")
            check_turned(read_pages(place.path("some.tif"))[1], [i.astype("f4") if kind == "f8" else i for i in images[1:3]], "2-3")


def test_nothing_bleeds_between_pages():
    dark, bright = np.zeros((9, 11, 1), "u1"), np.full((9, 11, 1), 255, "u1")
    with Here() as place:
        write_tiff(place.path("in.tif"), [dark, bright, dark])
        apply(place, "box size=9", "in.tif", "out.tif")
        got = read_pages(place.path("out.tif"))[1]
        frame.check([(page.min(), page.max()) for page in got] == [(0, 0), (255, 255), (0, 0)], "pages mix")


def test_descriptions_that_are_true_stay():
    with Here() as place:
        for text in (OME, IMAGEJ, SHAPED, "a person's words"):
            write_tiff(place.path("in.tif"), stack(), description=text)
            said = apply(place, "box size=3", "in.tif", "out.tif")
            pages, _ = read_pages(place.path("out.tif"))
            frame.check(pages[0][270] == text and len(pages) == 6 and not said, f"{pages[0][270]} {said}")


def ome_of(place, name):
    pages, _ = read_pages(place.path(name))
    pixels = xml.etree.ElementTree.fromstring(pages[0][270]).find(f"{SPACE}Image/{SPACE}Pixels")
    sizes = [int(pixels.get(f"Size{axis}")) for axis in "XYCZT"]
    channels = pixels.findall(SPACE + "Channel")
    samples = sum(int(channel.get("SamplesPerPixel")) for channel in channels)
    frame.check(samples == sizes[2] and pixels.find(SPACE + "TiffData").get("PlaneCount") == str(len(pages)), f"{pages[0][270]}")
    return pixels.get("Type"), pixels.get("DimensionOrder"), sizes, [channel.get("Name") for channel in channels]


def test_descriptions_tell_what_is_true():
    with Here() as place:
        write_tiff(place.path("ome.tif"), stack(), description=OME)
        for chain, more, wanted in (("transpose", (), ("uint8", "XYZCT", [29, 37, 2, 3, 1], ["DAPI", "GFP"])),
                                    ("sobel output=dx", (), ("int16", "XYZCT", [37, 29, 2, 3, 1], ["DAPI", "GFP"])),
                                    ("box size=3", ("--pages", "2-5"), ("uint8", "XYCZT", [37, 29, 1, 4, 1], ["DAPI"]))):
            apply(place, chain, "ome.tif", "out.tif", *more)
            frame.check(ome_of(place, "out.tif") == wanted, f"{chain}: {ome_of(place, 'out.tif')}")
        write_tiff(place.path("ij.tif"), stack(), description=IMAGEJ)
        apply(place, "box size=3", "ij.tif", "out.tif", "--pages", "1-4")
        text = read_pages(place.path("out.tif"))[0][0][270]
        frame.check(text == "ImageJ=1.53\nimages=4\nslices=4\nunit=um\n", text)
        write_tiff(place.path("shaped.tif"), stack(), description=SHAPED)
        for chain, more, wanted in (("transpose", (), [6, 37, 29]), ("box size=3", ("--pages", "2-3"), [2, 29, 37])):
            apply(place, chain, "shaped.tif", "out.tif", *more)
            text = read_pages(place.path("out.tif"))[0][0][270]
            frame.check(json.loads(text) == {"shape": wanted}, text)


def test_what_pages_say_of_themselves():
    """All pages get what the first of them says, which is told where others say something else."""
    with Here() as place:
        def write(name, descriptions, resolutions):
            with tifffile.TiffWriter(place.path(name)) as out:
                for page, text, dpi in zip(stack(), descriptions, resolutions):
                    out.write(page[:, :, 0], description=text, resolution=(dpi, dpi), resolutionunit="INCH", metadata=None)

        words, dots = [f"page {i}" for i in range(4)], [100, 101, 102, 103]
        for descriptions, resolutions, more, first, told in ((words, dots, (), 0, True), (words[:1] * 4, dots, (), 0, True),
                                                             (words, dots[:1] * 4, (), 0, True), (words, dots, ("--pages", "2-4"), 1, True),
                                                             (words, dots, ("--pages", "3"), 2, False),
                                                             (["one", None, None, None], dots[:1] * 4, (), 0, False)):
            write("in.tif", descriptions, resolutions)
            said = apply(place, "box size=3", "in.tif", "out.tif", *more)
            pages, _ = read_pages(place.path("out.tif"))
            with tifffile.TiffFile(place.path("out.tif")) as file:
                got = [page.tags["XResolution"].value for page in file.pages]
            frame.check(np.allclose([a / b for a, b in got], resolutions[first], atol=0.01), f"{resolutions} {more}: {got}")
            frame.check(pages[0][270] == descriptions[first], f"{descriptions} {more}: {pages[0][270]}")
            frame.check(("its pages differ" in said) == told, f"{descriptions} {resolutions} {more}: {said}")


def test_stacks_larger_than_memory_are_written_page_by_page():
    """What tifffile and ImageJ read of them is the same; each page has its own words."""
    with Here() as place:
        pixels = np.array(stack("u2"))[:, :, :, 0].repeat(20, 1).repeat(20, 2)
        tifffile.imwrite(place.path("imagej.tif"), pixels, imagej=True, resolution=(3, 2), metadata={"axes": "ZYX", "spacing": 3, "unit": "um"})
        tifffile.imwrite(place.path("ome.tif"), pixels, metadata={"axes": "TYX", "TimeIncrement": 5.0}, ome=True)
        for name in "imagej.tif", "ome.tif":
            for pages, more in (6, ()), (3, ("--pages", "2-4")):
                apply(place, "transpose", name, "whole.tif", *more)
                said = apply(place, "transpose", name, "parts.tif", *more, "--memory", "1M", "-v")
                frame.check(f"{pages} pages\n" in said, said)
                with tifffile.TiffFile(place.path("whole.tif")) as whole, tifffile.TiffFile(place.path("parts.tif")) as parts:
                    a, b = whole.series[0], parts.series[0]
                    frame.check(np.array_equal(b.asarray(), pixels[len(more) // 2:][:pages].swapaxes(1, 2)), f"{name}: other pixels")
                    frame.check((a.axes, a.shape) == (b.axes, b.shape), f"{name}: {b.axes} {b.shape}")
                    frame.check(whole.imagej_metadata == parts.imagej_metadata and whole.ome_metadata == parts.ome_metadata, f"{name}: other words")
                    frame.check(all(270 not in parts.pages[i].aspage().tags for i in range(1, pages)), f"{name}: words of the first page on others")


def test_hundreds_of_pages():
    """Which a reader of our own takes one after the other."""
    cases = (("u1", 3, {"photometric": "rgb", "compression": "zlib"}), ("u2", 1, {"tile": (16, 32)}), ("f4", 1, {}), ("i2", 1, {}))
    with Here() as place:
        for kind, channels, more in cases:
            pixels = np.array(stack(kind, channels, 150)).squeeze()
            with tifffile.TiffWriter(place.path("in.tif")) as file:
                for page in pixels:
                    file.write(page, contiguous=False, metadata=None, **more)
            for pages, options in (150, ()), (100, ("--pages", "31-130")):
                apply(place, "transpose", "in.tif", "out.tif", *options)
                got = tifffile.imread(place.path("out.tif"), key=range(pages))
                frame.check(np.array_equal(got, pixels[30 if options else 0:][:pages].swapaxes(1, 2)), f"{kind}: other pixels")


def test_sizes_of_pixels_turn_with_them():
    size = 'PhysicalSizeX="0.25" PhysicalSizeXUnit="nm" PhysicalSizeY="0.5" PhysicalSizeYUnit="mm"'
    names = [f"PhysicalSize{axis}{unit}" for axis in "XY" for unit in ("", "Unit")]
    turned = ["0.5", "mm", "0.25", "nm"]
    cases = ((37, size, "transpose", turned), (29, size, "transpose", turned), (29, size, "transpose | box size=3 | transpose", None),
             (29, size, "box size=3", None), (29, 'PhysicalSizeX="2" PhysicalSizeY="2"', "transpose", None),
             (29, 'PhysicalSizeX="0.25"', "transpose", [None, None, "0.25", None]))
    with Here() as place:
        for width, sizes, chain, wanted in cases:
            text = OME.replace('SizeX="37"', f'SizeX="{width}"').replace('PhysicalSizeX="0.25"', sizes)
            write_tiff(place.path("in.tif"), [page[:, :width] for page in stack()], description=text)
            apply(place, chain, "in.tif", "out.tif")
            got = read_pages(place.path("out.tif"))[0][0][270]
            pixels = xml.etree.ElementTree.fromstring(got).find(f"{SPACE}Image/{SPACE}Pixels")
            same = got == text if wanted is None else [pixels.get(name) for name in names] == wanted
            frame.check(same, f"{width} {sizes} {chain}: {got}")


def test_compare_looks_at_every_page():
    with Here() as place:
        def write(name, sizes, wrong=()):
            with tifffile.TiffWriter(place.path(name)) as out:
                for number, (height, width) in enumerate(sizes):
                    page = np.full((height, width), 7, np.uint8)
                    page[2, 3] += dict(wrong).get(number, 0)
                    out.write(page, description=f"page {number}", metadata=None)

        same, apart = [(20, 30)] * 4, [(20, 30), (10, 30), (20, 30)]
        for name, sizes, wrong in (("same.tif", same, ()), ("third.tif", same, ((1, 2), (2, 5))), ("three.tif", same[:3], ()), ("apart.tif", apart, ()),
                                   ("last.tif", apart, ((2, 4),))):
            write(name, sizes, wrong)
        for a, b, status, wanted in (("same", "same", 0, "4 pages\n"), ("same", "third", 1, "2 of 4 pages differ, page 3 most:\n"),
                                     ("same", "three", 1, ", 3 pages\n"), ("apart", "apart", 0, "3 pages\n"),
                                     ("apart", "last", 1, "1 of 3 pages differ, page 3 most:\n"), ("three", "apart", 1, "page 2 differs in kind:\n")):
            result = place.run("compare", place.path(a + ".tif"), place.path(b + ".tif"), status=status)
            frame.check(wanted in result.stdout and not result.stderr, f"{a} {b}: {result.stdout} {result.stderr}")
        said = json.loads(place.run("compare", place.path("same.tif"), place.path("third.tif"), "-t", "5", "--json").stdout)
        frame.check([said[key] for key in ("status", "page", "differing_pages")] == ["within tolerance", 3, 2] and said["a"]["pages"] == 4 and
                    said["all"]["largest"] == 5, f"{said}")


def test_compare_takes_any_number_of_channels():
    with Here() as place:
        a = np.moveaxis(np.array(stack("u2", 1, 6))[..., 0], 0, 2)
        b = a.copy()
        b[3, 5, 4] ^= 3
        b[9, 7, 2] ^= 1
        for name, pixels in ("a.tif", a), ("b.tif", b):
            tifffile.imwrite(place.path(name), pixels, photometric="minisblack", planarconfig="contig", extrasamples=[0] * 5)
        place.run("compare", place.path("a.tif"), place.path("a.tif"), status=0)
        said = json.loads(place.run("compare", place.path("a.tif"), place.path("b.tif"), "--json", status=1).stdout)
        apart = np.abs(a.astype("f8") - b)
        wanted = [(part.max(), part.mean()) for part in (apart, *np.moveaxis(apart, 2, 0))]
        got = [(part["largest"], part["mean"]) for part in (said["all"], *said["channels"])]
        frame.check(np.allclose(got, wanted, 1e-6), f"{got} {wanted}")
        frame.check(abs(said["all"]["psnr"] - 10 * np.log10(65535 ** 2 / np.square(apart).mean())) < 1e-4, f"{said['all']}")
        frame.check([said["all"]["where"][key] for key in ("x", "y", "channel")] == [5, 3, 4] and said["a"]["channels"] == 6, f"{said}")


def test_options():
    with Here() as place:
        write_tiff(place.path("in.tif"), stack())
        apply(place, "transpose", "in.tif", "out.png", "--pages", "3")
        check_turned([cv2.imread(place.path("out.png"), cv2.IMREAD_UNCHANGED)], [stack()[2][:, :, 0]], "PNG of a page")
        frame.check("the first is used" in apply(place, "transpose", "in.tif", "out.png"), "nothing is said of the others")
        for value, wanted in (("3-", stack()[2:]), ("-2", stack()[:2]), ("6-", stack()[5:])):
            apply(place, "transpose", "in.tif", "out.tif", "--pages", value)
            check_turned(read_pages(place.path("out.tif"))[1], wanted, f"pages {value}")
        report = place.json("apply", "transpose", place.path("in.tif"), "-o", place.path("out.tif"))
        frame.check(report["pages"] == 6, f"{report}")
        for value, out, status, words in (("2-3", "out.png", 2, "holds one image"), ("0", "out.tif", 2, "--pages"),
                                          ("3-2", "out.tif", 2, "--pages"), ("x", "out.tif", 2, "--pages"),
                                          ("-", "out.tif", 2, "--pages"), ("2-", "out.png", 2, "holds one image"),
                                          ("5-7", "out.tif", 3, "there is no page 7"), ("7-", "out.tif", 3, "there is no page 7")):
            said = apply(place, "transpose", "in.tif", out, "--pages", value, status=status)
            frame.check(words in said, f"{value}: {said}")
        with open(place.path("one.pgm"), "wb") as file:
            file.write(b"P5 2 2 255\nabcd")
        frame.check("no page 2" in apply(place, "transpose", "one.pgm", "out.tif", "--pages", "2", status=3), "PGM")


def check_cut(place, cut, out, count, what):
    """An error; with damage accepted a warning and as many pages as are there."""
    with open(place.path("cut" + out), "wb") as file:
        file.write(cut)
    said = apply(place, "box size=1", "cut" + out, "out" + out, status=3)
    frame.check("the file is cut off" in said and "--accept-damaged" in said, f"{what}: {said}")
    frame.check(not os.path.exists(place.path("out" + out)), f"{what}: an output")
    said = apply(place, "box size=1", "cut" + out, "out" + out, "--accept-damaged")
    frame.check("the file is cut off" in said, f"{what}, accepted: {said}")
    got = subprocess.run(["identify", place.path("out" + out)], capture_output=True, check=True, timeout=100).stdout.count(b"\n")
    frame.check(got == count, f"{what}, accepted: {got} images, not {count}")
    os.remove(place.path("out" + out))


def test_a_stack_that_is_cut_off_is_an_error():
    """Within the pixels of a page, and within and before a directory; also where only a description tells of the other pages."""
    with Here() as place:
        write_tiff(place.path("in.tif"), stack(count=4))
        with open(place.path("in.tif"), "rb") as file:
            whole = file.read()
        with tifffile.TiffFile(place.path("in.tif")) as file:
            places = [page.offset for page in file.pages]
        check_cut(place, whole[:len(whole) * 6 // 10], ".tif", 2, "60 %")
        check_cut(place, whole[:places[2]], ".tif", 2, "before a directory")
        check_cut(place, whole[:places[3] + 20], ".tif", 3, "within a directory")
        tifffile.imwrite(place.path("in.tif"), np.zeros((24, 20, 30), "u2"), imagej=True)
        with open(place.path("in.tif"), "rb") as file:
            whole = file.read()
        with tifffile.TiffFile(place.path("in.tif")) as file:
            second = file.pages[1].offset
        check_cut(place, whole[:second - 100], ".tif", 1, "ImageJ")


# ---- More than four channels ----

def test_many_channels_are_filtered_one_by_one():
    """As pages of one channel each are."""
    cases = (("u1", 5, 1, {"extra": [0] * 4}), ("u2", 6, 2, {"extra": [0] * 5, "tile": "planes"}), ("u1", 7, 1, {"extra": [0] * 6, "tile": 16}),
             ("u1", 5, 1, {"extra": [0] * 4, "tile": "tiled planes"}),
             ("u2", 6, 2, {"gray": False, "extra": [0] * 3}), ("f2", 5, 1, {"extra": [0] * 4}))
    with Here() as place:
        for kind, channels, count, more in cases:
            images = stack(kind, channels, count)
            write_tiff(place.path("in.tif"), [np.moveaxis(i, 2, 0) if "planes" in str(more.get("tile")) else i for i in images], **more)
            write_tiff(place.path("other.tif"), [stack("f4" if kind[0] == "f" else kind)[5]])
            write_tiff(place.path("single.tif"), [image[:, :, c:c + 1] for image in images for c in range(channels)])
            chain = "transpose" if kind == "f2" else "box size=3 | add image=" + place.path("other.tif")
            for name in ("in", "single"):
                apply(place, chain, name + ".tif", name + "-out.tif")
            pages, got = read_pages(place.path("in-out.tif"))
            frame.check(all(page[338] == more["extra"] and page[262] == [2 if "gray" in more else 1] for page in pages), f"{pages}")
            single = [image[:, :, c:c + 1] for image in got for c in range(channels)]
            wanted = read_pages(place.path("single-out.tif"))[1]
            same = len(got) == count and len(single) == len(wanted) and all(np.array_equal(s, w) for s, w in zip(single, wanted))
            frame.check(same, f"{kind} x{channels} {more}: other values")
            if chain == "transpose":
                check_turned(got, [i.astype("f4") for i in images], f"{kind} x{channels}")


def test_what_many_channels_cannot_do_is_said():
    with Here() as place:
        image = stack("u1", 5, 1)
        write_tiff(place.path("in.tif"), image, extra=[0] * 4)
        report = place.json("apply", "box size=3", place.path("in.tif"), "-o", place.path("out.tif"))
        frame.check(report["channels"] == 5 and report["pages"] == 1, f"{report}")
        for chain, out, status, words in (("gray", "out.tif", 2, "5 channels of"), ("box size=3 | colormap", "out.tif", 2, "colormap does not treat"),
                                          ("box size=3", "out.png", 2, "write a .tif"), ("box size=3", "out.csv", 2, "write a .tif")):
            said = apply(place, chain, "in.tif", out, status=status)
            frame.check(words in said, f"{chain} to {out}: {said}")
        write_tiff(place.path("one.tif"), [image[0][:, :, :1]])
        write_tiff(place.path("two.tif"), stack("u1", 2, 1), extra=[0])
        said = apply(place, "colormap", "two.tif", "out.tif", status=2)
        frame.check("it takes 1: save the channel that is meant as an image of its own" in said, said)
        said = apply(place, "add image=" + place.path("in.tif"), "one.tif", "out.tif", status=2)
        frame.check("5 channels" in said, f"as a second image: {said}")
        for channels in (5, 6):
            write_tiff(place.path("in.tif"), stack("u1", channels, 1), extra=[0] * (channels - 2) + [2])
            said = apply(place, "box size=3", "in.tif", "out.tif", status=3)
            words = f"{channels} channels, of which 1 are alpha and {channels - 2} are no colour"
            frame.check(words in said and "declare no channel as alpha" in said, f"with alpha: {said}")
        with open(place.path("in.tif"), "rb") as file:
            whole = file.read()
        with open(place.path("in.tif"), "wb") as file:
            file.write(whole[:len(whole) // 2])
        apply(place, "box size=3", "in.tif", "out.tif", status=3)


# ---- Animations ----

COLORS = ("red", "lime", "blue", "white")


def make_gif(name):
    """Four frames of 40 x 24: a bar of a colour each on black."""
    command = ["convert", "-loop", "3", "-size", "40x24"]
    for i, color in enumerate(COLORS):
        command += ["(", "-delay", str(5 + 2 * i), "xc:black", "-fill", color, "-draw", f"rectangle {8 * i},4 {8 * i + 9},11", ")"]
    subprocess.run([*command, name], check=True, timeout=100)


def frames(name, width, height):
    raw = subprocess.run(["convert", name, "-coalesce", "-depth", "8", "rgb:-"], capture_output=True, check=True, timeout=100).stdout
    return np.frombuffer(raw, "u1").reshape(-1, height, width, 3)


def gif_times(name):
    """Delays in hundredths of a second, and the repetitions."""
    text = subprocess.run(["identify", "-format", "%T ", name], capture_output=True, text=True, check=True, timeout=100).stdout
    with open(name, "rb") as file:
        data = file.read()
    at = data.find(b"NETSCAPE2.0")
    return [int(word) for word in text.split()], None if at < 0 else struct.unpack("<H", data[at + 13:at + 15])[0]


def webp_times(name):
    """Milliseconds of each frame, the repetitions, and the size."""
    with open(name, "rb") as file:
        data = file.read()
    at, times, loops, size = 12, [], None, None
    while at < len(data):
        kind, length = data[at:at + 4], struct.unpack("<I", data[at + 4:at + 8])[0]
        body = data[at + 8:at + 8 + length]
        if kind == b"VP8X":
            size = tuple(int.from_bytes(body[i:i + 3], "little") + 1 for i in (4, 7))
        elif kind == b"ANIM":
            loops = struct.unpack("<H", body[4:6])[0]
        elif kind == b"ANMF":
            times.append(int.from_bytes(body[12:15], "little"))
        at += 8 + length + length % 2
    return times, loops, size


def test_animations_stay_animations():
    with Here() as place:
        make_gif(place.path("in.gif"))
        before, times = frames(place.path("in.gif"), 40, 24), gif_times(place.path("in.gif"))
        frame.check(len(before) == 4 and times[0] == [5, 7, 9, 11], f"the input is another one: {len(before)} {times}")
        apply(place, "transpose", "in.gif", "out.gif")
        after = frames(place.path("out.gif"), 24, 40)
        frame.check(len(after) == 4 and np.abs(after.astype(int) - before.swapaxes(1, 2)).max() <= 8, "frames differ")
        frame.check(gif_times(place.path("out.gif")) == times, f"times: {gif_times(place.path('out.gif'))}, {times}")
        apply(place, "transpose", "in.gif", "some.gif", "--pages", "2-3")
        frame.check(gif_times(place.path("some.gif")) == (times[0][1:3], times[1]), f"{gif_times(place.path('some.gif'))}")
        apply(place, "transpose", "in.gif", "out.webp", "--quality", "100")
        found = webp_times(place.path("out.webp"))
        frame.check(found[0] == [10 * time for time in times[0]] and found[2] == (24, 40), f"WebP: {found}")
        apply(place, "transpose", "out.webp", "again.gif")
        again = frames(place.path("again.gif"), 40, 24)
        frame.check(len(again) == 4 and np.abs(again.astype(int) - before).mean() < 12, "frames of WebP differ")
        frame.check(gif_times(place.path("again.gif"))[0] == times[0], f"from WebP: {gif_times(place.path('again.gif'))}")


def plain_gif(background, shown):
    """Of 8x8 pixels and four colours, nothing transparent; what is shown are (left, top, width, height, colour, disposal)."""
    data = b"GIF89a" + struct.pack("<4H", 8, 8, 0xf1 | background << 8, 0)[:7] + bytes((255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255))
    for left, top, width, height, colour, disposal in shown:
        codes, packed = [code for _ in range(width * height) for code in (4, colour)] + [5], 0  # 4 begins anew, 5 ends
        for place, code in enumerate(codes):
            packed |= code << 3 * place
        packed = packed.to_bytes(len(codes) * 3 // 8 + 1, "little")
        data += b"!\xf9\4" + struct.pack("<BHBB", disposal << 2, 10, 0, 0) + b"," + struct.pack("<4HB", left, top, width, height, 0)
        data += b"\2" + bytes((len(packed),)) + packed + b"\0"
    return data + b";"


def test_what_no_frame_of_a_gif_covers_is_the_background():
    """As ImageMagick shows it, where nothing is transparent."""
    partial = ((2, 2, 3, 3, 1, 1), (0, 0, 4, 4, 2, 1)), ((2, 2, 3, 3, 1, 3), (0, 0, 2, 2, 2, 3), (6, 6, 2, 2, 3, 1), (0, 4, 2, 2, 2, 0)), ((6, 6, 2, 2, 1, 0),)
    with Here() as place:
        for background in 0, 2:
            for shown in (*partial, ((0, 0, 8, 8, 1, 1), (0, 0, 4, 4, 2, 3), (4, 4, 2, 2, 3, 0))):
                with open(place.path("in.gif"), "wb") as file:
                    file.write(plain_gif(background, shown))
                wanted = frames(place.path("in.gif"), 8, 8)
                frame.check(len(wanted) == len(shown), f"{shown}: ImageMagick sees {len(wanted)} frames")
                place.run("apply", "box size=1", place.path("in.gif"), "-o", place.path("out.tif"), "--force")
                got = [page.asarray() for page in tifffile.TiffFile(place.path("out.tif")).pages]
                frame.check(np.array_equal(np.stack(got), wanted), f"background {background}, {shown}: other pixels")
                if len(shown) > 2:
                    place.run("apply", "box size=1", place.path("in.gif"), "-o", place.path("out.tif"), "--force", "--pages", "2-3")
                    got = [page.asarray() for page in tifffile.TiffFile(place.path("out.tif")).pages]
                    frame.check(np.array_equal(np.stack(got), wanted[1:3]), f"background {background}, {shown}: other pixels of pages 2 and 3")


def test_short_times_of_webp_stay():
    with Here() as place:
        make_gif(place.path("in.gif"))
        apply(place, "box", "in.gif", "in.webp", "--quality", "100")
        with open(place.path("in.webp"), "rb") as file:
            data, times, at = bytearray(file.read()), (10, 5, 70000, 0), -1
        for time in times:
            at = data.index(b"ANMF", at + 1)
            data[at + 20:at + 23] = time.to_bytes(3, "little")
        with open(place.path("in.webp"), "wb") as file:
            file.write(data)
        frame.check(webp_times(place.path("in.webp"))[0] == list(times), "the input")
        for wanted, more in ((times, ()), (times[1:3], ("--pages", "2-3"))):
            apply(place, "transpose", "in.webp", "out.webp", *more)
            frame.check(webp_times(place.path("out.webp"))[0] == list(wanted), f"{webp_times(place.path('out.webp'))}")


def test_frames_of_a_png_are_told():
    with Here() as place:
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=48x36:rate=5:duration=1", "-f", "apng",
                        place.path("in.png")], check=True, timeout=100)
        for out in ("out.png", "out.gif"):
            said = apply(place, "box size=3", "in.png", out)
            frame.check("holds 5 images; the first is used" in said, said)
        frame.check(not apply(place, "box size=3", "out.png", "again.png"), "a single picture")


def test_an_animation_that_is_cut_off_is_an_error():
    with Here() as place:
        make_gif(place.path("in.gif"))
        with open(place.path("in.gif"), "rb") as file:
            whole = file.read()
        frame.check(whole[-1:] == b";", "another ending")
        check_cut(place, whole[:-1], ".gif", 4, "the mark of the end")
        check_cut(place, whole[:whole.rfind(b"!\xf9\x04") + 4], ".gif", 3, "before the last frame")


frame.main(globals())
