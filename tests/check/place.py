# SPDX-License-Identifier: BSD-2-Clause
"""For scripts that run the command: a folder with a cache of its own, and what the command writes to a terminal."""

import atexit
import fcntl
import functools
import glob
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import tempfile
import termios

import frame

NOWHERE = {"OCL_ICD_VENDORS": "/nonexistent"}


def on_terminal(columns, start):
    """What a process that ends well writes to a terminal of so many columns; `start` starts it with that as its output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = start(theirs)
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    process.communicate(timeout=100)
    frame.check(process.returncode == 0, f"{written}")
    return written.decode()


class TuningRecords(frame.Folder):
    """Tuning records of its own; programs are shared, so that each is compiled once."""
    cache = None

    def __init__(self):
        super().__init__()
        TuningRecords.cache = TuningRecords.cache or tempfile.mkdtemp(prefix="hone-tuning-cache-")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("HONE_", "POCL_"))}
        self.environment.update(XDG_CACHE_HOME=self.cache, XDG_DATA_HOME=self.folder, HONE_PRECOMPILED="")


class Place(frame.Folder):
    """A folder with an empty cache of its own."""

    def __init__(self):
        super().__init__()
        self.environment = {key: value for key, value in os.environ.items()
                            if key not in ("POCL_CACHE_DIR", "HONE_KERNEL_DIR", "HONE_DEVICE", "HONE_KEEP_ENVIRONMENT")}
        self.environment["XDG_CACHE_HOME"] = os.path.join(self.folder, "cache")

    def fill(self):
        """Gives the cache what the doctor compiles on its way through all filters, which takes it long."""
        shutil.copytree(first_examination()[0], self.path("cache"))
        return self

    def cache(self, *parts):
        return self.path("cache", "hone", *parts)

    def programs(self):
        return glob.glob(self.cache("programs", "[0-9a-f]" * 64))

    def run(self, *arguments, status=0, **changes):
        result = self.any(*arguments, **changes)
        frame.check(result.returncode == status, f"hone {' '.join(arguments)} ends with {result.returncode}, not {status}: "
                                                 f"{result.stdout[-400:]}{result.stderr[-400:]}")
        return result

    def any(self, *arguments, cwd=None, **changes):
        """Whatever the exit status is."""
        return subprocess.run([os.path.abspath(os.path.join(frame.build(), "hone")), *arguments], capture_output=True, text=True,
                              env={**self.environment, **changes}, cwd=cwd, check=False)

    def json(self, *arguments, status=0, **changes):
        return json.loads(self.run(*arguments, "--json", status=status, **changes).stdout)

    def picture(self, width=640, height=480):
        name = self.path("in.pgm")
        with open(name, "wb") as file:
            file.write(b"P5 %d %d 255\n" % (width, height) + bytes((x * 7 + x // 640) & 255 for x in range(width * height)))
        return name

    def on_terminal(self, columns, *arguments, kind="xterm"):
        """What the command writes to a terminal of so many columns, as the lines that stood there one after the other."""
        environment = {**self.environment, "TERM": kind}
        written = on_terminal(columns, lambda terminal: subprocess.Popen([os.path.join(frame.build(), "hone"), *arguments],
                                                                         stdout=terminal, stderr=terminal, env=environment))
        return [line.replace("\033[K", "") for line in re.split("[\r\n]+", written)]

    def apply(self, chain="box", **changes):
        return self.json("apply", chain, self.picture(), "-o", self.path("out.pgm"), **changes)


@functools.lru_cache(None)
def first_examination():
    """The cache that a doctor with an empty one leaves behind, and its report. Made once: nearly all of it is compiling."""
    place = Place()
    atexit.register(shutil.rmtree, place.folder, ignore_errors=True)
    report = place.json("doctor")
    return place.path("cache"), report
