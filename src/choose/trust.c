/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/trust.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/shipped.h"
#include "cl/device.h"
#include "filter/case.h"
#include "filter/check.h"
#include "filter/registry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Verdicts of this process, beside those of the file (in the records). */
struct known {
    char key[RECORD_DIGEST];
    bool right;
    char evidence[512];
    struct known *next;
};

/* What comes with hone for one filter, read when it is first asked for. */
struct shipped {
    const struct hone_filter *filter;
    struct records records;
    struct shipped *next;
};

struct knowledge {
    struct records records;
    pthread_mutex_t lock; /* over what follows */
    struct known *known;
    struct shipped *shipped;
};

static void remember(struct knowledge *knowledge, const char *key, bool right, const char *evidence)
{
    struct known *known = mem_new(1, sizeof *known);
    if (!known)
        return; /* asked again the next time */
    snprintf(known->key, sizeof known->key, "%.64s", key);
    snprintf(known->evidence, sizeof known->evidence, "%s", evidence);
    known->right = right;
    pthread_mutex_lock(&knowledge->lock);
    known->next = knowledge->known;
    knowledge->known = known;
    pthread_mutex_unlock(&knowledge->lock);
}

static hone_status make_knowledge(hone_device *device, void **object, hone_error *error)
{
    struct knowledge *knowledge = mem_new(1, sizeof *knowledge);
    hone_error why;
    if (!knowledge)
        return error_memory(error, "tuning records");
    pthread_mutex_init(&knowledge->lock, NULL);
    if (device_uses_disk(device) &&
        records_load(&knowledge->records, READ_CHOICES | READ_TRUSTS, &why) != HONE_OK)
        device_log(device, HONE_LOG_WARNING, "tuning records are not used: %s", why.message);
    *object = knowledge;
    return HONE_OK;
}

static void destroy_knowledge(void *object)
{
    struct knowledge *knowledge = object;
    while (knowledge->known) {
        struct known *known = knowledge->known;
        knowledge->known = known->next;
        free(known);
    }
    while (knowledge->shipped) {
        struct shipped *shipped = knowledge->shipped;
        knowledge->shipped = shipped->next;
        records_finish(&shipped->records);
        free(shipped);
    }
    records_finish(&knowledge->records);
    pthread_mutex_destroy(&knowledge->lock);
    free(knowledge);
}

static const char knowledge_key;

static hone_status knowledge_of(hone_device *device, struct knowledge **knowledge, hone_error *error)
{
    void *object = NULL;
    hone_status status =
        device_attachment(device, &knowledge_key, make_knowledge, destroy_knowledge, &object, error);
    *knowledge = object;
    return status;
}

hone_status trust_records(hone_device *device, const struct records **records, hone_error *error)
{
    struct knowledge *knowledge;
    hone_status status = knowledge_of(device, &knowledge, error);
    *records = status ? NULL : &knowledge->records;
    return status;
}

static hone_status read_shipped(struct knowledge *knowledge, const struct hone_filter *filter,
                                hone_error *error)
{
    struct shipped *shipped = mem_new(1, sizeof *shipped);
    if (!shipped)
        return error_memory(error, "tuning records");
    hone_status status = shipped_records(filter->name, &shipped->records, error);
    if (status) {
        free(shipped);
        return status;
    }
    shipped->filter = filter;
    shipped->next = knowledge->shipped;
    knowledge->shipped = shipped;
    return HONE_OK;
}

static const struct records *find_shipped(const struct knowledge *knowledge, const struct hone_filter *filter)
{
    const struct shipped *at = knowledge->shipped;
    while (at && at->filter != filter)
        at = at->next;
    return at ? &at->records : NULL;
}

hone_status trust_shipped(hone_device *device, const struct hone_filter *filter,
                          const struct records **records, hone_error *error)
{
    struct knowledge *knowledge;
    *records = NULL;
    hone_status status = knowledge_of(device, &knowledge, error);
    if (status)
        return status;
    pthread_mutex_lock(&knowledge->lock);
    *records = find_shipped(knowledge, filter);
    if (!*records)
        status = read_shipped(knowledge, filter, error);
    if (!*records && !status)
        *records = find_shipped(knowledge, filter);
    pthread_mutex_unlock(&knowledge->lock);
    return status;
}

hone_status trust_learn(hone_device *device, const struct record_choice *choice, hone_error *error)
{
    struct knowledge *knowledge;
    TRY(knowledge_of(device, &knowledge, error));
    struct records *records = &knowledge->records;
    if (!mem_grow(&records->choices, &records->choice_capacity, records->choice_count + 1,
                  sizeof *records->choices))
        return error_memory(error, "tuning records");
    records->choices[records->choice_count++] = *choice;
    return HONE_OK;
}

/* Where a verdict is from: a program that is known in this process has run in it. */
enum verdict { NO_VERDICT, VERDICT_ON_FILE, VERDICT_HERE };

