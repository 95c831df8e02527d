#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone tune, for real, on PoCL: what it finds is used, and nothing that happens to it loses a result.  tuning.py build=FOLDER"""

import fcntl
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import termios
import time

import frame
from place import TuningRecords, on_terminal

CASE = ["box size=4", "--size", "64x48", "--format", "u8"]
TWO = ["--variant", "direct,separable"]
LAYER = os.path.abspath(os.path.join(frame.build(), "tests", "layer.so"))
# Kernels that misbehave, by the kernel that begins so.
BROKEN = {"box_parts": "for (volatile int i = 1; i;) ;",
          "box_run_columns": "*(volatile __global int *)8 = 1;",
          "box_strips": "height--;",
          "box_image": "\n#error broken on purpose\n"}
HANGING = {kernel: BROKEN["box_parts"] for kernel in (*BROKEN, "box_rows")}


class Place(TuningRecords):
    def start(self, *arguments, **options):
        return subprocess.Popen([os.path.join(frame.build(), "hone"), *arguments], stdout=subprocess.PIPE, text=True,
                                **{"env": self.environment, "stderr": subprocess.PIPE, **options})

    def run(self, *arguments, status=0, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=250)
        frame.check(status is None or process.returncode == status, f"hone {' '.join(arguments)} ends with {process.returncode}, not "
                                                  f"{status}: {out[-300:]}{err[-600:]}")
        return out, err

    def tune(self, *arguments, status=0, **options):
        out = self.run("tune", *CASE, "--json", *arguments, status=status, **options)[0]
        return json.loads(out)[0] if out.strip() else None

    def file(self):
        return os.path.join(self.folder, "hone", "tuning.jsonl")

    def bytes(self):
        try:
            with open(self.file(), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def lines(self, kind):
        """Whole lines of a kind."""
        objects = [json.loads(line) for line in self.bytes().split(b"\n") if line.endswith(b"}")]
        return [o for o in objects if o["kind"] == kind]

    def tries(self, *states):
        return [(o["config"]["variant"], o["config"]["config"]) for o in self.lines("try") if o["state"] in states]

    def ended(self):
        return [(o["config"]["variant"], o["config"]["config"]) for o in self.lines("try") if o["state"] != "started"]

    def wait_for(self, count, process):
        """Until so many configurations have ended."""
        while len(self.ended()) < count and process.poll() is None:
            time.sleep(0.01)

    def pgm(self, width=64, height=48):
        name = os.path.join(self.folder, "in.pgm")
        with open(name, "wb") as file:
            file.write(b"P5 %d %d 255\n" % (width, height) + random.Random(1).randbytes(width * height))
        return name

    def apply(self, *arguments, status=0):
        source, target = self.pgm(), os.path.join(self.folder, "out.pgm")
        return self.run("apply", CASE[0], source, "-o", target, "-v", *arguments, status=status)[1]


def none_twice(place):
    """No configuration was started twice."""
    started = place.tries("started")
    frame.check(len(started) == len(set(started)), f"started twice: {sorted(c for c in started if started.count(c) > 1)}")


def test_results_are_used():
    with Place() as place:
        frame.check("hand-written" in place.apply(), "before tuning the choice is hand-written")
        result = place.tune("--evaluations", "4")
        best = result["ranked"][0]
        frame.check(result["evaluations"] == 4 and best["ms"] > 0, f"{result}")
        frame.check(result["default_ms"] > 0 and result["first_rung_ms"] > 0 and result["plain_ms"] > 0, f"{result}")
        said = place.apply()
        frame.check(result["seed"] == 1, "the report has the number that the random restarts began with")
        frame.check("measured here" in said and best["variant"] in said, f"apply said {said}")
        again = place.tune("--evaluations", "4")
        frame.check(again["states"].get("ok", 0) + again["states"].get("slow", 0) == 4 and not again["resumed"],
                    f"a second tuning measures anew: {again}")
        frame.check("hand-written" in place.apply("--tune", "off"), "--tune off takes hand-written choices")
        shown = place.run("filters", "box")[0]
        frame.check("measured here" not in shown or best["variant"] in shown, shown)
        none_after_a_choice(place)


def test_an_experiment_changes_nothing_for_the_worse():
    with Place() as place:
        chain, source, target = "sobel norm=l1", place.pgm(640, 480), os.path.join(place.folder, "out.pgm")
        apply = ["apply", chain, source, "-o", target, "-v"]
        experiment = ["tune", chain, "--size", "640x480", "--format", "u8", "--variant", "direct", "--evaluations", "2"]

        def variant():
            return re.search(r"variant (\S+),.*(hand-written|shipped|measured here)", place.run(*apply)[1]).groups()

        before = variant()
        frame.check(before[0] != "direct", f"{before} runs without tuning")
        result = json.loads(place.run(*experiment, "--json")[0])[0]
        frame.check(result["informs"] and result["asked"]["variant"] == "direct", f"{result}")
        frame.check(result["ranked"][0]["variant"] == before[0] and result["default_ms"] == result["ranked"][0]["ms"], f"{result}")
        frame.check(variant() == before, f"{before} became {variant()}")
        out = place.run(*experiment)[0]
        frame.check("the best of --variant direct" in out and "unchanged" in out, out)
        place.run(*experiment[:-4], "--evaluations", "2")  # a session that is not limited
        tuned = variant()
        place.run(*experiment)
        frame.check(variant() == tuned and tuned[1] == "measured here", f"{tuned} became {variant()}")


def test_the_clock_is_told():
    with Place() as place:
        few = ["--evaluations", "2", "--variant", "direct"]
        frame.check(place.tune(*few)["clock"] == "device", "PoCL's clock is right")
        place.environment.update(OPENCL_LAYERS=LAYER, LAYER_CLOCK="50")
        slow = place.tune("--fresh", *few)
        frame.check(slow["clock"] == "host" and "went by" in slow["clock_reason"], f"{slow['clock']}: {slow['clock_reason']}")
        frame.check("host's clock: the device's shows" in place.run("tune", *CASE, "--fresh", *few)[0], "the report says so")
        place.environment["HONE_TUNE_CLOCK"] = "processor"
        frame.check(place.tune("--fresh", *few)["clock"] == "processor", "the wish counts more")
        frame.check([o["clock"] for o in place.lines("choice")] == ["device", "host", "host", "processor"], "records have it")


def test_variables_that_say_nothing_are_refused():
    with Place() as place:
        kernel = os.path.join(place.folder, "fill.cl")
        with open(kernel, "w", encoding="ascii") as file:
            file.write("//@tune param A=1,2\n//@tune global 8\n//@tune arg out:int:8\n"
                       "kernel void fill(global int *out) { out[get_global_id(0)] = A; }\n")
        for name, value, right in (("HONE_TUNE_CLOCK", "hots", "device, host or processor"),
                                   ("HONE_TUNE_REFERENCE", "1s", "a number of seconds"),
                                   ("HONE_TUNE_REFERENCE", "-1", "a number of seconds")):
            place.environment[name] = value
            for command in (["tune", *CASE], ["tune", "--kernel-file", kernel]):
                said = place.run(*command, status=2)[1]
                frame.check(f"{name} is {right}" in said and f"'{value}'" in said, said)
            place.environment[name] = ""
        place.environment["HONE_TUNE_CLOCK"] = "processor"
        said = place.run("tune", "--kernel-file", kernel)[1]
        frame.check("is for filters on CPUs: a kernel of one's own is timed by another clock" in said, said)
        place.environment["HONE_TUNE_CLOCK"] = "device"
        frame.check(place.tune("--evaluations", "2", "--variant", "direct")["clock"] == "device", "the word for the usual")


def test_weights_of_a_kernel_are_known_again():
    tuned, other = ("convolve kernel='3x3: 1 2 1 2 %d 2 1 2 1' scale=0.0625" % middle for middle in (4, 5))
    with Place() as place:
        place.run("tune", tuned, "--size", "64x48", "--format", "u8", "--evaluations", "2")
        for chain in (tuned, other):
            source, target = place.pgm(), os.path.join(place.folder, "out.pgm")
            said = place.run("apply", chain, source, "-o", target, "-v")[1]
            frame.check("measured here" in said, f"{chain}: {said}")


def test_launch_parameters_compile_nothing():
    with Place() as place:
        programs = os.path.join(Place.cache, "hone", "programs", "[0-9a-f]" * 64)
        before = len(glob.glob(programs))
        place.run("tune", "box size=4", "--size", "64x48", "--format", "u16", "--variant", "direct", "--evaluations", "4")
        configs = set(place.tries("ok", "slow"))
        variants = {variant for variant, _ in configs}  # with the one that runs without tuning
        frame.check(len(configs) > len(variants) and "direct" in variants, f"{configs}")
        made = len(glob.glob(programs)) - before  # fewer, where an earlier test had one of them compiled
        frame.check(1 <= made <= len(variants), f"{made} programs for {configs}")


def test_damaged_lines_are_skipped():
    with Place() as place:
        place.tune("--evaluations", "2")
        lines = place.bytes().split(b"\n")
        with open(place.file(), "wb") as file:
            file.write(b"\x00\xff{\n" + b"{\"kind\":\"choice\",\"v\":1}\n" + b"\n".join(lines) + b"{\"kind\":\"tr")
        frame.check("measured here" in place.apply(), "damaged lines hide good ones")
        place.tune("--evaluations", "3", "--fresh", *TWO)
        frame.check(len(place.lines("choice")) == 3, "the line behind a damaged one is lost")


def test_interrupted_and_resumed():
    with Place() as place:
        process = place.start("tune", *CASE, "--evaluations", "8", *TWO)
        place.wait_for(2, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
        frame.check(process.returncode == 130, f"ended with {process.returncode}: {out}{err}")
        frame.check("no final took place" in out and "resume" in out, f"nothing says how to go on: {out}")
        before = place.ended()
        frame.check(2 <= len(before) < 8 and not place.lines("choice"), f"{before}")
        frame.check(len(place.tries("started")) == len(before), "the configuration under way was not finished")
        result = place.tune("--evaluations", "8", *TWO)
        frame.check(result["resumed"] >= len(before) and result["evaluations"] == 8, f"{result}")
        none_twice(place)


def test_full_tunes_what_no_session_has_tuned():
    with Place() as place:
        place.tune("--evaluations", "2")  # as in a space of two
        before = place.bytes()
        said = place.apply("--tune", "full")
        frame.check("measured here" in said and "tuned box" not in said and not place.bytes()[len(before):].count(b"started"),
                    f"tuned again: {said}")
        lines = [json.loads(line) for line in before.splitlines()]

        def chosen_by(origin):
            with open(place.file(), "w", encoding="utf-8") as file:
                for line in lines:
                    line.update({"origin": origin} if line["kind"] == "choice" else {})
                    file.write(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n")

        apply = ["apply", CASE[0], place.pgm(), "-o", os.path.join(place.folder, "out.pgm"), "--tune", "full"]
        place.environment["HONE_KERNEL_DIR"] = place.folder
        broken_kernels(place.folder, HANGING)
        for origin in ("trial", "experiment"):
            chosen_by(origin)
            frame.check(interrupt(place, [signal.SIGINT], *apply)[1] == -signal.SIGINT, f"a choice by {origin} counts as tuning")
        before = place.bytes()
        for name in glob.glob(os.path.join(place.folder, "filters", "box", "*.cl")):
            with open(name, "w", encoding="utf-8") as file:
                file.write(BROKEN["box_image"])
        err = place.run(*apply, "--no-cache", status=2)[1]
        frame.check("no configuration of box could be measured" in err, f"not tuned: {err}")
        frame.check(place.bytes() == before, "--no-cache writes records")


def test_choices_of_others_end_no_session():
    with Place() as place, Place() as other:
        other.tune("--evaluations", "2", *TWO)
        exported = os.path.join(other.folder, "box.json")
        other.run("tune", "--export", exported)
        for source in (other.file(), exported, "a trial"):
            os.makedirs(os.path.dirname(place.file()), exist_ok=True)
            open(place.file(), "wb").close()
            process = place.start("tune", *CASE, "--evaluations", "8", *TWO)
            place.wait_for(2, process)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=100)
            before = place.ended()
            if source == "a trial":
                line = {**other.lines("choice")[0], "origin": "trial"}
                with open(place.file(), "a", encoding="utf-8") as file:
                    file.write(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n")
            else:
                place.run("tune", "--import", source)
            frame.check(len(place.lines("choice")) == 1, f"{source} brings no choice")
            result = place.tune("--evaluations", "8", *TWO)
            frame.check(result["resumed"] > 0, f"{source} ended the session: none of {len(before)} is known")


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:  # it has ended
        return []


def kill_somewhere(place, dice, worker):
    """Starts, kills the worker or the parent at a random moment; what was on disk stays."""
    process = place.start("tune", *CASE, "--evaluations", "10", *TWO)
    time.sleep(dice.uniform(0, 2.5))
    before = place.bytes()
    workers = children(process.pid)
    for victim in workers if worker else [process.pid]:
        os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=200)
    frame.check(place.bytes().startswith(before[:before.rfind(b"\n") + 1]), "lines on disk were changed")
    if worker:
        frame.check(process.returncode in (0, 5), f"without its worker it ends with {process.returncode}: {out}{err}")
    for _ in range(500):
        if not any(os.path.exists(f"/proc/{pid}/exe") for pid in workers):
            break
        time.sleep(0.01)
    frame.check(not any(os.path.exists(f"/proc/{pid}/exe") for pid in workers), "a worker outlives its parent")


def test_killed_at_any_moment():
    with Place() as place:
        dice = random.Random()
        for turn in range(int(frame.option("kills", "6"))):
            kill_somewhere(place, dice, worker=turn % 2 == 1)
        before = place.ended()
        result = place.tune("--evaluations", "14", *TWO)
        frame.check(result["ranked"][0]["ms"] > 0, f"{result}")
        after = place.ended()
        frame.check(after[:len(before)] == before, "results were lost")
        none_after_a_choice(place)


def none_after_a_choice(place):
    """No session starts anything twice between two choices; what crashed is never started again."""
    started, crashed = set(), set()
    for o in (json.loads(line) for line in place.bytes().split(b"\n") if line.endswith(b"}")):
        if o["kind"] == "choice":
            started = set()
        if o["kind"] != "try":
            continue
        config = (o["config"]["variant"], o["config"]["config"])
        if o["state"] == "started":
            frame.check(config not in crashed and (config, o["session"]) not in started, f"{config} was started again")
            started.add((config, o["session"]))
        elif o["state"] in ("crash", "timeout", "wrong"):
            crashed.add(config)


def test_two_at_once():
    with Place() as place:
        processes = [place.start("tune", *CASE, "--evaluations", "4") for _ in range(2)]
        place.wait_for(1, processes[0])  # one of the two goes first; a third one comes while it does
        processes.append(place.start("tune", *CASE, "--evaluations", "4"))
        said = [process.communicate(timeout=200) for process in processes]
        frame.check(all(process.returncode == 0 for process in processes), f"{said}")
        frame.check(all(err.count("another hone is tuning this device") <= 1 for _, err in said), f"{said}")
        none_after_a_choice(place)
        frame.check(not place.tries("crash"), f"{place.tries('crash')}")
        for line in place.bytes().split(b"\n")[:-1]:
            json.loads(line)
        frame.check(len(place.lines("choice")) == 3, "a choice is missing")
        frame.check("measured here" in place.apply(), "not used")


def test_one_at_a_time():
    with Place() as place:
        place.tune("--evaluations", "1", *TWO)
        locks = glob.glob(os.path.join(place.folder, "hone", "tuning-*.lock"))
        frame.check(len(locks) == 1, f"{locks}")
        before = place.bytes()
        with open(locks[0], "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for command, status in ((["tune", *CASE, "--evaluations", "2", *TWO], 130),
                                    (["apply", "box size=5", place.pgm(), "-o", os.path.join(place.folder, "out.pgm"), "--tune",
                                      "full"], -signal.SIGTERM)):
                process = place.start(*command)
                said = process.stderr.readline()
                frame.check("another hone is tuning this device: waiting for it to finish" in said, said)
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=60)
                frame.check(process.returncode == status and place.bytes() == before, f"{process.returncode}: {out}{err}")
            frame.check("waiting" not in place.apply(), "who does not tune waits")
            process = place.start("tune", *CASE, "--evaluations", "2", *TWO)
            process.stderr.readline()
        out, err = process.communicate(timeout=100)
        frame.check(process.returncode == 0 and len(place.lines("choice")) == 2, f"{out}{err}")
        os.unlink(locks[0])
        os.mkdir(locks[0])  # what cannot be locked keeps nobody from tuning
        place.tune("--evaluations", "1", *TWO)


def test_full_disk():
    with Place() as place:
        place.tune("--evaluations", "2")
        junk = b"#" * (1 << 22) + b"\n"  # so that the driver's own files stay below the limit
        with open(place.file(), "ab") as file:
            file.write(junk)
        before = place.bytes()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1500, len(before) + 1500))

        process = place.start("tune", *CASE, "--evaluations", "20", "--fresh", "-v", *TWO, preexec_fn=limit)
        while "tuning" not in process.stderr.readline() and process.poll() is None:
            pass
        for _ in range(4):  # evaluations: two lines each, which do not fit
            process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)
        frame.check(process.returncode == 130 and "cannot add to the tuning records" in err, f"resumes nothing: {out}{err}")
        out, err = place.run("tune", *CASE, "--evaluations", "5", "--fresh", *TWO, status=3, preexec_fn=limit)
        frame.check("cannot add to the tuning records" in err and "best" in out, f"{out}{err}")
        after = place.bytes()
        frame.check(after.startswith(before) and after.endswith(b"\n"), "the file was damaged")
        for line in after[len(before):].split(b"\n")[:-1]:
            json.loads(line)
        frame.check("measured here" in place.apply(), "the results of before are lost")


