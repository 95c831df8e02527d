# SPDX-License-Identifier: BSD-2-Clause
"""What is taken as an image, axes, out=, and what is copied."""

import array
import ctypes

import numpy
import pytest

import hone


def plain(image):
    """The mean of 3x3 in plain NumPy, rounded half up, edges replicated."""
    padded = numpy.pad(image.astype(int), 1, mode="edge")
    total = sum(padded[y:y + image.shape[0], x:x + image.shape[1]] for y in range(3) for x in range(3))
    return ((2 * total + 9) // 18).astype(image.dtype)


class OnlyInterface:
    def __init__(self, array, **changes):
        self.kept = array
        self.__array_interface__ = dict(array.__array_interface__, **changes)


class OnlyTensor:
    def __init__(self, array, device=(1, 0)):
        self.kept, self.device = array, device

    def __dlpack__(self, **options):
        return self.kept.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class Lazy:
    """As zarr's arrays: not in memory."""
    shape = (61, 83)

    def __init__(self, array):
        self.kept = array

    def __array__(self, dtype=None, copy=None):
        return self.kept


@pytest.mark.parametrize("wrap", [OnlyInterface, OnlyTensor, memoryview, Lazy])
def test_protocols(gray, wrap):
    assert numpy.array_equal(hone.box(wrap(gray), size=3), plain(gray))
    assert hone.last_report().converted == (wrap is Lazy)


@pytest.mark.parametrize("wrap", [OnlyInterface, OnlyTensor])
def test_protocols_with_strides(gray, wrap):
    part = gray[3:40:2, 5:30:3]
    assert numpy.array_equal(hone.box(wrap(part), size=3), plain(part))


def test_interface_with_bytes_as_pillow_gives_it(gray):
    image = OnlyInterface(gray, data=gray.tobytes(), strides=None)
    assert numpy.array_equal(hone.box(image, size=3), plain(gray))
    with pytest.raises(hone.UsageError, match="takes more"):
        hone.box(OnlyInterface(gray, data=b"short", strides=None))


def test_interface_with_a_part_of_a_buffer(gray):
    part = gray[50:3:-2, 5:30:3]
    image = OnlyInterface(part, data=gray.tobytes(), offset=50 * 83 + 5)
    assert numpy.array_equal(hone.box(image, size=3), plain(part))
    for change in ({"offset": -1}, {"offset": 0}, {"offset": 61 * 83}, {"strides": (1 << 62, 1 << 62)}):
        with pytest.raises(hone.UsageError, match="takes more"):
            hone.box(OnlyInterface(part, **{"data": gray.tobytes(), "offset": 50 * 83 + 5, **change}))


@pytest.mark.parametrize("kind", [ctypes.c_uint8, ctypes.c_uint16, ctypes.c_int16, ctypes.c_float])
def test_ctypes(random, kind):
    """Their buffers have no strides."""
    image = ((kind * 12) * 10)()
    values = numpy.ctypeslib.as_array(image)
    values[:] = random.integers(0, 256, values.shape)
    assert numpy.array_equal(hone.transpose(image), values.T)
    out = ((kind * 10) * 12)()
    assert hone.transpose(image, out=out) is out and numpy.array_equal(numpy.ctypeslib.as_array(out), values.T)


def test_pillow(gray, colour):
    Image = pytest.importorskip("PIL.Image")
    assert numpy.array_equal(hone.box(Image.fromarray(gray), size=3), plain(gray))
    assert numpy.array_equal(hone.box(Image.fromarray(colour), size=3)[..., 1], plain(colour[..., 1]))
    for other in (Image.fromarray(colour).quantize(16), Image.fromarray(colour).convert("CMYK")):
        with pytest.raises(hone.UsageError, match=r"image\.convert\('RGB'\)"):
            hone.box(other, size=3)
        assert hone.box(other.convert("RGB"), size=1).tobytes() == other.convert("RGB").tobytes()


def test_torch(gray):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(gray)
    assert numpy.array_equal(hone.box(tensor, size=3), plain(gray))
    assert numpy.array_equal(hone.box(tensor[3:40:2, 5:30:3], size=3), plain(gray[3:40:2, 5:30:3]))
    out = torch.empty_like(tensor)
    assert hone.box(tensor, size=3, out=out) is out and numpy.array_equal(out.numpy(), plain(gray))
    stack = torch.stack([tensor, tensor.flip(1)])
    assert numpy.array_equal(hone.box(stack, size=3, axes="CYX")[1], plain(gray[:, ::-1]))
    with pytest.raises(hone.UsageError, match=r"image\.float\(\)"):
        hone.box(tensor.double(), size=3)


def test_zarr(gray):
    zarr = pytest.importorskip("zarr")
    assert numpy.array_equal(hone.box(zarr.array(gray, chunks=(20, 20)), size=3), plain(gray))


def test_tensors_elsewhere_are_refused(gray):
    with pytest.raises(hone.UsageError, match=r"image.cpu\(\)"):
        hone.box(OnlyTensor(gray, (2, 0)))


@pytest.mark.parametrize("kind", ["f2", "f8", "c8"])
def test_tensors_of_other_types_are_refused(gray, kind):
    with pytest.raises(hone.UsageError, match=r"image.float\(\)"):
        hone.box(OnlyTensor(gray.astype(kind)))


def test_shapes_that_no_array_has():
    with pytest.raises(hone.UsageError, match="no axis of an array has -1 elements"):
        hone.Array((3, -1), "u8")
    with pytest.raises(MemoryError):
        hone.Array((1 << 40, 1 << 40), "u8")


def test_memory_without_numpy(monkeypatch):
    import hone._arrays
    monkeypatch.setattr(hone._arrays, "numpy", None)
    image = memoryview(array.array("H", range(0, 1200, 10))).cast("B").cast("H", (10, 12))
    result = hone.box(image, size=3)
    assert isinstance(result, hone.Array) and result.shape == (10, 12) and result.type == "u16"
    assert repr(result) == "<hone.Array: (10, 12) of u16>"
    assert memoryview(result).tolist() == result.tolist() == plain(numpy.array(image)).tolist()


@pytest.mark.parametrize("view", [
    lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::2, ::3], lambda a: a.T, lambda a: numpy.asfortranarray(a),
    lambda a: a[5:6], lambda a: a[:, 5:6], lambda a: numpy.broadcast_to(a[:1], a.shape), lambda a: a[2:50, 8:72]])
