#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The tuning results that come with hone: measures them, makes the defaults of them, records spaces for tests.

    scripts/tuning_data.py all [build=build] [budget=30m]     everything below, on a quiet machine
    scripts/tuning_data.py measure [budget=30m] [devices=pocl-avx2,rusticl,pocl] [filters=box,sobel] [size=1920x1080]
                                   [evaluations=60] tunes every filter's usual cases on each device -> data/tuning/measured.jsonl
    scripts/tuning_data.py without NAME   builds hone with the defaults that devices whose name holds NAME would get without their own
    scripts/tuning_data.py add [unseen=yes] FILE...   what `hone tune` measured elsewhere: the tuning.jsonl of other machines; with
                                   unseen=yes by a hone that was built `without` that device
    scripts/tuning_data.py ship    defaults from what is measured -> data/tuning/shipped.jsonl
    scripts/tuning_data.py check   are the defaults those of the measurements? What would each device lose without its own?
    scripts/tuning_data.py record  whole spaces, small ones -> tests/recorded/

measured.jsonl keeps, for each device and case, the configurations that worked with their times, and as "unseen" the time of what
hone would have run there without having seen that device, beside "final", the time of what tuning chose: both took turns, where
other times are of a moment each. For each of them the defaults hold up to six, for the device itself where they gain something,
for devices of its architecture (of CPUs: by the same platform and vendor), for its vendor's devices of this kind (not of CPUs),
for this kind of device, and for all: those that together leave the devices of the group the largest harmonic mean of their best
speeds; of equals, one of a variant that is not among them yet.
"""

import collections
import glob
import json
import math
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
LUCKY = 1.002  # times the time of the final's choice that all others get at least
WORTH = 1.05  # times the tuned time that makes a default of a case's own worth its place
UNKNOWN = 0.25  # the speed to expect of a configuration on a device where it was not measured
# PoCL compiles for an older processor when it is told to: that measures what code without AVX-512 can reach here.
DEVICES = {"pocl-avx2": {"OCL_ICD_VENDORS": "pocl.icd", "POCL_KERNELLIB_NAME": "avx2"},
           "rusticl": {"OCL_ICD_VENDORS": "rusticl.icd", "RUSTICL_ENABLE": "llvmpipe"},
           "pocl": {"OCL_ICD_VENDORS": "pocl.icd"}}
# Small images, so that a recording takes minutes: name, filter, size, variants.
SPACES = [("epsilon-pocl", "epsilon", "640x480", "direct,vectors"),
          ("sobel-pocl", "sobel norm=l1", "1280x720", "direct,separable,vectors,lines"),
          ("box-pocl", "box size=8", "640x480", "direct,separable,running,bands,lines")]


def option(name, otherwise):
    values = [argument.split("=", 1)[1] for argument in sys.argv[2:] if argument.startswith(name + "=")]
    return values[-1] if values else otherwise


def hone(folder, device, *arguments, **options):
    """Runs hone with records in `folder`."""
    environment = {key: value for key, value in os.environ.items()
                   if key == "HONE_TUNE_CLOCK" or not key.startswith(("HONE_", "OCL_", "RUSTICL_", "POCL_"))}
    environment.update(DEVICES[device], XDG_DATA_HOME=folder)
    program = os.path.join(ROOT, option("build", "build"), "hone")
    return subprocess.run([program, *arguments], env=environment, check=False, **options)


def name_of(device):
    """What the device calls itself."""
    answer = hone("/nonexistent", device, "devices", "--json", stdout=subprocess.PIPE)
    return json.loads(answer.stdout)["devices"][0]["name"]


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

def digest(records, unseen):
    """One line for each device and case: what worked, fastest first. The choice of the final comes first: its runs took turns; a
    faster time of another moment says less."""
    cases = collections.OrderedDict()
    for record in records:
        if record["kind"] not in ("try", "choice"):
            continue
        entry = cases.setdefault(key_of(record), {"device": record["device"], "case": record["case"], "times": {}})
        entry["case"] = record["case"]
        if record["kind"] == "choice":
            for ranked in record["ranked"]:
                entry["times"][(ranked["variant"], ranked["config"])] = ranked["ms"]
            if record["ranked"]:
                entry["chosen"] = (record["ranked"][0]["variant"], record["ranked"][0]["config"])
            if unseen and record["default_ms"] > 0 and record["ranked"]:
                entry["unseen"] = float(f"{record['default_ms']:.4g}")
                entry["final"] = float(f"{record['ranked'][0]['ms']:.4g}")
        elif record["state"] in ("ok", "slow") and record["config"]["ms"] > 0:
            entry["times"][(record["config"]["variant"], record["config"]["config"])] = record["config"]["ms"]
    for entry in cases.values():
        times, chosen = entry.pop("times"), entry.pop("chosen", None)
        least = LUCKY * times[chosen] if chosen else 0
        ordered = sorted(((config, ms if config == chosen else max(ms, least)) for config, ms in times.items()),
                         key=lambda item: item[1])
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
    """Each device is tuned by a hone that has not seen it, so that what an unseen device loses is known."""
    devices = option("devices", ",".join(DEVICES)).split(",")
    filters = [name for name in option("filters", "").split(",") if name]
    everything = {key_of(line): line for line in lines_of(MEASURED)}
    for device in devices:
        name = name_of(device)
        build_with(shipped([line for line in everything.values() if line["device"]["name"] != name]))
        folder = tempfile.mkdtemp(prefix="hone-measure-")
        status = hone(folder, device, "tune", *filters, "--size", option("size", "1920x1080"), "--budget",
                      option("budget", "30m"), "--evaluations", option("evaluations", "60")).returncode
        for line in digest(lines_of(os.path.join(folder, "hone", "tuning.jsonl")), True):
            everything[key_of(line)] = line
        write_lines(MEASURED, [everything[key] for key in sorted(everything)])
        shutil.rmtree(folder)
        if status:
            print(f"{device}: hone tune ended with {status}; what it measured is kept", file=sys.stderr)
    build_with(shipped(lines_of(MEASURED)))
    print(f"{len(everything)} cases in {os.path.relpath(MEASURED, ROOT)}")


def without():
    """For measuring elsewhere what an unseen device loses; `ship` and a build bring the defaults back."""
    names = [argument for argument in sys.argv[2:] if "=" not in argument]
    build_with(shipped([line for line in lines_of(MEASURED) if not any(name in line["device"]["name"] for name in names)]))


def add():
    everything = {key_of(line): line for line in lines_of(MEASURED)}
    for name in [argument for argument in sys.argv[2:] if not argument.startswith("unseen=")]:
        for line in digest(lines_of(name), option("unseen", "no") == "yes"):
            before = everything.get(key_of(line), {})
            everything[key_of(line)] = {**{name: before[name] for name in ("unseen", "final") if name in before}, **line}
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


LEVELS = ("architecture", "vendor", "kind", "all")


def group_of(line, level):
    """Devices of the same are one group; None: of no group."""
    device = line["device"]
    cpu = device["kind"] == "cpu"
    if level == "architecture":  # a processor runs what its OpenCL makes of a kernel, and its caches are the vendor's
        return (device["kind"], *((device["platform"], device["vendor"]) if cpu else ()), device["architecture"]) \
            if device["architecture"] else None
    if level == "vendor":
        return None if cpu else (device["kind"], device["vendor_id"])
    return device["kind"] if level == "kind" else "all"


def group_device(line, level):
    """What stands for a group: it is of no name, so that only its level fits."""
    device = line["device"]
    near = level in ("architecture", "vendor")
    return {"name": "", "vendor": device["vendor"] if near else "",
            "platform": device["platform"] if near and device["kind"] == "cpu" else "", "driver": "",
            "architecture": device["architecture"] if level == "architecture" else "",
            "kind": device["kind"] if level != "all" else "other", "vendor_id": device["vendor_id"] if near else 0,
            "compute_units": 0}


def group_of_records(line):
    """Lines that are near each other: hone may take one of them for the other's case."""
    return json.dumps([line["device"], line["case"]["filter"], line["case"]["type"]], sort_keys=True)


