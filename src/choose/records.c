/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/records.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/records_json.h"
#include "filter/instance.h"
#include "filter/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const states[STATE_COUNT] = {"started", "ok",    "compile", "run",      "timeout",
                                                "crash",   "wrong", "slow",    "abandoned"};

const char *record_state_name(enum record_state state)
{
    return (unsigned)state < STATE_COUNT ? states[state] : "?";
}

/* ---- Starts without an end ---- */

static pthread_once_t session_once = PTHREAD_ONCE_INIT;
static char session_text[96];

static void make_session(void)
{
    struct text boot = {0};
    hone_status status = file_read("/proc/sys/kernel/random/boot_id", 64, &boot, NULL);
    const char *id = status ? "" : text_view(&boot);
    snprintf(session_text, sizeof session_text, "%d.%lld@%.*s", (int)getpid(), (long long)time(NULL),
             (int)strcspn(id, "\n"), id);
    text_finish(&boot);
}

const char *record_session(void)
{
    pthread_once(&session_once, make_session);
    return session_text;
}

/* Of a session its boot; "" where it is not known. */
static const char *boot_of(const char *session)
{
    const char *at = strchr(session, '@');
    return at ? at + 1 : "";
}

/* Whether the machine may have gone down with a start: it was never seen to run on, by this process or by
 * another session that wrote after it. A session that ended while the machine ran on was ended from outside,
 * for it is workers that run kernels, and what ends those it writes down. */
static bool machine_went_down(const struct record_try *tries, size_t count, size_t index)
{
    const char *session = tries[index].session, *boot = boot_of(session);
    bool seen = !*boot || strcmp(boot, boot_of(record_session())) == 0;
    for (size_t i = index + 1; i < count && !seen; i++)
        seen = strcmp(boot_of(tries[i].session), boot) == 0 && strcmp(tries[i].session, session) != 0;
    return !seen;
}

bool record_is_left(const struct record_try *tries, size_t count, size_t index)
{
    const struct record_try *last = &tries[index];
    if (last->state != STATE_STARTED || !machine_went_down(tries, count, index))
        return false;
    for (size_t i = index; i-- > 0;) {
        const struct record_try *t = &tries[i];
        if (strcmp(t->config.variant, last->config.variant) != 0 ||
            strcmp(t->config.config, last->config.config) != 0)
            continue;
        if (t->state != STATE_STARTED)
            break;
        if (strcmp(t->session, last->session) != 0 && machine_went_down(tries, count, i))
            return true;
    }
    return false;
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

/* Kernels from a folder of the user's are others than those compiled in. */
static void make_source_digest(const struct hone_filter *filter, const char *folder, char out[20])
{
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    char text[SHA256_TEXT_SIZE];
    const char *before = "";
    sha256_init(&hash);
    for (size_t i = 0; i < filter->variant_count; i++) {
        const char *file = filter->variants[i].source ? filter->variants[i].source : "kernel.cl";
        struct text source = {0};
        sha256_add_text(&hash, filter->variants[i].name);
        sha256_add_text(&hash, file);
        if (strcmp(file, before) != 0 && filter_source_text(&source, folder, filter, file, NULL) == HONE_OK)
            sha256_add_text(&hash, text_view(&source));
        text_finish(&source);
        before = file;
    }
    sha256_end(&hash, digest);
    sha256_text(digest, text);
    snprintf(out, 20, "%.16s", text);
}

/* What is compiled in stays as it is, and milliseconds go into its digest: each filter's is made once. */
static void source_digest(const struct hone_filter *filter, char out[20])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        const struct hone_filter *filter;
        char digest[20];
    } made[64];
    const char *folder = getenv("HONE_KERNEL_DIR");
    size_t at = 0;
    if (folder && *folder) {
        make_source_digest(filter, folder, out);
        return;
    }
    pthread_mutex_lock(&lock);
    while (at < COUNT_OF(made) - 1 && made[at].filter && made[at].filter != filter)
        at++;
    if (made[at].filter != filter)
        make_source_digest(filter, NULL, made[at].digest);
    made[at].filter = filter;
    memcpy(out, made[at].digest, sizeof made[at].digest);
    pthread_mutex_unlock(&lock);
}

/* A text as one word: what stands before its colon (5x5, say), and a digest of all of it. */
static void add_text_value(struct text *out, const char *value)
{
    char hex[SHA256_TEXT_SIZE];
    size_t head = strcspn(value, ": \t\n");
    sha256_text_of(value, strlen(value), hex);
    text_add(out, "%.*s:%.8s", value[head] == ':' && head < 16 ? (int)head : 0, value, hex);
}

static void add_value(struct text *out, const struct parameter *parameter, const char *value)
{
    text_add(out, "%s%s=", out->length ? " " : "", parameter->name);
    if (parameter->kind == PARAMETER_TEXT)
        add_text_value(out, value);
    else
        text_add(out, "%s", value);
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
            add_value(&parameters, &c->filter->parameters[i], c->values[i].text);
    if (case_needs_exact(c))
        text_add(&parameters, "%sexact=yes", parameters.length ? " " : "");
    snprintf(out->parameters, sizeof out->parameters, "%s", text_view(&parameters));
    text_finish(&parameters);
    source_digest(c->filter, out->source);
}

/* ---- Reading ---- */

