#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules of the source tree: includes, where OpenCL may be seen, lengths of functions, sizes of folders, headers."""

import glob
import os
import re
import subprocess
import tempfile

import frame

SRC = os.path.join(frame.ROOT, "src")
PUBLIC = os.path.join(frame.ROOT, "include")
BINDINGS = [os.path.join(frame.ROOT, "python"), os.path.join(frame.ROOT, "gst")]
TESTS = os.path.join(frame.ROOT, "tests")
FOLDERS = [os.path.join(frame.ROOT, name)
           for name in "bench data debian docs examples gst include man packaging python scripts src tests".split()]
LONGEST_FUNCTION = 80
WIDEST_LINE = 110  # as .clang-format has it
MOST_FILES = 25

# What each module may include, beside itself and the public headers. `filters` are single folders, each on its own.
MAY_INCLUDE = {
    "base": set(),
    "cl": {"base"},
    "image": {"base"},
    "cache": {"base", "cl"},
    "filter": {"base", "cl", "image", "cache"},
    "choose": {"base", "cl", "image", "cache", "filter"},
    "plan": {"base", "cl", "image", "cache", "filter", "choose"},
    "stream": {"base", "cl", "image", "cache", "filter", "choose", "plan"},
    "tune": {"base", "cl", "image", "cache", "filter", "choose", "plan", "stream"},
    "doctor": {"base", "cl", "image", "cache", "filter", "choose", "plan", "stream"},
    "lab": {"base", "cl", "image", "cache", "filter", "choose", "plan", "stream", "tune"},
    "media": {"base", "image"},
    "cli": {"base", "cl", "image", "cache", "filter", "choose", "plan", "stream", "media", "tune",
            "doctor", "lab"},
}
# Filters see one header of `filter`, the image module, and the kits beside their folders.
FILTER_HEADERS = ("filter/filter.h", "image/")
FILTER_KIT = re.compile(r"filters/\w+\.(h|clh)")


def sources(*folders, endings=(".c", ".h")):
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**"), recursive=True)):
            if path.endswith(endings) and os.path.isfile(path):
                yield path


def relative(path):
    return os.path.relpath(path, frame.ROOT)


