/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning a kernel of the user's own. */
#pragma once

#include "tune/own/spec/spec.h"
#include "tune/session/session.h"

struct own_request {
    const struct own_spec *spec;
    const char *source; /* text of the kernel's file */
    const char *folder; /* for #include; may be NULL */
    /* Reads the right outputs of output `index` (--check FILE): `count` elements to `to`. */
    hone_status (*read_right)(void *context, int index, enum element element, size_t count, void *to,
                              hone_error *error);
    void *context;
};

struct own_session_result {
    struct session_result base;        /* default_ms of the choice is of `first` */
    char first[256];                   /* the baseline: the first legal configuration */
    bool launch[SPACE_MAX_PARAMETERS]; /* parameters that compile nothing */
    double bytes, flops;               /* of one launch of the winner; 0: not known */
};

/* Errors as filter_session_tune, and HONE_ERROR_CHECK where the first configuration fails; HONE_ERROR_USAGE
 * where the request makes no sense. `fresh` forgets all that was measured before. */
hone_status own_session_tune(struct worker *worker, const struct own_request *request,
                             const struct session_options *options, struct own_session_result *result,
                             hone_error *error);
void own_session_finish(struct own_session_result *result);
