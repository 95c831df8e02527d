#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man page, --help and completion tell the same: commands, options, exit statuses.  manual.py build=FOLDER"""

import json
import os
import re
import shutil
import subprocess
import tempfile

import frame

# Without a device: a driver would compile what hone chooses there.
ENVIRONMENT = {**os.environ, "OCL_ICD_VENDORS": "/nonexistent"}


def hone(*arguments):
    program = os.path.join(frame.build(), "hone")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout


def page():
    with open(os.path.join(frame.ROOT, "man", "hone.1"), encoding="utf-8") as file:
        return file.read()


def commands():
    listed = re.search(r"^commands:\n(.*?)\n\n", hone("--help"), re.S | re.M).group(1)
    return re.findall(r"^  (\w+)", listed, re.M)


def options_of_help(text):
    """The options that begin a line: '  -o, --output FILE' gives output."""
    return set(re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.M))


def section(title):
    match = re.search(rf"^\.Ss {re.escape(title)}\n(.*?)(?=^\.S[sh] )", page(), re.S | re.M)
    frame.check(match, f"the man page has no section '{title}'")
    return match.group(1)


def options_of_page(title):
    items = re.findall(r"^\.It (.*)$", section(title), re.M)
    return {name for item in items for name in re.findall(r"Fl -([\w-]+)", item)}


def test_commands_agree():
    in_page = re.findall(r"^\.Ss hone (\w+)$", page(), re.M)
    frame.check(in_page == commands(), f"the man page has {in_page}, hone --help {commands()}")
    synopsis = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh", page(), re.S | re.M).group(1)
    in_synopsis = re.findall(r"^\.Nm\n\.Cm (\w+)", synopsis, re.M)
    frame.check(in_synopsis == commands(), f"the synopsis has {in_synopsis}, hone --help {commands()}")


def test_common_options_agree():
    listed = hone("devices", "--help").split("common options:")[1]
    in_page = options_of_page("Options of all commands")
    frame.check(in_page == options_of_help(listed), f"man page {in_page}, --help {options_of_help(listed)}")
    for command in commands():
        frame.check(hone(command, "--help").split("common options:")[1] == listed, f"{command} has others")


def test_options_of_commands_agree():
    for command in commands():
        own = options_of_help(hone(command, "--help").split("common options:")[0])
        in_page = options_of_page(f"hone {command}")
        frame.check(own == in_page, f"{command}: man page {sorted(in_page)}, --help {sorted(own)}")


def test_exit_statuses_agree():
    in_help = re.findall(r"^  (\d)  (.*)$", hone("--help"), re.M)
    listed = page().split(".Sh EXIT STATUS")[1].split(".Sh ")[0]
    in_page = re.findall(r"^\.It (\d)\n(.*)\.$", listed, re.M)
    frame.check(len(in_help) == 6, f"hone --help lists {len(in_help)} statuses")
    frame.check([(n, text[0].lower() + text[1:]) for n, text in in_page] == in_help, f"{in_page} and {in_help}")


def test_every_function_has_a_page_from_its_header():
    with tempfile.TemporaryDirectory(prefix="hone-man3-") as folder:
        make = os.path.join(frame.ROOT, "packaging", "man3.py")
        subprocess.run([make, os.path.join(frame.ROOT, "include", "hone"), folder], check=True)
        with open(os.path.join(frame.ROOT, "packaging", "libhone.map"), encoding="utf-8") as file:
            exported = set(re.findall(r"^ +(hone_\w+);", file.read(), re.M))
        frame.check(len(exported) > 60, f"only {len(exported)} functions are exported")
        for name in sorted(exported):
            with open(os.path.join(folder, name + ".3"), encoding="utf-8") as file:
                link = re.fullmatch(r"\.so man3/(\w+)\.3\n", file.read())
            frame.check(link, f"{name}.3 is no link to a page")
            with open(os.path.join(folder, link.group(1) + ".3"), encoding="utf-8") as file:
                frame.check(re.search(rf"^\.Ss .*\b{name}\b", file.read(), re.M), f"{link.group(1)}.3 has no {name}")


