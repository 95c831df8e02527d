#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Times videos: video.py [HONE] [FRAMES] [ROUNDS] [WITHOUT], where WITHOUT is a word that leaves out what has it in its name

1080p H.264 in and out, by hone and by ffmpeg, with the same decoder and the same encoder at the same settings: without a filter, with
hone's, with ffmpeg's nearest, and with ffmpeg's OpenCL filters on the same device. Rounds go through all of them in turn, and the least
times count. Prints a table: frames per second, their share of the frames per second without a filter, processor seconds.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

CARD = ['-init_hw_device', 'opencl=card:0.0', '-filter_hw_device', 'card']
ENCODER = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '17']


def card(name):
    return [*CARD, '-vf', f'format=yuv420p,hwupload,{name},hwdownload,format=yuv420p']


FFMPEG = {
    'ffmpeg, no filter': [],
    'ffmpeg avgblur=sizeX=4:planes=1 (box of 9x9)': ['-vf', 'avgblur=sizeX=4:planes=1'],
    'ffmpeg yaepblur=radius=4:planes=1 (keeps edges)': ['-vf', 'yaepblur=radius=4:planes=1'],
    'ffmpeg unsharp 5x5, luma': ['-vf', 'unsharp=5:5:1:5:5:0'],
    'ffmpeg avgblur_opencl=sizeX=4:planes=1': card('avgblur_opencl=sizeX=4:planes=1'),
    'ffmpeg convolution_opencl 3x3, luma': card('convolution_opencl=0m=1 1 1 1 1 1 1 1 1:0rdiv=0.1111'),
    'ffmpeg unsharp_opencl 5x5, luma': card('unsharp_opencl=lx=5:ly=5:la=1:ca=0'),
}
HONE = ['box size=1', 'epsilon threshold=12', 'box size=9', "convolve kernel='3x3: 1 1 1 1 1 1 1 1 1' scale=0.1111"]


def contestants(hone, source, out):
    for name, options in FFMPEG.items():
        devices = options[:4] if options[:1] == CARD[:1] else []
        yield name, ['ffmpeg', '-v', 'error', '-nostdin', '-y', *devices, '-i', source, *options[len(devices):], '-an', *ENCODER, out]
    for chain in HONE:
        yield f'hone {chain}', [hone, 'apply', chain, source, '-o', out, '--codec', 'libx264', '--preset', 'ultrafast', '--quality', '66',
                                '--tune', 'off', '-q']


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(command):
    """Seconds by the clock, and of the processor; None when it fails."""
    before, start = spent(), time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(f'{" ".join(command)}: {result.stderr.strip()[-200:]}', file=sys.stderr)
        return None
    return time.monotonic() - start, spent() - before


def main():
    hone = sys.argv[1] if len(sys.argv) > 1 else 'build/hone'
    frames, rounds = (int(sys.argv[i]) if len(sys.argv) > i else otherwise for i, otherwise in ((2, 300), (3, 1)))
    without = sys.argv[4] if len(sys.argv) > 4 else None
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, 'in.mp4'), os.path.join(folder, 'out.mp4')
        subprocess.run(['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=1920x1080:rate=25', '-frames:v', str(frames),
                        '-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'veryfast', source], check=True)
        best = {}
        for turn in range(rounds):
            for name, command in contestants(hone, source, out):
                if without and without in name:
                    continue
                if turn == 0 and command[0] == hone:
                    measure(command)  # kernels are compiled
                got = measure(command)
                if got:
                    best[name] = tuple(map(min, best.get(name, got), got))
                    print(turn, name, got, file=sys.stderr, flush=True)
    base = best['ffmpeg, no filter'][0]
    print('| | frames/s | of those without a filter | processor seconds |\n|---|---|---|---|')
    for name, (wall, cpu) in best.items():
        print(f'| {name} | {frames / wall:.1f} | {100 * base / wall:.0f} % | {cpu:.1f} |')


if __name__ == '__main__':
    main()
