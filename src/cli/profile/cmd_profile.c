/* SPDX-License-Identifier: BSD-2-Clause */
/* hone profile: where the time of a chain goes. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/guard.h"
#include "cli/policy.h"
#include "cli/profile/profile.h"
#include "cli/profile/traffic.h"

#include <stdlib.h>
#include <string.h>

enum { PHASE_DECODE, PHASE_DEVICE, PHASE_PLAN };

struct profiling {
    struct profile_arguments arguments;
    struct preparation preparation;
    struct pictures pictures;
    hone_chain *chain;
    hone_device *device;
    hone_plan *plan;
    struct profile profile;
    struct guard_watch watch;
    double bound; /* seconds for one run, or for making the plan */
};

/* ---- Before the runs ---- */

static void phase_begin(struct preparation *preparation, int phase, const char *name)
{
    preparation->phases[phase] = (struct trace_phase){.name = name, .begun = clock_ns()};
    preparation->cpu[phase] = clock_process_ns();
}

static void phase_end(struct preparation *preparation, int phase)
{
    preparation->phases[phase].ended = clock_ns();
    preparation->cpu[phase] = clock_process_ns() - preparation->cpu[phase];
}

/* As for hone apply: a wrong alarm costs a result, a late one only patience. */
static double find_bound(const struct profiling *p)
{
    const double least = 60, per_megapixel = 60;
    const hone_image_desc *desc = &p->pictures.in.desc;
    const double work = (double)desc->width * desc->height * 1e-6 * (double)hone_chain_length(p->chain);
    if (p->arguments.timeout >= 0)
        return p->arguments.timeout;
    return work * per_megapixel > least ? work * per_megapixel : least;
}

static hone_status load(struct profiling *p, hone_error *error)
{
    phase_begin(&p->preparation, PHASE_DECODE, "decode");
    hone_status status = pictures_load(&p->pictures, &p->arguments, p->chain, error);
    media_decoders_end(); /* nothing else is read, and their processes had better not disturb the runs */
    phase_end(&p->preparation, PHASE_DECODE);
    p->bound = find_bound(p);
    return status;
}

static hone_status open_device(struct profiling *p, hone_error *error)
{
    phase_begin(&p->preparation, PHASE_DEVICE, "open device");
    guard_watch(&p->watch, p->bound, "opening the device");
    hone_status status = cli_open_device(&p->device, &p->arguments.common, p->arguments.common.device, error);
    guard_unwatch(&p->watch);
    phase_end(&p->preparation, PHASE_DEVICE);
    return status;
}

static hone_status make_plan(struct profiling *p, hone_error *error)
{
    hone_image_desc *seconds = pictures_seconds(&p->pictures, error);
    if (!seconds)
        return HONE_ERROR_MEMORY;
    const hone_plan_options options = {.size = sizeof options,
                                       .variant = p->arguments.variant,
                                       .config = p->arguments.config,
                                       .no_fuse = p->arguments.no_fuse,
                                       .second = seconds,
                                       .second_count = p->pictures.second_count};
    const hone_device_counts before = hone_device_get_counts(p->device);
    phase_begin(&p->preparation, PHASE_PLAN, "plan");
    guard_watch(&p->watch, p->bound, "preparing '%s'", p->arguments.chain);
    hone_status status =
        hone_plan_create(&p->plan, p->device, p->chain, &p->pictures.in.desc, &options, error);
    guard_unwatch(&p->watch);
    phase_end(&p->preparation, PHASE_PLAN);
    p->preparation.plan = hone_device_get_counts(p->device);
    p->preparation.plan.built_from_source -= before.built_from_source;
    p->preparation.plan.loaded_from_disk -= before.loaded_from_disk;
    free(seconds);
    return status;
}

static hone_status prepare(struct profiling *p, hone_error *error)
{
    TRY(hone_chain_parse(&p->chain, p->arguments.chain, error));
    if (p->arguments.trace)
        TRY(cli_spare_chain("--trace", p->arguments.trace, p->chain, error));
    TRY(load(p, error));
    TRY(open_device(p, error));
    TRY(make_plan(p, error));
    return pictures_wrap(&p->pictures, p->device, p->plan, error);
}

