#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone profile on PoCL: its commands against the OpenCL calls as a layer counted them, its trace, and what cannot be
profiled.  profile.py build=FOLDER"""

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

import numpy

import frame

WIDTH, HEIGHT = 317, 211
COPIES = {"clEnqueueCopyBuffer": "move", "clEnqueueCopyBufferRect": "move", "clEnqueueCopyBufferToImage": "conversion",
          "clEnqueueCopyImageToBuffer": "conversion"}


def picture(folder, name="in.pgm", seed=1, width=WIDTH, height=HEIGHT):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(b"P5 %d %d 255\n" % (width, height)
                   + numpy.random.default_rng(seed).integers(0, 256, width * height, "uint8").tobytes())
    return path


def hone(*arguments, **environment):
    command = [os.path.join(frame.build(), "hone"), "profile", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, **environment})


def profile(*arguments, **environment):
    result = hone(*arguments, "--json", **environment)
    frame.check(result.returncode == 0, result.stderr)
    return json.loads(result.stdout), result.stderr


def counted(folder, chain, repeat, *arguments):
    """The report, and what the layer counted in that process: launches by kernel, and copies by kind."""
    path = os.path.join(folder, f"layer-{len(os.listdir(folder))}")
    report, _ = profile(chain, picture(folder), "--warmup", "0", "--repeat", str(repeat), *arguments,
                        OPENCL_LAYERS=os.path.join(frame.build(), "tests/layer.so"), LAYER_REPORT=path)
    launches, copies = {}, {}
    with open(path, encoding="ascii") as file:
        for word, name, *numbers in (line.split() for line in file if line.startswith(("kernel ", "copy "))):
            if word == "kernel":
                launches[name] = int(numbers[0])
            elif name in COPIES:
                copies[COPIES[name]] = copies.get(COPIES[name], 0) + int(numbers[1])
    return report, launches, copies


def check_commands(chain, variant):
    with tempfile.TemporaryDirectory() as folder:
        counted(folder, chain, 1, "--variant", variant)  # the self-test and the first checks are done
        one = counted(folder, chain, 1, "--variant", variant)
        four = counted(folder, chain, 4, "--variant", variant)
    commands = four[0]["commands"]
    for name in {name for name in four[1] if four[1][name] != one[1].get(name)}:
        told = sum(c["name"] == name for c in commands)
        frame.check(four[1][name] - one[1].get(name, 0) == 3 * told,
                    f"{chain}: {name} runs {four[1][name]} and {one[1].get(name)} times; {told} are told")
    kernels = {c["name"] for c in commands if c["kind"] == "kernel"}
    frame.check(kernels and kernels <= set(four[1]), f"{chain}: {kernels} are told, {set(four[1])} ran")
    for kind in ("move", "conversion"):
        told = sum(c["bytes"] for c in commands if c["kind"] == kind)
        really = (four[2].get(kind, 0) - one[2].get(kind, 0)) // 3
        frame.check(told == really, f"{chain}: {told} bytes of {kind} are told, a run copies {really}")
        excuses = [c for c in four[0]["traffic"]["copies"] if c["kind"] == kind]
        frame.check(sum(c["bytes"] for c in excuses) == really and all(c["why"] for c in excuses), f"{chain}: {excuses}")
    return four[0]


def test_every_launch_and_copy_is_told():
    direct = check_commands("sobel", "direct")
    frame.check(direct["traffic"]["launches"] == 1 and not direct["traffic"]["copies"], f"direct: {direct['traffic']}")
    frame.check(direct["traffic"]["memory_bytes"] == 2 * WIDTH * HEIGHT, "a kernel reads a picture and writes one")
    frame.check(direct["traffic"]["bus_bytes"] == 0, "PoCL works in the host's memory")
    frame.check([c["bytes"] for c in check_commands("sobel", "strips")["traffic"]["copies"]] == 2 * [WIDTH * HEIGHT],
                "rows of 317 bytes are copied aside and back")
    frame.check([c["kind"] for c in check_commands("sobel", "texture")["traffic"]["copies"]] == ["conversion"],
                "the image is filled once")
    steps = [c["step"] for c in check_commands("sobel | box size=3", "sobel:direct,box:direct")["commands"] if c["kind"] == "kernel"]
    frame.check(steps == [0, 1], f"kernels of the steps {steps}")


# ---- Times ----

def check_order(report):
    for run in report["all_runs"]:
        before = 0
        for c in run["commands"]:
            stamps = [c[name + "_ns"] for name in ("queued", "submitted", "started", "ended")]
            frame.check(stamps == sorted(stamps) and stamps[0] > 0, f"{c['kind']}: {stamps}")
            frame.check(c["started_ns"] >= before, f"{c['kind']} starts before the one before it has ended")
            before = c["ended_ns"]
        spent = (run["commands"][-1]["ended_ns"] - run["commands"][0]["queued_ns"]) * 1e-6
        frame.check(spent <= run["ms"], f"the commands of a run of {run['ms']} ms take {spent} ms")


def test_times_are_in_order_and_within_the_run():
    with tempfile.TemporaryDirectory() as folder:
        report, _ = profile("box size=8 | sobel", picture(folder), "--repeat", "6", "--warmup", "2")
        hosts, _ = profile("box size=8 | sobel", picture(folder), "--repeat", "3", "--clock", "host")
    frame.check((report["clock"], hosts["clock"]) == ("device", "host"), "another clock was asked for")
    frame.check([run["warmup"] for run in report["all_runs"]] == 2 * [True] + 6 * [False], "not the runs asked for")
    walls = sorted(run["ms"] for run in report["all_runs"] if not run["warmup"])
    frame.check(abs(report["runs"]["median_ms"] - numpy.median(walls)) < 1e-6, f"{report['runs']['median_ms']}, {walls}")
    check_order(report)
    check_order(hosts)


def test_a_device_without_a_clock_is_timed_by_the_host():
    layer = {"OPENCL_LAYERS": os.path.join(frame.build(), "tests/layer.so"), "LAYER_CLOCK": "1000000000"}
    with tempfile.TemporaryDirectory() as folder:
        report, said = profile("sobel", picture(folder), "--no-cache", XDG_CACHE_HOME=folder, **layer)
        refused = hone("sobel", picture(folder), "--no-cache", "--clock", "device", XDG_CACHE_HOME=folder, **layer)
    frame.check(report["clock"] == "host" and "no clock that works" in said, f"{report['clock']}: {said}")
    check_order(report)
    frame.check(refused.returncode == 2 and "--clock host" in refused.stderr, refused.stderr)


def test_apply_traces_a_device_without_a_clock():
    layer = {"OPENCL_LAYERS": os.path.join(frame.build(), "tests/layer.so"), "LAYER_CLOCK": "1000000000"}
    with tempfile.TemporaryDirectory() as folder:
        path, command = os.path.join(folder, "t.json"), [os.path.join(frame.build(), "hone"), "apply", "sobel", picture(folder), "-o",
                                                         folder + "/out.pgm", "--variant", "direct", "--force", "--no-cache", "--json"]
        environment = {**os.environ, "XDG_CACHE_HOME": folder, **layer}
        plain, traced = (subprocess.run(command + more, capture_output=True, text=True, check=True, timeout=300, env=environment)
                         for more in ([], ["--trace", path]))
        with open(path, encoding="utf-8") as file:
            names = [e["name"] for e in json.load(file)["traceEvents"] if e["ph"] == "X" and e["pid"] == 2]
    for result in plain, traced:
        traffic = json.loads(result.stdout)["traffic"]
        frame.check(traffic["launches"] == 1 and traffic["memory_bytes"] == 2 * WIDTH * HEIGHT, f"{traffic}")
    frame.check(not plain.stderr and "no clock that works" in traced.stderr, f"{plain.stderr}, {traced.stderr}")
    frame.check("sobel_direct" in names, f"{names}")


# ---- The trace ----

def spans(trace, process):
    """(start, end, name) in nanoseconds of the process's complete events, in the order in which they begin."""
    found = [(round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]) for e in trace["traceEvents"]
             if e["ph"] == "X" and e["pid"] == process]
    return sorted(found, key=lambda s: (s[0], -s[1]))


