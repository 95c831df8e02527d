/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/records.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char file_name[] = "tuning.jsonl";
static const size_t max_file = 256u << 20;
static const char *const states[STATE_COUNT] = {"started", "ok",    "compile", "run",
                                                "timeout", "crash", "wrong",   "slow"};

const char *record_state_name(enum record_state state)
{
    return (unsigned)state < STATE_COUNT ? states[state] : "?";
}

/* ---- From live objects ---- */

void record_device_of_info(const hone_device_info *info, struct record_device *out)
{
    *out = (struct record_device){
        .vendor_id = info->vendor_id, .compute_units = info->compute_units, .kind = info->kind};
    snprintf(out->name, sizeof out->name, "%s", info->name);
    snprintf(out->vendor, sizeof out->vendor, "%s", info->vendor);
    snprintf(out->platform, sizeof out->platform, "%s", info->platform);
    snprintf(out->driver, sizeof out->driver, "%s", info->driver_version);
    snprintf(out->architecture, sizeof out->architecture, "%s", info->architecture);
}

void record_device_of(const hone_device *device, struct record_device *out)
{
    record_device_of_info(hone_device_get_info(device), out);
}

static void source_digest(const struct hone_filter *filter, char out[20])
{
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    sha256_init(&hash);
    sha256_add_text(&hash, registry_header());
    for (size_t i = 0; i < filter->variant_count; i++) {
        const char *file = filter->variants[i].source ? filter->variants[i].source : "kernel.cl";
        sha256_add_text(&hash, filter->variants[i].name);
        sha256_add_text(&hash, registry_source(filter, file));
    }
    sha256_end(&hash, digest);
    sha256_text(digest, text);
    snprintf(out, 20, "%.16s", text);
}

void record_case_of(const struct filter_case *c, struct record_case *out)
{
    struct text parameters = {0};
    *out = (struct record_case){
        .type = c->in.type, .channels = c->in.channels, .width = c->in.width, .height = c->in.height};
    snprintf(out->filter, sizeof out->filter, "%s", c->filter->name);
    snprintf(out->border, sizeof out->border, "%s", hone_border_name(c->border));
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++)
        if (c->values[i].text)
            text_add(&parameters, "%s%s=%s", parameters.length ? " " : "", c->filter->parameters[i].name,
                     c->values[i].text);
    snprintf(out->parameters, sizeof out->parameters, "%s", text_view(&parameters));
    text_finish(&parameters);
    source_digest(c->filter, out->source);
}

/* ---- JSON out ---- */

static json_t *device_json(const struct record_device *d)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "name", d->name, "vendor", d->vendor,
                     "platform", d->platform, "driver", d->driver, "architecture", d->architecture, "kind",
                     hone_device_kind_name(d->kind), "vendor_id", (int)d->vendor_id, "compute_units",
                     (int)d->compute_units);
}

static json_t *case_json(const struct record_case *c)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "filter", c->filter, "parameters",
                     c->parameters, "border", c->border, "source", c->source, "type", hone_type_name(c->type),
                     "channels", (int)c->channels, "width", (int)c->width, "height", (int)c->height);
}

static json_t *config_json(const struct record_config *c)
{
    return json_pack("{s:s, s:s, s:f}", "variant", c->variant, "config", c->config, "ms", c->ms);
}

static json_t *try_json(const struct record_try *r)
{
    json_t *runs = json_array();
    for (int i = 0; i < r->run_count && i < RECORD_MAX_RUNS; i++)
        json_array_append_new(runs, json_real(r->runs[i]));
    return json_pack("{s:i, s:s, s:I, s:o, s:o, s:o, s:s, s:f, s:o, s:s}", "v", RECORD_VERSION, "kind", "try",
                     "time", (json_int_t)r->time, "device", device_json(&r->device), "case", case_json(&r->c),
                     "config", config_json(&r->config), "state", record_state_name(r->state), "build_ms",
                     r->build_ms, "runs", runs, "note", r->note);
}

static json_t *choice_json(const struct record_choice *r)
{
    json_t *ranked = json_array();
    for (int i = 0; i < r->count && i < RECORD_MAX_RANKED; i++)
        json_array_append_new(ranked, config_json(&r->ranked[i]));
    return json_pack("{s:i, s:s, s:I, s:o, s:o, s:o, s:f, s:f, s:f, s:i, s:f}", "v", RECORD_VERSION, "kind",
                     "choice", "time", (json_int_t)r->time, "device", device_json(&r->device), "case",
                     case_json(&r->c), "ranked", ranked, "default_ms", r->default_ms, "first_rung_ms",
                     r->first_rung_ms, "plain_ms", r->plain_ms, "evaluations", r->evaluations, "seconds",
                     r->seconds);
}

