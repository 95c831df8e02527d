/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, exit status, and the device that the options ask for. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

int cli_fail(const struct common_options *common, const hone_error *error)
{
    flockfile(stderr);
    fprintf(stderr, "hone: %s\n", error->message);
    if (error->log[0] && common->verbose)
        fprintf(stderr, "%s\n", error->log);
    else if (error->log[0])
        fputs("hone: -v shows what the compiler said\n", stderr);
    funlockfile(stderr);
    return cli_exit_status(error->status);
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
    char prefix[64], suffix[64];
    va_list args;
    snprintf(prefix, sizeof prefix, "%s: ", command->name);
    snprintf(suffix, sizeof suffix, " (hone %s --help)", command->name);
    va_start(args, format);
    print_line(prefix, format, args, suffix);
    va_end(args);
    return EXIT_USAGE;
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

void cli_media_note(void *user, bool warning, const char *message)
{
    if (warning)
        cli_warn(user, "%s", message);
    else
        cli_note(user, "%s", message);
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

hone_status cli_open_device(hone_device **out, const struct common_options *common, hone_error *error)
{
    const hone_device_request request = cli_device_request(common);
    hone_status status = hone_device_open(out, &request, error);
    if (status)
        return status;
    const hone_device_info *info = hone_device_get_info(*out);
    cli_note(common, "device %u: %s (%s, driver %s)", info->index, info->board[0] ? info->board : info->name,
             info->platform, info->driver_version);
    return HONE_OK;
}

/* Length of the UTF-8 sequence at `at`, or 0 where there is none: overlong forms and surrogates are none
 * either. */
static size_t utf8_length(const unsigned char *at)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (at[0] < 0x80)
        return 1;
    const size_t length = at[0] >= 0xf0 && at[0] < 0xf8   ? 4
                          : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                          : at[0] >= 0xc0 && at[0] < 0xe0 ? 2
                                                          : 0;
    unsigned code = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    return length && code >= least[length] && code <= 0x10ffff && (code & 0xfffff800u) != 0xd800 ? length : 0;
}

struct json_t *cli_json_text(const char *text)
{
    struct text clean = {0};
    if (!text)
        return json_null();
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = utf8_length(at);
        text_add_bytes(&clean, length ? (const char *)at : "\xef\xbf\xbd", length ? length : 3);
        at += length ? length : 1;
    }
    json_t *value = clean.failed ? NULL : json_string(text_view(&clean));
    text_finish(&clean);
    return value;
}

void cli_best(char to[32], double ms)
{
    to[0] = '\0';
    if (ms >= 0)
        snprintf(to, 32, ", best %.4g ms", ms);
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