def complete(*words):
    """What bash offers for the last of the words."""
    script = os.path.join(frame.ROOT, "packaging", "completion", "hone.bash")
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    text = (f"compopt() {{ :; }}; source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _hone; "
            'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True,
                            env={**ENVIRONMENT, "PATH": frame.build() + ":" + os.environ["PATH"]})
    frame.check(not result.stderr, f"bash said {result.stderr}")
    return set(result.stdout.split("\n")) - {""}


def test_completion_offers_commands_and_options():
    frame.check(complete("hone", "") == set(commands()) | {"help", "--help", "--version"}, f"{complete('hone', '')}")
    frame.check(complete("hone", "help", "") == set(commands()), f"help: {complete('hone', 'help', '')}")
    for command in commands():
        expected = {"--" + name for name in options_of_help(hone(command, "--help"))}
        offered = complete("hone", command, "--")
        frame.check(offered == expected, f"{command}: {offered ^ expected} are offered or missing wrongly")


def test_completion_offers_filters_and_parameters():
    filters = set(hone("filters", "--names").split())
    frame.check(len(filters) >= 2, f"filters: {filters}")
    frame.check(complete("hone", "filters", "") == filters, "filters NAME")
    frame.check(complete("hone", "tune", "") == filters, "tune NAME")
    frame.check(complete("hone", "doctor", "box", "") == filters, "doctor NAME NAME")
    frame.check(complete("hone", "apply", "") == filters, "the first filter of a chain")
    frame.check(complete("hone", "apply", "'sob") == {"sobel"}, f"{complete('hone', 'apply', chr(39) + 'sob')}")
    offered = complete("hone", "apply", "'sobel norm=l1 | box wi")
    frame.check(offered == {"sobel norm=l1 | box width="}, f"a parameter: {offered}")
    offered = complete("hone", "apply", '"sobel no')
    frame.check(offered == {"sobel norm=l1", "sobel norm=l2"}, f"choices: {offered}")
    offered = complete("hone", "apply", "box size=3 | so")
    frame.check(offered == {"box size=3 | sobel"}, f"the second filter: {offered}")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "glows"))
        for name in ("glow.cl", "glow.txt"):
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass
        there = {f"{folder}/glow.cl", f"{folder}/glows/"}
        for command in ("filters", "tune", "doctor", "bench", "apply", "profile"):
            offered = complete("hone", command, f"{folder}/gl")
            frame.check(offered == there, f"{command} with the path of a filter: {offered}")
        offered = complete("hone", "apply", f"'box | {folder}/gl")
        frame.check(offered == {f"box | {name}" for name in there}, f"in a chain: {offered}")


def test_completion_offers_values_of_options():
    frame.check(complete("hone", "tune", "--format", "") == {"u8", "u16", "s16", "f32"}, "types of tune")
    frame.check(complete("hone", "apply", "sobel", "--planes", "") == {"luma", "all"}, "planes of videos")
    listed = subprocess.run([os.path.join(frame.build(), "hone"), "apply", "box", "a.png", "-o", "b.tif", "--compression", "?"], capture_output=True,
                            text=True, check=False, env=ENVIRONMENT).stderr
    words = set(re.search(r"is ([a-z|]+)", listed)[1].split("|"))
    frame.check(complete("hone", "apply", "box", "--compression", "") == words, f"compressions: {listed}")
    experiments = set(re.findall(r"^   ([a-z-]+) ", hone("bench"), re.M))
    frame.check(complete("hone", "bench", "experiments", "svm", "") == experiments and "svm" in experiments, "experiments")
    frame.check(complete("hone", "apply", "'box size=3'", "--tune", "o") == {"off"}, "--tune")
    rows = [line for line in hone("formats").splitlines() if " ." in line]
    written = {re.search(r" \.(\w+)", row)[1] for row in rows if not re.search(r"\.\w+ +(yes|trust|-) +-", row)}  # READ, WRITE
    offered = complete("hone", "apply", "box", "a.png", "--format", "")
    frame.check({"pgm", "csv"} <= offered == written, f"suffixes of apply: {offered ^ written}")
    frame.check("cpu" in complete("hone", "apply", "box", "--device", ""), "devices")
    offered = complete("hone", "apply", "box", "--planes", "=", "l"), complete("hone", "apply", "box", "--planes", "=")
    frame.check(offered == ({"luma"}, {"luma", "all"}), f"behind '=': {offered}")
    here = os.path.dirname(os.path.abspath(__file__))
    for option in ("--kernel-file", "--spec", "--import", "--export", "--replay"):
        offered = complete("hone", "tune", option, os.path.join(here, "manu"))
        frame.check(offered == {os.path.join(here, "manual.py")}, f"{option}: {offered}")


