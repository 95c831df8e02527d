/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The engine of a tuning session: search, measuring in the worker, records, the final, the choice.
 *
 * What differs between filters and kernels of the user's own are the operations; each kind begins its own
 * structure with a struct session.
 */
#pragma once

#include "base/expr.h"
#include "filter/variant.h"
#include "tune/measure/cpu_load.h"
#include "tune/search/search.h"
#include "tune/session/session.h"
#include "tune/worker/memory_file.h"

enum { SESSION_MAX_SEEDS = 32, SESSION_MAX_NAMES = 96 };

/* What the best is compared with. A kernel of the user's own has the first alone. */
enum {
    WITHOUT_TUNING,
    INCUMBENT,
    ASKED /* the best of an experiment's variants */,
    PLAIN,
    FIRST_RUNG,
    COMPARED
};

struct session;

struct session_ops {
    /* Makes s->request, which opens the case in the worker. s->right is there to be named in it. */
    hone_status (*request)(struct session *s, hone_error *error);
    /* Reads s->description into record_case, space, searched and seeds, and makes what is right where that
     * comes first. Names and limits have been read. */
    hone_status (*describe)(struct session *s, hone_error *error);
    /* "ROWS=128 WG_X=1" */
    void (*print)(const struct session *s, const struct point *point, struct text *out);
    bool (*same_case)(const struct record_case *a, const struct record_case *b);
    /* All records of what is tuned, unless the session starts over. May be NULL. */
    void (*learn)(struct session *s, const struct records *all);
    /* Before something is measured that was not known. May be NULL. */
    void (*prepare)(struct session *s);
    /* When a configuration failed in the final. May be NULL. */
    void (*dropped)(struct session *s, const char *config, const struct measured *fault);
    /* After the search: fills in s->compared, whose ms are negative. */
    void (*compare)(struct session *s, struct search_result *found);
    /* Bytes and operations of one launch; NAN where they are not known. */
    void (*cost)(const struct session *s, const struct point *point, double *bytes, double *flops);
    /* Whether a parameter's values are numbers, which expressions may use; NULL: all are. */
    bool (*is_number)(const struct session *s, int parameter);
    /* When the final is over: what else is told. May be NULL. */
    void (*conclude)(struct session *s);
};

struct session {
    const struct session_ops *ops;
    struct worker *worker;
    const struct session_options *options;
    struct session_result *result;
    /* ---- By the kind ---- */
    char name[64];  /* of what is tuned, for messages */
    bool own;       /* a kernel of the user's own: its one path has no name for people; `fresh` forgets all */
    double beside;  /* seconds that a configuration may take beside its launches, */
    double at_race; /* and the final */
    /* ---- By the operations ---- */
    json_t *request;
    struct record_case record_case;
    struct space space; /* all that can run here */
    int searched;       /* paths: the first ones */
    struct point seeds[SESSION_MAX_SEEDS];
    size_t seed_count;
    struct evaluated compared[COMPARED]; /* ms negative: not known */
    bool comparing;                      /* the search is over: what runs now is only compared with */
    /* ---- By the engine ---- */
    struct held_file right; /* the right result, for workers to come */
    json_t *description;  /* of the case, by the first worker: names point into it, and workers come and go */
    struct records known; /* tries of this very case: of earlier sessions, then of this one */
    size_t resumable;     /* how many of them are of earlier ones */
    struct variant_limits limits;
    const char *names[SESSION_MAX_NAMES];
    int64_t values[SESSION_MAX_NAMES];
    struct expr_scope scope;
    uint64_t start;
    struct load load; /* at the start, where load_known */
    bool load_known;
    int evaluations;
    double fastest;      /* ms so far; negative: nothing ran yet */
    char failed[512];    /* the note of the last configuration that failed */
    int lock;            /* of the device, see device_lock.h */
    hone_error io_error; /* the first failure to write records */
    hone_error failure;  /* there is no worker any more: the session ends */
};

/* ---- engine.c ---- */

/* The whole session; what the kind fills in is there. The result is filled in as far as it goes. */
hone_status session_run(struct session *s, const struct session_ops *ops, struct worker *worker,
                        const struct session_options *options, struct session_result *result,
                        hone_error *error);

/* One configuration in the worker, recorded before and after; what is known already is not measured again. */
void session_measure(struct session *s, const char *variant, const char *config, double best,
                     struct measured *measured);
/* The same, whatever is known. `hold`: its result is what others are compared with from then on. */
void session_try(struct session *s, const char *variant, const char *config, double best, bool hold,
                 struct measured *measured);
bool session_worked(const struct measured *measured);
/* Asks for something beside measuring; what comes of it may end the session. */
void session_ask(struct session *s, const char *what, json_t **answer);
double session_build_limit(const struct session *s);
void session_config(const struct session *s, const struct point *point, char to[256]);
/* Each once, of the paths that are searched, as long as there is room. */
void session_add_seed(struct session *s, const struct point *point);
/* Tells what is under way. */
void session_stage(const struct session *s, const char *text);
/* Seconds since the session began, and whether they are more than it has. */
double session_elapsed(const struct session *s);
bool session_is_late(const struct session *s);

/* ---- tries.c: what was evaluated, and metrics of it ---- */

/* Whether time decides. */
bool session_by_time(const struct session *s);
/* Refuses metrics that mean nothing in this case; with the space and the description there. */
hone_status session_check_metrics(const struct session *s, hone_error *error);
/* Keeps what came of a configuration; what the search makes least of it: -1 for what failed. */
double session_keep_try(struct session *s, const struct point *point, const char *config,
                        const struct measured *m);
const struct session_try *session_find_try(const struct session *s, const struct point *point);
/* Metrics of a finalist by its median. */
void session_rate(const struct session *s, struct finalist *finalist);
/* Figures that a try must have to count, by bits. */
unsigned session_wanted_figures(const struct session *s);

/* ---- known.c: records ---- */

/* Reads the earlier tries of this case that count. */
hone_status session_load_known(struct session *s, hone_error *error);
/* The last word on a configuration; NULL: it was never tried. */
const struct record_try *session_known(const struct session *s, const char *variant, const char *config);
bool session_recall(struct session *s, const char *variant, const char *config, struct measured *measured);
/* Writes down how a try began or ended; a failure to write is told in the end. */
void session_record(struct session *s, const char *variant, const char *config,
                    const struct measured *measured, enum record_state state);
/* Completes the choice and writes it, unless the session was interrupted. */
hone_status session_save(struct session *s, hone_error *error);

/* ---- final.c: who wins ---- */

/* Measures the leaders again by turns and fills in ranks and comparisons. Puts `found` in order. */
void session_final(struct session *s, struct search_result *found);
/* The time that the search found for to->point; false when it was not evaluated. */
bool session_searched(const struct search_result *found, struct evaluated *to);
