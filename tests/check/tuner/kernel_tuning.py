#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone tune with kernels that are not hone's own, on PoCL: specifications, arguments, right results, and trouble.
kernel_tuning.py build=FOLDER"""

import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

import numpy

import frame
from place import TuningRecords

EXAMPLES = os.path.join(frame.ROOT, "examples", "tune")
INVALIDITIES = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}


class Place(TuningRecords):
    """Its records are in a folder below, beside files of the test."""

    def __init__(self):
        super().__init__()
        self.environment["XDG_DATA_HOME"] = self.path("data")

    def write(self, name, content):
        with open(self.path(name), "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
        return self.path(name)

    def start(self, *arguments, **options):
        return subprocess.Popen([os.path.abspath(os.path.join(frame.build(), "hone")), "tune", "--device", "cpu",
                                 *arguments],
                                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": self.environment,
                                   "cwd": self.folder, **options})

    def run(self, *arguments, status=0):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=200)
        frame.check(process.returncode == status, f"{' '.join(map(str, arguments))} ends with {process.returncode}, not {status}: "
                                                  f"{out[-300:]}{err[-600:]}")
        return out, err

    def tune(self, *arguments, status=0):
        """The report, and the T4 file."""
        out = self.run(*arguments, "--json", "-o", "t4.json", status=status)[0]
        with open(self.path("t4.json"), encoding="utf-8") as file:
            return json.loads(out), check_t4(json.load(file))

    def refuses(self, text, *arguments, status=2):
        err = self.run(*arguments, status=status)[1]
        frame.check(text in err, f"{' '.join(map(str, arguments))} should say '{text}', it says: {err}")


def check_t4(t4):
    """The public schema's demands (results-schema 1.0.0)."""
    frame.check(re.fullmatch(r"\d+\.\d+\.\d+", t4["schema_version"]), t4["schema_version"])
    frame.check(t4["results"], "no results")
    for result in t4["results"]:
        frame.check(isinstance(result["configuration"], dict) and result["configuration"], "no configuration")
        frame.check(result["invalidity"] in INVALIDITIES, result["invalidity"])
        frame.check(isinstance(result["times"]["compilation_time"], float), "no compilation time")
        frame.check(isinstance(result["times"]["runtimes"], list), "no times")
        frame.check(0 <= result["correctness"] <= 1, "no correctness")
        frame.check((result["invalidity"] == "correct") == (result["correctness"] == 1), "correct or not?")
        for measurement in result["measurements"]:
            frame.check(set(measurement) == {"name", "value", "unit"}, f"measurement {measurement}")
    return t4


def settings(t4, *names):
    """Settings of some names, spaces left out."""
    return sorted((name, value.replace(" ", "")) for name, value in t4["metadata"]["x_hone"]["settings"] if name in names)


def states(report):
    return {one["config"]: one["state"] for one in report["tries"]}


# ---- The examples ----

def example(place, name, *arguments):
    report, t4 = place.tune("--kernel-file", os.path.join(EXAMPLES, name), "--evaluations", "5", *arguments)
    frame.check(report["ranked"][0]["ms"] > 0, f"{name}: {report}")
    frame.check({one["state"] for one in report["tries"]} <= {"ok", "slow"}, f"{name}: {states(report)}")
    return report, t4


COPY = "kernel void copy(global const float *in, global float *out) { out[get_global_id(0)] = in[get_global_id(0)]; }"


def test_parameters_that_nothing_uses_are_told():
    """Not those that an expression, the compiler's options, or perhaps an included file has."""
    with Place() as place:
        place.write("none.h", "")
        for source, more, told in ((COPY, (), True), (COPY + " // TILES", (), True), (COPY, ("--restrict", "TILES>0"), False),
                                   (COPY, ("--local", "TILES"), False), (COPY, ("--options", "-DSIZE=TILES"), False),
                                   ('#include "none.h"\n' + COPY, (), False)):
            place.write("copy.cl", source)
            said = place.run("--kernel-file", "copy.cl", "--param", "TILES=1,2", "--global", "64", "--arg", "random:f32:64", "--arg", "out:f32:64",
                             "--evaluations", "1", *more)[1]
            frame.check(("mentions the parameter TILES" in said) == told, f"{source[:20]} {more}: {said}")


def test_example_stencil():
    with Place() as place:
        example(place, "stencil.cl", "--define", "W=61", "--define", "H=37")


def test_example_blur():
    with Place() as place:
        example(place, "blur.cl", "--define", "W=61", "--define", "H=37")


def test_example_reduction_with_its_reference():
    with Place() as place:
        shutil.copy(os.path.join(EXAMPLES, "reduction.cl"), place.folder)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", os.path.join(EXAMPLES, "sum.c"), "-o", place.path("sum.so")],
                       check=True)
        place.run("--kernel-file", "reduction.cl", "--check", "sum.so:sum_reference", "--define", "N=16384", "--evaluations", "4",
                  "--header", "tuned.h")
        with open(place.path("tuned.h"), encoding="utf-8") as file:
            header = file.read()
        for name in ("GROUP", "ITEMS", "VEC", "TREE"):
            frame.check(re.search(rf"^#define {name} \d+$", header, re.M), f"tuned.h: {header}")
        wrong = place.write("wrong.c", "int f(void **a, const unsigned long *b, int n) { *(int *)a[1] = (int)b[0] + n; return 0; }")
        subprocess.run(["cc", "-fPIC", "-shared", wrong, "-o", place.path("wrong.so")], check=True)
        place.refuses("elements are wrong", "--kernel-file", "reduction.cl", "--define", "N=16384", "--evaluations", "2",
                      "--check", "wrong.so:f", status=1)
        place.refuses("has no function 'g'", "--kernel-file", "reduction.cl", "--define", "N=16384", "--check",
                      "wrong.so:g", status=1)


