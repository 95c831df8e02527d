# SPDX-License-Identifier: BSD-2-Clause
"""Waiting for a cluster, but not for one that is gone: every wait looks now and then whether the scheduler still answers."""

import threading

import dask.base
from distributed import CancelledError, Client
from distributed import TimeoutError as NotYet  # pylint: disable=redefined-builtin

LOOK = 30  # seconds without news after which the scheduler is asked
ANSWER = 60  # seconds that it has for its answer
SAFE = "what is done stays, and the same call goes on from there"


def check(client):
    """The addresses of the workers; ConnectionError if the scheduler does not tell them."""
    try:
        return set(client.sync(client.scheduler.identity, callback_timeout=ANSWER)["workers"])
    except (OSError, NotYet) as error:
        raise ConnectionError(f"the scheduler has not answered for {ANSWER} s; {SAFE}") from error


async def _forget(dask_worker):
    """Ends what a worker waits for from others that the scheduler does not know. Whom it knew before it asked is told apart
    from who joins meanwhile."""
    pool, scheduler = dask_worker.rpc, dask_worker.scheduler
    others = {*pool.available, *pool.occupied} - {scheduler.address, getattr(dask_worker, "nanny", None)}
    for address in others - set((await scheduler.identity())["workers"]):
        pool.remove(address)


class Watch:
    """Tells workers of those that the scheduler has given up, even before the watch began. Dask before 2023 does not: there, a
    worker that wants data of one that was stopped waits for its answer for ever."""

    def __init__(self, client):
        self.client, self.workers = client, check(client)

    def look(self):
        if check(self.client):  # in the background: of these workers, another one may have stopped
            threading.Thread(target=self.client.run, args=(_forget,), kwargs={"on_error": "ignore"}, daemon=True).start()


def result_of(future, watch):
    while True:
        try:
            return future.result(timeout=LOOK)
        except NotYet:
            if future.status == "error":  # the task's own
                raise
            watch.look()
        except CancelledError as error:
            raise ConnectionError(f"the scheduler was lost; {SAFE}") from error


def compute(collection):
    """As Dask's compute, by the scheduler that Dask uses."""
    client = getattr(dask.base.get_scheduler(collections=[collection]), "__self__", None)
    if not isinstance(client, Client):
        return collection.compute()
    return result_of(client.compute(collection), Watch(client))