static json_t *trust_json(const struct record_trust *r)
{
    return json_pack("{s:i, s:s, s:I, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "v", RECORD_VERSION, "kind",
                     "trust", "time", (json_int_t)r->time, "device", device_json(&r->device), "program",
                     r->program, "filter", r->filter, "variant", r->variant, "config", r->config,
                     "parameters", r->parameters, "verdict", r->right ? "right" : "wrong", "evidence",
                     r->evidence);
}

static void print_json(json_t *object, struct text *out)
{
    char *line = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6)) : NULL;
    if (line)
        text_add(out, "%s", line);
    else
        out->failed = true;
    free(line);
    json_decref(object);
}

void record_choice_print(const struct record_choice *record, struct text *out)
{
    print_json(choice_json(record), out);
}

void record_try_print(const struct record_try *record, struct text *out)
{
    print_json(try_json(record), out);
}

/* ---- JSON in: every field may be missing, of another type, or absurd ---- */

static bool copy_string(const json_t *object, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text || strlen(text) >= size)
        return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool copy_number(const json_t *object, const char *key, double least, double most, double *to)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        return false;
    *to = json_number_value(value);
    return *to >= least && *to <= most;
}

static bool copy_unsigned(const json_t *object, const char *key, unsigned most, unsigned *to)
{
    double number = 0;
    if (!copy_number(object, key, 0, most, &number))
        return false;
    *to = (unsigned)number;
    return true;
}

static bool read_device(const json_t *object, struct record_device *d)
{
    char kind[32];
    if (!copy_string(object, "name", d->name, sizeof d->name) ||
        !copy_string(object, "vendor", d->vendor, sizeof d->vendor) ||
        !copy_string(object, "platform", d->platform, sizeof d->platform) ||
        !copy_string(object, "driver", d->driver, sizeof d->driver) ||
        !copy_string(object, "architecture", d->architecture, sizeof d->architecture) ||
        !copy_string(object, "kind", kind, sizeof kind) ||
        !copy_unsigned(object, "vendor_id", UINT32_MAX, &d->vendor_id) ||
        !copy_unsigned(object, "compute_units", 1 << 20, &d->compute_units))
        return false;
    for (int k = HONE_DEVICE_CPU; k <= HONE_DEVICE_OTHER; k++)
        if (strcmp(kind, hone_device_kind_name((hone_device_kind)k)) == 0)
            d->kind = (hone_device_kind)k;
    return true;
}

static bool read_case(const json_t *object, struct record_case *c)
{
    char type[16];
    return copy_string(object, "filter", c->filter, sizeof c->filter) &&
           copy_string(object, "parameters", c->parameters, sizeof c->parameters) &&
           copy_string(object, "border", c->border, sizeof c->border) &&
           copy_string(object, "source", c->source, sizeof c->source) &&
           copy_string(object, "type", type, sizeof type) &&
           hone_type_parse(&c->type, type, NULL) == HONE_OK &&
           copy_unsigned(object, "channels", 4, &c->channels) &&
           copy_unsigned(object, "width", HONE_MAX_SIDE, &c->width) &&
           copy_unsigned(object, "height", HONE_MAX_SIDE, &c->height);
}

static bool read_config(const json_t *object, struct record_config *c)
{
    return copy_string(object, "variant", c->variant, sizeof c->variant) &&
           copy_string(object, "config", c->config, sizeof c->config) &&
           copy_number(object, "ms", -1, 1e9, &c->ms);
}

static int64_t read_time(const json_t *object)
{
    return (int64_t)json_integer_value(json_object_get(object, "time"));
}

static bool read_try(const json_t *object, struct record_try *r)
{
    char state[16];
    const json_t *runs = json_object_get(object, "runs");
    if (!read_device(json_object_get(object, "device"), &r->device) ||
        !read_case(json_object_get(object, "case"), &r->c) ||
        !read_config(json_object_get(object, "config"), &r->config) ||
        !copy_string(object, "state", state, sizeof state) ||
        !copy_string(object, "note", r->note, sizeof r->note) ||
        !copy_number(object, "build_ms", -1, 1e9, &r->build_ms))
        return false;
    r->state = STATE_COUNT;
    for (int i = 0; i < STATE_COUNT; i++)
        if (strcmp(state, states[i]) == 0)
            r->state = (enum record_state)i;
    for (size_t i = 0; i < json_array_size(runs) && i < RECORD_MAX_RUNS; i++)
        r->runs[r->run_count++] = json_number_value(json_array_get(runs, i));
    r->time = read_time(object);
    return r->state != STATE_COUNT;
}

