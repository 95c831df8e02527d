#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian packages that are missing: scripts/setup.sh [build|test|lint|deb|python|gst] (default: build).
# Asks the package database first; when nothing is missing it needs neither the network nor any rights.
set -eu

# Not in every release of Debian: where apt does not know them, tests are skipped, or libheif has them within.
optional="oclgrind libheif-plugin-aomenc libheif-plugin-x265"
build="gcc libc6-dev cmake ninja-build pkg-config ocl-icd-opencl-dev opencl-headers libjansson-dev libvips-dev
    libtiff-dev libavformat-dev libavcodec-dev libavutil-dev libclang-dev pocl-opencl-icd"
gst="libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-tools gstreamer1.0-plugins-base"
test="g++ python3 python3-numpy python3-scipy python3-opencv oclgrind mesa-opencl-icd clang imagemagick binutils locales
    file git ffmpeg libimage-exiftool-perl libtiff-tools python3-pil python3-tifffile gnuplot-nox libheif-plugin-aomenc
    libheif-plugin-x265 $gst"
deb="build-essential debhelper dh-python dpkg-dev fakeroot git lintian python3 python3-dev libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev"
lint="clang-format shellcheck python3"
python="python3 python3-dev python3-venv python3-pip python3-pytest python3-numpy python3-scipy python3-skimage
    python3-opencv python3-pil python3-torch python3-dask python3-distributed python3-zarr python3-tifffile mypy
    iproute2"

case "${1:-build}" in
build) wanted=$build ;;
test) wanted="$build $test" ;;
lint) wanted=$lint ;;
deb) wanted="$build $deb" ;;
python) wanted="$build $python" ;;
gst) wanted="$build $gst" ;;
*)
    echo "usage: scripts/setup.sh [build|test|lint|deb|python|gst]" >&2
    exit 2
    ;;
esac

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

if ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: this system has no dpkg, so these must be there already: $wanted" >&2
    exit 0
fi

has_lists() {
    [ -n "$(find /var/lib/apt/lists -name '*_Packages*' -print -quit 2>/dev/null)" ]
}

is_left_out() {
    case " $optional " in
    *" $1 "*) has_lists && ! apt-cache show -q "$1" >/dev/null 2>&1 ;;
    *) false ;;
    esac
}

find_missing() {
    missing=
    for package in $wanted; do
        is_installed "$package" || is_left_out "$package" || missing="$missing $package"
    done
}

find_missing
[ -n "$missing" ] || exit 0

# Runs apt-get as root: directly, or through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif command -v sudo >/dev/null; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        return 1
    fi
}

install_missing() {
    # shellcheck disable=SC2086  # a list of words
    as_root apt-get install -y -q --no-install-recommends $missing
}

echo "setup.sh: installing$missing"
# The lists of packages may be missing or too old: then the second try is after an update.
if ! install_missing && ! { as_root apt-get update -q && find_missing && install_missing; }; then
    {
        echo "setup.sh: could not install$missing"
        if [ "$(id -u)" -ne 0 ]; then
            echo "setup.sh: this takes root, or a user who may use sudo; as root, run:"
        else
            echo "setup.sh: look at the messages above; the command is:"
        fi
        echo "    apt-get install --no-install-recommends$missing"
    } >&2
    exit 1
fi