def check_nesting(found):
    open_until = []
    for start, end, name in found:
        while open_until and open_until[-1] <= start:
            open_until.pop()
        frame.check(not open_until or end <= open_until[-1], f"{name} ends behind what it began in")
        open_until.append(end)


def test_a_trace_is_what_perfetto_reads():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        report, _ = profile("box size=8 | sobel", picture(folder), "--repeat", "4", "--warmup", "1", "--trace", path)
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        frame.check(sorted(os.listdir(folder)) == ["in.pgm", "trace.json"], "something else was left")
    for event in trace["traceEvents"]:
        frame.check(event["ph"] in "MXbe" and {"pid", "tid", "name"} <= set(event), f"{event}")
        frame.check(event["ph"] == "M" or (event["ts"] >= 0 and event.get("dur", 0) >= 0), f"{event}")
    host, device = spans(trace, 1), spans(trace, 2)
    check_nesting(host)
    for one, two in zip(device, device[1:]):
        frame.check(one[1] <= two[0], f"{two[2]} begins before {one[2]} has ended, in one queue")
    wanted = [c["ended_ns"] - c["started_ns"] for run in report["all_runs"] for c in run["commands"]]
    frame.check(all(abs(end - start - ns) <= 1 for (start, end, _), ns in zip(device, wanted))
                and len(device) == len(wanted), "the trace is not in microseconds, or lacks commands")
    runs = [s for s in host if s[2].startswith(("run", "warm-up"))]
    frame.check(len(runs) == 5, f"{len(runs)} runs")
    for start, end, name in device:
        frame.check(any(a <= start and end <= b + 1000 for a, b, _ in runs), f"{name} is outside of all runs")
    for phase in "be":
        ids = [e["id"] for e in trace["traceEvents"] if e["ph"] == phase]
        frame.check(len(ids) == len(set(ids)) == len(device), f"{phase}: {len(ids)} events")


