#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that were compiled at installation: who uses them, and which files are not used.  precompiled.py build=FOLDER"""

import atexit
import functools
import glob
import hashlib
import os
import shutil
import subprocess
import time

import frame
import place

CHAIN = "gaussian sigma=10"  # three kernels
HEAD = b"hone precompiled 1 "
HEAD_SIZE = len(HEAD) + 64 + 1 + 12 + 1


class User(place.Place):
    """Somebody who uses hone for the first time, with a file of programs."""

    def __init__(self, file):
        super().__init__()
        self.environment |= {"HONE_PRECOMPILED": file, "XDG_DATA_HOME": self.path("data")}

    def apply(self, chain=CHAIN, **changes):
        """The pixels, and whether they came without compiling."""
        result = self.run("apply", chain, self.picture(), "-o", self.path("out.pgm"), "--force", "-v", **changes)
        with open(self.path("out.pgm"), "rb") as file:
            return file.read(), "programs so far: 0 compiled, 1 loaded" in result.stderr


@functools.lru_cache(None)
def made():
    """The file, what the command said of it, and its place."""
    maker = place.Place()
    atexit.register(shutil.rmtree, maker.folder, ignore_errors=True)
    file = maker.path("var", "precompiled")
    return file, maker.json("cache", "precompile", file), maker


@functools.lru_cache(None)
def expected():
    with User("") as user:
        pixels, loaded = user.apply()
    frame.check(not loaded, "without the file, nothing was compiled")
    return pixels


def digest(data):
    return hashlib.sha256(data).hexdigest().encode()


def parts(file):
    """What a file holds: [kind and name, bytes]."""
    with open(file, "rb") as source:
        data = source.read()
    length = int(data[HEAD_SIZE - 13:HEAD_SIZE])
    index, body = data[HEAD_SIZE:HEAD_SIZE + length], data[HEAD_SIZE + length:]
    frame.check(data.startswith(HEAD + digest(index) + b" "), "the head is wrong")
    found = []
    for line in index.decode().split("\n")[1:-1]:
        kind, name, at, count, told = line.split(" ")
        found.append((f"{kind} {name}", body[int(at):int(at) + int(count)]))
        frame.check(digest(found[-1][1]).decode() == told, f"{line}: another digest")
    return found


def sealed(contents):
    """A file of such parts, with the digests that belong to it."""
    index, body = b"\n", b""
    for name, part in contents:
        index += b"%s %d %d %s\n" % (name.encode(), len(body), len(part), digest(part))
        body += part
    return HEAD + digest(index) + b" %12d\n" % len(index) + index + body


def use(data):
    """Whether such a file is used. What else lies in the user's folder then is checked, and the pixels are."""
    with User("") as user:
        with open(user.path("file"), "wb") as file:
            file.write(data)
        pixels, loaded = user.apply(HONE_PRECOMPILED=user.path("file"))
        files = sorted(os.listdir(user.folder))
        frame.check(files == ["cache", "data", "file", "in.pgm", "out.pgm"], f"{files}")
        frame.check(sorted(os.listdir(user.cache())) == ["driver", "programs", "verdicts"], "other files in the cache")
        frame.check(pixels == expected(), "other pixels")
        return loaded


def test_the_first_picture_waits_for_no_compiler():
    file, report, _ = made()
    frame.check(report["programs"] >= 30 and report["programs"] == sum(name.startswith("program") for name, _ in parts(file)), f"{report}")
    with User(file) as user:
        pixels, loaded = user.apply()
        frame.check(loaded and pixels == expected(), "it compiled, or gave other pixels")
        frame.check(len(user.programs()) == 1, "more was copied than was asked for")
        frame.check(user.apply("box size=4")[1], "a window of another size compiled, though there is a program for any")
        frame.check(not user.apply("epsilon radius=6")[1], "a program that is not in the file was not compiled")
        frame.check(user.apply("epsilon radius=6")[1], "what was compiled then was compiled again")
        frame.check(user.apply(HONE_PRECOMPILED="")[1], "the copy does not outlive the file")


