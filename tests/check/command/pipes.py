#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Images through pipes: standard input, fifos, several in one stream.  pipes.py build=FOLDER"""

import atexit
import os
import subprocess
import threading

import cv2
import numpy as np

import frame
from place import Place

SEED = 20240611
PLACE = Place()  # programs are compiled once for all tests
atexit.register(PLACE.__exit__)
SHAPE = (20, 30, 3)


def pictures(count, shape=SHAPE, kind="uint8"):
    return list(np.random.default_rng(SEED).integers(0, np.iinfo(kind).max + 1, (count, *shape), dtype=kind))


def ppm(image):
    return b"P6\n# a comment\n%d %d %d\n" % (image.shape[1], image.shape[0], np.iinfo(image.dtype).max) + image.astype(
        image.dtype.newbyteorder(">")).tobytes()


def encoded(image, suffix, *options):
    return cv2.imencode(suffix, image[:, :, ::-1], options)[1].tobytes()


def lossless_webp(image):
    return encoded(image, ".webp", cv2.IMWRITE_WEBP_QUALITY, 101)


def decoded(data):
    return cv2.imdecode(np.frombuffer(data, "u1"), cv2.IMREAD_COLOR)[:, :, ::-1]


def read(name):
    return cv2.imread(name, cv2.IMREAD_UNCHANGED)[:, :, ::-1]


def read_ppms(stream):
    """Every image of a stream of plain headers."""
    images = []
    while stream:
        magic, width, height, most = stream.split(None, 4)[:4]
        shape, kind = (int(height), int(width), 3), ">u2" if int(most) > 255 else "u1"
        start = len(b"\n".join((magic, b"%s %s" % (width, height), most))) + 1
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        frame.check(magic == b"P6" and len(stream) >= start + size, f"a header of {stream[:20]}, {len(stream)} bytes")
        images.append(np.frombuffer(stream[start:start + size], kind).reshape(shape))
        stream = stream[start + size:]
    return images