def broken_kernels(folder, faults=BROKEN):
    for name in ("filter", "filters"):
        shutil.copytree(os.path.join(frame.ROOT, "src", name), os.path.join(folder, name))
    name = os.path.join(folder, "filters", "box", "kernel.cl")
    with open(name, encoding="utf-8") as file:
        text = file.read()
    for kernel, fault in faults.items():
        text, count = re.subn(rf"__kernel void {kernel}\([^{{]*{{", lambda match, fault=fault: match.group() + fault, text)
        frame.check(count, f"there is no kernel {kernel}")
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def test_kernels_that_misbehave():
    with Place() as place:
        broken_kernels(place.folder, BROKEN)
        place.environment.update(HONE_KERNEL_DIR=place.folder, OPENCL_LAYERS=LAYER, LAYER_EAT="box_rows")
        variants = ["--variant", "direct,image,pairs,separable,strips,running"]
        result = place.tune("--evaluations", "40", "--timeout", "4", "--memory", "700", *variants)
        by_variant = {o["config"]["variant"]: (o["state"], o["note"]) for o in place.lines("try") if o["state"] not in
                      ("started", "ok", "slow")}
        expected = {"image": ("compile", "build"), "pairs": ("timeout", "no answer in time"),
                    "separable": ("crash", "memory"), "strips": ("wrong", "should be"), "running": ("crash", "signal")}
        for variant, (state, words) in expected.items():
            got = by_variant.get(variant, ("nothing", ""))
            frame.check(got[0] == state and words in got[1], f"{variant} is {got}, not {state}: {words}")
        frame.check(result["asked"]["variant"] == "direct", f"{result}")
        none_twice(place)
        before = place.tries("crash", "timeout", "wrong")
        place.tune("--evaluations", "6", "--timeout", "4", "--memory", "700", *variants)
        again = place.tries("started")
        frame.check(all(again.count(config) == 1 for config in before), f"tried again: {before}")
        frame.check("hand-written" in place.apply(), "what runs anyway does not stay")
        frame.check("gives wrong results" in place.apply("--variant", "strips", status=1), "a wrong variant can be forced")
        doctor = place.run("doctor", "box", "--device", "0", status=None)[0]
        frame.check("variant strips" in doctor and "in quarantine" in doctor and "pixel (" in doctor, doctor)
        listed = json.loads(place.run("cache", "tuning", "--json")[0])
        frame.check(any(w["variant"] == "strips" and "pixel (" in w["evidence"] for w in listed["quarantine"]), f"{listed}")
        frame.check("quarantine: box" in place.run("cache", "tuning")[0], "hone cache tuning lists it")
        frame.check("in quarantine" in place.run("cache")[0], "hone cache counts it")


