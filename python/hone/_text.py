# SPDX-License-Identifier: BSD-2-Clause
"""Python values as the texts of a chain."""

import keyword
import numbers
import os

from ._hone import UsageError


_TAKEN = {"image", "other", "out", "axes", "device"}  # what the functions of all filters take


def python_name(name):
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def argument_name(name):
    """The name that a parameter of a filter has in Python."""
    return name + "_" if name in _TAKEN else python_name(name)


def is_truth(value):
    """Whether it is True or False: NumPy's are called bool_, and from 2 on bool as Python's, whose they are not."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _table(rows, name):
    """'WIDTHxHEIGHT: values' from rows of numbers: what convolve's kernel is."""
    try:
        table = [[float(value) for value in row] for row in rows]
    except TypeError:
        table = []
    widths = {len(row) for row in table}
    if len(widths) != 1 or widths == {0}:
        raise UsageError(f"{name}: {rows!r} is no table of numbers: pass rows of one length, such as [[1, 2, 1], [2, 4, 2]], "
                         "or [[1, 2, 1]] for a single one")
    values = " ".join(repr(value) for row in table for value in row)
    return f"{widths.pop()}x{len(table)}: {values}"


def value_text(value, name):
    """The text that a chain has for the value of a parameter: numbers, True and False, texts, paths of files, tables of
    numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if is_truth(value):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real) or hasattr(value, "__float__") and not hasattr(value, "__len__"):
        return repr(float(value))
    if hasattr(value, "tolist"):  # an array's; of one without axes, a number
        return value_text(value.tolist(), name)
    if hasattr(value, "__iter__"):
        return _table(value, name)
    raise TypeError(f"{name}: {value!r} cannot be a parameter: pass a number, a text, or rows of numbers")


def quoted(text):
    """The text as a chain takes it as one value."""
    if text and not any(c in text for c in " \t\n|'\""):
        return text
    quote = '"' if "'" in text else "'"
    if quote in text:
        raise UsageError(f"{text!r} has both kinds of quotation marks, and a chain cannot hold it")
    return quote + text + quote


def assignment(name, value):
    return f"{name}={quoted(value_text(value, name))}"