def test_apply_tells_the_same_of_each_image():
    with tempfile.TemporaryDirectory() as folder:
        pictures = [picture(folder, f"{i}.pgm", i) for i in range(4)]
        chosen, path = ["--variant", "direct"], os.path.join(folder, "trace.json")
        wanted, _ = profile("box size=8 | sobel", pictures[0], "--repeat", "1", *chosen)
        command = [os.path.join(frame.build(), "hone"), "apply", "box size=8 | sobel", *pictures, "-o", folder + "/out/",
                   "--json", "--trace", path, *chosen]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        frame.check(result.returncode == 0, result.stderr)
        reports = [json.loads(line) for line in result.stdout.splitlines()]
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
    for report in reports:
        for key in ("bus_bytes", "memory_bytes", "launches"):
            frame.check(report["traffic"][key] == wanted["traffic"][key], f"{key}: {report['traffic']}, {wanted['traffic']}")
    frame.check([r["traffic"]["copies"] for r in reports] == 4 * [[]] and not wanted["traffic"]["copies"], f"{reports}")
    tracks = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"], event["name"]))
    for found in tracks.values():
        for one, two in zip(sorted(found), sorted(found)[1:]):
            frame.check(one[1] <= two[0] + 0.001, f"{two} begins before {one} has ended, in one track")
    names = [os.path.basename(name) for (process, _), found in tracks.items() if process == 1 for _, _, name in found]
    frame.check(sorted(names) == [f"{i}.pgm" for i in range(4)], f"{names}")
    frame.check([key for key in tracks if key[0] > 1] == [(2, 1)], f"PoCL has one queue in order: {list(tracks)}")
    kernels = [name for _, _, name in tracks[2, 1] if name not in ("map", "other")]
    frame.check(len(kernels) == 4 * wanted["traffic"]["launches"], f"{kernels}")


# ---- Videos, and images in bands ----

CALLS = {"upload": ("clEnqueueWriteBuffer", "clEnqueueWriteBufferRect"),
         "download": ("clEnqueueReadBuffer", "clEnqueueReadBufferRect"),
         "move": ("clEnqueueCopyBuffer", "clEnqueueCopyBufferRect"),
         "conversion": ("clEnqueueCopyBufferToImage", "clEnqueueCopyImageToBuffer")}


