#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What TIFFs say beside their pixels, and how they are stored, by ExifTool, the tools of libtiff and ImageMagick.
metadata.py build=FOLDER"""

import json
import struct
import subprocess
import zlib

import cv2
import numpy as np
import tifffile

import frame
from pictures import Here

SAID = {"IFD0:Make": "Acme", "IFD0:Model": "One", "IFD0:Artist": "A Person", "IFD0:Copyright": "nobody's", "ExifIFD:ExposureTime": 0.008,
        "ExifIFD:DateTimeOriginal": "2020:01:02 03:04:05", "ExifIFD:UserComment": "a comment", "GPS:GPSLatitude": 12.5,
        "GPS:GPSLatitudeRef": "N", "XMP-xmp:Rating": 4, "XMP-dc:Creator": "Somebody", "IPTC:City": "Paris", "IPTC:Keywords": "alpha"}
STRIPPED = ("Make", "Artist", "ExposureTime", "GPSLatitude", "Rating", "Creator", "City")


def tool(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout


def exiftool(name):
    """The tags of a file with the groups that they are in."""
    return json.loads(tool("exiftool", "-j", "-G1", "-n", "-a", name))[0]


def make(place, name, *more):
    """40 x 24 pixels that are to be turned by a quarter."""
    tool("convert", "-size", "40x24", "gradient:red-blue", "-depth", "8", "-density", "300", "-units", "PixelsPerInch", *more,
         place.path(name))
    arguments = [f"-{tag.split(':')[0]}:{tag.split(':')[1]}={value}" for tag, value in SAID.items()]
    tool("exiftool", "-q", "-overwrite_original", "-n", *arguments, "-ExifImageWidth=40", "-ExifImageHeight=24", "-Orientation=6",
         "-XMP-tiff:Orientation=6", place.path(name))


def apply(place, name, out, *more):
    return place.run("apply", "box size=3", place.path(name), "-o", place.path(out), *more).stderr


def check_said(place, name, what):
    got = exiftool(place.path(name))
    wrong = {tag: got.get(tag) for tag, value in SAID.items() if got.get(tag) != value}
    frame.check(not wrong, f"{what}: {wrong}")
    frame.check(got["IFD0:Orientation"] == 1 and got["IFD0:XResolution"] == 300 and got["IFD0:ResolutionUnit"] == 2, f"{what}: {got}")
    frame.check(got["XMP-tiff:Orientation"] == 1, f"{what}: XMP turns it by {got['XMP-tiff:Orientation']}")
    frame.check("ExifTool:Warning" not in got, f"{what}: {got.get('ExifTool:Warning')}")
    return got


def test_tiff_keeps_what_cameras_and_people_say():
    with Here() as place:
        for name, more in (("in.tif", ()), ("most-first.tif", ("-define", "tiff:endian=msb")), ("in.jpg", ())):
            make(place, name, *more)
            with open(place.path(name), "rb") as file:
                frame.check((file.read(2) == b"MM") == (name == "most-first.tif"), f"{name} has another order of bytes")
            for out in ("out.tif", "again.tif", "out.jpg"):
                said = apply(place, "out.tif" if out == "again.tif" else name, out)
                got = check_said(place, out, f"{name} to {out}")
                frame.check("not kept" not in said, said)
                frame.check(out == "out.jpg" or (got["ExifIFD:ExifImageWidth"], got["ExifIFD:ExifImageHeight"]) == (24, 40), f"{got}")


def test_a_png_holds_exif_once():
    """ExifTool edits no PNG that holds it twice."""
    with Here() as place:
        make(place, "in.jpg")
        apply(place, "in.jpg", "out.png")
        with open(place.path("out.png"), "rb") as file:
            data = file.read()
        frame.check(data.count(b"eXIf") == 1 and data.endswith(b"\0\0\0\0IEND\xaeB`\x82"), f"{data.count(b'eXIf')} of them, {data[-12:]}")
        frame.check(tool("exiftool", "-s3", "-validate", place.path("out.png")) == "OK\n", "it is not valid")
        tool("exiftool", "-Artist=Another", "-o", place.path("edited.png"), place.path("out.png"))
        frame.check(exiftool(place.path("edited.png"))["IFD0:Artist"] == "Another", "the artist")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def chunks(name):
    with open(name, "rb") as file:
        data, at = file.read(), 8
    while at < len(data):
        size = struct.unpack_from(">I", data, at)[0]
        yield data[at + 4:at + 8], data[at:at + 12 + size]
        at += 12 + size


def test_texts_of_a_png_stay_as_they_are():
    """Before the pixels, where all readers look; damaged ones are left out, and XMP is there once."""
    title = "Größe — 測定"
    texts = [chunk(b"iTXt", b"Title\0\0\0de\0Titel\0" + title.encode()), chunk(b"tEXt", "Author\0Jörg".encode("latin-1")),
             chunk(b"iTXt", b"Comment\0\1\0\0\0" + zlib.compress(b"a" * 5000)), chunk(b"zTXt", b"Source\0\0" + zlib.compress(b"b" * 5000))]
    with Here() as place:
        make(place, "plain.png")
        parts = list(chunks(place.path("plain.png")))
        ihdr = [part for kind, part in parts if kind == b"IHDR"]
        rest = [part for kind, part in parts if kind not in (b"IHDR", b"IEND", b"tEXt", b"zTXt") and b"XML:com" not in part]
        xmp = [part for kind, part in parts if b"XML:com" in part]
        with open(place.path("in.png"), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + b"".join(ihdr + texts[:2] + xmp + rest + texts[2:] + [chunk(b"tEXt", b"Bad\0one")[:-1] + b"?"]) +
                       chunk(b"IEND", b""))
        apply(place, "in.png", "out.png")
        got = list(chunks(place.path("out.png")))
        before = [part for kind, part in got[:[kind for kind, _ in got].index(b"IDAT")] if kind in (b"tEXt", b"zTXt", b"iTXt")]
        frame.check([part for part in before if b"XML:com" not in part] == texts, f"{before}")
        frame.check(sum(b"XML:com" in part for _, part in got) == 1, "XMP")
        said = exiftool(place.path("out.png"))
        frame.check(said["PNG:Title-de"] == title and said["PNG:Author"] == "Jörg" and "ExifTool:Warning" not in said, f"{said}")
        apply(place, "in.png", "out.png", "--strip")
        frame.check(not [kind for kind, _ in chunks(place.path("out.png")) if kind in (b"tEXt", b"zTXt", b"iTXt")], "--strip leaves texts")


def test_a_png_keeps_how_its_colours_are_shown():
    """Gamma and primaries, with --strip as well, but not where gray is made of colours. What may have changed is left out."""
    colours = [chunk(b"gAMA", struct.pack(">I", 100000)), chunk(b"cHRM", struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000))]
    with Here() as place:
        cv2.imwrite(place.path("plain.png"), np.random.default_rng(1).integers(0, 256, (9, 11, 3), "u1"))
        parts = [part for _, part in chunks(place.path("plain.png"))]
        with open(place.path("in.png"), "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + parts[0] + b"".join(colours) + chunk(b"sBIT", b"\5\6\5") + b"".join(parts[1:]))
        for chain, more, wanted in (("box size=3", (), colours), ("box size=3", ("--strip",), colours), ("gray", (), [])):
            place.run("apply", chain, place.path("in.png"), "-o", place.path("out.png"), "--force", *more)
            got = list(chunks(place.path("out.png")))
            before = [part for kind, part in got[:[kind for kind, _ in got].index(b"IDAT")] if kind in (b"gAMA", b"cHRM", b"sRGB", b"sBIT")]
            frame.check(before == wanted, f"{chain} {more}: {before}")
            gamma = float(tool("identify", "-format", "%[gamma]", place.path("out.png")))
            frame.check((gamma == 1) == bool(wanted), f"{chain} {more}: ImageMagick takes a gamma of {gamma}")


def test_a_gamma_that_only_png_holds_is_told():
    """Where it is not that of sRGB, and nothing else counts more."""
    primaries = [31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000]
    srgb, other = chunk(b"cHRM", struct.pack(">8I", *primaries)), chunk(b"cHRM", struct.pack(">8I", *primaries[:2], 68000, *primaries[3:]))
    gamma = {value: chunk(b"gAMA", struct.pack(">I", value)) for value in (45455, 45000, 55556, 100000)}
    with Here() as place:
        for channels in 1, 3:
            cv2.imwrite(place.path("plain.png"), np.random.default_rng(1).integers(0, 256, (9, 11, channels), "u1"))
            parts = [part for _, part in chunks(place.path("plain.png"))]
            for colours, lost in (([gamma[45455], srgb], 0), ([gamma[45000]], 0), ([gamma[55556]], 1), ([gamma[100000], srgb], 1),
                                  ([gamma[45455], other], channels == 3), ([gamma[100000], chunk(b"sRGB", b"\0")], 0)):
                with open(place.path("in.png"), "wb") as file:
                    file.write(b"\x89PNG\r\n\x1a\n" + parts[0] + b"".join(colours) + b"".join(parts[1:]))
                for out in "out.png", "out.jpg", "out.tif", "out.webp":
                    said = place.run("apply", "box size=3", place.path("in.png"), "-o", place.path(out), "--force").stderr
                    wanted = lost and out != "out.png"
                    frame.check(said.count("gamma and primaries") == said.count("\n") == wanted, f"{colours} to {out}: {said}")


def test_resolution_turns_with_pixels():
    """By a filter, by EXIF, and by both, which is not at all."""
    with Here() as place:
        for name in ("in.tif", "in.jpg", "in.png"):
            tool("convert", "-size", "40x24", "gradient:red-blue", "-depth", "8", "-units", "PixelsPerInch", "-density", "300x150",
                 place.path(name))
            for out in ("out.tif", "out.jpg", "out.png"):
                for orientation, chain, more, turned in ((1, "transpose", (), True), (1, "transpose", ("--strip",), True), (1, "sobel", (), False),
                                                         (1, "transpose | sobel | transpose", (), False), (6, "sobel", (), True),
                                                         (6, "transpose", (), False)):
                    if name != "in.png":
                        tool("exiftool", "-q", "-overwrite_original", "-n", f"-Orientation={orientation}", place.path(name))
                    elif orientation > 1:
                        continue
                    place.run("apply", chain, place.path(name), "-o", place.path(out), *more)
                    got = tool("identify", "-units", "PixelsPerInch", "-format", "%x %y", place.path(out)).split()
                    wanted = [150, 300] if turned else [300, 150]
                    frame.check(np.allclose([float(g) for g in got], wanted, atol=0.1), f"{name} {orientation} {chain} {more} {out}: {got}")
                    said = exiftool(place.path(out))
                    inch = 2.54 if said.get("IFD0:ResolutionUnit") == 3 else 1
                    exif = [said.get(f"IFD0:{axis}Resolution", right / inch) * inch for axis, right in zip("XY", wanted)]
                    frame.check(np.allclose(exif, wanted, atol=0.1), f"{name} {orientation} {chain} {more} {out}: EXIF {exif}")
                    own = [said[f"PNG-pHYs:PixelsPerUnit{axis}"] * 0.0254 for axis in "XY"] if out == "out.png" else wanted
                    frame.check(np.allclose(own, wanted, atol=0.1), f"{name} {orientation} {chain} {more} {out}: pHYs {own}")
        tool("convert", "-size", "2000x1500", "gradient:red-blue", "-depth", "8", "-units", "PixelsPerInch", "-density", "300x150",
             place.path("in.tif"))
        report = place.json("apply", "transpose", place.path("in.tif"), "-o", place.path("out.tif"), "--memory", "8M")
        got = tool("identify", "-units", "PixelsPerInch", "-format", "%x %y", place.path("out.tif"))
        frame.check(report["bands"] > 1 and got == "150 300", f"in {report.get('bands')} bands: {got}")


def test_a_tiff_s_resolution_stays_as_it_is():
    """Without a unit, too, which ImageJ has in the description."""
    with Here() as place:
        for options, pages in (({}, 1), ({"imagej": True}, 3), ({"bigtiff": True, "extrasamples": ["unspecified"]}, 1),
                               ({"byteorder": ">", "resolutionunit": "NONE"}, 1)):
            image = np.zeros((pages, 20, 30) + (2,) * ("extrasamples" in options), np.uint8)
            tifffile.imwrite(place.path("in.tif"), image, photometric="minisblack", resolution=(4.5, 0.003), **options)
            for chain in ("box size=3", "transpose"):
                place.run("apply", chain, place.path("in.tif"), "-o", place.path("out.tif"))
                with tifffile.TiffFile(place.path("in.tif")) as file:
                    wanted = [file.pages[0].tags[axis + "Resolution"].value for axis in ("YX" if chain == "transpose" else "XY")]
                    unit = file.pages[0].tags["ResolutionUnit"].value
                with tifffile.TiffFile(place.path("out.tif")) as file:
                    for page in file.pages:
                        got = [page.tags[axis + "Resolution"].value for axis in "XY"]
                        frame.check(got == wanted and page.tags["ResolutionUnit"].value == unit, f"{options} {chain}: {got}, not {wanted}")
                    frame.check(len(file.pages) == pages, f"{options}: {len(file.pages)} pages")


def test_no_density_is_made_up():
    """Where the input tells none, only how pixels across and down relate is kept."""
    image = np.random.default_rng(1).integers(0, 256, (20, 30, 3), "u1")
    with Here() as place:
        tifffile.imwrite(place.path("unitless.tif"), image, photometric="rgb", resolution=(3, 2), resolutionunit="NONE", metadata=None)
        tifffile.imwrite(place.path("cm.tif"), image, photometric="rgb", resolution=(10, 10), resolutionunit="CENTIMETER", metadata=None)
        frame.check(cv2.imwrite(place.path("plain.png"), image) and cv2.imwrite(place.path("plain.webp"), image), "inputs")
        with open(place.path("plain.ppm"), "wb") as file:
            file.write(b"P6 30 20 255 " + image.tobytes())
        tool("convert", place.path("plain.ppm"), "-density", "10", "-units", "PixelsPerCentimeter", place.path("dense.png"))
        for name, dense in (("unitless.tif", False), ("plain.png", False), ("plain.webp", False), ("plain.ppm", False), ("cm.tif", True), ("dense.png", True)):
            for out in ("out.jpg", "out.png", "out.webp", "out.tif"):
                apply(place, name, out)
                got = exiftool(place.path(out))
                metre = [got["PNG-pHYs:PixelUnits"] == 1] if out == "out.png" else []
                inch = [got[tag] > 1 for tag in ("IFD0:ResolutionUnit", "JFIF:ResolutionUnit") if tag in got]
                frame.check(metre + inch == [dense] * len(metre + inch) and metre + inch, f"{name} to {out}: {got}")
                if name == "unitless.tif":
                    frame.check((got["IFD0:XResolution"], got["IFD0:YResolution"]) == (3, 2), f"{out}: {got}")


def test_a_profile_fits_what_is_stored():
    """ImageMagick and LittleCMS refuse colours with a profile of gray."""
    with Here() as place:
        for space in (b"GRAY", b"RGB "):
            profile = struct.pack(">I4xI4s4s4s", 160, 0x2400000, b"mntr", space, b"XYZ ") + b"\0" * 12 + b"acsp" + b"\0" * 28
            profile += struct.pack(">iii48x", 63190, 65536, 54061)  # D50
            profile += struct.pack(">I4sII", 1, b"cprt", 144, 16) + b"text\0\0\0\0nobody\0\0"
            gray = space == b"GRAY"
            tifffile.imwrite(place.path("in.tif"), np.zeros((20, 30) + (3,) * (not gray), np.uint8), photometric="minisblack" if gray else "rgb",
                             extratags=[(34675, 7, len(profile), profile, True)])
            for chain, colours in (("box", not gray), ("colormap", True) if gray else ("gray", False)):
                outs = [place.path(f"out.{suffix}") for suffix in ("png", "webp", "avif")]
                for out in outs:
                    place.run("apply", chain, place.path("in.tif"), "-o", out)
                for out, got in zip(outs, json.loads(tool("exiftool", "-j", "-ColorSpaceData", *outs))):
                    kept = (colours or not out.endswith("png")) != gray
                    frame.check(got.get("ColorSpaceData") == (space.decode() if kept else None), f"{space} {chain} {out}: {got}")


def test_strip_drops_all_of_it():
    with Here() as place:
        make(place, "in.tif")
        for extra, more in ((True, ()), (False, ("--strip",))):
            apply(place, "in.tif", "out.tif", *more)
            names = {tag.split(":")[-1] for tag in exiftool(place.path("out.tif"))}
            frame.check(all((tag in names) == extra for tag in STRIPPED), f"{more}: {sorted(names)}")
            apply(place, "out.tif", "out.jpg", *more)
            names = {tag.split(":")[-1] for tag in exiftool(place.path("out.jpg"))}
            frame.check(all((tag in names) == extra for tag in STRIPPED), f"{more}: JPEG {sorted(names)}")


def test_what_is_not_kept_is_said_once():
    with Here() as place:
        make(place, "in.tif")
        tool("exiftool", "-q", "-overwrite_original", "-GDALNoData=5", place.path("in.tif"))
        tool("cp", place.path("in.tif"), place.path("too.tif"))
        said = place.run("apply", "box size=3", place.path("in.tif"), place.path("too.tif"), "-o", place.path("out/")).stderr
        frame.check(said.count("TIFF tags 42113 are not kept") == 1, said)
        frame.check("not kept" not in apply(place, "in.tif", "out.tif", "--strip"), "it was to be dropped")
        make(place, "plain.tif")
        tool("tiffcp", "-c", "lerc", place.path("plain.tif"), place.path("lerc.tif"))
        frame.check("not kept" not in apply(place, "lerc.tif", "out.tif", "--force"), "how a file is compressed is no metadata")


def layout(name):
    with open(name, "rb") as file:
        version = struct.unpack("<H", file.read(4)[2:])[0]
    text = tool("tiffinfo", name)
    return version, text.count("TIFF directory"), text.count("Tile Width: 32 Tile Length: 16"), text.count("Compression Scheme: LZW")


def test_tiles_and_bigtiff_stay():
    """Of one page and of two, with what is said in the first."""
    with Here() as place:
        tool("convert", "-size", "70x50", "plasma:red-blue", "-depth", "8", place.path("in.tif"))
        tool("convert", place.path("in.tif"), "-transpose", place.path("wanted.tif"))
        tiled = ("-t", "-w", "32", "-l", "16")
        for options, version, tiles, pages in ((("-8", *tiled), 43, 1, 2), (tiled, 42, 1, 1), (("-8",), 43, 0, 1)):
            tool("tiffcp", *options, "-c", "lzw", *[place.path("in.tif")] * pages, place.path("stored.tif"))
            tool("tiffset", "-s", "315", "A Person", place.path("stored.tif"))
            wanted = version, pages, tiles * pages, pages
            frame.check(layout(place.path("stored.tif")) == wanted, f"{options}: the input is {layout(place.path('stored.tif'))}")
            place.run("apply", "transpose", place.path("stored.tif"), "-o", place.path("out.tif"))
            frame.check(layout(place.path("out.tif")) == wanted, f"{options}: {layout(place.path('out.tif'))}, not {wanted}")
            frame.check(exiftool(place.path("out.tif"))["IFD0:Artist"] == "A Person", f"{options}: the artist is lost")
            for page in range(pages):
                differ = subprocess.run(["compare", "-metric", "AE", f"{place.path('out.tif')}[{page}]", place.path("wanted.tif"), "null:"],
                                        capture_output=True, text=True, check=False, timeout=100).stderr
                frame.check(differ == "0", f"{options}, page {page}: {differ} pixels differ")


# ---- Blocks that lie ----

def block(entries, order="<"):
    """A JPEG's EXIF segment with one directory; each entry is a tag, a type, a count and a value or place."""
    body = struct.pack(order + "H", len(entries)) + b"".join(struct.pack(order + "HHII", *entry) for entry in entries) + bytes(4)
    exif = b"Exif\0\0" + (b"II*\0\x08\0\0\0" if order == "<" else b"MM\0*\0\0\0\x08") + body
    return b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif


