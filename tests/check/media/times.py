#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""When the frames of a video are shown, in which company, against ffprobe.  times.py build=FOLDER"""

import numpy as np

import frame
from video import Here, ffmpeg, packets, probe

SAME = "epsilon threshold=0 radius=1"
RATES = ("r_frame_rate", "avg_frame_rate")


def source(rate="25", sound=True):
    """A clip of 0.8 s, or of 20 frames without sound."""
    picture = "-f", "lavfi", "-i", f"testsrc2=size=96x64:rate={rate}" + (":duration=0.8" if sound else ""), "-pix_fmt", "yuv420p"
    return ("-f", "lavfi", "-i", "sine=duration=0.8", *picture) if sound else (*picture, "-frames:v", "20")


def apply(place, name, out, *options):
    return place.run("apply", SAME, place.path(name), "-o", place.path(out), "--force", *options).stderr


def video(path):
    return probe(path, "-select_streams", "v", "-show_streams")["streams"][0]


def shown(path):
    """The times of frames, as a decoder tells them."""
    frames = probe(path, "-select_streams", "v", "-show_entries", "frame=best_effort_timestamp_time")["frames"]
    return np.array([float(f["best_effort_timestamp_time"]) for f in frames])


def starts(path):
    """Of video and sound."""
    return np.array([shown(path)[0], packets(path, "a")[0][0]])


def test_outputs_begin_at_0_with_sound_in_time():
    """Whatever the input counts from, with and without --frames; where transport and program streams begin, they begin again."""
    with Here() as place:
        for name, codec, sound, again in (("in.ts", "libx264", "aac", True), ("in.mpg", "mpeg2video", "mp2", True), ("in.flv", "libx264", "aac", False),
                                          ("in.nut", "libx264", "aac", True)):
            ffmpeg(*source(), "-c:v", codec, "-c:a", sound, place.path(name))
            begin = starts(place.path(name))
            frame.check(begin.min() > 0, f"{name} begins at 0: {begin}")
            for out in ("out.mkv", "out.mp4"):
                for options in ((), ("--frames", "1-8")):
                    apply(place, name, out, *options)
                    frame.check(np.allclose(starts(place.path(out)), begin - begin.min(), atol=0.002), f"{name} {out}: {starts(place.path(out))} of {begin}")
            if again:
                apply(place, name, "again" + name[2:])
                frame.check(np.allclose(starts(place.path("again" + name[2:])), begin, atol=0.001), f"{name} begins elsewhere")


def test_a_clock_that_begins_anew_is_followed():
    """Transport streams count 90000 per second in 33 bits: this one does so for the last time 0.4 s after its beginning."""
    with Here() as place:
        ffmpeg(*source(), "-c:v", "libx264", "-c:a", "aac", "-output_ts_offset", str((1 << 33) / 90000 - 1.8), place.path("in.ts"))
        begin, times = starts(place.path("in.ts")), shown(place.path("in.ts"))
        apply(place, "in.ts", "out.mp4")
        got = shown(place.path("out.mp4"))
        frame.check(np.allclose(starts(place.path("out.mp4")), begin - begin.min(), atol=0.002), f"{starts(place.path('out.mp4'))} of {begin}")
        frame.check(times[0] < 0 < times[-1] and np.allclose(got - got[0], times - times[0], atol=0.001), f"{times} became {got}")


