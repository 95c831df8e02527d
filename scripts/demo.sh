#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Paints an 8-megapixel scene, compresses it, filters it with hone, and says what that came to. `make demo` installs and
# builds what this needs first. Everything lands in ./demo.
set -eu

build=${BUILD:-build}
out=demo
hone=$build/hone
quality=50
smoothing=${SMOOTHING:-epsilon radius=2 threshold=10} # takes the blocks of the JPEG out and keeps edges
edges=${EDGES:-sobel}

cd "$(dirname "$0")/.."
if [ ! -x "$hone" ]; then
    echo "demo.sh: $hone is not there; run 'make demo'" >&2
    exit 1
fi
mkdir -p "$out"

# compile NAME: a small program of the demo, in C on libvips
compile() {
    # shellcheck disable=SC2046 # lists of options
    "${CC:-cc}" -O2 -ffast-math "scripts/$1.c" -o "$build/$1" $(pkg-config --cflags --libs vips) -lm
}

# field NAME < one line of JSON
field() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"
}

# psnr FILE: against the clean scene, in dB (exit status 1 of compare only says that there is a difference)
psnr() {
    differences=$("$hone" compare "$out/scene.png" "$1") || [ $? -eq 1 ]
    echo "$differences" | awk '$1 == "all" { print $4 }'
}

# step TITLE CHAIN RESULT
step() {
    report=$("$hone" apply --json "$2" "$out/scene.jpg" -o "$out/$3")
    printf '\n%s: %s\n' "$1" "$2"
    printf '  device   %s, driver %s\n' "$(echo "$report" | field device)" "$(echo "$report" | field driver)"
    echo "$report" | grep -o '"filter":"[^}]*}' |
        sed 's/"filter":"\([^"]*\)","variant":"\([^"]*\)","config":"\([^"]*\)","origin":"\([^"]*\)".*/  variant  \1: \2, \3 (\4)/'
    printf '  speed    %.1f megapixels/s: %.1f ms in kernels, %.1f ms with every copy\n' \
        "$(echo "$report" | field megapixels_per_second)" "$(echo "$report" | field kernel_ms)" \
        "$(echo "$report" | field wall_ms)"
}

compile scene
compile halves
"$build/scene" "$out/scene.png" "$out/scene.jpg" "$quality"
echo "scene: 3264x2448 pixels, clean in $out/scene.png, as a JPEG of quality $quality in $out/scene.jpg"

step "smoothing" "$smoothing" smoothed.png
before=$(psnr "$out/scene.jpg")
after=$(psnr "$out/smoothed.png")
echo "  PSNR     $after dB; the JPEG had $before dB (both against the clean scene)"
awk -v after="$after" -v before="$before" 'BEGIN { exit after < before }' ||
    echo "           lower, since this filter takes fine detail away as well"
echo "  result   $out/smoothed.png"

step "edges" "$edges" edges.png
echo "  result   $out/edges.png"

"$build/halves" "$out/scene.jpg" "$out/edges.png" "$out/halves.jpg" 1200
printf '\nbefore and after, side by side: %s\n' "$out/halves.jpg"
