#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes what hone depends on fail, call by call, once and for good, and looks at what becomes of it.

    faults.py build=FOLDER [effort=quick|default|all] [driver=pocl|rusticl] [TEST...]

What fails: every OpenCL call (calls_*), allocation (memory_*), file operation (files_*) and new thread (threads_*), of the
scenes of build/tests/life and of `hone apply`, to a whole image (apply) and to one in tiles (tiles); with programs on disk
("warm") and without ("cold"). For each place in the program, the first and the last of its calls fail (effort=all: every one;
effort=quick: of every few places one call, in one way). Then: the process ends by itself, soon, with a status that tells; the
message names the call and its code, or the result is right all the same; an output is whole or as it was; nothing leaks;
nothing is released twice; no promise is broken; the next start works as if nothing had been. kills_*: the process is killed
before each file operation: the output is old or whole, and the next run leaves nothing else.
"""

import bisect
import collections
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "check"))
import frame  # noqa: E402

LIMIT = 300  # seconds until a process counts as hanging, on a busy machine, too

# Formats, hints and facts that a device need not know are optional. What comes of such a call failing is right, or is said in
# other words.
OPTIONAL_CALLS = {"clGetPlatformInfo", "clGetSupportedImageFormats", "clGetKernelArgInfo",
                  "clGetKernelWorkGroupInfo", "clGetProgramBuildInfo", "clGetPlatformIDs", "clGetDeviceIDs"}
REQUIRED_ITEMS = {"build", "loops", "local", "integers", "floats", "atomics"}

# What the command does as often as the clock says: once a run takes 0.1 s, then each second. Such a place is struck once, in a
# run that a call to the driver makes last a second.
ON_THE_CLOCK = {"starved_since"}
SLOWED = {"LAYER_ONLY": "clCreateContext", "LAYER_FAIL": "1", "LAYER_SLEEP": "1"}
AIMS = 4  # at a place that is reached less often than in the run before
QUICK = 4  # effort=quick takes one of so many places

Run = collections.namedtuple("Run", "status output sites failed leaks faults hung")
Point = collections.namedtuple("Point", "name site number sticky")

# How a kind of fault is asked for: the prefix of its variables, and sets of further ones.
Kind = collections.namedtuple("Kind", "name prefix always ways")
CALLS = Kind("calls", "LAYER", {}, [{}])
MEMORY = Kind("memory", "INTERPOSE", {"INTERPOSE_KIND": "memory"}, [{}])
FILES = Kind("files", "INTERPOSE", {"INTERPOSE_KIND": "files"},
             [{"INTERPOSE_ERRNO": "5"}, {"INTERPOSE_ERRNO": "28"}, {"INTERPOSE_SHORT": "1"}, {"INTERPOSE_ERRNO": "4"}])
THREADS = Kind("threads", "INTERPOSE", {"INTERPOSE_KIND": "threads"}, [{}])
KILLED = {"INTERPOSE_KILL": "1"}
INTERRUPTED, SHORT = {"INTERPOSE_ERRNO": "4"}, {"INTERPOSE_SHORT": "1"}


def drivers():
    return {"pocl": {"OCL_ICD_VENDORS": "pocl.icd"},
            "rusticl": {"OCL_ICD_VENDORS": "rusticl.icd", "RUSTICL_ENABLE": "llvmpipe"}}


def driver():
    return frame.option("driver", "pocl")


def effort():
    return frame.option("effort", "default")


def built(name):
    return os.path.join(frame.build(), "tests", name)


class Place(frame.Folder):
    """Folders for one test: what the driver compiled is kept, what hone keeps is made anew for each run."""

    def __init__(self):
        super().__init__()
        self.kept, self.template, self.cache = (self.path(name) for name in ("driver", "template", "cache"))
        os.mkdir(self.kept, 0o700)
        os.mkdir(self.template, 0o700)

    def wrong_kernels(self):
        """A folder of kernels in which box does not compile."""
        kernels = self.path("kernels")
        if not os.path.exists(kernels):
            for name in ("filter", "filters"):
                shutil.copytree(os.path.join(frame.ROOT, "src", name), os.path.join(kernels, name))
            with open(os.path.join(kernels, "filters", "box", "kernel.cl"), "w", encoding="utf-8") as file:
                file.write("this is no kernel;\n")
        return kernels

    def refresh(self, warm):
        shutil.rmtree(self.cache, ignore_errors=True)
        if warm:
            shutil.copytree(self.template, self.cache)
        else:
            os.mkdir(self.cache, 0o700)


# ---- What is run ----

class Scene:
    """A scene of build/tests/life."""

    statuses = (0, 1)

    def __init__(self, name):
        self.name = name
        self.program = built("life")
        self.arguments = [name]

    def environment(self, place):
        environment = {"OPENCL_LAYERS": built("layer.so")}
        if self.name == "syntax":
            environment["HONE_KERNEL_DIR"] = place.wrong_kernels()
        if self.name == "vendor":  # a device that plays a vendor's
            environment["OPENCL_LAYERS"] = f"{built('vendor.so')}:{built('layer.so')}"
            environment["FAKE_ADD"] = ("cl_qcom_perf_hint,cl_qcom_ion_host_ptr,cl_qcom_android_native_buffer_host_ptr,"
                                       "cl_nv_device_attribute_query,cl_amd_device_attribute_query")
        return environment

    def prepare(self, place):
        pass

    def results(self, place, run):
        return [line for line in run.output.splitlines() if line.startswith("result ")]

    def failure(self, run):
        """The line that tells what failed, or None."""
        match = re.search(r"^failed HONE_ERROR_\w+ .*$", run.output, re.M)
        return match.group(0) if match else None

    def left_over(self, place, run):
        return None

    def lost(self, leaks):
        return leaks


DEVICE = 8192  # bytes, of its description


class Apply:
    """hone apply to an image, over an older result."""

    name = "apply"
    statuses = (0, 3, 4, 5)
    old = b"P5 1 1 255\nx"

    def __init__(self):
        self.left = self.whole = None
        self.program = os.path.join(frame.build(), "hone")
        self.arguments = ["apply", "--sync", "-j", "1", "box size=3 | sobel", "in.pgm", "-o", "out/result.pgm"]

    def environment(self, place):
        return {"OPENCL_LAYERS": built("layer.so")}

    def prepare(self, place):
        os.makedirs(place.path("out"), exist_ok=True)
        for name in os.listdir(place.path("out")):
            os.unlink(place.path("out", name))
        with open(place.path("in.pgm"), "wb") as file:
            file.write(b"P5 20 10 255\n" + bytes((i * 37) % 256 for i in range(200)))
        with open(place.path("out", "result.pgm"), "wb") as file:
            file.write(self.old)

    def content(self, place):
        with open(place.path("out", "result.pgm"), "rb") as file:
            return file.read()

    def results(self, place, run):
        if self.whole is None and run.failed is None:
            self.whole = self.content(place)
        return [self.content(place)]

    def failure(self, run):
        match = re.search(r"^hone(?: \w+)?: (?!warning: ).+$", run.output, re.M)
        return match.group(0) if match else None

    def left_over(self, place, run):
        """What is wrong with the folder of outputs, or None."""
        names = os.listdir(place.path("out"))
        if names != ["result.pgm"]:
            return f"the folder of outputs holds {names}"
        if run.status == 0 or self.content(place) == self.old:
            return None
        if self.content(place) != self.whole:
            return "it failed and the output is neither old nor whole"
        # What fails behind the rename is no reason to keep silent, nor to say that there is no output.
        told = "cannot write to standard output" in run.output or "result.pgm' is written, but" in run.output
        return None if told else "it failed and does not say that the output is there"

    def lost(self, leaks):
        """Without the device that is left, with its context, to the end of the process; the first run, in which nothing fails,
        tells how that looks."""
        if self.left is None:
            held = [line.split() for line in leaks if line.startswith("leak allocation ")]
            is_device = set(leaks) - {" ".join(words) for words in held} == {"leak context clCreateContext 1"}
            self.left = leaks if is_device and sum(int(words[3]) for words in held) < DEVICE else []
        return [line for line in leaks if line not in self.left]


class Tiles(Apply):
    """hone apply to an image in tiles: behind windows it is turned, by way of a temporary file."""

    name = "tiles"

    def __init__(self):
        super().__init__()
        self.arguments = ["apply", "--sync", "-j", "1", "--memory", "1M", "box size=3 | transpose | sobel", "in.pgm", "-o",
                          "out/result.pgm"]

    def prepare(self, place):
        super().prepare(place)
        with open(place.path("in.pgm"), "wb") as file:
            file.write(b"P5 700 600 255\n" + bytes((i * 37 + i // 700) % 256 for i in range(700 * 600)))


# ---- Running ----

def run(place, work, kind, point=None, way=None, cache=None, fresh=True):
    """Runs the work under the layer (which counts objects, too); `point` says what fails, `way` how; `fresh`: over an old output."""
    reports = {"LAYER": place.path("layer-report"), "INTERPOSE": place.path("interpose-report")}
    for path in reports.values():
        if os.path.exists(path):
            os.unlink(path)
    cache = cache or place.cache
    environment = dict(os.environ, XDG_CACHE_HOME=cache, XDG_DATA_HOME=os.path.join(cache, "data"), POCL_CACHE_DIR=place.kept,
                       **drivers()[driver()])
    environment.update(work.environment(place), LAYER_REPORT=reports["LAYER"])
    if kind.prefix == "INTERPOSE":
        environment.update(kind.always, LD_PRELOAD=built("interpose.so"), INTERPOSE_REPORT=reports["INTERPOSE"])
    if point:
        environment.update(way or {})
        for key, value in (("ONLY", point.name), ("SITE", point.site), ("FAIL", point.number),
                           ("STICKY", int(point.sticky))):
            environment[f"{kind.prefix}_{key}"] = str(value)
    if fresh:
        work.prepare(place)
    hung = False
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([work.program, *work.arguments], env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=place.folder)
        try:
            status = process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            status, hung = process.wait(), True
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    got = read_reports(status, text, reports, kind, hung)
    return got._replace(leaks=work.lost(got.leaks))


def read_reports(status, text, reports, kind, hung):
    sites, failed, leaks, faults = {}, None, [], []
    for prefix, path in reports.items():
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            lines = [line.split() for line in file]
        for words in lines:
            if words[0] == "site" and prefix == kind.prefix:
                sites[(words[1], words[2])] = int(words[3])
            elif words[0] == "failed" and prefix == kind.prefix:
                failed = words[1]
            elif words[0] == "leak":
                leaks.append(" ".join(words))
            elif words[0] in ("over", "damage"):
                faults.append(" ".join(words))
    return Run(status, text, sites, failed, leaks, faults, hung)


def fits_selftest(got, wanted, afterwards):
    """An item that could not be asked does not hold. At the next start only what a driver denied (and no required item)
    may still not hold."""
    pairs = list(zip(got[0].split()[2:], wanted[0].split()[2:]))
    return len(pairs) > 5 and all(
        now == before or (now[:-1] == before[:-1] and now[-1] == "-" and
                          not (afterwards and before[:-1] in REQUIRED_ITEMS)) for now, before in pairs)


def fits(got, wanted, afterwards=False):
    """The same results; except that a device that cannot be described is left out of a list, and that variants which a
    device seems not to be able to run are."""
    if len(got) == 1 and str(got[0]).startswith("result selftest "):
        return fits_selftest(got, wanted, afterwards)
    if afterwards or not str(wanted[0]).startswith(("result list ", "result variants ")):
        return got == wanted
    known = {line.rsplit(" ", 1)[0]: line for line in wanted}
    return all(known.get(line.rsplit(" ", 1)[0], line) == line for line in got)


# ---- Judging ----

def message_complaint(work, kind, point, got):
    failure = work.failure(got)
    if not failure:
        return "it does not say what failed"
    if kind is not CALLS:
        return None
    # Once the device is lost, the last of several calls ends it.
    named = re.search(r"\bcl[A-Z]\w+", failure) if point.sticky else point.name in failure
    # What a device does not say that it has counts as missing.
    missing = point.name == "clGetDeviceInfo" and "HONE_ERROR_UNSUPPORTED" in failure
    if not named and not missing and point.name not in OPTIONAL_CALLS:
        return f"its message does not name the call: {failure}"
    if named and not re.search(r"CL_\w+ \(-\d+\)|clSVMAlloc of", failure):
        return f"its message does not name the code: {failure}"
    return None


def complaint(place, work, kind, point, got, wanted):
    """What is wrong with a run in which something failed, or None."""
    if got.hung:
        return f"it hung for {LIMIT} s"
    if got.status < 0:
        return f"it was ended by signal {-got.status}"
    if got.status not in work.statuses:
        return f"its exit status is {got.status}"
    if got.leaks or got.faults:
        return ", ".join((got.leaks + got.faults)[:4])
    if work.left_over(place, got):
        return work.left_over(place, got)
    if got.status == 0:
        return None if fits(work.results(place, got), wanted) else "it claims success with another result"
    return message_complaint(work, kind, point, got)


def harmless(way):
    """Faults that are none: they must not even show."""
    return way in (INTERRUPTED, SHORT)


def ways_for(kind, point):
    for way in kind.ways:
        if not (harmless(way) and (point.sticky or point.name not in ("read", "write"))):
            yield way


def strike(place, work, kind, point, way, warm):
    """The run in which the call fails. A place that is reached less often than before is aimed at again."""
    for _ in range(AIMS):
        place.refresh(warm)
        got = run(place, work, kind, point, way)
        if got.failed or got.hung:
            break
        point = point._replace(number=max(1, min(point.number, got.sites.get((point.name, point.site), 1))))
    return got


def check_point(place, work, kind, point, way, wanted, warm):
    got = strike(place, work, kind, point, way, warm)
    text = complaint(place, work, kind, point, got, wanted)
    if text is None and harmless(way) and got.status != 0:
        text = "it does not go on after an interruption or a part"
    if text is None and got.failed is None:
        text = "the call was not reached"
    # Only what is remembered on disk can harm the next start.
    lasting = not warm or kind is FILES or re.search("Program|Kernel", point.name)
    if text is None and lasting and not point.sticky:
        got = run(place, work, kind)
        if got.status != 0 or not fits(work.results(place, got), wanted, True):
            text = f"the start after it gives {got.status} and {work.results(place, got)}"
    if text:
        last = [line for line in got.output.splitlines() if line][-3:]
        return f"{describe(point, way)}: {text}: {' / '.join(last)[:300]}"
    return None


def describe(point, way):
    kind = "all calls from" if point.sticky else "call"
    how = " ".join(f"{key}={value}" for key, value in (way or {}).items())
    return f"{kind} {point.name} no. {point.number} at {point.site} {how}".rstrip()


def numbers(count):
    """Which calls of a place fail."""
    return range(1, count + 1) if effort() == "all" else sorted({1, count})


def points(sites, known=()):
    """What to make fail: all places that are not known yet."""
    chosen = []
    for (name, site), count in sorted(sites.items()):
        if (name, site) in known:
            continue
        chosen += [Point(name, site, number, sticky) for number in numbers(count) for sticky in (False, True)
                   if not (sticky and driver() != "pocl")]
    return chosen


def faults(kind, chosen):
    """(point, way): what fails and how; for effort=quick a part, spread over the places, in which each way has its turn."""
    everything = [(point, way) for point in chosen for way in ways_for(kind, point)]
    if effort() != "quick":
        return everything
    places = collections.defaultdict(list)
    for point, way in everything:
        places[point.name, point.site].append((point, way))
    return [of_place[i // QUICK % len(of_place)] for i, of_place in enumerate(places.values()) if i % QUICK == 0]


def check_points(place, work, kind, chosen, wanted, warm):
    wrong, chosen = [], faults(kind, chosen)
    for point, way in chosen:
        text = check_point(place, work, kind, point, way, wanted, warm)
        if text:
            wrong.append(text)
            print(f"# {text}", flush=True)
    print(f"# {work.name}, {'warm' if warm else 'cold'}: {len(chosen)} faults, {len(wrong)} wrong", flush=True)
    frame.check(not wrong, f"{len(wrong)} of {len(chosen)} faults, the first: {wrong[:1]}")


def clean_run(place, work, kind, cache=None):
    got = run(place, work, kind, None, None, cache)
    got = got._replace(sites={site: count for site, count in got.sites.items() if not on_the_clock(work, site)})
    frame.check(got.status == 0 and not got.leaks and not got.faults and got.sites,
                f"without a fault: status {got.status}, {got.leaks[:4]} {got.faults} {got.output[-300:]}")
    return got


def check_work(work, kind):
    with Place() as place:
        place.refresh(False)
        cold = clean_run(place, work, kind)
        wanted = work.results(place, cold)
        clean_run(place, work, kind, place.template)
        place.refresh(True)
        warm = clean_run(place, work, kind)
        frame.check(work.results(place, warm) == wanted, "cold and warm starts differ")
        check_points(place, work, kind, points(warm.sites), wanted, True)
        check_points(place, work, kind, points(cold.sites, warm.sites), wanted, False)
        if kind is FILES and isinstance(work, Apply):
            check_points(place, Slowed(work), kind, points(clock_sites(place, work)), wanted, True)


# ---- What the clock calls ----

@functools.cache
def functions(program):
    """(address, name) of all functions, sorted."""
    listed = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listed.splitlines()]
    return sorted((int(address, 16), name) for address, kind, name in words if kind in "tT")


def on_the_clock(work, site):
    known = functions(work.program)
    at = bisect.bisect(known, (int(site[1], 16), "")) - 1
    return known[at][1].split(".")[0] in ON_THE_CLOCK


class Slowed:
    """The work in runs of a second and more."""

    def __init__(self, work):
        self.work, self.name = work, work.name + ", slow"

    def __getattr__(self, name):
        return getattr(self.work, name)

    def environment(self, place):
        return self.work.environment(place) | SLOWED


def clock_sites(place, work):
    """Places that the clock reaches, each as reached once."""
    place.refresh(True)
    got = run(place, Slowed(work), FILES)
    sites = {site: 1 for site in got.sites if on_the_clock(work, site)}
    frame.check(got.status == 0 and sites, f"a slow run ends with {got.status}, and the clock has called {sorted(sites)}")
    return sites


# ---- kill -9 ----

def kill_complaint(place, work, point, seen):
    """`seen` gets what the output was when the process had ended."""
    place.refresh(True)
    got = run(place, work, FILES, point, KILLED)
    if got.hung or got.status not in (-9, *work.statuses):
        return f"{'it hung' if got.hung else 'status'} {got.status}"
    content = work.content(place)
    if content not in (work.old, work.whole):
        return "the output is neither old nor whole"
    seen.add((got.status, content == work.whole))
    again = run(place, work, FILES, fresh=False)
    names = os.listdir(place.path("out"))
    if again.status != 0 or work.content(place) != work.whole or names != ["result.pgm"]:
        return f"the next run ends with {again.status} and leaves {names}: {again.output[-200:]}"
    return None


def check_kills(work):
    with Place() as place:
        place.refresh(False)
        clean_run(place, work, FILES, place.template)
        place.refresh(True)
        clean = clean_run(place, work, FILES)
        work.results(place, clean)
        chosen, seen, wrong = [point for point in points(clean.sites) if not point.sticky], set(), []
        for point in chosen:
            text = kill_complaint(place, work, point, seen)
            if text:
                wrong.append(f"{describe(point, KILLED)}: {text}")
                print(f"# {wrong[-1]}", flush=True)
        print(f"# {work.name}: {len(chosen)} kills, {len(wrong)} wrong, {sorted(seen)}", flush=True)
        frame.check(not wrong, f"{len(wrong)} of {len(chosen)} kills, the first: {wrong[:1]}")
        frame.check({(-9, False), (-9, True)} <= seen, f"not killed on both sides of the rename: {seen}")


# ---- Is everything reached? ----

def call_sites(program):
    """(call, offset) -> function, for each call instruction into the OpenCL loader; by the disassembler."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True,
                          check=True).stdout
    found, function, pending = {}, "?", None
    for line in text.splitlines():
        label = re.match(r"^[0-9a-f]+ <(.*)>:", line)
        instruction = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line)
        if label:
            function, pending = label.group(1), None
        elif instruction:
            if pending:  # what a layer sees is the address behind the call
                found[(pending, instruction.group(1))] = function
            match = re.search(r"<(cl[A-Z]\w+)@plt>", instruction.group(3)) if instruction.group(2) == "call" else None
            pending = match.group(1) if match else None
    return found


