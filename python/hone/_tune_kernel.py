# SPDX-License-Identifier: BSD-2-Clause
"""Tuning an OpenCL kernel of one's own, with arrays as arguments."""

import json
import numbers
import os
import re
import sys
import tempfile

from ._arrays import refuse_masked
from ._command import device_option, options, run
from ._hone import FileError, UsageError
from ._text import is_truth

_LETTERS = {"b": "s8", "B": "u8", "h": "s16", "H": "u16", "i": "s32", "I": "u32", "f": "f32", "d": "f64", "e": "f16"}
_SCALARS = {"int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
            "int64": "long", "uint64": "ulong", "float32": "float", "float64": "double", "float16": "half"}
_BLOCKS = ("block_size_x", "block_size_y", "block_size_z")


def _element(memory, role):
    """The name that the tuner has for the elements of a buffer."""
    swapped = ">!" if sys.byteorder == "little" else "<"
    if memory.format[0] in swapped and memory.itemsize > 1:
        raise UsageError(f"{role}: its numbers are in the other byte order; convert them: "
                         "array.astype(array.dtype.newbyteorder('='))")
    letter = memory.format.lstrip("@=<>!|")
    if letter and letter in "lLqQ":
        return ("s" if letter in "lq" else "u") + str(8 * memory.itemsize)
    if letter not in _LETTERS:
        raise UsageError(f"{role}: elements with the format {memory.format!r} are none of the tuner's types: {', '.join(_SCALARS)}")
    return _LETTERS[letter]


def _array(value, role):
    """(memory, the tuner's name for its elements) of an array."""
    refuse_masked(value, role)
    try:
        memory = memoryview(value)
    except TypeError:
        raise TypeError(f"{role}: {type(value)} has no buffer; pass an array, such as numpy.asarray(...) gives") from None
    if memory.nbytes == 0:
        raise UsageError(f"{role}: the array is empty")
    return memory, _element(memory, role)


def _number(value):
    """As an expression: its numbers have no sign, so the least of 64 bits is none of them."""
    return f"-{2 ** 63 - 1}-1" if value == -2 ** 63 and isinstance(value, int) else repr(value)


def _argument(value, index, folder):
    """One kernel argument for --arg: arrays are read and written, numbers are passed, texts are the command's own."""
    if isinstance(value, str):
        return value
    scalar = _SCALARS.get(getattr(getattr(value, "dtype", None), "name", ""))
    if scalar and getattr(value, "shape", None) == ():
        number = value.item()
        # Expressions have 64 bits and a sign; the upper half of ulong is what negative numbers are in it.
        return f"{scalar}:{_number(number - 2 ** 64 if scalar == 'ulong' and number >= 2 ** 63 else number)}"
    if is_truth(value) or isinstance(value, numbers.Integral):
        return f"int:{_number(int(value))}"
    if isinstance(value, numbers.Real):
        return f"float:{float(value)!r}"
    memory, element = _array(value, f"arguments[{index}]")
    place = os.path.join(folder, f"argument-{index}.bin")
    with open(place, "wb") as file:
        file.write(memory.tobytes())
    return f"inout:{element}:{place}"


def _values(name, values):
    """The values of a parameter, by the words that the tuner has for them."""
    try:
        values = [values] if isinstance(values, str) else list(values)
    except TypeError:
        raise UsageError(f"tune_params: {name} is {values!r}; pass the values to try, such as [16, 32, 64]") from None
    if not values:
        raise UsageError(f"tune_params: {name} has no values")
    values = [value.item() if hasattr(value, "item") else value for value in values]
    return {str(int(value)) if is_truth(value) else str(value): value for value in values}


def _expression(text):
    """A restriction as Kernel Tuner's users write it, in the tuner's expressions."""
    if callable(text):
        raise UsageError("restrictions: write them as texts, such as 'block_size_x * tile <= 1024'; functions cannot be "
                         "passed to the tuner's process")
    return re.sub(r"\band\b", "&&", re.sub(r"\bor\b", "||", re.sub(r"\bnot\b", "!", str(text)))).replace("//", "/")


