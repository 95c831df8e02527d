#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Small files that ask for much: refused from their headers, one by one, in little memory.  hostile.py build=FOLDER"""

import base64
import functools
import os
import struct
import subprocess
import sys
import zlib

import frame
from place import Place

LITTLE = 700 << 20  # bytes, of which the libraries and a driver for CPUs take most; each file here asks for gigabytes


# ---- Files ----

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def png(width, height, colour, interlaced=0, rows=None):
    """An 8-bit PNG; `rows` bytes of zeros are its pixels, or as many as it takes."""
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, interlaced)
    passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
    sizes = [((width - x + dx - 1) // dx, (height - y + dy - 1) // dy) for x, y, dx, dy in passes]
    total = sum(h * (1 + w * {0: 1, 2: 3}[colour]) for w, h in sizes) if rows is None else rows
    packer, data = zlib.compressobj(9), b""
    for at in range(0, total, 1 << 20):
        data += packer.compress(bytes(min(1 << 20, total - at)))
    data += packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def jpeg(width, height, bits=b"\x00" * 1000):
    """A progressive JPEG of three channels with one scan, of zeros."""
    def marker(code, data):
        return b"\xff" + bytes([code]) + struct.pack(">H", len(data) + 2) + data
    size = struct.pack(">BHHB", 8, height, width, 3)
    channels = b"".join(bytes([i, 0x11, 0]) for i in (1, 2, 3))
    one_code = bytes([0, 1] + [0] * 15 + [0])  # table 0: a single code of one bit
    scan = bytes([3, 1, 0, 2, 0, 3, 0, 0, 0, 0])
    return (b"\xff\xd8" + marker(0xdb, bytes(1) + bytes([1] * 64)) + marker(0xc2, size + channels) +
            marker(0xc4, one_code) + marker(0xda, scan) + bits + b"\xff\xd9")


def tiff(width, height, tile, length):
    """A TIFF without compression; in tiles of tile x tile, of which only the first has a place in the file."""
    entries = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 5 if tile else 1), (262, 3, 1, 1),
               (277, 3, 1, 1)]
    if tile:
        entries += [(322, 4, 1, tile), (323, 4, 1, tile), (324, 4, 1, 200), (325, 4, 1, length)]
    else:
        entries += [(273, 4, 1, 200), (278, 4, 1, height), (279, 4, 1, length)]
    entries.sort()
    raw = struct.pack("<2sHIH", b"II", 42, 8, len(entries)) + b"".join(struct.pack("<HHII", *e) for e in entries) + bytes(4)
    return raw.ljust(200 + length, b"\0")


SVG = (b'<svg xmlns="http://www.w3.org/2000/svg" width="30000" height="30000"><filter id="f"><feGaussianBlur stdDeviation="90"/>'
       b'</filter><rect width="30000" height="30000" filter="url(#f)"/></svg>')

def texts(count):
    """A small PNG that carries texts of 8 MB each, which take a hundredth of that in the file."""
    text = b"name\0\0" + zlib.compress(bytes(b"x") * 7900000, 9)
    small = png(30, 20, 0)
    return small[:33] + chunk(b"zTXt", text) * count + small[33:]


@functools.cache
def bomb():
    """Name, bytes, and options of a file that takes a decoder much memory of which nothing in its headers tells. What a decoder
    may have beside the limit grows with the processors. libvips 8.16 takes no texts of more than 60 MB; before, librsvg took no
    picture that is so large."""
    with Place() as place:
        small = write(place, "texts.png", texts(10))
        if "chunk/cache limits" not in place.any("compare", small, small).stderr:
            return "bomb.png", texts(22 + os.cpu_count()), ()
    inside = base64.b64encode(png(9000, 9000, 0)).decode()
    return "bomb.svg", (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="30" height="20">'
                        f'<image width="30" height="20" xlink:href="data:image/png;base64,{inside}"/></svg>').encode(), ("--trust",)


def copies(levels):
    """An SVG of two kilobytes that blends 2^levels layers of a megapixel. librsvg refuses to go on after 500000 of them,
    which takes it a minute."""
    groups = "".join(f'<g id="a{i}"><use xlink:href="#a{i - 1}"/><use x="1" xlink:href="#a{i - 1}"/></g>' for i in range(1, levels))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="1000" height="1000"><defs>'
            f'<g id="a0"><circle r="9" opacity=".5"/></g>{groups}</defs><use xlink:href="#a{levels - 1}"/></svg>').encode()


