#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Builds the Debian packages from what git tracks, and lets lintian judge them: scripts/deb.sh [FOLDER] (default: build-deb).
set -eu

cd "$(dirname "$0")/.."
folder=${1:-build-deb}
version=$(dpkg-parsechangelog -S Version)
rm -rf "$folder"
mkdir -p "$folder/hone-$version"
git ls-files -z | tar --null --files-from=- -c | tar -x -C "$folder/hone-$version"
cd "$folder/hone-$version"
dpkg-buildpackage -us -uc
cd ..
rm -rf "hone-$version"
lintian --allow-root --fail-on error,warning ./*.changes
ls ./*.deb
