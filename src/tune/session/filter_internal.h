/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of a filter's session share. */
#pragma once

#include "choose/choose.h"
#include "tune/session/engine.h"
#include "tune/session/filter.h"

/* What choosing would try, in this order: the first that works is what runs. */
struct candidates {
    struct point points[MAX_CHOICES];
    int count;
};

struct filter_session {
    struct session base;
    const struct filter_case *c;
    const struct variant *variants[SPACE_MAX_PATHS]; /* by path */
    struct candidates now, untuned; /* as things are, and as if nothing had been measured here */
    bool right_asked;
};

static inline struct filter_session *filter_session_of(const struct session *s)
{
    return (struct filter_session *)s;
}

/* False when the names mean nothing in this space. */
bool filter_session_point(const struct filter_session *f, const char *variant, const char *text,
                          struct point *point);

/* Before anything is measured: the reference's result at full size, or where that takes too long a variant's;
 * result->compared_with says whose. The first call does it. */
void filter_session_find_right(struct session *s);

/* What the best is compared with: found in the search, or measured now. */
void filter_session_compare(struct session *s, struct search_result *found);
