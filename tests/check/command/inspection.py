#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone devices, filters, cache and doctor, from outside.  inspection.py build=FOLDER"""

import fcntl
import glob
import os
import re
import resource
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time

import frame
from place import NOWHERE, Place, first_examination


def read(path):
    with open(os.path.join(frame.ROOT, path), encoding="utf-8") as file:
        return file.read()


# ---- devices ----

def test_devices_tells_every_field():
    text = re.search(r"typedef struct hone_device_info \{(.*?)\} hone_device_info;", read("include/hone/device.h"), re.S)
    lines = re.sub(r"/\*.*?\*/", "", text.group(1), flags=re.S)
    declared = set(re.findall(r"(\w+)(?:\[\w+\])?\s*[,;]", lines))
    frame.check(len(declared) >= 35, f"fields: {declared}")
    with Place() as place:
        device = place.json("devices")["devices"][0]
        more = {"profile", "extensions", "preferred_multiple", "native_vectors", "queue", "device_queue", "image_formats"}
        frame.check(more <= set(device), f"missing: {more - set(device)}")
        told = {"timer_resolution" if key == "timer_resolution_ns" else key for key in set(device) - more}
        frame.check(told == declared, f"missing or unknown: {told ^ declared}")
        table = place.run("devices").stdout
        for key in ("name", "driver_version", "platform", "used_extensions"):
            frame.check(device[key] in table, f"the table does not show {key}")
        one = place.json("devices", "--device", str(device["index"]))["devices"]
        frame.check([entry["name"] for entry in one] == [device["name"]], f"--device 0 shows {one}")


def test_no_device_says_what_to_install():
    with Place() as place:
        for command in ("devices", "doctor"):
            result = place.run(command, status=4, **NOWHERE)
            frame.check("pocl-opencl-icd" in result.stdout + result.stderr, f"{command}: {result.stderr}")
        frame.check(place.json("devices", status=4, **NOWHERE) == {"devices": []}, "JSON without devices")
        report = place.json("doctor", status=4, **NOWHERE)
        frame.check(report["fine"] is False and report["devices"] == 0, f"{report}")
        result = place.run("devices", "--device", "no such thing", status=4)
        frame.check("no such thing" in result.stderr, result.stderr)


# ---- filters ----

def test_filters_are_the_folders():
    folders = sorted(entry.name for entry in os.scandir(os.path.join(frame.ROOT, "src/filters")) if entry.is_dir())
    with Place() as place:
        frame.check([f["name"] for f in place.json("filters")["filters"]] == folders, "JSON")
        frame.check(place.run("filters", "--names").stdout.split() == folders, "--names")
        for words in (("--names",), ("box", "--names"), ("box", "--variants")):
            plain = place.run("filters", *words).stdout.split()
            frame.check(place.json("filters", *words) == {"names": plain}, f"{words} --json")
        table = place.run("filters").stdout
        frame.check(all(re.search(rf"^{name} ", table, re.M) for name in folders), "table")
        rows = table.split("\n\n")[0].splitlines()
        column = rows[0].index("CHANNELS")
        frame.check(all(re.match(r" \d", row[column - 1:]) for row in rows[1:]), f"columns: {table}")


def test_an_unknown_filter_is_answered_with_the_nearest():
    with Place() as place:
        result = place.run("filters", "sobl", status=2)
        frame.check("'sobel'" in result.stderr and not result.stdout, result.stderr)
        frame.check("'" not in place.run("filters", "qqqqqqq", status=2).stderr.split("there are")[1], "no guess")


def test_a_filter_is_described_without_a_device():
    with Place() as place:
        for name in (f["name"] for f in place.json("filters")["filters"]):
            result = place.run("filters", name, **NOWHERE)
            frame.check("pocl-opencl-icd" in result.stdout, f"{name} does not say that there is no device")
            described = place.json("filters", name, **NOWHERE)
            own = {p["name"] for p in described["parameters"]}
            frame.check(("border" in own) == described["spatial"] and {"accuracy", "exact"} <= own, f"{name}: {own}")
            frame.check(described["device"] is None and "chosen" not in described, f"{name}: {described['device']}")
            frame.check(all(p["help"] for p in described["parameters"]), f"{name}: a parameter without help")
        frame.check("alpha is dropped" in place.run("filters", "gray", **NOWHERE).stdout, "gray does not say what becomes of alpha")


