# SPDX-License-Identifier: BSD-2-Clause
"""How far two images are apart. Arrays are compared here; where one side is a file, the command `hone` reads it and gets
the other as a file."""

import math
import os
import struct
import sys
import tempfile

from . import _hone
from ._arrays import view
from ._command import run
from ._hone import FileError, UnsupportedError, UsageError

_STRIP = 1 << 20  # bytes
_BITS = {"u8": 8, "u16": 16, "s16": 16, "f32": 32, "u32": 32}
_LETTERS = {3: "H", 4: "I", 16: "Q"}  # of the types of a TIFF's tags, for struct
_FORMATS = {"u8": 1, "u16": 1, "u32": 1, "s16": 2, "f32": 3}  # of a TIFF's samples


# ---- Arrays ----

def _kind(image):
    width, height, type_name, channels, _ = image.desc
    return {"file": None, "width": width, "height": height, "type": type_name, "channels": channels, "pages": image.planes}


def _verdict(worst, tolerance):
    if worst["differing"] == 0:
        return "equal"
    return "within tolerance" if worst["largest"] is not None and worst["largest"] <= tolerance else "different"


def _size(difference):
    """Of the largest difference; None is infinite."""
    return math.inf if difference["largest"] is None else difference["largest"]


def _compare_arrays(a, b, tolerance):
    """The report of the command. The images of a stack are its pages."""
    kinds = _kind(a), _kind(b)
    if kinds[0] != kinds[1]:
        return {"status": "other kind", "page": 1, "a": kinds[0], "b": kinds[1]}
    page, differing, worst = 1, 0, None
    for index in range(a.planes):
        found = _hone.difference(a, b, index)
        differing += found[0]["differing"] > 0
        if worst is None or _size(found[0]) > _size(worst[0]):
            page, worst = index + 1, found
    return {"status": _verdict(worst[0], tolerance), "a": kinds[0], "b": kinds[1], "tolerance": tolerance, "page": page,
            "differing_pages": differing, "all": worst[0], "channels": worst[1]}


# ---- Arrays as files ----

def _write_pam(image, pixels, file):
    width, height, type_name, channels, _ = image.desc
    kind = ("GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA")[channels - 1]
    file.write(f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {channels}\nMAXVAL {255 if type_name == 'u8' else 65535}\n"
               f"TUPLTYPE {kind}\nENDHDR\n".encode())
    if type_name == "u16" and sys.byteorder == "little":
        swapped = bytearray(len(pixels))
        swapped[0::2], swapped[1::2] = pixels[1::2], pixels[0::2]
        pixels = swapped
    file.write(pixels)


def _write_pfm(image, pixels, file):
    width, height, _, channels, _ = image.desc
    row = width * channels * 4
    scale = -1 if sys.byteorder == "little" else 1
    file.write(f"{'Pf' if channels == 1 else 'PF'}\n{width} {height}\n{scale}.0\n".encode())
    for y in reversed(range(height)):
        file.write(pixels[y * row:(y + 1) * row])


def _tiff_tags(image, alpha, offsets, sizes, rows):
    """(tag, type, values); 3: 16 bits, 4: 32 bits, 16: 64 bits."""
    width, height, type_name, channels, _ = image.desc
    tags = [(256, 4, [width]), (257, 4, [height]), (258, 3, [_BITS[type_name]] * channels), (259, 3, [1]),
            (262, 3, [2 if channels > 2 else 1]), (273, 16, offsets), (277, 3, [channels]), (278, 4, [rows]),
            (279, 16, sizes), (339, 3, [_FORMATS[type_name]] * channels)]
    return tags[:-1] + [(338, 3, [2 if alpha else 0])] * (channels in (2, 4)) + tags[-1:]


