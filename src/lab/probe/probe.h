/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Probes: a variant is run as it is, and then with arithmetic added, with loads added, with half of its
 * work-groups, and with loads that come from a cache. Which of these shows in its time is what limits it
 * (guide 5.6).
 *
 * They are derived from the program's own source and launch geometry, for any variant of any filter.
 */
#pragma once

#include "base/text.h"
#include "lab/bench/row.h"
#include "lab/probe/verdict.h"
#include "lab/roofs/roofs.h"

struct probed {
    struct evidence evidence;
    enum limiter limiter;
    char note[256]; /* what could not be probed, and why */
};

/* Where the program comes from, if not from the filter's folder. */
struct probe_source {
    hone_status (*replace)(void *context, struct text *source, hone_error *error);
    void *context;
};

/* Of a prepared case and a row of which only variant and config count; `source` may be NULL. */
hone_status probe_case(struct probed *probed, const struct filter_case *c, const struct row *row,
                       hone_device *device, const struct probe_source *source, const struct roofs_list *roofs,
                       hone_error *error);

/* Of a row that ran. HONE_OK even where single probes could not be made: the note says so. */
hone_status probe_row(struct probed *probed, const struct row *row, hone_device *device, const char *text,
                      const hone_image_desc *in, const struct roofs_list *roofs, hone_error *error);
