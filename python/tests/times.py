#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times of hone and its peers (those that are installed and work), by turns in one run: the tables of docs/python.md.
Medians of several rounds, without the first, in which kernels are compiled; results are compared.

times.py [ROUNDS [LIBRARY...]]    the environment variable HONE_DEVICE names hone's device
"""

import os
import statistics
import sys
import time

import numpy

import hone

SIZE = (2448, 3264)
KERNEL = numpy.arange(25, dtype="f4").reshape(5, 5) / 300
CASES = {"Gaussian, sigma 3, float32": ("gaussian", "f4"), "Gaussian, sigma 3, uint8": ("gaussian", "u1"),
         "mean of 9x9, float32": ("mean", "f4"), "correlation with 5x5, float32": ("correlation", "f4"),
         "Gaussian, then Sobel's magnitude, float32": ("edges", "f4")}


class Library:
    """Filters from array to array; those that keep images elsewhere have put, get and wait as well. What else a library
    has no function for stays None."""
    gaussian = mean = correlation = edges = wait = None
    scale = {}  # factors of methods whose results are in other units

    def put(self, image):
        return image

    def get(self, result):
        return result


class Hone(Library):
    name = "hone"
    gaussian = staticmethod(lambda image: hone.gaussian(image, sigma=3))
    mean = staticmethod(lambda image: hone.box(image, size=9))
    correlation = staticmethod(lambda image: hone.convolve(image, kernel=KERNEL))
    edges = staticmethod(lambda image: hone.apply("gaussian sigma=3 | sobel", image))


class SciPy(Library):
    name = "SciPy"

    def __init__(self):
        from scipy import ndimage
        self.ndimage, self.hypot = ndimage, numpy.hypot

    def gaussian(self, image):
        return self.ndimage.gaussian_filter(image, 3, mode="nearest")

    def mean(self, image):
        return self.ndimage.uniform_filter(image, 9, mode="nearest")

    def correlation(self, image):
        return self.ndimage.correlate(image, self.put(KERNEL), mode="nearest")

    def edges(self, image):
        soft = self.gaussian(image)
        return self.hypot(self.ndimage.sobel(soft, 1, mode="nearest"), self.ndimage.sobel(soft, 0, mode="nearest"))


class OpenCV(Library):
    name = "OpenCV"

    def __init__(self):
        import cv2
        self.cv2 = cv2
        self.border = {"borderType": cv2.BORDER_REPLICATE}

    def gaussian(self, image):
        return self.cv2.GaussianBlur(image, (0, 0), 3, **self.border)

    def mean(self, image):
        return self.cv2.blur(image, (9, 9), **self.border)

    def correlation(self, image):
        return self.cv2.filter2D(image, -1, KERNEL, **self.border)

    def edges(self, image):
        soft, kind = self.gaussian(image), self.cv2.CV_32F
        dx, dy = self.cv2.Sobel(soft, kind, 1, 0, **self.border), self.cv2.Sobel(soft, kind, 0, 1, **self.border)
        return self.cv2.magnitude(dx, dy)


class OpenCVOnOpenCL(OpenCV):
    """OpenCV's environment variable OPENCV_OPENCL_DEVICE names its device."""
    name = "OpenCV's OpenCL"

    def __init__(self):
        super().__init__()
        self.cv2.ocl.setUseOpenCL(True)
        if not self.cv2.ocl.useOpenCL():
            raise ImportError("OpenCV found no OpenCL")
        self.put, self.get, self.wait = self.cv2.UMat, lambda result: result.get(), self.cv2.ocl.finish


class CuPy(SciPy):
    name = "CuPy"

    def __init__(self):  # pylint: disable=super-init-not-called
        import cupy
        from cupyx.scipy import ndimage
        self.ndimage, self.hypot = ndimage, cupy.hypot
        self.put, self.get, self.wait = cupy.asarray, cupy.asnumpy, cupy.cuda.Device().synchronize


class CuCIM(Library):
    name = "cuCIM"
    scale = {"edges": 4 * 2 ** 0.5}  # the mean of the squares, and weights that add up to 1

    def __init__(self):
        import cupy
        from cucim.skimage import filters
        self.filters = filters
        self.put, self.get, self.wait = cupy.asarray, cupy.asnumpy, cupy.cuda.Device().synchronize

    def gaussian(self, image):
        return self.filters.gaussian(image, 3, mode="nearest", preserve_range=True)

    def edges(self, image):
        return self.filters.sobel(self.gaussian(image), mode="nearest")