def first_variant_is(fault, state, words, reference, compared_with):
    """The variant that the others would be compared with misbehaves."""
    with Place() as place:
        broken_kernels(place.folder, {"box_direct": fault})
        place.environment.update(HONE_KERNEL_DIR=place.folder, HONE_TUNE_REFERENCE=reference)
        result = place.tune("--evaluations", "5", "--timeout", "4", "--variant", "direct,separable")
        first = [o for o in place.lines("try") if o["config"]["variant"] == "direct"]
        frame.check({o["state"] for o in first} == {"started", state}, f"{first}")
        frame.check(all(words in o["note"] for o in first if o["state"] == state), f"{first}")
        none_twice(place)
        frame.check(result["asked"]["variant"] == "separable" and result["asked"]["ms"] > 0, f"{result}")
        frame.check(all(c["variant"] != "direct" for c in result["ranked"]), f"{result['ranked']}")
        frame.check(compared_with(result["compared_with"]), f"compared with '{result['compared_with']}'")


def test_what_takes_a_second_is_not_timed_again():
    with Place() as place:
        broken_kernels(place.folder, {"box_direct": "for (volatile ulong i = width == 64 && get_global_id(0) + get_global_id(1) == 0 ? "
                                                    "12000000000ul : 0; i; i--) ;"})
        place.environment.update(HONE_KERNEL_DIR=place.folder, HONE_TUNE_REFERENCE="0")
        result = place.tune("--evaluations", "3", "--variant", "direct,separable")
        slow = [o for o in place.lines("try") if o["config"]["variant"] == "direct" and o["state"] == "slow"]
        frame.check(slow and slow[0]["config"]["ms"] > 1000 and len(slow[0]["runs"]) == 1, f"{slow}")
        frame.check(result["compared_with"] == "direct", f"{result}")


