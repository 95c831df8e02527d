/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run moved, and which copies another layout or choice would have avoided: for people and for programs. */
#ifndef CLI_PROFILE_TRAFFIC_H
#define CLI_PROFILE_TRAFFIC_H

#include "cli/cli.h"
#include "lab/profile/traffic.h"

/* Lines of -v. */
void traffic_note(const struct common_options *common, const struct traffic *traffic);
/* NULL: no memory, now or for an entry before. */
struct json_t *traffic_json(const struct traffic *traffic);

/* Writes a trace to a file, whole or not at all, and releases it (NULL: no memory for it). */
hone_status profile_write_trace(const char *path, struct json_t *trace, hone_error *error);

#endif
