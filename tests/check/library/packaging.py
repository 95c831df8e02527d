#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What an installed hone is: files, soname, symbols; programs build against it with pkg-config or CMake alone.
packaging.py build=FOLDER"""

import fnmatch
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import frame


def run(*command, environment=None, folder=None):
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder,
                            env={**os.environ, **(environment or {})}, check=False)
    frame.check(result.returncode == 0, f"{' '.join(command)}: {result.stdout[-600:]}{result.stderr[-600:]}")
    return result.stdout


@functools.cache
def scratch():
    return tempfile.mkdtemp(prefix="hone-packaging-")


@functools.cache
def prefix():
    """hone installed into a folder of its own."""
    folder = os.path.join(scratch(), "prefix")
    run("cmake", "--install", frame.build(), "--prefix", folder, environment={"DESTDIR": ""})
    return folder


def installed(pattern):
    found = glob.glob(os.path.join(prefix(), pattern))
    frame.check(found, f"nothing is installed as {pattern}")
    return found[0]


def library_folder():
    return os.path.dirname(installed("lib*/**/libhone.so") if glob.glob(os.path.join(prefix(), "lib*/*/libhone.so"))
                           else installed("lib*/libhone.so"))


def surroundings():
    folder = library_folder()
    return {"PKG_CONFIG_PATH": os.path.join(folder, "pkgconfig"), "LD_LIBRARY_PATH": folder}


def test_files_are_where_they_belong():
    for pattern in ("bin/hone", "include/hone/hone.h", "share/man/man1/hone.1", "share/man/man3/hone_plan_run.3",
                    "share/bash-completion/completions/hone", "share/zsh/site-functions/_hone", "share/doc/hone/LICENSE",
                    "share/doc/hone/README.md", "share/doc/hone/examples/Makefile", "share/doc/hone/examples/filters/unsharp.cl"):
        installed(pattern)
    headers = {os.path.basename(name) for name in glob.glob(os.path.join(frame.ROOT, "include/hone/*.h"))}
    frame.check(headers == set(os.listdir(os.path.join(prefix(), "include/hone"))), "headers are missing or too many")
    frame.check(run(installed("bin/hone"), "--version").startswith("hone "), "the installed command runs")


def test_the_version_says_what_is_compiled_in():
    hone = installed("bin/hone")
    told = json.loads(run(hone, "--version", "--json"))
    frame.check(run(hone, "--version") == f"hone {told['version']}\n", f"{told}")
    folders = sorted(os.path.basename(os.path.dirname(name)) for name in glob.glob(os.path.join(frame.ROOT, "src/filters/*/filter.c")))
    frame.check(told["filters"] == folders, f"{told['filters']}")
    frame.check((told["libvips"] is not None) == os.path.exists(os.path.join(prefix(), "libexec/hone/vips.so")), f"{told}")
    if told["libvips"]:
        frame.check(told["libvips"] == run("pkg-config", "--modversion", "vips").strip(), f"{told}")
    formats = json.loads(run(hone, "formats", "--json"))
    frame.check(told["video"] == any(one["reads"] for one in formats["videos"]), f"{told}")
    frame.check(subprocess.run([hone, "--version", "--no"], capture_output=True, check=False).returncode == 2, "--version --no")


def videos(command):
    """Whether it can read and write videos, and what it says if not."""
    result = subprocess.run([command, "formats"], capture_output=True, text=True, check=False)
    frame.check(result.returncode == 0, f"hone formats: {result.stderr}")
    return "Matroska" in result.stdout, result.stderr


def test_libraries_for_video_are_loaded_when_a_video_comes():
    """They are a module's, which the installed command finds wherever it is, and misses with a clear word."""
    module = installed("libexec/hone/video.so")
    needed = run("readelf", "-d", installed("bin/hone"))
    frame.check("libav" not in needed and "libavformat" in run("readelf", "-d", module), f"the command needs {needed}")
    folder = os.path.join(scratch(), "video")
    shutil.copytree(os.path.join(prefix(), "bin"), folder + "/bin")
    shutil.copytree(os.path.join(prefix(), "libexec"), folder + "/libexec")
    frame.check(videos(folder + "/bin/hone") == (True, ""), "a moved command has no videos")
    os.rename(folder + "/libexec/hone/video.so", folder + "/video.so")
    result = subprocess.run([folder + "/bin/hone", "apply", "box", "in.mkv", "-o", folder + "/out.mkv"], capture_output=True,
                            text=True, check=False)
    frame.check(result.returncode == 2 and "module for videos is missing: '" in result.stderr and
                "libexec/hone/video.so" in result.stderr, f"{result.returncode}: {result.stderr}")
    has, said = videos(folder + "/bin/hone")
    frame.check(not has and "is missing" in said, f"{has}: {said}")
    shutil.copy(library_folder() + "/libhone.so", folder + "/libexec/hone/video.so")
    has, said = videos(folder + "/bin/hone")
    frame.check(not has and "cannot be loaded" in said, f"{has}: {said}")


