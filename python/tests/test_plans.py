# SPDX-License-Identifier: BSD-2-Clause
"""hone.Plan and hone.Device."""

import os
import threading

import numpy
import pytest

import hone


def test_a_plan_gives_what_apply_gives(gray):
    plan = hone.Plan("gaussian sigma=3 | sobel", like=gray)
    assert numpy.array_equal(plan(gray), hone.apply("gaussian sigma=3 | sobel", gray))
    out = numpy.empty_like(gray)
    assert plan(gray, out=out) is out and plan.output == (83, 61, "u8", 1)
    assert [step["filter"] for step in plan.steps] == ["gaussian", "sobel"]


def test_like_without_an_array(gray):
    assert numpy.array_equal(hone.Plan("box", ((61, 83), "u8"))(gray), hone.box(gray))


@pytest.mark.parametrize("kind", ["u2", "uint16", "u16", numpy.uint16, numpy.dtype("u2")])
def test_like_takes_types_of_numpy(gray, kind):
    wide = gray.astype("u2")
    plan = hone.Plan("box size=3", like=(wide.shape, kind))
    assert numpy.array_equal(plan(wide), hone.box(wide, size=3))


def test_like_takes_no_memory():
    assert hone.Plan("box", ((30000, 30000), "f32")).output == (30000, 30000, "f32", 1)


@pytest.mark.parametrize("shape, wanted", [((-5, 3), "shape"), ((0, 3), "each side"), ((1 << 20, 1 << 20), "2\\^30"),
                                           ((5,), "rows and columns")])
def test_like_that_is_no_image(shape, wanted):
    with pytest.raises(hone.UsageError, match=wanted):
        hone.Plan("box", (shape, "u8"))


def test_what_was_set_is_reported(gray):
    plan = hone.Plan("gaussian sigma=3 | convolve | box border=wrap", like=gray)
    plan.set("gaussian.sigma", 4)
    plan.set("convolve.kernel", [[0, 1], [1, 0]])
    plan.set("box.border_value", "50%")
    result = plan(gray)
    told = hone.last_report().chain
    assert told == 'gaussian sigma=4 | convolve kernel="2x2: 0.0 1.0 1.0 0.0" | box border=wrap border-value=50%'
    assert told in repr(plan) and numpy.array_equal(result, hone.apply(told, gray))


def test_names_of_a_filter_of_ones_own(gray):
    """As Python has them: words of the language and of the functions get a line behind them, and lines stay lines."""
    lines = "".join(f"//@filter param {name} int 1..9 = 1: h\n" for name in ("to_n", "class", "image", "device", "axes"))
    function = hone.load("named.cl", f"//@filter summary s\n{lines}"
                         "hone_pixel { return hone_in(0, 0) * to_n * class * image * device / axes; }\n")
    plan, dark = hone.Plan("named", like=gray), gray // 64
    for name in ("to_n", "class_", "image_", "device_"):
        assert numpy.array_equal(function(dark, **{name: 3}, axes="YX", axes_=1), dark * 3)
        plan.set(f"named.{name}", 3)
        assert numpy.array_equal(plan(dark), dark * 3)
        plan.set(f"0.{name.rstrip('_')}", 1)
        assert numpy.array_equal(plan(dark), dark)
    for name in (0, None):
        with pytest.raises(TypeError, match="no name of a parameter"):
            plan.set(name, 1)


@pytest.mark.parametrize("kind", [bool, numpy.bool_, type("bool", (), {
    "__init__": lambda self, value: setattr(self, "value", value), "__bool__": lambda self: self.value,
    "__float__": lambda self: float(self.value)})])
def test_truths_of_every_kind(gray, kind):
    """The last one is as NumPy 2 has them."""
    plan = hone.Plan("box", like=gray)
    for value, chains in ((True, ["convolve flip=yes"]), (False, ["convolve flip=no", "convolve"])):
        hone.convolve(gray, flip=kind(value))
        assert hone.last_report().chain in chains
        plan.set("box.exact", kind(value))


