/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/policy.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "media/media.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 65536, WORDS = 3 };

/* Of the options. */
static const double MOST_PIXELS = 0x1p40, MOST_MIB = 1 << 24;

static const char *const names[POLICY_ITEMS] = {
    [POLICY_MAX_PIXELS] = "max-pixels",
    [POLICY_MEMORY] = "memory",
    [POLICY_DECODE_MEMORY] = "decode-memory",
    [POLICY_TRUST] = "trust",
};

/* ---- Values ---- */

static bool read_size(const char *text, double *value)
{
    uint64_t bytes = 0;
    const bool is_size = text_bytes(text, &bytes);
    *value = (double)bytes;
    return is_size;
}

/* Within what the option takes. */
static bool read_number(const char *text, double most, double *value)
{
    char *end;
    *value = text_number(text, &end);
    return end != text && !*end && *value >= 1 && *value <= most;
}

static bool read_value(enum policy_item item, const char *text, double *value)
{
    if (item == POLICY_MEMORY)
        return read_size(text, value);
    if (item != POLICY_TRUST)
        return read_number(text, item == POLICY_MAX_PIXELS ? MOST_PIXELS : MOST_MIB, value);
    *value = strcmp(text, "yes") == 0;
    return *value > 0 || strcmp(text, "no") == 0;
}

/* ---- Lines ---- */

static void take_limit(struct policy_rule *rule, double value, const char *path)
{
    if (rule->has_limit && rule->limit <= value)
        return;
    rule->has_limit = true;
    rule->limit = value;
    snprintf(rule->path, sizeof rule->path, "%s", path);
}

/* False where it is not understood. The line is changed. */
static bool take_line(struct policy *policy, char *line, const char *path)
{
    char *words[WORDS + 1] = {0}, *rest = NULL;
    double value = 0;
    size_t count = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *word = strtok_r(line, " \t\r", &rest); word && count <= WORDS;
         word = strtok_r(NULL, " \t\r", &rest))
        words[count++] = word;
    if (count == 0)
        return true;
    for (int i = 0; i < POLICY_ITEMS && count == WORDS; i++)
        if (strcmp(words[1], names[i]) == 0 && read_value((enum policy_item)i, words[2], &value)) {
            struct policy_rule *rule = &policy->rules[i];
            if (strcmp(words[0], "limit") == 0) {
                take_limit(rule, value, path);
                return true;
            }
            rule->has_usual = true;
            rule->usual = value;
            return strcmp(words[0], "default") == 0;
        }
    return false;
}

static hone_status take_lines(struct policy *policy, char *text, const char *path, hone_error *error)
{
    unsigned number = 1;
    for (char *line = text; line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        if (!take_line(policy, line, path))
            return error_io(error,
                            "'%s', line %u: expected 'limit' or 'default', then max-pixels, memory, "
                            "decode-memory or trust, and a value, such as 'limit max-pixels 1e9', 'default "
                            "memory 512M' or 'limit trust no'",
                            path, number);
        line = end;
    }
    return HONE_OK;
}

/* ---- Files ---- */

static hone_status unread(const char *path, const char *why, hone_error *error)
{
    return error_io(error, "the policy '%s' cannot be used: %s", path, why);
}