/* ---- The runs, and what is told of them ---- */

static void watch(void *user, bool begins)
{
    struct profiling *p = user;
    if (begins)
        guard_watch(&p->watch, p->bound, "running '%s'", p->arguments.chain);
    else
        guard_unwatch(&p->watch);
}

static enum profile_clock clock_of(const char *name)
{
    return !name || strcmp(name, "auto") == 0 ? PROFILE_CLOCK_AUTO
           : strcmp(name, "device") == 0      ? PROFILE_CLOCK_DEVICE
                                              : PROFILE_CLOCK_HOST;
}

static hone_status measure(struct profiling *p, hone_error *error)
{
    const struct profile_options options = {.warmup = (unsigned)p->arguments.warmup,
                                            .repeat = (unsigned)p->arguments.repeat,
                                            .clock = clock_of(p->arguments.clock),
                                            .watch = watch,
                                            .user = p};
    hone_status status = profile_measure(&p->profile, p->device, p->plan, p->pictures.in.image,
                                         p->pictures.out.image, &options, error);
    if (!status && p->profile.host_clock && options.clock == PROFILE_CLOCK_AUTO)
        cli_warn(&p->arguments.common,
                 "the device has no clock that works: times are the host's, and each command is waited for");
    return status;
}

static hone_status write_trace(const struct profiling *p, struct guarded_output *output, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(p->device);
    return trace_file_end(
        output, p->arguments.trace,
        trace_make(&p->profile, info->board[0] ? info->board : info->name, p->preparation.phases), error);
}

static hone_status tell(const struct profiling *p, hone_error *error)
{
    if (!p->arguments.common.json) {
        profile_print(&p->profile, p->device, p->plan, &p->arguments, &p->pictures.in.desc, &p->preparation);
        return HONE_OK;
    }
    return cli_print_json(profile_json(&p->profile, p->device, p->plan, &p->arguments, &p->pictures.in.desc,
                                       &p->preparation))
               ? HONE_OK
               : error_memory(error, "the report");
}

static hone_status profile(struct profiling *p, hone_error *error)
{
    struct guarded_output trace = GUARDED_OUTPUT_NONE;
    hone_status status = HONE_OK;
    if (p->arguments.trace)
        status = file_output_spares("--trace", p->arguments.trace, p->arguments.input, error);
    THEN(status, trace_file_begin(&trace, p->arguments.trace, error));
    THEN(status, prepare(p, error));
    THEN(status, measure(p, error));
    if (!status && p->arguments.trace)
        status = write_trace(p, &trace, error);
    guard_output_abort(&trace);
    return status ? status : tell(p, error);
}

static void finish(struct profiling *p)
{
    profile_finish(&p->profile);
    pictures_finish(&p->pictures);
    hone_plan_destroy(&p->plan);
    hone_device_close(&p->device);
    hone_chain_destroy(&p->chain);
}

/* Whoever edits a kernel wants to know what the compiler says, without asking twice. */
static int fail(const struct profiling *p, const hone_error *error)
{
    struct common_options common = p->arguments.common;
    common.verbose = common.verbose || error->log[0];
    return cli_fail(&common, error);
}

static int run_guarded(struct profiling *p)
{
    hone_error error = {0};
    if (guard_begin(&error))
        return cli_fail(&p->arguments.common, &error);
    const int status = profile(p, &error) ? fail(p, &error) : EXIT_DONE;
    finish(p);
    guard_end();
    return status;
}

/* ---- The command ---- */