def test_libraries_for_images_are_loaded_when_an_image_needs_them():
    """Formats of hone's own need none, and the others miss the module with a clear word."""
    needed = run("readelf", "-d", installed("bin/hone"))
    frame.check("libvips" not in needed and "libvips" in run("readelf", "-d", installed("libexec/hone/vips.so")), needed)
    folder = os.path.join(scratch(), "image")
    shutil.copytree(os.path.join(prefix(), "bin"), folder + "/bin")
    shutil.copytree(os.path.join(prefix(), "libexec"), folder + "/libexec")
    with open(folder + "/in.pgm", "wb") as file:
        file.write(b"P5 2 1 255 ab")

    def written(name):
        return subprocess.run([folder + "/bin/hone", "apply", "box", folder + "/in.pgm", "-o", f"{folder}/{name}"], capture_output=True,
                              text=True, check=False)
    frame.check(written("moved.png").returncode == 0, "a moved command writes no PNG")
    os.remove(folder + "/libexec/hone/vips.so")
    result = written("out.png")
    frame.check(result.returncode == 2 and "module for images is missing: '" in result.stderr and
                "libexec/hone/vips.so" in result.stderr, f"{result.returncode}: {result.stderr}")
    frame.check(written("out.pgm").returncode == 0, "PGM to PGM needs the module")
    if videos(folder + "/bin/hone")[0]:
        picture = bytes([100]) * (16 * 16 * 3 // 2)
        with open(folder + "/in.y4m", "wb") as file:
            file.write(b"YUV4MPEG2 W16 H16 F25:1 Ip C420jpeg\nFRAME\n" + picture)
        run(folder + "/bin/hone", "apply", "box", folder + "/in.y4m", "-o", folder + "/out.y4m")
        with open(folder + "/out.y4m", "rb") as file:
            frame.check(file.read().endswith(b"FRAME\n" + picture), "a video needs the images' module")


def test_programs_that_were_compiled_ahead_are_found_below_any_prefix():
    """By the first process of a user, whose cache is empty."""
    if not any(map(os.path.getsize, glob.glob(os.path.join(prefix(), "var/cache/hone/precompiled")))):
        return  # there is no PoCL
    folder = os.path.join(scratch(), "first")
    os.mkdir(folder)
    with open(folder + "/in.pgm", "wb") as file:
        file.write(b"P5 2 1 255 ab")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("HONE_", "POCL_"))}
    result = subprocess.run([installed("bin/hone"), "apply", "gaussian sigma=10", "in.pgm", "-o", "out.pgm", "-v", "--device", "cpu"],
                            capture_output=True, text=True, check=False, cwd=folder, env={**environment, "XDG_CACHE_HOME": folder})
    frame.check("programs so far: 0 compiled, 1 loaded" in result.stderr, result.stderr)


def test_destdir_is_honoured():
    folder = os.path.join(scratch(), "stage")
    run("cmake", "--install", frame.build(), "--prefix", "/opt/hone", environment={"DESTDIR": folder})
    frame.check(os.path.exists(folder + "/opt/hone/bin/hone"), "the command is not below DESTDIR")
    frame.check(os.listdir(folder) == ["opt"], f"other things are below DESTDIR: {os.listdir(folder)}")
    frame.check(not os.path.exists("/opt/hone"), "something was installed outside DESTDIR")
    with open(folder + "/opt/hone/share/doc/hone/mine", "w", encoding="utf-8"):
        pass
    run(os.path.join(frame.ROOT, "scripts", "uninstall.sh"), frame.build(), environment={"DESTDIR": folder})
    left = [os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names]
    frame.check(left == ["opt/hone/share/doc/hone/mine"], f"left by uninstall.sh: {left}")
    frame.check(not os.path.exists(folder + "/opt/hone/include/hone"), "an empty folder is left")


