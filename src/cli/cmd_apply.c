/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: options, and the walk over the inputs. */
#include "cli/apply.h"

#include "base/error.h"
#include "cli/guard.h"

#include <stdlib.h>
#include <string.h>

static hone_status find_items(struct items *items, const struct engine *engine, const struct operands *inputs,
                              hone_error *error)
{
    const struct apply_options *options = engine->options;
    char **seconds = calloc(engine->second_count + 1, sizeof *seconds);
    if (!seconds)
        return error_memory(error, "the list of inputs");
    for (size_t i = 0; i < engine->second_count; i++)
        seconds[i] = (char *)engine->seconds[i].path;
    const struct items_request request = {.inputs = inputs->items,
                                          .count = inputs->count,
                                          .output = options->output,
                                          .format = options->format,
                                          .recursive = options->recursive,
                                          .force = options->force,
                                          .also_read = seconds,
                                          .also_count = engine->second_count};
    hone_status status = items_make(items, &request, error);
    free(seconds);
    return status;
}

/* What can be refused without a device and without reading an image. */
static hone_status check_work(struct items *items, const struct apply_options *options,
                              const hone_chain *chain, const struct operands *inputs, hone_error *error)
{
    struct engine engine = {0};
    hone_status status = engine_begin(&engine, options, chain, NULL, error);
    if (!status)
        status = find_items(items, &engine, inputs, error);
    engine_end(&engine);
    return status;
}

static int apply_guarded(const struct apply_options *options, const hone_chain *chain,
                         const struct items *items)
{
    hone_error error;
    if (guard_begin(&error))
        return cli_fail(&options->common, &error);
    int status = apply_items(options, chain, items);
    guard_end();
    return status;
}

static int apply(const struct apply_options *options, const char *text, const struct operands *inputs)
{
    hone_chain *chain = NULL;
    struct items items = {0};
    hone_error error;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (!status)
        status = check_work(&items, options, chain, inputs, &error);
    int result = status ? cli_fail(&options->common, &error) : apply_guarded(options, chain, &items);
    items_finish(&items);
    hone_chain_destroy(&chain);
    return result;
}

static int check_options(const struct apply_options *options, const struct operands *operands)
{
    if (operands->count < 1)
        return cli_usage(&command_apply, "a chain is missing, such as 'sobel norm=l1'");
    if (operands->count < 2)
        return cli_usage(&command_apply, "an input is missing");
    if (!options->output)
        return cli_usage(&command_apply, "the output is missing: -o FILE, -o FOLDER/ or -o -");
    if (apply_to_stdout(options) && options->common.json)
        return cli_usage(&command_apply, "the report of --json and the result of -o - would mix on standard "
                                         "output: name a file (-o FILE)");
    const char *tune = options->tune ? options->tune : "auto";
    if (strcmp(tune, "off") != 0 && strcmp(tune, "auto") != 0 && strcmp(tune, "full") != 0)
        return cli_usage(&command_apply, "--tune is auto, off or full, not '%s'", tune);
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct apply_options o = {.timeout = -1};
    struct operands operands;
    const struct option own[] = {{"output", 'o', OPTION_TEXT, &o.output, 0, 0},
                                 {"variant", 0, OPTION_TEXT, &o.variant, 0, 0},
                                 {"config", 0, OPTION_TEXT, &o.config, 0, 0},
                                 {"tune", 0, OPTION_TEXT, &o.tune, 0, 0},
                                 {"format", 0, OPTION_TEXT, &o.format, 0, 0},
                                 {"quality", 0, OPTION_REAL, &o.quality, 1, 100},
                                 {"timeout", 0, OPTION_REAL, &o.timeout, 0, 1e9},
                                 {"jobs", 'j', OPTION_REAL, &o.jobs, 1, 256},
                                 {"recursive", 'r', OPTION_FLAG, &o.recursive, 0, 0},
                                 {"force", 0, OPTION_FLAG, &o.force, 0, 0},
                                 {"no-fuse", 0, OPTION_FLAG, &o.no_fuse, 0, 0},
                                 {"accept-damaged", 0, OPTION_FLAG, &o.accept_damaged, 0, 0},
                                 {NULL, 0, OPTION_FLAG, NULL, 0, 0}};
    switch (cli_parse(&command_apply, argc, argv, own, &o.common, &operands)) {
    case PARSED_BAD:
        return EXIT_USAGE;
    case PARSED_END:
        return EXIT_DONE;
    case PARSED_GO:
        break;
    }
    const struct operands inputs = {operands.items + 1, operands.count - 1};
    int status = check_options(&o, &operands);
    return status ? status : apply(&o, operands.items[0], &inputs);
}

const struct command command_apply = {
    .name = "apply",
    .summary = "filter images and folders of images",
    .usage =
        "usage: hone apply CHAIN INPUT... -o OUTPUT\n"
        "\n"
        "Filters images. A CHAIN is 'filter name=value ... | filter ...'; 'hone filters' lists them. An "
        "INPUT is an image\n"
        "or a folder of images; OUTPUT is a file, or for several inputs a folder (which is made where "
        "it is missing).\n"
        "The suffix of an output says its format: .png .tif .jpg .webp .pam .pgm .ppm .pnm .pfm, "
        "or .csv .json\n"
        "for the numbers as text. '-o -' is standard output: CSV where the result is a table of one row (a "
        "histogram),\n"
        "else what --format says. Profiles, EXIF and the like are kept where the format can; images are "
        "turned upright.\n"
        "An output is written whole or not at all.\n"
        "\n"
        "  hone apply 'box size=8 | sobel norm=l1' in.png -o out.png\n"
        "  hone apply 'sobel' a.jpg b.jpg photos/ -o edges/ --format png\n"
        "  hone apply histogram in.png -o -\n"
        "\n"
        "options:\n"
        "  -o, --output OUTPUT  where the results go; a folder ends with '/' or is there already;\n"
        "                       - is standard output\n"
        "  -r, --recursive      take the folders below a folder, too\n"
        "  --format SUFFIX      suffix of the outputs in a folder (default: that of the input), or of what "
        "goes "
        "to\n"
        "                       standard output\n"
        "  --quality N          of JPEG and WebP, 1 to 100 (default 90)\n"
        "  --force              let an output replace its own input\n"
        "  -j, --jobs N         images at a time (default: the number of processors, at most 8)\n"
        "  --accept-damaged     take what can be decoded of a file that is not whole\n"
        "  --variant NAME       force a variant of the filters, or FILTER:NAME,FILTER:NAME\n"
        "  --config TUNABLES    force tunables, such as 'WG_X=32 ROWS=8'\n"
        "  --tune auto|off|full auto (default): the best known choice; images after the first few try "
        "others on "
        "the way.\n"
        "                       off: hand-written choices alone. full: tune the chain first, where that "
        "has not "
        "been done\n"
        "  --no-fuse            every filter in a kernel of its own, also point filters beside another one\n"
        "  --timeout SECONDS    give up when the device does not answer for so long; 0: never (default: "
        "one minute for\n"
        "                       each megapixel and filter, at least one minute)\n",
    .run = run,
};
