#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which frame of a video hone says is damaged, against packets of ffprobe and frames of ffmpeg.  damage.py build=FOLDER"""

import collections
import hashlib
import re
import subprocess

import frame
from video import Here, ffmpeg, probe

SAME = "epsilon threshold=0 radius=1"
# With frames that are shown before the one that they are decoded after, in containers that tell where each packet is. HEVC with sums
# of its frames: without them nothing is noticed.
VIDEOS = {"h264.mp4": ("libx264", "-bf", "3", "-g", "12", "-x264-params", "b-pyramid=normal"),
          "hevc.mp4": ("libx265", "-x265-params", "log-level=none:bframes=3:keyint=12:hash=1"),
          "mpeg4.mp4": ("mpeg4", "-bf", "2", "-g", "12"), "mjpeg.mov": ("mjpeg", "-q:v", "3")}

Packet = collections.namedtuple("Packet", "at size time number")  # number of its frame as shown


def encode(place, name, codec, *options):
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25:duration=1.2", "-pix_fmt", "yuv420p", "-c:v", codec, *options, place.path(name))


def make(place, name, codec, *options):
    """A video, and its packets as they are stored."""
    encode(place, name, codec, *options)
    listed = probe(place.path(name), "-select_streams", "v:0", "-show_packets")["packets"]
    times = sorted(float(p["pts_time"]) for p in listed)
    return [Packet(int(p["pos"]), int(p["size"]), float(p["pts_time"]), times.index(float(p["pts_time"])) + 1) for p in listed]


def spoil(place, name, out, begin, size, change):
    with open(place.path(name), "rb") as file:
        data = bytearray(file.read())
    data[begin:begin + size] = bytes(change(b) for b in data[begin:begin + size])
    with open(place.path(out), "wb") as file:
        file.write(data)


def damage_told(place, name):
    """(number, time) of damaged frames; (time, number, time) of missing ones and the next; (number, time) behind other damage."""
    stopped = place.any("apply", SAME, place.path(name), "-o", place.path("no.mkv"))
    said = place.run("apply", SAME, place.path(name), "-o", place.path("out.mkv"), "--accept-damaged", "--codec", "ffv1", "--force").stderr
    frame.check((stopped.returncode == 3) == bool(said), f"{name}: {stopped.stderr} but {said}")
    told = [line.split(": ", 3)[3].split(" (")[0] for line in said.splitlines()]
    frame.check(not told or f": {told[0]} (" in stopped.stderr, f"{name}: {stopped.stderr} but {said}")
    found = {"damaged": [], "missing": [], "behind": []}
    for kind, pattern in (("damaged", r"frame (\d+), at ([\d.]+) s, is damaged"),
                          ("missing", r"the frame at ([\d.]+) s is missing, before frame (\d+), at ([\d.]+) s"),
                          ("behind", r"the file is damaged (?:before|near) frame (\d+), at ([\d.]+) s")):
        found[kind] = [tuple(float(n) for n in match.groups()) for match in (re.fullmatch(pattern, line) for line in told) if match]
    frame.check(sum(map(len, found.values())) == len(told), f"{name}: {said}")
    return found


def times_of(path):
    return sorted(float(p["pts_time"]) for p in probe(path, "-select_streams", "v:0", "-show_packets")["packets"])


def shown_at(path):
    """The time of each frame, as a decoder of FFmpeg gives it; None: it does not know, as of the last one of MPEG-1."""
    return [f.get("best_effort_timestamp_time") for f in probe(path, "-select_streams", "v:0", "-show_frames")["frames"]]


def pictures(path):
    data = ffmpeg("-i", path, "-f", "rawvideo", "-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-")
    size = 192 * 128 * 3 // 2
    return [hashlib.md5(data[i:i + size]).digest() for i in range(0, len(data), size)]


