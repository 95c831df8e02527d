#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone apply on videos, against NumPy, ffmpeg and ffprobe.  video.py build=FOLDER"""

import contextlib
import fcntl
import glob
import hashlib
import itertools
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import numpy as np

import frame
from place import Place

WIDTH, HEIGHT = 70, 50  # chroma of half the size, too
# Subsampling of chroma, across and down; None: there is none.
SHAPES = {"420": (2, 2), "422": (2, 1), "444": (1, 1), "gray": None}


class Here(Place):
    """With one cache for all tests: what one compiled, the next one has."""

    shared = None

    def __init__(self):
        super().__init__()
        if not Here.shared:
            Here.shared = Place()
        self.environment["XDG_CACHE_HOME"] = Here.shared.path("cache")


def ffmpeg(*arguments, data=None):
    result = subprocess.run(["ffmpeg", "-v", "error", "-nostdin" if data is None else "-y", "-bitexact", *arguments],
                            input=data, capture_output=True, check=False)
    frame.check(result.returncode == 0, f"ffmpeg {' '.join(arguments)}: {result.stderr.decode()[-400:]}")
    return result.stdout


def probe(path, *entries):
    result = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *entries, path], capture_output=True, text=True,
                            check=False)
    frame.check(result.returncode == 0, f"ffprobe {path}: {result.stderr[-400:]}")
    return json.loads(result.stdout)