def test_a_filter_begins_with_what_users_need():
    with Place() as place:
        for name in place.run("filters", "--names").stdout.split():
            lines = place.run("filters", name, **NOWHERE).stdout.splitlines()
            described = place.json("filters", name, **NOWHERE)
            heads = [line.split(" on device")[0] for line in lines if line and not line.startswith((" ", "'"))]
            frame.check(heads[0] == f"{name}: {described['summary']}", f"{name}: {heads}")
            frame.check(heads[2:5] == ["parameters", "examples", "results"] and len(heads) == 6, f"{name}: {heads}")
            for one in described["parameters"]:
                shown = next(line for line in lines if line.startswith(f"  {one['name']} "))
                frame.check((f"(default {one['default']})" in shown) == (one["default"] is not None), f"{name}: {shown}")
            more = place.run("filters", name, "-v", **NOWHERE).stdout
            headings = {"variants"} | ({"ladder of its source"} if described["rungs"] else set())
            frame.check(set(more.splitlines()) >= set(lines[:-1]) | headings, f"{name}: {more}")
            for variant in described["variants"]:
                frame.check(re.search(rf"^  {variant['name']} ", more, re.M), f"{name} -v does not show {variant['name']}")
                for tunable in variant["tunables"]:
                    frame.check(f" {tunable['name']} = {tunable['values']}" in more, f"{name} -v: {tunable}")


def write_floats(name, width=16, height=12):
    """A TIFF of four f32 channels."""
    rows = struct.pack(f"<{width * height * 4}f", *(i % 17 / 16 for i in range(width * height * 4)))
    entries = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, 4, 8 + 126), (259, 3, 1, 1), (262, 3, 1, 2), (273, 4, 1, 150),
               (277, 3, 1, 4), (279, 4, 1, len(rows)), (338, 3, 1, 2), (339, 3, 4, 8 + 134)]
    directory = struct.pack("<H", 10) + b"".join(struct.pack("<HHII", *entry) for entry in entries)
    with open(name, "wb") as file:
        file.write(b"II*\0\x08\0\0\0" + directory.ljust(126, b"\0") + struct.pack("<8H", *[32] * 4, *[3] * 4) + rows)


