/* SPDX-License-Identifier: BSD-2-Clause */
/* What tuning a kernel of the user's own leaves behind, as files. */
#pragma once

#include "tune/own/session.h"

/* All tries in the T4 format of the FAIR auto-tuning toolkits, schema 1.0.0. NULL without memory. */
json_t *own_results_t4(const struct own_spec *spec, const struct metrics *metrics,
                       const struct own_session_result *result);

/* A C header that defines the winner's parameters. */
void own_results_header(const struct own_spec *spec, const struct own_session_result *result,
                        struct text *out);
