#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Python package: its module is built here around the build folder's libhone.a, and pytest runs python/tests with it.
python.py build=FOLDER"""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import frame

SOURCE = os.path.join(frame.ROOT, "python")
ALL_SKIPPED = 5  # of pytest, where all of a file is skipped
HANGS = 900  # seconds of the clock that no command takes, on the slowest machine
_folder = tempfile.TemporaryDirectory()  # ends with the script


def left_out(what):
    """Not installed is not wrong: scripts/setup.sh python installs all."""
    raise frame.Skip(f"left out: {what} is not installed (scripts/setup.sh python)")


def run(*command, accepted=(0,), **options):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANGS, **options)
    except subprocess.TimeoutExpired as late:
        tail = b"".join((late.stdout or b"", late.stderr or b""))[-8000:].decode(errors="replace")
        frame.check(False, f"{' '.join(command[:4])} is not done after {HANGS} s:\n{tail}")
    output = result.stdout + result.stderr
    if result.returncode not in accepted:
        print("\n".join("# " + line for line in output.splitlines()[-80:]))
    frame.check(result.returncode in accepted, f"{' '.join(command[:4])} ended with {result.returncode}: {output[-300:]}")
    return output


@functools.cache
def package():
    """The folder with the installed package; None without Python's headers."""
    built, installed = os.path.join(_folder.name, "build"), os.path.join(_folder.name, "installed")
    if subprocess.run([f"{sys.executable}-config", "--includes"], capture_output=True, check=False).returncode:
        return None
    run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", built, f"-DHONE_BUILD={frame.build()}", "-DCMAKE_C_FLAGS=-Werror",
        f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_INSTALL_PREFIX={installed}")
    run("ninja", "-C", built)
    run("cmake", "--install", built, "--component", "python")
    shutil.copytree(os.path.join(SOURCE, "hone"), os.path.join(installed, "hone"), dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("__pycache__"))
    return installed


def environment():
    folder = package()
    if folder is None:
        left_out("python3-dev")
    return {**os.environ, "PYTHONPATH": folder, "HONE_COMMAND": os.path.join(frame.build(), "hone")}


def pytest(name):
    with_package = environment()
    if subprocess.run([sys.executable, "-c", "import pytest, numpy"], capture_output=True, check=False).returncode:
        left_out("python3-pytest or python3-numpy")
    output = run(sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=250",
                 f"{name}.py", cwd=os.path.join(SOURCE, "tests"), env=with_package, accepted=(0, ALL_SKIPPED))
    for place, reason in re.findall(r"^SKIPPED \[\d+\] (\S+?:\d+): (?:left out: |Skipped: )?(.*)", output, re.M):
        print(f"skip {place.replace(':', '.')}: left out: {reason}")


def add_pytests():
    """A test for each file, so that what fails has a name."""
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests", "test_*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        globals()["test_" + name[5:]] = functools.partial(pytest, name)


def test_builds_with_the_library_inside():
    """The path of `pip install ./python`, as far as configuring goes: compiling all again would take minutes."""
    environment()
    run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", os.path.join(_folder.name, "whole"), f"-DPython_EXECUTABLE={sys.executable}")


def test_without_an_opencl_loader_there_is_advice():
    """The module's library is asked for by another name, which nothing has."""
    folder = os.path.join(_folder.name, "lost")
    with_package = dict(environment(), PYTHONPATH=folder)
    shutil.copytree(os.path.join(package(), "hone"), os.path.join(folder, "hone"))
    module = glob.glob(os.path.join(folder, "hone", "_hone*.so"))[0]
    with open(module, "r+b") as file:
        bytes_ = file.read()
        frame.check(b"libOpenCL.so.1\0" in bytes_, "the module does not ask for libOpenCL.so.1")
        file.seek(0)
        file.write(bytes_.replace(b"libOpenCL.so.1\0", b"libOpenCL.so.9\0"))
    result = subprocess.run([sys.executable, "-c", "import hone"], env=with_package, capture_output=True, text=True, check=False)
    frame.check(result.returncode == 1 and "apt install ocl-icd-libopencl1" in result.stderr, result.stderr)


def test_only_the_limited_api_is_used():
    """Every name that the module takes from Python is one of the stable ABI, or of the buffer protocol."""
    environment()
    module = glob.glob(os.path.join(package(), "hone", "_hone.abi3.so"))
    frame.check(len(module) == 1, f"the module's name must say abi3: {module}")
    names = {line.split()[-1] for line in run("nm", "-D", "--undefined-only", module[0]).splitlines()}
    private = {name for name in names if name.startswith("_Py") and not name.endswith("_SizeT") and name not in (
        "_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_Py_Dealloc")}
    frame.check(not private and "PyModule_Create2" in names, f"private names: {private}")
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", module[0]).splitlines()}
    frame.check(exported == {"PyInit__hone"}, f"exported: {exported}")


add_pytests()
frame.main(globals())
