/* SPDX-License-Identifier: BSD-2-Clause */
/* Times over work-group shapes, as tuning has found them on this device. */
#include "base/mem.h"
#include "choose/records.h"
#include "lab/page/gnuplot.h"
#include "lab/page/plots.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 16 };

/* Shapes of one variant on one case, the best time of each. */
struct shapes {
    const struct record_try *of; /* the first try of them */
    int widths[SIDES], heights[SIDES], width_count, height_count, filled;
    double ms[SIDES][SIDES]; /* 0: not tried */
};

/* What `name` is in "WG_X=32 WG_Y=8"; a number stands for itself; 0: it is neither. */
static int value_of(const char *config, const char *name)
{
    const size_t length = name ? strlen(name) : 0;
    if (length == 0)
        return 1;
    if (isdigit((unsigned char)name[0]))
        return atoi(name);
    for (const char *at = config; (at = strstr(at, name)) != NULL; at += length)
        if ((at == config || at[-1] == ' ') && at[length] == '=')
            return atoi(at + length + 1);
    return 0;
}

static int place_of(int *sides, int *count, int side)
{
    for (int i = 0; i < *count; i++)
        if (sides[i] == side)
            return i;
    if (*count == SIDES)
        return -1;
    sides[*count] = side;
    return (*count)++;
}

static double best_run(const struct record_try *t)
{
    double best = 0;
    for (int i = 0; i < t->run_count; i++)
        if (t->runs[i] > 0 && (best == 0 || t->runs[i] < best))
            best = t->runs[i];
    return best;
}

static void add_try(struct shapes *shapes, const struct variant *variant, const struct record_try *t)
{
    const char *const *local = variant->passes[0].local;
    const bool usual = !local[0];
    const int width = value_of(t->config.config, usual ? "WG_X" : local[0]),
              height = value_of(t->config.config, usual ? "WG_Y" : local[1]);
    const double ms = best_run(t);
    if (width < 1 || height < 1 || ms <= 0)
        return;
    const int x = place_of(shapes->widths, &shapes->width_count, width),
              y = place_of(shapes->heights, &shapes->height_count, height);
    if (x < 0 || y < 0)
        return;
    double *cell = &shapes->ms[y][x];
    shapes->filled += *cell == 0;
    if (*cell == 0 || ms < *cell)
        *cell = ms;
}

static bool is_same_case(const struct record_try *a, const struct record_try *b)
{
    return strcmp(a->config.variant, b->config.variant) == 0 &&
           strcmp(a->c.parameters, b->c.parameters) == 0 && strcmp(a->c.border, b->c.border) == 0 &&
           a->c.type == b->c.type && a->c.channels == b->c.channels && a->c.width == b->c.width &&
           a->c.height == b->c.height;
}

static const struct variant *variant_named(const struct hone_filter *filter, const char *name)
{
    for (size_t i = 0; i < filter->variant_count; i++)
        if (strcmp(filter->variants[i].name, name) == 0)
            return &filter->variants[i];
    return NULL;
}

static bool is_usable(const struct record_try *t, const struct record_device *device)
{
    return (t->state == STATE_OK || t->state == STATE_SLOW) && strcmp(t->device.name, device->name) == 0 &&
           strcmp(t->device.platform, device->platform) == 0;
}

/* Of all variants and cases the one of which most shapes are known. */
static bool find(const struct page_subject *s, const struct records *records, struct shapes *best)
{
    struct record_device device;
    struct shapes *now = mem_new(1, sizeof *now);
    record_device_of(s->device, &device);
    for (size_t i = 0; now && i < records->try_count; i++) {
        const struct record_try *first = &records->tries[i];
        const struct variant *variant = variant_named(s->ladder->filter, first->config.variant);
        bool is_first = variant && is_usable(first, &device);
        for (size_t j = 0; j < i && is_first; j++)
            is_first = !is_same_case(first, &records->tries[j]) || !is_usable(&records->tries[j], &device);
        *now = (struct shapes){.of = first};
        for (size_t j = i; j < records->try_count && is_first; j++)
            if (is_same_case(first, &records->tries[j]) && is_usable(&records->tries[j], &device))
                add_try(now, variant, &records->tries[j]);
        if (now->filled > best->filled)
            *best = *now;
    }
    free(now);
    return best->filled > 1;
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void print_cells(struct shapes *shapes, struct text *script)
{
    int widths[SIDES], heights[SIDES];
    memcpy(widths, shapes->widths, sizeof widths);
    memcpy(heights, shapes->heights, sizeof heights);
    qsort(widths, (size_t)shapes->width_count, sizeof *widths, by_size);
    qsort(heights, (size_t)shapes->height_count, sizeof *heights, by_size);
    text_add(script, "$cells << END\n");
    for (int y = 0; y < shapes->height_count; y++)
        for (int x = 0; x < shapes->width_count; x++) {
            const double ms = shapes->ms[place_of(shapes->heights, &shapes->height_count, heights[y])]
                                        [place_of(shapes->widths, &shapes->width_count, widths[x])];
            if (ms > 0)
                text_add(script, "%d %d %.4g %d %d\n", x, y, ms, widths[x], heights[y]);
        }
    text_add(script, "END\n");
}

static void describe(const struct record_try *t, struct text *about)
{
    text_add(
        about,
        "'%s' of %s %s, %s x%u, %ux%u, border %s: the best time that tuning has found for each shape, in ms",
        t->config.variant, t->c.filter, t->c.parameters, hone_type_name(t->c.type), t->c.channels, t->c.width,
        t->c.height, t->c.border);
}

bool plot_shapes(const struct page_subject *s, struct text *script, struct text *about)
{
    struct records records = {0};
    struct shapes shapes = {0};
    const bool found = records_load_of(&records, READ_TRIES, s->ladder->filter->name, NULL) == HONE_OK &&
                       find(s, &records, &shapes);
    if (found) {
        print_cells(&shapes, script);
        describe(shapes.of, about);
        text_add(script,
                 "set xlabel 'work-items across'\nset ylabel 'and down'\nset cblabel 'ms'\nunset key\n"
                 "set palette defined (0 '#3b8f5a', 0.5 '#d8b93c', 1 '#b5403c')\nset style fill solid 0.8\n"
                 "set offsets 0.6, 0.6, 0.6, 0.6\n"
                 "plot $cells using 1:2:(0.48):(0.48):3:xtic(4):ytic(5) with boxxyerror linecolor palette, "
                 "$cells using 1:2:(sprintf('%%.3g', $3)) with labels font ',11'\n");
    } else
        text_add(about, "no shapes are known of %s on this device: hone tune --full %s measures them",
                 s->ladder->filter->name, s->ladder->filter->name);
    records_finish(&records);
    return found;
}
