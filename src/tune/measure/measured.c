/* SPDX-License-Identifier: BSD-2-Clause */
/* What was measured, from and to records. */
#include "tune/measure/measure.h"

#include "choose/records_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void measured_recall(struct measured *m, const struct record_try *t)
{
    const bool ended = t->state != STATE_STARTED;
    *m = (struct measured){.state = ended ? t->state : STATE_CRASH,
                           .ms = t->config.ms,
                           .build_ms = t->build_ms,
                           .figures = t->figures};
    for (int i = 0; i < t->run_count && i < MEASURE_RUNS; i++)
        m->runs[m->run_count++] = t->runs[i];
    snprintf(m->note, sizeof m->note, "%s", ended ? t->note : "the machine went down in it twice");
    if (m->state != STATE_OK && m->state != STATE_SLOW)
        m->ms = -1;
}

void measured_record(const struct measured *m, const char *variant, const char *config,
                     enum record_state state, struct record_try *t)
{
    t->state = state;
    t->time = (int64_t)time(NULL);
    t->config.ms = -1;
    snprintf(t->config.variant, sizeof t->config.variant, "%s", variant);
    snprintf(t->config.config, sizeof t->config.config, "%s", config);
    snprintf(t->session, sizeof t->session, "%s", state == STATE_STARTED ? record_session() : "");
    if (!m)
        return;
    t->config.ms = m->ms;
    t->build_ms = m->build_ms;
    t->figures = m->figures;
    t->run_count = m->run_count;
    memcpy(t->runs, m->runs, sizeof m->runs);
    snprintf(t->note, sizeof t->note, "%s", m->note);
}

json_t *measured_json(const struct measured *m, const char *variant, const char *config)
{
    struct record_try t = {0};
    measured_record(m, variant, config, m->state, &t);
    return record_outcome_json(&t);
}

bool measured_read(struct measured *m, const json_t *object)
{
    struct record_try t = {0};
    if (!record_read_outcome(object, &t) || t.state == STATE_STARTED)
        return false;
    measured_recall(m, &t);
    return true;
}
