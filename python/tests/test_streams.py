# SPDX-License-Identifier: BSD-2-Clause
"""hone.Stream."""

import asyncio
import gc
import sys
import threading

import numpy
import pytest

import hone


@pytest.fixture
def frames(random):
    return [random.integers(0, 256, (40, 64), dtype=numpy.uint8) for _ in range(23)]


def filtered(frames, chain="box size=3 | sobel"):
    return [hone.apply(chain, frame) for frame in frames]


def check(results, wanted):
    assert len(results) == len(wanted)
    assert all(numpy.array_equal(result, right) for result, right in zip(results, wanted))


@pytest.mark.parametrize("options", [{}, {"slots": 2}, {"mode": "staged"}])
def test_map(frames, options):
    with hone.Stream("box size=3 | sobel", like=frames[0], **options) as stream:
        check(list(stream.map(frames)), filtered(frames))
        check(list(stream.map(iter(frames[:3]))), filtered(frames[:3]))
        stats = stream.stats
        assert stats["finished"] == len(frames) + 3 and stats["failed"] == 0 and stats["in_flight"] == 0
        assert [step["filter"] for step in stream.steps] == ["box", "sobel"]


def test_frames_with_any_strides(frames):
    with hone.Stream("box size=3 | sobel", like=frames[0][::2, ::3]) as stream:
        check(list(stream.map(frame[::2, ::3] for frame in frames)), filtered([frame[::2, ::3] for frame in frames]))


def test_asyncio(frames):
    async def slowly():
        for frame in frames:
            await asyncio.sleep(0)
            yield frame

    async def run(source):
        with hone.Stream("box size=3 | sobel", like=frames[0]) as stream:
            return [result async for result in stream.amap(source)]

    check(asyncio.run(run(frames)), filtered(frames))
    check(asyncio.run(run(slowly())), filtered(frames))


def test_a_map_that_is_left_leaves_no_results(frames):
    """Those of the next map would be the results of other frames."""
    def fails():
        yield frames[0]
        raise KeyError

    with hone.Stream("box size=3 | sobel", like=frames[0], slots=4) as stream:
        for _ in range(3):
            with pytest.raises(KeyError):
                list(stream.map(fails()))
            with pytest.raises(hone.UsageError, match="must be"):
                list(stream.map([frames[0], frames[0][1:]]))
            for result in stream.map(frames):
                check([result], filtered(frames[:1]))
                break
            check(list(stream.map(frames[3:])), filtered(frames[3:]))
        with pytest.raises(hone.UsageError, match="another map"):
            list(zip(stream.map(frames), stream.map(frames)))
        check(list(stream.map(frames[1:])), filtered(frames[1:]))


def test_an_amap_that_is_left_leaves_no_results(frames):
    async def fails():
        yield frames[0]
        raise KeyError

    async def collect():
        with hone.Stream("box size=3 | sobel", like=frames[0], slots=4) as stream:
            for turns in range(4):
                with pytest.raises(KeyError):
                    _ = [result async for result in stream.amap(fails())]
                async for _ in stream.amap(frames):
                    break
                task = asyncio.ensure_future(stream.amap(frames).__anext__())
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                check([result async for result in stream.amap(frames[3:])], filtered(frames[3:]))
            async for _ in stream.amap(frames):
                with pytest.raises(hone.UsageError, match="another map"):
                    _ = [result async for result in stream.amap(frames)]

    asyncio.run(collect())


def test_one_thread_pushes_and_another_iterates(frames):
    stream = hone.Stream("box size=3 | sobel", like=frames[0], slots=2)

    def push():
        for frame in frames:
            stream.push(frame)
        stream.end()

    thread = threading.Thread(target=push)
    thread.start()
    check(list(stream), filtered(frames))
    thread.join()
    assert stream.pull() is None
    with pytest.raises(hone.UsageError, match="ended"):
        stream.push(frames[0])


def test_a_thread_that_would_wait_for_itself(frames):
    stream = hone.Stream("box", like=frames[0], slots=2)
    stream.push(frames[0])
    stream.pull()
    with pytest.raises(hone.UsageError, match="wait for itself"):
        for frame in frames:
            stream.push(frame)
    assert stream.push(frames[0], wait=False) is False


def test_results_go_where_they_should(frames):
    stream = hone.Stream("box", like=((40, 64), "u8"))
    outs = [numpy.zeros((40, 64), numpy.uint8) for _ in range(3)]
    for frame, out in zip(frames, outs):
        stream.push(frame, out)
    for out in outs:
        assert stream.pull() is out
    check(outs, filtered(frames[:3], "box"))


def test_parameters_change_between_frames(frames):
    with hone.Stream("box size=3", like=frames[0], slots=2) as stream:
        stream.push(frames[0])
        stream.set("box.size", 5)
        stream.push(frames[1])
        assert numpy.array_equal(stream.pull(), hone.box(frames[0], size=3))
        assert numpy.array_equal(stream.pull(), hone.box(frames[1], size=5))
        with pytest.raises(hone.UsageError):
            stream.set("box.size", -1)


def test_what_was_set_is_shown(frames):
    with hone.Stream("gaussian sigma=3 | box", like=frames[0]) as stream:
        stream.set("gaussian.sigma", 4)
        assert "'gaussian sigma=4 | box'" in repr(stream)


@pytest.mark.parametrize("size", [{"slots": -1}, {"memory": -1}])
def test_negative_sizes_are_refused(frames, size):
    with pytest.raises(hone.UsageError, match="negative"):
        hone.Stream("box", like=frames[0], **size)


def test_planes(random):
    luma = random.integers(0, 256, (40, 64), dtype=numpy.uint8)
    chroma = random.integers(0, 256, (20, 32, 2), dtype=numpy.uint8)
    with hone.Stream("box", like=[luma, chroma]) as stream:
        [[soft, colour]] = stream.map([[luma, chroma]])
        assert numpy.array_equal(soft, hone.box(luma)) and numpy.array_equal(colour, hone.box(chroma))
        with pytest.raises(hone.UsageError, match="2 planes"):
            stream.push(luma)


def test_second_images(frames):
    other = frames[5]
    with hone.Stream("box | add", like=frames[0], second=other) as stream:
        check(list(stream.map(frames)), [hone.add(hone.box(frame), other) for frame in frames])


@pytest.mark.parametrize("make", [hone.Plan, hone.Stream])
def test_as_many_second_images_as_the_chain_takes(frames, make):
    for chain, second, told in (("box", frames[0], "takes 0 second images, and 1 is given"),
                                ("add", (), "takes 1 second image, and 0 are given"),
                                ("add | add", frames[:3], "takes 2 second images, and 3 are given")):
        with pytest.raises(hone.UsageError, match=told):
            make(chain, like=frames[0], second=second)


def test_wrong_frames(frames):
    stream = hone.Stream("box", like=frames[0])
    with pytest.raises(hone.UsageError, match="must be 64x40"):
        stream.push(frames[0][1:])
    with pytest.raises(hone.UsageError, match="out"):
        stream.push(frames[0], numpy.zeros((40, 64), "f4"))
    with pytest.raises(hone.UsageError, match="mode"):
        hone.Stream("box", like=frames[0], mode="fast")
    stream.close()
    with pytest.raises(hone.UsageError, match="closed"):
        stream.push(frames[0])


def test_streams_leave_nothing(frames):
    before = sys.getrefcount(frames[0])
    for _ in range(3):
        stream = hone.Stream("box", like=frames[0])
        stream.push(frames[0])
        stream.push(frames[0])
        stream.pull()
        del stream
    gc.collect()
    after = sys.getrefcount(frames[0])
    assert after == before
