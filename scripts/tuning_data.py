#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tuning results that come with hone: measures them, makes the defaults of them, records spaces for tests.

    scripts/tuning_data.py all [build=build] [budget=30m]     everything below, on a quiet machine
    scripts/tuning_data.py measure [budget=30m] [devices=pocl,rusticl] [filters=box,sobel] [size=1920x1080] [evaluations=60]
                                   tunes every filter's usual cases on each device -> data/tuning/measured.jsonl
    scripts/tuning_data.py add FILE...   what `hone tune` measured elsewhere: the tuning.jsonl of other machines
    scripts/tuning_data.py ship    defaults from what is measured -> data/tuning/shipped.jsonl
    scripts/tuning_data.py check   are the defaults those of the measurements? What would each device lose without its own?
    scripts/tuning_data.py record  whole spaces, small ones -> tests/recorded/

measured.jsonl keeps, for each device and case, every configuration that worked with its time. For each of them the defaults
hold up to six, for the device itself, for its vendor's devices of this kind, for this kind of device, and for all: those
that together leave the devices of the group the largest harmonic mean of their best speeds; of equals, one of a variant that is
not among them yet.
"""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "data", "tuning")
MEASURED, SHIPPED = os.path.join(DATA, "measured.jsonl"), os.path.join(DATA, "shipped.jsonl")
RECORDED = os.path.join(ROOT, "tests", "recorded")
CANDIDATES = 6
KEPT = 64  # configurations of a case in measured.jsonl: the fastest, and the fastest of each variant
UNKNOWN = 0.25  # the speed to expect of a configuration on a device where it was not measured
DEVICES = {"pocl": {"OCL_ICD_VENDORS": "pocl.icd"},
           "rusticl": {"OCL_ICD_VENDORS": "rusticl.icd", "RUSTICL_ENABLE": "llvmpipe"}}
PLATFORMS = {"pocl": "Portable Computing Language", "rusticl": "rusticl"}
# Small images, so that a recording takes minutes: name, filter, size, variants.
SPACES = [("epsilon-pocl", "epsilon radius=2", "160x120", "direct,vectors"),
          ("sobel-pocl", "sobel norm=l1", "320x240", "direct,separable,vectors"),
          ("box8-pocl", "box size=8", "320x240", "direct,separable,running,bands"),
          ("box3-strips-pocl", "box size=3", "320x240", "strips")]  # one variant, a large space


def option(name, otherwise):
    values = [argument.split("=", 1)[1] for argument in sys.argv[2:] if argument.startswith(name + "=")]
    return values[-1] if values else otherwise


def hone(folder, device, *arguments):
    """Runs hone with records in `folder`."""
    environment = {key: value for key, value in os.environ.items() if key == "HONE_TUNE_CLOCK" or not key.startswith(("HONE_", "OCL_", "RUSTICL_"))}
    environment.update(DEVICES[device], XDG_DATA_HOME=folder)
    program = os.path.join(ROOT, option("build", "build"), "hone")
    return subprocess.run([program, *arguments], env=environment, check=False).returncode


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_lines(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")


def key_of(line):
    return json.dumps([line["device"], {**line["case"], "source": ""}], sort_keys=True)


def case_key(line):
    return json.dumps({**line["case"], "source": ""}, sort_keys=True)


# ---- Measuring ----

def digest(records):
    """One line for each device and case: what worked, fastest first, with the final's medians where there are some."""
    cases = collections.OrderedDict()
    for record in records:
        if record["kind"] not in ("try", "choice"):
            continue
        entry = cases.setdefault(key_of(record), {"device": record["device"], "case": record["case"], "times": {}})
        entry["case"] = record["case"]
        if record["kind"] == "choice":
            for ranked in record["ranked"]:
                entry["times"][(ranked["variant"], ranked["config"])] = ranked["ms"]
        elif record["state"] in ("ok", "slow") and record["config"]["ms"] > 0:
            entry["times"][(record["config"]["variant"], record["config"]["config"])] = record["config"]["ms"]
    for entry in cases.values():
        ordered = sorted(entry.pop("times").items(), key=lambda item: item[1])
        first = {}
        for (variant, config), _ in ordered:
            first.setdefault(variant, config)
        kept = [item for place, item in enumerate(ordered) if place < KEPT or first[item[0][0]] == item[0][1]]
        entry["times"] = [[variant, config, float(f"{ms:.4g}")] for (variant, config), ms in kept]
    return [entry for entry in cases.values() if entry["times"]]