/* The evidence is NULL for right ones and lives as long as the knowledge. A program that was ever found wrong
 * stays wrong. */
static enum verdict find(struct knowledge *knowledge, const char *key, const char **evidence)
{
    const struct records *records = &knowledge->records;
    for (size_t i = 0; i < records->wrong_count; i++)
        if (strcmp(records->wrong[i].program, key) == 0) {
            *evidence = records->wrong[i].evidence;
            return VERDICT_ON_FILE;
        }
    pthread_mutex_lock(&knowledge->lock);
    const struct known *known = knowledge->known;
    while (known && strcmp(known->key, key) != 0)
        known = known->next;
    pthread_mutex_unlock(&knowledge->lock);
    *evidence = known && !known->right ? known->evidence : NULL;
    bool found = false;
    for (size_t i = 0; i < records->right_count && !known && !found; i++)
        found = memcmp(records->right[i], key, RECORD_DIGEST) == 0;
    return known ? VERDICT_HERE : found ? VERDICT_ON_FILE : NO_VERDICT;
}

/* The program and how it is launched; a variant may be wrong with one work-group shape only. */
static void key_from(const char *digest, const struct variant *variant, const struct config *config,
                     char key[RECORD_DIGEST])
{
    struct text text = {0};
    text_add(&text, "%s ", digest);
    config_print(variant, config, &text);
    sha256_text_of(text_view(&text), text.length, key);
    text_finish(&text);
}

static void key_of(const struct instance *instance, char key[RECORD_DIGEST])
{
    key_from(instance_digest(instance), instance_variant(instance), instance_config(instance), key);
}

bool trust_refuses(hone_device *device, const struct filter_case *c, const struct variant *variant,
                   const struct config *config)
{
    struct knowledge *knowledge;
    char digest[65], key[RECORD_DIGEST];
    const char *evidence = NULL;
    if (knowledge_of(device, &knowledge, NULL) != HONE_OK ||
        variant_digest(digest, device, c, variant, config, NULL) != HONE_OK)
        return false;
    key_from(digest, variant, config, key);
    return find(knowledge, key, &evidence) != NO_VERDICT && evidence;
}

static hone_status note(hone_device *device, const struct instance *instance, bool right,
                        const char *evidence, hone_error *error)
{
    struct knowledge *knowledge;
    struct record_trust record = {.right = right, .time = (int64_t)time(NULL)};
    struct record_case c;
    struct text config = {0};
    hone_error why;
    TRY(knowledge_of(device, &knowledge, error));
    record_device_of(device, &record.device);
    record_case_of(instance_case(instance), &c);
    key_of(instance, record.program);
    config_print(instance_variant(instance), instance_config(instance), &config);
    snprintf(record.filter, sizeof record.filter, "%s", c.filter);
    snprintf(record.parameters, sizeof record.parameters, "%s", c.parameters);
    snprintf(record.variant, sizeof record.variant, "%s", instance_variant(instance)->name);
    snprintf(record.config, sizeof record.config, "%s", text_view(&config));
    snprintf(record.evidence, sizeof record.evidence, "%s", evidence);
    text_finish(&config);
    remember(knowledge, record.program, right, evidence);
    if (device_uses_disk(device) && records_add_trust(&record, &why) != HONE_OK)
        device_log(device, HONE_LOG_WARNING, "a verdict is not remembered: %s", why.message);
    return HONE_OK;
}

static hone_status in_quarantine(const struct instance *instance, const char *evidence, hone_error *error)
{
    return error_set(error, HONE_ERROR_CHECK,
                     "variant '%s' of %s gives wrong results with this driver and is in quarantine: %s",
                     instance_variant(instance)->name, instance_case(instance)->filter->name, evidence);
}

/* Small pictures, but wider than most strips; less high where one result takes thousands of reads. The first
 * is of an odd size, on which more goes wrong. Some configurations need rows of whole vectors, or are another
 * program for such rows: the second is for them. The third has rows that end as the picture's do. */
enum { SMALL_PICTURES = 3 };
static void small_size(const struct filter_case *c, int which, hone_image_desc *desc)
{
    struct config config;
    struct cost_values cost = {0};
    config_default(&c->filter->variants[0], &config);
    bool costly =
        variant_cost(c, &c->filter->variants[0], &config, &cost, NULL) == HONE_OK && cost.loads > 500;
    desc->pitch = 0;
    desc->width = which == 2 ? 128 + desc->width % 64 : which == 1 ? 192 : costly ? 67 : 131;
    desc->height = costly ? 23 : 43;
}

