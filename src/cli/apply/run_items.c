/* SPDX-License-Identifier: BSD-2-Clause */
/* Several images at a time, because decoding and encoding take longer than most filters: each thread has an
 * engine of its own, the device is shared, and results are reported in the order of the inputs. */
#include "cli/apply/video.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/guard.h"
#include "cli/profile/traffic.h"
#include "lab/profile/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_AUTOMATIC = 16 };

struct crew {
    const struct apply_options *options;
    const hone_chain *chain;
    const struct items *items;
    struct shared_device shared;
    unsigned size;
    pthread_rwlock_t work; /* shared: one of several images; exclusive: the only one */
    pthread_mutex_t lock;  /* what follows */
    pthread_cond_t turned;
    struct apply_course *course;
    bool stopped;
};

static const char *root_of(const struct crew *crew)
{
    return crew->items->to_folder ? crew->options->output : NULL;
}

static void apply_any(struct crew *crew, struct engine *engine, const struct item *item,
                      struct apply_result *result)
{
    const bool is_video = apply_is_video(item); /* one at a time */
    if (is_video) {
        apply_open_early(&crew->shared);
        crew->course->in_video = true;
    }
    (is_video ? apply_video : engine_apply)(engine, item, root_of(crew), result);
    if (is_video)
        crew->course->in_video = false;
}

static void forget(struct apply_result *result)
{
    free(result->steps);
    traffic_finish(&result->traffic);
}

/* libvips keeps what it has to say about failures to write in one place for all threads, and neighbours take
 * memory: what failed in company is tried once more alone, so that the message is true. What is said of
 * damage that was accepted comes with a result: there one image follows the other from the start. */
static void apply_item(struct crew *crew, struct engine *engine, const struct item *item,
                       struct apply_result *result)
{
    if (crew->options->accept_damaged)
        pthread_rwlock_wrlock(&crew->work);
    else
        pthread_rwlock_rdlock(&crew->work);
    apply_any(crew, engine, item, result);
    pthread_rwlock_unlock(&crew->work);
    if (crew->size == 1 || result->settled ||
        (result->exit_status != EXIT_IO && result->error.status != HONE_ERROR_MEMORY))
        return;
    pthread_rwlock_wrlock(&crew->work);
    forget(result);
    apply_any(crew, engine, item, result);
    pthread_rwlock_unlock(&crew->work);
}

static const struct item *item_at(const struct crew *crew, size_t index)
{
    return &crew->items->list[crew->items->from_stream ? 0 : index];
}

/* The only thread of the crew; each image is an item. A file holds the first one. */
static bool take_from_stream(struct crew *crew, struct engine *engine, size_t *index)
{
    if (crew->stopped || (!engine->stream && crew->course->tally.begun > 0))
        return false;
    if (!engine->stream) { /* which is to be reported once */
        *index = crew->course->tally.begun++;
        return true;
    }
    if (crew->course->tally.begun > 0 && !apply_to_stdout(crew->options)) {
        if (media_stream_more(engine->stream))
            cli_warn(
                &crew->options->common,
                "several images come from '%s'; the first is used (-o - writes all, one after the other)",
                item_at(crew, 0)->input);
        return false;
    }
    *index = crew->course->tally.begun++;
    const bool leaves_rest = crew->options->accept_damaged && *index > 0;
    if ((!leaves_rest || media_stream_more(engine->stream)) && media_stream_take(engine->stream))
        return true;
    if (!media_stream_is_over(engine->stream))
        cli_warn(&crew->options->common, "what follows image %zu of '%s' is no image, and is not used",
                 *index, item_at(crew, 0)->input);
    return false;
}

/* False when there is nothing left to do. */
static bool take_item(struct crew *crew, struct engine *engine, size_t *index)
{
    if (crew->items->from_stream)
        return take_from_stream(crew, engine, index);
    pthread_mutex_lock(&crew->lock);
    const bool some = !crew->stopped && crew->course->tally.begun < crew->course->tally.count;
    if (some) {
        *index = crew->course->tally.begun++;
        apply_progress(crew->options, &crew->course->tally);
    }
    pthread_mutex_unlock(&crew->lock);
    return some;
}

/* What is wrong with one input does not concern the next; but without a device there is no next. */
static void report(struct crew *crew, struct engine *engine, struct apply_result *result, size_t index)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->course->turn != index)
        pthread_cond_wait(&crew->turned, &crew->lock);
    *(result->exit_status ? &crew->course->tally.failed
      : result->skipped   ? &crew->course->tally.skipped
                          : &crew->course->tally.written) += 1;
    if (!crew->stopped)
        apply_report(engine, result, crew->items->count);
    if (result->exit_status > crew->course->worst)
        crew->course->worst = result->exit_status;
    crew->stopped = crew->stopped || result->exit_status == EXIT_NO_DEVICE ||
                    (crew->items->from_stream && result->exit_status != EXIT_DONE);
    crew->course->turn++;
    pthread_cond_broadcast(&crew->turned);
    pthread_mutex_unlock(&crew->lock);
}

static bool is_done(struct engine *engine, const struct item *item)
{
    const struct apply_options *options = engine->options;
    made_key(&engine->made, engine, item->input);
    if (apply_to_stdout(options))
        return false;
    return (options->skip_existing && made_is_there(item->output)) ||
           (options->update && made_is(&engine->made, item->output));
}

static bool needs_work(struct engine *engine, struct apply_result *result)
{
    const char *problem = result->item->problem;
    if (problem)
        result->exit_status = cli_exit_status(error_usage(&result->error, "%s", problem));
    else
        result->skipped = is_done(engine, result->item);
    result->told = problem != NULL;
    return !problem && !result->skipped;
}

