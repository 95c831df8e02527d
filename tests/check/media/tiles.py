#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Images in bands of rows: whatever --memory says, results are those of whole images.  tiles.py build=FOLDER"""

import filecmp
import json
import os
import re
import resource
import signal
import subprocess
import time

import cv2
import numpy as np

import frame
from pictures import Here

HONE = os.path.abspath(os.path.join(frame.build(), "hone"))
BANDS = "--memory", "1M"


def picture(kind, height, width, channels=1):
    """Noise on a slope, so that neither rows nor columns are alike."""
    most = 1 if kind[0] == "f" else np.iinfo(kind).max
    noise = np.random.default_rng(height).random((height, width, channels))
    slope = (np.arange(height)[:, None, None] + 3 * np.arange(width)[None, :, None]) % 500 / 500
    return (most * (0.5 * noise + 0.5 * slope)).astype(kind)


def write(path, image):
    assert cv2.imwrite(path, image[:, :, ::-1] if image.shape[2] == 3 else image), path


def apply(place, chain, name, out, *more, status=0):
    return place.run("apply", chain, place.path(name), "-o", place.path(out), "--json", *more, status=status)


def bands(place, chain, name, out, *more):
    return json.loads(apply(place, chain, name, out, *BANDS, *more).stdout).get("bands", 0)


def read(path):
    return cv2.imread(path, cv2.IMREAD_UNCHANGED)


def check_same(place, chain, name, suffix, bound=0, *more):
    count = bands(place, chain, name, "bands" + suffix, *more)
    apply(place, chain, name, "whole" + suffix, *more)
    got, wanted = place.path("bands" + suffix), place.path("whole" + suffix)
    frame.check(count > 2, f"{chain} on {name}: {count} bands")
    if bound == 0:
        frame.check(filecmp.cmp(got, wanted, shallow=False), f"{chain} on {name}, {count} bands: another file")
        return
    largest = np.abs(read(got).astype("f8") - read(wanted).astype("f8")).max()
    frame.check(largest <= bound, f"{chain} on {name}, {count} bands: differs by {largest}")


BORDERS = "replicate", "reflect", "reflect101", "wrap", "constant border-value=77", "zero-outside"


def test_borders():
    with Here() as place:
        write(place.path("in.pgm"), picture("u1", 1001, 701))
        for border in BORDERS:
            check_same(place, f"box size=8 border={border} | convolve kernel='2x5: 1 2 3 4 5 6 7 8 9 1' scale=0.02 border={border}",
                       "in.pgm", ".pgm")
        check_same(place, "box size=9 border=reflect | sobel border=constant | density size=5", "in.pgm", ".tif")
        check_same(place, "sobel border=wrap | box border=wrap size=5", "in.pgm", ".tif")


def test_rows_that_are_read_again_and_again():
    """By a thread that opens the file anew, while others ask what is in it: they did so where it had just been closed."""
    with Here() as place:
        write(place.path("in.pgm"), picture("u1", 1200, 900))
        chain = "box size=8 border=wrap | convolve kernel='2x5: 1 2 3 4 5 6 7 8 9 1' scale=0.02 border=wrap"
        place.run("apply", chain, place.path("in.pgm"), "-o", place.path("whole.pgm"))
        for _ in range(30):
            place.run("apply", chain, place.path("in.pgm"), "-o", place.path("out.pgm"), *BANDS, "--force")
            frame.check(filecmp.cmp(place.path("out.pgm"), place.path("whole.pgm"), shallow=False), "another result")


