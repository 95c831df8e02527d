#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which codec, and which of its kinds, hone gives a video, and what becomes of the samples.  codecs.py build=FOLDER"""

import json
import struct
import subprocess

import numpy as np

import frame
from video import Here, ffmpeg, probe, spoil

SIZE = (64, 96)  # rows, columns
SAME = "epsilon threshold=0 radius=1"


def picture(size="96x64", frames=5):
    return "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25", "-frames:v", str(frames)


def described(path):
    stream = probe(path, "-select_streams", "v:0", "-show_streams")["streams"][0]
    return [stream.get(key) for key in ("codec_name", "profile", "codec_tag_string", "pix_fmt")]


def planes(path, pixels, count):
    """Of all frames, in 16 bits."""
    data = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", pixels, "-")
    return np.frombuffer(data, "<u2").astype(np.int64).reshape(-1, count, *SIZE)


def test_codecs_and_their_kinds_stay():
    """In the container of the input, frames as they are decoded, and nothing to be told."""
    with Here() as place:
        for suffix, pixels, codec, *options in (
                (".mov", "yuv422p10", "prores_ks", "-profile:v", "3"), (".mov", "yuv444p10", "dnxhd", "-profile:v", "dnxhr_444"),
                (".mov", "gbrp10", "dnxhd", "-profile:v", "dnxhr_444"), (".mov", "yuv422p10", "dnxhd", "-profile:v", "dnxhr_hqx"),
                (".mov", "yuv422p", "dnxhd", "-profile:v", "dnxhr_sq"), (".mkv", "yuv422p", "dnxhd", "-profile:v", "dnxhr_hq"),
                (".nut", "yuv422p10", "dnxhd", "-profile:v", "dnxhr_hqx"), (".nut", "yuv422p10", "prores_ks"), (".mov", "yuv422p10", "cfhd"), (".mkv", "yuv444p16", "ffv1"), (".mp4", "yuv420p10", "libx264"),
                (".mkv", "yuv420p12", "libx265"), (".mkv", "yuv444p12", "libvpx-vp9"),
                (".mkv", "yuv420p12", "libaom-av1", "-cpu-used", "8"), (".mkv", "yuv444p", "libaom-av1", "-cpu-used", "8"), (".mkv", "bgr24", "libx264rgb")):
            size = "256x128" if codec == "dnxhd" else "96x64"
            ffmpeg(*picture(size), "-pix_fmt", pixels, "-c:v", codec, *options, "-y", place.path("in" + suffix))
            said = place.run("apply", SAME, place.path("in" + suffix), "-o", place.path("out" + suffix), "--force").stderr
            a, b = (described(place.path(name + suffix)) for name in ("in", "out"))
            frame.check(a == b and not said, f"{a} became {b}: {said}")