static bool read_choice(const json_t *object, struct record_choice *r)
{
    const json_t *ranked = json_object_get(object, "ranked");
    unsigned evaluations = 0;
    if (!read_device(json_object_get(object, "device"), &r->device) ||
        !read_case(json_object_get(object, "case"), &r->c) ||
        !copy_number(object, "default_ms", -1, 1e9, &r->default_ms) ||
        !copy_number(object, "first_rung_ms", -1, 1e9, &r->first_rung_ms) ||
        !copy_number(object, "plain_ms", -1, 1e9, &r->plain_ms) ||
        !copy_number(object, "seconds", 0, 1e9, &r->seconds) ||
        !copy_unsigned(object, "evaluations", 1 << 30, &evaluations))
        return false;
    r->evaluations = (int)evaluations;
    for (size_t i = 0; i < json_array_size(ranked) && i < RECORD_MAX_RANKED; i++)
        if (!read_config(json_array_get(ranked, i), &r->ranked[r->count++]))
            return false;
    r->time = read_time(object);
    return r->count > 0;
}

static bool read_trust(const json_t *object, struct record_trust *r)
{
    char verdict[16];
    if (!read_device(json_object_get(object, "device"), &r->device) ||
        !copy_string(object, "program", r->program, sizeof r->program) ||
        !copy_string(object, "filter", r->filter, sizeof r->filter) ||
        !copy_string(object, "variant", r->variant, sizeof r->variant) ||
        !copy_string(object, "config", r->config, sizeof r->config) ||
        !copy_string(object, "parameters", r->parameters, sizeof r->parameters) ||
        !copy_string(object, "verdict", verdict, sizeof verdict) ||
        !copy_string(object, "evidence", r->evidence, sizeof r->evidence))
        return false;
    r->right = strcmp(verdict, "right") == 0;
    r->time = read_time(object);
    return r->right || strcmp(verdict, "wrong") == 0;
}

static hone_status add_line(struct records *records, const json_t *object, const char *kind, bool *used,
                            hone_error *error)
{
    struct record_try attempt = {0};
    struct record_choice choice = {0};
    struct record_trust trust = {0};
    bool grown = true;
    *used = true;
    if (strcmp(kind, "try") == 0 && read_try(object, &attempt)) {
        grown =
            mem_grow(&records->tries, &records->try_capacity, records->try_count + 1, sizeof *records->tries);
        if (grown)
            records->tries[records->try_count++] = attempt;
    } else if (strcmp(kind, "choice") == 0 && read_choice(object, &choice)) {
        grown = mem_grow(&records->choices, &records->choice_capacity, records->choice_count + 1,
                         sizeof *records->choices);
        if (grown)
            records->choices[records->choice_count++] = choice;
    } else if (strcmp(kind, "trust") == 0 && read_trust(object, &trust)) {
        grown = mem_grow(&records->trusts, &records->trust_capacity, records->trust_count + 1,
                         sizeof *records->trusts);
        if (grown)
            records->trusts[records->trust_count++] = trust;
    } else {
        *used = false;
    }
    return grown ? HONE_OK : error_memory(error, "tuning records");
}

/* Cheap: whether a line can be of a kind that is wanted, before it is parsed. */
static bool line_wanted(const char *line, size_t length, unsigned kinds)
{
    static const struct {
        unsigned kind;
        const char *mark;
    } marks[] = {{READ_TRIES, "\"kind\":\"try\""},
                 {READ_CHOICES, "\"kind\":\"choice\""},
                 {READ_TRUSTS, "\"kind\":\"trust\""}};
    if (kinds == READ_ALL)
        return true;
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if ((kinds & marks[i].kind) && memmem(line, length, marks[i].mark, strlen(marks[i].mark)))
            return true;
    return false;
}

static hone_status parse_line(struct records *records, const char *line, size_t length, hone_error *error)
{
    json_t *object =
        length <= RECORD_MAX_LINE ? json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    bool used = false;
    hone_status status = HONE_OK;
    if (kind && json_integer_value(json_object_get(object, "v")) == RECORD_VERSION)
        status = add_line(records, object, kind, &used, error);
    records->skipped += !used;
    json_decref(object);
    return status;
}

hone_status records_parse(struct records *records, const char *text, unsigned kinds, hone_error *error)
{
    hone_status status = HONE_OK;
    while (*text && !status) {
        size_t length = strcspn(text, "\n");
        if (length > 0 && line_wanted(text, length, kinds))
            status = parse_line(records, text, length, error);
        text += length + (text[length] == '\n');
    }
    return status;
}

void records_finish(struct records *records)
{
    free(records->tries);
    free(records->choices);
    free(records->trusts);
    *records = (struct records){0};
}

/* ---- The user's file ---- */

static hone_status open_folder(char path[PATH_MAX], int *folder, hone_error *error)
{
    return file_private_folder("XDG_DATA_HOME", ".local/share", NULL, path, folder, error);
}