LOADED = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { close(open("%s", O_CREAT | O_WRONLY, 0600)); }
int f(void **arguments, const unsigned long *bytes, int count) { return !arguments || !bytes || count != 1; }
"""


def test_files_load_no_native_code():
    """A library that leaves a mark when it is loaded: only the command line can name it."""
    with Place() as place:
        mark = place.path("loaded")
        for name in ("evil.so", ".so"):
            subprocess.run(["cc", "-fPIC", "-shared", place.write("evil.c", LOADED % mark), "-o", place.path(name)], check=True)
        kernel = "kernel void k(global int *out) { out[0] = 0 * N; }\n"
        settings = "//@tune param N=1,2\n//@tune global 1\n//@tune arg out:s32:1\n"
        place.write("good.cl", settings + kernel)
        for check in ("./evil.so:f", "evil.so:f", place.path("evil.so") + ":f", ".so:f"):
            place.write("evil.cl", settings + f"//@tune check {check}\n" + kernel)
            place.refuses("line 4: check", "--kernel-file", "evil.cl")
            place.refuses("loaded only when the command line names it", "--kernel-file", "evil.cl", "--check", "none")
        argument = {"Name": "out", "Type": "int32", "MemoryType": "Vector", "AccessType": "WriteOnly", "Size": 1}
        reference = {"Name": "right", "TargetName": "out", "FillType": "BinaryRaw", "DataSource": "evil.so:f"}
        space = {"TuningParameters": [{"Name": "N", "Type": "int", "Values": "[1, 2]"}]}
        for own, references in (({"check": "./evil.so:f"}, []), ({"check": ["evil.so:f"]}, []), ({}, [reference])):
            specification = {"Language": "OpenCL", "KernelName": "k", "KernelFile": "good.cl", "GlobalSize": {"X": "1"},
                             "Arguments": [argument], "ReferenceArguments": references}
            place.write("t1.json", json.dumps({"ConfigurationSpace": space, "KernelSpecification": specification, "x_hone": own}))
            place.refuses("loaded only when the command line names it", "--spec", "t1.json")
        for options in ("-fplugin=./evil.so", "-Xclang -load -Xclang ./evil.so"):
            place.write("evil.cl", settings + f"//@tune options {options}\n" + kernel)
            process = place.start("--kernel-file", "evil.cl")
            process.communicate(timeout=200)
        frame.check(not os.path.exists(mark), "a file made hone load a library")
        place.run("--kernel-file", "good.cl", "--check", "./evil.so:f")
        frame.check(os.path.exists(mark), "the command line did not: the test tests nothing")


MATMUL_FLAGS = ["--param", "TILE=8,16,32", "--param", "WORK=1,2,4,8", "--param", "STAGE=0,1", "--restrict", "TILE%WORK==0",
                "--restrict", "N%TILE==0", "--restrict", "TILE*TILE/WORK<=MAXWG", "--restrict",
                "!STAGE||8*TILE*TILE<=LMEM", "--define", "N=32", "--global", "N/WORK,N", "--local", "TILE/WORK,TILE",
                "--arg", "random:f32:N*N", "--arg", "random:f32:N*N", "--arg", "out:f32:N*N", "--arg", "int:N"]


def test_flags_comments_and_t1_give_the_same():
    with Place() as place:
        with open(os.path.join(EXAMPLES, "matmul.cl"), encoding="utf-8") as file:
            source = file.read()
        place.write("bare.cl", "".join(line for line in source.splitlines(True) if not line.startswith("//@tune")))
        with open(os.path.join(EXAMPLES, "matmul.json"), encoding="utf-8") as file:
            t1 = file.read().replace("256", "32").replace("matmul.cl", "bare.cl")
        place.write("matmul.json", t1)
        from_flags, flags = place.tune("--kernel-file", "bare.cl", "--evaluations", "3", *MATMUL_FLAGS)
        from_comments, comments = example(place, "matmul.cl", "--define", "N=32", "--evaluations", "3")
        from_t1, t1 = place.tune("--spec", "matmul.json", "--evaluations", "3")
        for report in (from_comments, from_t1):
            for key in ("space", "legal", "first", "kernel"):
                frame.check(report[key] == from_flags[key], f"{key}: {report[key]} and {from_flags[key]}")
        names = ("kernel", "param", "restrict", "global", "local", "arg", "check")
        frame.check(settings(flags, *names) == settings(comments, *names), "comments give other settings")
        frame.check(settings(flags, "kernel", "param") == settings(t1, "kernel", "param"), "T1 gives other parameters")
        frame.check(from_flags["space"] == 24 and from_flags["legal"] == 24, f"legal: {from_flags['legal']}")


# ---- Arguments of every kind ----

KINDS = """
kernel void kinds(read_only image2d_t picture, sampler_t edge, global const ushort *table, constant float *two,
                  global int *counts, local float *scratch, float4 weights, short bias, write_only image2d_t copy,
                  global half *halves, int width)
{
    int x = get_global_id(0), y = get_global_id(1), at = y * width + x;
    uint left = read_imageui(picture, edge, (int2)(x - 1, y)).x;
    scratch[get_local_id(0)] = two[0];
    counts[at] += left + table[at] + (int)scratch[get_local_id(0)] + (int)dot(weights, (float4)(1)) + bias;
    write_imageui(copy, (int2)(x, y), (uint4)(255 - read_imageui(picture, edge, (int2)(x, y)).x));
    vstore_half(0.5f * x, at, halves);
}
"""


def test_arguments_of_every_kind():
    """Images, samplers, local memory, vectors, numbers, half; outputs compared with files that NumPy made."""
    width, height = 24, 6
    source = numpy.random.default_rng(1)
    picture = source.integers(0, 256, (height, width), dtype=numpy.uint8)
    table = source.integers(0, 60000, (height, width), dtype=numpy.uint16)
    left = numpy.concatenate([picture[:, :1], picture[:, :-1]], axis=1).astype(numpy.int32)
    counts = left + table + 2 + (1 + 2 + 3 + 4) - 7 + 100
    halves = numpy.tile(numpy.arange(width) * 0.5, (height, 1)).astype(numpy.float16)
    with Place() as place:
        place.write("kinds.cl", KINDS)
        place.write("in.pgm", b"P5 %d %d 255\n" % (width, height) + picture.tobytes())
        place.write("copy.pgm", b"P5 %d %d 255\n" % (width, height) + (255 - picture).tobytes())
        place.write("table.raw", table.tobytes())
        place.write("counts.raw", counts.astype(numpy.int32).tobytes())
        place.write("halves.raw", halves.tobytes())
        arguments = ["--kernel-file", "kinds.cl", "--param", "LX=8,4", "--global", "W,H", "--local", "LX,1",
                     "--arg", "image:in:in.pgm", "--arg", "sampler:nearest,edge", "--arg", "in:u16:table.raw",
                     "--arg", "fill:f32:2.0:1", "--arg", "inout:fill:s32:100:W*H", "--arg", "local:f32:LX",
                     "--arg", "float4:1,2,3,4", "--arg", "short:-7", "--arg", "image:out:u8:1:W:H",
                     "--arg", "out:f16:W*H", "--arg", "int:W"]
        right = ["--check", "counts.raw", "--check", "copy.pgm", "--check", "halves.raw"]
        report, _ = place.tune(*arguments, *right)
        frame.check(set(states(report).values()) <= {"ok", "slow"}, f"{report['tries']}")
        frame.check(report["space"] == 2 and report["exhausted"], "not all were tried")
        place.refuses("--check names 1 file, the kernel has 3 outputs", *arguments, "--check", "counts.raw")
        counts[3, 5] += 2
        place.write("counts.raw", counts.astype(numpy.int32).tobytes())
        place.refuses("1 of 144 elements are wrong, the first is element 77", *arguments, *right, status=1)
        place.run(*arguments, *right, "--tolerance", "2", "--fresh")


def test_mismatches_are_told():
    with Place() as place:
        place.write("in.pgm", b"P5 4 4 255\n" + bytes(16))
        place.write("copy.cl", "kernel void copy(global const uchar *in, global uchar *out, float gain)\n"
                               "{ out[get_global_id(0)] = in[get_global_id(0)] * gain; }\n")
        base = ["--kernel-file", "copy.cl", "--param", "WG=1,2", "--global", "16", "--local", "WG"]
        cases = [("takes 3 arguments, --arg gives 1: global const uchar*in, global uchar*out, float gain", ["out:u8:16"]),
                 ("is 'float gain', not of s32 (int); it takes float:VALUE", ["in:in.pgm", "out:u8:16", "int:1"]),
                 ("is 'global uchar*out', not of u16 (ushort)", ["in:in.pgm", "out:u16:16", "float:1"]),
                 ("which the kernel cannot write; it takes in:FILE, random:u8:COUNT", ["out:u8:16", "out:u8:16", "float:1"]),
                 ("argument 1 of kernel 'copy' is 'global const uchar*in'", ["image:in:in.pgm", "out:u8:16", "float:1"]),
                 ("not of f32", ["in:f32:in.pgm", "out:u8:16", "float:1"]),
                 ("unknown name in an expression: NN", ["in:in.pgm", "out:u8:NN", "float:1"])]
        for text, arguments in cases:
            place.refuses(text, *base, *[word for one in arguments for word in ("--arg", one)])
        place.refuses("unknown name in an expression: B", *base, "--arg", "in:in.pgm", "--arg", "out:u8:16", "--arg", "float:1",
                      "--define", "A=2*B", "--define", "B=2")
        place.refuses("there is no kernel 'coppy'; there are copy", *base, "--kernel", "coppy", "--arg", "out:u8:16")


def test_results_replace_nothing_that_was_read():
    with Place() as place:
        files = {"k.cl": b"kernel void k(global const uchar *in, global uchar *out) { *out = *in; }\n",
                 "in.pgm": b"P5 4 4 255\n" + bytes(16), "right.raw": bytes(16)}
        for name, content in files.items():
            place.write(name, content)
        os.mkfifo(place.path("pipe"))
        base = ["--kernel-file", "k.cl", "--param", "WG=1,2", "--global", "16", "--local", "WG", "--arg", "in:in.pgm",
                "--arg", "out:u8:16", "--check", "right.raw"]
        for option in ("-o", "--header"):
            for name in files:
                place.refuses(f"would replace '{name}'", *base, option, f"./{name}")
            for name in ("pipe", "/dev/null", "/dev/stdout"):
                place.refuses("a pipe or a device", *base, option, name)
        place.refuses("would replace 'new'", *base, "-o", "new", "--header", "./new")
        records = place.path("data", "hone", "tuning.jsonl")
        place.refuses(f"would replace '{records}'", *base, "-o", records)
        for name, content in files.items():
            with open(place.path(name), "rb") as file:
                frame.check(file.read() == content, f"{name} is replaced")


def test_options_of_the_other_use_are_told_as_such():
    """Each that the help lists is known to both: what is for kernels of one's own alone, or for filters alone, is told so."""
    with Place() as place:
        place.environment["OCL_ICD_VENDORS"] = "/nonexistent"
        place.write("k.cl", "kernel void k(global int *out) { out[0] = 0; }\n")
        parts = re.split(r"\n(?:options|files of measurements|Tuning your own kernel.*|common options):\n", place.run("--help")[0])
        _, filters, files, kernels, common = [re.findall(r"^  (?:-\w, )?--([a-z-]+)", part, re.M) for part in parts]

        def told(words, *use):
            found = {}
            for name in filters + files + kernels + common:
                err = place.start(*use, f"--{name}", "1").communicate(timeout=60)[1]
                frame.check("there is no option" not in err, f"{use} --{name}: {err}")
                if re.search(rf"hone: tune: --{name} {words}", err):
                    found[name] = err
            return set(found)

        both = {"kernel-file", "spec"}
        frame.check(told("is for kernels of one's own, and --kernel-file or --spec is missing", "sobel") == set(kernels) - both, "filters")
        frame.check(told("is for (filters|files)", "--kernel-file", "k.cl") == {"size", "format", "channels", "variant", *files}, "kernels")
        place.refuses("--output is for kernels of one's own", "sobel", "-o", "t4.json")


