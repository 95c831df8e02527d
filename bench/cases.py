# SPDX-License-Identifier: BSD-2-Clause
"""What bench/run measures: a chain on images of one size and kind, beside those of its peers that do the same."""
from typing import NamedTuple


class Case(NamedTuple):
    name: str  # by which peers know it
    chain: str
    size: tuple
    kind: str
    channels: int
    peers: list
    rung: str = ''  # of the filter's ladder; else what hone chooses


PHOTO, PANORAMA, SQUARE = (3264, 2448), (16384, 8192), (16384, 16384)

CPU_CASES = [
    Case('box8', 'box size=8', PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'vips']),
    Case('box8', 'box size=8', PANORAMA, 'u8', 1, ['opencv', 'plain']),
    Case('sobel', 'sobel norm=l1', PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'vips']),
    Case('sobel', 'sobel norm=l1', PANORAMA, 'u8', 1, ['opencv', 'plain']),
    Case('epsilon9', 'epsilon radius=4 threshold=16', PHOTO, 'u8', 1, ['plain', 'ffmpeg', 'magick']),
    Case('convolve5', "convolve kernel='5x5: {5}' scale=0.00390625", PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'vips']),
    Case('convolve7', "convolve kernel='7x7: {7}' scale=0.00390625", PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'vips']),
    Case('convolve15', "convolve kernel='15x15: {15}' scale=0.00390625", PHOTO, 'u8', 1, ['opencv', 'plain', 'vips']),
    Case('gauss2', 'gaussian sigma=2', PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'magick', 'vips']),
    Case('gauss10', 'gaussian sigma=10', PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'magick', 'vips']),
    Case('gauss30', 'gaussian sigma=30', PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'magick', 'vips']),
    Case('gauss10_f32', 'gaussian sigma=10', PHOTO, 'f32', 1, ['opencv', 'plain', 'vips']),
    Case('integral', 'integral', PHOTO, 'u8', 1, ['opencv', 'plain']),
    Case('density31', 'density size=31 mask=yes', PHOTO, 'u8', 1, ['opencv', 'plain']),
    Case('density31', 'density size=31', PHOTO, 'u8', 1, ['opencv', 'plain']),
    Case('density31_marks', 'density size=31 mask=yes output=marks threshold=100', PHOTO, 'u8', 1, ['opencv', 'plain']),
    Case('transpose', 'transpose', PHOTO, 'u8', 1, ['opencv', 'plain', 'ffmpeg', 'magick', 'vips']),
    Case('transpose_f32', 'transpose', PHOTO, 'f32', 1, ['opencv', 'plain', 'vips']),
    Case('add', 'add', PHOTO, 'f32', 1, ['numpy', 'plain', 'vips']),
    Case('dot', 'dot', (2500, 2000), 'f32', 4, ['opencv', 'numpy', 'plain']),
    Case('colormap', 'colormap map=viridis', PHOTO, 'u8', 1, ['opencv', 'plain']),
    Case('demosaic', 'demosaic', PHOTO, 'u8', 1, ['opencv', 'plain']),
    Case('demosaic_malvar', 'demosaic method=malvar', PHOTO, 'u8', 1, []),
    Case('histogram', 'histogram', PHOTO, 'u8', 1, ['opencv', 'numpy', 'plain', 'vips']),
]