def test_damage_within_a_packet_is_told_of_its_frame():
    """Where the decoder notices, which not all do: of this frame, and of none that is as it was."""
    noticed = collections.Counter()
    with Here() as place:
        for name, options in VIDEOS.items():
            packets = make(place, name, *options)
            whole = pictures(place.path(name))
            for packet in packets[5:8] + packets[12:13] + packets[-1:]:
                spoil(place, name, "bad." + name, packet.at + packet.size // 2, min(24, packet.size // 2), lambda b: b ^ 0x5a)
                told = damage_told(place, "bad." + name)
                text = f"{name}, frame {packet.number} at {packet.time}: {told}"
                frame.check(not told["missing"] and not told["behind"], text)
                frame.check(not told["damaged"] or (packet.number, packet.time) in told["damaged"], text)
                spoilt = pictures(place.path("out.mkv"))
                frame.check(len(spoilt) == len(whole), f"{text}: {len(spoilt)} frames")
                for number, time in told["damaged"]:
                    frame.check(spoilt[int(number) - 1] != whole[int(number) - 1], f"{text}: {number} is what it was")
                    frame.check(times_of(place.path("out.mkv"))[int(number) - 1] == time, text)
                noticed[name] += bool(told["damaged"])
    frame.check(noticed["h264.mp4"] > 1 and noticed["mpeg4.mp4"] > 1 and noticed["hevc.mp4"] == 5 and noticed["mjpeg.mov"] > 1, f"{noticed}")


def test_a_packet_that_is_no_frame_is_told_as_missing():
    """By its time, and the number and time of the frame that follows; once."""
    with Here() as place:
        for name, options in VIDEOS.items():
            packets = make(place, name, *options)
            times = sorted(p.time for p in packets)
            for packet in packets[5:8]:
                spoil(place, name, "bad." + name, packet.at, packet.size, lambda b: 0)
                told = damage_told(place, "bad." + name)
                kept = times_of(place.path("out.mkv"))
                after = min(time for time in kept if time > packet.time)
                number = kept.index(after) + 1
                text = f"{name}, frame {packet.number} at {packet.time}: {told}, {kept}"
                frame.check(told["missing"] == [(packet.time, number, after)], text)
                # MPEG-4's decoder also drops what is decoded next and shown before, without a word.
                frame.check(packet.time in set(times) - set(kept) and (len(times) - len(kept) == 1 or name == "mpeg4.mp4"), text)
                frame.check(all(kept[int(number) - 1] == time for number, time in told["damaged"]), text)


def test_damage_between_packets_is_told_where_frames_end():
    """Demuxers find their next packet behind it: the frame that is named is the first one after the gap, or one of its neighbours."""
    plain = ("libx264", "-bf", "0", "-g", "12")
    with Here() as place:
        for name, options, nearly in (("plain.mkv", plain, 0), ("plain.ts", plain, 0), ("b.mkv", VIDEOS["h264.mp4"], 4), ("b.ts", VIDEOS["h264.mp4"], 4)):
            packets = make(place, name, *options)
            for packet in packets[3:4] + packets[14:16]:  # libraries read the first ones before, to find out what is in the file
                spoil(place, name, "bad." + name, packet.at, packet.size, lambda b: 0)
                told = damage_told(place, "bad." + name)
                kept = times_of(place.path("out.mkv"))
                text = f"{name}, frame {packet.number} at {packet.time}: {told}, {kept}"
                frame.check(len(told["behind"]) == 1 and not told["missing"], text)
                (number, time), = told["behind"]
                frame.check(abs(kept[int(number) - 1] - time) < 0.001, text)
                frame.check(abs(number - packet.number) <= nearly, text)


def test_a_cut_at_an_open_group_of_pictures_is_no_damage():
    """The first pictures say that some before the cut are no longer needed: these are not there, and all others are what they were."""
    with Here() as place:
        for suffix in (".mp4", ".ts"):
            name = "cut" + suffix
            make(place, "whole" + suffix, "libx264", "-bf", "3", "-x264-params", "open-gop=1:keyint=12")
            whole = pictures(place.path("whole" + suffix))
            ffmpeg("-ss", "0.5", "-i", place.path("whole" + suffix), "-c", "copy", place.path(name))
            said = subprocess.run(["ffmpeg", "-v", "error", "-i", place.path(name), "-f", "null", "-"], capture_output=True, text=True, check=True)
            frame.check("mmco" in said.stderr, f"{name}: nothing is odd: {said.stderr}")
            result = place.run("apply", SAME, place.path(name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force")
            got = pictures(place.path("out.mkv"))
            frame.check(not result.stderr and len(got) > 5 and got == whole[-len(got):], f"{name}: {len(got)} frames: {result.stderr}")


def test_whole_files_of_old_codecs_are_not_damaged():
    """H.261 has no key frames that its decoder would know, which it says as an error."""
    with Here() as place:
        for codec in ("h261", "h263", "msmpeg4v2", "wmv1", "svq1", "cinepak", "mjpeg", "mpeg1video"):
            ffmpeg("-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=0.4", "-pix_fmt", "rgb24" if codec == "cinepak" else "yuvj420p" if codec == "mjpeg" else
                   "yuv410p" if codec == "svq1" else "yuv420p", "-c:v", codec, "-y", place.path("in.mov" if codec == "svq1" else "in.avi"))
            name = "in.mov" if codec == "svq1" else "in.avi"
            said = place.run("apply", SAME, place.path(name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force").stderr
            a, b = (hashlib.sha256(ffmpeg("-i", place.path(path), "-f", "rawvideo", "-fps_mode", "passthrough", "-pix_fmt", "gray", "-")).digest()
                    for path in (name, "out.mkv"))
            frame.check(not said and (a == b or codec in ("cinepak", "mjpeg")), f"{codec}: {said}")
            a, b = (shown_at(place.path(path)) for path in (name, "out.mkv"))
            frame.check(all(old in (None, new) for old, new in zip(a, b)) and a.count(None) <= 1, f"{codec}: {a} became {b}")


def test_the_end_of_roq_is_no_damage():
    """Its demuxer says the same of a whole file as of one that ends within a frame, or within what tells its length."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=128x64:rate=30", "-f", "lavfi", "-i", "sine=sample_rate=22050", "-t", "0.4", "-c:v", "roqvideo",
               "-c:a", "roq_dpcm", place.path("sound.roq"))
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=128x64:rate=30:duration=0.4", "-c:v", "roqvideo", place.path("in.roq"))
        for name in ("in.roq", "sound.roq"):
            said = place.run("apply", SAME, place.path(name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force").stderr
            frame.check("damaged" not in said and pictures(place.path("out.mkv")) == pictures(place.path(name)), f"{name}: {said}")
        with open(place.path("in.roq"), "rb") as file:
            data = file.read()
        for less in (1, 100):
            with open(place.path("bad.roq"), "wb") as file:
                file.write(data[:-less])
            said = place.run("apply", SAME, place.path("bad.roq"), "-o", place.path("no.mkv"), status=3).stderr
            frame.check("damaged after frame 11 " in said, f"{less} less: {said}")


def test_ogg_and_dv_that_end_within_a_frame():
    """Ogg may do so in the list of what a page holds, too. Whole files, and those that end between two frames, say nothing."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25:duration=3", "-f", "lavfi", "-i", "sine=duration=3", "-pix_fmt", "yuv420p", "-c:v", "libtheora",
               "-c:a", "libvorbis", place.path("in.ogv"))
        ffmpeg("-f", "lavfi", "-i", "testsrc2=size=720x576:rate=25", "-f", "lavfi", "-i", "sine", "-t", "0.2", "-pix_fmt", "yuv420p", "-ar", "48000", "-ac", "2",
               "-c:v", "dvvideo", place.path("in.dv"))
        for name in ("in.ogv", "in.dv"):
            with open(place.path(name), "rb") as file:
                data = file.read()
            between = data.rindex(b"OggS") if name == "in.ogv" else len(data) - 144000
            for end, is_whole in ((len(data), True), (between, True), (between + 20, False), (between + 30, False), (len(data) - 1, False), (len(data) // 2, False)):
                with open(place.path("cut." + name), "wb") as file:
                    file.write(data[:end])
                result = place.any("apply", SAME, place.path("cut." + name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force")
                text = f"{name}, {end} bytes of {len(data)}: {result.stderr}"
                frame.check(result.returncode == (0 if is_whole else 3) and bool(result.stderr) == (not is_whole), text)
                frame.check(is_whole or "it ends within a frame" in result.stderr, text)


def cut(place, name, parts):
    """Without its first tenths; says how it is named."""
    with open(place.path(name), "rb") as file:
        data = file.read()
    block = 2048 if name.endswith(".mpg") else 188
    with open(place.path("cut." + name), "wb") as file:
        file.write(data[len(data) * parts // 10 // block * block:])
    return place.path("cut." + name)


def cut_short(place, name, size):
    with open(place.path(name), "rb") as file:
        data = file.read()
    with open(place.path("cut." + name), "wb") as file:
        file.write(data[:size])


def test_gif_ends_within_an_image_or_with_its_end():
    with Here() as place:
        encode(place, "a.gif", "gif", "-pix_fmt", "rgb8")
        listed = probe(place.path("a.gif"), "-show_packets")["packets"]
        at = int(listed[12]["pos"])
        for size, told in ((at + 500, 1), (at + 5, 1), (at + 19, 1), (at, 0), (-1, 0)):
            cut_short(place, "a.gif", size)
            said = place.run("apply", SAME, place.path("cut.a.gif"), "-o", place.path("out.mkv"), "--codec", "ffv1", "--accept-damaged", "--force").stderr
            # FFmpeg 7 also decodes what there is of a frame.
            known = sum(said.count(text) for text in ("ends within a frame", "the frame at 0.480 s is missing", "frame 13, at 0.480 s, is damaged"))
            frame.check(known == told and said.count("\n") == told, f"{size} bytes: {said}")
            got, wanted = (len(pictures(place.path(name))) for name in ("out.mkv", "cut.a.gif"))
            frame.check(got == wanted and wanted in ((12, 12 + told) if size > 0 else (len(listed),)), f"{size} bytes: {got} frames of {wanted}")
        with open(place.path("a.gif"), "ab") as file:
            file.write(b"\0\0and more")
        place.run("apply", SAME, place.path("a.gif"), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force")
        frame.check(len(times_of(place.path("out.mkv"))) == len(listed), "frames before what is behind the end are not there")


def test_frames_that_asf_lacks():
    """Parts of them, or all behind a cut between two packets; a stream does not say how many there are."""
    size = 3200
    with Here() as place:
        for name, options in (("a.asf", ()), ("stream.asf", ("-f", "asf"))):
            sound = "-f", "lavfi", "-i", "sine=duration=1.2"
            video = "-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25:duration=1.2", "-pix_fmt", "yuv420p", "-c:v", "wmv2", "-c:a", "wmav2"
            written = ffmpeg(*sound, *video, "-packet_size", str(size), *options, "-" if options else place.path(name))
            if options:
                with open(place.path(name), "wb") as file:
                    file.write(written)
            with open(place.path(name), "rb") as file:
                header = int.from_bytes(file.read(24)[16:], "little")
            begin = header + 50 + 12 * size
            cut_short(place, name, begin)
            said = place.run("apply", SAME, place.path("cut." + name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--accept-damaged", "--force").stderr
            frame.check(("shorter than its header says" in said) == (not options), f"{name}: {said}")
            spoil(place, name, "bad." + name, begin, size, lambda b: 0)
            for out, more in (("whole." + name, 0), ("bad." + name, 1)):
                source = place.path(name if not more else out)
                said = place.run("apply", SAME, source, "-o", place.path("out.mkv"), "--codec", "ffv1", "--accept-damaged", "--force").stderr
                frame.check(bool(said) == bool(more), f"{out}: {said}")


def test_packets_of_av1_without_a_frame():
    """What is in them has another name, which decoders pass over; and a file that ends within one."""
    options = "libaom-av1", "-cpu-used", "8"
    with Here() as place:
        packets = make(place, "a.mp4", *options)
        for packet in (packets[7], packets[-1]):
            spoil(place, "a.mp4", "bad.mp4", packet.at, 1, lambda b: b & 0x87 | 9 << 3)
            told = damage_told(place, "bad.mp4") if packet is packets[7] else None
            frame.check(told is None or [time for time, *_ in told["missing"]] == [packet.time], f"{packet}: {told}")
            said = place.run("apply", SAME, place.path("bad.mp4"), "-o", place.path("out.mkv"), status=3).stderr
            frame.check(f"the frame at {packet.time:.3f} s is missing" in said, said)
        encode(place, "a.obu", *options)
        cut_short(place, "a.obu", packets[11].at - packets[0].at)
        said = place.run("apply", SAME, place.path("cut.a.obu"), "-o", place.path("out.mkv"), status=3).stderr
        frame.check("Failed to get packet" in said, said)
        place.run("apply", SAME, place.path("a.obu"), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force")


def test_a_stream_that_begins_within_a_group_of_pictures():
    """As recordings of broadcasts do: what comes before the first key frame is left out with a warning, and all else is as it was."""
    cases = {"h264.ts": ("libx264", "-bf", "3", "-g", "8"), "open.ts": ("libx264", "-bf", "3", "-x264-params", "open-gop=1:keyint=8"),
             "parts.ts": ("libx264", "-x264-params", "intra-refresh=1:keyint=6"),
             "hevc.ts": ("libx265", "-x265-params", "log-level=none:bframes=3:keyint=8:open-gop=1"),
             "mpeg4.ts": ("mpeg4", "-bf", "2", "-g", "8"), "mpeg2.mpg": ("mpeg2video", "-bf", "2", "-g", "8"),
             "fields.ts": ("mpeg2video", "-bf", "2", "-g", "8", "-flags", "+ilme+ildct")}
    with Here() as place:
        for name, options in cases.items():
            encode(place, name, *options)
            whole = pictures(place.path(name))
            bad = cut(place, name, 1)
            for more in ((), ("--accept-damaged",)):
                said = place.run("apply", SAME, bad, "-o", place.path("out.mkv"), "--codec", "ffv1", "--force", *more).stderr
                got = pictures(place.path("out.mkv"))
                text = f"{name} {more}: {len(got)} frames of {len(whole)}: {said}"
                frame.check(said.count("\n") == 1 and "warning: " in said and "begins within a group of pictures" in said, text)
                frame.check(len(got) > 5 and got == whole[-len(got):], text)


def test_a_stream_without_key_frames_is_decoded_on_request():
    with Here() as place:
        encode(place, "one.ts", "libx264", "-g", "1000", "-bf", "0", "-flags", "+global_header", "-bsf:v", "dump_extra=freq=all")
        bad = cut(place, "one.ts", 5)
        said = place.run("apply", SAME, bad, "-o", place.path("out.mkv"), "--codec", "ffv1", status=3).stderr
        frame.check("damaged" in said or "not one frame" in said, said)
        said = place.run("apply", SAME, bad, "-o", place.path("out.mkv"), "--codec", "ffv1", "--accept-damaged").stderr
        got = len(pictures(place.path("out.mkv")))
        frame.check(got > 5 and "frame 1, at" in said and "left out" not in said, f"{got} frames: {said}")


def test_a_lost_second_frame_of_a_transport_stream():
    """The demuxer marks the first one, of which nothing has been given out by then."""
    with Here() as place:
        for name, options in (("h264.ts", ("libx264", "-bf", "0")), ("mpeg2.ts", ("mpeg2video",)), ("mpeg4.ts", ("mpeg4",))):
            packets = make(place, name, *options)
            for number in (1, 2):
                spoil(place, name, "bad.ts", packets[number].at, packets[number + 1].at - packets[number].at, lambda b: 0)
                told = damage_told(place, "bad.ts")
                kept = times_of(place.path("out.mkv"))
                text = f"{name}, frame {number + 1}: {told}, {kept}"
                frame.check(len(told["behind"]) == 1 and len(kept) == len(packets) - 1, text)
                at, time = told["behind"][0]
                frame.check(abs(at - number - 1) <= 1 and kept[int(at) - 1] == time, text)


def test_damaged_sound_is_told_and_left_out_on_request():
    """A gap in the counters of a transport stream; headers of AAC, which have to be understood for Matroska; a file that is cut off within it."""
    sound = ("-f", "lavfi", "-i", "testsrc2=size=192x128:rate=25:duration=1.2", "-f", "lavfi", "-i", "sine=duration=1.2", "-pix_fmt", "yuv420p")
    with Here() as place:
        for name, codecs in (("gap.ts", ("libx264", "mp2")), ("header.ts", ("libx264", "aac")), ("end.flv", ("flv", "mp3"))):
            ffmpeg(*sound, "-c:v", codecs[0], "-c:a", codecs[1], "-ar", "44100", place.path(name))
            with open(place.path(name), "rb") as file:
                data = bytearray(file.read())
            if name == "gap.ts":
                inside = [at for at in range(0, len(data), 188) if data[at + 1:at + 3] == b"\x01\x01"]  # of the second stream, not its beginnings
                del data[inside[20]:inside[20] + 188]
            elif name == "header.ts":
                at = data.index(b"\xff\xf1", len(data) // 2)
                data[at:at + 20] = bytes(20)
            else:
                tags, at = [], 13
                while at < len(data):
                    tags.append((data[at], at))
                    at += 15 + int.from_bytes(data[at + 1:at + 4], "big")
                del data[[at for kind, at in tags if kind == 8][-2] + 20:]
            with open(place.path("bad." + name), "wb") as file:
                file.write(data)
            command = ("apply", SAME, place.path("bad." + name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force")
            said = place.run(*command, status=3).stderr
            frame.check("damaged" in said and "stream " in said and "--accept-damaged" in said, f"{name}: {said}")
            said = place.run(*command, "--accept-damaged").stderr
            got, wanted = pictures(place.path("out.mkv")), pictures(place.path("bad." + name))
            frame.check("damaged" in said and "stream " in said and got == wanted, f"{name}: {len(got)} frames of {len(wanted)}: {said}")


def test_frames_that_a_file_lists_and_does_not_have():
    """Some bytes are gone, so that the rest has moved. Frames that are dropped on purpose are none of these."""
    vary = ("-vf", "select='not(eq(mod(n,5),3))'", "-fps_mode", "vfr")
    with Here() as place:
        for name, options in (("in.avi", ("huffyuv", "-pix_fmt", "yuv422p")), ("vary.avi", ("mpeg4", *vary)), ("in.mxf", ("mpeg2video", "-bf", "2"))):
            encode(place, name, *options)
            said = place.run("apply", SAME, place.path(name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force").stderr
            frame.check(not said, f"{name}: {said}")
            with open(place.path(name), "rb") as file:
                data = file.read()
            with open(place.path("bad." + name), "wb") as file:
                file.write(data[:len(data) // 2] + data[len(data) // 2 + 2000:])
            said = place.run("apply", SAME, place.path("bad." + name), "-o", place.path("no.mkv"), status=3).stderr
            frame.check("damaged" in said and "--accept-damaged" in said, f"{name}: {said}")
            said = place.run("apply", SAME, place.path("bad." + name), "-o", place.path("out.mkv"), "--codec", "ffv1", "--force", "--accept-damaged").stderr
            frame.check(name != "in.avi" or re.search(r"the file lists 30 frames and has (\d+)", said)[1] == str(len(pictures(place.path("out.mkv")))), said)


if __name__ == "__main__":
    frame.main(globals())
