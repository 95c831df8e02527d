# SPDX-License-Identifier: BSD-2-Clause
"""Folders of images and videos for bench/run: whole programs, by the clock and by processor time.

Folders: JPEGs of 8 megapixels through Sobel and a Gaussian of sigma 10, and raw PGMs through Sobel; vips and ImageMagick run one process per
image, as many at a time as there are processors, Python with OpenCV as many threads. All write JPEG with the same quality and chroma at half
the size. Videos: 1080p H.264 in and out with the same decoder, encoder and settings, the luma filtered; FFmpeg's OpenCL filters run on the
first OpenCL device.
"""
import os
import resource
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

from kit import PYTHON, say_once

QUALITY = 85
WIDTH, HEIGHT = 3264, 2448
VIDEO = (1920, 1080)
DISTINCT = 4
THREADS = os.cpu_count()

OPENCV = f"""
import concurrent.futures, os, sys
import cv2
cv2.setNumThreads(1)
work, source, target = sys.argv[1:]
def sobel(image):
    dx, dy = (cv2.Sobel(image, cv2.CV_32F, *order) for order in ((1, 0), (0, 1)))
    return cv2.convertScaleAbs(cv2.magnitude(dx.reshape(-1), dy.reshape(-1)).reshape(image.shape))
def gauss(image):
    return cv2.GaussianBlur(image, (0, 0), 10, borderType=cv2.BORDER_REPLICATE)
def one(name):
    image = cv2.imread(os.path.join(source, name), cv2.IMREAD_UNCHANGED)
    if not cv2.imwrite(os.path.join(target, name), dict(sobel=sobel, gauss=gauss)[work](image), [cv2.IMWRITE_JPEG_QUALITY, {QUALITY}]):
        sys.exit(name)
with concurrent.futures.ThreadPoolExecutor({THREADS}) as pool:
    list(pool.map(one, os.listdir(source)))
"""
CARD = ['-init_hw_device', 'opencl=card:0.0', '-filter_hw_device', 'card']
ENCODER = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '17']


class Entry(NamedTuple):
    """A program at a piece of work."""
    peer: str
    command: list
    note: str = ''  # what it does otherwise


class Work(NamedTuple):
    label: str
    image: str
    count: int  # images or frames, by which times are divided
    pixels: int  # of one
    target: str  # file or folder that is written
    files: int  # in the folder; 0: a file
    entries: list  # hone's first


def each(command):
    """A program that takes one image, run on all of a folder's. {} is the name."""
    return ['sh', '-c', f'ls "$1" | xargs -P {THREADS} -I{{}} {command}', 'sh']


def make_folder(folder, suffix, count):
    """Photograph-like pictures, a few of them many times."""
    os.mkdir(folder)
    subprocess.run([PYTHON, '-c', f"""
import cv2, numpy as np
for i in range({min(count, DISTINCT)}):
    noise = np.random.default_rng(i)
    image = np.zeros(({HEIGHT}, {WIDTH}, 3), np.float32)
    for octave in range(1, 9):
        small = noise.random(({HEIGHT} >> 9 - octave or 2, {WIDTH} >> 9 - octave or 2, 3), np.float32)
        image += cv2.resize(small, ({WIDTH}, {HEIGHT}), interpolation=cv2.INTER_CUBIC) * 0.55 ** octave
    image = np.clip(image / image.max() * 255 + noise.normal(0, 2, image.shape), 0, 255).astype(np.uint8)
    cv2.imwrite('{folder}/%03d.{suffix}' % i, image if '{suffix}' == 'jpg' else image[..., 1], [cv2.IMWRITE_JPEG_QUALITY, 92])
"""], check=True)
    for i in range(DISTINCT, count):
        shutil.copy(f'{folder}/{i % DISTINCT:03}.{suffix}', f'{folder}/{i:03}.{suffix}')


def folder_entries(hone, work, suffix, source, target):
    chain = {'sobel': 'sobel', 'gauss': 'gaussian sigma=10'}[work]
    quality = ['--quality', str(QUALITY)] if suffix == 'jpg' else []
    yield Entry('hone', [hone, 'apply', chain, source, '-o', target, *quality, '-q', '--tune', 'off'])
    saved = f'"$2/{{}}[Q={QUALITY},subsample-mode=on]"' if suffix == 'jpg' else '"$2/{}"'
    call = {'sobel': f'sobel "$1/{{}}" {saved}', 'gauss': f'gaussblur "$1/{{}}" {saved} 10'}[work]
    yield Entry('vips', [*each(f'env VIPS_CONCURRENCY=1 vips {call}'), source, target])
    if work == 'gauss':
        magick = f'convert -limit thread 1 "$1/{{}}" -blur 0x10 -sampling-factor 4:2:0 -quality {QUALITY} "$2/{{}}"'
        yield Entry('magick', [*each(magick), source, target])
    yield Entry('opencv', [PYTHON, '-c', OPENCV, work, source, target])


