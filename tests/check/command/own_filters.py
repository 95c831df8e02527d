#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Filters of one's own through the command: results against NumPy and SciPy, places of mistakes, names, tuning.
own_filters.py build=FOLDER"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import cv2
import numpy
import scipy.ndimage

import frame

EXAMPLES = os.path.join(frame.ROOT, "examples", "filters")
_folder = tempfile.TemporaryDirectory(prefix="hone-own-")
MEAN = """//@filter summary the mean of a window
//@filter param radius int 0..20 = 2 pixels: half the window
//@filter window radius, radius + 1
hone_pixel
{
    float4 sum = 0.0f;
    for (int dy = -radius; dy <= radius + 1; dy++)
        for (int dx = -radius; dx <= radius; dx++)
            sum += hone_in(dx, dy);
    return sum / (float)((2 * radius + 1) * (2 * radius + 2));
}
"""
KERNEL = """//@filter summary twice the pixel less an offset
//@filter param offset real 0..100 = 10 levels: taken away
//@filter types u8
//@filter channels 1
//@filter tolerance 0
//@filter variant rows: some rows per work-item
//@filter tunable ROWS 2 1 4: rows
//@filter tunable WG_X 16 8: width of the work-group
//@filter tunable WG_Y 1 2: its height
//@filter restrict ROWS*WG_Y <= 4
//@filter scratch W*H
//@filter kernel keep(in, tmp0, W, H)
//@filter kernel twice(tmp0, out, W, H, float:offset)
//@filter block 1, ROWS
__kernel void keep(__global const uchar *in, int offset, int pitch, __global uchar *kept, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        kept[y * width + x] = in[offset + y * pitch + x];
}
__kernel void twice(__global const uchar *kept, __global uchar *out, int out_offset, int pitch, int width, int height,
                    float less)
{
    int x = get_global_id(0), y = get_global_id(1) * ROWS;
    for (int row = y; row < min(y + ROWS, height) && x < width; row++)
        out[out_offset + row * pitch + x] = convert_uchar_sat_rte(2.0f * kept[row * width + x] - less);
}
"""


def path(name):
    return os.path.join(_folder.name, name)


def write(name, text):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path(name)


def hone(*arguments, status=0):
    environment = dict(os.environ, XDG_DATA_HOME=path("data"))
    result = subprocess.run([os.path.abspath(os.path.join(frame.build(), "hone")), *arguments], capture_output=True, text=True,
                            check=False, env=environment, cwd=_folder.name)
    frame.check(result.returncode == status, f"{arguments} ends with {result.returncode}, not {status}: {result.stderr[-500:]}")
    return result.stdout + result.stderr


def picture(name, channels=1, kind=numpy.uint8):
    pixels = numpy.random.default_rng(3).integers(0, 256, (29, 37, channels)).astype(numpy.uint8)
    pixels = pixels[:, :, 0] if channels == 1 else pixels
    if kind == numpy.float32:
        pixels = pixels.astype(kind) / 300
    elif kind == numpy.uint16:
        pixels = pixels.astype(kind) * 250
    cv2.imwrite(path(name), pixels)
    return pixels


def apply(chain, name, *options):
    """The result of a chain on the file `name`."""
    out = path("out" + os.path.splitext(name)[1])
    hone("apply", chain, name, "-o", out, "-q", *options)
    return cv2.imread(out, cv2.IMREAD_UNCHANGED)


def same(got, wanted, most, what):
    frame.check(got.shape == wanted.shape, f"{what}: {got.shape}, not {wanted.shape}")
    far = numpy.abs(got.astype(float) - wanted.astype(float)).max()
    frame.check(far <= most, f"{what}: a pixel is off by {far}")


def bilateral(gray, radius, sigma, spread):
    """By its definition."""
    padded = numpy.pad(gray, radius, mode="edge")
    total, weights = numpy.zeros_like(gray), numpy.zeros_like(gray)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            there = padded[radius + dy:radius + dy + gray.shape[0], radius + dx:radius + dx + gray.shape[1]]
            apart = 3 * ((there - gray) / 255) ** 2  # gray is three equal channels
            weight = numpy.exp(-(dx * dx + dy * dy) / (2 * sigma * sigma) - apart / (2 * spread * spread))
            total += weight * there
            weights += weight
    return total / weights


