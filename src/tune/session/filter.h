/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning one case of a filter. */
#pragma once

#include "filter/filter.h"
#include "tune/session/session.h"

/* `c` is prepared for the size to tune at. `result` is finished by the caller, whatever comes of it. With
 * `fresh`, what was wrong before is not tried again all the same. HONE_ERROR_UNSUPPORTED when nothing could
 * be measured, HONE_ERROR_CHECK when results were wrong besides. A full disk is reported (HONE_ERROR_IO) with
 * the result filled in all the same. HONE_ERROR_DEVICE when no worker can be started any more; what was
 * measured is resumed. */
hone_status filter_session_tune(struct worker *worker, const struct filter_case *c,
                                const struct session_options *options, struct session_result *result,
                                hone_error *error);

/* The seconds that HONE_TUNE_REFERENCE gives the reference at full size; negative: it says nothing.
 * HONE_ERROR_USAGE for what is no such number. */
hone_status filter_session_wish(double *seconds, hone_error *error);
