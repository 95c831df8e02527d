# SPDX-License-Identifier: BSD-2-Clause
"""OpenCV's functions for chains of one filter, of any type, channels and border: what bench/matrix compares with.

Each is a function of an image and of memory for its result (or None), with how many rows around a part of the image it looks
at, or None where only the whole image will do. Two images come as one, side by side in its second axis.
"""
import numpy as np

COLOURS = {'bilinear': 'COLOR_BayerBG2RGB'}
GRAY = {3: 'COLOR_RGB2GRAY', 4: 'COLOR_RGBA2GRAY'}
MULTIPLIED = {'premultiply': 'COLOR_RGBA2mRGBA', 'unpremultiply': 'COLOR_mRGBA2RGBA'}
TWO_IMAGES = ('add', 'dot')
# Filters that look at no neighbours, or whose borders OpenCV does not let choose.
BORDERLESS = ('add', 'dot', 'colormap', 'demosaic', 'gray', 'histogram', 'integral', 'premultiply', 'unpremultiply', 'transpose')


class NothingLike(SystemExit):
    """OpenCV lacks this case."""

    def __init__(self, chain, why=''):
        super().__init__(f'opencv has nothing like {chain}{why}')


def parameters_of(chain):
    """A filter's name, and its parameters."""
    name, *words = chain.split()
    return name, dict(word.split('=', 1) for word in words if '=' in word)


class Wanted:
    """One case: the chain's parameters, the image's type and channels, and OpenCV's border."""

    def __init__(self, cv2, chain, kind, channels, border):
        self.cv2, self.chain, self.kind, self.channels = cv2, chain, kind, channels
        self.name, self.given = parameters_of(chain)
        self.rule = {'replicate': cv2.BORDER_REPLICATE, 'reflect': cv2.BORDER_REFLECT, 'reflect101': cv2.BORDER_REFLECT_101,
                     'constant': cv2.BORDER_CONSTANT}.get(border)
        if self.rule is None:
            raise NothingLike(chain, f' border={border}')
        if self.name in BORDERLESS and border != 'replicate':
            raise NothingLike(chain, f' border={border}')

    def window(self):
        return tuple(int(self.given.get(side, self.given.get('size', 8))) for side in ('width', 'height'))

    def nothing_like(self):
        return NothingLike(f'{self.chain} of {self.kind} x{self.channels}')


def weights(side):
    """Those of cases.weights, as OpenCV takes them."""
    return ((np.arange(side * side) * 37 % 19 - 9) / 256.0).astype(np.float32).reshape(side, side)


def box(want):
    window = want.window()
    return lambda a, to: want.cv2.blur(a, window, dst=to, borderType=want.rule), window[1]


def density(want):
    """Sums of 32 bits: those of 16 that OpenCV has of u8 saturate."""
    window = want.window()
    return lambda a, to: want.cv2.boxFilter(a, want.cv2.CV_32S, window, dst=to, normalize=False, borderType=want.rule), window[1]


def gaussian(want):
    sigma = float(want.given.get('sigma', 2))
    return lambda a, to: want.cv2.GaussianBlur(a, (0, 0), sigma, dst=to, borderType=want.rule), int(4 * sigma) + 1


def convolve(want):
    side = int(want.chain.split("'")[1].split('x')[0])
    kernel = weights(side)
    return lambda a, to: want.cv2.filter2D(a, -1, kernel, dst=to, borderType=want.rule), side


def sobel(want):
    cv2, l1 = want.cv2, want.given.get('norm') == 'l1'
    depth = cv2.CV_16S if want.kind == 'u8' else cv2.CV_32F

    def along(a, x, to=None):
        return cv2.Sobel(a, depth, x, 1 - x, dst=to, borderType=want.rule)

    def magnitude(a, to):
        dx, dy = along(a, 1), along(a, 0)
        if want.kind == 'u8' and l1:
            return cv2.add(cv2.convertScaleAbs(dx), cv2.convertScaleAbs(dy), dst=to)
        dx, dy = (part.astype(np.float32, copy=False) for part in (dx, dy))
        return cv2.add(cv2.absdiff(dx, 0), cv2.absdiff(dy, 0), dst=to) if l1 else cv2.magnitude(dx, dy, magnitude=to)
    output = want.given.get('output', 'magnitude')
    return (magnitude if output == 'magnitude' else lambda a, to: along(a, int(output == 'dx'), to)), 1


def transpose(want):
    return lambda a, to: want.cv2.transpose(a, dst=to), None


def add(want):
    return lambda a, to: want.cv2.add(a[:, 0], a[:, 1], dst=to), 0


def dot(want):
    ones = np.ones((1, 4), np.float32)
    return lambda a, to: want.cv2.transform(want.cv2.multiply(a[:, 0], a[:, 1]), ones, dst=to), 0


def colormap(want):
    if want.kind != 'u8':
        raise want.nothing_like()
    return lambda a, to: want.cv2.applyColorMap(a, want.cv2.COLORMAP_JET, dst=to), 0


def demosaic(want):
    code = getattr(want.cv2, COLOURS.get(want.given['method'], ''), None)
    if code is None:
        raise want.nothing_like()
    return lambda a, to: want.cv2.cvtColor(a, code, dst=to), 2


def gray(want):
    if want.channels == 1:
        return lambda a, to: want.cv2.copyTo(a, None, to), 0
    code = getattr(want.cv2, GRAY[want.channels])
    return lambda a, to: want.cv2.cvtColor(a, code, dst=to), 0


def multiplied(want):
    if (want.kind, want.channels) != ('u8', 4):
        raise want.nothing_like()
    code = getattr(want.cv2, MULTIPLIED[want.name])
    return lambda a, to: want.cv2.cvtColor(a, code, dst=to), 0


def integral(want):
    """Of u16 it has sums of 64 bits only."""
    depth = {'u8': want.cv2.CV_32S, 'u16': want.cv2.CV_64F, 'f32': want.cv2.CV_32F}[want.kind]
    return lambda a, to: want.cv2.integral(a, sum=to, sdepth=depth), None


def histogram(want):
    end = {'u8': 256, 'u16': 65536, 'f32': 1}[want.kind]

    def counts(a, _):
        return [want.cv2.calcHist([a], [channel], None, [256], [0, end]) for channel in range(want.channels)]
    return counts, None


FUNCTIONS = {'box': box, 'density': density, 'gaussian': gaussian, 'convolve': convolve, 'sobel': sobel, 'transpose': transpose,
             'add': add, 'dot': dot, 'colormap': colormap, 'demosaic': demosaic, 'gray': gray, 'premultiply': multiplied,
             'unpremultiply': multiplied, 'integral': integral, 'histogram': histogram}


def function_of(cv2, chain, kind, channels, border):
    want = Wanted(cv2, chain, kind, channels, border)
    if want.name not in FUNCTIONS:
        raise NothingLike(chain)
    return FUNCTIONS[want.name](want)


def source_of(chain, width, height, kind, channels):
    """Random pixels; of two images, both."""
    shape = (height, 2, width) if chain.split()[0] in TWO_IMAGES else (height, width)
    source = np.random.default_rng(1).random((*shape, channels) if channels > 1 else shape, dtype=np.float32)
    if kind == 'f32':
        return source
    wanted = np.dtype(kind.replace('u', 'uint'))
    return (source * np.iinfo(wanted).max).astype(wanted)