def test_mistakes_are_told_before_a_device_is_opened():
    with Place() as place:
        place.write("k.cl", "kernel void k(global int *out) { out[0] = N; }\nkernel void other(void) {}\n")
        place.write("one.cl", "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void one(global int *out) {}\n")
        good = ["--kernel-file", "k.cl", "--kernel", "k", "--param", "N=1,2", "--global", "1", "--arg", "out:s32:1"]
        cases = [("Name it with --kernel", good[:2] + good[4:]), ("nothing to tune", good[:4] + good[6:]),
                 ("how many work-items?", good[:6] + good[8:]), ("so that nothing could be checked", good[:8]),
                 ("takes NAME=VALUE,VALUE...", good + ["--param", "5=3"]),
                 ("takes whole numbers such as 1,2,4 or 1..4", good + ["--param", "A=1 -DB"]),
                 ("takes A for a number, but its values are words", good + ["--param", "A=x,y", "--restrict", "A<N"]),
                 ("has the value 2 twice", good + ["--param", "A=1..3,2"]),
                 ("column 4", good + ["--restrict", "N*("]), ("is none of in:FILE", good + ["--arg", "nothing:x"]),
                 ("the same in all configurations", good + ["--define", "TWICE=N*2"]),
                 ("depends on a tuned parameter", good[:8] + ["--arg", "out:s32:N"]),
                 ("need the same number of sizes", good + ["--local", "1,1"]),
                 ("is a parameter and a definition", good + ["--define", "N=3"]),
                 ("needs a number that is not negative", good + ["--tolerance", "-1"]),
                 ("no image by its name; a raw file needs a type", good + ["--arg", "in:k.cl"]),
                 ("mirror, with commas between", good + ["--arg", "sampler:nearest edge"]),
                 ("repeat and mirror need normalized", good + ["--arg", "sampler:repeat"]),
                 ("--quick and --full exclude each other", good + ["--quick", "--full"])]
        for text, arguments in cases:
            place.refuses(text, *arguments)
        place.refuses("nothing to tune", "--kernel-file", "one.cl")
        place.refuses("where is the kernel?", "--param", "N=1,2")
        place.refuses("cannot write '/nowhere/t4.json'", *good, "-o", "/nowhere/t4.json", status=3)
        for text, change in (("such as \"[0.5, 1.0]\"", {"Type": "float", "Values": "range(4)"}),
                             ("must be a list such as", {"Values": "[2**i for i in range(4)]"})):
            parameter = {"Name": "N", "Type": "int", "Values": "[1, 2]", **change}
            place.write("t1.json", json.dumps({"ConfigurationSpace": {"TuningParameters": [parameter]},
                                               "KernelSpecification": {}}))
            place.refuses(text, "--spec", "t1.json")
        place.write("t1.json", json.dumps({"ConfigurationSpace": {"TuningParameters": []},
                                           "KernelSpecification": {"Language": "CUDA"}}))
        place.refuses("only OpenCL kernels", "--spec", "t1.json")


