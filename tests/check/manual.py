#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man page, --help and completion tell the same: commands, options, exit statuses.  manual.py build=FOLDER"""

import os
import re
import subprocess

import frame


def hone(*arguments):
    program = os.path.join(frame.build(), "hone")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


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


def complete(*words):
    """What bash offers for the last of the words."""
    script = os.path.join(frame.ROOT, "packaging", "completion", "hone.bash")
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    text = (f"compopt() {{ :; }}; source '{script}'; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _hone; "
            'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True,
                            env={**os.environ, "PATH": frame.build() + ":" + os.environ["PATH"]})
    frame.check(not result.stderr, f"bash said {result.stderr}")
    return set(result.stdout.split("\n")) - {""}


def test_completion_offers_commands_and_options():
    frame.check(complete("hone", "") == set(commands()) | {"--help", "--version"}, f"{complete('hone', '')}")
    for command in commands():
        expected = {"--" + name for name in options_of_help(hone(command, "--help"))}
        offered = complete("hone", command, "--")
        frame.check(offered == expected, f"{command}: {offered ^ expected} are offered or missing wrongly")


def test_completion_offers_filters_and_parameters():
    filters = set(hone("filters", "--names").split())
    frame.check(len(filters) >= 2, f"filters: {filters}")
    frame.check(complete("hone", "filters", "") == filters, "filters NAME")
    frame.check(complete("hone", "tune", "") == filters, "tune NAME")
    frame.check(complete("hone", "apply", "") == filters, "the first filter of a chain")
    frame.check(complete("hone", "apply", "'sob") == {"sobel"}, f"{complete('hone', 'apply', chr(39) + 'sob')}")
    offered = complete("hone", "apply", "'sobel norm=l1 | box wi")
    frame.check(offered == {"sobel norm=l1 | box width="}, f"a parameter: {offered}")
    offered = complete("hone", "apply", '"sobel no')
    frame.check(offered == {"sobel norm=l1", "sobel norm=l2"}, f"choices: {offered}")
    offered = complete("hone", "apply", "box size=3 | so")
    frame.check(offered == {"box size=3 | sobel"}, f"the second filter: {offered}")


if __name__ == "__main__":
    frame.main(globals())
