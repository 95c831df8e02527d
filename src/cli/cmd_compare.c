/* SPDX-License-Identifier: BSD-2-Clause */
/* hone compare: how far two images are apart. */
#include "cli/cli.h"
#include "cli/policy.h"

#include "base/error.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"
#include "media/compare.h"
#include "media/media.h"

#include <float.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct compare_options {
    struct common_options common;
    double tolerance, timeout, decode_memory, max_pixels;
    bool accept_damaged, trust;
};

struct side {
    const char *path;
    struct media_input *input;
    unsigned pages;
    void *pixels; /* of one page */
};

/* Of all pages, the one that differs most. */
struct outcome {
    unsigned pages, differing;
    unsigned page; /* counted from 1 */
    struct media_info info;
    struct difference all, *channels;
    unsigned count; /* of channels */
};

static hone_status open_side(struct side *side, const struct compare_options *options, hone_error *error)
{
    const struct media_read_options read = {.accept_damaged = options->accept_damaged,
                                            .trust = options->trust,
                                            .max_pixels = (uint64_t)options->max_pixels,
                                            .seconds = options->timeout,
                                            .memory = (uint64_t)(options->decode_memory * 1048576),
                                            .keep_s16 = true,
                                            .keep_u32 = true,
                                            .stack = true,
                                            .apart = true,
                                            .alone = true,
                                            .split = true,
                                            .note = cli_media_note,
                                            .user = (void *)&options->common};
    TRY(media_open(&side->input, side->path, &read, error));
    const struct media_info *info = media_get_info(side->input);
    side->pages = info->apart ? info->apart : info->page_count;
    return HONE_OK;
}

static hone_status next_pages(struct side sides[2], hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < 2 && !status; i++)
        if (media_get_info(sides[i].input)->apart > 1)
            status = media_next_page(sides[i].input, error);
    return status;
}

static hone_status load_side(struct side *side, hone_error *error)
{
    free(side->pixels);
    side->pixels = malloc(hone_image_bytes(&media_get_info(side->input)->desc));
    return side->pixels ? media_load(side->input, side->pixels, 0, error) : error_memory(error, side->path);
}

static void close_side(struct side *side)
{
    free(side->pixels);
    media_close(&side->input);
}

/* ---- Different kinds of image ---- */

static bool same_kind(const struct media_info *a, const struct media_info *b)
{
    return a->desc.width == b->desc.width && a->desc.height == b->desc.height &&
           a->desc.type == b->desc.type && a->desc.channels == b->desc.channels &&
           a->gray_alpha == b->gray_alpha && a->parts == b->parts;
}

static unsigned channels_of(const struct media_info *info)
{
    return info->gray_alpha ? 2 : info->desc.channels * info->parts;
}

/* Neither colours nor alpha alone: they have no names. */
static bool has_plain_channels(const struct media_info *info)
{
    return info->parts > 1 || info->extra > 0;
}

static void add_channels(struct text *line, const struct media_info *info)
{
    static const char *const names[] = {"", "gray", "", "RGB", "RGBA"};
    if (has_plain_channels(info))
        text_add(line, "%u channels", channels_of(info));
    else
        text_add(line, "%s", info->gray_alpha ? "gray and alpha" : names[info->desc.channels]);
}

static json_t *kind_json(const struct side *side, const struct media_info *info)
{
    return json_pack("{s:o, s:i, s:i, s:s, s:i, s:i}", "file", json_text(side->path), "width",
                     (int)info->desc.width, "height", (int)info->desc.height, "type",
                     hone_type_name(info->desc.type), "channels", (int)channels_of(info), "pages",
                     (int)side->pages);
}

static void print_kind(const struct side *side)
{
    const struct media_info *info = media_get_info(side->input);
    struct text line = {0};
    text_add(&line, "%s: %ux%u %s ", side->path, info->desc.width, info->desc.height,
             hone_type_name(info->desc.type));
    add_channels(&line, info);
    if (side->pages > 1)
        text_add(&line, ", %u pages", side->pages);
    if (line.data)
        cli_make_one_line(line.data);
    puts(text_view(&line));
    text_finish(&line);
}

static int report_kinds(const struct side sides[2], unsigned page, const struct compare_options *options)
{
    if (options->common.json)
        return cli_print_json(json_pack("{s:s, s:i, s:o, s:o}", "status", "other kind", "page", (int)page,
                                        "a", kind_json(&sides[0], media_get_info(sides[0].input)), "b",
                                        kind_json(&sides[1], media_get_info(sides[1].input))))
                   ? EXIT_CHECK
                   : EXIT_DEVICE;
    if (!options->common.quiet) {
        if (page > 1)
            printf("page %u differs in kind:\n", page);
        else
            puts("the images are of different kinds:");
        print_kind(&sides[0]);
        print_kind(&sides[1]);
    }
    return EXIT_CHECK;
}

