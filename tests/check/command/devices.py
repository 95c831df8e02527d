#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What hone devices -v and --json tell, against what OpenCL answers here, and the performance hint.  devices.py build=FOLDER"""

import ctypes
import json
import os
import subprocess
import tempfile

import frame

# Of the Khronos registry.
EXTENSIONS, PROFILE, QUEUES, FLOAT_WIDTH, MULTIPLE = 0x1030, 0x102E, 0x102A, 0x103A, 0x1067
READ_ONLY, WRITE_ONLY, IMAGE2D = 1 << 2, 1 << 1, 0x10F1
R, RGBA, UNORM_INT8, FLOAT = 0x10B0, 0x10B5, 0x10D2, 0x10DE


def hone(*arguments, **environment):
    return subprocess.run([os.path.join(frame.build(), "hone"), *arguments], capture_output=True, text=True, check=False,
                          timeout=200, env={**os.environ, **environment})


class Cl:
    """The first device, asked without hone."""

    def __init__(self):
        self.lib = ctypes.CDLL("libOpenCL.so.1")
        self.lib.clCreateContext.restype = ctypes.c_void_p
        platform, self.device = ctypes.c_void_p(), ctypes.c_void_p()
        self.lib.clGetPlatformIDs(1, ctypes.byref(platform), None)
        code = self.lib.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(self.device), None)
        frame.check(code == 0, f"clGetDeviceIDs: {code}")

    def info(self, what):
        size = ctypes.c_size_t()
        frame.check(self.lib.clGetDeviceInfo(self.device, what, ctypes.c_size_t(0), None, ctypes.byref(size)) == 0, f"{what:x}")
        value = ctypes.create_string_buffer(size.value)
        self.lib.clGetDeviceInfo(self.device, what, size, value, None)
        return value.raw

    def number(self, what):
        return int.from_bytes(self.info(what), "little")

    def text(self, what):
        return self.info(what).rstrip(b"\0").decode()

    def formats(self, flags):
        context = ctypes.c_void_p(self.lib.clCreateContext(None, 1, ctypes.byref(self.device), None, None, None))
        count = ctypes.c_uint()
        self.lib.clGetSupportedImageFormats(context, ctypes.c_ulong(flags), IMAGE2D, 0, None, ctypes.byref(count))
        pairs = (ctypes.c_uint * (2 * count.value))()
        self.lib.clGetSupportedImageFormats(context, ctypes.c_ulong(flags), IMAGE2D, count, pairs, None)
        self.lib.clReleaseContext(context)
        return set(zip(pairs[::2], pairs[1::2]))


def test_devices_tell_what_opencl_answers():
    result = hone("devices", "--json")
    frame.check(result.returncode == 0, result.stderr)
    device, asked = json.loads(result.stdout)["devices"][0], Cl()
    frame.check(device["extensions"] == asked.text(EXTENSIONS).split(), f"{device['extensions']}")
    frame.check(device["profile"] == asked.text(PROFILE), device["profile"])
    queues = asked.number(QUEUES)
    frame.check(device["queue"] == {"out_of_order": bool(queues & 1), "profiling": bool(queues & 2)}, f"{device['queue']}")
    frame.check(device["native_vectors"]["float"] == asked.number(FLOAT_WIDTH), f"{device['native_vectors']}")
    wanted = asked.number(MULTIPLE) if device["version"] >= 300 else None
    frame.check(device["preferred_multiple"] == wanted, f"{device['preferred_multiple']}, {wanted}")
    reads, writes = asked.formats(READ_ONLY), asked.formats(WRITE_ONLY)
    formats = device["image_formats"]
    frame.check(len(formats) == len(reads | writes), f"{len(formats)} formats, {len(reads | writes)} are there")
    frame.check(sum(f["reads"] for f in formats) == len(reads) and sum(f["writes"] for f in formats) == len(writes), "reads or writes")
    for order, order_name, kind, kind_name in ((R, "R", UNORM_INT8, "UNORM_INT8"), (RGBA, "RGBA", FLOAT, "FLOAT")):
        told = any(f["order"] == order_name and f["type"] == kind_name and f["reads"] for f in formats)
        frame.check(told == ((order, kind) in reads), f"{order_name} of {kind_name}: {told}")


def test_the_short_form_stays_short():
    short, long = hone("devices"), hone("devices", "-v")
    frame.check(short.returncode == long.returncode == 0, short.stderr + long.stderr)
    for word in ("profile", "image formats", "preferred multiple", "cl_khr_global_int32_base_atomics"):
        frame.check(word in long.stdout and word not in short.stdout, f"{word}")


def test_a_clock_that_is_not_told_is_no_number():
    told = hone("devices")
    untold = hone("devices", OPENCL_LAYERS=os.path.join(frame.build(), "tests/vendor.so"), FAKE_CLOCK="unknown")
    frame.check("MHz" in told.stdout and "compute units" in untold.stdout and "MHz" not in untold.stdout, untold.stdout)


def test_the_hint_reaches_the_driver_or_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        picture, log = os.path.join(folder, "in.pgm"), os.path.join(folder, "log")
        with open(picture, "wb") as file:
            file.write(b"P5 16 16 255\n" + bytes(256))
        arguments = ["profile", "transpose", picture, "--repeat", "1", "--perf-hint"]
        played = {"OPENCL_LAYERS": os.path.join(frame.build(), "tests/vendor.so"), "FAKE_ADD": "cl_qcom_perf_hint", "FAKE_LOG": log}
        for word, number in (("high", "40c3"), ("normal", "40c4"), ("low", "40c5")):
            result = hone(*arguments, word, **played)
            frame.check(result.returncode == 0, result.stderr)
            with open(log, encoding="ascii") as file:
                frame.check(file.read() == f"perf-hint {number}\n", word)
            os.unlink(log)
        frame.check("--perf-hint" in hone("devices", **played).stdout and "--perf-hint" not in hone("devices").stdout, "devices")
        refused = hone(*arguments, "high")
        frame.check(refused.returncode == 2 and "cl_qcom_perf_hint" in refused.stderr, refused.stderr)
        wrong = hone(*arguments, "turbo", **played)
        frame.check(wrong.returncode == 2 and "high, normal or low" in wrong.stderr, wrong.stderr)


if __name__ == "__main__":
    frame.main(globals())
