# SPDX-License-Identifier: BSD-2-Clause
"""The frame of test scripts: functions whose names begin with `test_` are tests; prints lines that tests/run reads.

A test fails by an exception; `assert` and `check` give the text. A script ends with `frame.main(globals())` and takes
patterns of names, --list, and options as `name=value` (frame.option): build=FOLDER, and those that it tells main of.
"""

import fnmatch
import os
import shutil
import sys
import tempfile
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)


class Skip(Exception):
    """Ends a test as skipped; its text must name the driver that is missing."""


class Folder:
    """A folder that is removed at the end of `with`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hone-test-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)


def option(name, otherwise=None):
    """The value of a `name=value` argument."""
    value = _options.get(name, otherwise)
    if value is None:
        sys.exit(f"{sys.argv[0]}: missing argument {name}=...")
    return value


def build():
    """The build folder."""
    return os.path.abspath(option("build", os.path.join(ROOT, "build")))


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def where(error):
    """file:line of the place in a script where an exception arose."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.endswith("frame.py")]
    last = frames[-1]
    return f"{os.path.basename(last.filename)}:{last.lineno}"


def run(name, function):
    try:
        function()
    except Skip as reason:
        print(f"skip {name}: {reason}", flush=True)
    except Exception as error:  # a test that fails in any way is a failed test
        text = " ".join(str(error).split("\n")) or type(error).__name__
        print(f"not ok {name}: {where(error)}: {text}", flush=True)
        return False
    else:
        print(f"ok {name}", flush=True)
    return True


def patterns_of_names():
    others = [argument for argument in sys.argv[1:] if "=" not in argument and argument != "--list"]
    for argument in others:
        if argument.startswith("-"):
            sys.exit(f"{sys.argv[0]}: cannot use {argument!r}\nusage: {sys.argv[0]} [--list] [NAME=VALUE...] [TEST...]")
    return others


def main(names, *taken):
    """`taken`: the names of the options that the script takes, beside `build`."""
    patterns = patterns_of_names()
    for name in _options:
        if name not in ("build", *taken):
            sys.exit(f"{sys.argv[0]}: there is no option {name}=; it takes {'=, '.join(('build', *taken))}=")
    tests = {name[5:]: value for name, value in names.items() if name.startswith("test_") and callable(value)}
    chosen = [name for name in tests if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)]
    if "--list" in sys.argv:
        print("\n".join(chosen))
        sys.exit(0)
    if not chosen:
        print("not ok selection: no test has such a name")
        sys.exit(1)
    passed = [run(name, tests[name]) for name in chosen]
    sys.exit(0 if all(passed) else 1)
