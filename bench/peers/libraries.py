#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times other libraries at the same work: libraries.py PEER CASE WIDTH HEIGHT ROUNDS [TYPE CHANNELS BORDER]

CASE is a name, or with a type a chain of one filter, which OpenCV knows of any type, channels and border.

Prints the least milliseconds of so many rounds, then for each further line of standard input (a number of rounds) again.
A way that takes longer than half a second ends its turn early.
OpenCV gets both ways of using the cores: its own threads, and a call for each core on its part of the image; the better one counts.
"""
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import opencv_chains

CORES = len(os.sched_getaffinity(0))
LONGEST_TURN = 0.5  # seconds


def in_parts(function, source, target, halo):
    """The function on a part for each core at once, with the rows around it that it looks at. It gets memory for its result, which
    it need not take."""
    height, pool = source.shape[0], ThreadPoolExecutor(CORES)
    edges = [height * i // CORES for i in range(CORES + 1)]
    parts = []
    for start, end in zip(edges, edges[1:]):
        first, last = max(0, start - halo), min(height, end + halo)
        kept = np.empty((last - first, *target.shape[1:]), target.dtype) if halo else target[start:end]
        parts.append((start, end, first, last, kept))

    def part(place):
        start, end, first, last, kept = place
        result = function(source[first:last], kept)
        if not np.may_share_memory(result, target):
            target[start:end] = result[start - first:end - first]

    return lambda: list(pool.map(part, parts))


def opencv_ways(cv2, function, source, target, halo):
    """Whole with OpenCV's threads, and split by the caller with one thread each."""
    def whole():
        cv2.setNumThreads(CORES)
        function(source, target)
    split = in_parts(function, source, target, halo)

    def split_up():
        cv2.setNumThreads(1)
        split()
    return [whole, split_up]


def functions_of_one(cv2):
    """Of the named cases, those of one image and its type: a function each, which takes memory of either kind."""
    def sobel(a):
        dx, dy = cv2.Sobel(a, cv2.CV_16S, 1, 0), cv2.Sobel(a, cv2.CV_16S, 0, 1)
        return cv2.add(cv2.convertScaleAbs(dx), cv2.convertScaleAbs(dy))

    def filter2d(side):
        kernel = opencv_chains.weights(side)
        return lambda a: cv2.filter2D(a, -1, kernel)

    def gauss(sigma):
        return lambda a: cv2.GaussianBlur(a, (0, 0), sigma)
    return {'box8': lambda a: cv2.blur(a, (8, 8)), 'sobel': sobel, 'convolve5': filter2d(5), 'convolve7': filter2d(7),
            'convolve15': filter2d(15), 'gauss2': gauss(2), 'gauss10': gauss(10), 'gauss30': gauss(30)}


HALOS = {'box8': 4, 'sobel': 1, 'convolve5': 2, 'convolve7': 3, 'convolve15': 7, 'gauss2': 8, 'gauss10': 40, 'gauss30': 120}


def opencv(name, width, height):
    import cv2
    rng = np.random.default_rng(1)
    u8 = rng.integers(0, 256, (height, width), dtype=np.uint8)
    target = np.empty_like(u8)

    def ways(function, source, result, halo):
        return opencv_ways(cv2, lambda a, _: function(a), source, result, halo)

    functions = functions_of_one(cv2)
    if name in functions:
        return ways(functions[name], u8, target, HALOS[name])
    if name == 'gauss10_f32':
        f32 = u8.astype(np.float32)
        return ways(functions['gauss10'], f32, np.empty_like(f32), 40)
    if name == 'add':
        f32 = [rng.random((height, width), dtype=np.float32) for _ in range(3)]
        return [lambda: cv2.add(*f32)]
    if name == 'integral':
        return [lambda: cv2.integral(u8)]
    if name == 'density31':
        wide = np.empty((height, width), np.uint16)
        return ways(lambda a: cv2.boxFilter(a, cv2.CV_16U, (31, 31), normalize=False), u8, wide, 15)
    if name == 'density31_marks':  # of masks of 0 and 255: 16 bits saturate beyond the threshold
        def marks(a):
            return cv2.compare(cv2.boxFilter(a, cv2.CV_16U, (31, 31), normalize=False), 100 * 255, cv2.CMP_GE)
        return ways(marks, u8, target, 15)
    if name == 'transpose':
        return [lambda: cv2.transpose(u8)]
    if name == 'transpose_f32':
        f32 = u8.astype(np.float32)
        return [lambda: cv2.transpose(f32)]
    if name == 'dot':
        a, b = (rng.random((height, width, 4), dtype=np.float32) for _ in range(2))
        ones = np.ones((1, 4), np.float32)
        return [lambda: cv2.transform(cv2.multiply(a, b), ones)]
    if name == 'colormap':
        return ways(lambda a: cv2.applyColorMap(a, cv2.COLORMAP_VIRIDIS), u8, np.dstack([u8] * 3), 0)
    if name == 'demosaic':
        return ways(lambda a: cv2.cvtColor(a, cv2.COLOR_BayerBG2RGB), u8, np.dstack([u8] * 3), 2)
    if name == 'histogram':
        return [lambda: cv2.calcHist([u8], [0], None, [256], [0, 256])]
    raise SystemExit(f'opencv has nothing like {name}')