def applied(folder, chain, inputs, arguments):
    """The last input's report, the commands of its trace by name, and what the layer counted of all: {name: (count, bytes)}."""
    layer, path = os.path.join(folder, f"layer-{len(os.listdir(folder))}"), os.path.join(folder, "trace.json")
    command = [os.path.join(frame.build(), "hone"), "apply", chain, *inputs, "-o", folder + "/out/", "--force", "--json", "--tune", "off",
               "--trace", path, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env={
        **os.environ, "OPENCL_LAYERS": os.path.join(frame.build(), "tests/layer.so"), "LAYER_REPORT": layer})
    frame.check(result.returncode == 0, result.stderr)
    counts = {}
    with open(layer, encoding="ascii") as file:
        for word, name, *numbers in (line.split() for line in file if line.startswith(("kernel ", "copy "))):
            counts[name] = (int(numbers[0]), int(numbers[1]) if word == "copy" else 0)
    with open(path, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
    return json.loads(result.stdout.splitlines()[-1]), events, counts


def check_applied(chain, make, *arguments):
    """Of two equal inputs, what is told of the second is what the layer counts beyond a run of the first alone."""
    with tempfile.TemporaryDirectory() as folder:
        inputs = [make(folder, name) for name in ("a", "b")]
        applied(folder, chain, inputs, arguments)  # what is checked once has been checked
        _, _, one = applied(folder, chain, inputs[:1], arguments)
        report, events, two = applied(folder, chain, inputs, arguments)
    more = {name: tuple(a - b for a, b in zip(two[name], one.get(name, (0, 0)))) for name in two}
    traffic = report["traffic"]
    launches = {name: count for name, (count, _) in more.items() if count and not name.startswith("cl")}
    frame.check(launches and traffic["launches"] == sum(launches.values()), f"{chain}: {traffic}, {launches} were counted")
    for name, count in launches.items():
        traced = sum(e["name"] == name for e in events)
        frame.check(traced == 2 * count, f"{chain}: {traced} of {2 * count} {name} are in the trace")
    for kind, calls in CALLS.items():
        counted = tuple(sum(more.get(call, (0, 0))[i] for call in calls) for i in (0, 1))
        told = [c for c in traffic["copies"] if c["kind"] == kind]
        frame.check((sum(c["count"] for c in told), sum(c["bytes"] for c in told)) == counted and all(c["why"] for c in told),
                    f"{chain}: {kind}s: {told}, {counted} were counted")
        frame.check(report["copies"][kind + "s"] == dict(zip(("count", "bytes"), counted)), f"{chain}: {report['copies']}")
    frame.check(report["zero_copy"] == (not traffic["copies"]), f"{chain}: zero_copy, and {traffic['copies']}")
    return report, [e["name"] for e in events if e["pid"] == 1]


def large(folder, name):
    return picture(folder, name + ".pgm", width=701, height=1001)


def test_images_in_bands_tell_what_they_moved():
    bands = "--memory", "1M", "--format", "tif"
    with tempfile.TemporaryDirectory() as folder:
        report, images = check_applied(f"add image={large(folder, 'second')} | integral", large, *bands)
    frame.check(report["bands"] > 3 and "upload" in [c["kind"] for c in report["traffic"]["copies"]], f"{report}")
    frame.check(sorted(os.path.basename(i) for i in images) == ["a.pgm", "b.pgm"], f"{images}")
    report, _ = check_applied("sobel", large, *bands, "--variant", "texture")
    told = {c["kind"]: c["count"] for c in report["traffic"]["copies"]}
    frame.check(told["conversion"] == report["bands"], f"{report['bands']} bands: {report['traffic']}")


FRAMES = 5


def film(folder, name):
    path = os.path.join(folder, name + ".y4m")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc=size=64x48:rate=25:duration={FRAMES / 25}",
                    "-pix_fmt", "yuv420p", path], check=True)
    return path


