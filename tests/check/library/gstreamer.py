#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The GStreamer element in pipelines, against `hone apply` on the same frames.  gstreamer.py build=FOLDER"""

import functools
import os
import re
import struct
import subprocess
import tempfile

import frame

WIDTH, HEIGHT, FRAMES = 72, 36, 3  # of which GStreamer pads no row
_folder = tempfile.TemporaryDirectory()  # ends with the script


def path(name):
    return os.path.join(_folder.name, name)


@functools.cache
def environment():
    """Where GStreamer finds the plugin that was built, and of its own those that are used here: a new registry of all takes
    seconds."""
    plugins = path("plugins")
    own = subprocess.run(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], capture_output=True, text=True,
                         check=True).stdout.strip()
    os.mkdir(plugins)
    for name in ("coreelements", "videotestsrc", "videoconvertscale", "playback", "typefindfunctions", "ogg", "theora"):
        os.symlink(os.path.join(own, f"libgst{name}.so"), os.path.join(plugins, f"libgst{name}.so"))
    os.symlink(os.path.join(frame.build(), "gstreamer-1.0", "libgsthone.so"), os.path.join(plugins, "libgsthone.so"))
    return {**os.environ, "GST_PLUGIN_SYSTEM_PATH_1_0": plugins, "GST_REGISTRY_1_0": path("registry")}


def run(*command, fails=False):
    result = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    frame.check((result.returncode != 0) == fails,
                f"{' '.join(command)} ended with {result.returncode}: {result.stdout[-400:]}{result.stderr[-600:]}")
    return result


def launch(*elements, fails=False):
    return run("gst-launch-1.0", "-q", *elements, fails=fails)


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def test_the_element_describes_itself():
    result = run("gst-inspect-1.0", "hone")
    frame.check(not result.stderr.strip(), result.stderr)
    for text in ("Image filters on any OpenCL device", "Filter/Effect/Video", "GstVideoFilter", "BSD",
                 "  chain  ", "P010_10LE", "changeable in NULL, READY, PAUSED or PLAYING state"):
        frame.check(text in result.stdout, f"gst-inspect-1.0 does not say {text!r}")
    with open(os.path.join(frame.ROOT, "include/hone/version.h"), encoding="utf-8") as file:
        version = re.search(r'HONE_VERSION +"(.*)"', file.read()).group(1)
    frame.check(re.search(rf"Version +{re.escape(version)}\n", result.stdout), "the version is another one")


def test_properties_are_documented():
    listed = re.findall(r"^  ([a-z-]+) +: ", run("gst-inspect-1.0", "hone").stdout, re.M)
    with open(os.path.join(frame.ROOT, "docs/gstreamer.md"), encoding="utf-8") as file:
        told = set(re.findall(r"^\| `([a-z-]+)` \|", file.read(), re.M))
    inherited = {"name", "parent", "qos"}
    frame.check("chain" in listed and set(listed) - inherited <= told, f"listed: {listed}, documented: {told}")


def test_pipelines_give_what_hone_apply_gives():
    for gst, raw, chain, planes in (("I420", "yuv420p", "epsilon threshold=12", "luma"),
                                    ("NV12", "nv12", "sobel", "all"),
                                    ("P010_10LE", "p010le", "box size=3 | sobel", "luma")):
        launch("videotestsrc", "pattern=zone-plate", "kx2=20", "ky2=20", "kt=1", f"num-buffers={FRAMES}", "!",
               f"video/x-raw,format={gst},width={WIDTH},height={HEIGHT},framerate=25/1", "!", "tee", "name=t", "!", "queue", "!",
               "filesink", f"location={path('in.yuv')}", "t.", "!", "queue", "!", "hone", f"chain={chain}", f"planes={planes}",
               "!", "filesink", f"location={path('out.yuv')}")
        hone = os.path.join(frame.build(), "hone")
        run(hone, "apply", chain, "--planes", planes, "--raw", f"{raw}:{WIDTH}x{HEIGHT}@25", path("in.yuv"), "-o",
            path("wanted.yuv"), "--force")
        before, got, wanted = read("in.yuv"), read("out.yuv"), read("wanted.yuv")
        size = WIDTH * HEIGHT * 3 // 2 * (2 if raw == "p010le" else 1) * FRAMES
        frame.check(len(before) == size, f"{gst}: {len(before)} bytes came, and {size} should")
        frame.check(before != got, f"{gst}: nothing was filtered")
        frame.check(got == wanted, f"{gst}, planes={planes}: hone apply gives other frames")


def test_formats_are_negotiated():
    """colormap takes gray and makes RGB; its neighbours have to agree."""
    launch("videotestsrc", "num-buffers=2", "!", "hone", "chain=colormap", "!",
           f"video/x-raw,format=RGB,width={WIDTH},height={HEIGHT}", "!", "filesink", f"location={path('colours')}")
    frame.check(len(read("colours")) == 2 * WIDTH * HEIGHT * 3, "the frames are no RGB")
    launch("videotestsrc", "num-buffers=2", "!", "video/x-raw,format=I420", "!", "videoconvert", "!", "hone", "chain=transpose",
           "!", f"video/x-raw,width={HEIGHT},height={WIDTH}", "!", "fakesink")


@functools.cache
def second():
    """A file with a picture that GStreamer's base plugins decode, which are few."""
    launch("videotestsrc", "num-buffers=1", "!", f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT}", "!", "theoraenc", "!",
           "oggmux", "!", "filesink", f"location={path('second.ogv')}")
    return path("second.ogv")


