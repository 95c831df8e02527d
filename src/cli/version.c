/* SPDX-License-Identifier: BSD-2-Clause */
/* hone --version: which hone this is, and what is compiled in. */
#include "cli/cli.h"

#include "filter/registry.h"
#include "hone/version.h"
#include "media/media.h"
#include "media/video/video.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *describe_filters(void)
{
    json_t *names = json_array();
    for (size_t i = 0; registry_at(i); i++)
        json_array_append_new(names, json_string(registry_at(i)->name));
    return names;
}

/* libvips is null in a build without. */
static json_t *describe(void)
{
    return json_pack("{s:s, s:s, s:s?, s:b, s:s, s:o}", "version", HONE_VERSION, "compiler", __VERSION__,
                     "libvips", media_vips_version(), "video", video_is_built(), "jansson", JANSSON_VERSION,
                     "filters", describe_filters());
}

int cli_version(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (i > 1 || strcmp(argv[i], "--json") != 0)
            return cli_usage(NULL, "--version takes --json and nothing else, not '%s'", argv[i]);
    if (argc == 1)
        puts("hone " HONE_VERSION);
    else if (!cli_print_json(describe()))
        return EXIT_DEVICE;
    return EXIT_DONE;
}
