#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone lint: every rule has a kernel that breaks it and one that does not; comments, and what cannot be read.
lint.py build=FOLDER"""

import glob
import json
import os
import re
import subprocess
import tempfile

import frame

HEAD = "__kernel void k(__global const float *restrict in, __global float *restrict out, int n, int m)\n{\n"
TAIL = "}\n"
START = "    int i = (int)get_global_id(0);\n"


def body(text):
    return HEAD + START + text + TAIL


# For each rule: what breaks it, and on which line; what does the same and does not.
CASES = {
    "size-t": (HEAD + "    size_t i = get_global_id(0);\n    out[(int)i] = in[(int)i];\n" + TAIL, 3,
               body("    out[i] = in[i];\n")),
    "index-64": (HEAD + "    out[get_global_id(0)] = 1.0f;\n" + TAIL, 3, body("    out[i] = 1.0f;\n")),
    "division": (body("    out[i / n] = in[i];\n"), 4, body("    out[i / 4] = in[i] / (float)n;\n")),
    "modulo": (body("    out[i % m] = in[i];\n"), 4, body("    out[i % 8] = in[i];\n")),
    "private-array": (body("    float kept[4];\n    kept[n & 3] = in[i];\n    out[i] = kept[m & 3];\n"), 4,
                      body("    __local float kept[4];\n    kept[n & 3] = in[i];\n    out[i] = kept[m & 3];\n")),
    "table-in-kernel": (body("    const float table[2] = {1.0f, 2.0f};\n    out[i] = table[n & 1];\n"), 4,
                        "__constant float table[2] = {1.0f, 2.0f};\n" + body("    out[i] = table[n & 1];\n")),
    "wide-load": (body("    vstore8(vload8(i, in), i, out);\n"), 4, body("    vstore4(vload4(i, in), i, out);\n")),
    "constant-bytes": ("__constant uchar table[2] = {1, 2};\n" + body("    out[i] = table[n & 1];\n"), 1,
                       "__constant ushort table[2] = {1, 2};\n" + body("    out[i] = table[n & 1];\n")),
    "constant-scatter": ("__constant float table[64] = {1.0f};\n" + body("    int at = i & 63;\n    out[i] = table[at];\n"), 6,
                         "__constant float table[64] = {1.0f};\n" + body("    int at = n & 63;\n    out[i] = table[at];\n")),
    "constant-size": ("__kernel void k(__constant float *c, __global float *out)\n{\n    out[0] = c[0];\n}\n", 1,
                      "__kernel void k(__constant float *c __attribute__((max_constant_size(64))), __global float *out)\n"
                      "{\n    out[0] = c[0];\n}\n"),
    "const": ("__kernel void k(__global float *restrict in, __global float *restrict out)\n{\n    out[0] = in[0] + *(in + 1);\n}\n", 1,
              "__kernel void k(__global float *restrict in, __global float *restrict out)\n{\n    out[0] = in[0];\n    *(in + 1) += 1.0f;\n}\n"),
    "restrict": ("__kernel void k(__global const float *in, __global float *restrict out)\n{\n    out[0] = in[0];\n}\n", 1,
                 "__kernel void k(__global float *out)\n{\n    out[0] = 1.0f;\n}\n"),
    "group-size": ("__kernel __attribute__((reqd_work_group_size(16, 16, 1)))\nvoid k(__global float *out)\n{\n    out[0] = 1.0f;\n}\n", 2,
                   "__kernel void k(__global float *out)\n{\n    out[0] = 1.0f;\n}\n"),
    "branch": (body("    float v = in[i];\n    if (v > 1.0f)\n        v = 0.0f;\n    out[i] = v;\n"), 5,
               body("    float v = in[i];\n    v = v > 1.0f ? 0.0f : v;\n    if (i < n)\n        out[i] = v;\n")),
    "double-literal": (body("    out[i] = in[i] * 0.5;\n"), 4, body("    out[i] = in[i] * 0.5f;\n")),
    "barrier-in-loop": (body("    for (int j = 0; j < n; j++)\n        barrier(CLK_LOCAL_MEM_FENCE);\n    out[i] = in[i];\n"), 5,
                        body("    barrier(CLK_LOCAL_MEM_FENCE);\n    out[i] = in[i];\n")),
    "fence": (body("    mem_fence(CLK_LOCAL_MEM_FENCE);\n    out[i] = in[i];\n"), 4,
              body("    barrier(CLK_LOCAL_MEM_FENCE);\n    out[i] = in[i];\n")),
    "precise-math": (body("    out[i] = sqrt(in[i]);\n"), 4, body("    out[i] = native_sqrt(in[i]);\n")),
    "slow-math": (body("    out[i] = erf(in[i]);\n"), 4, body("    out[i] = fabs(in[i]);\n")),
    "global-atomic": ("__kernel void k(__global int *n)\n{\n    atomic_inc(n);\n}\n", 3,
                      "__kernel void k(__global int *n)\n{\n    __local int m;\n    m = 0;\n    atomic_inc(&m);\n    n[0] = m;\n}\n"),
    "generic-pointer": ("static float f(float *p)\n{\n    return *p;\n}\n__kernel void k(__global float *out)\n{\n    out[0] = f(out);\n}\n", 1,
                        "static float f(__global float *p)\n{\n    return *p;\n}\n__kernel void k(__global float *out)\n{\n    out[0] = f(out);\n}\n"),
    "printf": (body("    printf(\"%d\\n\", n);\n    out[i] = in[i];\n"), 4, body("    out[i] = in[i];\n")),
    "allow": (body("    out[i / n] = in[i]; // hone-lint: allow division\n"), 4,
              body("    out[i / n] = in[i]; // hone-lint: allow division: n is a power of two\n")),
}
STANDARD = {"generic-pointer": "CL2.0", "printf": "CL1.2"}


def lint(folder, *arguments):
    command = [os.path.join(frame.build(), "hone"), "lint", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, cwd=folder,
                          env={**os.environ, "OCL_ICD_VENDORS": "/nonexistent"})


def findings(folder, text, *arguments):
    """(rule, line) of what is found in a text, the places that comments allow, and the exit status."""
    with open(os.path.join(folder, "k.cl"), "w", encoding="utf-8") as file:
        file.write(text)
    result = lint(folder, "--json", "k.cl", *arguments)
    frame.check(result.returncode in (0, 1), f"{result.returncode}: {result.stderr}\n{text}")
    report = json.loads(result.stdout)
    return ([(f["rule"], f["line"]) for f in report["findings"]],
            [(f["rule"], f["line"], f["reason"]) for f in report["allowed"]], result.returncode)


def rules():
    result = lint(None, "--rules", "--json")
    frame.check(result.returncode == 0, result.stderr)
    return json.loads(result.stdout)["rules"]


def test_every_rule_is_told_and_tried():
    listed = rules()
    frame.check({rule["rule"] for rule in listed} == set(CASES), f"{set(CASES) ^ {rule['rule'] for rule in listed}} not in both")
    with open(os.path.join(frame.ROOT, "docs/guide-map.md"), encoding="utf-8") as file:
        sections = re.findall(r"^\| ([\d., to]+) \|", file.read(), re.M)
    known = {section for line in sections for section in re.split(r", ", line)}
    for rule in listed:
        frame.check(rule["why"] and rule["instead"], f"{rule}")
        frame.check(rule["section"] == "-" or any(rule["section"].startswith(s) for s in known), f"no section {rule['section']}")


def test_every_rule_finds_what_breaks_it_and_nothing_else():
    with tempfile.TemporaryDirectory() as folder:
        for rule, (bad, line, good) in CASES.items():
            options = ["--std", STANDARD[rule]] if rule in STANDARD else []
            found, _, status = findings(folder, bad, *options)
            frame.check((rule, line) in found and status == 1, f"{rule}: {found} in\n{bad}")
            found, _, _ = findings(folder, good, *options)
            frame.check(rule not in {name for name, _ in found}, f"{rule}: {found} in\n{good}")


def test_a_clean_kernel_is_clean():
    with tempfile.TemporaryDirectory() as folder:
        found, allowed, status = findings(folder, body("    if (i < n)\n        out[i] = in[i] * 0.5f;\n"))
    frame.check((found, allowed, status) == ([], [], 0), f"{found}, {allowed}, {status}")


def test_comments_allow_one_line_with_a_reason():
    bad = "    out[i / n] = in[i];"
    with tempfile.TemporaryDirectory() as folder:
        for text, wanted in ((bad + " // hone-lint: allow division: n is 3\n", []),
                             (bad + " /* hone-lint: allow division: n is 3 */\n", []),
                             ("    // hone-lint: allow division: n is 3\n" + bad + "\n", []),
                             ("    // hone-lint: allow division: n is 3\n" + bad + "\n" + bad + "\n", ["division"]),
                             ("    // hone-lint: allow-file division: n is 3\n\n" + bad + "\n" + bad + "\n", []),
                             (bad + " // hone-lint: allow modulo: n is 3\n", ["allow", "division"]),
                             (bad + " // hone-lint: allow divisions: n is 3\n", ["allow", "division"]),
                             (bad + " // hone-lint: allow division:  \n", ["allow", "division"]),
                             (bad + " // hone-lint: silence\n", ["allow", "division"])):
            found, allowed, _ = findings(folder, body(text))
            frame.check(sorted(name for name, _ in found) == wanted, f"{found} in\n{text}")
            frame.check("division" in wanted or {a[2] for a in allowed} == {"n is 3"}, f"{allowed} in\n{text}")


def test_a_list_beside_the_file_allows_whole_files():
    bad = body("    out[i / n] = in[i / m];\n    out[i % n] = in[i];\n")
    with tempfile.TemporaryDirectory() as above:
        folder = os.path.join(above, "kernels")
        os.mkdir(folder)
        for place, text, wanted in ((folder, "# why\nk.cl division: n is 3\n", ["modulo"]), (above, "kernels/k.cl division: n is 3\n", ["modulo"]),
                                    (above, "*/k.cl division: n is 3\n* modulo: so is m\n", []), (folder, "other.cl division: n is 3\n", ["division", "modulo"]),
                                    (folder, "k.cl fence: there is none\n", ["allow", "division", "modulo"]), (folder, "*.cl fence: none\n", ["division", "modulo"])):
            with open(os.path.join(place, ".hone-lint"), "w", encoding="utf-8") as file:
                file.write(text)
            found, _, _ = findings(folder, bad)
            frame.check(sorted({name for name, _ in found}) == wanted, f"{found} under {text}")
            os.unlink(os.path.join(place, ".hone-lint"))
        for text in ("k.cl division\n", "k.cl divisions: n is 3\n", "k.cl: n is 3\n"):
            with open(os.path.join(folder, ".hone-lint"), "w", encoding="utf-8") as file:
                file.write(text)
            result = lint(folder, "k.cl")
            frame.check(result.returncode == 3 and "line 1" in result.stderr, f"{text}: {result.returncode}, {result.stderr}")


def test_our_own_kernels_are_clean_or_say_why():
    src = os.path.join(frame.ROOT, "src")
    files = sorted(glob.glob(os.path.join(src, "filters", "*", "*.cl")))
    frame.check(len(files) >= 40, f"only {len(files)} kernel files")
    result = lint(src, "-q", "-I", src, "--include", "filter/kernel.clh", "--include", "filter/fuse.clh", *files)
    frame.check(result.returncode == 0, f"{result.stdout[-1500:]}{result.stderr[-500:]}")


def test_macros_and_included_files():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "h.clh"), "w", encoding="utf-8") as file:
            file.write("static inline int half_of(int i, int n) { return i / n; }\n#define WIDTH n\n")
        text = '#include "h.clh"\n' + body("    out[half_of(i, n)] = in[i / SIZE];\n")
        found, _, _ = findings(folder, text, "-D", "SIZE=4")
        frame.check(found == [], f"an included file and a constant macro: {found}")
        found, _, _ = findings(folder, text, "-DSIZE=n", "-I", folder)
        frame.check(found == [("division", 5)], f"a macro that is a variable: {found}")
        found, _, _ = findings(folder, body("    out[i] = in[i / WIDTH];\n"), "--include", "h.clh")
        frame.check(found == [("division", 4)], f"a file included before: {found}")
        macros = "#define DIV(a, b) ((a) / (b))\n#define REST(a, b) ((a) % (b))\n#define SUM(a, b) ((a) + (b))\n"
        for call, wanted in (("DIV(i, n)", "division"), ("REST(i, n)", "modulo"), ("DIV(i, 4)", None), ("SUM(i, n)", None)):
            found, _, _ = findings(folder, macros + body(f"    out[i] = in[{call}];\n"))
            frame.check(found == ([(wanted, 7)] if wanted else []), f"{call}: {found}")


OWN = """//@filter summary x
//@filter param radius int 1..9 = 2 pixels: x
//@filter param mode choice soft|hard = soft: x
//@filter window radius
hone_pixel
{
    return mode == mode_soft ? hone_in(radius, 0) : hone_in(100 / radius, 0);
}
"""
OWN_KERNEL = """//@filter types u8
//@filter channels 1
//@filter variant rows: x
//@filter tunable ROWS 2 4: x
//@filter kernel rows(in, out, W, H)
//@filter define HALF=W/2
__kernel void rows(__global const PIXEL *restrict in, int in_at, int in_pitch, __global PIXEL *restrict out, int out_at,
                   int out_pitch, int width, int height)
{
    out[out_at] = in[in_at + ROWS + HALF] / (PIXEL)width;
}
"""


def test_filters_of_ones_own_are_judged_behind_hones_text():
    with tempfile.TemporaryDirectory() as folder:
        for text, wanted in ((OWN, [("division", 7)]), (OWN_KERNEL, [("division", 10)])):
            found, _, _ = findings(folder, text)
            frame.check(found == wanted, f"{found} in\n{text}")
        for text, words in ((OWN.replace("radius, 0)", "radios, 0)"), "k.cl:7:40: error: "), (OWN.replace("int 1..9", "int 1.."), "k.cl")):
            with open(os.path.join(folder, "k.cl"), "w", encoding="utf-8") as file:
                file.write(text)
            result = lint(folder, "k.cl")
            frame.check(result.returncode == 3 and words in result.stderr, f"{result.returncode}: {result.stderr}")
    for path in glob.glob(os.path.join(frame.ROOT, "examples/filters/*.cl")):
        for standard in "CL1.2", "CL2.0":
            result = lint(None, path, "--std", standard)
            frame.check(result.returncode in (0, 1) and not result.stderr, f"{path}: {result.stderr}")
            frame.check("hone_here" not in result.stdout, f"{path}, {standard}: {result.stdout}")


def test_files_of_one_name_are_judged():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a", "b"):
            os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, name, "same.cl"), "w", encoding="utf-8") as file:
                file.write(OWN)
        result = lint(folder, "a/same.cl", "b/same.cl")
        frame.check(result.returncode == 1 and result.stdout.startswith("a/same.cl:7:") and "\nb/same.cl:7:" in result.stdout, f"{result}")


def test_what_cannot_be_read_is_answered():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "bad.cl"), "w", encoding="utf-8") as file:
            file.write("__kernel void k(__global int *a) { a[0] = there_is_none; }\n")
        with open(os.path.join(folder, "zero.cl"), "wb") as file:
            file.write(b"int a;\0int b;\n")
        for arguments, status, words in ((["bad.cl"], 3, "there_is_none"), (["none.cl"], 3, "none.cl"), ([folder], 3, folder),
                                         (["zero.cl"], 3, "zero byte"), ([], 2, "missing"), (["--std", "CL9", "bad.cl"], 2, "CL9")):
            result = lint(folder, *arguments)
            frame.check(result.returncode == status and words in result.stderr, f"{arguments}: {result.returncode}, {result.stderr}")
        said = lint(folder, "bad.cl", "none.cl").stdout
        frame.check("2 of 2 files not judged" in said, said)
        [failure] = json.loads(lint(folder, "bad.cl", "--json").stdout)["failures"]
        frame.check(failure["file"] == "bad.cl" and "there_is_none" in failure["log"], f"{failure}")


if __name__ == "__main__":
    frame.main(globals())