class CVCUDA(Library):
    """Its windows are 25x25, four times sigma as SciPy's, in one step."""
    name = "CV-CUDA"

    def __init__(self):
        import cupy
        import cvcuda
        self.cupy, self.cvcuda, self.border = cupy, cvcuda, cvcuda.Border.REPLICATE
        self.kernel, self.stream = self._batch(cupy.asarray(KERNEL)), cvcuda.as_stream(0)
        self.anchor = cvcuda.as_tensor(cupy.full((1, 2), -1, "i4"), "NC")
        self.wait = cupy.cuda.Device().synchronize

    def _batch(self, array):
        batch = self.cvcuda.ImageBatchVarShape(1)
        batch.pushback(self.cvcuda.as_image(array, self.cvcuda.Format.F32))
        return batch

    def put(self, image):
        return self.cupy.asarray(image)

    def get(self, result):
        return self.cupy.asnumpy(result)

    def _tensor(self, image):
        return self.cvcuda.as_tensor(image.reshape(*image.shape, 1), "HWC")

    def _array(self, tensor):
        return self.cupy.asarray(tensor.cuda()).reshape(SIZE)

    def gaussian(self, image):
        return self._array(self.cvcuda.gaussian(self._tensor(image), (25, 25), (3, 3), self.border, stream=self.stream))

    def mean(self, image):
        return self._array(self.cvcuda.averageblur(self._tensor(image), (9, 9), (-1, -1), self.border, stream=self.stream))

    def correlation(self, image):
        batch = self.cvcuda.conv2d(self._batch(image), self.kernel, self.anchor, self.border, stream=self.stream)
        return self._array(next(iter(batch)))


class Pyclesperanto(Library):
    name = "pyclesperanto"

    def __init__(self):
        import pyclesperanto as cle
        self.cle, self.put, self.get = cle, cle.push, cle.pull

    def gaussian(self, image):
        return self.cle.gaussian_blur(image, sigma_x=3, sigma_y=3)

    def mean(self, image):
        return self.cle.mean_box(image, radius_x=4, radius_y=4)


def libraries(wanted):
    for kind in (Hone, SciPy, OpenCV, OpenCVOnOpenCL, CuPy, CuCIM, CVCUDA, Pyclesperanto):
        if not wanted or kind.name in wanted:
            try:
                yield kind()
            except Exception as error:  # whatever a library that cannot work here raises
                print(f"# {kind.name}: {str(error).splitlines()[0]}", file=sys.stderr)


def calls(library, method, image):
    """{name of a table: call to measure} and the result."""
    call = getattr(library, method)
    if call is None:
        return {}, None
    result = library.get(call(library.put(image)))
    found = {"from array to array": lambda: library.get(call(library.put(image)))}
    if library.wait:
        there = library.put(image)

        def stay():
            call(there)
            library.wait()
        found["on the device"] = stay
    return found, result


def kernels_of_hone(method, image):
    """The time of hone's kernels by the device's clock, in milliseconds; None on a device that has none."""
    chain = {"gaussian": "gaussian sigma=3", "mean": "box size=9", "edges": "gaussian sigma=3 | sobel",
             "correlation": f"convolve kernel='5x5: {' '.join(map(str, KERNEL.flat))}'"}[method]
    plan = hone.Plan(chain, like=image, device=hone.Device(os.environ.get("HONE_DEVICE"), profile=True), tune=False)
    times = []
    for _ in range(9):
        plan(image)
        times.append(hone.last_report().seconds)
    return 1e3 * statistics.median(times) or None


def compare(name, library, result, expected):
    """Away from the edges, all give what hone gives: truncated windows differ by less than two levels of 255."""
    difference = abs(result[40:-40, 40:-40].astype("f8") - expected[40:-40, 40:-40]).max()
    if difference > 2:
        print(f"# {name}: {library.name} differs by {difference:g}")


def measure(found, name, image, rounds):
    """{(table, library): median in milliseconds} of one case."""
    method, work, expected = CASES[name][0], {}, None
    for library in found:
        try:
            ways, result = calls(library, method, image)
        except Exception as error:
            print(f"# {name}: {library.name}: {str(error).splitlines()[0]}")
            continue
        work.update({(table, library.name): call for table, call in ways.items()})
        if expected is None:
            expected = result
        elif result is not None:
            compare(name, library, result * library.scale.get(method, 1), expected)
    times = {key: [] for key in work}
    for _ in range(rounds):
        for key, call in work.items():
            begin = time.perf_counter()
            call()
            times[key].append(1e3 * (time.perf_counter() - begin))
    medians = {key: statistics.median(values) for key, values in times.items()}
    if any(table == "on the device" for table, _ in medians) and any(library.name == "hone" for library in found):
        medians["on the device", "hone"] = kernels_of_hone(method, image)
    return medians


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    found = list(libraries(sys.argv[2:]))
    gray = numpy.random.default_rng(1).integers(0, 256, SIZE, dtype=numpy.uint8)
    medians = {}
    for name, (_, dtype) in CASES.items():
        medians[name] = measure(found, name, gray.astype(dtype), rounds)
    for table in ("from array to array", "on the device"):
        columns = [library.name for library in found if any(one.get((table, library.name)) for one in medians.values())]
        if columns:
            print(f"\n| milliseconds, 3264x2448, {table} | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
        for name, one in medians.items() if columns else ():
            cells = (one.get((table, column)) for column in columns)
            print(f"| {name} | " + " | ".join(f"{cell:.3g}" if cell else "-" for cell in cells) + " |")


if __name__ == "__main__":
    main()
