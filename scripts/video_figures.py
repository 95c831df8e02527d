#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the figures and the picture of docs/video.md: what the epsilon filter does to compression noise.

Clips are ffmpeg's own sources, compressed at a low rate, decoded and filtered by hone, and compared with the source by ffmpeg's psnr
and ssim filters, luma alone. All frames between are lossless.

    scripts/video_figures.py [build/hone]
"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(ROOT, "docs/video.md")
PICTURE = os.path.join(ROOT, "docs/images/mosquito.png")
FRAMES = 50
SOURCES = {"testsrc2": "testsrc2=size=640x360:rate=25", "testsrc": "testsrc=size=640x360:rate=25",
           "mandelbrot": "mandelbrot=size=640x360:rate=25"}
CODECS = {"MPEG-2, 700 kbit/s": ("mpeg2video", "-b:v", "700k", "-maxrate", "700k", "-bufsize", "700k"),
          "MPEG-4, 500 kbit/s": ("mpeg4", "-b:v", "500k"),
          "H.264, 200 kbit/s": ("libx264", "-preset", "medium", "-b:v", "200k")}
CHAINS = ("epsilon radius=1 threshold=8", "epsilon radius=2 threshold=8", "epsilon radius=2 threshold=16", "gaussian sigma=1")
SHOWN = ("testsrc2", "MPEG-2, 700 kbit/s", "epsilon radius=2 threshold=16")
CROP = "crop=120:90:0:0"  # part of the picture, in pixels
BEGIN, END = "<!-- figures: scripts/video_figures.py -->", "<!-- end of figures -->"


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stderr[-600:]}")
    return result.stderr


def ffmpeg(*arguments):
    return run("ffmpeg", "-y", "-nostdin", "-v", "info", "-threads", "2", *arguments)


def compare(clip, source):
    """PSNR and SSIM of the luma of a clip."""
    said = ffmpeg("-i", clip, "-i", source, "-lavfi", "[0:v]split[a][b];[1:v]split[c][d];[a][c]psnr;[b][d]ssim", "-f", "null", "-")
    return float(re.search(r"PSNR y:([\d.]+)", said).group(1)), float(re.search(r"SSIM Y:([\d.]+)", said).group(1))


def take_picture(source, before, after):
    view = f"{CROP},scale=iw*3:ih*3:flags=neighbor,format=gray"
    graph = ";".join(f"[{i}:v]{view}[v{i}]" for i in range(3)) + ";[v0][v1][v2]hstack=3"
    ffmpeg("-ss", "1", "-i", source, "-ss", "1", "-i", before, "-ss", "1", "-i", after, "-lavfi", graph, "-frames:v", "1",
           "-compression_level", "9", PICTURE)


def measure(hone, folder):
    for name, source in SOURCES.items():
        original = os.path.join(folder, "source.y4m")
        ffmpeg("-f", "lavfi", "-i", source, "-frames:v", str(FRAMES), "-pix_fmt", "yuv420p", original)
        for codec, options in CODECS.items():
            packed, plain = os.path.join(folder, "packed.mkv"), os.path.join(folder, "plain.y4m")
            ffmpeg("-i", original, "-c:v", *options, packed)
            ffmpeg("-i", packed, "-pix_fmt", "yuv420p", plain)
            row = [compare(plain, original)]
            for chain in CHAINS:
                out = os.path.join(folder, "out.y4m")
                run(hone, "apply", chain, packed, "-o", out, "-q", "--tune", "off")
                row.append(compare(out, original))
                if (name, codec, chain) == SHOWN:
                    take_picture(original, plain, out)
            print(name, codec, row, flush=True)
            yield name, codec, row


def table(rows):
    def cell(value, first):
        psnr, ssim = f"{value[0]:.2f}", f"{value[1]:.4f}"
        return f"{psnr} {ssim}" if value is first else \
            f"{'**' + psnr + '**' if value[0] > first[0] else psnr} {'**' + ssim + '**' if value[1] > first[1] else ssim}"
    lines = ["| clip | compressed to | before | " + " | ".join(f"`{chain}`" for chain in CHAINS) + " |",
             "|---" * (3 + len(CHAINS)) + "|"]
    lines += [f"| {name} | {codec} | " + " | ".join(cell(value, row[0]) for value in row) + " |" for name, codec, row in rows]
    return "\n".join(lines)


def main():
    hone = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/hone")
    with tempfile.TemporaryDirectory() as folder:
        made = table(list(measure(hone, folder)))
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(f"{text[:begin]}\n{made}\n{text[end:]}")


if __name__ == "__main__":
    main()
