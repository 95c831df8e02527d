# SPDX-License-Identifier: BSD-2-Clause
"""Plans, the devices that are open, and the plans that hone.apply keeps."""

import atexit
import collections
import os
import stat
import threading

from . import _hone
from ._arrays import empty, type_name, view, writable
from ._hone import Device, UsageError
from ._report import Report, keep
from ._text import argument_name, assignment, quoted, value_text

KEPT = 32  # plans that nobody uses and that are kept for the next call

_lock = threading.Lock()
_devices = {}
_idle = collections.OrderedDict()  # key: list of plans
_idle_count = 0
_names = {}  # of the parameters of filters: see _parameter_names
_canonical = {}  # chains as they were written: what _hone.parse_chain tells of them


def open_device(device):
    """The Device for what a caller gave: a Device, a specification, or None. Each specification is opened once."""
    if isinstance(device, Device):
        return device
    key = (None if device is None else str(device), os.getpid())
    found = _devices.get(key)
    if found is None:
        made = Device(key[0])
        with _lock:
            found = _devices.setdefault(key, made)
    return found


def _take(key):
    global _idle_count
    with _lock:
        plans = _idle.get(key)
        if not plans:
            return None
        plan = plans.pop()
        _idle_count -= 1
        if not plans:
            del _idle[key]
        return plan


def _put(key, plan):
    """Keeps a plan for the next call; the one that waited longest goes when there are too many."""
    global _idle_count
    dropped = None
    with _lock:
        _idle.setdefault(key, []).append(plan)
        _idle.move_to_end(key)
        _idle_count += 1
        if _idle_count > KEPT:
            oldest = next(iter(_idle))
            dropped = _idle[oldest].pop(0)
            _idle_count -= 1
            if not _idle[oldest]:
                del _idle[oldest]
    del dropped  # outside the lock: it waits for the device


def drop_plans():
    """Frees the plans that wait for a next call, and what is known of chains."""
    global _idle_count
    with _lock:
        plans = list(_idle.values())
        _idle.clear()
        _canonical.clear()
        _names.clear()
        _idle_count = 0
    del plans


def forget():
    """Frees the plans and closes the devices that hone.apply and the functions of the filters keep for the next call."""
    drop_plans()
    with _lock:
        devices = list(_devices.values())
        _devices.clear()
    del devices


atexit.register(forget)


def _run(plan, source, seconds, out):
    """Runs a plan of the C module; returns (result, what was copied)."""
    width, height, type_name, channels = plan.output
    axes, shape = source.result_layout(width, height, channels)
    if out is None:
        out = empty(shape, type_name)
        target = writable(out, axes)
    else:
        target = writable(out, _out_axes(out, axes))
        if target.shape != shape or target.desc[2] != type_name:
            raise UsageError(f"out: it is {target.shape} of {target.desc[2]}, and the result is {shape} of {type_name} "
                             f"(axes {axes})")
    return out, plan.apply(source, target, seconds)


def _out_axes(out, axes):
    """The result's axes, unless `out` has another number of them: then its own check says what is wrong."""
    shape = getattr(out, "shape", None)
    if shape is not None and len(shape) != len(axes):
        raise UsageError(f"out: it has {len(shape)} axes, and the result has {len(axes)} ({axes})")
    return axes


def _seconds(others, source):
    """Views of second images: with the image's axes, or a single image for every image of the stack."""
    views = []
    for index, other in enumerate(others):
        role = "second image" if len(others) == 1 else f"second image {index + 1}"
        axes = source.axes
        if len(getattr(other, "shape", axes)) < len(axes):
            axes = "".join(c for c in axes if c in "YX" or c == "C" and "XC" in axes)
        views.append(view(other, axes, role)[0])
    return tuple(views)


def parse(chain):
    if not isinstance(chain, str):
        raise TypeError(f"the chain is {type(chain)}, and must be a text, such as 'gaussian sigma=3 | sobel'; it comes first")
    found = _canonical.get(chain)
    if found is None:
        found = _hone.parse_chain(chain)
        if len(_canonical) < 10000:
            _canonical[chain] = found
    return found


def changed(chain, step, parameter, value):
    """The canonical text of a chain in which a step has another value of a parameter."""
    _, filters, values, _ = parse(chain)
    values = [dict(one) for one in values]
    values[step][parameter] = value_text(value, parameter)
    steps = [" ".join([name, *(f"{key}={quoted(text)}" for key, text in own.items())])
             for name, own in zip(filters, values)]
    return parse(" | ".join(steps))[0]