GPU_CASES = [
    Case('box8', 'box size=8', PHOTO, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('box8', 'box size=8', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('sobel', 'sobel norm=l1', PHOTO, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('sobel', 'sobel norm=l1', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('epsilon9', 'epsilon radius=4 threshold=16', SQUARE, 'u8', 1, []),
    Case('epsilon9', 'epsilon radius=4 threshold=16 accuracy=relaxed', SQUARE, 'u8', 1, [], '1'),
    Case('convolve5', "convolve kernel='5x5: {5}' scale=0.00390625", SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('convolve7', "convolve kernel='7x7: {7}' scale=0.00390625", SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('convolve15', "convolve kernel='15x15: {15}' scale=0.00390625", SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl']),
    Case('gauss2', 'gaussian sigma=2', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'cvcuda']),
    Case('gauss10', 'gaussian sigma=10', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'cvcuda']),
    Case('gauss30', 'gaussian sigma=30', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'cvcuda']),
    Case('gauss10_f32', 'gaussian sigma=10', SQUARE, 'f32', 1, ['npp', 'opencv', 'opencv_opencl']),
    Case('integral', 'integral', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl']),
    Case('density31', 'density size=31 mask=yes', SQUARE, 'u8', 1, []),
    Case('density31', 'density size=31', SQUARE, 'u8', 1, ['opencv', 'opencv_opencl']),
    Case('density31_marks', 'density size=31 mask=yes output=marks threshold=100', SQUARE, 'u8', 1, ['opencv']),
    Case('transpose', 'transpose', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl', 'ffmpeg_opencl']),
    Case('transpose_f32', 'transpose', SQUARE, 'f32', 1, ['npp', 'opencv', 'opencv_opencl']),
    Case('add', 'add', SQUARE, 'f32', 1, ['npp', 'opencv', 'opencv_opencl']),
    Case('dot', 'dot', (2500, 2000), 'f32', 4, []),
    Case('histogram', 'histogram', SQUARE, 'u8', 1, ['npp', 'opencv', 'opencv_opencl']),
    Case('colormap', 'colormap map=viridis', SQUARE, 'u8', 1, ['npp', 'opencv']),
    Case('demosaic', 'demosaic', SQUARE, 'u8', 1, ['npp', 'opencv']),
]

class Ladder(NamedTuple):
    """A chain whose rungs are climbed. A source's figures stand only beside the source's own work: its data, and its size
    where it names one."""
    chain: str
    kind: str = 'u8'
    channels: int = 1
    size: tuple = None
    is_source: bool = True  # False: other data, without the source's figures


RUSSIAN = "convolve kernel='5x5: {5}' scale=0.00390625 border=zero-outside"
LADDERS = {
    'add': [Ladder('add', 'f32', 4)],  # float4 elements
    'box': [Ladder('box size=8')],
    'convolve': [Ladder(RUSSIAN, 'u8', 3, (2048, 1536)), Ladder(RUSSIAN, 'u8', 4, (2048, 1536)),
                 Ladder("convolve kernel='5x5: {5}' scale=0.00390625", is_source=False),
                 Ladder("convolve kernel='5x5: {5x5}' scale=0.00390625", is_source=False)],
    'density': [Ladder('density size=31 mask=yes')],
    'dot': [Ladder('dot', 'f32', 4, (2500, 2000))],  # five million pairs of float4
    'epsilon': [Ladder('epsilon radius=4 threshold=16', 'u8', 1, (3264, 2448))],  # the luma of a frame
    'gaussian': [Ladder('gaussian sigma=2', 'f32'), Ladder('gaussian sigma=2', is_source=False),
                 Ladder('gaussian sigma=10', is_source=False)],
}


def weights(side):
    return ' '.join(str(i * 37 % 19 - 9) for i in range(side * side))


def binomial():
    """Those of a kernel that is a row times a column."""
    row = (1, 4, 6, 4, 1)
    return ' '.join(str(x * y) for y in row for x in row)


def written_out(chain):
    """The chain with the weights of its kernel."""
    for side in (5, 7, 15):
        chain = chain.replace('{%d}' % side, weights(side))
    return chain.replace('{5x5}', binomial())


def short(chain):
    """What a table calls it."""
    name, _, kernel = chain.partition(" kernel='")
    if not kernel:
        return name
    return f"{name} {kernel.split(':')[0]}" + (', a row times a column' if '{5x5}' in kernel else '')


def label(case):
    return short(case.chain) + (f', rung {case.rung}' if case.rung else '')
