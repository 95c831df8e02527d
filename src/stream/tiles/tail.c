/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles/tail.h"

#include "base/error.h"
#include "base/mem.h"
#include "filter/case.h"
#include "filter/chain.h"

#include <stdlib.h>
#include <string.h>

struct tail {
    hone_device *device;
    struct pool *pool;        /* NULL: the device does it */
    struct pool_shape *shape; /* for bands of `planned` rows, instead of a plan */
    hone_copy_counts copies;  /* by the pool */
    unsigned done_by;
    bool lost;
    const hone_chain *step;
    hone_plan_options options;
    bool counts, turned;
    hone_image_desc band, output;
    hone_plan *plan; /* for bands of `planned` rows */
    uint32_t planned;
    size_t row;        /* elements of a row of the result */
    void *result;      /* of a band */
    double *carry;     /* f32: the last row so far, which would lose digits as f32 */
    uint32_t *wrapped; /* u32: the same, modulo 2^32 */
    uint64_t *sums;    /* of counts */
    /* Of a picture of counts: the case that draws it, of the sums, and the chain that counts for it. */
    struct filter_case *drawing;
    hone_chain *counting;
    plan_tell tell;
    void *user;
};

static hone_status plan_for(struct tail *tail, uint32_t rows, hone_error *error)
{
    const struct pool_ring anywhere = {.slots = 2, .steady = true};
    hone_image_desc desc = tail->band;
    desc.height = rows;
    if ((tail->plan || tail->shape) && tail->planned == rows)
        return HONE_OK;
    hone_plan_destroy(&tail->plan);
    pool_drop(tail->pool, &tail->shape);
    tail->planned = rows;
    return tail->pool ? pool_shape(&tail->shape, tail->pool, tail->step, &desc, NULL, 0, &anywhere, error)
                      : hone_plan_create(&tail->plan, tail->device, tail->step, &desc, &tail->options, error);
}

