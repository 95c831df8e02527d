#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests/run --changed runs, and which suites others leave out.  selection.py build=FOLDER"""

import configparser
import fnmatch
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

import frame

sys.path.insert(0, os.path.join(frame.ROOT, "tests"))
import changed  # noqa: E402

# A small project: two filters on a kit, which one reaches by another kit; tests and scripts.
TEXTS = {
    "src/filters/words.clh": "",
    "src/filters/rows.clh": '#include "filters/words.clh"\n',
    "src/filters/box/kernel.cl": '#include "filters/words.clh"\n',
    "src/filters/sobel/gpu.cl": '  # include "filters/rows.clh"\n',
    "src/filters/dot/kernel.cl": '// no #include "filters/words.clh"\n',
    "src/filters/dot/filter.c": '#include "filters/alpha.h"\n',
    "tests/unit/choose/records.c": '#include "choose/records.h"\n#include "support.h"\n',
    "tests/unit/choose/lookup.c": '#include "choose/lookup.h"\n#include "choose/records.h"\n',
    "tests/unit/base/text.c": '#include "base/text.h"\n',
    "tests/unit/plan/plan.c": '#include "hone/plan.h"\n',
    "tests/check/media/pictures.py": "import frame\nfrom place import Place\n",
    "tests/check/media/pages.py": "import frame\nfrom pictures import Here\n",
    "tests/check/command/output.py": "import frame\nfrom place import Place\n",
    "tests/check/oracles/oracles_box.py": 'import frame\nbridge.apply("box size=3", image)\n',
    "tests/check/oracles/oracles_edges.py": 'import frame\nbridge.apply("box | sobel", image)\n',
}


def answer(*paths):
    found = changed.touched(paths, TEXTS)
    return found.suites - set(changed.ALWAYS), found.subjects, found.fast


def expect(paths, suites, subjects=(), fast=False):
    got, wanted = answer(*paths), (set(suites), set(subjects), fast)
    frame.check(got == wanted, f"{paths} touch {got}, not {wanted}")


def test_a_filter_s_folder_touches_its_variants_and_oracles():
    expect(["src/filters/sobel/gpu.cl"], ["check-oracles_edges"], ["sobel", "sobel.*"])
    expect(["src/filters/box/reference.c"], ["check-oracles_box"], ["box", "box.*"])
    expect(["src/filters/new/filter.c"], [], ["new", "new.*"])
    expect(["src/filters/box/README.md"], ["check-documents"])


def test_a_kit_touches_the_filters_that_include_it():
    expect(["src/filters/rows.clh"], ["check-oracles_edges"], ["sobel", "sobel.*"])
    expect(["src/filters/words.clh"], ["check-oracles_box", "check-oracles_edges"], ["box", "box.*", "sobel", "sobel.*"])
    expect(["src/filters/alpha.c"], [], ["dot", "dot.*"])
    expect(["src/filters/unused.clh"], [], fast=True)


def test_a_test_touches_its_suite():
    expect(["tests/unit/plan/plan.c"], ["unit-plan", "unit-plan-rusticl"])
    expect(["tests/media/files.c"], ["media-files", "media-files-rusticl"])
    expect(["tests/check/command/output.py"], ["check-output"])
    expect(["tests/check/media/pictures.py"], ["check-pages", "check-pictures"])
    expect(["tests/check/place.py"], ["check-place", "check-output", "check-pages", "check-pictures"])


def test_a_source_touches_the_units_that_include_it():
    expect(["src/choose/lookup.c"], ["unit-lookup"])
    expect(["src/choose/records.c"], ["unit-lookup", "unit-records"])
    expect(["src/choose/trust.c"], ["unit-lookup", "unit-records"])
    expect(["src/choose/lookup/tables.c"], ["unit-lookup"])
    expect(["src/plan/run.c"], ["unit-plan"])
    expect(["src/stream/ring.c"], [], fast=True)
    expect(["src/base/text.h"], ["unit-text"], fast=True)


def test_what_is_not_known_touches_the_fast_tier():
    for path in ("CMakeLists.txt", "tests/support.c", "data/shipped.json"):
        expect([path], [], fast=True)
    expect(["CMakeLists.txt", "tests/unit/plan/plan.c"], ["unit-plan", "unit-plan-rusticl"], fast=True)
    frame.check(changed.touched(["LICENSE"], TEXTS).suites == set(changed.ALWAYS), "the rules are always checked")
    frame.check(changed.touched([], TEXTS) == changed.Touched(set(), set(), False), "nothing touches nothing")


