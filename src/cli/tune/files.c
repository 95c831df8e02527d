/* SPDX-License-Identifier: BSD-2-Clause */
/* hone tune --export, --import and --replay: what was measured, as files. */
#include "cli/tune/tune.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/show.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "tune/search/judge.h"
#include "tune/search/replay.h"
#include "tune/t4/t4.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Export ---- */

static bool same_case(const struct record_try *a, const struct record_try *b)
{
    return memcmp(&a->device, &b->device, sizeof a->device) == 0 && memcmp(&a->c, &b->c, sizeof a->c) == 0;
}

/* Whether tuning these words would tune the case, at its size and format. */
static bool is_case(const char *words, const struct record_case *wanted)
{
    struct filter_case c;
    struct record_case found;
    if (chain_parse_case(&c, words, NULL))
        return false;
    c.in.type = wanted->type;
    record_case_of(&c, &found);
    case_finish(&c);
    return strcmp(found.filter, wanted->filter) == 0 && strcmp(found.parameters, wanted->parameters) == 0 &&
           strcmp(found.border, wanted->border) == 0;
}

/* By an operand: a filter stands for all of its cases, one with parameters for itself. */
static bool is_named(const struct record_case *c, const struct operands *operands)
{
    for (int i = 0; i < operands->count; i++)
        if (strcmp(operands->items[i], c->filter) == 0 || is_case(operands->items[i], c))
            return true;
    return operands->count == 0;
}

static bool is_wanted(const struct tune_run *run, const struct operands *operands, const struct record_try *t)
{
    char size[32];
    snprintf(size, sizeof size, "%ux%u", t->c.width, t->c.height);
    return is_named(&t->c, operands) && (!run->size || strcmp(run->size, size) == 0) &&
           (!run->format || strcmp(run->format, hone_type_name(t->c.type)) == 0) &&
           (run->channels <= 0 || (uint32_t)run->channels == t->c.channels) &&
           (!run->common.device || text_contains_nocase(t->device.name, run->common.device) ||
            text_contains_nocase(t->device.platform, run->common.device) ||
            strcmp(run->common.device, hone_device_kind_name(t->device.kind)) == 0);
}

/* The first try of each case that is wanted. */
static size_t find_cases(const struct tune_run *run, const struct operands *operands,
                         const struct records *records, const struct record_try *cases[MAX_CASES])
{
    size_t count = 0;
    for (size_t i = 0; i < records->try_count; i++) {
        const struct record_try *t = &records->tries[i];
        size_t known = 0;
        while (known < count && !same_case(cases[known], t))
            known++;
        if (known == count && count < MAX_CASES && is_wanted(run, operands, t))
            cases[count++] = t;
    }
    return count;
}