/* Why a file is not to be trusted; NULL: it is. */
static const char *distrust(const struct stat *file)
{
    if (!S_ISREG(file->st_mode))
        return "it is no file";
    if (file->st_uid != 0 && file->st_uid != geteuid())
        return "it belongs to another user";
    if (file->st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it (chmod go-w)";
    return file->st_size > MOST_BYTES ? "it is larger than 64 KiB" : NULL;
}

/* Up to `most` bytes, which a zero ends. */
static hone_status read_text(int fd, const char *path, char *text, size_t most, hone_error *error)
{
    const ssize_t count = file_read_at(fd, text, most, 0);
    if (count < 0)
        return unread(path, strerror(errno), error);
    text[count] = '\0';
    return strlen(text) == (size_t)count ? HONE_OK : unread(path, "it is no text", error);
}

/* Whoever works as another user may have kept the home of the first. */
static const char *why_closed(int code)
{
    return code == EACCES ? "you may not read it (HOME and XDG_CONFIG_HOME say where yours is: name a folder "
                            "of your own)"
                          : strerror(code);
}

hone_status policy_add(struct policy *policy, const char *path, hone_error *error)
{
    struct stat file;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? HONE_OK : unread(path, why_closed(errno), error);
    const char *why = fstat(fd, &file) ? strerror(errno) : distrust(&file);
    char *text = why ? NULL : malloc(MOST_BYTES + 1);
    hone_status status = why    ? unread(path, why, error)
                         : text ? read_text(fd, path, text, MOST_BYTES, error)
                                : error_memory(error, "a policy");
    close(fd);
    THEN(status, take_lines(policy, text, path, error));
    free(text);
    return status;
}

/* The user's file; empty where there is no home. */
static bool own_path(char path[PATH_MAX])
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool named = folder && folder[0] == '/';
    if (!named && !(home && home[0] == '/'))
        return false;
    const int used = named ? snprintf(path, PATH_MAX, "%s/hone/policy", folder)
                           : snprintf(path, PATH_MAX, "%s/.config/hone/policy", home);
    return used > 0 && used < PATH_MAX;
}

hone_status policy_read(struct policy *policy, hone_error *error)
{
    char path[PATH_MAX];
    *policy = (struct policy){0};
    hone_status status = policy_add(policy, "/etc/hone/policy", error);
    return status || !own_path(path) ? status : policy_add(policy, path, error);
}

/* ---- What holds ---- */

bool policy_has(const struct policy *policy, enum policy_item item)
{
    return policy->rules[item].has_limit || policy->rules[item].has_usual;
}

static hone_status exceeds(const struct policy_rule *rule, enum policy_item item, hone_error *error)
{
    if (item == POLICY_TRUST)
        return error_usage(error, "--trust is not allowed by the policy '%s'", rule->path);
    const double unit = item == POLICY_MEMORY ? 1048576 : 1;
    return error_usage(error, "--%s exceeds the limit of %.10g%s in the policy '%s'", names[item],
                       rule->limit / unit, item == POLICY_MAX_PIXELS ? "" : " MiB", rule->path);
}

hone_status policy_apply(const struct policy *policy, enum policy_item item, bool given, double *value,
                         hone_error *error)
{
    const struct policy_rule *rule = &policy->rules[item];
    if (!given && rule->has_usual)
        *value = rule->usual;
    if (!rule->has_limit || *value <= rule->limit)
        return HONE_OK;
    if (given)
        return exceeds(rule, item, error);
    *value = rule->limit;
    return HONE_OK;
}

hone_status policy_apply_decoders(const struct policy *policy, double *memory, bool *trust, hone_error *error)
{
    double mib = *memory > 0 ? *memory : (double)MEDIA_MEMORY / 1048576, trusts = *trust;
    hone_status status = policy_apply(policy, POLICY_DECODE_MEMORY, *memory > 0, &mib, error);
    THEN(status, policy_apply(policy, POLICY_TRUST, *trust, &trusts, error));
    if (policy_has(policy, POLICY_DECODE_MEMORY))
        *memory = mib;
    *trust = trusts > 0;
    return status;
}

hone_status policy_bind_reading(double *memory, bool *trust, double *max_pixels, hone_error *error)
{
    struct policy policy;
    *max_pixels = 0;
    hone_status status = policy_read(&policy, error);
    THEN(status, policy_apply_decoders(&policy, memory, trust, error));
    if (status || !policy_has(&policy, POLICY_MAX_PIXELS))
        return status;
    *max_pixels = HONE_MAX_PIXELS;
    status = policy_apply(&policy, POLICY_MAX_PIXELS, false, max_pixels, error);
    *max_pixels =
        *max_pixels < HONE_MAX_PIXELS ? *max_pixels : 0; /* which bounds any image of the library's */
    return status;
}
