/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of a tuning session share. */
#ifndef TUNE_SESSION_INTERNAL_H
#define TUNE_SESSION_INTERNAL_H

#include "base/expr.h"
#include "choose/choose.h"
#include "filter/variant.h"
#include "tune/measure/cpu_load.h"
#include "tune/search/search.h"
#include "tune/session/session.h"
#include "tune/worker/memory_file.h"

enum { MAX_SEEDS = 32, MAX_NAMES = 96 };

/* What choosing would try, in this order: the first that works is what runs. */
struct candidates {
    struct point points[MAX_CHOICES];
    int count;
};

struct session {
    struct worker *worker;
    const struct filter_case *c;
    const struct session_options *options;
    struct session_result *result;
    struct record_case record_case;
    json_t *description;  /* of the case, by the first worker: names point into it, and workers come and go */
    struct records known; /* tries of this very case: of earlier sessions, then of this one */
    size_t resumable;     /* how many of them are of earlier ones */
    struct space space;   /* all that can run here */
    int searched;         /* paths: the first ones */
    const struct variant *variants[SPACE_MAX_PATHS]; /* by path */
    struct variant_limits limits;
    const char *names[MAX_NAMES];
    int64_t values[MAX_NAMES];
    struct expr_scope scope;
    struct point seeds[MAX_SEEDS];
    size_t seed_count;
    struct candidates now, untuned; /* as things are, and as if nothing had been measured here */
    /* What the best is compared with; ms negative: not known. */
    struct evaluated without_tuning, incumbent, plain, first_rung;
    struct evaluated asked; /* the best of an experiment's variants */
    uint64_t start;
    struct load load; /* at the start, where load_known */
    bool load_known;
    int evaluations;
    struct held_file right; /* the right result at full size, see measure_open */
    bool right_asked;
    bool comparing;      /* the search is over: what runs now is only compared with */
    int lock;            /* of the device, see device_lock.h */
    hone_error io_error; /* the first failure to write records */
    hone_error failure;  /* there is no worker any more: the session ends */
};

/* ---- legal.c: what the worker says of the case ---- */

/* Fills in the space, its limits and its seeds. */
hone_status session_read_description(struct session *session, hone_error *error);
/* False when the names mean nothing in this space. */
bool session_point(const struct session *session, const char *variant, const char *text, struct point *point);
/* "ROWS=128 WG_X=1" */
void session_config(const struct session *session, const struct point *point, char *to, size_t size);

/* ---- session.c ---- */

/* One configuration in the worker, recorded before and after; what is known already is not measured again. */
void session_measure(struct session *session, const char *variant, const char *config, double best,
                     struct measured *measured);

/* Writes down how a try began or ended; a failure to write is told in the end. */
void session_record(struct session *session, const char *variant, const char *config,
                    const struct measured *measured, enum record_state state);

/* The same, whatever is known. `hold`: its result is what others are compared with from then on. */
void session_try(struct session *session, const char *variant, const char *config, double best, bool hold,
                 struct measured *measured);
/* The last word on a configuration; NULL: it was never tried. */
const struct record_try *session_known(const struct session *session, const char *variant,
                                       const char *config);

/* Tells what is under way. */
void session_stage(const struct session *session, const char *text);

/* Seconds since the session began. */
double session_elapsed(const struct session *session);

/* ---- right.c: what results are compared with ---- */

/* Before anything is measured: the reference's result at full size, or where that takes too long a variant's;
 * result->compared_with says whose. The first call does it. */
void session_find_right(struct session *session);

/* ---- final.c: who wins ---- */

/* Measures the leaders again by turns and fills in the choice. Puts `found` in order. */
hone_status session_final(struct session *session, struct search_result *found, hone_error *error);

#endif
