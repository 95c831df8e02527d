/* SPDX-License-Identifier: BSD-2-Clause */
/* hone cache: what is remembered of tuning. */
#include "cli/cache/cache.h"
#include "cli/show.h"

#include "base/error.h"
#include "base/text.h"
#include "choose/records.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_choice(const struct record_choice *a, const struct record_choice *b)
{
    return memcmp(&a->device, &b->device, sizeof a->device) == 0 && memcmp(&a->c, &b->c, sizeof a->c) == 0;
}

/* Of the choices of one case the last one counts; one that only informs does not. */
static bool is_last(const struct records *records, size_t index)
{
    for (size_t i = index + 1; i < records->choice_count; i++)
        if (!records->choices[i].informs && same_choice(&records->choices[i], &records->choices[index]))
            return false;
    return !records->choices[index].informs;
}

static size_t count_cases(const struct records *records)
{
    size_t count = 0;
    for (size_t i = 0; i < records->choice_count; i++)
        count += is_last(records, i);
    return count;
}

static void print_choice(const struct record_choice *choice)
{
    char age[32];
    struct text what = {0};
    const struct record_config *best = &choice->ranked[0];
    show_age(choice->time, age, sizeof age);
    show_tuned(&choice->c, &what);
    printf("%s: %s %s, %.4g ms, %s, %s ago, %s, driver %s\n", text_view(&what), best->variant, best->config,
           best->ms, show_count((size_t)choice->evaluations, "evaluation").text, age, choice->device.name,
           choice->device.driver);
    text_finish(&what);
}

static void print_wrong(const struct record_trust *wrong)
{
    printf("quarantine: %s %s, variant %s %s: %s, %s, driver %s\n", wrong->filter, wrong->parameters,
           wrong->variant, wrong->config, wrong->evidence, wrong->device.name, wrong->device.driver);
}

/* "tuning: 3 cases, 120 measurements, 2 in quarantine": what stands below the list of programs. */
static void print_totals(const struct records *records, const struct record_try_counts *tries,
                         const char *path)
{
    printf("tuning: %s, %s, %s checked, %zu in quarantine\n", show_count(count_cases(records), "case").text,
           show_count(tries->measured, "measurement").text,
           show_count(records->right_count + records->wrong_count, "program").text, records->wrong_count);
    if (records->skipped + tries->skipped)
        printf("%s damaged or of a later version: passed over\n",
               show_count(records->skipped + tries->skipped, "line").text);
    printf("file: %s\n", path);
}

static json_t *records_json(const struct records *records, const struct record_try_counts *tries)
{
    json_t *choices = json_array(), *wrong = json_array();
    for (size_t i = 0; i < records->choice_count; i++)
        if (is_last(records, i)) {
            struct text line = {0};
            record_choice_print(&records->choices[i], &line);
            json_array_append_new(choices, json_loads(text_view(&line), 0, NULL));
            text_finish(&line);
        }
    for (size_t i = 0; i < records->wrong_count; i++) {
        const struct record_trust *w = &records->wrong[i];
        json_array_append_new(wrong, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "filter", w->filter,
                                               "parameters", w->parameters, "variant", w->variant, "config",
                                               w->config, "evidence", w->evidence, "device", w->device.name,
                                               "driver", w->device.driver));
    }
    return json_pack("{s:o, s:o, s:I, s:I, s:I}", "choices", choices, "quarantine", wrong, "tries",
                     (json_int_t)tries->tries, "right", (json_int_t)records->right_count, "skipped",
                     (json_int_t)(records->skipped + tries->skipped));
}

/* Tries are most of a large file, and only counted. */
static hone_status load(struct records *records, struct record_try_counts *tries, char path[PATH_MAX],
                        hone_error *error)
{
    TRY(records_path(path, error));
    TRY(records_load(records, READ_CHOICES | READ_TRUSTS, error));
    return records_count_tries(tries, error);
}

void cache_print_tuning_totals(void)
{
    struct records records = {0};
    struct record_try_counts tries;
    char path[PATH_MAX];
    if (load(&records, &tries, path, NULL) == HONE_OK)
        print_totals(&records, &tries, path);
    records_finish(&records);
}

int cache_tuning(const struct common_options *common)
{
    struct records records = {0};
    struct record_try_counts tries;
    char path[PATH_MAX];
    hone_error error;
    if (load(&records, &tries, path, &error))
        return cli_fail(common, &error);
    if (common->json)
        cli_print_json(records_json(&records, &tries));
    for (size_t i = 0; i < records.choice_count && !common->json; i++)
        if (is_last(&records, i))
            print_choice(&records.choices[i]);
    for (size_t i = 0; i < records.wrong_count && !common->json; i++)
        print_wrong(&records.wrong[i]);
    if (!common->json)
        print_totals(&records, &tries, path);
    records_finish(&records);
    return EXIT_DONE;
}