def _content(path):
    """What stands in a file, for comparison; None if there is none of that name."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return object()  # a pipe: never the same again
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except (OSError, ValueError):
        return None


def run(chain, image, others, out, axes, device, reproducible):
    """hone.apply."""
    chain, _, _, files = parse(chain)
    device = open_device(device)
    source, converted = view(image, axes)
    seconds = _seconds(others, source)
    key = (chain, id(device), source.desc, tuple(second.desc for second in seconds), reproducible,
           tuple(_content(name) for name in files))
    plan = _take(key)
    planned = plan is None
    if planned:
        plan = _hone.Plan(device, chain, source.desc, key[3], reproducible=reproducible)
    result, counts = _run(plan, source, seconds, out)
    keep(Report(chain, device, plan.steps(), source.planes, planned, counts, converted))
    _put(key, plan)
    return result


def steps_with_two(filters, others):
    """The steps of filters with two images, for which `others` are given: as many, or it is an error."""
    inputs = {info["name"]: info["inputs"] for info in _hone.filters()}
    steps = [step for step, name in enumerate(filters) if inputs[name] > 1]
    if len(steps) != len(others):
        raise UsageError(f"second: the chain takes {len(steps)} second image{'' if len(steps) == 1 else 's'}, and {len(others)} "
                         f"{'is' if len(others) == 1 else 'are'} given")
    return steps


class Plan:
    """A chain prepared for one device and one format: kernels built, memory allocated.

    Plan(chain, like=image, device=None, ...): `like` is an array of the format to come (only its shape and type
    count), or (shape, type) such as ((1080, 1920, 3), 'u8') or (array.shape, array.dtype). Call the plan with an image:
    plan(image, out=None).

    chain: 'filter name=value ... | filter ...'.
    axes: letters of the axes, such as 'ZYX', as in hone.apply.
    second: for filters with two images, an array (or a list of them, in the order of the filters) like those to come.
    device: a hone.Device, or what hone.Device takes as its first argument.
    variant, config: force variants and tunables, such as variant='gaussian:bands', config='ROWS=8'.
    tune: False takes the hand-written defaults instead of what was measured.
    fuse: False gives each filter its own kernel.
    reproducible: the same result on every device, to the last bit, or UnsupportedError.

    Threads may share a plan; its calls then wait for each other.
    """

    def __init__(self, chain, like, *, axes=None, second=(), device=None, variant=None, config=None, tune=True,
                 fuse=True, reproducible=False):
        self._device = open_device(device)
        self._chain, self._filters = parse(chain)[:2]
        self._changing = threading.Lock()
        self._axes = axes
        source = view(_like(like), axes, "like")[0]
        others = second if isinstance(second, (list, tuple)) else (second,)
        descs = tuple(other.desc for other in _seconds(others, source))
        steps_with_two(self._filters, descs)
        self._plan = _hone.Plan(self._device, chain, source.desc, descs, variant, config, tune, fuse, reproducible)
        self._new = True

    def __call__(self, image, *others, out=None):
        """Filters an image (or a stack, if the plan was made with axes); returns `out`, or a new array."""
        source, converted = view(image, self._axes)
        result, counts = _run(self._plan, source, _seconds(others, source), out)
        keep(Report(self._chain, self._device, self._plan.steps(), source.planes, self._new, counts, converted))
        self._new = False
        return result

    def set(self, name, value):
        """Changes a parameter: set('gaussian.sigma', 4). With several filters of a name, use the number of the step,
        from 0: set('2.sigma', 4). What is new to the device is compiled; on failure the plan is unchanged."""
        step, parameter = self._find(name)
        with self._changing:
            self._plan.set(step, assignment(parameter, value))
            self._chain = changed(self._chain, step, parameter, value)

    def prepare(self, name, value):
        """Builds now what set(name, value) would have to build."""
        step, parameter = self._find(name)
        self._plan.prepare(step, assignment(parameter, value))

    def _find(self, name):
        return find_parameter(self._filters, name)

    @property
    def steps(self):
        """What each filter runs with, a list of dictionaries."""
        return self._plan.steps()

    @property
    def output(self):
        """(width, height, type, channels) of a result."""
        return self._plan.output

    @property
    def device(self):
        return self._device

    def __repr__(self):
        return f"<hone.Plan {self._chain!r} on {self._device!r}>"


class _Format:
    """An array of a shape and a type without the memory for it: every element is the same one."""

    def __init__(self, shape, kind):
        if any(length < 0 for length in shape):
            raise UsageError(f"like: no image has the shape {shape}")
        kind = type_name(kind)
        self._element = _hone.Array((1, 1), kind)
        address = view(self._element)[0].address
        letter = {"u": "u", "s": "i", "f": "f"}[kind[0]]
        self.__array_interface__ = {"shape": shape, "strides": (0,) * len(shape), "data": (address, True), "version": 3,
                                    "typestr": f"={letter}{memoryview(self._element).itemsize}"}


def _like(like):
    if not (isinstance(like, tuple) and len(like) == 2 and isinstance(like[0], tuple)):
        return like
    return _Format(*like)


def _parameter_names(name):
    """The parameters of a filter: what a chain has for the names that they have in Python."""
    found = _names.get(name)
    if found is None:
        info = next(one for one in _hone.filters() if one["name"] == name)
        found = _names[name] = {argument_name(p["name"]): p["name"] for p in info["parameters"]}
    return found


def find_parameter(filters, name):
    """(step, parameter) of 'filter.parameter' or 'NUMBER.parameter'."""
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no name of a parameter, such as 'gaussian.sigma'")
    which, dot, parameter = name.rpartition(".")
    steps = [i for i, one in enumerate(filters) if which in (one, str(i))]
    if not dot and len(filters) == 1:
        steps = [0]
    if not steps:
        raise UsageError(f"{name!r} is no parameter of this chain; write 'FILTER.NAME' with one of the filters "
                         f"{', '.join(filters)}")
    if len(steps) > 1:
        raise UsageError(f"the chain has {which} {len(steps)} times; name the step by its number: "
                         + " or ".join(f"'{i}.{parameter}'" for i in steps))
    return steps[0], _parameter_names(filters[steps[0]]).get(parameter, parameter)
