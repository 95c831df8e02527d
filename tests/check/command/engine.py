#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What hone apply keeps from one image to the next: the plan, its memory, second images.  engine.py build=FOLDER"""

import os

import frame
from place import Place


def pixels(width, height, shift):
    return [[(x * 37 + y * 11 + shift) & 255 for x in range(width)] for y in range(height)]


def write(path, rows):
    with open(path, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % (len(rows[0]), len(rows)) + b"".join(map(bytes, rows)))


def read(path):
    with open(path, "rb") as file:
        magic, size, white, data = file.read().split(b"\n", 3)
    width, height = map(int, size.split())
    frame.check(magic == b"P5" and white == b"255" and len(data) == width * height, f"{path}: {magic}, {size}, {white}")
    return [list(data[y * width:(y + 1) * width]) for y in range(height)]


def write_folder(place, sizes):
    """Pictures 0.pgm, 1.pgm ... of these sizes; returns their pixels."""
    os.mkdir(place.path("in"))
    pictures = [pixels(width, height, 50 * i) for i, (width, height) in enumerate(sizes)]
    for i, rows in enumerate(pictures):
        write(place.path("in", f"{i}.pgm"), rows)
    return pictures


def test_pictures_of_changing_sizes():
    """Larger and smaller ones by turns, so that a plan or memory that stayed would show."""
    with Place() as place:
        pictures = write_folder(place, [(9, 5), (40, 31), (9, 5), (1, 1), (40, 31), (5, 9)])
        place.run("apply", "transpose", place.path("in"), "-o", place.path("out/"))
        for i, rows in enumerate(pictures):
            frame.check(read(place.path("out", f"{i}.pgm")) == [list(column) for column in zip(*rows)], f"{i}.pgm")


def test_a_picture_that_fails_leaves_the_next_ones_right():
    """`add` takes no second image of another size: the plan cannot be made, and the next picture needs it again."""
    with Place() as place:
        second = pixels(9, 5, 7)
        write(place.path("second.pgm"), second)
        pictures = write_folder(place, [(9, 5), (8, 5), (9, 5), (9, 6), (9, 5)])
        result = place.any("apply", f"add image={place.path('second.pgm')}", place.path("in"), "-o", place.path("out/"))
        frame.check(result.returncode != 0 and "the second image is 9x5 u8 x1; it must be 8x5" in result.stderr, result.stderr)
        for i, rows in enumerate(pictures):
            path = place.path("out", f"{i}.pgm")
            if (len(rows[0]), len(rows)) != (9, 5):
                frame.check(f"{i}.pgm" in result.stderr and not os.path.exists(path), f"{i}.pgm: {result.stderr}")
                continue
            wanted = [[min(a + b, 255) for a, b in zip(*both)] for both in zip(rows, second)]
            frame.check(read(path) == wanted, f"{i}.pgm")


def test_a_second_image_is_read_before_any_result_is_written():
    with Place() as place:
        write_folder(place, [(9, 5)])
        missing = place.path("missing.pgm")
        said = place.run("apply", f"add image={missing}", place.path("in"), "-o", place.path("out/"), status=3).stderr
        frame.check(missing in said and not os.path.exists(place.path("out", "0.pgm")), said)
        said = place.run("apply", "add", place.path("in"), "-o", place.path("out/"), status=2).stderr
        frame.check("add image=FILE" in said, said)


if __name__ == "__main__":
    frame.main(globals())
