# SPDX-License-Identifier: BSD-2-Clause
"""A scheduler and three workers, of which one is killed and one stops answering; and a client that is killed and comes
back. Nothing is lost, nothing is done twice. All waiting is for what must happen, and fails where it never does."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy
import pytest

import hone

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
import hone.dask  # noqa: E402
from distributed import Client, wait  # noqa: E402


def give_up(address):
    """What the scheduler does after its worker-ttl with a worker that does not answer, so that no test waits for a time."""
    async def remove(dask_scheduler):
        await dask_scheduler.remove_worker(address=address, stimulus_id="test", close=False)
    return remove


NEVER = 200  # seconds after which what is waited for will not happen, on the slowest machine


def until(what, process=None):
    """Waits until what() is true; a process that ends before is a failure."""
    last = time.monotonic() + NEVER
    while not what():
        assert process is None or process.poll() is None, "it ended too early"
        assert time.monotonic() < last, "it never happens"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """(client, {address: process of the worker})."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    with contextlib.ExitStack() as stack:
        said = stack.enter_context(tempfile.TemporaryFile())

        def start(module, *words):
            process = subprocess.Popen([sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *words,
                                        "--scheduler-file", str(file)], stdout=subprocess.DEVNULL, stderr=said)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process
        scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        until(file.exists, scheduler)
        for i in range(3):
            start("dask_worker", "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--local-directory",
                  str(folder / f"worker{i}"))
        with Client(scheduler_file=str(file)) as client:
            try:
                client.wait_for_workers(3, timeout=NEVER)
            except (OSError, asyncio.TimeoutError) as error:
                said.seek(0)
                raise AssertionError(f"{error}\n{said.read().decode()}") from error
            yield client, client.run(os.getpid)


def write_images(folder, image, count):
    folder.mkdir()
    for i in range(count):
        (folder / f"{i:02}.pgm").write_bytes(b"P5\n%d %d\n255\n" % image.shape[::-1] + (image + numpy.uint8(i)).tobytes())


def finished(folder):
    """The names of outputs that are whole; one that is being written has a name of its own, which may end in .pgm, too."""
    return sorted(name for name in os.listdir(folder) if re.fullmatch(r"\d\d\.pgm", name)) if folder.is_dir() else []


def check_images(folder, image, count):
    """All are there, whole and right, and in the end nothing else: what a killed worker began still runs."""
    names = [f"{i:02}.pgm" for i in range(count)]
    assert finished(folder) == names
    until(lambda: sorted(os.listdir(folder)) == names)
    for i in range(count):
        wanted = hone.apply("box size=3", image + numpy.uint8(i)).tobytes()
        assert (folder / f"{i:02}.pgm").read_bytes().endswith(wanted), i


def test_a_killed_client_comes_back(cluster, tmp_path, gray):
    client, _ = cluster
    count = 40
    write_images(tmp_path / "in", gray, count)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hone.dask", "apply", "box size=3", str(tmp_path / "in"), "-o", str(out), "--scheduler",
               client.scheduler.address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first:
        until(lambda: finished(out))
        first.kill()
    there = {name: (out / name).stat().st_mtime_ns for name in finished(out)}
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=NEVER)
    assert again.returncode == 0, again.stderr
    assert f"{count} of {count} files are done, 0 failed" in again.stdout
    until(lambda: not any(client.processing().values()))
    check_images(out, gray, count)
    assert {name: (out / name).stat().st_mtime_ns for name in there} == there


def test_a_killed_and_a_stopped_worker_lose_nothing(cluster, tmp_path, gray):
    """Files go to the third worker; blocks that the other two hold are done again. The last test: one worker is left."""
    client, workers = cluster
    count = 18
    write_images(tmp_path / "in", gray, count)
    blocks = client.persist(hone.dask.apply("box size=5", da.from_array(gray, chunks=(20, 30))))
    wait(blocks)
    results = hone.dask.apply_files("box size=3", str(tmp_path / "in"), str(tmp_path / "out"), client, batch=1)
    done = [next(results)]
    (_, killed), (address, stopped), _ = workers.items()
    os.kill(killed, signal.SIGKILL)
    os.kill(stopped, signal.SIGSTOP)
    try:
        client.run_on_scheduler(give_up(address))
        done += results
        result = client.compute(hone.dask.apply("sobel | integral", blocks)).result(timeout=NEVER)
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert sorted(os.path.basename(name) for name, _ in done) == [f"{i:02}.pgm" for i in range(count)]
    assert not [why for _, why in done if why]
    check_images(tmp_path / "out", gray, count)
    numpy.testing.assert_array_equal(result, hone.apply("box size=5 | sobel | integral", gray))
