/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: one picture. It is decoded, filtered by whichever device the pool gives it to, and encoded;
 * while it waits, other threads do the same with others. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "image/view.h"
#include "lab/profile/timeline.h"

#include <stdlib.h>
#include <string.h>

/* ---- On a device ---- */

/* Sums are those of all pages of an image; what was chosen is that of the last one. */
static void take_report(struct engine *engine, struct pool_job *job, struct apply_result *result)
{
    free(result->steps);
    result->steps = job->steps;
    result->step_count = job->step_count;
    result->device = engine->shared->devices[job->device];
    result->alpha_weighed = engine->rule == ALPHA_WEIGH;
    result->wall_seconds += job->seconds;
    result->device_seconds += job->device_seconds <= 2 * job->seconds ? job->device_seconds : 0;
    apply_add_traffic(result, result->device, &engine->input, &engine->output, job);
}

hone_status engine_run(struct engine *engine, struct pool_shape *shape, struct pixels *in, struct pixels *out,
                       const char *parameters, struct apply_result *result, hone_error *error)
{
    struct shared_device *shared = engine->shared;
    struct pool_job job = {.shape = shape,
                           .in = in->data,
                           .out = out->data,
                           .out_bytes = out->bytes,
                           .step = hone_chain_length(engine->chain) - 1,
                           .parameters = parameters};
    pthread_rwlock_rdlock(&shared->tuning);
    pool_submit(shared->pool, &job);
    hone_status status = pool_wait(shared->pool, &job);
    pthread_rwlock_unlock(&shared->tuning);
    out->data = job.out;
    if (job.in_is_lost)
        memory_lose(&shared->memory, in);
    if (!status && shared->timeline && result)
        timeline_add(shared->timeline, shared->devices[job.device], result->item->input, job.begun, job.ended,
                     job.commands, job.command_count);
    if (status)
        *error = job.error;
    else if (result)
        take_report(engine, &job, result);
    if (status || !result)
        free(job.steps);
    free(job.commands);
    return status;
}

/* ---- Before pixels are decoded ---- */

/* A filter that does not take any number of channels works on several together, or makes several. */
static hone_status check_parts(const struct engine *engine, const char *name, const struct media_info *info,
                               hone_error *error)
{
    for (size_t i = 0; i < engine->given->count && info->parts > 1; i++) {
        const struct hone_filter *filter = engine->given->steps[i].c.filter;
        if (filter->channels != CHANNELS_ALL)
            return error_usage(error,
                               "the %u channels of '%s' are filtered one by one, and %s does not treat each "
                               "channel by itself",
                               info->parts, name, filter->name);
    }
    return HONE_OK;
}

/* Without a word about the format only what is short becomes numbers: a picture's would fill the terminal. */
static hone_status check_output(const struct engine *engine, const struct item *item, const char *root,
                                const struct media_info *info, hone_error *error)
{
    const hone_image_desc *desc = &engine->output;
    if (apply_to_stdout(engine->options) && !engine->options->format && desc->height > 1)
        return error_usage(
            error,
            "a result of %ux%u is no table: --format says how it goes to standard output, such as "
            "--format png, or --format csv for its numbers",
            desc->width, desc->height);
    return engine_suggest(
        engine, media_check_output(item->output, desc, info, &engine->options->write, error), root, error);
}

/* The user's chain, or one written for the channels of these images. */
static hone_status choose_chain(struct engine *engine, const hone_image_desc *desc,
                                const hone_image_desc *seconds, hone_error *error)
{
    hone_status status = HONE_OK;
    hone_chain_destroy(&engine->own);
    for (size_t i = 0; i < hone_chain_length(engine->given); i++)
        engine->moved[i] = i;
    if (engine->rule != ALPHA_COPY)
        status = alpha_chain(&engine->own, engine->moved, engine->given, engine->rule, desc, seconds,
                             engine->second_count, error);
    engine->chain = engine->own ? engine->own : engine->given;
    for (size_t i = 0; i < engine->second_count; i++)
        engine->bound[i] = (struct pool_second){.step = engine->moved[engine->seconds[i].step],
                                                .desc = engine->seconds[i].desc,
                                                .pixels = engine->seconds[i].data};
    return status;
}

