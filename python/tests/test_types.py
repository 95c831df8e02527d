# SPDX-License-Identifier: BSD-2-Clause
"""The type stubs: as the registry is, and what mypy makes of them."""

import inspect
import os
import subprocess
import sys

import pytest

import hone

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.abspath(hone.__file__))

RIGHT = """
import pathlib
import hone
import numpy
image = numpy.zeros((5, 6), numpy.uint8)
hone.gaussian(image, sigma=3, border="wrap", border_value="50%")
hone.add(image, image, out=image, axes="YX", device="cpu")
plan = hone.Plan("box", like=image)
plan.set("box.size", 3)
hone.convolve(image, kernel=pathlib.Path("blur.txt"))
glow = hone.load(pathlib.Path("glow.cl"))
report = hone.last_report()
if report is not None:
    print(report.copied, report.device["name"])
"""
WRONG = ['hone.gaussian(1, sigmma=3)', 'hone.gaussian(1, border="x")', 'hone.add(1)', 'hone.box(1, size="large")',
         'hone.apply(3, 4)', 'hone.last_report().copied']


def test_stubs_are_those_of_the_registry(tmp_path):
    made = tmp_path / "made.pyi"
    subprocess.run([sys.executable, os.path.join(HERE, "stubs.py"), str(made)], check=True)
    with open(os.path.join(PACKAGE, "__init__.pyi"), encoding="utf-8") as file:
        assert file.read() == made.read_text(encoding="utf-8"), "run python/tests/stubs.py python/hone/__init__.pyi"


def test_stubs_name_what_is_public():
    with open(os.path.join(PACKAGE, "__init__.pyi"), encoding="utf-8") as file:
        text = file.read()
    for name in hone.__all__:
        assert f"def {name}(" in text or f"class {name}" in text, name


def test_stubs_have_the_parameters_of_the_functions():
    for name in hone.__all__:
        thing = getattr(hone, name)
        assert thing.__doc__, name
        if inspect.isfunction(thing):
            inspect.signature(thing)


def mypy(path, text):
    path.write_text(text, encoding="utf-8")
    environment = {**os.environ, "MYPYPATH": os.path.dirname(PACKAGE)}
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(path.parent / "cache"), str(path)],
                          env=environment, capture_output=True, text=True, check=False)


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    result = mypy(tmp_path / "right.py", RIGHT)
    assert result.returncode == 0, result.stdout + result.stderr
    result = mypy(tmp_path / "wrong.py", "import hone\n" + "\n".join(WRONG) + "\n")
    for line in range(2, 2 + len(WRONG)):
        assert f"wrong.py:{line}: error" in result.stdout, f"{WRONG[line - 2]}: {result.stdout}"