def test_time_that_is_over_is_told():
    with Place() as place:
        out, err = place.run("tune", "box size=4", "box size=5", "box size=6", "--size", "64x48", "--format", "u8", "--variant",
                             "direct", "--budget", "0.01s", "--json")
        frame.check(len(json.loads(out)) == 1 and "2 of 3 cases were not tuned" in err, f"{out}{err}")
        out, err = place.run("tune", "--quick", "--budget", "0.01s", "--json")
        first, counted = json.loads(out)[0]["case"], re.search(r"(\d+) of (\d+) cases were not tuned", err)
        frame.check(counted and int(counted[1]) + 1 == int(counted[2]) <= 36, f"{err}")
        frame.check(first["width"] * first["height"] <= 1 << 22 and first["type"] == "u8", f"{first}")


def test_a_first_variant_that_hangs():
    # On the small picture of the first check it is right.
    first_variant_is("for (volatile int i = width == 64; i;) ;", "timeout", "no answer in time", "0",
                     lambda name: name not in ("", "direct", "plain C"))


def test_a_first_variant_that_crashes():
    for reference, compared_with in (("0", lambda name: name not in ("", "direct", "plain C")),
                                     ("60", lambda name: name == "plain C")):
        first_variant_is("*(volatile __global int *)8 = 1;", "crash", "signal", reference, compared_with)