def apply(data, *arguments, status=0, source="-"):
    """What `hone apply transpose` writes to standard output, and says."""
    command = [os.path.join(frame.build(), "hone"), "apply", "transpose", source, *arguments]
    done = subprocess.run(command, input=data, capture_output=True, env=PLACE.environment, check=False, timeout=100)
    frame.check(done.returncode == status, f"{arguments}: {done.returncode}, {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


def check_turned(got, images, what):
    same = len(got) == len(images) and all(np.array_equal(g, i.swapaxes(0, 1)) for g, i in zip(got, images))
    frame.check(same, f"{what}: {len(got)} of {len(images)} images, or others")


def test_streams_of_each_format():
    images = pictures(4)
    wide = pictures(2, kind="uint16")
    streams = {"PPM": b"".join(map(ppm, images)), "PNG": b"".join(encoded(i, ".png") for i in images),
               "WebP": b"".join(map(lossless_webp, images)),
               "mixed": ppm(images[0]) + encoded(images[1], ".png") + lossless_webp(images[2]) + ppm(images[3])}
    for name, stream in streams.items():
        check_turned(read_ppms(apply(stream, "-o", "-", "--format", "ppm")[0]), images, name)
    check_turned(read_ppms(apply(ppm(wide[0]) + ppm(wide[1]), "-o", "-", "--format", "ppm")[0]), wide, "16 bits")


def test_jpegs_with_markers_inside():
    """Restart markers, progressive scans, a comment with an end of image; each ends where it should."""
    images = pictures(3, (40, 56, 3))
    stream = [encoded(images[0], ".jpg", cv2.IMWRITE_JPEG_RST_INTERVAL, 1), encoded(images[1], ".jpg", cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
              encoded(images[2], ".jpg")]
    stream[2] = stream[2][:2] + b"\xff\xfe\0\x06\xff\xd9\xff\xd8" + stream[2][2:]
    frame.check(b"\xff\xd0" in stream[0] and stream[1].count(b"\xff\xda") > 3, "no markers inside")
    wanted = [decoded(one) for one in stream]
    got = read_ppms(apply(b"".join(stream), "-o", "-", "--format", "ppm")[0])
    frame.check(len(got) == 3, f"{len(got)} images")
    for one, other in zip(got, wanted):
        frame.check(np.abs(one.astype(int) - other.swapaxes(0, 1)).max() <= 2, "a picture differs")


def test_between_two_ffmpegs():
    source = ["-f", "lavfi", "-i", "testsrc2=size=48x36:rate=5:duration=1"]
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    quiet = ["ffmpeg", "-v", "error", "-nostdin"]
    wanted = subprocess.run([*quiet, *source, "-vf", "format=rgb24", *raw], capture_output=True, check=True, timeout=100).stdout
    frames = np.frombuffer(wanted, "u1").reshape(5, 36, 48, 3)
    for codec, suffix in (("ppm", "ppm"), ("png", "png")):
        stream = subprocess.run([*quiet, *source, "-pix_fmt", "rgb24", "-f", "image2pipe", "-c:v", codec, "-"], capture_output=True,
                                check=True, timeout=100).stdout
        out = apply(stream, "-o", "-", "--format", suffix)[0]
        back = subprocess.run([*quiet[:-1], "-f", "image2pipe", "-c:v", codec, "-i", "-", *raw], input=out, capture_output=True,
                              check=True, timeout=100).stdout
        check_turned(list(np.frombuffer(back, "u1").reshape(-1, 48, 36, 3)), list(frames), codec)


def test_results_come_while_the_stream_goes_on():
    """The first result is there before the second image begins."""
    first, second = pictures(2)
    command = [os.path.join(frame.build(), "hone"), "apply", "transpose", "-", "-o", "-", "--format", "ppm"]
    for make in (ppm, lambda image: encoded(image, ".png")):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=PLACE.environment) as process:
            watch = threading.Timer(100, process.kill)
            watch.start()
            process.stdin.write(make(first))
            process.stdin.flush()
            got = process.stdout.read(len("P6\n20 30\n255\n") + first.nbytes)
            got += process.communicate(make(second))[0]
            watch.cancel()
            frame.check(process.returncode == 0, f"ends with {process.returncode}")
        check_turned(read_ppms(got), [first, second], "one by one")


def test_formats_that_seek():
    image = pictures(1)[0]
    stream = encoded(image, ".tif")
    check_turned(read_ppms(apply(stream, "-o", "-", "--format", "ppm")[0]), [image], "TIFF")
    out = PLACE.path("out.tif")
    apply(stream, "-o", out)
    check_turned([read(out)], [image], "TIFF to TIFF")
    apply(encoded(image, ".bmp"), "-o", out, status=3)


def test_a_pipe_that_stalls():
    """The writer lives on, and writes nothing more, or there is none: --timeout ends that, within an image and between two."""
    image, seconds, fifo = ppm(pictures(1)[0]), "4", PLACE.path("nobody")
    os.mkfifo(fifo)
    apply(image, "-o", "-", "--format", "ppm")  # the device gets the same time, and compiles no more
    cases = [("-", b"", ""), ("-", image[:-9], ""), ("-", image + image[:-9], ", image 2"), ("-", image, ", image 2"), (fifo, b"", "")]
    runs = []
    for source, stream, _ in cases:
        command = [os.path.join(frame.build(), "hone"), "apply", "transpose", source, "-o", "-", "--format", "ppm", "--timeout", seconds]
        runs.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLACE.environment))
        runs[-1].stdin.write(stream)
        runs[-1].stdin.flush()
    for process, (source, stream, number) in zip(runs, cases):
        said, got = process.stderr.read().decode(), process.stdout.read()
        process.stdin.close()
        name = "standard input" if source == "-" else source
        frame.check(process.wait() == 3 and f"'{name}{number}': nothing came for {seconds} s" in said,
                    f"{len(stream)} bytes: {process.returncode}, {said}")
        check_turned(read_ppms(got), pictures(1) if number else [], f"{len(stream)} bytes")


