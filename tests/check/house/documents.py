#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The documents are true: links lead somewhere, commands, options and functions exist.  documents.py build=FOLDER"""

import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import frame

DOCUMENTS = sorted(glob.glob(os.path.join(frame.ROOT, "*.md")) + glob.glob(os.path.join(frame.ROOT, "docs", "*.md")))


def read(path):
    with open(os.path.join(frame.ROOT, path), encoding="utf-8") as file:
        return file.read()


def run(*command):
    """What a command prints where there is no device: a driver would compile what hone chooses there."""
    result = subprocess.run(command, capture_output=True, text=True, check=False,
                            env={**os.environ, "OCL_ICD_VENDORS": "/nonexistent"})
    frame.check(result.returncode == 0, f"{' '.join(command)}: {result.stdout[-600:]}{result.stderr[-600:]}")
    return result.stdout


def test_links_lead_somewhere():
    count = 0
    for document in DOCUMENTS:
        for link in re.findall(r"\]\(([^)#]+)\)", read(document)):
            count += 1
            target = os.path.join(os.path.dirname(document), link)
            frame.check("://" in link or os.path.exists(target), f"{os.path.basename(document)} links to {link}")
    frame.check(count >= 10, f"only {count} links were found")


def test_commands_and_options_exist():
    hone = os.path.join(frame.build(), "hone")
    helps, count = {}, 0
    for document in DOCUMENTS:
        for line in re.findall(r"^    .*", read(document), re.M):
            for command, rest in re.findall(r"(?:^|[ /])hone ([a-z]+)([^#]*)", line):
                count += 1
                if command not in helps:
                    helps[command] = run(hone, command, "--help")
                for option in re.findall(r" (--?[a-z][a-z-]*)", rest):
                    known = re.search(rf"(^|[ ,]){option}\b", helps[command], re.M)
                    frame.check(known, f"{os.path.basename(document)}: hone {command} has no option {option}")
    frame.check(count >= 8, f"only {count} commands were found")


def test_statuses_are_documented():
    text = read("docs/errors.md")
    statuses = re.findall(r"^    (HONE_\w+) = (\d)", read("include/hone/status.h"), re.M)
    frame.check(len(statuses) >= 9, f"statuses: {statuses}")
    for name, number in statuses:
        frame.check(f"`{name}` {number} " in text, f"docs/errors.md does not have {name} {number}")


def test_functions_in_documents_exist():
    declared = "".join(read(path) for pattern in ("include/hone/*.h", "src/*/*.h", "src/*/*.clh", "src/*/own/*.clh")
                       for path in glob.glob(os.path.join(frame.ROOT, pattern)))
    for document in DOCUMENTS:
        for name in re.findall(r"`(hone_\w+)`", read(document)):
            frame.check(re.search(rf"\b{name}\b", declared), f"{os.path.basename(document)}: there is no {name}")


# ---- docs/guide-map.md ----

def kernels_with(pattern):
    paths = glob.glob(os.path.join(frame.ROOT, "src/filters/**/*.cl*"), recursive=True)
    return {os.path.relpath(path, frame.ROOT) for path in paths if re.search(pattern, read(path))}


def named_kernels(section):
    """The kernel files, and what they include, in a section's line."""
    line = next(line for line in read("docs/guide-map.md").splitlines() if line.startswith(f"| {section} |"))
    return set(re.findall(r"`(src/filters/[\w/]+\.clh?)`", line))


def test_the_page_of_measurements_is_its_tables():
    """bench/digest would write what stands there; where a figure is another one, it says so."""
    files = {name: read(name) for name in ("README.md", "docs/measurements.md", "docs/measurements-tables.md")}
    changes = [(None, "", ""), ("README.md", "1760 billion", "1761 billion"),
               ("docs/measurements.md", "| `box size=8` | u8 x1 | 1760 |", "| `box size=8` | u8 x1 | 1770 |"),
               ("docs/measurements-tables.md", "opencv 3.14 (5.39x)", "opencv 3.14 (4.39x)")]
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/docs")
        shutil.copytree(os.path.join(frame.ROOT, "bench"), folder + "/bench")
        for changed, old, new in changes:
            for name, text in files.items():
                frame.check(changed != name or old in text, f"{name} has no {old}")
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new) if changed == name else text)
            result = subprocess.run([folder + "/bench/digest", "--check"], capture_output=True, text=True, check=False)
            frame.check((result.returncode, bool(result.stderr)) == ((1, True) if changed else (0, False)), f"{changed}: {result}")


def test_guide_map_names_what_exists():
    for path in re.findall(r"`((?:src|tests|bench|include)/[\w./-]+)`", read("docs/guide-map.md")):
        frame.check(os.path.exists(os.path.join(frame.ROOT, path)), f"docs/guide-map.md: there is no {path}")


def test_guide_map_rungs_exist():
    """`a`, `b` and `c` of `filter` are its variants, rungs or tunables."""
    hone, count, known = os.path.join(frame.build(), "hone"), 0, {}
    names = "|".join(os.path.basename(path) for path in glob.glob(os.path.join(frame.ROOT, "src/filters/*")))
    for words, name in re.findall(rf"((?:`[\w+-]+`(?:, | and ))*`[\w+-]+`) of `({names})`", read("docs/guide-map.md")):
        if name not in known:
            described = json.loads(run(hone, "filters", name, "--json"))
            known[name] = {one["name"] for key in ("variants", "rungs") for one in described[key]}
            known[name] |= {tunable["name"] for one in described["variants"] for tunable in one["tunables"]}
        for word in re.findall(r"`([\w+-]+)`", words):
            count += 1
            frame.check(word in known[name], f"docs/guide-map.md: {name} has no variant, rung or tunable {word}")
    frame.check(count >= 40, f"only {count} names were found")


def test_guide_map_counts_barriers_and_attributes():
    frame.check(named_kernels("6.4") == kernels_with(r"\bbarrier\("), "docs/guide-map.md 6.4: other files have barriers")
    frame.check(named_kernels("6.2") == kernels_with("reqd_work_group_size|work_group_size_hint|vec_type_hint"),
                "docs/guide-map.md 6.2: other files have attributes")
    frame.check(named_kernels("8.3") == kernels_with(r"\bnative_(recip|r?sqrt|divide|exp|log|pow|sin|cos|tan)"),
                "docs/guide-map.md 8.3: other files call native functions")
    described = glob.glob(os.path.join(frame.ROOT, "src/filters/*/filter.c"))
    having = sorted(path.split("/")[-2] for path in described if re.search(r"\.options\s*=", read(path)))
    frame.check(having == ["box", "density", "gaussian", "integral", "sobel"],
                "docs/guide-map.md 8.2: another filter has a variant with options")


def test_guide_map_has_every_chapter():
    text = read("docs/guide-map.md")
    for section in ("2.1 to 2.3", "3.2.2", "3.2.4", "3.4", "3.6", "4.1", "4.2", "4.4.4", "5.2", "5.3", "5.4", "5.5", "5.6.2"):
        frame.check(f"| {section} |" in text, f"docs/guide-map.md has no line for {section}")


if __name__ == "__main__":
    frame.main(globals())
