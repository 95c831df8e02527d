# SPDX-License-Identifier: BSD-2-Clause
"""Chains, and a function for each filter of the registry."""

import inspect
import os
import textwrap

from . import _hone
from ._plans import drop_plans, run
from ._text import argument_name, assignment, python_name


def apply(chain, image, *others, out=None, axes=None, device=None, reproducible=False):
    """Applies a chain of filters to an image or a stack, and returns the result.

    chain: 'filter name=value ... | filter ...', as `hone apply` takes it; hone.filters() lists the filters.
    image: anything with a buffer, __array_interface__ or DLPack on the CPU: arrays of NumPy, OpenCV, PyTorch, Pillow's
        images, memoryviews; arrays that are not in memory (zarr) are read by NumPy first. Elements: uint8, uint16,
        int16, float32. Shape: (height, width) or (height, width, channels) with up to 4 channels.
    others: the second images of filters that take two, such as `add`, in the order of the filters. In a stack, one
        image serves all.
    out: an array for the result, of its shape and type; it may be the image itself (which costs a copy).
    axes: a letter for each axis, if there are others: 'ZYX', 'TCYX', 'TYXC'. Y and X are rows and columns, C behind X are
        interleaved channels, every other axis makes a stack, whose images are filtered one by one.
    device: a hone.Device, or what hone.Device takes: a number, 'cpu', 'gpu', part of a name; default: the best one.
    reproducible: the same result on every device, to the last bit, or UnsupportedError.

    The result has the image's axes; C comes or goes with colours (`gray`, `colormap`). It is a NumPy array if NumPy is
    installed, else a hone.Array. The GIL is released meanwhile, and any number of threads may call. Plans are kept for
    images of the same format, so that later calls only run them. hone.last_report() tells what was done.
    """
    return run(chain, image, others, out, axes, device, reproducible)


def filters():
    """The filters: a list of dictionaries with name, summary, types, channels, inputs, parameters, variants."""
    return _hone.filters()


_NUMBERS = {"integer": int, "real": float}


def default_of(parameter):
    """The default as a Python value, or None if there is none."""
    text = parameter["default"]
    if text is None:
        return None
    if parameter["choices"] == "no|yes":
        return text == "yes"
    try:
        return _NUMBERS.get(parameter["kind"], str)(text)
    except ValueError:  # a percentage
        return text


def own_parameters(info):
    """Those that are written in a call: second images are arguments of their own."""
    return [parameter for parameter in info["parameters"] if parameter["kind"] != "image"]


def describe(parameter):
    lines = parameter["help"]
    extras = []
    if parameter["choices"]:
        extras.append("True or False" if parameter["choices"] == "no|yes"
                      else " or ".join(f"'{choice}'" for choice in parameter["choices"].split("|")))
    if parameter["range"]:
        extras.append("{:g} to {:g}".format(*parameter["range"]) + (f" {parameter['unit']}" if parameter["unit"] else ""))
    return lines + (f" ({'; '.join(extras)})" if extras else "")


def _doc(info):
    def entry(name, text):
        return textwrap.fill(f"{name}: {text}", 110, subsequent_indent="    ")

    own = [entry(argument_name(p["name"]), describe(p)) for p in own_parameters(info)]
    images = [entry("other", p["help"]) for p in info["parameters"] if p["kind"] == "image"]
    head = info["summary"][0].upper() + info["summary"][1:] + "."
    taken = f"Takes {info['types']} with {info['channels']} channels. out, axes, device: as in hone.apply."
    return "\n".join([head, "", *images, *own, "", taken])


def signature(info):
    """The signature of a filter's function."""
    kinds = inspect.Parameter
    images = ["image"] + ["other"] * (info["inputs"] - 1)
    parameters = [kinds(name, kinds.POSITIONAL_ONLY if name == "other" else kinds.POSITIONAL_OR_KEYWORD)
                  for name in images]
    if info["inputs"] > 1:
        parameters[0] = parameters[0].replace(kind=kinds.POSITIONAL_ONLY)
    for parameter in own_parameters(info):
        parameters.append(kinds(argument_name(parameter["name"]), kinds.KEYWORD_ONLY, default=default_of(parameter)))
    for name in ("out", "axes", "device"):
        parameters.append(kinds(name, kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def _wrong_keyword(name, key, known):
    return TypeError(f"{name}() has no parameter {key!r}; it takes {', '.join(known)}, out, axes and device")


def make_function(info):
    """The function of a filter."""
    name, inputs = info["name"], info["inputs"]
    known = {argument_name(p["name"]): (p["name"], default_of(p)) for p in own_parameters(info)}

    def function(image, *others, out=None, axes=None, device=None, **parameters):
        if len(others) != inputs - 1:
            raise TypeError(f"{name}() takes {inputs} image{'s' if inputs > 1 else ''}, and {1 + len(others)} "
                            f"{'are' if others else 'is'} given; parameters are written by name, such as "
                            f"{next(iter(known))}=...")
        words = [name]
        for key, value in parameters.items():
            if key not in known:
                raise _wrong_keyword(name, key, known)
            chain_name, default = known[key]
            if value is not default and value is not None:
                words.append(assignment(chain_name, value))
        return run(" ".join(words), image, others, out, axes, device, False)

    function.__name__ = function.__qualname__ = python_name(name)
    function.__module__ = "hone"
    function.__doc__ = _doc(info)
    function.__signature__ = signature(info)
    return function


def load(path, text=None):
    """Loads a filter of your own, an OpenCL C file with //@filter lines, and returns its function.

    Chains then take it by the file's name without ".cl", or by `path`. Loading a file that has changed replaces the filter. A
    filter is code that runs on the device: load only what you trust.

    path: of the file.
    text: its text, if it is not to be read from there.
    """
    function = make_function(_hone.load_filter(os.fspath(path), text))
    drop_plans()
    return function


def functions():
    """The functions of all filters, by their names."""
    return {python_name(info["name"]): make_function(info) for info in _hone.filters()}
