/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, exit status, and the device that the options ask for. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/text.h"
#include "cl/platforms.h"
#include "cli/pick/blamed.h"
#include "filter/registry.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_wants_json;
static bool reported; /* --json has printed its report */

int cli_exit_status(hone_status status)
{
    switch (status) {
    case HONE_OK:
        return EXIT_DONE;
    case HONE_ERROR_CHECK:
        return EXIT_CHECK;
    case HONE_ERROR_USAGE:
    case HONE_ERROR_UNSUPPORTED: /* what was asked for cannot be done here: ask for something else */
        return EXIT_USAGE;
    case HONE_ERROR_IO:
        return EXIT_IO;
    case HONE_ERROR_NO_DEVICE:
        return EXIT_NO_DEVICE;
    case HONE_ERROR_DEVICE:
    case HONE_ERROR_MEMORY:
    case HONE_ERROR_INTERNAL:
        break;
    }
    return EXIT_DEVICE;
}

void cli_make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

void cli_complain(const struct common_options *common, const hone_error *error)
{
    flockfile(stderr);
    fprintf(stderr, "hone: %s\n", error->message);
    if (error->log[0] && common->verbose)
        fprintf(stderr, "%s\n", error->log);
    else if (error->log[0])
        fputs("hone: -v shows what the compiler said\n", stderr);
    funlockfile(stderr);
}

int cli_fail(const struct common_options *common, const hone_error *error)
{
    cli_complain(common, error);
    if (common->json && !reported)
        cli_print_json(cli_failure_json(error));
    return cli_exit_status(error->status);
}

int cli_reported(const struct common_options *common, bool printed)
{
    hone_error error;
    if (printed)
        return EXIT_DONE;
    error_memory(&error, "the report");
    return cli_fail(common, &error);
}

/* One call of stdio per line keeps lines of several threads apart. */
static void print_line(const char *before, const char *format, va_list args, const char *after)
{
    char line[2048];
    vsnprintf(line, sizeof line, format, args);
    cli_make_one_line(line);
    fprintf(stderr, "hone: %s%s%s\n", before, line, after);
}

