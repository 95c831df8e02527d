/* SPDX-License-Identifier: BSD-2-Clause */
/* Specifications that stand in files: T1 JSON, and comments in a kernel's source. */
#pragma once

#include "tune/own/spec/spec.h"

/**
 * Reads lines of the form "//@tune SETTING VALUE". Those behind a line "//@tune kernel NAME" belong to that
 * kernel, those before the first of these to all. The kernel is the one that the specification names already,
 * else the first. Names of files are relative to `folder`.
 */
hone_status own_spec_read_comments(struct own_spec *spec, const char *source, const char *folder,
                                   hone_error *error);

/* Reads the part of the T1 format (FAIR auto-tuning, 1.0.0) that makes sense here; what it cannot take is
 * refused with the reason. Names of files are relative to the file. */
hone_status own_spec_read_t1(struct own_spec *spec, const char *path, hone_error *error);