def plane_shapes(kind, width=WIDTH, height=HEIGHT):
    by = SHAPES[kind]
    return [(height, width)] + ([(-(-height // by[1]), -(-width // by[0]))] * 2 if by else [])


def planar_format(kind, bits):
    return ("gray" if kind == "gray" else f"yuv{kind}p") + (f"{bits}le" if bits > 8 else "")


def random_frames(kind, bits, count, seed=1):
    """Frames as lists of planes: blurred noise, with the ends of the range in it."""
    noise = np.random.default_rng(seed)
    most = (1 << bits) - 1
    frames = []
    for _ in range(count):
        planes = [noise.integers(0, most + 1, shape) for shape in plane_shapes(kind)]
        for plane in planes:
            plane[:4, :4] = (0, 1, most - 1, most)
        frames.append(planes)
    return frames


def to_bytes(frames, bits):
    return b"".join(plane.astype("<u2" if bits > 8 else "u1").tobytes() for planes in frames for plane in planes)


def from_bytes(data, kind, bits):
    shapes = plane_shapes(kind)
    values = np.frombuffer(data, "<u2" if bits > 8 else "u1").astype(np.int64)
    size = sum(h * w for h, w in shapes)
    frame.check(len(values) % size == 0, f"{len(values)} samples are no frames of {size}")
    frames, at = [], 0
    while at < len(values):
        planes = []
        for h, w in shapes:
            planes.append(values[at:at + h * w].reshape(h, w))
            at += h * w
        frames.append(planes)
    return frames


def write_video(path, frames, kind, bits, *options, stored=None, codec="ffv1"):
    ffmpeg("-f", "rawvideo", "-pix_fmt", planar_format(kind, bits), "-s", f"{WIDTH}x{HEIGHT}", "-r", "25", "-i", "-",
           "-c:v", codec, "-pix_fmt", stored or planar_format(kind, bits), *options, path, data=to_bytes(frames, bits))


def read_video(path, kind, bits):
    return from_bytes(ffmpeg("-i", path, "-map", "0:v:0", "-f", "rawvideo", "-fps_mode", "passthrough", "-pix_fmt",
                             planar_format(kind, bits), "-"), kind, bits)


def box3(plane, bits):
    """A mean of 3x3 in the levels that filters see: of 65535 for more than 8 bits, shifted up and rounded back."""
    up = 16 - bits if bits > 8 else 0
    wide = np.pad(plane << up, 1, mode="edge")
    h, w = plane.shape
    mean = (sum(wide[y:y + h, x:x + w] for y in range(3) for x in range(3)) * 2 + 9) // 18
    return np.minimum((mean + ((1 << up) >> 1)) >> up, (1 << bits) - 1)


def check_frames(got, wanted, text):
    frame.check(len(got) == len(wanted), f"{text}: {len(got)} frames, not {len(wanted)}")
    for number, (a, b) in enumerate(zip(got, wanted), 1):
        for i, (plane, expected) in enumerate(zip(a, b)):
            frame.check(np.array_equal(plane, expected), f"{text}: frame {number}, plane {i}: "
                        f"{np.count_nonzero(plane != expected)} samples differ by up to {abs(plane - expected).max()}")


# ---- Pixels ----

def test_every_layout_is_filtered_and_the_rest_stays():
    """Luma or all planes against NumPy, in every layout and depth; without loss, so chroma has to stay to the bit."""
    cases = [("420", 8, None, "ffv1", "mkv"), ("422", 8, None, "ffv1", "mkv"), ("444", 8, None, "ffv1", "mkv"),
             ("gray", 8, None, "ffv1", "mkv"), ("420", 10, None, "ffv1", "mkv"), ("422", 10, None, "ffv1", "mkv"),
             ("444", 10, None, "ffv1", "mkv"), ("gray", 10, None, "ffv1", "mkv"), ("420", 12, None, "ffv1", "mkv"),
             ("444", 16, None, "ffv1", "mkv"), ("420", 8, "nv12", "rawvideo", "nut"),
             ("420", 8, "nv21", "rawvideo", "nut"), ("422", 8, "yuyv422", "rawvideo", "nut")]
    with Here() as place:
        for kind, bits, stored, codec, suffix in cases:
            frames = random_frames(kind, bits, 3)
            write_video(place.path("in." + suffix), frames, kind, bits, stored=stored, codec=codec)
            for planes in ("luma", "all"):
                out = place.path(f"{kind}-{bits}-{stored}-{planes}.{suffix}")
                place.run("apply", "box size=3", place.path("in." + suffix), "-o", out, "--planes", planes)
                wanted = [[box3(p, bits) if i == 0 or planes == "all" else p for i, p in enumerate(f)] for f in frames]
                check_frames(read_video(out, kind, bits), wanted, f"{kind} {bits} {stored} {planes}")
                made = probe(out, "-show_streams")["streams"][0]
                frame.check((made["codec_name"], made["pix_fmt"]) == (codec, stored or planar_format(kind, bits)), f"{made}")


def test_semi_planar_frames_reach_encoders_that_take_none():
    with Here() as place:
        for kind, stored in (("420", "nv12"), ("422", "yuyv422")):
            frames = random_frames(kind, 8, 2)
            write_video(place.path("in.nut"), frames, kind, 8, stored=stored, codec="rawvideo")
            place.run("apply", "box size=3", place.path("in.nut"), "-o", place.path("out.mkv"), "--codec", "ffv1")
            check_frames(read_video(place.path("out.mkv"), kind, 8), [[box3(f[0], 8), *f[1:]] for f in frames], stored)


def test_frames_are_what_hone_makes_of_pictures():
    with Here() as place:
        frames = random_frames("420", 8, 3)
        write_video(place.path("in.mkv"), frames, "420", 8)
        os.mkdir(place.path("luma"))
        for i, planes in enumerate(frames):
            with open(place.path("luma", f"{i}.pgm"), "wb") as file:
                file.write(b"P5 %d %d 255\n" % (WIDTH, HEIGHT) + planes[0].astype("u1").tobytes())
        chain = "epsilon threshold=90 radius=2 | gaussian sigma=1"
        place.run("apply", chain, place.path("luma"), "-o", place.path("out/"), "-q")
        place.run("apply", chain, place.path("in.mkv"), "-o", place.path("out.mkv"))
        wanted = []
        for i, planes in enumerate(frames):
            with open(place.path("out", f"{i}.pgm"), "rb") as file:
                pixels = np.frombuffer(file.read()[-WIDTH * HEIGHT:], "u1").reshape(HEIGHT, WIDTH)
            wanted.append([pixels.astype(np.int64), *planes[1:]])
        check_frames(read_video(place.path("out.mkv"), "420", 8), wanted, chain)


def test_what_a_filter_leaves_alone_stays():
    """All values of 10 bits; and levels in per cent are as strong as in 8 bits."""
    with Here() as place:
        plane = (np.arange(WIDTH * HEIGHT) % 1024).reshape(HEIGHT, WIDTH)
        write_video(place.path("in.mkv"), [[plane]], "gray", 10)
        result = place.run("apply", "epsilon threshold=0 radius=1", place.path("in.mkv"), "-o", place.path("out.mkv"))
        frame.check("levels of 65535" not in result.stderr, f"nothing to warn of: {result.stderr}")
        check_frames(read_video(place.path("out.mkv"), "gray", 10), [[plane]], "identity")
        result = place.run("apply", "epsilon threshold=12", place.path("in.mkv"), "-o", place.path("out.mkv"))
        frame.check("threshold=12 means levels of 65535; threshold=4.7% is as strong" in result.stderr, result.stderr)
        result = place.run("apply", "epsilon threshold=300", place.path("in.mkv"), "-o", place.path("out.mkv"))
        frame.check("levels of 65535" not in result.stderr, f"300 is no level of 8 bits: {result.stderr}")


# ---- Everything else in a file ----

METADATA = """;FFMETADATA1
title=A title
[CHAPTER]
TIMEBASE=1/1000
START=0
END=400
title=first
[CHAPTER]
TIMEBASE=1/1000
START=400
END=1200
title=second
"""


def rich_video(place, name, codec="libx264", more=()):
    """Frames of varying length, sound, subtitles, chapters, a title, colour tags, rotation."""
    with open(place.path("meta.txt"), "w", encoding="ascii") as file:
        file.write(METADATA)
    with open(place.path("text.srt"), "w", encoding="ascii") as file:
        file.write("1\n00:00:00,200 --> 00:00:00,700\nHello\n\n")
    ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=1.2", "-f", "lavfi", "-i",
           "sine=frequency=440:duration=1.2:sample_rate=44100", "-i", place.path("text.srt"), "-i", place.path("meta.txt"),
           "-map", "0:v", "-map", "1:a", "-map", "2:s", "-map_metadata", "3", "-map_chapters", "3",
           "-vf", r"select=not(eq(mod(n\,7)\,3)+eq(mod(n\,5)\,2)),format=yuv420p,setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709",
           "-fps_mode", "vfr", "-c:v", codec, "-c:a", "aac", "-metadata:s:a", "language=fra", *more, place.path(name))


def turn(path):
    """Turns the first track of an MP4 file by a right angle: FFmpeg 5 has no option for that."""
    with open(path, "r+b") as file:
        content = file.read()
        file.seek(content.index(b"tkhd") + 44)  # version 0: nine fields before the matrix
        file.write(struct.pack(">9i", 0, 1 << 16, 0, -(1 << 16), 0, 0, 64 << 16, 0, 1 << 30))


def packets(path, stream):
    """(time, length, content) of each packet, by time."""
    listed = probe(path, "-select_streams", stream, "-show_packets", "-show_data_hash", "md5")["packets"]
    return sorted((float(p["pts_time"]), float(p.get("duration_time", 0)), p["data_hash"]) for p in listed)


def rotation(stream):
    return [d["rotation"] for d in stream.get("side_data_list", []) if "rotation" in d]


def check_everything(source, out, text):
    a, b = (probe(path, "-show_streams", "-show_chapters", "-show_format") for path in (source, out))
    kinds = [[s["codec_type"] for s in x["streams"] if s["codec_type"] != "data"] for x in (a, b)]  # data: chapters of MP4
    frame.check(kinds[0] == kinds[1] == ["video", "audio", "subtitle"], f"{text}: {kinds[1]}")
    times = [[t for t, _, _ in packets(path, "v:0")] for path in (source, out)]
    frame.check(times[0] == times[1] and len(set(np.diff(times[0]).round(4))) > 1, f"{text}: time stamps {times}")
    copied = "-copied".join(os.path.splitext(source))
    ffmpeg("-copyts", "-i", source, "-map", "0:v", "-map", "0:a", "-map", "0:s", "-c", "copy", copied)  # may end with the last packet
    lengths = [float(x["format"]["duration"]) for x in (probe(copied, "-show_format"), b)]
    frame.check(abs(lengths[0] - lengths[1]) < 0.003, f"{text}: the length {lengths}")
    for stream in ("a:0", "s:0"):
        frame.check(packets(source, stream) == packets(out, stream), f"{text}: packets of {stream} differ")
    for key in ("width", "height", "pix_fmt", "codec_name", "color_range", "color_space", "color_transfer",
                "color_primaries", "sample_aspect_ratio", "r_frame_rate", "field_order"):
        frame.check(a["streams"][0].get(key) == b["streams"][0].get(key),
                    f"{text}: {key} {a['streams'][0].get(key)} became {b['streams'][0].get(key)}")
    frame.check(all(a["streams"][0].get("color_" + key) == "bt709" for key in ("space", "transfer", "primaries")), f"{text}: the test has no colours")
    frame.check(rotation(a["streams"][0]) == rotation(b["streams"][0]), f"{text}: rotation {b['streams'][0]}")
    frame.check(b["streams"][1]["tags"]["language"] == "fra" and b["format"]["tags"]["title"] == "A title", f"{text}: tags")
    chapters = [[(c["start_time"], c["end_time"], c["tags"]["title"]) for c in x["chapters"]] for x in (a, b)]
    frame.check(len(chapters[0]) == 2 and chapters[0] == chapters[1], f"{text}: chapters {chapters}")
    return a["streams"][0]


def test_everything_else_is_kept():
    with Here() as place:
        rich_video(place, "in.mp4", more=("-c:s", "mov_text"))
        turn(place.path("in.mp4"))
        place.run("apply", "box size=3", place.path("in.mp4"), "-o", place.path("out.mp4"))
        stream = check_everything(place.path("in.mp4"), place.path("out.mp4"), "MP4")
        frame.check(rotation(stream) == [90] or rotation(stream) == [-90], f"the test has no rotation: {stream}")
        place.run("apply", "box size=3", place.path("in.mp4"), "-o", place.path("out.mkv"))
        tags = probe(place.path("out.mkv"), "-show_format")["format"]["tags"]
        frame.check("A title" in tags.values() and not any("brand" in key.lower() for key in tags), f"those of the old file: {tags}")
        rich_video(place, "in.mkv", codec="ffv1", more=("-c:s", "srt"))
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.mkv"), "--force")
        check_everything(place.path("in.mkv"), place.path("out.mkv"), "Matroska")


def test_covers_and_attached_files_stay():
    """A cover is a file in Matroska and a stream in MP4, with the same bytes in both; --strip takes neither it nor the name of a font."""
    video = ("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=0.2", "-map", "0", "-pix_fmt:v:0", "yuv420p", "-c:v:0", "libx264")
    with Here() as place:
        for kind, codec in (("png", "png"), ("jpg", "mjpeg")):
            cover = place.path("c." + kind)
            ffmpeg("-f", "lavfi", "-i", "testsrc=size=32x16", "-frames:v", "1", "-pix_fmt", "rgb24" if kind == "png" else "yuvj420p", cover)
            with open(cover, "rb") as file:
                wanted = "MD5:" + hashlib.md5(file.read()).hexdigest()
            ffmpeg(*video[:4], "-i", cover, *video[4:], "-map", "1", "-c:v:1", "copy", "-disposition:v:1", "attached_pic", place.path(f"{kind}.mp4"))
            ffmpeg(*video, "-attach", cover, "-metadata:s:1", f"mimetype=image/{'png' if kind == 'png' else 'jpeg'}", "-metadata:s:1", "filename=my",
                   "-attach", __file__, "-metadata:s:2", "mimetype=font/ttf", "-metadata:s:2", "filename=a.ttf", place.path(f"{kind}.mkv"))
            for source, out, name, *options in (("mp4", "mkv", "cover." + kind), ("mkv", "mkv", "my", "--strip"), ("mkv", "mp4", None)):
                result = place.run("apply", "box size=3", place.path(f"{kind}.{source}"), "-o", place.path("out." + out), "--force", *options)
                streams = probe(place.path("out." + out), "-show_streams")["streams"]
                text = f"{kind}, {source} to {out}: {streams[1:]} {result.stderr}"
                frame.check((streams[1]["codec_name"], streams[1]["disposition"]["attached_pic"]) == (codec, 1), text)
                shown = probe(place.path("out." + out), "-select_streams", "1", "-show_packets", "-show_data_hash", "md5")["packets"]
                frame.check(streams[1].get("tags", {}).get("filename") == name and [p["data_hash"] for p in shown] == [wanted], text)
                frame.check((len(streams) == 3 and streams[2]["tags"]["filename"] == "a.ttf") == (bool(options)), text)
                frame.check(result.stderr.count("left out") == (source == "mkv" and out == "mp4"), text)


def test_time_codes_stay_with_their_frames():
    """Where a format holds them, without a word; frame 5 has the one of the first frame and four more, over the two that are dropped each minute."""
    with Here() as place:
        for rate, first, fifth in (("25", "00:00:59:23", "00:01:00:02"), ("30000/1001", "01:00:59;28", "01:01:00;04")):
            ffmpeg("-f", "lavfi", "-i", f"testsrc2=size=96x64:rate={rate}", "-frames:v", "8", "-pix_fmt", "yuv420p", "-c:v", "libx264",
                   "-timecode", first, "-y", place.path("in.mov"))
            for out, tracks in (("out.mov", 2), ("out.mp4", 2), ("out.mkv", 1)):
                for options, wanted in (((), first), (("--frames", "5-"), fifth)):
                    result = place.run("apply", "box size=3", place.path("in.mov"), "-o", place.path(out), "--force", *options)
                    told = [{k.lower(): v for k, v in s["tags"].items()}["timecode"] for s in probe(place.path(out), "-show_streams")["streams"]]
                    frame.check(told == [wanted] * tracks and not result.stderr, f"{out} {options}: {told} {result.stderr}")
        result = place.run("apply", "box size=3", place.path("in.mov"), "-o", place.path("out.ts"))
        frame.check("(data, time code) is left out" in result.stderr and ".mp4, .mov, .mkv\n" in result.stderr, result.stderr)
        result = place.run("apply", "box size=3", place.path("in.mov"), "-o", place.path("out.mov"), "--force", "--strip")
        frame.check(len(probe(place.path("out.mov"), "-show_streams")["streams"]) == 1 and not result.stderr, result.stderr)


def test_chapters_beside_a_time_code_become_one_track():
    """FFmpeg's muxer writes a text track of them that nothing refers to if there is no sound. Subtitles of the same times are none."""
    with Here() as place:
        for name, content in (("meta.txt", METADATA), ("text.srt", "1\n00:00:00,000 --> 00:00:00,400\nFirst!\n\n2\n00:00:00,400 --> 00:00:01,000\nHello\n\n")):
            with open(place.path(name), "w", encoding="ascii") as file:
                file.write(content)
        source = "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=1.2", "-i", place.path("meta.txt"), "-map_metadata", "1", "-pix_fmt", "yuv420p"
        ffmpeg(*source, "-timecode", "01:00:00:00", place.path("code.mov"))
        ffmpeg(*source[:4], "-i", place.path("text.srt"), *source[4:6], "-map", "0:v", "-map", "1", "-map_metadata", "2", *source[8:], "-c:s", "mov_text", place.path("text.mov"))
        for name, out, kinds in (("code.mov", "out.mov", "video subtitle data"), ("code.mov", "out.mp4", "video subtitle data"), ("code.mov", "out.mkv", "video"),
                                 ("text.mov", "out.mov", "video subtitle data")):
            result = place.run("apply", "box size=3", place.path(name), "-o", place.path(out), "--force")
            told = probe(place.path(out), "-show_streams", "-show_chapters")
            got = " ".join(s["codec_type"] for s in told["streams"])
            frame.check(got == kinds and not result.stderr, f"{name} to {out}: {got} {result.stderr}")
            frame.check([(c["start_time"], c["tags"]["title"]) for c in told["chapters"]] == [("0.000000", "first"), ("0.400000", "second")], f"{out}: {told}")
        frame.check([words for _, _, words in subtitle(place.path("out.mov"))] == ["First!", "Hello"], "the subtitles are gone")


def test_what_a_format_does_not_hold_is_named():
    with Here() as place:
        rich_video(place, "in.mkv", codec="ffv1", more=("-c:s", "srt"))
        result = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.y4m"))
        frame.check(result.stderr.count("left out") == 2 and "subtitle" in result.stderr, result.stderr)
        for suffix in (".ts", ".avi"):  # the warning says which formats hold text, and they do
            said = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out" + suffix)).stderr
            listed = re.findall(r"\(subtitle, subrip\) is left out: .* does not hold it, but these do: (.*)\n", said)
            frame.check(said.count("left out") == 1 and listed, said)
        for suffix in listed[0].split(", "):
            said = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("kept" + suffix)).stderr
            (begin, end, words), = subtitle(place.path("kept" + suffix))
            frame.check("subtitle" not in said and words == "Hello", f"{suffix}: {words} {said}")
            frame.check(abs(end - begin - 0.5) < 0.011, f"{suffix}: {begin} to {end}")  # ffmpeg begins with the sound
        frame.check(set(listed[0].split(", ")) == {".mkv", ".mp4", ".mov", ".webm"}, listed[0])
        result = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.mp4"))
        frame.check(not result.stderr, result.stderr)
        frame.check(probe(place.path("out.mp4"), "-show_streams")["streams"][0]["codec_name"] == "h264", "the usual codec")


def subtitle(path):
    """(begin, end, text) of each, as FFmpeg reads them."""
    text = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:s:0", "-f", "srt", "-"], capture_output=True, text=True,
                          check=True, timeout=60).stdout
    text = re.sub("<[^>]*>", "", text)  # the style that some formats give to all text
    blocks = [block.split("\n", 2) for block in re.split(r"\n\s*\n", text.strip())]  # number, times, lines
    seconds = [[int(h) * 3600 + int(m) * 60 + int(s) + int(ms) / 1000 for h, m, s, ms in re.findall(r"(\d+):(\d+):(\d+),(\d+)", times)]
               for _, times, _ in blocks]
    return [(*times, lines.strip()) for times, (_, _, lines) in zip(seconds, blocks)]


LINES = """1
00:00:00,200 --> 00:00:00,700
Hello

2
00:00:00,720 --> 00:00:01,100
Grüße, <i>世界</i>
a second line

"""


def test_text_subtitles_change_their_codec():
    """As the format wants it; with times, lines, letters beyond ASCII, the language; and from a frame on."""
    with Here() as place:
        with open(place.path("words.srt"), "w", encoding="utf-8") as file:
            file.write(LINES)
        source = ("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=1.2", "-i", place.path("words.srt"), "-map", "0", "-map", "1",
                  "-pix_fmt", "yuv420p", "-metadata:s:s", "language=fra", "-c:v", "libx264", "-c:s")
        for codec, first, second, written in (("srt", ".mkv", ".mp4", "mov_text"), ("mov_text", ".mp4", ".mkv", "ass"),
                                              ("ass", ".mkv", ".mov", "mov_text"), ("webvtt", ".mkv", ".mp4", "mov_text"),
                                              ("srt", ".mkv", ".webm", "webvtt")):
            path, out = place.path("in" + first), place.path("out" + second)
            ffmpeg(*source, codec, "-y", path)
            result = place.run("apply", "box size=3", path, "-o", out, "--force")
            stream = [s for s in probe(out, "-show_streams")["streams"] if s["codec_type"] == "subtitle"]
            frame.check(not result.stderr and len(stream) == 1, f"{codec}: {stream} {result.stderr}")
            result = place.run("apply", "box size=3", path, "-o", out, "--force", "-v")
            frame.check(f"is written as {written}" in result.stderr, result.stderr)
            frame.check(stream[0]["codec_name"] == written and stream[0]["tags"]["language"] in ("fra", "fre"), f"{codec}: {stream[0]}")
            words = subtitle(out)
            frame.check([w for _, _, w in words] == ["Hello", "Grüße, 世界\na second line"], f"{codec} to {second}: {words}")
            times = [t for a, b, _ in words for t in (a, b)]
            frame.check(np.allclose(times, (0.2, 0.7, 0.72, 1.1), atol=0.011), f"{codec} to {second}: {times}")
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("later.mp4"), "--frames", "16-")
        words = subtitle(place.path("later.mp4"))
        frame.check(words[-1][2].startswith("Grüße") and abs(words[-1][0] - 0.12) < 0.011, f"from frame 16 on: {words}")