# ---- Trouble ----

TROUBLE = """
//@tune param MODE=0,1,2,3,4,5
//@tune define N=512
//@tune global N
//@tune local 32
//@tune arg random:u8:N
//@tune arg out:u8:N
//@tune arg int:N
kernel void trouble(global const uchar *in, global uchar *out, int n)
{
    int i = get_global_id(0);
#if MODE == 1
    for (volatile int forever = 1; forever;)
        ;
#elif MODE == 2
    out[i] = i == 100 ? 0 : 255 - in[i];
    return;
#elif MODE == 3
    this does not compile
#elif MODE == 4
    *(volatile global int *)8 = 1;
#elif MODE == 5
    if (i == 0)
        out[n + 2] = 1;
#endif
    out[i] = 255 - in[i];
}
"""


def test_trouble_is_survived_and_never_tried_again():
    with Place() as place:
        place.write("trouble.cl", TROUBLE)
        report, t4 = place.tune("--kernel-file", "trouble.cl", "--timeout", "5")
        wanted = {"MODE=0": "ok", "MODE=1": "timeout", "MODE=2": "wrong", "MODE=3": "compile", "MODE=4": "crash",
                  "MODE=5": "wrong"}
        frame.check(states(report) == wanted, f"{states(report)}")
        frame.check(report["ranked"][0]["config"] == "MODE=0" and len(report["ranked"]) == 1, f"{report['ranked']}")
        notes = {one["config"]: one["note"] for one in report["tries"]}
        for config, text in (("MODE=2", "1 of 512 elements are wrong, the first is element 100: 0, right is"),
                             ("MODE=3", "undeclared identifier"), ("MODE=5", "byte 514 of 512"), ("MODE=4", "signal")):
            frame.check(text in notes[config], f"{config}: {notes[config]}")
        shares = {one["configuration"]["MODE"]: one["correctness"] for one in t4["results"]}
        frame.check(abs(shares[2] - 511 / 512) < 1e-9, f"{shares}")
        start = time.monotonic()
        again, _ = place.tune("--kernel-file", "trouble.cl", "--timeout", "100")
        frame.check(again["resumed"] == 5 and states(again) == wanted, f"{again['resumed']} {states(again)}")
        frame.check(time.monotonic() - start < 60, "what hangs was tried again")


def test_a_first_value_that_crashed_before_hinders_no_later_run():
    """What crashes is in the records of a kernel; the programs' own marks keep nobody from tuning it."""
    with Place() as place:
        place.write("trouble.cl", TROUBLE.replace("255", "254"))  # a program of its own
        for modes in ("0,4", "0,4", "4,0"):
            report, _ = place.tune("--kernel-file", "trouble.cl", "--param", f"MODE={modes}", "--check", "none", "--fresh")
            frame.check(states(report) == {"MODE=4": "crash", "MODE=0": "ok"}, f"{states(report)}")


