# SPDX-License-Identifier: BSD-2-Clause
"""How far arrays and files are apart: of every type and number of channels."""

import numpy
import pytest

import hone
import hone._command

KINDS = [(kind, channels) for kind in ("u1", "u2", "i2", "f4", "u4") for channels in (None, 1, 2, 3, 4)]


@pytest.fixture
def pair(random, request):
    """Two images that differ in one element, of channel 0 at (3, 2), and by how much."""
    kind, channels = request.param
    least, most = (-1, 1) if kind == "f4" else (numpy.iinfo(kind).min, numpy.iinfo(kind).max)
    shape = (9, 13) if channels is None else (9, 13, channels)
    a = (least + (float(most) - least) * random.random(shape)).astype(kind)
    b = a.copy()
    at = (2, 3) if channels is None else (2, 3, 0)
    b[at] = 0 if a[at] else 1
    return a, b, abs(float(a[at]) - float(b[at]))


def check_pair(report, size):
    """One element differs, by `size`."""
    found = report["all"]
    assert report["status"] == "different" and found["differing"] == report["channels"][0]["differing"] == 1
    assert [found["where"][name] for name in ("x", "y", "channel")] == [3, 2, 0]
    assert found["largest"] == pytest.approx(size, rel=1e-6)
    assert found["mean"] == pytest.approx(size / found["elements"], rel=1e-6)


@pytest.mark.parametrize("pair", KINDS, indirect=True)
def test_arrays(pair):
    a, b, size = pair
    assert hone.compare(a, a)["status"] == "equal"
    report = hone.compare(a, b)
    check_pair(report, size)
    assert report["all"]["elements"] == a.size and len(report["channels"]) == (1 if a.ndim == 2 else a.shape[2])
    peak = 1 if a.dtype == "f4" else float(numpy.iinfo(a.dtype).max)
    assert report["all"]["psnr"] == pytest.approx(10 * numpy.log10(peak ** 2 * a.size / size ** 2), rel=1e-9)


@pytest.mark.parametrize("pair, declared", [(kind, declared) for kind in KINDS for declared in (False, True)[:1 + (kind[1] in (2, 4))]],
                         indirect=["pair"])
def test_an_array_and_a_file(pair, declared, tmp_path):
    """Which says, or does not say, that its last channel is alpha."""
    a, b, size = pair
    tifffile = pytest.importorskip("tifffile")
    channels = 1 if a.ndim == 2 else a.shape[2]
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, a, photometric="rgb" if channels > 2 else "minisblack", planarconfig="contig" if channels > 1 else None,
                     extrasamples=["unassalpha" if declared else "unspecified"] if channels in (2, 4) else None)
    try:
        assert hone.compare(path, a)["status"] == "equal"
    except (hone.FileError, hone.UnsupportedError) as error:
        assert "libvips" in str(error)
        pytest.skip("left out: this hone reads no TIFF")
    check_pair(hone.compare(path, b), size)


def test_a_large_array_and_a_file(random, tmp_path):
    """Of several strips."""
    tifffile = pytest.importorskip("tifffile")
    image = random.integers(-2 ** 15, 2 ** 15, (701, 1999), dtype="i2")
    tifffile.imwrite(tmp_path / "a.tif", image[:, ::-1])
    try:
        assert hone.compare(image[:, ::-1], tmp_path / "a.tif")["status"] == "equal"
    except (hone.FileError, hone.UnsupportedError) as error:
        assert "libvips" in str(error)
        pytest.skip("left out: this hone reads no TIFF")
    where = hone.compare(tmp_path / "a.tif", image)["all"]["where"]
    assert where["a"] - where["b"] == pytest.approx(image[where["y"], -1 - where["x"]] - float(image[where["y"], where["x"]]))


