/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: options, and the walk over the inputs. */
#include "cli/apply/video.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cl/platforms.h"
#include "cli/guard.h"
#include "cli/policy.h"
#include "cli/survive.h"

#include <stdlib.h>
#include <string.h>

static hone_status find_items(struct items *items, const struct apply_options *options,
                              const hone_chain *chain, const struct operands *inputs, hone_error *error)
{
    size_t count = 0;
    while (cli_chain_file(chain, count))
        count++;
    const char **files = calloc(count + 1, sizeof *files);
    if (!files)
        return error_memory(error, "the list of inputs");
    for (size_t i = 0; i < count; i++)
        files[i] = cli_chain_file(chain, i);
    const struct items_request request = {.inputs = inputs->items,
                                          .count = inputs->count,
                                          .output = options->output,
                                          .format = options->format,
                                          .recursive = options->recursive,
                                          .force = options->force,
                                          .also_read = files,
                                          .also_count = count};
    hone_status status = items_make(items, &request, error);
    free(files);
    return status;
}

static bool takes_compression(const struct items *items, const char *word)
{
    for (size_t i = 0; i < items->count; i++)
        if (media_takes_compression(items->list[i].output, word))
            return true;
    return items->count == 0;
}

/* Where compression is lossless, there is no quality. */
static bool takes_quality(const struct items *items, const char *compression)
{
    for (size_t i = 0; i < items->count; i++) {
        const char *name = items->list[i].output;
        if (media_takes(name, MEDIA_OPTION_QUALITY) && !media_takes_compression(name, compression))
            return true;
    }
    return items->count == 0;
}

static hone_status quality_is_idle(const char *name, const char *compression, hone_error *error)
{
    if (media_takes_compression(name, compression))
        return error_usage(error,
                           "--quality means nothing to '%s' with --compression %s: leave one of both out",
                           name, compression);
    return error_usage(error, "--quality means nothing to '%s': it is for JPEG, WebP, AVIF, HEIC and video",
                       name);
}

static hone_status compression_is_idle(const char *name, const char *word, hone_error *error)
{
    if (strcmp(word, "lossless") != 0)
        return error_usage(error, "--compression %s means nothing to '%s': it is for TIFF%s", word, name,
                           media_takes_compression(name, "lossless") ? ", and it takes lossless" : "");
    return error_usage(error,
                       "--compression lossless means nothing to '%s': it is for WebP, AVIF and HEIC; PNG, "
                       "TIFF and PNM are lossless anyway, JPEG and GIF never",
                       name);
}

/* What no output heeds was not meant. */
static hone_status check_meaning(const struct apply_options *options, const struct items *items,
                                 hone_error *error)
{
    const char *name = items->count ? items->list[0].output : "";
    const bool has_video = apply_has_video(items);
    const char *compression = options->write.compression;
    if (options->quality > 0 && !has_video && !takes_quality(items, compression))
        return quality_is_idle(name, compression, error);
    if (!has_video && apply_video_option(options))
        return error_usage(error, "%s means nothing to '%s': it is for video", apply_video_option(options),
                           name);
    if (apply_has_videos_only(items) && apply_picture_option(options))
        return error_usage(error, "%s means nothing to '%s': it is for pictures, not for video",
                           apply_picture_option(options), name);
    if (compression && !takes_compression(items, compression))
        return compression_is_idle(name, compression, error);
    return HONE_OK;
}

static hone_status check_trace(const char *trace, const struct items *items, const hone_chain *chain,
                               hone_error *error)
{
    hone_status status = trace ? cli_spare_chain("--trace", trace, chain, error) : HONE_OK;
    for (size_t i = 0; i < items->count && trace && !status; i++) {
        if (!items->from_stream)
            status = file_output_spares("--trace", trace, items->list[i].input, error);
        if (!items->to_stdout)
            THEN(status, file_output_spares("--trace", trace, items->list[i].output, error));
    }
    return status;
}

/* What can be refused without a device and without reading an image. */
static hone_status check_work(struct items *items, struct apply_options *options, const hone_chain *chain,
                              const struct operands *inputs, hone_error *error)
{
    struct engine engine = {0};
    hone_status status = engine_begin(&engine, options, chain, NULL, error);
    THEN(status, apply_check_video(options, error));
    THEN(status, find_items(items, options, chain, inputs, error));
    THEN(status, check_meaning(options, items, error));
    THEN(status, check_trace(options->trace, items, chain, error));
    engine_end(&engine);
    return status;
}

