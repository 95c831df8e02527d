#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone apply on image sequences, against NumPy and ffmpeg.  sequences.py build=FOLDER"""

import os
import subprocess

import numpy as np

import frame
from place import Place

WIDTH, HEIGHT = 40, 30


def pixels(number):
    return np.random.default_rng(number).integers(0, 256, (HEIGHT, WIDTH))


def box3(plane):
    wide = np.pad(plane, 1, mode="edge")
    return (sum(wide[y:y + HEIGHT, x:x + WIDTH] for y in range(3) for x in range(3)) * 2 + 9) // 18


def write(path, number):
    with open(path, "wb") as file:
        file.write(b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + pixels(number).astype("u1").tobytes())


def read(path):
    """Through ffmpeg, whatever the format is."""
    data = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
                          capture_output=True, check=True).stdout
    return np.frombuffer(data, "u1").reshape(HEIGHT, WIDTH)


def fill(place, pattern, numbers):
    os.makedirs(os.path.dirname(place.path(pattern)), exist_ok=True)
    for number in numbers:
        write(place.path(pattern % number), number)


def check_outputs(place, pattern, numbers):
    folder = os.path.dirname(place.path(pattern))
    frame.check(sorted(os.listdir(folder)) == sorted(os.path.basename(pattern) % n for n in numbers), f"{os.listdir(folder)}")
    for number in numbers:
        frame.check(np.array_equal(read(place.path(pattern % number)), box3(pixels(number))), f"{pattern} {number}")


def test_a_sequence_becomes_a_sequence_with_its_numbers():
    """Beyond the digits of the pattern, too; what lies beside it stays out."""
    with Place() as place:
        fill(place, "a/frame%02d.pgm", range(97, 103))
        for other in ("a/frame7.pgm", "a/frame0098.pgm", "a/frame99.png", "a/xframe98.pgm", "a/frame98.pgm.old"):
            write(place.path(other), 1)
        os.mkdir(place.path("b"))
        place.run("apply", "box size=3", place.path("a/frame%02d.pgm"), "-o", place.path("b/out%05d.png"))
        check_outputs(place, "b/out%05d.png", range(97, 103))
        fill(place, "c/%d.pgm", range(9, 12))
        place.run("apply", "box size=3", place.path("c/%d.pgm"), "-o", place.path("d/"), "--format", "png")
        check_outputs(place, "d/%d.png", range(9, 12))


def test_ffmpeg_reads_what_was_written():
    with Place() as place:
        fill(place, "a/f%03d.pgm", range(4, 9))
        os.mkdir(place.path("b"))
        place.run("apply", "box size=3", place.path("a/f%03d.pgm"), "-o", place.path("b/f%03d.png"))
        data = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-start_number", "4", "-i", place.path("b/f%03d.png"), "-f", "rawvideo",
                               "-pix_fmt", "gray", "-"], capture_output=True, check=True).stdout
        frame.check(np.array_equal(np.frombuffer(data, "u1").reshape(-1, HEIGHT, WIDTH), [box3(pixels(n)) for n in range(4, 9)]), "frames")


def test_gaps_and_what_is_no_sequence():
    with Place() as place:
        fill(place, "a/f%03d.pgm", (1, 2, 3, 6))
        os.mkdir(place.path("b"))
        cases = [("a/f%03d.pgm", "b/f%03d.png", 3, ("f004.pgm' is missing", "f006.pgm")),
                 ("a/g%03d.pgm", "b/f%03d.png", 3, ("no file with a number",)), ("none/f%03d.pgm", "b/f%03d.png", 3, ("cannot read the folder",)),
                 ("a/f%03d.pgm", "b/one.png", 2, ("out%04d.png",)), ("a/f%03d.pgm", "b/out.mp4", 2, ("yuv4mpegpipe",)),
                 ("a/f001.pgm", "b/f%03d.png", 2, ("is made of a sequence",)), ("a/in.mp4", "b/f%03d.png", 2, ("--format y4m",))]
        for source, out, status, said in cases:
            result = place.run("apply", "box size=3", place.path(source), "-o", place.path(out), status=status)
            frame.check(all(text in result.stderr for text in said), f"{source} {out}: {result.stderr}")
            frame.check(not os.listdir(place.path("b")), f"{source} {out}: {os.listdir(place.path('b'))}")


def test_a_file_of_that_very_name_is_a_file():
    with Place() as place:
        write(place.path("100%d.pgm"), 5)
        place.run("apply", "box size=3", place.path("100%d.pgm"), "-o", place.path("out.pgm"))
        frame.check(np.array_equal(read(place.path("out.pgm")), box3(pixels(5))), "another picture")


if __name__ == "__main__":
    frame.main(globals())
