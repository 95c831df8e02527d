# SPDX-License-Identifier: BSD-2-Clause
"""hone.Plan and hone.Device."""

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