/* ---- Differences ---- */

static json_t *difference_json(const struct difference *d)
{
    json_t *where = d->differing
                        ? json_pack("{s:i, s:i, s:i, s:o, s:o}", "x", (int)d->x, "y", (int)d->y, "channel",
                                    (int)d->channel, "a", cli_json_real(d->a), "b", cli_json_real(d->b))
                        : json_null();
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "elements", (json_int_t)d->elements, "differing",
                     (json_int_t)d->differing, "largest", cli_json_real(d->largest), "mean",
                     cli_json_real(d->mean), "psnr", cli_json_real(d->psnr), "where", where);
}

static json_t *outcome_json(const struct side sides[2], const struct outcome *o, const char *verdict,
                            double tolerance)
{
    json_t *channels = json_array();
    for (unsigned i = 0; i < o->count; i++)
        json_array_append_new(channels, difference_json(&o->channels[i]));
    return json_pack("{s:s, s:o, s:o, s:f, s:i, s:i, s:o, s:o}", "status", verdict, "a",
                     kind_json(&sides[0], &o->info), "b", kind_json(&sides[1], &o->info), "tolerance",
                     tolerance, "page", (int)o->page, "differing_pages", (int)o->differing, "all",
                     difference_json(&o->all), "channels", channels);
}

static void name_channel(char name[16], const struct media_info *info, unsigned index)
{
    static const char *const colours[] = {"red", "green", "blue", "alpha"}, *const grays[] = {"gray",
                                                                                              "alpha"};
    if (has_plain_channels(info))
        snprintf(name, 16, "%u", index + 1);
    else
        snprintf(name, 16, "%s", (channels_of(info) < 3 ? grays : colours)[index]);
}

static void print_difference(const char *name, const struct difference *d)
{
    printf("%-8s %12.6g %12.6g %10.2f %14llu", name, d->largest, d->mean, d->psnr,
           (unsigned long long)d->differing);
    if (d->differing)
        printf("  at %u,%u: %g and %g", d->x, d->y, d->a, d->b);
    putchar('\n');
}

static void print_outcome(const struct outcome *o)
{
    if (o->pages > 1 && o->differing > 0)
        printf("%u of %u pages differ, page %u most:\n", o->differing, o->pages, o->page);
    else if (o->pages > 1)
        printf("%u pages\n", o->pages);
    printf("%-8s %12s %12s %10s %14s  %s\n", "channel", "largest", "mean", "PSNR/dB", "differing", "largest");
    for (unsigned i = 0; i < o->count; i++) {
        char name[16];
        name_channel(name, &o->info, i);
        print_difference(name, &o->channels[i]);
    }
    print_difference("all", &o->all);
}

static int report(const struct side sides[2], const struct outcome *o, const struct compare_options *options)
{
    const bool fits = !(o->all.largest > options->tolerance);
    const char *verdict = o->differing == 0 ? "equal" : fits ? "within tolerance" : "different";
    if (options->common.json) {
        if (!cli_print_json(outcome_json(sides, o, verdict, options->tolerance)))
            return EXIT_DEVICE;
    } else if (!options->common.quiet) {
        print_outcome(o);
        printf("%s\n", verdict);
    }
    return fits ? EXIT_DONE : EXIT_CHECK;
}

/* ---- Pages ---- */

/* The channels of a page that are compared, of one image or of the next of several; gives how many. */
static unsigned compare_channels(const struct side sides[2], const struct media_info *info, unsigned part,
                                 struct difference *all, struct difference *to)
{
    struct comparison c;
    unsigned count = 0;
    const unsigned mask = info->gray_alpha ? 1u << 0 | 1u << 3 : 0xf; /* equal colours stand for one gray */
    compare_pixels(&c, &info->desc, mask, sides[0].pixels, sides[1].pixels);
    for (unsigned i = 0; i < info->desc.channels; i++)
        if (mask & 1u << i) {
            c.channels[i].channel += part;
            to[count++] = c.channels[i];
        }
    c.all.channel += part;
    compare_join(all, &c.all, info->desc.type);
    return count;
}

/* Takes the channels over, or frees them. */
static void keep_worst(struct outcome *o, unsigned page, const struct media_info *info,
                       const struct difference *all, struct difference *channels, unsigned count)
{
    o->differing += all->differing > 0;
    if (page > 1 && !(all->largest > o->all.largest)) {
        free(channels);
        return;
    }
    free(o->channels);
    o->page = page;
    o->info = *info;
    o->all = *all;
    o->channels = channels;
    o->count = count;
}

