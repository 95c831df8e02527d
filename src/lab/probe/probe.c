/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/probe/probe.h"

#include "base/error.h"
#include "filter/registry.h"
#include "lab/probe/rewrite.h"
#include "tune/measure/state.h"

#include <math.h>
#include <stdio.h>

enum { MOST_ROUNDS = 1 << 16, MOST_LOADS = 1 << 12, LEAST_LOG2 = 22, MOST_LOG2 = 26 };
static const double half = 0.5;

struct prober {
    hone_device *device;
    const struct filter_case *c;
    const struct row *row;
    struct measure *measure;
    struct memory *extra;
    unsigned log2_loads;
    double items; /* work-items of a run */
    double ms;    /* of one, as it is */
    const struct probe_source *source;
    struct probe_load load;
    struct probed *probed;
};

static hone_status replace(void *context, struct text *source, hone_error *error)
{
    const struct prober *p = context;
    return p->source ? p->source->replace(p->source->context, source, error) : HONE_OK;
}

/* With nothing to do, too: so the kernel and its argument are the same but for that. */
static hone_status rewrite(void *context, struct text *source, hone_error *error)
{
    const struct prober *p = context;
    hone_status status = replace(context, source, error);
    return status ? status : probe_rewrite(source, &p->load, p->log2_loads, error);
}

/* Milliseconds of the row's kernels under a probe; negative: it could not be made, which the note says. */
static double time_probe(struct prober *p, const struct instance_probe *probe, bool cached, const char *what)
{
    struct instance *instance = NULL;
    struct row_times times = {.ms = -1};
    hone_error error = {0};
    hone_status status =
        instance_create_probe(&instance, p->device, p->c, p->row->variant, &p->row->config, probe, &error);
    THEN(status, row_time(p->measure, instance, cached, &times, &error));
    instance_destroy(&instance);
    if (!status)
        return times.ms;
    snprintf(p->probed->note, sizeof p->probed->note, "%s: %.200s", what, error.message);
    return -1;
}

static double time_load(struct prober *p, const struct probe_load *load, const char *what)
{
    const struct instance_probe probe = {.rewrite = rewrite, .context = p, .extra = p->extra};
    p->load = *load;
    return time_probe(p, &probe, false, what);
}

/* So much for all items to do: so much for each, or something for some of them. */
static void share_out(double each, unsigned most, unsigned *count, unsigned *every)
{
    *count = each < 1 ? 1 : each > most ? most : (unsigned)lround(each);
    *every = each >= 1 || each <= 0 ? 1 : (unsigned)fmin(ceil(1 / each), 1 << 20);
}

static void add_work(struct prober *p, const struct roofs_list *roofs)
{
    struct probe_load load = {.floats = p->c->in.type == HONE_F32};
    const double roof = roofs->values[load.floats ? ROOF_FLOAT : ROOF_INT];
    const double wanted = p->ms * 1e-3 * half * roof / PROBE_OPERATIONS / p->items;
    p->probed->evidence.more_work_ms = -1;
    if (roof <= 0)
        return;
    share_out(wanted, MOST_ROUNDS, &load.rounds, &load.every);
    p->probed->evidence.more_work_ms = time_load(p, &load, "arithmetic cannot be added");
}

static void add_loads(struct prober *p, const struct roofs_list *roofs)
{
    struct probe_load load = {0};
    const double roof = roofs->values[ROOF_READ_BUFFER];
    const double wanted = p->ms * 1e-3 * half * roof / PROBE_LOADED / p->items;
    p->probed->evidence.more_loads_ms = -1;
    if (roof <= 0)
        return;
    share_out(wanted, MOST_LOADS, &load.loads, &load.every);
    p->probed->evidence.more_loads_ms = time_load(p, &load, "loads cannot be added");
}

/* The extra memory is larger than caches, and written once: pages that nobody wrote may all be the same
 * one. */
