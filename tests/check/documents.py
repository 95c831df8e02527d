#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The documents are true: links lead somewhere, commands and options exist, and the filter that
docs/adding-a-filter.md adds works as it stands there.  documents.py build=FOLDER"""

import glob
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


def run(*command, folder=None):
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
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
    declared = "".join(read(path) for pattern in ("include/hone/*.h", "src/*/*.h", "src/*/*.clh")
                       for path in glob.glob(os.path.join(frame.ROOT, pattern)))
    for document in DOCUMENTS:
        for name in re.findall(r"`(hone_\w+)`", read(document)):
            frame.check(re.search(rf"\b{name}\b", declared), f"{os.path.basename(document)}: there is no {name}")


def test_the_filter_of_the_document_works():
    text = read("docs/adding-a-filter.md")
    files = re.findall(r"^`(src/filters/invert/[\w.]+)`:\n\n```c\n(.*?)```$", text, re.S | re.M)
    frame.check(len(files) == 4, f"the document shows {[name for name, _ in files]}")
    with tempfile.TemporaryDirectory(prefix="hone-documents-") as folder:
        tree, build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        shutil.copytree(frame.ROOT, tree, ignore=shutil.ignore_patterns("build", "build-*", "demo", ".git", "__pycache__"))
        os.makedirs(os.path.join(tree, "src/filters/invert"))
        for name, content in files:
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(content)
        run("cmake", "-G", "Ninja", "-S", tree, "-B", build, "-DBUILD_TESTING=OFF")
        run("ninja", "-C", build, "-j2", "hone_command")
        hone = os.path.join(build, "hone")
        frame.check("rows per work-item" in run(hone, "filters", "invert"), "hone filters invert")
        report = run(hone, "doctor", "--device", "0")
        frame.check(re.search(r"ok +invert: right in (\d+) of \1 cases", report), f"the doctor says {report}")


if __name__ == "__main__":
    frame.main(globals())