def test_filters_and_formats():
    with Here() as place:
        write(place.path("gray.pgm"), picture("u1", 1001, 701))
        write(place.path("deep.pgm"), picture("u2", 999, 401))
        write(place.path("rgb.ppm"), picture("u1", 1001, 333, 3))
        write(place.path("rgb.tif"), picture("u2", 701, 333, 3))
        write(place.path("float.pfm"), picture("f4", 998, 301))
        for chain, name, suffix, bound in (
                ("epsilon radius=3 threshold=20 | density size=9 threshold=3000", "gray.pgm", ".tif", 0),
                ("demosaic method=malvar pattern=grbg", "gray.pgm", ".png", 0), ("sobel output=dx", "gray.pgm", ".tif", 0),
                ("gaussian sigma=2 exact=yes", "deep.pgm", ".pgm", 0), ("gaussian sigma=6", "gray.pgm", ".pgm", 1),
                ("gaussian sigma=6 method=recursive", "deep.pgm", ".pgm", 2 * 13.1), ("box size=31", "deep.pgm", ".png", 0),
                ("epsilon | sobel norm=l1", "rgb.ppm", ".ppm", 0), ("box | gray", "rgb.tif", ".tif", 0),
                ("box size=5", "float.pfm", ".pfm", 2e-5), ("sobel | colormap map=viridis", "gray.pgm", ".tif", 0),
                ("integral", "gray.pgm", ".tif", 0), ("box | integral", "rgb.tif", ".tif", 0),
                ("box | transpose", "rgb.ppm", ".ppm", 0), ("transpose | epsilon | transpose", "deep.pgm", ".png", 0)):
            check_same(place, chain, name, suffix, bound)


def test_second_images():
    with Here() as place:
        for name in "a.ppm", "b.ppm":
            write(place.path(name), picture("u1", 1001 + (name > "b"), 333, 3)[:1001])
        check_same(place, f"box | add image={place.path('b.ppm')} | sobel", "a.ppm", ".png")
        frame.check(bands(place, f"add image={place.path('b.ppm')}", "a.ppm", "out.ppm") > 2, "not in bands")
        wanted = cv2.add(read(place.path("a.ppm")), read(place.path("b.ppm")))
        frame.check(np.array_equal(read(place.path("out.ppm")), wanted), "add in bands is not cv2.add")
        write(place.path("small.ppm"), picture("u1", 1000, 333, 3))
        result = place.any("apply", f"add image={place.path('small.ppm')}", place.path("a.ppm"), "-o", place.path("no.ppm"), *BANDS)
        frame.check(result.returncode == 2 and "333x1000" in result.stderr, result.stderr)
        frame.check(not os.path.exists(place.path("no.ppm")), "an output all the same")


def test_turned_against_numpy():
    image = picture("u2", 701, 1301)
    with Here() as place:
        write(place.path("in.pgm"), image)
        frame.check(bands(place, "transpose", "in.pgm", "out.pgm") > 2, "not in bands")
        frame.check(np.array_equal(read(place.path("out.pgm")), image[:, :, 0].T), "another image")


def test_a_blur_against_opencv():
    image = picture("u1", 1001, 701)
    with Here() as place:
        write(place.path("in.pgm"), image)
        frame.check(bands(place, "box size=9 border=reflect", "in.pgm", "out.pgm") > 2, "not in bands")
        wanted = cv2.blur(image[:, :, 0].astype("f8"), (9, 9), borderType=cv2.BORDER_REFLECT)
        wanted = np.floor(wanted + 0.5 + 1e-9).astype("u1")
        frame.check(np.array_equal(read(place.path("out.pgm")), wanted), "box in bands is not cv2.blur")


def test_gaussians_keep_their_bound():
    """Against OpenCV's in double precision, whose window ends where ours does; with the variants of GPUs, too."""
    with Here() as place:
        for name, kind, bound in ("gray.pgm", "u1", 1), ("deep.pgm", "u2", 13), ("real.pfm", "f4", 2e-4):
            image = picture(kind, 4001, 401)
            write(place.path(name), image)
            for sigma, variants in (5, ["segments"]), (25, ["lines", "grid"]):
                window = 10 * sigma + 1, 10 * sigma + 1
                wanted = cv2.GaussianBlur(image[:, :, 0].astype("f8"), window, sigma, borderType=cv2.BORDER_REPLICATE)
                wanted = wanted if kind == "f4" else np.rint(wanted)
                for variant in variants:
                    more = "--variant", variant, "--memory", f"{image.nbytes * 27 // 10240}K"
                    said = apply(place, f"gaussian sigma={sigma}", name, "out" + name[-4:], *more).stdout
                    what = f"{variant}, sigma {sigma}, {kind}"
                    frame.check(json.loads(said).get("bands", 0) > 2, f"{what}: not in bands")
                    off = np.abs(read(place.path("out" + name[-4:])) - wanted).max()
                    frame.check(off <= bound, f"{what}: off by {off}")


