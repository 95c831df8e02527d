# SPDX-License-Identifier: BSD-2-Clause
"""What tests/run --changed runs: from files that have changed, the suites that touch them.

`touched` is a pure function of names and texts; `changed_files` asks Git, and `read_texts` reads the texts.
"""

import dataclasses
import fnmatch
import glob
import os
import posixpath
import re
import subprocess

FILTER_SUITE = "harness-optimized-default"  # all of a filter's variants as users have them compiled, at default effort

# Files whose tests cannot be read from includes: every row that fits adds its suites.
TABLE = (
    ("*.md", "check-documents"),
    ("docs/adding-a-filter.md", "check-adding"),
    ("man/*", "check-manual check-documents"),
    ("include/hone/*", "check-interface check-manual"),
    ("packaging/*", "check-packaging check-manual"),
    ("examples/*", "check-packaging"),
    ("python/*", "check-python"),
    ("include/hone/*", "check-python"),
    ("gst/*", "gst-element check-gstreamer"),
    ("tests/gst/*", "gst-element"),
    ("docs/gstreamer.md", "check-gstreamer"),
    ("src/filter/*.clh", "harness harness-optimized unit-fusing check-kernels"),
    ("src/media/*", "media-* check-pictures check-pages check-apart check-hostile"),
    ("src/cli/*", "check-manual check-mistakes check-documents"),
    ("src/cli/apply/*", "check-engine check-output check-folders check-pictures check-pages check-apart"),
    ("src/cli/pick/pick_device.*", "unit-pick_device"),
    ("src/cli/tune/*", "check-tuning check-kernel_tuning"),
    ("src/cli/cmd_*", "check-inspection"),
    ("src/doctor/*", "check-inspection"),
    ("tests/run", "check-arguments check-selection"),
    ("tests/suites.ini", "check-arguments check-selection"),
    ("tests/changed.py", "check-selection"),
    ("tests/harness/*", "harness"),
    ("tests/broken/*", "broken"),
    ("tests/vendor/*", "vendors"),
    ("tests/recorded/*", "check-replay unit-t4"),
)
ALWAYS = ("check-rules",)

# Everything else calls these, so that their own units do not say enough.
FOUNDATIONS = ("src/base/", "src/cl/", "src/image/", "src/filter/")


@dataclasses.dataclass
class Touched:
    suites: set    # patterns of names
    subjects: set  # patterns of the harness's tests, for FILTER_SUITE
    fast: bool     # the fast tier as well: something has changed of which no more is known, or what all depends on


def includes(text):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)


def filters_that_include(kit, texts):
    """The filters whose files include src/filters/KIT, or a kit that does; alpha.c stands for alpha.h."""
    found, kits = set(), [re.sub(r"\.c$", ".h", kit)]
    for name in kits:  # grows on the way
        for path, text in texts.items():
            if not path.startswith("src/filters/") or f"filters/{name}" not in includes(text):
                continue
            parts = path.split("/")[2:]
            if len(parts) > 1:
                found.add(parts[0])
            elif parts[0] not in kits:
                kits.append(parts[0])
    return found


def units_of(path, texts):
    """Unit tests of a file in src or include: those that include its header; else those that include one of its folder."""
    header = posixpath.splitext(path.split("/", 1)[1])[0] + ".h"
    above = posixpath.dirname(header) + ".h"  # of a folder that is behind one header
    units = {posixpath.basename(name)[:-2]: includes(text) for name, text in texts.items()
             if fnmatch.fnmatch(name, "tests/unit/*/*.c")}
    own = {unit for unit, headers in units.items() if header in headers or above in headers or unit == posixpath.basename(header)[:-2]}
    folder = posixpath.dirname(header)
    public = f"hone/{folder}.h"
    return own or {unit for unit, headers in units.items()
                   if any(posixpath.dirname(one) == folder or one == public for one in headers)}


def scripts_of(name, texts):
    """Script NAME, and all that import it."""
    found = [name]
    for module in found:  # grows on the way
        for path, text in texts.items():
            other = posixpath.basename(path)[:-3]
            if fnmatch.fnmatch(path, "tests/check/*.py") and other not in found and \
                    re.search(rf"^(?:import|from) {module}\b", text, re.M):
                found.append(other)
    return found


def oracles_of(name, texts):
    """The scripts that compare a filter with other programs: its own, or those that name it."""
    if f"tests/check/oracles/oracles_{name}.py" in texts:
        return {f"oracles_{name}"}
    return {posixpath.basename(path)[:-3] for path, text in texts.items()
            if fnmatch.fnmatch(path, "tests/check/oracles/oracles_*.py") and re.search(rf"""["'|] ?{name}\b""", text)}


def touch_filters(names, texts, into):
    for name in names:
        into.subjects |= {name, f"{name}.*"}
        into.suites |= {f"check-{script}" for script in oracles_of(name, texts)}


def touch(path, texts, into):
    """Adds what the file touches; false: nothing is known of it."""
    for pattern, suites in TABLE:
        if fnmatch.fnmatch(path, pattern):
            into.suites |= set(suites.split())
    parts = path.split("/")
    stem = posixpath.splitext(parts[-1])[0]
    if path.startswith("src/filters/") and not path.endswith(".md"):
        touch_filters({parts[2]} if len(parts) > 3 else filters_that_include(parts[2], texts), texts, into)
    elif parts[0] in ("src", "include"):
        into.suites |= {f"unit-{unit}" for unit in units_of(path, texts)}
    elif path.startswith(("tests/unit/", "tests/media/")) and path.endswith(".c"):
        into.suites |= {f"{parts[1]}-{stem}", f"{parts[1]}-{stem}-rusticl"}
    elif path.startswith("tests/check/"):
        into.suites |= {f"check-{name}" for name in scripts_of(stem, texts)}
    return bool(into.suites or into.subjects)


def touched(paths, texts):
    """paths: those of the files that changed, from the top of the sources; texts: what read_texts gives."""
    result = Touched(set(), set(), False)
    for path in paths:
        alone = Touched(set(), set(), False)
        result.fast |= not touch(path, texts, alone) or path.startswith(FOUNDATIONS)
        result.suites |= alone.suites
        result.subjects |= alone.subjects
    if paths:
        result.suites |= set(ALWAYS)
    return result


def read_texts(root):
    """The texts in which `touched` looks for includes and imports, by path."""
    texts = {}
    for pattern in ("src/filters/*", "src/filters/*/*", "tests/unit/*/*.c", "tests/check/*/*.py"):
        for path in filter(os.path.isfile, glob.glob(os.path.join(root, pattern))):
            with open(path, encoding="utf-8") as file:
                texts[os.path.relpath(path, root)] = file.read()
    return texts


def git(root, *arguments):
    result = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ValueError(f"git {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout


def default_base(root):
    """Where HEAD left origin/main; HEAD where there is no such branch."""
    try:
        return git(root, "merge-base", "origin/main", "HEAD").strip()
    except ValueError:
        return "HEAD"


def changed_files(root, base):
    """Files that differ between a commit and the working tree, with new ones that Git does not ignore."""
    changed = git(root, "diff", "--name-only", "--no-renames", "-z", base or default_base(root), "--")
    new = git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted(set((changed + new).split("\0")) - {""})
