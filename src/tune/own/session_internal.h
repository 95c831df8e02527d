/* SPDX-License-Identifier: BSD-2-Clause */
/* A session that tunes a kernel of the user's own: what its files share. */
#pragma once

#include "tune/own/session.h"
#include "tune/session/engine.h"

struct own_session {
    struct session base;
    const struct own_request *request;
    const struct own_spec *spec;
    struct own_session_result *result;
    struct held_file source;
};

static inline struct own_session *own_session_of(const struct session *s)
{
    return (struct own_session *)s;
}

/* ---- session_open.c: operations ---- */

hone_status own_session_request(struct session *s, hone_error *error);
hone_status own_session_describe(struct session *s, hone_error *error);
/* Takes part in the search if it can be read. */
void own_session_add_seed(struct session *s, const char *config);