def test_soname_follows_the_major_version():
    library = os.path.join(library_folder(), "libhone.so")
    soname = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", library)).group(1)
    with open(os.path.join(frame.ROOT, "include/hone/version.h"), encoding="utf-8") as file:
        major = re.search(r"HONE_VERSION_MAJOR (\d+)", file.read()).group(1)
    frame.check(soname == f"libhone.so.{major}", f"the soname is {soname}")
    frame.check(os.path.exists(os.path.join(library_folder(), soname)), f"{soname} is not there")


def test_the_library_needs_little():
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", os.path.join(library_folder(), "libhone.so"))))
    allowed = {"libOpenCL.so.1", "libjansson.so.4", "libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2",
               "libasan.so.8", "libubsan.so.1", "libtsan.so.2"}
    frame.check(needed <= allowed, f"the library needs {needed - allowed}")


def test_the_examples_build_with_pkg_config_and_are_right():
    folder = os.path.join(scratch(), "examples")
    shutil.copytree(installed("share/doc/hone/examples"), folder)
    run("make", "CFLAGS=-O2 -Wall -Wextra -Werror", "PKG_CONFIG_PATH=" + surroundings()["PKG_CONFIG_PATH"], folder=folder)
    for name in ("filter_array", "frames", "camera", "own_queue"):
        run(os.path.join(folder, name), environment=surroundings())


def test_an_example_notices_wrong_results():
    """Kernels that leave out the last row of large images, too large for hone's own check: the exit status must tell."""
    kernels, folder = os.path.join(scratch(), "kernels"), os.path.join(scratch(), "broken")
    shutil.copytree(os.path.join(frame.ROOT, "src"), kernels)
    shutil.copytree(installed("share/doc/hone/examples"), folder)
    for name in ("box", "epsilon", "sobel"):
        for path in glob.glob(os.path.join(kernels, "filters", name, "*.cl")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"(__kernel void \w+\([^{]*\bint height\b[^{]*\{)", r"\1 height -= height > 400;", text))
    run("make", environment=surroundings(), folder=folder)
    for name in ("filter_array", "frames", "camera", "own_queue"):
        result = subprocess.run([os.path.join(folder, name)], capture_output=True, check=False,
                                env={**os.environ, **surroundings(), "HONE_KERNEL_DIR": kernels})
        frame.check(result.returncode == 1, f"{name} ends with {result.returncode} although the result is wrong")


def static_flags():
    """What a program needs to have the library in itself."""
    flags = run("pkg-config", "--static", "--cflags", "--libs", "hone", environment=surroundings()).split()
    return ["-l:libhone.a" if flag == "-lhone" else flag for flag in flags]


def test_the_static_library_makes_programs_and_keeps_its_names_to_itself():
    folder = os.path.join(scratch(), "static")
    os.makedirs(folder)
    source = os.path.join(frame.ROOT, "examples/filter_array.c")
    program, shared = os.path.join(folder, "program"), os.path.join(folder, "own.so")
    run("cc", "-O2", "-DHONE_STATIC", source, "-o", program, *static_flags())
    frame.check("libhone" not in run("readelf", "-d", program), "the program needs libhone.so")
    run(program)
    run("cc", "-shared", "-fPIC", "-DHONE_STATIC", source, "-o", shared, *static_flags())
    used = set(re.findall(r"\b(hone_\w+)\(", run("cat", source)))
    exported = set(re.findall(r"\d (?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)", run("readelf", "--dyn-syms", "-W", shared)))
    frame.check(len(used) > 5 and not used & exported, f"what a library uses of hone it exports: {used & exported}")
    names = re.findall(r" [TDBR] (\w+)", run("nm", os.path.join(library_folder(), "libhone.a")))
    frame.check(len(names) > 60 and all(name.startswith("hone_") for name in names),
                f"names that may meet a program's: {[n for n in names if not n.startswith('hone_')][:5]}")


def test_objects_of_the_library_are_no_intermediate_code():
    """Distributions set these flags; names could not be kept inside such objects."""
    folder = os.path.join(scratch(), "lto")
    run("cmake", "-G", "Ninja", "-S", frame.ROOT, "-B", folder, "-DCMAKE_C_FLAGS=-flto -ffat-lto-objects",
        "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON", "-DHONE_MEDIA=OFF", "-DHONE_GST=OFF", "-DHONE_PRECOMPILE=OFF")
    made = "CMakeFiles/hone_core.dir/src/base/hash.c.o"
    run("ninja", "-C", folder, made)
    frame.check(".gnu.lto" not in run("readelf", "-SW", os.path.join(folder, made)), "hash.c.o is for another optimization")


