/* SPDX-License-Identifier: BSD-2-Clause */
/* What `hone bench` prints. */
#include "cli/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR = 40 };

/* Four digits, and never "1.234e+04". */
static const char *four_digits(double value, char to[32])
{
    snprintf(to, 32, value >= 1e4 ? "%.0f" : "%.4g", value);
    return to;
}

/* "5.4", "2.2-2.3"; "" where the document says nothing. */
static void print_figure(const struct seed_row *row, const char *name, int size, const char *before,
                         const char *after, char *to, size_t room)
{
    struct seed_figure figure;
    to[0] = '\0';
    if (!seed_figure(row, name, size, &figure))
        return;
    if (figure.least < figure.most)
        snprintf(to, room, "%s%g-%g%s", before, figure.least, figure.most, after);
    else
        snprintf(to, room, "%s%g%s", before, figure.most, after);
}

/* Which size of the table an image has, or -1. */
static int size_number(const struct bench_run *run, int image)
{
    const hone_image_desc *in = &run->images[image];
    return run->ladder->is_table ? seeds_size(&run->ladder->table, in->width, in->height) : -1;
}

/* ---- Above the rows ---- */

static void print_source(const struct seed_table *table, bool other_size)
{
    printf("   source   %s; %s\n", table->document, table->where);
    if (!table->device && !other_size)
        return;
    printf("   there    %s", table->device ? table->device : "");
    for (int i = 0; i < table->size_count && other_size; i++)
        printf("%s%s", i ? ", " : table->device ? "; " : "", table->sizes[i]);
    putchar('\n');
}

static void print_title(const struct bench_run *run, int image)
{
    const struct ladder *ladder = run->ladder;
    const hone_image_desc *in = &run->images[image];
    printf("%s: %s\n", ladder->name, ladder->title);
    if (ladder->is_table)
        print_source(&ladder->table, size_number(run, image) < 0);
    for (int d = 0; d < run->device_count; d++) {
        const hone_device_info *device = hone_device_get_info(run->devices[d]);
        printf("   here     %s, driver %s\n", device->board[0] ? device->board : device->name,
               device->driver_version);
    }
    printf("   image    %s x%u, %ux%u%s%s\n", hone_type_name(in->type), in->channels, in->width, in->height,
           ladder->is_table && ladder->table.data ? ": " : "",
           ladder->is_table && ladder->table.data ? ladder->table.data : "");
    if (ladder->is_table && ladder->table.note)
        printf("   note     %s\n", ladder->table.note);
    putchar('\n');
}

/* ---- A row ---- */

static void print_share(const struct limit *limit, char to[32])
{
    const bool memory = limit->memory >= limit->arithmetic;
    const double share = memory ? limit->memory : limit->arithmetic;
    to[0] = '\0';
    if (share > 0)
        snprintf(to, 32, "%.*f%% %s", share < 0.1 ? 1 : 0, 100 * share, memory ? "mem" : "alu");
}

static const char *verdict(const struct row *row)
{
    return row->verdict == ROW_RIGHT ? "right" : row->verdict == ROW_WRONG ? "WRONG" : "-";
}

bool bench_by_host(const struct bench_run *run, int device, const struct climbed *results)
{
    for (int s = 0; s < run->ladder->count; s++)
        if (results[device * run->ladder->count + s].row.times.by_host)
            return true;
    return false;
}

static double megapixels(const hone_image_desc *in, double ms)
{
    return ms > 0 ? (double)in->width * in->height / ms * 1e-3 : 0;
}

/* What a document gives beside gains: "2.2-2.3 ms, 41 registers". */
static void print_given(const struct seed_row *seed, int size, char *to, size_t room)
{
    static const struct {
        const char *name, *after;
    } figures[] = {{"ms", " ms"},
                   {"mp_s", " MP/s"},
                   {"memory", " floats moved/pixel"},
                   {"operations", " operations/pixel"},
                   {"ratio", " operations per float"},
                   {"registers", " registers"},
                   {"waves", " waves"},
                   {"local_bytes", " local bytes"},
                   {"input_bytes", " bytes loaded/work-item"},
                   {"input_bytes_per_pixel", " bytes loaded/pixel"},
                   {"stored_bytes_per_pixel", " bytes stored/pixel"},
                   {"loads_per_pixel", " loads/pixel"},
                   {"stores_per_pixel", " stores/pixel"}};
    size_t at = 0;
    to[0] = '\0';
    for (size_t i = 0; i < sizeof figures / sizeof *figures && at + 80 < room; i++) {
        char one[64];
        print_figure(seed, figures[i].name, size, at ? ", " : "", figures[i].after, one, sizeof one);
        at += (size_t)snprintf(to + at, room - at, "%s", one);
    }
}