def test_a_kernel_in_a_file_is_read_again(gray, tmp_path):
    """Also where a plan of the same words is kept, and the file has its old length and time."""
    file = tmp_path / "it is a kernel.txt"
    for weight in (1, 2, 3):
        file.write_text(f"1x1: {weight}")
        os.utime(file, (0, 0))
        assert numpy.array_equal(hone.convolve(gray // 4, kernel=str(file)), gray // 4 * weight)
    hone.convolve(gray, kernel=file)  # a path is one, too
    assert not hone.last_report().planned


def test_set(gray):
    plan = hone.Plan("gaussian sigma=3 | box", like=gray)
    plan.prepare("gaussian.sigma", 4)
    plan.set("gaussian.sigma", 4)
    plan.set("1.size", 5)
    assert numpy.array_equal(plan(gray), hone.apply("gaussian sigma=4 | box size=5", gray))
    with pytest.raises(hone.UsageError, match="out of range"):
        plan.set("gaussian.sigma", -4)
    with pytest.raises(hone.UsageError, match="FILTER.NAME"):
        plan.set("sobel.norm", "l1")
    assert numpy.array_equal(plan(gray), hone.apply("gaussian sigma=4 | box size=5", gray))


def test_set_with_a_filter_twice(gray):
    plan = hone.Plan("box size=3 | box size=5", like=gray)
    with pytest.raises(hone.UsageError, match="number"):
        plan.set("box.size", 4)
    plan.set("1.size", 7)
    assert numpy.array_equal(plan(gray), hone.apply("box size=3 | box size=7", gray))


def test_other_formats_are_refused(gray):
    plan = hone.Plan("box", like=gray)
    with pytest.raises(hone.UsageError, match="must be 83x61 u8"):
        plan(gray[1:])
    with pytest.raises(hone.UsageError, match="must be"):
        plan(gray.astype("f4"))


def test_second_images_and_stacks(gray):
    plan = hone.Plan("add", like=gray, second=gray)
    assert numpy.array_equal(plan(gray // 2, gray // 4), gray // 2 + gray // 4)
    stack = numpy.stack([gray, gray[::-1]])
    plan = hone.Plan("box", like=stack, axes="ZYX")
    assert numpy.array_equal(plan(stack)[1], hone.box(gray[::-1]))


def test_forced_variants(gray):
    plan = hone.Plan("box size=3", like=gray, variant="direct", fuse=False, tune=False)
    assert plan.steps[0]["variant"] == "direct" and plan.steps[0]["origin"] == "forced"
    with pytest.raises(hone.UsageError):
        hone.Plan("box", like=gray, variant="no-such-variant")


def test_reproducible(gray):
    assert numpy.array_equal(hone.Plan("gaussian", like=gray, reproducible=True)(gray),
                             hone.gaussian(gray, exact=True))


def test_devices(gray):
    listed = hone.devices()
    assert listed and listed[0]["name"]
    device = hone.Device(str(listed[0]["index"]), profile=True)
    assert device.info["name"] == listed[0]["name"] and device.memory[1] > 0
    assert any(feature["required"] for feature in device.features)
    hone.box(gray, device=device)
    assert hone.last_report().seconds > 0 or not all(feature["holds"] for feature in device.features)
    assert numpy.array_equal(hone.box(gray, device=listed[0]["index"]), hone.box(gray, device=listed[0]["name"]))


def test_devices_by_number(gray):
    index = hone.devices()[0]["index"]
    for spec in (index, numpy.int64(index), str(index)):
        assert hone.Device(spec).info["index"] == index
    with pytest.raises(TypeError, match="number"):
        hone.Device(0.5)
    with pytest.raises(hone.UsageError, match="negative"):
        hone.Device(index, compute_units=-1)


def test_a_plan_that_threads_share(gray):
    plan = hone.Plan("box size=3 | transpose", like=gray)
    images = [numpy.roll(gray, shift) for shift in range(8)]
    wanted = [hone.transpose(hone.box(image, size=3)) for image in images]
    wrong = []

    def work(image, expected):
        for _ in range(20):
            if not numpy.array_equal(plan(image), expected):
                wrong.append(image)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(images, wanted)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
