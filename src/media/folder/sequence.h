/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Image sequences: files whose names differ in a number, named by a pattern as in ffmpeg: frame%d.png,
 * frame%04d.png.
 */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a name is a pattern: its part behind the last '/' has one %d or %0Nd, and there is no file of that
 * very name. */
bool sequence_is_pattern(const char *name);

/* The file with this number; to be freed. NULL: no memory. */
char *sequence_name(const char *pattern, uint64_t number);

/**
 * Finds the files of a pattern: the numbers *first to *last are all there. HONE_ERROR_IO when there is none,
 * and when numbers are missing between them.
 */
hone_status sequence_find(const char *pattern, uint64_t *first, uint64_t *last, hone_error *error);