def includes(path):
    """(line number, header, in quotes) for each include of a file."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if match:
                yield number, match.group(2), match.group(1) == '"'


def owner(path, root=SRC):
    """The module of a file in src: "base", ..., or "filters/NAME"."""
    parts = os.path.relpath(path, root).split(os.sep)
    return "/".join(parts[:2]) if parts[0] == "filters" else parts[0]


def allowed(module, header):
    target = header.split("/")[0]
    if target == "hone":
        return True
    if module.startswith("filters/"):
        return header.startswith((module + "/",) + FILTER_HEADERS) or bool(FILTER_KIT.fullmatch(header))
    if target == module:
        return True
    return target in MAY_INCLUDE[module]


def fail_if(mistakes):
    for mistake in mistakes:
        print(f"# {mistake}")
    frame.check(not mistakes, f"{len(mistakes)} places, the first: {mistakes[0] if mistakes else ''}")


def layering_mistakes(files, root=SRC):
    mistakes = []
    for path in files:
        module = owner(path, root)
        if not module.startswith("filters/") and module not in MAY_INCLUDE:
            mistakes.append(f"{relative(path)}:1: the module '{module}' is not in the table of modules")
            continue
        for number, header, quoted in includes(path):
            local = quoted and "/" not in header
            if quoted and not local and not allowed(module, header):
                mistakes.append(f"{relative(path)}:{number}: {module} may not include {header}")
            folder = os.path.dirname(header) + "/"
            if quoted and header.endswith("internal.h") and not os.path.relpath(path, root).startswith(folder):
                mistakes.append(f"{relative(path)}:{number}: {header} is for the files of {folder}")
            if local:
                mistakes.append(f"{relative(path)}:{number}: write the module's name in front of {header}")
    return mistakes


def test_modules_include_downwards():
    fail_if(layering_mistakes(sources(SRC, endings=(".c", ".h", ".cl", ".clh"))))


def test_a_wrong_include_is_found():
    """The check itself, on files that break the rule."""
    wrong = [("base/x.c", "filter/chain.h"), ("filters/box/x.c", "filters/sobel/sobel.h"), ("media/x.c", "cl/memory.h"),
             ("filters/box/x.c", "cl/device.h"), ("plan/x.c", "filters/box/box.h"), ("cli/x.c", "filters/box/box.h"),
             ("filters/box/x.c", "filter/instance.h"), ("plan/x.c", "tune/worker/worker.h"), ("plan/x.c", "stream/internal.h"),
             ("lab/bench/x.c", "tune/own/session_internal.h"), ("tune/own/x.c", "tune/own/run/target_internal.h"),
             ("nowhere/x.c", "base/mem.h"), ("base/x.c", "mem.h"),
             ("filters/box/x.cl", "filters/sobel/x.clh"), ("filters/words.clh", "filters/box/x.clh"), ("filters/box/x.cl", "words.clh")]
    right = [("filters/box/x.c", "image/view.h"), ("filters/box/x.c", "filter/filter.h"), ("plan/x.c", "choose/choose.h"), ("cli/x.c", "filter/chain.h"),
             ("filters/box/x.c", "filters/box/box.h"), ("cli/x.c", "hone/hone.h"), ("filters/box/x.cl", "filters/words.clh"),
             ("tune/own/x.c", "tune/own/session_internal.h"), ("filters/alpha.c", "filters/alpha.h"), ("filters/slides.clh", "filters/vectors.clh")]
    for name, header in wrong + right:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(f'/* A comment. */\n#include "{header}"\n')
            mistakes = layering_mistakes([path], folder)
        frame.check(bool(mistakes) == ((name, header) in wrong), f"{name} with {header}: {mistakes}")


def test_bindings_see_the_public_headers_alone():
    """And what is no part of the library, and knows nothing of it."""
    shared = {"media/compare.h"}
    mistakes = []
    for path in sources(*BINDINGS):
        beside = {os.path.basename(name) for name in sources(os.path.dirname(path))}
        for number, header, quoted in includes(path):
            if quoted and header not in beside | shared and not os.path.exists(os.path.join(PUBLIC, header)):
                mistakes.append(f"{relative(path)}:{number}: {header} is neither beside it nor public")
    fail_if(mistakes)


def test_opencl_only_in_cl():
    mistakes = []
    for path in sources(SRC, PUBLIC, *BINDINGS):
        for number, header, _ in includes(path):
            if re.match(r"(CL|OpenCL)/", header) and owner(path) != "cl":
                mistakes.append(f"{relative(path)}:{number}: only src/cl includes {header}")
    fail_if(mistakes)


def test_media_is_kept_to_media():
    """The libraries for files belong to one module."""
    mistakes = []
    for path in sources(SRC):
        for number, header, quoted in includes(path):
            if not quoted and re.match(r"(vips|libav|libsw)", header) and owner(path) != "media":
                mistakes.append(f"{relative(path)}:{number}: only src/media includes {header}")
    fail_if(mistakes)


def function_lengths(path):
    """(line, name, length) of each function: from its opening brace in the first column to the closing one."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    start, name = None, "?"
    for number, line in enumerate(lines, 1):
        match = re.match(r"[\w*].*?(\w+)\(", line)
        if match and start is None:
            name = match.group(1)
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            yield start, name, number - start + 1
            start = None


def test_functions_are_short():
    folders = [SRC, *BINDINGS, TESTS, os.path.join(frame.ROOT, "examples"),
               os.path.join(frame.ROOT, "bench")]
    mistakes, count = [], 0
    for path in sources(*folders):
        for line, name, length in function_lengths(path):
            count += 1
            if length > LONGEST_FUNCTION:
                mistakes.append(f"{relative(path)}:{line}: {name} has {length} lines; {LONGEST_FUNCTION} are allowed")
    frame.check(count > 300, f"only {count} functions were found")
    fail_if(mistakes)


def test_lines_are_of_one_width():
    """clang-format breaks code, and leaves comments and macros as they are written."""
    mistakes, count = [], 0
    for path in sources(SRC, PUBLIC, TESTS, *BINDINGS, endings=(".c", ".h", ".cl", ".clh")):
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                count += 1
                if len(line.rstrip("\n")) > WIDEST_LINE:
                    mistakes.append(f"{relative(path)}:{number}: the line is wider than {WIDEST_LINE} columns")
    frame.check(count > 10000, f"only {count} lines were found")
    fail_if(mistakes)


def begins_alike(text):
    return "\n#pragma once\n" in text and not re.search(r"^#ifndef \w+_H$", text, re.M)


def test_headers_begin_alike():
    frame.check(begins_alike("/* What. */\n#pragma once\nint a;\n") and not begins_alike("#ifndef A_H\n#define A_H\n#endif\n"),
                "the check is wrong")
    mistakes = []
    for path in sources(SRC, endings=(".h",)):
        with open(path, encoding="utf-8") as file:
            if not begins_alike(file.read()):
                mistakes.append(f"{relative(path)} has no #pragma once, or a guard beside it")
    fail_if(mistakes)


