/* SPDX-License-Identifier: BSD-2-Clause */
/* hone bench without operands, hone bench roofs, and what --json says. */
#include "cli/bench/bench.h"

#include "base/json_text.h"

#include <stdio.h>
#include <string.h>

/* ---- The tables that there are ---- */

static json_t *table_json(const struct seed_table *table)
{
    json_t *object = json_deep_copy(table->given);
    json_object_set_new(object, "document", json_string(table->document));
    return object;
}

int bench_list_tables(const struct bench_run *run)
{
    struct seed_table table;
    json_t *list = json_array();
    for (size_t i = 0; seeds_at(run->seeds, i, &table); i++) {
        json_array_append_new(list, table_json(&table));
        if (!run->common.json)
            printf("%-17s %s (%s%s%s)\n", table.name, table.title, table.where, table.device ? ", " : "",
                   table.device ? table.device : "");
    }
    if (!run->common.json) {
        puts("roofs             the limits of the device\n"
             "probes            whether --probe finds what limits kernels built for it\n"
             "experiments       the documents' open questions, of which each has a name:");
        bench_list_experiments();
        puts("\nor a filter from 'hone filters'");
    } else if (!cli_print_json(json_incref(list))) {
        json_decref(list);
        return EXIT_DEVICE;
    }
    json_decref(list);
    return EXIT_DONE;
}

/* ---- Roofs ---- */

json_t *bench_device_json(const struct bench_run *run, int d, bool by_host)
{
    const hone_device_info *device = hone_device_get_info(run->devices[d]);
    return json_pack("{s:i, s:o, s:o, s:s}", "index", (int)device->index, "name",
                     json_text(device->board[0] ? device->board : device->name), "driver",
                     json_text(device->driver_version), "clock", by_host ? "host" : "device");
}

static json_t *roofs_json(const struct bench_run *run, int d)
{
    json_t *list = json_array();
    for (int i = 0; i < ROOF_COUNT; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:s}", "name", roof_name(i), "value",
                            run->roofs[d].values[i] > 0 ? json_real(run->roofs[d].values[i]) : json_null(),
                            "unit", roof_unit(i)));
    return json_pack("{s:s, s:o, s:o}", "table", "roofs", "device",
                     bench_device_json(run, d, run->roofs[d].by_host), "roofs", list);
}

static void print_roof(enum roof roof, double value)
{
    const bool seconds = strcmp(roof_unit(roof), "s") == 0;
    if (value <= 0)
        printf("   %-26s not available here\n", roof_name(roof));
    else if (seconds)
        printf("   %-26s %10.4g us\n", roof_name(roof), value * 1e6);
    else
        printf("   %-26s %10.4g G%s\n", roof_name(roof), value * 1e-9, roof_unit(roof));
}

int bench_show_roofs(const struct bench_run *run)
{
    for (int d = 0; d < run->device_count; d++) {
        const hone_device_info *device = hone_device_get_info(run->devices[d]);
        if (run->common.json) {
            json_array_append_new(run->report, roofs_json(run, d));
            continue;
        }
        printf("roofs of %s, driver %s, by the clock of the %s\n",
               device->board[0] ? device->board : device->name, device->driver_version,
               run->roofs[d].by_host ? "host" : "device");
        for (int i = 0; i < ROOF_COUNT; i++)
            print_roof(i, run->roofs[d].values[i]);
    }
    return EXIT_DONE;
}

/* ---- What was climbed ---- */

static json_t *passes_json(const struct row *row)
{
    json_t *list = json_array();
    for (size_t p = 0; p < row->times.passes && p < MAX_PASSES; p++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "kernel", row->variant->passes[p].kernel, "ms",
                                              row->times.pass_ms[p]));
    return list;
}

static void add_times(json_t *object, const struct bench_run *run, int image, const struct climbed *r)
{
    static const char *const verdicts[] = {"unchecked", "right", "wrong"};
    const hone_image_desc *in = &run->images[image];
    const double pixels = (double)in->width * in->height;
    json_object_set_new(object, "ms", json_real(r->row.times.ms));
    json_object_set_new(object, "spread", json_real(r->row.times.spread));
    json_object_set_new(object, "runs", json_integer(r->row.times.runs));
    json_object_set_new(object, "copies_ms", json_real(r->row.times.copies));
    json_object_set_new(object, "mp_s", cli_json_real(pixels / r->row.times.ms * 1e-3));
    json_object_set_new(object, "gain", json_real(r->gain));
    if (r->estimate > 0)
        json_object_set_new(object, "estimate_mp_s", json_real(r->estimate));
    json_object_set_new(object, "loads", cli_json_real(r->row.cost.loads));
    json_object_set_new(object, "bytes", cli_json_real(r->row.cost.bytes));
    json_object_set_new(object, "operations", cli_json_real(r->row.cost.operations));
    json_object_set_new(object, "stored", cli_json_real(r->row.stored));
    json_object_set_new(object, "of_memory", cli_json_real(r->limit.memory));
    json_object_set_new(object, "of_arithmetic", cli_json_real(r->limit.arithmetic));
    json_object_set_new(object, "limiter", json_string(limiter_name(r->limit.limiter)));
    json_object_set_new(object, "result", json_string(verdicts[r->row.verdict]));
    json_object_set_new(object, "passes", passes_json(&r->row));
}

static json_t *row_json(const struct bench_run *run, int image, const struct ladder_step *step,
                        const struct climbed *r)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:b}", "step", step->name, "title", step->title, "variant",
                  r->row.variant->name, "config", r->row.config_text, "ran", r->row.ran);
    if (r->row.note[0])
        json_object_set_new(object, "note", json_text(r->row.note));
    if (step->seeded)
        json_object_set_new(object, "source", json_deep_copy(step->seed.given));
    if (r->row.ran)
        add_times(object, run, image, r);
    bench_add_closer(object, r);
    return object;
}

json_t *bench_json(const struct bench_run *run, int image, const struct climbed *results)
{
    const struct ladder *ladder = run->ladder;
    const hone_image_desc *in = &run->images[image];
    json_t *devices = json_array();
    for (int d = 0; d < run->device_count; d++) {
        json_t *rows = json_array();
        for (int s = 0; s < ladder->count; s++)
            json_array_append_new(rows,
                                  row_json(run, image, &ladder->steps[s], &results[d * ladder->count + s]));
        json_array_append_new(devices, json_pack("{s:o, s:o}", "device",
                                                 bench_device_json(run, d, bench_by_host(run, d, results)),
                                                 "rows", rows));
    }
    json_t *whole =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:o}", "table", ladder->name, "title", ladder->title,
                  "chain", ladder->chain, "type", hone_type_name(in->type), "channels", (int)in->channels,
                  "width", (int)in->width, "height", (int)in->height, "devices", devices);
    if (ladder->is_table)
        json_object_set_new(whole, "document", json_string(ladder->table.document));
    return whole;
}