def test_prores_4444_stays():
    """Decoded to 12 bits, encoded from 10: of both kinds, with and without alpha, which is lossless."""
    noise = np.random.default_rng(1)
    smooth = np.indices(SIZE).sum(0) * 5 + 100
    with Here() as place:
        for alpha in ("", "a"):
            for profile, tag in (("4444", "ap4h"), ("4444xq", "ap4x")):
                shown = [smooth, 900 - smooth, smooth // 2 + 300, noise.integers(0, 1024, SIZE)][:4 if alpha else 3]
                shown[-1][:2, :3] = ((0, 1, 511), (512, 1022, 1023)) if alpha else shown[-1][:2, :3]
                data = b"".join(plane.astype("<u2").tobytes() for plane in shown) * 3
                path, out, pixels = place.path("in.mov"), place.path("out.mov"), f"yuv{alpha}444p12le"
                ffmpeg("-f", "rawvideo", "-pix_fmt", f"yuv{alpha}444p10", "-s", "96x64", "-i", "-", "-c:v", "prores_ks", "-profile:v",
                       profile, path, data=data)
                said = place.run("apply", SAME, path, "-o", out, "--force").stderr
                a, b = described(path), described(out)
                frame.check(a == b and b[2:] == [tag, pixels], f"{a} became {b}")
                frame.check(said.count("\n") == 1 and "samples of 12 bits are rounded to 10" in said, said)
                frame.check(("--codec hevc takes all" in said) == (not alpha), said)
                before, after = (planes(name, pixels, len(shown)) for name in (path, out))
                mean = (after - before)[:, :3].mean(axis=(2, 3))  # cut off they would be 1.5 lower
                frame.check(before.shape == after.shape and abs(mean).max() < 0.6, f"{profile} {alpha}: on average {mean}")
                frame.check(not alpha or np.array_equal(before[:, 3], after[:, 3]), f"{profile}: alpha is another")


def test_ffv1_in_quicktime():
    """Where it comes from there, is asked for, or nothing else takes the frames, as with alpha; bit by bit."""
    with Here() as place:
        for suffix in (".mov", ".mkv"):
            for pixels in ("yuv420p", "yuva420p", "yuva444p10le", "bgra", "gbrap10le", "yuv420p12le"):
                path, out = place.path("in" + suffix), place.path("out.mov")
                ffmpeg(*picture(), "-vf", f"format=rgba,geq=r=X:g=Y:b=X+Y:a=2*X+Y,format={pixels}", "-c:v", "ffv1", "-y", path)
                plain = suffix == ".mkv" and pixels in ("yuv420p", "yuv420p12le")
                said = place.run("apply", SAME, path, "-o", out, "--force").stderr
                frame.check((described(out)[0] == "ffv1") != plain, f"{suffix} {pixels}: {described(out)}")
                frame.check(("few programs read FFV1 in QuickTime" in said) == (suffix == ".mkv" and not plain), said)
                said = place.run("apply", SAME, path, "-o", out, "--force", "--codec", "ffv1").stderr
                frame.check(not said and described(out)[0::3] == ["ffv1", pixels], f"{suffix} {pixels}: {described(out)} {said}")
                a, b = (ffmpeg("-i", name, "-f", "rawvideo", "-pix_fmt", pixels, "-") for name in (path, out))
                frame.check(a == b, f"{suffix} {pixels}: other samples")


def test_quicktime_holds_less_than_its_list_says():
    """Its muxer refuses more when a file is begun."""
    with Here() as place:
        for video, audio, left in (("libvpx-vp9", "libopus", "opus"), ("libaom-av1", "flac", "flac")):
            ffmpeg("-f", "lavfi", "-i", "sine=duration=0.2", *picture(), "-pix_fmt", "yuv420p", "-c:v", video, "-cpu-used", "8", "-c:a",
                   audio, "-y", place.path("in.mkv"))
            said = place.run("apply", SAME, place.path("in.mkv"), "-o", place.path("out.mov"), "--force").stderr
            frame.check(f"(audio, {left}) is left out" in said and described(place.path("out.mov"))[0] == "h264", said)
            said = place.run("apply", SAME, place.path("in.mkv"), "-o", place.path("no.mov"), "--codec", video, status=2).stderr
            frame.check("does not hold" in said, said)


def test_frames_that_are_not_encoded():
    """They stay so where the format has a code for them, and no bit is lost where it holds FFV1, or has no other way."""
    with Here() as place:
        for pixels, where in (("yuv420p", "mkv avi nut"), ("yuyv422", "mkv avi mov nut"), ("bgr24", "avi mov nut"), ("argb", "mov nut"),
                              ("yuv444p", "nut"), ("yuv420p10le", "nut"), ("gray16le", "nut")):
            ffmpeg(*picture(frames=2), "-pix_fmt", pixels, "-c:v", "rawvideo", "-y", place.path("in.nut"))
            wanted = ffmpeg("-i", place.path("in.nut"), "-f", "rawvideo", "-pix_fmt", pixels, "-")
            for suffix in ("mkv", "avi", "mov", "nut"):
                said = place.run("apply", SAME, place.path("in.nut"), "-o", place.path("out." + suffix), "--force").stderr
                codec = described(place.path("out." + suffix))[0]
                text = f"{pixels} in {suffix}: {codec}: {said}"
                frame.check((codec == "rawvideo") == (suffix in where.split()), text)
                frame.check(said.count("has no code for") == (codec != "rawvideo"), text)
                got = ffmpeg("-i", place.path("out." + suffix), "-f", "rawvideo", "-pix_fmt", pixels, "-")
                frame.check(got == wanted or (suffix == "mov" and codec == "h264" and len(got) == len(wanted)), text)
        said = place.run("apply", SAME, place.path("in.nut"), "-o", place.path("no.avi"), "--codec", "rawvideo", status=2).stderr
        frame.check("has no code for frames of gray16le" in said and ".nut has" in said, said)


def test_frames_that_nut_has_no_code_for():
    """FFmpeg's writer takes them, and its reader gives 15 bits of RGB."""
    with Here() as place:
        for pixels, planar in ("p010le", "yuv420p10le"), ("nv24", "yuv444p"):
            wanted = ffmpeg(*picture(frames=2), "-vf", f"format={planar}", "-f", "rawvideo", "-pix_fmt", pixels, "-")
            with open(place.path("in.raw"), "wb") as file:
                file.write(wanted)
            given = ("apply", SAME, "--raw", f"{pixels}:96x64", place.path("in.raw"), "-o")
            said = place.run(*given, place.path("out.nut"), "--force").stderr
            frame.check("has no code for" in said and described(place.path("out.nut"))[0] == "ffv1", said)
            got = ffmpeg("-i", place.path("out.nut"), "-f", "rawvideo", "-pix_fmt", pixels, "-")
            frame.check(got == wanted, f"{pixels}: other frames")
            said = place.run(*given, place.path("no.nut"), "--codec", "rawvideo", status=2).stderr
            frame.check(".raw takes them" in said, said)


def test_what_muxers_refuse_becomes_another_codec():
    """Though their lists of codecs have them."""
    with Here() as place:
        for name, codec, out in (("in.webm", "libvpx", "out.mov"), ("in.rm", "rv10", "out.mkv"), ("in.rm", "rv20", "out.mkv")):
            ffmpeg(*picture("176x144"), "-pix_fmt", "yuv420p", "-c:v", codec, "-y", place.path(name))
            place.run("apply", SAME, place.path(name), "-o", place.path(out), "--force")
            frame.check(described(place.path(out))[0] == "h264", f"{codec}: {described(place.path(out))}")


def test_sound_goes_where_it_can_be_read_again():
    """As FFmpeg decodes it from there: Matroska takes what WAV has tags for, MP4 takes FLAC; without the size of blocks NUT cannot be decoded."""
    with Here() as place:
        for source, codec, rate, kept, left in (("in.avi", "wmav2", 44100, "mkv avi", "nut mp4"), ("in.avi", "pcm_mulaw", 8000, "mkv nut", "mp4"),
                                                ("in.avi", "libgsm_ms", 8000, "mkv", "mov"), ("in.avi", "g722", 16000, "mkv", "mp4"), ("in.mkv", "flac", 48000, "mp4 mkv", "mov"),
                                                ("in.avi", "adpcm_g726", 8000, "avi", "mkv nut")):
            ffmpeg("-f", "lavfi", "-i", f"sine=duration=0.4:sample_rate={rate}", *picture(), "-c:v", "mpeg4", "-c:a", codec, "-ac", "1", "-y", place.path(source))
            wanted = ffmpeg("-i", place.path(source), "-map", "0:a", "-f", "s16le", "-")
            for suffix in f"{kept} {left}".split():
                out = place.path("out." + suffix)
                said = place.run("apply", SAME, place.path(source), "-o", out, "--force").stderr
                sounds = [s for s in probe(out, "-show_streams")["streams"] if s["codec_type"] == "audio"]
                frame.check(len(sounds) == (suffix in kept.split()) and ("is left out" in said) == (suffix in left.split()), f"{codec} in {suffix}: {said}")
                frame.check(not sounds or ffmpeg("-i", out, "-map", "0:a", "-f", "s16le", "-") == wanted, f"{codec} in {suffix}: other samples")


def graphics():
    """Subtitles of Blu-ray as a file: a rectangle of one colour, shown from 0.1 to 0.3 s."""
    def segment(pts, kind, data):
        return b"PG" + struct.pack(">IIBH", pts, 0, kind, len(data)) + data
    rows = (bytes((1,)) * 8 + b"\0\0") * 4
    window = b"\1" + struct.pack(">BHHHH", 0, 10, 10, 8, 4)
    return b"".join(segment(*s) for s in (
        (9000, 0x16, struct.pack(">HHBHBBBB", 96, 64, 16, 0, 128, 0, 0, 1) + struct.pack(">HBBHH", 0, 0, 0, 10, 10)), (9000, 0x17, window),
        (9000, 0x14, bytes((0, 0, 1, 235, 128, 128, 255))), (9000, 0x15, struct.pack(">HBBBHHH", 0, 0, 192, 0, len(rows) + 4, 8, 4) + rows), (9000, 0x80, b""),
        (27000, 0x16, struct.pack(">HHBHBBBB", 96, 64, 16, 1, 0, 0, 0, 0)), (27000, 0x17, window), (27000, 0x80, b"")))


def contents(path):
    """Hashes of all packets of each stream but the first, by its codec."""
    streams = {s["index"]: s["codec_name"] for s in probe(path, "-show_streams")["streams"]}
    found = {}
    for packet in probe(path, "-show_packets", "-show_data_hash", "md5")["packets"]:
        found.setdefault(streams[packet["stream_index"]], []).append(packet["data_hash"])
    return {codec: hashes for codec, hashes in found.items() if codec != "h264"}


def test_transport_streams_keep_what_others_do_not_hold():
    """Sound and subtitles of Blu-ray in .m2ts and .mts, whose packets have 192 bytes; sound of studios; what is told beside pictures (KLV)."""
    with Here() as place:
        with open(place.path("in.sup"), "wb") as file:
            file.write(graphics())
        source = ("-f", "lavfi", "-i", "sine=duration=0.4:sample_rate=48000", *picture()[:-2], "-t", "0.4", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-ac", "2")
        ffmpeg("-i", place.path("in.sup"), *source, "-map", "2:v", "-map", "1:a", "-map", "0:s", "-c:a", "pcm_bluray", "-c:s", "copy", place.path("in.m2ts"))
        ffmpeg(*source, "-map", "1:v", "-map", "0:a", "-c:a", "s302m", "-strict", "-2", place.path("in.ts"))
        with open(place.path("in.ts"), "rb") as file:
            data = file.read()
        at = data.index(b"BSSD")  # the sound becomes such data: its mark in the table of streams, and the sum of that
        begin = data.rindex(b"\0\2", 0, at) + 1
        end = begin + 3 + (struct.unpack(">H", data[begin + 1:begin + 3])[0] & 4095)
        table = data[begin:end - 4].replace(b"BSSD", b"KLVA")
        total = 0xffffffff
        for bit in (byte >> shift & 1 for byte in table for shift in range(7, -1, -1)):
            total = (total << 1 & 0xffffffff) ^ (0x04c11db7 if total >> 31 != bit else 0)
        with open(place.path("klv.ts"), "wb") as file:
            file.write(data.replace(data[begin:end], table + struct.pack(">I", total)))
        for name, codecs, outs in (("in.m2ts", ("pcm_bluray", "hdmv_pgs_subtitle"), ("out.m2ts", "out.mts")), ("in.ts", ("s302m",), ("out.ts",)), ("klv.ts", ("klv",), ("out.ts",))):
            before = contents(place.path(name))
            frame.check(set(before) == set(codecs), f"{name}: {list(before)}")
            for out in outs:
                said = place.run("apply", SAME, place.path(name), "-o", place.path(out), "--force").stderr
                frame.check(contents(place.path(out)) == before and not said, f"{name}, {out}: {contents(place.path(out))} of {before}: {said}")
                with open(place.path(out), "rb") as file:
                    frame.check(out == "out.ts" or set(file.read(1920)[4::192]) == {0x47}, f"{out}: packets are not of 192 bytes")
        said = place.run("apply", SAME, place.path("in.m2ts"), "-o", place.path("out.ts"), "--force").stderr
        frame.check("(audio, pcm_bluray) is left out" in said and said.count("these do: .m2ts") == 1 and "these do: .mkv, .m2ts" in said, said)


def box(kind, content):
    return struct.pack(">I", len(content) + 8) + kind + content


def describe_more(path, out, entry, boxes):
    """An MP4, whose list of frames is behind them, with more boxes in what it says of its only stream."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at, sizes = 0, []
    for kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd", entry):
        while data[at + 4:at + 8] != kind:
            at += struct.unpack(">I", data[at:at + 4])[0]
        sizes.append(at)
        end = at + struct.unpack(">I", data[at:at + 4])[0]
        at += 16 if kind == b"stsd" else 8
    for at in sizes:
        data[at:at + 4] = struct.pack(">I", struct.unpack(">I", data[at:at + 4])[0] + len(boxes))
    data[end:end] = boxes
    with open(out, "wb") as file:
        file.write(data)


def side_data(path):
    stream = probe(path, "-select_streams", "v", "-show_entries", "stream_side_data")["streams"][0]
    return [data for data in stream.get("side_data_list", []) if data["side_data_type"] != "CPB properties"]


def test_views_all_around_stay():
    """Of a picture for each eye; where they do not, that is said."""
    around = box(b"sv3d", box(b"svhd", bytes(4) + b"me\0") + box(b"proj", box(b"prhd", bytes(16)) + box(b"equi", bytes(20))))
    turned = around.replace(b"prhd" + bytes(8), b"prhd" + struct.pack(">II", 0, 90 << 16))
    packed, both = box(b"st3d", bytes(4) + b"\1"), ["Stereo 3D", "Spherical Mapping"]
    with Here() as place:
        ffmpeg(*picture(), "-pix_fmt", "yuv420p", "-c:v", "libx264", place.path("flat.mp4"))
        for boxes, names in ((packed + around, both), (packed, both[:1]), (around, both[1:]), (turned, both[1:])):
            describe_more(place.path("flat.mp4"), place.path("in.mp4"), b"avc1", boxes)
            before = side_data(place.path("in.mp4"))
            frame.check([data["side_data_type"] for data in before] == names, f"{before}")
            for out, kept in (("out.mp4", (True,)), ("out.mkv", (True,)), ("out.mov", (False, boxes == around)), ("out.avi", (False,))):  # FFmpeg 7 also writes to .mov
                said = place.run("apply", SAME, place.path("in.mp4"), "-o", place.path(out), "--force").stderr
                with open(place.path(out), "rb") as file:  # FFmpeg 7 reads another box over that with angles
                    is_kept = side_data(place.path(out)) == before or (boxes == turned and turned[turned.index(b"prhd"):][:20] in file.read())
                frame.check(is_kept in kept and ("a view all around" in said) != is_kept, f"{names}, {out}: {side_data(place.path(out))} {said}")


def test_dolby_vision_is_not_promised():
    """Encoders do not write it, and a player would look for it."""
    with Here() as place:
        ffmpeg(*picture(), "-pix_fmt", "yuv420p10", "-c:v", "libx265", "-x265-params", "log-level=none", "-tag:v", "hvc1", place.path("plain.mp4"))
        for compatible, text in ((1, "can be shown without"), (0, "have wrong colours")):
            record = struct.pack(">BBHI", 1, 0, 8 << 9 | 1 << 3 | 5, compatible << 28) + bytes(16)
            describe_more(place.path("plain.mp4"), place.path("in.mp4"), b"hvc1", box(b"dvvC", record))
            frame.check(side_data(place.path("in.mp4")), "there is none")
            for out in ("out.mp4", "out.mkv"):
                said = place.run("apply", SAME, place.path("in.mp4"), "-o", place.path(out), "--force").stderr
                frame.check(not side_data(place.path(out)) and "Dolby Vision is lost" in said and text in said, f"{out}: {side_data(place.path(out))} {said}")


def test_what_phones_tell_stays():
    """Under names that the usual table of tags does not have, by exiftool."""
    told = {"com.apple.quicktime.make": "Maker", "com.apple.quicktime.location.ISO6709": "+52.5+013.4+034/", "com.android.version": "11", "title": "Holiday"}
    with Here() as place:
        ffmpeg(*picture(), "-pix_fmt", "yuv420p", "-c:v", "libx264", *(part for key, value in told.items() for part in ("-metadata", f"{key}={value}")),
               "-movflags", "use_metadata_tags", place.path("in.mov"))
        ffmpeg("-i", place.path("in.mov"), "-c", "copy", "-map_metadata", "-1", "-metadata", "title=Plain", place.path("plain.mov"))
        for out in ("out.mov", "out.mp4"):
            place.run("apply", SAME, place.path("in.mov"), "-o", place.path(out))
            tags = json.loads(subprocess.run(["exiftool", "-j", place.path(out)], capture_output=True, check=True, timeout=100).stdout)[0]
            found = [tags.get(key) for key in ("Make", "AndroidVersion", "Title")] + ["52 deg 30'" in tags.get("GPSCoordinates", "")]
            frame.check(found == ["Maker", 11, "Holiday", True], f"{out}: {tags}")
            place.run("apply", SAME, place.path("plain.mov"), "-o", place.path(out), "--force")
            with open(place.path(out), "rb") as file:
                frame.check(b"mdta" not in file.read() and probe(place.path(out), "-show_format")["format"]["tags"]["title"] == "Plain", f"{out}: not the usual tags")


def test_old_codecs_get_no_poor_rate():
    """Their encoders' own one is 200 kbit/s for any size."""
    with Here() as place:
        for suffix, codec, size in ((".avi", "msmpeg4", "640x480"), (".avi", "wmv2", "640x480"), (".mkv", "flv", "640x480"), (".mov", "h263p", "704x576")):
            path, out = place.path("in" + suffix), place.path("out" + suffix)
            ffmpeg("-f", "lavfi", "-i", f"mandelbrot=size={size}:rate=25", "-frames:v", "12", "-pix_fmt", "yuv420p", "-q:v", "3", "-c:v", codec, "-y", path)
            said = place.run("apply", SAME, path, "-o", out, "--force").stderr
            a, b = (np.frombuffer(ffmpeg("-i", name, "-f", "rawvideo", "-pix_fmt", "gray", "-"), np.uint8).astype(float) for name in (path, out))
            frame.check(described(path)[0] == described(out)[0] and not said, f"{codec}: {described(out)} {said}")
            frame.check(len(a) == len(b) and ((a - b) ** 2).mean() < 2, f"{codec}: {((a - b) ** 2).mean():.1f}")
        ffmpeg(*picture(), "-pix_fmt", "yuv420p", "-c:v", "h263p", place.path("plus.mov"))
        said = place.run("apply", SAME, place.path("plus.mov"), "-o", place.path("other.mov")).stderr
        frame.check(described(place.path("other.mov"))[0] == "h264" and "h263 becomes h264" in said, said)


def test_what_is_lossless_stays_so():
    """As another such codec if need be, and where the output's format holds one."""
    with Here() as place:
        for name, codec, pixels, outs in (("in.mov", "qtrle", "rgb24", {"mkv": "ffv1", "avi": "ffv1", "mp4": "h264"}),
                                          ("in.avi", "utvideo", "yuv420p", {"mkv": "utvideo", "mov": "h264"}), ("in.avi", "huffyuv", "yuv422p", {"mkv": "huffyuv"})):
            ffmpeg(*picture(), "-pix_fmt", pixels, "-c:v", codec, "-y", place.path(name))
            for suffix, wanted in outs.items():
                out = place.path("out." + suffix)
                place.run("apply", SAME, place.path(name), "-o", out, "--force")
                a, b = (ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", pixels, "-") for path in (place.path(name), out))
                frame.check(described(out)[0] == wanted and (a == b) == (wanted != "h264"), f"{codec} in {suffix}: {described(out)}")


def test_odd_sizes_go_to_encoders_that_take_them():
    """Of the same codec, if possible."""
    with Here() as place:
        for size, pixels, name, codec, out, wanted, *options in (
                ("95:63", "yuv422p10", "in.mov", "prores_ks", "out.mov", "prores"), ("97:65", "yuv420p", "in.mkv", "ffv1", "out.mp4", "vp9"),
                ("97:65", "yuv420p", "in.mkv", "ffv1", "out.mkv", "av1", "--codec", "av1"), ("32:48", "yuv420p", "in.mkv", "ffv1", "out.mkv", "av1", "--codec", "av1"),
                ("1:1", "yuv420p", "in.mkv", "ffv1", "out.mkv", "ffv1")):
            ffmpeg(*picture("128x128"), "-vf", f"format=rgb24,crop={size}:exact=1,format={pixels}", "-c:v", codec, "-y", place.path(name))
            said = place.run("apply", SAME, place.path(name), "-o", place.path(out), "--force", *options).stderr
            stream = probe(place.path(out), "-show_streams")["streams"][0]
            frame.check((f"{stream['width']}:{stream['height']}", stream["codec_name"]) == (size, wanted) and not said, f"{stream}: {said}")
        said = place.run("apply", SAME, place.path("in.mkv"), "-o", place.path("no.mkv"), "--codec", "h264", status=2).stderr
        frame.check("libx264 does not start for 1x1" in said, said)


def test_jpeg_of_limited_range_stays_so():
    """It was refused; where the input was something else, few programs see that it is."""
    with Here() as place:
        ffmpeg(*picture(), "-vf", "scale=out_range=tv,format=yuv420p", "-color_range", "tv", "-c:v", "mjpeg", "-strict", "unofficial", place.path("in.avi"))
        ffmpeg(*picture(), "-vf", "format=yuv420p", "-c:v", "libx264", place.path("in.mp4"))
        for name, warnings in (("in.avi", 0), ("in.mp4", 1)):
            said = place.run("apply", SAME, place.path(name), "-o", place.path("out.mov"), "--codec", "mjpeg", "--force").stderr
            stream = probe(place.path("out.mov"), "-show_streams")["streams"][0]
            frame.check((stream["codec_name"], stream["color_range"], stream["pix_fmt"]) == ("mjpeg", "tv", "yuv420p"), f"{name}: {stream}")
            frame.check(said.count("taken for full range") == warnings and said.count("\n") == warnings, said)


def test_the_order_of_fields_stays():
    """As the file tells it, and of each frame."""
    entries = "frame=interlaced_frame,top_field_first"
    with Here() as place:
        for name, fields, first, options in (("in.mkv", "tff", "tb", ("-pix_fmt", "yuv422p10", "-c:v", "ffv1")),
                                             ("in.mov", "bff", "bt", ("-pix_fmt", "yuv422p10", "-c:v", "prores_ks", "-flags", "+ildct")),
                                             ("in.mkv", "bff", "bt", ("-pix_fmt", "yuv420p", "-c:v", "libx264", "-flags", "+ildct", "-x264-params", "bff=1")),
                                             # Here the stream itself tells it.
                                             ("in.mp4", "bff", "bb", ("-pix_fmt", "yuv420p", "-c:v", "libx264", "-flags", "+ildct", "-x264-params", "bff=1")),
                                             ("in.mp4", "tff", "tt", ("-pix_fmt", "yuv420p", "-c:v", "libx264", "-flags", "+ildct"))):
            ffmpeg(*picture(), "-vf", f"interlace=scan={fields}", *options, "-y", place.path(name))
            place.run("apply", SAME, place.path(name), "-o", place.path("out" + name[2:]), "--force")
            a, b = (probe(place.path(n), "-select_streams", "v", "-show_entries", entries + ":stream=field_order") for n in (name, "out" + name[2:]))
            frame.check(a["streams"][0]["field_order"] == first and a["streams"] == b["streams"], f"{name} {fields}: {a['streams']}, {b['streams']}")
            frame.check(a["frames"] == b["frames"] and a["frames"][0]["interlaced_frame"] == 1, f"{name} {fields}: {b['frames']}")


def fields_of(path):
    """Of each frame, and as the file tells it."""
    found = probe(path, "-select_streams", "v", "-show_entries", "frame=interlaced_frame,top_field_first:stream=field_order")
    return [(shown["interlaced_frame"], shown["top_field_first"]) for shown in found["frames"]], found["streams"][0].get("field_order")


def test_fields_that_an_encoder_does_not_mark_are_told():
    """The file tells them in .mkv and .mov at least, from which decoders of plain frames know them. DNxHR starts for them, too."""
    only, lost = "told by the file alone, because the encoder", "that frames are interlaced is lost"
    with Here() as place:
        ffmpeg(*picture("320x240"), "-vf", "interlace,format=yuv422p", "-c:v", "ffv1", place.path("in.mkv"))
        frame.check(fields_of(place.path("in.mkv"))[0][0] == (1, 1), "the input is not interlaced")
        for out, codec, said_so in (("out.mkv", "hevc", only), ("out.ts", "hevc", lost), ("out.webm", "vp9", lost), ("out.mov", "dnxhd", only),
                                    ("out.mkv", "v210", ""), ("out.mkv", "h264", ""), ("out.mov", "prores", "")):
            codecs = (place.path("in.mkv"), "--codec", codec) if codec != "prores" else (place.path("deep.mkv"), "--codec", codec)
            if codec == "prores":
                ffmpeg("-i", place.path("in.mkv"), "-pix_fmt", "yuv422p10", "-c:v", "ffv1", place.path("deep.mkv"))
            said = place.run("apply", SAME, *codecs, "-o", place.path(out), "--force").stderr
            frames, told = fields_of(place.path(out))
            frame.check(said_so in said and said.count("\n") == bool(said_so), f"{out} {codec}: {said}")
            frame.check((frames[0] == (1, 1)) != bool(said_so), f"{out} {codec}: {frames}")
            frame.check(said_so != only or codec == "dnxhd" or told == "tb", f"{out} {codec}: {told}")


def test_single_fields_stay_single_fields():
    """HEVC codes each as a picture of its own, by turns. For other codecs these are pictures, not frames of two fields."""
    with Here() as place:
        for first in "tff", "bff":
            fields = "-vf", f"setfield={first},separatefields,format=yuv420p"
            ffmpeg(*picture(), *fields, "-c:v", "libx265", "-x265-params", f"interlace={first}:bframes=0:log-level=none", "-y", place.path("in.ts"))
            wanted = fields_of(place.path("in.ts"))
            frame.check(wanted[0][:3] == [(1, first == "tff"), (1, first == "bff"), (1, first == "tff")], f"{first}: the input has {wanted}")
            for out in "out.ts", "out.mp4":
                said = place.run("apply", SAME, place.path("in.ts"), "-o", place.path(out), "--force").stderr
                got = sorted(fields_of(place.path(out))[0])
                frame.check(got == sorted(wanted[0]) and not said, f"{first} {out}: {got} {said}")
            for codec in "h264", "ffv1":
                said = place.run("apply", SAME, place.path("in.ts"), "-o", place.path("out.mkv"), "--codec", codec, "--force").stderr
                frame.check("single fields" in said and not any(shown[0] for shown in fields_of(place.path("out.mkv"))[0]), f"{first} {codec}: {said}")


def bytes_of(path):
    return np.frombuffer(ffmpeg("-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"), "u1").astype("f4")


def test_encoders_that_know_no_fields_take_them():
    """They do not start if they are asked to look for them. Nor does MPEG-1 at the 12 frames per second that this leaves."""
    with Here() as place:
        ffmpeg(*picture(), "-vf", "interlace", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-flags", "+ildct", place.path("in.mp4"))
        wanted = bytes_of(place.path("in.mp4"))
        for codec, out in (("mjpeg", "out.avi"), ("wmv2", "out.avi"), ("flv", "out.avi"), ("h263p", "out.avi"), ("mpeg1video", "out.mpg")):
            place.run("apply", SAME, place.path("in.mp4"), "-o", place.path(out), "--codec", codec, "--force")
            got = bytes_of(place.path(out))
            frame.check(len(got) == len(wanted) and np.abs(got - wanted).mean() < 4, f"{codec}: {len(got)} of {len(wanted)} samples")


def test_an_encoder_that_is_not_finished_says_nothing():
    """SVT-AV1, after a few frames or none."""
    with Here() as place:
        ffmpeg(*picture(), "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-level", "3", "-slicecrc", "1", "-g", "1", place.path("in.mkv"))
        spoil(place.path("in.mkv"), place.path("bad.mkv"), 1)
        said = place.run("apply", SAME, place.path("bad.mkv"), "-o", place.path("out.mkv"), "--codec", "av1", status=3).stderr
        frame.check(said.count("\n") == 1 and "frame 2," in said, said)


def test_what_no_encoder_takes_is_told_truly():
    with Here() as place:
        ffmpeg(*picture(), "-pix_fmt", "yuva444p10", "-c:v", "prores_ks", place.path("in.mov"))
        takes_all = "yuva444p12le" in subprocess.run(["ffmpeg", "-h", "encoder=ffv1"], capture_output=True, text=True, check=True).stdout  # as of FFmpeg 7
        way_out = "with --codec ffv1, keeps them" if takes_all else "without --codec, keeps prores, with 10 bits"
        for out, options in (("out.mp4", ()), ("out.mov", ("--codec", "h264"))):
            said = place.run("apply", SAME, place.path("in.mov"), "-o", place.path(out), *options, status=2).stderr
            frame.check(f"yuva444p12le frames; a name that ends with .mkv, {way_out}" in said, said)
        if takes_all:
            place.run("apply", SAME, place.path("in.mov"), "-o", place.path("all.mkv"), "--codec", "ffv1")
            a, b = (ffmpeg("-i", place.path(name), "-f", "rawvideo", "-pix_fmt", "yuva444p12le", "-") for name in ("in.mov", "all.mkv"))
            frame.check(a == b and described(place.path("all.mkv"))[0::3] == ["ffv1", "yuva444p12le"], f"{described(place.path('all.mkv'))}")
        place.run("apply", SAME, place.path("in.mov"), "-o", place.path("out.mkv"))
        frame.check(described(place.path("out.mkv"))[0::3] == ["prores", "yuva444p12le"], f"{described(place.path('out.mkv'))}")
        for name, options in (("asked.mov", ("--codec", "prores")), ("named.mov", ("--codec", "prores_ks"))):
            place.run("apply", SAME, place.path("in.mov"), "-o", place.path(name), *options)
            frame.check(described(place.path(name))[0::3] == ["prores", "yuva444p12le"], f"{described(place.path(name))}")


def test_another_order_of_samples_is_no_loss():
    """RGB is planar for one encoder, packed for the next."""
    with Here() as place:
        for pixels, codec, wanted in (("rgba", "png", "bgra"), ("rgb24", "png", "bgr0"), ("gbrp", "libx265", "bgr0")):
            ffmpeg(*picture(), "-pix_fmt", pixels, "-c:v", codec, "-y", place.path("in.mkv"))
            place.run("apply", SAME, place.path("in.mkv"), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force")
            a, b = (ffmpeg("-i", place.path(name), "-f", "rawvideo", "-pix_fmt", "rgba", "-") for name in ("in.mkv", "out.mkv"))
            frame.check(a == b and described(place.path("out.mkv"))[3] == wanted, f"{pixels}: {described(place.path('out.mkv'))}")


def test_dnxhd_stays_what_it_is():
    """Frames have as many bytes as those of the input, for which its encoder has to be told a rate."""
    with Here() as place:
        for size, pixels, rate, *options in (("1920x1080", "yuv422p", "120"), ("1920x1080", "yuv422p10", "175"), ("1920x1080", "yuv422p", "185", "-flags", "+ildct"),
                                             ("1440x1080", "yuv422p", "84"), ("1280x720", "yuv422p10", "90"), ("960x720", "yuv422p", "42")):
            fields = ("-vf", "interlace") if options else ()
            ffmpeg(*picture(size, 2), *fields, "-pix_fmt", pixels, "-c:v", "dnxhd", "-b:v", rate + "M", *options, "-y", place.path("in.mov"))
            said = place.run("apply", SAME, place.path("in.mov"), "-o", place.path("out.mov"), "--force").stderr
            a, b = ((described(place.path(name)), {p["size"] for p in probe(place.path(name), "-show_packets")["packets"]}) for name in ("in.mov", "out.mov"))
            frame.check(a == b and a[0][1] == "DNXHD" and not said, f"{a} became {b}: {said}")


if __name__ == "__main__":
    frame.main(globals())
