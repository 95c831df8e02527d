#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone apply on several devices at a time: PoCL's, twice.  several.py build=FOLDER"""

import fcntl
import json
import os
import random
import shutil
import threading

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

    def launches(self, *arguments, **how):
        """How many kernels a run launches when all is compiled and devices are tested."""
        self.through("counted", *arguments, **how)
        if os.path.exists(self.path("report")):  # to which a run adds
            os.remove(self.path("report"))
        self.through("counted", *arguments, **how, **self.layer("report"))
        return self.calls("report", LAUNCH)

    def calls(self, report, site):
        with open(self.path(report), encoding="utf-8") as file:
            return sum(int(words[3]) for words in map(str.split, file) if words[:2] == ["site", site])


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


def test_a_device_that_fails_its_self_test_is_left_out():
    third = {"RUSTICL_ENABLE": "llvmpipe", "OCL_ICD_VENDORS": ""}
    with Desk(4) as desk:
        tested = desk.any("doctor", "gray", **TWO, **third).stdout
        if "loops run to their end: no" not in tested:
            raise frame.Skip("left out: no device here fails its self-test")
        said, reports, _ = desk.through("out", "--device", "all", **third)
        frame.check("device 2 (llvmpipe" in said and "is left out: it failed its self-test" in said, f"{said}")
        frame.check(devices(reports) <= {0, 1}, f"{devices(reports)} {said}")
        said, reports, _ = desk.through("alone", "--device", "2", **third)
        frame.check(devices(reports) == {2} and "left out" not in said, f"{devices(reports)} {said}")


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
        count = desk.launches("--device", "all")
        said, reports, results = desk.through("out", "--device", "all", status=5, **desk.layer(
            "failed", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2), LAYER_STICKY="1"))
        _, _, right = desk.through("one", "--device", "1")
        done = {os.path.basename(report["output"]) for report in reports if report["status"] == "done"}
        frame.check(len(reports) == 8 and done == set(results) and len(done) < 8, f"{done} {set(results)} {said}")
        frame.check(all(results[name] == right[name] for name in done), "a result is wrong")


def beside_one_that_hangs(desk, **how):
    """What is reported and made of all, and what one device makes of it: another hangs after half of its launches."""
    _, _, right = desk.through("one", "--device", "1", **how)
    count = desk.launches("--device", "all", **how)
    said, reports, results = desk.through("out", "--device", "all", "--timeout", "5", **how, **desk.layer(
        "hung", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2), LAYER_SLEEP="1000"))
    frame.check(said.count("is left out from here on") == 1 and "longer than 5 s" in said, said)
    return reports, results, right


def test_a_device_that_hangs_is_left_out_and_nothing_is_lost():
    with Desk() as desk:
        check_all(desk, *beside_one_that_hangs(desk))


# In each of which it holds what others wait for.
BUILDS = ("clBuildProgram", "clCreateKernel")


def hangs_in(desk, call, number, device="1", **how):
    """What is reported and made where the so-many-th such call about a device does not come back."""
    desk.through("warm", "--device", "all", **how)
    return desk.through("out", "--device", "all", "--timeout", "4", **how, **desk.layer(
        "hung", LAYER_ONLY=call, LAYER_DEVICE=device, LAYER_FAIL=str(number), LAYER_SLEEP="1000"))


def test_a_device_that_hangs_while_it_builds_holds_nobody_up():
    with Desk(8) as desk:
        _, _, right = desk.through("one", "--device", "1")
        for call in BUILDS:
            for device in "01":
                said, reports, results = hangs_in(desk, call, 1, device)
                check_all(desk, reports, results, right)
                frame.check(said.count("is left out from here on") == 1 and f"device {device} (" in said, f"{call}: {said}")