def _write_tiff(image, alpha, pixels, file):
    """A BigTIFF: the pixels, then the values that do not fit into tags, then the tags."""
    row = len(pixels) // image.desc[1]
    rows = max(1, _STRIP // row)
    starts = range(0, len(pixels), rows * row)
    tags = _tiff_tags(image, alpha, [16 + start for start in starts], [min(rows * row, len(pixels) - start) for start in starts], rows)
    at, behind, entries = 16 + len(pixels), b"", b""
    at += -at % 8
    for tag, kind, values in tags:
        data = struct.pack(f"={len(values)}{_LETTERS[kind]}", *values)
        if len(data) > 8:
            data, behind = struct.pack("=Q", at + len(behind)), behind + data + b"\0" * (-len(data) % 8)
        entries += struct.pack("=HHQ", tag, kind, len(values)) + data.ljust(8, b"\0")
    file.write((b"II" if sys.byteorder == "little" else b"MM") + struct.pack("=HHHQ", 43, 8, 0, at + len(behind)))
    file.write(pixels)
    file.write(b"\0" * (-file.tell() % 8) + behind + struct.pack("=Q", len(tags)) + entries + struct.pack("=Q", 0))


def _write(image, alpha, file):
    """As PAM or PFM, which every build of hone reads; else as TIFF."""
    _, _, type_name, channels, _ = image.desc
    pixels = memoryview(image.copy()).cast("B")
    if type_name in ("u8", "u16") and alpha:
        _write_pam(image, pixels, file)
    elif type_name == "f32" and channels in (1, 3):
        _write_pfm(image, pixels, file)
    else:
        _write_tiff(image, alpha, pixels, file)


def _is_path(image):
    return isinstance(image, (str, os.PathLike))


def _file_of(image, axes, alpha, folder):
    if _is_path(image):
        return os.path.abspath(os.fspath(image))
    array = view(image, axes)[0]
    if array.planes != 1:
        raise UsageError("a stack can be compared with a stack, and only a single image with a file")
    place = os.path.join(folder, "array")
    with open(place, "wb") as file:
        _write(array, alpha, file)
    return place


def _compare_files(a, b, axes, alpha, tolerance):
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        files = [_file_of(a, axes, alpha, folder), _file_of(b, axes, alpha, folder)]
        try:
            return run(["compare", *files, "--tolerance", repr(tolerance)], accepted=(0, 1))
        except FileError as error:
            if folder not in str(error):
                raise
            raise UnsupportedError("an array like this goes to the command `hone` as TIFF, which it does not read; HONE_COMMAND "
                                   "may name one that was made with libvips") from error


def _numbers(kind):
    return {name: value for name, value in kind.items() if name != "file"}


def _compare_with_file(a, b, axes, tolerance):
    """Second channels of files are alpha or not, and those of arrays do not say."""
    report = _compare_files(a, b, axes, True, tolerance)
    if report["status"] == "other kind" and _numbers(report["a"]) == _numbers(report["b"]) and not (_is_path(a) and _is_path(b)):
        report = _compare_files(a, b, axes, False, tolerance)
    return report


def compare(a, b, *, tolerance=0, axes=None):
    """Compares two images, arrays or files, as `hone compare` does.

    axes: a letter for each axis of the arrays, as for hone.apply. The images of a stack are its pages.
    Returns a dictionary: "status" is "equal", "within tolerance", "different" or, for another size, type or number of
    channels, "other kind"; except there, "all" and "channels" have the largest and the mean difference, the PSNR, how many
    elements differ, and where the largest difference is; of several pages, of the "page" that differs most. None stands
    for what is not finite, as the PSNR of equal images.
    """
    tolerance = float(tolerance)
    if not 0 <= tolerance < math.inf:
        raise UsageError(f"tolerance={tolerance!r} must be a number from 0")
    if not _is_path(a) and not _is_path(b):
        return _compare_arrays(view(a, axes, "a")[0], view(b, axes, "b")[0], tolerance)
    return _compare_with_file(a, b, axes, tolerance)