hone_status records_path(char path[], hone_error *error)
{
    int folder;
    hone_status status = open_folder(path, &folder, error);
    if (status)
        return status;
    close(folder);
    if (strlen(path) + sizeof file_name + 1 > PATH_MAX)
        return error_set(error, HONE_ERROR_IO, "the path of the tuning records is too long");
    strcat(strcat(path, "/"), file_name);
    return HONE_OK;
}

hone_status records_load(struct records *records, unsigned kinds, hone_error *error)
{
    char path[PATH_MAX];
    int folder;
    struct text text = {0};
    bool missing = false;
    hone_status status = open_folder(path, &folder, error);
    if (status)
        return status;
    status = file_private_read(folder, file_name, max_file, &text, &missing, error);
    close(folder);
    if (!status)
        status = records_parse(records, text_view(&text), kinds, error);
    text_finish(&text);
    return missing ? HONE_OK : status;
}

hone_status records_load_file(struct records *records, const char *path, unsigned kinds, hone_error *error)
{
    struct text text = {0};
    hone_status status = file_read(path, max_file, &text, error);
    if (!status)
        status = records_parse(records, text_view(&text), kinds, error);
    text_finish(&text);
    return status;
}

static hone_status append_failed(hone_error *error, const char *path)
{
    return error_set(error, HONE_ERROR_IO, "cannot add to the tuning records in '%s': %s", path,
                     strerror(errno));
}

/* Whether the file ends in the middle of a line: then a newline comes first, so that only that line is lost.
 */
static bool ends_open(int file)
{
    char last = '\n';
    off_t end = lseek(file, 0, SEEK_END);
    return end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

static hone_status write_line(int file, const char *path, struct text *line, hone_error *error)
{
    struct stat before;
    if (flock(file, LOCK_EX) != 0 || fstat(file, &before) != 0)
        return append_failed(error, path);
    if (ends_open(file) && !file_write_all(file, "\n", 1))
        return append_failed(error, path);
    if (file_write_all(file, line->data, line->length) && fsync(file) == 0)
        return HONE_OK;
    hone_status status = append_failed(error, path);
    /* Half a line is skipped by readers; none is better, but not worth another error. */
    int ignored = ftruncate(file, before.st_size);
    (void)ignored;
    return status;
}

static hone_status append(struct text *line, hone_error *error)
{
    char path[PATH_MAX];
    int folder;
    text_add(line, "\n");
    if (line->failed)
        return error_memory(error, "a tuning record");
    hone_status status = open_folder(path, &folder, error);
    if (status)
        return status;
    int file =
        openat(folder, file_name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat info;
    if (file < 0)
        status = append_failed(error, path);
    else if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
        status = error_set(error, HONE_ERROR_IO, "'%s/%s' is not a file of this user's", path, file_name);
    else
        status = write_line(file, path, line, error);
    if (file >= 0)
        close(file);
    close(folder);
    return status;
}

static hone_status append_json(json_t *object, hone_error *error)
{
    struct text line = {0};
    print_json(object, &line);
    hone_status status = append(&line, error);
    text_finish(&line);
    return status;
}

hone_status records_add_try(const struct record_try *record, hone_error *error)
{
    return append_json(try_json(record), error);
}

hone_status records_add_choice(const struct record_choice *record, hone_error *error)
{
    return append_json(choice_json(record), error);
}

hone_status records_add_trust(const struct record_trust *record, hone_error *error)
{
    return append_json(trust_json(record), error);
}

/* ---- Merging ---- */

/* Copies of a line that the user's file has already are left out. */
static hone_status merge_lines(const char *ours, const char *theirs, size_t *added, hone_error *error)
{
    hone_status status = HONE_OK;
    while (*theirs && !status) {
        size_t length = strcspn(theirs, "\n");
        struct records one = {0};
        struct text line = {0};
        text_add_bytes(&line, theirs, length);
        bool there = length == 0 || strstr(ours, text_view(&line)) != NULL;
        if (!there && records_parse(&one, text_view(&line), READ_ALL, error) == HONE_OK && one.skipped == 0) {
            status = append(&line, error);
            *added += !status;
        }
        records_finish(&one);
        text_finish(&line);
        theirs += length + (theirs[length] == '\n');
    }
    return status;
}

hone_status records_merge(const char *path, size_t *added, hone_error *error)
{
    char own[PATH_MAX];
    struct text ours = {0}, theirs = {0};
    int folder;
    bool missing = false;
    *added = 0;
    hone_status status = file_read(path, max_file, &theirs, error);
    if (!status)
        status = open_folder(own, &folder, error);
    if (!status) {
        status = file_private_read(folder, file_name, max_file, &ours, &missing, error);
        close(folder);
        status = missing ? HONE_OK : status;
    }
    if (!status)
        status = merge_lines(text_view(&ours), text_view(&theirs), added, error);
    text_finish(&ours);
    text_finish(&theirs);
    return status;
}