static void print_passes(const struct row *row)
{
    if (row->times.passes < 2)
        return;
    printf("%15s passes:", "");
    for (size_t p = 0; p < row->times.passes && p < MAX_PASSES; p++)
        printf("%s %s %.4g ms", p ? "," : "", row->variant->passes[p].kernel, row->times.pass_ms[p]);
    putchar('\n');
}

static void print_estimate(const struct cost_values *cost, double estimate, double measured)
{
    const double floats = cost->bytes / sizeof(float);
    printf("%15s here: %.4g floats moved/pixel, %.4g operations/pixel, %.2g operations per float\n", "",
           floats, cost->operations, cost->operations / floats);
    char roof[32], here[32];
    printf("%15s here: at the roof of a copy %s MP/s, measured %s\n", "", four_digits(estimate, roof),
           four_digits(measured, here));
}

static void print_row(const struct bench_run *run, int image, const struct ladder_step *step,
                      const struct climbed *r)
{
    const int size = size_number(run, image);
    char gain[32] = "", share[32], given[512] = "", ms[32], rate[32];
    if (step->seeded)
        print_figure(&step->seed, "gain", size, "", "", gain, sizeof gain);
    print_share(&r->limit, share);
    if (r->row.ran)
        printf("%-14s %9s %4.0f%% %8s %6.3g %7s %7.4g %6.4g %6.4g %9s %-10s %-6s", step->name,
               four_digits(r->row.times.ms, ms), 100 * r->row.times.spread,
               four_digits(megapixels(&run->images[image], r->row.times.ms), rate), r->gain, gain,
               r->row.cost.loads, r->row.cost.bytes, r->row.stored, share, limiter_name(r->limit.limiter),
               verdict(&r->row));
    else
        printf("%-14s %9s %5s %8s %6s %7s", step->name, "-", "", "", "", gain);
    if (r->row.times.copies > 0)
        printf(" %7.4g", r->row.times.copies);
    printf("\n%15s%s\n", "", step->title);
    if (step->seeded)
        print_given(&step->seed, size, given, sizeof given);
    if (given[0])
        printf("%15s there: %s\n", "", given);
    if (r->estimate > 0)
        print_estimate(&r->row.cost, r->estimate, megapixels(&run->images[image], r->row.times.ms));
    if (r->row.note[0])
        printf("%15s %s: %s\n", "", r->row.ran ? "note" : "cannot run here", r->row.note);
    print_passes(&r->row);
    bench_print_closer(r);
}

static void print_heads(void)
{
    printf("%-14s %9s %5s %8s %6s %7s %7s %6s %6s %9s %-10s %-6s %7s\n", "step", "ms", "+-", "MP/s", "gain",
           "there", "loads", "bytes", "stored", "of roof", "limiter", "result", "copies");
}

/* Gains as a figure, the document's under ours. */
static void print_bars(const struct bench_run *run, int image, const struct climbed *results)
{
    const int size = size_number(run, image);
    double most = 1;
    for (int s = 0; s < run->ladder->count; s++)
        most = fmax(most, results[s].gain);
    putchar('\n');
    for (int s = 0; s < run->ladder->count; s++) {
        const struct ladder_step *step = &run->ladder->steps[s];
        struct seed_figure figure;
        const int length = (int)lround(BAR * results[s].gain / most);
        printf("%-14s %.*s %.3g\n", step->name, length, "########################################",
               results[s].gain);
        if (step->seeded && seed_figure(&step->seed, "gain", size, &figure))
            printf("%-14s %.*s %.3g there\n", "", (int)fmin(BAR, BAR * figure.most / most),
                   "----------------------------------------", figure.most);
    }
}

/* ---- Several devices ---- */

