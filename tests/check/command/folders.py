#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone apply over folders of images.  folders.py build=FOLDER"""

import functools
import glob
import json
import os
import re
import struct
import subprocess
import time

import frame
from place import NOWHERE, Place


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_picture(path, width=8, height=6, shift=0):
    with open(path, "wb") as file:
        file.write(b"P5 %d %d 255\n" % (width, height))
        file.write(bytes((x * x * 11 + y * 40 + shift) & 255 for y in range(height) for x in range(width)))


def tried(said):
    """What -v tells once another configuration had its turns; how soon depends on the machine."""
    return " configurations on the way; " in said


def test_other_configurations_are_tried_on_the_way():
    """Under the sanitizers, too: the device speaks of it long after it was opened, by what the command gave it."""
    with Place() as place:
        os.mkdir(place.path("in"))
        write_picture(place.path("one.pgm"), 800, 600)
        count, said = 0, ""
        while not tried(said):
            frame.check(count < 16000, f"no trial in a folder of {count} images: {said[-500:]}")
            for _ in range(max(count, 4000)):  # a trial is due after five seconds
                os.symlink("../one.pgm", place.path("in", f"{count:05}.pgm"))
                count += 1
            said = place.run("apply", "box size=3", place.path("in"), "-o", place.path("out/"), "-v").stderr
        outputs = {read(path) for path in glob.glob(place.path("out", "*.pgm"))}
        frame.check(len(outputs) == 1, "the configuration that stays gives other pixels")


def feed_until(video, path, frames_at_most):
    """Writes equal frames to the video until the file of its messages tells of a trial; returns their number."""
    video.write(b"YUV4MPEG2 W320 H240 F25:1 Ip A1:1 Cmono\n")
    frames = 0
    while not tried(read(path).decode()) and frames < frames_at_most:
        for _ in range(50):
            video.write(b"FRAME\n" + bytes(x * x * 11 & 255 for x in range(320)) * 240)
            frames += 1
        time.sleep(0.02)  # what is built beside the video takes its time
    video.close()
    return frames


def test_other_configurations_are_tried_in_a_video():
    """The video is as long as it has to be: it comes through a pipe that ends once a trial was told."""
    with Place() as place, open(place.path("said"), "wb") as said:
        command = [os.path.join(frame.build(), "hone"), "apply", "epsilon", "-", "-o", place.path("out.y4m"), "-v"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said, env=place.environment) as process:
            frames = feed_until(process.stdin, place.path("said"), 20000)
        text = read(place.path("said")).decode()
        frame.check(process.returncode == 0 and tried(text), f"no trial in {frames} frames: {text[-500:]}")
        pixels = read(place.path("out.y4m"))
        frame.check(pixels.count(b"FRAME\n" + pixels[-320 * 240:]) == frames,
                    "the configuration that stays gives other pixels")