def build_with(lines):
    """Builds hone with these defaults."""
    write_lines(SHIPPED, lines)
    subprocess.run(["cmake", "--build", os.path.join(ROOT, option("build", "build"))], check=True, stdout=subprocess.DEVNULL)


def measure():
    """Each device begins with the defaults that the others alone would give it, so that what it loses by them is known."""
    devices = option("devices", ",".join(DEVICES)).split(",")
    filters = [name for name in option("filters", "").split(",") if name]
    everything = {key_of(line): line for line in lines_of(MEASURED)}
    for device in devices:
        build_with(shipped([line for line in everything.values() if line["device"]["platform"] != PLATFORMS[device]]))
        folder = tempfile.mkdtemp(prefix="hone-measure-")
        status = hone(folder, device, "tune", *filters, "--size", option("size", "1920x1080"), "--budget",
                      option("budget", "30m"), "--evaluations", option("evaluations", "60"))
        for line in digest(lines_of(os.path.join(folder, "hone", "tuning.jsonl"))):
            everything[key_of(line)] = line
        shutil.rmtree(folder)
        if status:
            print(f"{device}: hone tune ended with {status}; what it measured is kept", file=sys.stderr)
    write_lines(MEASURED, [everything[key] for key in sorted(everything)])
    build_with(shipped(lines_of(MEASURED)))
    print(f"{len(everything)} cases in {os.path.relpath(MEASURED, ROOT)}")


def add():
    everything = {key_of(line): line for line in lines_of(MEASURED)}
    for name in sys.argv[2:]:
        for line in digest(lines_of(name)):
            everything[key_of(line)] = line
    write_lines(MEASURED, [everything[key] for key in sorted(everything)])
    print(f"{len(everything)} cases in {os.path.relpath(MEASURED, ROOT)}")


# ---- Defaults ----

def speeds(line):
    """The speed of each configuration, 1 for the best."""
    best = line["times"][0][2]
    return {(variant, config): best / ms for variant, config, ms in line["times"]}


def harmonic(chosen, tables):
    """The harmonic mean over devices of what the best of the chosen reaches."""
    return len(tables) / sum(1 / max(table.get(config, UNKNOWN) for config in chosen) for table in tables)


def candidates(lines):
    """Up to six configurations that serve these devices, in the order in which to try them."""
    tables = [speeds(line) for line in lines]
    pool = sorted({config for table in tables for config in table},
                  key=lambda config: (-sum(table.get(config, UNKNOWN) for table in tables), config))
    chosen = []
    while pool and len(chosen) < CANDIDATES:
        variants = {variant for variant, _ in chosen}
        best = max(pool, key=lambda config: (round(harmonic(chosen + [config], tables), 3), config[0] not in variants,
                                             sum(table.get(config, UNKNOWN) for table in tables)))
        chosen.append(best)
        pool.remove(best)
    return chosen


def choice(device, lines, chosen):
    """A line as hone reads it. Times of a group mean nothing and stay out."""
    first = {(variant, config): ms for variant, config, ms in lines[0]["times"]} if len(lines) == 1 else {}
    return {"v": 1, "kind": "choice", "time": 0, "device": device, "case": {**lines[-1]["case"], "source": ""},
            "ranked": [{"variant": v, "config": c, "ms": first.get((v, c), 0)} for v, c in chosen], "seeds": [],
            "default_ms": -1, "first_rung_ms": -1, "plain_ms": -1, "evaluations": 0, "seconds": 0}


def group_device(lines, level):
    """What stands for a group: it is of no name, so that only its level fits."""
    device = lines[0]["device"]
    kind = device["kind"] if level != "all" else "other"
    return {"name": "", "vendor": device["vendor"] if level == "vendor" else "", "platform": "", "driver": "",
            "architecture": "", "kind": kind, "vendor_id": device["vendor_id"] if level == "vendor" else 0,
            "compute_units": 0}


