/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "filter/case.h"

/* Sets parameter `index` of the filter's own; `given`: by the user, not as a default. */
hone_status case_set_own(struct filter_case *c, int index, const char *text, bool given, hone_error *error);

/* Turns values in percent into levels of the input's format. */
hone_status case_resolve_shares(struct filter_case *c, hone_error *error);