def test_a_first_variant_that_is_wrong_at_full_size():
    first_variant_is("kernel_width -= width == 64;", "wrong", "at 64x48: pixel (", "60", lambda name: name == "plain C")


def test_what_is_not_checked_is_told():
    def no_large_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))

    with Place() as place:
        arguments = ["tune", CASE[0], "--size", "2048x1100", "--format", "u8", "--evaluations", "2", *TWO]
        place.environment["HONE_TUNE_REFERENCE"] = "0"
        out = place.run(*arguments, preexec_fn=no_large_files)[0]  # no room for a result to compare with
        frame.check(out.count("compared with nothing") == 1, out)
        out = place.run(*arguments)[0]
        frame.check("compared with" not in out, out)
def test_only_fresh_tries_again_what_failed():
    with Place() as place:
        place.tune("--evaluations", "4", *TWO)
        victim = place.ended()[0]  # the first default, with which the search begins each time

        def judge(state):
            lines = [json.loads(line) for line in place.bytes().splitlines()]
            for o in lines:
                if o["kind"] == "try" and o["state"] != "started" and (o["config"]["variant"], o["config"]["config"]) == victim:
                    o["state"] = state
            with open(place.file(), "w", encoding="utf-8") as file:
                file.writelines(json.dumps(o, separators=(",", ":"), sort_keys=True) + "\n" for o in lines)

        for state, again in (("crash", True), ("timeout", True), ("compile", True), ("run", True), ("wrong", False)):
            judge(state)
            place.tune("--evaluations", "4", *TWO)
            count = place.tries("started").count(victim)
            place.tune("--evaluations", "4", "--fresh", *TWO)
            frame.check(place.tries("started").count(victim) == count + again, f"{state} and --fresh: {count} starts before")
            result = place.tune("--evaluations", "4", *TWO)
            frame.check((state in result["states"]) != again, f"{state} and what came later: {result['states']}")


