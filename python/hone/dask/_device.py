# SPDX-License-Identifier: BSD-2-Clause
"""Which device this process uses: workers of one node share its GPUs by locks, so that nobody has to number them."""

import fcntl
import functools
import os
import tempfile

from .. import _hone


def private_folder():
    """A folder of this node for this user alone; None if somebody else made it."""
    folder = os.path.join(tempfile.gettempdir(), f"hone-dask-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.lstat(folder)
    return folder if about.st_uid == os.getuid() and not about.st_mode & 0o022 else None


def _locked(folder, index):
    """Holds the lock until the process ends: the file stays open."""
    handle = os.open(os.path.join(folder, f"device-{index}"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return False
    return True


@functools.lru_cache(maxsize=None)
def device_of_process(_process):
    """The number of a GPU that no other worker has yet, else of any; None, hone's own choice, without several GPUs."""
    gpus = [device["index"] for device in _hone.devices() if device["kind"] == "gpu"]
    if os.environ.get("HONE_DEVICE") or len(gpus) < 2:
        return None
    folder = private_folder()
    for index in gpus if folder else ():
        if _locked(folder, index):
            return index
    return gpus[os.getpid() % len(gpus)]


def device(wanted):
    return device_of_process(os.getpid()) if wanted is None else wanted