def test_files_name_their_licence():
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], cwd=frame.ROOT, capture_output=True, text=True,
                            check=False).stdout.split("\n")
    files = [os.path.join(frame.ROOT, name) for name in listed if name] or \
        list(sources(SRC, PUBLIC, *BINDINGS, TESTS, endings=(".c", ".h", ".cl", ".clh", ".py")))
    mistakes = []
    for path in files:
        if not path.endswith((".c", ".h", ".cl", ".clh", ".py", ".sh", ".cmake")) or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            head = file.readline() + file.readline()
        if "SPDX-License-Identifier: BSD-2-Clause" not in head:
            mistakes.append(f"{relative(path)}:1: the licence line is missing")
    fail_if(mistakes)


def crowded(root):
    """(folder, number) for each folder with more files of its own than a reader takes in."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name != "__pycache__"]
        if len(names) > MOST_FILES:
            yield folder, len(names)


def test_folders_are_small():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "below"))
        for i in range(MOST_FILES + 1):
            frame.check(not list(crowded(folder)), f"{i} files are too many")
            open(os.path.join(folder, "below", f"{i}.c"), "w", encoding="utf-8").close()
        frame.check(list(crowded(folder)) == [(os.path.join(folder, "below"), MOST_FILES + 1)], "a crowd is not seen")
    fail_if([f"{relative(path)} has {count} files, more than {MOST_FILES}"
             for root in FOLDERS for path, count in crowded(root)])
    stray = [*glob.glob(os.path.join(TESTS, "unit", "*.c")),
             *(path for path in glob.glob(os.path.join(TESTS, "check", "*.py")) if os.access(path, os.X_OK))]
    fail_if([f"{relative(path)} belongs in the folder of its subject" for path in stray])


def test_filter_folders_are_whole():
    folders = sorted(glob.glob(os.path.join(SRC, "filters", "*", "")))
    frame.check(len(folders) >= 2, "no filters were found")
    fail_if([f"{relative(folder)}{name} is missing" for folder in folders
             for name in ("filter.c", "kernel.cl", "reference.c") if not os.path.exists(folder + name)])


def compile_alone(path, compiler, standard, language):
    name = os.path.relpath(path, PUBLIC)
    command = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               "-I", PUBLIC, "-"]
    text = f'#include "{name}"\n#include "{name}"\nextern int something;\n'
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_public_headers_compile_alone():
    headers = list(sources(PUBLIC, endings=(".h",)))
    frame.check(len(headers) >= 10, "no headers were found")
    mistakes = []
    for path in headers:
        for compiler, standard, language in (("cc", "c11", "c"), ("c++", "c++11", "c++")):
            result = compile_alone(path, compiler, standard, language)
            if result.returncode:
                mistakes.append(f"{relative(path)}: as {standard}: {result.stderr.splitlines()[0]}")
    fail_if(mistakes)


def exported():
    """The version of each symbol that leaves the library; the versions themselves are symbols, too."""
    library = os.path.join(frame.build(), "libhone.so")
    lines = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    symbols = dict(line.split()[0].partition("@@")[::2] for line in lines)
    frame.check(len(symbols) > 50, f"only {len(symbols)} symbols")
    return {name: version for name, version in symbols.items() if not re.fullmatch(r"HONE_\d+\.\d+", name)}


def test_library_exports_its_own_names_only():
    fail_if([f"libhone.so exports {name}" for name in exported() if not name.startswith("hone_")] +
            [f"{name} has no version" for name, version in exported().items()
             if not re.fullmatch(r"HONE_\d+\.\d+", version)])


def test_every_public_function_is_exported():
    declared = set()
    for path in sources(PUBLIC, endings=(".h",)):
        with open(path, encoding="utf-8") as file:
            declared |= set(re.findall(r"HONE_API[^;{]*?\b(hone_\w+)\(", file.read()))
    names = set(exported())
    frame.check(len(declared) > 50, f"only {len(declared)} declarations were found")
    fail_if([f"{name} is declared and not in the library (packaging/libhone.map)" for name in sorted(declared - names)] +
            [f"{name} is exported and not declared" for name in sorted(names - declared)])


def test_library_needs_few_others():
    """The core is carried to phones: a loader, Jansson and the C library."""
    library = os.path.join(frame.build(), "libhone.so")
    text = subprocess.run(["objdump", "-p", library], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"NEEDED\s+(\S+)", text)
    own = re.compile(r"lib(OpenCL|jansson|m|c|pthread|dl)\.so|ld-linux")
    fail_if([f"libhone.so needs {name}" for name in needed if not own.match(name)])


frame.main(globals())
