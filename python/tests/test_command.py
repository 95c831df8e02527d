# SPDX-License-Identifier: BSD-2-Clause
"""What the command does: doctor, tune, kernels of one's own."""

import math
import os
import subprocess
import sys

import numpy
import pytest

import hone
import hone._command

try:
    hone._command.path()
except hone.UnsupportedError:
    pytest.skip("the command `hone` is not installed", allow_module_level=True)

VADD = """
kernel void vadd(global float *c, global const float *a, global const float *b, int n)
{
    int i = get_global_id(0) * PER;
    for (int k = 0; k < PER; k++)
        if (i + k < n)
            c[i + k] = a[i + k] + (WRONG ? 1 : b[i + k]);
}
"""


@pytest.fixture(autouse=True)
def own_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_doctor():
    report = hone.doctor("transpose")
    assert {finding["subject"] for finding in report["findings"]} >= {"libOpenCL", "transpose"}
    with pytest.raises(hone.UsageError, match="no-such-filter"):
        hone.doctor("no-such-filter")


def test_tune():
    [case] = hone.tune("transpose", size=(64, 48), format="u8", channels=1, evaluations=2)
    assert case["case"]["filter"] == "transpose" and case["ranked"][0]["ms"] > 0
    with pytest.raises(hone.UsageError, match="no filter"):
        hone.tune("no-such-filter")


def test_tune_takes_what_numpy_has():
    for kind in ("uint16", numpy.uint16, numpy.dtype(">u2")):
        [case] = hone.tune("transpose", size=numpy.array([64, 48]), format=kind, channels=1, evaluations=2, variant=["vectors", "naive"])
        assert (case["case"]["type"], case["case"]["width"], case["case"]["height"]) == ("u16", 64, 48)
        assert {one["variant"] for one in case["ranked"]} <= {"vectors", "naive"}
    with pytest.raises(hone.UsageError, match="float64"):
        hone.tune("transpose", size=(64, 48), format="float64")


def test_tune_kernel(random, tmp_path):
    a, b = random.random((2, 4000), dtype=numpy.float32)
    c = numpy.zeros_like(a)
    results, environment = hone.tune_kernel(
        "vadd", VADD, a.size, [c, a, b, numpy.int32(a.size)],
        {"block_size_x": [32, 64], "PER": [1, 2], "WRONG": [0, 1]}, grid_div_x=["block_size_x", "PER"],
        restrictions=["block_size_x * PER <= 64 and PER > 0"], answer=[a + b, None, None, None], atol=1e-6,
        output=tmp_path / "t4.json")
    assert os.path.exists(tmp_path / "t4.json") and environment["t4"]["schema_version"]
    assert environment["best_config"]["WRONG"] == 0 and environment["best_time"] > 0
    assert {(row["block_size_x"], row["PER"]) for row in results} <= {(32, 1), (32, 2), (64, 1)}
    assert all(row["block_size_x"] * row["PER"] <= 64 for row in results) and len(results) > 1
    wrong = [row for row in results if row["WRONG"]]
    assert wrong and all(math.isnan(row["time"]) and row["state"] == "wrong" for row in wrong)
    assert all(row["time"] > 0 for row in results if not row["WRONG"])
    assert (c == 0).all(), "the caller's arrays are not written"


def test_tune_kernel_without_an_answer(random):
    """Const arguments are inputs; what the others get must be the same for each configuration."""
    a, b = random.random((2, 500), dtype=numpy.float32)
    results, _ = hone.tune_kernel("vadd", VADD + "/* vadd(global float *a) { */", a.size, [numpy.zeros_like(a), a, b, a.size],
                                  {"block_size_x": [32], "PER": [1], "WRONG": [0, 1]})
    assert {row["WRONG"]: row["state"] for row in results} == {0: "ok", 1: "wrong"}


@pytest.mark.parametrize("type_name, value", [("long", numpy.int64(-2 ** 63)), ("long", numpy.int64(2 ** 53 + 1)),
                                              ("long", numpy.int64(2 ** 63 - 1)), ("ulong", numpy.uint64(2 ** 64 - 1)),
                                              ("int", numpy.bool_(True)), ("float", numpy.float32(1e-30)),
                                              ("float", numpy.finfo("f4").max), ("float", -1e22)])
def test_tune_kernel_passes_numbers_as_they_are(type_name, value):
    source = f"kernel void tell(global {type_name} *out, {type_name} n) {{ out[get_global_id(0)] = ON ? n : n; }}"
    kind = {"long": "i8", "ulong": "u8", "int": "i4", "float": "f4"}[type_name]
    results, _ = hone.tune_kernel("tell", source, 8, [numpy.zeros(8, kind), value],
                                  {"block_size_x": [8], "ON": [numpy.bool_(True), numpy.bool_(False)]},
                                  answer=[numpy.full(8, value, kind), None], atol=0, rtol=0)
    assert len(results) == 2 and {one["state"] for one in results} <= {"ok", "slow"}


