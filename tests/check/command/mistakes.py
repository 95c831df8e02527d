#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""What hone answers to what was not meant.  mistakes.py build=FOLDER"""

import itertools
import json
import os
import re
import shlex
import subprocess

import frame
from place import NOWHERE, Place


def wrong(place, *arguments, status=2):
    return place.run(*arguments, status=status, **NOWHERE)


def taken_apart(said, rule):
    """The command behind a rule, by the rules of a shell."""
    command = re.search(rf"{rule}(?:, and there is no file '.*?')?: (.*)", said)
    return shlex.split(command[1]) if command else None


def test_forgotten_quotes_are_answered_with_the_command():
    """Taken apart again by the rules of a shell, it is the command with the chain in one word."""
    inputs = ["a.jpg", "it's.jpg", "two words.jpg"]
    cases = (
        (["gaussian", "sigma=10", *inputs, "-o", "x.jpg"], ["gaussian sigma=10", *inputs, "-o", "x.jpg"]),
        (["-v", "gaussian", "sigma=10", "sobel", "norm=l1", "a.jpg", "-o", "x", "--quality", "80"],
         ["-v", "gaussian sigma=10 | sobel norm=l1", "a.jpg", "-o", "x", "--quality", "80"]),
        (["box", "size=3", "|", "sobel", "a.jpg", "-o", "x"], ["box size=3 | sobel", "a.jpg", "-o", "x"]),
        (["gaussian sigma=2", "border=zero", "a.jpg", "-ox"], ["gaussian sigma=2 border=zero", "a.jpg", "-ox"]),
        (["convolve", "kernel=1x2: 1 2", "a.jpg", "-o", "x"], ['convolve kernel="1x2: 1 2"', "a.jpg", "-o", "x"]),
        (["sobel", "a.jpg", "norm=l1", "-o", "x"], ["sobel norm=l1", "a.jpg", "-o", "x"]),
        (["gaussian", "sgma=10", "a.jpg", "-o", "x"], ["gaussian sgma=10", "a.jpg", "-o", "x"]),
        (["gaussian", "sigma=10"], ["gaussian sigma=10", "INPUT", "-o", "OUTPUT"]),  # a bar without quotes follows
    )
    with Place() as place:
        for given, meant in cases:
            said = wrong(place, "apply", *given).stderr
            frame.check(taken_apart(said, "needs quotes") == ["hone", "apply", *meant], f"{given}: {said}")


def test_an_input_in_the_place_of_the_chain_is_answered_with_the_command():
    with Place() as place:
        picture, folder = place.picture(8, 6), place.folder
        cases = (
            ([folder, "-o", "soft"], ["CHAIN", folder, "-o", "soft"]),
            ([picture, "gaussian"], ["gaussian", picture, "-o", "OUTPUT"]),
            ([picture, "box size=3 | sobel", "b.png", "-o", "x/"], ["box size=3 | sobel", picture, "b.png", "-o", "x/"]),
            (["-v", picture, "box", "size=3", "-o", "x"], ["-v", "box size=3", picture, "-o", "x"]),
            (["nofile.jpg", "sobel", "-o", "x"], ["sobel", "nofile.jpg", "-o", "x"]),
            (["nofile.jpg", "b.jpg", "-o", "x/"], ["CHAIN", "nofile.jpg", "b.jpg", "-o", "x/"]),
            (["-", "sobel", "-o", "-"], ["sobel", "-", "-o", "-"]))
        for given, meant in cases:
            said = wrong(place, "apply", *given).stderr
            frame.check(taken_apart(said, "comes before the inputs") == ["hone", "apply", *meant], f"{given}: {said}")


def test_an_input_that_is_missing_is_named_where_the_order_or_quotes_are_wrong():
    with Place() as place:
        there = place.picture(8, 6)
        for given, missing in ((["no.jpg", "sobel"], "no.jpg"), (["gaussian", "sigma=2", there, "no.jpg"], "no.jpg"),
                               ([there, "it's.jpg", "no.jpg", "sobel"], "it's.jpg"), ([there, "sobel"], None),
                               (["sobel", "norm=l1", there], None), (["sobel", "norm=l1", "%02d.png"], None),
                               (["sobel", "norm=l1", "-"], None), (["sobel", "norm=l1"], None)):
            said = wrong(place, "apply", *given, "-o", "x/").stderr
            named = re.search(r", and there is no file '(.*?)': hone apply ", said)
            frame.check((named and named[1]) == missing, f"{given}: {said}")


def test_a_name_from_elsewhere_behind_an_input_leads_to_filters_that_there_are():
    with Place() as place:
        for name in (place.picture(8, 6), "nofile.jpg"):
            said = wrong(place, "apply", name, "blur", "-o", "x.png").stderr
            frame.check("no filter 'blur'; 'gaussian' and 'box' blur" in said, said)


