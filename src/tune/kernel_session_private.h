/* SPDX-License-Identifier: BSD-2-Clause */
/* A session that tunes a kernel of the user's own: what the files kernel_session*.c share. */
#ifndef TUNE_KERNEL_SESSION_PRIVATE_H
#define TUNE_KERNEL_SESSION_PRIVATE_H

#include "tune/kernel_session.h"
#include "tune/load.h"
#include "tune/records.h"

enum { KERNEL_MAX_SEEDS = 8, KERNEL_MAX_NAMES = 64 };

struct kernel_session {
    struct worker *worker;
    const struct kernel_spec *spec;
    const struct kernel_session_options *options;
    struct kernel_session_result *result;
    json_t *request;
    json_t *description; /* by the first worker: names point into it, and workers come and go */
    struct held_file source, right;
    struct record_case record_case;
    struct records known; /* earlier tries of this kernel on these arguments */
    size_t finished;      /* so many of the known tries are of sessions that were concluded */
    struct space space;
    struct variant_limits limits;
    const char *names[KERNEL_MAX_NAMES];
    int64_t values[KERNEL_MAX_NAMES];
    struct expr_scope scope;
    struct point seeds[KERNEL_MAX_SEEDS];
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
hone_status kernel_session_request(struct kernel_session *s, hone_error *error);
void kernel_session_case(struct kernel_session *s);
/* What the worker says of kernel and device: names, limits, the space, the first configuration. */
void kernel_session_describe(struct kernel_session *s);
void kernel_session_config(const struct kernel_session *s, const struct point *point, char to[256]);
void kernel_session_add_seed(struct kernel_session *s, const char *config);
/* Makes the right outputs. From here on a new child finds them in the file. */
hone_status kernel_session_right(struct kernel_session *s, hone_error *error);
double kernel_session_build_limit(const struct kernel_session *s);

/* ---- Records ---- */

/* Reads earlier tries, and winners as seeds. */
hone_status kernel_session_load(struct kernel_session *s, hone_error *error);
/* The last word on a configuration counts for good where it is bad, and else until a session was concluded.
 */
const struct record_try *kernel_session_known(const struct kernel_session *s, const char *config);
/* False when nothing is known. One that was started and never ended took its process along. */
bool kernel_session_recall(struct kernel_session *s, const char *config, struct measured *measured);
/* A failure to write is told in the end. */
void kernel_session_record(struct kernel_session *s, const char *config, const struct measured *measured,
                           enum record_state state);
hone_status kernel_session_save(struct kernel_session *s, hone_error *error);

/* Seconds since the session began. */
double kernel_session_elapsed(const struct kernel_session *s);

#endif