def test_fifo_and_dev_stdin():
    image, fifo, name = pictures(1)[0], PLACE.path("fifo"), PLACE.path("a.ppm")
    os.mkfifo(fifo)
    with open(name, "wb") as file:
        file.write(ppm(image))

    def write():
        with open(fifo, "wb") as file:
            file.write(ppm(image))
    writer = threading.Thread(target=write)
    writer.start()
    out = apply(None, "-o", "-", "--format", "ppm", source=fifo)[0]
    writer.join()
    check_turned(read_ppms(out), [image], "fifo")
    check_turned(read_ppms(apply(ppm(image), "-o", "-", "--format", "ppm", source="/dev/stdin")[0]), [image], "/dev/stdin")
    command = [os.path.join(frame.build(), "hone"), "apply", "transpose", "-", "-o", "-", "--format", "ppm"]
    with open(name, "rb") as file:
        out = subprocess.run(command, stdin=file, capture_output=True, env=PLACE.environment, check=True, timeout=100).stdout
    check_turned(read_ppms(out), [image], "a file as standard input")


def test_a_file_gets_the_first_image():
    images, out = pictures(2), PLACE.path("first.png")
    said = apply(ppm(images[0]) + ppm(images[1]), "-o", out)[1]
    frame.check("the first is used" in said, said)
    check_turned([read(out)], images[:1], "a file")


def test_what_cannot_be():
    two = b"".join(map(ppm, pictures(2)))
    to_ppm = ("-o", "-", "--format", "ppm")
    for data, arguments, status, words in (
            (b"", to_ppm, 3, "nothing came"),
            (b"no image at all", to_ppm, 3, "not an image"),
            (two[:-5], to_ppm, 3, "image 2': the file is cut off"),
            (two, ("-o", "-", "--format", "tif"), 2, "cannot follow each other"),
            (two, ("-o", PLACE.path("folder/")), 2, "only input"),
            (two, (__file__, *to_ppm), 2, "one image"),
            (two, (__file__, "-o", PLACE.path("folder/")), 2, "only input"),
            (ppm(np.zeros((700, 700, 3), "uint8")), (*to_ppm, "--decode-memory", "1"), 3, "--decode-memory"),
            (two + b"tail", to_ppm, 3, "image 3': what comes does not begin like an image"),
            (two + b"tail" + two, (*to_ppm, "--accept-damaged"), 0, "what follows image 2 of '-' is no image")):
        out, said = apply(data, *arguments, status=status)
        frame.check(words in said and said.count("standard input") <= 1, f"{words}: {said}")
        written = 2 if status == 0 or "image 3" in words else 1 if "image 2" in words else 0
        frame.check(len(read_ppms(out)) == written, f"{words}: {len(out)} bytes")
    check_turned(read_ppms(apply(two[:-5], *to_ppm, "--accept-damaged")[0])[:1], pictures(2)[:1], "accepted damage")


def test_a_jpeg_that_is_cut_off_takes_no_other_with_it():
    images = pictures(6, (40, 56, 3))
    parts = [encoded(image, ".jpg") for image in images]
    parts[2] = parts[2][:-300]
    to_ppm = ("-o", "-", "--format", "ppm")
    out, said = apply(b"".join(parts), *to_ppm, status=3)
    frame.check(len(read_ppms(out)) == 2 and "image 3' is damaged" in said, f"{len(out)} bytes: {said}")
    out, said = apply(b"".join(parts), *to_ppm, "--accept-damaged")
    got = read_ppms(out)
    frame.check(len(got) == 6 and "image 3': damaged" in said, f"{len(got)} images: {said}")
    for index in (0, 1, 3, 4, 5):
        frame.check(np.abs(got[index].astype(int) - decoded(parts[index]).swapaxes(0, 1)).max() <= 2, f"picture {index + 1}")
    lost = parts[0] + parts[1][:20] + b"no marker" + parts[1][20:] + parts[3]
    out, said = apply(lost, *to_ppm, status=3)
    frame.check(len(read_ppms(out)) == 1 and "end cannot be found" in said, said)
    out, said = apply(lost, *to_ppm, "--accept-damaged")
    frame.check(len(read_ppms(out)) == 2 and "images behind it are lost" in said, said)


frame.main(globals())
