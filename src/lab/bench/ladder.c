/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/bench/ladder.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/chain.h"
#include "filter/registry.h"

#include <stdio.h>
#include <string.h>

/* ---- What there is to climb ---- */

static hone_status unknown(const struct seeds *seeds, const char *name, hone_error *error)
{
    struct seed_table table;
    struct text text = {0};
    text_add(&text, "there is no table and no filter '%s'; tables:", name);
    for (size_t i = 0; seeds_at(seeds, i, &table); i++)
        text_add(&text, " %s", table.name);
    text_add(&text, "; filters: ");
    for (size_t i = 0; registry_at(i); i++)
        text_add(&text, "%s%s", i ? " " : "", registry_at(i)->name);
    error_usage(error, "%s", text_view(&text));
    text_finish(&text);
    return HONE_ERROR_USAGE;
}

/* The filter that a text begins with. */
static const struct hone_filter *filter_named(const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
    return registry_find(name);
}

static hone_status set_step(struct ladder *ladder, const char *name, const char *title, const char *variant,
                            const char *config, hone_error *error)
{
    if (ladder->count == LADDER_STEPS)
        return error_set(error, HONE_ERROR_INTERNAL, "%s has more than %d steps", ladder->name, LADDER_STEPS);
    struct ladder_step *step = &ladder->steps[ladder->count++];
    *step = (struct ladder_step){.title = title, .variant = filter_variant(ladder->filter, variant)};
    snprintf(step->name, sizeof step->name, "%s", name);
    if (!step->variant)
        return error_set(error, HONE_ERROR_INTERNAL, "%s has no variant '%s'", ladder->filter->name, variant);
    config_default(step->variant, &step->config);
    return config_parse(step->variant, config ? config : "", &step->config, error);
}

static hone_status add_table_steps(struct ladder *ladder, hone_error *error)
{
    hone_status status = HONE_OK;
    struct seed_row row;
    for (size_t i = 0; i < ladder->table.row_count && !status; i++) {
        const struct rung *rung =
            seeds_row(&ladder->table, i, &row) ? filter_rung(ladder->filter, row.rung) : NULL;
        if (!rung)
            return error_set(error, HONE_ERROR_INTERNAL, "row %zu of table %s names no rung of %s", i + 1,
                             ladder->name, ladder->filter->name);
        status = set_step(ladder, row.name, row.title, rung->variant, rung->config, error);
        if (status)
            break;
        struct ladder_step *step = &ladder->steps[ladder->count - 1];
        step->twin = row.twin ? filter_rung(ladder->filter, row.twin) : NULL;
        step->seeded = true;
        step->seed = row;
    }
    return status;
}

static bool has_rung(const struct hone_filter *filter, const char *variant)
{
    for (size_t i = 0; i < filter->rung_count; i++)
        if (strcmp(filter->rungs[i].variant, variant) == 0)
            return true;
    return false;
}

static hone_status add_filter_steps(struct ladder *ladder, hone_error *error)
{
    const struct hone_filter *filter = ladder->filter;
    hone_status status = HONE_OK;
    for (size_t i = 0; i < filter->rung_count && !status; i++) {
        const struct rung *rung = &filter->rungs[i];
        status = set_step(ladder, rung->name, rung->title, rung->variant, rung->config, error);
    }
    for (size_t i = 0; i < filter->variant_count && !status; i++) {
        const struct variant *variant = &filter->variants[i];
        if (!has_rung(filter, variant->name))
            status = set_step(ladder, variant->name, variant->summary, variant->name, "", error);
    }
    return status;
}

hone_status ladder_of(struct ladder *ladder, const struct seeds *seeds, const char *text, hone_error *error)
{
    struct filter_case c;
    *ladder = (struct ladder){.name = text};
    ladder->is_table = seeds_find(seeds, text, &ladder->table);
    ladder->chain = ladder->is_table ? ladder->table.chain : text;
    ladder->filter = filter_named(ladder->chain);
    if (!ladder->filter)
        return unknown(seeds, text, error);
    ladder->facts = ladder->is_table && ladder->table.facts;
    ladder->title = ladder->is_table ? ladder->table.title : ladder->filter->summary;
    TRY(chain_parse_case(&c, ladder->chain, error));
    case_finish(&c);
    return ladder->is_table ? add_table_steps(ladder, error) : add_filter_steps(ladder, error);
}

static int find_step(const struct ladder *ladder, const char *name)
{
    for (int i = 0; i < ladder->count; i++)
        if (strcmp(ladder->steps[i].name, name) == 0)
            return i;
    return -1;
}