def test_pictures_with_alpha_or_16_bits_wait_for_none():
    """1920x1080; alpha is not full everywhere, so that colours are weighed by it: three programs."""
    pixels = bytes(range(256)) * (1920 * 1080 * 4 // 256)
    pictures = {"alpha.pam": b"P7\nWIDTH 1920\nHEIGHT 1080\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n" + pixels,
                "deep.pgm": b"P5\n1920 1080\n65535\n" + pixels[:1920 * 1080 * 2]}
    with User(made()[0]) as user:
        for name, data in pictures.items():
            with open(user.path(name), "wb") as file:
                file.write(data)
            for chain in ("box size=31", "gaussian sigma=10", "sobel", "epsilon"):
                result = user.run("apply", chain, user.path(name), "-o", user.path("out.pam"), "--force", "-v")
                frame.check("programs so far: 0 compiled" in result.stderr, f"{name}, {chain}: {result.stderr}")


def test_users_with_an_older_cache_get_them_too():
    with User("") as user:
        user.apply("epsilon radius=6")
        frame.check(user.apply(HONE_PRECOMPILED=made()[0])[1], "it compiled")
        user.run("cache", "clear")
        frame.check(user.apply(HONE_PRECOMPILED=made()[0])[1], "after `cache clear` it compiled")
        user.run("cache", "verify")


def test_without_a_cache_nothing_is_copied():
    with User(made()[0]) as user:
        result = user.run("apply", CHAIN, user.picture(), "-o", user.path("out.pgm"), "--no-cache", "-v")
        frame.check("0 loaded from disk" in result.stderr and not user.programs(), result.stderr)


def test_a_file_that_is_not_whole_is_not_used():
    with open(made()[0], "rb") as file:
        data = file.read()
    frame.check(use(data), "an unchanged copy is not used")
    frame.check(use(sealed(parts(made()[0]))), "this script makes other files than hone does")
    for what, other in (("a byte of the index", data[:HEAD_SIZE + 100] + bytes([data[HEAD_SIZE + 100] ^ 1]) + data[HEAD_SIZE + 101:]),
                        ("everything", b""), ("its index", data[:HEAD_SIZE + 9]), ("its parts", data[:HEAD_SIZE + 20000])):
        frame.check(not use(other), f"a file that lacks {what} was used")
    body = HEAD_SIZE + int(data[HEAD_SIZE - 13:HEAD_SIZE])
    frame.check(not use(data[:body] + bytes(byte ^ 1 for byte in data[body:])), "parts that were changed were used")


def test_a_file_that_others_may_write_is_not_used():
    with User("") as user:
        file = user.path("open")
        shutil.copyfile(made()[0], file)
        os.symlink(file, user.path("link"))
        os.mkdir(user.path("all"))
        os.chmod(user.path("all"), 0o777)
        shutil.copyfile(file, user.path("all", "file"))
        os.chmod(user.path("all", "file"), 0o644)
        for mode in (0o664, 0o646):
            os.chmod(file, mode)
            frame.check(not user.apply(HONE_PRECOMPILED=file)[1], f"mode {mode:o}")
            user.run("cache", "clear")
        os.chmod(file, 0o644)
        for other in ("link", "all/file", "all", "none"):
            frame.check(not user.apply(HONE_PRECOMPILED=user.path(other))[1], f"{other} was used")
            user.run("cache", "clear")
        frame.check(user.apply(HONE_PRECOMPILED=file)[1], "now it is in order")


def test_names_lead_nowhere_else():
    def with_item(item):
        return sealed([(name, item + part if name.startswith("program") else part) for name, part in parts(made()[0])])
    for item in (b"4 ../evil\nevil", b"4 /tmp/hone-evil\nevil", b"4 a/../../../../evil\nevil", b"4 \nevil", b"99999999999999999999 a\n", b"x" * 5000,
                 b"4 " + b"a/" * 400 + b"\nevil"):
        frame.check(not use(with_item(item)), f"{item[:40]} was taken")
    frame.check(not os.path.exists("/tmp/hone-evil"), "it wrote to /tmp")


def test_made_again_it_compiles_nothing():
    file, report, maker = made()
    before = sorted(parts(file))
    again = maker.json("cache", "precompile", file)
    frame.check(again["programs"] == report["programs"] and again["seconds"] < report["seconds"], f"{again}, {report}")
    frame.check(sorted(parts(file)) == before, "another file")


def test_a_killed_process_leaves_nothing():
    with User("") as user:
        hone = os.path.join(frame.build(), "hone")
        with subprocess.Popen([hone, "cache", "precompile", user.path("new", "file")], env=user.environment) as process:
            started = time.monotonic()
            while not glob.glob(user.path("new", ".precompile-*", "*", "hone", "driver", "*", "*")) and time.monotonic() < started + 60:
                time.sleep(0.01)
            process.kill()
        frame.check(os.listdir(user.path("new")) == [f".precompile-{process.pid}"], f"{os.listdir(user.path('new'))}")
        user.run("cache", "precompile", user.path("new", "file"), **place.NOWHERE)
        frame.check(os.listdir(user.path("new")) == ["file"], f"{os.listdir(user.path('new'))}")


def test_mistakes():
    with User("") as user:
        with open(user.path("plain"), "wb"):
            pass
        for arguments, status, text in ((("precompile", "a", "b"), 2, "'b'"), (("clear", "a"), 2, "'a'"),
                                        (("precompile", user.path("plain", "file")), 3, "plain"),
                                        (("precompile", user.path("plain", "below", "file")), 3, "below")):
            result = user.run("cache", *arguments, status=status)
            frame.check(text in result.stderr, f"{arguments}: {result.stderr}")
        user.json("cache", "precompile", user.path("some", "folders", "below", "file"), **place.NOWHERE)
        frame.check(os.path.isfile(user.path("some", "folders", "below", "file")), "folders above the file's are made")
        empty = user.json("cache", "precompile", user.path("none"), **place.NOWHERE)
        frame.check(empty["programs"] == 0, f"without a driver: {empty}")
        user.apply(HONE_PRECOMPILED=user.path("none"))


frame.main(globals())
