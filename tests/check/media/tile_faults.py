#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Images in tiles where something fails midway: outputs are whole or as they were, nothing else is left, the exit status tells.
tile_faults.py build=FOLDER"""

import contextlib
import os
import resource
import signal
import subprocess
import time
import zlib

import numpy as np

import frame
from pictures import Here
from tiles import BANDS, HONE, picture, write

OLD = b"an older result"
LIMIT = 200  # seconds until a process counts as hanging, on a busy machine, too


class Bench(Here):
    """A folder of inputs, and one for outputs that holds an older result."""

    def __init__(self):
        super().__init__()
        for name in "out", "temporary":
            os.mkdir(self.path(name))
        self.environment["TMPDIR"] = self.path("temporary")

    def target(self, suffix):
        for name in os.listdir(self.path("out")):
            os.unlink(self.path("out", name))
        with open(self.path("out", "result" + suffix), "wb") as file:
            file.write(OLD)
        return self.path("out", "result" + suffix)

    def check_untouched(self, what, suffix):
        with open(self.path("out", "result" + suffix), "rb") as file:
            frame.check(file.read() == OLD, f"{what}: the old result is not there any more")
        frame.check(os.listdir(self.path("out")) == ["result" + suffix], f"{what}: left {os.listdir(self.path('out'))}")
        frame.check(not os.listdir(self.path("temporary")), f"{what}: left {os.listdir(self.path('temporary'))}")

    def command(self, chain, name, *more, memory=BANDS):
        return [HONE, "apply", chain, self.path(name), *memory, *more]

    def fails(self, chain, name, suffix, said, *more, status=3, changes=None, **options):
        """A run to a file that ends with a message that holds `said`."""
        what = f"{chain} on {name} to {suffix}"
        result = subprocess.run(self.command(chain, name, "-o", self.target(suffix), *more), capture_output=True, text=True, check=False,
                                env={**self.environment, **(changes or {})}, timeout=LIMIT, **options)
        frame.check(result.returncode == status and said in result.stderr, f"{what}: {result.returncode} {result.stderr[-400:]}")
        self.check_untouched(what, suffix)

    def works(self, chain, name, suffix, *more):
        """A run without a fault, which compiles what others need."""
        self.run("apply", chain, self.path(name), "-o", self.target(suffix), *BANDS, "-q", *more)


# ---- Inputs ----

def damaged_png(path, image):
    """Rows of the second half cannot be decompressed."""
    height, width = image.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    packed = bytearray(zlib.compress(rows, 6))
    packed[len(packed) // 2:len(packed) // 2 + 64] = b"\xff" * 64

    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 0, 0, 0, 0])
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", bytes(packed)) + chunk(b"IEND", b""))


def cut(path, part):
    os.truncate(path, int(os.path.getsize(path) * part))


CHAINS = ("box size=5", ".pgm"), ("transpose", ".pgm"), ("box | transpose | sobel output=dx", ".tif"), ("integral", ".tif"), \
    ("histogram", ".csv"), ("histogram bins=9 output=picture", ".png")


def test_an_input_that_cannot_be_decoded_to_its_end():
    image = picture("u1", 1001, 701)
    with Bench() as bench:
        damaged_png(bench.path("half.png"), image)
        for name in "cut.tif", "cut.jpg":
            write(bench.path(name), image)
            cut(bench.path(name), 0.6)
        write(bench.path("whole.pgm"), image)
        for chain, suffix in CHAINS:
            bench.works(chain, "whole.pgm", suffix)
            for name in "half.png", "cut.tif", "cut.jpg":
                bench.fails(chain, name, suffix, name)
        for first, second in ("whole.pgm", "half.png"), ("half.png", "whole.pgm"):
            bench.fails(f"add image={bench.path(second)} | box", first, ".pgm", "half.png")


# ---- Midway ----

def size_of_temporary(bench, _):
    sizes = [os.path.getsize(bench.path("out", name)) for name in os.listdir(bench.path("out")) if not name.startswith("result")]
    return max(sizes, default=0)


def size_of_unnamed(bench, process):
    """What has been written to files that have lost their names."""
    most = 0
    for number in os.listdir(f"/proc/{process.pid}/fd"):
        path = f"/proc/{process.pid}/fd/{number}"
        with contextlib.suppress(OSError):
            if os.readlink(path).startswith(bench.folder) and "(deleted)" in os.readlink(path):
                most = max(most, os.stat(path).st_size)
    return most


def bytes_read(_, process):
    with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


STAGES = (  # chain, suffix, what grows while it runs, up to where
    ("gaussian sigma=5", ".pgm", size_of_temporary, 4 << 20), ("box | transpose | box", ".pgm", size_of_unnamed, 4 << 20),
    ("transpose", ".pgm", size_of_temporary, 4 << 20), ("histogram bins=99", ".csv", bytes_read, 20 << 20))
SIDES = 8000, 7000


def start_and_stop(command, bench, measure, wanted):
    """A process that has been stopped between `wanted` and thrice that, or None where it got too far meanwhile."""
    process = subprocess.Popen(command, env=bench.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and measure(bench, process) < wanted:
        time.sleep(0.001)
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        while process.poll() is None and not is_stopped(process):
            time.sleep(0.001)
    if process.poll() is None and measure(bench, process) < 3 * wanted:
        return process
    process.kill()
    process.communicate()
    return None


def is_stopped(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


@contextlib.contextmanager
def stopped(bench, chain, suffix, measure, wanted):
    process = None
    for _ in range(50):  # on a busy machine some get too far
        if process:
            break
        command = bench.command(chain, "large.pgm", "-o", bench.target(suffix), "-q", memory=("--memory", "16M"))
        process = start_and_stop(command, bench, measure, wanted)
    frame.check(process, f"{chain}: always done before it was stopped")
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def large(bench):
    """Of 16 bits, so that a range has to be found; all but the first pixels are a hole."""
    with open(bench.path("large.pgm"), "wb") as file:
        file.write(b"P5\n%d %d\n65535\n" % SIDES + bytes(range(256)) * 500)
        file.truncate(file.tell() - 128000 + 2 * SIDES[0] * SIDES[1])


def check_killed(bench, what, suffix):
    """At most a temporary output is left, which the next run removes."""
    with open(bench.path("out", "result" + suffix), "rb") as file:
        frame.check(file.read() == OLD, f"{what}: the old result is not there any more")
    frame.check(len(os.listdir(bench.path("out"))) <= 2, f"{what}: left {os.listdir(bench.path('out'))}")
    frame.check(not os.listdir(bench.path("temporary")), f"{what}: left {os.listdir(bench.path('temporary'))}")
    bench.run("apply", "box size=5", bench.path("small.pgm"), "-o", bench.path("out", "result" + suffix), *BANDS)
    frame.check(os.listdir(bench.path("out")) == ["result" + suffix], f"{what}: still there: {os.listdir(bench.path('out'))}")


def check_signal(bench, stage, number):
    """Whether the process ended by it; it may be done before it gets to it."""
    chain, suffix, measure, wanted = stage
    with stopped(bench, chain, suffix, measure, wanted) as process:
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        status = process.wait(LIMIT)
    what = f"{chain}, {number.name}"
    frame.check(status == -number or (status == 0 and number != signal.SIGKILL), f"{what}: it ended with {status}")
    if number == signal.SIGKILL:
        check_killed(bench, what, suffix)
    elif status:
        bench.check_untouched(what, suffix)
    else:
        frame.check(os.listdir(bench.path("out")) == ["result" + suffix], f"{what}: left {os.listdir(bench.path('out'))}")
    return status == -number


def test_a_signal_leaves_nothing():
    with Bench() as bench:
        large(bench)
        write(bench.path("small.pgm"), picture("u1", 1001, 701))
        for stage in STAGES:
            ended = [check_signal(bench, stage, number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)]
            frame.check(any(ended[:-1]), f"{stage[0]}: no signal ended it")


def test_an_input_that_becomes_shorter():
    with Bench() as bench:
        for chain, suffix, measure, wanted in (STAGES[0], STAGES[1], STAGES[3]):
            large(bench)
            with stopped(bench, chain, suffix, measure, wanted) as process:
                cut(bench.path("large.pgm"), 0.01)
                process.send_signal(signal.SIGCONT)
                said = process.communicate(timeout=LIMIT)[1].decode()
            frame.check(process.returncode == 3 and "large.pgm" in said, f"{chain}: {process.returncode} {said}")
            bench.check_untouched(chain, suffix)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def test_a_decoder_that_is_killed():
    """hone, the process that starts decoders, decoders."""
    with Bench() as bench:
        large(bench)
        write(bench.path("large.png"), np.zeros((SIDES[1], SIDES[0], 1), "uint8"))
        os.replace(bench.path("large.png"), bench.path("large.pgm"))  # files are known by their first bytes
        for chain, suffix, measure, wanted in STAGES[:2]:
            with stopped(bench, chain, suffix, measure, wanted) as process:
                decoders = [child for host in children(process.pid) for child in children(host)]
                frame.check(len(decoders) == 1, f"{chain}: decoders {decoders}")
                os.kill(decoders[0], signal.SIGKILL)
                process.send_signal(signal.SIGCONT)
                said = process.communicate(timeout=LIMIT)[1].decode()
            frame.check(process.returncode == 3 and "large.pgm" in said and "decoder" in said, f"{chain}: {process.returncode} {said}")
            bench.check_untouched(chain, suffix)


# ---- Disks ----

def limited(most):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_a_disk_that_fills_up():
    """By a limit on sizes of files midway, and by a disk that is full from the first byte on."""
    interpose = os.path.join(frame.build(), "tests", "interpose.so")
    with Bench() as bench:
        write(bench.path("in.pgm"), picture("u1", 3001, 2001))
        for chain, suffix in (("box size=5", ".pgm"), ("box size=5", ".tif"), ("box size=5", ".png"), ("box size=5", ".jpg"),
                              ("transpose", ".pgm"), ("box | transpose | sobel output=dx", ".tif"), ("integral", ".tif")):
            more = ("--quality", "100") if suffix == ".jpg" else ()  # PoCL 6 writes files of 1 MB whenever it loads a program
            bench.works(chain, "in.pgm", suffix, *more)
            small = os.path.getsize(bench.path("out", "result" + suffix)) // 3
            bench.fails(chain, "in.pgm", suffix, "File too large", *more, preexec_fn=limited(small))
            bench.fails(chain, "in.pgm", suffix, "No space left", *more, changes={"LD_PRELOAD": interpose, "INTERPOSE_FULL": bench.path("out")})
        bench.works("histogram", "in.pgm", ".csv")
        bench.fails("histogram", "in.pgm", ".csv", "No space left", changes={"LD_PRELOAD": interpose, "INTERPOSE_FULL": bench.path("out")})


def test_a_temporary_file_for_standard_output_that_has_no_room():
    full = {"LD_PRELOAD": os.path.join(frame.build(), "tests", "interpose.so")}
    with Bench() as bench:
        write(bench.path("in.pgm"), picture("u1", 2001, 1201))
        full["INTERPOSE_FULL"] = bench.path("temporary")
        for chain in "box size=5", "transpose":
            bench.works(chain, "in.pgm", ".pgm")
            result = subprocess.run(bench.command(chain, "in.pgm", "-o", "-", "--format", "pgm"), capture_output=True, check=False,
                                    env={**bench.environment, **full}, timeout=LIMIT)
            frame.check(result.returncode == 3 and not result.stdout and b"No space left" in result.stderr,
                        f"{chain}: {result.returncode} {len(result.stdout)} bytes {result.stderr}")


# ---- Standard output ----

def test_a_standard_output_that_cannot_be_written():
    with Bench() as bench, open("/dev/full", "wb") as full:
        write(bench.path("in.pgm"), picture("u1", 1001, 701))
        for chain, form in ("box size=5", "pgm"), ("transpose", "png"), ("histogram", "csv"):
            command = bench.command(chain, "in.pgm", "-o", "-", "--format", form)
            whole = subprocess.run(command, env=bench.environment, stdout=subprocess.PIPE, check=True, timeout=LIMIT).stdout
            frame.check(len(whole) > 1000, f"{chain}: {len(whole)} bytes")
            end, begin = os.pipe()
            os.close(end)
            for what, out, before in ("full", full, None), ("its reader has gone", begin, None), ("closed", None, lambda: os.close(1)):
                result = subprocess.run(command, env=bench.environment, stdout=out, stderr=subprocess.PIPE, text=True, check=False,
                                        preexec_fn=before, timeout=LIMIT)
                frame.check(result.returncode == 3 and "standard output" in result.stderr,
                            f"{chain}, {what}: {result.returncode} {result.stderr}")
            os.close(begin)
            frame.check(not os.listdir(bench.path("temporary")), f"{chain}: left {os.listdir(bench.path('temporary'))}")


def test_a_reader_that_leaves_midway():
    with Bench() as bench:
        write(bench.path("in.pgm"), picture("u1", 3001, 2001))
        bench.works("box size=5", "in.pgm", ".pgm")
        with subprocess.Popen(bench.command("box size=5", "in.pgm", "-o", "-", "--format", "pgm"), env=bench.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            frame.check(len(process.stdout.read(100000)) == 100000, "too few bytes")
            process.stdout.close()
            said = process.stderr.read().decode()
            status = process.wait(LIMIT)
        frame.check(status == 3 and "standard output" in said, f"{status} {said}")


if __name__ == "__main__":
    frame.main(globals())
