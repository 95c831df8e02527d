/* SPDX-License-Identifier: BSD-2-Clause */
/* What earlier sessions found out, and what later ones shall know of this one. */
#include "tune/own/session_internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "choose/lookup.h"
#include "tune/session/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool same_case(const struct own_session *s, const struct record_case *c)
{
    return strcmp(c->filter, s->record_case.filter) == 0 && strcmp(c->source, s->record_case.source) == 0;
}

static bool same_device(const struct own_session *s, const struct record_device *device)
{
    return lookup_level_of(device, &s->worker->device_record) == LEVEL_EXACT;
}

/* How many tries stand before those that this session takes over. */
static size_t tries_finished(struct own_session *s, const struct records *all)
{
    struct resume resume = {0};
    for (size_t i = 0; i < all->choice_count; i++)
        if (all->choices[i].origin == ORIGIN_SESSION && same_case(s, &all->choices[i].c) &&
            same_device(s, &all->choices[i].device))
            resume_add(&resume, &all->choices[i]);
    s->continues = resume_goes_on(&resume, s->options->budget);
    return resume_from(&resume, s->options->budget);
}

/* Choices seed the search: of other devices and sizes too, where kernel and file have the same names. */
static void read_choices(struct own_session *s, const struct records *all)
{
    for (size_t i = all->choice_count; i-- > 0;) {
        const struct record_choice *choice = &all->choices[i];
        if (strcmp(choice->c.filter, s->record_case.filter) != 0 ||
            (choice->c.parameters[0] && strcmp(choice->c.parameters, s->record_case.parameters) != 0))
            continue;
        if (choice->count > 0)
            own_session_add_seed(s, choice->ranked[0].config);
    }
}

/* Keeps the tries of this case. */
hone_status own_session_load(struct own_session *s, hone_error *error)
{
    struct records all = {0};
    if (s->worker->no_disk || s->options->fresh)
        return HONE_OK;
    hone_status status = records_load_of(&all, READ_TRIES | READ_CHOICES, s->record_case.filter, error);
    size_t finished = tries_finished(s, &all);
    read_choices(s, &all);
    for (size_t i = 0; i < all.try_count && !status; i++) {
        const struct record_try *t = &all.tries[i];
        if (!same_case(s, &t->c) || !same_device(s, &t->device))
            continue;
        if (!mem_grow(&s->known.tries, &s->known.try_capacity, s->known.try_count + 1,
                      sizeof *s->known.tries))
            status = error_memory(error, "tuning records");
        else
            s->known.tries[s->known.try_count++] = *t;
        if (i < finished)
            s->finished = s->known.try_count;
    }
    records_finish(&all);
    return status;
}

static bool is_word_on(const struct own_session *s, size_t index, const char *config)
{
    const struct record_try *t = &s->known.tries[index];
    return strcmp(t->config.config, config) == 0 &&
           (t->state != STATE_STARTED || record_is_left(s->known.tries, index));
}

const struct record_try *own_session_known(const struct own_session *s, const char *config)
{
    size_t i = s->known.try_count;
    while (i > 0 && !is_word_on(s, i - 1, config))
        i--;
    const struct record_try *t = i > 0 ? &s->known.tries[i - 1] : NULL;
    bool fine = t && (t->state == STATE_OK || t->state == STATE_SLOW);
    return fine && i <= s->finished ? NULL : t;
}

bool own_session_recall(struct own_session *s, const char *config, struct measured *m)
{
    const struct record_try *t = own_session_known(s, config);
    if (!t)
        return false;
    measured_recall(m, t);
    s->result->resumed++;
    return true;
}

void own_session_record(struct own_session *s, const char *config, const struct measured *m,
                        enum record_state state)
{
    struct record_try *t = s->worker->no_disk ? NULL : mem_new(1, sizeof *t);
    hone_error error;
    if (!t)
        return;
    t->device = s->worker->device_record;
    t->c = s->record_case;
    measured_record(m, "kernel", config, state, t);
    if (records_add_try(t, &error) != HONE_OK && s->io_error.status == HONE_OK)
        s->io_error = error;
    free(t);
}

hone_status own_session_save(struct own_session *s, hone_error *error)
{
    struct record_choice *choice = mem_new(1, sizeof *choice);
    if (!choice)
        return error_memory(error, "a tuning record");
    choice->device = s->worker->device_record;
    choice->c = s->record_case;
    choice->default_ms = s->result->first_ms;
    choice->first_rung_ms = choice->plain_ms = -1;
    choice->evaluations = (int)s->result->count;
    choice->asked = s->options->budget;
    choice->unfinished = s->unfinished;
    choice->continues = s->continues;
    choice->seconds = own_session_elapsed(s);
    choice->time = (int64_t)time(NULL);
    choice->raced = s->result->raced;
    choice->drift = s->result->drift;
    choice->load = s->result->load;
    snprintf(choice->clock, sizeof choice->clock, "%s", s->worker->clock);
    for (int i = 0; i < s->result->ranked_count && choice->count < RECORD_MAX_RANKED; i++) {
        struct record_config *to = &choice->ranked[choice->count++];
        snprintf(to->variant, sizeof to->variant, "kernel");
        snprintf(to->config, sizeof to->config, "%s", s->result->ranked[i].config);
        to->ms = s->result->ranked[i].runs.median;
    }
    hone_status status = HONE_OK;
    if (!s->worker->no_disk && !s->result->interrupted) /* an interrupted session is resumed, not concluded */
        status = records_add_choice(choice, error);
    free(choice);
    if (!status && s->io_error.status != HONE_OK) {
        if (error)
            *error = s->io_error;
        status = s->io_error.status;
    }
    return status;
}