def test_what_is_said_of_damage_is_of_this_file():
    """Also with several images at a time, and of files that went well before."""
    with Place() as place:
        os.mkdir(place.path("in"))
        write_picture(place.path("a.pgm"), 200, 150)
        place.run("apply", "box size=3", place.path("a.pgm"), "-o", place.path("whole.jpg"))
        place.run("apply", "box size=3", place.path("a.pgm"), "-o", place.path("whole.png"))
        whole = {suffix: read(place.path("whole." + suffix)) for suffix in ("jpg", "png")}
        for i in range(7):
            with open(place.path("in", f"{i:02}.{('jpg', 'png')[i % 2]}"), "wb") as file:
                data = whole[("jpg", "png")[i % 2]]
                file.write(data[:len(data) * (3 + i % 5) // 9] if i % 3 else data)
        for option in ((), ("--accept-damaged",)):
            alone = []
            for name in sorted(os.listdir(place.path("in"))):
                said = place.any("apply", "box size=3", place.path("in", name), "-o", place.path("out/"), *option).stderr
                alone += [line for line in said.splitlines() if "damage" in line]
            several = place.any("apply", "box size=3", place.path("in"), "-o", place.path("out/"), "-j4", *option).stderr
            told = sorted(line for line in several.splitlines() if "damage" in line)
            frame.check(len(alone) >= 2 and told == sorted(alone), f"{option}: {alone}, {set(told) ^ set(alone)}")


def folder_of_pictures(place, names, width=8, height=6):
    os.mkdir(place.path("in"))
    for i, name in enumerate(names):
        write_picture(place.path("in", name), width, height, i)
    return place.path("in")


def summary(result):
    """(written, failed, skipped) of the closing line."""
    match = re.search(r"^hone: (\d+) written(?:, (\d+) failed)?(?:, (\d+) skipped)? in [\d.]+ s$", result.stderr, re.M)
    frame.check(match, f"no closing line: {result.stderr}")
    return tuple(int(number or 0) for number in match.groups())


def test_what_is_not_begun_without_a_device_is_counted():
    with Place() as place:
        folder = folder_of_pictures(place, [f"{i}.pgm" for i in range(9)])
        result = place.run("apply", "transpose", folder, "-o", place.path("out/"), "-j", "2", status=4, **NOWHERE)
        found = re.search(r"^hone: 0 written, (\d+) failed, (\d+) not begun in ", result.stderr, re.M)
        frame.check(found and int(found[1]) + int(found[2]) == 9 and int(found[1]) <= 2, result.stderr)


def test_what_is_left_out_is_named_once():
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm", "b.pgm"))
        for name in ("x.bmp", "y.BMP", "z.nef", "notes"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"no image")
        with open(os.path.join(folder, "c.pgm"), "wb") as file:
            file.write(b"P5 8 6 255\nshort")
        os.symlink("nowhere.pgm", os.path.join(folder, "dangling.pgm"))
        os.symlink("nowhere.png", os.path.join(folder, "second.png"))
        os.symlink("../in", os.path.join(folder, "folder.pgm"))  # no file, as any other folder
        os.mkfifo(os.path.join(folder, "fifo.pgm"))
        result = place.run("apply", "transpose", folder, "-o", place.path("out/"), status=3)
        frame.check(summary(result) == (2, 1, 7), result.stderr)
        frame.check(result.stderr.count("x.bmp") == 1 and "x.bmp' and 1 more" in result.stderr, result.stderr)
        frame.check(result.stderr.count("z.nef") == 1 and result.stderr.count("notes") == 1, result.stderr)
        frame.check(result.stderr.count("/dangling.pgm' and 1 more: the symbolic link leads nowhere") == 1, result.stderr)
        frame.check(result.stderr.count("/fifo.pgm': it is a pipe or a device, not a file") == 1, result.stderr)
        frame.check("skipped" not in place.run("apply", "transpose", folder, "-o", place.path("out/"), "-q", status=3).stderr, "-q")
        lines = [json.loads(line) for line in place.run("apply", "transpose", folder, "-o", place.path("out/"), "--json",
                                                        status=3).stdout.splitlines()]
        told = sorted((line["status"], os.path.basename(line["input"])) for line in lines)
        frame.check(told == [("done", "a.pgm"), ("done", "b.pgm"), ("failed", "c.pgm"), ("skipped", "dangling.pgm"),
                             ("skipped", "fifo.pgm"), ("skipped", "notes"), ("skipped", "second.png"), ("skipped", "x.bmp"), ("skipped", "y.BMP"), ("skipped", "z.nef")], f"{told}")
        reasons = {os.path.basename(line["input"]): line.get("reason") for line in lines}
        frame.check("leads nowhere" in reasons["dangling.pgm"] and "pipe" in reasons["fifo.pgm"] and ".nef" in reasons["z.nef"], f"{reasons}")


def test_what_is_in_a_folder_without_images_is_named():
    with Place() as place:
        os.mkdir(place.path("in"))
        for name in ("x.bmp", "notes"):
            with open(place.path("in", name), "wb") as file:
                file.write(b"no image")
        given = ("apply", "transpose", place.path("in"), "-o", place.path("out/"))
        said = place.run(*given, status=3).stderr
        frame.check("x.bmp': hone reads no files of the kind .bmp" in said and "notes': the name has no suffix" in said, said)
        frame.check(said.splitlines()[-1].startswith("hone: no image in the folder"), said)
        told = json.loads(place.run(*given, "--json", status=3).stdout)
        frame.check(told["status"] == "failed" and "no image in the folder" in told["message"], f"{told}")


def test_pictures_of_black_and_white_become_gray():
    """PBM cannot hold the result; one whose name is taken then is a clash as any other."""
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm",))
        for name in "b.pbm", "C.PBM":
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"P4 8 2\n\xf0\x0f")
        place.run("apply", "box width=3 height=1", folder, "-o", place.path("out/"))
        frame.check(sorted(os.listdir(place.path("out"))) == ["C.pgm", "a.pgm", "b.pgm"], f"{os.listdir(place.path('out'))}")
        frame.check(read(place.path("out", "b.pgm")).endswith(bytes((0, 0, 0, 85, 170, 255, 255, 255, 255, 255, 255, 170, 85, 0, 0, 0))),
                    f"{read(place.path('out', 'b.pgm'))}")
        os.rename(os.path.join(folder, "b.pbm"), os.path.join(folder, "a.pbm"))
        result = place.any("apply", "box", folder, "-o", place.path("other/"))
        frame.check(result.returncode and "a.pgm" in result.stderr, f"{result.returncode}: {result.stderr}")


def test_links_to_folders_are_told():
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm",))
        os.makedirs(os.path.join(folder, "below"))
        os.symlink("..", os.path.join(folder, "below", "circle"))
        os.symlink("below", os.path.join(folder, "link"))
        os.symlink(place.path("out"), os.path.join(folder, "results"))
        for more, skipped in ((), 0), (("-r",), 2):
            os.makedirs(place.path("out"), exist_ok=True)
            result = place.run("apply", "transpose", folder, "-o", place.path("out/"), *more, "--json")
            lines = [json.loads(line) for line in result.stdout.splitlines()]
            told = [os.path.relpath(line["input"], folder) for line in lines if line["status"] == "skipped"]
            frame.check(told == ["below/circle", "link"][:skipped], f"{told}")
            frame.check(result.stderr.count("and 1 more: -r follows no symbolic links to folders") == skipped // 2, result.stderr)


def test_clashes_stop_only_themselves():
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm", "a.pnm", "a.ppm", "b.pgm", "b.pnm", "c.pgm"))
        result = place.run("apply", "transpose", folder, "-o", place.path("out/"), "--format", "png", status=2)
        frame.check(os.listdir(place.path("out")) == ["c.png"] and summary(result) == (1, 5, 0), result.stderr)
        clashes = [line for line in result.stderr.splitlines() if "become" in line]
        frame.check(len(clashes) == 2 and all(clashes[0].count(name) == 1 for name in ("a.pgm", "a.pnm", "a.ppm")), f"{clashes}")
        # An output that is another input: this one alone is left.
        os.rename(place.path("in", "c.pgm"), place.path("in", "c.png"))
        result = place.run("apply", "transpose", folder, "-o", folder + "/", status=2)
        frame.check(summary(result) == (0, 6, 0), result.stderr)


def test_names_that_differ_in_case_alone():
    """They are two outputs, and one where the file system does not tell them apart."""
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm", "A.PGM", "b.pgm"))
        command = ("apply", "transpose", folder, "--format", "png", "-o")
        place.run(*command, place.path("out/"))
        frame.check(sorted(os.listdir(place.path("out"))) == ["A.png", "a.png", "b.png"], f"{os.listdir(place.path('out'))}")
        fold = {"LD_PRELOAD": os.path.join(frame.build(), "tests", "fold.so"), "FOLD_FOLDER": place.path("folded"),
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        frame.check(os.path.exists(fold["LD_PRELOAD"]), "tests/fold.so is not built")
        os.mkdir(fold["FOLD_FOLDER"])
        result = place.run(*command, place.path("folded/"), status=2, **fold)
        frame.check(os.listdir(place.path("folded")) == ["b.png"] and summary(result) == (1, 2, 0), result.stderr)
        clash = [line for line in result.stderr.splitlines() if "would both become" in line]
        frame.check(len(clash) == 1 and "a.pgm" in clash[0] and "A.PGM" in clash[0] and "upper from lower case" in clash[0], result.stderr)


def test_outputs_that_are_there_are_left_on_request():
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm", "b.pgm"))
        command = ("apply", "transpose", folder, "-o", place.path("out/"))
        place.run(*command)
        with open(place.path("out", "a.pgm"), "wb") as file:
            file.write(b"mine")
        os.remove(place.path("out", "b.pgm"))
        frame.check(summary(place.run(*command, "--skip-existing")) == (1, 0, 1), "b alone is written")
        frame.check(read(place.path("out", "a.pgm")) == b"mine", "a was replaced")
        os.truncate(place.path("out", "b.pgm"), 0)
        frame.check(summary(place.run(*command, "--skip-existing")) == (1, 0, 1), "an empty file is no output")
        os.chmod(place.path("out", "a.pgm"), 0o444)
        result = place.run(*command, status=3)
        frame.check("write-protected" in result.stderr and summary(result) == (1, 1, 0), result.stderr)
        frame.check(read(place.path("out", "a.pgm")) == b"mine", "a write-protected file was replaced")
        place.run(*command, "--force")
        frame.check(read(place.path("out", "a.pgm")) != b"mine", "--force replaces it")


def shorten(path, touch):
    """As a power cut does, which leaves the time of the last write; or as somebody does, at another time."""
    info = os.stat(path)
    os.truncate(path, info.st_size - 1)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns + touch))


def test_an_output_that_a_power_cut_shortened_is_none():
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm", "b.pgm", "c.pgm"))
        command = ("apply", "transpose", folder, "-o", place.path("out/"))
        place.run(*command)
        whole = read(place.path("out", "a.pgm"))
        if not keeps_attributes(place):
            return
        shorten(place.path("out", "a.pgm"), 0)
        shorten(place.path("out", "b.pgm"), 1)
        frame.check(summary(place.run(*command, "--skip-existing")) == (1, 0, 2), "a alone is written")
        frame.check(read(place.path("out", "a.pgm")) == whole, "a is whole again")
        frame.check(len(read(place.path("out", "b.pgm"))) == len(whole) - 1, "b is as somebody left it")


def keeps_attributes(place):
    try:
        os.setxattr(place.path(), "user.hone", b"")
        return True
    except OSError:
        return False


def write_film(path, frames=3):
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W16 H8 F25:1 Ip A1:1 C420jpeg\n" + frames * (b"FRAME\n" + bytes(range(192))))


def test_an_update_does_what_is_missing_or_out_of_date():
    with Place() as place:
        folder = folder_of_pictures(place, ("a.pgm", "b.pgm", "c.pgm"))
        weights = place.path("weights.txt")
        with open(weights, "w", encoding="utf-8") as file:
            file.write(3 * "1 2 1\n")

        def update(*options, chain=f"convolve kernel={weights} scale=0.08"):
            return summary(place.run("apply", chain, folder, "-o", place.path("out/"), "--update", *options))

        if not keeps_attributes(place):
            frame.check(update() == update() == (3, 0, 0), "nothing tells what is up to date: all is done")
            return
        place.run("apply", f"convolve kernel={weights} scale=0.08", folder, "-o", place.path("out/"))
        frame.check(update() == (0, 0, 3), "what a run without --update made is known, too")
        os.remove(place.path("out", "b.pgm"))
        write_picture(place.path("in", "c.pgm"), shift=1)
        frame.check(update() == (2, 0, 1), "b is missing, c has changed")
        with open(place.path("out", "a.pgm"), "wb") as file:
            file.write(b"mine")
        os.removexattr(place.path("out", "a.pgm"), "user.hone.made")
        frame.check(update() == (1, 0, 2), "nobody knows what a was made of")
        os.truncate(place.path("out", "a.pgm"), 20)
        frame.check(update() == (1, 0, 2), "a is shorter than what was written, as after a power cut")
        frame.check(update("--sync") == (0, 0, 3), "how outputs are written does not change them")
        frame.check(update(chain="sobel") == update(chain="sobel", *("--alpha", "copy")) == (3, 0, 0), "other chains and options")
        frame.check(update() == (3, 0, 0) and update() == (0, 0, 3), "and back")
        with open(weights, "w", encoding="utf-8") as file:
            file.write(3 * "1 3 1\n")
        frame.check(update() == (3, 0, 0), "other weights")


def test_an_update_ends_what_was_killed():
    with Place() as place:
        folder = folder_of_pictures(place, [f"{i:02}.{('pgm', 'pnm')[i % 2]}" for i in range(30)])
        write_film(place.path("in", "film.y4m"))
        command = ("apply", "box size=3", folder, "-o", place.path("out/"), "--update", "-j", "1")
        if not keeps_attributes(place):
            return
        with subprocess.Popen([os.path.join(frame.build(), "hone"), *command, "--json"], stdout=subprocess.PIPE,
                              env=place.environment) as process:
            for _ in range(7):
                process.stdout.readline()
            process.kill()
            process.stdout.read()  # ends with the last of its processes
        done = {name: os.stat(place.path("out", name)).st_mtime_ns for name in os.listdir(place.path("out")) if name[0] != "."}
        frame.check(7 <= len(done) <= 31, f"{done}")
        frame.check(summary(place.run(*command)) == (31 - len(done), 0, len(done)), "exactly what is missing is done")
        frame.check(all(os.stat(place.path("out", name)).st_mtime_ns == time for name, time in done.items()), "outputs were replaced")
        frame.check(sorted(os.listdir(place.path("out"))) == sorted(os.listdir(folder)), f"{os.listdir(place.path('out'))}")


def test_progress_fits_the_terminal_and_tells_the_time_left():
    with Place() as place:
        folder = folder_of_pictures(place, [f"{i}{'long name ' * 6}.pgm" for i in range(8)])
        for columns in (20, 80):
            lines = place.on_terminal(columns, "apply", "box size=3", folder, "-o", place.path("out/"), "-j1")
            frame.check(all(len(line) <= columns for line in lines if "written in" not in line), f"{columns}: {lines}")
            frame.check(any(re.match(r"8 of 8, \d+ s left", line) for line in lines) or columns < 80, f"{lines}")
        quiet = place.run("apply", "box size=3", folder, "-o", place.path("out/")).stderr
        frame.check(re.fullmatch(r"hone: 8 written in [\d.]+ s\n", quiet), f"not on a terminal: {quiet}")
        lines = place.on_terminal(80, "apply", "box size=3", folder, "-o", place.path("out/"), kind="dumb")
        frame.check("8 written" in "".join(lines) and not any(re.match(r"\d of 8", line) for line in lines), f"without a cursor: {lines}")


def test_temporary_files_of_killed_runs_are_removed():
    with Place() as place:
        folder, out = folder_of_pictures(place, [f"{i}.pgm" for i in range(6)], 900, 700), place.path("out")
        command = ("apply", "transpose", folder, "-o", out + "/", "--format", "png")
        place.run(*command)
        left = []
        for _ in range(30):
            process = subprocess.Popen([os.path.join(frame.build(), "hone"), *command, "-q"], env=place.environment)
            while process.poll() is None and not left:
                left = [name for name in os.listdir(out) if name.startswith(".hone-")]
            process.kill()
            process.wait()
            left = [name for name in os.listdir(out) if name.startswith(".hone-")]
            if left:
                break
        frame.check(left, "no run was killed while it wrote")
        parts = left[0].split("-")
        alive, foreign = "-".join([*parts[:2], str(os.getpid()), *parts[3:]]), "-".join([parts[0], "00000000", *parts[2:]])
        for name in (alive, foreign):
            with open(os.path.join(out, name), "wb"):
                pass
        place.run(*command)
        kept = sorted(name for name in os.listdir(out) if name.startswith(".hone-"))
        frame.check(kept == sorted((alive, foreign)), f"{left} became {kept}")


# Of libvips's loaders, those of tables, of frames alone and of what is hidden behind another suffix aside.
SUFFIXES = """.png .tif .tiff .jpg .jpeg .jpe .webp .gif .avif .heic .heif .pam .pgm .ppm .pnm .pbm .pfm .csv .json .jp2 .j2k .jpt .j2c
    .jpc .jpx .jxl .svg .svgz .pdf .hdr .exr .fits .fit .fts .svs .vms .vmu .ndpi .scn .mrxs .bif .nii .nia .img .v .vips .mat .bmp .ico
    .dcm .nef .txt .mp4 .m4v .mov .mkv .webm .avi .ts .m2ts .mts .mpg .mpeg .vob .ogv .nut .y4m .wmv .flv""".split()


def test_formats_lists_what_a_folder_gives():
    with Place() as place:
        os.mkdir(place.path("in"))
        for suffix in SUFFIXES:
            with open(place.path("in", "a" + suffix), "wb"):
                pass
        result = place.run("apply", "transpose", place.path("in"), "-o", place.path("out/"), "--json", "-q", status=3)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        taken = {os.path.splitext(line["input"])[1] for line in lines if line["status"] != "skipped"}
        formats = json.loads(place.run("formats", "--json").stdout)
        listed = {suffix for kind in formats.values() for one in kind if one["reads"] for suffix in one["suffixes"].split()}
        raw = {".yuv", ".rgb", ".raw"}  # are read with --raw alone
        frame.check(taken == listed - raw, f"not listed: {taken - listed}; not taken: {listed - raw - taken}")


def test_options_of_files():
    """Against the bytes of the formats themselves: TIFF's tags, markers of JPEG, brands of HEIF."""
    with Place() as place:
        write_picture(place.path("a.pgm"), 64, 64)
        with open(place.path("rgba.pam"), "wb") as file:  # red, half of it; hidden green
            file.write(b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + bytes((255, 0, 0, 51, 0, 255, 0, 0)))
        apply = functools.partial(place.run, "apply", "transpose")
        for name, option, known in (("x.png", ("--quality", "50"), "JPEG"), ("x.jpg", ("--compression", "lzw"), "TIFF"),
                                    ("x.tif", ("--compression", "lzv"), "lzw"), ("x.jpg", ("--background", "rde"), "white")):
            frame.check(known in apply(place.path("a.pgm"), "-o", place.path(name), *option, status=2).stderr, f"{name} {option}")
        tags = {}
        for name, source, options in (("plain", "a.pgm", ()), ("lzw", "a.pgm", ("--compression", "lzw")), ("kept", "lzw.tif", ()),
                                      ("none", "lzw.tif", ("--compression", "none"))):
            apply(place.path(source), "-o", place.path(name + ".tif"), *options)
            tags[name] = tiff_tags(read(place.path(name + ".tif")))[259]
        frame.check(tags == {"plain": 1, "lzw": 5, "kept": 5, "none": 1}, f"compression: {tags}")
        said = apply(place.path("rgba.pam"), "-o", place.path("x.ppm"), status=2).stderr
        frame.check("alpha" in said and ", or blend it over a --background" in said, f"no background: {said}")
        apply(place.path("rgba.pam"), "-o", place.path("x.ppm"), "--background", "#0000ff")
        frame.check(read(place.path("x.ppm"))[-6:] == bytes((51, 0, 204, 0, 0, 255)), f"{read(place.path('x.ppm'))}")
        written = [line.split()[0] for line in place.run("formats").stdout.splitlines() if " yes   yes " in line]
        for name, brand in (("avif", b"ftypavif"), ("heic", b"ftyphei")):
            if name.upper() in written:
                apply(place.path("a.pgm"), "-o", place.path("x." + name))
                frame.check(brand in read(place.path("x." + name))[:16], f"{read(place.path('x.' + name))[:16]}")


def tiff_tags(data):
    """Tag and value of the first image of a little-endian TIFF, for tags with one number."""
    at = struct.unpack_from("<I", data, 4)[0]
    entries = struct.unpack_from("<H", data, at)[0]
    tags = {}
    for i in range(entries):
        tag, kind, _, value = struct.unpack_from("<HHII", data, at + 2 + 12 * i)
        tags[tag] = value & 0xffff if kind == 3 else value
    return tags


if __name__ == "__main__":
    frame.main(globals())
