#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The filter that docs/adding-a-filter.md adds works as it stands there: builds hone with it.  adding.py"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import frame


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    frame.check(result.returncode == 0, f"{' '.join(command)}: {result.stdout[-600:]}{result.stderr[-600:]}")
    return result.stdout


def test_the_filter_of_the_document_works():
    with open(os.path.join(frame.ROOT, "docs", "adding-a-filter.md"), encoding="utf-8") as file:
        text = file.read()
    files = re.findall(r"`((?:src|tests)/[\w./]+)`:\n\n```(?:c|python)\n(.*?)```$", text, re.S | re.M)
    frame.check(len(files) == 4, f"the document shows {[name for name, _ in files]}")
    with tempfile.TemporaryDirectory(prefix="hone-documents-") as folder:
        tree, build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        shutil.copytree(frame.ROOT, tree, ignore=shutil.ignore_patterns("build", "build-*", "demo", ".git", "__pycache__"),
                        symlinks=True)
        os.makedirs(os.path.join(tree, "src/filters/invert"))
        for name, content in files:
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(content)
        run("cmake", "-G", "Ninja", "-S", tree, "-B", build, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0",
            "-DHONE_MEDIA=OFF", "-DHONE_GST=OFF")  # filters need neither
        run("ninja", "-C", build, "-j2", "hone_command", "libhone.so")
        hone = os.path.join(build, "hone")
        frame.check("rows per work-item" in run(hone, "filters", "invert", "-v"), "hone filters invert")
        report = run(hone, "doctor", "invert", "--device", "0")
        frame.check(re.search(r"ok +invert: right in 1 case\b", report), f"the doctor says {report}")
        run(sys.executable, os.path.join(tree, "tests/check/oracles/oracles_invert.py"), f"build={build}")


if __name__ == "__main__":
    frame.main(globals())