def test_what_the_user_calls_off_is_not_tried():
    with Place() as place:
        place.write("trouble.cl", TROUBLE)
        name = place.path("data/hone/tuning.jsonl")

        def tries():
            with open(name, encoding="utf-8") as file:
                found = [json.loads(line) for line in file if line.endswith("}\n")]
            return [(one["config"]["config"], one["state"]) for one in found if one["kind"] == "try"]

        process = place.start("--kernel-file", "trouble.cl", "--timeout", "60")
        while process.poll() is None and not (os.path.exists(name) and ("MODE=1", "started") in tries()):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        frame.check(process.returncode == 130 and tries()[-1] == ("MODE=1", "abandoned"), f"{process.returncode}: {tries()}")
        report, _ = place.tune("--kernel-file", "trouble.cl", "--timeout", "1.5")
        frame.check(states(report)["MODE=1"] == "timeout", f"{states(report)}")


AHEAD = """
//@tune param MODE=0,1,2,3,4,5
//@tune global 64
//@tune local 8
//@tune arg out:s32:64
kernel void ahead(global int *out)
{
#if MODE == 3
#pragma clang __debug crash
#endif
    int sum = MODE;
    for (volatile int i = 0; i < 20000; i++)
        sum += i;
    out[get_global_id(0)] = sum - MODE;
}
"""


def test_a_compiler_that_crashes_ahead_is_not_blamed_on_what_runs():
    """GPUs alone are given the next configuration while one is measured."""
    with Place() as place:
        place.write("ahead.cl", AHEAD)
        place.environment.update(OPENCL_LAYERS=os.path.abspath(os.path.join(frame.build(), "tests", "vendor.so")), FAKE_TYPE="4")
        found = states(place.tune("--kernel-file", "ahead.cl", "--device", "gpu", "--timeout", "100")[0])
        bad = found.pop("MODE=3")  # "compile": what ended the process twice is not built a third time
        frame.check(bad in ("crash", "compile") and len(found) == 5, f"{bad} {found}")
        frame.check(set(found.values()) <= {"ok", "slow"}, f"{found}")


SPOIL = """
//@tune param MODE=0,1,2
//@tune global 64
//@tune local 8
//@tune arg random:u8:64
//@tune arg out:u8:64
kernel void spoil(global const uchar *in, global uchar *out)
{
    int i = get_global_id(0);
    out[i] = in[i] + (MODE == 1);
#if MODE == 1
    ((volatile global uchar *)in)[i] = 0;
#endif
}
"""


def test_what_a_wrong_kernel_spoils_is_not_blamed_on_the_next():
    with Place() as place:
        place.write("spoil.cl", SPOIL)
        found = states(place.tune("--kernel-file", "spoil.cl")[0])
        frame.check(found.pop("MODE=1") == "wrong" and set(found.values()) <= {"ok", "slow"}, f"{found}")


WORDS = """
//@tune param TYPE=int,long,bogus
//@tune param SCALE=0.5,0.25
//@tune param LX=8,16
//@tune restrict LX<=16
//@tune global 64
//@tune local LX
//@tune arg random:u8:64
//@tune arg out:s32:64
kernel void words(global const uchar *in, global int *out)
{
    TYPE value = in[get_global_id(0)];
    out[get_global_id(0)] = (int)(value * SCALE / SCALE);
}
"""


def test_values_that_are_no_whole_numbers():
    with Place() as place:
        place.write("words.cl", WORDS)
        report, t4 = place.tune("--kernel-file", "words.cl", "--full", "--header", "tuned.h")
        found = states(report)
        wanted = {f"TYPE={t} SCALE={s} LX={x}" for t in ("int", "long", "bogus") for s in ("0.5", "0.25") for x in (8, 16)}
        frame.check(set(found) == wanted and report["first"] == "TYPE=int SCALE=0.5 LX=8", f"{found} {report['first']}")
        for config, state in found.items():
            frame.check((state == "compile") == ("bogus" in config) and state in ("ok", "slow", "compile"), f"{found}")
        tried = [one["configuration"] for one in t4["results"]]
        frame.check({"TYPE": "long", "SCALE": 0.25, "LX": 16} in tried, f"{tried}")
        with open(place.path("tuned.h"), encoding="utf-8") as file:
            header = file.read()
        frame.check(re.search(r"^#define TYPE (int|long)\n#define SCALE 0\.2?5\n#define LX (8|16)$", header, re.M), header)
        place.run("--replay", "t4.json", "--repeat", "3")
        again, _ = place.tune("--kernel-file", "words.cl", "--full", "--param", "TYPE=long,bogus,int,short")
        frame.check({state for config, state in states(again).items() if "bogus" in config} == {"compile"}, f"{again}")
        frame.check(again["resumed"] == 4, f"what does not build is known by its words: {again['resumed']}")