static bool needs_libvips(const struct items *items)
{
    bool needs = false;
    for (size_t i = 0; i < items->count && !needs; i++)
        needs = !items->list[i].problem && !apply_is_video(&items->list[i]) &&
                (media_needs_libvips(items->list[i].input) || media_needs_libvips(items->list[i].output));
    return needs;
}

struct job {
    const struct apply_options *options;
    const hone_chain *chain;
    const struct items *items;
    struct apply_course *course;
};

static int apply_guarded(void *user, const char *ended)
{
    const struct job *job = user;
    const struct common_options *common = &job->options->common;
    hone_error error;
    if (apply_has_video(job->items))
        video_load(NULL); /* once, also for those that try videos; one that misses it says so */
    if (media_decoders_begin(needs_libvips(job->items), &error))
        return cli_fail(common, &error);
    if (guard_begin(&error)) {
        media_decoders_end();
        return cli_fail(common, &error);
    }
    int status = apply_items(job->options, job->chain, job->items, job->course, ended);
    guard_end();
    media_decoders_end();
    return status;
}

/* Images have decoders in processes of their own. */
static bool was_in_video(void *user)
{
    struct apply_course *course = ((const struct job *)user)->course;
    const bool was = course->in_video;
    course->in_video = false; /* what ends next has another reason */
    return was;
}

static int apply_all(const struct apply_options *options, const hone_chain *chain, const struct items *items)
{
    struct apply_course *shared = apply_has_video(items) ? survive_memory(sizeof *shared) : NULL, own = {0};
    struct job job = {options, chain, items, shared ? shared : &own};
    const struct survival survival = {apply_guarded, was_in_video, &job};
    return shared ? survive(&survival) : apply_guarded(&job, NULL);
}

static int apply(struct apply_options *options, const char *text, const struct operands *inputs)
{
    hone_chain *chain = NULL;
    struct items items = {0};
    hone_error error;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (!status && options->reproducible)
        hone_chain_make_reproducible(chain);
    THEN(status, check_work(&items, options, chain, inputs, &error));
    if (!status || items.count == 0) /* what is in a folder without images */
        apply_report_items(options, &items);
    int result = status ? cli_fail(&options->common, &error) : apply_all(options, chain, &items);
    items_finish(&items);
    hone_chain_destroy(&chain);
    return result;
}

/* Whether a word is one of those with bars between. */
static bool is_among(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

/* "#rrggbb", "#rgb" or a word. */
static bool parse_colour(const char *text, double colour[3])
{
    static const struct {
        const char *name, *digits;
    } words[] = {{"black", "000000"}, {"white", "ffffff"}, {"gray", "808080"}, {"grey", "808080"}};
    const char *digits = text + (text[0] == '#');
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(text, words[i].name) == 0)
            digits = words[i].digits;
    const size_t length = strlen(digits);
    if ((length != 3 && length != 6) || strspn(digits, "0123456789abcdefABCDEF") != length)
        return false;
    for (size_t i = 0; i < 3; i++) {
        const char part[3] = {digits[length / 3 * i], digits[length / 3 * i + length / 6], '\0'};
        colour[i] = (double)strtoul(part, NULL, 16) / 255;
    }
    return true;
}

static int check_writing(struct apply_options *options)
{
    struct media_write_options *write = &options->write;
    write->quality = (int)options->quality;
    write->flatten = options->background != NULL;
    if (write->flatten && !parse_colour(options->background, write->background))
        return cli_usage(&command_apply, "--background is #rrggbb, black, white or gray, not '%s'",
                         options->background);
    if (options->resume && apply_to_stdout(options))
        return cli_usage(&command_apply, "--resume goes on with a file: -o names it");
    if (options->pages && !apply_parse_pages(options->pages, &options->first_page, &options->last_page))
        return cli_usage(&command_apply,
                         "--pages is a page (3) or some (2-5, 2-, -5), counted from 1, not '%s'",
                         options->pages);
    if (options->memory_text && !text_bytes(options->memory_text, &options->memory))
        return cli_usage(&command_apply, "--memory is a size such as 512M or 2G, of 1M at least, not '%s'",
                         options->memory_text);
    if (options->alpha && !is_among("auto|copy", options->alpha))
        return cli_usage(&command_apply, "--alpha is auto or copy, not '%s'", options->alpha);
    if (write->compression && !is_among(media_compressions, write->compression))
        return cli_usage(&command_apply, "--compression is %s, not '%s'", media_compressions,
                         write->compression);
    return EXIT_DONE;
}

