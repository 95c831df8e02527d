# SPDX-License-Identifier: BSD-2-Clause
"""The type stubs: as the registry is, and what mypy makes of them."""

import ast
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
DASK_RIGHT = """
import hone.dask
array, axes = hone.dask.open("plate.zarr")
edges, axes = hone.dask.apply("sobel", array, axes=axes, filters=["./glow.cl"], with_axes=True)
axes.lower()
hone.dask.apply("add", array, array).compute()
hone.dask.save(edges, "edges.zarr", axes, pixels=hone.dask.pixels_of("plate.zarr"))
for name, why in hone.dask.apply_files("box", "in", "out", None, options=["--format", "png"]):
    print(name.upper(), isinstance(why, hone.dask.Skipped))
"""
DASK_WRONG = ['hone.dask.apply("box", 1, axis="YX")', 'hone.dask.apply(1, 1)', 'hone.dask.save(1)', 'hone.dask.open(3)',
              'hone.dask.pixels_of("x").x', 'hone.dask.apply("box", 1, with_axes=True).compute()']
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


def test_stubs_of_dask_have_the_parameters_of_the_functions():
    dask = pytest.importorskip("hone.dask")
    with open(os.path.join(PACKAGE, "dask", "__init__.pyi"), encoding="utf-8") as file:
        parts = ast.parse(file.read()).body
    stubs = {part.name: part for part in parts if isinstance(part, (ast.FunctionDef, ast.ClassDef))}
    assert set(stubs) == set(dask.__all__)
    for name, stub in stubs.items():
        if isinstance(stub, ast.FunctionDef):
            arguments = stub.args
            names = [one.arg for one in [*arguments.args, *([arguments.vararg] if arguments.vararg else []), *arguments.kwonlyargs]]
            assert names == list(inspect.signature(getattr(dask, name)).parameters), name


def mypy(path, text):
    path.write_text(text, encoding="utf-8")
    environment = {**os.environ, "MYPYPATH": os.path.dirname(PACKAGE)}
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(path.parent / "cache"), str(path)],
                          env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module, right, wrong", [("hone", RIGHT, WRONG), ("hone.dask", DASK_RIGHT, DASK_WRONG)],
                         ids=["hone", "dask"])
def test_mypy(tmp_path, module, right, wrong):
    pytest.importorskip("mypy")
    pytest.importorskip(module)
    result = mypy(tmp_path / "right.py", right)
    assert result.returncode == 0, result.stdout + result.stderr
    result = mypy(tmp_path / "wrong.py", f"import {module}\n" + "\n".join(wrong) + "\n")
    for line in range(2, 2 + len(wrong)):
        assert f"wrong.py:{line}: error" in result.stdout, f"{wrong[line - 2]}: {result.stdout}"