def test_alpha():
    colours, alpha = picture("u1", 701, 301, 3), picture("u1", 701, 301)
    with Here() as place:
        cv2.imwrite(place.path("soft.png"), np.concatenate([colours, alpha], axis=2))
        cv2.imwrite(place.path("full.png"), np.concatenate([colours, np.full_like(alpha, 255)], axis=2))
        for name in "soft.png", "full.png":
            check_same(place, "box size=5", name, ".png")
            check_same(place, "box size=5", name, ".jpg", 0, "--background", "#ff8000")
            check_same(place, "box size=5", name, ".png", 0, "--alpha", "copy")


def test_counts():
    with Here() as place:
        write(place.path("in.ppm"), picture("u1", 1001, 401, 3))
        write(place.path("deep.pgm"), picture("u2", 1001, 401))
        write(place.path("real.pfm"), picture("f4", 1001, 401))
        for chain, name in (("histogram", "in.ppm"), ("box | histogram bins=16", "in.ppm"),
                            ("histogram bins=9 min=100 max=60000", "deep.pgm"), ("histogram bins=99", "deep.pgm"),
                            ("sobel output=dx | histogram bins=20 max=900", "deep.pgm"), ("transpose | histogram", "real.pfm")):
            suffix = ".json" if name == "in.ppm" else ".csv"
            frame.check(bands(place, chain, name, "bands" + suffix) > 2, f"{chain}: not in bands")
            apply(place, chain, name, "whole" + suffix)
            with open(place.path("bands" + suffix), encoding="utf-8") as got, \
                    open(place.path("whole" + suffix), encoding="utf-8") as wanted:
                frame.check(got.read() == wanted.read(), f"{chain} {suffix}: other counts")


def test_what_cannot_be_done_in_bands_is_done_as_a_whole():
    with Here() as place:
        write(place.path("in.pgm"), picture("u1", 1001, 701))
        result = apply(place, "box border=wrap | sobel", "in.pgm", "out.png", *BANDS)
        frame.check(json.loads(result.stdout).get("bands", 0) == 0, "is done in bands")
        frame.check(re.search(r"takes about 2 MiB, more than --memory: .*border=wrap", result.stderr), result.stderr)
        frame.check(not apply(place, "box border=wrap | sobel", "in.pgm", "out.png").stderr, "nobody asked for little memory")


def sparse(path, width, height, colour=b"\0"):
    """A PGM of which only the first pixels are on disk."""
    with open(path, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % (width, height) + colour)
        file.truncate(file.tell() - 1 + width * height)


def test_what_is_too_large_says_why():
    with Here() as place:
        sparse(place.path("in.pgm"), 40000, 30000)
        sparse(place.path("huge.pgm"), 1 << 20, 1 << 19)
        for chain, name, more, part in (
                ("box border=wrap | sobel", "in.pgm", (), "border=wrap"),
                ("box size=1000", "in.pgm", ("--memory", "50M"), "smallest parts"),
                ("box", "in.pgm", ("--max-pixels", "1e9"), "limit of 1000000000"),
                ("box", "huge.pgm", (), "limit of 137438953472 "),
                ("box", "in.pgm", ("--memory", "lots"), "such as 512M")):
            result = place.any("apply", chain, place.path(name), "-o", place.path("out.png"), *more)
            frame.check(result.returncode != 0 and re.search(part, result.stderr), f"{chain}: {result.stderr}")
            frame.check(not os.path.exists(place.path("out.png")), f"{chain}: an output")


def check_least(place, chain, name):
    """What the refusal says does, and a megabyte less does not."""
    command = "apply", chain, place.path(name), "-o", place.path("out.tif"), "--memory"
    said = place.run(*command, "1M", status=5).stderr
    found = re.search(r": --memory has to be at least (\d+)M$", said, re.M)
    frame.check(found, f"{chain}: {said}")
    least = int(found.group(1))
    enough = json.loads(place.run(*command, f"{least}M", "--json").stdout)
    frame.check(enough.get("bands", 0) > 1, f"{chain}, {least}M: not in bands")
    again = place.run(*command, f"{least - 1}M", status=5).stderr
    frame.check(f"at least {least}M" in again, f"{chain}, {least - 1}M: {again}")