/* What the policy files say of options that are given, and of those that are not. */
static int heed_policy(struct apply_options *options)
{
    struct policy policy;
    hone_error error;
    double pixels = (double)giant_max_pixels(options), memory = (double)giant_memory(options);
    hone_status status = policy_read(&policy, &error);
    THEN(status, policy_apply_decoders(&policy, &options->decode_memory, &options->trust, &error));
    THEN(status, policy_apply(&policy, POLICY_MAX_PIXELS, options->max_pixels > 0, &pixels, &error));
    THEN(status, policy_apply(&policy, POLICY_MEMORY, options->memory > 0, &memory, &error));
    if (status)
        return cli_fail(&options->common, &error);
    options->max_pixels = pixels;
    if (policy_has(&policy, POLICY_MEMORY)) /* else images that cannot be cut may take more */
        options->memory = (uint64_t)memory;
    return EXIT_DONE;
}

static int check_options(const struct apply_options *options, const struct operands *operands)
{
    if (operands->count < 1)
        return cli_usage(&command_apply, "a chain is missing, such as 'sobel norm=l1'");
    hone_error error;
    if (cli_load_filters(operands->items[0], &error))
        return cli_fail(&options->common, &error);
    const int status = apply_check_quotes(options, operands);
    if (status)
        return status;
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

/* Its names in /dev are the same as "-". */
static const char *output_of(const char *given)
{
    const bool is_standard = given && (strcmp(given, "/dev/stdout") == 0 || strcmp(given, "/dev/fd/1") == 0);
    return is_standard ? "-" : given;
}

/* Before the options are taken out of it. */
static char **copy_of(int argc, char **argv)
{
    char **copy = mem_new((size_t)argc + 1, sizeof *copy);
    if (copy)
        memcpy(copy, argv, (size_t)argc * sizeof *copy);
    return copy;
}

static int run(int argc, char **argv)
{
    struct apply_options o = {.timeout = -1, .asked = copy_of(argc, argv)};
    struct operands operands;
    const struct option own[] = {{"output", 'o', OPTION_TEXT, &o.output, 0, 0},
                                 {"variant", 0, OPTION_TEXT, &o.variant, 0, 0},
                                 {"config", 0, OPTION_TEXT, &o.config, 0, 0},
                                 {"tune", 0, OPTION_TEXT, &o.tune, 0, 0},
                                 {"format", 0, OPTION_TEXT, &o.format, 0, 0},
                                 {"quality", 0, OPTION_WHOLE, &o.quality, 1, 100},
                                 {"compression", 0, OPTION_TEXT, &o.write.compression, 0, 0},
                                 {"background", 0, OPTION_TEXT, &o.background, 0, 0},
                                 {"alpha", 0, OPTION_TEXT, &o.alpha, 0, 0},
                                 {"pages", 0, OPTION_TEXT, &o.pages, 0, 0},
                                 {"strip", 0, OPTION_FLAG, &o.write.strip, 0, 0},
                                 {"skip-existing", 0, OPTION_FLAG, &o.skip_existing, 0, 0},
                                 {"update", 0, OPTION_FLAG, &o.update, 0, 0},
                                 {"sync", 0, OPTION_FLAG, &o.sync, 0, 0},
                                 {"resume", 0, OPTION_FLAG, &o.resume, 0, 0},
                                 {"codec", 0, OPTION_TEXT, &o.codec, 0, 0},
                                 {"preset", 0, OPTION_TEXT, &o.preset, 0, 0},
                                 {"frames", 0, OPTION_TEXT, &o.frames, 0, 0},
                                 {"planes", 0, OPTION_TEXT, &o.planes, 0, 0},
                                 {"raw", 0, OPTION_TEXT, &o.raw, 0, 0},
                                 {"timeout", 0, OPTION_REAL, &o.timeout, 0, 1e9},
                                 {"trace", 0, OPTION_TEXT, &o.trace, 0, 0},
                                 {"perf-hint", 0, OPTION_TEXT, &o.common.perf_hint, 0, 0},
                                 {"trust", 0, OPTION_FLAG, &o.trust, 0, 0},
                                 {"decode-memory", 0, OPTION_REAL, &o.decode_memory, 1, 1 << 24},
                                 {"memory", 0, OPTION_TEXT, &o.memory_text, 0, 0},
                                 {"max-pixels", 0, OPTION_REAL, &o.max_pixels, 1, 0x1p40},
                                 {"jobs", 'j', OPTION_WHOLE, &o.jobs, 1, 256},
                                 {"recursive", 'r', OPTION_FLAG, &o.recursive, 0, 0},
                                 {"force", 0, OPTION_FLAG, &o.force, 0, 0},
                                 {"no-fuse", 0, OPTION_FLAG, &o.no_fuse, 0, 0},
                                 {"reproducible", 0, OPTION_FLAG, &o.reproducible, 0, 0},
                                 {"accept-damaged", 0, OPTION_FLAG, &o.accept_damaged, 0, 0},
                                 {NULL, 0, OPTION_FLAG, NULL, 0, 0}};
    hone_error error;
    video_silence();
    if (!o.asked)
        return cli_fail(&o.common, (error_memory(&error, "the command line"), &error));
    const enum parsed parsed = cli_parse(&command_apply, argc, argv, own, &o.common, &operands);
    int status = parsed == PARSED_BAD ? EXIT_USAGE : EXIT_DONE;
    if (parsed == PARSED_GO) {
        const struct operands inputs = {operands.items + 1, operands.count - 1};
        o.output = output_of(o.output);
        if (o.timeout >= 0)
            platform_set_patience(o.timeout);
        status = check_options(&o, &operands);
        THEN(status, check_writing(&o));
        THEN(status, heed_policy(&o));
        THEN(status, apply(&o, operands.items[0], &inputs));
    }
    free(o.asked);
    return status;
}

const struct command command_apply = {
    .name = "apply",
    .summary = "filter images, folders of images, and videos",
    .usage =
        "usage: hone apply CHAIN INPUT... -o OUTPUT\n"
        "\n"
        "Filters images. CHAIN is 'filter name=value ... | filter ...'; 'hone filters' lists the filters.\n"
        "A filter may also be a file of your own, ./glow.cl, whose code then runs on the device.\n"
        "INPUT is an image or a folder of images, or a single pipe: - (standard input) or a fifo. OUTPUT is\n"
        "a file or, with several inputs, a folder, which is created if missing. The suffix of an output\n"
        "selects its format: .png .tif .jpg .webp .gif .avif .heic .pam .pgm .ppm .pnm .pfm, or .csv and\n"
        ".json for numbers as text. '-o -' writes to standard output: CSV if the result is a table of one\n"
        "row (a histogram), else the format given with --format. Profiles, EXIF and other metadata are kept\n"
        "if the format allows it; images are turned upright. Outputs are never left half-written.\n"
        "\n"
        "frame%04d.png -o out%04d.png is an image sequence: all files that match, keeping their\n"
        "numbers. A gap in the numbers is an error.\n"
        "\n"
        "A video (.mp4 .mkv .mov .webm .avi .ts .mpg .ogv .nut .y4m; 'hone formats') becomes a video:\n"
        "luma is filtered; sound, subtitles, chapters, time stamps, colour and rotation are kept if the\n"
        "format holds them, else a warning says what is lost. A pipe is a video if the output is one:\n"
        "'- -o out.mp4', or '- -o - --format y4m'. Ctrl-C completes the file with the frames so far.\n"
        "docs/video.md has recipes.\n"
        "\n"
        "  hone apply 'box size=8 | sobel norm=l1' in.png -o out.png\n"
        "  hone apply 'sobel' a.jpg b.jpg photos/ -o edges/ --format png\n"
        "  hone apply histogram in.png -o -\n"
        "  ffmpeg -i in.mp4 -f image2pipe -c:v ppm - | hone apply epsilon - -o - --format ppm > frames.ppm\n"
        "  hone apply 'epsilon threshold=12' in.mp4 -o out.mp4\n"
        "\n"
        "options:\n"
        "  -o, --output OUTPUT  file or folder for the results; a folder ends with '/' or already exists;\n"
        "                       - is standard output\n"
        "  -r, --recursive      include subfolders\n"
        "  --format SUFFIX      format of outputs in a folder (default: same as the input, of .pbm .pgm) "
        "and\n"
        "                       of standard output\n"
        "  --quality N          quality of JPEG, WebP, AVIF and HEIC, 1 to 100 (default 90); of video: CRF "
        "51\n"
        "                       to 0 for H.264 and HEVC (default 65: CRF 17), 63 to 0 for VP9 and AV1\n"
        "  --codec NAME         codec or encoder of a video, such as hevc, ffv1 or libx264 (default: that "
        "of\n"
        "                       the input if the format holds it)\n"
        "  --preset NAME        speed of a video's encoder, in its own terms: fast, slow, 8 ...\n"
        "  --planes luma|all    planes of a video that are filtered (default luma)\n"
        "  --frames A-B         filter and write these frames of a video only, counted from 1; also A- and "
        "-B\n"
        "  --raw FORMAT:WxH@RATE  input is frames without a container, in ffmpeg's terms:\n"
        "                       nv12:1920x1080@25; outputs named .yuv, .rgb or .raw are such frames\n"
        "  --compression WORD   of TIFF: none, lzw, deflate, packbits or zstd (default: that of a TIFF\n"
        "                       input if it is one of these, else none); of WebP, AVIF\n"
        "                       and HEIC: lossless\n"
        "  --background COLOUR  blend images with alpha over #rrggbb, black, white or gray\n"
        "  --alpha auto|copy    auto (default): averages weight colours by alpha, and alpha is filtered\n"
        "                       like them; copy (the default with --variant or --config): alpha is\n"
        "                       copied, and hidden colours count like others\n"
        "  --pages A-B          pages of a TIFF, frames of a GIF or WebP, counted from 1; also A-, -B and A\n"
        "                       (default: all, where the output is one of these, too; else the first)\n"
        "  --strip              drop EXIF, XMP and the like; the colour profile stays\n"
        "  --skip-existing      skip inputs whose outputs exist, except those that a power cut truncated\n"
        "  --update             process only what is missing or out of date: skip an unchanged input whose\n"
        "                       output was made by the same chain and options\n"
        "  --sync               write each output to the disk before it gets its name, so that it is whole\n"
        "                       or absent after a power cut, too (slow for many outputs)\n"
        "  --resume             for images in bands of rows: keep finished rows next to the output until\n"
        "                       it is complete, and continue after those of an interrupted run\n"
        "  --force              allow overwriting an input with its own output, or a write-protected file\n"
        "  -j, --jobs N         images processed in parallel (default: processors + 1, at most 16)\n"
        "  --memory SIZE        maximum memory for pixels, such as 512M or 2G (without a letter: MiB), of\n"
        "                       all images processed in parallel; an image that needs more is filtered in\n"
        "                       bands of rows (default: 1G for what can be)\n"
        "  --max-pixels N       refuse images of more pixels, such as 1e9 (default: 2^37)\n"
        "  --accept-damaged     decode as much as possible of a damaged or truncated file, and report it;\n"
        "                       in a video, continue after damaged frames\n"
        "  --variant NAME       force a variant for all filters, or FILTER:NAME,FILTER:NAME\n"
        "  --config TUNABLES    force tunables, such as 'WG_X=32 ROWS=8'\n"
        "  --tune auto|off|full auto (default): use the best known choice, and try others while filtering\n"
        "                       many images or a video; off: use hand-written defaults only; full: tune\n"
        "                       the chain first, unless that has been done\n"
        "  --no-fuse            give each filter its own kernel (no fusing of point filters)\n"
        "  --reproducible       same result on every device, to the last bit: sets exact=yes on every\n"
        "                       filter; colours of 16 bits lose precision where alpha is low\n"
        "  --trace FILE         write what the devices did for each image, command by command, for\n"
        "                       ui.perfetto.dev (Chrome's format)\n"
        "  --perf-hint WORD     high, normal or low: clock of a device with cl_qcom_perf_hint\n"
        "  --trust              also read SVG, PDF, JPEG XL, JPEG 2000, OpenEXR and others, whose decoders\n"
        "                       are not meant for untrusted files\n"
        "  --decode-memory MIB  memory that decoding one file may use (default 2048)\n"
        "  --timeout SECONDS    give up if decoding or the device takes longer, or a pipe pauses for\n"
        "                       longer; 0: never (default: one minute per megapixel and filter, at least\n"
        "                       one minute; for decoding, one minute plus one second per megapixel; for\n"
        "                       a pipe, never); writing never has less than the default\n",
    .run = run,
};