static bool add_right(struct records *records, const char *program)
{
    if (!mem_grow(&records->right, &records->right_capacity, records->right_count + 1, RECORD_DIGEST))
        return false;
    memcpy(records->right[records->right_count++], program, RECORD_DIGEST);
    return true;
}

static bool add_wrong(struct records *records, const struct record_trust *trust)
{
    if (!mem_grow(&records->wrong, &records->wrong_capacity, records->wrong_count + 1,
                  sizeof *records->wrong))
        return false;
    records->wrong[records->wrong_count++] = *trust;
    return true;
}

static bool same_try(const struct record_try *a, const struct record_try *b)
{
    return strcmp(a->config.config, b->config.config) == 0 &&
           strcmp(a->config.variant, b->config.variant) == 0 && memcmp(&a->c, &b->c, sizeof a->c) == 0 &&
           memcmp(&a->device, &b->device, sizeof a->device) == 0;
}

/* Nothing was found out of a configuration that was started: no reader shall see that it was. */
static void forget_start(struct records *records, const struct record_try *abandoned)
{
    size_t at = records->try_count;
    while (at > 0 && !same_try(&records->tries[at - 1], abandoned))
        at--;
    if (at == 0 || records->tries[at - 1].state != STATE_STARTED)
        return;
    memmove(&records->tries[at - 1], &records->tries[at],
            (records->try_count-- - at) * sizeof *records->tries);
    for (size_t i = 0; i < records->choice_count; i++)
        records->choices[i].tries_before -= records->choices[i].tries_before >= at;
}

static bool add_try(struct records *records, const struct record_try *attempt)
{
    if (attempt->state == STATE_ABANDONED) {
        forget_start(records, attempt);
        return true;
    }
    if (!mem_grow(&records->tries, &records->try_capacity, records->try_count + 1, sizeof *records->tries))
        return false;
    records->tries[records->try_count++] = *attempt;
    return true;
}

static hone_status add_line(struct records *records, const json_t *object, const char *kind, bool *used,
                            hone_error *error)
{
    struct record_try attempt = {0};
    struct record_choice choice = {0};
    struct record_trust trust = {0};
    bool grown = true;
    *used = true;
    if (strcmp(kind, "try") == 0 && record_read_try(object, &attempt)) {
        grown = add_try(records, &attempt);
    } else if (strcmp(kind, "choice") == 0 && record_read_choice(object, &choice)) {
        grown = mem_grow(&records->choices, &records->choice_capacity, records->choice_count + 1,
                         sizeof *records->choices);
        choice.tries_before = records->try_count;
        if (grown)
            records->choices[records->choice_count++] = choice;
    } else if (strcmp(kind, "trust") == 0 && record_read_trust(object, &trust)) {
        grown = trust.right ? add_right(records, trust.program) : add_wrong(records, &trust);
    } else {
        *used = false;
    }
    return grown ? HONE_OK : error_memory(error, "tuning records");
}

/* One that hone did not write may have spaces, and can be of any. */
unsigned records_line_kinds(const char *line, size_t length)
{
    static const struct {
        unsigned kind;
        const char *mark;
    } marks[] = {{READ_TRIES, "\"kind\":\"try\""},
                 {READ_CHOICES, "\"kind\":\"choice\""},
                 {READ_TRUSTS, "\"kind\":\"trust\""}};
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (memmem(line, length, marks[i].mark, strlen(marks[i].mark)))
            return marks[i].kind;
    return READ_ALL;
}

/* Nearly all lines say of some program that it was right. Those are read without a parser: what is written by
 * us has this form, and starting must stay quick when there are ten thousand of them. */
static bool read_right(const char *line, size_t length, char program[RECORD_DIGEST])
{
    static const char mark[] = "\"program\":\"", verdict[] = "\"verdict\":\"right\"}", version[] = "\"v\":1,";
    const char *at = memmem(line, length, mark, sizeof mark - 1);
    if (!at || line[length - 1] != '}' || !memmem(line, length, version, sizeof version - 1) ||
        memcmp(line + length - (sizeof verdict - 1), verdict, sizeof verdict - 1) != 0)
        return false;
    at += sizeof mark - 1;
    if ((size_t)(line + length - at) < RECORD_DIGEST || strspn(at, "0123456789abcdef") != RECORD_DIGEST - 1)
        return false;
    memcpy(program, at, RECORD_DIGEST - 1);
    program[RECORD_DIGEST - 1] = '\0';
    return true;
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

hone_status records_parse_line(struct records *records, const char *line, size_t length, unsigned kinds,
                               hone_error *error)
{
    char program[RECORD_DIGEST];
    if (length > sizeof program && kinds != READ_ALL && (kinds & READ_TRUSTS) &&
        read_right(line, length, program))
        return add_right(records, program) ? HONE_OK : error_memory(error, "tuning records");
    if (length > 0 && (kinds == READ_ALL || (records_line_kinds(line, length) & kinds)))
        return parse_line(records, line, length, error);
    return HONE_OK;
}

hone_status records_parse(struct records *records, const char *text, unsigned kinds, hone_error *error)
{
    hone_status status = HONE_OK;
    while (*text && !status) {
        size_t length = strcspn(text, "\n");
        status = records_parse_line(records, text, length, kinds, error);
        text += length + (text[length] == '\n');
    }
    return status;
}

void records_finish(struct records *records)
{
    free(records->tries);
    free(records->choices);
    free(records->wrong);
    free(records->right);
    *records = (struct records){0};
}
