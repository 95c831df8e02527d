/* SPDX-License-Identifier: BSD-2-Clause */
/* The tuning results that come with hone: data/tuning/shipped.jsonl. */
#pragma once

#include "choose/records.h"

/* The choices for one filter; to be finished by the caller. Of all filters it would take longer than a start
 * may. */
hone_status shipped_records(const char *filter, struct records *records, hone_error *error);