def test_sound_in_avi_keeps_its_times():
    """As the header tells them, too: it says how many packets or blocks there are, and how large a block is."""
    with Here() as place:
        for codec in ("aac", "libmp3lame", "ac3", "pcm_s16le"):
            path, out = place.path("in.avi"), place.path("out.avi")
            ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.6", "-f", "lavfi", "-i", "sine=duration=0.6", "-c:v", "mpeg4", "-c:a",
                   codec, "-y", path)
            place.run("apply", "box size=3", path, "-o", out, "--force")
            frame.check(packets(path, "a:0") == packets(out, "a:0"), f"{codec}: other sound or times")
            told = []
            for name in (path, out):
                with open(name, "rb") as file:
                    data = file.read()
                told.append(struct.unpack("<6I", data[data.index(b"auds") + 20:][:24]))  # scale, rate, start, length, buffer, quality
                told[-1] += struct.unpack("<I", data[data.index(b"auds") + 44:][:4])  # the size of a block
            frame.check(told[0] == told[1], f"{codec}: {told[0]} became {told[1]}")


def test_prores_stays_of_its_kind():
    with Here() as place:
        for kind in range(4):  # Proxy, LT, Standard, HQ
            path, out = place.path("in.mov"), place.path("out.mov")
            ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=0.2", "-pix_fmt", "yuv422p10", "-c:v", "prores_ks", "-profile:v",
                   str(kind), "-y", path)
            place.run("apply", "box size=3", path, "-o", out, "--force")
            a, b = (probe(name, "-show_streams")["streams"][0] for name in (path, out))
            for key in ("codec_name", "profile", "codec_tag_string", "pix_fmt"):
                frame.check(a[key] == b[key], f"{key}: {a[key]} became {b[key]}")


def test_damaged_subtitles_are_left_out():
    """A style section that is cut off, text that is none: the video is whole."""
    with Here() as place:
        rich_video(place, "in.mkv", codec="libx264", more=("-c:s", "ass"))
        with open(place.path("in.mkv"), "rb") as file:
            content = file.read()
        for old, new in ((b"Hello", b"\xff\xfe\x00\x01\xff"), (b"Default,", b"\x00\xff\xff\xff\xff\xff\xff\xff"), (b"[Events]", b"\x00" * 8)):
            frame.check(old in content, f"no {old} in the file")
            with open(place.path("bad.mkv"), "wb") as file:
                file.write(content.replace(old, new))
            result = place.run("apply", "box size=3", place.path("bad.mkv"), "-o", place.path("bad.mp4"), "--force")
            frames = probe(place.path("bad.mp4"), "-count_frames", "-select_streams", "v", "-show_streams")["streams"][0]["nb_read_frames"]
            wanted = probe(place.path("in.mkv"), "-count_frames", "-select_streams", "v", "-show_streams")["streams"][0]["nb_read_frames"]
            frame.check(frames == wanted, f"{old}: {frames} frames of {wanted}: {result.stderr}")


def test_transport_and_program_streams_and_ogg_keep_what_they_hold():
    """Codecs and sound, packet by packet; what they do not hold is named."""
    source = ("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.4", "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
    with Here() as place:
        for video, audio, suffix in (("libx264", "aac", ".ts"), ("libx264", "aac", ".m2ts"), ("mpeg2video", "mp2", ".vob"),
                                     ("libtheora", "flac", ".ogv"), ("libtheora", "libopus", ".ogv")):
            path, out = place.path("in" + suffix), place.path("out" + suffix)
            ffmpeg(*source, "-c:v", video, "-c:a", audio, "-y", path)
            result = place.run("apply", "box size=3", path, "-o", out)
            a, b = ([s["codec_name"] for s in probe(name, "-show_streams")["streams"]] for name in (path, out))
            frame.check(a == b and len(a) == 2 and not result.stderr, f"{suffix}: {a} became {b}: {result.stderr}")
            if suffix in (".ts", ".m2ts"):
                with open(out, "rb") as file:
                    content = file.read(1000)
                first, length = (4, 192) if suffix == ".m2ts" else (0, 188)
                frame.check(set(content[first::length]) == {0x47}, f"{suffix}: packets are not of {length} bytes")
            a, b = ([h for _, _, h in packets(name, "a:0")] for name in (path, out))
            frame.check(a == b and a, f"{suffix}: other sound")
        ffmpeg("-i", place.path("in.ts"), "-c", "copy", "-metadata", "service_name=Here", "-metadata", "service_provider=We", place.path("named.ts"))
        place.run("apply", "box size=3", place.path("named.ts"), "-o", place.path("out.ts"), "--force")
        program = probe(place.path("out.ts"), "-show_programs")["programs"][0]["tags"]
        frame.check(program == {"service_name": "Here", "service_provider": "We"}, f"{program}")
        for suffix in (".vob", ".ogv"):
            result = place.run("apply", "box size=3", place.path("in.ts"), "-o", place.path("other" + suffix))
            frame.check("(audio, aac) is left out" in result.stderr, result.stderr)


HDR = ("log-level=none:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400:"
       "colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc")


def test_what_is_lost_silently_elsewhere_is_named():
    """Rotation, alpha, range, brightness of HDR, times: a warning where it is lost, none where it is kept."""
    source = ("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.2")
    with Here() as place:
        ffmpeg(*source, "-c:v", "libx264", "-pix_fmt", "yuv420p", place.path("turned.mp4"))
        turn(place.path("turned.mp4"))
        ffmpeg(*source, "-c:v", "ffv1", "-pix_fmt", "yuva420p", place.path("alpha.mkv"))
        ffmpeg(*source, "-c:v", "libx264", "-pix_fmt", "yuvj420p", "-color_range", "pc", place.path("full.mkv"))
        ffmpeg(*source, "-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", HDR, place.path("hdr.mkv"))
        ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=1", "-vf", r"select=lt(n\,5)+not(mod(n\,3))", "-fps_mode", "vfr",
               "-c:v", "ffv1", "-pix_fmt", "yuv420p", place.path("varying.mkv"))
        for name, ratio in (("shape.mkv", "2"), ("wide.mkv", "64/45")):
            ffmpeg("-f", "lavfi", "-i", "testsrc=size=720x576:rate=25:duration=0.2", "-vf", f"setsar={ratio}", "-c:v", "ffv1", "-pix_fmt", "yuv420p", place.path(name))
        result = place.run("apply", "box size=3", place.path("wide.mkv"), "-o", place.path("f.mpg"))
        ratio = probe(place.path("f.mpg"), "-show_streams")["streams"][0]["display_aspect_ratio"]
        frame.check(ratio == "16:9" and not result.stderr, f"{ratio} {result.stderr}")
        for name, lost, out, kept, *codec in (("shape.mkv", "shape of pixels", "f.ts", "f.mkv"), ("turned.mp4", "rotation", "a.mkv", "a.mp4"), ("alpha.mkv", "alpha", "b.mp4", "b.webm"),
                                              ("full.mkv", "full range", "c.mpg", "c.mkv"),
                                              ("hdr.mkv", "mastering display", "d.ts", "d.mp4", "--codec", "h264"),
                                              ("varying.mkv", "constant rate", "e.y4m", "e.mkv")):
            result = place.run("apply", "box size=3", place.path(name), "-o", place.path(out), *codec)
            frame.check(result.stderr.count(lost) == 1 and f"'{place.path(out)}'" in result.stderr, f"{name}: {result.stderr}")
            result = place.run("apply", "box size=3", place.path(name), "-o", place.path(kept), *codec)
            frame.check(lost not in result.stderr, f"{name}: {result.stderr}")
        stream = probe(place.path("d.mp4"), "-show_streams")["streams"][0]
        frame.check([(d.get("max_luminance"), d.get("max_content")) for d in stream.get("side_data_list", [])] ==
                    [("10000000/10000", None), (None, 1000)], f"{stream}")


def captions_of(path):
    """Frames that have some."""
    shown = probe(path, "-select_streams", "v", "-show_frames")["frames"]
    return [any("A53" in data["side_data_type"] for data in one.get("side_data_list", [])) for one in shown]


def test_closed_captions_stay_or_are_named():
    """As user data of MPEG-2 (ATSC A/53), in front of the first slice of each picture."""
    with Here() as place:
        data = ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.2", "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-f", "mpeg2video", "-")
        slice_start, captions = b"\0\0\1\1", b"\0\0\1\xb2GA94\3\x41\xff\xfc\xa0\xa1\xff"
        ffmpeg("-fflags", "+genpts", "-r", "25", "-f", "mpegvideo", "-i", "-", "-c", "copy", place.path("in.mkv"),
               data=data.replace(slice_start, captions + slice_start))
        frame.check(captions_of(place.path("in.mkv")) == [True] * 5, "the input has none")
        for out, codec in (("a.ts", "h264"), ("a.mkv", "mpeg2video"), ("b.mkv", "hevc"), ("b.webm", "vp9")):
            said = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path(out), "--codec", codec).stderr
            kept = out[0] == "a"
            frame.check(captions_of(place.path(out)) == [kept] * 5 and said.count("closed captions") == said.count("\n") == (not kept), f"{codec}: {said}")