def opencv_opencl(name, width, height):
    """The transparent API, on images in the device's memory."""
    import cv2
    if not cv2.ocl.haveOpenCL():
        raise SystemExit('OpenCV finds no OpenCL device')
    cv2.ocl.setUseOpenCL(True)
    u8 = np.random.default_rng(1).integers(0, 256, (height, width), dtype=np.uint8)
    source = cv2.UMat(u8.astype(np.float32) if name.endswith('_f32') or name == 'add' else u8)
    second = cv2.UMat(u8.astype(np.float32)) if name == 'add' else None

    functions = functions_of_one(cv2)
    functions |= {'gauss10_f32': functions['gauss10'], 'integral': cv2.integral,
                 'transpose': cv2.transpose, 'transpose_f32': cv2.transpose,
                 'density31': lambda a: cv2.boxFilter(a, cv2.CV_16U, (31, 31), normalize=False),
                 'add': lambda a: cv2.add(a, second), 'histogram': lambda a: cv2.calcHist([a], [0], None, [256], [0, 256])}
    if name not in functions:
        raise SystemExit(f'opencv_opencl has nothing like {name}')

    def run():
        functions[name](source)
        cv2.ocl.finish()
    print(f'# its OpenCL on {cv2.ocl.Device.getDefault().name()}, results in new memory')
    return [run]


def cvcuda_ways(name, width, height):
    """On images in the device's memory; CuPy holds them."""
    try:
        import cupy
        import cvcuda
    except ImportError as problem:
        raise SystemExit(f'not installed ({problem}; PyPI: cvcuda-cu12 or -cu13, cupy)') from problem
    pixels = cupy.random.randint(0, 256, (height, width, 1), dtype=cupy.uint8)
    source, target = (cvcuda.as_tensor(a, 'HWC') for a in (pixels, cupy.empty_like(pixels)))
    stream, border = cvcuda.Stream(), cvcuda.Border.REPLICATE

    def gauss(sigma):
        side = 2 * int(3 * sigma + 0.5) + 1
        return lambda: cvcuda.gaussian_into(target, source, (side, side), (sigma, sigma), border, stream=stream)
    works = {'gauss2': gauss(2), 'gauss10': gauss(10), 'gauss30': gauss(30)}  # its means are those of odd windows
    if name not in works:
        raise SystemExit(f'cvcuda has nothing like {name}')

    def run():
        works[name]()
        stream.sync()
    return [run]


def opencv_chain(chain, width, height, kind, channels, border):
    """Its results go to memory that it has: new pages would cost more than many a filter."""
    import cv2
    function, halo = opencv_chains.function_of(cv2, chain, kind, channels, border)
    source = opencv_chains.source_of(chain, width, height, kind, channels)
    target = function(source, None)
    if halo is not None:
        return opencv_ways(cv2, function, source, target, halo)
    memory = None if isinstance(target, list) else target  # counts
    return [lambda: function(source, memory)]


def numpy_ways(name, width, height):
    rng = np.random.default_rng(1)
    if name == 'dot':
        a, b = (rng.random((height, width, 4), dtype=np.float32) for _ in range(2))
        return [lambda: np.einsum('yxc,yxc->yx', a, b)]
    if name == 'add':
        a, b = (rng.random((height, width), dtype=np.float32) for _ in range(2))
        c = np.empty_like(a)
        return [lambda: np.add(a, b, out=c), parts_of_add(a, b, c)]
    if name == 'histogram':
        u8 = rng.integers(0, 256, height * width, dtype=np.uint8)
        return [lambda: np.bincount(u8, minlength=256)]
    raise SystemExit(f'numpy has nothing like {name}')


def parts_of_add(a, b, c):
    pool, edges = ThreadPoolExecutor(CORES), [a.shape[0] * i // CORES for i in range(CORES + 1)]

    def run():
        list(pool.map(lambda p: np.add(a[p], b[p], out=c[p]), map(slice, edges, edges[1:])))
    return run


def measure(ways, rounds):
    least = float('inf')
    for way in ways:
        end = time.perf_counter() + LONGEST_TURN
        for _ in range(rounds):
            start = time.perf_counter()
            way()
            now = time.perf_counter()
            least = min(least, now - start)
            if now > end:
                break
    print(f'{least * 1e3:.4f}', flush=True)


def main():
    peer, name, width, height, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    if len(sys.argv) > 6:
        ways = opencv_chain(name, width, height, sys.argv[6], int(sys.argv[7]), sys.argv[8])
    else:
        ways = {'opencv': opencv, 'opencv_opencl': opencv_opencl, 'cvcuda': cvcuda_ways, 'numpy': numpy_ways}[peer](name, width, height)
    measure(ways, 1)
    measure(ways, rounds)
    for line in sys.stdin:
        measure(ways, int(line))


main()
