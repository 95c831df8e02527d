#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# uninstall.sh BUILD: removes the files that `cmake --install BUILD` put in place, and folders of hone's that are empty then.
set -eu
list=$1/install_manifest.txt
if [ ! -f "$list" ]; then
    echo "there is no $list: nothing was installed from here" >&2
    exit 1
fi
# The last line has no end.
while IFS= read -r file || [ -n "$file" ]; do
    rm -f -- "${DESTDIR:-}$file"
done < "$list"
while IFS= read -r file || [ -n "$file" ]; do
    folder=${DESTDIR:-}$(dirname "$file")
    while case $folder in */hone | */hone/*) true ;; *) false ;; esac; do
        rmdir -- "$folder" 2> /dev/null || break
        folder=$(dirname "$folder")
    done
done < "$list"
rm -f -- "$list"
