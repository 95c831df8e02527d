/* SPDX-License-Identifier: BSD-2-Clause */
/* hone doctor: is OpenCL set up right here, does each filter give right results, and what to do if not. */
#include "cli/cli.h"
#include "cli/guard.h"
#include "cli/pick/blamed.h"
#include "cli/show.h"

#include "base/error.h"
#include "base/json_text.h"
#include "doctor/doctor.h"
#include "filter/registry.h"

#include <jansson.h>
#include <stdio.h>

struct report {
    struct common_options common;
    struct operands filters; /* names or paths; none: all filters */
    bool thorough, again;
    json_t *findings; /* with --json */
    bool failed;      /* memory ran out */
    int part, device; /* of the last line, to print headings */
    double timeout;   /* seconds; negative: not given */
    struct guard_watch watch;
    bool on_terminal; /* where a line says what is under way */
};

/* A driver that hangs is what the doctor may meet: the bound runs from one step to the next. */
static void watch_driver(struct report *report, const char *what)
{
    const double patience = 120, thorough_patience = 3600; /* seconds; thorough checks tell once per filter */
    double bound = report->thorough ? thorough_patience : patience;
    guard_unwatch(&report->watch);
    guard_watch(&report->watch, report->timeout >= 0 ? report->timeout : bound, "doctor: %s", what);
}

static void begin(void *user, const char *what)
{
    struct report *report = user;
    watch_driver(report, what);
    if (report->on_terminal)
        fprintf(stderr, "%s ...\033[K\r", what);
}

static void add_finding(struct report *report, const struct doctor_finding *f)
{
    json_t *one =
        json_pack("{s:s, s:s, s:o, s:o}", "part", doctor_part_name(f->part), "state",
                  doctor_state_name(f->state), "subject", json_text(f->subject), "text", json_text(f->text));
    bool ok = one != NULL;
    if (ok && f->device >= 0)
        ok = json_object_set_new(one, "device", json_integer(f->device)) == 0;
    if (ok && f->advice)
        ok = json_object_set_new(one, "advice", json_text(f->advice)) == 0;
    ok = json_array_append_new(report->findings, one) == 0 && ok;
    report->failed = report->failed || !ok;
}

static void print_heading(struct report *report, const struct doctor_finding *f)
{
    static const char *const titles[] = {"OpenCL loader", "drivers", "device", "filters", "cache"};
    if (report->part == (int)f->part && report->device == f->device)
        return;
    if (f->part == DOCTOR_DEVICE || f->part == DOCTOR_FILTERS)
        printf("%s%s %s%d\n", report->part >= 0 ? "\n" : "", titles[f->part],
               f->part == DOCTOR_FILTERS ? "on device " : "", f->device);
    else
        printf("%s%s\n", report->part >= 0 ? "\n" : "", titles[f->part]);
    report->part = (int)f->part;
    report->device = f->device;
}

static void print_finding(struct report *report, const struct doctor_finding *f)
{
    static const char *const marks[] = {"ok", "note", "warning", "WRONG"};
    if (report->common.quiet && f->state < DOCTOR_WARNING)
        return;
    print_heading(report, f);
    printf("  %-8s %s: %s\n", marks[f->state], f->subject, f->text);
    if (f->advice)
        printf("           -> %s\n", f->advice);
    fflush(stdout);
}

static void tell(void *user, const struct doctor_finding *finding)
{
    struct report *report = user;
    if (report->on_terminal)
        fputs("\033[K", stderr);
    watch_driver(report, finding->subject);
    if (report->common.json)
        add_finding(report, finding);
    else
        print_finding(report, finding);
}

static bool print_verdict(struct report *report, const struct doctor_result *result)
{
    if (report->common.json) {
        json_t *whole =
            json_pack("{s:b, s:I, s:I, s:I, s:o}", "fine", result->wrong == 0 && result->devices > 0,
                      "devices", (json_int_t)result->devices, "warnings", (json_int_t)result->warnings,
                      "wrong", (json_int_t)result->wrong, "findings", report->findings);
        report->findings = NULL;
        report->failed = report->failed || !whole;
        return !report->failed && cli_print_json(whole);
    }
    if (!report->common.quiet)
        printf("\n%s: %s, %u wrong, %s\n", result->wrong ? "not fine" : "fine",
               show_count(result->devices, "device").text, result->wrong,
               show_count(result->warnings, "warning").text);
    return true;
}

static int examine(struct report *report)
{
    const struct doctor_request request = {.device = cli_device_request(&report->common),
                                           .thorough = report->thorough,
                                           .again = report->again,
                                           .filters = (const char *const *)report->filters.items,
                                           .filter_count = (size_t)report->filters.count,
                                           .tell = tell,
                                           .begin = begin,
                                           .user = report};
    struct doctor_result result = {0};
    hone_error error;
    if (guard_begin(&error))
        return cli_fail(&report->common, &error);
    report->on_terminal = cli_on_terminal() && !report->common.quiet;
    watch_driver(report, "looking for drivers");
    hone_status status = doctor_run(&request, &result, &error);
    if (status)
        blame_driver(&error);
    guard_unwatch(&report->watch);
    guard_end();
    if (report->on_terminal)
        fputs("\033[K", stderr);
    if (status && report->common.json)
        print_verdict(report, &result);
    if (status)
        return cli_fail(&report->common, &error);
    const int printed = cli_reported(&report->common, print_verdict(report, &result));
    return printed == EXIT_DONE && result.wrong ? EXIT_CHECK : printed;
}

static int run(int argc, char **argv)
{
    struct report report = {.part = -1, .device = -1, .timeout = -1};
    const struct option options[] = {{"thorough", 0, OPTION_FLAG, &report.thorough, 0, 0},
                                     {"again", 0, OPTION_FLAG, &report.again, 0, 0},
                                     {"timeout", 0, OPTION_REAL, &report.timeout, 0, 1e9},
                                     {0}};
    enum parsed parsed = cli_parse(&command_doctor, argc, argv, options, &report.common, &report.filters);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    hone_error error;
    for (int i = 0; i < report.filters.count; i++) {
        if (cli_load_filter(report.filters.items[i], &error))
            return cli_fail(&report.common, &error);
        if (!registry_find(report.filters.items[i]))
            return cli_unknown_filter(&command_doctor, report.filters.items[i]);
    }
    report.findings = report.common.json ? json_array() : NULL;
    int status = examine(&report);
    json_decref(report.findings);
    return status;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check OpenCL, the devices and the results of every filter",
    .usage =
        "usage: hone doctor [FILTER...] [OPTION...]\n"
        "\n"
        "Checks the OpenCL loader and its drivers, the features of each device, the results of every filter\n"
        "on every device against its plain C reference, in one format, and the cache. Explains how to fix\n"
        "what it finds.\n"
        "With FILTER, checks the results of the named filters only, which may also be your own, ./glow.cl:\n"
        "its first variant stands for the reference. With --device, only that device.\n"
        "Exit status: 0 if all is well, 1 if something is wrong, 4 if there is no device.\n"
        "\n"
        "options:\n"
        "  --again            repeat the self-test of each device instead of using the remembered result\n"
        "  --thorough         check all formats, parameters and borders, and several sizes (takes minutes)\n"
        "  --timeout SECONDS  give up if a device does not respond for this long; 0: never (default: 120,\n"
        "                     with --thorough 3600)\n",
    .run = run,
};