def test_blocks_that_lie_do_no_harm():
    with Here() as place:
        tool("convert", "-size", "16x16", "xc:red", place.path("plain.jpg"))
        with open(place.path("plain.jpg"), "rb") as file:
            plain = file.read()
        lies = ([(34665, 4, 1, 8)], [(34665, 4, 1, 0xFFFFFFF0), (34853, 4, 1, 9)], [(315, 2, 0xFFFFFFFF, 8)], [(315, 2, 1 << 20, 20)],
                [(315, 200, 5, 8), (271, 0, 5, 8)], [(315, 12, 0x20000001, 8)], [(34665, 4, 1, 8)] * 1000)
        for number, lie in enumerate(lies):
            order = "<>"[number % 2]
            with open(place.path("lie.jpg"), "wb") as file:
                file.write(plain[:2] + block(lie + [(305, 2, 4, 0x00616161 if order == "<" else 0x61616100)], order) + plain[2:])
            apply(place, "lie.jpg", "out.tif")
            got = exiftool(place.path("out.tif"))
            frame.check(got["IFD0:Software"] == "aaa" and got["IFD0:ImageWidth"] == 16, f"{number}: {got}")


def test_descriptions_of_separate_planes_become_true():
    """tifffile stores three pages as planes of one image; the output holds them interleaved."""
    image = np.random.default_rng(3).integers(0, 256, (3, 40, 50), "u1")
    with Here() as place:
        tifffile.imwrite(place.path("in.tif"), image, photometric="rgb", planarconfig="separate", metadata={"axes": "ZYX"})
        frame.check(np.array_equal(tifffile.imread(place.path("in.tif")), image), "the input is another one")
        place.run("apply", "box size=1", place.path("in.tif"), "-o", place.path("out.tif"))
        got = tifffile.imread(place.path("out.tif"))
        frame.check(np.array_equal(got, np.moveaxis(image, 0, 2)), f"{got.shape}")