def test_files_are_no_words_of_a_chain():
    with Place() as place:
        with open(place.path("sobel"), "wb") as file:
            file.write(b"P5 1 1 255\n0")
        said = place.run("apply", "box size=3", place.path("sobel"), "missing=1.png", "-o", place.path("out/"), status=3).stderr
        frame.check("quotes" not in said and "cannot open 'missing=1.png'" in said, said)


def test_names_from_elsewhere_lead_to_filters_that_there_are():
    with Place() as place:
        filters = place.run("filters", "--names").stdout.split()
        for word in ("blur", "sharpen", "unsharp", "median", "edges", "rotate", "resize", "crop", "denoise", "Bilateral"):
            said = wrong(place, "apply", word, "a.png", "-o", "b.png").stderr
            hint = re.search(rf"no filter '{word}'; (.*)\. There are ", said)
            frame.check(hint, f"{word}: {said}")
            named = re.findall(r"'([^']+)'", hint.group(1))
            frame.check(named and all(name in filters or name.startswith("vips ") for name in named), f"{word}: {named}")
            frame.check(wrong(place, "filters", word).stderr.count(hint.group(1)) == 1, "hone filters says the same")
            frame.check(wrong(place, "tune", word).stderr.count(hint.group(1)) == 1, "hone tune says the same")


def test_a_failure_is_json_under_json():
    with Place() as place:
        for arguments, status, column in ((("apply", "blur", "a.png", "-o", "b.png"), 2, 1),
                                          (("apply", "box size=3 size=4", "a.png", "-o", "b.png"), 2, 12),
                                          (("apply", "box", "size=3", "a.png", "-o", "b.png"), 2, None),
                                          (("apply", "box", "a.png"), 2, None),
                                          (("apply", "--no-such-option"), 2, None),
                                          (("tune", "box size=3 size=4"), 2, 12),
                                          (("filters", "median"), 2, None),
                                          (("nosuch",), 2, None), (("help", "nosuch"), 2, None), (("--nosuch",), 2, None),
                                          (("--version", "nosuch"), 2, None),
                                          (("compare", "/nonexistent/a", "/nonexistent/b"), 3, None)):
            result = wrong(place, *arguments, "--json", status=status)
            said = json.loads(result.stdout)
            frame.check((said["status"], said["exit_status"], said.get("column")) == ("failed", status, column), f"{said}")
            frame.check(said["message"] in result.stderr, f"{said['message']} is not what stderr says: {result.stderr}")


def test_a_variant_that_cannot_run_tells_what_it_needs():
    with Place() as place:
        said = place.run("apply", "box", place.picture(8, 6), "-o", "out.pgm", "--variant", "blocks", status=2).stderr
        frame.check("'blocks' of box cannot run here: it runs only where FLOAT\n" in said, said)


def test_a_picture_with_colours_is_not_sent_through_gray_to_get_some():
    with Place() as place:
        with open(place.path("in.ppm"), "wb") as file:
            file.write(b"P6 4 2 255\n" + bytes(24))
        said = place.run("apply", "demosaic", place.path("in.ppm"), "-o", place.path("out.ppm"), status=2).stderr
        frame.check("3 channels" in said and "has its colours already" in said and "gray" not in said, said)
        said = place.run("apply", "colormap", place.path("in.ppm"), "-o", place.path("out.ppm"), status=2).stderr
        frame.check("'gray | colormap'" in said, said)


def test_replay_and_import_name_what_they_do_not_take():
    with Place() as place:
        for option in ("--replay", "--import"):
            said = wrong(place, "tune", option, "a.json", "b.json").stderr
            frame.check(f"{option} takes one file" in said and "not also 'b.json'" in said, said)


def test_apply_and_tune_read_the_same_chains():
    """What one takes, the other takes; what one refuses, the other refuses with the same words and the same column."""
    bad = {"": 1, "bx": 1, "| box": 1, "box | ": 7, "box size": 9, "box =3": 5, "box size=": 10, "box size='3": 10,
           "box 'size=3'": 5, "box sise=3": 5, "box size=x": 10, "box size=0": 10, "box size=3 size=4": 12, "sobel norm=l3": 12,
           "box border=nowhere": 12, "gaussian sigma=1e400": 16, " box  width=4,height=5": 13, "box size=3; sobel": 10}
    good = ["box", "  box \t size='5' border=\"wrap\" ", "box border-value=1 size=3", "gaussian sigma=1e1", "convolve kernel='1x2: 1 2'",
            "sobel norm=l1 output=magnitude"]
    with Place() as place:
        picture = place.picture(8, 6)
        for chain in [*bad, *good]:
            status = 2 if chain in bad else 4  # understood, and then there is no device
            applied = wrong(place, "apply", chain, picture, "-o", place.path("out.pgm"), status=status).stderr
            tuned = wrong(place, "tune", chain, status=status).stderr
            frame.check(applied == tuned, f"{chain}: apply says {applied}, tune {tuned}")
            frame.check(chain in good or f"column {bad[chain]} of '{chain}'" in applied, f"{chain}: {applied}")