def folder_works(hone, folder, count):
    for work, suffix in (('sobel', 'jpg'), ('gauss', 'jpg'), ('sobel', 'pgm')):
        source, target = os.path.join(folder, suffix), os.path.join(folder, 'out')
        if not os.path.exists(source):
            make_folder(source, suffix, count)
        label = {'sobel': 'sobel', 'gauss': 'gaussian sigma=10'}[work]
        kind = {'jpg': 'JPEG', 'pgm': 'raw PGM'}[suffix]
        yield Work(label, f'{count} {kind}, {WIDTH}x{HEIGHT}', count, WIDTH * HEIGHT, target, count,
                   list(folder_entries(hone, work, suffix, source, target)))


def card(name):
    return ['-vf', f'format=yuv420p,hwupload,{name},hwdownload,format=yuv420p']


VIDEOS = {  # of hone's chain: filters of FFmpeg
    'box size=1': [('ffmpeg', [], 'no filter')],
    'epsilon threshold=12': [('ffmpeg', ['-vf', 'yaepblur=radius=4:planes=1'], 'yaepblur, which keeps edges by the variance in the window')],
    'box size=9': [('ffmpeg', ['-vf', 'avgblur=sizeX=4:planes=1'], 'avgblur'),
                   ('ffmpeg_opencl', card('avgblur_opencl=sizeX=4:planes=1'), 'avgblur_opencl')],
    "convolve kernel='3x3: 1 1 1 1 1 1 1 1 1' scale=0.1111": [
        ('ffmpeg', ['-vf', 'convolution=0m=1 1 1 1 1 1 1 1 1:0rdiv=0.1111'], 'convolution'),
        ('ffmpeg_opencl', card('convolution_opencl=0m=1 1 1 1 1 1 1 1 1:0rdiv=0.1111'), 'convolution_opencl')],
}


def video_works(hone, folder, count):
    source, target = os.path.join(folder, 'in.mp4'), os.path.join(folder, 'out.mp4')
    subprocess.run(['ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size={}x{}:rate=25'.format(*VIDEO), '-frames:v', str(count),
                    '-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'veryfast', source], check=True)
    for chain, others in VIDEOS.items():
        entries = [Entry('hone', [hone, 'apply', chain, source, '-o', target, '--force', '--codec', 'libx264', '--preset', 'ultrafast',
                                  '--quality', '66', '--tune', 'off', '-q'])]
        for peer, options, note in others:
            devices = CARD if peer == 'ffmpeg_opencl' else []
            entries.append(Entry(peer, ['ffmpeg', '-v', 'error', '-nostdin', '-y', *devices, '-i', source, *options, '-an', *ENCODER, target],
                                 note))
        yield Work(chain.split(' kernel=')[0], f'{count} frames of H.264, {VIDEO[0]}x{VIDEO[1]}', count, VIDEO[0] * VIDEO[1], target, 0, entries)


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def missing(entry):
    """The program that it lacks; None: nothing."""
    program = {'vips': 'vips', 'magick': 'convert', 'ffmpeg': 'ffmpeg', 'ffmpeg_opencl': 'ffmpeg'}.get(entry.peer)
    return program if program and not shutil.which(program) else None


def measure(entry, work):
    """Milliseconds by the clock and of processors, of one image; None where it fails, which is said."""
    if work.files:
        os.mkdir(work.target)
    before, start = spent(), time.monotonic()
    result = subprocess.run(entry.command, capture_output=True, text=True, check=False)
    got = tuple(1e3 * seconds / work.count for seconds in (time.monotonic() - start, spent() - before))
    complete = len(os.listdir(work.target)) == work.files if work.files else os.path.exists(work.target)
    if os.path.exists(work.target):
        (shutil.rmtree if work.files else os.remove)(work.target)
    if result.returncode == 0 and complete:
        return got
    problem = result.stderr.strip()[-300:] or 'not all was written'
    if entry.peer == 'hone':
        sys.exit(f'hone: {problem}')
    say_once(f'{entry.peer}: {work.label}: {problem}')
    return None


def race(work, rounds):
    """Of each program the least of both times: {peer: (wall, processor)}."""
    best = {}
    measure(work.entries[0], work)  # kernels are compiled
    for _ in range(rounds):
        for entry in work.entries:
            if missing(entry):
                say_once(f'{entry.peer}: {missing(entry)} is not installed')
                continue
            got = measure(entry, work)
            if got:
                best[entry.peer] = tuple(map(min, best.get(entry.peer, got), got))
    return best