def write_source(place, name, user):
    """A picture for an example; readers look at the contents, not at the suffix."""
    if name.endswith("/"):
        os.makedirs(place.path(name))
        name += "a.pgm"
    if user == "dot":
        write_floats(place.path(name))
    elif user.endswith("premultiply"):
        with open(place.path(name), "wb") as file:
            file.write(b"P7\nWIDTH 16\nHEIGHT 12\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + bytes(i * 7 & 255 for i in range(16 * 12 * 4)))
    else:
        with open(place.path(name), "wb") as file:
            file.write(b"P5 16 12 255\n" + bytes(i * 7 & 255 for i in range(16 * 12)))


def test_the_examples_of_every_filter_work():
    with Place() as place:
        for name in place.run("filters", "--names").stdout.split():
            lines = re.findall(r"^      (hone apply .*)$", place.run("filters", name, **NOWHERE).stdout, re.M)
            frame.check(len(lines) == 2, f"{name}: {lines}")
            for line in lines:
                _, command, chain, source, _, target = shlex.split(line)
                frame.check(re.search(rf"(^|\| ){name}\b", chain), f"{name}: {line}")
                for needed in {source, *re.findall(r"image=(\S+)", chain)}:
                    if not os.path.exists(place.path(needed)):
                        write_source(place, needed, name)
                place.run(command, chain, source, "-o", target, cwd=place.folder)
                made = [target + entry for entry in os.listdir(place.path(target))] if target.endswith("/") else [target]
                frame.check(len(made) == 1 and os.path.getsize(place.path(made[0])) > 0, f"{line}: {made}")
                shutil.rmtree(place.path(target)) if target.endswith("/") else os.remove(place.path(target))


def test_every_filter_has_an_image_for_which_something_is_chosen():
    with Place() as place:
        chosen = place.json("filters", "dot")["chosen"]
        frame.check(chosen, "dot, which takes f32 of four channels alone, has none")
        lines = place.run("filters", "dot").stdout.splitlines()
        for one in chosen:
            row = [f"{one['width']}x{one['height']}", one["type"], f"x{one['channels']}", one["variant"], *one["config"].split()]
            frame.check(any(line.split()[:len(row)] == row and line.endswith(f"  {one['origin']}") for line in lines),
                        f"no line {row} in {lines}")


def test_numbers_says_what_is_exact():
    """The table of docs/numbers.md, and what `hone filters NAME` prints, are what the filters' bounds say."""
    table = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", read("docs/numbers.md"), re.M)
    said = {row[0]: dict(zip(("u8", "u16", "f32"), row[1:])) for row in table}
    with Place() as place:
        for name in (f["name"] for f in place.json("filters")["filters"]):
            described = place.json("filters", name, **NOWHERE)
            shown = place.run("filters", name, **NOWHERE).stdout
            for kind in ("u8", "u16", "f32"):
                bound = described["bounds"].get(kind)
                exact = kind in described["exact_types"].split(", ")
                whole = bound is not None and (bound == 0 or (kind != "f32" and bound < 0.5))  # less than a level is of f32 results
                right = ("-" if bound is None else "exact" + (f"; to `f32` {bound:g}" if bound else "") if whole
                         else f"{bound:g}" + (", `exact=yes`" if exact else ""))
                frame.check(said[name][kind] == right, f"{name} {kind}: numbers.md says {said[name][kind]}, {right} is so")
                line = re.search(rf"^  {kind} +(the same|within).*$", shown, re.M)
                frame.check((line is not None) == (bound is not None), f"{name} {kind}: {shown}")
                frame.check(line is None or (line.group(1) == "the same") == whole, f"{name}: {line}")
                frame.check(line is None or not whole or ("f32 results" in line.group(0)) == (bound > 0), f"{name}: {line}")


def test_reproducible_is_an_error_where_nothing_is_exact():
    with Place() as place:
        for chain in ("box size=3", "gaussian sigma=1.5 | sobel"):
            place.run("apply", "--reproducible", chain, place.picture(64, 48), "-o", place.path("out.pgm"), "--force")
        floats = place.path("in.pfm")
        with open(floats, "wb") as file:
            file.write(b"Pf\n8 8\n-1.0\n" + bytes(8 * 8 * 4))
        result = place.any("apply", "--reproducible", "gaussian", floats, "-o", place.path("out.pfm"))
        frame.check(result.returncode != 0 and "it is exact for u8, u16" in result.stderr, result.stderr)
        result = place.any("apply", "gaussian accuracy=relaxed exact=yes", place.picture(64, 48), "-o",
                           place.path("o.pgm"))
        frame.check(result.returncode != 0 and "exclude each other" in result.stderr, result.stderr)
        result = place.any("apply", "--reproducible", "gaussian", place.picture(64, 48), "-o", place.path("o.pgm"),
                           "--variant", "direct")
        frame.check(result.returncode != 0 and "not exact to the last bit" in result.stderr, result.stderr)


def test_what_filters_shows_is_what_apply_uses():
    """And it is told without compiling any of it."""
    keys = ("variant", "config", "origin", "passes")
    with Place() as place:
        names = ("box", "gaussian")
        shown = {name: [c for c in place.json("filters", name)["chosen"]
                        if (c["type"], c["channels"], c["width"], c["height"]) == ("u8", 1, 640, 480)][0] for name in names}
        frame.check(place.programs() == [], f"compiled to be shown: {place.programs()}")
        for name in names:
            used = place.apply(name)["steps"][0]
            for key in keys:
                frame.check(used[key] == shown[name][key], f"{name}: {key} is {used[key]}, shown is {shown[name][key]}")


# ---- cache ----

def test_the_cache_lists_what_was_compiled():
    with Place() as place:
        frame.check(place.json("cache")["entries"] == [], "a new cache is empty")
        place.apply()
        listed = place.json("cache")
        files = {os.path.basename(name): os.path.getsize(name) for name in place.programs()}
        frame.check({e["file"]: e["bytes"] for e in listed["entries"]} == files, f"{listed} and {files}")
        frame.check(all(e["valid"] and e["label"].startswith("box ") for e in listed["entries"]), f"{listed}")
        frame.check(listed["folder"] == place.cache() and listed["bytes"] == sum(files.values()), f"{listed}")


def test_damage_is_found_and_repaired():
    with Place() as place:
        place.apply()
        place.run("cache", "verify")
        with open(place.programs()[0], "r+b") as file:
            file.seek(-1, os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([byte ^ 1]))
        open(place.cache("programs", ".half-written"), "wb").close()
        frame.check(place.json("cache", "verify", status=1)["damaged"] == 1, "one bit")
        frame.check("damaged" in place.run("cache").stdout, "list shows it, with exit status 0")
        place.run("cache", "verify", "--repair", status=1)
        frame.check(not place.programs() and not os.path.exists(place.cache("programs", ".half-written")), "removed")
        place.run("cache", "verify")


def test_crash_marks_are_listed_and_cleared():
    with Place().fill() as place:
        name = next(e["file"] for e in place.json("cache")["entries"] if e["label"].startswith("box "))
        for suffix in (".crashed1", ".crashed2"):
            open(place.cache("programs", name + suffix), "wb").close()
        open(place.cache("programs", "f" * 64 + ".crashed1"), "wb").close()
        crashes = {e["file"]: (e["crashes"], e["present"]) for e in place.json("cache")["entries"] if e["crashes"]}
        frame.check(crashes == {name: (2, True), "f" * 64: (1, False)}, f"{crashes}")
        frame.check("left out after two times" in place.run("doctor").stdout, "the doctor says what is left out")
        removed = place.json("cache", "clear")
        frame.check((removed["programs"] >= 1, removed["marks"]) == (True, 3), f"{removed}")
        frame.check(place.json("cache")["entries"] == [], "all is gone")


def test_clearing_follows_no_link_and_leaves_nothing():
    with Place() as place:
        place.apply()
        outside = place.path("outside")
        os.makedirs(outside + "/deep")
        open(outside + "/deep/file", "wb").close()
        os.symlink(outside, place.cache("driver", "0", "link"))
        os.symlink(outside, place.cache("driver", "77"))
        os.makedirs(place.cache("driver", "5", "a", "b"))
        os.symlink(outside, place.cache("programs", "e" * 64))
        place.run("cache", "clear")
        frame.check(os.path.exists(outside + "/deep/file"), "what a link led to is gone")
        frame.check(sorted(os.listdir(place.cache("driver"))) in (["77", "generation"], ["generation"]),
                    f"left: {os.listdir(place.cache('driver'))}")
        frame.check(os.listdir(place.cache("programs")) == ["lock"], f"left: {os.listdir(place.cache('programs'))}")
        frame.check(os.listdir(place.cache("verdicts")) == [], "verdicts are left")
        place.apply()


def test_a_driver_folder_in_use_is_left():
    with Place() as place:
        place.apply()
        used = os.open(place.cache("driver", "0"), os.O_RDONLY)
        fcntl.flock(used, fcntl.LOCK_SH)
        removed = place.json("cache", "clear")
        frame.check((removed["driver_folders"], removed["driver_folders_in_use"]) == (0, 1), f"{removed}")
        frame.check(os.listdir(place.cache("driver", "0")), "its content is gone")
        os.close(used)
        frame.check(place.json("cache", "clear")["driver_folders"] == 1, "later it is removed")


def test_an_inherited_driver_folder_is_replaced_by_the_current():
    with Place() as place:
        place.apply()
        place.run("cache", "clear")
        place.apply(POCL_CACHE_DIR=place.cache("driver", "0"))
        frame.check(not os.path.exists(place.cache("driver", "0")), "the old folder was used")
        frame.check(os.path.exists(place.cache("driver", "1")), "the current folder was not used")
        place.apply("sobel", POCL_CACHE_DIR=place.path("mine"))
        frame.check(os.path.exists(place.path("mine")), "the user's own folder was not used")


def test_pocl_leaves_no_empty_files():
    with Place() as place:
        place.run("devices")
        names = {"tempfile_old": (b"", 25), "tempfile_young": (b"", 1), "tempfile_full": (b"x", 25), "other": (b"", 25)}
        for name, (content, hours) in names.items():
            with open(place.cache("driver", "0", name), "wb") as file:
                file.write(content)
            os.utime(file.name, (time.time() - hours * 3600,) * 2)
        place.run("devices")
        left = set(names) & set(os.listdir(place.cache("driver", "0")))
        frame.check(left == {"tempfile_young", "tempfile_full", "other"}, f"{left}")


def full_disk(place, folder):
    """An environment in which every write below a folder fails, as on a disk without room."""
    interpose = os.path.join(frame.build(), "tests", "interpose.so")
    frame.check(os.path.exists(interpose), "tests/interpose.so is not built")
    return {"LD_PRELOAD": interpose, "INTERPOSE_FULL": place.path(folder)}


def test_a_full_disk_costs_the_cache_alone():
    with Place() as place:
        os.mkdir(place.path("temporary"))
        place.environment["TMPDIR"] = place.path("temporary")
        wanted = place.path("wanted.pgm")
        place.run("apply", "box", place.picture(), "-o", wanted)
        shutil.rmtree(place.path("cache"))
        for folder, used in (("cache", place.path("temporary")), ("", "/dev/shm")):
            for options in ([], ["--no-cache"]):
                shutil.rmtree(place.path("cache"), ignore_errors=True)
                out = tempfile.mkdtemp(prefix="hone-inspection-out-")
                try:
                    result = place.run("apply", "box", place.picture(), "-o", out + "/out.pgm", *options,
                                       **full_disk(place, folder))
                    with open(out + "/out.pgm", "rb") as got, open(wanted, "rb") as expected:
                        frame.check(got.read() == expected.read(), "another result")
                finally:
                    shutil.rmtree(out)
                said = [line for line in result.stderr.splitlines() if "MB left" in line]
                frame.check(len(said) == 1 and place.cache("driver", "0") in said[0] and used in said[0], result.stderr)
        report = place.run("doctor", "box", "--no-cache", **full_disk(place, "cache")).stdout
        frame.check("MB left" in report and "XDG_CACHE_HOME" in report, f"the doctor names it: {report[-600:]}")


def test_nothing_is_compiled_without_space():
    """PoCL would end the process in the middle of a write, with words of its own."""
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))

    with Place() as place:
        picture, out = place.picture(64, 48), place.path("out.pgm")
        result = place.run("apply", "box", picture, "-o", out, status=3, **full_disk(place, "/"))
        frame.check("MB left, and PoCL needs" in result.stderr and not os.path.exists(out), result.stderr)
        frame.check("self-test" not in result.stderr, f"the device is blamed: {result.stderr}")
        command = [os.path.join(frame.build(), "hone"), "apply", "box", picture, "-o", out]
        for _ in range(2):  # with empty caches, and with all that is needed there: PoCL writes it anew
            result = subprocess.run(command, env=place.environment, capture_output=True, text=True, check=False,
                                    preexec_fn=small_files)
            frame.check(result.returncode == 3 and "files of this process are limited to 60000 bytes" in result.stderr, result.stderr)
            frame.check(not os.path.exists(out), "an output")
            place.run("apply", "box", picture, "-o", place.path("first.pgm"), "--force")