def test_a_device_that_hangs_when_all_is_done_costs_no_result():
    with Desk(8) as desk:
        _, _, right = desk.through("one", "--device", "1")
        for device in ("1", "all"):
            how = {"LAYER_ONLY": "clFinish", "LAYER_DEVICE": "1"}
            desk.through("warm", "--device", device)
            if os.path.exists(desk.path("report")):
                os.remove(desk.path("report"))
            desk.through("warm", "--device", device, **desk.layer("report", **how))
            said = ""
            for _ in range(10):  # a run may need fewer calls than the one before
                if "closing the device" in said:
                    break
                last = desk.calls("report", "clFinish")
                os.remove(desk.path("report"))
                said, reports, results = desk.through("out", "--device", device, "--timeout", "4", **desk.layer(
                    "report", LAYER_FAIL=str(last), LAYER_SLEEP="1000", **how))
                check_all(desk, reports, results, right)
            frame.check("closing the device took longer than 4 s" in said, said)


# The first of each is asked of a device while it is opened; then while it is tested.
OPENS = ("clGetDeviceInfo", "clCreateContext", "clCreateCommandQueue")
TESTS = ("clBuildProgram", LAUNCH)


def check_left_out(said, device, why):
    frame.check(said.count("is left out: ") == 1 and f"device {device} is left out: {why} took longer than 4 s" in said, said)


def test_a_device_that_hangs_while_it_is_opened_is_left_out():
    """Whatever the work is, and whether all are asked for or it is named beside others."""
    for place in (lambda: Desk(2), Film, Scan):
        with place() as desk:
            right = desk.through("one", "--device", "1")[-1]
            desk.through("warm", "--device", "all")
            for device in "01":
                for number, call in enumerate(OPENS):
                    said, _, results = desk.through("out", "--device", ("all", "0,1")[number % 2], "--timeout", "4", **desk.layer(
                        "hung", LAYER_ONLY=call, LAYER_DEVICE=device, LAYER_FAIL="1", LAYER_SLEEP="1000"))
                    frame.check(results == right, f"{call} of device {device}: other results")
                    check_left_out(said, device, "opening it")


def test_a_device_that_hangs_in_its_self_test_is_left_out():
    """Where its verdict is not known yet."""
    with Desk(2) as desk:
        _, _, right = desk.through("one", "--device", "1")
        for call in TESTS:
            shutil.rmtree(desk.cache())
            said, reports, results = desk.through("out", "--device", "all", "--timeout", "4", HONE_PRECOMPILED="", **desk.layer(
                "hung", LAYER_ONLY=call, LAYER_DEVICE="0", LAYER_FAIL="1", LAYER_SLEEP="1000"))
            check_left_out(said, 0, "its self-test")
            frame.check(results == right and devices(reports) == {1}, f"{reports}")


def test_a_device_alone_that_hangs_while_it_is_opened_ends_the_process():
    """So does the last one, when all others do not open."""
    with Desk(2) as desk:
        desk.through("warm", "--device", "all")
        for device, how in (("1", {"LAYER_DEVICE": "1", "LAYER_SLEEP": "1000"}), ("all", {"LAYER_SLEEP": "1000"})):
            done = desk.run("apply", "box", desk.path("in"), "-o", desk.path("out") + "/", "--device", device, "--timeout", "4",
                            status=5, **TWO, **desk.layer("hung", LAYER_ONLY="clCreateContext", LAYER_FAIL="1", LAYER_STICKY="1", **how))
            frame.check("opening the device" in done.stderr and "no answer within 4 s" in done.stderr, done.stderr)
            frame.check(not os.path.exists(desk.path("out")) or not os.listdir(desk.path("out")), "a result")


