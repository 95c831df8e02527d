# SPDX-License-Identifier: BSD-2-Clause
"""Chains on Dask arrays: in blocks with the halo that the chain states, or by what its filters need instead."""

import contextlib
import math
import os
import threading

import dask.array as da
import numpy

from .. import _hone
from .._arrays import native
from .._filters import apply as apply_here
from .._filters import load
from .._hone import UsageError
from .._plans import parse
from ._device import device as device_here

_TYPES = {"uint8": "u8", "uint16": "u16", "int16": "s16", "float32": "f32", "uint32": "u32"}
_DTYPES = {name: numpy.dtype(dtype) for dtype, name in _TYPES.items()}


def apply(chain, array, *others, axes=None, device=None, reproducible=False, filters=(), with_axes=False):
    """Applies a chain to a Dask array of any size; lazily, as Dask does. The result is that of hone.apply on the whole array:
    the same integers, and floating-point results, and those of gaussian, within the same bounds.

    chain: as in hone.apply.
    array: of uint8, uint16, int16 or float32. Its chunks are what workers filter, with the neighbours that the chain needs.
    others: the second images of filters that take two, arrays of the first one's shape.
    axes: a letter for each axis, as in hone.apply: 'ZYX', 'TCYX', 'YXC'.
    device: for all workers; default: a GPU of its node for each worker, or hone's choice.
    reproducible: the same result on every device, to the last bit, or UnsupportedError.
    filters: paths of filters of your own that the chain names. They are read here and sent to the workers.
    with_axes: return (result, its axes): C comes or goes with colours.

    Sums that go on from block to block (integral) are carried, counts (histogram) are added. Filters that read elsewhere
    (transpose, and filters of your own that know their place) get whole images: chunks are merged for them.
    """
    sources = tuple(source_of(path) for path in filters)
    run = _Run(device, reproducible, sources)
    array = da.asarray(array)
    axes = _axes(array, axes)
    others = [da.asarray(other) for other in others]
    for text in _groups(parse(chain)[0], array, axes):
        count = sum(_inputs(name) - 1 for name in parse(text)[1])
        if count > len(others):
            raise UsageError(f"{text} needs {count} second image{'s' if count > 1 else ''}")
        array, axes = run.step(text, array, others[:count], axes)
        others = others[count:]
    if others:
        raise UsageError(f"the chain takes fewer second images: {len(others)} too many are given")
    return (array, axes) if with_axes else array