def with_dynamic_hdr(stream):
    """HEVC of which each picture has a message of HDR10+ (SMPTE ST 2094-40) in front."""
    fields = (1, 2), (0, 27), (0, 1), *[(5000, 17)] * 4, (0, 4), (0, 10), (0, 1), (0, 1), (0, 1)  # of one window
    bits = "".join(f"{value:0{size}b}" for value, size in fields)
    body = int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")
    data = b"\xb5\0\x3c\0\1\4\1" + body
    message = b"\x4e\1" + bytes((4, len(data))) + data + b"\x80"
    message = re.sub(rb"\0\0(?=[\0-\3])", lambda _: b"\0\0\3", message)
    units = re.split(b"\0?\0\0\1", stream)[1:]
    return b"".join(b"\0\0\1" + (message + b"\0\0\1" if unit[0] >> 1 < 32 else b"") + unit for unit in units)


def test_dynamic_hdr_is_named():
    with Here() as place:
        stream = ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.2", "-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", HDR,
                        "-f", "hevc", "-")
        for name, data, told in (("hdr.hevc", stream, 0), ("plus.hevc", with_dynamic_hdr(stream), 1)):
            with open(place.path(name), "wb") as file:
                file.write(data)
            shown = probe(place.path(name), "-show_frames")["frames"]
            frame.check(len(shown) == 5 and sum("SMPTE2094-40" in str(one) for one in shown) == 5 * told, f"{shown}")
            said = place.run("apply", "box size=3", place.path(name), "-o", place.path("out.mkv"), "--codec", "hevc", "--force").stderr
            frame.check(said.count("HDR10+ is lost") == said.count("\n") == told, said)


def test_hevc_tells_what_hdr_was_made_for():
    """In the stream itself, whether the frames of the input tell it or its file."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.2", "-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", HDR, place.path("hdr.mkv"))
        place.run("apply", "box size=3", place.path("hdr.mkv"), "-o", place.path("plain.mkv"), "--codec", "ffv1")
        found = {}
        for name, out in ("hdr.mkv", None), ("hdr.mkv", "a.ts"), ("plain.mkv", "b.ts"):
            said = place.run("apply", "box size=3", place.path(name), "-o", place.path(out), "--codec", "hevc").stderr if out else ""
            first = probe(place.path(out or name), "-select_streams", "v", "-read_intervals", "%+#1", "-show_frames")["frames"][0]
            found[out] = [data for data in first["side_data_list"] if "Mastering" in data["side_data_type"] or "light level" in data["side_data_type"]]
            frame.check(len(found[None]) == 2 and found[out] == found[None] and not said, f"{name}: {found} {said}")


def test_encoders_say_nothing_by_themselves():
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=0.2", "-c:v", "ffv1", "-pix_fmt", "yuv420p", place.path("in.mkv"))
        result = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.mkv"), "--codec", "av1", "-q")
        frame.check(not result.stderr, result.stderr)


def test_frames_over_the_limit_are_told_by_their_size():
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "color=size=1100x1000:rate=25", "-frames:v", "1", "-pix_fmt", "yuv420p", place.path("in.y4m"))
        result = place.run("apply", "box size=3", place.path("in.y4m"), "-o", place.path("out.mkv"), "--decode-memory", "32", status=3)
        frame.check("1100x1000" in result.stderr and "--decode-memory" in result.stderr, result.stderr)


def test_frames_are_cut_out_with_their_sound():
    with Here() as place:
        rich_video(place, "in.mkv", codec="ffv1", more=("-c:s", "srt"))
        whole = read_video_sized(place.path("in.mkv"), 96, 64)
        times = [t for t, _, _ in packets(place.path("in.mkv"), "v:0")]
        place.run("apply", "epsilon threshold=0 radius=1", place.path("in.mkv"), "-o", place.path("out.mkv"), "--frames", "5-9")
        frame.check(np.array_equal(read_video_sized(place.path("out.mkv"), 96, 64), whole[4:9]), "other frames")
        cut = [t for t, _, _ in packets(place.path("out.mkv"), "v:0")]
        frame.check(np.allclose(cut, np.array(times[4:9]) - times[4], atol=1e-6), f"{cut} of {times[4:9]}")
        ends = times[9]
        sound = [h for t, _, h in packets(place.path("in.mkv"), "a:0") if times[4] <= t < ends]
        frame.check([h for _, _, h in packets(place.path("out.mkv"), "a:0")] == sound and sound, "other sound")
        # What is decoded late, and sound that comes before its frames: those at times 4 to 8, and none behind them.
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=1", "-f", "lavfi", "-i", "sine=duration=1", "-pix_fmt", "yuv420p", "-c:v",
               "libx264", "-bf", "3", "-c:a", "aac", place.path("late.mp4"))
        for frames, begin, end in (("1", -1, 0.04), ("5-9", 0.16, 0.36), ("21-", 0.8, 9)):
            place.run("apply", "box size=3", place.path("late.mp4"), "-o", place.path("out.mkv"), "--force", "--frames", frames)
            sound = [h for t, _, h in packets(place.path("late.mp4"), "a:0") if begin <= t < end]
            frame.check([h for _, _, h in packets(place.path("out.mkv"), "a:0")] == sound and sound, f"{frames}: other sound")
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("tail.mkv"), "--frames", f"{len(whole) - 1}-")
        frame.check(len(packets(place.path("tail.mkv"), "v:0")) == 2, "the tail")
        for last in (len(whole), len(whole) + 1):
            arguments = ["--frames", f"{len(whole) - 1}-{last}", "--force"]
            said = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("tail.mkv"), *arguments).stderr
            frame.check((f"has {len(whole)} frames: --frames ends with that, not with {last}" in said) == (last > len(whole)), said)
        result = place.run("apply", "box", place.path("in.mkv"), "-o", place.path("no.mkv"), "--frames", "500-", status=2)
        frame.check(f"has {len(whole)} frames" in result.stderr and not os.path.exists(place.path("no.mkv")), result.stderr)


def film_with_text(place, lines, *codec):
    """in.mkv, of 6 s, with (begin, end, text) in whole seconds."""
    with open(place.path("in.srt"), "w", encoding="utf-8") as file:
        file.write("".join(f"{n}\n00:00:{begin:02},000 --> 00:00:{end:02},000\n{text}\n\n" for n, (begin, end, text) in enumerate(lines, 1)))
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10:duration=6", "-i", place.path("in.srt"), "-pix_fmt", "yuv420p", *codec,
           "-c:s", "srt", place.path("in.mkv"))


def text_of(path):
    """[times, text] of what is shown."""
    shown = ffmpeg("-i", path, "-map", "0:s", "-f", "srt", "-").decode().split("\n\n")
    return [part.split("\n")[1:] for part in shown if part.strip()]


def test_text_that_is_shown_at_a_cut_stays_as_long():
    """It begins before the first frame that is wanted, so it is shown from that on."""
    with Here() as place:
        film_with_text(place, ((0, 1, "past"), (1, 4, "at the cut"), (4, 5, "later")), "-c:v", "ffv1")
        for out in "out.mkv", "out.mp4":
            place.run("apply", "epsilon threshold=0 radius=1", place.path("in.mkv"), "-o", place.path(out), "--frames", "26-")  # from 2.5 s on
            shown = text_of(place.path(out))
            frame.check(shown ==
                        [["00:00:00,000 --> 00:00:01,500", "at the cut"], ["00:00:01,500 --> 00:00:02,500", "later"]], f"{out}: {shown}")


def test_text_ends_with_the_frames():
    """It is read before the frames that it is shown with, of which the last one ends at 2 s."""
    with Here() as place:
        film_with_text(place, ((0, 1, "first"), (1, 5, "at the cut"), (3, 4, "later")), "-c:v", "libx264", "-bf", "3")
        for first, out in ("1", "out.mkv"), ("1", "out.mp4"), ("6", "late.mkv"), ("20", "one.mp4"):
            begin = (int(first) - 1) / 10
            place.run("apply", "epsilon threshold=0 radius=1", place.path("in.mkv"), "-o", place.path(out), "--frames", first + "-20")
            shown = text_of(place.path(out))
            wanted = [(from_, to, text) for from_, to, text in ((0, 1, "first"), (1, 2, "at the cut")) if to > begin]
            wanted = [[f"00:00:{max(from_ - begin, 0):06.3f} --> 00:00:{to - begin:06.3f}".replace(".", ","), text] for from_, to, text in wanted]
            frame.check(shown == wanted, f"{out}: {shown}, not {wanted}")


def test_text_of_uneven_films_ends_with_the_frames():
    """It is read long before it is known when they end. Text in MP4 does not overlap."""
    with Here() as place:
        for suffix, codec, sound, lines in ((".mkv", "srt", "flac", ((0.1, 0.6), (0.3, 9), (0.5, 0.9), (1.7, 9))), (".mp4", "mov_text", "aac", ((0.1, 0.6), (0.7, 9)))):
            with open(place.path("in.srt"), "w", encoding="utf-8") as file:
                for number, (begin, end) in enumerate(lines):
                    file.write(f"{number + 1}\n00:00:{begin:06.3f} --> 00:00:{end:06.3f}\n{number}\n\n".replace(".", ","))
            source, out = place.path("in" + suffix), place.path("out" + suffix)
            ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=2,setpts='(N+gt(mod(N,3),1)/2)/25/TB'", "-i", place.path("in.srt"),
                   "-f", "lavfi", "-i", "sine=duration=2", "-map", "0", "-map", "1", "-map", "2", "-c:v", "libx264", "-c:s", codec, "-c:a", sound,
                   "-fps_mode", "passthrough", "-y", source)
            times = [time for time, _, _ in packets(source, "v:0")]
            place.run("apply", "box size=3", source, "-o", out, "--frames", "6-25", "--force")
            got, begin, end = subtitle(out), times[5], times[25]
            wanted = [(max(a, begin) - begin, min(b, end) - begin, str(n)) for n, (a, b) in enumerate(lines) if a < end]
            frame.check([word for _, _, word in got] == [word for _, _, word in wanted], f"{suffix}: {got}, not {wanted}")
            frame.check(np.allclose([g[:2] for g in got], [w[:2] for w in wanted], atol=0.011), f"{suffix}: {got}, not {wanted}")
            places = [int(packet["pos"]) for packet in probe(out, "-show_packets")["packets"] if packet["codec_type"] == "audio"]
            frame.check(places == sorted(places) and len(places) > 4, f"{suffix}: {places}")


def test_text_of_a_film_with_gaps_ends_with_the_frames():
    """The file tells a constant rate, and there are two gaps of 2 s: before the first one, the end seems to be at 3 s, and is at 7 s."""
    with Here() as place:
        for begin in 100, 999:
            with open(place.path("in.srt"), "w", encoding="utf-8") as file:
                file.write(f"1\n00:00:00,{begin} --> 00:00:09,000\nlong\n\n")
            ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10:duration=4,setpts='(N+gte(N,5)*20+gte(N,15)*20)/(10*TB)'", "-i",
                   place.path("in.srt"), "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-c:s", "srt", "-y", place.path("in.mkv"))
            rates = probe(place.path("in.mkv"), "-show_streams")["streams"][0]
            frame.check(rates["avg_frame_rate"] == rates["r_frame_rate"], f"{rates}")
            place.run("apply", "epsilon threshold=0 radius=1", place.path("in.mkv"), "-o", place.path("out.mkv"), "--frames", "-30", "--force")
            shown = ffmpeg("-i", place.path("out.mkv"), "-map", "0:s", "-f", "srt", "-").decode()
            frame.check(f"00:00:00,{begin} --> 00:00:07,000" in shown, shown)


def read_video_sized(path, width, height):
    data = ffmpeg("-i", path, "-map", "0:v:0", "-f", "rawvideo", "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-")
    return np.frombuffer(data, "u1").reshape(-1, width * height * 3 // 2)


# ---- Pipes ----

def test_y4m_goes_through_pipes():
    with Here() as place:
        for bits in (8, 10):
            frames = random_frames("420", bits, 4)
            write_video(place.path("in.y4m"), frames, "420", bits, "-strict", "-1", codec="wrapped_avframe")
            with open(place.path("in.y4m"), "rb") as file:
                data = file.read()
            command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", "-", "-o", "-", "--format", "y4m"]
            result = subprocess.run(command, input=data, capture_output=True, env=place.environment, check=False)
            frame.check(result.returncode == 0, result.stderr.decode())
            with open(place.path("out.y4m"), "wb") as file:
                file.write(result.stdout)
            check_frames(read_video(place.path("out.y4m"), "420", bits), [[box3(f[0], bits), *f[1:]] for f in frames], f"{bits}")
            got, wanted = (data.split(b"\n")[0].split()[:4] for data in (result.stdout, data))
            frame.check(got == wanted, f"{got} {wanted}")


def test_matroska_in_a_pipe_gets_sound_of_transport_streams():
    """AAC in one has no header of its own: what is heard is the same, of one channel and of six."""
    def heard(path):
        return ffmpeg("-i", path, "-map", "a", "-f", "md5", "-")

    with Here() as place:
        for channels, rate in (("1", "44100"), ("6", "48000")):
            ffmpeg("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=0.4", "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p", "-c:v",
                   "libx264", "-c:a", "aac", "-ac", channels, "-ar", rate, "-y", place.path("in.ts"))
            with open(place.path("in.ts"), "rb") as source, open(place.path("out.mkv"), "wb") as out:
                command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", "-", "-o", "-", "--format", "mkv"]
                read, write = os.pipe()
                with subprocess.Popen(command, stdin=source, stdout=write, env=place.environment) as process, os.fdopen(read, "rb") as end:
                    os.close(write)
                    out.write(end.read())
            frame.check(process.returncode == 0 and heard(place.path("in.ts")) == heard(place.path("out.mkv")), f"{channels} channels")


def test_y4m_tells_the_rate_of_any_input():
    """Of one with fine time stamps and of varying lengths, too: a frame is a frame."""
    with Here() as place:
        rich_video(place, "in.mkv", codec="ffv1", more=("-c:s", "srt"))
        place.run("apply", "epsilon threshold=0 radius=1", place.path("in.mkv"), "-o", place.path("out.y4m"))
        with open(place.path("out.y4m"), "rb") as file:
            rate = re.search(rb" F(\d+):(\d+)", file.readline()).groups()
        told = probe(place.path("in.mkv"), "-show_streams")["streams"][0]["r_frame_rate"]
        frame.check(b"/".join(rate).decode() == told, f"{rate} of {told}")
        frame.check(np.array_equal(read_video_sized(place.path("out.y4m"), 96, 64), read_video_sized(place.path("in.mkv"), 96, 64)),
                    "other frames")


def raw_frames(stored, kind, bits, count):
    """Frames without a container, and what they are planar."""
    frames = random_frames(kind, bits, count)
    data = ffmpeg("-f", "rawvideo", "-pix_fmt", planar_format(kind, bits), "-s", f"{WIDTH}x{HEIGHT}", "-i", "-", "-f", "rawvideo",
                  "-pix_fmt", stored, "-", data=to_bytes(frames, bits))
    return data, frames


def test_frames_without_a_container():
    """Through files and pipes; what is not filtered stays to the bit, P010 included."""
    for stored, kind, bits in (("nv12", "420", 8), ("yuv420p", "420", 8), ("p010le", "420", 10), ("gray", "gray", 8)):
        with Here() as place:
            data, frames = raw_frames(stored, kind, bits, 3)
            shape = f"{stored}:{WIDTH}x{HEIGHT}@30000/1001"
            command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", "--raw", shape]
            piped = subprocess.run([*command, "-", "-o", "-", "--format", "raw"], input=data, capture_output=True, env=place.environment,
                                   check=False)
            frame.check(piped.returncode == 0, f"{stored}: {piped.stderr.decode()}")
            with open(place.path("in.yuv"), "wb") as file:
                file.write(data)
            subprocess.run([*command, place.path("in.yuv"), "-o", place.path("out.nut")], env=place.environment, check=True)
            with open(place.path("out.yuv"), "wb") as file:
                file.write(piped.stdout)
            got = ffmpeg("-f", "rawvideo", "-pix_fmt", stored, "-s", f"{WIDTH}x{HEIGHT}", "-i", place.path("out.yuv"), "-f", "rawvideo",
                         "-pix_fmt", planar_format(kind, bits), "-")
            check_frames(from_bytes(got, kind, bits), [[box3(f[0], bits), *f[1:]] for f in frames], stored)
            frame.check(len(piped.stdout) == len(data) and probe(place.path("out.nut"), "-show_streams")["streams"][0]["r_frame_rate"] ==
                        "30000/1001", f"{stored}: sizes or rate")


def test_raw_frames_that_do_not_fit():
    """A short last frame, and shapes that cannot be."""
    with Here() as place:
        data, frames = raw_frames("nv12", "420", 8, 3)
        with open(place.path("in.yuv"), "wb") as file:
            file.write(data[:-7])
        shape, out, size = f"nv12:{WIDTH}x{HEIGHT}", place.path("out.yuv"), len(data) // 3
        result = place.run("apply", "box size=3", place.path("in.yuv"), "-o", out, "--raw", shape, status=3)
        frame.check(f"ends within frame 3, of which it has {size - 7} of {size} bytes" in result.stderr, result.stderr)
        command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", "-", "-o", out, "--raw", shape]
        piped = subprocess.run(command, input=data[:-7], capture_output=True, env=place.environment, check=False)
        frame.check(piped.returncode == 3 and f"the last frame has {size - 7} of {size} bytes".encode() in piped.stderr, f"{piped}")
        frame.check(not os.path.exists(out), "an output of a damaged input")
        for source in ("-", place.path("in.yuv")):
            command[3] = source
            accepted = subprocess.run([*command, "--accept-damaged"], input=data[:-7], capture_output=True, env=place.environment,
                                      check=False)
            frame.check(accepted.returncode == 0 and os.path.getsize(out) == 2 * size, f"{accepted}")
            os.remove(out)
        for bad, said in (("nv13:70x50", "no pixel format 'nv13'"), ("nv12", "--raw is FORMAT"), ("nv12:70", "--raw is FORMAT"),
                          ("nv12:0x50", "--raw is FORMAT"), ("nv12:70x50@0", "--raw is FORMAT"), ("nv12:70x9999999", "--raw is FORMAT"),
                          ("nv12:70x50@25x", "--raw is FORMAT")):
            result = place.run("apply", "box size=3", place.path("in.yuv"), "-o", out, "--raw", bad, status=2)
            frame.check(said in result.stderr, f"{bad}: {result.stderr}")
        result = place.run("apply", "box size=3", place.path("in.yuv"), "-o", out, status=2)
        frame.check("--raw yuv420p:" in result.stderr and not os.path.exists(out), result.stderr)


def test_y4m_holds_all_samples_of_odd_sizes():
    """FFmpeg's own writer cuts a byte off each row of chroma of an odd width if samples have two."""
    shifts = {"420": (1, 1), "422": (1, 0), "444": (0, 0)}
    with Here() as place:
        for layout, bits in itertools.product(shifts, (8, 9, 10, 12, 16)):
            if layout != "420" and bits in (9, 16):
                continue
            width, height, (across, down) = 17, 9, shifts[layout]
            count = width * height + 2 * -(-width >> across) * -(-height >> down)
            frames = [np.random.default_rng(n).integers(0, 1 << bits, count).astype("u1" if bits == 8 else "<u2").tobytes() for n in range(3)]
            with open(place.path("in.yuv"), "wb") as file:
                file.write(b"".join(frames))
            name = f"yuv{layout}p" + (f"{bits}le" if bits > 8 else "")
            place.run("apply", "box size=1", "--raw", f"{name}:{width}x{height}@25", place.path("in.yuv"), "-o", place.path("out.y4m"), "--force")
            with open(place.path("out.y4m"), "rb") as file:
                head, rest = file.read().split(b"\n", 1)
            frame.check(head.startswith(b"YUV4MPEG2 W17 H9 F25:1"), f"{name}: {head}")
            frame.check(rest == b"".join(b"FRAME\n" + one for one in frames), f"{name}: {len(rest)} bytes, other frames")


