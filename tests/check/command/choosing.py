#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone apply chooses a device, and configurations while it works.  choosing.py build=FOLDER"""

import glob
import json
import os
import random
import re
import shutil
import subprocess
import threading
import time

import frame
from place import Place

EXPECTED = re.compile(r"device (\d+) \(.*\): ([0-9.e+-]+) ms expected.*; (\d+) of 1 filter measured")
PATIENCE = 60  # folders, of half a second each, until others have been tried, on a machine that has much else to do
DUE = 5  # seconds of many small frames after which others are compiled
TWO = {"POCL_DEVICES": "basic pthread"}  # PoCL on one core, and on all


class Desk(Place):
    """A place with records of its own."""

    def __init__(self):
        super().__init__()
        self.environment["XDG_DATA_HOME"] = self.path("data")

    def records(self):
        return self.path("data", "hone", "tuning.jsonl")

    def lines(self, kind):
        if not os.path.exists(self.records()):
            return []
        with open(self.records(), encoding="utf-8") as file:
            return [record for record in map(json.loads, file) if record["kind"] == kind]

    def image(self, name, seed, width=320, height=240):
        with open(self.path(name), "wb") as file:
            file.write(b"P5 %d %d 255\n" % (width, height) + random.Random(seed).randbytes(width * height))
        return self.path(name)

    def apply(self, *arguments, **changes):
        return self.run("apply", "box size=5", *arguments, "-v", **changes).stderr


def expectations(said):
    """Of each device: milliseconds, filters measured."""
    return {int(index): (float(ms), int(measured)) for index, ms, measured in EXPECTED.findall(said)}


def taken(said):
    return int(re.search(r"^hone: device (\d+): ", said, re.M).group(1))