static hone_status make_extra(struct prober *p, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(p->device);
    const uint32_t zero = 0;
    p->log2_loads = LEAST_LOG2;
    while (p->log2_loads < MOST_LOG2 && (16ull << p->log2_loads) < 4 * info->global_cache)
        p->log2_loads++;
    while (p->log2_loads > 10 && (16ull << p->log2_loads) > info->max_allocation / 4)
        p->log2_loads--;
    const size_t bytes = (size_t)16 << p->log2_loads;
    TRY(memory_create(&p->extra, p->device, bytes, HONE_MEMORY_DEVICE, error));
    TRY(memory_fill(p->extra, &zero, sizeof zero, bytes, (struct wait_list){0}, NULL, error));
    return hone_device_finish(p->device, error);
}

static double count_items(const struct prober *p)
{
    struct case_scope names;
    struct config_scope scope;
    double items = 0;
    case_scope_init(&names, p->c, p->device);
    config_scope_init(&scope, p->row->variant, &p->row->config, &names.scope);
    for (size_t i = 0; i < variant_pass_count(p->row->variant); i++) {
        struct pass_geometry g;
        if (pass_geometry(&p->row->variant->passes[i], &scope.scope, &g, NULL) == HONE_OK)
            items += (double)g.global[0] * (double)g.global[1] * (double)g.global[2];
    }
    return items > 0 ? items : 1;
}

static bool reads_images(const struct variant *variant)
{
    for (size_t p = 0; p < variant_pass_count(variant); p++)
        for (size_t a = 0; variant->passes[p].arguments[a]; a++)
            if (text_starts(variant->passes[p].arguments[a], "in:"))
                return true;
    return false;
}

static void run_probes(struct prober *p, const struct roofs_list *roofs)
{
    struct evidence *e = &p->probed->evidence;
    const struct instance_probe plain = {.rewrite = rewrite, .context = p, .extra = p->extra},
                                part = {.rewrite = rewrite, .context = p, .extra = p->extra, .part = 2};
    e->ms = p->ms = time_probe(p, &plain, false, "it cannot be rewritten");
    if (p->ms <= 0)
        return;
    add_work(p, roofs);
    add_loads(p, roofs);
    p->load = (struct probe_load){0};
    e->half_ms = time_probe(p, &part, false, "half of the work-groups");
    e->cached_ms =
        reads_images(p->row->variant) ? -1 : time_probe(p, &plain, true, "loads cannot be replaced");
}

/* Shares of the roofs that the program reaches, by its model. */
static void add_shares(struct prober *p, const struct roofs_list *roofs)
{
    struct row row = *p->row;
    const hone_image_desc *in = case_input(p->c);
    row.ran = true;
    row.times.ms = p->ms;
    if (variant_cost(p->c, row.variant, &row.config, &row.cost, NULL))
        return;
    const struct limit limit = limit_of(&row, roofs, (double)in->width * in->height, in->type == HONE_F32);
    p->probed->evidence.memory_share = limit.memory;
    p->probed->evidence.work_share = limit.arithmetic;
}

hone_status probe_case(struct probed *probed, const struct filter_case *c, const struct row *row,
                       hone_device *device, const struct probe_source *source, const struct roofs_list *roofs,
                       hone_error *error)
{
    struct prober p = {.device = device, .c = c, .row = row, .source = source, .probed = probed};
    const double launches = (double)variant_pass_count(row->variant);
    *probed = (struct probed){
        .evidence = {.launch_ms = launches * roofs->values[ROOF_LAUNCH] * 1e3, .added = half, .ms = -1}};
    p.items = count_items(&p);
    hone_status status = make_extra(&p, error);
    THEN(status, measure_open(&p.measure, device, c, NULL, error));
    if (!status)
        run_probes(&p, roofs);
    if (!status)
        add_shares(&p, roofs);
    measure_close(&p.measure);
    memory_destroy(&p.extra);
    probed->limiter = status ? LIMIT_UNKNOWN : evidence_verdict(&probed->evidence);
    return status;
}

hone_status probe_row(struct probed *probed, const struct row *row, hone_device *device, const char *text,
                      const hone_image_desc *in, const struct roofs_list *roofs, hone_error *error)
{
    struct filter_case c;
    TRY(row_case(&c, row->variant, text, in, error));
    hone_status status = probe_case(probed, &c, row, device, NULL, roofs, error);
    case_finish(&c);
    return status;
}
