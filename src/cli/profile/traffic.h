/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run moved, and which copies another layout or choice would have avoided: for people and for
 * programs. */
#pragma once

#include "cli/cli.h"
#include "cli/guard.h"
#include "lab/profile/traffic.h"

/* Lines of -v. */
void traffic_note(const struct common_options *common, const struct traffic *traffic);
/* NULL: no memory, now or for an entry before. */
struct json_t *traffic_json(const struct traffic *traffic);

/* Takes a trace's place before there is anything to trace: what cannot be written is said at once. Nothing is
 * done where path is NULL. `output` begins as GUARDED_OUTPUT_NONE, and guard_output_abort is due in the
 * end. */
hone_status trace_file_begin(struct guarded_output *output, const char *path, hone_error *error);
/* Writes it there, whole, and releases it (NULL: no memory for it). */
hone_status trace_file_end(struct guarded_output *output, const char *path, struct json_t *trace,
                           hone_error *error);