def is_gain(line):
    """Whether tuning found something else than what an unseen device runs anyway; where that is not known, it may have."""
    return "final" not in line or line["unseen"] > WORTH * line["final"]


def worth_shipping(measured):
    """Without those where hone is as fast anyway, unless one nearby would be taken in their place. Defaults outlive the kernels
    that they were measured with; hand-written choices are kept up to date."""
    gains = {group_of_records(line) for line in measured if is_gain(line)}
    return [line for line in measured if group_of_records(line) in gains]


def shipped(measured):
    lines = [choice(line["device"], [line], candidates([line])) for line in worth_shipping(measured)]
    for level in LEVELS:
        groups = collections.OrderedDict()
        for line in measured:
            if group_of(line, level):
                groups.setdefault((group_of(line, level), case_key(line)), []).append(line)
        # A device alone needs no line for its group: its own is found at each level. Of equals the later line counts.
        for group in [group for group in groups.values() if len(group) > 1]:
            lines.append(choice(group_device(group[0], level), group, candidates(group)))
    return lines


def ship():
    lines = shipped(lines_of(MEASURED))
    write_lines(SHIPPED, lines)
    print(f"{len(lines)} defaults in {os.path.relpath(SHIPPED, ROOT)}")


# ---- Checking ----

def mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def of_the_optimum(parts):
    """Of (part of the optimum, case)."""
    worst = min(parts)
    return f"{mean([part for part, _ in parts]):.0%} of its optimum, worst {worst[0]:.0%} ({worst[1]}); {len(parts)} cases"