/* No image is filtered while a device is measured. */
static hone_status tune(struct engine *engine, const hone_image_desc *desc, const hone_image_desc *seconds,
                        hone_error *error)
{
    const char *how = engine->options->tune;
    struct shared_device *shared = engine->shared;
    hone_status status = HONE_OK;
    if (!how || strcmp(how, "full") != 0 || (desc_same(&engine->tuned, desc) && !engine->own))
        return HONE_OK;
    pthread_rwlock_wrlock(&shared->tuning);
    for (size_t i = 0; i < shared->count && !status; i++)
        status = apply_tune(engine, shared->devices[i], desc, seconds, error);
    pthread_rwlock_unlock(&shared->tuning);
    engine->tuned = *desc;
    return status;
}

hone_status engine_find_shape(struct engine *engine, struct pool_shape **shape, const hone_image_desc *desc,
                              const char *output, const struct pool_ring *ring, hone_error *error)
{
    hone_image_desc *descs = engine_seconds(engine, error);
    if (!descs)
        return HONE_ERROR_MEMORY;
    hone_status status = choose_chain(engine, desc, descs, error);
    if (!status && output)
        status = bins_shape(engine, output, error);
    THEN(status, tune(engine, desc, descs, error));
    free(descs);
    pool_release(engine->shared->pool, shape);
    if (!status) {
        pthread_rwlock_rdlock(&engine->shared->tuning);
        status = pool_shape(shape, engine->shared->pool, engine->chain, desc, engine->bound,
                            engine->second_count, ring, error);
        pthread_rwlock_unlock(&engine->shared->tuning);
    }
    engine->input = *desc;
    if (!status)
        engine->output = *pool_output(*shape);
    return status;
}

static hone_status prepare(struct engine *engine, const struct item *item, const char *root,
                           const struct media_info *info, struct apply_result *result, hone_error *error)
{
    TRY(engine_find_shape(engine, &engine->shape, &info->desc, item->output, NULL, error));
    result->in = info->desc;
    result->out = engine->output;
    pthread_mutex_lock(&engine->shared->lock);
    depths_warn(engine, info->desc.type);
    pthread_mutex_unlock(&engine->shared->lock);
    return check_output(engine, item, root, info, error);
}

/* ---- Memory ---- */

enum { COUNTERS = 3 }; /* that a table of counts may get beside its bins */

/* The result of the chain, before anybody knows what becomes of alpha: that changes no size. */
static hone_status result_of(const struct engine *engine, const hone_image_desc *desc, hone_image_desc *out,
                             hone_error *error)
{
    const size_t count = hone_chain_length(engine->given);
    struct filter_case *cases = mem_new(count, sizeof *cases);
    hone_image_desc *seconds = engine_seconds(engine, error);
    hone_status status = cases && seconds
                             ? chain_cases(cases, engine->given, desc, seconds, engine->second_count, error)
                             : error_memory(error, "a chain");
    if (!status) {
        *out = cases[count - 1].out;
        out->width += cases[count - 1].filter->bins ? COUNTERS : 0;
        chain_cases_finish(cases, count);
    }
    free(seconds);
    free(cases);
    return status;
}

static hone_status take_memory(struct engine *engine, const hone_image_desc *out, hone_error *error)
{
    if (engine->in.data && engine->in.bytes >= hone_image_bytes(&engine->input) &&
        engine->out.bytes >= hone_image_bytes(out))
        return HONE_OK;
    memory_give(&engine->shared->memory, &engine->in, &engine->out);
    return memory_take(engine->shared, &engine->input, out, &engine->in, &engine->out, error);
}

/* ---- Alpha ---- */

