#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes hone/__init__.pyi: the functions of the filters from the registry behind what is written by hand.

stubs.py OUTPUT; the package must be importable.
"""

import inspect
import sys

import hone

HEAD = '''# SPDX-License-Identifier: BSD-2-Clause
# Made by python/tests/stubs.py.
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Union

Arrays = Any  # whatever has a buffer, __array_interface__, __dlpack__ or __array__
DeviceLike = Union["Device", str, int, None]
Path = Union[str, "PathLike[str]"]
Like = Union[Arrays, tuple[tuple[int, ...], Any]]  # a frame, or its shape and type ('u8', numpy.uint8, a dtype)

__version__: str

class Error(Exception):
    status: str
    cl_code: int
    cl_name: str
    column: int
    log: str

class UsageError(Error, ValueError): ...
class FileError(Error, OSError): ...
class NoDeviceError(Error, RuntimeError): ...
class DeviceError(Error, RuntimeError): ...
class OutOfMemoryError(Error, MemoryError): ...
class UnsupportedError(Error, RuntimeError): ...
class CheckError(Error, RuntimeError): ...
class InternalError(Error, RuntimeError): ...

class Array:
    shape: tuple[int, ...]
    type: str
    def __init__(self, shape: tuple[int, ...], type: str) -> None: ...
    def tolist(self) -> list[Any]: ...
    def __buffer__(self, flags: int) -> memoryview: ...

class Device:
    def __init__(self, spec: str | int | None = None, *, profile: bool = False, compute_units: int = 0,
                 memory_limit: int = 0, disk_cache: bool = True) -> None: ...
    info: dict[str, Any]
    memory: tuple[int, int]
    counts: dict[str, Any]
    features: list[dict[str, Any]]

class Report:
    chain: str
    steps: list[dict[str, Any]]
    planes: int
    planned: bool
    converted: bool
    copies: dict[str, tuple[int, int]]
    gathered: int
    scattered: int
    seconds: float
    @property
    def device(self) -> dict[str, Any]: ...
    @property
    def copied(self) -> int: ...

class Plan:
    def __init__(self, chain: str, like: Like, *, axes: str | None = None, second: Arrays = (),
                 device: DeviceLike = None, variant: str | None = None, config: str | None = None,
                 tune: bool = True, fuse: bool = True, reproducible: bool = False) -> None: ...
    def __call__(self, image: Arrays, *others: Arrays, out: Arrays = None) -> Any: ...
    def set(self, name: str, value: Any) -> None: ...
    def prepare(self, name: str, value: Any) -> None: ...
    @property
    def steps(self) -> list[dict[str, Any]]: ...
    @property
    def output(self) -> tuple[int, int, str, int]: ...
    @property
    def device(self) -> Device: ...

class Stream:
    def __init__(self, chain: str, like: Like | list[Like], *, second: Arrays = (), slots: int = 0, memory: int = 0,
                 mode: Literal["auto", "zero-copy", "staged"] = "auto", device: DeviceLike = None,
                 reproducible: bool = False) -> None: ...
    def push(self, frame: Arrays, out: Arrays = None, *, wait: bool = True) -> bool: ...
    def pull(self, *, wait: bool = True) -> Any: ...
    def end(self) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def map(self, frames: Iterable[Arrays]) -> Iterator[Any]: ...
    def amap(self, frames: Iterable[Arrays] | AsyncIterable[Arrays]) -> AsyncIterator[Any]: ...
    def set(self, name: str, value: Any) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Stream: ...
    def __exit__(self, *unused: object) -> None: ...
    @property
    def stats(self) -> dict[str, Any]: ...
    @property
    def steps(self) -> list[dict[str, Any]]: ...

def devices() -> list[dict[str, Any]]: ...
def filters() -> list[dict[str, Any]]: ...
def forget() -> None: ...
def load(path: Path, text: str | None = None) -> Callable[..., Any]: ...
def tune(*filters: str, size: tuple[int, int] | str | None = None, format: Any = None,
         channels: int | None = None, budget: str | None = None, quick: bool = False, full: bool = False,
         evaluations: int | None = None, variant: str | Sequence[str] | None = None, fresh: bool = False, seed: int | None = None,
         device: DeviceLike = None) -> list[dict[str, Any]]: ...
def doctor(*filters: str, thorough: bool = False, again: bool = False, device: DeviceLike = None) -> dict[str, Any]: ...
def compare(a: Arrays, b: Arrays, *, tolerance: float = 0, axes: str | None = None) -> dict[str, Any]: ...
def tune_kernel(kernel_name: str, kernel_source: Path, problem_size: Any, arguments: Sequence[Any],
                tune_params: Mapping[str, Sequence[Any]], *, grid_div_x: Sequence[str] | None = None,
                grid_div_y: Sequence[str] | None = None, grid_div_z: Sequence[str] | None = None,
                restrictions: Sequence[str] | str = (), answer: Sequence[Arrays] | None = None,
                atol: float | None = None, rtol: float | None = None,
                block_size_names: Sequence[str] = ("block_size_x", "block_size_y", "block_size_z"),
                compiler_options: Sequence[str] | str = (), iterations: None = None, max_fevals: int | None = None,
                defines: Mapping[str, Any] | None = None, cold: bool = False, timeout: float | None = None,
                fresh: bool = False, seed: int | None = None, device: DeviceLike = None,
                output: Path | None = None) -> tuple[list[dict[str, Any]], dict[str, Any]]: ...
def last_report() -> Report | None: ...
def apply(chain: str, image: Arrays, *others: Arrays, out: Arrays = None, axes: str | None = None,
          device: DeviceLike = None, reproducible: bool = False) -> Any: ...

# ---- The filters ----

'''


def type_of(parameter):
    if parameter["choices"] == "no|yes":
        return "bool"
    if parameter["choices"]:
        return "Literal[" + ", ".join(f'"{choice}"' for choice in parameter["choices"].split("|")) + "]"
    kind = {"integer": "int", "real": "float"}.get(parameter["kind"])
    if kind is None:
        return "str | Sequence[Sequence[float]] | Arrays"
    return kind + " | str" if parameter["unit"] == "levels" else kind  # or "50%"


def argument(parameter):
    default = hone._filters.default_of(parameter)
    optional = " | None" if default is None else ""
    return f"{hone._filters.argument_name(parameter['name'])}: {type_of(parameter)}{optional} = {default!r}"


def function(info):
    images = ["image: Arrays"] + ["other: Arrays"] * (info["inputs"] - 1) + (["/"] if info["inputs"] > 1 else [])
    own = [argument(parameter) for parameter in hone._filters.own_parameters(info)]
    tail = ["out: Arrays = None", "axes: str | None = None", "device: DeviceLike = None"]
    lines, line = [], f"def {hone._filters.python_name(info['name'])}("
    for part in [*images, "*", *own, *tail]:
        if len(line) + len(part) > 115:
            lines.append(line.rstrip())
            line = " " * (lines[0].index("(") + 1)
        line += part + ", "
    return "\n".join([*lines, line[:-2] + ") -> Any: ..."])


def main():
    assert all(inspect.signature(getattr(hone, info["name"])) for info in hone.filters())
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(HEAD + "\n".join(function(info) for info in hone.filters()) + "\n")


if __name__ == "__main__":
    main()
