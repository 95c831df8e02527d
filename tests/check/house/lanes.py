#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Kernels for NVIDIA's GPUs whose work-groups wait for each other, on pictures of many tiles, without a GPU: tests/lanes/play.c plays
the lanes of their warps on this host. NumPy says what is right.

    lanes.py build=FOLDER
"""

import os
import subprocess
import tempfile

import numpy

import frame

SRC = os.path.join(frame.ROOT, "src")
PLAYED = os.path.join(frame.ROOT, "tests", "lanes")
TYPES = {"uint8": (0, 4, "unsigned char"), "uint16": (1, 4, "unsigned short"), "float32": (2, 2, "float")}
LANES, ACROSS, DOWN = 32, 7, 15  # of a warp; how far tiles look back

# Who gives up waiting gets a sum that is wrong.
GIVES_UP = ("found = sum_alone(s, p, chunk, lane);", "found = (SUM)12345;")


def compiled(folder, kind, channels, warps, lines, tail, change):
    """play.c with integral_lookback_tiles as it runs with PTX, but for the instructions that only a GPU has."""
    code, result, pixel = TYPES[kind]
    path = os.path.join(folder, "lookback.cl")
    with open(os.path.join(SRC, "filters", "integral", "lookback.cl"), encoding="utf-8") as file:
        text = file.read()
    frame.check(text.count(change[0]) == 1, f"lookback.cl has no '{change[0]}'")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(*change))
    with open(os.path.join(folder, "ptx.h"), "w", encoding="utf-8") as file:
        file.write("#undef WITH_PTX\n#define WITH_PTX 1\n")
    sizes = [f"-DHONE_T={code}", f"-DHONE_OT={result}", f"-DHONE_C={channels}", f"-DWARPS={warps}", f"-DLINES={lines}", f"-DTAIL={tail}"]
    before = [f"-I{PLAYED}", f"-I{SRC}", "-Dinline=inline static", "-DWITH_PTX=0", "-include", os.path.join(SRC, "filter", "kernel.clh"),
              "-include", os.path.join(SRC, "filters", "integral", "signals.clh")]
    subprocess.run(["clang", "-x", "cl", "-cl-std=CL1.2", "-O2", "-w", "-Xclang", "-finclude-default-header", *before, "-include",
                    os.path.join(SRC, "filter", "fuse.clh"), "-include", os.path.join(folder, "ptx.h"), "-DHONE_ONE", "-DHONE_BORDER=0",
                    "-DVARIANT_lookback_tiles", "-DSTREAM=0", "-DSPINS=3", *sizes, "-c", path, "-o", path + ".o"], check=True)
    program = os.path.join(folder, "play")
    subprocess.run(["gcc", "-O1", f"-DPIXEL={pixel}", os.path.join(PLAYED, "play.c"), path + ".o", "-o", program], check=True)
    return program


def up(value, to):
    return (value + to - 1) // to


def play(a, warps, lines, change=GIVES_UP):
    height, width, channels = a.shape
    elements, kind = width * channels, a.dtype.name
    pitch = up(elements * a.itemsize, 16) * 16 // a.itemsize
    padded = numpy.full((height, pitch), 77, a.dtype)
    padded[:, :elements] = a.reshape(height, elements)
    tiles, bands = up(elements, 4 * LANES), up(height, warps * lines)
    chunks = up(warps * lines * channels, LANES)
    record = (chunks + 4 + up(chunks * channels, LANES)) * LANES
    records = tiles * bands + bands * up(tiles, ACROSS) + tiles * up(bands, DOWN)
    out_pitch = up(elements, 4) * 4
    numbers = [warps, tiles * bands, pitch, tiles, elements, height, out_pitch, 16 + 8 * records * record, 2]
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder, kind, channels, warps, lines, int(elements % 4 != 0), change)
        done = subprocess.run([program, *map(str, numbers)], input=padded.tobytes(), capture_output=True, check=False)
    frame.check(done.returncode == 0, f"{kind} x{channels}: {done.stderr.decode()}")
    result = numpy.frombuffer(done.stdout, numpy.float32 if kind == "float32" else numpy.uint32)
    return result.reshape(height, out_pitch)[:, :elements].reshape(a.shape), tiles * bands


def picture(kind, height, width, channels):
    random = numpy.random.default_rng(5)
    if kind == "float32":
        return random.random((height, width, channels), numpy.float32)
    return random.integers(0, numpy.iinfo(kind).max + 1, (height, width, channels)).astype(kind)


def differences(a, got):
    wide = a.astype(numpy.float64 if a.dtype == numpy.float32 else numpy.uint64)
    wanted = wide.cumsum(0).cumsum(1)
    if a.dtype != numpy.float32:
        return int((got != (wanted % 2**32).astype(numpy.uint32)).sum())
    height, width, _ = a.shape
    return int((numpy.abs(got - wanted) > 6e-8 * width * height * (200 + (width + height) / 16)).sum())


# More tiles than look-back reaches, in both directions; rows that end within a vector, and the last band with few rows.
CASES = [("uint8", 1, 4, 16, 1050, 1155), ("uint8", 2, 4, 8, 600, 519), ("uint8", 3, 4, 8, 401, 520), ("uint16", 1, 4, 8, 1155, 530),
         ("float32", 1, 8, 4, 1029, 515), ("float32", 4, 4, 4, 260, 270)]


def test_tiles_that_look_back():
    for kind, channels, warps, lines, width, height in CASES:
        a = picture(kind, height, width, channels)
        got, tiles = play(a, warps, lines)
        wrong = differences(a, got)
        frame.check(wrong == 0, f"{kind} x{channels}, {warps} warps of {lines} rows, {tiles} tiles: {wrong} sums are wrong")


def test_that_looking_back_matters():
    """The test above shows something: where nothing is found before tiles, sums are wrong."""
    a = picture("uint8", 70, 300, 1)
    got, _ = play(a, 4, 8, ("    const struct back b = look_back(s, chunk, lane);\n", "    struct back b = look_back(s, chunk, lane);\n    b.count = 0;\n"))
    frame.check(differences(a, got) > 0, "all sums are right")


if __name__ == "__main__":
    frame.main(globals())