def test_the_least_memory_is_the_least():
    with Here() as place:
        sparse(place.path("wide.pgm"), 20000, 700)
        write(place.path("deep.pgm"), picture("u2", 600, 9000))
        for chain in ("box size=301", "sobel | density size=201", "gaussian sigma=12", "box size=151 | integral",
                      "box size=99 | transpose | box size=99", "box size=151 border=wrap", "box size=151 | histogram",
                      f"add image={place.path('wide.pgm')} | box size=99"):
            check_least(place, chain, "wide.pgm")
        check_least(place, "box size=101 | histogram bins=99", "deep.pgm")


def test_little_memory_that_costs_time_is_said():
    with Here() as place:
        sparse(place.path("in.pgm"), 20000, 700)
        command = "apply", "box size=301", place.path("in.pgm"), "-o", place.path("out.pgm"), "--memory"
        least = re.search(r"at least (\d+)M$", place.run(*command, "1M", status=5).stderr, re.M).group(1)
        said = place.run(*command, least + "M").stderr
        frame.check(re.search(r"each pixel is filtered \d+ times; a larger --memory", said), said)
        frame.check(not place.run(*command, "39M").stderr, "39M are not enough")


def peak(place, *arguments):
    """MiB at most, by what the kernel says of the process."""
    process = subprocess.Popen([HONE, "apply", *arguments, "-q"], env=place.environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    frame.check(status == 0, f"{arguments}: status {status}")
    return usage.ru_maxrss / 1024


def warm_peak(place, *arguments):
    """Of a run that compiles nothing: drivers' compilers take what they take."""
    peak(place, *arguments)
    return peak(place, *arguments)


def test_memory_is_bounded():
    with Here() as place:
        sparse(place.path("small.pgm"), 64, 64)
        sparse(place.path("in.pgm"), 8000, 16000)  # 122 MiB
        sparse(place.path("wide.pgm"), 200000, 1000)  # the rows of a window of 64 are a fifth of 64 MiB
        least = warm_peak(place, "box size=8", place.path("small.pgm"), "-o", place.path("out.pgm"))
        for name, size, budget in ("in.pgm", 8, 32), ("wide.pgm", 64, 64):
            for suffix in ".pgm", ".tif":
                most = warm_peak(place, f"box size={size}", place.path(name), "-o", place.path("out" + suffix), "--memory", f"{budget}M")
                frame.check(most <= least + budget + 64, f"{name} to {suffix}: {most:.0f} MiB; a small image takes {least:.0f}")


def test_killed_midway():
    with Here() as place:
        folder = place.path("out")
        os.mkdir(folder)
        sparse(place.path("in.pgm"), 12000, 10000)
        target = os.path.join(folder, "out.pgm")
        with open(target, "w", encoding="utf-8") as file:
            file.write("old")
        command = [HONE, "apply", "gaussian sigma=5", place.path("in.pgm"), "-o", target, "--memory", "64M", "-q"]
        process = subprocess.Popen(command, env=place.environment)
        while process.poll() is None and not any(os.path.getsize(os.path.join(folder, n)) > 1 << 20 for n in os.listdir(folder)):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        frame.check(process.wait() == -signal.SIGKILL, "it was done before it was killed")
        with open(target, encoding="utf-8") as file:
            frame.check(file.read() == "old", "the old output is not there any more")
        frame.check(len(os.listdir(folder)) == 2, f"{os.listdir(folder)}")
        apply(place, "box", "in.pgm", "out/out.pgm", "--memory", "32M")
        frame.check(os.listdir(folder) == ["out.pgm"], f"{os.listdir(folder)}: what was left of the killed one is still there")
        frame.check(os.path.getsize(target) == 12000 * 10000 + len("P5\n12000 10000\n255\n"), "an output of another size")


def kept(place):
    return [name for name in os.listdir(place.folder) if name.endswith(".hone-rows")]


def resume(place, chain, name, out, *more, status=0):
    """What is said on stderr."""
    return apply(place, chain, name, out, *BANDS, "--resume", "-v", *more, status=status).stderr


def interrupted(place, chain, name, out, small=2 << 20):
    """A run that may not write all of its result ends, and leaves the rows so far."""
    command = [HONE, "apply", chain, place.path(name), "-o", place.path(out), *BANDS, "--resume"]
    result = subprocess.run(command, env=place.environment, capture_output=True, text=True, check=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (small, small)))
    frame.check(result.returncode == 3 and "same command goes on" in result.stderr, f"{result.returncode}: {result.stderr}")
    frame.check(len(kept(place)) == 1 and not os.path.exists(place.path(out)), "rows that are not kept, or an output")