def test_streams_that_begin_later_stay_so():
    """Both in the middle, and one of them."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "sine=duration=1", "-c:a", "flac", place.path("sound.mkv"))
        ffmpeg(*source(sound=False), "-c:v", "ffv1", place.path("pictures.mkv"))
        for offset, wanted in (("0", 0.5), ("3", 3.5)):
            ffmpeg("-itsoffset", str(float(offset) + 0.5), "-i", place.path("sound.mkv"), "-i", place.path("pictures.mkv"), "-c", "copy",
                   "-output_ts_offset", offset, "-y", place.path("in.mkv"))
            apply(place, "in.mkv", "out.mkv")
            video_start, sound_start = starts(place.path("out.mkv"))
            before = starts(place.path("in.mkv"))
            frame.check(video_start == 0 and abs(sound_start - wanted) < 0.002 and np.allclose(before, (float(offset), float(offset) + wanted), atol=0.002),
                        f"{before}, {video_start} {sound_start}")


def test_opus_in_matroska_stays_in_time():
    """Its decoders drop the beginning, which is before 0."""
    with Here() as place:
        ffmpeg(*source(), "-c:v", "libvpx-vp9", "-cpu-used", "8", "-c:a", "libopus", place.path("in.mp4"))
        ffmpeg("-i", place.path("in.mp4"), "-c", "copy", place.path("in.webm"))
        for name in ("in.mp4", "in.webm"):
            begin = starts(place.path(name))
            for out in ("out.webm", "out.mkv"):
                apply(place, name, out)
                frame.check(np.allclose(starts(place.path(out)), begin, atol=0.001), f"{name}, {out}: {starts(place.path(out))} of {begin}")


def test_sound_that_an_edit_list_hides_is_not_heard():
    """Cut without encoding, a file begins with what is only needed to decode."""
    with Here() as place:
        ffmpeg("-f", "lavfi", "-i", "sine=duration=2", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=2", "-pix_fmt", "yuv420p", "-c:v", "libx264",
               "-g", "50", "-c:a", "aac", place.path("whole.mp4"))
        ffmpeg("-ss", "0.5", "-i", place.path("whole.mp4"), "-c", "copy", place.path("in.mp4"))
        frame.check(packets(place.path("in.mp4"), "a")[0][0] < -0.4, "nothing is hidden")
        for out in ("out.mkv", "out.ts", "out.mp4"):
            apply(place, "in.mp4", out)
            begin = probe(place.path(out), "-show_streams")["streams"]
            video_start, sound_start = sorted((s["codec_type"] == "audio", float(s["start_time"])) for s in begin)
            frame.check(-0.05 < sound_start[1] - video_start[1] < 0.005, f"{out}: {video_start} {sound_start}")


def test_avi_shows_its_first_frame_at_0():
    """Though frames are numbered as they are decoded: against what it was copied from, cut and in each direction."""
    with Here() as place:
        for codec, *options in (("libx264", "-bf", "3"), ("mpeg4", "-bf", "2"), ("mpeg2video", "-bf", "1")):
            ffmpeg(*source(sound=False), "-c:v", codec, *options, "-y", place.path("first.mp4"))
            ffmpeg("-i", place.path("first.mp4"), "-c", "copy", "-y", place.path("in.avi"))
            times = shown(place.path("first.mp4"))
            for out, more in (("out.mkv", ()), ("out.mp4", ("--frames", "1-12")), ("out.avi", ("--codec", "h264"))):
                said, got = apply(place, "in.avi", out, *more), shown(place.path(out))
                frame.check(np.allclose(got, times[:len(got)], atol=0.001) and len(got) == (12 if more[:1] == ("--frames",) else 20) and not said, f"{codec} {out}: {got} {said}")


def test_a_stream_without_times_begins_at_0():
    """Pictures alone, which are stored before others that are shown first; of MPEG-1 the first one has a time, Dirac numbers them, and GXF
    tells when they are decoded."""
    with Here() as place:
        for name, codec, *more in (("in.m1v", "mpeg1video", "-bf", "2"), ("plain.m1v", "mpeg1video"), ("in.m2v", "mpeg2video", "-bf", "2"),
                                   ("in.h264", "libx264", "-bf", "2"), ("in.drc", "vc2"), ("in.mjpeg", "mjpeg"),
                                   ("in.gxf", "mpeg2video", "-s", "720x576", "-bf", "2")):
            ffmpeg(*source(sound=False), "-c:v", codec, *more, place.path(name))
            said, got = apply(place, name, "out.mkv"), shown(place.path("out.mkv"))
            frame.check(len(got) == 20 and np.allclose(got, np.arange(20) / 25, atol=0.001), f"{name}: {got}")
            frame.check(not said or (name == "in.gxf" and "(data, " in said), f"{name}: {said}")


def test_rates_and_times_stay():
    """Those that the stream itself tells, too; and frames that come at other times than the rate says."""
    varying = "-vf", r"setpts=(N*N+3*N)*0.004/TB", "-fps_mode", "vfr"
    with Here() as place:
        for name, rate, options in (("in.mkv", "30000/1001", ()), ("in.mp4", "25", ()), ("in.mp4", "12.5", ()), ("in.mp4", "25", varying)):
            ffmpeg(*source(rate, sound=False), *options, "-c:v", "libx264", "-y", place.path(name))
            times, before = shown(place.path(name)), video(place.path(name))
            for out, *codec in (("out.ts",), ("out.ts", "--codec", "hevc"), ("out.mpg",), ("out.mp4",), ("out.mp4", "--codec", "mpeg4"), ("out.mkv",),
                                ("out.avi",), ("out.avi", "--codec", "mpeg4")):
                said = apply(place, name, out, *codec)
                after, got = video(place.path(out)), shown(place.path(out))
                text = f"{rate} {options[:1]} {out} {codec}: {[after[key] for key in RATES]}, {got - got[0]} of {times}: {said}"
                frame.check(len(times) == len(got) and np.allclose(times - times[0], got - got[0], atol=0.0021) and not said, text)
                constant = all(after[key] == before[key] for key in RATES) or (out == "out.mpg" and rate == "12.5")
                frame.check(constant if not options else out != "out.ts" or [after[key] for key in RATES] == ["25/1", "25/1"], text)
                frame.check(out != "out.avi" or after["has_b_frames"] == 0, f"{text}: AVI has no times for frames that are shown later")


if __name__ == "__main__":
    frame.main(globals())