def variants_of(*names):
    return {variant["name"] for name in names for variant in json.loads(hone("filters", name, "--json"))["variants"]}


def test_completion_offers_variants_of_the_filters_before():
    frame.check(complete("hone", "apply", "'sobel norm=l1'", "--variant", "") == variants_of("sobel"), "of a filter")
    frame.check(complete("hone", "apply", "'box size=3 | sobel'", "a.png", "--variant", "") == variants_of("box", "sobel"), "of two")
    offered = complete("hone", "tune", "--size", "64x64", "sobel", "--variant", "direct,sep")
    frame.check(offered == {"direct,separable"}, f"a second one: {offered}")
    frame.check(not complete("hone", "tune", "--variant", ""), "of no filter")


# What zsh's own functions would get: candidates a line each.
ZSH = """
setopt extendedglob
compadd() {
    local -a given
    while (( $# )); do
        case $1 in (-S) shift ;; (-a) given+=("${(@P)2}"); shift ;; (--) ;; (*) given+=("$1") ;; esac
        shift
    done
    print -rl -- $given
}
compset() { :; }
_files() { print FILES; }
_values() { shift; print -rl -- "$@"; }
_describe() { print -rl -- "${(@P)4%%:*}"; }
_call_program() { shift; eval "$@"; }
"""


def complete_in_zsh(*words):
    script = os.path.join(frame.ROOT, "packaging", "completion", "_hone")
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    text = f"{ZSH}words=({quoted}); CURRENT={len(words)}; PREFIX=$words[-1]; source '{script}'"
    result = subprocess.run(["zsh", "-f", "-c", text], capture_output=True, text=True, check=False,
                            env={**ENVIRONMENT, "PATH": frame.build() + ":" + os.environ["PATH"]})
    frame.check(not result.stderr, f"zsh said {result.stderr}")
    return set(result.stdout.split("\n")) - {""}


def options_with_values(script):
    with open(os.path.join(frame.ROOT, "packaging", "completion", script), encoding="utf-8") as file:
        table = re.search(r"^_hone_value.*?^    esac", file.read(), re.S | re.M).group(0)
    return set(re.findall(r"--[a-z][a-z-]+", table))


def test_bash_and_zsh_complete_the_values_of_the_same_options():
    bash, zsh = options_with_values("hone.bash"), options_with_values("_hone")
    frame.check(len(bash) > 10 and bash == zsh, f"{bash ^ zsh}")


def test_zsh_completes_what_bash_completes():
    if not shutil.which("zsh"):
        return  # the tables alone are compared then
    for words in (("tune", "--format"), ("apply", "box", "--format"), ("apply", "box", "--tune"), ("apply", "box", "--device"),
                  ("apply", "box", "--compression"), ("apply", "box", "--background"), ("tune", "sobel", "--variant"),
                  ("apply", "'box size=3 | sobel'", "a.png", "--variant"), ("filters",), ("tune",), ("doctor",), ("cache",), ("help",),
                  ("bench",), ("bench", "experiments"), ("apply", "box", "--planes"), ()):
        expected = complete("hone", *words, "") - {"--help", "--version"}
        frame.check(complete_in_zsh("hone", *words, "") == expected, f"{words}: {complete_in_zsh('hone', *words, '')}")
    for option in ("--kernel-file", "--spec", "--import", "--export", "--replay", "--header"):
        frame.check(complete_in_zsh("hone", "tune", option, "") == {"FILES"}, option)
    frame.check("--variant" in complete_in_zsh("hone", "tune", "--"), "options")
    frame.check(complete_in_zsh("hone", "apply", "box", "--planes=l") == {"luma", "all"}, "behind '='")
    frame.check(complete_in_zsh("hone", "tune", "./gl") == {"FILES"} == complete_in_zsh("hone", "apply", "./gl"), "filters of one's own")


if __name__ == "__main__":
    frame.main(globals())