# Name, bytes, what the message says.
SMALL = (
    ("progressive.jpg", jpeg(32767, 32767), "the file is cut off"),
    ("bits.pbm", b"P4\n80000 10000\n" + bytes(100), "the file is cut off"),
    ("digits.pgm", b"P2\n30000 30000\n255\n" + b"0 " * 50, "the file is cut off"),
    ("bytes.pgm", b"P5\n30000 30000\n255\n" + bytes(100), "the file is cut off"),
    ("nul.pbm", b"P4\n8\0 4\n" + bytes(4), "damaged"),
    ("nul.pgm", b"P2\n2\0 2\n255\n1 2 3 4\n", "damaged"),
    ("little.png", png(30000, 20000, 2, rows=100000), "the file is cut off"),
    ("little.tif", tiff(30000, 30000, 0, 100), "the file is cut off"),
    ("tiles.tif", tiff(140000, 7000, 8192, 100), "--decode-memory"),
    ("blur.svg", SVG, "--trust"),
    ("blur.png", SVG, "--trust"),  # what a file is called does not count
    ("page.pdf", b"%PDF-1.4\n%" + bytes(32) + b"\n%%EOF\n", "--trust"),
    ("table.csv", b"1,2,3\n4,5,6\n", "--trust"),
)


def write(place, name, data):
    with open(place.path(name), "wb") as file:
        file.write(data)
    return place.path(name)


def measured(place, *arguments):
    """Exit status, messages, and the most memory that the program held: its own child's, so that no other run counts."""
    program = [os.path.join(frame.build(), "hone"), *arguments]
    code = ("import resource, subprocess, sys\n"
            "status = subprocess.run(sys.argv[1:], check=False).returncode\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
            "sys.exit(status)")
    said = subprocess.run([sys.executable, "-c", code, *program], capture_output=True, text=True, env=place.environment,
                          check=False)
    return said.returncode, said.stderr, int(said.stdout.split()[-1]) * 1024


def refused(place, name, wanted, *options, status=3, chain="sobel"):
    out = place.path("out.png")
    ended, said, memory = measured(place, "apply", chain, place.path(name), "-o", out, *options)
    frame.check(ended == status and wanted in said, f"{name}: {ended}, not {status}: {said}")
    frame.check(not os.path.exists(out), f"{name}: there is an output")
    frame.check(memory < LITTLE, f"{name}: {memory >> 20} MiB")
    return said


def test_small_files_that_ask_for_much_are_refused():
    with Place() as place:
        for name, data, wanted in SMALL:
            write(place, name, data)
            said = refused(place, name, wanted)
            frame.check(said.count("\n") == 1, f"{name}: {said}")


def test_more_elements_than_a_kernel_counts_are_refused_before_decoding_or_read_in_bands():
    with Place() as place:
        write(place, "bomb.png", png(30000, 30000, 2, rows=1 << 20) + bytes(2700000))  # its size does not tell
        refused(place, "bomb.png", "sobel cannot be run in parts", status=2, chain="box border=wrap | sobel")
        refused(place, "bomb.png", "is damaged", "--memory", "100M", chain="transpose")
        refused(place, "bomb.png", "bomb.png' is damaged: ", "--memory", "100M")


