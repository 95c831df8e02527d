#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone bench: the seeds' tables, what it measures, what it refuses.  bench.py build=FOLDER"""

import glob
import json
import os
import re
import subprocess
import tempfile

import frame

HONE = os.path.join(frame.build(), "hone")
DATA = tempfile.TemporaryDirectory(prefix="hone-bench-")
ENVIRONMENT = {**os.environ, "XDG_DATA_HOME": DATA.name}

# What the documents print, typed from them.
PRINTED = {
    "9-1": [("local_bytes", [None, 1440, 2080]), ("gain", [1, 2.4, 2.8])],
    "9-2": [("name", ["1", "2", "3", "4", "5", "6", "4-1", "4-1-1", "4-1-2", "4-2"]),
            ("gain", [1, 1.0, 1.4, 3.4, 3.5, 0.5, 2.4, 2.8, 2.9, 5.4])],
    "9-3": [("gain", [[1, 1, 1], [4.3, 5.2, 5.4]])],
    "9-4": [("input_bytes", [9, 54, 72]), ("input_bytes_per_pixel", [9, 54 / 16, 72 / 32]), ("stored_bytes_per_pixel", [2, 2, 2])],
    "9-5": [("loads_per_pixel", [6 / 16, 8 / 32]), ("stores_per_pixel", [2 / 16, 4 / 32])],
    "convolution": [("ms", [[2.2, 2.3], [2.7, 2.8]])],
    "density": [("registers", [41, 6]), ("waves", [5, 10])],
    "gaussian": [("mp_s", [None, 2030, None]), ("memory", [10, 14, None]), ("operations", [None, 64, None]), ("ratio", [None, 4.6, None])],
}


def run(*arguments, status=0, **changes):
    result = subprocess.run([HONE, "bench", *arguments], capture_output=True, text=True, check=False, env={**ENVIRONMENT, **changes})
    frame.check(result.returncode == status, f"hone bench {' '.join(arguments)} ends with {result.returncode}, not {status}: "
                                             f"{result.stdout[-300:]}{result.stderr[-600:]}")
    return result.stderr if status else result.stdout


def measured(*arguments, **changes):
    return json.loads(run(*arguments, "--json", **changes))


def tables():
    return {table["name"]: table for table in measured()}


def test_figures_are_the_documents():
    listed = tables()
    for name, columns in PRINTED.items():
        for column, figures in columns:
            there = [row.get(column) for row in listed[name]["rows"]]
            frame.check(there == figures, f"{name}: {column} is {there}, printed are {figures}")


def test_every_file_is_read_and_every_rung_exists():
    listed, files = tables(), glob.glob(os.path.join(frame.ROOT, "data", "seeds", "*.json"))
    in_files = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            in_files += [table["name"] for table in json.load(file)["tables"]]
    frame.check(sorted(in_files) == sorted(listed) and len(files) >= 4, f"{in_files} in {files}, listed {list(listed)}")
    for table in listed.values():
        filter_name = table["chain"].split()[0]
        text = subprocess.run([HONE, "filters", filter_name, "--json"], capture_output=True, text=True, check=True).stdout
        rungs = {rung["name"]: rung for rung in json.loads(text)["rungs"]}
        for row in table["rows"]:
            frame.check(row["rung"] in rungs, f"{table['name']}: {filter_name} has no rung {row['rung']}")
            frame.check(row.get("twin") is None or row["twin"] in rungs, f"{table['name']}: no rung {row.get('twin')}")
            frame.check("gain" not in row or isinstance(row["gain"], list) or rungs[row["rung"]]["gain"] == row["gain"],
                        f"{table['name']}, {row['name']}: gain {row.get('gain')} and {rungs[row['rung']]['gain']}")


def check_row(row):
    frame.check(row["ran"] and row["result"] == "right", f"{row}")
    frame.check(row["ms"] > 0 and row["mp_s"] > 0 and 3 <= row["runs"] <= 15 and row["spread"] >= 0, f"{row}")
    frame.check(row["limiter"] in ("memory", "arithmetic", "latency", "launch"), f"{row}")


