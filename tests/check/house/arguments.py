#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Test programs refuse what they do not know: a misspelt option would pass for a test.  arguments.py build=FOLDER"""

import glob
import os
import subprocess
import sys

import frame

NO_PROGRAMS_OF_TESTS = ("life", "oracle")  # they serve scripts, and read other arguments
SCRIPT = os.path.abspath(__file__)


def refuses(*command, words, status):
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    said = result.stdout + result.stderr
    frame.check(result.returncode == status and words in said, f"{command} ends with {result.returncode}: {said[-300:]}")
    frame.check("\nok " not in "\n" + result.stdout, f"{command} runs tests: {result.stdout[-300:]}")


def programs():
    found = [path for path in glob.glob(os.path.join(frame.build(), "tests", "*"))
             if os.path.isfile(path) and os.access(path, os.X_OK) and not path.endswith(".so")]
    found = [path for path in found if os.path.basename(path) not in NO_PROGRAMS_OF_TESTS]
    frame.check(len(found) > 30, f"only {len(found)} test programs are built")
    return found


def test_programs_refuse_unknown_options():
    for program in programs():
        refuses(program, "--no-such-option", words="cannot use '--no-such-option'", status=2)


def test_a_program_refuses_wrong_values_and_names():
    program = os.path.join(frame.build(), "tests", "hash")
    for arguments in (["--limit"], ["--limit", "0"], ["--limit", "soon"], ["-l"], ["--list", "--lists"]):
        refuses(program, *arguments, words="cannot use", status=2)
    refuses(program, "no_such_test", words="not ok selection", status=1)


def test_the_harness_refuses_an_unknown_effort():
    environment = {**os.environ, "HONE_TEST_EFFORT": "tiney"}
    result = subprocess.run([os.path.join(frame.build(), "tests", "harness"), "transpose"], capture_output=True, text=True,
                            env=environment, check=False)
    frame.check(result.returncode == 1 and "'tiney', which is no effort" in result.stdout, result.stdout)


def test_scripts_refuse_unknown_options():
    for argument, words in (("--no-such-option", "cannot use '--no-such-option'"), ("bild=build", "there is no option bild="),
                            ("-l", "cannot use '-l'")):
        refuses(sys.executable, SCRIPT, argument, words=words, status=1)
    refuses(sys.executable, SCRIPT, "no_such_test", words="not ok selection", status=1)


def test_the_runner_refuses_unknown_options():
    runner = os.path.join(frame.ROOT, "tests", "run")
    refuses(runner, "--no-such-option", words="unrecognized arguments", status=2)
    refuses(runner, "--tier", "quick", words="is no list of", status=2)
    refuses(runner, "no-such-suite", words="no suite has such a name", status=1)


if __name__ == "__main__":
    frame.main(globals())