def test_videos_tell_what_they_moved():
    report, images = check_applied("sobel", film, "--planes", "all", "--variant", "direct")
    frame.check(report["traffic"]["launches"] == 3 * FRAMES and not report["traffic"]["copies"], f"{report['traffic']}")
    frame.check(report["traffic"]["memory_bytes"] == FRAMES * 2 * (64 * 48 * 3 // 2), "planes are read and written once")
    frame.check(len(set(images)) == len(images) == 2 * 3 * FRAMES and any("b.y4m, frame 5, plane 2" in i for i in images),
                f"{images}")
    report, _ = check_applied("sobel", film, "--variant", "texture")
    frame.check(report["copies"]["conversions"] == {"count": FRAMES, "bytes": FRAMES * 64 * 48}, f"{report['copies']}")


# ---- What does not work ----

def test_bad_input_is_answered():
    with tempfile.TemporaryDirectory() as folder:
        good = picture(folder)
        for arguments, status, words in (
                ([], 2, "a chain is missing"), (["sobel"], 2, "one image"), (["sobel", good, good], 2, "one image"),
                (["sobl", good], 2, "sobel"), (["sobel", folder + "/none.png"], 3, "none.png"),
                (["sobel", good, "--repeat", "0"], 2, "repeat"), (["sobel", good, "--repeat", "2.5"], 2, "whole"),
                (["sobel", good, "--clock", "moon"], 2, "auto, device or host"), (["add", good], 2, "image"),
                (["sobel", good, "--variant", "none"], 2, "none"),
                (["sobel", good, "--trace", folder + "/no/such/t.json"], 3, "t.json")):
            result = hone(*arguments)
            frame.check(result.returncode == status and words in result.stderr, f"{arguments}: {result.returncode}, {result.stderr}")


def test_a_trace_that_cannot_be_written_is_told_first():
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.join(frame.build(), "hone"), "apply", "sobel", picture(folder), "-o", folder + "/out.pgm",
                   "--trace", folder + "/no/such/t.json"]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        frame.check(result.returncode == 3 and "t.json" in result.stderr and os.listdir(folder) == ["in.pgm"],
                    f"{result}, {os.listdir(folder)}")


def test_a_second_image_is_read():
    with tempfile.TemporaryDirectory() as folder:
        report, _ = profile(f"add image={picture(folder, 'b.pgm', 2)}", picture(folder), "--repeat", "1")
    frame.check(report["traffic"]["memory_bytes"] == 3 * WIDTH * HEIGHT, f"{report['traffic']}")


def test_a_kernel_that_does_not_compile_shows_its_log():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(frame.ROOT, "src"), folder + "/src", ignore=shutil.ignore_patterns("*.c", "*.h"))
        with open(folder + "/src/filters/sobel/kernel.cl", "a", encoding="utf-8") as file:
            file.write("\n__kernel void broken(__global int *a) { a[0] = there_is_no_such_thing; }\n")
        result = hone("sobel", picture(folder), "--variant", "direct", HONE_KERNEL_DIR=folder + "/src")
    frame.check(result.returncode == 5 and "there_is_no_such_thing" in result.stderr, f"{result.returncode}: {result.stderr}")


def apply_to_pipe(folder, sysfs, seconds):
    """A picture that comes so long after the counters were first read: the report, and what -v told."""
    command = [os.path.join(frame.build(), "hone"), "apply", "sobel", "-", "-o", os.path.join(folder, "out.pgm"), "--force", "--json", "-v"]
    with open(picture(folder), "rb") as file:
        data = file.read()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "HONE_SYSFS": sysfs}) as process:
        told = process.stderr.readline()
        while told and b"energy is counted" not in told:
            told = process.stderr.readline()
        time.sleep(seconds)
        out, told = process.communicate(data, timeout=300)
    frame.check(process.returncode == 0, told.decode())
    return json.loads(out)["energy"], told.decode()


def test_apply_tells_joules_where_they_are_counted():
    """A counter that goes up by a joule between two readings: as many as there were in between."""
    with tempfile.TemporaryDirectory() as folder:
        zone = os.path.join(folder, "class/powercap/intel-rapl:0")
        os.makedirs(zone)
        counter, over, written = os.path.join(zone, "energy_uj"), threading.Event(), []
        with open(os.path.join(zone, "name"), "w", encoding="ascii") as file:
            file.write("package-0\n")

        def count():
            while not over.is_set():
                written.append(len(written))
                with open(counter + ".new", "w", encoding="ascii") as file:
                    file.write(f"{len(written)}000000\n")
                os.rename(counter + ".new", counter)
                over.wait(0.005)

        thread = threading.Thread(target=count)
        thread.start()
        while not os.path.exists(counter):
            time.sleep(0.001)
        try:
            energy, told = apply_to_pipe(folder, folder, 0.7)
        finally:
            over.set()
            thread.join()
    [package] = energy["counters"]
    frame.check(package["name"] == "package-0" and energy["seconds"] >= 0.6, f"{energy}")
    frame.check(0 < package["joules"] < len(written) and package["joules"] == int(package["joules"]), f"{energy}, {len(written)} written")
    frame.check("J of package-0" in told and "with all else" in told, told)


def test_apply_invents_no_joules():
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.join(frame.build(), "hone"), "apply", "sobel", picture(folder), "-o", os.path.join(folder, "out.pgm"), "--json"]
        reports = [subprocess.run([*command, *options], capture_output=True, text=True, check=True, timeout=300,
                                  env={**os.environ, "HONE_SYSFS": folder}).stdout for options in ((), ("-v", "--force"))]
    frame.check("energy" not in json.loads(reports[0]), f"not asked for: {reports[0]}")
    energy = json.loads(reports[1])["energy"]
    frame.check("counters" not in energy and "no counter" in energy["unknown"], f"{energy}")


if __name__ == "__main__":
    frame.main(globals())
