#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The build sees filters and kernels come and go, in any order.  registry.py"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile

import frame

KERNEL = "__kernel void late_rows(__global uchar *out) { out[0] = 0; }\n"


class Tree:
    """A copy of the sources, with one filter, and a build folder. Nothing is compiled in it."""

    def __init__(self, folder):
        self.source, self.build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        shutil.copytree(frame.ROOT, self.source, ignore=shutil.ignore_patterns("build*", "demo", ".git", "__pycache__"))
        for name in os.listdir(os.path.join(self.source, "src", "filters")):
            if name != "box":
                self.remove(name)
        run("cmake", "-G", "Ninja", "-S", self.source, "-B", self.build)

    def write(self, name, text):
        path = os.path.join(self.source, "src", "filters", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self, name):
        path = os.path.join(self.source, "src", "filters", name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)

    def registry(self):
        """The filters that `ninja` registers now, each with its kernel files."""
        run("ninja", "-C", self.build, "generated/registry_table.c")
        with open(os.path.join(self.build, "generated", "registry_table.c"), encoding="utf-8") as file:
            text = file.read()
        return {name: re.findall(rf'^    {{"filters/{name}/([\w.]+)",', text, re.M)
                for name in re.findall(r"^    &hone_filter_(\w+),", text, re.M)}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    frame.check(result.returncode == 0, f"{' '.join(command)}: {result.stdout[-600:]}{result.stderr[-600:]}")


@contextlib.contextmanager
def tree():
    with tempfile.TemporaryDirectory(prefix="hone-registry-") as folder:
        yield Tree(folder)


def test_filters_and_kernels_come_and_go():
    with tree() as copy:
        before = copy.registry()
        frame.check(list(before) == ["box"] and "kernel.cl" in before["box"], f"the registry begins as {before}")
        copy.write("late/kernel.cl", KERNEL)
        frame.check(copy.registry() == before, "a kernel without a description is registered")
        copy.write("late/filter.c", "")
        frame.check(copy.registry() == {**before, "late": ["kernel.cl"]}, "a description that came after its kernel is missed")
        copy.write("late/fast.cl", KERNEL)
        frame.check(copy.registry()["late"] == ["fast.cl", "kernel.cl"], "a second kernel file is missed")
        copy.remove("late/fast.cl")
        frame.check(copy.registry()["late"] == ["kernel.cl"], "a kernel file that went is still there")
        copy.remove("late")
        frame.check(copy.registry() == before, "a filter that went is still registered")


if __name__ == "__main__":
    frame.main(globals())