def test_a_pipe_brings_an_mp4_that_begins_with_its_list():
    """Any that fits a buffer, too. Else the message says so, and calls the input by one name."""
    with Here() as place:
        for name, seconds, options in (("late.mov", 1, ()), ("early.mov", 1, ("-movflags", "+faststart")), ("short.mov", 0.2, ())):
            ffmpeg("-f", "lavfi", "-i", f"testsrc2=size=96x64:rate=25:duration={seconds}", "-f", "lavfi", "-i", f"sine=duration={seconds}", "-c:v",
                   "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "pcm_s16le", *options, place.path(name))
            with open(place.path(name), "rb") as file:
                status, said, _ = piped(place, file.read(), "--force")
            if name == "late.mov":
                frame.check(status == 3 and "+faststart" in said and "damage" not in said and said.startswith("hone: '-': what"), said)
            else:
                frame.check(status == 0 and not said, f"{name}: {said}")
                a, b = ([t for t, _, _ in packets(path, "v:0")] for path in (place.path(name), place.path("out.mkv")))
                frame.check(a == b, f"{name}: {a} became {b}")


def test_a_closed_pipe_is_an_error():
    with Here() as place:
        write_video(place.path("in.mkv"), random_frames("420", 8, 60), "420", 8)
        with subprocess.Popen([os.path.join(frame.build(), "hone"), "apply", "box size=3", place.path("in.mkv"), "-o", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment) as process:
            process.stdout.read(100)
            process.stdout.close()
            said = process.stderr.read().decode()
        frame.check(process.returncode == 3 and "standard output: Broken pipe" in said, f"{process.returncode}: {said}")


def y4m(frames):
    head = b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (WIDTH, HEIGHT)
    return head + b"".join(b"FRAME\n" + to_bytes([f], 8) for f in frames)


def stalled(place, number, source, data, *options):
    """A run whose input stays open and brings nothing more, with an output that is there before."""
    folder = f"out{number}"
    os.mkdir(place.path(folder))
    with open(place.path(folder, "out.mkv"), "wb") as file:
        file.write(b"mine")
    command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", source, "-o", place.path(folder, "out.mkv"), "--timeout", "4",
               *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment)
    process.stdin.write(data)
    process.stdin.flush()
    return process, folder


def test_a_pipe_that_stalls():
    """At its start, within a frame, and between two; Y4M, frames alone, and what FFmpeg takes apart. --timeout ends it, damage or not."""
    frames, raw = random_frames("420", 8, 4), ("--raw", f"yuv420p:{WIDTH}x{HEIGHT}")
    with Here() as place:
        write_video(place.path("in.mkv"), frames, "420", 8)
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("first.mkv"))  # programs are in the cache then
        os.mkfifo(place.path("fifo.y4m"))
        with open(place.path("in.mkv"), "rb") as file:
            matroska = file.read()
        cases = [("-", b""), ("-", y4m(frames)), ("-", y4m(frames)[:-9], "--accept-damaged"), ("-", y4m(frames)[:20]),
                 ("-", to_bytes(frames, 8), *raw), ("-", to_bytes(frames, 8)[:-9], *raw), ("-", b"", *raw),
                 ("-", matroska[:len(matroska) // 2], "--accept-damaged"), (place.path("fifo.y4m"), b"")]
        runs = [stalled(place, number, *case) for number, case in enumerate(cases)]
        for (process, folder), case in zip(runs, cases):
            said, text = process.stderr.read().decode(), f"{len(case[1])} bytes, {case[2:]}"
            process.stdin.close()
            frame.check(process.wait() == 3 and f"'{case[0]}': nothing came for 4 s" in said, f"{text}: {process.returncode}: {said}")
            check_kept(place, text, folder)


# ---- Interrupts, damage ----


def written(place):
    return sum(os.path.getsize(path) for path in glob.glob(place.path(".*")) + glob.glob(place.path("*")) if os.path.isfile(path))


def interrupted(place, data, *options):
    """What is said of a film from a pipe that stays open, where the signal comes once out.mkv has some of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background would pass on that it is ignored
    command = [os.path.join(frame.build(), "hone"), "apply", "epsilon threshold=0 radius=1", "-", "-o", place.path("out.mkv"),
               "--codec", "ffv1", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment) as process:
        process.stdin.write(data)
        process.stdin.flush()
        limit = time.monotonic() + 60
        while written(place) < 64000 and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
    frame.check(process.returncode == -signal.SIGINT, f"{process.returncode}: {said}")
    return said


def test_an_interrupt_completes_the_file():
    """While the input is still open."""
    frames = random_frames("420", 8, 40)
    with Here() as place:
        said = interrupted(place, y4m(frames))
        got = read_video(place.path("out.mkv"), "420", 8)
        frame.check(re.search(rf"interrupted: '.*' holds {len(got)} frames?", said), f"{len(got)}: {said}")
        frame.check(0 < len(got) <= len(frames), f"{len(got)}")
        check_frames(got, frames[:len(got)], "until the interrupt")
        frame.check(os.listdir(place.folder) == ["out.mkv"], f"{os.listdir(place.folder)}")


def test_an_interrupt_ends_text():
    """Which waited for the end of the frames that are wanted."""
    with Here() as place:
        film_with_text(place, ((0, 59, "long"),), "-c:v", "ffv1")
        with open(place.path("in.mkv"), "rb") as file:
            data = file.read()
        os.remove(place.path("in.mkv"))
        interrupted(place, data, "--frames", "-500")
        last = packets(place.path("out.mkv"), "v:0")[-1]
        (begin, end, text), = subtitle(place.path("out.mkv"))
        frame.check((begin, text) == (0, "long") and abs(end - last[0] - last[1]) < 0.011, f"{begin} to {end}, frames to {last}")


def wait_until(is_so, seconds=60):
    """At least so long: a machine that stood still meanwhile does not count."""
    for _ in range(seconds * 200):
        if is_so():
            return True
        time.sleep(0.005)
    return is_so()


def waiting_for(process, number, itself=True):
    """What is told of the process (unless `itself` is false) and its children, of those for which a signal of that number waits."""
    waiting = []
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                told = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        except OSError:  # it has ended
            continue
        if told["State"][0] != "Z" and (itself and int(told["Pid"]) == process.pid or int(told["PPid"]) == process.pid):
            if (int(told["SigPnd"], 16) | int(told["ShdPnd"], 16)) & 1 << (number - 1):
                waiting.append(told)
    return waiting


def check_taken(process, number, what="the signal is not taken", **options):
    taken = wait_until(lambda: not waiting_for(process, number, **options))
    frame.check(taken, f"{what}: {waiting_for(process, number, **options)}")


def press_interrupt(terminal):
    """Until the terminal has sent its signal, which it shows then."""
    shown = b""
    os.write(terminal, b"\x03")
    while b"^C" not in shown:
        shown += os.read(terminal, 100)


def on_its_own_terminal(terminal):
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


FILM_FRAME = len("FRAME\n") + 640 * 480 * 3 // 2


@contextlib.contextmanager
def film_on_a_terminal(*leader):
    """Its process (or that of the command `leader`, which runs it), and the end of the terminal that we type at. Of its output, the header and a frame have been read,
    and it is writing the next one, so that it cannot end before that is read."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores, and hone then, too
    ours, theirs = pty.openpty()
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=640x480:rate=25", "-frames:v", "30", "-pix_fmt", "yuv420p", "-c:v", "ffv1",
               place.path("in.mkv"))  # no pipe holds one frame
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("first.mkv"))  # programs are in the cache then
        command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", place.path("in.mkv"), "-o", "-", "--format", "y4m"]
        with subprocess.Popen([*leader, *command], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment,
                              preexec_fn=lambda: on_its_own_terminal(theirs)) as process:
            frame.check(process.stdout.readline().startswith(b"YUV4MPEG2 "), "the output has no header")
            frame.check(len(process.stdout.read(FILM_FRAME)) == FILM_FRAME, "the output has no frame")
            frame.check(select.select([process.stdout], [], [], 60)[0], "the output has no second frame")
            yield process, ours
    os.close(ours)
    os.close(theirs)


def test_a_second_key_press_ends_at_once():
    """However soon it follows the first: nothing else ends the process for a minute."""
    with film_on_a_terminal() as (process, terminal):
        for _ in range(2):
            press_interrupt(terminal)
            check_taken(process, signal.SIGINT)
        ended = wait_until(lambda: process.poll() is not None, seconds=20)
        process.stdout.read()  # what has not ended does so now
        said = process.stderr.read().decode()
    frame.check(ended and process.returncode == -signal.SIGINT and not said, f"{process.returncode}: {said}")


def check_one_interrupt(interrupt):
    """The process that watches learns of it later than the one that works: it is one all the same, and the film is completed."""
    with film_on_a_terminal() as (process, terminal):
        process.send_signal(signal.SIGSTOP)
        interrupt(process, terminal)
        check_taken(process, signal.SIGINT, itself=False)
        time.sleep(0.3)  # signals at the same moment would be one
        process.send_signal(signal.SIGCONT)
        check_taken(process, signal.SIGINT, "the signal is not passed on")
        rest, said = process.stdout.read(), process.stderr.read().decode()
    frame.check(process.returncode == -signal.SIGINT and "interrupted" in said, f"{process.returncode}: {said}")
    frame.check(len(rest) % FILM_FRAME == 0, f"{len(rest)} bytes: the frames are not whole")


def test_one_key_press_is_not_two():
    check_one_interrupt(lambda _, terminal: press_interrupt(terminal))


def test_a_signal_to_the_group_is_not_two():
    check_one_interrupt(lambda process, _: os.killpg(process.pid, signal.SIGINT))


def check_hangup(*leader):
    """The terminal is closed, and the film completed. `leader`: the command that leads the session; none: hone itself."""
    with film_on_a_terminal(*leader) as (process, terminal):
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), terminal)
        rest, said = process.stdout.read(), process.stderr.read().decode()
    frame.check("interrupted" in said and len(rest) % FILM_FRAME == 0, f"{process.returncode}: {len(rest)} bytes, {said}")