def group_of(line, level):
    return {"vendor": (line["device"]["vendor_id"], line["device"]["kind"]), "kind": line["device"]["kind"],
            "all": None}[level]


def shipped(measured):
    lines = [choice(line["device"], [line], candidates([line])) for line in measured]
    for level in ("vendor", "kind", "all"):
        groups = collections.OrderedDict()
        for line in measured:
            groups.setdefault((group_of(line, level), case_key(line)), []).append(line)
        for group in groups.values():
            lines.append(choice(group_device(group, level), group, candidates(group)))
    return lines


def ship():
    lines = shipped(lines_of(MEASURED))
    write_lines(SHIPPED, lines)
    print(f"{len(lines)} defaults in {os.path.relpath(SHIPPED, ROOT)}")


# ---- Checking ----

def mean(values):
    return len(values) / sum(1 / value for value in values)


def sizeless(line):
    """Devices were not all measured at the same sizes."""
    return json.dumps({**line["case"], "source": "", "width": 0, "height": 0}, sort_keys=True)


def leave_one_out(measured):
    """What each device reaches with defaults made of others of its kind alone: the first of them, the best of them."""
    devices = sorted({(line["device"]["platform"], line["device"]["name"]) for line in measured})
    if len(devices) < 2:
        print("leave one device out: only one device was measured, nothing can be told")
        return
    for platform, name in devices:
        first, best, unknown = [], [], 0
        for line in measured:
            others = [o for o in measured if sizeless(o) == sizeless(line) and o["device"]["kind"] == line["device"]["kind"] and
                      (o["device"]["platform"], o["device"]["name"]) != (platform, name)]
            if (line["device"]["platform"], line["device"]["name"]) != (platform, name) or not others:
                continue
            chosen, table = candidates(others), speeds(line)
            known = [table[config] for config in chosen if config in table]
            unknown += not known
            first += [table[chosen[0]]] if chosen[0] in table else []
            best += [max(known)] if known else []
        if best:
            print(f"leave one device out: {name} ({platform}): {mean(first or [UNKNOWN]):.0%} of its optimum with the first "
                  f"default, {mean(best):.0%} with the best of {CANDIDATES}, worst {min(best):.0%}; {len(best)} cases")
        if not best and not unknown:
            print(f"leave one device out: {name} ({platform}): no other device of its kind was measured in its cases; hand-written choices")
        if unknown:
            print(f"leave one device out: {name} ({platform}): in {unknown} cases none of the others' candidates was measured "
                  "there (or none works)")


def check():
    measured = lines_of(MEASURED)
    leave_one_out(measured)
    wanted = [json.dumps(line, sort_keys=True) for line in shipped(measured)]
    got = [json.dumps(line, sort_keys=True) for line in lines_of(SHIPPED)]
    if wanted != got:
        sys.exit("data/tuning/shipped.jsonl is not what the measurements give: run scripts/tuning_data.py ship")
    print(f"{len(got)} defaults, from {len(measured)} cases, are those of the measurements")


# ---- Recordings for tests ----

def record():
    os.makedirs(RECORDED, exist_ok=True)
    for name, case, size, variants in SPACES:
        folder = tempfile.mkdtemp(prefix="hone-record-")
        limits = ["--variant", variants] if variants else []
        hone(folder, "pocl", "tune", case, "--size", size, "--format", "u8", "--evaluations", "100000", *limits)
        hone(folder, "pocl", "tune", "--export", os.path.join(RECORDED, name + ".T4.json"), "-q")
        shutil.rmtree(folder)
    for path in sorted(glob.glob(os.path.join(RECORDED, "*"))):
        print(f"{os.path.getsize(path):8} {os.path.relpath(path, ROOT)}")


def all_of_it():
    measure()
    ship()
    record()
    check()


ACTIONS = {"measure": measure, "add": add, "ship": ship, "check": check, "record": record, "all": all_of_it}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ACTIONS:
        sys.exit(__doc__)
    ACTIONS[sys.argv[1]]()