def test_a_window_against_scipy():
    """Every border, and every variant at one."""
    write("mean.cl", MEAN)
    modes = {"replicate": "nearest", "reflect": "reflect", "reflect101": "mirror", "wrap": "wrap", "constant": "constant"}
    pixels = picture("gray.png")
    weights = numpy.full((6, 5), 1 / 30)
    for border, mode in modes.items():
        # SciPy's window of 6 reaches 3 up and 2 down; hone's here 2 up and 3 down
        wanted = scipy.ndimage.correlate(pixels.astype(float), weights, mode=mode, cval=0, origin=(-1, 0))
        for variant in ("direct", "blocks", "tile") if border == "reflect" else ("tile",):
            got = apply(f"./mean.cl border={border}", "gray.png", "--variant", variant)
            same(got, numpy.rint(wanted), 1, f"{border} {variant}")
    got = apply("./mean.cl border=zero-outside radius=1", "gray.png")
    frame.check(not got[0].any() and not got[:, 0].any() and not got[-2:].any() and got[2, 2], "zero-outside is not")


def test_formats_against_numpy():
    """Point arithmetic has one right answer for every format: the pixel itself, darkened."""
    write("darker.cl", "//@filter param by real 0..1 = 0.25: x\nhone_pixel\n{\n    return hone_in(0, 0) * by;\n}\n")
    for name, channels, kind in (("a.png", 1, numpy.uint8), ("b.png", 3, numpy.uint16), ("c.tif", 1, numpy.float32)):
        pixels = picture(name, channels, kind)
        wanted = pixels.astype(numpy.float64) * 0.25
        got = apply("./darker.cl", name)
        frame.check(got.dtype == kind, f"{name}: {got.dtype}")
        same(got, wanted if kind == numpy.float32 else numpy.rint(wanted), 1e-6 if kind == numpy.float32 else 1, name)


def test_the_examples_that_numpy_can_check():
    pixels = picture("rgb.png", 3)
    y, x = numpy.mgrid[0:29, 0:37]
    far = numpy.hypot(x + 0.5 - 18.5, y + 0.5 - 14.5) / numpy.hypot(18.5, 14.5)
    part = numpy.clip((far - 0.3) / 0.7, 0, 1)
    wanted = pixels * (1 - 0.8 * part * part * (3 - 2 * part))[:, :, None]
    same(apply(f"{EXAMPLES}/vignette.cl amount=0.8", "rgb.png"), numpy.rint(wanted), 1, "vignette")
    # SciPy's Gaussian, cut off at the same distance
    gray = picture("gray.png").astype(float)
    blurred = scipy.ndimage.gaussian_filter(gray, 1.5, mode="nearest", truncate=5 / 1.5)
    wanted = numpy.clip(numpy.rint(gray + 2 * (gray - blurred)), 0, 255)
    same(apply(f"{EXAMPLES}/unsharp.cl amount=2", "gray.png"), wanted, 1, "unsharp")
    same(apply(f"{EXAMPLES}/bilateral.cl radius=2 range=0.2", "gray.png"), numpy.rint(bilateral(gray, 2, 2, 0.2)), 1, "bilateral")
    still = apply(f"{EXAMPLES}/aberration.cl red=0 blue=0", "rgb.png")
    same(still, pixels, 0, "aberration of nothing")
    moved = apply(f"{EXAMPLES}/aberration.cl red=3 blue=-3", "rgb.png")
    frame.check((moved[:, :, 1] == pixels[:, :, 1]).all() and (moved[:, :, 2] != pixels[:, :, 2]).any(), "red must move, green must not")
    grain = apply(f"{EXAMPLES}/grain.cl", "rgb.png")
    frame.check((grain == apply(f"{EXAMPLES}/grain.cl", "rgb.png")).all() and (grain != pixels).any(), "grain must be the same twice")


