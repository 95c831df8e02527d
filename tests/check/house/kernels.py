#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Kernel files compile offline without a warning: alone, with the options that hone gives the compiler, and to the code
of a processor.

    kernels.py build=FOLDER [effort=tiny|default|all]
"""

import concurrent.futures
import functools
import glob
import os
import re
import subprocess
import tempfile

import frame

SRC = os.path.join(frame.ROOT, "src")
HEADER = os.path.join(SRC, "filter", "kernel.clh")
FUSE = os.path.join(SRC, "filter", "fuse.clh")
# Helpers take what some of their forms need: parameters that one form does not use are no mistake.
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]


# Inline assembly is NVIDIA's: its registers mean something to that target alone. The other target has all features.
PTX = ["-target", "nvptx64-nvidia-nvcl", "-Dasm=__asm__", "-Xclang", "-cl-ext=+cl_khr_fp16"]
GENERAL = ["-target", "spir64"]


CHECK_ONLY = ("-fsyntax-only",)
# What only optimisers find (a loop that cannot be unrolled as a pragma asks) and what depends on the processor (how
# vectors wider than its registers are passed). Its own code for half precision comes with other processors.
GENERATE = ("-S", "-emit-llvm", "-O2", "-o", os.devnull)
HASWELL = ["-target", "x86_64-pc-linux-gnu", "-march=haswell"]


def compile_kernel(path, options, mode=CHECK_ONLY):
    """The compiler's first complaint, or None."""
    with open(path, encoding="utf-8") as file:
        assembly = re.search(r"\basm\b|filters/warp.clh", file.read()) is not None
    if path.endswith("selftest.cl"):
        assembly = "-DPART_PTX" in options
    # What comes before every kernel has some, then.
    assembly = assembly or any(re.match("-DWITH_PTX=[12]", option) for option in options)
    target = PTX if assembly else GENERAL if mode is CHECK_ONLY else HASWELL
    command = ["clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", *mode, *WARNINGS,
               *target, "-I", SRC, "-include", HEADER, "-include", FUSE, *options, path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0 and not result.stderr:
        return None
    lines = [line for line in result.stderr.splitlines() if "warning:" in line or "error:" in line]
    return (lines or ["no message"])[0]


def report(results):
    mistakes = [f"{os.path.relpath(path, frame.ROOT)} {' '.join(options)}: {text}"
                for (path, options), text in results if text]
    for mistake in mistakes[:20]:
        print(f"# {mistake}")
    frame.check(not mistakes, f"{len(mistakes)} of {len(results)} do not compile, the first: {mistakes[:1]}")


def compile_all(jobs, mode=CHECK_ONLY):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(zip(jobs, pool.map(lambda job: compile_kernel(*job, mode), jobs)))


def test_each_file_alone():
    files = sorted(glob.glob(os.path.join(SRC, "filters", "*", "*.cl")))
    frame.check(len(files) >= 2, "no kernel files were found")
    report(compile_all([(path, ()) for path in files]))


def test_self_test():
    path = os.path.join(SRC, "cl", "selftest.cl")
    parts = ["LOOPS", "LOCAL", "INTEGERS", "FLOATS", "ATOMICS", "PROGRESS", "HALF_STORE", "IMAGES", "WIDE", "HALF", "PTX"]
    report(compile_all([(path, (f"-DPART_{part}",)) for part in parts] + [(path, ("-DPART_CORE", "-DPART_WIDE"))]))


@functools.lru_cache(None)
def variant_options(**more):
    """Each file and set of options that the harness would build, without its own compiler flags."""
    environment = {**os.environ, "OPTIONS": "1", "HONE_TEST_EFFORT": frame.option("effort", "tiny"), **more}
    output = subprocess.run([os.path.join(frame.build(), "tests", "harness")], env=environment, capture_output=True,
                            text=True, check=True, timeout=300).stdout
    jobs = set()
    for line in output.splitlines():
        if "\t" not in line:
            continue
        name, options = line.split("\t")
        defines = tuple(word for word in options.split() if word.startswith("-D"))
        jobs.add((os.path.join(SRC, name), defines))
    frame.check(len(jobs) >= 2, f"the harness gave {len(jobs)} sets of options: {output[:300]}")
    return sorted(jobs)


def test_with_the_options_of_variants():
    jobs = variant_options()
    print(f"# {len(jobs)} sets of options")
    report(compile_all(jobs))


SELECTING = ("HONE_T", "WITH_PTX", "AHEAD", "SHUFFLE", "KEEP", "TAIL")  # what selects code, not numbers in it


def code_of(job):
    """What tells apart programs that differ in more than numbers."""
    path, options = job
    values = dict(option[2:].partition("=")[::2] for option in options)
    return (path, variant_of(options), *map(values.get, SELECTING), values.get("HONE_C") == "1", values.get("STACK") == "1")


def test_as_for_nvidia():
    """With inline assembly, and as chosen for such GPUs, whichever device is here."""
    jobs = {code_of(job): job for job in variant_options(HONE_TEST_AS="sm_90", HONE_TEST_EFFORT="all")}
    print(f"# {len(jobs)} programs")
    frame.check(any("-DWITH_PTX=2" in options for _, options in jobs.values()), "none has inline assembly")
    report(compile_all(sorted(jobs.values())))


def variant_of(options):
    return next((option for option in options if option.startswith("-DVARIANT_")), "")


def test_code_generation():
    """Of every variant that the harness would build, bytes and floats where it has both: optimised, for a processor."""
    jobs = {}
    for path, options in variant_options():
        jobs.setdefault((path, variant_of(options), "-DHONE_T=2" in options), (path, options))
    print(f"# {len(jobs)} variants")
    report(compile_all(sorted(jobs.values()), GENERATE))


def test_a_warning_is_found():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.cl")
        with open(path, "w", encoding="utf-8") as file:
            file.write("__kernel void k(__global int *a, int n) { int unused; uint i = 3; a[0] = i < n; }\n")
        text = compile_kernel(path, ())
    frame.check(text and "unused variable 'unused'" in text, f"not found: {text}")


def test_loops_that_stay_loops_are_not_told():
    """Users would read '1 warning generated.' where a compiler leaves a loop as it is: the prelude silences that."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.cl")
        with open(path, "w", encoding="utf-8") as file:
            file.write("__kernel void k(__global int *a, int n) {\n#pragma clang loop vectorize(enable)\n"
                       "    for (int i = 1; i < n; i++) a[i] = a[i - 1] * a[i] + 1;\n}\n")
        text = compile_kernel(path, (), GENERATE)
    frame.check(text is None, f"{text}")


frame.main(globals(), "effort")