# Why a place is not reached by the scenes: the function, and the reason.
NOT_REACHED = {
    "event_made": "by the host's clock: for the tuner, where the device has none",
    "kernel_binary": "asked by the tuner's reports alone",
    "kernel_set_any_sampler": "for kernels of the user, which the tuner runs",
    "transfer_run": "rows without padding, which the scenes have not, or one by one, where a driver refuses rectangles",
    "platform_describe": "the compiler's copy of a call for the case that the one before it fails",
    "kernel_get_argument": "asked by tests alone (the harness)",
    "no_such_kernel": "for a name that the user gives, of a kernel of theirs",
    "memory_create_table": "reached as soon as a variant has a table",
    "memory_copy": "reached as soon as a variant reads image objects and rows are padded",
    "memory_image_possible": "reached cold, as soon as a variant reads image objects",
    "memory_fill": "reached as soon as a variant clears its scratch memory",
    "vendor_describe": "the compiler's copy of a call for the case that the one before it fails",
}
# Of whose calls newer compilers make copies for cases that the scenes have not: one of each call is reached.
COPIED = ("hone_event_durations", "lanes_finish")


def test_every_place_is_reached():
    """What the scenes do not reach cannot fail in them."""
    reached = set()
    with Place() as place:
        for scene in scenes():
            place.refresh(False)
            for _ in range(2):
                reached |= set(clean_run(place, Scene(scene), CALLS).sites)
    places = {site: function for site, function in call_sites(built("life")).items()
              if not re.match("clRelease|clRetain|clSVMFree|clGetExtensionFunction", site[0])}
    missed = sorted({(function.split(".")[0], call) for (call, offset), function in places.items()
                     if (call, offset) not in reached})
    frame.check(len(places) > 80, f"only {len(places)} places were found")
    print(f"# {len(places)} places, {len(missed)} not reached: {missed}")
    some = {(function.split(".")[0], call) for (call, offset), function in places.items() if (call, offset) in reached}
    unknown = [item for item in missed if item[0] not in NOT_REACHED and not (item[0] in COPIED and item in some)]
    frame.check(not unknown, f"not reached by any scene: {unknown}")