def test_stacks(random):
    """Their images are pages; of other layouts, too."""
    stack = random.integers(0, 255, (5, 8, 9), dtype="u1")
    other = stack.copy()
    other[1, 0, 0] ^= 1
    other[3, 1, 2] ^= 7
    report = hone.compare(stack, other[:, ::-1][:, ::-1], axes="ZYX")
    assert report["page"] == 4 and report["differing_pages"] == 2 and report["all"]["elements"] == 72
    assert (report["all"]["where"]["x"], report["all"]["where"]["y"]) == (2, 1)
    assert hone.compare(stack, stack[:4], axes="ZYX")["status"] == "other kind"


def test_what_is_not_finite():
    a = numpy.array([[numpy.nan, numpy.inf, 1, 2]], "f4")
    b = numpy.array([[numpy.nan, numpy.inf, numpy.nan, 2]], "f4")
    assert hone.compare(a, a)["status"] == "equal" and hone.compare(a, a)["all"]["psnr"] is None
    report = hone.compare(a, b, tolerance=1e30)
    assert report["status"] == "different" and report["all"]["largest"] is None and report["all"]["where"]["b"] is None


def test_every_outcome_is_named(gray):
    """As help(hone.compare) lists them."""
    dark = gray // 2
    seen = {hone.compare(dark, dark)["status"], hone.compare(dark, dark + 1, tolerance=1)["status"],
            hone.compare(dark, dark + 1)["status"], hone.compare(dark, dark[1:])["status"]}
    assert len(seen) == 4 and all(f'"{status}"' in hone.compare.__doc__ for status in seen)


def test_what_is_refused(gray, tmp_path):
    with pytest.raises(hone.FileError, match="no-such-file"):
        hone.compare("/no-such-file.pgm", gray)
    for tolerance in (-1, numpy.inf, numpy.nan):
        with pytest.raises(hone.UsageError, match="tolerance"):
            hone.compare(gray, gray, tolerance=tolerance)
    with pytest.raises(hone.UsageError, match="b: .*float32"):
        hone.compare(gray, gray.astype("f8"))
    with pytest.raises(hone.UsageError, match="stack"):
        hone.compare(tmp_path / "a.pgm", numpy.zeros((5, 4, 3), "u1"), axes="ZYX")


def test_a_command_without_libvips_is_told(gray, tmp_path, monkeypatch):
    (tmp_path / "hone").write_text("""#!/bin/sh
echo '{"error": "HONE_ERROR_IO", "message": "'"'$3' is not a PGM, PPM, PAM or PFM file"'"}'
exit 3
""")
    (tmp_path / "hone").chmod(0o700)
    monkeypatch.setenv("HONE_COMMAND", str(tmp_path / "hone"))
    with pytest.raises(hone.UnsupportedError, match="libvips"):
        hone.compare("a.pgm", gray.astype("i2"))
    with pytest.raises(hone.FileError, match="b.pgm"):
        hone.compare(gray, "b.pgm")


def test_the_command_says_the_same(random, tmp_path):
    """Of a file, what is said of its array."""
    a, b = random.integers(0, 2 ** 16, (2, 21, 33, 3), dtype="u2")
    for name, image in (("a.ppm", a), ("b.ppm", b)):
        (tmp_path / name).write_bytes(b"P6 33 21 65535\n" + image.astype(">u2").tobytes())
    try:
        of_files = hone.compare(tmp_path / "a.ppm", tmp_path / "b.ppm", tolerance=3)
    except hone.UnsupportedError:
        pytest.skip("the command `hone` is not installed")
    of_arrays = hone.compare(a, b, tolerance=3)
    assert of_arrays.keys() == of_files.keys() and of_arrays["a"].keys() == of_files["a"].keys()
    for name in ("largest", "mean", "psnr"):
        assert of_arrays["all"][name] == pytest.approx(of_files["all"][name], rel=1e-8)
    assert of_arrays["all"]["where"] == of_files["all"]["where"] and of_arrays["status"] == of_files["status"]
