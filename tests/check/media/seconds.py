#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Second images of several pages, and of more than four channels, against sums of NumPy. seconds.py build=FOLDER"""

import cv2
import numpy as np

import frame
from pictures import Here, read_pages, write_tiff


def pages_of(count, channels=1, seed=0, size=(29, 37)):
    """Of values whose sums of two stay below 256."""
    return list(np.random.default_rng(seed).integers(0, 120, (count, *size, channels), dtype="u1"))


def write(place, name, images):
    write_tiff(place.path(name), images, extra=[0] * (images[0].shape[2] - 1))


def add(place, name, other, out, *more, status=0):
    return place.run("apply", "add image=" + place.path(other), place.path(name), "-o", place.path(out), *more, status=status).stderr


def check_sums(place, out, first, second, what):
    got = read_pages(place.path(out))[1]
    wanted = [a + b for a, b in zip(first, second)]
    same = len(got) == len(wanted) and all(np.array_equal(g.reshape(w.shape), w) for g, w in zip(got, wanted))
    frame.check(same, f"{what}: other sums, or {len(got)} of {len(wanted)} pages")


def test_page_by_page():
    first, second = pages_of(5), pages_of(5, seed=1)
    with Here() as place:
        write(place, "in.tif", first)
        write(place, "five.tif", second)
        write(place, "one.tif", second[:1])
        said = add(place, "in.tif", "five.tif", "out.tif")
        check_sums(place, "out.tif", first, second, "as many pages")
        frame.check(not said, f"a warning: {said}")
        add(place, "in.tif", "one.tif", "out.tif")
        check_sums(place, "out.tif", first, second[:1] * 5, "one page for all")
        add(place, "in.tif", "five.tif", "some.tif", "--pages", "2-4")
        check_sums(place, "some.tif", first[1:4], second[1:4], "some pages")
        said = add(place, "in.tif", "five.tif", "third.png", "--pages", "3")
        frame.check(not said, f"a warning: {said}")
        third = cv2.imread(place.path("third.png"), cv2.IMREAD_UNCHANGED)
        frame.check(np.array_equal(third[:, :, None], first[2] + second[2]), "page 3 meets another one")
        said = add(place, "one.tif", "five.tif", "single.tif")
        check_sums(place, "single.tif", second[:1], second[:1], "one image and the first page")
        frame.check("the first is used" in said, f"no warning: {said}")


def test_other_numbers_of_pages_are_an_error():
    with Here() as place:
        write(place, "in.tif", pages_of(5))
        write(place, "three.tif", pages_of(3))
        write(place, "mixed.tif", pages_of(4) + pages_of(1, size=(20, 37)))
        said = add(place, "in.tif", "three.tif", "out.tif", status=2)
        frame.check("has 3 pages" in said and "has 5: it needs as many, or one" in said, said)
        said = add(place, "in.tif", "mixed.tif", "out.tif", status=3)
        frame.check("its pages differ in size or kind" in said, said)


def test_one_after_the_other_in_a_folder():
    """What one image has read of a second one is not what the next one meets."""
    first, second = pages_of(3), pages_of(3, seed=1)
    with Here() as place:
        write(place, "second.tif", second)
        names = []
        for k, count in enumerate((1, 3, 1, 3)):
            names.append(f"in{k}.tif")
            write(place, names[-1], first[:count])
        place.run("apply", "add image=" + place.path("second.tif"), *map(place.path, names), "-o", place.path("out/"))
        for k, count in enumerate((1, 3, 1, 3)):
            check_sums(place, f"out/in{k}.tif", first[:count], second[:count], f"image {k}")


def test_pages_in_tiles():
    first, second = pages_of(3, size=(1200, 1600)), pages_of(3, seed=1, size=(1200, 1600))
    with Here() as place:
        write(place, "in.tif", first)
        write(place, "three.tif", second)
        write(place, "two.tif", second[:2])
        add(place, "in.tif", "three.tif", "out.tif", "--memory", "2")
        check_sums(place, "out.tif", first, second, "in tiles")
        add(place, "in.tif", "three.tif", "one.tif", "--memory", "2", "--pages", "2")
        check_sums(place, "one.tif", first[1:2], second[1:2], "page 2 in tiles")
        said = add(place, "in.tif", "two.tif", "none.tif", "--memory", "2", status=2)
        frame.check("has 2 pages" in said and "has 3: it needs as many, or one" in said, said)


def test_many_channels():
    first, second = pages_of(2, channels=6), pages_of(2, channels=6, seed=1)
    with Here() as place:
        write(place, "in.tif", first)
        write(place, "six.tif", second)
        write(place, "gray.tif", [image[:, :, :1] for image in second])
        write_tiff(place.path("rgb.tif"), [second[0][:, :, :3].copy()], gray=False)
        add(place, "in.tif", "six.tif", "out.tif")
        check_sums(place, "out.tif", first, second, "six channels")
        add(place, "in.tif", "gray.tif", "gray-out.tif")
        check_sums(place, "gray-out.tif", first, [image[:, :, :1] for image in second], "one channel for all")
        said = add(place, "in.tif", "rgb.tif", "none.tif", status=2)
        frame.check("has 3 channels" in said and "has 6, which are filtered one by one: it needs as many, or one" in said, said)
        said = add(place, "rgb.tif", "six.tif", "none.tif", status=2)
        frame.check("has 6 channels; more than four meet images of as many alone" in said, said)


frame.main(globals())
