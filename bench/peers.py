#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times other libraries at the same work: peers.py PEER CASE WIDTH HEIGHT ROUNDS

Prints the least milliseconds of so many rounds, then for each further line of standard input (a number of rounds) again.
OpenCV gets both ways of using two cores: its own threads, and two calls on halves of the image; the better one counts.
"""
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

CASES = {}


def case(*names):
    def add(function):
        for name in names:
            CASES[name] = function
        return function
    return add


def halves(function, source, target, halo):
    """The function on both halves at once, with the rows around them that it looks at."""
    height = source.shape[0]
    middle = height // 2
    pool = ThreadPoolExecutor(2)

    def part(start, end):
        first, last = max(0, start - halo), min(height, end + halo)
        target[start:end] = function(source[first:last])[start - first:end - first]

    def run():
        tasks = [pool.submit(part, 0, middle), pool.submit(part, middle, height)]
        for task in tasks:
            task.result()
    return run


def opencv_ways(cv2, function, source, target, halo):
    """Whole with OpenCV's threads, and split by the caller with one thread each."""
    def whole():
        cv2.setNumThreads(2)
        function(source)
    split = halves(function, source, target, halo)

    def in_halves():
        cv2.setNumThreads(1)
        split()
    return [whole, in_halves]


def opencv(name, width, height):
    import cv2
    rng = np.random.default_rng(1)
    u8 = rng.integers(0, 256, (height, width), dtype=np.uint8)
    target = np.empty_like(u8)

    def sobel(a):
        dx, dy = cv2.Sobel(a, cv2.CV_16S, 1, 0), cv2.Sobel(a, cv2.CV_16S, 0, 1)
        return cv2.add(cv2.convertScaleAbs(dx), cv2.convertScaleAbs(dy))

    def filter2d(side):
        weights = ((np.arange(side * side) * 37 % 19 - 9) / 256.0).astype(np.float32).reshape(side, side)
        return lambda a: cv2.filter2D(a, -1, weights)
    simple = {
        'box8': (lambda a: cv2.blur(a, (8, 8)), 4),
        'sobel': (sobel, 1),
        'convolve5': (filter2d(5), 2), 'convolve7': (filter2d(7), 3), 'convolve15': (filter2d(15), 7),
        'gauss2': (lambda a: cv2.GaussianBlur(a, (0, 0), 2), 8),
        'gauss10': (lambda a: cv2.GaussianBlur(a, (0, 0), 10), 40),
        'gauss30': (lambda a: cv2.GaussianBlur(a, (0, 0), 30), 120),
    }
    if name in simple:
        function, halo = simple[name]
        return opencv_ways(cv2, function, u8, target, halo)
    if name == 'gauss10_f32':
        f32 = u8.astype(np.float32)
        return opencv_ways(cv2, lambda a: cv2.GaussianBlur(a, (0, 0), 10), f32, np.empty_like(f32), 40)
    if name == 'integral':
        return [lambda: cv2.integral(u8)]
    if name == 'density31':
        wide = np.empty((height, width), np.uint16)
        return opencv_ways(cv2, lambda a: cv2.boxFilter(a, cv2.CV_16U, (31, 31), normalize=False), u8, wide, 15)
    if name == 'density31_marks':  # of masks of 0 and 255: 16 bits saturate beyond the threshold
        def marks(a):
            return cv2.compare(cv2.boxFilter(a, cv2.CV_16U, (31, 31), normalize=False), 100 * 255, cv2.CMP_GE)
        return opencv_ways(cv2, marks, u8, target, 15)
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
        return opencv_ways(cv2, lambda a: cv2.applyColorMap(a, cv2.COLORMAP_VIRIDIS), u8, np.dstack([u8] * 3), 0)
    if name == 'demosaic':
        return opencv_ways(cv2, lambda a: cv2.cvtColor(a, cv2.COLOR_BayerBG2RGB), u8, np.dstack([u8] * 3), 2)
    if name == 'histogram':
        return [lambda: cv2.calcHist([u8], [0], None, [256], [0, 256])]
    raise SystemExit(f'opencv has nothing like {name}')


def numpy_ways(name, width, height):
    rng = np.random.default_rng(1)
    if name == 'dot':
        a, b = (rng.random((height, width, 4), dtype=np.float32) for _ in range(2))
        return [lambda: np.einsum('yxc,yxc->yx', a, b)]
    if name == 'add':
        a, b = (rng.random((height, width), dtype=np.float32) for _ in range(2))
        c = np.empty_like(a)
        return [lambda: np.add(a, b, out=c), halves_of_add(a, b, c)]
    if name == 'histogram':
        u8 = rng.integers(0, 256, height * width, dtype=np.uint8)
        return [lambda: np.bincount(u8, minlength=256)]
    raise SystemExit(f'numpy has nothing like {name}')


def halves_of_add(a, b, c):
    pool, middle = ThreadPoolExecutor(2), a.shape[0] // 2

    def run():
        parts = [slice(0, middle), slice(middle, None)]
        list(pool.map(lambda p: np.add(a[p], b[p], out=c[p]), parts))
    return run


def measure(ways, rounds):
    least = float('inf')
    for way in ways:
        for _ in range(rounds):
            start = time.perf_counter()
            way()
            least = min(least, time.perf_counter() - start)
    print(f'{least * 1e3:.4f}', flush=True)


def main():
    peer, name, width, height, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    ways = {'opencv': opencv, 'numpy': numpy_ways}[peer](name, width, height)
    measure(ways, 1)
    measure(ways, rounds)
    for line in sys.stdin:
        measure(ways, int(line))


main()
