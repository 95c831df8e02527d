# SPDX-License-Identifier: BSD-2-Clause
"""python -m hone.dask apply CHAIN INPUT -o OUTPUT [--scheduler ADDRESS]"""

import argparse
import sys

from distributed import Client, LocalCluster

from .. import Error, FileError
from . import Skipped, apply, apply_files, open, pixels_of, save  # pylint: disable=redefined-builtin
from ._array import steps_of


def _workers(text):
    """A run without workers would wait for one forever."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"there must be 1 worker or more, not {text!r}")
    return int(text)


def _arguments():
    parser = argparse.ArgumentParser(prog="python -m hone.dask")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("apply", help="filter a folder of images, an OME-Zarr or a TIFF on a cluster")
    one.add_argument("chain", metavar="CHAIN", help="'filter name=value ... | filter ...'")
    one.add_argument("input", metavar="INPUT", help="a folder, a .zarr or a .tif, which all workers see")
    one.add_argument("-o", "--output", required=True, help="a folder, .zarr or .tif; it appears whole or not at all")
    one.add_argument("--scheduler", metavar="ADDRESS", help="of Dask's scheduler; default: workers on this machine")
    one.add_argument("--workers", type=_workers, default=2, help="without --scheduler: how many (default 2)")
    one.add_argument("--device", help="for all workers; default: a GPU of its node for each")
    one.add_argument("--axes", help="letters of the axes, such as ZYX, where the file does not tell")
    one.add_argument("--filter", action="append", default=[], metavar="FILE",
                     help="a filter of your own that CHAIN names without its path")
    return parser.parse_args()


def _filters(arguments):
    """The filters of one's own: what --filter names, and paths in the chain."""
    named = [step.split()[0].strip("'\"") for step in steps_of(arguments.chain) if step]
    return list(dict.fromkeys(arguments.filter + [name for name in named if name.endswith(".cl")]))


def _tell_skipped(skipped):
    """A line for all files that are left out for one reason."""
    for why in sorted(set(skipped.values())):
        files = [file for file in sorted(skipped) if skipped[file] == why]
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        print(f"hone.dask: skipped '{files[0]}'{more}: {why}", file=sys.stderr)


def _files(arguments, client):
    failed = done = 0
    skipped = {}
    for file, why in apply_files(arguments.chain, arguments.input, arguments.output, client, device=arguments.device,
                                 filters=_filters(arguments)):
        if why is None:
            done += 1
        elif isinstance(why, Skipped):
            skipped[file] = why
        else:
            failed += 1
            print(f"hone.dask: '{file}': {why}", file=sys.stderr)
    _tell_skipped(skipped)
    if not done and not failed:
        raise FileError(f"no image in the folder '{arguments.input}' (hone formats lists what can be read)")
    left_out = f", {len(skipped)} skipped" if skipped else ""
    print(f"{done} of {done + failed} files are done, {failed} failed{left_out}")
    return 3 if failed else 0


def _pixels(arguments):
    """Of the result: those of the input, turned as it is. Bins of a histogram have none."""
    pixels = pixels_of(arguments.input)
    names = [step.split()[0] for step in steps_of(arguments.chain) if step]
    if "histogram" in names:
        return {}
    if names.count("transpose") % 2 and "X" in pixels and "Y" in pixels:
        pixels["X"], pixels["Y"] = pixels["Y"], pixels["X"]
    return pixels


def _array(arguments):
    array, axes = open(arguments.input)
    result, axes = apply(arguments.chain, array, axes=arguments.axes or axes, device=arguments.device,
                         filters=_filters(arguments), with_axes=True)
    save(result, arguments.output, axes, pixels=_pixels(arguments))
    return 0


def main():
    arguments = _arguments()
    is_array = arguments.input.rstrip("/").endswith((".zarr", ".tif", ".tiff"))
    cluster = None if arguments.scheduler else LocalCluster(n_workers=arguments.workers, dashboard_address=":0")
    try:
        with Client(arguments.scheduler or cluster):
            client = Client.current()
            return _array(arguments) if is_array else _files(arguments, client)
    except (Error, OSError) as error:
        print(f"hone.dask: {error}", file=sys.stderr)
        return 3 if isinstance(error, OSError) else 2
    finally:
        if cluster is not None:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
