# SPDX-License-Identifier: BSD-2-Clause
"""Dask arrays against the same chain on the whole array, and files on a cluster of two workers."""

import json
import os
import pickle
import subprocess
import sys

import numpy
import pytest

import hone

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
import hone.dask  # noqa: E402

CHAINS = ["box size=5", "gaussian sigma=2 exact=yes | sobel", "epsilon radius=3 border=reflect | box size=3",
          "box size=7 border=wrap | sobel border=constant border-value=9", "integral", "box size=3 | integral",
          "histogram bins=64", "box size=3 | histogram", "transpose", "box size=3 | transpose | sobel",
          "colormap map=viridis", "convolve kernel='3x2: 1 2 3 4 5 6' scale=0.05", "density size=9"]


@pytest.mark.parametrize("chain", CHAINS)
def test_blocks_give_the_integers_of_the_whole(gray, chain):
    lazy = da.from_array(gray, chunks=(20, 33))
    result = hone.dask.apply(chain, lazy)
    whole = hone.apply(chain, gray)
    assert result.shape == whole.shape and result.dtype == whole.dtype
    numpy.testing.assert_array_equal(result.compute(scheduler="threads"), whole)


def test_channels_come_and_go(colour, gray):
    lazy = da.from_array(colour, chunks=(17, 30, 2))
    result, axes = hone.dask.apply("box size=3 | gray", lazy, with_axes=True)
    assert axes == "YX"
    numpy.testing.assert_array_equal(result.compute(), hone.apply("box size=3 | gray", colour))
    result, axes = hone.dask.apply("colormap | box size=3", da.from_array(gray, chunks=25), with_axes=True)
    assert axes == "YXC"
    numpy.testing.assert_array_equal(result.compute(), hone.apply("colormap | box size=3", gray))


def test_a_pattern_keeps_its_phase(random):
    raw = random.integers(0, 256, (50, 62), dtype=numpy.uint8)
    for method in ("bilinear", "malvar"):
        chain = f"demosaic method={method}"
        result = hone.dask.apply(chain, da.from_array(raw, chunks=(13, 21)))
        numpy.testing.assert_array_equal(result.compute(), hone.apply(chain, raw))


@pytest.mark.parametrize("border", ["replicate", "reflect101", "wrap", "zero-outside"])
@pytest.mark.parametrize("rows", [(17, 13, 1), (28, 3), (30, 1), (3, 1, 4, 4, 19), (2,) * 15 + (1,)])
def test_a_pattern_keeps_its_phase_in_blocks_of_any_size(random, border, rows):
    """A last block that is shorter than the halo makes Dask choose other blocks, and odd sides wrap into another phase."""
    raw = random.integers(0, 256, (31, 29), dtype=numpy.uint8)
    for chain in (f"demosaic border={border}", f"demosaic method=malvar border={border} | box size=3"):
        result = hone.dask.apply(chain, da.from_array(raw, chunks=(rows, (9, 19, 1))))
        numpy.testing.assert_array_equal(result.compute(), hone.apply(chain, raw))


def test_stacks_and_16_bits(random):
    stack = random.integers(0, 65536, (3, 31, 45), dtype=numpy.uint16)
    lazy = da.from_array(stack, chunks=(2, 16, 16))
    for chain in ("box size=9", "integral", "histogram bins=16", "transpose"):
        result = hone.dask.apply(chain, lazy, axes="ZYX")
        numpy.testing.assert_array_equal(result.compute(), hone.apply(chain, stack, axes="ZYX"))


def test_floats_keep_their_bounds(random):
    image = random.random((70, 90), dtype=numpy.float32)
    for chain, most in (("gaussian sigma=3", 1e-4), ("integral", 0.05)):
        result = hone.dask.apply(chain, da.from_array(image, chunks=32)).compute()
        assert numpy.abs(result - hone.apply(chain, image)).max() < most


def test_windows_larger_than_chunks_and_images(gray):
    result = hone.dask.apply("box size=41", da.from_array(gray, chunks=8))
    numpy.testing.assert_array_equal(result.compute(), hone.apply("box size=41", gray))
    result = hone.dask.apply("box size=301", da.from_array(gray, chunks=8))
    numpy.testing.assert_array_equal(result.compute(), hone.apply("box size=301", gray))