def nclx_of(name):
    """Primaries and transfer in the first box of them; None: there is none."""
    with open(name, "rb") as file:
        data = file.read()
    at = data.find(b"colrnclx")
    return struct.unpack(">HH", data[at + 8:at + 12]) if at >= 0 else None


def chunks_of(name):
    """(kind, bytes) of a PNG; their sums are right."""
    with open(name, "rb") as file:
        data = file.read()
    chunks, at = [], 8
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        frame.check(zlib.crc32(data[at + 4:at + 8 + size]) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0], f"{name}: {data[at + 4:at + 8]}")
        chunks.append((data[at + 4:at + 8], data[at + 8:at + 8 + size]))
        at += 12 + size
    return chunks


def test_hdr_keeps_what_its_colours_are():
    """BT.2020 (9) with PQ (16) or HLG (18), from AVIF and PNG to both. Others cannot hold it; usual colours go without a word."""
    bt2020, usual = 9, 1
    with Here() as place:
        for transfer, name, primaries in ((16, "smpte2084", bt2020), (18, "arib-std-b67", bt2020), (1, "bt709", usual)):
            space = ("bt2020", "bt2020nc") if primaries == bt2020 else ("bt709", "bt709")
            tool("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=1:duration=1", "-frames:v", "1", "-vf",
                 f"format=yuv420p,setparams=color_primaries={space[0]}:color_trc={name}:colorspace={space[1]}", "-c:v", "libaom-av1", "-cpu-used", "8",
                 "-still-picture", "1", place.path("in.avif"))
            frame.check(nclx_of(place.path("in.avif")) == (primaries, transfer), f"{nclx_of(place.path('in.avif'))}")
            for source, out in (("in.avif", "out.png"), ("out.png", "again.png"), ("in.avif", "out.avif"), ("again.png", "again.avif"), ("again.avif", "last.png")):
                said = apply(place, source, out, "--force", *(("--strip",) if out == "again.png" else ()))
                frame.check(not said, f"{source} to {out}: {said}")
                if out.endswith(".avif"):
                    frame.check(primaries == usual or nclx_of(place.path(out)) == (primaries, transfer), f"{source} to {out}: {nclx_of(place.path(out))}")
                else:
                    kinds = dict(chunks_of(place.path(out)))
                    found = kinds.get(b"cICP")
                    frame.check(found == (bytes((primaries, transfer, 0, 1)) if primaries == bt2020 else None), f"{source} to {out}: {found}")
                    frame.check(primaries == usual or list(kinds).index(b"cICP") == 1, f"{list(kinds)}")
            for out in ("out.jpg", "out.tif", "out.webp"):
                said = apply(place, "in.avif", out, "--force")
                frame.check((f"primaries {primaries}, transfer {transfer}" in said) if primaries == bt2020 else not said, f"{out}: {said}")


def test_a_ratio_of_pixels_stays_small():
    """Of a PNG whose density has no unit; libvips multiplies it by 1000 each time."""
    with Here() as place:
        frame.check(cv2.imwrite(place.path("in.png"), np.zeros((8, 8), np.uint8)), "input")
        with open(place.path("in.png"), "rb") as file:
            data = file.read()
        chunk = b"pHYs" + struct.pack(">IIB", 2, 3, 0)
        with open(place.path("in.png"), "wb") as file:
            file.write(data[:33] + struct.pack(">I", 9) + chunk + struct.pack(">I", zlib.crc32(chunk)) + data[33:])
        for _ in range(4):
            apply(place, "in.png", "out.png", "--force")
            frame.check(dict(chunks_of(place.path("out.png")))[b"pHYs"] == chunk[4:], f"{chunks_of(place.path('out.png'))}")
            place.run("apply", "box size=1", place.path("out.png"), "-o", place.path("in.png"), "--force")


frame.main(globals())
