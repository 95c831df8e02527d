# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions."""

import numpy
import pytest

import hone

IMAGE = numpy.zeros((8, 8), "u1")


def test_the_classes():
    assert issubclass(hone.UsageError, ValueError) and issubclass(hone.FileError, OSError)
    assert issubclass(hone.OutOfMemoryError, MemoryError) and issubclass(hone.DeviceError, RuntimeError)
    for name in ("UsageError", "FileError", "NoDeviceError", "DeviceError", "OutOfMemoryError", "UnsupportedError",
                 "CheckError", "InternalError"):
        assert issubclass(getattr(hone, name), hone.Error)


def test_chain_errors_tell_the_column():
    with pytest.raises(hone.UsageError, match="gaussian") as caught:
        hone.apply("box | gausian", IMAGE)
    assert caught.value.column == 7 and caught.value.status == "HONE_ERROR_USAGE" and caught.value.cl_code == 0


def test_a_chain_that_is_no_text():
    with pytest.raises(TypeError, match="the chain is .*ndarray.* it comes first"):
        hone.apply(IMAGE, "box")
    with pytest.raises(TypeError, match="the chain"):
        hone.Plan(None, like=IMAGE)


def test_no_such_device():
    with pytest.raises(hone.NoDeviceError, match="no such thing"):
        hone.box(IMAGE, device="no such thing")


def test_missing_file():
    with pytest.raises(hone.Error, match="no-such-file"):
        hone.apply("convolve kernel=/no-such-file", IMAGE)


def test_memory_budget():
    device = hone.Device(memory_limit=1 << 16)
    with pytest.raises(hone.OutOfMemoryError):
        hone.apply("box size=9 | gaussian sigma=9 | box size=9", numpy.zeros((2000, 2000), "f4"), device=device)


def test_values_that_are_none_of_a_parameter():
    """The message names the parameter."""
    plan = hone.Plan("box", like=IMAGE)
    for call, name, kind in ((lambda: hone.box(IMAGE, size=(3, 3)), "size", hone.UsageError),
                             (lambda: hone.convolve(IMAGE, kernel=[[1, 2], [1]]), "kernel", hone.UsageError),
                             (lambda: hone.box(IMAGE, width=object()), "width", TypeError),
                             (lambda: plan.set("box.height", None), "height", TypeError)):
        with pytest.raises(kind, match=f"^{name}: "):
            call()


def test_unsupported():
    with pytest.raises(hone.UnsupportedError):
        hone.gaussian(numpy.zeros((8, 8), "f4"), exact=True)
    with pytest.raises(hone.UnsupportedError):
        hone.apply("gaussian", numpy.zeros((8, 8), "f4"), reproducible=True)


def test_wrong_calls():
    with pytest.raises(TypeError, match="sigma"):
        hone.gaussian(IMAGE, sigmma=3)
    with pytest.raises(TypeError, match="by name"):
        hone.gaussian(IMAGE, 3)
    with pytest.raises(TypeError, match="2 images"):
        hone.add(IMAGE)
    with pytest.raises(TypeError, match="parameter"):
        hone.gaussian(IMAGE, sigma=object())
    with pytest.raises(hone.UsageError, match="out of range"):
        hone.gaussian(IMAGE, sigma=-1)
    for call, told in ((lambda: hone.epsilon(IMAGE, threshold=235.99999), "threshold=235.99999 does not fit u8"),
                       (lambda: hone.box(IMAGE, border="constant", border_value=0.9999999), "border-value=0.9999999 does"),
                       (lambda: hone.histogram(IMAGE, min=1.0000002, max=1.0000001), "min=1.0000002 is not less than max=1")):
        with pytest.raises(hone.UsageError, match=told):
            call()
    for kernel in ([1, 2, 1], [[1, 2], [3]], [], [[]], numpy.ones((3, 3, 3)), numpy.ones(3)):
        with pytest.raises(hone.UsageError, match="rows of one length"):
            hone.convolve(IMAGE, kernel=kernel)
    with pytest.raises(hone.UsageError, match="quotation"):
        hone.convolve(IMAGE, kernel="a ' and \"")
    with pytest.raises(hone.UsageError, match="second image"):
        hone.apply("add", IMAGE)
    with pytest.raises(hone.UsageError, match="second image"):
        hone.apply("box", IMAGE, IMAGE)