def test_any_strides(gray, view):
    assert numpy.array_equal(hone.box(view(gray), size=3), plain(view(gray)))


@pytest.mark.parametrize("shape, axes, to_stack", [
    ((4, 20, 30), "ZYX", (0, 1, 2)), ((20, 30, 4), "YXZ", (2, 0, 1)), ((20, 4, 30), "YZX", (1, 0, 2)),
    ((3, 20, 30), "CYX", (0, 1, 2))])
def test_stacks(random, shape, axes, to_stack):
    image = random.integers(0, 65536, shape, dtype=numpy.uint16)
    wanted = numpy.stack([plain(plane) for plane in image.transpose(to_stack)])
    result = hone.box(image, size=3, axes=axes)
    assert result.shape == shape and numpy.array_equal(result.transpose(to_stack), wanted)
    assert hone.last_report().planes == len(wanted)
    out = numpy.empty(shape, numpy.uint16)
    assert hone.box(image, size=3, axes=axes, out=out) is out and numpy.array_equal(out, result)


def test_stack_of_five_axes(random):
    image = random.integers(0, 256, (2, 2, 3, 9, 8), dtype=numpy.uint8)
    result = hone.box(image, size=3, axes="TZCYX")
    for index in numpy.ndindex(2, 2, 3):
        assert numpy.array_equal(result[index], plain(image[index]))