def claim(desk, device, ms, time):
    """A record as hone writes it, of a box of 5x5 on this device."""
    known = {"vendor": device["vendor"], "name": device["name"], "platform": device["platform"], "driver": device["driver_version"],
             "architecture": device["architecture"], "kind": device["kind"], "vendor_id": device["vendor_id"],
             "compute_units": device["compute_units"]}
    case = {"filter": "box", "parameters": "size=5", "border": "replicate", "source": "", "type": "u8", "channels": 1, "width": 320,
            "height": 240}
    line = {"v": 1, "kind": "choice", "time": time, "device": known, "case": case, "seeds": [], "default_ms": -1, "first_rung_ms": -1,
            "plain_ms": -1, "evaluations": 1, "seconds": 1,
            "ranked": [{"variant": "separable", "config": "WG_X=16 WG_Y=4", "ms": ms}]}
    with open(desk.records(), "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def test_the_device_that_is_expected_to_be_done_first():
    with Desk() as desk:
        picture, out = desk.image("in.pgm", 1), desk.path("out.pgm")
        said = desk.apply(picture, "-o", out, **TWO)
        known = expectations(said)
        frame.check(len(known) == 2 and known[taken(said)][0] == min(ms for ms, _ in known.values()), said)
        devices = desk.json("devices", **TWO)["devices"]
        for time, fast in enumerate((0, 1, 0), 1):
            claim(desk, devices[fast], 0.5, time)
            claim(desk, devices[1 - fast], 50, time)
            said = desk.apply(picture, "-o", out, **TWO)
            known = expectations(said)
            frame.check(taken(said) == fast and 0.5 <= known[fast][0] < 50 <= known[1 - fast][0], f"{fast}: {said}")
            frame.check([measured for _, measured in known.values()] == [1, 1], said)


def test_records_that_cannot_be_read_stop_nothing():
    with Desk() as desk:
        os.makedirs(desk.records())  # a folder where the file should be
        said = desk.apply(desk.image("in.pgm", 1), "-o", desk.path("out.pgm"), **TWO)
        frame.check("is not known" in said and len(expectations(said)) == 2 and os.path.exists(desk.path("out.pgm")), said)


def folder_through(desk, out, *arguments):
    said = desk.apply(desk.path("frames"), "-o", desk.path(out) + "/", *arguments)
    results = {}
    for name in glob.glob(desk.path(out, "*.pgm")):
        with open(name, "rb") as file:
            results[os.path.basename(name)] = file.read()
    shutil.rmtree(desk.path(out))
    return said, results


def forget_choices(desk):
    """As if nothing had been tried: all is compiled and trusted."""
    with open(desk.records(), encoding="utf-8") as file:
        kept = [line for line in file if json.loads(line)["kind"] != "choice"]
    with open(desk.records(), "w", encoding="utf-8") as file:
        file.writelines(kept)


def compile_others(desk, patience):
    """By frames of the size of images here, which come until some have been tried; now and then, as not all may be compiled by then."""
    if patience % 5:
        return
    command = [os.path.join(frame.build(), "hone"), "apply", "box size=5", "-", "-o", desk.path("all.y4m")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=desk.environment) as process:
        process.stdin.write(b"YUV4MPEG2 W320 H240 F25:1 Ip A1:1 Cmono\n")
        for _ in range(100 * PATIENCE):
            process.stdin.write((b"FRAME\n" + bytes(range(240)) * 320) * 20)
            process.stdin.flush()
            if desk.lines("choice"):
                break
            time.sleep(0.05)
        process.stdin.close()
    frame.check(process.returncode == 0 and desk.lines("choice"), "nothing else was tried")
    forget_choices(desk)


def test_images_after_the_first_ones_try_other_configurations():
    with Desk() as desk:
        os.makedirs(desk.path("frames"))
        for number in range(120):
            desk.image(f"frames/{number:03}.pgm", number)
        right = folder_through(desk, "off", "--tune", "off")[1]
        frame.check(len(right) == 120 and not desk.lines("choice"), f"{len(right)} results, {desk.lines('choice')}")
        for patience in range(PATIENCE):  # a folder may be done before all have had their turns
            compile_others(desk, patience)
            said, results = folder_through(desk, "auto")
            frame.check(results == right, "a folder through several configurations gives what one gives")
            if desk.lines("choice"):
                break
        tried = desk.lines("choice")
        frame.check(tried and len(tried[0]["ranked"]) > 1 and all(c["ms"] > 0 for c in tried[0]["ranked"]), f"{tried} {said}")
        said = folder_through(desk, "again")[0]
        frame.check("measured here" in said and tried[0]["ranked"][0]["variant"] in said, said)


def programs_made(desk, out, *arguments):
    said = folder_through(desk, out, *arguments)[0]
    return max(int(count) for count in re.findall(r"programs so far: (\d+) compiled", said))


def test_a_small_folder_compiles_what_it_needs():
    with Desk() as desk, Desk() as other:
        for one in (desk, other):
            os.makedirs(one.path("frames"))
            for number in range(30):
                one.image(f"frames/{number:03}.pgm", number)
        needed, made = programs_made(desk, "off", "--tune", "off"), programs_made(other, "auto")
        frame.check(made == needed > 0, f"{made} programs where {needed} are enough")


def launched(desk, *arguments, **changes):
    """Names of the kernels that ran."""
    report = desk.path("report")
    layer = os.path.abspath(os.path.join(frame.build(), "tests", "layer.so"))
    desk.environment.update(OPENCL_LAYERS=layer, LAYER_REPORT=report, **changes)
    results = folder_through(desk, "out", *arguments)[1]
    for name in ("OPENCL_LAYERS", "LAYER_REPORT", *changes):
        del desk.environment[name]
    with open(report, encoding="utf-8") as file:
        return {line.split()[1] for line in file if line.startswith("kernel ")}, results


def test_a_configuration_that_cannot_run_costs_no_result():
    with Desk() as desk:
        os.makedirs(desk.path("frames"))
        for number in range(120):
            desk.image(f"frames/{number:03}.pgm", number)
        own, right = launched(desk, "--tune", "off")
        tried = set()
        for patience in range(PATIENCE):
            compile_others(desk, patience)
            tried |= launched(desk)[0] - own
            if tried:
                break
        frame.check(tried, "no other configuration was tried")
        for name in sorted(tried):
            forget_choices(desk)
            for _ in range(PATIENCE):
                ran, results = launched(desk, LAYER_REFUSE=name)
                frame.check(results == right, f"without {name}: {len(results)} results of {len(right)}")
                if name in ran:
                    break
            frame.check(name in ran, f"{name} was not tried again: {ran}")
            for choice in desk.lines("choice"):
                frame.check(choice["ranked"][0]["ms"] > 0, f"{choice}")


FRAME = b"FRAME\n" + bytes(range(192)) * 16  # of 64x48: so small that all runs together take no time


def send_frames(video, count):
    for _ in range(count):
        video.write(FRAME)
    video.flush()


class Reader(threading.Thread):
    """Reads a video of such frames as it comes, and tells when there is one."""

    def __init__(self, video):
        super().__init__()
        self.video, self.some, self.pixels = video, threading.Event(), b""
        self.start()

    def run(self):
        self.video.readline()
        self.pixels = self.video.read(len(FRAME))
        self.some.set()
        self.pixels += self.video.read()


def test_a_disk_that_fills_up_meanwhile_costs_the_trial_alone():
    """PoCL ends the process where it cannot write what it compiles: no output may be lost to a trial."""
    with Desk() as desk, open(desk.path("said"), "w+", encoding="utf-8") as said:
        full = {"LD_PRELOAD": os.path.join(frame.build(), "tests", "interpose.so"), "INTERPOSE_FULL": desk.path("cache"),
                "INTERPOSE_WHEN": desk.path("full")}
        command = [os.path.join(frame.build(), "hone"), "apply", "epsilon", "-", "-o", "-", "--format", "y4m", "-v"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
                              env={**desk.environment, **full}) as process:
            reader = Reader(process.stdout)
            process.stdin.write(b"YUV4MPEG2 W64 H48 F25:1 Ip A1:1 Cmono\n")
            send_frames(process.stdin, 30)  # 40 are due before a trial begins
            seen = reader.some.wait(100)  # what the filter needs is compiled then
            open(desk.path("full"), "wb").close()
            time.sleep(DUE)
            send_frames(process.stdin, 30)
            process.stdin.close()
            reader.join(100)
            process.kill()
        said.seek(0)
        text = said.read()
        frame.check(seen and reader.pixels == reader.pixels[:len(FRAME)] * 60, f"{len(reader.pixels)} bytes: {text}")
        frame.check("no other configuration is tried: the disk with" in text, text)


if __name__ == "__main__":
    frame.main(globals())