def test_second_images(gray):
    other = gray[::-1].copy()
    result = hone.dask.apply("add | box size=3", da.from_array(gray, chunks=20), da.from_array(other, chunks=30))
    numpy.testing.assert_array_equal(result.compute(), hone.apply("add | box size=3", gray, other))
    with pytest.raises(hone.UsageError, match="second image"):
        hone.dask.apply("add", da.from_array(gray))
    with pytest.raises(hone.UsageError, match="too many"):
        hone.dask.apply("box", da.from_array(gray), gray)


def test_mistakes_are_told_before_anything_runs(gray):
    with pytest.raises(hone.UsageError):
        hone.dask.apply("box size=0", da.from_array(gray))
    with pytest.raises(hone.UsageError, match="int64"):
        hone.dask.apply("box", da.zeros((9, 9), dtype="int64"))
    with pytest.raises(hone.UsageError, match="name them"):
        hone.dask.apply("box", da.zeros((9, 9, 9), dtype="uint8"))


def test_zarr_and_tiff(tmp_path, random):
    pytest.importorskip("zarr")
    tifffile = pytest.importorskip("tifffile")
    stack = random.integers(0, 256, (2, 40, 50), dtype=numpy.uint8)
    first, second = str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")
    hone.dask.save(da.from_array(stack, chunks=(1, 16, 16)), first, "ZYX")
    array, axes = hone.dask.open(first)
    assert axes == "ZYX" and array.chunks[1] == (16, 16, 8)
    result, axes = hone.dask.apply("box size=3", array, axes=axes, with_axes=True)
    hone.dask.save(result, second, axes)
    numpy.testing.assert_array_equal(hone.dask.open(second)[0].compute(), hone.apply("box size=3", stack, axes="ZYX"))
    with pytest.raises(hone.FileError, match="exists"):
        hone.dask.save(array, second, axes)
    hone.dask.save(result[0], str(tmp_path / "c.tif"))
    numpy.testing.assert_array_equal(tifffile.imread(tmp_path / "c.tif"), result[0].compute())
    numpy.testing.assert_array_equal(hone.dask.open(str(tmp_path / "c.tif"))[0].compute(), result[0].compute())


@pytest.mark.parametrize("shape, axes, options", [
    ((61, 83), "YX", {}), ((40, 50, 3), "YXC", {"photometric": "rgb"}), ((40, 50, 2), "YXC", {"planarconfig": "contig"}),
    ((5, 40, 50), "ZYX", {"imagej": True, "metadata": {"axes": "ZYX"}}), ((100, 120), "YX", {"tile": (16, 32)}),
    ((2, 3, 40, 50), "CZYX", {"ome": True, "metadata": {"axes": "CZYX"}})])
def test_tiff_on_other_machines(tmp_path, random, shape, axes, options):
    """What the scheduler gets are names: an open file cannot be sent. Workers read with several threads."""
    pytest.importorskip("zarr")
    tifffile = pytest.importorskip("tifffile")
    image = random.integers(0, 65536, shape, dtype=numpy.uint16)
    tifffile.imwrite(tmp_path / "in.tif", image, **options)
    array, found = hone.dask.open(tmp_path / "in.tif")
    assert found == axes and array.dtype == image.dtype
    result, after = hone.dask.apply("box size=3", array, axes=axes, with_axes=True)
    result = pickle.loads(pickle.dumps(result))
    hone.dask.save(result, tmp_path / "out.tif", after)
    again, found = hone.dask.open(tmp_path / "out.tif")
    assert found == axes
    numpy.testing.assert_array_equal(again.compute(scheduler="threads"), hone.apply("box size=3", image, axes=axes))


@pytest.mark.parametrize("chain", ["box size=3", "integral", "histogram", "transpose", "add other=@", "gray"])
def test_the_other_byte_order(random, tmp_path, chain):
    """As OME-Zarr and TIFF may have it."""
    image, other = random.integers(0, 65536, (2, 30, 40) + (3,) * (chain == "gray"), dtype="u2")
    others = [other] * ("other" in chain)
    chain = chain.replace(" other=@", "")
    lazy = [da.from_array(one.astype(">u2"), chunks=(11, 13, 3)[:one.ndim]) for one in [image, *others]]
    result = hone.dask.apply(chain, *lazy)
    assert result.dtype.isnative
    numpy.testing.assert_array_equal(result.compute(scheduler="threads"), hone.apply(chain, image, *others))