def launches(place, *arguments):
    """Launches of each kernel, as the layer between hone and the driver saw them."""
    place.environment.update(OPENCL_LAYERS=os.path.abspath(os.path.join(frame.build(), "tests", "layer.so")),
                             LAYER_REPORT=place.path("layer"))
    place.run(*arguments)
    counts = {}
    with open(place.path("layer"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("kernel "):
                counts[line.split()[1]] = counts.get(line.split()[1], 0) + int(line.split()[2])
    os.unlink(place.path("layer"))
    return counts


def test_cold_caches_are_flushed_before_each_timed_launch():
    with Place() as place:
        place.write("copy.cl", "kernel void copy(global const uchar *in, global uchar *out)\n"
                               "{ out[get_global_id(0)] = in[get_global_id(0)] + A * 0; }\n")
        place.environment["HONE_TUNE_CLOCK"] = "host"  # so that no launches are for comparing clocks
        arguments = ["--kernel-file", "copy.cl", "--param", "A=1", "--global", "4096", "--arg", "random:u8:4096", "--arg",
                     "out:u8:4096", "-o", "t4.json"]
        warm = launches(place, *arguments)
        frame.check("hone_flush_caches" not in warm and warm["copy"] > 0, f"warm: {warm}")
        cold = launches(place, *arguments, "--cold")
        # At least 3 samples before the final, and 14 in it. Not timed: the baseline, 2 checks before and at most 1 after.
        flushes = cold["hone_flush_caches"]
        frame.check(flushes >= 17 and flushes < cold["copy"] <= flushes + 4, f"cold: {cold}")
        with open(place.path("t4.json"), encoding="utf-8") as file:
            t4 = json.load(file)
        frame.check(["cold", "yes"] in t4["metadata"]["x_hone"]["settings"], "the results do not tell that they are cold")
        said = place.run(*arguments, "--cold")[0]
        frame.check("caches cold" in said and "host's clock: HONE_TUNE_CLOCK wishes it" in said, "the report does not tell")
        place.write("copy.cl", "//@tune cold maybe\nkernel void copy(global int *out) { out[0] = A; }\n")
        place.refuses("is yes or no, not 'maybe'", *arguments)


def test_a_compiler_that_fails_at_first_is_told():
    """Macros that take forever to become nothing, and a request that clang has for tests of crashes."""
    doubling = "#define M0\n" + "".join(f"#define M{n + 1} M{n} M{n}\n" for n in range(48))
    with Place() as place:
        for trouble, option, words in (("M48", "1", "compiling A=1 took longer than 1 s (--build-timeout)"),
                                       ("#pragma clang __debug crash", "50", "the compiler failed with A=1: the process ")):
            place.write("odd.cl", f"{doubling}kernel void odd(global int *out)\n{{\n#if A == 1\n{trouble}\n#endif\nout[0] = 1;\n}}\n")
            place.refuses(words, "--kernel-file", "odd.cl", "--param", "A=1,2", "--global", "1", "--arg", "out:s32:1",
                          "--build-timeout", option)


def test_who_waits_for_another_process_is_not_blamed():
    """It holds the lock for building for longer than a compiler may take."""
    with Place() as place:
        place.write("copy.cl", COPY)
        asked = ("--kernel-file", "copy.cl", "--param", "A=1,2,3", "--global", "1024", "--local", "64", "--arg", "random:f32:1024", "--arg",
                 "out:f32:1024", "--build-timeout", "4")
        place.tune(*asked)
        with open(os.path.join(TuningRecords.cache, "hone", "programs", "lock"), "r+", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            timer = threading.Timer(10, fcntl.flock, (held, fcntl.LOCK_UN))
            timer.start()
            report, _ = place.tune(*asked, "--options", "-DANEW", "--fresh")
            frame.check(not timer.is_alive(), "the lock was not waited for")
        frame.check(len(states(report)) == 3 and set(states(report).values()) <= {"ok", "slow"}, f"{states(report)}")


def read_all(terminal):
    """What was written to a terminal whose other end is closed; it gives some at a time."""
    said = b""
    while True:
        try:
            said += os.read(terminal, 1 << 16)
        except OSError:
            return said


def test_progress_tells_of_no_best_before_there_is_one():
    with Place() as place:
        place.write("trouble.cl", TROUBLE)
        terminal, end = os.openpty()
        place.start("--kernel-file", "trouble.cl", "--param", "MODE=4,0", "--check", "none", stderr=end,
                    env={**place.environment, "TERM": "xterm"}).communicate(timeout=100)
        os.close(end)
        said = read_all(terminal).decode().split("\r")
        os.close(terminal)
        lines = [line for line in said if "of at most" in line]
        frame.check(len(lines) >= 2, f"{said}")
        frame.check("MODE=4" in lines[0] and "best" not in lines[0], f"{lines}")
        frame.check("MODE=0" in lines[1] and ", best 0." in lines[1], f"{lines}")


def test_a_baseline_that_hangs_is_told():
    with Place() as place:
        place.write("trouble.cl", TROUBLE)
        place.refuses("the baseline failed with MODE=1 (timeout)", "--kernel-file", "trouble.cl", "--param", "MODE=1,0",
                      "--timeout", "1", status=1)


def group_of_worker(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        for child in map(int, file.read().split()):
            with open(f"/proc/{child}/cmdline", "rb") as words:
                if b"--tune-worker" in words.read():
                    return os.getpgid(child)
    raise AssertionError("there is no worker")


def test_interrupted_and_resumed():
    with Place() as place:
        place.write("many.cl", "kernel void many(global int *out) { out[get_global_id(0)] = A * 0 + 1; }\n")
        arguments = ["--kernel-file", "many.cl", "--param", "A=1..32", "--param", "LX=1,2,4,8", "--global", "64", "--local",
                     "LX", "--arg", "out:s32:64", "--full", "-v", "-o", "t4.json", "--json"]
        process = place.start(*arguments, start_new_session=True)
        for line in process.stderr:
            if "A=2" in line:
                break
        frame.check(group_of_worker(process.pid) != process.pid, "a terminal's Ctrl-C reaches what the worker's compiler runs")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out = process.communicate(timeout=60)[0]
        report = json.loads(out)
        frame.check(process.returncode == 130 and report["interrupted"], f"{process.returncode}: {out[-300:]}")
        frame.check(set(states(report).values()) <= {"ok", "slow"}, f"{states(report)}")
        with open(place.path("t4.json"), encoding="utf-8") as file:
            check_t4(json.load(file))
        costs = ["--define", "W2=32", "--define", "F=2*W2", "--flops", "F*1.5", "--bytes", "256"]  # no part of what was measured
        again = json.loads(place.run(*arguments[:-5], "--json", "--evaluations", str(len(report["tries"])), *costs)[0])
        frame.check(again["resumed"] >= len(report["tries"]) // 2, f"{again['resumed']} of {len(report['tries'])}")
        frame.check(again["flops"] == 96 and again["bytes"] == 256, f"{again['flops']} {again['bytes']}")


def test_a_concluded_session_goes_on_with_more_evaluations():
    with Place() as place:
        place.write("many.cl", "kernel void many(global int *out) { out[get_global_id(0)] = 1 + 0 * LX; }\n")
        arguments = ["--kernel-file", "many.cl", "--param", "LX=1,2,4,8,16,32", "--param", "A=1,2,3", "--global", "64", "--local", "LX",
                     "--arg", "out:s32:64", "--restrict", "A<4"]

        def started():
            with open(os.path.join(place.path("data"), "hone", "tuning.jsonl"), encoding="utf-8") as file:
                tries = [json.loads(line) for line in file if '"state":"started"' in line]
            return [one["config"]["config"] for one in tries]

        def tune(evaluations, known, *more):
            """What is known is not measured again; returns what is known then."""
            before = started() if os.path.exists(place.path("data")) else []
            report, _ = place.tune(*arguments, "--evaluations", str(evaluations), *more)
            new = started()[len(before):]
            frame.check(len(report["tries"]) == evaluations and report["resumed"] == evaluations - len(new),
                        f"{evaluations} evaluations: {report['resumed']} from before; {len(new)} measured")
            frame.check(not set(new) & known and (report["resumed"] > 0) == bool(known), f"measured again: {set(new) & known}")
            return known | set(new)

        first = tune(4, set())
        second = tune(8, first)
        tune(10, second)
        anew = tune(10, set())  # as many as before
        tune(12, anew)          # what stands before those is not taken
        tune(14, tune(13, set(), "--fresh"))


def test_winners_of_kernel_tuner_are_tried_first():
    with Place() as place:
        place.run("--import", os.path.join(frame.ROOT, "tests", "recorded", "convolution.kernel-tuner.json"))
        place.write("any.cl", "kernel void convolution_kernel(global int *out) { out[0] = 0 * block_size_x; }\n")
        report, _ = place.tune("--kernel-file", "any.cl", "--param", "block_size_x=1,2,4,8,64", "--param", "block_size_y=1,2,4", "--param",
                               "use_padding=0,1", "--global", "1", "--arg", "out:s32:1", "--evaluations", "2")
        frame.check("block_size_x=64 block_size_y=2 use_padding=1" in states(report), f"{states(report)}")
        order = random.Random(1).sample(range(2, 33), 20)  # the fastest first
        entries = {str(n): {"N": n, "time": 1 + place_of / 10} for place_of, n in enumerate(order)}
        place.write("cache.json", json.dumps({"device_name": "Toaster", "kernel_name": "seeded", "tune_params_keys": ["N"],
                                              "tune_params": {"N": list(range(1, 33))}, "cache": dict(sorted(entries.items()))}))
        place.run("--import", "cache.json")
        place.write("seeded.cl", "kernel void seeded(global int *out) { out[0] = 0 * N; }\n")
        fastest = {f"N={n}" for n in order[:6]}
        for more, seeded in (((), True), (("--fresh",), False)):
            report, _ = place.tune("--kernel-file", "seeded.cl", "--param", "N=1..32", "--global", "1", "--arg", "out:s32:1",
                                   "--evaluations", "7", *more)
            frame.check((set(states(report)) == {"N=1", *fastest}) == seeded, f"{more}: {states(report)}, the fastest are {fastest}")


def test_a_mark_of_utf8_hides_no_setting():
    with Place() as place:
        place.write("k.cl", b"\xef\xbb\xbf//@tune param N=1,2\n//@tune global 1\n//@tune arg out:s32:1\n"
                            b"kernel void k(global int *out) { out[0] = 0 * N; }\n")
        report, _ = place.tune("--kernel-file", "k.cl")
        frame.check(set(states(report)) == {"N=1", "N=2"}, f"{states(report)}")


def test_winners_that_are_not_listed_any_more_are_not_tried():
    """Here by far the fastest, in a session with another text of the kernel."""
    with Place() as place:
        base = ["--kernel-file", "k.cl", "--param", "W=1,2", "--global", "1", "--arg", "out:s32:1"]
        for extra, values, best in ((0, "V=1,100", "V=100"), (1, "V=1", "V=1"), (2, "V=1,50", "V=50")):
            place.write("k.cl", "kernel void k(global int *out) { volatile int sum = 0 * W; for (int i = 0; i < 100000 / V; i++) "
                                f"sum += i; out[0] = 0 * sum + {extra}; }}\n")
            report, _ = place.tune(*base, "--param", values)
            frame.check(best in report["best"].split(), f"{values}: {report['best']}")
            listed = {f"V={value}" for value in values[2:].split(",")}
            frame.check({text.split()[1] for text in states(report)} == listed, f"{values}: {states(report)}")


def test_a_cache_of_nothing_is_refused():
    with Place() as place:
        place.write("cache.json", '{"device_name": "Toaster", "kernel_name": "k", "tune_params_keys": ["N"], "tune_params": {"N": [1]}, "cache": {')
        err = place.run("--import", "cache.json", status=3)[1]
        frame.check("'cache.json' holds no results" in err, err)


def test_several_kernels_are_told():
    with Place() as place:
        place.write("two.cl", "kernel void one(global int *a) {}\n/* kernel void none() {} */ __kernel void other(global int *a) {}\n")
        err = place.run("--kernel-file", "two.cl", "--param", "N=1,2", "--global", "1", "--arg", "out:s32:1", status=2)[1]
        frame.check("Name it with --kernel: there are one, other\n" in err, err)


def test_costs_name_what_there_is():
    with Place() as place:
        place.write("k.cl", "kernel void k(global int *out) { out[0] = 0 * N; }\n")
        base = ["--kernel-file", "k.cl", "--param", "N=1,2", "--global", "1", "--arg", "out:s32:1", "--define", "D=5"]
        for option in ("--flops", "--bytes"):
            err = place.run(*base, option, "2*N*M*D", status=2)[1]
            frame.check(f"{option[2:]} '2*N*M*D' has the unknown name 'M'" in err and "--define M=" in err, err)
            there = err.split("there are ")[1]
            frame.check({"N", "D", "CU", "LMEM"} <= set(re.findall(r"\w+", there)) and "W" not in re.findall(r"\w+", there), err)


METRICS = "kernel void k(global int *out) { out[0] = 0 * N; }\n"
METRICS_OF = ["--kernel-file", "k.cl", "--param", "N=4,64,16", "--global", "1", "--local", "1", "--arg", "out:s32:1"]


def test_metrics_decide_where_the_user_wants_it():
    with Place() as place:
        place.write("k.cl", METRICS)
        metric = ["--metric", "gbs=bytes/time/1e9", "--metric", "room=9*N+0*(gbs+local_bytes)", "--bytes", "N*1000"]
        report, t4 = place.tune(*METRICS_OF, *metric, "--objective", "room:max")
        rooms = {one["config"]: one["metrics"]["room"] for one in report["tries"]}
        frame.check(rooms == {f"N={n}": 9 * n for n in (4, 16, 64)} and report["best"] == "N=64", f"{report}")
        for one in report["tries"]:
            frame.check(abs(one["metrics"]["gbs"] / (int(one["config"][2:]) / one["ms"] * 1e-3) - 1) < 1e-6, f"{one}")
            frame.check(one["facts"]["local_bytes"] >= 0 and one["facts"]["preferred_multiple"] > 0 and
                        one["facts"]["registers"] is None and one["facts"]["energy"] is None, f"{one}")
        for result in t4["results"]:
            told = {m["name"]: m["value"] for m in result["measurements"]}
            frame.check(result["objectives"] == ["room"] and told["room"] == 9 * result["configuration"]["N"] and
                        "local_bytes" in told and "registers" not in told, f"{result}")
        out = place.run(*METRICS_OF, *metric, "--objective", "room:min")[0]
        rows = [line.split()[-1] for line in out.split("every configuration")[1].splitlines() if "N=" in line]
        frame.check(rows == ["N=4", "N=16", "N=64"] and "registers, spills, waves: " in out, out)
        place.refuses("column 8: unknown name 'tim'", *METRICS_OF, "--metric", "x=1000/tim")
        place.refuses("--bytes tells it", *METRICS_OF, "--metric", "gbs=bytes/time")
        place.refuses("not known here", *METRICS_OF, "--objective", "registers:min")


def test_energy_is_measured_where_there_is_a_counter():
    with Place() as place:
        place.write("k.cl", METRICS)
        place.environment["HONE_SYSFS"] = place.folder
        place.refuses("has no counter", *METRICS_OF, "--objective", "energy")
        zone = place.path("class/powercap/intel-rapl:0")
        os.makedirs(zone)
        with open(os.path.join(zone, "name"), "w", encoding="ascii") as file:
            file.write("package-0\n")
        counter, over = os.path.join(zone, "energy_uj"), threading.Event()

        def count():
            for joules in range(1, 1 << 30):
                with open(counter + ".new", "w", encoding="ascii") as file:
                    file.write(f"{joules}000000\n")
                os.rename(counter + ".new", counter)
                if over.wait(0.005):
                    return

        thread = threading.Thread(target=count)
        thread.start()
        try:
            report, _ = place.tune(*METRICS_OF, "--evaluations", "2", "--objective", "energy", "--metric", "watts=energy/time")
        finally:
            over.set()
            thread.join()
        tried = {one["config"]: one["facts"]["energy"] for one in report["tries"]}
        frame.check(len(tried) == 2 and all(tried.values()), f"{report['tries']}")
        frame.check(report["best"] == min(tried, key=tried.get), f"{report['best']} of {tried}")


def test_without_a_check_nothing_is_wrong():
    with Place() as place:
        place.write("trouble.cl", TROUBLE)
        report, _ = place.tune("--kernel-file", "trouble.cl", "--param", "MODE=2,0", "--check", "none")
        frame.check(set(states(report).values()) <= {"ok", "slow"}, f"{states(report)}")


def test_results_can_be_replayed():
    with Place() as place:
        example(place, "stencil.cl", "--define", "W=61", "--define", "H=37", "--bytes", "8*W*H", "--flops", "5*W*H")
        out = place.run("--replay", "t4.json", "--repeat", "2")[0]
        frame.check("5 configurations work" in out, out)
        with open(place.path("t4.json"), encoding="utf-8") as file:
            told = [{m["name"]: m["value"] for m in r["measurements"]} for r in json.load(file)["results"]]
        frame.check(all(one["bytes"] == 8 * 61 * 37 and one["flops"] == 5 * 61 * 37 for one in told), f"{told}")
        report = json.loads(place.run("--replay", "t4.json", "--repeat", "2", "--metric", "each=flops/bytes+0/time", "--objective", "each:max", "--json")[0])
        frame.check(report["optimum"] == 5 / 8, f"{report}")


def test_text_in_any_encoding():
    with Place() as place:
        source = "/* Größe */ kernel void k(global int *out) { out[0] = A * B; %s }\n"
        place.write("good.cl", (source % "").encode("latin-1"))
        place.write("bad.cl", (source % '"Größe" #error').encode("latin-1"))
        place.write("some.cl", (source % '\n#if A == 2\n"Größe" x;\n#endif\n').encode("latin-1"))
        flags = ["--param", "A=1,2", "--options", "-DB=1", "--global", "1", "--arg", "out:s32:1", "--tolerance", "1"]
        place.run("--kernel-file", "good.cl", *flags)
        place.refuses("cannot be built with A=1", "--kernel-file", "bad.cl", *flags)
        report, _ = place.tune("--kernel-file", "some.cl", *flags)
        frame.check(states(report) == {"A=1": "ok", "A=2": "compile"}, f"{report['tries']}")
        place.refuses("must be text in UTF-8", "--kernel-file", "good.cl", *flags, "--options", b"-DX=\xfc")


def test_included_files_are_never_stale():
    with Place() as place:
        place.write("value.h", "#define VALUE 1\n")
        place.write("inc.cl", '#include "value.h"\nkernel void inc(global int *out) { out[0] = VALUE + 0 * A; }\n')
        arguments = ["--kernel-file", place.path("inc.cl"), "--param", "A=1,2", "--global", "1", "--arg", "out:s32:1",
                     "--check", "right.raw"]
        place.write("right.raw", numpy.int32([1]).tobytes())
        place.run(*arguments)
        place.write("value.h", "#define VALUE 2\n")
        place.refuses("right is 1", *arguments, "--fresh", status=1)


frame.main(globals())
