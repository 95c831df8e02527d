#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""TIFFs whose pages differ in size or kind: each page against NumPy, against the same page in a file of its own, and by the tools of
libtiff, ExifTool and tifffile.  apart.py build=FOLDER"""

import filecmp
import glob
import os
import re
import resource
import shutil
import struct
import subprocess

import numpy as np
import tifffile

import frame
from pictures import Here, mean, read_pages

HONE = os.path.abspath(os.path.join(frame.build(), "hone"))
BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
PLACES, BELOW = (273, 324), (34665, 34853)


def tool(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout


# ---- Inputs ----

def move(data, at, base):
    """Makes the places in a directory, and in those below it, count from `base` bytes before the file. Gives where it ends."""
    count = struct.unpack_from("<H", data, at)[0]
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind, number, place = struct.unpack_from("<HHII", data, entry)
        size = BYTES[kind] * number
        if tag in BELOW:
            move(data, place, base)
        if tag in PLACES:
            frame.check(kind == 4, f"places of type {kind}")
            for i in range(number):
                where = (entry + 8 if number == 1 else place) + 4 * i
                struct.pack_into("<I", data, where, struct.unpack_from("<I", data, where)[0] + base)
        if size > 4 or tag in BELOW:
            struct.pack_into("<I", data, entry + 8, place + base)
    return at + 2 + 12 * count


def join(name, parts):
    """A TIFF with the one page of each of those files."""
    whole, link = bytearray(b"II*\0\0\0\0\0"), 4
    for part in parts:
        with open(part, "rb") as file:
            data = bytearray(file.read())
        whole += b"\0" * (-len(whole) % 16)
        base, first = len(whole), struct.unpack_from("<I", data, 4)[0]
        frame.check(data[:4] == b"II*\0", f"{part} is another kind of TIFF")
        struct.pack_into("<I", whole, link, base + first)
        link = base + move(data, first, base)
        whole += data
    struct.pack_into("<I", whole, link, 0)
    with open(name, "wb") as file:
        file.write(whole)


def noise(kind, *shape):
    random = np.random.default_rng(len(shape) + shape[0])
    return random.random(shape).astype(kind) if kind[0] == "f" else random.integers(0, np.iinfo(kind).max, shape, kind, True)


def inch(x, y):
    return {"resolution": (x, y), "resolutionunit": "INCH"}


GRAY, RGB = {"photometric": "minisblack"}, {"photometric": "rgb"}
# The array of each page, how tiffcp compresses it, what else tifffile writes of it, and the compression of the result.
PAGES = (
    (noise("u1", 40, 50, 3), ("-c", "lzw"), {**RGB, **inch(300, 300), "description": "one", "software": "first"}, 5),
    (noise("u1", 70, 30), ("-c", "zip"), {**GRAY, **inch(200, 100), "description": "two", "software": "second"}, 8),
    (noise("u2", 133, 164), None, {**GRAY, "tile": (32, 64), **inch(72, 72)}, 1),
    (noise("f4", 20, 21, 3), ("-c", "packbits"), RGB, 32773),
    (noise("u1", 40, 50, 4), ("-c", "zip:2"), {**RGB, "extrasamples": ["unassalpha"]}, 8),
    (noise("u2", 25, 35, 6), None, {**GRAY, "extrasamples": [0] * 5}, 1),
    (noise("u1", 41, 64) > 99, ("-c", "g4"), GRAY, 1),
    (noise("u1", 37, 61) > 99, ("-c", "g3"), {"photometric": "miniswhite"}, 1),
    (noise("f8", 20, 24), None, {**GRAY, "subfiletype": 1}, 1),
    (noise("i2", 22, 18), ("-c", "lzw"), GRAY, 5),
    (noise("u2", 9, 200, 3), None, {**RGB, "planarconfig": "separate"}, 1))


def make_pages(place, pages=PAGES):
    names = []
    for i, (array, compression, more, _) in enumerate(pages):
        names.append(place.path(f"page{i}.tif"))
        tifffile.imwrite(place.path("plain.tif"), np.moveaxis(array, 2, 0) if "planarconfig" in more else array, metadata=None, **more)
        if compression:
            tool("tiffcp", *compression, place.path("plain.tif"), names[-1])
        else:
            shutil.copy(place.path("plain.tif"), names[-1])
    return names


def make(place, name="in.tif", pages=PAGES):
    join(place.path(name), make_pages(place, pages))


def values(array, more):
    """What hone makes of the samples of a page: bits are black and white."""
    if array.dtype == bool:
        array = (array != (more["photometric"] == "miniswhite")) * np.uint8(255)
    array = array.astype("f4") if array.dtype == "f8" else array
    return array if array.ndim == 3 else array[:, :, None]


# ---- Outputs ----

def apply(place, chain, name, out, *more, status=0):
    return place.run("apply", chain, place.path(name), "-o", place.path(out), *more, status=status).stderr


def read(place, name):
    """The pixels of all pages, decompressed by libtiff."""
    said = subprocess.run(["tiffcp", "-c", "none", "-s", place.path(name), place.path("read.tif")], capture_output=True, text=True,
                          check=True, timeout=100).stderr
    frame.check(not said, said)
    return read_pages(place.path("read.tif"))[1]


def check_transposed(place, name, pages):
    got = read(place, name)
    frame.check(len(got) == len(pages), f"{len(got)} pages, not {len(pages)}")
    for i, (image, (array, _, more, _)) in enumerate(zip(got, pages)):
        wanted = values(array, more).swapaxes(0, 1)
        frame.check(image.dtype == wanted.dtype and np.array_equal(image, wanted), f"page {i + 1}: {image.dtype} {image.shape}, {wanted.shape}")


def tags(name, page=0):
    """What a page says, but for where it lies and which one it is."""
    with tifffile.TiffFile(name) as file:
        return {tag.name: tag.value for tag in file.pages[page].tags
                if tag.name not in ("StripOffsets", "TileOffsets", "NewSubfileType", "PageNumber")}


def check_left_alone(place, before):
    left = sorted(name for name in os.listdir(place.folder) if name != "cache")
    frame.check(left == before, f"files: {left}, before {before}")


# ---- All pages ----

def test_every_page_is_filtered():
    with Here() as place:
        make(place)
        said = apply(place, "transpose", "in.tif", "out.tif")
        check_transposed(place, "out.tif", PAGES)
        frame.check("is used" not in said and "64-bit" in said, said)
        apply(place, "transpose", "in.tif", "some.tif", "--pages", "2-4")
        check_transposed(place, "some.tif", PAGES[1:4])
        apply(place, "transpose", "in.tif", "last.tif", "--pages", "10-11")
        check_transposed(place, "last.tif", PAGES[9:])
        for page in (1, 6, 9):
            apply(place, "transpose", "in.tif", "one.tif", "--pages", str(page))
            check_transposed(place, "one.tif", PAGES[page - 1:page])
        report = place.json("apply", "transpose", place.path("in.tif"), "-o", place.path("out.tif"))
        frame.check(report["pages"] == len(PAGES) and (report["width"], report["height"]) == (40, 50), f"{report}")


def test_windows_see_their_page_alone():
    with Here() as place:
        pages = PAGES[:3]
        make(place, pages=pages)
        apply(place, "box size=3", "in.tif", "out.tif")
        images = read(place, "out.tif")
        frame.check(len(images) == 3, f"{len(images)} pages")
        for image, (array, _, more, _) in zip(images, pages):
            off = abs(image - mean(values(array, more))).max()
            frame.check(off <= 0.51, f"off by {off}")


def test_a_page_is_as_from_a_file_of_its_own():
    """With all that it says, and as it is stored."""
    with Here() as place:
        make(place)
        for options in ((), ("--compression", "deflate"), ("--strip",)):
            apply(place, "box size=3", "in.tif", "out.tif", *options)
            for i, page in enumerate(PAGES):
                apply(place, "box size=3", f"page{i}.tif", f"alone{i}.tif", *options)
                got, wanted = tags(place.path("out.tif"), i), tags(place.path(f"alone{i}.tif"))
                frame.check(got == wanted, f"page {i + 1} {options}: {got}, alone {wanted}")
                frame.check(got["Compression"] == (8 if "deflate" in options else page[3]), f"page {i + 1}: {got}")
            join(place.path("wanted.tif"), [place.path(f"alone{i}.tif") for i in range(len(PAGES))])
            same = all(np.array_equal(a, b) for a, b in zip(read(place, "out.tif"), read(place, "wanted.tif")))
            frame.check(same, f"{options}: other pixels")
        with tifffile.TiffFile(place.path("out.tif")) as file:
            places = [(page.tags["NewSubfileType"].value, page.tags["PageNumber"].value) for page in file.pages]
        count = len(PAGES)
        frame.check(places == [(1 if "subfiletype" in page[2] else 2, (i, count)) for i, page in enumerate(PAGES)], f"{places}")


def test_what_cameras_and_people_say_of_a_page():
    """EXIF, GPS, XMP, IPTC and profiles: of each page its own; and EXIF turns a page by itself."""
    said = {"Make": "Acme", "ExposureTime": 0.02, "GPSLatitude": 10.5, "GPSLatitudeRef": "N", "Artist": "A Person", "XMP-dc:Title": "a title",
            "IPTC:City": "Paris"}
    with Here() as place:
        profile = struct.pack(">I4xI4s4s4s", 160, 0x2400000, b"mntr", b"RGB ", b"XYZ ") + b"\0" * 12 + b"acsp" + b"\0" * 88
        profile += struct.pack(">I4sII", 1, b"cprt", 144, 16) + b"text\0\0\0\0nobody\0\0"
        tagged = (*PAGES[0][:2], {**PAGES[0][2], "extratags": [(34675, 7, len(profile), profile, True)]}, 5)
        make(place, pages=(tagged, *PAGES[1:3]))
        tool("exiftool", "-q", "-n", "-overwrite_original", *[f"-{tag}={value}" for tag, value in said.items()], place.path("page1.tif"))
        tool("exiftool", "-q", "-n", "-overwrite_original", "-Orientation=6", place.path("page0.tif"))
        join(place.path("in.tif"), [place.path(f"page{i}.tif") for i in range(3)])
        apply(place, "box size=1", "in.tif", "out.tif")
        with tifffile.TiffFile(place.path("out.tif")) as file:
            first, second, third = (page.tags for page in file.pages)
            frame.check(first[34675].value == profile and 34675 not in second and 34675 not in third, "profiles")
            frame.check([34665 in page for page in (first, second, third)] == [False, True, False], "EXIF of other pages")
            frame.check(second[34665].value["ExposureTime"] == (1, 50), f"{second[34665].value}")
            frame.check(second[34853].value["GPSLatitude"][:4] == (10, 1, 30, 1), f"{second[34853].value}")
            frame.check(second[271].value == "Acme" and second[315].value == "A Person" and b"a title" in second[700].value, "words")
            frame.check(b"Paris" in bytes(second[33723].value), f"IPTC {second[33723].value}")
        turned, straight = read(place, "out.tif")[:2]
        frame.check(np.array_equal(turned, np.rot90(PAGES[0][0], -1)), "EXIF does not turn the first page")
        frame.check(np.array_equal(straight[:, :, 0], PAGES[1][0]), "the second page is another one")
        frame.check("Warning" not in tool("exiftool", "-a", "-G1", place.path("out.tif")), "ExifTool warns")


def test_a_text_about_all_pages():
    """Programs of microscopes describe all pages at the first. It is made true of that page; the others keep their own words."""
    with Here() as place:
        text = "ImageJ=1.53\nimages=2\nslices=2\nunit=um\n"
        make(place, pages=(PAGES[0][:2] + ({**RGB, "description": text}, 5), PAGES[1]))
        apply(place, "box size=3", "in.tif", "out.tif")
        got = [tags(place.path("out.tif"), page)["ImageDescription"] for page in (0, 1)]
        frame.check(got == ["ImageJ=1.53\nimages=1\nunit=um", "two"], f"{got}")


def test_big_tiff_stays_one():
    with Here() as place:
        make(place, pages=PAGES[:5])
        tool("tiffcp", "-8", place.path("in.tif"), place.path("big.tif"))
        apply(place, "transpose", "big.tif", "out.tif")
        check_transposed(place, "out.tif", PAGES[:5])
        with open(place.path("out.tif"), "rb") as file:
            frame.check(file.read(4) == b"II+\0", "no BigTIFF")
        tool("convert", place.path("out.tif") + "[1]", place.path("magick.png"))


# ---- From and to anywhere ----

def test_pipes_and_folders():
    with Here() as place:
        make(place)
        os.mkdir(place.path("many"))
        for name in ("a.tif", "b.tif"):
            shutil.copy(place.path("in.tif"), place.path("many", name))
        shutil.copy(place.path("page0.tif"), place.path("many", "single.tif"))
        apply(place, "transpose", "many", "results/")
        for name in ("a.tif", "b.tif"):
            check_transposed(place, f"results/{name}", PAGES)
        check_transposed(place, "results/single.tif", PAGES[:1])
        with open(place.path("in.tif"), "rb") as file:
            piped = subprocess.run([HONE, "apply", "transpose", "-", "-o", "-", "--format", "tif"], stdin=file,
                                   capture_output=True, env=place.environment, check=True, timeout=100).stdout
        cat = subprocess.run(f"cat '{place.path('in.tif')}' | '{HONE}' apply transpose - -o '{place.path('piped.tif')}'", shell=True, check=False,
                             env=place.environment, timeout=100, capture_output=True)
        frame.check(cat.returncode == 0, f"{cat.stderr}")
        with open(place.path("results", "a.tif"), "rb") as file, open(place.path("piped.tif"), "rb") as other:
            whole = file.read()
            frame.check(piped == whole and other.read() == whole, "a pipe gives another file")


def test_formats_of_one_size():
    """They get the first page, and the others are told of; TIFF gets both."""
    with Here() as place:
        make(place, pages=PAGES[:2])
        for out in ("out.png", "out.webp", "out.gif"):
            frame.check("holds 2 images; the first is used" in apply(place, "box size=3", "in.tif", out), out)
        frame.check("read together" in apply(place, "box size=3", "in.tif", "out.gif", "--pages", "1-2", status=3), "GIF of two sizes")
        frame.check("read together" in apply(place, "box size=3", "in.tif", "out.png", "--pages", "1-2", status=3), "PNG of two pages")
        apply(place, "transpose", "in.tif", "out.png", "--pages", "2")
        apply(place, "transpose", "in.tif", "out.tif")
        check_transposed(place, "out.tif", PAGES[:2])
        frame.check("30 x 70" not in tool("file", place.path("out.png")) and "70 x 30" in tool("file", place.path("out.png")), "a page as PNG")


def test_large_pages_go_in_bands():
    """Within the memory that images may take."""
    pages = tuple((noise("u1", side, 2 * side, 3), None, RGB, 1) for side in (300, 1500, 1100, 10))
    with Here() as place:
        make(place, pages=pages)
        for chain in ("box size=5", "box size=5 | transpose"):
            apply(place, chain, "in.tif", "whole.tif")
            result = place.run("apply", chain, place.path("in.tif"), "-o", place.path("bands.tif"), "--memory", "9M", "--json")
            frame.check('"bands"' in result.stdout, result.stdout)
            same = [np.array_equal(a, b) for a, b in zip(read(place, "whole.tif"), read(place, "bands.tif"))]
            frame.check(same == [True] * 4, f"{chain}: {same}")


def limited(place, *arguments, size):
    """A run that may not write larger files."""
    return subprocess.run([HONE, "apply", *arguments], env=place.environment, capture_output=True, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


def test_interrupted_pages_go_on():
    """Of two pages in bands the first is done and the second is not; the third is too small for bands."""
    pages = tuple((noise("u1", side, 2 * side, 3), None, RGB, 1) for side in (1000, 1300, 30))
    with Here() as place:
        make(place, pages=pages)
        arguments = "box size=5", place.path("in.tif"), "-o", place.path("got.tif"), "--memory", "9M", "--resume", "-v"
        place.run("apply", *arguments)
        shutil.move(place.path("got.tif"), place.path("wanted.tif"))
        frame.check(not glob.glob(place.path(".*.hone-rows")), "rows that nobody needs")
        ended = limited(place, *arguments, size=8 << 20)
        frame.check(ended.returncode == 3 and "page 2 of" in ended.stderr and "same command goes on" in ended.stderr, ended.stderr)
        said = place.run("apply", *arguments).stderr
        rows = [int(row) for row in re.findall(r"page \d of .* goes on at row (\d+) of", said)]
        frame.check(len(rows) == 2 and 900 < rows[0] <= 1000 and 0 < rows[1] < 1300, f"{rows}: {said}")
        frame.check(filecmp.cmp(place.path("got.tif"), place.path("wanted.tif"), shallow=False), "another file")
        frame.check(not glob.glob(place.path(".*.hone-rows")), "rows that nobody needs")


def test_kept_pages_go_with_a_result_of_one():
    pages = tuple((noise("u1", side, 2 * side, 3), None, RGB, 1) for side in (1000, 1300))
    with Here() as place:
        make(place, pages=pages)
        arguments = "box size=5", place.path("in.tif"), "-o", place.path("got.tif"), "--memory", "9M"
        limited(place, *arguments, "--resume", size=8 << 20)
        frame.check(len(glob.glob(place.path(".*.hone-rows"))) == 2, "nothing is kept")
        place.run("apply", *arguments, "--pages", "2")
        frame.check(not glob.glob(place.path(".*.hone-rows")), "rows that nobody needs")


# ---- What cannot be ----

def test_what_is_wrong_is_said_with_its_page():
    """Nothing is left of an output, and one that was there stays."""
    odd = (noise("u1", 30, 20), None, GRAY, 1)
    with Here() as place:
        make(place, pages=PAGES[:3])
        tifffile.imwrite(place.path("page2.tif"), np.zeros((9, 8), "c8"), photometric="minisblack", metadata=None)
        join(place.path("odd.tif"), [place.path(f"page{i}.tif") for i in range(3)])
        make(place, "in.tif", pages=PAGES[:2] + (odd,))
        with open(place.path("out.tif"), "wb") as file:
            file.write(b"before")
        before = sorted(os.listdir(place.folder) + ["read.tif"])
        with open(place.path("read.tif"), "wb"):
            pass
        before.remove("cache") if "cache" in before else None
        for chain, name, more, status, words in (
                ("box size=3", "odd.tif", (), 3, "page 3 of"), ("box size=3", "odd.tif", (), 3, "complex numbers"),
                ("box size=3", "odd.tif", (), 3, "--pages"), ("box size=3", "in.tif", ("--pages", "2-4"), 3, "there is no page 4"),
                ("add image=" + place.path("page0.tif"), "in.tif", (), 2, "page 2 of"), ("colormap", "in.tif", ("--pages", "1-2"), 2, "page 1 of"),
                ("box size=3", "in.tif", ("--max-pixels", "2050"), 3, "page 2 of")):
            said = apply(place, chain, name, "out.tif", *more, status=status)
            frame.check(words in said, f"{chain} {name} {more}: {said}")
            with open(place.path("out.tif"), "rb") as file:
                frame.check(file.read() == b"before", "the output has changed")
            check_left_alone(place, before)
        apply(place, "transpose", "odd.tif", "out.tif", "--pages", "1-2")
        check_transposed(place, "out.tif", PAGES[:2])


def test_a_file_that_is_cut_off():
    with Here() as place:
        make(place, pages=PAGES[:5])
        with open(place.path("in.tif"), "rb") as file:
            whole = file.read()
        with tifffile.TiffFile(place.path("in.tif")) as file:
            places = [page.offset for page in file.pages]
        for at, left in ((places[2], 2), (places[3] + 20, 3)):
            with open(place.path("cut.tif"), "wb") as file:
                file.write(whole[:at])
            said = apply(place, "transpose", "cut.tif", "out.tif", status=3)
            frame.check("the file is cut off" in said and "--accept-damaged" in said, said)
            frame.check(not os.path.exists(place.path("out.tif")), "an output")
            said = apply(place, "transpose", "cut.tif", "out.tif", "--accept-damaged")
            frame.check(said.count("the file is cut off") == 1, said)
            frame.check(len(read(place, "out.tif")) == left, f"{left} pages")
            os.remove(place.path("out.tif"))


def test_a_directory_that_is_damaged():
    """libtiff finds no image from there on, and libvips counts those before."""
    for pages in (PAGES[:3], PAGES[:1] * 3):
        with Here() as place:
            make(place, pages=pages)
            with tifffile.TiffFile(place.path("in.tif")) as file:
                entry = file.pages[1].tags["ImageWidth"].offset
            with open(place.path("in.tif"), "r+b") as file:
                file.seek(entry + 2)
                file.write(struct.pack("<H", 2))
            said = apply(place, "transpose", "in.tif", "out.tif", status=3)
            frame.check("holds 3 images" in said and "number 2 is damaged" in said and "--accept-damaged" in said, said)
            frame.check(not os.path.exists(place.path("out.tif")), "an output")
            said = apply(place, "transpose", "in.tif", "out.tif", "--accept-damaged")
            frame.check("holds 3 images" in said and said.count("number 2") == 1, said)
            check_transposed(place, "out.tif", pages[:1])
            frame.check(not apply(place, "transpose", "in.tif", "out.tif", "--pages", "1"), "a warning")


def write_damaged(name, arrays, bad, more):
    """Spoils the second strip of a page: nobody knows before it is decoded."""
    with tifffile.TiffWriter(name) as file:
        for array in arrays:
            stored = np.moveaxis(array, 2, 0) if "planarconfig" in more else array.squeeze()
            file.write(stored, compression="zlib", rowsperstrip=16, metadata=None, contiguous=False, **more)
    with tifffile.TiffFile(name) as file:
        start, size = file.pages[bad].dataoffsets[1], file.pages[bad].databytecounts[1]
    with open(name, "r+b") as file:
        file.seek(start)
        file.write(b"\xff" * size)


# Samples, channels, what else tifffile writes, and what is lost with the second strip: libvips reads on in no page.
LOSSES = (("u1", 3, RGB, np.s_[16:32]), ("u2", 3, {**GRAY, "planarconfig": "separate"}, np.s_[16:32, :, :1]),
          ("u1", 1, {"photometric": "miniswhite"}, np.s_[16:]))


def test_pixels_that_are_missing():
    """An error; with damage accepted a warning with the number of the page, and all that can be read."""
    with Here() as place:
        for kind, channels, more, lost in LOSSES:
            for heights, bad, words in (((41,), 0, "in.tif': damaged: "), ((41, 41, 41), 1, "page 2 is damaged: "),
                                        ((37, 41, 39), 1, "page 2 is damaged: "), ((41, 41, 39), 0, "page 1 is damaged: ")):
                arrays = [noise(kind, height, 30, channels) for height in heights]
                write_damaged(place.path("in.tif"), arrays, bad, more)
                said = apply(place, "transpose", "in.tif", "out.tif", status=3)
                frame.check("--accept-damaged" in said and not os.path.exists(place.path("out.tif")), said)
                said = apply(place, "transpose", "in.tif", "out.tif", "--accept-damaged")
                frame.check(said.count("warning") == 1 and words in said, said)
                wanted = [255 - array if "miniswhite" in more.values() else array for array in arrays]
                wanted[bad][lost] = 0
                same = [np.array_equal(got.swapaxes(0, 1), array) for got, array in zip(read(place, "out.tif"), wanted)]
                frame.check(same == [True] * len(heights), f"{kind} x{channels} {heights}: {same}")
                os.remove(place.path("out.tif"))


def test_how_many_pages_there_may_be():
    with Here() as place:
        with tifffile.TiffWriter(place.path("in.tif")) as file:
            for i in range(4100):
                file.write(np.full((3 + i % 2, 5), i % 251, "u1"), metadata=None, contiguous=False)
        said = apply(place, "transpose", "in.tif", "out.tif", status=3)
        frame.check("4100 pages that differ" in said and "--pages" in said, said)
        apply(place, "transpose", "in.tif", "out.tif", "--pages", "300-350")
        got = [(image.shape, image.max()) for image in read(place, "out.tif")]
        frame.check(got == [((5, 3 + i % 2, 1), i % 251) for i in range(299, 350)], f"{got}")


frame.main(globals())