def test_zarr_of_the_other_byte_order(random, tmp_path):
    zarr = pytest.importorskip("zarr")
    image = random.integers(0, 65536, (30, 40), dtype="u2")
    stored = zarr.open(str(tmp_path / "in.zarr"), mode="w", shape=image.shape, chunks=(16, 16), dtype=">u2")
    stored[:] = image
    lazy, axes = hone.dask.open(tmp_path / "in.zarr")
    wanted = hone.box(image, size=3)
    numpy.testing.assert_array_equal(hone.dask.apply("box size=3", lazy, axes=axes).compute(scheduler="threads"), wanted)
    numpy.testing.assert_array_equal(hone.box(stored, size=3), wanted)


@pytest.fixture
def measured(tmp_path, random):
    """An OME-Zarr that tells how large its pixels are, in two steps."""
    zarr = pytest.importorskip("zarr")
    hone.dask.save(da.from_array(random.integers(0, 256, (2, 30, 40), dtype="u1"), chunks=16), tmp_path / "in.zarr", "ZYX")
    group = zarr.open_group(str(tmp_path / "in.zarr"), mode="r+")
    scales = group.attrs["multiscales"]
    scales[0]["axes"] = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    scales[0]["datasets"][0]["coordinateTransformations"] = [{"type": "scale", "scale": [2.0, 0.25, 0.5]}]
    scales[0]["coordinateTransformations"] = [{"type": "scale", "scale": [1.0, 2.0, 2.0]}]
    group.attrs["multiscales"] = scales
    return tmp_path / "in.zarr"


def test_sizes_of_pixels_stay(measured, tmp_path):
    wanted = {"Z": (2.0, "micrometer"), "Y": (0.5, "micrometer"), "X": (1.0, "micrometer")}
    assert hone.dask.pixels_of(measured) == wanted
    array, axes = hone.dask.open(measured)
    hone.dask.save(array, tmp_path / "out.zarr", axes, pixels=wanted)
    assert hone.dask.pixels_of(tmp_path / "out.zarr") == wanted
    hone.dask.save(array, tmp_path / "plain.zarr", axes)
    assert hone.dask.pixels_of(tmp_path / "plain.zarr") == {letter: (1.0, None) for letter in "ZYX"}
    for broken in ([{"datasets": []}], [{"datasets": [{"path": "0", "coordinateTransformations": 5}]}], []):
        sys.modules["zarr"].open_group(str(tmp_path / "plain.zarr"), mode="r+").attrs["multiscales"] = broken
        assert hone.dask.pixels_of(tmp_path / "plain.zarr") == {}


def test_the_command_keeps_sizes_of_pixels(cluster, measured, tmp_path):
    for number, (chain, y, x) in enumerate((("box size=3", 0.5, 1), ("box size=3 | transpose", 1, 0.5), ("histogram", 1, 1))):
        command = [sys.executable, "-m", "hone.dask", "apply", chain, "in.zarr", "-o", f"{number}.zarr", "--scheduler",
                   cluster.scheduler.address]
        subprocess.run(command, check=True, cwd=tmp_path, timeout=200)
        pixels = hone.dask.pixels_of(tmp_path / f"{number}.zarr")
        assert (pixels["Y"][0], pixels["X"][0]) == (y, x), chain


def test_numpy_arrays_are_saved(gray, tmp_path):
    pytest.importorskip("zarr")
    hone.dask.save(gray, tmp_path / "out.zarr")
    numpy.testing.assert_array_equal(hone.dask.open(tmp_path / "out.zarr")[0].compute(scheduler="threads"), gray)


