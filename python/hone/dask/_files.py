# SPDX-License-Identifier: BSD-2-Clause
"""OME-Zarr and TIFF as Dask arrays, and folders of image files."""

import functools
import hashlib
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading

import dask.array as da
import numpy

from .._command import path as command_path
from .._hone import FileError, UsageError
from .._plans import parse
from ._array import source_of, steps_of
from ._cluster import LOOK, Watch, compute, result_of
from ._device import device as device_here
from ._device import private_folder

BATCH = 16  # files for one process: starting one takes as long as some images


def _zarr():
    try:
        import zarr
    except ImportError as error:
        raise ImportError("OME-Zarr and TIFF need the package zarr: pip install 'hone[dask]'") from error
    return zarr


def _tifffile():
    try:
        import tifffile
    except ImportError as error:
        raise ImportError("TIFF needs the package tifffile: pip install tifffile") from error
    return tifffile


def _images_below(group, path):
    """Advice on a plate, and on what bioformats2raw writes: images are in groups below."""
    try:
        if "plate" in group.attrs:
            path = os.path.join(path, group.attrs["plate"]["wells"][0]["path"])
        elif "bioformats2raw.layout" not in group.attrs:
            return ""
    except (KeyError, IndexError, TypeError):
        return ""
    return f": it holds images in groups below, such as '{os.path.join(path, '0')}'"


def _ome(group, path):
    """(array, axes) of the first image of an OME-Zarr at full size."""
    try:
        scales = group.attrs["multiscales"][0]
        array = group[scales["datasets"][0]["path"]]
        names = [axis["name"] if isinstance(axis, dict) else axis for axis in scales.get("axes", "tczyx")]
    except (KeyError, IndexError, TypeError) as error:
        raise FileError(f"'{path}' is a Zarr group without OME's 'multiscales'{_images_below(group, path)}") from error
    return array, "".join(names).upper()


def _pixels(scales):
    steps = [*scales.get("coordinateTransformations", []), *scales["datasets"][0].get("coordinateTransformations", [])]
    axes = [axis if isinstance(axis, dict) else {"name": axis} for axis in scales.get("axes", "tczyx")]
    sizes = [1.0] * len(axes)
    for step in steps:
        if step.get("type") == "scale" and len(step["scale"]) == len(axes):
            sizes = [size * float(factor) for size, factor in zip(sizes, step["scale"])]
    return {axis["name"].upper(): (size, axis.get("unit")) for axis, size in zip(axes, sizes)}


def pixels_of(path):
    """{letter: (size, unit or None)} of the pixels of an OME-Zarr's first image; {} where nothing tells."""
    found = _open_zarr(path) if os.path.isdir(path) else None
    if not hasattr(found, "groups") or "multiscales" not in found.attrs:
        return {}
    try:
        return _pixels(found.attrs["multiscales"][0])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # what is no OME-Zarr tells nothing
        return {}


def _open_zarr(path):
    try:
        return _zarr().open(path, mode="r")
    except (FileNotFoundError, KeyError, ValueError) as error:
        raise FileError(f"'{path}' is no Zarr array or group that could be read: {error}") from error


def open(path):  # pylint: disable=redefined-builtin
    """(array, axes) of an OME-Zarr, a Zarr array (axes None: as hone.apply guesses) or a TIFF; nothing is read yet."""
    if os.path.isdir(path):
        found = _open_zarr(os.fspath(path))
        array, axes = _ome(found, path) if hasattr(found, "groups") else (found, None)
        return da.from_zarr(array), axes
    tiff = _Tiff(os.path.abspath(os.fspath(path)))
    return da.from_array(tiff, chunks="auto", meta=numpy.empty((0,) * tiff.ndim, tiff.dtype)), tiff.axes


_opened = threading.local()  # the TIFF that this thread read last: (path, time, size), file, array


class _Pages:
    """The image or stack of a TIFF page by page, where zarr 3 does not know what tifffile gives it (before 2025.5)."""

    def __init__(self, series):
        page = series.keyframe.shape
        self.series, self.shape, self.dtype, self.ndim = series, series.shape, series.dtype, len(series.shape)
        self.outer = self.shape[:self.ndim - len(page)]
        self.is_paged = self.outer + page == self.shape and len(series) == numpy.prod(self.outer, dtype=int) and series.dataoffset is None
        self.chunks = (1,) * len(self.outer) + page if self.is_paged else self.shape

    def __getitem__(self, index):
        if not self.is_paged:
            return self.series.asarray(out="memmap" if self.series.dataoffset is not None else None)[index]
        chosen = [range(size)[part] for size, part in zip(self.outer, index)]
        inner = index[len(self.outer):]
        numbers = [numpy.ravel_multi_index(at, self.outer) if at else 0 for at in itertools.product(*chosen)]
        pages = numpy.stack([self.series[int(number)].asarray()[inner] for number in numbers])
        return pages.reshape([len(part) for part in chosen] + list(pages.shape[1:]))


def _array_of(file):
    store = file.aszarr(level=0)
    try:
        return _zarr().open(store, mode="r")
    except TypeError:
        return _Pages(file.series[0])