def test_memory_of_decoders_has_a_limit_that_an_option_sets():
    """Files that are as large as they must be, and small enough to be decoded here."""
    with Place() as place:
        write(place, "in.png", png(3000, 2000, 2, interlaced=1))
        write(place, "in.jpg", jpeg(3000, 2000, bytes(-(-375 * 250 * 3 // 8))))
        for name in ("in.png", "in.jpg"):
            refused(place, name, "--decode-memory", "--decode-memory", "10")
            place.run("apply", "sobel", place.path(name), "-o", place.path("out.png"))
            os.remove(place.path("out.png"))


def test_trust_reads_what_is_refused_without():
    with Place() as place:
        small = b'<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><rect width="9" height="9"/></svg>'
        name = write(place, "small.svg", small)
        refused(place, "small.svg", "--trust")
        place.run("apply", "sobel", name, "-o", place.path("out.png"), "--trust")
        frame.check(place.run("compare", name, name, status=3).stderr.count("--trust") == 1, "compare")
        place.run("compare", name, name, "--trust")


def policy(place, text):
    folder = place.path("config", "hone")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "policy"), "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    place.environment["XDG_CONFIG_HOME"] = place.path("config")


def test_a_policy_binds_options():
    with Place() as place:
        name, out = write(place, "in.pgm", b"P5\n30 20\n255\n" + bytes(600)), place.path("out.png")
        write(place, "small.svg", b'<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>')
        policy(place, "limit max-pixels 500\nlimit trust no\nlimit memory 64M  # of all\ndefault decode-memory 100\n")
        refused(place, "in.pgm", "limit of 500 ")
        refused(place, "in.pgm", "--max-pixels exceeds the limit of 500 in the policy", "--max-pixels", "1e6", status=2)
        refused(place, "in.pgm", "--memory exceeds the limit of 64 MiB", "--memory", "1G", status=2)
        refused(place, "small.svg", "--trust is not allowed by the policy", "--trust", status=2)
        place.run("compare", name, name, "--trust", status=2)
        place.run("compare", name, name, status=3)
        place.run("profile", "sobel", name, status=3)
        for command in (("profile", "sobel", name), ("tune", "--kernel-file", "none.cl")):
            said = place.run(*command, "--trust", status=2).stderr
            frame.check("--trust is not allowed" in said, said)
        policy(place, "limit max-pixels 600\n")
        place.run("apply", "sobel", name, "-o", out)
        os.remove(out)
        policy(place, "limit max-pixels 600\nlimit pixels 7\n")
        refused(place, "in.pgm", "line 2: expected")
        os.chmod(place.path("config", "hone", "policy"), 0o666)
        refused(place, "in.pgm", "others may write to it")


def test_flipped_bits_in_a_png_are_noticed():
    """In its pixels, which have a checksum: most give other pixels that look well."""
    with Place() as place:
        whole = png(640, 480, 2)
        pixels = range(whole.index(b"IDAT") + 4, len(whole) - 12)
        for at in pixels[::max(1, len(pixels) // 24)]:
            name = write(place, "flipped.png", whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            said = place.run("compare", name, name, status=3).stderr
            frame.check("flipped.png" in said, f"byte {at}: {said}")


def test_formats_that_take_trust_are_marked():
    with Place() as place:
        marked = {line[:10].strip() for line in place.run("formats").stdout.splitlines() if " trust " in line}
        told = {f["name"] for f in place.json("formats")["formats"] if f["trust"]}
        frame.check(marked >= {"SVG", "PDF"} and not marked & {"PNG", "JPEG", "TIFF", "PGM", "GIF"}, f"{marked}")
        frame.check(told == marked, f"{told} and {marked}")


def test_one_file_of_a_folder_fails_alone():
    with Place() as place:
        os.mkdir(place.path("all"))
        for name, data, _ in SMALL:
            write(place, os.path.join("all", name), data)
        for i in range(3):
            write(place, f"all/good-{i}.pgm", b"P5\n4 4\n255\n" + bytes(16))
        ended, said, memory = measured(place, "apply", "sobel", place.path("all"), "-o", place.path("out/"), "--format", "png")
        written = sorted(os.listdir(place.path("out")))
        frame.check(ended == 3 and written == [f"good-{i}.png" for i in range(3)], f"{ended}: {written}: {said}")
        frame.check(memory < LITTLE, f"{memory >> 20} MiB")


def test_decoding_has_a_limit_of_processor_time():
    """So short a time that every decoder needs more."""
    with Place() as place:
        name = write(place, "in.png", png(3000, 3000, 2))
        said = place.run("compare", name, name, "--timeout", "0.000001", status=3).stderr
        frame.check("processor time" in said and "--timeout" in said, said)
        place.run("compare", name, name, "--timeout", "0")


def test_a_decoder_that_takes_too_long_fails_its_file_alone():
    """Its own limit comes before that of the bands, which would end the process."""
    with Place() as place:
        os.mkdir(place.path("all"))
        write(place, "all/b.png", png(30000, 30000, 0, 1))
        for name in "ac":
            write(place, f"all/{name}.pgm", b"P5\n4 4\n255\n" + bytes(16))
        place.run("apply", "box", place.path("all/a.pgm"), "-o", place.path("compiled.pgm"))
        said = place.run("apply", "box", place.path("all"), "-o", place.path("out/"), "--timeout", "1", "-j", "1", status=3).stderr
        frame.check("b.png" in said and "processor time" in said and "2 written, 1 failed" in said, said)


def test_a_decoder_that_gets_no_processor_is_waited_for():
    """It has a fifteenth of one, so that its 0.3 seconds of processor time take longer than hone waits for an answer."""
    with Place() as place:
        name, processor = write(place, "in.png", png(30000, 30000, 0, 1)), {min(os.sched_getaffinity(0))}
        first = write(place, "first.pgm", b"P5\n4 4\n255\n" + bytes(16))
        place.run("apply", "box", first, "-o", place.path("compiled.pgm"))
        with subprocess.Popen([sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {processor})\nwhile True: pass"]) as other:
            try:
                result = subprocess.run([os.path.join(frame.build(), "hone"), "apply", "box", name, "-o", place.path("out.png"), "--timeout", "0.3"],
                                        capture_output=True, text=True, check=False, env=place.environment,
                                        preexec_fn=lambda: (os.sched_setaffinity(0, processor), os.nice(12)))
            finally:
                other.kill()
        frame.check(result.returncode == 3 and "processor time" in result.stderr, f"{result.returncode}: {result.stderr}")


def test_a_decoder_that_takes_too_much_memory_fails_its_file_alone():
    with Place() as place:
        os.mkdir(place.path("all"))
        name, data, options = bomb()
        write(place, "all/" + name, data)
        for i in range(3):
            write(place, f"all/good-{i}.png", png(40, 30, 2))
        ended, said, memory = measured(place, "apply", "sobel", place.path("all"), "-o", place.path("out/"), "--decode-memory", "1", "--format", "png", *options)
        frame.check(ended == 3 and name in said and "--decode-memory" in said, f"{ended}: {said}")
        frame.check(sorted(os.listdir(place.path("out"))) == [f"good-{i}.png" for i in range(3)], said)
        frame.check(memory < LITTLE, f"{memory >> 20} MiB")


def test_a_decoder_that_takes_too_much_time_is_ended():
    """It is not done with its first row for a minute."""
    with Place() as place:
        name = write(place, "slow.svg", copies(24))
        said = place.run("compare", name, name, "--timeout", "0.1", "--trust", status=3).stderr
        frame.check("processor time" in said and "--timeout" in said, said)


KERNEL = "kernel void copy(global const uchar *in, global uchar *out) { out[get_global_id(0)] = in[0]; }"


def test_other_commands_decode_within_the_same_limits():
    """Images that are profiled, that a kernel of the user's own reads, and that its results are compared with."""
    with Place() as place:
        kernel, good = write(place, "copy.cl", KERNEL.encode()), write(place, "good.pgm", b"P5 4 4 255\n" + bytes(16))
        some = [small for small in SMALL if small[0] in ("digits.pgm", "little.png", "tiles.tif", "blur.svg")]
        for name, data, wanted, *options in (*some, (*bomb()[:2], "--decode-memory", *bomb()[2])):
            path = write(place, name, data)
            for command in (("profile", "sobel", path), ("profile", f"add image={path}", good),
                            ("tune", "--kernel-file", kernel, "--global", "16", "--arg", f"in:u8:{path}", "--arg", "out:u8:16")):
                ended, said, memory = measured(place, *command, "--decode-memory", "1", *options)
                frame.check(ended == 3 and name in said and wanted in said, f"{command}: {ended}: {said}")
                frame.check(memory < LITTLE, f"{command}: {memory >> 20} MiB")


def test_an_expected_result_is_decoded_within_limits():
    with Place() as place:
        name, data, options = bomb()
        kernel = write(place, "copy.cl", KERNEL.encode())
        ended, said, memory = measured(place, "tune", "--kernel-file", kernel, "--global", "16", "--arg", "zero:u8:16", "--arg",
                                       "out:u8:16", "--param", "N=1,2", "--check", write(place, name, data), "--decode-memory", "1", "--evaluations", "1", *options)
        frame.check(ended == 3 and name in said and "--decode-memory" in said, f"{ended}: {said}")
        frame.check(memory < LITTLE, f"{memory >> 20} MiB")


if __name__ == "__main__":
    frame.main(globals())
