# SPDX-License-Identifier: BSD-2-Clause
"""What the command `hone` does: tuning, the doctor. It runs as a process of its own, so that kernels that hang or crash
take nothing along."""

import json
import os
import shutil
import signal
import subprocess

from . import _hone
from ._arrays import type_name

_CLASSES = {"HONE_ERROR_USAGE": _hone.UsageError, "HONE_ERROR_IO": _hone.FileError,
            "HONE_ERROR_NO_DEVICE": _hone.NoDeviceError, "HONE_ERROR_DEVICE": _hone.DeviceError,
            "HONE_ERROR_MEMORY": _hone.OutOfMemoryError, "HONE_ERROR_UNSUPPORTED": _hone.UnsupportedError,
            "HONE_ERROR_CHECK": _hone.CheckError, "HONE_ERROR_INTERNAL": _hone.InternalError}


def path():
    """The command: HONE_COMMAND, else the one in this package, else the one in PATH."""
    wanted = os.environ.get("HONE_COMMAND")
    beside = os.path.join(os.path.dirname(__file__), "bin", "hone")
    found = shutil.which(wanted or beside) or not wanted and shutil.which("hone")
    if found:
        return found
    if wanted:
        raise _hone.FileError(f"HONE_COMMAND is {wanted!r}, which is no command that could be run")
    raise _hone.UnsupportedError("this needs the command `hone`, which is neither in the package nor in PATH; set "
                                 "HONE_COMMAND to where it is")


def _failure(code, report, text):
    name = report.get("error", "HONE_ERROR_INTERNAL")
    message = report.get("message") or text.strip().removeprefix("hone: ") or f"hone ended with exit status {code}"
    error = _CLASSES.get(name, _hone.InternalError)(message)
    error.status, error.cl_code, error.cl_name, error.column, error.log = name, 0, "", 0, ""
    return error


def _wait(process):
    """What it prints; Ctrl-C ends it as on a terminal, where it writes what it has."""
    try:
        return process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise


def run(arguments, accepted=(0,)):
    """The report of `hone ARGUMENTS --json`, if its exit status is one of `accepted`; else raises."""
    process = subprocess.Popen([path(), *arguments, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
                               start_new_session=True)
    with process:
        out, error = _wait(process)
    try:
        report = json.loads(out) if out.strip() else {}
    except ValueError:
        report = {}
    if process.returncode not in accepted or not report:
        raise _failure(process.returncode, report if isinstance(report, dict) else {}, error)
    return report


def options(names):
    """Keyword arguments as options: size=(640, 480), variant=['direct', 'tile'], quick=True, budget='60s'."""
    words = []
    for name, value in names.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True and (isinstance(value, str) or not hasattr(value, "__iter__")):
            words.append(str(value))
        elif value is not True:
            words.append(("x" if name == "size" else ",").join(str(one) for one in value))
    return words


def device_option(device):
    if device is None:
        return []
    return ["--device", str(device.info["index"] if isinstance(device, _hone.Device) else device)]


def tune(*filters, size=None, format=None, channels=None, budget=None, quick=False, full=False, evaluations=None,
         variant=None, fresh=False, seed=None, device=None):
    """Measures the variants of filters on a device and remembers the best: `hone tune`.

    filters: names, or filters with parameters ('box size=31'); none: all. size: (width, height). format: 'u8', 'u16', 's16'
    or 'f32', or a type of NumPy's. budget: '60s', '5m'. variant: these variants alone, a name or several. Plans made from now
    on use the results.
    Returns a list of dictionaries, one for each case, such as pandas.DataFrame takes.
    """
    names = {"size": size, "format": None if format is None else type_name(format), "channels": channels, "budget": budget,
             "quick": quick, "full": full, "evaluations": evaluations, "variant": variant, "fresh": fresh, "seed": seed}
    report = run(["tune", *filters, *options(names), *device_option(device)], accepted=(0, 1))
    return report if isinstance(report, list) else [report]


def doctor(*filters, thorough=False, again=False, device=None):
    """Checks loader, drivers, devices, the results of every filter (or of those named) and the cache: `hone doctor`.

    Returns a dictionary: "fine", "warnings", "wrong", and "findings", a list of dictionaries with part, state, subject,
    text and, where something is to be done, advice.
    """
    arguments = [*filters, *options({"thorough": thorough, "again": again}), *device_option(device)]
    return run(["doctor", *arguments], accepted=(0, 1, 4))
