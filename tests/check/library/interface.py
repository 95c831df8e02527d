#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The public interface as a whole, read from the headers: what NULL does to every function. interface.py build=FOLDER"""

import contextlib
import ctypes
import glob
import os
import re
import tempfile

import bridge
import frame
from bridge import library

USAGE = 1
# NULL is a value of these: what they mean stands in the headers.
OPTIONAL = {"error", "done", "wait", "options", "request", "removed", "milliseconds", "user", "text", "held", "budget",
            "out_desc", "second"}
# Without any argument these do their work.
WORK_WITHOUT = {"hone_cache_repair", "hone_cache_clear"}


class Big(ctypes.Structure):
    """Room for any structure that is returned by value; they all are larger than 16 bytes."""
    _fields_ = [("words", ctypes.c_uint64 * 128)]


class Function:
    """One declaration: name, what it returns, its parameters as (type, name)."""

    def __init__(self, returns, name, parameters):
        self.returns, self.name = " ".join(returns.split()), name
        self.parameters = [self.parameter(text) for text in self.split(parameters)]

    @staticmethod
    def split(text):
        parts, depth = [""], 0
        for letter in " ".join(text.split()):
            depth += (letter == "(") - (letter == ")")
            if letter == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += letter
        return [part.strip() for part in parts if part.strip() not in ("", "void")]

    @staticmethod
    def parameter(text):
        callback = re.match(r".*\(\s*\*\s*(\w+)\s*\)\s*\(.*", text)
        if callback:
            return "callback *", callback.group(1)
        kind, name = re.match(r"(.*?)(\w+)$", text).groups()
        return kind.replace("const", "").replace(" ", "").replace("*", " *").strip(), name

    def pointers(self):
        return [i for i, (kind, _) in enumerate(self.parameters) if "*" in kind]


def functions():
    found = []
    for path in sorted(glob.glob(os.path.join(frame.ROOT, "include/hone/*.h"))):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        found += [Function(*match) for match in re.findall(r"HONE_API\s+([^;]*?)\b(hone_\w+)\((.*?)\);", text, re.S)]
    frame.check(len(found) > 60, f"only {len(found)} functions are found in the headers")
    return found


class Things:
    """A valid argument of each type."""

    def __init__(self):
        lib = library()
        for name in ("cl_queue", "cl_context", "cl_device"):
            getattr(lib, "hone_device_" + name).restype = ctypes.c_void_p
        lib.hone_image_cl_mem.restype = lib.hone_event_cl.restype = ctypes.c_void_p
        self.desc = bridge.Desc(16, 16, 0, 1, 0)
        self.kept = []
        self.device, self.chain, self.plan = bridge.device(), ctypes.c_void_p(), ctypes.c_void_p()
        self.images, self.event = [ctypes.c_void_p(), ctypes.c_void_p()], ctypes.c_void_p()
        bridge.call("hone_chain_parse", ctypes.byref(self.chain), b"box")
        bridge.call("hone_plan_create", ctypes.byref(self.plan), self.device, self.chain, ctypes.byref(self.desc), None)
        for image in self.images:
            bridge.call("hone_image_create", ctypes.byref(image), self.device, ctypes.byref(self.desc), 0)
        bridge.call("hone_plan_run", self.plan, *self.images, None, ctypes.c_size_t(0), ctypes.byref(self.event))
        bridge.call("hone_event_wait", self.event)
        self.foreign = {"_cl_command_queue": lib.hone_device_cl_queue(self.device),
                        "_cl_mem": lib.hone_image_cl_mem(self.images[1]), "_cl_event": lib.hone_event_cl(self.event)}
        self.callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(lambda user, status: None)
        self.waits = (ctypes.c_void_p * 1)(self.event)

    def handles(self):
        return {"hone_device *": self.device, "hone_chain *": self.chain, "hone_plan *": self.plan,
                "hone_image *": self.images[0], "hone_event *": self.event, "hone_event * *": self.waits}

    @staticmethod
    def number(kind, _name, value=0):
        """A value that is no pointer; functions take reals elsewhere than whole numbers."""
        return (ctypes.c_double if kind == "double" else ctypes.c_size_t)(value)

    def argument(self, kind, name):
        if "*" not in kind:
            known = {"wait_count": 1, "size": 64, "width": 16, "height": 16, "out_bytes": 1 << 16}
            return self.number(kind, name, known.get(name, 0))
        if kind.startswith("struct"):
            return ctypes.c_void_p(self.foreign[kind.split("struct")[1].split()[0]])
        if kind == "callback *":
            return self.callback
        if name == "wait":
            return self.waits
        if kind.endswith("* *"):
            return ctypes.byref(ctypes.c_void_p())
        if kind == "hone_image_desc *":
            return ctypes.byref(self.desc)
        if kind == "hone_image *" and name == "out":
            return self.images[1]
        if kind == "hone_external *":
            return ctypes.byref((ctypes.c_uint64 * 8)())
        if kind == "char *" and name != "text":
            return b"box"
        if kind in self.handles():
            return self.handles()[kind]
        self.kept.append(ctypes.create_string_buffer(1 << 16))  # commands under way still use it after the call
        return self.kept[-1]


