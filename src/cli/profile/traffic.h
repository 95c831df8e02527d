/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run moved, and which copies another layout or choice would have avoided: for people and for programs. */
#ifndef CLI_PROFILE_TRAFFIC_H
#define CLI_PROFILE_TRAFFIC_H

#include "cli/cli.h"
#include "lab/profile/profile.h"

/* Lines of -v. */
void traffic_note(const struct common_options *common, const struct copy_situation *situation,
                  const hone_command *commands, size_t count);
/* NULL: no memory. */
struct json_t *traffic_json(const struct copy_situation *situation, const hone_command *commands,
                            size_t count);

/* Writes a trace to a file, whole or not at all, and releases it (NULL: no memory for it). */
hone_status profile_write_trace(const char *path, struct json_t *trace, hone_error *error);

#endif