static bool is_folder(const char *path)
{
    struct stat info;
    size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* "box-size8-u8x1-640x480-pthread-skylake.T4.json": letters and digits alone. */
static void file_name(const struct record_try *t, const char *folder, char path[PATH_MAX])
{
    struct text name = {0};
    char clean[256];
    size_t length = 0;
    text_add(&name, "%s-%s-%s-%sx%u-%ux%u-%.24s", t->c.filter, t->c.parameters, t->c.border,
             hone_type_name(t->c.type), t->c.channels, t->c.width, t->c.height, t->device.name);
    for (const char *at = text_view(&name); *at && length < 200; at++)
        if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9'))
            clean[length++] = *at;
        else if (length > 0 && clean[length - 1] != '-' && *at != '=')
            clean[length++] = '-';
    clean[length] = '\0';
    snprintf(path, PATH_MAX, "%.3000s%s%s.T4.json", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
             clean);
    text_finish(&name);
}

static hone_status export_all(const struct tune_run *run, const struct records *records,
                              const struct record_try *const *cases, size_t count, hone_error *error)
{
    hone_status status = HONE_OK;
    char path[PATH_MAX];
    if (is_folder(run->export_to))
        mkdir(run->export_to, 0777); /* what is wrong with it, the first file will tell */
    for (size_t i = 0; i < count && !status; i++) {
        snprintf(path, sizeof path, "%s", run->export_to);
        if (is_folder(run->export_to))
            file_name(cases[i], run->export_to, path);
        status = t4_export(path, records, cases[i], error);
        if (!status)
            cli_note(&run->common, "wrote '%s'", path);
    }
    return status;
}

int tune_export(struct tune_run *run, const struct operands *operands)
{
    struct records records = {0};
    const struct record_try *cases[MAX_CASES];
    hone_error error;
    hone_status status = cli_spare_operands("--export", run->export_to, operands, &error);
    THEN(status, cli_spare_records("--export", run->export_to, &error));
    THEN(status, records_load(&records, READ_TRIES | READ_CHOICES, &error));
    size_t count = status ? 0 : find_cases(run, operands, &records, cases);
    if (!status && count == 0)
        status = error_usage(&error, "nothing that was tuned here fits; `hone cache tuning` lists it");
    else if (!status && count > 1 && !is_folder(run->export_to))
        status = error_usage(
            &error,
            "%zu cases fit, and '%s' takes one: name a folder (with a / behind it), or say which by filter, "
            "--size, --format, --channels and --device",
            count, run->export_to);
    THEN(status, export_all(run, &records, cases, count, &error));
    records_finish(&records);
    if (status)
        return cli_fail(&run->common, &error);
    if (!run->common.quiet)
        printf("%zu case%s exported\n", count, count == 1 ? "" : "s");
    return EXIT_DONE;
}

/* ---- Import ---- */

static hone_status import_records(const char *path, size_t *added, hone_error *error)
{
    struct records records = {0};
    hone_status status = records_load_file(&records, path, READ_ALL, error);
    const size_t count = records.try_count + records.choice_count + records.wrong_count + records.right_count;
    if (!status && count == 0)
        status =
            error_io(error,
                     "'%s' holds nothing to import: it is no T4 file, no cache file of Kernel Tuner, and "
                     "has no tuning records",
                     path);
    records_finish(&records);
    return status ? status : records_merge(path, added, error);
}

int tune_import(struct tune_run *run)
{
    size_t added = 0;
    hone_error error;
    hone_status status = t4_is_one(run->import_from) ? t4_import(run->import_from, &added, &error)
                                                     : import_records(run->import_from, &added, &error);
    if (status)
        return cli_fail(&run->common, &error);
    if (!run->common.quiet)
        printf("%zu record%s added\n", added, added == 1 ? "" : "s");
    return EXIT_DONE;
}

/* ---- Replay ---- */

struct replay {
    const struct recording *recording;
    const struct metrics *metrics;
    struct replay_options options;
    struct replay_result result;
    double value, values[METRICS_MOST]; /* of the best: objective and metrics */
    char objective[EXPR_MAX_NAME + 8];  /* "energy:min" */
};

static json_t *value_json(const struct recording *r, int64_t value)
{
    const double number = recording_number(r, value);
    const char *word = recording_word(r, value);
    return !word ? json_integer(value) : isnan(number) ? json_string(word) : json_real(number);
}

static json_t *best_json(const struct replay *replay)
{
    const struct recorded *best = replay->result.best;
    const struct space_path *path = &replay->recording->space.paths[best->point.path];
    json_t *configuration = json_object(), *metrics = json_object();
    for (int i = 0; i < path->count; i++)
        json_object_set_new(configuration, path->parameters[i].name,
                            value_json(replay->recording, best->point.values[i]));
    for (int i = 0; i < replay->metrics->count; i++)
        json_object_set_new(metrics, replay->metrics->all[i].name, cli_json_real(replay->values[i]));
    return json_pack("{s:s, s:o, s:f, s:o}", "variant", path->name, "configuration", configuration, "ms",
                     best->ms, "metrics", metrics);
}

static json_t *replay_json(const struct replay *replay)
{
    const struct replay_result *r = &replay->result;
    const struct replay_options *options = &replay->options;
    json_t *shares = json_object();
    for (int i = 0; i < REPLAY_MARKS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", replay_marks[i]);
        if (replay_marks[i] <= options->evaluations)
            json_object_set_new(shares, name, json_pack("[f, f]", r->share[i], r->worst[i]));
    }
    return json_pack("{s:s, s:f, s:f, s:o, s:I, s:i, s:i, s:o, s:f, s:f, s:f, s:f, s:f}", "objective",
                     replay->objective, "optimum", replay->value, "optimum_ms", r->best->ms, "best",
                     best_json(replay), "configurations", (json_int_t)r->legal, "budget",
                     options->evaluations, "repeats", options->repeats, "shares", shares, "winner", r->winner,
                     "worst_winner", r->worst_winner, "agreement", r->agreement, "median_to_95",
                     r->median_to_95, "evaluations", r->evaluations);
}

static void print_value(const struct recording *r, int64_t value)
{
    const char *word = recording_word(r, value);
    if (word)
        printf("%s", word);
    else
        printf("%lld", (long long)value);
}

static void print_best(const struct replay *replay)
{
    const struct recorded *best = replay->result.best;
    const struct space_path *path = &replay->recording->space.paths[best->point.path];
    printf("  the best: %s", path->name);
    for (int i = 0; i < path->count; i++) {
        printf(" %s=", path->parameters[i].name);
        print_value(replay->recording, best->point.values[i]);
    }
    printf("; %.4g ms", best->ms);
    for (int i = 0; i < replay->metrics->count; i++)
        if (!isnan(replay->values[i]))
            printf(", %s %.4g", replay->metrics->all[i].name, replay->values[i]);
    printf("\n");
}

static void print_replay(const struct replay *replay)
{
    const struct replay_result *r = &replay->result;
    const struct replay_options *options = &replay->options;
    const struct counted works = show_count((size_t)r->legal, "configuration");
    const char *ending = r->legal == 1 ? "s" : "";
    if (metrics_by_time(replay->metrics))
        printf("%s work%s, the best takes %.4g ms; ", works.text, ending, replay->value);
    else
        printf("%s tell%s %s, the best has %.4g; ", works.text, ending, replay->objective, replay->value);
    printf("%d search%s of at most %s (%.0f on average)\n", options->repeats,
           options->repeats == 1 ? "" : "es", show_count((size_t)options->evaluations, "evaluation").text,
           r->evaluations);
    print_best(replay);
    for (int i = 0; i < REPLAY_MARKS; i++)
        if (replay_marks[i] <= options->evaluations)
            printf("  after %3d evaluations %5.1f %% of the optimum (worst %.1f %%)\n", replay_marks[i],
                   r->share[i] * 100, r->worst[i] * 100);
    printf("  winners               %5.1f %% (worst %.1f %%); %.1f %% of them within 2 %% of the usual one\n",
           r->winner * 100, r->worst_winner * 100, r->agreement * 100);
    if (r->median_to_95 > 0)
        printf("  95 %% of the optimum after %.0f evaluations (median)\n", r->median_to_95);
    else
        printf("  95 %% of the optimum is not reached in half of the searches\n");
}

static hone_status replay_recording(struct replay *replay, struct recording *recording, hone_error *error)
{
    hone_status status = recording_judge(recording, replay->metrics, error);
    THEN(status, replay_run(recording, &replay->options, &replay->result, error));
    if (status)
        return status;
    replay->recording = recording;
    replay->value = recording_value(recording, replay->result.best, replay->metrics, replay->values);
    metrics_print_objective(replay->metrics, replay->objective, sizeof replay->objective);
    return HONE_OK;
}

static int tell(const struct tune_run *run, const struct replay *replay)
{
    if (run->common.json)
        return cli_print_json(replay_json(replay)) ? EXIT_DONE : EXIT_DEVICE;
    print_replay(replay);
    return EXIT_DONE;
}

int tune_replay(struct tune_run *run)
{
    struct recording *recording = mem_new(1, sizeof *recording);
    hone_error error;
    struct replay replay = {.metrics = &run->wishes.metrics,
                            .options = {.evaluations = run->evaluations,
                                        .repeats = run->repeats > 0 ? (int)run->repeats : 50,
                                        .random_seed = run->random_seed,
                                        .without_seeds = run->from_scratch}};
    hone_status status = tune_read_wishes(&run->wishes, &error);
    THEN(status,
         recording ? recording_read(recording, run->replay_of, &error) : error_memory(&error, "a recording"));
    const bool is_read = !status;
    THEN(status, replay_recording(&replay, recording, &error));
    const int result = status ? cli_fail(&run->common, &error) : tell(run, &replay);
    if (is_read)
        recording_finish(recording);
    free(recording);
    return result;
}
