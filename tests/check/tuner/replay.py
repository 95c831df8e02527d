#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""T4 files: exports fit the public schema, imports come back, and the search reaches its goals on recorded spaces.
replay.py build=FOLDER"""

import glob
import hashlib
import json
import math
import os
import random
import re
import subprocess

import frame

# What schema 1.0.0 of the FAIR auto-tuning results format demands, in our own words: name -> (type, required).
NUMBER, TEXT, LIST, OBJECT = (int, float), (str,), (list,), (dict,)
RESULT = {"timestamp": (TEXT, False), "configuration": (OBJECT, True), "objectives": (LIST, False),
          "times": (OBJECT, True), "invalidity": (TEXT, True), "correctness": (NUMBER, True), "measurements": (LIST, False)}
TIMES = {"compilation_time": (NUMBER, False), "runtimes": (LIST, False), "framework": (NUMBER, False),
         "search_algorithm": (NUMBER, False), "validation": (NUMBER, False)}
MEASUREMENT = {"name": (TEXT, False), "value": ((int, float, str, list), False), "unit": (TEXT, False)}
INVALIDITY = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}
# The next version adds metadata that must be there.
METADATA = {"compute_api": "OpenCL", "autotuner": "hone", "timeunit": "milliseconds"}

DEVICE = {"name": "Toaster", "vendor": "Kitchen", "platform": "Bread", "driver": "1.0", "architecture": "", "kind": "gpu",
          "vendor_id": 7, "compute_units": 4}
BOX = {"filter": "box", "parameters": "size=8", "border": "replicate", "source": "0123456789abcdef", "type": "u8",
       "channels": 1, "width": 640, "height": 480}


def fit(value, shape, where):
    frame.check(isinstance(value, dict), f"{where} is no object")
    for name, (types, required) in shape.items():
        frame.check(name in value or not required, f"{where} lacks {name}")
        if name in value:
            frame.check(isinstance(value[name], types) and not isinstance(value[name], bool),
                        f"{where}: {name} is {value[name]!r}")


def validate(document):
    """What the public schema checks, and what we promise beyond it."""
    frame.check(re.search(r"^[0-9]+.[0-9]+.[0-9]+$", document["schema_version"]), "schema_version")
    frame.check(isinstance(document["results"], list) and document["results"], "results")
    for number, result in enumerate(document["results"]):
        where = f"result {number}"
        fit(result, RESULT, where)
        fit(result["times"], TIMES, where)
        frame.check(result["invalidity"] in INVALIDITY, f"{where}: {result['invalidity']}")
        for measurement in result["measurements"]:
            fit(measurement, MEASUREMENT, where)
        frame.check((result["correctness"] == 1) == (result["invalidity"] == "correct"), f"{where}: correctness")
        frame.check(result["times"]["compilation"] == result["times"]["compilation_time"], f"{where}: compilation")
    for name, value in METADATA.items():
        frame.check(document["metadata"][name] == value, f"metadata: {name}")
    for name in ("platform", "device", "autotuner_version", "timestamp"):
        frame.check(document["metadata"][name], f"metadata: {name}")


def attempt(variant, config, state, ms, **case):
    return {"v": 1, "kind": "try", "time": 1700000000, "device": DEVICE, "case": {**BOX, **case},
            "config": {"variant": variant, "config": config, "ms": ms}, "state": state, "build_ms": 12.5,
            "runs": [ms, ms * 1.1] if ms > 0 else [], "note": "" if ms > 0 else "it did not work"}


TRIES = [attempt("direct", "WG_X=16 WG_Y=16", "started", -1), attempt("direct", "WG_X=16 WG_Y=16", "ok", 2.0),
         attempt("direct", "WG_X=32 WG_Y=16", "ok", 1.5), attempt("direct", "WG_X=64 WG_Y=16", "slow", 3.0),
         attempt("separable", "WG_X=16 WG_Y=16", "wrong", -1), attempt("image", "WG_X=16 WG_Y=16", "compile", -1),
         attempt("running", "ROWS=64", "timeout", -1), attempt("pairs", "WG_X=16 WG_Y=16", "crash", -1),
         attempt("strips", "PX=16", "run", -1)]


class Place(frame.Folder):
    """A folder with tuning records."""

    def __init__(self, lines=()):
        super().__init__()
        if lines:
            os.mkdir(os.path.join(self.folder, "hone"), 0o700)
            with open(os.path.join(self.folder, "hone", "tuning.jsonl"), "w", encoding="utf-8") as file:
                file.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        self.environment = {**os.environ, "XDG_DATA_HOME": self.folder, "XDG_CACHE_HOME": os.path.join(self.folder, "c")}

    def hone(self, *arguments, status=0):
        result = subprocess.run([os.path.join(frame.build(), "hone"), *arguments], capture_output=True, text=True,
                                check=False, env=self.environment)
        frame.check(result.returncode in ((0, 2, 3) if status is None else (status,)), f"hone {' '.join(arguments)} ends with {result.returncode}, not {status}: "
                                                 f"{result.stdout[-300:]}{result.stderr[-300:]}")
        return result.stdout + result.stderr

    def export(self, *arguments):
        self.hone("tune", "--export", self.path("out.json"), *arguments)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file)


def test_exports_fit_the_schema():
    with Place(TRIES) as place:
        document = place.export()
        validate(document)
        frame.check(len(document["results"]) == len(TRIES) - 1, "one result for each configuration")
        by_variant = {r["configuration"]["variant"]: r["invalidity"] for r in document["results"]}
        frame.check(by_variant == {"direct": "correct", "separable": "correctness", "image": "compile", "running": "timeout",
                                   "pairs": "runtime", "strips": "runtime"}, f"{by_variant}")
        first = document["results"][0]
        frame.check(first["configuration"] == {"variant": "direct", "WG_X": 16, "WG_Y": 16}, f"{first}")
        frame.check(first["times"]["runtimes"] == [2.0, 2.2], f"{first['times']}")
        told = {m["name"] for r in document["results"] for m in r["measurements"]}
        frame.check(not told & {"bytes", "flops"}, f"of another source than this hone's: {told}")


def test_exports_tell_bytes_for_replay():
    """A transpose reads and writes each pixel once."""
    with Place() as place:
        place.hone("tune", "transpose", "--size", "64x32", "--format", "u8", "--channels", "1", "--variant", "naive", "--evaluations", "2")
        document = place.export("--size", "64x32", "--format", "u8", "--channels", "1")
        validate(document)
        works = [r for r in document["results"] if r["invalidity"] == "correct"]
        bytes_of = [m["value"] for r in works for m in r["measurements"] if m["name"] == "bytes"]
        frame.check(works and bytes_of == [2 * 64 * 32] * len(works), f"{works}")
        fastest = min(sorted(r["times"]["runtimes"])[len(r["times"]["runtimes"]) // 2] for r in works)
        result = replay(place, place.path("out.json"), "--metric", "gbs=bytes/ms", "--objective", "gbs:max")
        frame.check(math.isclose(result["optimum"], 2 * 64 * 32 / fastest, rel_tol=1e-4), f"{result}, {works}")


def test_nothing_private_is_exported():
    with Place(TRIES) as place:
        text = json.dumps(place.export())
        for secret in (os.uname().nodename, os.path.expanduser("~"), place.folder):
            frame.check(len(secret) < 3 or secret not in text, f"{secret} is in the file")


def test_exports_are_selected():
    other = [attempt("direct", "WG_X=16 WG_Y=16", "ok", 9.0, width=64), attempt("direct", "WG_X=16", "ok", 5, type="f32")]
    with Place(TRIES + other) as place:
        said = place.hone("tune", "--export", place.path("out.json"), status=2)
        frame.check("3 cases fit" in said, said)
        frame.check(len(place.export("--size", "64x480")["results"]) == 1, "by size")
        frame.check(len(place.export("box size=8", "--format", "f32")["results"]) == 1, "by format")
        place.hone("tune", "--export", place.path("all/"), "--device", "toast")
        frame.check(len(glob.glob(place.path("all/*.T4.json"))) == 3, "a folder takes all")
        frame.check("nothing" in place.hone("tune", "--export", place.path("x"), "sobel", status=2), "no such case")


def test_exports_are_selected_by_what_was_tuned():
    """By the words that `hone tune` took, also where defaults and weights are others in the records; and by the border."""
    weights = "3x3: 1 2 1 2 4 2 1 2 1"
    digest = hashlib.sha256(weights.encode()).hexdigest()[:8]
    cases = {"box size=5 border=wrap": ("box", "size=5", "wrap"), "box  size=5": ("box", "size=5", "replicate"),
             "gaussian sigma=3": ("gaussian", "sigma=3 method=auto", "replicate"),
             "gaussian exact=yes sigma=3": ("gaussian", "sigma=3 method=auto exact=yes", "replicate"),
             "epsilon threshold=8%": ("epsilon", "radius=4 threshold=8%", "replicate"),
             f"convolve kernel='{weights}'": ("convolve", f"kernel=3x3:{digest} scale=1 offset=0 flip=no", "replicate")}
    tries = {words: attempt("direct", "WG_X=16", "ok", 1.0 + number, filter=name, parameters=parameters, border=border)
             for number, (words, (name, parameters, border)) in enumerate(cases.items())}
    choices = [{"v": 1, "kind": "choice", "time": 1700000000, "origin": "session", "device": DEVICE, "case": one["case"],
                "ranked": [one["config"]], "evaluations": 1, "default_ms": 1.0, "first_rung_ms": 1.0, "plain_ms": 1.0,
                "seconds": 1.0} for one in tries.values()]
    with Place([*tries.values(), *choices]) as place:
        listed = place.hone("cache", "tuning")
        frame.check(listed.count("box size=5, u8") == 1 and listed.count("box size=5 border=wrap, u8") == 1, listed)
        for words, one in tries.items():
            times = [result["times"]["runtimes"][0] for result in place.export(words)["results"]]
            frame.check(times == [one["config"]["ms"]], f"{words}: {times}")
        for words in ("box size=6", "box size=5 border=reflect", "gaussian sigma=4"):
            frame.check("nothing" in place.hone("tune", "--export", place.path("x"), words, status=2), words)


def test_imports_come_back():
    with Place(TRIES) as place, Place() as other:
        place.export()
        frame.check("8 records added" in other.hone("tune", "--import", place.path("out.json")), "all are added")
        frame.check("0 records added" in other.hone("tune", "--import", place.path("out.json")), "nothing is added twice")
        again = other.export()
        validate(again)
        with open(place.path("out.json"), encoding="utf-8") as file:
            document = json.load(file)
        strip = lambda d: [{k: v for k, v in r.items() if k != "timestamp"} for r in d["results"]]  # noqa: E731
        frame.check(strip(again) == strip(document), "an import exports as it came")
        choice = json.loads(other.hone("cache", "tuning", "--json"))["choices"][0]
        frame.check([c["ms"] for c in choice["ranked"]] == [1.5, 2.0], f"{choice['ranked']}")
        with open(place.path("loose.jsonl"), "w", encoding="utf-8") as file:
            file.write(json.dumps(attempt("bands", "ROWS=8", "ok", 1.0)) + "\nnonsense\n")
        frame.check("1 record added" in other.hone("tune", "--import", place.path("loose.jsonl")), "records import, too")
        frame.check(len(other.export()["results"]) == len(TRIES), "and count")


def test_values_that_are_no_whole_numbers():
    config = "TYPE=float4 SCALE=0.25 THIRD=0.3333333333 N=-8"
    with Place([attempt("direct", config, "ok", 2.0)]) as place, Place() as other:
        document = place.export()
        wanted = {"variant": "direct", "TYPE": "float4", "SCALE": 0.25, "THIRD": "0.3333333333", "N": -8}
        frame.check(document["results"][0]["configuration"] == wanted, f"{document['results'][0]}")
        other.hone("tune", "--import", place.path("out.json"))
        with open(other.path("hone/tuning.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        frame.check([line["config"]["config"] for line in lines if line["kind"] == "try"] == [config], f"{lines}")
        frame.check({line["time"] for line in lines} == {1700000000}, f"when it was measured counts: {lines}")


def test_negative_numbers_are_no_words():
    """Of a word, of fractions and of whole numbers from -3 on, in one file."""
    results = [{"configuration": {"TYPE": kind, "BIAS": bias, "N": n}, "times": {"runtimes": [5 + n + bias]},
                "invalidity": "correct", "correctness": 1.0} for kind in ("int", "long") for bias in (-0.5, 0.25)
               for n in (-1, -2, -3)]
    with Place([]) as place:
        with open(place.path("all.json"), "w", encoding="utf-8") as file:
            json.dump({"schema_version": "1.0.0", "results": results}, file)
        report = replay(place, place.path("all.json"))
        best = report["best"]["configuration"]
        frame.check(report["configurations"] == 12 and best["N"] == -3 and best["BIAS"] == -0.5, f"{report}")
        text = place.hone("tune", "--replay", place.path("all.json"))
        frame.check("BIAS=-0.5 N=-3;" in text, text)


def test_other_files_are_refused():
    cases = {"no JSON": "{", "neither a T4 file": "{\"a\": 1}", "nor a cache file": "{\"cache\": {}}", "holds no results": "{\"results\": []}",
             "has no configuration": "{\"results\": [7]}"}
    with Place() as place:
        for words, text in cases.items():
            with open(place.path("bad.json"), "w", encoding="utf-8") as file:
                file.write(text)
            frame.check(words in place.hone("tune", "--replay", place.path("bad.json"), status=3), words)
        place.hone("tune", "--replay", place.path("none.json"), status=3)
        with open(place.path("foreign.json"), "w", encoding="utf-8") as file:
            json.dump(foreign(), file)
        frame.check("not exported by hone" in place.hone("tune", "--import", place.path("foreign.json"), status=2), "import")
        with open(place.path("kernel.json"), "w", encoding="utf-8") as file:
            json.dump({**foreign(), "metadata": {"x_hone": {"kernel": "blur"}}}, file)
        frame.check("kernel of one's own" in place.hone("tune", "--import", place.path("kernel.json"), status=2), "import")


def foreign():
    """What another tuner writes: numbers and words, seconds, some failures; the best is x=4, mode=fast."""
    results = []
    for x in (1, 2, 4, 8, 16):
        for mode in ("slow", "fast"):
            for factor in (0.5, 1.5):
                seconds = (1 + abs(math.log2(x) - 2)) * (2 if mode == "slow" else 1) * factor
                results.append({"configuration": {"x": x, "mode": mode, "factor": factor}, "correctness": 1,
                                "invalidity": "correct" if x < 16 else "compile", "times": {"runtimes": [seconds]}})
    return {"schema_version": "1.0.0", "metadata": {"timeunit": "seconds"}, "results": results}


def replay(place, name, *arguments):
    return json.loads(place.hone("tune", "--replay", name, "--json", *arguments))


def test_foreign_files_are_replayed():
    with Place() as place:
        with open(place.path("foreign.json"), "w", encoding="utf-8") as file:
            json.dump(foreign(), file)
        result = replay(place, place.path("foreign.json"), "--evaluations", "20")
        frame.check(result["configurations"] == 16 and result["optimum_ms"] == 500, f"{result}")
        frame.check(result["winner"] > 0.999 and result["agreement"] == 1, f"{result}")


CACHE = os.path.join(frame.ROOT, "tests", "recorded", "convolution.kernel-tuner.json")  # of a run that has not ended


def test_caches_of_kernel_tuner_are_replayed():
    with open(CACHE, encoding="utf-8") as file:
        text = file.read()
    entries = json.loads(text[:-1] + "}}")["cache"].values()
    times = sorted(sorted(one["times"])[len(one["times"]) // 2] for one in entries if isinstance(one["time"], float))
    with Place() as place:
        def outcome(content):
            with open(place.path("cache.json"), "w", encoding="utf-8") as file:
                file.write(content)
            result = replay(place, place.path("cache.json"), "--evaluations", "100")
            return result["configurations"], result["optimum_ms"]

        whole = (len(times), times[0])
        for content in (text, text + "\n", text[:-1], text[:-1] + "}}", text[:-1] + "}\n}\n",
                        text + '\n"16,8,0": {"block_size_x": 16, "block_si'):
            frame.check(outcome(content) == whole, f"...{content[-30:]!r}: {outcome(content)}, not {whole}")
        dice = random.Random(1)
        for at in [dice.randrange(len(text)) for _ in range(40)]:  # cut or spoilt anywhere: an answer or an error
            spoilt = text[:at] + dice.choice("{}[]\",\\N\0") + text[at + dice.choice((0, 1, 100)):]
            for content in (text[:at], spoilt):
                with open(place.path("bad.json"), "w", encoding="utf-8") as file:
                    file.write(content)
                place.hone("tune", "--replay", place.path("bad.json"), "--repeat", "1", status=None)


def best_of(entries, value, most):
    """The value of the best entry by it, and the parameters of all that have it; `seconds` is the median of their times."""
    works = [one for one in entries if isinstance(one["time"], float)]
    for one in works:
        one["seconds"] = sorted(one["times"])[len(one["times"]) // 2] * 1e-3
    best = (max if most else min)(map(value, works))
    return best, [{name: one[name] for name in ("block_size_x", "block_size_y", "use_padding")} for one in works
                  if value(one) == best]


def test_caches_are_replayed_by_another_objective():
    with open(CACHE, encoding="utf-8") as file:
        entries = list(json.loads(file.read()[:-1] + "}}")["cache"].values())
    metrics = "--metric", "each=1/time/block_size_x", "--metric", "twice=2*each"
    with Place() as place:
        for value, most, *arguments in ((lambda e: e["GFLOP/s"], True, "--objective", "GFLOP_s:max"),
                                        (lambda e: e["compile_time"], False, "--objective", "compile_time:min"),
                                        (lambda e: e["seconds"], True, "--objective", "time:max"),
                                        (lambda e: e["block_size_y"], True, "--objective", "block_size_y:max"),
                                        (lambda e: 2 / e["seconds"] / e["block_size_x"], True, *metrics, "--objective", "twice:max")):
            wanted, configurations = best_of(entries, value, most)
            result = replay(place, CACHE, "--evaluations", "100", "--repeat", "3", *arguments)
            frame.check(math.isclose(result["optimum"], wanted, rel_tol=1e-6), f"{arguments}: {result}, not {wanted}")
            frame.check(result["objective"] == arguments[-1] and result["winner"] > 0.999, f"{arguments}: {result}")
            frame.check(result["best"]["configuration"] in configurations, f"{arguments}: {result}")
        frame.check(math.isclose(result["best"]["metrics"]["twice"], result["optimum"]), f"{result['best']}")
        for words, *arguments in (("there are time, ms", "--objective", "nonsense:min"), ("write", "--objective", "GFLOP_s"),
                                  ("the file does not tell it", "--objective", "energy"),
                                  ("a number in its place", "--metric", "gbs=bytes/time")):
            said = place.hone("tune", "--replay", CACHE, *arguments, status=None)
            frame.check(words.lower() in said.lower() and "optimum" not in said, f"{arguments}: {said}")


def test_files_are_replayed_by_energy():
    """What is slow takes least energy here; a result that tells none does not count."""
    document = foreign()
    for number, result in enumerate(document["results"]):
        if number:
            result["measurements"] = [{"name": "energy", "value": 100 / result["times"]["runtimes"][0], "unit": "J"}]
    works = [r for r in document["results"][1:] if r["invalidity"] == "correct"]
    with Place() as place:
        with open(place.path("energy.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
        result = replay(place, place.path("energy.json"), "--evaluations", "20", "--objective", "energy")
        frame.check(result["configurations"] == len(works), f"{result}")
        slowest = max(works, key=lambda r: r["times"]["runtimes"][0])
        frame.check(math.isclose(result["optimum"], slowest["measurements"][0]["value"], rel_tol=1e-6), f"{result}")
        frame.check(result["best"]["configuration"] == slowest["configuration"] and result["winner"] > 0.999, f"{result}")


def test_caches_of_kernel_tuner_become_seeds():
    with Place() as place:
        frame.check("1 record added" in place.hone("tune", "--import", CACHE), "the fastest are added")
        frame.check("0 records added" in place.hone("tune", "--import", CACHE), "once")
        with open(place.path("hone/tuning.jsonl"), encoding="utf-8") as file:
            choice, = [json.loads(line) for line in file]
        frame.check(choice["case"]["filter"] == "kernel:convolution_kernel" and choice["device"]["name"] == "Toaster 3000" and
                    choice["ranked"][0]["config"] == "block_size_x=64 block_size_y=2 use_padding=1", f"{choice}")
        with open(place.path("garbage"), "wb") as file:
            file.write(bytes(range(256)) * 9)
        frame.check("nothing to import" in place.hone("tune", "--import", place.path("garbage"), status=3), "garbage")


def recordings():
    names = sorted(glob.glob(os.path.join(frame.ROOT, "tests", "recorded", "*.T4.json")))
    frame.check(names, "there are too few recordings in tests/recorded")
    return names


def test_recordings_fit_the_schema():
    for name in recordings():
        frame.check(os.path.getsize(name) < 400_000, f"{name} is large")
        with open(name, encoding="utf-8") as file:
            validate(json.load(file))


def mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def test_search_reaches_its_goals():
    """With seeds: 93 % of the optimum after 20 evaluations, 97 % after 100, on average over the spaces."""
    with Place() as place:
        after20, after100 = [], []
        for name in recordings():
            result = replay(place, name, "--evaluations", "100", "--repeat", "50")
            after20.append(result["shares"]["20"][0])
            after100.append(result["shares"]["100"][0])
            print(f"# {os.path.basename(name)}: {result['configurations']} configurations, {after20[-1]:.3f} after 20, "
                  f"{after100[-1]:.3f} after 100, 95 % after {result['median_to_95']:.0f}, agreement {result['agreement']:.2f}")
        frame.check(mean(after20) >= 0.93, f"{mean(after20):.3f} of the optimum after 20 evaluations: {after20}")
        frame.check(mean(after100) >= 0.97, f"{mean(after100):.3f} of the optimum after 100 evaluations: {after100}")


def test_search_works_without_seeds():
    """It then begins anywhere: 80 % of the optimum after 20 evaluations, 95 % after 100."""
    with Place() as place:
        results = [replay(place, name, "--evaluations", "100", "--repeat", "50", "--from-scratch") for name in recordings()]
        for evaluations, goal in (("20", 0.8), ("100", 0.95)):
            reached = mean([result["shares"][evaluations][0] for result in results])
            frame.check(reached >= goal, f"{reached:.3f} of the optimum after {evaluations} evaluations")
            print(f"# {reached:.3f} of the optimum after {evaluations} evaluations from scratch")


def test_searches_come_to_the_same_end():
    """In 95 % of repeated runs the winner is within 2 % of the usual one."""
    with Place() as place:
        shares = [replay(place, name, "--evaluations", "100", "--repeat", "50")["agreement"] for name in recordings()]
        frame.check(sum(shares) / len(shares) >= 0.95, f"only {shares} agree")


def test_defaults_are_those_of_the_measurements():
    script = os.path.join(frame.ROOT, "scripts", "tuning_data.py")
    result = subprocess.run([script, "check"], capture_output=True, text=True, check=False)
    for line in result.stdout.splitlines():
        print(f"# {line}")
    frame.check(result.returncode == 0, result.stderr)


if __name__ == "__main__":
    frame.main(globals())
