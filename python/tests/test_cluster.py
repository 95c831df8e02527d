# SPDX-License-Identifier: BSD-2-Clause
"""A scheduler and three workers, on a network of namespaces where that can be: a link is cut and mended, a worker is cut off,
killed, or stops answering; a client is killed and comes back. Nothing is lost, nothing is done twice. All waiting is for what
must happen, and fails where it never does."""

import asyncio
import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import pytest

import hone

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
import hone.dask  # noqa: E402
import network  # noqa: E402
from distributed import Client, wait  # noqa: E402
from hone.dask import _cluster  # noqa: E402


def give_up(address):
    """What the scheduler does after its worker-ttl with a worker that does not answer, so that no test waits for a time."""
    async def remove(dask_scheduler):
        await dask_scheduler.remove_worker(address=address, stimulus_id="test", close=False)
    return remove


NEVER = 100  # seconds after which what is waited for will not happen, on the slowest machine
LONGEST = 2 * NEVER  # of a test: what says what it waited for comes first
CUT = NEVER // 2  # seconds for which a link may be cut before a worker that cannot be reached is given up


def until(what, process=None):
    """Waits until what() is true; a process that ends before is a failure."""
    last = time.monotonic() + NEVER
    while not what():
        assert process is None or process.poll() is None, "it ended too early"
        assert time.monotonic() < last, "it never happens"
        time.sleep(0.05)


@pytest.fixture(autouse=True, scope="module")
def end():
    """Ends what waits inside Dask, which has calls without a limit, too."""
    def fail(*_):
        raise AssertionError("the tests of the cluster wait for something that never happens")
    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def end_of_each():
    signal.alarm(LONGEST)
    yield
    signal.alarm(LONGEST)


_libc = ctypes.CDLL(None)


def die_with_parent():
    """PR_SET_PDEATHSIG: tests that are ended leave no scheduler and no stopped worker behind."""
    _libc.prctl(1, signal.SIGKILL)


@contextlib.contextmanager
def running(*command, **options):
    """A process that is killed in the end, whatever happened."""
    with subprocess.Popen(command, preexec_fn=die_with_parent, **options) as process:
        try:
            yield process
        finally:
            process.kill()


class Cluster:
    """A scheduler and workers, each on a node of a network of its own, or, without a network, all on this one."""

    def __init__(self, folder, net, stack):
        self.folder, self.net, self.stack = folder, net, stack
        self.processes = {}
        self.file = folder / "scheduler.json"
        self.said = stack.enter_context(tempfile.TemporaryFile())
        self.scheduler = self.start("dask_scheduler", "--port", "0")
        until(self.file.exists, self.scheduler)
        for _ in range(3):
            self.start_worker()
        self.client = stack.enter_context(Client(scheduler_file=str(self.file)))
        self.wait_for_workers(3)

    def start(self, module, *words):
        host = self.net.new_host() if self.net else "127.0.0.1"
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", "--host", host, *words,
                   "--scheduler-file", str(self.file)]
        here = os.path.dirname(os.path.abspath(__file__))  # functions of this file are sent by name
        environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": f"{NEVER}s",
                       "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": f"{CUT}s",
                       "PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))}
        process = self.stack.enter_context(running(
            *(self.net.command(host, *command) if self.net else command), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=self.said, env=environment))
        self.processes[process.pid] = process
        if self.net:
            self.net.connect(host, process, until)
        return process

    def start_worker(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        return self.start("dask_worker", "--no-nanny", "--nthreads", "1", "--local-directory", folder)

    def wait_for_workers(self, count):
        try:
            self.client.wait_for_workers(count, timeout=NEVER)
        except (OSError, asyncio.TimeoutError) as error:
            self.said.seek(0)
            there = {address: worker["status"] for address, worker in self.client.scheduler_info()["workers"].items()}
            ended = {pid: process.poll() for pid, process in self.processes.items()}
            raise AssertionError(f"{self.said.read().decode()}\n{error}\n{there}\n{ended}") from error

    def workers(self):
        """{address: id of its process}"""
        return self.client.run(os.getpid)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        net = None if network.why_not() else stack.enter_context(network.here())
        yield Cluster(tmp_path_factory.mktemp("cluster"), net, stack)


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
    client = cluster.client
    count = 40
    write_images(tmp_path / "in", gray, count)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hone.dask", "apply", "box size=3", str(tmp_path / "in"), "-o", str(out), "--scheduler",
               client.scheduler.address]
    with running(*command, stdout=subprocess.DEVNULL):
        until(lambda: finished(out))
    there = {name: (out / name).stat().st_mtime_ns for name in finished(out)}
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=NEVER)
    assert again.returncode == 0, again.stderr
    assert f"{count} of {count} files are done, 0 failed" in again.stdout
    until(lambda: not any(client.processing().values()))
    check_images(out, gray, count)
    assert {name: (out / name).stat().st_mtime_ns for name in there} == there


def test_a_scheduler_that_stops_is_told(cluster, tmp_path, gray, monkeypatch):
    client = cluster.client
    count = 5
    write_images(tmp_path / "in", gray, count)

    def run():
        return hone.dask.apply_files("box size=3", str(tmp_path / "in"), str(tmp_path / "out"), client, batch=1)
    results = run()
    done = dict([next(results)])
    os.kill(cluster.scheduler.pid, signal.SIGSTOP)
    try:
        monkeypatch.setattr(_cluster, "ANSWER", 0.5)
        with pytest.raises(ConnectionError, match="what is done stays"):
            run()
            next(run())
    finally:
        os.kill(cluster.scheduler.pid, signal.SIGCONT)
    monkeypatch.undo()
    done.update(results)
    assert len(done) == count and not any(done.values())
    check_images(tmp_path / "out", gray, count)


