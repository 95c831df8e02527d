/* SPDX-License-Identifier: BSD-2-Clause */
/* What earlier sessions found out, and what later ones shall know of this one. */
#include "tune/session/engine.h"

#include "base/error.h"
#include "base/mem.h"
#include "choose/lookup.h"
#include "tune/session/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_ours(const struct session *s, const struct record_device *device, const struct record_case *c)
{
    return lookup_level_of(device, &s->worker->device_record) == LEVEL_EXACT &&
           s->ops->same_case(c, &s->record_case);
}

/* What came of a configuration takes the place of its starts, and of what came of it before. */
static void forget(struct records *known, const struct record_config *config)
{
    size_t left = 0;
    for (size_t i = 0; i < known->try_count; i++)
        if (strcmp(known->tries[i].config.variant, config->variant) != 0 ||
            strcmp(known->tries[i].config.config, config->config) != 0) {
            if (left < i)
                known->tries[left] = known->tries[i];
            left++;
        }
    known->try_count = left;
}

static bool keep(struct session *s, const struct record_try *t)
{
    struct records *known = &s->known;
    if (!mem_grow(&known->tries, &known->try_capacity, known->try_count + 1, sizeof *known->tries))
        return false;
    known->tries[known->try_count++] = *t;
    return true;
}

/* How many tries stand before those that this session takes over. */
static size_t tries_finished(struct session *s, const struct records *all)
{
    struct resume resume = {0};
    for (size_t i = 0; i < all->choice_count; i++) {
        const struct record_choice *choice = &all->choices[i];
        if ((choice->origin == ORIGIN_SESSION || choice->origin == ORIGIN_EXPERIMENT) &&
            is_ours(s, &choice->device, &choice->c))
            resume_add(&resume, choice);
    }
    s->result->choice.continues = !s->options->fresh && resume_goes_on(&resume, s->options->budget);
    return resume_from(&resume, s->options->budget);
}

/* What ended badly or never counts for good, unless the user wants it tried again: it may have had reasons
 * that are gone. A filter's program that was wrong is in quarantine; a file that a user's kernel includes may
 * be another by now. */
static bool counts(const struct session *s, const struct record_try *t, bool since_last)
{
    if (s->options->fresh)
        return t->state == STATE_WRONG && !s->own;
    return since_last || (t->state != STATE_OK && t->state != STATE_SLOW);
}

hone_status session_load_known(struct session *s, hone_error *error)
{
    struct records all = {0};
    hone_status status = s->worker->no_disk
                             ? HONE_OK
                             : records_load_of(&all, READ_TRIES | READ_CHOICES, s->record_case.filter, error);
    size_t finished = tries_finished(s, &all);
    for (size_t i = 0; i < all.try_count && !status; i++) {
        const struct record_try *t = &all.tries[i];
        if (!is_ours(s, &t->device, &t->c))
            continue;
        if (t->state != STATE_STARTED)
            forget(&s->known, &t->config);
        if (counts(s, t, i >= finished) && !keep(s, t))
            status = error_memory(error, "tuning records");
    }
    s->resumable = s->known.try_count;
    if (!status && s->ops->learn && !s->options->fresh)
        s->ops->learn(s, &all);
    records_finish(&all);
    return status;
}

const struct record_try *session_known(const struct session *s, const char *variant, const char *config)
{
    for (size_t i = s->known.try_count; i-- > 0;) {
        const struct record_try *t = &s->known.tries[i];
        if (strcmp(t->config.variant, variant) == 0 && strcmp(t->config.config, config) == 0 &&
            (t->state != STATE_STARTED || record_is_left(s->known.tries, s->known.try_count, i)))
            return t;
    }
    return NULL;
}

bool session_recall(struct session *s, const char *variant, const char *config, struct measured *m)
{
    const struct record_try *t = session_known(s, variant, config);
    const bool measured = t && (t->state == STATE_OK || t->state == STATE_SLOW);
    if (!t || (measured && session_wanted_figures(s) & ~t->figures.known))
        return false;
    measured_recall(m, t);
    s->result->resumed += t < s->known.tries + s->resumable;
    return true;
}

void session_record(struct session *s, const char *variant, const char *config, const struct measured *m,
                    enum record_state state)
{
    struct record_try *t = mem_new(1, sizeof *t);
    hone_error error;
    if (!t)
        return;
    t->device = s->worker->device_record;
    t->c = s->record_case;
    measured_record(m, variant, config, state, t);
    if (!s->worker->no_disk && records_add_try(t, &error) != HONE_OK && s->io_error.status == HONE_OK)
        s->io_error = error;
    if (m && state != STATE_ABANDONED)
        keep(s, t); /* without memory for it, it is measured again */
    free(t);
}

hone_status session_save(struct session *s, hone_error *error)
{
    struct record_choice *choice = &s->result->choice;
    hone_status status = HONE_OK;
    choice->origin = s->options->variants || !session_by_time(s) ? ORIGIN_EXPERIMENT : ORIGIN_SESSION;
    if (!session_by_time(s))
        metrics_print_objective(s->options->metrics, choice->objective, sizeof choice->objective);
    choice->evaluations = s->evaluations;
    choice->asked = s->options->budget;
    choice->seconds = session_elapsed(s);
    choice->time = (int64_t)time(NULL);
    for (size_t i = 0; i < s->seed_count && choice->seed_count < RECORD_MAX_RANKED; i++) {
        struct record_config *to = &choice->seeds[choice->seed_count++];
        snprintf(to->variant, sizeof to->variant, "%s", s->space.paths[s->seeds[i].path].name);
        session_config(s, &s->seeds[i], to->config);
    }
    if (!s->worker->no_disk && !s->result->interrupted) /* an interrupted session is resumed, not concluded */
        status = records_add_choice(choice, error);
    if (!status && s->io_error.status != HONE_OK) {
        if (error)
            *error = s->io_error;
        status = s->io_error.status;
    }
    return status;
}