def case_name(line):
    case = line["case"]
    return f"{case['filter']} {case['parameters']}".strip()[:40] + f" {case['type']}x{case['channels']}"


def unseen(lines):
    """What ran before anything was tuned, by a hone that has not seen the device."""
    parts = [(min(1, line.get("final", line["times"][0][2]) / line["unseen"]), case_name(line))
             for line in lines if "unseen" in line]
    return [f"without having been seen: {of_the_optimum(parts)}"] if parts else []


def from_others(lines, measured, level):
    """What the defaults of other devices give, at a level and in the same cases."""
    first, best = [], []
    for line in lines:
        others = [o for o in measured if case_key(o) == case_key(line) and group_of(o, level) and
                  group_of(o, level) == group_of(line, level) and o["device"]["name"] != line["device"]["name"]]
        chosen, table = candidates(others), speeds(line)
        first += [(table[chosen[0]], case_name(line))] if chosen and chosen[0] in table else []
        known = [table[config] for config in chosen if config in table]
        best += [(max(known), case_name(line))] if known else []
    said = [f"first default of the {level}: {of_the_optimum(first)}"] if first else []
    return said + ([f"best of its {CANDIDATES}: {of_the_optimum(best)}"] if best else [])


def leave_one_out(measured):
    """What each device reaches with what is known of others."""
    devices = collections.OrderedDict()
    for line in measured:
        devices.setdefault((line["device"]["name"], line["device"]["platform"]), []).append(line)
    for (name, platform), lines in devices.items():
        said = unseen(lines) + [text for level in LEVELS[:-1] for text in from_others(lines, measured, level)]
        print(f"leave one device out: {name} ({platform})")
        for text in said or ["no other device of its kind was measured in its cases, nothing can be told"]:
            print(f"    {text}")


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


ACTIONS = {"measure": measure, "without": without, "add": add, "ship": ship, "check": check, "record": record, "all": all_of_it}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ACTIONS:
        sys.exit(__doc__)
    ACTIONS[sys.argv[1]]()