def test_whole_kernels():
    pixels = picture("gray.png").astype(float)
    write("twice.cl", KERNEL)
    wanted = numpy.clip(numpy.rint(2 * pixels - 12.5), 0, 255)
    for config in ("ROWS=2", "ROWS=4 WG_Y=1 WG_X=8"):
        same(apply("./twice.cl offset=12.5", "gray.png", "--config", config), wanted, 0, config)
    frame.check("ROWS=4 WG_Y=2" in hone("apply", "twice.cl", "gray.png", "-o", "x.png", "--config", "ROWS=4 WG_Y=2", status=2),
                "the condition must hold")


def test_in_chains_with_hones_own():
    """Point filters run in the same kernel: the result is that of single steps."""
    picture("rgb.png", 3)
    write("mean.cl", MEAN)
    together = apply("gray | ./mean.cl | colormap map=gray", "rgb.png")
    apply("gray", "rgb.png")
    shutil.copy(path("out.png"), path("step.png"))
    apply("./mean.cl", "step.png")
    shutil.copy(path("out.png"), path("step.png"))
    same(together, apply("colormap map=gray", "step.png"), 0, "the chain")


def test_paths_with_spaces_are_in_quotes():
    pixels = picture("gray.png")
    write("my | filters/half.cl", "//@filter summary half\nhone_pixel { return hone_in(0, 0) * 0.5f; }\n")
    for chain in ("'./my | filters/half.cl'", 'transpose | "./my | filters/half.cl" | transpose'):
        same(apply(chain, "gray.png"), numpy.rint(pixels * 0.5), 1, chain)
    shown = hone("filters", "./my | filters/half.cl")
    frame.check("half: half" in shown, "a path alone needs no quotes")
    lines = re.findall(r"^ *hone (apply .*in\.png -o out\.png)$|^'hone (filters .*)' shows its variants", shown, re.M)
    frame.check([[word for word in map(shlex.split, line) if word] for line in lines] ==
                [[["apply", '"./my | filters/half.cl"', "in.png", "-o", "out.png"]], [["filters", "./my | filters/half.cl", "-v"]]],
                f"what it shows is no command: {shown}")
    frame.check("column 1 " in hone("apply", "'gray'", "gray.png", "-o", "x.png", status=2), "a name in quotes is a mistake")


def test_mistakes_have_a_place():
    picture("gray.png")
    write("bad.cl", "//@filter summary x\nhone_pixel\n{\n    return hone_in(0, 0) + missing;\n}\n")
    said = hone("apply", "./bad.cl", "gray.png", "-o", "x.png", status=2)
    frame.check(len(said.splitlines()) == 1, f"a compiler speaks, too: {said}")
    frame.check("./bad.cl:4:28: " in said and "missing" in said, said)
    write("worse.cl", "//@filter summary x\n\n//@filter param n int 1..2 = 3\nhone_pixel { return hone_in(0, 0); }\n")
    frame.check("./worse.cl" in hone("apply", "./worse.cl", "gray.png", "-o", "x.png", status=2), "the file must be named")
    write("wide.cl", "//@filter summary x\n//@filter window radus\nhone_pixel { return hone_in(0, 0); }\n")
    said = hone("apply", "./wide.cl", "gray.png", "-o", "x.png", status=2)
    frame.check("./wide.cl:2: " in said and "radus" in said, said)
    write("colours.cl", "//@filter channels 3 4\nhone_pixel { return hone_in(0, 0); }\n")
    said = hone("apply", "./colours.cl", "gray.png", "-o", "x.png", status=2)
    frame.check("does not take images of 1 channel; it takes 3 or 4" in said, said)
    hone("apply", "./none.cl", "gray.png", "-o", "x.png", status=3)
    frame.check(not os.path.exists(path("x.png")), "a failure must leave no output")


HALF = "//@filter summary half\nhone_pixel { return hone_in(0, 0) * 0.5f; }\n"


def write_own(name, text):
    """Into the user's folder of filters, as only its owner may write to it."""
    file = write(f"data/hone/filters/{name}", text)
    for folder in ("data", "data/hone", "data/hone/filters"):
        os.chmod(path(folder), 0o700)
    os.chmod(file, 0o600)


