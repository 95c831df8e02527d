# SPDX-License-Identifier: BSD-2-Clause
"""Threads, signals and memory."""

import _thread
import concurrent.futures
import gc
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import hone


def test_threads_apply_at_once(random):
    images = [random.integers(0, 256, (40 + i % 3, 50), dtype=numpy.uint8) for i in range(24)]
    chains = ["box size=3", "gaussian sigma=2 | sobel", "transpose"]
    wanted = [hone.apply(chains[i % 3], image) for i, image in enumerate(images)]

    def work(i):
        result = hone.apply(chains[i % 3], images[i])
        assert hone.last_report().chain == chains[i % 3]
        return numpy.array_equal(result, wanted[i])

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, list(range(24)) * 4))


def test_the_gil_is_released():
    """Another thread counts while one call works. With the GIL held, it could not count at all."""
    stack = numpy.zeros((40, 1000, 1000), numpy.float32)
    hone.gaussian(stack[0], sigma=20)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    hone.gaussian(stack, sigma=20, axes="ZYX")
    after = counted[0]
    done.set()
    thread.join()
    # Switching threads takes 5 ms each way; counting a thousand takes far less than the call.
    assert after - before > 1000


@pytest.fixture
def interruptible():
    """Python has no handler for SIGINT where it began with the signal ignored, as background jobs do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_long_stack():
    plane = numpy.zeros((100, 100), numpy.uint8)
    stack = numpy.broadcast_to(plane, (100000,) + plane.shape)
    out = numpy.empty(stack.shape, plane.dtype)  # takes memory as far as it is written
    hone.gaussian(plane, sigma=20)
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        hone.gaussian(stack, sigma=20, axes="ZYX", out=out)
    timer.join()
    assert hone.box(plane).shape == plane.shape


ENDLESS = """
import itertools, signal, sys, threading, numpy, hone
signal.signal(signal.SIGINT, signal.default_int_handler)
frame = numpy.zeros((2000, 2000), numpy.float32)
with hone.Stream("gaussian sigma=20", like=frame, slots=2) as stream:
    for _ in range(3):
        taken = 0
        try:
            for result in stream.map(itertools.repeat(frame)):
                taken += 1
                if taken == 2:
                    threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        except KeyboardInterrupt:
            assert stream.stats["in_flight"] == 0
    assert len(list(stream.map([frame] * 3))) == 3
"""


def test_ctrl_c_ends_a_map():
    """It comes while a result is waited for, which takes nearly all of the time."""
    subprocess.run([sys.executable, "-c", ENDLESS], check=True, timeout=100)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def every_path(image, odd):
    """Calls of all kinds, failures included; each leaves nothing behind."""
    hone.box(image, size=3)
    hone.box(odd, size=3)
    hone.box(memoryview(image))
    hone.add(image, image)
    hone.box(image, out=image)
    hone.last_report()
    hone.filters()
    hone.devices()
    hone._hone.Array(image.shape, "u8").tolist()
    for wrong in (lambda: hone.apply("gausian", image), lambda: hone.box(image, size=-1),
                  lambda: hone.box(image, out=image[1:]), lambda: hone.add(image, image[1:]),
                  lambda: hone.box(image.astype("f8")), lambda: hone.box(image, axes="XY")):
        with pytest.raises(hone.Error):
            wrong()


def test_nothing_leaks(random):
    image = random.integers(0, 256, (400, 512), dtype=numpy.uint8)
    odd = image[::2, ::2]
    for _ in range(10):
        every_path(image, odd)
    gc.collect()
    references, before = sys.getrefcount(image), resident()
    rounds = 60
    for _ in range(rounds):
        every_path(image, odd)
    gc.collect()
    assert sys.getrefcount(image) == references
    # One image lost in each round would be 12 MB.
    assert resident() - before < rounds * image.nbytes / 4


def test_plans_and_devices_leave(random):
    image = random.integers(0, 256, (400, 512), dtype=numpy.uint8)

    def use():
        device = hone.Device(disk_cache=True)
        plan = hone.Plan("gaussian | box", like=image, device=device)
        plan(image)
        return sys.getrefcount(device)

    use()
    before = resident()
    for _ in range(10):
        use()
    gc.collect()
    assert resident() - before < 32 << 20


FORKED = """
import os, numpy, hone
image = numpy.zeros((9, 9), "u1")
hone.box(image)
child = os.fork()
if child == 0:
    try:
        hone.box(image)
    except hone.Error as error:
        os._exit(0 if "process" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
hone.box(image)
"""


def test_a_forked_child_gets_an_error():
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)


def test_results_survive_what_made_them(gray):
    result = hone.box(gray)
    copy = result.copy()
    hone.forget()
    gc.collect()
    assert numpy.array_equal(result, copy) and numpy.array_equal(hone.box(gray), copy)