static hone_status no_step(const struct ladder *ladder, const char *name, hone_error *error)
{
    struct text text = {0};
    text_add(&text, "%s has no step '%s'; there are", ladder->name, name);
    for (int i = 0; i < ladder->count; i++)
        text_add(&text, "%s %s", i ? "," : "", ladder->steps[i].name);
    error_usage(error, "%s", text_view(&text));
    text_finish(&text);
    return HONE_ERROR_USAGE;
}

hone_status ladder_keep(struct ladder *ladder, const char *const *names, int count, hone_error *error)
{
    bool kept[LADDER_STEPS] = {false};
    int left = 0;
    for (int i = 0; i < count; i++) {
        const int at = find_step(ladder, names[i]);
        if (at < 0)
            return no_step(ladder, names[i], error);
        kept[at] = true;
    }
    for (int i = 0; i < ladder->count; i++)
        if (kept[i])
            ladder->steps[left++] = ladder->steps[i];
    ladder->count = left;
    return HONE_OK;
}

hone_status ladder_configure(struct ladder *ladder, const char *config, hone_error *error)
{
    struct ladder_step *step = &ladder->steps[0];
    if (ladder->count != 1)
        return error_usage(error, "--config is for one row, and %s has %d: choose it with --rung",
                           ladder->name, ladder->count);
    return config_parse(step->variant, config, &step->config, error);
}

/* ---- Climbing ---- */

/* The twin of a step that cannot run here, and why it was needed. */
static void run_twin(const struct ladder *ladder, const struct ladder_step *step, hone_device *device,
                     const hone_image_desc *in, struct row *row)
{
    const struct row refused = *row;
    char note[sizeof row->note];
    *row = (struct row){.variant = filter_variant(ladder->filter, step->twin->variant)};
    if (!row->variant)
        return;
    config_default(row->variant, &row->config);
    if (config_parse(row->variant, step->twin->config, &row->config, NULL))
        return;
    row_measure(row, device, ladder->chain, in);
    if (!row->ran) {
        *row = refused;
        return;
    }
    snprintf(note, sizeof note, "%s instead: %.400s%s%.60s", step->twin->name, refused.note,
             row->note[0] ? "; " : "", row->note);
    snprintf(row->note, sizeof row->note, "%s", note);
}

static void list_facts(const struct ladder *ladder, hone_device *device, const hone_image_desc *in,
                       struct climbed *out)
{
    struct filter_case c;
    struct instance *instance = NULL;
    const struct row *row = &out->row;
    if (row_case(&c, row->variant, ladder->chain, in, NULL))
        return;
    if (instance_create(&instance, device, &c, row->variant, &row->config, NULL) == HONE_OK)
        for (size_t p = 0; p < variant_pass_count(row->variant); p++)
            if (facts_of(&out->facts[out->fact_count], device, instance, p, true, NULL) == HONE_OK)
                out->fact_count++;
    instance_destroy(&instance);
    case_finish(&c);
}

/* What probes cannot find out is left to the roofs. */
static void probe(const struct ladder *ladder, hone_device *device, const struct roofs_list *roofs,
                  const hone_image_desc *in, struct climbed *out)
{
    hone_error error = {0};
    out->was_probed = true;
    if (probe_row(&out->probed, &out->row, device, ladder->chain, in, roofs, &error))
        snprintf(out->probed.note, sizeof out->probed.note, "%.250s", error.message);
    if (out->probed.limiter != LIMIT_UNKNOWN)
        out->limit.limiter = out->probed.limiter;
}

void ladder_climb(const struct ladder *ladder, int index, hone_device *device, const struct roofs_list *roofs,
                  const hone_image_desc *in, double *first_ms, struct climbed *out)
{
    const struct ladder_step *step = &ladder->steps[index];
    *out = (struct climbed){.row = {.variant = step->variant, .config = step->config}};
    row_measure(&out->row, device, ladder->chain, in);
    if (!out->row.ran && step->twin)
        run_twin(ladder, step, device, in, &out->row);
    if (!out->row.ran)
        return;
    const double ms = out->row.times.ms;
    *first_ms = *first_ms > 0 ? *first_ms : ms;
    out->gain = ms > 0 ? *first_ms / ms : 0;
    out->limit = limit_of(&out->row, roofs, (double)in->width * in->height, in->type == HONE_F32);
    if (ladder->is_table && ladder->table.estimate && out->row.cost.bytes > 0)
        out->estimate = roofs->values[ROOF_COPY_BUFFER] / out->row.cost.bytes * 1e-6;
    if (ladder->facts)
        list_facts(ladder, device, in, out);
    if (ladder->probes)
        probe(ladder, device, roofs, in, out);
}
