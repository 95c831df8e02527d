#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares answers of build/tests/oracle with those of Python, NumPy and the OpenCL headers."""

import ctypes
import hashlib
import math
import os
import random
import re
import subprocess

import numpy

import frame

SEED = 20240611


def ask(questions):
    """The answers to a list of questions."""
    result = subprocess.run([os.path.join(frame.build(), "tests", "oracle")], input="\n".join(questions) + "\n",
                            capture_output=True, text=True, check=True, timeout=60)
    answers = result.stdout.splitlines()
    assert len(answers) == len(questions), f"{len(answers)} answers to {len(questions)} questions"
    return answers


def compare(questions, wanted):
    for question, got, right in zip(questions, ask(questions), wanted):
        assert got == str(right), f"{question[:200]!r}: got {got}, should be {right}"


def test_sha256_against_hashlib():
    source = random.Random(SEED)
    texts = [source.randbytes(length) for length in list(range(0, 260)) + [1000, 4096, 65537]]
    compare([f"sha256 {text.hex()}" for text in texts], [hashlib.sha256(text).hexdigest() for text in texts])


def padded_index(mode, size, at):
    """The index by numpy.pad, or -1 for constant."""
    reach = abs(at) + size
    if mode == "constant":
        return int(numpy.pad(numpy.arange(size), reach, mode="constant", constant_values=-1)[at + reach])
    return int(numpy.pad(numpy.arange(size), reach, mode=mode)[at + reach])


def test_borders_against_numpy_pad():
    modes = {"replicate": "edge", "reflect": "symmetric", "reflect101": "reflect", "wrap": "wrap",
             "constant": "constant"}
    questions, wanted = [], []
    for ours, theirs in modes.items():
        for size in (1, 2, 3, 5, 8, 17):
            for at in range(-3 * size - 4, 4 * size + 4):
                questions.append(f"border {ours} {size} {at}")
                wanted.append(padded_index(theirs, size, at))
    compare(questions, wanted)


class Overflow(Exception):
    pass


def fit(value):
    if not -2**63 <= value < 2**63:
        raise Overflow
    return value