def check_done(done, count):
    """Each file came once."""
    assert sorted(os.path.basename(name) for name, _ in done) == [f"{i:02}.pgm" for i in range(count)]
    assert not [why for _, why in done if why]


@pytest.fixture
def links(cluster):
    """(network, address of a worker, its host): what has to do with links needs a network."""
    if cluster.net is None:
        pytest.skip(f"left out: links that are cut, and a network of nodes: {network.why_not()}")
    address = min(cluster.workers())
    return cluster.net, address, address.split("/")[2].split(":")[0]


def collect(results, done):
    """A thread that appends the results; check_all waits for it."""
    thread = threading.Thread(target=lambda: done.extend(results), daemon=True)
    thread.start()
    return thread


def check_all(thread, done, count):
    thread.join(NEVER)
    assert not thread.is_alive(), f"{len(done)} of {count} files came"
    check_done(done, count)


def test_a_link_that_is_cut_and_mended_loses_nothing(cluster, links, tmp_path, gray):
    """All work but that of the worker behind it is done. That is delivered when the link is there again; the worker stays."""
    net, address, host = links
    workers = cluster.workers()
    count = 12
    write_images(tmp_path / "in", gray, count)
    results = hone.dask.apply_files("box size=3", str(tmp_path / "in"), str(tmp_path / "out"), cluster.client, batch=1)
    done = [next(results)]
    net.cut(host)
    try:
        thread = collect(results, done)
        until(lambda: [worker for worker, work in cluster.client.processing().items() if work] == [address])
    finally:
        net.mend(host)
    check_all(thread, done, count)
    check_images(tmp_path / "out", gray, count)
    assert cluster.workers() == workers


def test_a_worker_that_is_cut_off_loses_nothing(cluster, links, tmp_path, gray):
    """Its files and blocks go to the others. When its link is mended, it learns that it was given up, and ends, so that another
    one takes its place."""
    net, address, host = links
    client, process = cluster.client, cluster.processes[cluster.workers()[address]]
    count = 12
    write_images(tmp_path / "in", gray, count)
    blocks = client.persist(hone.dask.apply("box size=5", da.from_array(gray, chunks=(20, 30))))
    wait(blocks, timeout=NEVER)
    results = hone.dask.apply_files("box size=3", str(tmp_path / "in"), str(tmp_path / "out"), client, batch=1)
    done = [next(results)]
    net.cut(host)
    try:
        client.run_on_scheduler(give_up(address))
        check_all(collect(results, done), done, count)
        result = _cluster.compute(hone.dask.apply("sobel | integral", blocks))
    finally:
        net.mend(host)
    check_images(tmp_path / "out", gray, count)
    numpy.testing.assert_array_equal(result, hone.apply("box size=5 | sobel | integral", gray))
    until(lambda: process.poll() is not None)
    cluster.start_worker()
    cluster.wait_for_workers(3)


def length_of_new(client, holder, reader, before=lambda: None):
    """A future: `reader` fetches data that `holder` has; `before` is called between."""
    data = None
    while data is None or holder not in client.who_has([data])[data.key]:  # another that had less to do may have taken it
        data = client.submit(numpy.ones, 1000, workers=[holder], allow_other_workers=True, pure=False)
        wait(data, timeout=NEVER)
    before()
    return client.submit(len, data, workers=[reader], pure=False)


def asks(dask_worker):
    return bool(dask_worker.state.in_flight_workers)


def test_a_killed_and_a_stopped_worker_lose_nothing(cluster, tmp_path, gray, monkeypatch):
    """Files go to the third worker; blocks that the other two hold are done again, and what it had asked the stopped one for
    over an open connection, it makes itself. The last test: one worker is left."""
    client = cluster.client
    (_, killed), (address, stopped), (third, _) = cluster.workers().items()
    count = 18
    write_images(tmp_path / "in", gray, count)
    blocks = client.persist(hone.dask.apply("box size=5", da.from_array(gray, chunks=(20, 30))))
    wait(blocks, timeout=NEVER)
    assert length_of_new(client, address, third).result(timeout=NEVER) == 1000  # opens the connection
    results = hone.dask.apply_files("box size=3", str(tmp_path / "in"), str(tmp_path / "out"), client, batch=1)
    done = [next(results)]
    os.kill(killed, signal.SIGKILL)
    try:
        length = length_of_new(client, address, third, lambda: os.kill(stopped, signal.SIGSTOP))
        until(lambda: length.done() or client.run(asks, workers=[third])[third])
        client.run_on_scheduler(give_up(address))
        monkeypatch.setattr(_cluster, "LOOK", 0.2)
        assert _cluster.result_of(length, _cluster.Watch(client)) == 1000  # which begins after that
        done += results
        result = _cluster.compute(hone.dask.apply("sobel | integral", blocks))
    finally:
        os.kill(stopped, signal.SIGCONT)
    check_done(done, count)
    check_images(tmp_path / "out", gray, count)
    numpy.testing.assert_array_equal(result, hone.apply("box size=5 | sobel | integral", gray))
