#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone bench experiments: every arm is right where it must be, and a wrong one is seen.  experiments.py build=FOLDER"""

import json
import os
import re
import subprocess
import tempfile

import frame

BUILD = frame.build()
HONE = os.path.join(BUILD, "hone")
# Of each kind, what is compiled soon.
SOME = ["registers", "recursion-columns", "bayer", "zero-copy"]
ALL = os.environ.get("HONE_TEST_EFFORT") == "all"
DATA = tempfile.TemporaryDirectory(prefix="hone-experiments-")
# Compiling takes PoCL a tenth of the time where it need not optimise; nothing here is about times.
LAYER = {"OPENCL_LAYERS": os.path.join(BUILD, "tests", "layer.so"), "LAYER_OPTIONS": "-cl-opt-disable"}
ENVIRONMENT = {**os.environ, "XDG_DATA_HOME": DATA.name, **LAYER}


def run(*arguments, status=0, **changes):
    result = subprocess.run([HONE, "bench", "experiments", *arguments], capture_output=True, text=True, check=False,
                            env={**ENVIRONMENT, **changes})
    frame.check(result.returncode == status, f"{arguments} ends with {result.returncode}, not {status}: "
                                             f"{result.stdout[-300:]}{result.stderr[-600:]}")
    return result


def measured(*arguments, **changes):
    return json.loads(run(*arguments, "--json", **changes).stdout)


def test_all_agree_where_they_must():
    wanted = [] if ALL else SOME
    reported = measured(*wanted, "--sizes", "80x64")
    frame.check(len(reported) >= (len(wanted) or 15), f"{len(reported)} experiments")
    for experiment in reported:
        frame.check(len(experiment["arms"]) >= 2 and experiment["question"] and experiment["seen"], f"{experiment}")
        frame.check((experiment["width"], experiment["height"]) == (80, 64), f"{experiment}")
        for arm in experiment["arms"]:
            name = f"{experiment['experiment']}, {arm['arm']}: {arm}"
            frame.check(arm["ran"], name)
            wanted = "unchecked" if "differs" in arm or arm["arm"].endswith(" C") else "right"
            frame.check(arm["result"] == wanted and arm["ms"] > 0 and arm["turns"] >= 1, name)
        frame.check(experiment["arms"][0]["gain"] == 1, f"{experiment['arms'][0]}")


def test_what_must_differ_does():
    """A window that misses its neighbours' pixels cannot come out right."""
    if not ALL:
        return
    [experiment] = measured("local-memory", "--sizes", "64x48")
    arms = {arm["arm"]: arm for arm in experiment["arms"]}
    frame.check(arms["local, no tests"]["largest_difference"] > 100, f"{arms['local, no tests']}")
    frame.check(arms["local"]["largest_difference"] == 0, f"{arms['local']}")


def test_a_wrong_arm_is_seen():
    """Indices of 8 bits, put behind what the arms are compiled with, on a picture that is wider."""
    narrow = {"LAYER_OPTIONS": "-cl-opt-disable -DINDEX=uchar"}
    [experiment] = json.loads(run("indices", "--sizes", "272x16", "--json", status=1, **narrow).stdout)
    frame.check({arm["result"] for arm in experiment["arms"]} == {"wrong"}, f"{experiment['arms']}")
    frame.check("WRONG" in run("indices", "--sizes", "272x16", status=1, **narrow).stdout, "not said")


def test_mistakes():
    for arguments, words in ((["nothing"], ["local-memory", "zero-copy"]), (["svm", "--sizes", "100x64"], ["multiples of 16"]),
                             (["svm", "--sizes", "x"], ["WIDTHxHEIGHT"]), (["svm", "--sizes", "16x16"], ["at least 64x64"]),
                             (["rainbow", "--sizes", "32x32"], ["begins with 64x64"])):
        said = run(*arguments, status=2).stderr
        frame.check(all(word in said for word in words), f"{arguments}: {said}")


def test_the_document_has_every_experiment():
    listed = subprocess.run([HONE, "bench"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^   (\S+)", listed.split("experiments  ")[1], re.MULTILINE)
    frame.check(len(names) >= 15, f"{names}")
    for page in ("experiments.md", "guide-map.md"):
        with open(os.path.join(frame.ROOT, "docs", page), encoding="utf-8") as file:
            text = file.read()
        for name in names:
            frame.check(f"`{name}`" in text or f"experiments {name}`" in text, f"docs/{page} does not name {name}")


if __name__ == "__main__":
    frame.main(globals())
