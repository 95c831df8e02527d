#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A driver that hangs while devices are listed, beside PoCL's: tests/vendor/hanging.c.  listing.py build=FOLDER"""

import concurrent.futures
import ctypes
import json
import os

import frame
from place import Place

# Without it the loader itself asks each platform for its devices, when there are several.
UNSORTED = {"OCL_ICD_PLATFORM_SORT": "none"}


class Drivers(Place):
    """A folder of ICD files, in whose order the loader has them."""

    def __init__(self):
        super().__init__()
        os.mkdir(self.path("vendors"))
        self.register("hanging.icd", os.path.abspath(os.path.join(frame.build(), "tests", "hanging.so")))
        with open("/etc/OpenCL/vendors/pocl.icd", encoding="utf-8") as file:
            self.register("pocl.icd", file.read().strip())
        self.environment.update(OCL_ICD_VENDORS=self.path("vendors"), HONE_DRIVER_TIMEOUT="2")

    def register(self, name, library):
        with open(self.path("vendors", name), "w", encoding="utf-8") as file:
            file.write(library + "\n")


def check_others_go_on(where, said_of, **how):
    with Drivers() as drivers:
        alone = drivers.json("devices", OCL_ICD_VENDORS=drivers.path("vendors", "pocl.icd"))["devices"]
        done = drivers.run("devices", "--json", HANG_IN=where, **how)
        names = [device["name"] for device in json.loads(done.stdout)["devices"]]
        frame.check(names == [device["name"] for device in alone], f"{names}")
        frame.check(done.stderr.count("'Sleeper' is left out") == 1 and said_of in done.stderr, done.stderr)
        right = drivers.path("right.pgm")
        drivers.run("apply", "box", drivers.picture(), "-o", right)
        for device in ((), ("--device", "cpu"), ("--device", "all")):
            if where != "devices" and "all" in device:  # which numbers its devices, and leaves out what does not open
                continue
            done = drivers.run("apply", "box", drivers.picture(), "-o", drivers.path("out.pgm"), "--force", "--timeout", "2", *device,
                               HANG_IN=where, **how)
            frame.check(done.stderr.count("'Sleeper' is left out") == 1 and said_of in done.stderr, f"{device}: {done.stderr}")
            with open(drivers.path("out.pgm"), "rb") as out, open(right, "rb") as file:
                frame.check(out.read() == file.read(), "another result")


def test_a_platform_that_does_not_list_its_devices_is_left_out():
    check_others_go_on("devices", "listing its devices took longer than 2 s", **UNSORTED)


def test_a_platform_whose_devices_do_not_describe_themselves_is_left_out():
    for where in ("info", "second"):
        check_others_go_on(where, "describing itself took longer than 2 s", **UNSORTED)


def test_the_only_device_that_describes_itself_is_used_whatever_its_number():
    with Drivers() as drivers:
        report = drivers.json("apply", "box", drivers.picture(), "-o", drivers.path("out.pgm"), HANG_IN="nothing", **UNSORTED)
        frame.check(report["device_index"] == 2, f"{report}")


def test_a_loader_that_hangs_ends_the_run_and_the_driver_is_named():
    """In the last case because the loader sorts platforms by their devices."""
    with Drivers() as drivers:
        for where, how in (("library", {}), ("platforms", UNSORTED), ("devices", {})):
            for command in (("devices",), ("apply", "box", drivers.picture(), "-o", drivers.path("out.pgm"), "--timeout", "2"),
                            ("apply", "box", drivers.picture(), "-o", drivers.path("out.pgm"), "--timeout", "2", "--device", "all"),
                            ("doctor", "gray")):
                said = drivers.run(*command, status=5, HANG_IN=where, **how).stderr
                frame.check("loader took longer than 2 s" in said and f"one of which hangs: '{drivers.path('vendors', 'hanging.icd')}'" in said
                            and f"OCL_ICD_VENDORS={drivers.path('vendors', 'pocl.icd')}" in said, f"{command}: {said}")
        frame.check(not os.path.exists(drivers.path("out.pgm")), "a result")


def test_the_doctor_tells_of_a_platform_that_hangs():
    with Drivers() as drivers:
        done = drivers.any("doctor", "gray", HANG_IN="devices", **UNSORTED)
        frame.check(done.returncode == 1 and "WRONG    Sleeper: does not list its devices within 2 s" in done.stdout, done.stdout)


def test_without_a_bound_nothing_is_left_out():
    with Drivers() as drivers:
        done = drivers.run("devices", HONE_DRIVER_TIMEOUT="0")
        frame.check(done.stderr == "" and "Sleeper" not in done.stdout, done.stderr + done.stdout)


def in_a_process(drivers, where, action):
    """What the action answers that is given the library, in a process of its own; empty if that ends early."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.update(drivers.environment, HANG_IN=where, **UNSORTED)
            library = ctypes.CDLL(os.path.abspath(os.path.join(frame.build(), "libhone.so.0")))
            os.write(theirs, repr(action(library)).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return found


def list_devices(library):
    devices, count = ctypes.c_void_p(), ctypes.c_size_t()
    return library.hone_device_list(ctypes.byref(devices), ctypes.byref(count), None), count.value


def test_the_library_leaves_it_out_as_well():
    with Drivers() as drivers:
        found = in_a_process(drivers, "devices", lambda library: (
            list_devices(library), library.hone_device_open(ctypes.byref(ctypes.c_void_p()), None, None)))
        frame.check(found == "((0, 1), 0)", found)


def list_in_threads(library):
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        return {found.result() for found in [threads.submit(list_devices, library) for _ in range(4)]}


def test_a_driver_is_asked_for_its_devices_by_one_thread_at_a_time():
    """PoCL's answers are not complete before the first is."""
    with Drivers() as drivers:
        found = in_a_process(drivers, "company", list_in_threads)
        frame.check(found == "{(0, 1)}", found)


if __name__ == "__main__":
    frame.main(globals())