/* Whether the pixels decide what becomes of alpha, and memory for them. */
static hone_status look_at_alpha(struct engine *engine, const hone_image_desc *desc, bool *look,
                                 hone_error *error)
{
    hone_image_desc out, *descs = engine_seconds(engine, error);
    hone_status status = descs ? alpha_weighs(look, engine->given, desc, descs, engine->second_count, error)
                               : HONE_ERROR_MEMORY;
    free(descs);
    if (status || !*look)
        return status;
    status = result_of(engine, desc, &out, error);
    return status ? status : take_memory(engine, &out, error);
}

/* An image with alpha is decoded first where that decides on the chain, which comes after it. */
static hone_status find_rule(struct engine *engine, struct media_input *input, const char *name, bool *loaded,
                             hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    const struct apply_options *o = engine->options;
    /* A forced kernel is meant for the chain as it stands. */
    const bool copies = o->variant || o->config || (o->alpha && strcmp(o->alpha, "copy") == 0);
    engine->rule = info->desc.channels == 4 && info->extra > 0 ? ALPHA_PLAIN : ALPHA_COPY;
    *loaded = false;
    if (info->desc.channels != 4 || info->extra > 0 || copies)
        return HONE_OK;
    hone_status status = look_at_alpha(engine, &info->desc, loaded, error);
    if (!status && *loaded)
        status = engine_load(engine, input, name, engine->in.data, error);
    if (!status && *loaded && !alpha_is_full(engine->in.data, &info->desc))
        engine->rule = ALPHA_WEIGH;
    return status;
}

/* ---- Decoding ---- */

/* Pixels that are decoded while the plan is made: with empty caches, compiling takes far longer. */
struct loading {
    struct engine *engine;
    struct media_input *input;
    const char *name;
    pthread_t thread;
    bool runs;
    hone_status status;
    hone_error error;
};

static void *load(void *user)
{
    struct loading *l = user;
    l->status = engine_load(l->engine, l->input, l->name, l->engine->in.data, &l->error);
    return NULL;
}

/* Where this cannot be (no memory, say), it comes after the plan, which has the better message. Beside
 * measurements nothing runs. */
static void loading_begin(struct loading *l)
{
    const char *tune = l->engine->options->tune;
    hone_image_desc out;
    if ((!tune || strcmp(tune, "full") != 0) &&
        result_of(l->engine, &l->engine->input, &out, NULL) == HONE_OK &&
        take_memory(l->engine, &out, NULL) == HONE_OK)
        l->runs = pthread_create(&l->thread, NULL, load, l) == 0;
}

/* After `status` of what was done meanwhile: pixels in memory that the result fits into. */
static hone_status loading_end(struct loading *l, hone_status status, hone_error *error)
{
    struct engine *engine = l->engine;
    if (!l->runs) {
        THEN(status, take_memory(engine, &engine->output, error));
        return status ? status : engine_load(engine, l->input, l->name, engine->in.data, error);
    }
    pthread_join(l->thread, NULL);
    if (status)
        return status;
    if (engine->out.bytes < hone_image_bytes(&engine->output))
        return error_set(error, HONE_ERROR_INTERNAL, "the result of '%s' is larger than its chain said",
                         l->name);
    if (l->status)
        *error = l->error;
    return l->status;
}

/* ---- One page ---- */

/* Whoever reads standard output may take all the time there is. */
double engine_write_bound(const struct engine *engine)
{
    return apply_to_stdout(engine->options)
               ? 0
               : share_write_bound(engine->shared, (double)engine->output.width * engine->output.height);
}

static hone_status store(const struct engine *engine, const struct item *item, const char *root,
                         const struct media_input *input, hone_error *error)
{
    struct guard_watch watch;
    guard_watch(&watch, engine_write_bound(engine), "writing '%s'", item->output);
    hone_status status = apply_store(engine, item, root, input, error);
    guard_unwatch(&watch);
    return status;
}