def drivers(place):
    """A folder of OpenCL drivers of its own, which can be taken away."""
    folder = os.path.join(place.folder, "vendors")
    os.mkdir(folder)
    for name in glob.glob("/etc/OpenCL/vendors/*pocl*.icd"):
        shutil.copy(name, folder)
    place.environment["OCL_ICD_VENDORS"] = folder + "/"
    return folder


def test_without_a_worker_nothing_is_blamed():
    with Place() as place:
        folder = drivers(place)
        process = place.start("tune", *CASE, "--evaluations", "8", *TWO)
        place.wait_for(2, process)
        os.rename(folder, folder + ".gone")
        for worker in children(process.pid):
            os.kill(worker, signal.SIGKILL)
        err = process.communicate(timeout=100)[1]
        os.rename(folder + ".gone", folder)
        frame.check(process.returncode == 5 and "no process can measure any more" in err, f"{process.returncode}: {err}")
        crashed = place.tries("crash")
        frame.check(len(crashed) <= 1 and not place.lines("choice"), f"blamed: {crashed}")
        result = place.tune("--evaluations", "8", *TWO)
        frame.check(result["states"].get("crash", 0) == len(crashed) and result["evaluations"] == 8, f"{result}")


def wait_until_stopped(pid):
    for _ in range(6000):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            if file.read().rpartition(")")[2].split()[0] == "T":
                return
        time.sleep(0.001)
    raise AssertionError("the process does not stop")


def wait_until_idle(worker):
    """Until it waits for its next request, which comes from descriptor 3."""
    requests = os.open(f"/proc/{worker}/fd/3", os.O_RDONLY | os.O_NONBLOCK)
    for _ in range(6000):
        unread = fcntl.ioctl(requests, termios.FIONREAD, bytes(4))
        with open(f"/proc/{worker}/syscall", encoding="ascii") as file:
            if file.read().split()[:2] == ["0", "0x3"] and unread == bytes(4):
                break
        time.sleep(0.01)
    else:
        raise AssertionError("the worker does not become idle")
    os.close(requests)


def test_a_worker_that_died_idle_blames_nothing():
    with Place() as place:
        process = place.start("tune", *CASE, "--evaluations", "8", *TWO)
        for _ in range(2):
            place.wait_for(len(place.ended()) + 2, process)  # of which the second is by a worker that is up
            process.send_signal(signal.SIGSTOP)
            wait_until_stopped(process.pid)
            for worker in children(process.pid):
                wait_until_idle(worker)
                os.kill(worker, signal.SIGKILL)
            process.send_signal(signal.SIGCONT)
        err = process.communicate(timeout=100)[1]
        frame.check(process.returncode == 0 and not place.tries("crash"), f"{process.returncode}: {place.tries('crash')} {err}")
        none_twice(place)


