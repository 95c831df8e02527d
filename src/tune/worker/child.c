/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/worker/worker.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/programs.h"
#include "choose/records_json.h"
#include "cl/device.h"
#include "hone/device.h"
#include "tune/own/run/target.h"
#include "tune/worker/target.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct child {
    int in, out;
    hone_device *device;
    struct target *target;
    pthread_mutex_t sending; /* a thread that builds ahead says that it waits */
    struct gauge gauge;      /* of energy; where gauge_open */
    bool gauge_open;
};

static json_t *failure(const hone_error *error)
{
    return json_pack("{s:o, s:i}", "error", json_text(error->message), "status", (int)error->status);
}

static const char *text_of(const json_t *request, const char *key)
{
    const char *text = json_string_value(json_object_get(request, key));
    return text ? text : "";
}

static json_t *open_device(struct child *child, const json_t *request)
{
    hone_error error = {0};
    const hone_device_request wanted = {.size = sizeof wanted,
                                        .spec = text_of(request, "device"),
                                        .profile = true,
                                        .profile_ends = true, /* variants of many kernels pay for stamps */
                                        .no_disk_cache = json_is_true(json_object_get(request, "no_disk"))};
    if (hone_device_open(&child->device, &wanted, &error) != HONE_OK)
        return failure(&error);
    struct record_device d;
    record_device_of(child->device, &d);
    return record_device_json(&d);
}

static bool send_line(struct child *child, json_t *object)
{
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    pthread_mutex_lock(&child->sending);
    bool ok = line && file_write_all(child->out, line, strlen(line)) && file_write_all(child->out, "\n", 1);
    pthread_mutex_unlock(&child->sending);
    free(line);
    json_decref(object);
    return ok;
}

static bool say_phase(struct child *child, const char *phase)
{
    return send_line(child, json_pack("{s:s}", "phase", phase));
}

static void say_built(void *context)
{
    say_phase(context, "built");
}

static void say_ran(void *context)
{
    say_phase(context, "ran");
}

static void say_round(void *context, int round, int of)
{
    struct child *child = context;
    char text[48];
    snprintf(text, sizeof text, "final, round %d of %d", round, of);
    send_line(child, json_pack("{s:s, s:s}", "phase", "round", "config", text));
}

static void say_compiling(void *context, const char *config)
{
    struct child *child = context;
    if (config)
        send_line(child, json_pack("{s:s, s:o}", "phase", "compile", "config", json_text(config)));
    else
        send_line(child, json_pack("{s:s}", "phase", "compiled"));
}

/* For other processes, which build programs. */
static void say_waits(void *context, bool begins)
{
    say_phase(context, begins ? "waits" : "goes on");
}

static hone_status open_filter(struct child *child, const json_t *request, hone_error *error)
{
    return target_filter_open(&child->target, child->device, request, error);
}

static hone_status open_kernel(struct child *child, const json_t *request, hone_error *error)
{
    const struct target_opening opening = {say_compiling, child};
    return own_target_open(&child->target, child->device, request, &opening, error);
}

static void ask_figures(struct child *child, const json_t *request)
{
    struct figuring *asked = &child->target->asked;
    asked->compile = json_is_true(json_object_get(request, "facts"));
    asked->energy = json_is_true(json_object_get(request, "energy"));
    if (asked->energy && !child->gauge_open)
        gauge_open(&child->gauge, hone_device_get_info(child->device));
    child->gauge_open = child->gauge_open || asked->energy;
    asked->gauge = &child->gauge;
}

/* Of figures that cannot be known here: why. */
static json_t *missing_figures(const struct child *child)
{
    static const enum record_figure compiled[] = {FIGURE_REGISTERS, FIGURE_SPILLS, FIGURE_WAVES,
                                                  FIGURE_MOST_WAVES};
    const struct figuring *asked = &child->target->asked;
    const char *why = facts_missing(hone_device_get_info(child->device), asked->compile);
    json_t *missing = json_object();
    for (size_t i = 0; why && i < COUNT_OF(compiled); i++)
        json_object_set_new(missing, record_figure_names[compiled[i]].name, json_string(why));
    if (asked->energy && child->gauge.why[0])
        json_object_set_new(missing, record_figure_names[FIGURE_ENERGY].name, json_text(child->gauge.why));
    return missing;
}

static json_t *open_target(struct child *child, const json_t *request,
                           hone_status (*open)(struct child *, const json_t *, hone_error *),
                           json_t *(*describe)(const struct target *))
{
    hone_error error = {0};
    if (child->target)
        child->target->ops->close(child->target);
    child->target = NULL;
    if (open(child, request, &error) != HONE_OK)
        return failure(&error);
    child->target->built = say_built;
    child->target->ran = say_ran;
    child->target->round = say_round;
    child->target->context = child;
    ask_figures(child, request);
    json_t *description = describe(child->target);
    json_object_set_new(description, "missing", missing_figures(child));
    return description;
}