def test_a_build_waits_for_other_processes_without_a_bound():
    """Another one holds the lock for longer than a device may take."""
    with Desk(2) as desk:
        desk.through("one", "--device", "0", "--tune", "off")
        lock = desk.cache("programs", "lock")
        with open(lock, "r+", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            timer = threading.Timer(8, fcntl.flock, (held, fcntl.LOCK_UN))
            timer.start()
            desk.through("out", "--device", "0", "--timeout", "2")
            frame.check(not timer.is_alive(), "the lock was not waited for")


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


# ---- Images in bands of rows ----

class Scan(Desk):
    """One picture that is filtered in tiles, side by side, too."""

    def __init__(self):
        super().__init__(0)
        picture(self.path("in.pgm"), 1, 1700, 2300)

    def through(self, out, *arguments, chain="box size=9 | sobel", memory="3M", status=0, **changes):
        """What was said, the report, and the result's bytes; none where there is no result."""
        name = out + (".csv" if chain.endswith("histogram") else ".tif" if chain == "integral" else ".pgm")
        done = self.run("apply", chain, self.path("in.pgm"), "-o", self.path(name), "--json", "--tune", "off", "--memory", memory,
                        *arguments, status=status, **TWO, **changes)
        result = b""
        if os.path.exists(self.path(name)):
            with open(self.path(name), "rb") as file:
                result = file.read()
        return done.stderr, json.loads(done.stdout), result


def check_scan(report, result, right):
    tiles = sum(device["tiles"] for device in report["devices"])
    least = 5 if "transpose" in report["chain"] else report["bands"]  # a turned image is also read in bands
    frame.check(report["status"] == "done" and report["bands"] > 4 and tiles >= least, f"{report}")
    frame.check(len(result) > 1000 and result == right, "the result is not that of the whole image")


def test_all_devices_take_tiles():
    """Of one filter and of several, of two images, turned, across rows too long for the memory that there is."""
    with Scan() as scan:
        second = f"add image={scan.path('in.pgm')}"
        for chain, memory in (("box size=9 | sobel", "3M"), ("box size=9 | sobel", "1M"), (second, "3M"), ("box border=wrap", "3M"),
                              ("transpose | box size=5", "3M"), ("box size=3 | histogram", "3M"), ("integral", "3M")):
            _, whole, right = scan.through("whole", "--device", "1", chain=chain, memory="1G")
            frame.check("bands" not in whole, f"{whole}")
            for _ in range(5):  # which tiles a device takes is up to it
                said, report, result = scan.through("all", "--device", "all", chain=chain, memory=memory)
                check_scan(report, result, right)
                if all(device["tiles"] for device in report["devices"]):
                    break
            frame.check(all(device["tiles"] for device in report["devices"]) and "left out" not in said, f"{chain}: {report} {said}")


def test_tiles_of_a_device_that_fails_are_done_again():
    """And bands whose sums go on."""
    with Scan() as scan:
        for chain in ("box size=9 | sobel", f"add image={scan.path('in.pgm')}", "integral", "transpose"):
            _, _, right = scan.through("whole", "--device", "1", chain=chain, memory="1G")
            count = scan.launches("--device", "all", chain=chain)
            for number in (count // 2, 3 * count // 4):
                said, report, result = scan.through("failed", "--device", "all", chain=chain,
                                                    **scan.layer("report", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(number)))
                check_scan(report, result, right)
                frame.check(said.count("is left out from here on") == 1 and LAUNCH in said, f"{number} of {count}: {said}")


def test_tiles_of_a_device_that_hangs_are_done_again():
    with Scan() as scan:
        check_scan(*beside_one_that_hangs(scan))
        check_scan(*beside_one_that_hangs(scan, chain="histogram"))


def test_a_device_that_hangs_while_tiles_are_prepared_is_left_out():
    """In the first of several stages, and while it clears away what it held for another size."""
    with Scan() as scan:
        chain = "transpose | box size=5"
        _, _, right = scan.through("whole", "--device", "1", chain=chain, memory="1G")
        for call, memory in (("clBuildProgram", "3M"), ("clFinish", "2M")):
            said, report, result = hangs_in(scan, call, 1, "0", chain=chain, memory=memory)
            check_scan(report, result, right)
            frame.check(said.count("is left out from here on") == 1 and "device 0 (" in said, f"{call}: {said}")


def test_tiles_that_no_device_does_leave_no_result():
    with Scan() as scan:
        count = scan.launches("--device", "all")
        said, report, result = scan.through("out", "--device", "all", status=5, **scan.layer(
            "failed", LAYER_ONLY=LAUNCH, LAYER_FAIL=str(count // 2), LAYER_STICKY="1"))
        frame.check(report["status"] == "failed" and not result and said.count("is left out from here on") == 1, f"{report} {said}")


if __name__ == "__main__":
    frame.main(globals())