/* HONE_ERROR_UNSUPPORTED when the configuration cannot run on that picture. */
static hone_status prepare_small(struct filter_case *c, hone_device *device, const struct instance *instance,
                                 int which, hone_error *error)
{
    const struct filter_case *whole = instance_case(instance);
    hone_image_desc in = *case_input(whole), second = whole->second;
    small_size(whole, which, &in);
    small_size(whole, which, &second);
    hone_status status = case_prepare(c, &in, c->filter->inputs > 1 ? &second : NULL, error);
    THEN(status, variant_usable(device, c, instance_variant(instance), error));
    return status ? status
                  : config_legal(device, c, instance_variant(instance), instance_config(instance), error);
}

/* A program may be compiled for rows that end with a whole vector: one for others says nothing of it. */
static bool same_program(hone_device *device, const struct filter_case *c, const struct instance *instance)
{
    struct text small = {0}, whole = {0};
    const struct variant *variant = instance_variant(instance);
    const struct config *config = instance_config(instance);
    bool same = variant_options(&small, device, c, variant, config, NULL) == HONE_OK &&
                variant_options(&whole, device, instance_case(instance), variant, config, NULL) == HONE_OK &&
                strcmp(text_view(&small), text_view(&whole)) == 0;
    text_finish(&small);
    text_finish(&whole);
    return same;
}

/* The case of an instance, on the first small picture on which it can run, and is the same program unless
 * there is none. */
static hone_status small_case(struct filter_case *c, hone_device *device, const struct instance *instance,
                              hone_error *error)
{
    hone_status status = case_copy(c, instance_case(instance), error);
    if (status)
        return status;
    int any = -1;
    for (int i = 0; i < SMALL_PICTURES; i++) {
        status = prepare_small(c, device, instance, i, error);
        if (!status && same_program(device, c, instance))
            return HONE_OK;
        any = !status && any < 0 ? i : any;
    }
    if (any >= 0)
        status = prepare_small(c, device, instance, any, error);
    if (!status)
        return HONE_OK;
    case_finish(c);
    return status;
}

static hone_status check_small(hone_device *device, const struct instance *instance,
                               struct check_result *result, hone_error *error)
{
    struct filter_case c;
    struct check check;
    TRY(small_case(&c, device, instance, error));
    hone_status status = check_init(&check, device, &c, PATTERN_RANDOM, 1, error);
    if (!status) {
        const struct check_layout padded = {.pad = 16, .offset = 64};
        status = check_run(&check, device, instance_variant(instance), instance_config(instance), padded,
                           result, error);
        check_finish(&check);
    }
    case_finish(&c);
    return status;
}

static hone_status check_now(hone_device *device, const struct instance *instance, hone_error *error)
{
    struct check_result result;
    struct text evidence = {0};
    TRY(check_small(device, instance, &result, error));
    check_explain(&result, &evidence);
    hone_status status =
        note(device, instance, result.right, result.right ? "" : text_view(&evidence), error);
    if (!status && !result.right)
        status = in_quarantine(instance, text_view(&evidence), error);
    text_finish(&evidence);
    return status;
}

/* Some drivers (PoCL) finish compiling, for the very work-group, when a kernel is first launched: half a
 * second that the first run of a plan must not pay. What was checked in this process was launched by that. */
static hone_status launch_now(hone_device *device, const struct instance *instance, hone_error *error)
{
    struct filter_case c;
    TRY(small_case(&c, device, instance, error));
    hone_status status =
        check_launch(device, &c, instance_variant(instance), instance_config(instance), error);
    case_finish(&c);
    return status;
}

hone_status trust_check(hone_device *device, const struct instance *instance, hone_error *error)
{
    struct knowledge *knowledge;
    char key[RECORD_DIGEST];
    TRY(knowledge_of(device, &knowledge, error));
    key_of(instance, key);
    const char *evidence;
    enum verdict verdict = find(knowledge, key, &evidence);
    if (verdict == NO_VERDICT)
        return check_now(device, instance, error);
    if (evidence)
        return in_quarantine(instance, evidence, error);
    hone_status status = verdict == VERDICT_ON_FILE ? launch_now(device, instance, error) : HONE_OK;
    if (!status && verdict == VERDICT_ON_FILE)
        remember(knowledge, key, true, "");
    return status;
}

void trust_build(hone_device *device, const struct instance *instance)
{
    struct instance *small = NULL;
    struct knowledge *knowledge;
    struct filter_case c;
    char key[RECORD_DIGEST];
    const char *evidence;
    key_of(instance, key);
    if (knowledge_of(device, &knowledge, NULL) != HONE_OK || find(knowledge, key, &evidence) != NO_VERDICT ||
        small_case(&c, device, instance, NULL) != HONE_OK)
        return;
    instance_create(&small, device, &c, instance_variant(instance), instance_config(instance), NULL);
    instance_destroy(&small);
    case_finish(&c);
}

hone_status trust_quarantine(hone_device *device, const struct instance *instance, const char *evidence,
                             hone_error *error)
{
    return note(device, instance, false, evidence, error);
}
