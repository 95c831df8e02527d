#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What hone apply writes to standard output.  output.py build=FOLDER"""

import json
import os
import shutil
import stat
import subprocess

import frame
from place import Place

WIDTH, HEIGHT = 5, 3
PIXELS = bytes((x * x * 11 + y * 40) & 255 for y in range(HEIGHT) for x in range(WIDTH))


def picture(place):
    with open(place.path("in.pgm"), "wb") as file:
        file.write(b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + PIXELS)
    return place.path("in.pgm")


def pixels_of(raw):
    """Size and pixels of a binary PGM without comments."""
    kind, width, height, white = raw.split(maxsplit=4)[:4]
    frame.check(kind == b"P5" and white == b"255", f"no PGM of bytes: {raw[:40]}")
    return int(width), int(height), raw[-int(width) * int(height):]


def refused(place, wanted, *arguments):
    said = place.run("apply", *arguments, status=2)
    report = json.loads(said.stdout) if "--json" in arguments and said.stdout else None
    quiet = not said.stdout or (report and report["status"] == "failed")  # no pixel or number, at most the report
    frame.check(wanted in said.stderr and quiet, f"{arguments}: {said.stdout[:80]}{said.stderr}")


def test_a_table_is_csv_or_json():
    counts = [0] * 4
    for value in PIXELS:
        counts[value // 64] += 1
    with Place() as place:
        text = place.run("apply", "histogram bins=4", picture(place), "-o", "-").stdout
        lines = "".join(f"{64 * i},{64 * (i + 1)},{counts[i]}\n" for i in range(4))
        frame.check(text == "from,to,count\n" + lines, f"CSV: {text}")
        for suffix in ("json", ".json"):
            table = json.loads(place.run("apply", "histogram bins=4", picture(place), "-o", "-", "--format", suffix).stdout)
            frame.check(table["rows"] == [counts] and table["width"] == 4 and table["edges"] == [0, 64, 128, 192, 256], f"JSON: {table}")
        frame.check(os.listdir(place.folder) in (["in.pgm", "cache"], ["cache", "in.pgm"]), f"{os.listdir(place.folder)}")


def test_a_picture_goes_in_the_format_that_is_named():
    turned = bytes(PIXELS[y * WIDTH + x] for x in range(WIDTH) for y in range(HEIGHT))
    with Place() as place:
        command = [os.path.join(frame.build(), "hone"), "apply", "transpose", picture(place), "-o", "-", "--format"]
        raw = subprocess.run([*command, "pgm"], capture_output=True, env=place.environment, check=True).stdout
        frame.check(pixels_of(raw) == (HEIGHT, WIDTH, turned), f"{raw}")
        text = place.run(*command[1:], "csv").stdout
        rows = [list(turned[y * HEIGHT:(y + 1) * HEIGHT]) for y in range(WIDTH)]
        frame.check([[int(n) for n in line.split(",")] for line in text.splitlines()] == rows, text)
        refused(place, "--format csv", "transpose", picture(place), "-o", "-")


def test_what_cannot_be_is_refused():
    with Place() as place:
        name = picture(place)
        refused(place, "-o FOLDER/", "histogram", name, name, "-o", "-")
        refused(place, "-o FOLDER/", "histogram", place.folder, "-o", "-")
        refused(place, "--json", "histogram", name, "-o", "-", "--json")
        refused(place, "one of", "histogram", name, "-o", "-", "--format", "xyz")


def test_a_pipe_or_a_device_is_not_replaced():
    """Also where a link leads to it, in a folder, and by a video; the names of standard output mean that."""
    with Place() as place:
        name = picture(place)
        os.mkdir(place.path("folder"))
        for fifo in ("pipe.pgm", "pipe.y4m", "folder/in.pgm"):
            os.mkfifo(place.path(fifo))
        os.symlink("pipe.pgm", place.path("link.pgm"))
        for out, more in (("pipe.pgm", ()), ("link.pgm", ()), ("pipe.y4m", ()), ("/dev/null", ("--format", "png"))):
            out = place.path(out)
            suffix = "SUFFIX" if more else out[-3:]
            refused(place, f"-o - --format {suffix} > '{out}'", "transpose", name, "-o", out, *more)
        refused(place, "-o - --format pgm > '", "transpose", name, "-o", place.path("folder/"))
        for fifo in ("pipe.pgm", "pipe.y4m", "folder/in.pgm"):
            frame.check(stat.S_ISFIFO(os.stat(place.path(fifo)).st_mode), f"{fifo} is replaced")
        command = [os.path.join(frame.build(), "hone"), "apply", "transpose", name, "--format", "pgm", "-o"]
        wanted, *others = (subprocess.run([*command, out], capture_output=True, env=place.environment, check=True).stdout
                           for out in ("-", "/dev/stdout", "/dev/fd/1"))
        frame.check(wanted and others == [wanted] * 2, f"{wanted} {others}")


def test_a_trace_replaces_nothing_that_the_run_needs():
    """Under another path, by a link, and before the file is there, too."""
    with Place() as place:
        name = picture(place)
        os.symlink("in.pgm", place.path("link.pgm"))
        os.mkfifo(place.path("pipe"))
        os.mkdir(place.path("folder"))
        out, around = place.path("new.pgm"), place.path("folder", "..")
        for trace in (name, out, f"{around}/in.pgm", f"{around}/new.pgm"):
            refused(place, "would replace", "transpose", place.path("link.pgm"), "-o", out, "--trace", trace)
        refused(place, "would replace", f"add image={name}", place.path("link.pgm"), "-o", out, "--trace", name)
        refused(place, "a pipe or a device", "transpose", name, "-o", out, "--trace", place.path("pipe"))
        said = place.run("profile", "transpose", name, "--trace", name, status=2).stderr
        frame.check("would replace" in said, said)
        with open(name, "rb") as file:
            frame.check(not os.path.exists(out) and pixels_of(file.read())[2] == PIXELS, "something was written")
        place.run("apply", "transpose", name, "-o", out, "--trace", place.path("trace.json"))
        with open(place.path("trace.json"), encoding="utf-8") as file:
            frame.check(json.load(file)["traceEvents"], "no trace")


def test_what_a_chain_reads_is_replaced_by_nothing():
    """A second image, a kernel in a file and a filter of one's own; and the records, by what is made of them."""
    with Place() as place:
        name, out = picture(place), place.path("out.pgm")
        place.environment["XDG_DATA_HOME"] = place.folder
        records = place.path("hone", "tuning.jsonl")
        files = {place.path("other.pgm"): "add image={}", place.path("k.csv"): "convolve kernel={}", place.path("own.cl"): "{}"}
        shutil.copy(name, place.path("other.pgm"))
        for path, text in ((place.path("k.csv"), "0 1 0\n"), (place.path("own.cl"), "//@filter summary a copy\nhone_pixel { return hone_in(0, 0); }\n")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        place.run("tune", "gray", "--size", "16x16", "--format", "u8", "--evaluations", "1")
        before = {path: os.stat(path) for path in (*files, records)}
        for path, chain in files.items():
            chain, other = chain.format(path), os.path.join(place.folder, ".", os.path.basename(path))
            refused(place, "would replace", chain, name, "-o", out, "--trace", other)
            for command in (("profile", chain, name, "--trace"), ("bench", chain, "--html"), ("tune", chain, "--export")):
                said = place.run(*command, other, status=2).stderr
                frame.check("would replace" in said, f"{command}: {said}")
        refused(place, "the same file as the input", f"convolve kernel={place.path('k.csv')}", name, "-o", place.path("k.csv"))
        for command in (("bench", "gray", "--html"), ("tune", "gray", "--export")):
            said = place.run(*command, records, status=2).stderr
            frame.check("would replace" in said, f"{command}: {said}")
        for path, was in before.items():
            now = os.stat(path)
            frame.check((now.st_ino, now.st_size) == (was.st_ino, was.st_size), f"{path} is another file")


def test_nothing_is_said_where_nothing_is_wrong():
    """Not by the compiler either, whose vectors may be those of an older processor."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        older = {"POCL_KERNELLIB_NAME": "avx2"} if " avx2 " in file.read() else {}
    with Place() as place:
        for chain in ("box size=8", "sobel"):
            command = [os.path.join(frame.build(), "hone"), "apply", chain, picture(place), "-o", place.path("out.pgm")]
            said = subprocess.run(command, capture_output=True, text=True, env={**place.environment, **older}, check=True)
            frame.check(not said.stdout and not said.stderr, f"{chain}: {said.stdout}{said.stderr}")


def test_a_full_or_closed_output_is_an_error():
    with Place() as place, open("/dev/full", "wb") as full:
        command = [os.path.join(frame.build(), "hone"), "apply", "histogram", picture(place), "-o", "-"]
        said = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=place.environment, check=False)
        frame.check(said.returncode == 3 and "standard output" in said.stderr, f"full: {said.returncode} {said.stderr}")
        end, begin = os.pipe()
        os.close(end)
        said = subprocess.run(command, stdout=begin, stderr=subprocess.PIPE, text=True, env=place.environment, check=False)
        os.close(begin)
        frame.check(said.returncode == 3 and "standard output" in said.stderr, f"closed: {said.returncode} {said.stderr}")


if __name__ == "__main__":
    frame.main(globals())