def test_tune_kernel_gives_values_back_as_they_were_given():
    results, _ = hone.tune_kernel("fill", "kernel void fill(global int *out) { out[0] = 0 * N; }", 1,
                                  [numpy.zeros(1, "i4")], {"N": "1..3"})
    assert {row["N"] for row in results} == {1, 2, 3}
    given = {"block_size_x": numpy.array([8]), "SCALE": [0.5, 1e-7], "TYPE": ["float", "int"], "ON": [True]}
    results, environment = hone.tune_kernel(
        "fill", "kernel void fill(global float *out) { out[get_global_id(0)] = 0 * (TYPE)SCALE * ON; }", 8,
        [numpy.zeros(8, "f4")], given)
    assert len(results) == 4
    for row in (*results, environment["best_config"]):
        for name, values in given.items():
            assert row[name] in list(values) and type(row[name]) is type(numpy.asarray(values).tolist()[0])


def test_tune_kernel_refuses(random):
    a = random.random(64, dtype=numpy.float32)
    with pytest.raises(hone.UsageError, match="texts"):
        hone.tune_kernel("vadd", VADD, 64, [a, a, a, 64], {"PER": [1, 2]}, restrictions=[lambda p: True])
    with pytest.raises(hone.UsageError, match="texts"):
        hone.tune_kernel("vadd", VADD, 64, [a, a, a, 64], {"PER": [1, 2]}, restrictions=lambda p: True)
    with pytest.raises(hone.UsageError, match="no values"):
        hone.tune_kernel("vadd", VADD, 64, [a, a, a, 64], {"PER": []})
    with pytest.raises(hone.UsageError, match="problem_size"):
        hone.tune_kernel("vadd", VADD, (1, 2, 3, 4), [a, a, a, 64], {"PER": [1, 2]})
    with pytest.raises(hone.UsageError, match="problem_size is 64.0"):
        hone.tune_kernel("vadd", VADD, 64.0, [a, a, a, 64], {"PER": [1, 2]})
    with pytest.raises(hone.UsageError, match="PER is 2; pass the values"):
        hone.tune_kernel("vadd", VADD, 64, [a, a, a, 64], {"PER": 2})
    with pytest.raises(hone.FileError, match="no-such-file"):
        hone.tune_kernel("vadd", "no-such-file.cl", 64, [a, a, a, 64], {"PER": [1, 2]})
    with pytest.raises(hone.UsageError):
        hone.tune_kernel("no_such_kernel", VADD, 64, [a, a, a, 64], {"PER": [1, 2], "WRONG": [0]})


@pytest.mark.parametrize("change, error, wanted", [
    (lambda a: a.astype(">f4"), hone.UsageError, r"arguments\[1\]: .* byte order"), (list, TypeError, r"arguments\[1\]: .* no buffer"),
    (lambda a: a[:0], hone.UsageError, r"arguments\[1\]: the array is empty"),
    (lambda a: a.astype("c8"), hone.UsageError, r"arguments\[1\]: .*float32"),
    (lambda a: numpy.ma.masked_less(a, 0.5), hone.UsageError, r"arguments\[1\]: .*filled")])
def test_tune_kernel_names_wrong_arrays(random, change, error, wanted):
    a = random.random(64, dtype=numpy.float32)
    with pytest.raises(error, match=wanted):
        hone.tune_kernel("vadd", VADD, 64, [a.copy(), change(a), a, 64], {"PER": [1, 2]})


def test_tune_kernel_takes_answers_of_its_outputs_alone(random):
    """Of another type or size they would be read as if they were of the output's."""
    a = random.random(64, dtype=numpy.float32)
    for answer, wanted in ((2 * a.astype("f8"), "64 elements of f64, and arguments.0. 64 of f32"), (a[:9], "9 elements of f32"),
                           ((2 * a).astype(">f4"), "answer.0.: .*byte order")):
        with pytest.raises(hone.UsageError, match=wanted):
            hone.tune_kernel("vadd", VADD, 64, [a.copy(), a, a, 64], {"PER": [1, 2], "WRONG": [0]}, answer=[answer, None, None, None])


def test_the_module_is_the_command():
    result = subprocess.run([sys.executable, "-m", "hone", "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.split()[-1] == hone.__version__


def test_without_the_command(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *unused: False)
    monkeypatch.setenv("HONE_COMMAND", "")
    with pytest.raises(hone.UnsupportedError, match="HONE_COMMAND"):
        hone.doctor()


@pytest.mark.parametrize("value", ["/no-such-command", "no-such-command", "/", "/etc/passwd"])
def test_no_other_command_takes_the_place_of_one_that_is_set(monkeypatch, value):
    """One that can be run is in the package or in PATH."""
    monkeypatch.setenv("PATH", os.path.dirname(os.environ["HONE_COMMAND"]), prepend=os.pathsep)
    monkeypatch.setenv("HONE_COMMAND", value)
    with pytest.raises(hone.FileError, match=f"HONE_COMMAND is '{value}'"):
        hone.doctor()