def call(function, arguments):
    """The result as a number: 0 for NULL, false and structures of zeros."""
    entry = getattr(library(), function.name)
    by_value = re.match(r"hone_device_counts|hone_copy", function.returns)
    entry.restype = Big if by_value else ctypes.c_bool if function.returns == "bool" else \
        ctypes.c_double if function.returns == "double" else ctypes.c_void_p if "*" in function.returns else \
        ctypes.c_size_t if function.returns == "size_t" else None if function.returns == "void" else ctypes.c_int
    result = entry(*arguments)
    return any(result.words[:3]) if by_value else result or 0


def judge(function, missing, result):
    """Complaints about the result of a call in which the parameters `missing` were NULL."""
    names = {function.parameters[i][1] for i in missing}
    if function.returns != "hone_status":
        everything = missing == function.pointers() and not function.name.endswith("_name")
        return f"returns {result}" if everything and result else None
    if names <= OPTIONAL or function.name in WORK_WITHOUT:
        return None
    return None if result == USAGE else f"returns status {result}"


def walk(pipe):
    """Calls everything, with all pointers NULL and with one at a time; a line before each call and for each complaint."""
    things = Things()
    for function in functions():
        pointers = function.pointers()
        for missing in ([pointers] if len(pointers) > 1 else []) + [[i] for i in pointers]:
            what = f"{function.name} without {', '.join(function.parameters[i][1] for i in missing)}"
            pipe.write(f"calls {what}\n")
            pipe.flush()
            arguments = [None if i in missing else things.number(*p) if missing == pointers else things.argument(*p)
                         for i, p in enumerate(function.parameters)]
            complaint = judge(function, missing, call(function, arguments))
            if complaint:
                pipe.write(f"wrong {what}: {complaint}\n")
    pipe.write("done\n")


def in_child(function):
    """OpenCL is used in children alone: this process forks."""
    child = os.fork()
    if child == 0:
        try:
            function()
        except Exception as error:
            print(f"# {error}", flush=True)
            os._exit(1)
        os._exit(0)
    frame.check(os.waitpid(child, 0)[1] == 0, "see the remark before this line")


@contextlib.contextmanager
def own_cache():
    """hone_cache_clear() is among what is called."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        yield
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


def test_null_is_an_error_or_nothing_in_every_function():
    reading, writing = os.pipe()
    with own_cache():
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                try:
                    walk(pipe)
                except BaseException as error:  # what a test script got wrong is a finding, too
                    pipe.write(f"wrong script: {error!r}\n")
                pipe.flush()
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            lines = pipe.read().splitlines()
        status = os.waitpid(child, 0)[1]
    wrong = [line for line in lines if line.startswith("wrong ")]
    if not lines or lines[-1] != "done":
        wrong.append(f"ended with {status} in: {lines[-1] if lines else 'the first call'}")
    frame.check(not wrong, "; ".join(wrong))
    called = {line.split()[1] for line in lines if line.startswith("calls ")}
    frame.check(len(called) > 60, f"only {len(called)} functions were called")


class Grown(ctypes.Structure):
    """The options of a library yet to come."""
    _fields_ = [("options", bridge.Options), ("newer", ctypes.c_uint64)]


def make_grown(size, newer):
    """The status of making a plan from options of this size with this value in a member that is not known."""
    chain, plan, error = ctypes.c_void_p(), ctypes.c_void_p(), bridge.Error()
    bridge.call("hone_chain_parse", ctypes.byref(chain), b"box")
    grown = Grown(bridge.Options(size, b"direct", None, 1, False, None, 0), newer)
    status = library().hone_plan_create(ctypes.byref(plan), bridge.device(), chain,
                                        ctypes.byref(bridge.Desc(16, 16, 0, 1, 0)), ctypes.byref(grown),
                                        ctypes.byref(error))
    library().hone_plan_destroy(ctypes.byref(plan))
    library().hone_chain_destroy(ctypes.byref(chain))
    return status, error.message.decode() if status else ""


def check_grown():
    known, whole, unsupported = ctypes.sizeof(bridge.Options), ctypes.sizeof(Grown), 6
    for size, newer in ((0, 0), (0, 77), (known, 77), (whole, 0)):
        frame.check(make_grown(size, newer)[0] == 0, f"size {size}, {newer}: {make_grown(size, newer)}")
    status, message = make_grown(whole, 77)
    frame.check(status == unsupported and "newer" in message, f"an unknown option is passed over: {status} {message}")
    for size in (3, known - 1, 1 << 40):
        status, message = make_grown(size, 0)
        frame.check(status == USAGE and "sizeof" in message, f"size {size}: {status} {message}")


def test_options_of_other_versions_are_taken_or_refused():
    in_child(check_grown)


if __name__ == "__main__":
    frame.main(globals())
