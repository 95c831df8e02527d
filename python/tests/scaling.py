#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the stages of hone.dask cost on this machine, and how 1, 2 ... workers share the work: the figures behind the model in
docs/clusters.md. Each worker has processors of its own and one thread of Dask.

scaling.py [MOST_WORKERS [PROCESSORS_OF_EACH [SIDE_OF_THE_IMAGE]]]    (default 2 1 8192)
"""

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


def array_seconds(client, side, chunk, rounds=4):
    """Seconds for the chain over an image that lies in the workers' memory, and tasks for each chunk: the median of some
    rounds without the first, in which kernels are compiled. Each has its own image: Dask knows results by their origin."""
    times = []
    for seed in range(rounds):
        image = client.persist(da.map_blocks(noise, seed=seed, chunks=((chunk,) * (side // chunk),) * 2, dtype="u1"))
        wait(image)
        result = hone.dask.apply(CHAIN, image)
        (optimized,) = dask.optimize(result)
        tasks = (len(optimized.__dask_graph__()) - image.npartitions) / image.npartitions
        begin = time.perf_counter()
        wait(client.persist(result))
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:]), tasks


def files_seconds(client, count, image):
    """Seconds for a folder of files."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/in")
        for i in range(count):
            with open(f"{folder}/in/{i:03}.pgm", "wb") as file:
                file.write(b"P5\n%d %d\n255\n" % image.shape[::-1] + image.tobytes())
        begin = time.perf_counter()
        failed = [why for _, why in hone.dask.apply_files(CHAIN, f"{folder}/in", f"{folder}/out", client, batch=8) if why]
        assert not failed, failed
        return time.perf_counter() - begin


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


def main():
    most, cores, side = (int(word) for word in (sys.argv[1:] + ["2", "1", "8192"][len(sys.argv) - 1:])[:3])
    image = noise(block_info={None: {"chunk-shape": (1536, 2048)}})
    print(f"{CHAIN}, {side}x{side} of 8 bits, {cores} processors to a worker; load before: {os.getloadavg()[0]:.1f}")
    count, first = 1, None
    while count <= most:
        client, cluster = start(count, cores)
        with cluster, client:
            seconds, tasks = array_seconds(client, side, 2048)
            files = files_seconds(client, 64, image)
            first = first or (seconds, files)
            print(f"{count} workers: array {seconds:.3f} s ({first[0] / seconds:.2f} times as fast), "
                  f"{tasks:.1f} tasks for each chunk; 64 files {files:.2f} s ({first[1] / files:.2f} times)", flush=True)
            for chunk in (512, 1024, 4096) if count == 1 else ():
                alone, _ = array_seconds(client, chunk, chunk)
                print(f"1 worker, one chunk of {chunk}x{chunk}: {alone * 1e3:.1f} ms", flush=True)
            if count == 2:
                print(f"worker to worker: {bytes_per_second(client) / 1e6:.0f} MB/s", flush=True)
            print(f"scheduler: {tasks_per_second(client):.0f} tasks per second", flush=True)
        count *= 2


if __name__ == "__main__":
    main()
