#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times other programs at similar work: commands.py ffmpeg|ffmpeg_opencl|magick CASE WIDTH HEIGHT ROUNDS

Prints "# what was run", the least milliseconds of so many rounds, then for each further line of standard input (a number of
rounds) again. In a round the program does the work on an image of random bytes, often enough to take a while, and then all
the same without the work; the least time with it less the least time without it is what the work takes. Rounds end after two
seconds, but not before the first. FFmpeg's own clock counts, from the first frame on; for ImageMagick, which has none that
leaves out the reading, the wall clock. Both may use two threads.
"""
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import cases

LONG_ENOUGH, MOST_REPEATS, LONGEST_TURN = 0.4, 200, 2.0  # seconds, times, seconds


class FFmpeg:
    """A filter over one frame that the filter `loop` gives again and again; without the work, the filter `null`."""

    WORKS = {
        'box8': ('avgblur=sizeX=4', ', 9x9 pixels (its sizes are odd)'),
        'sobel': ('sobel', ', the root of the sum of squares instead of the sum of magnitudes'),
        'epsilon9': ('yaepblur=radius=4', ', another filter that keeps edges, by the variance in the window'),
        'gauss2': ('gblur=sigma=2:steps=1', ', its default: one recursive step, which only resembles a Gaussian'),
        'gauss10': ('gblur=sigma=10:steps=1', ', its default: one recursive step, which only resembles a Gaussian'),
        'gauss30': ('gblur=sigma=30:steps=1', ', its default: one recursive step, which only resembles a Gaussian'),
        'convolve5': (f"convolution=0m='{cases.weights(5)}'", ', divided by the sum of the weights'),
        'convolve7': (f"convolution=0m='{cases.weights(7)}'", ', divided by the sum of the weights'),
        'transpose': ('transpose=dir=cclock_flip', ''),
    }
    PROGRAMS, PACKAGE = ['ffmpeg'], 'ffmpeg'

    def __init__(self, program, work, source, width, height):
        self.command = [program, '-hide_banner', '-nostdin', '-benchmark', '-filter_threads', '2', '-f', 'rawvideo',
                        '-pix_fmt', 'gray', '-s', f'{width}x{height}', '-i', source]
        self.work = work[0]
        self.note = re.sub("=0m='.*", '', work[0]) + work[1]

    def chain(self, repeats, working):
        return f'loop=loop={repeats - 1}:size=1,' + (self.work if working else 'null')

    def seconds(self, repeats, working):
        chain = self.chain(repeats, working)
        log = run([*self.command, '-vf', chain, '-fps_mode', 'passthrough', '-f', 'null', '-'])
        frames = re.findall(r'frame= *(\d+)', log)
        clock = re.search(r'rtime=([\d.]+)s', log)
        if not clock or not frames or int(frames[-1]) != repeats:
            sys.exit(f'ffmpeg made {frames[-1:]} frames instead of {repeats}: {log}')
        return float(clock.group(1))


class FFmpegOpenCL(FFmpeg):
    """The same on the first OpenCL device, in whose memory the frame stays."""

    WORKS = {
        'box8': ('avgblur_opencl=sizeX=4', ', 9x9 pixels (its sizes are odd)'),
        'sobel': ('sobel_opencl', ', the root of the sum of squares instead of the sum of magnitudes'),
        'convolve5': (f"convolution_opencl=0m='{cases.weights(5)}':0rdiv=0.00390625", ''),
        'convolve7': (f"convolution_opencl=0m='{cases.weights(7)}':0rdiv=0.00390625", ''),
        'transpose': ('transpose_opencl=dir=cclock_flip', ''),
    }

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.command[1:1] = ['-init_hw_device', 'opencl=card:0.0', '-filter_hw_device', 'card']

    def chain(self, repeats, working):
        return f'hwupload,loop=loop={repeats - 1}:size=1' + (',' + self.work if working else '')


class Magick:
    """An operation on copies of an image; without the work, copies alone, which share their pixels."""

    DEPTH = ', 16 bits of each of its channels'
    WORKS = {
        'gauss2': (['-blur', '0x2'], DEPTH),
        'gauss10': (['-blur', '0x10'], DEPTH),
        'gauss30': (['-blur', '0x30'], DEPTH),
        'epsilon9': (['-selective-blur', '4x1000+6.4%'],
                     ', the same mean' + DEPTH),
        'transpose': (['-transpose'], DEPTH),
    }
    PROGRAMS, PACKAGE = ['magick', 'convert-im6.q16', 'convert'], 'imagemagick'

    def __init__(self, program, work, source, width, height):
        self.command = [program, '-limit', 'thread', '2', '-size', f'{width}x{height}', '-depth', '8', 'gray:' + source]
        self.work = work[0]
        self.note = ' '.join(work[0]) + work[1]

    def seconds(self, repeats, working):
        step = ['(', '-clone', '0', *(self.work if working else []), ')', '-delete', '1']
        start = time.perf_counter()
        run([*self.command, *step * repeats, 'null:'])
        return time.perf_counter() - start


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f'{os.path.basename(command[0])} ended with {done.returncode}: {done.stdout.strip()[-500:]}')
    return done.stdout


def enough(peer):
    """How often the work is to be done for a time that clocks can tell."""
    once = peer.seconds(1, True) - peer.seconds(1, False)
    return min(MOST_REPEATS, math.ceil(LONG_ENOUGH / max(once, LONG_ENOUGH / MOST_REPEATS)))


def measure(peer, repeats, rounds):
    working, idle = [], []
    end = time.perf_counter() + LONGEST_TURN
    while not working or len(working) < rounds and time.perf_counter() < end:
        working.append(peer.seconds(repeats, True))
        idle.append(peer.seconds(repeats, False))
    ms = (min(working) - min(idle)) / repeats * 1e3
    if ms <= 0:
        sys.exit('the work takes no longer than none: the machine is too busy to tell')
    print(f'{ms:.4f}', flush=True)


def main():
    kind, name, width, height, rounds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    peer_class = {'ffmpeg': FFmpeg, 'ffmpeg_opencl': FFmpegOpenCL, 'magick': Magick}[kind]
    if name not in peer_class.WORKS:
        sys.exit(f'{kind} has nothing like {name}')
    program = next(filter(None, map(shutil.which, peer_class.PROGRAMS)), None)
    if not program:
        sys.exit(f'not installed (Debian: apt install {peer_class.PACKAGE})')
    with tempfile.NamedTemporaryFile() as source:
        source.write(os.urandom(width * height))
        source.flush()
        peer = peer_class(program, peer_class.WORKS[name], source.name, width, height)
        repeats = enough(peer)
        print(f'# {peer.note}')
        measure(peer, repeats, rounds)
        for line in sys.stdin:
            measure(peer, repeats, int(line))


if __name__ == '__main__':
    main()