def compiled_objects(place):
    """What PoCL keeps of box's kernels: machine code."""
    return glob.glob(place.cache("driver", "*", "*", "*", "box_*", "*", "*.so"))


def truncate_objects(place, size):
    objects = compiled_objects(place)
    frame.check(objects, "PoCL keeps no machine code")
    for name in objects:
        os.truncate(name, size)


def apply_status(place):
    """The exit status of hone apply box, which may be a signal's."""
    command = [os.path.join(frame.build(), "hone"), "apply", "box", place.picture(), "-o", place.path("out.pgm"), "--force"]
    result = subprocess.run(command, capture_output=True, text=True, env=place.environment, check=False)
    frame.check("passed over" not in result.stderr, result.stderr)
    return result.returncode


def test_a_damaged_driver_cache_ends_one_run_at_most():
    with Place() as place:
        frame.check(apply_status(place) == 0, "the first run")
        for size in (0, 1000, 6000):
            truncate_objects(place, size)
            damaged = place.json("cache", "verify", status=1)
            frame.check(damaged["driver_damaged"] >= 1 and damaged["damaged"] == 0, f"{size} bytes: {damaged}")
            apply_status(place)
            frame.check([apply_status(place) for _ in range(2)] == [0, 0], f"cut to {size} bytes, it does not heal")
            frame.check(not glob.glob(place.cache("programs", "*.*")), "a mark stays")
        truncate_objects(place, 1000)
        place.run("cache", "verify", "--repair", status=1)
        frame.check(apply_status(place) == 0, "after --repair")
        frame.check(place.json("cache", "verify")["driver_damaged"] == 0, "what is left is whole")