static hone_status open_stream(const struct crew *crew, struct engine *engine, hone_error *error)
{
    const struct item *item = item_at(crew, 0);
    const struct apply_options *o = crew->options;
    return item->problem
               ? HONE_OK
               : media_stream_open(&engine->stream, item->input, (uint64_t)(o->decode_memory * 1048576),
                                   apply_patience(o), error);
}

static hone_status explain_end(const struct crew *crew, const char *input, const char *ended,
                               hone_error *error)
{
    const char *left =
        apply_to_stdout(crew->options) ? "what was written of it is not whole" : "nothing was written";
    const double hung = crew->course->hung;
    if (hung > 0)
        return error_io(
            error,
            "'%s': its decoder gave nothing for %g s, so it was given up (--timeout sets how long it may "
            "take), and %s",
            input, hung, left);
    return error_io(error, "'%s': FFmpeg's libraries or a driver crashed at this video (%s), and %s", input,
                    ended, left);
}

/* The item that a process had in hand when it ended. */
static void report_end(struct crew *crew, const char *ended)
{
    struct apply_course *course = crew->course;
    struct engine engine = {.options = crew->options, .shared = &crew->shared};
    struct apply_result result = {.item = item_at(crew, course->turn), .is_video = true};
    result.exit_status = cli_exit_status(explain_end(crew, result.item->input, ended, &result.error));
    course->hung = 0;
    course->tally.begun = course->turn + 1;
    if (!apply_to_stdout(crew->options))
        file_output_sweep(result.item->output);
    report(crew, &engine, &result, course->turn);
}

static void *work(void *user)
{
    struct crew *crew = user;
    struct engine engine = {0};
    hone_error error;
    size_t index;
    hone_status status = engine_begin(&engine, crew->options, crew->chain, &crew->shared, &error);
    if (!status && crew->items->from_stream)
        status = open_stream(crew, &engine, &error);
    while (take_item(crew, &engine, &index)) {
        struct apply_result result = {.item = item_at(crew, index), .error = error};
        if (status)
            result.exit_status = cli_exit_status(status);
        else if (!needs_work(&engine, &result))
            ; /* said already, or done already */
        else
            apply_item(crew, &engine, item_at(crew, index), &result);
        report(crew, &engine, &result, index);
        forget(&result);
    }
    engine_end(&engine);
    return NULL;
}

/* One more than there are processors: while an image waits for the device, a disk or another thread, there is
 * something else to do. */
static unsigned crew_size(const struct apply_options *options, size_t items)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t size = options->jobs > 0 ? (size_t)options->jobs : processors > 0 ? (size_t)processors + 1 : 1;
    if (options->jobs <= 0 && size > MAX_AUTOMATIC)
        size = MAX_AUTOMATIC;
    return (unsigned)(size < items ? size : items);
}

/* Threads that cannot be had are done without: this one does the work too. */
static void run_crew(struct crew *crew)
{
    pthread_t *threads = mem_new(crew->size, sizeof *threads);
    unsigned started = 0;
    while (threads && started + 1 < crew->size && pthread_create(&threads[started], NULL, work, crew) == 0)
        started++;
    work(crew);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    free(threads);
}

/* A driver that hangs would also hang what libraries do when a process ends, and one whose threads have just
 * begun may crash there. */
static void end_now(int status)
{
    fflush(stdout);
    fflush(stderr);
    quick_exit(status);
}

/* Devices have names as long as they are open. */
static void write_trace(struct crew *crew, struct guarded_output *output)
{
    const struct apply_options *options = crew->options;
    struct timeline **timeline = &crew->shared.timeline;
    hone_error error;
    if (!options->trace)
        return;
    if (trace_file_end(output, options->trace, *timeline ? timeline_json(*timeline, "hone apply") : NULL,
                       &error)) {
        const int status = cli_fail(&options->common, &error);
        crew->course->worst = status > crew->course->worst ? status : crew->course->worst;
    }
    guard_output_abort(output);
    timeline_free(timeline);
}

int apply_items(const struct apply_options *options, const hone_chain *chain, const struct items *items,
                struct apply_course *course, const char *ended)
{
    const size_t length = hone_chain_text(chain, NULL, 0) + 1;
    char *text = mem_new(length, 1);
    hone_error error;
    if (!text)
        return cli_fail(&options->common, (error_memory(&error, "a chain"), &error));
    hone_chain_text(chain, text, length);
    struct crew crew = {
        .options = options,
        .chain = chain,
        .items = items,
        .shared = {.options = options,
                   .chain = chain,
                   .chain_text = text,
                   .often = apply_has_video(items) || items->from_stream,
                   .lock = PTHREAD_MUTEX_INITIALIZER,
                   .tuning = PTHREAD_RWLOCK_INITIALIZER,
                   .course = course,
                   .memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER}},
        .size = apply_has_video(items)
                    ? 1
                    : crew_size(options, items->count), /* a video keeps all processors busy */
        .course = course,
        .work = PTHREAD_RWLOCK_INITIALIZER,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .turned = PTHREAD_COND_INITIALIZER};
    struct guarded_output trace = GUARDED_OUTPUT_NONE;
    if (trace_file_begin(&trace, options->trace, &error)) {
        free(text);
        return cli_fail(&options->common, &error);
    }
    crew.shared.timeline = options->trace ? timeline_new() : NULL;
    if (ended)
        report_end(&crew, ended);
    else
        course->tally = (struct apply_tally){.count = items->count, .start = clock_ns()};
    apply_energy_begin(&crew.shared.energy, &options->common);
    if (!crew.stopped)
        run_crew(&crew);
    apply_energy_end(&crew.shared.energy, &options->common);
    apply_summary(options, items, &course->tally);
    write_trace(&crew, &trace);
    if (!share_close(&crew.shared))
        end_now(course->worst);
    free(text);
    return course->worst;
}
