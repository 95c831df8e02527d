# SPDX-License-Identifier: BSD-2-Clause
"""Streams: a chain over many frames, several of them in flight."""

import asyncio
import collections
import threading

from . import _hone
from ._arrays import empty, view, writable
from ._hone import UsageError
from ._plans import _like, changed, find_parameter, open_device, parse, steps_with_two
from ._text import assignment


class Stream:
    """A chain over many frames of one format, with uploads, kernels and downloads of different frames at the same time.

        with hone.Stream('gaussian sigma=3', like=first) as stream:
            for result in stream.map(frames):        # in order; or: async for result in stream.amap(frames)
                show(result)

    like: a frame, or (shape, type) such as ((1080, 1920), 'u8'). For frames of several planes, such as the luma and the
        chroma of NV12, a list of up to four; frames and results are lists then, too.
    slots: frames in flight, 2 to 64; 0: 4, or 6 on a device with memory of its own, or fewer if `memory` (bytes for the
        ring; 0: what the device has left) allows no more. mode: 'auto', 'zero-copy' (a frame that would be copied is refused) or 'staged'.
    second: arrays for filters with two images, in the order of the filters; they serve all frames.
    device, reproducible: as in hone.apply.

    Without map and amap: one thread pushes, another one iterates (`for result in stream`) until end() was called and all
    results have been given out. Frames must not change until their results are there. Threads may share a stream.
    """

    def __init__(self, chain, like, *, second=(), slots=0, memory=0, mode="auto", device=None, reproducible=False):
        if slots < 0 or memory < 0:
            raise UsageError(f"{'slots' if slots < 0 else 'memory'} must not be negative")
        self._device = open_device(device)
        self._chain, self._filters = parse(chain)[:2]
        self._changing = threading.Lock()
        self._listed = isinstance(like, list)
        sources = [view(_like(one), None, "like")[0] for one in (like if self._listed else [like])]
        others = [view(other, None, "second image")[0]
                  for other in (second if isinstance(second, (list, tuple)) else (second,))]
        others = [other if other.direct else view(other.copy())[0] for other in others]
        steps = steps_with_two(self._filters, others)
        self._stream = _hone.Stream(self._device, chain, tuple(source.desc for source in sources),
                                    tuple(other.desc for other in others), slots, memory, mode, reproducible)
        for place, (step, other) in enumerate(zip(steps, others)):
            self._stream.bind(place, step, other)
        self._layouts = [source.result_layout(width, height, channels) + (type_name,) for source, (
            width, height, type_name, channels) in zip(sources, self._stream.outputs())]
        self._flying = collections.deque()  # what frames in flight read and write; the C module adds and takes it
        self._state = threading.Condition()
        self._pulling = threading.Lock()
        self._puller = None
        self._ended = False
        self._mapping = self._leaving = False  # a map has begun; one that was left takes its results back

    def push(self, frame, out=None, *, wait=True):
        """Gives a frame to the stream; its result goes to `out` or a new array. While all slots are taken, waits until
        another thread has taken results, or with wait=False returns False."""
        sources = []
        for one in self._planes(frame, "frame"):
            source = view(one, None, "frame")[0]
            sources.append(source if source.direct else view(source.copy())[0])
        results = [empty(shape, type_name) for _, shape, type_name in self._layouts] if out is None else \
            self._planes(out, "out")
        targets = tuple(writable(one, axes) for one, (axes, _, _) in zip(results, self._layouts))
        with self._state:
            self._open()
            if self._ended:
                raise UsageError("the stream has ended: no frames follow end()")
            while not self._open().try_push(tuple(sources), targets, self._flying, (sources, targets, results)):
                if not wait:
                    return False
                if self._puller == threading.get_ident():
                    raise UsageError("all slots are taken, and the thread that takes results would wait for itself: "
                                     "take results first, or use map")
                self._state.wait()
            self._state.notify_all()
        return True

    def pull(self, *, wait=True):
        """The oldest frame's result. None if the stream has ended and all results were taken; with wait=False also if the
        oldest one is not finished. Raises what the frame failed with; later frames are not affected."""
        with self._pulling:
            with self._state:
                while not self._flying and not self._ended:
                    if not wait:
                        return None
                    self._state.wait()
                if not self._flying:
                    return None
            taken = self._open().pull(self._flying) if wait else self._open().try_pull(self._flying)
            if taken is None:
                return None
            (_, _, results), failure = taken
            with self._state:
                self._puller = threading.get_ident()
                self._state.notify_all()
        if failure is not None:
            raise failure
        return results if self._listed else results[0]

    def end(self):
        """Says that no frames follow: iterating ends after the last result."""
        with self._state:
            self._ended = True
            self._state.notify_all()

    def __iter__(self):
        return self

    def __next__(self):
        result = self.pull()
        if result is None:
            raise StopIteration
        return result

    def _begin_map(self):
        with self._state:
            if self._mapping:
                raise UsageError("another map of this stream is not at its end, and would get these results: use a stream "
                                 "for each, or close the other map")
            self._mapping = True

    def _drop(self):
        """Takes the results that nobody waits for any more: those of the next frames must not come behind them."""
        while self._flying:
            try:
                self.pull()
            except _hone.Error:  # a frame's own failure, or the stream is closed, which leaves nothing
                pass

    def map(self, frames):
        """Pushes the frames of an iterable and gives their results, in order. If it is left before its end (an error, a
        break), the results of what it has pushed are dropped. One map of a stream runs at a time."""
        self._begin_map()
        try:
            for frame in frames:
                while not self.push(frame, wait=False):
                    yield self.pull()
                while (result := self.pull(wait=False)) is not None:
                    yield result
            while self._flying:
                yield self.pull()
        except BaseException:
            self._drop()
            raise
        finally:
            self._mapping = False

    async def _wait_for_map(self):
        """For the end of an amap that was left: a loop ends it a few turns later."""
        for _ in range(3):
            if self._mapping:
                await asyncio.sleep(0)
        while self._leaving:
            await asyncio.sleep(0.001)

    async def amap(self, frames):
        """As map, for asyncio; `frames` is an iterable or an asynchronous one. The event loop never waits for a device."""
        await self._wait_for_map()
        self._begin_map()
        work = _Work(asyncio.get_running_loop())
        try:
            async for frame in frames if hasattr(frames, "__aiter__") else _asynchronous(frames):
                while not await work.do(lambda one=frame: self.push(one, wait=False)):
                    yield await work.do(self.pull)
                while (result := self.pull(wait=False)) is not None:
                    yield result
            while self._flying:
                yield await work.do(self.pull)
        except BaseException:
            self._leaving = True
            await work.finish()
            await work.do(self._drop)
            raise
        finally:
            self._mapping = self._leaving = False

    def set(self, name, value):
        """Changes a parameter for all frames pushed from now on: set('gaussian.sigma', 4), as Plan.set."""
        step, parameter = find_parameter(self._filters, name)
        with self._changing:
            self._open().set(step, assignment(parameter, value))
            self._chain = changed(self._chain, step, parameter, value)

    def flush(self):
        """Waits until all frames pushed so far are finished; their results stay to be taken."""
        self._open().flush()

    def close(self):
        """Frees the stream. Results that were not taken are lost."""
        with self._pulling, self._state:
            self._ended = True
            self._stream = None
            self._flying.clear()
            self._state.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    @property
    def stats(self):
        """What the stream has done: frames, copies, seconds of each stage, bottleneck; a dictionary."""
        return self._open().stats()

    @property
    def steps(self):
        """What each filter runs with, for the first plane; a list of dictionaries."""
        return self._open().steps()

    def _open(self):
        if self._stream is None:
            raise UsageError("the stream is closed")
        return self._stream

    def _planes(self, frame, role):
        if not self._listed:
            return [frame]
        if not isinstance(frame, (list, tuple)) or len(frame) != len(self._layouts):
            raise UsageError(f"{role}: it must be a list of {len(self._layouts)} planes, as `like` was")
        return list(frame)

    def __repr__(self):
        return f"<hone.Stream {self._chain!r} on {self._device!r}>"


class _Work:
    """Calls on another thread, which go on where the coroutine that waits is cancelled."""

    def __init__(self, loop):
        self._loop, self._call = loop, None

    def do(self, function):
        self._call = self._loop.run_in_executor(None, function)
        return asyncio.shield(self._call)

    async def finish(self):
        if self._call is not None:
            await asyncio.wait([self._call])


async def _asynchronous(frames):
    for frame in frames:
        yield frame