def first_row(said):
    found = re.search(r"goes on at row (\d+) of", said)
    return int(found.group(1)) if found else 0


def test_resumed_results_are_those_of_one_run():
    with Here() as place:
        write(place.path("in.pgm"), picture("u1", 3001, 1601))
        for chain, suffix, most in (("box size=5 | integral", ".tif", 4 << 20), ("transpose | sobel output=dx", ".tif", 6 << 20)):
            apply(place, chain, "in.pgm", "wanted" + suffix, *BANDS)
            interrupted(place, chain, "in.pgm", "got" + suffix, most)
            frame.check(first_row(resume(place, chain, "in.pgm", "got" + suffix)) > 0, f"{chain}: from the first row on")
            frame.check(filecmp.cmp(place.path("got" + suffix), place.path("wanted" + suffix), shallow=False), f"{chain}: another file")
            frame.check(not kept(place), f"{kept(place)}: still there")
            os.remove(place.path("got" + suffix))


def test_torn_and_foreign_rows_are_made_again():
    with Here() as place:
        write(place.path("in.pgm"), picture("u1", 3001, 1601))
        apply(place, "box", "in.pgm", "wanted.pgm", *BANDS)
        interrupted(place, "box", "in.pgm", "got.pgm")
        rows = place.path(kept(place)[0])
        with open(rows, "r+b") as file:
            file.seek(1 << 20)
            file.write(b"torn")
            file.truncate((1 << 20) + 500000)
        interrupted(place, "box", "in.pgm", "got.pgm")
        with open(rows, "r+b") as file:
            file.seek(1 << 20)
            file.write(b"torn")
        row = first_row(resume(place, "box", "in.pgm", "got.pgm"))
        frame.check(0 < row <= (1 << 20) // 1601, f"row {row} is behind the torn ones")
        frame.check(filecmp.cmp(place.path("got.pgm"), place.path("wanted.pgm"), shallow=False), "another file")
        for change in "chain", "input", "bytes":
            interrupted(place, "box" if change != "chain" else "sobel", "in.pgm", "got2.pgm")
            if change == "input":
                os.utime(place.path("in.pgm"), (1, 1))
            elif change == "bytes":
                with open(place.path(kept(place)[0]), "r+b") as file:
                    file.write(os.urandom(100))
            frame.check("starts at the first row" in resume(place, "box", "in.pgm", "got2.pgm"), change)
            frame.check(filecmp.cmp(place.path("got2.pgm"), place.path("wanted.pgm"), shallow=False), f"{change}: another file")
            os.remove(place.path("got2.pgm"))
        interrupted(place, "box", "in.pgm", "got2.pgm")
        apply(place, "sobel", "in.pgm", "got2.pgm", *BANDS)
        frame.check(not kept(place), "rows that nobody needs")
        frame.check("keeps no rows" in resume(place, "histogram", "in.pgm", "counts.csv"), "histogram")
        result = place.any("apply", "box", place.path("in.pgm"), "-o", "-", "--format", "pgm", "--resume")
        frame.check(result.returncode == 2 and "--resume" in result.stderr, result.stderr)


def test_killed_again_and_again():
    with Here() as place:
        write(place.path("in.pgm"), picture("u1", 3001, 2001))
        apply(place, "epsilon", "in.pgm", "wanted.png", *BANDS)
        command = [HONE, "apply", "epsilon", place.path("in.pgm"), "-o", place.path("got.png"), *BANDS, "--resume", "-q"]
        for wanted in 1 << 20, 3 << 20, 5 << 20:
            process = subprocess.Popen(command, env=place.environment)
            while process.poll() is None and not any(os.path.getsize(place.path(name)) > wanted for name in kept(place)):
                time.sleep(0.002)
            process.kill()
            process.wait()
        resume(place, "epsilon", "in.pgm", "got.png")
        frame.check(filecmp.cmp(place.path("got.png"), place.path("wanted.png"), shallow=False), "another file")
        frame.check(not kept(place), "rows that nobody needs")


if __name__ == "__main__":
    frame.main(globals())