def test_the_users_folder_is_listed():
    write_own("half.cl", HALF)
    write_own("mean.cl", MEAN)
    names = hone("filters", "--names").split()
    frame.check(names[-2:] == ["half", "mean"] and names[:-2] == sorted(names[:-2]), f"{names}")
    frame.check("half (your own)" in hone("filters"), "the table must mark it")
    own = {filter["name"]: filter["origin"] for filter in json.loads(hone("filters", "--json"))["filters"] if filter["own"]}
    frame.check(own == {name: path(f"data/hone/filters/{name}.cl") for name in ("half", "mean")}, f"{own}")
    write_own("box.cl", HALF)
    said = hone("filters", "--names")
    os.remove(path("data/hone/filters/box.cl"))
    frame.check("/box.cl': hone has a filter 'box' already" in said and "mean" in said, f"a mistake hides the others: {said}")
    os.remove(path("data/hone/filters/mean.cl"))


def test_json_is_utf8_whatever_the_file_holds():
    file = write("umlaut.cl", "")
    with open(file, "wb") as out:
        out.write(KERNEL.replace("summary twice", "summary zweimal, gl\xe4ttend").replace("WG_Y 1 2: its h", "WG_Y 1 2: H\xf6")
                  .replace("rows: some", "rows: f\xfcr").encode("latin-1"))
    report = json.loads(hone("filters", "./umlaut.cl", "--json"))
    variant = report["variants"][0]
    said = (report["summary"], variant["summary"], variant["tunables"][2]["help"])
    frame.check(all("\ufffd" in text for text in said) and len(variant["tunables"]) == 3, f"{said}")


def test_the_doctor_looks_at_it():
    write("twice.cl", KERNEL)
    write_own("half.cl", HALF)
    found = [f for f in json.loads(hone("doctor", "./twice.cl", "half", "--json"))["findings"] if f["part"] == "filters"]
    frame.check([(f["subject"], f["state"]) for f in found] == [("twice", "fine"), ("half", "fine")], f"{found}")
    write("bad.cl", "//@filter summary x\nhone_pixel { return missing; }\n")
    said = hone("doctor", "./bad.cl", status=1)
    frame.check("./bad.cl:2:21: " in said and "missing" in said, said)


def test_by_name_from_the_users_folder():
    pixels = picture("gray.png")
    write_own("half.cl", HALF)
    same(apply("half", "gray.png"), numpy.rint(pixels * 0.5), 1, "half")
    os.chmod(path("data/hone/filters/half.cl"), 0o666)
    said = hone("apply", "half", "gray.png", "-o", "x.png", status=3)
    frame.check("'half.cl' is not used: it is no plain file of this user" in said, said)
    os.chmod(path("data/hone/filters/half.cl"), 0o600)
    os.symlink("half.cl", path("data/hone/filters/link.cl"))
    said = hone("apply", "link", "gray.png", "-o", "x.png", status=3)
    os.remove(path("data/hone/filters/link.cl"))
    frame.check("'link.cl' is not used: it is a symbolic link" in said, said)
    os.chmod(path("data/hone/filters"), 0o777)
    refused = "filters' is not used: others may write to it (make it private: chmod 700)"
    said = hone("apply", "half", "gray.png", "-o", "x.png", status=3)
    frame.check(refused in said, f"a folder that others may write to must not be read: {said}")
    said = hone("filters")
    frame.check(refused in said and "your own" not in said, said)
    frame.check("there is no filter 'other'" in hone("apply", "other", "gray.png", "-o", "x.png", status=2), "another one")
    os.chmod(path("data/hone/filters"), 0o700)


def test_tuned_and_described():
    write("mean.cl", MEAN)
    report = json.loads(hone("tune", "./mean.cl radius=1", "--size", "64x48", "--format", "u8", "--evaluations", "4", "--json"))
    text = json.dumps(report)
    frame.check('"wrong"' not in text and "mean" in text, text[:500])
    with open(path("data/hone/tuning.jsonl"), encoding="utf-8") as file:
        choices = [record for record in map(json.loads, file) if record["kind"] == "choice"]
    frame.check(len(choices) == 1 and choices[0]["case"]["filter"] == "mean", f"{choices}")
    shown = hone("filters", "./mean.cl", "-v")
    frame.check("the mean of a window" in shown and "half the window" in shown and "local memory" in shown, shown[:600])


frame.main(globals())
