#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What `hone apply` says that it copied, against the OpenCL calls as a layer counted them. copies.py build=FOLDER"""

import json
import os
import subprocess
import tempfile

import numpy

import frame

CALLS = {"uploads": ("clEnqueueWriteBuffer", "clEnqueueWriteBufferRect", "clCreateBuffer"),
         "downloads": ("clEnqueueReadBuffer", "clEnqueueReadBufferRect"),
         "moves": ("clEnqueueCopyBuffer", "clEnqueueCopyBufferRect"),
         "conversions": ("clEnqueueCopyBufferToImage", "clEnqueueCopyImageToBuffer"), "maps": ()}


def apply(folder, chain, variant, count):
    """The report on the last of `count` equal pictures, the layer's counts of all, and what -v said."""
    report = os.path.join(folder, f"layer-{count}")
    names = [os.path.join(folder, f"{i}.pgm") for i in range(count)]
    for i, name in enumerate(names):
        with open(name, "wb") as file:
            file.write(b"P5 317 211 255\n" + numpy.random.default_rng(i).integers(0, 256, 317 * 211, "uint8").tobytes())
    command = [os.path.join(frame.build(), "hone"), "apply", chain, *names, "-o", folder + "/out/", "--force", "--variant",
               variant, "--json", "-v"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={
        **os.environ, "OPENCL_LAYERS": os.path.join(frame.build(), "tests/layer.so"), "LAYER_REPORT": report})
    frame.check(result.returncode == 0, result.stderr)
    with open(report, encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("copy ")]
    return json.loads(result.stdout.splitlines()[-1]), {line[1]: (int(line[2]), int(line[3])) for line in lines}, result.stderr


def difference(one, two, calls):
    """Number and bytes of these calls that the second run made beyond the first."""
    return [sum(two.get(call, (0, 0))[i] - one.get(call, (0, 0))[i] for call in calls) for i in (0, 1)]


def check(chain, variant):
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/out")
        apply(folder, chain, variant, 1)  # the self-test and the first checks are done
        _, one, _ = apply(folder, chain, variant, 2)
        report, two, text = apply(folder, chain, variant, 3)
    for kind, calls in CALLS.items():
        number, amount = difference(one, two, calls)
        frame.check(report["copies"][kind] == {"count": number, "bytes": amount},
                    f"{variant}: {kind}: {report['copies'][kind]} is said, a picture has {number} of {amount} bytes")
    copied = any(kind["count"] for kind in report["copies"].values())
    frame.check(report["zero_copy"] != copied, f"{variant}: zero_copy is {report['zero_copy']}")
    frame.check(("nothing was copied" in text) != copied, f"{variant}: -v says {text}")
    return copied


def test_every_copy_of_a_picture_is_said():
    frame.check(not check("sobel", "direct"), "sobel direct copies")
    frame.check(check("sobel", "strips"), "rows of 317 bytes were not copied aside")
    frame.check(check("sobel", "texture"), "there was no 2D image")


if __name__ == "__main__":
    frame.main(globals())
