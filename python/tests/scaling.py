#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the stages of hone.dask cost on this machine, and how 1, 2 ... workers share the work: the figures behind the model in
docs/clusters.md. Each worker has processors of its own and one thread of Dask.

scaling.py [MOST_WORKERS [PROCESSORS_OF_EACH [SIDE_OF_THE_IMAGE]]]    (default 2 1 8192)
"""

import contextlib
import os
import statistics
import sys
import tempfile
import time

import dask
import dask.array as da
import numpy
from distributed import Client, LocalCluster, wait

import hone.dask

CHAIN = "gaussian sigma=3 | sobel"


def pin(cores):
    os.sched_setaffinity(0, cores)


def noise(seed=3, block_info=None):
    shape = block_info[None]["chunk-shape"]
    return numpy.random.default_rng(seed).integers(0, 256, shape, dtype=numpy.uint8)


def start(count, cores):
    """A client of `count` workers, each pinned to its processors, with kernels for these alone."""
    threads = {"POCL_MAX_PTHREAD_COUNT": str(cores), "POCL_CPU_MAX_CU_COUNT": str(cores)}
    cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None, memory_limit=0, env=threads)
    client = Client(cluster)
    there = sorted(os.sched_getaffinity(0))
    for i, worker in enumerate(sorted(client.scheduler_info()["workers"])):
        client.run(pin, set(there[i * cores:(i + 1) * cores]), workers=[worker])
    return client, cluster


def processor_seconds():
    """Of this process and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def cost(client, work):
    """Seconds that work() takes, by the clock, and of processors: the workers', and those of the scheduler and client, which
    are one process here."""
    before, here = sum(client.run(processor_seconds).values()), processor_seconds()
    begin = time.perf_counter()
    work()
    seconds, here = time.perf_counter() - begin, processor_seconds() - here
    return seconds, sum(client.run(processor_seconds).values()) - before, here


def array_cost(client, side, chunk, seed):
    """The cost of the chain over an image that lies in the workers' memory, and tasks for each chunk. Each call has its own
    image: Dask knows results by their origin."""
    image = client.persist(da.map_blocks(noise, seed=seed, chunks=((chunk,) * (side // chunk),) * 2, dtype="u1"))
    wait(image)
    result = hone.dask.apply(CHAIN, image)
    (optimized,) = dask.optimize(result)
    tasks = (len(optimized.__dask_graph__()) - image.npartitions) / image.npartitions
    return cost(client, lambda: wait(client.persist(result))), tasks


def files_cost(client, count, image):
    """The cost of a folder of files."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/in")
        for i in range(count):
            with open(f"{folder}/in/{i:03}.pgm", "wb") as file:
                file.write(b"P5\n%d %d\n255\n" % image.shape[::-1] + image.tobytes())

        def work():
            failed = [why for _, why in hone.dask.apply_files(CHAIN, f"{folder}/in", f"{folder}/out", client, batch=8) if why]
            assert not failed, failed
        return cost(client, work)


def medians(costs):
    """Without the first one, in which kernels are compiled."""
    return [statistics.median(column) for column in zip(*costs[1:])]


def told(what, costs, first):
    seconds, workers, here = medians(costs)
    return (f"{what} {seconds:.3f} s ({medians(first)[0] / seconds:.2f} times as fast), processors: workers {workers:.2f} s, "
            f"scheduler and client {here:.2f} s")


def nothing(number):
    return number


def tasks_per_second(client):
    count = 300 * len(client.nthreads())
    begin = time.perf_counter()
    wait(client.map(nothing, range(count), pure=False))
    return count / (time.perf_counter() - begin)


def bytes_per_second(client, size=64 << 20):
    """From the memory of one worker to another's."""
    first, second = sorted(client.scheduler_info()["workers"])[:2]

    def once():
        data = client.submit(numpy.ones, size, "u1", workers=[first], pure=False)
        wait(data)
        begin = time.perf_counter()
        wait(client.submit(len, data, workers=[second], pure=False))
        return time.perf_counter() - begin
    return size / statistics.median([once() for _ in range(3)])


def measure(clients, side, image, rounds=5):
    """By turns, so that what else the machine does hits all alike."""
    arrays, files = ({count: [] for count in clients} for _ in range(2))
    for seed in range(rounds):
        for count, client in clients.items():
            array, tasks = array_cost(client, side, 2048, seed)
            arrays[count].append(array)
            files[count].append(files_cost(client, 64, image))
    print(f"{tasks:.1f} tasks for each chunk of 2048x2048")
    for count in clients:
        print(f"{count} workers: {told('array', arrays[count], arrays[1])}; {told('64 files', files[count], files[1])}")


def main():
    most, cores, side = (int(word) for word in (sys.argv[1:] + ["2", "1", "8192"][len(sys.argv) - 1:])[:3])
    image = noise(block_info={None: {"chunk-shape": (1536, 2048)}})
    print(f"{CHAIN}, {side}x{side} of 8 bits, {cores} processors to a worker; load before: {os.getloadavg()[0]:.1f}")
    with contextlib.ExitStack() as stack:
        clients, count = {}, 1
        while count <= most:
            clients[count], cluster = start(count, cores)
            stack.enter_context(cluster)
            stack.enter_context(clients[count])
            count *= 2
        measure(clients, side, image)
        for chunk in (512, 1024, 4096):
            alone = medians([array_cost(clients[1], chunk, chunk, seed)[0] for seed in range(4)])
            print(f"1 worker, one chunk of {chunk}x{chunk}: {alone[0] * 1e3:.1f} ms, processors {alone[1] * 1e3:.1f} ms")
        for count, client in clients.items():
            print(f"{count} workers: {tasks_per_second(client):.0f} empty tasks per second")
        if most > 1:
            print(f"worker to worker: {bytes_per_second(clients[2]) / 1e6:.0f} MB/s")


if __name__ == "__main__":
    main()