def test_a_driver_cache_that_a_power_cut_damaged_ends_no_run():
    """The first process after a start of the machine, which another name of the last one stands for."""
    with Place() as place:
        frame.check([apply_status(place) for _ in range(2)] == [0, 0], "the first runs")
        for size in (0, 6000):
            truncate_objects(place, size)
            with open(place.cache("driver", "boot"), "w", encoding="ascii") as file:
                file.write("another start\n")
            frame.check([apply_status(place) for _ in range(2)] == [0, 0], f"cut to {size} bytes")
        before = {name: os.stat(name).st_ino for name in compiled_objects(place)}
        with open(place.cache("driver", "boot"), "w", encoding="ascii") as file:
            file.write("another start\n")
        frame.check(apply_status(place) == 0 and {name: os.stat(name).st_ino for name in compiled_objects(place)} == before,
                    "what is whole is kept")


def kill_while_it_builds(place):
    command = [os.path.join(frame.build(), "hone"), "apply", "box", place.picture(), "-o", place.path("out.pgm"), "--force"]
    with subprocess.Popen(command, env=place.environment, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not glob.glob(place.cache("programs", f"*.{process.pid}-*.busy")):
            time.sleep(0.002)
        process.kill()
    return process.returncode == -signal.SIGKILL


def test_kills_from_outside_blame_no_program():
    with Place() as place:
        place.run("devices")
        place.apply("sobel")  # the self-test is over
        killed = [kill_while_it_builds(place) for _ in range(3)]
        frame.check(all(killed), f"not killed in time: {killed}")
        frame.check(apply_status(place) == 0, "the next run")
        frame.check(not glob.glob(place.cache("programs", "*.*")), "a mark stays")


def without_home(place):
    """An environment in which no home can be made, not even by root."""
    return {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "", "TMPDIR": place.folder}


def test_pocl_needs_no_home():
    with Place() as place:
        driver = place.path(f"hone-{os.geteuid()}", "driver")
        wanted = [device["name"] for device in place.json("devices")["devices"]]
        for _ in range(2):
            found = [device["name"] for device in place.json("devices", **without_home(place))["devices"]]
            frame.check(found == wanted, f"{found}, not {wanted}")
            frame.check(len(os.listdir(driver)) == 1, f"one folder each, removed by the next: {os.listdir(driver)}")
        frame.check(stat.S_IMODE(os.stat(os.path.dirname(driver)).st_mode) == 0o700, "others can look into it")
        place.apply(**without_home(place))


def test_a_foreign_temporary_folder_is_not_used():
    with Place() as place:
        os.mkdir(place.path("theirs"))
        os.symlink(place.path("theirs"), place.path(f"hone-{os.geteuid()}"))
        place.run("devices", **without_home(place), POCL_CACHE_DIR=place.path("mine"))
        frame.check(os.listdir(place.path("mine")), "the user's folder was not used")
        subprocess.run([os.path.join(frame.build(), "hone"), "devices"], capture_output=True, check=False,
                       env={**place.environment, **without_home(place)})
        frame.check(not os.listdir(place.path("theirs")), "the link was followed")


def test_an_unusable_cache_is_an_error_of_the_cache_alone():
    with Place() as place:
        os.makedirs(place.cache(), mode=0o700)
        os.chmod(place.cache(), 0o777)
        result = place.run("cache", status=3)
        frame.check(place.cache() in result.stderr and "chmod 700" in result.stderr, result.stderr)
        place.apply()
        compiled = os.path.join(first_examination()[0], "hone", "driver", "0")
        frame.check("chmod 700" in place.run("doctor", POCL_CACHE_DIR=compiled).stdout,
                    "the doctor tells, and the rest is fine")


def test_what_the_self_test_denies_is_not_used():
    with Place() as place:
        out = place.path("out.tif")
        place.run("apply", "integral", place.picture(64, 48), "-o", out, "--variant", "lookback")
        [verdict] = glob.glob(place.cache("verdicts", "*"))
        with open(verdict, encoding="ascii") as file:
            text = file.read()
        frame.check("progress +" in text, text)
        with open(verdict, "w", encoding="ascii") as file:
            file.write(text.replace("progress +", "progress -"))
        denied = place.run("apply", "integral", place.picture(64, 48), "-o", out, "--variant", "lookback", status=2)
        frame.check("work-groups that wait do not let others run" in denied.stderr, denied.stderr)
        place.run("apply", "integral", place.picture(64, 48), "-o", out)


# ---- doctor ----

def test_the_doctor_finds_this_machine_fine():
    with Place().fill() as place:
        report = first_examination()[1]
        frame.check(report["fine"] and report["devices"] >= 1, f"{report}")
        checked = {f["subject"] for f in report["findings"] if f["part"] == "filters" and f["state"] == "fine"}
        frame.check({"box", "sobel"} <= checked, f"checked: {checked}")
        frame.check("fine: " in place.run("doctor", "--again").stdout, "text")
        frame.check(place.run("doctor", "-q").stdout == "", "nothing to say under -q")


def test_the_doctor_tells_a_terminal_what_it_is_doing():
    """Where compiling takes a minute, it would look like a hang; a log gets the findings alone."""
    with Place().fill() as place:
        lines = place.on_terminal(80, "doctor", "box", "transpose")
        under_way = [line.strip() for line in lines if " ... " in line + " "]
        wanted = ["the self-test of device 0 ...", "box on device 0 (1 of 2) ...", "transpose on device 0 (2 of 2) ..."]
        frame.check([line for line in under_way if line in wanted] == wanted, f"{lines}")
        frame.check(place.run("doctor", "box").stderr == "", "not on a terminal")


def test_the_doctor_checks_the_filters_that_are_named():
    with Place() as place:
        report = place.json("doctor", "transpose", "box", "box")
        checked = [f["subject"] for f in report["findings"] if f["part"] == "filters" and f["device"] == 0]
        frame.check(checked == ["box", "transpose"], f"checked: {checked}")
        parts = {f["part"] for f in report["findings"]}
        frame.check({"loader", "drivers", "device"} <= parts and report["fine"], f"{report}")


def test_the_doctor_says_which_of_hones_variables_cannot_be_used():
    with Place() as place:
        for value, state, said in ((place.path("no-such-file"), "warning", "no-such-file"), ("", "note", "is empty"),
                                   (os.path.join(frame.build(), "hone"), "note", "come from there")):
            found = [f for f in place.json("doctor", "gray", HONE_PRECOMPILED=value)["findings"]
                     if f["subject"] == "HONE_PRECOMPILED"]
            frame.check(len(found) == 1 and found[0]["state"] == state and said in found[0]["text"], f"{value}: {found}")
        said = place.run("doctor", "gray", status=1, HONE_KERNEL_DIR=place.path("no-such-folder")).stdout
        frame.check("HONE_KERNEL_DIR or kernel_folder" in said, said)
        picture = place.picture()
        for command in (("apply", "gray", picture, "-o", place.path("out.pgm")), ("tune", "gray"), ("profile", "gray", picture)):
            said = place.run(*command, status=4, HONE_DEVICE="no such device").stderr
            frame.check("'no such device' (HONE_DEVICE)" in said, said)
            said = place.run(*command, "--device", "no such device", status=4).stderr
            frame.check("(HONE_DEVICE)" not in said, said)


def test_the_doctor_answers_an_unknown_filter_with_the_nearest():
    with Place() as place:
        said = place.run("doctor", "box", "sobl", status=2, **NOWHERE).stderr
        frame.check("no filter 'sobl'; did you mean 'sobel'?" in said and "hone doctor --help" in said, said)
        said = place.run("doctor", "qqqqqqq", status=2, **NOWHERE).stderr
        frame.check("box" in said and "transpose" in said, f"it does not list the filters: {said}")


# The head of a kernel that knows the height of the image, up to the brace.
KERNEL_HEAD = r"(__kernel (?:__attribute__\(\(.*\)\)\s)?void\s\w+\([^{]*\bint height\b[^{]*\{)"


def broken_kernels(place, name, old, new):
    """Kernels in a folder, those of filter `name` with something in its place in every file."""
    folder = place.path("kernels")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(frame.ROOT, "src"), folder)
    for path in glob.glob(os.path.join(folder, "filters", name, "*.cl")):
        with open(path, encoding="utf-8") as source:
            text, count = re.subn(old, new, source.read())
        frame.check(count > 0, f"{path} does not hold '{old}'")
        with open(path, "w", encoding="utf-8") as source:
            source.write(text)
    return {"HONE_KERNEL_DIR": folder}


