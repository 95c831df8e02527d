#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times from array to array of hone, SciPy, OpenCV and pyclesperanto (those that are installed), by turns in one run: the
table of docs/python.md. Medians of several rounds, without the first, in which kernels are compiled; results are compared.

times.py [ROUNDS]
"""

import statistics
import sys
import time

import numpy

import hone


def optional(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def cases(image, ndimage, cv2, cle):
    """(name, {library: call}); the calls give the same but for rounding and, at the edges, another border."""
    single = image.astype("f4")
    yield "Gaussian, sigma 3, float32", {
        "hone": lambda: hone.gaussian(single, sigma=3),
        "SciPy": ndimage and (lambda: ndimage.gaussian_filter(single, 3, mode="nearest")),
        "OpenCV": cv2 and (lambda: cv2.GaussianBlur(single, (0, 0), 3, borderType=cv2.BORDER_REPLICATE)),
        "pyclesperanto": cle and (lambda: cle.pull(cle.gaussian_blur(cle.push(single), sigma_x=3, sigma_y=3)))}
    yield "Gaussian, sigma 3, uint8", {
        "hone": lambda: hone.gaussian(image, sigma=3),
        "SciPy": ndimage and (lambda: ndimage.gaussian_filter(image, 3, mode="nearest")),
        "OpenCV": cv2 and (lambda: cv2.GaussianBlur(image, (0, 0), 3, borderType=cv2.BORDER_REPLICATE))}
    yield "mean of 9x9, float32", {
        "hone": lambda: hone.box(single, size=9),
        "SciPy": ndimage and (lambda: ndimage.uniform_filter(single, 9, mode="nearest")),
        "OpenCV": cv2 and (lambda: cv2.blur(single, (9, 9), borderType=cv2.BORDER_REPLICATE)),
        "pyclesperanto": cle and (lambda: cle.pull(cle.mean_box(cle.push(single), radius_x=4, radius_y=4)))}
    kernel = numpy.arange(25, dtype="f4").reshape(5, 5) / 300
    yield "correlation with 5x5, float32", {
        "hone": lambda: hone.convolve(single, kernel=kernel),
        "SciPy": ndimage and (lambda: ndimage.correlate(single, kernel, mode="nearest")),
        "OpenCV": cv2 and (lambda: cv2.filter2D(single, -1, kernel, borderType=cv2.BORDER_REPLICATE))}
    yield "Gaussian, then Sobel's magnitude, float32", {
        "hone": lambda: hone.apply("gaussian sigma=3 | sobel", single),
        "SciPy": ndimage and (lambda: scipy_edges(ndimage, single)),
        "OpenCV": cv2 and (lambda: cv2_edges(cv2, single))}


def scipy_edges(ndimage, image):
    soft = ndimage.gaussian_filter(image, 3, mode="nearest")
    dx = ndimage.sobel(soft, 1, mode="nearest")
    dy = ndimage.sobel(soft, 0, mode="nearest")
    return numpy.hypot(dx, dy)


def cv2_edges(cv2, image):
    soft = cv2.GaussianBlur(image, (0, 0), 3, borderType=cv2.BORDER_REPLICATE)
    dx = cv2.Sobel(soft, cv2.CV_32F, 1, 0, borderType=cv2.BORDER_REPLICATE)
    dy = cv2.Sobel(soft, cv2.CV_32F, 0, 1, borderType=cv2.BORDER_REPLICATE)
    return cv2.magnitude(dx, dy)


def compare(name, results):
    """Away from the edges, all give what hone gives: truncated windows differ by less than a level of 255."""
    for library, result in results.items():
        difference = abs(result[40:-40, 40:-40].astype("f8") - results["hone"][40:-40, 40:-40]).max()
        if difference > 2:
            print(f"# {name}: {library} differs by {difference:g}")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    image = numpy.random.default_rng(1).integers(0, 256, (2448, 3264), dtype=numpy.uint8)
    libraries = ["hone", "SciPy", "OpenCV", "pyclesperanto"]
    modules = [optional(name) for name in ("scipy.ndimage", "cv2", "pyclesperanto")]
    print("| milliseconds, 3264x2448 | " + " | ".join(libraries) + " |\n|---|" + "---|" * len(libraries))
    for name, calls in cases(image, *modules):
        calls = {library: call for library, call in calls.items() if call}
        compare(name, {library: call() for library, call in calls.items()})
        times = {library: [] for library in calls}
        for _ in range(rounds):
            for library, call in calls.items():
                begin = time.perf_counter()
                call()
                times[library].append(1e3 * (time.perf_counter() - begin))
        print(f"| {name} | " + " | ".join(f"{statistics.median(times[library]):.1f}" if library in times else "-"
                                          for library in libraries) + " |", flush=True)


if __name__ == "__main__":
    main()