def _divisor(names):
    """grid_div_x=['block_size_x', 'tile']: the product of these."""
    names = [names] if isinstance(names, (str, int)) else list(names)
    return "*".join(f"({_expression(name)})" for name in names) or "1"


def _geometry(problem_size, params, divisors, blocks):
    """(--global, --local): as many groups as the problem divided by the divisors (by default the group's sides) takes."""
    sizes = [problem_size] if isinstance(problem_size, (str, numbers.Number)) else list(problem_size)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(size, (str, numbers.Integral)) for size in sizes):
        raise UsageError(f"problem_size is {problem_size!r}, and must be one to three whole numbers or expressions")
    sides = [name if name in params else "1" for name in blocks[:len(sizes)]]
    groups = []
    for size, side, divisor in zip(sizes, sides, divisors):
        count = f"ceildiv({_expression(size)},{_divisor(divisor) if divisor is not None else side})"
        groups.append(f"{count}*{side}")
    return ",".join(groups), ",".join(sides)


def _source(kernel_source, folder):
    """The file of the source: a text with a kernel, or the name of a file."""
    text = os.fspath(kernel_source)
    if "\n" not in text and "{" not in text:
        if not os.path.isfile(text):
            raise FileError(f"kernel_source: {text!r} is neither a file nor the text of a kernel")
        return os.path.abspath(text)
    place = os.path.join(folder, "kernel.cl")
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)
    return place


def _check_answer(answer, element, argument, index):
    """Of the type and the size of its argument, where that is an array."""
    if isinstance(argument, str) or not hasattr(argument, "__len__"):
        return
    wanted, of_argument = _array(argument, f"arguments[{index}]")
    if (element, answer.nbytes) != (of_argument, wanted.nbytes):
        raise UsageError(f"answer[{index}]: it has {answer.nbytes // answer.itemsize} elements of {element}, and arguments[{index}] "
                         f"{wanted.nbytes // wanted.itemsize} of {of_argument}")


def _checks(answer, arguments, folder):
    """--check for each output: arrays where there is an answer."""
    found = []
    for index, value in enumerate(answer):
        if value is None:
            continue
        memory, element = _array(value, f"answer[{index}]")
        if index < len(arguments):
            _check_answer(memory, element, arguments[index], index)
        place = os.path.join(folder, f"answer-{index}.bin")
        with open(place, "wb") as file:
            file.write(memory.tobytes())
        found.append(place)
    return found


def _read_only(place, kernel_name):
    """For each parameter of the kernel, whether it points to constants; [] where macros hide the parameters."""
    with open(place, encoding="utf-8", errors="replace") as file:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", file.read(), flags=re.S)
    found = re.search(rf"\b{re.escape(kernel_name)}\s*\(([^()]*)\)\s*{{", text)
    return [re.search(r"\bconst\b[^*]*\*|\b(__)?constant\b", one) is not None for one in found[1].split(",")] if found else []


def _inputs_only(arguments, answer, read_only):
    """Arrays are inputs alone where the kernel cannot write, and where an answer has nothing for them: the tuner compares
    what is an output."""
    def is_input(i):
        return i < len(read_only) and read_only[i] or answer is not None and i < len(answer) and answer[i] is None
    return [re.sub("^inout:", "in:", text) if is_input(i) else text for i, text in enumerate(arguments)]


def _value(text):
    try:
        return int(text)
    except ValueError:
        return text


def _configuration(text, params):
    """A configuration with the values as the caller gave them; those of a range ('1..4') are in no list."""
    pairs = (pair.split("=", 1) for pair in text.split())
    return {name: params[name][value] if value in params[name] else _value(value) for name, value in pairs}


