# SPDX-License-Identifier: BSD-2-Clause
# Made by tests/stubs.py.
from collections.abc import Sequence
from typing import Any, Literal, Union

Arrays = Any  # whatever has a buffer, __array_interface__, __dlpack__ or __array__
DeviceLike = Union["Device", str, int, None]
Like = Union[Arrays, tuple[tuple[int, ...], str]]

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
    def __init__(self, spec: str | None = None, *, profile: bool = False, compute_units: int = 0,
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

def devices() -> list[dict[str, Any]]: ...
def filters() -> list[dict[str, Any]]: ...
def forget() -> None: ...
def last_report() -> Report | None: ...
def apply(chain: str, image: Arrays, *others: Arrays, out: Arrays = None, axes: str | None = None,
          device: DeviceLike = None, reproducible: bool = False) -> Any: ...

# ---- The filters ----

def add(image: Arrays, other: Arrays, /, *, accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False,
        out: Arrays = None, axes: str | None = None, device: DeviceLike = None) -> Any: ...
def box(image: Arrays, *, size: int = 8, width: int | None = None, height: int | None = None,
        border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
        border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
        alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None, axes: str | None = None,
        device: DeviceLike = None) -> Any: ...
def colormap(image: Arrays, *, map: Literal["rainbow", "viridis", "gray", "magma", "turbo"] = 'rainbow',
             accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False, out: Arrays = None,
             axes: str | None = None, device: DeviceLike = None) -> Any: ...
def convolve(image: Arrays, *, kernel: str | Sequence[Sequence[float]] | Arrays = '3x3: 0 -1 0 -1 5 -1 0 -1 0',
             scale: float = 1.0, offset: float | str = 0.0, flip: bool = False, anchor_x: int | None = None,
             anchor_y: int | None = None,
             border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
             border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
             alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None,
             axes: str | None = None, device: DeviceLike = None) -> Any: ...
def demosaic(image: Arrays, *, pattern: Literal["rggb", "bggr", "grbg", "gbrg"] = 'rggb',
             method: Literal["bilinear", "malvar"] = 'bilinear',
             border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
             border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
             alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None,
             axes: str | None = None, device: DeviceLike = None) -> Any: ...
def density(image: Arrays, *, size: int = 31, threshold: int = 1, mask: bool = False,
            output: Literal["sums", "marks"] = 'sums',
            border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
            border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
            alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None,
            axes: str | None = None, device: DeviceLike = None) -> Any: ...
def dot(image: Arrays, other: Arrays, /, *, accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False,
        out: Arrays = None, axes: str | None = None, device: DeviceLike = None) -> Any: ...
def epsilon(image: Arrays, *, radius: int = 4, threshold: float | str = 16.0,
            border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
            border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
            alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None,
            axes: str | None = None, device: DeviceLike = None) -> Any: ...
def gaussian(image: Arrays, *, sigma: float = 2.0, method: Literal["auto", "recursive", "fir"] = 'auto',
             border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
             border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
             alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None,
             axes: str | None = None, device: DeviceLike = None) -> Any: ...
def gray(image: Arrays, *, weights: Literal["bt601", "bt709", "average"] = 'bt601',
         accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False, out: Arrays = None,
         axes: str | None = None, device: DeviceLike = None) -> Any: ...
def histogram(image: Arrays, *, bins: int = 256, output: Literal["table", "picture", "full"] = 'table',
              min: float | None = None, max: float | None = None, accuracy: Literal["normal", "relaxed"] = 'normal',
              exact: bool = False, out: Arrays = None, axes: str | None = None, device: DeviceLike = None) -> Any: ...
def integral(image: Arrays, *, accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False,
             out: Arrays = None, axes: str | None = None, device: DeviceLike = None) -> Any: ...
def premultiply(image: Arrays, *, type: Literal["same", "u8", "u16", "f32"] = 'same',
                accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False, out: Arrays = None,
                axes: str | None = None, device: DeviceLike = None) -> Any: ...
def sobel(image: Arrays, *, norm: Literal["l2", "l1"] = 'l2',
          output: Literal["magnitude", "dx", "dy"] = 'magnitude',
          border: Literal["replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"] = 'replicate',
          border_value: float | str = 0.0, accuracy: Literal["normal", "relaxed"] = 'normal',
          alpha: Literal["copy", "filter"] = 'copy', exact: bool = False, out: Arrays = None,
          axes: str | None = None, device: DeviceLike = None) -> Any: ...
def transpose(image: Arrays, *, accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False,
              out: Arrays = None, axes: str | None = None, device: DeviceLike = None) -> Any: ...
def unpremultiply(image: Arrays, *, type: Literal["same", "u8", "u16", "f32"] = 'same',
                  accuracy: Literal["normal", "relaxed"] = 'normal', exact: bool = False, out: Arrays = None,
                  axes: str | None = None, device: DeviceLike = None) -> Any: ...