static int check(struct profile_arguments *a, const struct operands *operands)
{
    const char *clock = a->clock ? a->clock : "auto";
    if (operands->count < 1)
        return cli_usage(&command_profile, "a chain is missing, such as 'sobel norm=l1'");
    if (operands->count != 2)
        return cli_usage(&command_profile, "one image is profiled; there are %d", operands->count - 1);
    if (strcmp(clock, "auto") != 0 && strcmp(clock, "device") != 0 && strcmp(clock, "host") != 0)
        return cli_usage(&command_profile, "--clock is auto, device or host, not '%s'", clock);
    if (a->repeat != (unsigned)a->repeat || a->warmup != (unsigned)a->warmup)
        return cli_usage(&command_profile, "--repeat and --warmup are whole numbers");
    a->chain = operands->items[0];
    a->input = operands->items[1];
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct profiling p = {.arguments = {.repeat = 10, .warmup = 3, .timeout = -1}};
    struct profile_arguments *a = &p.arguments;
    struct operands operands;
    hone_error error = {0};
    const struct option own[] = {{"repeat", 0, OPTION_WHOLE, &a->repeat, 1, 10000},
                                 {"warmup", 0, OPTION_WHOLE, &a->warmup, 0, 10000},
                                 {"trace", 0, OPTION_TEXT, &a->trace, 0, 0},
                                 {"clock", 0, OPTION_TEXT, &a->clock, 0, 0},
                                 {"variant", 0, OPTION_TEXT, &a->variant, 0, 0},
                                 {"config", 0, OPTION_TEXT, &a->config, 0, 0},
                                 {"no-fuse", 0, OPTION_FLAG, &a->no_fuse, 0, 0},
                                 {"trust", 0, OPTION_FLAG, &a->trust, 0, 0},
                                 {"decode-memory", 0, OPTION_REAL, &a->decode_memory, 1, 1 << 24},
                                 {"timeout", 0, OPTION_REAL, &a->timeout, 0, 1e9},
                                 {"perf-hint", 0, OPTION_TEXT, &a->common.perf_hint, 0, 0},
                                 {NULL, 0, OPTION_FLAG, NULL, 0, 0}};
    const enum parsed parsed = cli_parse(&command_profile, argc, argv, own, &a->common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    int status = check(a, &operands);
    if (status)
        return status;
    if (policy_bind_reading(&a->decode_memory, &a->trust, &a->max_pixels, &error) ||
        cli_load_filters(a->chain, &error) || media_decoders_begin(media_needs_libvips(a->input), &error))
        return cli_fail(&a->common, &error);
    status = run_guarded(&p);
    media_decoders_end();
    return status;
}

const struct command command_profile = {
    .name = "profile",
    .summary = "show where the time of a chain goes",
    .usage =
        "usage: hone profile CHAIN INPUT [--repeat N] [--trace FILE]\n"
        "\n"
        "Runs a chain on an image and shows every kernel and copy: when it was queued, submitted, started\n"
        "and ended (microseconds from the start of a typical run), how long it took, the gap before it, the\n"
        "bytes it moves, and their rate against the most that the device was measured to reach. Below: the\n"
        "times of the host with its processor time, memory traffic, copies and what would avoid them, and\n"
        "energy where the machine counts it. The first runs warm up and are shown apart. Writes no image.\n"
        "\n"
        "  hone profile 'box size=8 | sobel' in.png\n"
        "  hone profile gaussian in.png --repeat 50 --trace trace.json    (open it in ui.perfetto.dev)\n"
        "\n"
        "options:\n"
        "  --repeat N           runs that are measured (default 10)\n"
        "  --warmup N           runs before them (default 3)\n"
        "  --trace FILE         write all runs in Chrome's trace format\n"
        "  --clock WORD         auto (default): time stamps of the device, or of the host if the device has\n"
        "                       no working clock; device; host: wait for every command, and take the host's\n"
        "                       time from enqueuing it to its end\n"
        "  --variant NAME       force a variant for all filters, or FILTER:NAME,FILTER:NAME\n"
        "  --config TUNABLES    force tunables, such as 'WG_X=32 ROWS=8'\n"
        "  --no-fuse            give each filter its own kernel (no fusing of point filters)\n"
        "  --perf-hint WORD     high, normal or low: clock of a device with cl_qcom_perf_hint\n"
        "  --trust              also read formats whose decoders are not meant for untrusted files\n"
        "  --decode-memory MIB  memory that decoding one file may use (default 2048)\n"
        "  --timeout SECONDS    give up if a run takes longer; 0: never (default: one minute per megapixel\n"
        "                       and filter, at least one minute)\n",
    .run = run,
};