def test_a_terminal_that_is_closed_completes_the_file():
    """It tells the leader of its session, and when that ends, all processes in front."""
    check_hangup()
    check_hangup("sh", "-c", '"$@"; :', "sh")


def test_second_signals_end_at_once():
    """To the group, and to the process that watches: each is passed on."""
    for send in os.killpg, os.kill:
        with film_on_a_terminal() as (process, _):
            for _ in range(2):
                send(process.pid, signal.SIGINT)
                check_taken(process, signal.SIGINT)
                time.sleep(0.3)  # signals at the same moment would be one
            ended = wait_until(lambda: process.poll() is not None, seconds=20)
            process.stdout.read()  # what has not ended does so now
            said = process.stderr.read().decode()
        frame.check(ended and process.returncode == -signal.SIGINT and not said, f"{send}: {process.returncode}: {said}")


def check_kept(place, text, folder="out"):
    """The output is what was there before, and nothing lies beside it."""
    with open(place.path(folder, "out.mkv"), "rb") as file:
        frame.check(file.read() == b"mine", f"{text}: the output was changed")
    frame.check(os.listdir(place.path(folder)) == ["out.mkv"], f"{text}: {os.listdir(place.path(folder))}")


def film_with_output(place, frames=24):
    write_video(place.path("in.mkv"), random_frames("420", 8, frames), "420", 8)
    os.mkdir(place.path("out"))
    with open(place.path("out", "out.mkv"), "wb") as file:
        file.write(b"mine")
    return "apply", "box size=3", place.path("in.mkv"), "-o", place.path("out", "out.mkv"), "--tune", "off"


def test_a_full_disk_leaves_what_there_was():
    """A limit on sizes stands for it: sanitizers bear nothing that is loaded before them. Standard output meets the real error."""
    with Here() as place:
        command = film_with_output(place, frames=200)
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("first.mkv"))  # programs are in the cache then
        hone = os.path.join(frame.build(), "hone")
        result = subprocess.run([hone, *command], capture_output=True, text=True, env=place.environment, check=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300000, 300000)))
        frame.check(result.returncode == 3 and "File too large" in result.stderr, f"{result}")
        check_kept(place, "a full disk")
        with open("/dev/full", "wb") as full:
            result = subprocess.run([hone, *command[:4], "-", "--format", "y4m"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    env=place.environment, check=False)
        frame.check(result.returncode == 3 and "No space left on device" in result.stderr, f"{result}")


def test_a_device_that_fails_in_the_middle():
    """A launch that fails, one after which all fail, and a transfer: the frame is named, and nothing hangs."""
    layer = {"OPENCL_LAYERS": os.path.abspath(os.path.join(frame.build(), "tests", "layer.so"))}
    with Here() as place:
        command = film_with_output(place)
        place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("first.mkv"))  # programs are in the cache then
        for changes in ({"LAYER_FAIL": "9", "LAYER_ONLY": "clEnqueueNDRangeKernel", "LAYER_CODE": "-5"},
                        {"LAYER_FAIL": "9", "LAYER_ONLY": "clEnqueueNDRangeKernel", "LAYER_CODE": "-36", "LAYER_STICKY": "1"},
                        {"LAYER_FAIL": "30", "LAYER_ONLY": "clEnqueueMarkerWithWaitList", "LAYER_CODE": "-5"}):
            result = place.run(*command, status=5, **layer, **changes)
            frame.check(re.search(r"frame \d+: ", result.stderr) and "CL_" in result.stderr, f"{changes}: {result.stderr}")
            check_kept(place, f"{changes}")