static void print_side_by_side(const struct bench_run *run, int image, const struct climbed *results)
{
    const struct ladder *ladder = run->ladder;
    printf("%-14s %7s", "step", "there");
    for (int d = 0; d < run->device_count; d++)
        printf(" | %20.20s %6s", hone_device_get_info(run->devices[d])->name, "gain");
    putchar('\n');
    for (int s = 0; s < ladder->count; s++) {
        char gain[32] = "";
        if (ladder->steps[s].seeded)
            print_figure(&ladder->steps[s].seed, "gain", size_number(run, image), "", "", gain, sizeof gain);
        printf("%-14s %7s", ladder->steps[s].name, gain);
        for (int d = 0; d < run->device_count; d++) {
            const struct climbed *r = &results[d * ladder->count + s];
            char ms[32];
            if (r->row.ran)
                printf(" | %17s ms %6.3g", four_digits(r->row.times.ms, ms), r->gain);
            else
                printf(" | %20s %6s", "cannot run here", "-");
        }
        putchar('\n');
    }
}

static void print_clocks(const struct bench_run *run, const struct climbed *results)
{
    for (int d = 0; d < run->device_count; d++)
        if (bench_by_host(run, d, results))
            printf("   clock    times on %s are the host's clock's, with launches and copies, for the device "
                   "has none to "
                   "believe\n",
                   hone_device_get_info(run->devices[d])->name);
}

/* Rows of a single device come one by one, for some of them take minutes. */
void bench_print_begin(const struct bench_run *run, int image)
{
    print_title(run, image);
    if (run->device_count == 1)
        print_heads();
    fflush(stdout);
}

void bench_print_step(const struct bench_run *run, int image, int step, const struct climbed *result)
{
    if (run->device_count == 1)
        print_row(run, image, &run->ladder->steps[step], result);
    fflush(stdout);
}

void bench_print_end(const struct bench_run *run, int image, const struct climbed *results)
{
    if (run->device_count > 1)
        print_side_by_side(run, image, results);
    else if (run->ladder->is_table && run->ladder->table.bars)
        print_bars(run, image, results);
    print_clocks(run, results);
    putchar('\n');
    fflush(stdout);
}

/* ---- Several sizes ---- */

/* The straight line through times over pixels: what a run takes however small the image is, ms. */
static double fixed_cost(const struct bench_run *run, int device, int step, const struct climbed *results)
{
    const int steps = run->ladder->count * run->device_count;
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < run->image_count; i++) {
        const struct climbed *r = &results[i * steps + device * run->ladder->count + step];
        const double x = (double)run->images[i].width * run->images[i].height, y = r->row.times.ms;
        if (!r->row.ran)
            continue;
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    const double spread = n * sxx - sx * sx;
    return n > 1 && spread > 0 ? (sy - (n * sxy - sx * sy) / spread * sx) / n : -1;
}

static void print_step_sizes(const struct bench_run *run, int device, int step, const struct climbed *results)
{
    const int steps = run->ladder->count * run->device_count;
    printf("%-14s", run->ladder->steps[step].name);
    for (int i = 0; i < run->image_count; i += run->format_count) {
        const struct climbed *r = &results[i * steps + device * run->ladder->count + step];
        char there[32] = "";
        if (run->ladder->steps[step].seeded)
            print_figure(&run->ladder->steps[step].seed, "gain", size_number(run, i), " (", ")", there,
                         sizeof there);
        char rate[32];
        if (r->row.ran)
            printf(" %8s %5.3g%-7s", four_digits(megapixels(&run->images[i], r->row.times.ms), rate), r->gain,
                   there);
        else
            printf(" %8s %5s%-7s", "-", "", there);
    }
    const double fixed = run->format_count == 1 ? fixed_cost(run, device, step, results) : -1;
    if (fixed > 0)
        printf("  fixed cost %.3g ms", fixed);
    else if (run->format_count == 1)
        printf("  no fixed cost seen");
    putchar('\n');
}

void bench_print_sizes(const struct bench_run *run, const struct climbed *results)
{
    printf("over sizes: MP/s, gain (there)\n%-14s", "");
    for (int i = 0; i < run->image_count; i += run->format_count) {
        char size[32], text[64];
        snprintf(size, sizeof size, "%ux%u", run->images[i].width, run->images[i].height);
        snprintf(text, sizeof text, "%s, %.2g MP", size,
                 (double)run->images[i].width * run->images[i].height * 1e-6);
        printf(" %21s", text);
    }
    putchar('\n');
    for (int d = 0; d < run->device_count; d++)
        for (int s = 0; s < run->ladder->count; s++)
            print_step_sizes(run, d, s, results);
    for (int d = 0; d < run->device_count; d++)
        printf("%sa launch alone takes %.3g ms here\n", d ? "" : "\n",
               run->roofs[d].values[ROOF_LAUNCH] * 1e3);
}