def test_an_empty_stack():
    assert hone.box(numpy.zeros((0, 5, 6), "u1"), axes="ZYX").shape == (0, 5, 6)


def test_channels_come_and_go(gray, colour):
    assert hone.colormap(gray).shape == gray.shape + (3,)
    assert hone.gray(colour).shape == colour.shape[:2]
    assert hone.colormap(gray[:, :, None]).shape == gray.shape + (3,)
    assert hone.box(gray[:, :, None]).shape == gray.shape + (1,)
    assert hone.colormap(gray[None], axes="ZYX").shape == (1,) + gray.shape + (3,)
    assert hone.transpose(gray[None], axes="ZYX").shape == (1, gray.shape[1], gray.shape[0])


@pytest.mark.parametrize("image, wanted", [
    (numpy.zeros((5, 6)), "astype"), (numpy.zeros((5, 6), bool), "astype"), (numpy.zeros((5, 6), "i8"), "convert"),
    (numpy.zeros((5, 6), ">u2"), "byte order"), (numpy.zeros((5, 6), "c8"), "uint8, uint16"),
    (numpy.zeros(6, "u1"), "reshape"), (numpy.zeros((9, 9, 9), "u1"), "axes='ZYX'"),
    (numpy.zeros((2, 9, 9, 3), "u1"), "axes="), (numpy.zeros((0, 4), "u1"), "each side"),
    (numpy.zeros((5, 6), [("a", "u1"), ("b", "u1")]), "uint8, uint16"), (numpy.zeros((5, 6), "M8[s]"), "uint8, uint16"),
    (numpy.ma.masked_less(numpy.arange(30).reshape(5, 6).astype("u1"), 9), "filled")])
def test_wrong_arrays_get_advice(image, wanted):
    with pytest.raises(hone.UsageError, match=wanted):
        hone.box(image)


def test_masks_without_masked_elements(gray):
    assert numpy.array_equal(hone.box(numpy.ma.masked_array(gray), size=3), plain(gray))


@pytest.mark.parametrize("axes, wanted", [
    ("YXX", "different"), ("YX", "names 2 axes"), ("ZYC", "must name"), ("XYZ", "before"), ("yxz", "capital")])
def test_wrong_axes(axes, wanted):
    with pytest.raises(hone.UsageError, match=wanted):
        hone.box(numpy.zeros((9, 9, 9), "u1"), axes=axes)


def test_wrong_objects():
    for thing in (3, None, "text", [[1, 2], [3, 4]]):
        with pytest.raises(TypeError, match="array"):
            hone.box(thing)


def test_out(gray):
    out = numpy.full(gray.shape, 99, numpy.uint8)
    assert hone.box(gray, size=3, out=out) is out and numpy.array_equal(out, plain(gray))
    wide = numpy.full((gray.shape[0], 100), 99, numpy.uint8)
    hone.box(gray, size=3, out=wide[:, 4:4 + gray.shape[1]])
    assert numpy.array_equal(wide[:, 4:4 + gray.shape[1]], plain(gray))
    assert (wide[:, :4] == 99).all() and (wide[:, 4 + gray.shape[1]:] == 99).all()
    backwards = numpy.empty_like(gray)
    hone.box(gray, size=3, out=backwards[::-1])
    assert numpy.array_equal(backwards[::-1], plain(gray))


@pytest.mark.parametrize("out, wanted", [
    (numpy.empty((5, 5), "u1"), "result is"), (numpy.empty((61, 83), "f4"), "result is"),
    (numpy.empty((61, 83, 1), "u1"), "axes")])
def test_wrong_out(gray, out, wanted):
    with pytest.raises(hone.UsageError, match=wanted):
        hone.box(gray, out=out)


def test_out_that_is_read_only(gray):
    out = numpy.empty_like(gray)
    out.flags.writeable = False
    for wrapped in (out, bytes(gray.size), OnlyInterface(out)):
        with pytest.raises(hone.UsageError, match="read-only|axes|result is"):
            hone.box(gray, out=wrapped)