def test_a_kill_leaves_what_there_was():
    with Here() as place:
        command = film_with_output(place)
        with subprocess.Popen([os.path.join(frame.build(), "hone"), *command[:2], "-", *command[3:], "--codec", "ffv1"],
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment) as process:
            process.stdin.write(y4m(random_frames("420", 8, 40)))
            process.stdin.flush()
            limit = time.monotonic() + 60
            while len(os.listdir(place.path("out"))) < 2 and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.02)
            process.kill()
            process.stderr.read()  # ends with the last of its processes: the input must not end before
        with open(place.path("out", "out.mkv"), "rb") as file:
            frame.check(file.read() == b"mine", "the output was changed")
        place.run(*command)
        check_frames(read_video(place.path("out", "out.mkv"), "420", 8), [[box3(f[0], 8), *f[1:]] for f in random_frames("420", 8, 24)],
                     "after the kill")


def test_an_input_that_ends_within_a_frame():
    with Here() as place:
        command = film_with_output(place)
        data = y4m(random_frames("420", 8, 5))
        for end in (len(data) - 1000, 40):
            result = subprocess.run([os.path.join(frame.build(), "hone"), *command[:2], "-", *command[3:]], input=data[:end],
                                    capture_output=True, env=place.environment, check=False)
            frame.check(result.returncode == 3 and b"'-'" in result.stderr, f"{end}: {result}")
            check_kept(place, f"{end} bytes")
        accepted = subprocess.run([os.path.join(frame.build(), "hone"), *command[:2], "-", *command[3:], "--accept-damaged"],
                                  input=data[:-1000], capture_output=True, env=place.environment, check=False)
        frame.check(accepted.returncode == 0 and b"ends within a frame" in accepted.stderr, f"{accepted}")
        frame.check(len(read_video(place.path("out", "out.mkv"), "420", 8)) == 4, "the whole frames")


def test_frames_that_change_their_size_are_refused():
    with Here() as place:
        command = film_with_output(place)
        parts = []
        for size in ("96x64", "64x96"):
            ffmpeg("-f", "lavfi", "-i", f"testsrc=size={size}:rate=25:duration=0.4", "-c:v", "mpeg2video", "-pix_fmt", "yuv420p",
                   place.path("part.m2v"))
            with open(place.path("part.m2v"), "rb") as file:
                parts.append(file.read())
            os.remove(place.path("part.m2v"))
        with open(place.path("in.m2v"), "wb") as file:
            file.write(b"".join(parts))
        result = place.run("apply", "box size=3", place.path("in.m2v"), *command[3:], status=3)
        frame.check("64x96" in result.stderr and "another size" in result.stderr, result.stderr)
        check_kept(place, "another size")


def spoil(path, out, number):
    """Changes bytes in the middle of the packet of a frame."""
    packet = probe(path, "-select_streams", "v:0", "-show_packets")["packets"][number]
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at = int(packet["pos"]) + int(packet["size"]) // 2
    for i in range(24):
        data[at + i] ^= 0x5a
    with open(out, "wb") as file:
        file.write(data)


def test_damage_is_named_and_gone_over_on_request():
    with Here() as place:
        frames = random_frames("420", 8, 12)
        write_video(place.path("in.mkv"), frames, "420", 8, "-level", "3", "-slicecrc", "1", "-g", "1")
        spoil(place.path("in.mkv"), place.path("bad.mkv"), 6)
        with open(place.path("out.mkv"), "wb") as file:
            file.write(b"mine")
        result = place.run("apply", "box size=3", place.path("bad.mkv"), "-o", place.path("out.mkv"), status=3)
        frame.check("frame 7, at 0.240 s, is damaged" in result.stderr and "--accept-damaged" in result.stderr, result.stderr)
        with open(place.path("out.mkv"), "rb") as file:
            frame.check(file.read() == b"mine", "the output was changed")
        result = place.run("apply", "box size=3", place.path("bad.mkv"), "-o", place.path("out.mkv"), "--accept-damaged")
        frame.check(result.stderr.count("is damaged") == 1 and "frame 7," in result.stderr, result.stderr)
        got = read_video(place.path("out.mkv"), "420", 8)
        wanted = [[box3(f[0], 8), *f[1:]] for f in frames]
        del got[6], wanted[6]
        check_frames(got, wanted, "the whole frames")