def interrupt(place, numbers, *command):
    """Sends signals while a configuration hangs, which is returned; and the exit status."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # a background job inherits them ignored
    process = place.start(*command)
    while process.poll() is None:
        tries = place.lines("try")
        if tries and tries[-1]["state"] == "started" and tries[-1]["config"]["variant"] != "direct":
            break
        time.sleep(0.01)
    for number in numbers:
        process.send_signal(number)
    process.communicate(timeout=100)
    return place.tries("started")[-1], process.returncode


def test_what_the_user_calls_off_is_no_crash():
    with Place() as place:
        broken_kernels(place.folder, HANGING)
        place.environment["HONE_KERNEL_DIR"] = place.folder
        tune = ["tune", *CASE, "--timeout", "60", *TWO]
        apply = ["apply", CASE[0], place.pgm(), "-o", os.path.join(place.folder, "out.pgm"), "--tune", "full"]
        for status, numbers, command in [(130, [signal.SIGINT, signal.SIGTERM], tune),
                                         (130, [signal.SIGHUP, signal.SIGINT], tune),
                                         (-signal.SIGINT, [signal.SIGINT], apply),
                                         (-signal.SIGHUP, [signal.SIGHUP], apply)]:
            config, got = interrupt(place, numbers, *command)
            frame.check(got == status, f"{command[0]} and {numbers} end with {got}")
            frame.check(place.tries("abandoned")[-1] == config and not place.tries("crash", "timeout"), f"{place.lines('try')[-2:]}")
        config, got = interrupt(place, [signal.SIGKILL], *tune)  # who is killed calls nothing off, and blames nothing
        count = place.tries("started").count(config)
        result = place.tune("--evaluations", "3", "--timeout", "2", *TWO)
        frame.check(place.tries("started").count(config) == count + 1, f"{config} is not tried again: {result}")
        frame.check(config in place.tries("timeout") and not place.tries("crash"), f"{config} {result} {place.ended()}")


def test_a_start_without_an_end_is_tried_again():
    with Place() as place:
        place.tune("--evaluations", "2", *TWO)
        start = next(o for o in place.lines("try") if o["state"] == "started")
        config = (start["config"]["variant"], start["config"]["config"])
        frame.check(re.fullmatch(r"\d+\.\d+@[0-9a-f-]{36}", start["session"]), f"{start['session']}")
        here = start["session"]
        for sessions, again in (([here], True), (["7.1@another-boot"], True), ([here, here], True), ([None], True),
                                (["7.1@one-boot", here], True), ([here, "7.1" + here[here.index("@"):]], True),
                                (["7.1@one-boot", "8.1@one-boot"], True), (["7.1@one-boot", "8.1@one-boot", "9.1@one-boot"], True),
                                (["7.1@one-boot", "7.1@another-boot"], False)):
            with open(place.file(), "w", encoding="utf-8") as file:
                for session in sessions:
                    left = {key: value for key, value in start.items() if key != "session"}
                    left.update({"session": session} if session else {})
                    file.write(json.dumps(left, separators=(",", ":"), sort_keys=True) + "\n")
            result = place.tune("--evaluations", "2", *TWO)
            frame.check((config in place.ended()) == again, f"after {sessions}: {place.lines('try')}")
            frame.check(result["states"].get("crash", 0) == (not again), f"after {sessions}: {result['states']}")


def test_one_signal_is_answered_and_ends_what_hangs():
    with Place() as place:
        broken_kernels(place.folder, HANGING)
        place.environment["HONE_KERNEL_DIR"] = place.folder
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        process = place.start("tune", *CASE, "--timeout", "600", *TWO)
        while not place.tries("started") and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        said = process.stderr.readline()
        answered = time.monotonic() - sent
        frame.check("interrupted" in said and answered < 5, f"after {answered:.1f} s: {said}")
        process.communicate(timeout=100)
        frame.check(process.returncode == 130 and time.monotonic() - sent < 60, f"{process.returncode} after {time.monotonic() - sent:.1f} s")
        frame.check(place.tries("abandoned") == place.tries("started"), f"{place.lines('try')}")


def test_progress_names_the_case_and_the_final():
    with Place() as place:
        command = ["tune", *CASE, "--evaluations", "2", "--variant", "direct", "--budget", "60s"]
        lines = on_terminal(120, lambda terminal: place.start(*command, stderr=terminal)).split("\r")
        named = [line for line in lines if "1 of 1, box size=4, u8 x1: " in line]
        frame.check(any("1 of at most 2, at most" in line for line in named), f"{lines}")
        frame.check(any("final, round 2 of" in line for line in named), f"{lines}")
        frame.check(all(len(line.replace("\033[K", "")) < 120 for line in named), f"{lines}")
        left = [int(n) for line in named for n in re.findall(r"at most (\d+) s left", line)]
        frame.check(left and left == sorted(left, reverse=True) and left[0] <= 60, f"{left}")


def test_the_first_run_has_time():
    """Nothing is known of a device yet: an integrated GPU may take longer than the two seconds that GPUs have later."""
    with Place() as place:
        broken_kernels(place.folder, {"box_rows": BROKEN["box_parts"]})
        place.environment.update(HONE_KERNEL_DIR=place.folder, FAKE_TYPE="4",
                                 OPENCL_LAYERS=os.path.abspath(os.path.join(frame.build(), "tests", "vendor.so")))
        process = place.start("tune", *CASE, "--variant", "separable")
        while not place.tries("started") and process.poll() is None:
            time.sleep(0.01)
        time.sleep(4)
        frame.check(not place.ended() and process.poll() is None, f"{place.lines('try')}")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=100)
        frame.check(place.lines("try")[0]["device"]["kind"] == "gpu" and process.returncode == 130, f"{out}{err}")


def test_what_was_tuned_is_used_for_one_image_too():
    """A GPU gets what compiles quickly for a single image, but not where its user had the filter measured."""
    with Place() as place:
        place.environment.update(FAKE_TYPE="4", OPENCL_LAYERS=os.path.abspath(os.path.join(frame.build(), "tests", "vendor.so")))
        with open(os.path.join(place.folder, "in.pgm"), "wb") as file:
            file.write(b"P5\n64 48\n255\n" + bytes(range(64)) * 48)
        filtered = ("apply", CASE[0], os.path.join(place.folder, "in.pgm"), "-o", os.path.join(place.folder, "out.pgm"), "-v", "--force")
        frame.check("quick to compile" in place.run(*filtered)[1], "before")
        place.run("tune", *CASE, "--evaluations", "4")
        place.run("cache", "clear")
        err = place.run(*filtered)[1]
        frame.check("measured here" in err and "quick to compile" not in err, err)


def test_one_is_told_in_the_singular():
    with Place() as place:
        out, err = place.run("tune", *CASE, "-v", "--variant", "direct", "--evaluations", "1")
        frame.check("tuning 1 case on " in err and "  how        1 evaluation in " in out, f"{out}{err}")
        exported = place.path("one.T4.json")
        place.run("tune", "--export", exported)
        said = [out, err, *place.run("cache", "tuning"), *place.run("devices", "-v"),
                *place.run("tune", "--replay", exported, "--repeat", "1", "--evaluations", "1"),
                *place.run("apply", "-v", "box size=4", place.pgm(1, 1), "-o", place.path("out.pgm")),
                *place.run("profile", "box size=4", place.pgm(1, 1), "-v", "--repeat", "1")]
        frame.check("1 search of at most 1 evaluation (" in "".join(said) and ", 1 channel" in "".join(said), f"{said}")
        several = r"\b1 (?:bytes|cases|channels|evaluations|measurements|pieces|programs|runs|searches|work-items|configurations|filters)\b"
        frame.check(not re.search(rf"(?<![\d.,x]){several}", "".join(said)), f"{re.findall('.*' + several + '.*', ''.join(said))}")


def test_a_mistake_is_told_once():
    with Place() as place:
        for text, wanted in (("sobl", "did you mean 'sobel'? There are add, "), ("zzzzzz size=3", "'zzzzzz'; there are add, "),
                             ("box siz=3", "did you mean 'size'? It takes size, "), ("box size", "expected '=' and a value")):
            err = place.run("tune", text, status=2, env={**place.environment, "OCL_ICD_VENDORS": "/nonexistent"})[1]
            frame.check(err.count("hone: ") == 1 and wanted in err, f"{text}: {err}")
        there = [v["name"] for v in json.loads(place.run("filters", "sobel", "--json")[0])["variants"]]
        for names, status in (("nonsense", 2), ("nonsense,direct", 2), ("direct,nonsense,image", 2), ("direct,", 2), ("direct", 4)):
            err = place.run("tune", "sobel", "--variant", names, status=status, env={**place.environment, "OCL_ICD_VENDORS": "/nonexistent"})[1]
            said = re.search(r"sobel has no variant '(.*)'; it has (.*)", err)
            frame.check(err.count("hone: ") == 1 and bool(said) == (status == 2), f"{names}: {err}")
            frame.check(not said or said[1] not in there and said[2].split(", ") == there, f"{names}: {err}, not {there}")
        for names, wanted in (("nonsense,direct", "none of these filters has a variant 'nonsense'; they have "), ("strips,gray", "'gray'")):
            err = place.run("tune", "sobel", "box size=3", "--variant", names, status=2)[1]
            frame.check(err.count("hone: ") == 1 and wanted in err, f"{names}: {err}")
        err = place.run("tune", "gray", "box size=3", "--size", "16x8", "--variant", "running", "--evaluations", "1", status=2)[1]
        frame.check(err.count("hone: gray has no variant 'running'; it has ") == 1, err)  # colours alone, and the other is tuned
        err = place.run("tune", "sobel", "--metric", "x=ms/zz", status=2)[1]  # several formats and norms, one filter
        frame.check(err.count("unknown name 'zz'") == 1, err)


if __name__ == "__main__":
    try:
        frame.main(globals(), "kills")
    finally:
        for left in glob.glob(Place.cache or "/nonexistent"):
            shutil.rmtree(left, ignore_errors=True)