def truncated(a, b):
    if b == 0 or (a == -2**63 and b == -1):
        raise Overflow
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {"+": lambda a, b: fit(a + b), "-": lambda a, b: fit(a - b), "*": lambda a, b: fit(a * b),
          "/": truncated, "%": lambda a, b: a - truncated(a, b) * b,
          "<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b),
          ">=": lambda a, b: int(a >= b), "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)}
CALLS = {"min": min, "max": max, "ceildiv": lambda a, b: -(-a // b) if b else truncated(a, b)}


def random_expression(source, depth):
    """Text with all its parentheses, and a function that gives its value."""
    kind = source.randrange(8) if depth else 0
    if kind <= 1:
        number = source.choice([0, 1, 2, 3, 7, 255, 65535, 2**31, 2**40, source.randrange(10**6)])
        return str(number), lambda: number
    left, left_value = random_expression(source, depth - 1)
    right, right_value = random_expression(source, depth - 1)
    if kind == 2:
        return f"(-{left})", lambda: fit(-left_value())
    if kind == 3:
        third, third_value = random_expression(source, depth - 1)
        return (f"({left} ? {right} : {third})",
                lambda: right_value() if left_value() else third_value())
    if kind == 4:
        name = source.choice(list(CALLS))
        return f"{name}({left}, {right})", lambda: CALLS[name](left_value(), right_value())
    if kind == 5:
        if source.randrange(2):
            return f"({left} && {right})", lambda: int(bool(left_value()) and bool(right_value()))
        return f"({left} or {right})", lambda: int(bool(left_value()) or bool(right_value()))
    name = source.choice(list(BINARY))
    return f"({left} {name} {right})", lambda: BINARY[name](left_value(), right_value())


def test_expressions_against_python_integers():
    source = random.Random(SEED)
    questions, wanted = [], []
    while len(questions) < 4000:
        text, value = random_expression(source, 4)
        if len(re.findall(r"[\w]+|[^\s\w]", text)) > 80:
            continue  # longer than an expression may be
        questions.append("int " + text)
        try:
            wanted.append(value())
        except Overflow:
            wanted.append("error")
    assert wanted.count("error") > 20
    compare(questions, wanted)


def test_precedence_against_python():
    source = random.Random(SEED + 1)
    operators = ["+", "-", "*", "%", "<", "==", "and", "or"]
    questions, wanted = [], []
    while len(questions) < 2000:
        numbers = [source.randrange(1, 50) for _ in range(5)]
        chosen = [source.choice(operators) for _ in range(4)]
        if sum(o in ("<", "==") for o in chosen) > 1:
            continue  # Python chains comparisons
        text = str(numbers[0]) + "".join(f" {o} {n}" for o, n in zip(chosen, numbers[1:]))
        questions.append("int " + text)
        # Both are 0 or 1 for us; Python gives one of the operands.
        logical = any(o in ("and", "or") for o in chosen)
        value = eval(text)  # of numbers and operators alone
        wanted.append(int(bool(value)) if logical else int(value))
    # Where `-` made a number negative before `%`, the languages differ by intent (C truncates).
    pairs = [(q, w) for q, w in zip(questions, wanted) if not ("-" in q and "%" in q)]
    compare([q for q, _ in pairs], [w for _, w in pairs])


def test_reals_against_python():
    texts = ["1/3", "sqrt(2)*C_", "log2(10)", "7 % 2.5", "ceildiv(7,2)", "2*3.5-1e3", "abs(-2.5)", "1.5 < 2",
             "3 > 2 ? 0.25 : 9", "min(0.1, 0.2) + max(3, 4)", "1/0", "roundup(7.5, 2)"]
    values = [1 / 3, "error", math.log2(10), 7 % 2.5, 4.0, 7.0 - 1000, 2.5, 1.0, 0.25, 4.1, "error", 8.0]
    for text, got, right in zip(texts, ask([f"real {t}" for t in texts]), values):
        same = got == right if right == "error" else got != "error" and math.isclose(float(got), right, rel_tol=1e-15)
        assert same, f"{text}: got {got}, should be {right}"


def edits(a, b):
    """Optimal string alignment distance, written from its definition."""
    table = {(i, -1): i + 1 for i in range(-1, len(a))}
    table.update({(-1, j): j + 1 for j in range(-1, len(b))})
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (x != y))
            if i and j and x == b[j - 1] and a[i - 1] == y:
                best = min(best, table[i - 2, j - 2] + 1)
            table[i, j] = best
    return table[len(a) - 1, len(b) - 1]


def test_distance_against_its_definition():
    source = random.Random(SEED)
    words = ["".join(source.choice("abcd") for _ in range(source.randrange(1, 9))) for _ in range(300)]
    pairs = [(source.choice(words), source.choice(words)) for _ in range(1500)]
    compare([f"distance {a} {b} 5" for a, b in pairs], [min(5, edits(a, b)) for a, b in pairs])


def numerators(source, divisor, most):
    """Where a wrong constant shows first: beside multiples, and at the end."""
    points = {0, 1, divisor - 1, divisor, divisor + 1, most, most - 1, most // divisor * divisor, most // divisor * divisor - 1}
    points |= {source.randrange(most + 1) for _ in range(20)}
    return {n for n in points if 0 <= n <= most}


def test_division_constants_against_integers():
    source = random.Random(SEED)
    cases = [(d, most, bits) for d in list(range(1, 300)) + [961, 3721, 65535, 65536]
             for most, bits in ((255, 16), (65535, 32), (2**24, 32), (2**32 - 1, 32), (2**32 - 1, 33))]
    cases += [(source.randrange(1, 2**32), source.randrange(2**20, 2**40), source.choice([32, 40, 64]))
              for _ in range(1000)]
    found = 0
    for (d, most, bits), answer in zip(cases, ask([f"divide {d} {m} {b}" for d, m, b in cases])):
        if answer == "none":
            # One bit more than the numerator has always suffices, as long as the shift stays below 63.
            always = bits > most.bit_length() and most.bit_length() + d.bit_length() < 63
            assert not always, f"{d} up to {most} has a multiplier of {most.bit_length() + 1} bits"
            continue
        found += 1
        m, k = map(int, answer.split())
        assert m < 2**bits, f"{d}: {m} does not fit {bits} bits"
        for n in numerators(source, d, most):
            assert n * m >> k == n // d, f"{n} / {d} with {m} >> {k} gives {n * m >> k}, should be {n // d}"
    assert found > len(cases) // 3, f"only {found} of {len(cases)} divisors have constants"


def test_division_of_the_next_number():
    """Where no multiplier of as many bits as the number has is right for it, one is right for the next number."""
    source = random.Random(SEED)
    cases = [(d, bits) for d in range(3, 3000) for bits in (16, 32) if d & (d - 1)]
    answers = ask([f"{word} {d} {2**bits - 2} {bits}" for d, bits in cases for word in ("divide", "divide-next")])
    for (d, bits), plain, following in zip(cases, answers[::2], answers[1::2]):
        assert plain != "none" or following != "none", f"{d} has no multiplier of {bits} bits"
        if following == "none":
            continue
        m, k = map(int, following.split())
        assert m < 2**bits, f"{d}: {m} does not fit {bits} bits"
        for n in numerators(source, d, 2**bits - 2):
            assert (n + 1) * m >> k == n // d, f"{n + 1} * {m} >> {k} gives {(n + 1) * m >> k}, should be {n} // {d}"


def plane(layout, width, height, pitch, index):
    """Offset, pitch, width, height, channels, element size as video APIs lay frames out."""
    size = 2 if layout == 2 else 1
    luma = pitch or width * size
    half_width, half_height = -(-width // 2), -(-height // 2)
    if index == 0:
        return 0, luma, width, height, 1, size
    if layout == 1:
        chroma = -(-luma // 2)
        return luma * height + (index - 1) * chroma * half_height, chroma, half_width, half_height, 1, 1
    return luma * height, pitch or half_width * 2 * size, half_width, half_height, 2, size


def test_frame_planes():
    questions, wanted = [], []
    for layout, planes, size in ((0, 2, 1), (1, 3, 1), (2, 2, 2)):
        for width, height in ((1920, 1080), (6, 4), (7, 5), (1, 1), (2, 3)):
            for pitch in (0, (width + 9) // 2 * 2 * size):
                for index in range(planes + 1):
                    questions.append(f"plane {layout} {width} {height} {pitch} {index}")
                    wanted.append(" ".join(map(str, plane(layout, width, height, pitch, index)))
                                  if index < planes else "error")
    compare(questions, wanted)


def test_storing_against_numpy():
    """Round to nearest even, saturate, NaN to 0: numpy.rint and clip."""
    source = random.Random(SEED)
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 254.5, 255.5, 1e30, -1e30, 65534.5, 65535.5, 32767.5, -32768.5, 4294967295.5]
    values += [source.uniform(-70000, 70000) for _ in range(200)]
    questions, wanted = [], []
    for name in ("u8", "u16", "s16", "u32"):
        info = numpy.iinfo({"u": "uint", "s": "int"}[name[0]] + name[1:])
        for value in values:
            questions.append(f"round {name} {value!r}")
            wanted.append(int(numpy.clip(numpy.rint(value), info.min, info.max)))
        questions.append(f"round {name} nan")
        wanted.append(0)
    for value in values[:-1]:
        questions.append(f"round f32 {value!r}")
        wanted.append("%.17g" % ctypes.c_float(value).value)
    compare(questions, wanted)


def test_every_opencl_error_has_its_name():
    """All error codes of the installed headers."""
    codes = {}
    for header in ("cl.h", "cl_ext.h", "cl_gl.h", "cl_egl.h"):
        path = os.path.join("/usr/include/CL", header)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for name, code in re.findall(r"^#define\s+(CL_\w+)\s+(-\d+)\s*$", file.read(), re.M):
                    codes.setdefault(int(code), []).append(name)
    assert len(codes) > 60, f"found only {len(codes)} codes"
    unnamed = [names for code, names in codes.items()
               if ask([f"clname {code}"])[0] not in names]
    assert not unnamed, f"without a name: {unnamed}"


def test_unknown_opencl_error():
    compare(["clname -123456", "clname 5"], ["unknown OpenCL error"] * 2)


frame.main(globals())