def _read_tiff(path):
    """(file, array) of a TIFF. Each thread opens its own, since tifffile's are not for several."""
    found = os.stat(path)
    key = path, found.st_mtime_ns, found.st_size
    if getattr(_opened, "key", None) != key:
        tifffile = _tifffile()
        try:
            file = tifffile.TiffFile(path)
            array = _array_of(file)
        except (tifffile.TiffFileError, ValueError, IndexError) as error:
            raise FileError(f"'{path}' cannot be read: {error}") from error
        _opened.key, _opened.file, _opened.array = key, file, array
    return _opened.file, _opened.array


class _Tiff:
    """The first image or stack of a TIFF, at full size, as da.from_array takes it: only its name goes to the workers."""

    def __init__(self, path):
        file, array = _read_tiff(path)
        self.path, self.axes = path, file.series[0].axes.replace("S", "C")
        self.shape, self.dtype, self.ndim, self.chunks = array.shape, array.dtype, array.ndim, array.chunks

    def __getitem__(self, index):
        return _read_tiff(self.path)[1][index]


def _write_tiff(array, path, axes):
    """With the letters of the axes. Two channels are gray and another one, and only three or four are colours."""
    channels = array.shape[-1] if axes.endswith("YXC") else 1
    _tifffile().imwrite(path, compute(array), photometric="rgb" if channels in (3, 4) else "minisblack",
                        planarconfig="contig" if channels > 1 else None,
                        metadata={"axes": axes.replace("XC", "XS") if channels > 1 else axes})


def _axis(letter, unit):
    kind = {"T": "time", "C": "channel"}.get(letter, "space")
    return {"name": letter.lower(), "type": kind, **({"unit": unit} if unit else {})}


def _write_zarr(array, folder, axes, pixels):
    zarr = _zarr()
    newer = int(zarr.__version__.split(".")[0]) >= 3
    array = array.rechunk(tuple(max(sizes) for sizes in array.chunks))  # Zarr's chunks have one size
    group = zarr.open_group(folder, mode="w", **({"zarr_format": 2} if newer else {}))
    names = [_axis(letter, pixels.get(letter, (1, None))[1]) for letter in axes]
    scale = [{"type": "scale", "scale": [float(pixels.get(letter, (1, None))[0]) for letter in axes]}]
    group.attrs["multiscales"] = [{"version": "0.4", "axes": names,
                                   "datasets": [{"path": "0", "coordinateTransformations": scale}]}]
    form = {"shape": array.shape, "chunks": array.chunksize, "dtype": array.dtype}
    target = group.create_array("0", chunk_key_encoding={"name": "v2", "separator": "/"}, **form) if newer else \
        group.create_dataset("0", dimension_separator="/", **form)
    compute(da.store(array, target, lock=False, compute=False))


def save(array, path, axes=None, *, pixels=None):
    """Computes the array and writes it as OME-Zarr (.zarr) or TIFF (.tif): `path` appears when all of it is there, or not at
    all. What exists is not replaced.

    pixels: {letter: (size, unit or None)}, as hone.dask.pixels_of tells of an OME-Zarr; a TIFF does not get them.
    """
    path, array = os.fspath(path).rstrip("/"), da.asarray(array)
    axes = axes or ("YXC"[:array.ndim] if array.ndim <= 3 else None)
    if os.path.lexists(path):
        raise FileError(f"'{path}' exists; remove it, or name another output")
    if not axes or len(axes) != array.ndim:
        raise UsageError(f"the array has {array.ndim} axes; name them, such as axes='ZYX'")
    temporary = f"{os.path.abspath(path)}.part-{os.getpid()}"  # workers have folders of their own
    try:
        if path.endswith(".zarr"):
            _write_zarr(array, temporary, axes, pixels or {})
        elif path.endswith((".tif", ".tiff")):
            _write_tiff(array, temporary, axes)
        else:
            raise UsageError(f"'{path}' must end with .zarr or .tif")
        os.rename(temporary, path)
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
        elif os.path.exists(temporary):
            os.unlink(temporary)


# ---- Folders ----


class Skipped(str):
    """Why a file of a folder is left out, as `hone apply` leaves it out: it is no image."""


def _lines(output):
    for line in output.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _command():
    """One that is installed, before the package's own: that is made without libvips."""
    installed = shutil.which("hone")
    return installed if installed and not os.environ.get("HONE_COMMAND") else command_path()


