#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the man pages of section 3 from the public headers: one per header, and a link for each function.
man3.py FOLDER_OF_HEADERS OUTPUT_FOLDER"""

import glob
import os
import re
import sys

LABEL = re.compile(r"(Preconditions?|Ownership|Errors|Threads|Processes|Environment): ")
COMMENT = re.compile(r"/\*\*(?!<)(.*?)\*/", re.S)


def escape(line):
    line = line.replace("\\", "\\e")
    return "\\&" + line if line[:1] in (".", "'") else line


def lines_of(comment):
    return [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().split("\n")]


def prose(lines):
    """A comment's text: paragraphs, labelled ones, lists and indented code."""
    out, code, listing = [], False, False
    for line in lines:
        if code and line.strip() and not line.startswith("    "):
            out.append(".Ed")
            code = False
        if listing and not line.startswith("- ") and not line.startswith("  "):
            out.append(".El")
            listing = False
        label = LABEL.match(line)
        if code or line.startswith("    "):
            out += [] if code else [".Bd -literal -offset indent"]
            out.append(escape(line[4:]))
            code = True
        elif line.startswith("- "):
            out += [] if listing else [".Bl -dash"]
            out += [".It", escape(line[2:])]
            listing = True
        elif label:
            out += [".Pp", f".Sy {label.group(1)}:", escape(line[label.end():])]
        else:
            out.append(escape(line.strip()) if line else ".Pp")
    return "\n".join(out + [".Ed"] * code + [".El"] * listing)


def literal(text):
    text = re.sub(r"^ {9}( +\S)", r"\1", text, flags=re.M) if "HONE_API" in text else text  # what follows HONE_API
    text = re.sub(r"/\*\*<? ?", "/* ", text.replace("HONE_API ", ""))
    return "\n".join([".Bd -literal", *map(escape, text.strip("\n").split("\n")), ".Ed"])


def names_of(code):
    return re.findall(r"\b(hone_\w+)\(", re.sub(r"/\*.*?\*/", "", code, flags=re.S)) if "HONE_API" in code else []


def title_of(code):
    names = names_of(code)
    if names:
        return ", ".join(names)
    ends = re.findall(r"\} (\w+);|\(\*(\w+)\)|^typedef struct \w+ (\w+);", code, re.M)
    return "".join(ends[0]) if ends else "constants"


def sections(text):
    """(comment, code) for each documented declaration; the code goes up to the next comment between declarations."""
    depth_free = [m for m in COMMENT.finditer(text) if text[:m.start()].count("{") == text[:m.start()].count("}")]
    for i, match in enumerate(depth_free):
        end = depth_free[i + 1].start() if i + 1 < len(depth_free) else len(text)
        code = re.sub(r"^\s*(#.*|extern \"C\" \{|struct \w+;)$", "", text[match.end():end], flags=re.M)
        yield lines_of(match.group(1)), re.sub(r"\n\n+", "\n\n", code).strip("\n")


def name_of(header):
    return "libhone" if header == "hone.h" else "hone_" + header[:-2]


def page(path, date, headers):
    header = os.path.basename(path)
    name = name_of(header)
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", file.read(), flags=re.S)
    parts = list(sections(text))
    about = parts[0][0]
    out = [f".Dd {date}", f".Dt {name.upper()} 3", ".Os", ".Sh NAME", f".Nm {name}",
           f".Nd {escape(about[0].rstrip('.').replace('libhone: ', ''))}", ".Sh LIBRARY", "libhone (-lhone)", ".Sh SYNOPSIS", f".In hone/{header}"]
    rest = about[1:]
    while rest and not rest[0]:
        rest = rest[1:]
    out += [".Sh DESCRIPTION", prose(rest)] if rest else [".Sh DESCRIPTION"]
    functions = []
    for comment, code in parts[1:]:
        if code.strip():
            functions += names_of(code)
            out += [f".Ss {title_of(code)}", literal(code), ".Pp", prose(comment)]
    others = [name_of(one) for one in headers if one != header]
    out += [".Sh SEE ALSO", ".Xr hone 1 ,", *(f".Xr {one} 3 ," for one in others[:-1]), f".Xr {others[-1]} 3"]
    return name, re.sub(r"(\n\.Pp)+(?=\n\.(Pp|Ss|Sh|Ed|Bl|Bd|El))", "", "\n".join(out)) + "\n", functions


def main(folder, output):
    os.makedirs(output, exist_ok=True)
    for stale in glob.glob(os.path.join(output, "*.3")):
        os.remove(stale)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "man", "hone.1"), encoding="utf-8") as file:
        date = re.search(r"^\.Dd (.*)$", file.read(), re.M).group(1)
    headers = sorted(set(os.listdir(folder)) - {"version.h"})
    for header in headers:
        name, text, functions = page(os.path.join(folder, header), date, headers)
        for link in [name, *functions]:
            with open(os.path.join(output, link + ".3"), "w", encoding="utf-8") as file:
                file.write(text if link == name else f".so man3/{name}.3\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