def test_a_file_that_is_cut_off():
    with Here() as place:
        for name, codec in (("in.mkv", "libx264"), ("in.mp4", "libx264"), ("in.avi", "mpeg4")):
            ffmpeg("-f", "lavfi", "-i", "testsrc=size=96x64:rate=25:duration=2", "-c:v", codec, "-pix_fmt", "yuv420p",
                   *(("-movflags", "+faststart") if name.endswith("mp4") else ()), place.path(name))
            with open(place.path(name), "r+b") as file:
                file.truncate(os.path.getsize(place.path(name)) * 2 // 3)
            out = place.path("out" + name[2:])
            result = place.run("apply", "box size=3", place.path(name), "-o", out, status=3)
            frame.check("damaged" in result.stderr and not os.path.exists(out), f"{name}: {result.stderr}")
            place.run("apply", "box size=3", place.path(name), "-o", out, "--accept-damaged")
            count = len(probe(out, "-select_streams", "v:0", "-show_frames")["frames"])
            frame.check(10 < count < 50, f"{name}: {count} frames")


def test_hostile_files_are_refused():
    with Here() as place:
        os.mkdir(place.path("f"))
        write_video(place.path("secret.mkv"), random_frames("420", 8, 2), "420", 8)
        files = {"list.m3u8": b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n" + place.path("secret.mkv").encode() + b"\n",
                 "list.mp4": b"ffconcat version 1.0\nfile " + place.path("secret.mkv").encode() + b"\n",
                 "list.mpd": b"<?xml version='1.0'?>\n<MPD xmlns='urn:mpeg:dash:schema:mpd:2011' type='static'></MPD>\n",
                 "huge.y4m": b"YUV4MPEG2 W60000 H60000 F25:1\nFRAME\n" + bytes(100),
                 "sides.y4m": b"YUV4MPEG2 W2000000000 H2 F25:1\nFRAME\n" + bytes(100),
                 "noise.mkv": np.random.default_rng(3).bytes(5000), "empty.mp4": b""}
        for name, data in files.items():
            with open(place.path("f", name), "wb") as file:
                file.write(data)
            result = place.run("apply", "box size=3", place.path("f", name), "-o", place.path("out.mkv"), status=3)
            frame.check(name in result.stderr and not os.path.exists(place.path("out.mkv")), f"{name}: {result.stderr}")
            frame.check(("is a list of other files" in result.stderr) == name.startswith("list"), f"{name}: {result.stderr}")


def test_a_list_of_files_is_joined_as_its_message_says():
    with Here() as place:
        source = random_frames("420", 8, 20)
        write_video(place.path("in.mkv"), source, "420", 8)
        ffmpeg("-i", place.path("in.mkv"), "-c:v", "libx264", "-qp", "0", "-g", "5", "-f", "hls", "-hls_time", "0.2", "-hls_list_size", "0", place.path("list.m3u8"))
        said = place.run("apply", "box size=1", place.path("list.m3u8"), "-o", place.path("out.mkv"), status=3).stderr
        command = said.partition("join them first: ")[2].strip()
        subprocess.run(f"{command} -v error".replace("joined.mkv", place.path("joined.mkv")), shell=True, check=True, timeout=60)
        place.run("apply", "box size=1", place.path("joined.mkv"), "-o", place.path("out.mkv"))
        frame.check(len(probe(place.path("out.mkv"), "-show_frames")["frames"]) == 20, "frames")


BROKEN = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct packet { void *buffer; int64_t pts, dts; uint8_t *data; int size; };

/* Processes that try a file may use little processor time. */
static int is_spared(void)
{
    struct rlimit most;
    return getenv("SPARED") && getrlimit(RLIMIT_CPU, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
}

/* Stands for a decoder with a fault: in packets of more than LARGEST bytes. */
int avcodec_send_packet(void *decoder, const struct packet *packet)
{
    static const char *const names[] = {"libavcodec.so.59", "libavcodec.so.60", "libavcodec.so.61"}; /* FFmpeg 5 to 7 */
    void *library = NULL;
    for (int i = 0; i < 3 && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    int (*real)(void *, const struct packet *) = library ? dlsym(library, "avcodec_send_packet") : NULL;
    const char *fault = getenv("FAULT");
    if (!real)
        _exit(99);
    if (packet && packet->size > atoi(getenv("LARGEST")) && !is_spared()) {
        if (strcmp(fault, "crash") == 0)
            *(volatile int *)8 = 1;
        for (;;)
            pause();
    }
    return real(decoder, packet);
}
"""


def broken_decoder(place, fault, **more):
    """An environment with such a decoder."""
    with open(place.path("broken.c"), "w", encoding="ascii") as file:
        file.write(BROKEN)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", place.path("broken.c"), "-o", place.path("broken.so")], check=True)
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"  # which would refuse what comes before it
    return {"LD_PRELOAD": place.path("broken.so"), "ASAN_OPTIONS": sanitizer, "FAULT": fault, "LARGEST": "5000", **more}


def calm(frames):
    """As many, all alike, so that their packets are small."""
    return [[plane * 0 + 9 for plane in planes] for planes in frames]


def check_that_one_breaks(place, fault, said, *options):
    """The second of three videos, behind its first frame, where the process that filters has it."""
    os.mkdir(place.path("in"))
    frames = random_frames("444", 8, 3)
    for name, content in (("a", calm(frames)), ("b", calm(frames)[:1] + frames), ("c", calm(frames))):
        write_video(place.path("in", name + ".mkv"), content, "444", 8)
    place.run("apply", "box size=3", place.path("in", "a.mkv"), "-o", place.path("first.mkv"))  # programs are in the cache then
    result = place.run("apply", "box size=3", place.path("in"), "-o", place.path("out/"), "--json", *options, status=3,
                       **broken_decoder(place, fault))
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    frame.check([line["status"] for line in lines] == ["done", "failed", "done"], result.stdout)
    frame.check("b.mkv" in lines[1]["message"] and said in lines[1]["message"], lines[1]["message"])
    frame.check(result.stderr.count("b.mkv") == 1 and "2 written, 1 failed" in result.stderr, result.stderr)
    frame.check(sorted(os.listdir(place.path("out"))) == ["a.mkv", "c.mkv"], f"{os.listdir(place.path('out'))}")


def test_a_decoder_that_hangs_later_fails_alone():
    """The limit is twice this one and 4 s, which is what this takes."""
    with Here() as place:
        check_that_one_breaks(place, "hang", "its decoder gave nothing for 16 s", "--timeout", "6")


def test_a_decoder_that_hangs_at_once_fails_alone():
    """In the process itself, where it is opened once more."""
    with Here() as place:
        write_video(place.path("in.mkv"), random_frames("444", 8, 2), "444", 8)
        result = place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.mkv"), "--timeout", "0.01", status=3,
                           **broken_decoder(place, "hang", SPARED="1"))
        frame.check("in.mkv': its decoder gave nothing for 4.02 s" in result.stderr, result.stderr)
        left = [name for name in os.listdir(place.folder) if name == "out.mkv" or name.startswith(".hone")]
        frame.check(not left, f"{left}")


def test_a_video_that_breaks_its_decoder_later_fails_alone():
    """What was said before is not said again."""
    with Here() as place:
        check_that_one_breaks(place, "crash", "crashed")
        with open(place.path("in", "b.mkv"), "rb") as file:
            data = file.read()
        status, said, _ = piped(place, data, **broken_decoder(place, "crash"))
        frame.check(status == 3 and "'-'" in said and "crashed" in said and not os.path.exists(place.path("out.mkv")), f"{status}: {said}")


def test_a_video_that_breaks_its_decoder_at_once_fails_alone():
    """Each is tried in a process of its own, up to its first frame."""
    with Here() as place:
        os.mkdir(place.path("in"))
        write_video(place.path("in", "a.mkv"), random_frames("444", 8, 2), "444", 8)
        write_video(place.path("in", "b.mkv"), calm(random_frames("444", 8, 2)), "444", 8)
        for fault, said, options in (("crash", "its decoder crashed", ()), ("hang", "its decoder does not answer", ("--timeout", "4"))):
            result = place.run("apply", "box size=3", place.path("in"), "-o", place.path("out/"), "--force", *options, status=3,
                               **broken_decoder(place, fault))
            frame.check(said in result.stderr and "a.mkv" in result.stderr, result.stderr)
            frame.check(os.listdir(place.path("out")) == ["b.mkv"], f"{os.listdir(place.path('out'))}")


def patched(data, box, changes):
    """An MP4 with other numbers in its boxes of this kind, each at an offset from the box's name."""
    data, at = bytearray(data), data.find(box)
    frame.check(at > 0, f"no {box}")
    while at > 0:
        for offset, value in changes:
            data[at + offset:at + offset + 4] = struct.pack(">I", value)
        at = data.find(box, at + 4)
    return bytes(data)


def test_a_small_file_that_asks_for_much_is_refused():
    """Tables of MP4: a sample of one byte, and fifty million times the same, which is a list of 1.2 GB once it is read."""
    with Here() as place:
        write_video(place.path("in.mp4"), random_frames("420", 8, 2), "420", 8, codec="mpeg4")
        with open(place.path("in.mp4"), "rb") as file:
            data = file.read()
        many = 50_000_000
        data = patched(data, b"stsz", ((8, 1), (12, many)))
        data = patched(patched(data, b"stts", ((12, many),)), b"stsc", ((16, many),))
        with open(place.path("many.mp4"), "wb") as file:
            file.write(data)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        result = place.run("apply", "box size=3", place.path("many.mp4"), "-o", place.path("out.mp4"), "--decode-memory", "100", status=3)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        frame.check("many.mp4" in result.stderr and not os.path.exists(place.path("out.mp4")), result.stderr)
        frame.check(after < max(before, 700 << 10), f"{after >> 10} MiB")


def boxes(data, start, end):
    """Those of an MP4: name, start, end."""
    while start + 8 <= end:
        size, name = struct.unpack(">I4s", data[start:start + 8])
        yield name, start, start + size
        start += size


def with_large_tracks(data, count, samples):
    """An MP4 with its one track and others that list many samples, each in less memory than one allocation may have."""
    moov, start, end = next(box for box in boxes(data, 0, len(data)) if box[0] == b"moov")
    _, first, last = next(box for box in boxes(data, start + 8, end) if box[0] == b"trak")
    track = patched(data[first:last], b"stsz", ((8, 1), (12, samples)))
    track = patched(patched(track, b"stts", ((12, samples),)), b"stsc", ((16, samples),))
    inside = data[start + 8:last] + track * count + data[last:end]
    return data[:start] + struct.pack(">I4s", len(inside) + 8, moov) + inside + data[end:]


def piped(place, data, *options, **variables):
    """What apply does with a video on its standard input: how it ended, what it said, and the most memory that it had, in KiB."""
    with open(place.path("said"), "w+b") as said, open(place.path("piped"), "w+b") as file:
        file.write(data)
        file.flush()
        command = [os.path.join(frame.build(), "hone"), "apply", "box size=3", "-", "-o", place.path("out.mkv"), *options]
        with subprocess.Popen(["cat", file.name], stdout=subprocess.PIPE) as source:
            with subprocess.Popen(command, stdin=source.stdout, stderr=said, env={**place.environment, **variables}) as process:
                source.stdout.close()
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return process.returncode, said.read().decode(), used.ru_maxrss


def test_the_memory_of_what_comes_through_a_pipe_is_watched():
    """A hundred tables of 72 MB at the start, or behind a few frames: twice what a run may take that decodes in 100 MiB."""
    source = ("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=10:duration=3")
    with Here() as place:
        ffmpeg(*source, "-c:v", "mpeg4", "-movflags", "+faststart", place.path("in.mp4"))
        with open(place.path("in.mp4"), "rb") as file:
            at_once = with_large_tracks(file.read(), 99, 3_000_000)
        ffmpeg(*source, *(("-map", "0:v") * 100), "-c:v", "mpeg4", "-g", "10",
               "-movflags", "frag_keyframe+empty_moov+default_base_moof", place.path("parts.mp4"))
        with open(place.path("parts.mp4"), "rb") as file:
            whole = file.read()
        middle = [end for name, _, end in boxes(whole, 0, len(whole)) if name == b"mdat"][0]
        later = whole[:middle] + patched(whole[middle:], b"trun", ((4, 1), (8, 3_000_000)))
        for data in (at_once, later):
            status, said, most = piped(place, data, "--decode-memory", "100")
            frame.check(status == 3 and "takes more memory than the limit" in said, f"{status}: {said[-400:]}")
            frame.check(not os.path.exists(place.path("out.mkv")), "a file was written")
            frame.check(most < 2200 << 10, f"{most >> 10} MiB")
        status, said, _ = piped(place, whole[:middle], "--decode-memory", "100", "-q")
        frame.check(status == 0, f"{status}: {said[-400:]}")


# ---- Options ----

def test_what_cannot_be_meant_is_refused():
    with Here() as place:
        write_video(place.path("in.mkv"), random_frames("420", 8, 2), "420", 8)
        place.picture(64, 48)
        shutil.copy(place.path("in.mkv"), place.path("same.mkv"))
        cases = [("in.mkv", "out.mkv", ("--frames", "9-3"), "--frames is A-B"), ("in.mkv", "out.mkv", ("--frames", "0-3"), "from 1"),
                 ("in.mkv", "out.mkv", ("--planes", "chroma"), "luma or all"), ("in.mkv", "out.mkv", ("--codec", "h265x"), "no encoder"),
                 ("in.mkv", "out.webm", ("--codec", "ffv1"), "does not hold"), ("in.mkv", "out.png", (), "a video's suffix"),
                 ("in.mkv", "out.mkv", ("--quality", "50"), "--quality means nothing"),
                 ("in.mkv", "out.mkv", ("--preset", "slow"), "--preset means nothing"),
                 ("in.mkv", "out.mkv", ("--codec", "h264", "--preset", "slowish"), "slowish"),
                 ("in.mkv", "out.mkv", ("--pages", "1-2"), "--pages means nothing"),
                 ("in.mkv", "out.mkv", ("--resume",), "--resume means nothing"),
                 ("in.mkv", "out.mkv", ("--alpha", "copy"), "--alpha means nothing"),
                 ("in.pgm", "out.mkv", (), "is a picture"), ("in.pgm", "out.png", ("--frames", "1-3"), "--frames means nothing"),
                 ("same.mkv", "same.mkv", (), "--force")]
        for source, out, options, said in cases:
            result = place.run("apply", "box size=3", place.path(source), "-o", place.path(out), *options, status=2)
            frame.check(said in result.stderr, f"{source} {out} {options}: {result.stderr}")
            frame.check(out == "same.mkv" or not os.path.exists(place.path(out)), f"{out} was written")
        result = place.run("apply", "sobel output=dx", place.path("in.mkv"), "-o", place.path("out.mkv"), status=2)
        frame.check("makes 70x50 s16 of a plane of 70x50 u8; in a video, size and type have to stay" in result.stderr, result.stderr)
        place.run("apply", "box size=3", place.path("same.mkv"), "-o", place.path("same.mkv"), "--force")


def test_videos_that_are_only_read_are_no_broken_images():
    with Here() as place:
        os.mkdir(place.path("in"))
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=0.2", "-pix_fmt", "yuv420p", place.path("in", "a.flv"))
        for name, content in ("a.yuv", bytes(6144)), ("b.pgm", b"P5 1 1 255\n\0"):
            with open(place.path("in", name), "wb") as file:
                file.write(content)
        for out in "out.flv", "out.png":
            result = place.run("apply", "box size=3", place.path("in", "a.flv"), "-o", place.path(out), "--frames", "1-3", status=2)
            frame.check("a video's suffix says the format" in result.stderr, f"{out}: {result.stderr}")
        place.run("apply", "box size=3", place.path("in", "a.flv"), "-o", place.path("out.mkv"))
        said = place.run("apply", "box size=3", place.path("in"), "-o", place.path("out/")).stderr
        frame.check("a.flv': no such videos are written" in said and "a.yuv': --raw" in said, said)


def test_encoders_take_their_settings():
    """Smaller files for less quality; ones that play."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=0.4", "-c:v", "ffv1", "-pix_fmt", "yuv420p", place.path("in.mkv"))
        for codec, name, preset in (("h264", "h264", "fast"), ("libvpx-vp9", "vp9", "8"), ("mpeg4", "mpeg4", None)):
            sizes = []
            for quality in (20, 90):
                out = place.path(f"{name}{quality}.mkv")
                report = place.json("apply", "box size=3", place.path("in.mkv"), "-o", out, "--codec", codec, "--quality", str(quality),
                                    *(("--preset", preset) if preset else ()))
                made = probe(out, "-count_frames", "-show_streams")["streams"][0]
                frame.check((made["codec_name"], made["nb_read_frames"]) == (name, "10"), f"{made}")
                frame.check(report["video"]["frames"] == 10 and report["video"]["bottleneck"] in report["video"]["busy_seconds"], f"{report}")
                sizes.append(os.path.getsize(out))
            frame.check(sizes[0] * 1.2 < sizes[1], f"{codec}: {sizes} bytes")


def test_memory_is_bounded_on_request():
    """Frames of 2 MB (of luma alone, with results) through 8 MB; what two slots of the ring do not fit into is refused."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=1024x1024:rate=25", "-frames:v", "20", "-pix_fmt", "yuv420p", "-c:v", "ffv1",
               place.path("in.mkv"))
        results = []
        for options in ((), ("--memory", "8M")):
            place.run("apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.y4m"), *options)
            with open(place.path("out.y4m"), "rb") as file:
                results.append(file.read())
        frame.check(results[0] == results[1] and len(results[0]) > 20 * 1024 * 1024, "other frames")
        result = place.any("apply", "box size=3", place.path("in.mkv"), "-o", place.path("no.y4m"), "--memory", "2M")
        frame.check(result.returncode and "MB" in result.stderr and not os.path.exists(place.path("no.y4m")), f"{result}")


def test_progress_names_the_bottleneck():
    with Here() as place:
        write_video(place.path("in.mkv"), random_frames("420", 8, 30), "420", 8)
        lines = place.on_terminal(90, "apply", "box size=3", place.path("in.mkv"), "-o", place.path("out.mkv"))
        frame.check(any(re.match(r"frame \d+ of 30, [\d.]+ frames/s(, .* left)?, (decoding|copying|upload|kernels|download|encoding) is the bottleneck", line)
                        for line in lines), f"{lines}")
        frame.check(any("30 frames of 70x50 yuv420p" in line for line in lines), f"{lines}")


if __name__ == "__main__":
    frame.main(globals())
