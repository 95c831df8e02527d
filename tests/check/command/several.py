#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone apply on several devices at a time: PoCL's, twice.  several.py build=FOLDER"""

import json
import os
import random

import frame
from place import Place

TWO = {"POCL_DEVICES": "pthread pthread"}
LAUNCH = "clEnqueueNDRangeKernel"
PICTURES = 60


def picture(path, seed, width, height):
    with open(path, "wb") as file:
        file.write(b"P5 %d %d 255\n" % (width, height) + random.Random(seed).randbytes(width * height))


class Desk(Place):
    """A folder of pictures of two sizes, large enough for either device to be busy for a moment."""

    def __init__(self, count=PICTURES):
        super().__init__()
        self.names = [f"{i:03}.pgm" for i in range(count)]
        os.mkdir(self.path("in"))
        for i, name in enumerate(self.names):
            picture(self.path("in", name), i, *((640, 480) if i % 2 else (500, 700)))

    def through(self, out, *arguments, status=0, **changes):
        """What was said, the reports, and the results by name."""
        done = self.run("apply", "gaussian sigma=2 | box size=5", self.path("in"), "-o", self.path(out) + "/", "--json", "-j", "4",
                        "--tune", "off", *arguments, status=status, **TWO, **changes)
        results = {}
        for name in os.listdir(self.path(out)):
            with open(self.path(out, name), "rb") as file:
                results[name] = file.read()
        return done.stderr, [json.loads(line) for line in done.stdout.splitlines()], results

    def layer(self, report, **changes):
        layer = os.path.abspath(os.path.join(frame.build(), "tests", "layer.so"))
        return {"OPENCL_LAYERS": layer, "LAYER_REPORT": self.path(report), **changes}

    def launches(self, *arguments):
        """How many kernels a run launches when all is compiled."""
        self.through("counted", *arguments, **self.layer("report"))
        with open(self.path("report"), encoding="utf-8") as file:
            return sum(int(words[3]) for words in map(str.split, file) if words[:2] == ["site", LAUNCH])


def check_all(desk, reports, results, right):
    frame.check([os.path.basename(report["input"]) for report in reports] == desk.names, "the reports are not in order")
    frame.check(all(report["status"] == "done" for report in reports), f"{reports}")
    frame.check(results == right, "results differ from those of one device")


def devices(reports):
    return {report["device_index"] for report in reports}


def test_all_devices_take_part():
    with Desk() as desk:
        _, _, right = desk.through("one", "--device", "1")
        for spec in ("all", "0,1"):
            for _ in range(5):  # which pictures a device takes is up to it
                said, reports, results = desk.through("out-" + spec, "--device", spec)
                check_all(desk, reports, results, right)
                if devices(reports) == {0, 1}:
                    break
            frame.check(devices(reports) == {0, 1} and not said.count("left out"), f"{devices(reports)} {said}")


def test_a_device_that_fails_is_left_out_and_nothing_is_lost():
    with Desk() as desk:
        _, _, right = desk.through("one", "--device", "1")
        count = desk.launches("--device", "all")
        frame.check(count >= 2 * PICTURES, f"{count} launches")
        for number in (count // 2, 3 * count // 4):
            said, reports, results = desk.through(f"out-{number}", "--device", "all",
                                                 **desk.layer("failed", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(number)))
            check_all(desk, reports, results, right)
            frame.check(said.count("is left out from here on") == 1 and LAUNCH in said, said)


def test_the_last_device_reports_what_fails():
    """All of its calls fail from one on: the pictures before are whole, those after it are not there."""
    with Desk(8) as desk:
        count = desk.launches("--device", "1")
        said, reports, results = desk.through("out", "--device", "all", status=5, **desk.layer(
            "failed", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2), LAYER_STICKY="1"))
        _, _, right = desk.through("one", "--device", "1")
        done = {os.path.basename(report["output"]) for report in reports if report["status"] == "done"}
        frame.check(len(reports) == 8 and done == set(results) and len(done) < 8, f"{done} {set(results)} {said}")
        frame.check(all(results[name] == right[name] for name in done), "a result is wrong")


def beside_one_that_hangs(desk):
    """What is reported and made of all, and what one device makes of it: another hangs after half of its launches."""
    _, _, right = desk.through("one", "--device", "1")
    count = desk.launches("--device", "all")
    said, reports, results = desk.through("out", "--device", "all", "--timeout", "5", **desk.layer(
        "hung", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2), LAYER_SLEEP="1000"))
    frame.check(said.count("is left out from here on") == 1 and "longer than 5 s" in said, said)
    return reports, results, right


def test_a_device_that_hangs_is_left_out_and_nothing_is_lost():
    with Desk() as desk:
        check_all(desk, *beside_one_that_hangs(desk))


def test_one_device_that_hangs_ends_the_process():
    with Desk(8) as desk:
        count = desk.launches("--device", "1")
        said, _, results = desk.through("out", "--device", "1", "--timeout", "3", status=5, **desk.layer(
            "hung", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2), LAYER_SLEEP="1000"))
        _, _, right = desk.through("one", "--device", "1")
        frame.check("no answer within 3 s" in said, said)
        frame.check(len(results) < 8 and all(right[name] == pixels for name, pixels in results.items()), f"{set(results)}")


# ---- Videos ----

FRAMES = 40


class Film(Desk):
    """One video of gray frames, both ways without an encoder that takes time."""

    def __init__(self):
        super().__init__(0)
        with open(self.path("in.y4m"), "wb") as file:
            file.write(b"YUV4MPEG2 W320 H240 F25:1 Ip A1:1 C420jpeg\n")
            for i in range(FRAMES):
                file.write(b"FRAME\n" + random.Random(i).randbytes(320 * 240 * 3 // 2))

    def through(self, out, *arguments, status=0, **changes):
        """What was said, the report of the video, and its bytes."""
        done = self.run("apply", "gaussian sigma=2 | box size=5", self.path("in.y4m"), "-o", self.path(out + ".y4m"), "--json",
                        "--planes", "all", "--tune", "off", *arguments, status=status, **TWO, **changes)
        with open(self.path(out + ".y4m"), "rb") as file:
            return done.stderr, json.loads(done.stdout)["video"], file.read()


def check_film(video, result, right):
    frame.check(video["frames"] == FRAMES and sum(device["frames"] for device in video["devices"]) == FRAMES, f"{video}")
    frame.check(len(result) > FRAMES * 320 * 240 and result == right, "frames differ from those of one device")


def test_all_devices_take_frames_of_a_video():
    with Film() as film:
        _, _, right = film.through("one", "--device", "1")
        for _ in range(5):  # which frames a device takes is up to it
            said, video, result = film.through("all", "--device", "all")
            check_film(video, result, right)
            if all(device["frames"] for device in video["devices"]):
                break
        frame.check([device["device_index"] for device in video["devices"]] == [0, 1] and "left out" not in said, f"{video} {said}")
        frame.check(all(device["frames"] for device in video["devices"]), f"{video}")


def test_frames_of_a_device_that_fails_are_done_again():
    with Film() as film:
        _, _, right = film.through("one", "--device", "1")
        count = film.launches("--device", "all")
        frame.check(count >= 3 * FRAMES, f"{count} launches")
        said, video, result = film.through("failed", "--device", "all",
                                           **film.layer("report", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2)))
        check_film(video, result, right)
        frame.check(said.count("is left out from here on") == 1 and LAUNCH in said, said)


def test_frames_of_a_device_that_hangs_are_done_again():
    with Film() as film:
        check_film(*beside_one_that_hangs(film))


if __name__ == "__main__":
    frame.main(globals())
