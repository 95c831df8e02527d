/* SPDX-License-Identifier: BSD-2-Clause */
/** The version of these headers. The library's soname contains the major number. */
#ifndef HONE_VERSION_H
#define HONE_VERSION_H

#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0
#define HONE_VERSION       "0.1.0"

#endif