def decoded(caps):
    launch("filesrc", f"location={second()}", "!", "oggdemux", "!", "theoradec", "!", "videoconvert", "!", caps, "!", "filesink",
           f"location={path('second.raw')}")
    return read("second.raw")


def hone_apply(chain, *arguments):
    run(os.path.join(frame.build(), "hone"), "apply", chain, *arguments, "-o", path("wanted.pnm"), "--force")


def pnm(name, pixels, channels):
    with open(path(name), "wb") as file:
        file.write(b"P%d\n%d %d\n255\n" % (5 if channels == 1 else 6, WIDTH, HEIGHT) + pixels)
    return path(name)


def test_second_images_are_files():
    """For each frame, in the frames' format and, where a filter before changes that, in its result's."""
    for gst, channels, chain, result in (("GRAY8", 1, "box size=3 | add image=FILE", "GRAY8"),
                                         ("RGB", 3, "add image=FILE", "RGB"),
                                         ("RGB", 3, "gray | add image=FILE", "GRAY8"),
                                         ("I420", 1, "add image=FILE | sobel", "I420")):
        colours = "video/x-raw,colorimetry=bt601," if gst == "I420" else "video/x-raw,"
        launch("videotestsrc", "pattern=zone-plate", "kx2=20", "ky2=20", "kt=1", f"num-buffers={FRAMES}", "!",
               f"{colours}format={gst},width={WIDTH},height={HEIGHT}", "!", "tee", "name=t", "!", "queue", "!", "filesink",
               f"location={path('in.raw')}", "t.", "!", "queue", "!", "hone", f"chain={chain.replace('FILE', second())}", "!",
               "filesink", f"location={path('out.raw')}")
        before, after, plane = read("in.raw"), read("out.raw"), WIDTH * HEIGHT
        made = 3 if result == "RGB" else 1
        file = pnm("second.pnm", decoded(colours + "format=" + result)[:plane * made], made)
        frame.check(len(after) * len(before) > 0 and len(before) % FRAMES == len(after) % FRAMES == 0, f"{chain}: bytes are lost")
        for i in range(FRAMES):
            one, got = (data[i * len(data) // FRAMES:] for data in (before, after))
            hone_apply(chain.replace("FILE", file), pnm("in.pnm", one[:plane * channels], channels))
            wanted = read("wanted.pnm")[-plane * made:]
            frame.check(got[:plane * made] == wanted, f"{gst}, {chain}: hone apply gives another frame {i}")


def test_second_images_of_ten_bits():
    """Samples in the lower bits are filtered in the upper ones, those of the second image, too; sums saturate."""
    caps = "video/x-raw,format=I420_10LE,colorimetry=bt601"
    launch("videotestsrc", "pattern=zone-plate", "kx2=20", "ky2=20", "num-buffers=1", "!",
           f"{caps},width={WIDTH},height={HEIGHT}", "!", "tee", "name=t", "!", "queue", "!", "filesink",
           f"location={path('in.raw')}", "t.", "!", "queue", "!", "hone", f"chain=add image={second()}", "!", "filesink",
           f"location={path('out.raw')}")
    a, b, got = (struct.unpack(f"<{WIDTH * HEIGHT}H", data[:2 * WIDTH * HEIGHT])
                 for data in (read("in.raw"), decoded(caps), read("out.raw")))
    frame.check(max(b) > 255 and all(c == min(x + y, 1023) for x, y, c in zip(a, b, got)), "the sums are other ones")


def test_mistakes_with_second_images_are_told():
    text = path("text.png")
    with open(text, "w", encoding="ascii") as file:
        file.write("no picture\n" * 99)
    for chain, wanted in ((f"add image={second()}", f"is {WIDTH}x{HEIGHT}; add gets frames of 40x20"),
                          ("add image=/there/is/no.png", "the second image '/there/is/no.png' cannot be read"),
                          (f"add image={text}", f"the second image '{text}' cannot be read"),
                          ("add", "image=FILE")):
        result = launch("videotestsrc", "num-buffers=1", "!", "video/x-raw,format=I420,width=40,height=20", "!", "hone",
                        f"chain={chain}", "!", "fakesink", fails=True)
        frame.check(wanted in result.stdout + result.stderr, f"{chain}: {result.stdout}{result.stderr}")


def test_mistakes_end_the_pipeline_with_advice():
    for properties, text in ((["chain=blurr"], "blurr"), ([], "set the property chain"),
                             (["chain=sobel", "device=no such device"], "no such device")):
        result = launch("videotestsrc", "num-buffers=1", "!", "hone", *properties, "!", "fakesink", fails=True)
        frame.check(text in result.stdout + result.stderr, f"{properties}: {result.stdout}{result.stderr}")


def test_the_plugin_needs_the_library_and_exports_its_entry_alone():
    plugin = os.path.join(frame.build(), "gstreamer-1.0", "libgsthone.so")
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", plugin).stdout.splitlines()}
    frame.check(exported == {"gst_plugin_hone_get_desc", "gst_plugin_hone_register"}, f"exported: {exported}")
    needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", plugin).stdout)
    frame.check("libhone.so.0" in needed and not any(re.match("libOpenCL|libjansson", name) for name in needed), f"{needed}")


frame.main(globals())