@functools.cache
def _suffixes(command):
    """Of the files that this command reads."""
    report = subprocess.run([command, "formats", "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return {suffix for kind in json.loads(report.stdout).values() for one in kind if one["reads"]
            for suffix in one["suffixes"].split()}


def _why_skipped(path, suffixes):
    """None for a file that the command takes."""
    suffix = os.path.splitext(path)[1]
    if os.path.isdir(path):
        return Skipped("symbolic links to folders are not followed")
    if os.path.islink(path) and not os.path.exists(path):
        return Skipped("the symbolic link leads nowhere")
    if os.path.exists(path) and not os.path.isfile(path):
        return Skipped("it is a pipe or a device, not a file")
    if suffix.lower() in suffixes:
        return None
    return Skipped(f"hone reads no files of the kind {suffix}" if suffix else "the name has no suffix")


def _run_batch(chain, files, folder, device, options):
    """Runs the command over files; {file: None or why it failed}. What a crash left out is tried again, one by one."""
    words = [_command(), "apply", chain, *files, "-o", folder + "/", "--skip-existing", "--json", "-q", *options]
    words += [] if device is None else ["--device", str(device)]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    done = {}
    for line in _lines(result.stdout):
        if line.get("input") in files:
            failed = line.get("status") == "failed"
            done[line["input"]] = line.get("message", "it failed") if failed else None
    missing = [file for file in files if file not in done]
    if missing and len(files) > 1:
        for file in missing:
            done.update(_run_batch(chain, [file], folder, device, options))
    elif missing and result.returncode:
        done[files[0]] = (result.stderr.strip().splitlines() or [f"hone ended with {result.returncode}"])[-1]
    return {file: done.get(file) for file in files}


def _kept(path, text):
    """A filter of the client's as a file of this worker, the same for the same text: what was tuned for it holds."""
    folder = private_folder()
    if folder is None:
        raise FileError(f"somebody else may write to 'hone-dask-{os.getuid()}' in '{tempfile.gettempdir()}'; filters need "
                        "such a folder for themselves")
    folder = os.path.join(folder, hashlib.sha256(text.encode()).hexdigest()[:16])
    os.makedirs(folder, mode=0o700, exist_ok=True)
    kept = os.path.join(folder, os.path.basename(path))
    handle, temporary = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(temporary, kept)
    return kept


def _with_paths(chain, sources):
    """The chain with the paths that filters of the client's have here."""
    paths = {os.path.splitext(os.path.basename(path))[0]: _kept(path, text) for path, text in sources}
    words = [step.split(" ", 1) for step in steps_of(chain)]
    return " | ".join(" ".join([paths.get(name, name), *rest]) for name, *rest in words)


def _batch(chain, sources, files, folder, device, options):
    """On a worker."""
    suffixes = _suffixes(_command())
    done = {file: _why_skipped(file, suffixes) for file in files}
    taken = [file for file in files if done[file] is None]
    if not taken:
        return done
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        return {**done, **dict.fromkeys(taken, f"cannot make the folder of its result: {error}")}
    return {**done, **_run_batch(_with_paths(chain, sources), taken, folder, device_here(device), options)}


def _batches(source, target, size):
    """(files, folder of their results), folder by folder."""
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(one for one in folders  # results in the source are none
                            if not one.startswith(".") and os.path.join(folder, one) != target)
        names += [one for one in folders if os.path.islink(os.path.join(folder, one))]
        into = os.path.normpath(os.path.join(target, os.path.relpath(folder, source)))
        files = iter(sorted(os.path.join(folder, name) for name in names if not name.startswith(".")))
        while batch := list(itertools.islice(files, size)):
            yield batch, into


def _news(finished, watch):
    """The next future that is done."""
    while True:
        try:
            return finished.get(timeout=LOOK)
        except queue.Empty:
            watch.look()


def _outcome(future, files, watch):
    """What a task gave; its result may have been lost with a worker since, and is waited for again."""
    try:
        return result_of(future, watch)
    except Exception as error:
        if future.status != "error":
            raise
        return dict.fromkeys(files, str(error))


def apply_files(chain, source, target, client, *, device=None, filters=(), options=(), batch=BATCH):
    """Filters the files of a folder that all workers see, with its sub-folders, into another. Yields (file, None) for each one
    that is done, or (file, why it failed); for one that is no image, why it is left out, which is then a hone.dask.Skipped.

    Each output appears whole or not at all, and files whose outputs exist (those that a power cut left short do not count)
    are passed over: a run that was interrupted is continued by doing it again. A file that kills its process fails alone.
    Workers run the command `hone`, which reads what libvips does, and which gives up what takes too long (its --timeout).
    ConnectionError: the scheduler does not answer.

    client: a distributed.Client.
    filters: paths of filters of your own that the chain names. They are read here and sent to the workers.
    options: for `hone apply`, such as ['--format', 'png'].
    batch: files for each process.
    """
    if os.path.realpath(source) == os.path.realpath(target):
        raise UsageError("the results need a folder of their own")
    if not os.path.isdir(source):
        raise FileError(f"'{source}' is no folder; an array is a .zarr or a .tif")
    sources = tuple(source_of(path) for path in filters)
    chain = parse(chain)[0]
    work = _batches(os.path.abspath(source), os.path.abspath(target), batch)
    running, finished, watch = {}, queue.SimpleQueue(), Watch(client)

    def submit(files, folder):
        future = client.submit(_batch, chain, sources, files, folder, device, list(options), pure=False, retries=2)
        running[future.key] = future, files
        future.add_done_callback(finished.put)

    ahead = max(4, 4 * len(watch.workers))  # a scheduler need not hold a million tasks
    for item in itertools.islice(work, ahead):
        submit(*item)
    while running:
        future, files = running.pop(_news(finished, watch).key)
        yield from _outcome(future, files, watch).items()
        for item in itertools.islice(work, 1):
            submit(*item)
