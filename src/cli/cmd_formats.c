/* SPDX-License-Identifier: BSD-2-Clause */
/* hone formats: which files this build reads and writes. */
#include "cli/cli.h"

#include "base/error.h"
#include "media/media.h"
#include "media/video/video.h"

#include <jansson.h>
#include <stdio.h>

static void print_format(const struct media_format_info *format)
{
    printf("%-10s %-24s %-5s %-6s", format->name, format->suffixes,
           !format->reads  ? "-"
           : format->trust ? "trust"
                           : "yes",
           format->writes ? "yes" : "-");
    if (format->writes)
        printf(" %s, %s", format->depth, format->channels);
    putchar('\n');
}

static json_t *format_json(const struct media_format_info *format)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:b, s:s?, s:s?}", "name", format->name, "suffixes",
                     format->suffixes, "reads", format->reads, "trust", format->reads && format->trust,
                     "writes", format->writes, "depth", format->depth, "channels", format->channels);
}

static bool add_videos(json_t *list)
{
    struct video_format_info format;
    bool ok = true;
    for (size_t i = 0; video_format_at(i, &format) && ok; i++)
        ok = json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b, s:s}", "name", format.name,
                                                   "suffixes", format.suffixes, "reads", true, "writes", true,
                                                   "holds", format.holds)) == 0;
    return ok;
}

static void print_videos(void)
{
    struct video_format_info format;
    printf("\n%-10s %-24s %s\n", "VIDEO", "SUFFIXES", "HOLDS");
    for (size_t i = 0; video_format_at(i, &format); i++)
        printf("%-10s %-24s %s\n", format.name, format.suffixes, format.holds);
}

static int show(const struct common_options *common)
{
    struct media_format_info format;
    json_t *list = json_array(), *videos = json_array();
    hone_error error;
    const bool has_videos = video_load(&error) == HONE_OK;
    bool ok = list && videos && (!has_videos || add_videos(videos));
    if (!common->json)
        printf("%-10s %-24s %-5s %-6s %s\n", "FORMAT", "SUFFIXES", "READ", "WRITE", "HOLDS");
    for (size_t i = 0; media_format_at(i, &format) && ok; i++) {
        if (!format.reads && !format.writes)
            continue;
        if (common->json)
            ok = json_array_append_new(list, format_json(&format)) == 0;
        else
            print_format(&format);
    }
    if (ok && common->json)
        ok = cli_print_json(json_pack("{s:O, s:O}", "formats", list, "videos", videos));
    else if (ok && has_videos)
        print_videos();
    if (ok && !has_videos && video_is_built())
        cli_warn(common, "%s", error.message);
    json_decref(list);
    json_decref(videos);
    return cli_reported(common, ok);
}

static int run(int argc, char **argv)
{
    struct common_options common;
    struct operands operands;
    const enum parsed parsed = cli_parse(&command_formats, argc, argv, NULL, &common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    if (operands.count)
        return cli_usage(&command_formats, "it takes no operand '%s'", operands.items[0]);
    return show(&common);
}

const struct command command_formats = {
    .name = "formats",
    .summary = "list the file formats that can be read and written",
    .usage =
        "usage: hone formats [OPTION...]\n"
        "\n"
        "Lists the image formats that this build reads or writes, with their suffixes and what an output\n"
        "in each format can hold. Inputs are recognised by content; suffixes matter only when searching\n"
        "folders. Under READ, 'trust' marks formats that are read only with --trust. Videos are read and "
        "written\n"
        "through FFmpeg's libraries; any other format that these recognise is read, too.\n",
    .run = run,
};
