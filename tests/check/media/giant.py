#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An image of more than 2^32 pixels, most of which is a hole in its file: pixels behind that many others are the right ones, and
memory is bounded. Takes 5 GB of disk.  giant.py build=FOLDER"""

import os
import subprocess

import numpy as np

import frame
from pictures import Here

HONE = os.path.abspath(os.path.join(frame.build(), "hone"))
SIDE, ROWS = 66000, 60  # 4.4e9 pixels, noise in the last rows
HEADER = b"P5\n%d %d\n255\n"


def noise():
    return np.random.default_rng(1).integers(0, 256, (ROWS, SIDE), dtype="uint8")


def write_giant(path):
    header = HEADER % (SIDE, SIDE)
    with open(path, "wb") as file:
        file.write(header)
        file.seek(len(header) + (SIDE - ROWS) * SIDE)
        file.write(noise().tobytes())


def last_rows(path, count):
    with open(path, "rb") as file:
        file.seek(-count * SIDE, os.SEEK_END)
        return np.frombuffer(file.read(), "uint8").reshape(count, SIDE)


def test_pixels_behind_2_to_the_32():
    with Here() as place:
        write_giant(place.path("in.pgm"))
        with open(place.path("end.pgm"), "wb") as file:  # the end alone, with enough of the nothing before it
            file.write(HEADER % (SIDE, ROWS + 20) + np.concatenate([np.zeros((20, SIDE), "uint8"), noise()]).tobytes())
        place.run("apply", "box size=9", place.path("end.pgm"), "-o", place.path("wanted.pgm"))
        process = subprocess.Popen([HONE, "apply", "box size=9", place.path("in.pgm"), "-o", place.path("out.pgm"), "--memory", "256M",
                                    "-q"], env=place.environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        frame.check(status == 0, f"status {status}")
        frame.check(usage.ru_maxrss < (256 + 64 + 128) << 10, f"{usage.ru_maxrss >> 10} MiB; a tiny image takes about 128")
        frame.check(os.path.getsize(place.path("out.pgm")) == SIDE * SIDE + len(HEADER % (SIDE, SIDE)), "an output of another size")
        got, wanted = last_rows(place.path("out.pgm"), ROWS + 10), last_rows(place.path("wanted.pgm"), ROWS + 10)
        frame.check(np.array_equal(got, wanted), "other pixels at the end")


def test_counts_over_32_bits():
    with Here() as place:
        write_giant(place.path("in.pgm"))
        result = place.any("apply", "histogram", place.path("in.pgm"), "-o", place.path("out.csv"))
        frame.check(result.returncode == 2 and "2^32 - 1" in result.stderr, result.stderr)
        frame.check(not os.path.exists(place.path("out.csv")), "an output all the same")


if __name__ == "__main__":
    frame.main(globals())