def source_of(path):
    """(path, text) of a filter of one's own, which chains may name from now on."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    load(path, text)
    return os.fspath(path), text


def _axes(array, axes):
    if any(math.isnan(size) for size in array.shape):
        raise UsageError("the sizes of the array's blocks are not known; find them out first: array.compute_chunk_sizes()")
    if axes is None:
        if array.ndim == 2 or array.ndim == 3 and array.shape[2] <= 4:
            return "YXC"[:array.ndim]
        raise UsageError(f"the array has {array.ndim} axes; name them, such as axes='ZYX'")
    if len(axes) != array.ndim or "Y" not in axes or "X" not in axes or len(set(axes)) != len(axes):
        raise UsageError(f"axes={axes!r} must have a letter for each of the {array.ndim} axes, Y and X among them")
    return axes


def _inputs(name):
    return next(info["inputs"] for info in _hone.filters() if info["name"] == name)


def _desc(array, axes):
    if array.dtype.name not in _TYPES:
        raise UsageError(f"the array is of {array.dtype}; hone takes uint8, uint16, int16 and float32")
    channels = array.shape[axes.index("C")] if "XC" in axes else 1
    return array.shape[axes.index("X")], array.shape[axes.index("Y")], _TYPES[array.dtype.name], channels


def steps_of(text):
    """The filters of a canonical chain: bars in quotes are none."""
    steps, quote = [""], ""
    for letter in text:
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        if letter == "|" and not quote:
            steps.append("")
        else:
            steps[-1] += letter
    return [step.strip() for step in steps]


def _groups(text, array, axes):
    """The chain in parts, each as long as possible: neighbours that have windows run together."""
    desc, groups, windows = _desc(array, axes), [], False
    for step in steps_of(text):
        needs = _hone.chain_needs(step, desc)
        plain = needs["reach"] == "window" and not needs["wraps"]
        if plain and windows:
            groups[-1] += " | " + step
        else:
            groups.append(step)
        windows = plain
        desc = needs["output"]
    return groups


class _Run:
    """What holds for all blocks."""

    def __init__(self, device, reproducible, sources):
        self.device, self.reproducible, self.sources = device, reproducible, sources

    def step(self, text, array, others, axes):
        """(result, axes) of one part of the chain."""
        needs = _hone.chain_needs(text, _desc(array, axes))
        if "XC" in axes:
            array = array.rechunk({axes.index("C"): -1})
        do = {"window": self._window, "before": self._sums, "all": self._counts, "elsewhere": self._whole}[needs["reach"]]
        return do(text, array, others, axes, needs)

    def _map(self, text, array, others, axes, needs, sides=None):
        """Each block filtered by itself; `sides`: the sizes of the results' blocks along Y and X, where they change."""
        _, _, kind, channels = needs["output"]
        chunks, after = list(array.chunks), axes
        for axis, sizes in (sides or {}).items():
            chunks[axes.index(axis)] = sizes
        options = {}
        if "XC" in axes and channels == 1 and array.shape[axes.index("C")] > 1:
            options["drop_axis"] = axes.index("C")
            del chunks[axes.index("C")]
            after = axes.replace("C", "")
        elif "XC" in axes:
            chunks[axes.index("C")] = (channels,)
        elif channels > 1:
            options["new_axis"] = axes.index("X") + 1
            chunks.insert(axes.index("X") + 1, (channels,))
            after = axes.replace("X", "XC")
        result = da.map_blocks(_block, array, *others, text, axes, self, dtype=_DTYPES[kind], chunks=tuple(chunks),
                               meta=numpy.empty((0,) * len(chunks), _DTYPES[kind]), name=None, **options)
        return result, after

    def _window(self, text, array, others, axes, needs):
        depth, period = {}, needs["period"]
        for axis, before, behind in (("Y", "top", "bottom"), ("X", "left", "right")):
            index, reach = axes.index(axis), max(needs[before], needs[behind])
            reach = -(-reach // period) * period
            array = array.rechunk({index: _aligned(array.chunks[index], period, reach)})
            if reach >= array.shape[index] or needs["wraps"] and array.shape[index] % period:
                array = array.rechunk({index: -1})
            elif reach and len(array.chunks[index]) > 1:
                depth[axis] = reach
        boundary = "periodic" if needs["wraps"] else "none"
        padded = [_padded(one.rechunk(array.chunks), axes, depth, boundary) for one in [array, *others]]
        result, after = self._map(text, padded[0], padded[1:], axes, needs)
        if depth:
            result = da.overlap.trim_internal(result, {after.index(axis): reach for axis, reach in depth.items()},
                                              {after.index(axis): boundary for axis in depth})
        return result, after

    def _sums(self, text, array, others, axes, needs):
        """Sums of blocks, then what is left of each, then what is above."""
        result, after = self._map(text, array, others, axes, needs)
        for axis in "XY":
            index = after.index(axis)
            if len(result.chunks[index]) == 1:
                continue
            ones = result.chunks[:index] + ((1,) * len(result.chunks[index]),) + result.chunks[index + 1:]
            last = result.map_blocks(_last, index, dtype=result.dtype, chunks=ones)
            sums = da.cumsum(last, axis=index, dtype=result.dtype)
            first = da.zeros_like(last[(slice(None),) * index + (slice(0, 1),)])
            carry = da.concatenate([first, sums[(slice(None),) * index + (slice(0, -1),)]], axis=index)
            result = da.map_blocks(numpy.add, result, carry, dtype=result.dtype, chunks=result.chunks)
        return result, after

    def _counts(self, text, array, others, axes, needs):
        """The counts of bands of whole rows, added."""
        across, down = axes.index("X"), axes.index("Y")
        array = array.rechunk({across: -1})
        width, height, _, _ = needs["output"]
        bands = len(array.chunks[down])
        result, after = self._map(text, array, others, axes, needs, {"X": (width,), "Y": (height,) * bands})
        down = after.index("Y")
        if bands > 1:
            result = da.stack([result.blocks[(slice(None),) * down + (i,)] for i in range(bands)]).sum(axis=0, dtype=result.dtype)
        return result, after

    def _whole(self, text, array, others, axes, needs):
        whole = {axes.index("X"): -1, axes.index("Y"): -1}
        width, height, _, _ = needs["output"]
        others = [other.rechunk(array.rechunk(whole).chunks) for other in others]
        return self._map(text, array.rechunk(whole), others, axes, needs, {"X": (width,), "Y": (height,)})


def _aligned(sizes, period, reach):
    """Sizes of blocks that begin at multiples of `period`. None of them is shorter than the halo: Dask would make others."""
    if period == 1 or not any(size % period for size in sizes[:-1]) and min(sizes) >= reach:
        return sizes
    length, size = sum(sizes), max(-(-max(sizes) // period) * period, reach)
    count = max((length - max(reach, 1)) // size + 1, 1)
    return (size,) * (count - 1) + (length - size * (count - 1),)


def _padded(array, axes, depth, boundary):
    if not depth:
        return array
    return da.overlap.overlap(array, {axes.index(axis): reach for axis, reach in depth.items()},
                              {axes.index(axis): boundary for axis in depth})


def _last(block, axis):
    return block[(slice(None),) * axis + (slice(-1, None),)]


_paths, _texts = {}, {}  # of the filters of clients' own that this process has, by their names
_users = [0]
_changed = threading.Condition()


@contextlib.contextmanager
def _loaded(sources):
    """These filters are the ones of their names: another client, or a later call, may send other texts."""
    named = [(os.path.splitext(os.path.basename(path))[0], path, text) for path, text in sources]
    with _changed:
        _changed.wait_for(lambda: not _users[0] or all(_texts.get(name) == text for name, _, text in named))
        for name, path, text in named:
            if _texts.get(name) != text:
                load(_paths.setdefault(name, path), text)
                _texts[name] = text
        _users[0] += 1
    try:
        yield
    finally:
        with _changed:
            _users[0] -= 1
            _changed.notify_all()


def _block(block, *rest):
    """One block, on a worker. OME-Zarr and TIFF often have the other byte order."""
    *others, text, axes, run = rest
    with _loaded(run.sources) if run.sources else contextlib.nullcontext():
        return apply_here(text, native(block), *map(native, others), axes=axes, device=device_here(run.device), reproducible=run.reproducible)
