/* SPDX-License-Identifier: BSD-2-Clause */
/* A session that tunes a kernel of the user's own: what its files share. */
#ifndef TUNE_OWN_SESSION_INTERNAL_H
#define TUNE_OWN_SESSION_INTERNAL_H

#include "choose/records.h"
#include "tune/measure/cpu_load.h"
#include "tune/own/session.h"

enum { OWN_MAX_SEEDS = 8, OWN_MAX_NAMES = 64 };

struct own_session {
    struct worker *worker;
    const struct own_spec *spec;
    const struct own_session_options *options;
    struct own_session_result *result;
    json_t *request;
    json_t *description; /* by the first worker: names point into it, and workers come and go */
    struct held_file source, right;
    struct record_case record_case;
    struct records known; /* earlier tries of this kernel on these arguments */
    size_t finished;      /* so many of the known tries are of sessions that this one does not go on from */
    bool continues, unfinished; /* as in record_choice */
    struct space space;
    struct variant_limits limits;
    const char *names[OWN_MAX_NAMES];
    int64_t values[OWN_MAX_NAMES];
    struct expr_scope scope;
    struct point seeds[OWN_MAX_SEEDS];
    size_t seed_count;
    uint64_t start;
    struct load load; /* then, where load_known */
    bool load_known;
    int lock;            /* of the device, see device_lock.h */
    hone_error io_error; /* the first failure to write records */
    hone_error failure;  /* there is no worker any more: the session ends */
};

/* ---- Opening ---- */

/* What the worker is told, and the case that records are kept under. */
hone_status own_session_request(struct own_session *s, hone_error *error);
void own_session_case(struct own_session *s);
/* What the worker says of kernel and device: names, limits, the space, the first configuration. */
void own_session_describe(struct own_session *s);
/* A name in what a launch costs that nobody gave is HONE_ERROR_USAGE, with the names that there are. */
hone_status own_session_check_costs(const struct own_session *s, hone_error *error);
void own_session_config(const struct own_session *s, const struct point *point, char to[256]);
void own_session_add_seed(struct own_session *s, const char *config);
/* Makes the right outputs. From here on a new child finds them in the file. */
hone_status own_session_right(struct own_session *s, hone_error *error);
double own_session_build_limit(const struct own_session *s);

/* ---- Records ---- */

/* Reads earlier tries, and winners as seeds. */
hone_status own_session_load(struct own_session *s, hone_error *error);
/* The last word on a configuration counts for good where it is bad, and else until a session was
 * concluded. */
const struct record_try *own_session_known(const struct own_session *s, const char *config);
/* False when nothing is known. */
bool own_session_recall(struct own_session *s, const char *config, struct measured *measured);
/* A failure to write is told in the end. */
void own_session_record(struct own_session *s, const char *config, const struct measured *measured,
                        enum record_state state);
hone_status own_session_save(struct own_session *s, hone_error *error);

/* Seconds since the session began. */
double own_session_elapsed(const struct own_session *s);

#endif