/* Every time is told with the clock that it was read from. */
static json_t *with_clock(const struct child *child, json_t *answer)
{
    const char *reason, *clock = child->target->ops->clock(child->target, &reason);
    json_object_set_new(answer, "clock", json_string(clock));
    json_object_set_new(answer, "clock_reason", json_string(reason));
    return answer;
}

static json_t *measure_one(struct child *child, const json_t *request)
{
    struct measured m = {.state = STATE_RUN, .ms = -1, .note = "such a target keeps no results"};
    const struct target_ops *ops = child->target->ops;
    double best = json_number_value(json_object_get(request, "best"));
    const char *variant = text_of(request, "variant"), *config = text_of(request, "config");
    if (!json_is_true(json_object_get(request, "hold")))
        ops->measure(child->target, variant, config, best, &m);
    else if (ops->hold)
        ops->hold(child->target, variant, config, &m);
    return with_clock(child, measured_json(&m, variant, config));
}

static json_t *race(struct child *child, const json_t *request)
{
    enum { MAX_ENTRIES = 16 };
    const json_t *points = json_object_get(request, "points");
    const char *variants[MAX_ENTRIES], *configs[MAX_ENTRIES];
    struct measured results[MAX_ENTRIES] = {0};
    int count = 0;
    for (size_t i = 0; i < json_array_size(points) && i < MAX_ENTRIES; i++, count++) {
        variants[i] = text_of(json_array_get(points, i), "variant");
        configs[i] = text_of(json_array_get(points, i), "config");
    }
    int rounds = (int)json_integer_value(json_object_get(request, "rounds"));
    child->target->ops->race(child->target, variants, configs, count, rounds, results);
    json_t *all = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(all, measured_json(&results[i], variants[i], configs[i]));
    return with_clock(child, json_pack("{s:o}", "results", all));
}

static json_t *transfers(struct child *child)
{
    double upload = 0, download = 0;
    if (child->target->ops->transfers)
        child->target->ops->transfers(child->target, &upload, &download);
    return json_pack("{s:f, s:f}", "upload_ms", upload, "download_ms", download);
}

static json_t *answer(struct child *child, const json_t *request)
{
    const char *what = text_of(request, "do");
    hone_error error = {0};
    if (strcmp(what, "open") == 0 && !child->device)
        return open_device(child, request);
    if (!child->device)
        return error_usage(&error, "no device is open"), failure(&error);
    if (strcmp(what, "filter") == 0)
        return open_target(child, request, open_filter, target_filter_describe);
    if (strcmp(what, "kernel") == 0)
        return open_target(child, request, open_kernel, own_target_describe);
    if (!child->target)
        return error_usage(&error, "nothing to measure is open"), failure(&error);
    if (strcmp(what, "measure") == 0)
        return measure_one(child, request);
    if (strcmp(what, "race") == 0)
        return race(child, request);
    if (strcmp(what, "transfers") == 0)
        return transfers(child);
    if (strcmp(what, "refer") == 0 && child->target->ops->refer)
        child->target->ops->refer(child->target, json_number_value(json_object_get(request, "seconds")));
    if (strcmp(what, "prepare") == 0)
        child->target->ops->prepare(child->target, text_of(request, "variant"), text_of(request, "config"));
    return json_pack("{s:b}", "ok", 1);
}

/* One line of at most 64 KB; false at the end of the input. */
static bool read_line(int fd, struct text *line)
{
    char byte;
    line->length = 0;
    for (;;) {
        ssize_t got = read(fd, &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || line->length > RECORD_MAX_LINE || line->failed)
            return false;
        if (byte == '\n')
            return true;
        text_add_bytes(line, &byte, 1);
    }
}

/* When memory runs out, the system shall end this process and no other. */
static void go_first(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        file_write_all(file, "1000", 4);
        close(file);
    }
}

static void on_call_off(int number)
{
    (void)number;
    programs_take_back();
    _exit(1);
}

int worker_main(int in, int out)
{
    struct child child = {.in = in, .out = out, .sending = PTHREAD_MUTEX_INITIALIZER};
    struct text line = {0};
    bool ok = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a parent that is killed must not leave a hanging kernel behind */
    signal(SIGPIPE, SIG_IGN);
    /* Signals to all processes reach both; what is under way is finished, and the parent decides. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(WORKER_CALL_OFF, on_call_off);
    go_first();
    programs_retry_crashed();
    device_tell_waits(say_waits, &child);
    while (ok && read_line(in, &line)) {
        json_t *request = json_loadb(text_view(&line), line.length, 0, NULL);
        ok = request && say_phase(&child, "taken") && send_line(&child, answer(&child, request));
        json_decref(request);
    }
    text_finish(&line);
    if (child.target)
        child.target->ops->close(child.target);
    if (child.gauge_open)
        gauge_close(&child.gauge);
    hone_device_close(&child.device);
    return ok ? 0 : 1;
}