/* The plan, and pixels for it. */
static hone_status prepare_and_load(struct engine *engine, const struct item *item, const char *root,
                                    struct media_input *input, struct apply_result *result, hone_error *error)
{
    struct loading loading = {.engine = engine, .input = input, .name = item->input};
    loading_begin(&loading);
    return loading_end(&loading, prepare(engine, item, root, media_get_info(input), result, error), error);
}

static hone_status filter_page(struct engine *engine, const struct item *item, const char *root,
                               struct media_input *input, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    bool loaded = false;
    result->format = info->format;
    result->gray_alpha = info->gray_alpha;
    engine->input = info->desc;
    hone_status status = check_parts(engine, item->input, info, error);
    THEN(status, engine_open(engine, &info->desc, error));
    THEN(status, find_rule(engine, input, item->input, &loaded, error));
    if (loaded) {
        THEN(status, prepare(engine, item, root, info, result, error));
        THEN(status, take_memory(engine, &engine->output, error));
    } else {
        THEN(status, prepare_and_load(engine, item, root, input, result, error));
    }
    THEN(status, bins_range(engine, error));
    return status
               ? status
               : engine_run(engine, engine->shape, &engine->in, &engine->out, engine->range, result, error);
}

hone_status engine_filter(struct engine *engine, const struct item *item, const char *root,
                          struct media_input *input, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    const unsigned count = info->page_count * info->parts;
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < count && !status; i++) {
        engine->place.page = info->first_page - 1 + i / info->parts;
        engine->place.part = i % info->parts;
        engine->place.parts = info->parts;
        status = filter_page(engine, item, root, input, result, error);
        if (!status && count > 1)
            status = apply_keep_page(engine, i, info, error);
    }
    return status;
}

static hone_status filter_pages(struct engine *engine, const struct item *item, const char *root,
                                struct media_input *input, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    if (info->page_count > 1 && !media_takes(item->output, MEDIA_OPTION_PAGES))
        return error_usage(
            error, "'%s' holds one image: --pages takes one page for it; .tif, .webp and .gif hold several",
            item->output);
    result->pages = info->page_count;
    result->parts = info->parts;
    hone_status status = engine_filter(engine, item, root, input, result, error);
    return status ? status : store(engine, item, root, input, error);
}

/* Whoever waits for its turn to report holds nothing that others may wait for. */
static hone_status filter(struct engine *engine, const struct item *item, const char *root,
                          struct media_input *input, struct apply_result *result, hone_error *error)
{
    hone_status status = media_get_info(input)->apart
                             ? apply_apart(engine, item, root, input, result, error)
                             : filter_pages(engine, item, root, input, result, error);
    apply_forget_pages(engine);
    pool_release(engine->shared->pool, &engine->shape);
    memory_give(&engine->shared->memory, &engine->in, &engine->out);
    return status;
}

void engine_apply(struct engine *engine, const struct item *item, const char *root,
                  struct apply_result *result)
{
    struct media_input *input = NULL;
    hone_error *error = &result->error;
    *result = (struct apply_result){.item = item};
    hone_status status = engine_open_input(engine, item, &input, NOTES_ALL, error);
    THEN(status, engine_suggest(engine, media_check_name(item->output, error), root, error));
    if (!status && !apply_to_stdout(engine->options))
        status = items_check_folder(item->output, root != NULL, engine->options->force, error);
    const bool apart = !status && media_get_info(input)->apart;
    if (!status)
        engine->place = (struct place){.path = item->input,
                                       .page = media_get_info(input)->first_page - 1,
                                       .pages = media_get_info(input)->pages,
                                       .several = apart || media_get_info(input)->page_count > 1};
    if (!status && (apart || !giant_apply(engine, item, root, input, NULL, result, &status, error)))
        status = filter(engine, item, root, input, result, error);
    result->settled = result->settled || media_is_settled(input);
    media_close(&input);
    result->exit_status = cli_exit_status(status);
}