def test_what_cannot_be_opened_is_told(tmp_path):
    pytest.importorskip("tifffile")
    zarr = pytest.importorskip("zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(hone.FileError, match="empty.zarr' is no Zarr"):
        hone.dask.open(tmp_path / "empty.zarr")
    for attributes, wanted in (({}, "'multiscales'$"), ({"bioformats2raw.layout": 3}, "groups below, such as '.*some.zarr/0'"),
                               ({"plate": {"wells": [{"path": "B/3"}]}}, "such as '.*some.zarr/B/3/0'"), ({"plate": 5}, "'multiscales'$")):
        zarr.open_group(str(tmp_path / "some.zarr"), mode="w").attrs.update(attributes)
        with pytest.raises(hone.FileError, match=wanted):
            hone.dask.open(tmp_path / "some.zarr")
    (tmp_path / "no.tif").write_bytes(b"no TIFF")
    with pytest.raises(hone.FileError, match="cannot be read"):
        hone.dask.open(tmp_path / "no.tif")
    with pytest.raises(hone.FileError, match="no folder"):
        next(hone.dask.apply_files("box", tmp_path / "none", tmp_path / "out", None))
    unknown = da.zeros((9, 9), dtype="uint8", chunks=4)
    with pytest.raises(hone.UsageError, match="compute_chunk_sizes"):
        hone.dask.apply("box", unknown[unknown.sum(1) == 0])


def fail(block):
    raise ValueError("a block fails")


def test_a_failure_leaves_no_output(tmp_path):
    pytest.importorskip("zarr")
    with pytest.raises(ValueError, match="a block fails"):
        hone.dask.save(da.zeros((8, 8), chunks=4).map_blocks(fail, dtype="f8"), str(tmp_path / "x.zarr"))
    assert not os.listdir(tmp_path)


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local:
        with Client(local) as client:
            yield client


GLOW = "//@filter param by real 0..4 = 2: x\n//@filter window 1\nhone_pixel { return by * hone_in(1, 0); }\n"


def test_two_workers_and_a_filter_of_ones_own(cluster, tmp_path, gray):
    path = tmp_path / "shine.cl"
    path.write_text(GLOW)
    chain = "shine by=1.5 | box size=3"
    result = hone.dask.apply(chain, da.from_array(gray, chunks=(31, 83)), filters=[str(path)])
    got = cluster.compute(result).result()
    numpy.testing.assert_array_equal(got, hone.apply(chain, gray))
    shifted = numpy.concatenate([gray[:, 1:], gray[:, -1:]], axis=1).astype(float)
    wanted = numpy.clip(numpy.rint(1.5 * shifted), 0, 255)
    alone = hone.load(str(path))(gray, by=1.5)
    assert numpy.abs(alone.astype(float) - wanted).max() <= 1
    # The file changes; blocks of before and after run at the same time.
    path.write_text(GLOW.replace("1, 0", "0, 1"))
    later = hone.dask.apply(chain, da.from_array(gray, chunks=(31, 83)), filters=[str(path)])
    first, second = cluster.gather(cluster.compute([result, later]))
    numpy.testing.assert_array_equal(first, got)
    numpy.testing.assert_array_equal(second, hone.apply(chain, gray))
    assert (second != got).any()


def write_pgm(path, image):
    path.write_bytes(b"P5\n%d %d\n255\n" % image.shape[::-1] + image.tobytes())


def read_pgm(path):
    head, size, most, data = path.read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    assert (head, most) == (b"P5", b"255")
    return numpy.frombuffer(data, numpy.uint8).reshape(height, width)


def test_folders_are_resumable_and_list_what_failed(cluster, tmp_path, gray):
    source, target = tmp_path / "in", tmp_path / "out"
    (source / "sub").mkdir(parents=True)
    for i in range(5):
        write_pgm(source / f"{i}.pgm", gray + numpy.uint8(i))
    write_pgm(source / "sub" / "7.pgm", gray)
    (source / "broken.pgm").write_bytes(b"P5\n9 9\n255\n")
    done = dict(hone.dask.apply_files("box size=3", str(source), str(target), cluster, batch=3))
    assert len(done) == 7
    assert [os.path.basename(name) for name, why in done.items() if why] == ["broken.pgm"]
    assert not (target / "broken.pgm").exists()
    for i in range(5):
        numpy.testing.assert_array_equal(read_pgm(target / f"{i}.pgm"), hone.apply("box size=3", gray + numpy.uint8(i)))
    assert (target / "sub" / "7.pgm").exists()
    # Again: what is there stays as it is, what is missing comes.
    (target / "3.pgm").unlink()
    before = (target / "2.pgm").stat().st_mtime_ns
    again = dict(hone.dask.apply_files("box size=3", str(source), str(target), cluster))
    assert sum(why is None for why in again.values()) == 6 and (target / "3.pgm").exists()
    assert (target / "2.pgm").stat().st_mtime_ns == before


def test_what_is_no_image_is_skipped(cluster, tmp_path, gray):
    """As `hone apply -r` skips it: the same files, and no others."""
    source = tmp_path / "in"
    (source / "sub").mkdir(parents=True)
    (source / ".hidden").mkdir()
    for name in ("a.pgm", "B.PGM", "sub/c.pgm", ".hidden/d.pgm", ".e.pgm"):
        write_pgm(source / name, gray)
    for name in ("notes.txt", "README", "more.txt", "sub/x.nef"):
        (source / name).write_text("none")
    (source / "broken.pgm").write_bytes(b"P5\n9 9\n255\n")
    os.mkfifo(source / "fifo.pgm")
    (source / "lost.pgm").symlink_to("nowhere")
    (source / "circle").symlink_to(source)
    told = dict(hone.dask.apply_files("box size=3", str(source), str(tmp_path / "out"), cluster, batch=3))
    seen = {os.path.relpath(file, source): "done" if why is None else "skipped" if isinstance(why, hone.dask.Skipped) else "failed"
            for file, why in told.items()}
    result = subprocess.run([hone._command.path(), "apply", "box size=3", ".", "-o", f"{tmp_path}/other/", "-r", "--json"],
                            capture_output=True, text=True, check=False, cwd=source)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert seen == {os.path.normpath(line["input"]): line["status"] for line in lines} and len(seen) == 11, result.stderr
    command = [sys.executable, "-m", "hone.dask", "apply", "box size=3", source, "-o", tmp_path / "again", "--scheduler",
               cluster.scheduler.address]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert result.returncode == 3 and "3 of 4 files are done, 1 failed, 7 skipped" in result.stdout, result
    assert f"skipped '{source}/more.txt' and 1 more: hone reads no files of the kind .txt" in result.stderr
    result = subprocess.run([sys.executable, "-m", "hone.dask", "apply", "box size=3", source, "-o", "/dev/null/x", "--scheduler",
                             cluster.scheduler.address], capture_output=True, text=True, check=False, timeout=200)
    assert result.returncode == 3 and "0 of 4 files are done, 4 failed, 7 skipped" in result.stdout, result
    for name in ("a.pgm", "B.PGM", "sub/c.pgm", "broken.pgm"):
        (source / name).unlink()
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert result.returncode == 3 and "no image in the folder" in result.stderr and "Traceback" not in result.stderr, result


def test_the_command(cluster, tmp_path, gray):
    """Also with a filter of one's own, which workers have no file of."""
    (tmp_path / "in").mkdir()
    write_pgm(tmp_path / "in" / "a.pgm", gray)
    (tmp_path / "gleam.cl").write_text(GLOW)
    hone.load(str(tmp_path / "gleam.cl"))

    def run(chain, out, *words):
        command = [sys.executable, "-m", "hone.dask", "apply", chain, "in", "-o", out, "--scheduler",
                   cluster.scheduler.address, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=200)
    for chain, out, words in (("box size=3 | ./gleam.cl by=1.5", "a", []), ("gleam by=0.7", "b", ["--filter", "gleam.cl"])):
        result = run(chain, out, *words)
        assert result.returncode == 0, result.stderr
        assert "1 of 1 files are done" in result.stdout
        wanted = hone.apply(chain.replace("./gleam.cl", "gleam"), gray)
        numpy.testing.assert_array_equal(read_pgm(tmp_path / out / "a.pgm"), wanted)
    result = run("./absent.cl by=1", "c")
    assert result.returncode == 3 and "absent.cl" in result.stderr and "Traceback" not in result.stderr, result.stderr
    with pytest.raises(hone.UsageError, match="blurr"):
        next(hone.dask.apply_files("blurr sigma=3", str(tmp_path / "in"), str(tmp_path / "c"), cluster))
    assert not (tmp_path / "c").exists()
    result = subprocess.run([sys.executable, "-m", "hone.dask", "apply", "box", "in", "-o", "d", "--workers", "0"],
                            capture_output=True, text=True, check=False, cwd=tmp_path, timeout=200)
    assert result.returncode == 2 and "1 worker or more" in result.stderr


def test_the_command_on_a_tiff(cluster, tmp_path, gray):
    pytest.importorskip("zarr")
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "in.tif", gray, tile=(16, 32))
    result = subprocess.run([sys.executable, "-m", "hone.dask", "apply", "box size=3", "in.tif", "-o", "out.tif", "--scheduler",
                             cluster.scheduler.address], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=200)
    assert result.returncode == 0, result.stderr
    numpy.testing.assert_array_equal(tifffile.imread(tmp_path / "out.tif"), hone.box(gray, size=3))