def suites_of(*tiers):
    listed = subprocess.run([os.path.join(frame.ROOT, "tests", "run"), "--tier", ",".join(tiers), "--list"], check=True,
                            capture_output=True, text=True).stdout
    return [line.split()[1] for line in listed.splitlines()]


def test_a_sweep_is_left_out_beside_one_that_does_more():
    frame.check("harness" in suites_of("fast"), "the fast tier sweeps")
    both = suites_of("fast", "full")
    frame.check("harness" not in both and {"harness-tiny", "harness-optimized", "harness-rusticl"} <= set(both), f"{both}")
    every = suites_of("fast", "full", "all")
    frame.check(not {"harness", "harness-tiny", "harness-optimized", "harness-rusticl"} & set(every), f"{every}")
    frame.check(set(suites_of("full")) == set(both) - set(suites_of("fast")), "nothing else is left out")


def test_what_a_suite_leaves_is_that_of_its_rest():
    suites = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    suites.read(os.path.join(frame.ROOT, "tests", "suites.ini"), encoding="utf-8")
    left = suites["harness-oclgrind"]["without"].split()
    listed = subprocess.run([os.path.join(frame.ROOT, "tests", "run"), "--list", "harness-oclgrind-heavy"], check=True,
                            capture_output=True, text=True).stdout.split()
    frame.check(left and listed == ["all", "harness-oclgrind-heavy", *sorted(left)], f"{listed} are not the rest, {left}")
    harness = subprocess.run([os.path.join(frame.build(), "tests", "harness"), "--list"], check=True, capture_output=True, text=True).stdout.split()
    frame.check(set(left) <= set(harness), f"there are no {set(left) - set(harness)}")


def test_a_tool_that_fails_is_tried_again():
    """What LeakSanitizer does to itself is no verdict; a leak is one, and so is what it does each time."""
    loader = importlib.machinery.SourceFileLoader("runner", os.path.join(frame.ROOT, "tests", "run"))
    spec = importlib.util.spec_from_loader("runner", loader)
    runner = sys.modules["runner"] = importlib.util.module_from_spec(spec)
    loader.exec_module(runner)
    fatal = "echo 'LeakSanitizer has encountered a fatal error'; echo 'not ok leaks: status 1'; exit 1"
    for script, failures, runs in ((f"echo x >>runs; [ $(wc -l <runs) = 2 ] || {{ {fatal}; }}; echo 'ok leaks'", 0, 2),
                                   (f"echo x >>runs; {fatal}", 1, 3), ("echo x >>runs; echo 'not ok leaks: 8 bytes'; exit 1", 1, 1)):
        with tempfile.TemporaryDirectory() as folder:
            suite = runner.Suite("tool", ["/bin/sh", "-c", f"cd {folder}; {script}"], [{}], 20, False, "fast", [], "", False, "")
            outcome = runner.Outcome(runner.Job(suite, [], "tool"))
            runner.run_once(outcome.job, outcome, folder, {})
            with open(os.path.join(folder, "runs"), encoding="ascii") as file:
                ran = len(file.readlines())
        frame.check((len(outcome.failures), ran) == (failures, runs), f"{script}: {outcome.failures} after {ran} runs")


def test_named_suites_exist():
    names = suites_of("fast") + suites_of("full") + suites_of("all")
    for pattern in [changed.FILTER_SUITE, *changed.ALWAYS, *(word for _, words in changed.TABLE for word in words.split())]:
        frame.check(fnmatch.filter(names, pattern), f"there is no suite {pattern}")


def test_git_names_what_differs():
    def git(*arguments):
        subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True, capture_output=True)

    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    with tempfile.TemporaryDirectory(prefix="hone-selection-") as folder:
        git("init", "-q", "-b", "main")
        for name in ("kept", "gone", "edited", "committed"):
            write(name, "1")
        write(".gitignore", "ignored\n")
        git("add", "-A")
        git("commit", "-qm", "first")
        frame.check(changed.changed_files(folder, "") == [], "a clean tree")
        git("update-ref", "refs/remotes/origin/main", "HEAD")
        write("committed", "2")
        git("commit", "-qam", "second")
        write("edited", "2")
        write("two words", "")
        write("ignored", "")
        os.remove(os.path.join(folder, "gone"))
        got = changed.changed_files(folder, "")
        frame.check(got == ["committed", "edited", "gone", "two words"], f"since origin/main: {got}")
        got = changed.changed_files(folder, "HEAD")
        frame.check(got == ["edited", "gone", "two words"], f"since HEAD: {got}")
        try:
            changed.changed_files(folder, "no-such-commit")
        except ValueError as error:
            frame.check("no-such-commit" in str(error), f"{error}")
        else:
            raise AssertionError("a base that there is not is taken")


if __name__ == "__main__":
    frame.main(globals())
