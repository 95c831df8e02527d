# SPDX-License-Identifier: BSD-2-Clause
"""Results beside those of SciPy, scikit-image, OpenCV and NumPy."""

import numpy
import pytest

import hone

ndimage = pytest.importorskip("scipy.ndimage")
MODES = {"replicate": "nearest", "reflect": "reflect", "reflect101": "mirror", "wrap": "wrap", "constant": "constant"}


@pytest.mark.parametrize("border", MODES)
def test_gaussian_is_scipys(random, border):
    image = random.random((70, 90), dtype=numpy.float32)
    wanted = ndimage.gaussian_filter(image.astype("f8"), 2.5, mode=MODES[border], truncate=8)
    assert abs(hone.gaussian(image, sigma=2.5, border=border) - wanted).max() <= 2e-4


def test_box_is_scipys(random):
    image = random.random((40, 50), dtype=numpy.float32)
    wanted = ndimage.uniform_filter(image.astype("f8"), 5, mode="nearest")
    assert abs(hone.box(image, size=5) - wanted).max() <= 1e-5


@pytest.mark.parametrize("flip", [False, True])
def test_convolve_takes_an_array(random, flip):
    image = random.random((30, 40), dtype=numpy.float32)
    kernel = random.random((3, 5)) - 0.5
    function = ndimage.convolve if flip else ndimage.correlate
    wanted = function(image.astype("f8"), kernel, mode="nearest")
    assert abs(hone.convolve(image, kernel=kernel, flip=flip) - wanted).max() <= 1e-5
    assert numpy.array_equal(hone.convolve(image, kernel=kernel.tolist(), flip=flip),
                             hone.convolve(image, kernel=kernel, flip=flip))


def test_convolve_takes_its_largest_array_as_it_is(random):
    image = random.random((40, 50), dtype=numpy.float32)
    kernel = random.standard_normal((31, 31))
    wanted = ndimage.correlate(image.astype("f8"), kernel, mode="nearest")
    assert abs(hone.convolve(image, kernel=kernel) - wanted).max() <= 4e-6 * abs(kernel).sum()
    with pytest.raises(hone.UsageError, match="each side is 1 to 31"):
        hone.convolve(image, kernel=random.standard_normal((63, 63)))


def test_sobel_is_opencvs(gray):
    cv2 = pytest.importorskip("cv2")
    wanted = cv2.Sobel(gray, cv2.CV_16S, 1, 0, ksize=3, borderType=cv2.BORDER_REPLICATE)
    result = hone.sobel(gray, output="dx")
    assert result.dtype == numpy.int16 and numpy.array_equal(result, wanted)


def test_box_is_opencvs_within_its_rounding(colour):
    cv2 = pytest.importorskip("cv2")
    wanted = cv2.blur(colour, (5, 5), borderType=cv2.BORDER_REPLICATE)
    assert abs(hone.box(colour, size=5).astype(int) - wanted).max() <= 1


def test_add_saturates_as_opencv(colour, random):
    cv2 = pytest.importorskip("cv2")
    other = random.integers(0, 256, colour.shape, dtype=numpy.uint8)
    assert numpy.array_equal(hone.add(colour, other), cv2.add(colour, other))


def test_gaussian_is_scikit_images(random):
    filters = pytest.importorskip("skimage.filters")
    image = random.random((50, 60, 3)).astype("f4")
    wanted = filters.gaussian(image, 1.5, mode="nearest", channel_axis=2, truncate=8)
    assert abs(hone.gaussian(image, sigma=1.5) - wanted).max() <= 2e-4


def test_integral_is_scikit_images(gray):
    transform = pytest.importorskip("skimage.transform")
    result = hone.integral(gray)
    assert result.dtype == numpy.uint32 and numpy.array_equal(result, transform.integral_image(gray))


def test_histogram_counts_beyond_16_bits():
    """Of rows with gaps, which are counted one by one."""
    image = numpy.full((1000, 1300), 7, numpy.uint8)[:, :1290]
    assert hone.histogram(image)[0, 7] == image.size


def test_histogram_is_numpys(gray):
    assert numpy.array_equal(hone.histogram(gray, bins=16)[0], numpy.histogram(gray, 16, (0, 256))[0])


def test_transpose_is_numpys(colour):
    assert numpy.array_equal(hone.transpose(colour), colour.transpose(1, 0, 2))


def test_a_chain_is_its_filters_one_by_one(gray):
    assert numpy.array_equal(hone.apply("box size=3 | sobel norm=l1 | transpose", gray),
                             hone.transpose(hone.sobel(hone.box(gray, size=3), norm="l1")))


def test_second_images_inside_a_chain(gray):
    assert numpy.array_equal(hone.apply("add | box size=3 | add", gray, gray, gray),
                             hone.add(hone.box(hone.add(gray, gray), size=3), gray))


def test_every_filter_is_a_function():
    for info in hone.filters():
        function = getattr(hone, info["name"])
        assert info["summary"][1:] in function.__doc__ and function.__name__ in hone.__all__


def test_numbers_of_numpy_are_numbers(gray):
    for size in (numpy.uint8(5), numpy.array(5), numpy.float32(5)):
        assert numpy.array_equal(hone.box(gray, size=size), hone.box(gray, size=5))


def test_defaults_in_signatures_are_what_is_computed(gray):
    import inspect
    for info in hone.filters():
        types, channels = info["types"], info["channels"]
        if info["inputs"] != 1 or "1" not in channels or "u8" not in types:
            continue
        function = getattr(hone, info["name"])
        given = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()
                 if parameter.default not in (None, parameter.empty)}
        # Equal values that are other objects are written out in the chain.
        given = {name: type(value)(str(value)) if isinstance(value, (str, int, float)) and not isinstance(value, bool)
                 else value for name, value in given.items()}
        assert numpy.array_equal(function(gray, **given), function(gray)), info["name"]
