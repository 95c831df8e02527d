/* SPDX-License-Identifier: BSD-2-Clause */
/* What results at full size are compared with: found once in a session, and kept in the parent's hands. */
#include "tune/session/filter_internal.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double usual_seconds = 2;   /* that the reference in plain C may take */
static const double hurry_share = 0.25;  /* where a session has little time: of that, */
static const double hurry_seconds = 5;   /* and so many at most, for nothing takes its place then */
static const double enough_seconds = 60; /* that a session needs for the plainest variant to take its place */
static const double beside_seconds = 60; /* for making pictures, and for a prediction that was wrong */

static bool is_hurried(const struct session *s)
{
    return s->options->seconds > 0 && s->options->seconds < enough_seconds;
}

hone_status filter_session_wish(double *seconds, hone_error *error)
{
    const char *wish = getenv("HONE_TUNE_REFERENCE");
    char *end = NULL;
    *seconds = -1;
    if (!wish || !*wish)
        return HONE_OK;
    const double wished = text_number(wish, &end);
    if (end == wish || *end || !isfinite(wished) || wished < 0)
        return error_usage(error, "HONE_TUNE_REFERENCE is a number of seconds, such as 10 or 0.5, not '%s'",
                           wish);
    *seconds = wished;
    return HONE_OK;
}

static double reference_seconds(const struct session *s)
{
    double wished;
    if (filter_session_wish(&wished, NULL) == HONE_OK && wished >= 0)
        return wished;
    return is_hurried(s) ? fmin(hurry_seconds, hurry_share * s->options->seconds) : usual_seconds;
}

static bool is_held(const struct session *s)
{
    return measure_right_of(s->right.fd) != RIGHT_NONE;
}

/* Plain C, where it is quick enough. A process that dies of it has run no kernel: nobody is to blame. */
static void ask_reference(struct session *s)
{
    char note[512];
    double seconds = reference_seconds(s);
    json_t *answer = NULL, *request = json_pack("{s:s, s:f}", "do", "refer", "seconds", seconds);
    if (request && seconds > 0)
        worker_ask(s->worker, request, 5 * seconds + beside_seconds, &answer, note);
    json_decref(request);
    json_decref(answer);
}

static bool is_bad(const struct session *s, const char *variant, const char *config)
{
    const struct record_try *known = session_known(s, variant, config);
    return known && known->state != STATE_OK && known->state != STATE_SLOW;
}

/* True when the variant ran well, so that its result is held unless there is no room for it. */
static bool hold(struct session *s, const struct variant *variant)
{
    struct config config;
    struct text text = {0};
    struct measured m = {.state = STATE_RUN};
    config_default(variant, &config);
    config_print(variant, &config, &text);
    if (config_legal_within(&s->scope, &s->limits, variant, &config, NULL) == HONE_OK &&
        !is_bad(s, variant->name, text_view(&text)))
        session_try(s, variant->name, text_view(&text), -1, true, &m);
    text_finish(&text);
    return session_worked(&m);
}

/* The first variant of the table that can run, is right on a small picture, and comes back. */
static void hold_first(struct session *s)
{
    const json_t *variants = json_object_get(s->description, "variants");
    const bool comparing = s->comparing;
    session_stage(s, "a result to compare with");
    s->comparing = true; /* the plainest are slow */
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const char *name = json_string_value(json_array_get(variants, i));
        const struct variant *variant = filter_variant(filter_session_of(s)->c->filter, name ? name : "");
        if (!variant || variant->relaxed || !hold(s, variant))
            continue;
        if (is_held(s))
            snprintf(s->result->compared_with, sizeof s->result->compared_with, "%s", variant->name);
        break;
    }
    s->comparing = comparing;
}

void filter_session_find_right(struct session *s)
{
    struct filter_session *f = filter_session_of(s);
    if (f->right_asked)
        return;
    f->right_asked = true;
    session_stage(s, "plain C for comparison");
    ask_reference(s);
    if (is_held(s))
        snprintf(s->result->compared_with, sizeof s->result->compared_with, "plain C");
    else if (!is_hurried(s))
        hold_first(s);
}