# ---- The tests ----

def scenes():
    listed = subprocess.run([built("life")], capture_output=True, text=True, check=False)
    return listed.stdout.split()


def has_apply():
    program = os.path.join(frame.build(), "hone")
    asked = subprocess.run([program, "apply", "--help"], capture_output=True, text=True, check=False)
    return asked.returncode == 0 and "usage: hone apply" in asked.stdout


def add_tests(names):
    """Calls in every scene; memory and files where they differ from scene to scene."""
    works = {scene: Scene(scene) for scene in scenes()}
    if has_apply():
        works |= {"apply": Apply(), "tiles": Tiles()}
    if effort() == "quick":
        works = {name: work for name, work in works.items() if name in ("stream", "apply", "tiles")}
    for name, work in works.items():
        names["test_calls_" + name] = lambda work=work: check_work(work, CALLS)
        if name in ("plan", "images", "selftest", "list", "syntax", "objects", "apply", "tiles"):
            names["test_memory_" + name] = lambda work=work: check_work(work, MEMORY)
        if name in ("plan", "apply", "tiles"):
            names["test_files_" + name] = lambda work=work: check_work(work, FILES)
        if name in ("apply", "tiles"):
            names["test_threads_" + name] = lambda work=work: check_work(work, THREADS)
            names["test_kills_" + name] = lambda work=work: check_kills(work)


add_tests(globals())
frame.main(globals(), "driver", "effort")