static size_t result_bytes(const struct tail *tail)
{
    return (hone_image_bytes(&tail->output) + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
}

static hone_status reserve(struct tail *tail, hone_error *error)
{
    tail->output = tail->pool ? *pool_output(tail->shape) : *hone_plan_output(tail->plan);
    tail->row = (size_t)tail->output.width * tail->output.channels;
    tail->result = aligned_alloc(POOL_ALIGN, result_bytes(tail));
    if (tail->turned)
        return tail->result ? HONE_OK : error_memory(error, "a turned band");
    if (tail->counts)
        tail->sums = mem_new(tail->row, sizeof *tail->sums);
    else if (tail->output.type == HONE_F32)
        tail->carry = mem_new(tail->row, sizeof *tail->carry);
    else
        tail->wrapped = mem_new(tail->row, sizeof *tail->wrapped);
    return tail->result && (tail->sums || tail->carry || tail->wrapped)
               ? HONE_OK
               : error_memory(error, "sums of bands");
}

/* Bands are counted as for a table. */
static hone_status take_picture(struct tail *tail, hone_error *error)
{
    const struct filter_case *c = &tail->step->steps[0].c;
    const struct bins *bins = c->filter->bins;
    hone_status status = HONE_OK;
    if (!case_draws(c))
        return HONE_OK;
    tail->counting = mem_new(1, sizeof *tail->counting);
    struct filter_case *drawing = mem_new(1, sizeof *drawing);
    if (!tail->counting || !drawing)
        status = error_memory(error, "a picture of counts");
    THEN(status, case_copy(drawing, c, error));
    if (status) {
        free(drawing);
        return status;
    }
    tail->drawing = drawing;
    tail->counting->steps[0] = tail->step->steps[0];
    status = case_copy(&tail->counting->steps[0].c, c, error);
    tail->counting->count = !status;
    tail->step = tail->counting;
    THEN(status, case_set(&tail->counting->steps[0].c, bins->output, bins->table, error));
    return status ? status : case_prepare(drawing, &tail->band, NULL, error);
}

hone_status tail_create(struct tail **out, hone_device *device, struct pool *pool, const hone_chain *step,
                        hone_reach reach, const hone_image_desc *band, const hone_plan_options *options,
                        hone_error *error)
{
    struct tail *tail = *out = mem_new(1, sizeof *tail);
    if (!tail)
        return error_memory(error, "sums of bands");
    tail->device = device;
    tail->pool = pool;
    tail->step = step;
    tail->counts = reach == HONE_REACH_ALL;
    tail->turned = reach == HONE_REACH_ELSEWHERE;
    tail->band = *band;
    if (options)
        tail->options = *options;
    hone_status status = tail->counts ? take_picture(tail, error) : HONE_OK;
    THEN(status, plan_for(tail, band->height, error));
    THEN(status, reserve(tail, error));
    if (status)
        tail_destroy(out);
    return status;
}

void tail_destroy(struct tail **slot)
{
    struct tail *tail = *slot;
    *slot = NULL;
    if (!tail)
        return;
    hone_plan_destroy(&tail->plan);
    pool_drop(tail->pool, &tail->shape);
    if (tail->drawing)
        case_finish(tail->drawing);
    free(tail->drawing);
    hone_chain_destroy(&tail->counting);
    free(tail->result);
    free(tail->carry);
    free(tail->wrapped);
    free(tail->sums);
    free(tail);
}

const hone_image_desc *tail_output(const struct tail *tail)
{
    return &tail->output;
}

bool tail_step(const struct tail *tail, hone_step_info *info)
{
    return tail->pool ? pool_step(tail->shape, 0, info) : hone_plan_step(tail->plan, 0, info);
}

void tail_tell(struct tail *tail, plan_tell tell, void *user)
{
    tail->tell = tell;
    tail->user = user;
}

hone_copy_counts tail_copies(const struct tail *tail)
{
    return tail->pool ? tail->copies : hone_plan_copies(tail->plan);
}

unsigned tail_device(const struct tail *tail)
{
    return tail->done_by;
}

bool tail_has_lost(const struct tail *tail)
{
    return tail->lost;
}

static void add_counts(struct tail *tail)
{
    const uint32_t *counts = tail->result;
    for (size_t i = 0; i < tail->row; i++)
        tail->sums[i] += counts[i];
}

static void carry_integers(struct tail *tail, uint32_t rows)
{
    uint32_t *to = tail->result;
    for (uint32_t y = 0; y < rows; y++)
        for (size_t i = 0; i < tail->row; i++)
            *to++ += tail->wrapped[i];
    for (size_t i = 0; i < tail->row; i++)
        tail->wrapped[i] = *(to - tail->row + i);
}

static void carry_floats(struct tail *tail, uint32_t rows)
{
    float *to = tail->result;
    const float *last = to + (rows - 1) * tail->row;
    for (uint32_t y = 0; y + 1 < rows; y++)
        for (size_t i = 0; i < tail->row; i++, to++)
            *to = (float)(*to + tail->carry[i]);
    for (size_t i = 0; i < tail->row; i++, to++) {
        tail->carry[i] += last[i];
        *to = (float)tail->carry[i];
    }
}

/* By the device that is soonest done with it. */
static hone_status run_shared(struct tail *tail, const void *rows, size_t pitch, hone_error *error)
{
    struct pool_job job = {.shape = tail->shape,
                           .in = rows,
                           .in_pitch = pitch,
                           .out = tail->result,
                           .out_bytes = result_bytes(tail)};
    pool_submit(tail->pool, &job);
    hone_status status = pool_wait(tail->pool, &job);
    tail->result = job.out;
    tail->lost = tail->lost || job.in_is_lost;
    tail->copies = job.copies;
    tail->done_by = job.device;
    for (size_t i = 0; tail->tell && i < job.command_count; i++)
        tail->tell(tail->user, &job.commands[i]);
    if (status && error)
        *error = job.error;
    free(job.steps);
    free(job.commands);
    return status;
}

hone_status tail_run(struct tail *tail, const void *rows, size_t pitch, uint32_t count, const void **out,
                     hone_error *error)
{
    hone_status status = plan_for(tail, count, error);
    *out = NULL;
    THEN(status, tail->pool
                     ? run_shared(tail, rows, pitch, error)
                     : plan_apply(tail->plan, rows, pitch, tail->result, 0, tail->tell, tail->user, error));
    if (status)
        return status;
    if (tail->counts) {
        add_counts(tail);
        return HONE_OK;
    }
    if (tail->carry)
        carry_floats(tail, count);
    else if (tail->wrapped)
        carry_integers(tail, count);
    *out = tail->result;
    return HONE_OK;
}

hone_status tail_counts(struct tail *tail, uint32_t y, const void **out, hone_error *error)
{
    uint32_t *counts = tail->result;
    *out = tail->result;
    if (tail->drawing) {
        tail->drawing->filter->bins->draw(tail->drawing, tail->sums, y, tail->result);
        return HONE_OK;
    }
    for (size_t i = 0; i < tail->row; i++) {
        if (tail->sums[i] > UINT32_MAX)
            return error_unsupported(error,
                                     "%s counts %llu pixels in one bin, and a count of u32 holds 2^32 - 1",
                                     hone_chain_filter(tail->step, 0), (unsigned long long)tail->sums[i]);
        counts[i] = (uint32_t)tail->sums[i];
    }
    return HONE_OK;
}

size_t tail_state_bytes(const struct tail *tail)
{
    return tail->row * (tail->carry ? sizeof *tail->carry : tail->wrapped ? sizeof *tail->wrapped : 0);
}

static void *state_of(const struct tail *tail)
{
    return tail->carry ? (void *)tail->carry : tail->wrapped;
}

void tail_get_state(const struct tail *tail, void *state)
{
    if (tail_state_bytes(tail))
        memcpy(state, state_of(tail), tail_state_bytes(tail));
}

void tail_set_state(struct tail *tail, const void *state)
{
    if (tail_state_bytes(tail))
        memcpy(state_of(tail), state, tail_state_bytes(tail));
}