def test_a_table_in_its_own_order():
    [table] = measured("9-12", "--sizes", "96x64")
    rows = table["devices"][0]["rows"]
    frame.check([row["step"] for row in rows] == ["1", "16x1", "16x2"], f"{rows}")
    for row in rows:
        check_row(row)
    frame.check(rows[0]["gain"] == 1 and rows[0]["source"]["gain"] == 1, f"{rows[0]}")
    frame.check([row["loads"] for row in rows] == [9, 9 / 16, 12 / 32], "loads of a pixel: 3 each for 3 rows of 16, 4 rows of 32")
    frame.check((table["width"], table["height"], table["type"], table["channels"]) == (96, 64, "u8", 1), f"{table}")


def test_copies_to_images_stand_apart():
    [table] = measured("9.1.1", "--sizes", "256x256", "--rung", "one pass")
    [row] = table["devices"][0]["rows"]
    frame.check(row["variant"] in ("image_unorm", "image"), f"{row}")
    frame.check(row["copies_ms"] > 0 and row["loads"] > 60, f"{row}")


def test_a_row_in_another_configuration():
    [table] = measured("box size=3", "--sizes", "64x64", "--rung", "strips-8", "--config", "ROWS=16")
    [row] = table["devices"][0]["rows"]
    frame.check(row["config"].startswith("PX=8 ROWS=16 ") and row["ran"], f"{row}")
    for wrong, words in ((("--rung", "strips-8", "--rung", "strips-16"), "--config is for one row"),
                         (("--rung", "strips-8", "--config", "TALL=1"), "no tunable 'TALL'")):
        done = subprocess.run([os.path.join(frame.build(), "hone"), "bench", "box", "--config", "ROWS=16", *wrong], capture_output=True,
                              text=True, check=False, timeout=100)
        frame.check(done.returncode == 2 and words in done.stderr, f"{wrong}: {done.returncode}, {done.stderr}")


def test_passes_by_themselves():
    [table] = measured("gaussian", "--sizes", "64x64")
    passes = [len(row["passes"]) for row in table["devices"][0]["rows"]]
    frame.check(passes == [2, 4, 4], f"{passes}")
    [roofs] = measured("roofs")
    copy = roofs["roofs"][0]["value"]
    estimates = [row.get("estimate_mp_s") for row in table["devices"][0]["rows"]]
    frame.check(all(abs(estimate * 4e6 * floats / copy - 1) < 1e-6 for estimate, floats in zip(estimates, (10, 14, 14), strict=True)),
                f"{estimates}, a copy: {copy}")
    for row in table["devices"][0]["rows"]:
        frame.check(0 < sum(one["ms"] for one in row["passes"]) <= 3 * row["ms"], f"{row}")


def test_the_write_ups_own_arithmetic():
    """Its table 2 counts 14 floats, 64 operations and 4.6 of them per float; the rung counts the same of itself."""
    text = run("gaussian", "--sizes", "64x64", "--rung", "V+T+V+T")
    for words in ("there: 2030 MP/s, 14 floats moved/pixel, 64 operations/pixel, 4.6 operations per float",
                  "here: 14 floats moved/pixel, 64 operations/pixel, 4.6 operations per float"):
        frame.check(words in text, f"{words} not in {text}")


def test_gains_of_a_size_stand_beside_that_size_alone():
    text = run("9-3", "--sizes", "16x16", "--rung", "optimised")
    frame.check(re.search(r"% +\S+ +1 +6\.75 ", text) and "there    Adreno 430 (Snapdragon 810); 512x512, 1920x1080, 3264x2448" in text, text)
    text = run("9-1", "--sizes", "16x16", "--rung", "case 1")
    frame.check(re.search(r"% +\S+ +1 +2\.4 +6\.75 ", text) and "there: 1440 local bytes" in text, text)


def test_formats_sizes_and_devices():
    reported = measured("convolution", "--sizes", "48x32,64x32", "--rung", "filterImage", "--device", "0,0")
    frame.check([(t["width"], t["channels"]) for t in reported] == [(48, 3), (48, 4), (64, 3), (64, 4)], f"{reported}")
    frame.check(all(len(t["devices"]) == 2 for t in reported), "two devices")
    text = run("9-12", "--sizes", "48x32,64x32", "--rung", "1", "--device", "0,0")
    frame.check("over sizes" in text and text.count(" | ") >= 4 and "a launch alone takes" in text, text)


