#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""hone bench --html: the page is whole, and nothing in it is looked for elsewhere.  page.py build=FOLDER"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree

import frame

HONE = os.path.join(frame.build(), "hone")
FOLDER = tempfile.TemporaryDirectory(prefix="hone-page-")
ENVIRONMENT = {**os.environ, "XDG_DATA_HOME": os.path.join(FOLDER.name, "data")}
HTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
SHAPES = {(8, 8): 3.25, (16, 8): 1.125, (8, 16): 2.75}  # milliseconds, made up


def bench(*arguments, status=0, **changes):
    result = subprocess.run([HONE, "bench", *arguments], capture_output=True, text=True, check=False, env={**ENVIRONMENT, **changes})
    frame.check(result.returncode == status, f"{arguments} ends with {result.returncode}: {result.stdout[-300:]}{result.stderr[-500:]}")
    return result


def record(device, shape, ms):
    """A line of what tuning remembers."""
    case = {"border": "replicate", "channels": 1, "filter": "sobel", "height": 64, "parameters": "norm=l1", "source": "0123456789abcdef",
            "type": "u8", "width": 96}
    config = {"config": f"WG_X={shape[0]} WG_Y={shape[1]}", "ms": ms, "variant": "direct"}
    return json.dumps({"build_ms": 1.0, "case": case, "config": config, "device": device, "kind": "try", "note": "", "runs": [ms],
                       "state": "ok", "time": 1795378511, "v": 1}, sort_keys=True)


def write_shapes():
    devices = json.loads(subprocess.run([HONE, "devices", "--json"], capture_output=True, text=True, check=True).stdout)["devices"]
    info = devices[0]
    device = {"architecture": "", "compute_units": 2, "driver": "", "kind": "cpu", "name": info["name"], "platform": info["platform"],
              "vendor": "", "vendor_id": 0}
    folder = os.path.join(ENVIRONMENT["XDG_DATA_HOME"], "hone")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "tuning.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(record(device, shape, ms) + "\n" for shape, ms in SHAPES.items())
    os.chmod(path, 0o600)


def page():
    """The page of one table, made once."""
    path = os.path.join(FOLDER.name, "it's a <page>.html")
    if not os.path.exists(path):
        write_shapes()
        bench("9-12", "--sizes", "128x128", "--device", "0", "--html", path)
    return path


def words(element):
    return " ".join(" ".join(element.itertext()).split())


def test_every_plot_is_there():
    root = xml.etree.ElementTree.parse(page()).getroot()
    figures = {figure.get("id"): figure for figure in root.iter(HTML + "figure")}
    wanted = {"plot-bars1", "plot-roofline1", "plot-sizes1", "plot-shapes1", "plot-timeline1"}
    frame.check(set(figures) == wanted, f"{set(figures)}")
    for name, figure in figures.items():
        frame.check(len(list(figure.iter(SVG + "svg"))) == 1 and len(list(figure.iter(SVG + "path"))) > 5, f"{name} has no plot")
    for name, words_of_it in (("plot-bars1", ["16x1", "16x2", "the document"]), ("plot-roofline1", ["roofs of this device", "16x2"]),
                              ("plot-sizes1", ["megapixels", "16x1"]), ("plot-timeline1", ["microseconds", "sobel_"]),
                              ("plot-shapes1", [f"{ms:.3g}" for ms in SHAPES.values()])):
        text = words(figures[name])
        frame.check(all(word in text for word in words_of_it), f"{name}: {text}")


def test_it_says_what_was_run_and_where():
    text = words(xml.etree.ElementTree.parse(page()).getroot())
    command = "hone bench 9-12 --sizes 128x128 --device 0 --html '"
    frame.check(command in text and "it'\\''s a <page>.html" in text, text[:400])
    frame.check("copy by buffer" in text and "Adreno 418" in text and "driver" in text, text[:400])


def test_nothing_is_outside():
    with open(page(), encoding="utf-8") as file:
        text = file.read()
    root = xml.etree.ElementTree.fromstring(text)
    names = [element.get("id") for element in root.iter() if element.get("id")]
    frame.check(len(names) == len(set(names)) > 20, "names stand twice")
    for element in root.iter():
        frame.check(not element.tag.endswith(("script", "link", "img", "iframe", "object", "image")), element.tag)
        for name, value in element.attrib.items():
            if name.endswith(("href", "src")):
                frame.check(value.startswith("#") and value[1:] in names, f"{name}={value}")
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    frame.check("http" not in without_names and "url(" not in without_names and "@import" not in without_names, "a reference")
    frame.check("prefers-color-scheme: dark" in text and "@media print" in text and "width=device-width" in text, "its style")


def test_without_gnuplot():
    path = os.path.join(FOLDER.name, "none.html")
    folder = os.path.join(FOLDER.name, "empty")
    os.makedirs(folder, exist_ok=True)
    result = bench("9-12", "--sizes", "64x64", "--html", path, status=2, PATH=folder)
    frame.check("apt install gnuplot-nox" in result.stderr and not result.stdout and not os.path.exists(path), f"{result}")


def test_what_cannot_be_written():
    result = bench("9-12", "--sizes", "64x64", "--rung", "1", "--html", os.path.join(FOLDER.name, "no", "page.html"), status=3)
    frame.check("no/page.html" in result.stderr, result.stderr)


def test_a_browser_shows_it():
    """Headless Chromium, where there is one, makes a picture of it that is not of one colour, in print and on a phone."""
    browser = shutil.which("chromium")
    if not browser:
        print("# chromium is not installed")
        return
    shot = os.path.join(FOLDER.name, "shot.png")
    link = os.path.join(FOLDER.name, "page.html")
    shutil.copy(page(), link)
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={FOLDER.name}/chromium", "--window-size=390,1800",
                    f"--screenshot={shot}", f"file://{link}"], capture_output=True, check=True, timeout=90)
    colors = subprocess.run(["identify", "-format", "%w %k", shot], capture_output=True, text=True, check=True).stdout.split()
    frame.check(colors[0] == "390" and int(colors[1]) > 50, f"{colors}")


if __name__ == "__main__":
    frame.main(globals())
