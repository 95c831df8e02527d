# SPDX-License-Identifier: BSD-2-Clause
"""Arrays in and out: views of what the caller has, results as NumPy arrays where NumPy is installed."""

from ._hone import Array, UsageError, View

try:
    import numpy
except ImportError:
    numpy = None

_NAMES = {"u8": "uint8", "u16": "uint16", "s16": "int16", "f32": "float32", "u32": "uint32"}
_DTYPES = {} if numpy is None else {name: numpy.dtype(dtype) for name, dtype in _NAMES.items()}


def type_name(wanted):
    """hone's name of a type that is named so, or as NumPy names it ('uint8', numpy.uint8, a dtype); else what was given."""
    if isinstance(wanted, str) and wanted in _NAMES:
        return wanted
    try:
        name = wanted if numpy is None else numpy.dtype(wanted).name
    except TypeError:
        name = wanted
    return next((ours for ours, theirs in _NAMES.items() if theirs == name), str(name))


def empty(shape, type_name):
    """A new array of one of hone's types: NumPy's, else hone.Array."""
    if numpy is None:
        return Array(shape, type_name)
    return numpy.empty(shape, _DTYPES[type_name])


def native(array):
    """An array of NumPy's in the byte order of this machine."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def refuse_masked(array, role):
    """What is under a mask would be filtered with the rest."""
    if numpy is not None and isinstance(array, numpy.ma.MaskedArray) and numpy.ma.is_masked(array):
        raise UsageError(f"{role}: it has masked elements, which would not be left out: pass array.filled(value)")


def view(array, axes=None, role="image"):
    """(View, whether NumPy had to make an array of it). Lazy arrays, such as zarr's, have only __array__; as they are copied
    anyway, they may have the other byte order."""
    refuse_masked(array, role)
    try:
        return View(array, axes, False, role), False
    except TypeError:
        if numpy is None or not hasattr(array, "__array__"):
            raise
    return View(native(numpy.asarray(array)), axes, False, role), True


def writable(array, axes):
    """A View of `out`, whose shape is checked against the result's axes."""
    return View(array, axes, True, "out")