def test_a_filter_climbs_all_its_variants():
    text = subprocess.run([HONE, "filters", "transpose", "--json"], capture_output=True, text=True, check=True).stdout
    [table] = measured("transpose", "--sizes", "64x64", "--format", "u8")
    rows = table["devices"][0]["rows"]
    frame.check({row["variant"] for row in rows} == {variant["name"] for variant in json.loads(text)["variants"]}, f"{rows}")
    for row in rows:
        frame.check(row["ran"] or row["note"], f"{row}")
    frame.check(sum(row["ran"] for row in rows) >= 4, f"{rows}")


def test_the_hosts_clock_is_said():
    arguments = ("9-12", "--sizes", "48x32", "--rung", "1")
    frame.check("the host's clock's" in run(*arguments, HONE_TUNE_CLOCK="host"), "not said")


def test_facts_and_probes():
    [table] = measured("9-12", "--sizes", "64x48", "--rung", "16x1", "--facts", "--probe")
    [row] = table["devices"][0]["rows"]
    [facts] = row["facts"]
    frame.check(facts["kernel"] == "sobel_strips" and facts["preferred_multiple"] >= 1 and facts["local_bytes"] == 0, f"{facts}")
    frame.check((facts["registers"] is None) == ("missing" in facts), f"{facts}")
    probes = row["probes"]
    for name in ("ms", "more_arithmetic_ms", "more_loads_ms", "half_groups_ms", "cached_loads_ms"):
        frame.check(probes[name] > 0, f"{name}: {probes}")
    frame.check(probes["limiter"] == row["limiter"] and probes["advice"] and "note" not in probes, f"{row}")


def test_what_cannot_be_probed_says_so():
    """A kernel that a macro spells."""
    [table] = measured("gaussian", "--sizes", "64x64", "--rung", "V+TL+V+TL", "--probe")
    [row] = table["devices"][0]["rows"]
    frame.check(row["ran"] and "rewritten" in row["probes"]["note"], f"{row}")


def test_roofs_are_remembered():
    [first], [second] = measured("roofs"), measured("roofs")
    frame.check(first == second, "measured again")
    frame.check(len(first["roofs"]) == 14 and first["device"]["clock"] in ("device", "host"), f"{first}")
    frame.check(all(roof["value"] is None or roof["value"] > 0 for roof in first["roofs"]), f"{first}")
    known = {roof["name"]: roof["value"] for roof in first["roofs"]}
    frame.check(known["copy by buffer"] and known["arithmetic, float"] and known["launch"] < 1, f"{known}")


def test_mistakes():
    for arguments, words in ((["9-77"], ["9-1 9-2 9-3", "filters: add box"]), (["9-1", "--rung", "x"], ["case 1, case 2"]),
                             (["9-1", "--sizes", "3"], ["WIDTHxHEIGHT"]), (["9-1", "--format", "q"], ["u8, u16"]),
                             (["9-1", "--format", "u8x9"], ["1 to 4 channels"]), (["box size=0"], ["size"])):
        said = run(*arguments, status=2)
        frame.check(all(word in said for word in words), f"{arguments}: {said}")
    run("9-1", "--device", "nowhere", status=4)


def test_mistakes_are_told_before_anything_is_measured():
    page = os.path.join(DATA.name, "page.html")
    for arguments, words, status in ((["roofs", "9-77"], "9-1 9-2 9-3", 2), (["9-12", "9-1", "--rung", "16x1"], "has no step '16x1'", 2),
                                     (["9-12", "experiments"], "comes first", 2), (["experiments", "svm", "--html", page], "tables and filters", 2),
                                     (["roofs", "--html", page], "tables and filters", 2), (["--html", page], "needs a table", 2),
                                     (["9-12", "--html", os.path.join(DATA.name, "no", "page.html")], "page.html", 3)):
        result = subprocess.run([HONE, "bench", *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
        frame.check(result.returncode == status and words in result.stderr and not result.stdout, f"{arguments}: {result}")
        frame.check(not os.path.exists(page), f"{arguments}: a page all the same")


if __name__ == "__main__":
    frame.main(globals())