def test_in_place(gray, random):
    wanted = plain(gray)
    hone.box(gray, size=3, out=gray)
    assert numpy.array_equal(gray, wanted) and hone.last_report().scattered == gray.nbytes
    stack = random.integers(0, 256, (3, 20, 30), dtype=numpy.uint8)
    wanted = numpy.stack([plain(plane) for plane in stack])
    hone.box(stack, size=3, axes="ZYX", out=stack)
    assert numpy.array_equal(stack, wanted)


def test_overlaps(random):
    memory = random.integers(0, 256, (61, 80), dtype=numpy.uint8)
    wanted = plain(memory[:60])
    hone.box(memory[:60], size=3, out=memory[1:])
    assert numpy.array_equal(memory[1:], wanted)
    stack = random.integers(0, 256, (5, 20, 30), dtype=numpy.uint8)
    before = stack.copy()
    with pytest.raises(hone.UsageError, match="plane by plane"):
        hone.box(stack[:4], axes="ZYX", out=stack[1:])
    assert numpy.array_equal(stack, before)


@pytest.mark.parametrize("shape, strides", [((40, 50), (25, 1)), ((40, 50), (0, 1)), ((40, 50), (50, 0)), ((3, 40, 50), (50, 50, 1))])
def test_out_whose_elements_share_memory(random, shape, strides):
    image = random.integers(0, 256, shape, dtype=numpy.uint8)
    memory = numpy.zeros(image.size, "u1")
    out = numpy.lib.stride_tricks.as_strided(memory, shape, strides)
    with pytest.raises(hone.UsageError, match="some of its elements share memory"):
        hone.box(image, size=3, axes="ZYX"[-len(shape):], out=out)
    assert not memory.any()
    hone.box(out, size=3, axes="ZYX"[-len(shape):])  # as an image, it is read alone


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_out_of_any_order_of_axes(random, order):
    image = random.integers(0, 256, (3, 40, 1), dtype=numpy.uint8)
    out = numpy.empty(tuple(image.shape[axis] for axis in order), "u1").transpose(numpy.argsort(order))[::-1]
    hone.box(image, size=3, axes="ZYX", out=out)
    assert numpy.array_equal(out, hone.box(image, size=3, axes="ZYX"))


def test_second_images_of_stacks(random):
    stack = random.integers(0, 100, (3, 20, 30), dtype=numpy.uint8)
    assert numpy.array_equal(hone.add(stack, stack, axes="ZYX"), 2 * stack)
    assert numpy.array_equal(hone.add(stack, stack[1], axes="ZYX"), stack + stack[1])
    assert numpy.array_equal(hone.add(stack, stack[::-1, ::-1], axes="ZYX"), stack + stack[::-1, ::-1])
    with pytest.raises(hone.UsageError, match="stack"):
        hone.add(stack, stack[:2], axes="ZYX")


def test_no_copies_where_none_are_needed(random):
    """PoCL works on host memory: aligned rows of a whole image need not move."""
    image = random.integers(0, 256, (512, 640), dtype=numpy.uint8)
    hone.box(image)
    report = hone.last_report()
    if not report.device["unified_memory"]:
        pytest.skip("the device has memory of its own")
    assert report.copied == 0, str(report)
    hone.box(image[:, ::2])
    assert hone.last_report().gathered == image.size // 2


def test_the_report(gray):
    hone.forget()
    hone.apply("box   size=3|sobel", gray)
    first = hone.last_report()
    hone.apply("box   size=3|sobel", gray)
    second = hone.last_report()
    assert first.planned and not second.planned
    assert second.chain == "box size=3 | sobel" and [step["filter"] for step in second.steps] == ["box", "sobel"]
    assert second.device["index"] in [device["index"] for device in hone.devices()]
    assert "box" in str(second) and "bytes copied" in repr(second)