def _rows(report, params):
    """A dictionary for each configuration: the parameters, `time` in ms (NaN if it gave none), `state`, `note`."""
    final = {entry["config"]: entry["ms"] for entry in report.get("ranked", [])}
    rows = []
    for entry in report.get("tries", []):
        worked = entry["state"] in ("ok", "slow")
        time = final.get(entry["config"], entry["ms"]) if worked else float("nan")
        rows.append({**_configuration(entry["config"], params), "time": time, "state": entry["state"], "note": entry["note"]})
    return rows


def tune_kernel(kernel_name, kernel_source, problem_size, arguments, tune_params, *, grid_div_x=None, grid_div_y=None,
                grid_div_z=None, restrictions=(), answer=None, atol=None, rtol=None, block_size_names=_BLOCKS,
                compiler_options=(), iterations=None, max_fevals=None, defines=None, cold=False, timeout=None, fresh=False,
                seed=None, device=None, output=None):
    """Tunes an OpenCL kernel of your own; arguments are named as Kernel Tuner names them.

    kernel_name: the kernel. kernel_source: OpenCL C, or the name of a file.
    problem_size: one to three numbers, or expressions of parameters.
    arguments: one for each argument of the kernel: arrays (which it reads and, unless they are const, writes), numbers
        (NumPy's scalars give their type; Python's are int and float), or texts as `hone tune --arg` takes, such as 'out:f32:4096'.
    tune_params: {'block_size_x': [32, 64], 'TILE': [1, 2, 4]}; the first values are the defaults, and the kernel sees
        each as a macro. The work-group is block_size_x, _y, _z (or block_size_names).
    grid_div_x ...: what the problem's side is divided by, a list of names; default: the work-group's side.
    restrictions: expressions that must hold. answer: for each argument the expected array, or None; without it, results
        must be those of the first configuration. atol, rtol: tolerances. max_fevals: the most configurations to measure.
    output: a file for all results in the T4 format.

    The kernel runs in a process of its own: one that hangs or crashes is noted and not tried again.
    Returns (results, environment): a dictionary for each configuration (pandas.DataFrame(results)) with its parameters,
    time in ms, state and note; and a dictionary with the device, the best configuration and the T4 record.
    """
    if iterations is not None:
        raise UsageError("iterations: hone measures as often as the times need; leave it out")
    params = {name: _values(name, values) for name, values in tune_params.items()}
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        place = _source(kernel_source, folder)
        texts = _inputs_only([_argument(value, i, folder) for i, value in enumerate(arguments)], answer,
                             _read_only(place, kernel_name))
        grid, group = _geometry(problem_size, tune_params, (grid_div_x, grid_div_y, grid_div_z), block_size_names)
        t4 = os.path.abspath(output) if output else os.path.join(folder, "results.json")
        words = ["--kernel-file", place, "--kernel", kernel_name, "--global", grid,
                 "--local", group, "--output", t4]
        restrictions = [restrictions] if isinstance(restrictions, str) or callable(restrictions) else restrictions
        for option, values in (("--param", [f"{name}={','.join(words)}" for name, words in params.items()]), ("--arg", texts),
                               ("--restrict", [_expression(one) for one in restrictions]),
                               ("--define", [f"{name}={value}" for name, value in (defines or {}).items()]),
                               ("--check", _checks(answer or (), arguments, folder))):
            for value in values:
                words += [option, value]
        compiler_options = compiler_options if isinstance(compiler_options, str) else " ".join(compiler_options)
        words += options({"options": compiler_options or None, "tolerance": atol, "relative": rtol, "cold": cold,
                          "evaluations": max_fevals, "timeout": timeout, "fresh": fresh, "seed": seed})
        report = run(["tune", *words, *device_option(device)])
        with open(t4, encoding="utf-8") as file:
            record = json.load(file)
    environment = {"device": report["device"], "best_config": _configuration(report["best"], params),
                   "best_time": next(entry["ms"] for entry in report["ranked"] if entry["config"] == report["best"]),
                   "report": report, "t4": record}
    return _rows(report, params), environment