def test_a_seed_is_a_number():
    with Place() as place:
        for given in ("x", "-1", "4294967296", ""):
            for what in (("box",), ("--kernel-file", "k.cl"), ("--replay", "k.json")):
                said = wrong(place, "tune", *what, "--seed", given).stderr
                frame.check("--seed" in said, f"{what} {given}: {said}")


def test_numbers_of_things_are_whole():
    """Parts are not cut off in silence, and limits are written out."""
    with Place() as place:
        picture = place.picture(8, 6)
        for *command, option, value, limits in (("tune", "box", "--channels", "1.5", "1 to 4"), ("tune", "box", "--evaluations", "2.5", "1 to 1048576"),
                                                ("tune", "box", "--seed", "0.5", "0 to 4294967295"), ("tune", "--replay", picture, "--repeat", "2.5", "1 to 10000"),
                                                ("tune", "--kernel-file", "x.cl", "--evaluations", "2.5", "1 to 1048576"),
                                                ("profile", "box", picture, "--warmup", "0.5", "0 to 10000"),
                                                ("apply", "box", picture, "-o", place.path("x.jpg"), "--quality", "79.5", "1 to 100"),
                                                ("apply", "box", picture, "-o", place.path("x.jpg"), "-j", "1.5", "1 to 256")):
            said = wrong(place, *command, option, value).stderr
            frame.check(f"is {value}; it must be a whole number from {limits} " in said, f"{command} {option} {value}: {said}")
        said = wrong(place, "tune", "box", "--evaluations", "2000000").stderr
        frame.check("it must be 1 to 1048576 " in said, said)


def test_videos_and_pipes_are_no_images():
    with Place() as place:
        picture = place.picture()
        for name in ("in.mkv", "in.y4m"):
            with open(place.path(name), "wb") as file:
                file.write(b"\x1a\x45\xdf\xa3" * 99)
        os.mkfifo(place.path("fifo"))
        for command in (("compare", picture), ("profile", "box"), ("apply", f"add image={place.path('in.mkv')}", picture, "-o", place.path("o.pgm"))):
            words = command if "apply" in command else (*command, place.path("in.y4m"))
            said = place.run(*words, status=3).stderr
            frame.check("is a video by its name, and an image is needed" in said, f"{words}: {said}")
        said = place.run("compare", picture, place.path("fifo"), status=3).stderr
        frame.check("is a pipe, which hone apply reads as its only input" in said, said)
        os.rename(picture, place.path("picture.mkv"))
        place.run("compare", place.path("picture.mkv"), place.path("picture.mkv"))


def test_help_is_a_command_too():
    with Place() as place:
        commands = re.findall(r"^  (\w+)", place.run("help").stdout.split("commands:")[1].split("\n\n")[0], re.M)
        frame.check("apply" in commands and place.run("help").stdout == place.run("--help").stdout, f"{commands}")
        for command in commands:
            text = place.run(command, "--help").stdout
            frame.check(text == place.run("help", command).stdout == place.run(command, "help").stdout, command)
        frame.check(place.run("help", "help").stdout == place.run("--help").stdout, "help help")
        frame.check("did you mean 'apply'" in wrong(place, "help", "aply").stderr, "a wrong name")
        frame.check("did you mean 'help'" in wrong(place, "hlep").stderr, "no command, but a word of it")
        frame.check("hone filters box describes it" in wrong(place, "help", "box").stderr, "a filter's name")
        frame.check("did you mean" not in wrong(place, "doctor", "x").stderr, "no letter of it fits")


def test_closed_standard_descriptors_are_not_taken_by_files():
    """What was closed at the start is an error where it is needed, and else without effect."""
    with Place() as place:
        picture, program = place.picture(8, 6), os.path.join(frame.build(), "hone")
        place.run("apply", "transpose", picture, "-o", place.path("wanted.pgm"))
        for closed in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
            script = " ".join(f"{fd}>&-" for fd in closed)
            for arguments, status in ((f"-o '{place.path('out.pgm')}' -v", 0), ("-o - --format pgm", 3 if 1 in closed else 0)):
                result = subprocess.run(["sh", "-c", f"'{program}' apply transpose '{picture}' {arguments} {script}"],
                                        capture_output=True, env=place.environment, check=False)
                frame.check(result.returncode == status, f"{closed} {arguments}: {result.returncode} {result.stderr}")
                if status and 2 not in closed:
                    frame.check(b"standard output: Bad file descriptor" in result.stderr, f"{closed}: {result.stderr}")
            with open(place.path("wanted.pgm"), "rb") as wanted, open(place.path("out.pgm"), "rb") as out:
                frame.check(wanted.read() == out.read(), f"{closed}: the output differs")
            os.remove(place.path("out.pgm"))


if __name__ == "__main__":
    frame.main(globals())