int cli_usage(const struct command *command, const char *format, ...)
{
    hone_error error = {0};
    char message[sizeof error.message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    cli_make_one_line(message);
    error_usage(&error, "%s%s%s", command ? command->name : "", command ? ": " : "", message);
    fprintf(stderr, "hone: %s (hone%s%s --help)\n", error.message, command ? " " : "",
            command ? command->name : "");
    if (cli_wants_json)
        cli_print_json(cli_failure_json(&error));
    return EXIT_USAGE;
}

int cli_unknown_filter(const struct command *command, const char *name)
{
    struct text message = {0};
    registry_answer_unknown(name, &message);
    int status = cli_usage(command, "%s", text_view(&message));
    text_finish(&message);
    return status;
}

void cli_warn(const struct common_options *common, const char *format, ...)
{
    va_list args;
    if (common->quiet)
        return;
    va_start(args, format);
    print_line("warning: ", format, args, "");
    va_end(args);
}

bool cli_on_terminal(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

void cli_warn_of_stuck(const struct common_options *common, int count)
{
    if (count > 0)
        cli_warn(
            common,
            "%d of the processes that measured could not be killed, because a driver held them: they may "
            "have slowed down what was measured after them",
            count);
}

void cli_say_waiting(const struct common_options *common)
{
    static bool said;
    if (!said && !common->quiet)
        fputs("hone: another hone is tuning this device: waiting for it to finish\n", stderr);
    said = true;
}

void cli_note(const struct common_options *common, const char *format, ...)
{
    va_list args;
    if (!common->verbose || common->quiet)
        return;
    va_start(args, format);
    print_line("", format, args, "");
    va_end(args);
}

/* Whether this is the first time; the number of kinds is small. */
static bool is_new(const char *what)
{
    enum { MOST = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t said[MOST];
    static size_t count;
    const uint64_t hash = hash_fnv(what, strlen(what));
    bool new = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        new = new &&said[i] != hash;
    if (new &&count < MOST)
        said[count++] = hash;
    pthread_mutex_unlock(&lock);
    return new;
}

void cli_media_note(void *user, enum media_note kind, const char *message)
{
    const char *what = strstr(message, "': ");
    if (kind == MEDIA_DETAIL || (kind == MEDIA_ONCE && !is_new(what ? what : message)))
        cli_note(user, "%s", message);
    else
        cli_warn(user, "%s%s", message, kind == MEDIA_ONCE ? " (said once)" : "");
}

static void log_message(void *user, hone_log_level level, const char *message)
{
    const struct common_options *common = user;
    if (level == HONE_LOG_WARNING)
        cli_warn(common, "%s", message);
    else if (level == HONE_LOG_INFO)
        cli_note(common, "%s", message);
}

hone_device_request cli_device_request(const struct common_options *common)
{
    return (hone_device_request){.spec = common->device,
                                 .profile = true,
                                 .no_disk_cache = common->no_cache,
                                 .log = log_message,
                                 .log_user = (void *)common};
}

/* A hint that the device does not know would change nothing, without a word. */
static hone_status check_hint(const hone_device *device, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(device);
    if (text_has_word(info->used_extensions, "cl_qcom_perf_hint"))
        return HONE_OK;
    return error_unsupported(
        error, "--perf-hint: '%s' takes no performance hint (cl_qcom_perf_hint); leave the option out",
        info->name);
}

static hone_status parse_hint(const char *word, hone_performance *hint, hone_error *error)
{
    static const char *const words[] = {[HONE_PERFORMANCE_HIGH] = "high",
                                        [HONE_PERFORMANCE_NORMAL] = "normal",
                                        [HONE_PERFORMANCE_LOW] = "low"};
    for (int i = HONE_PERFORMANCE_HIGH; i <= HONE_PERFORMANCE_LOW; i++)
        if (strcmp(word, words[i]) == 0) {
            *hint = (hone_performance)i;
            return HONE_OK;
        }
    return error_usage(error, "--perf-hint is high, normal or low, not '%s'", word);
}

hone_status cli_list_devices(hone_device_info **list, size_t *count, const struct common_options *common,
                             hone_error *error)
{
    const hone_status status = hone_device_list(list, count, error);
    cli_warn_of_hanging(common);
    if (status)
        blame_driver(error);
    return status;
}

void cli_warn_of_hanging(const struct common_options *common)
{
    for (const char *warning; (warning = platform_take_warning());)
        cli_warn(common, "%s", warning);
}

const char *cli_device_name(const hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    return info->board[0] ? info->board : info->name;
}

hone_status cli_open_device(hone_device **out, const struct common_options *common, const char *spec,
                            hone_error *error)
{
    hone_device_request request = cli_device_request(common);
    request.spec = spec;
    hone_status status =
        common->perf_hint ? parse_hint(common->perf_hint, &request.performance, error) : HONE_OK;
    THEN(status, hone_device_open(out, &request, error));
    if (!status && common->perf_hint)
        status = check_hint(*out, error);
    if (status) {
        hone_device_close(out);
        blame_driver(error);
        return status;
    }
    const hone_device_info *info = hone_device_get_info(*out);
    cli_note(common, "device %u: %s (%s, driver %s)", info->index, cli_device_name(*out), info->platform,
             info->driver_version);
    return HONE_OK;
}

void cli_best(char to[32], double ms)
{
    to[0] = '\0';
    if (ms >= 0)
        snprintf(to, 32, ", best %.4g ms", ms);
}

struct json_t *cli_failure_json(const hone_error *error)
{
    json_t *value =
        json_pack("{s:s, s:i, s:s, s:o}", "status", "failed", "exit_status", cli_exit_status(error->status),
                  "error", hone_status_name(error->status), "message", json_text(error->message));
    if (value && error->column > 0)
        json_object_set_new(value, "column", json_integer(error->column));
    return value;
}

struct json_t *cli_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static bool print_json(json_t *value, size_t flags)
{
    char *text = value ? json_dumps(value, flags | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(value);
    if (!text)
        return false;
    puts(text);
    free(text);
    reported = true;
    return true;
}

bool cli_print_json(struct json_t *value)
{
    return print_json(value, JSON_INDENT(2));
}

bool cli_print_json_line(struct json_t *value)
{
    return print_json(value, JSON_COMPACT);
}