static hone_status compare_page(struct side sides[2], unsigned page, struct outcome *o, hone_error *error)
{
    const struct media_info *info = media_get_info(sides[0].input);
    struct difference all = {0}, *channels = mem_new((size_t)info->parts * 4, sizeof *channels);
    hone_status status = channels ? HONE_OK : error_memory(error, "channels");
    unsigned count = 0;
    for (unsigned part = 0; part < info->parts && !status; part++) {
        status = load_side(&sides[0], error);
        THEN(status, load_side(&sides[1], error));
        if (!status)
            count += compare_channels(sides, info, part, &all, channels + count);
    }
    if (status)
        free(channels);
    else
        keep_worst(o, page, info, &all, channels, count);
    return status;
}

static int compare_pages(struct side sides[2], const struct compare_options *options, struct outcome *o)
{
    hone_error error;
    hone_status status = HONE_OK;
    for (unsigned page = 1; page <= o->pages && !status; page++) {
        if (page > 1)
            status = next_pages(sides, &error);
        if (!status && !same_kind(media_get_info(sides[0].input), media_get_info(sides[1].input)))
            return report_kinds(sides, page, options);
        THEN(status, compare_page(sides, page, o, &error));
    }
    return status ? cli_fail(&options->common, &error) : report(sides, o, options);
}

static int compare(struct side sides[2], const struct compare_options *options)
{
    hone_error error;
    hone_status status = open_side(&sides[0], options, &error);
    THEN(status, open_side(&sides[1], options, &error));
    if (status)
        return cli_fail(&options->common, &error);
    struct outcome o = {.pages = sides[0].pages};
    if (sides[1].pages != o.pages)
        return report_kinds(sides, 1, options);
    const int exit_status = compare_pages(sides, options, &o);
    free(o.channels);
    return exit_status;
}

static int run(int argc, char **argv)
{
    struct compare_options options = {.timeout = -1};
    struct operands operands;
    const struct option own[] = {{"tolerance", 't', OPTION_REAL, &options.tolerance, 0, DBL_MAX},
                                 {"accept-damaged", 0, OPTION_FLAG, &options.accept_damaged, 0, 0},
                                 {"trust", 0, OPTION_FLAG, &options.trust, 0, 0},
                                 {"decode-memory", 0, OPTION_REAL, &options.decode_memory, 1, 1 << 24},
                                 {"timeout", 0, OPTION_REAL, &options.timeout, 0, 1e9},
                                 {NULL, 0, OPTION_FLAG, NULL, 0, 0}};
    switch (cli_parse(&command_compare, argc, argv, own, &options.common, &operands)) {
    case PARSED_BAD:
        return EXIT_USAGE;
    case PARSED_END:
        return EXIT_DONE;
    case PARSED_GO:
        break;
    }
    if (operands.count != 2)
        return cli_usage(&command_compare, "two images are compared; there are %d", operands.count);
    struct side sides[2] = {{.path = operands.items[0]}, {.path = operands.items[1]}};
    hone_error error;
    if (policy_bind_reading(&options.decode_memory, &options.trust, &options.max_pixels, &error))
        return cli_fail(&options.common, &error);
    const bool likely = media_needs_libvips(sides[0].path) || media_needs_libvips(sides[1].path);
    if (media_decoders_begin(likely, &error))
        return cli_fail(&options.common, &error);
    int status = compare(sides, &options);
    close_side(&sides[0]);
    close_side(&sides[1]);
    media_decoders_end();
    return status;
}

const struct command command_compare = {
    .name = "compare",
    .summary = "compare the pixels of two images",
    .usage =
        "usage: hone compare A B [--tolerance N]\n"
        "\n"
        "Compares the pixels of two images after turning them upright, page by page. Prints, per channel\n"
        "and overall: the largest and the mean absolute difference (in levels of the format; float images\n"
        "in their own unit), the PSNR (relative to the format's full scale; 1 for float), the number of\n"
        "differing elements, and the position of the largest difference. Of several pages of a TIFF, or\n"
        "frames of a GIF or WebP, these are those of the one that differs most. NaN equals NaN; NaN and a\n"
        "number differ infinitely. Metadata is not compared.\n"
        "\n"
        "Exit status: 0 if no difference exceeds the tolerance; 1 if one does, or if size, type, channels\n"
        "or the number of pages differ; 3 if a file cannot be read.\n"
        "\n"
        "options:\n"
        "  -t, --tolerance N    largest accepted difference (default 0)\n"
        "  --accept-damaged     decode as much as possible of truncated files\n"
        "  --trust              also read formats whose decoders are not meant for untrusted files\n"
        "  --decode-memory MIB  memory that decoding one file may use (default 2048)\n"
        "  --timeout SECONDS    processor time for decoding an image; 0: no limit (default: one minute plus\n"
        "                       one second per megapixel)\n",
    .run = run,
};
