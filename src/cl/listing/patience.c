/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/listing/patience.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/starved.h"
#include "base/text.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A process that has all it needs wakes up after a slice, and little later. */
static const uint64_t slice_ns = 500000000, late_slice_ns = 700000000;

/* ---- How long ---- */

static const double usual_seconds = 60;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over all that is static here */
static double given_seconds = -1;

void patience_set(double seconds)
{
    pthread_mutex_lock(&lock);
    given_seconds = seconds;
    pthread_mutex_unlock(&lock);
}

double patience_seconds(void)
{
    pthread_mutex_lock(&lock);
    const double given = given_seconds;
    pthread_mutex_unlock(&lock);
    if (given >= 0)
        return given;
    const char *text = getenv("HONE_DRIVER_TIMEOUT");
    char *end = NULL;
    const double seconds = text ? text_number(text, &end) : usual_seconds;
    return text && (end == text || *end || !(seconds >= 0) || !isfinite(seconds)) ? usual_seconds : seconds;
}

/* ---- One question ---- */

struct asking {
    struct question *question;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool answered, left;
};

static void destroy(struct asking *asking)
{
    pthread_mutex_destroy(&asking->lock);
    pthread_cond_destroy(&asking->changed);
    free(asking);
}

/* LLVM, in a driver that is loaded for a question, gives the thread another stack for signals. What a
 * sanitizer gave it has to be there again when it ends, for that is unmapped then. */
static void ask_on_own_stack(struct question *question)
{
    stack_t own;
    const bool known = sigaltstack(NULL, &own) == 0;
    question->ask(question);
    if (known)
        (void)sigaltstack(&own, NULL);
}

static void *ask(void *user)
{
    struct asking *asking = user;
    ask_on_own_stack(asking->question);
    pthread_mutex_lock(&asking->lock);
    const bool left = asking->left;
    asking->answered = true;
    pthread_cond_signal(&asking->changed);
    pthread_mutex_unlock(&asking->lock);
    if (left) {
        asking->question->destroy(asking->question);
        destroy(asking);
    }
    return NULL;
}

static struct asking *new_asking(struct question *question)
{
    pthread_condattr_t attributes;
    struct asking *asking = mem_new(1, sizeof *asking);
    if (!asking)
        return NULL;
    asking->question = question;
    pthread_mutex_init(&asking->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&asking->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return asking;
}

/* Under the lock. */
static void wait_a_slice(struct asking *asking)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + slice_ns;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    while (!asking->answered && pthread_cond_timedwait(&asking->changed, &asking->lock, &until) == 0)
        continue;
}

/* Of the time since `before`, what the process could not run in. */
static uint64_t missed(struct starved *starved, uint64_t before, uint64_t now)
{
    const uint64_t waited = starved_since(starved, STARVED_OWN, now);
    const uint64_t overslept = now - before > late_slice_ns ? now - before - slice_ns : 0;
    return waited > overslept ? waited : overslept;
}

/* Whether the answer came in time. */
static bool await(struct asking *asking, double seconds)
{
    struct starved starved = {0};
    uint64_t at = clock_ns(), counted = 0;
    (void)starved_since(&starved, STARVED_OWN, at); /* what the first slice is compared with */
    pthread_mutex_lock(&asking->lock);
    while (!asking->answered && (double)counted < seconds * 1e9) {
        wait_a_slice(asking);
        if (asking->answered)
            break;
        const uint64_t now = clock_ns(), lost = missed(&starved, at, now);
        counted += now - at > lost ? now - at - lost : 0;
        at = now;
    }
    const bool came = asking->answered;
    asking->left = !came;
    pthread_mutex_unlock(&asking->lock);
    starved_finish(&starved);
    return came;
}

enum answer patience_ask(struct question *question)
{
    const double seconds = patience_seconds();
    pthread_t thread;
    struct asking *asking = seconds > 0 ? new_asking(question) : NULL;
    if (seconds > 0 && !asking)
        return ANSWER_NO_MEMORY;
    if (!asking || pthread_create(&thread, NULL, ask, asking) != 0) { /* without a bound, then */
        if (asking)
            destroy(asking);
        question->ask(question);
        return ANSWER_CAME;
    }
    if (!await(asking, seconds)) {
        pthread_detach(thread);
        return ANSWER_LATE;
    }
    pthread_join(thread, NULL);
    destroy(asking);
    return ANSWER_CAME;
}

/* ---- What did not answer ---- */

static struct late {
    const void *subject;
    char sentence[512];
    bool said;
    struct late *next;
} * all_late;

/* Under the lock. */
static struct late *find(const void *subject)
{
    struct late *late = all_late;
    while (late && subject && late->subject != subject)
        late = late->next;
    return late;
}

void patience_note_late(const void *subject, const char *format, ...)
{
    va_list args;
    struct late *late = mem_new(1, sizeof *late);
    pthread_mutex_lock(&lock);
    if (late && !find(subject)) {
        va_start(args, format);
        vsnprintf(late->sentence, sizeof late->sentence, format, args);
        va_end(args);
        late->said = late->sentence[0] == '\0';
        late->subject = subject;
        late->next = all_late;
        all_late = late;
        late = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(late);
}

bool patience_is_late(const void *subject)
{
    pthread_mutex_lock(&lock);
    const bool is = find(subject);
    pthread_mutex_unlock(&lock);
    return is;
}

const char *patience_take_note(void)
{
    pthread_mutex_lock(&lock);
    struct late *late = all_late;
    while (late && late->said)
        late = late->next;
    if (late)
        late->said = true;
    pthread_mutex_unlock(&lock);
    return late ? late->sentence : NULL;
}