def test_the_readme_holds_a_program_that_frees_what_it_made():
    folder = os.path.join(scratch(), "readme")
    os.makedirs(folder)
    with open(os.path.join(frame.ROOT, "README.md"), encoding="utf-8") as file:
        text = re.search(r"```c\n(.*?)```", file.read(), re.S).group(1)
    with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
        file.write(text)
    flags = run("pkg-config", "--cflags", "--libs", "hone", environment=surroundings()).split()
    for language in (["cc", "-std=c11", "-Wall", "-Wextra", "-Werror"], ["cc", "-g", "-fsanitize=address,undefined"]):
        run(*language, folder + "/program.c", "-o", folder + "/program", *flags)
        run(folder + "/program", environment={**surroundings(), "LSAN_OPTIONS":
                                              f"suppressions={frame.ROOT}/tests/lsan.supp:print_suppressions=0"})
    made, freed = set(re.findall(r"hone_\w+ \*(\w+) = NULL", text)), set(re.findall(r"hone_\w+_(?:destroy|close)\(&(\w+)\)", text))
    frame.check(made and made == freed, f"made {made}, freed {freed}")


def test_cmake_finds_the_package():
    folder = os.path.join(scratch(), "cmake")
    os.makedirs(folder)
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.18)\nproject(user C)\nfind_package(hone 0.1 REQUIRED)\n"
                   "add_executable(user filter_array.c)\ntarget_link_libraries(user hone::hone)\n"
                   "add_executable(whole filter_array.c)\ntarget_link_libraries(whole hone::static)\n")
    shutil.copy(os.path.join(frame.ROOT, "examples/filter_array.c"), folder)
    run("cmake", "-S", folder, "-B", folder + "/build", f"-DCMAKE_PREFIX_PATH={prefix()}")
    run("cmake", "--build", folder + "/build")
    run(folder + "/build/user", environment=surroundings())
    run(folder + "/build/whole")


def test_the_installed_tree_can_be_moved():
    moved = os.path.join(scratch(), "moved")
    shutil.copytree(prefix(), moved, symlinks=True)
    configs = os.path.join(moved, os.path.relpath(library_folder(), prefix()), "pkgconfig")
    flags = run("pkg-config", "--cflags", "--libs", "hone", environment={"PKG_CONFIG_PATH": configs})
    frame.check(moved in flags.replace("/pkgconfig/../..", "") or os.path.realpath(moved) in flags,
                f"pkg-config gives {flags}")


def test_debian_packages_take_every_file():
    def read(name):
        with open(os.path.join(frame.ROOT, "debian", name), encoding="utf-8") as file:
            return file.read()

    version = run(installed("bin/hone"), "--version").split()[1]
    frame.check(read("changelog").startswith(f"hone ({version}) "), "debian/changelog has another version")
    library = os.path.relpath(library_folder(), prefix())
    packages = re.findall(r"^Package: (\S+)", read("control"), re.M)
    frame.check({"hone", "libhone0", "libhone-dev", "gstreamer1.0-hone", "python3-hone"} == set(packages), f"{packages}")
    built = os.path.exists(os.path.join(frame.build(), "gstreamer-1.0"))
    left_out = {"python3-hone"} if built else {"python3-hone", "gstreamer1.0-hone"}  # debian/rules builds the module by itself
    # Debian installs into lib/TRIPLET; this prefix may have a plain lib.
    patterns = [line.removeprefix("usr/").replace("lib/*", library) for package in packages if package not in left_out
                for line in read(package + ".install").split()]
    for folder, _, names in os.walk(prefix()):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), prefix())
            if path == "var/cache/hone/precompiled":  # the package makes it where it is installed: debian/hone.postinst
                continue
            frame.check(any(path.startswith(pattern + "/") or fnmatch.fnmatch(path, pattern) for pattern in patterns),
                        f"no package has {path}")
    for pattern in patterns:
        frame.check(glob.glob(os.path.join(prefix(), pattern)), f"nothing is installed as {pattern}")


if __name__ == "__main__":
    try:
        frame.main(globals())
    finally:
        shutil.rmtree(scratch(), ignore_errors=True)