def test_the_doctor_finds_wrong_results():
    with Place().fill() as place:
        broken = broken_kernels(place, "sobel", KERNEL_HEAD, r"\1 height -= height > 20;")
        report = place.json("doctor", status=1, **broken)
        wrong = {f["subject"]: f["text"] for f in report["findings"] if f["state"] == "wrong"}
        frame.check(set(wrong) == {"sobel"} and re.search(r"pixel \(\d+,\d+\)", wrong["sobel"]), f"{wrong}")


def test_the_doctor_finds_kernels_that_do_not_build():
    with Place().fill() as place:
        report = place.json("doctor", status=1, **broken_kernels(place, "box", "__kernel", "#error no\n"))
        wrong = {f["subject"]: f["text"] for f in report["findings"] if f["state"] == "wrong"}
        frame.check(set(wrong) == {"box"} and "CL_BUILD_PROGRAM_FAILURE" in wrong["box"], f"{wrong}")


def test_the_doctor_gives_up_on_a_device_that_does_not_answer():
    with Place().fill() as place:  # the self-test and its programs are there already
        endless = broken_kernels(place, "box", KERNEL_HEAD, r"\1 while (height) { barrier(CLK_LOCAL_MEM_FENCE); }")
        result = place.run("doctor", "--timeout", "10", status=5, **endless)
        frame.check("no answer within 10 s" in result.stderr, result.stderr)


def test_the_doctor_finds_a_driver_that_does_not_load():
    with Place().fill() as place:
        vendors = place.path("vendors")
        os.makedirs(vendors)
        shutil.copy("/etc/OpenCL/vendors/pocl.icd", vendors)
        with open(vendors + "/gone.icd", "w", encoding="utf-8") as file:
            file.write("libgone-by-now.so.7\n")
        report = place.json("doctor", OCL_ICD_VENDORS=vendors)
        warned = [f for f in report["findings"] if f["state"] == "warning"]
        frame.check([f["subject"] for f in warned] == ["gone.icd"] and "libgone-by-now.so.7" in warned[0]["text"],
                    f"{warned}")


def test_bad_usage_is_exit_status_2():
    with Place() as place:
        for words in (("devices", "x"), ("filters", "box", "sobel"), ("cache", "claer"), ("cache", "list", "clear"),
                      ("cache", "clear", "--repair"), ("doctor", "x"), ("devices", "--thorough")):
            result = place.run(*words, status=2)
            frame.check(f"hone {words[0]} --help" in result.stderr and not result.stdout, f"{words}: {result.stderr}")


if __name__ == "__main__":
    frame.main(globals())
