/* SPDX-License-Identifier: BSD-2-Clause */
/* Who wins a session, with a worker that answers what a test has written down: this program is its own
 * worker, and no device is used. */
#include "tune/session/filter.h"

#include "base/file.h"
#include "choose/lookup.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "support.h"
#include "tune/own/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The worker: FINAL_SCENE says what becomes of each variant, as JSON ----
 *
 * {"strips": {"ms": 1, "final": "crash"}, ...}: `ms` in the search, in the final `final`: milliseconds,
 * "fail", "wrong", "crash" or "lost" (nothing runs in this process any more). `noise`: every other run of the
 * final takes so much longer or less. FINAL_DEFAULT names the variant that runs without tuning. Of a kernel
 * of one's own configurations stand in place of variants. */

static json_t *scene;

static const hone_image_desc gray = {.width = 64, .height = 48, .type = HONE_U8, .channels = 1};

static hone_status parse_case(struct filter_case *c, const char *text, hone_error *error)
{
    hone_status status = chain_parse_case(c, text, error);
    return status ? status : case_prepare(c, &gray, c->filter->inputs > 1 ? &gray : NULL, error);
}

static json_t *describe(const json_t *request)
{
    struct filter_case c;
    struct case_scope scope;
    json_t *all = json_object(), *seeds = json_array(), *variants = json_array();
    parse_case(&c, json_string_value(json_object_get(request, "filter")), NULL);
    case_scope_init(&scope, &c, NULL);
    for (int i = 0; i < scope.scope.count; i++)
        json_object_set_new(all, scope.scope.names[i], json_integer(scope.scope.values[i]));
    const char *name;
    json_t *value;
    json_object_foreach(scene, name, value)
    {
        json_array_append_new(variants, json_string(name));
        json_array_append_new(seeds, json_pack("{s:s, s:s, s:b}", "variant", name, "config", "", "known", 1));
    }
    const char *standard = getenv("FINAL_DEFAULT");
    json_t *defaults = json_array();
    if (standard)
        json_array_append_new(defaults,
                              json_pack("{s:s, s:s, s:b}", "variant", standard, "config", "", "known", 1));
    return json_pack("{s:o, s:o, s:o, s:o, s:[i, i, i, i, i]}", "names", all, "variants", variants, "seeds",
                     seeds, "defaults", defaults, "limits", 1024, 1024, 1024, 1024, 65536);
}

static const json_t *fate(const json_t *request, const char *key)
{
    const char *variant = json_string_value(json_object_get(request, "variant"));
    bool kernel = strcmp(variant, "kernel") == 0;
    const json_t *of =
        json_object_get(scene, kernel ? json_string_value(json_object_get(request, "config")) : variant);
    const json_t *what = json_object_get(of, key);
    return what ? what : json_object_get(of, "ms");
}

static double noise_of(const json_t *request)
{
    const json_t *noise = fate(request, "noise");
    return noise == fate(request, "ms") ? 0 : json_number_value(noise);
}

static json_t *describe_kernel(void)
{
    return json_pack("{s:{}, s:[i, i, i, i, i], s:[], s:s}", "names", "limits", 1024, 1024, 1024, 1024, 65536,
                     "outputs", "first", "A=1");
}

/* As a record has it. */
static json_t *result(const char *state, double ms, json_t *runs, const char *note)
{
    return json_pack("{s:{s:s, s:s, s:f}, s:s, s:o, s:f, s:s}", "config", "variant", "", "config", "", "ms",
                     ms, "state", state, "runs", runs, "build_ms", 1.0, "note", note);
}

static json_t *measure(const json_t *request)
{
    double ms = json_number_value(fate(request, "ms"));
    json_t *answer = result(ms < 0 ? "run" : "ok", ms, json_pack("[f]", ms), "");
    json_object_set_new(answer, "figures",
                        json_pack("{s:f}", "energy", json_number_value(fate(request, "energy"))));
    return answer;
}

static json_t *race(const json_t *request)
{
    const json_t *points = json_object_get(request, "points");
    json_int_t rounds = json_integer_value(json_object_get(request, "rounds"));
    static bool lost;
    json_t *all = json_array();
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *end = fate(json_array_get(points, i), "final");
        const double noise = noise_of(json_array_get(points, i));
        const char *word = json_string_value(end);
        json_t *runs = json_array();
        if (word && strcmp(word, "crash") == 0)
            abort();
        lost = lost || (word && strcmp(word, "lost") == 0);
        for (json_int_t k = 0; k < rounds && !word && !lost; k++)
            json_array_append_new(runs, json_real(json_number_value(end) + (k % 2 ? noise : -noise)));
        bool wrong = word && strcmp(word, "wrong") == 0;
        json_array_append_new(all, result(wrong ? "wrong" : "ok", -1, runs, wrong ? "burnt" : ""));
    }
    return json_pack("{s:o}", "results", all);
}

static json_t *answer_to(const json_t *request)
{
    const char *what = json_string_value(json_object_get(request, "do"));
    if (strcmp(what, "open") == 0)
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s}", "name", "Toaster", "vendor", "Kitchen",
                         "platform", "Bread", "driver", "1.0", "architecture", "slot", "vendor_id", 1,
                         "compute_units", 2, "kind", hone_device_kind_name(HONE_DEVICE_CPU));
    return strcmp(what, "filter") == 0    ? describe(request)
           : strcmp(what, "kernel") == 0  ? describe_kernel()
           : strcmp(what, "measure") == 0 ? measure(request)
           : strcmp(what, "race") == 0    ? race(request)
                                          : json_pack("{s:b}", "ok", 1);
}

__attribute__((constructor)) static void work(int argc, char **argv)
{
    char line[1 << 16];
    if (argc < 2 || strcmp(argv[1], "--tune-worker") != 0)
        return;
    FILE *in = fdopen(WORKER_IN, "r");
    scene = json_loads(getenv("FINAL_SCENE"), 0, NULL);
    while (in && fgets(line, sizeof line, in)) {
        static const char taken[] = "{\"phase\":\"taken\"}\n";
        file_write_all(WORKER_OUT, taken, sizeof taken - 1); /* what happens now is this process's doing */
        json_t *request = json_loads(line, 0, NULL), *answer = answer_to(request);
        char *text = json_dumps(answer, JSON_COMPACT);
        file_write_all(WORKER_OUT, text, strlen(text));
        file_write_all(WORKER_OUT, "\n", 1);
        free(text);
        json_decref(request);
        json_decref(answer);
    }
    _exit(0);
}

/* ---- The tests ---- */

static const struct metrics *wanted; /* NULL: time */
static int budget;                   /* evaluations; 0: as many as the scene has variants */

static struct session_result tune(const char *filter, const char *what, const char *variants)
{
    hone_error error;
    struct worker worker;
    struct filter_case c;
    struct session_result result;
    setenv("FINAL_SCENE", what, 1);
    setenv("XDG_DATA_HOME", support_folder(), 1);
    json_t *all = json_loads(what, 0, NULL);
    const struct session_options options = {.budget = budget ? budget : (int)json_object_size(all),
                                            .random_seed = 1,
                                            .variants = variants,
                                            .metrics = wanted,
                                            .fresh = true};
    json_decref(all);
    REQUIRE_OK(worker_start(&worker, "0", false, &error));
    REQUIRE_OK(parse_case(&c, filter, &error));
    REQUIRE_OK(filter_session_tune(&worker, &c, &options, &result, &error));
    case_finish(&c);
    worker_stop(&worker);
    const struct session_result told = result;
    session_result_finish(&result);
    result = told;
    result.tries = NULL; /* what tests look at is not in there */
    result.missing = NULL;
    return result;
}

/* The state in which a variant's last try is recorded. */
static enum record_state recorded(const char *variant)
{
    struct records records = {0};
    enum record_state state = STATE_COUNT;
    hone_error error;
    REQUIRE_OK(records_load(&records, READ_TRIES, &error));
    for (size_t i = 0; i < records.try_count; i++)
        if (strcmp(records.tries[i].config.variant, variant) == 0)
            state = records.tries[i].state;
    records_finish(&records);
    return state;
}

TEST(the_least_median_of_the_final_wins)
{
    const struct session_result r =
        tune("sobel", "{\"direct\": {\"ms\": 2}, \"strips\": {\"ms\": 1.9, \"final\": 2.5}}", NULL);
    CHECK(r.choice.raced);
    CHECK_TEXT(r.choice.ranked[0].variant, "direct");
    CHECK(r.choice.ranked[0].ms == 2 && r.choice.ranked[1].ms == 2.5);
}

TEST(one_that_fails_in_the_final_cannot_win)
{
    const struct session_result r =
        tune("sobel", "{\"direct\": {\"ms\": 1.4}, \"strips\": {\"ms\": 1, \"final\": \"fail\"}}", NULL);
    CHECK(r.choice.raced);
    CHECK_EQ(r.choice.count, 1);
    CHECK_TEXT(r.choice.ranked[0].variant, "direct");
    CHECK_EQ(recorded("strips"), STATE_RUN);
    CHECK_EQ(r.states[STATE_RUN], 1);
}

TEST(one_that_is_wrong_in_the_final_cannot_win)
{
    const struct session_result r =
        tune("sobel", "{\"direct\": {\"ms\": 1.4}, \"strips\": {\"ms\": 1, \"final\": \"wrong\"}}", NULL);
    CHECK(r.choice.raced);
    CHECK_EQ(r.choice.count, 1);
    CHECK_TEXT(r.choice.ranked[0].variant, "direct");
    CHECK_EQ(recorded("strips"), STATE_WRONG);
    CHECK_EQ(r.states[STATE_WRONG], 1);
    CHECK_TEXT(r.compared_with, ""); /* this worker keeps no results */
}

TEST(those_behind_race_when_all_finalists_are_wrong)
{
    const struct session_result r = tune("sobel",
                                         "{\"direct\": {\"ms\": 1.4, \"final\": \"wrong\"},"
                                         " \"strips\": {\"ms\": 1, \"final\": \"wrong\"},"
                                         " \"separable\": {\"ms\": 3, \"final\": 3.5}}",
                                         NULL);
    CHECK(r.choice.raced);
    CHECK_EQ(r.choice.count, 1);
    CHECK_TEXT(r.choice.ranked[0].variant, "separable");
    CHECK(r.choice.ranked[0].ms == 3.5);
    CHECK_EQ(r.states[STATE_WRONG], 2);
}

TEST(one_that_crashes_in_the_final_is_found)
{
    const struct session_result r = tune("sobel",
                                         "{\"direct\": {\"ms\": 1.4, \"final\": 1.5},"
                                         " \"strips\": {\"ms\": 1, \"final\": \"crash\"},"
                                         " \"separable\": {\"ms\": 1.3, \"final\": 1.7}}",
                                         NULL);
    CHECK(r.choice.raced);
    CHECK_EQ(r.choice.count, 2);
    CHECK_TEXT(r.choice.ranked[0].variant, "direct");
    CHECK(r.choice.ranked[0].ms == 1.5);
    CHECK_EQ(recorded("strips"), STATE_CRASH);
    CHECK_EQ(recorded("separable"), STATE_OK);
}

TEST(one_that_takes_the_context_along_is_found)
{
    const struct session_result r =
        tune("sobel",
             "{\"strips\": {\"ms\": 1, \"final\": \"lost\"}, \"direct\": {\"ms\": 1.4},"
             " \"separable\": {\"ms\": 1.3, \"final\": 1.2}}",
             NULL);
    CHECK(r.choice.raced);
    CHECK_EQ(r.choice.count, 2);
    CHECK(r.choice.ranked[0].ms == 1.2 && r.choice.ranked[1].ms == 1.4);
    CHECK_EQ(recorded("strips"), STATE_RUN);
    CHECK_EQ(recorded("direct"), STATE_OK);
}

TEST(without_a_final_the_search_decides)
{
    static const char *const ends[] = {"crash", "fail"};
    for (size_t i = 0; i < 2; i++) {
        char what[256];
        snprintf(what, sizeof what,
                 "{\"direct\": {\"ms\": 1.4, \"final\": \"%s\"}, \"strips\": {\"ms\": 1, \"final\": \"%s\"}}",
                 ends[i], ends[i]);
        const struct session_result r = tune("sobel", what, NULL);
        CHECK(!r.choice.raced);
        CHECK_TEXT(r.choice.ranked[0].variant, "strips");
        CHECK(r.choice.ranked[0].ms == 1 && r.choice.ranked[1].ms == 1.4);
        CHECK_EQ(recorded("strips"), STATE_OK); /* nobody is to blame */
        CHECK_EQ(recorded("direct"), STATE_OK);
    }
}

TEST(nothing_is_compared_with_what_failed)
{
    setenv("FINAL_DEFAULT", "direct", 1);
    const struct session_result r =
        tune("sobel", "{\"direct\": {\"ms\": 1.4, \"final\": \"fail\"}, \"strips\": {\"ms\": 1}}", NULL);
    CHECK_EQ(r.choice.count, 1);
    CHECK(r.choice.default_ms < 0 && r.choice.plain_ms < 0 && r.choice.first_rung_ms < 0);
}

TEST(comparisons_take_part)
{
    /* Nine that are faster than the plain kernel, which is the first rung here, too. */
    static const char what[] =
        "{\"strips\": {\"ms\": 1}, \"separable\": {\"ms\": 1.1}, \"halves\": {\"ms\": 1.1},"
        " \"swar\": {\"ms\": 1.1}, \"vectors\": {\"ms\": 1.1}, \"lines\": {\"ms\": 1.1},"
        " \"image\": {\"ms\": 1.1}, \"direct\": {\"ms\": 7, \"final\": 9}}";
    const struct session_result r = tune("sobel", what, NULL);
    CHECK(r.choice.plain_ms == 9 && r.choice.first_rung_ms == 9);
    CHECK_TEXT(r.choice.ranked[0].variant, "strips");
}

TEST(the_plain_kernel_is_named_as_it_is)
{
    static const struct {
        const char *filter, *scene, *variants, *plain;
    } cases[] = {
        {"sobel", "{\"direct\": {\"ms\": 2}, \"strips\": {\"ms\": 1}}", NULL,
         "one pixel per work-item, 16x16 (direct)"},
        {"sobel", "{\"direct\": {\"ms\": 2}, \"strips\": {\"ms\": 1}}", "strips", ""},
        {"add", "{\"scalar\": {\"ms\": 2}}", NULL, "one pixel per work-item, 64x1 (scalar)"},
        {"density", "{\"direct\": {\"ms\": 2}}", NULL, "one pixel per work-item, 16x4 (direct)"},
        {"histogram", "{\"global\": {\"ms\": 2}}", NULL, "one pixel per work-item, 64x1 (global)"},
        {"integral", "{\"scans\": {\"ms\": 2}}", NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct session_result r = tune(cases[i].filter, cases[i].scene, cases[i].variants);
        CHECK_TEXT(r.plain, cases[i].plain);
        CHECK((r.choice.plain_ms > 0) == (cases[i].plain[0] != '\0'));
    }
}

TEST(slow_comparisons_have_medians_too)
{
    setenv("FINAL_DEFAULT", "separable", 1);
    const struct session_result r = tune("sobel",
                                         "{\"strips\": {\"ms\": 1}, \"direct\": {\"ms\": 70, \"final\": 20},"
                                         " \"separable\": {\"ms\": 30, \"final\": \"fail\"}}",
                                         NULL);
    CHECK(r.choice.plain_ms == 20 && r.choice.first_rung_ms == 20);
    CHECK(r.choice.default_ms < 0);
    CHECK_EQ(r.choice.count, 1); /* they are compared with, no more */
    CHECK_EQ(recorded("separable"), STATE_RUN);
}

/* What choosing would take of the user's own records, or "". */
static const char *chosen(const struct session_result *r)
{
    static char variant[64];
    struct records records = {0};
    hone_error error;
    REQUIRE_OK(records_load(&records, READ_CHOICES, &error));
    CHECK_EQ(records.choice_count, 1);
    const struct record_choice *choice =
        lookup_choice(&records, &r->choice.device, &r->choice.c, LEVEL_EXACT);
    snprintf(variant, sizeof variant, "%s", choice ? choice->ranked[0].variant : "");
    records_finish(&records);
    return variant;
}

TEST(of_those_that_tie_the_fastest_wins)
{
    setenv("FINAL_DEFAULT", "separable", 1);
    const struct session_result r =
        tune("sobel",
             "{\"direct\": {\"ms\": 1, \"final\": 1.006}, \"strips\": {\"ms\": 1.1, "
             "\"final\": 1}, \"separable\": {\"ms\": 1.3}}",
             NULL);
    CHECK_TEXT(r.choice.ranked[0].variant, "strips");
    CHECK_EQ(r.tied, 1);
}

TEST(what_runs_without_tuning_stays_where_it_ties)
{
    setenv("FINAL_DEFAULT", "separable", 1);
    const struct session_result r =
        tune("sobel",
             "{\"direct\": {\"ms\": 1}, \"strips\": {\"ms\": 1.1, \"final\": 1.001},"
             " \"separable\": {\"ms\": 1.3, \"final\": 1.005}}",
             NULL);
    CHECK_TEXT(r.choice.ranked[0].variant, "separable");
    CHECK(r.choice.default_ms == r.choice.ranked[0].ms);
}

TEST(an_experiment_replaces_nothing_better)
{
    setenv("FINAL_DEFAULT", "lines", 1);
    budget = 2;
    const struct session_result r =
        tune("sobel",
             "{\"lines\": {\"ms\": 1}, \"direct\": {\"ms\": 30}, \"separable\": {\"ms\": 20, \"final\": 21}}",
             "direct,separable");
    CHECK(r.choice.raced && r.choice.informs);
    CHECK_TEXT(r.choice.ranked[0].variant, "lines");
    CHECK(r.choice.default_ms == 1);
    CHECK_TEXT(r.asked.variant, "separable");
    CHECK(r.asked.ms == 21);
    CHECK_EQ(r.choice.evaluations, 2); /* those that were asked for */
    CHECK_EQ(r.choice.origin, ORIGIN_EXPERIMENT);
    CHECK_TEXT(chosen(&r), "");
}

TEST(an_experiment_that_ties_replaces_nothing)
{
    setenv("FINAL_DEFAULT", "lines", 1);
    const struct session_result r =
        tune("sobel", "{\"lines\": {\"ms\": 1.005}, \"direct\": {\"ms\": 1}}", "direct");
    CHECK(r.choice.informs);
    CHECK_TEXT(r.choice.ranked[0].variant, "lines");
    CHECK_TEXT(chosen(&r), "");
}

TEST(an_experiment_that_finds_better_is_used)
{
    setenv("FINAL_DEFAULT", "lines", 1);
    const struct session_result r = tune(
        "sobel", "{\"lines\": {\"ms\": 2}, \"direct\": {\"ms\": 1}, \"strips\": {\"ms\": 0.1}}", "direct");
    CHECK(!r.choice.informs);
    CHECK_TEXT(r.choice.ranked[0].variant, "direct");
    CHECK_TEXT(r.asked.variant, "direct");
    CHECK(r.choice.default_ms == 2);
    CHECK_TEXT(chosen(&r), "direct");
}

/* The search has no evaluation left for it. */
TEST(what_runs_without_tuning_takes_part_in_any_case)
{
    setenv("FINAL_DEFAULT", "lines", 1);
    budget = 2;
    const struct session_result r =
        tune("sobel", "{\"direct\": {\"ms\": 2}, \"strips\": {\"ms\": 1.5}, \"lines\": {\"ms\": 1}}", NULL);
    CHECK_TEXT(r.choice.ranked[0].variant, "lines");
    CHECK(r.choice.default_ms == 1);
    CHECK_TEXT(chosen(&r), "lines");
}

/* The one that takes least of it, whatever its time: but that is the user's wish alone. */
TEST(another_objective_than_time_chooses_nothing)
{
    static struct metrics metrics;
    hone_error error;
    const char *scene_text =
        "{\"direct\": {\"ms\": 1, \"energy\": 5}, \"strips\": {\"ms\": 3, \"energy\": 1},"
        " \"separable\": {\"ms\": 2, \"energy\": 4, \"final\": 9}}";
    REQUIRE_OK(metrics_add(&metrics, "cost=energy*ms", &error));
    REQUIRE_OK(metrics_set_objective(&metrics, "energy", &error));
    wanted = &metrics;
    const struct session_result r = tune("sobel", scene_text, NULL);
    CHECK_TEXT(r.choice.ranked[0].variant, "strips");
    CHECK(r.ranked[0].objective == 1 && r.ranked[0].metrics[0] == 3);
    CHECK_TEXT(r.choice.objective, "energy:min");
    CHECK(r.choice.informs && r.choice.origin == ORIGIN_EXPERIMENT);
    CHECK_TEXT(chosen(&r), "");
    REQUIRE_OK(metrics_set_objective(&metrics, "cost:max", &error)); /* with the time of the final */
    CHECK_TEXT(tune("sobel", scene_text, NULL).choice.ranked[0].variant, "separable");
}

/* ---- Kernels of one's own ---- */

static struct own_session_result tune_kernel(const char *what)
{
    static const char *const settings[][2] = {{"kernel-file", "k.cl"}, {"kernel", "k"},  {"param", "A=1,2,3"},
                                              {"global", "16"},        {"arg", "int:1"}, {"check", "none"}};
    hone_error error;
    struct worker worker;
    struct own_session_result result;
    struct own_spec *spec = own_spec_new();
    const struct own_request request = {.spec = spec, .source = "__kernel void k(int i) {}", .folder = ""};
    const struct session_options options = {.budget = 3, .random_seed = 1, .fresh = true};
    setenv("FINAL_SCENE", what, 1);
    setenv("XDG_DATA_HOME", support_folder(), 1);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        REQUIRE_OK(own_spec_set(spec, settings[i][0], settings[i][1], NULL, &error));
    REQUIRE_OK(worker_start(&worker, "0", false, &error));
    REQUIRE_OK(own_session_tune(&worker, &request, &options, &result, &error));
    worker_stop(&worker);
    own_spec_free(spec);
    return result;
}

TEST(a_kernel_that_fails_in_the_final_cannot_win)
{
    static const char *const ends[] = {"fail", "crash"};
    static const enum record_state states[] = {STATE_RUN, STATE_CRASH};
    for (size_t i = 0; i < 2; i++) {
        char what[256];
        snprintf(what, sizeof what,
                 "{\"A=1\": {\"ms\": 1.4, \"final\": 1.5}, \"A=2\": {\"ms\": 1, \"final\": \"%s\"},"
                 " \"A=3\": {\"ms\": 1.3, \"final\": 1.7}}",
                 ends[i]);
        struct own_session_result r = tune_kernel(what);
        CHECK(r.base.choice.raced);
        CHECK_EQ(r.base.ranked_count, 2);
        CHECK_TEXT(r.base.ranked[0].config, "A=1");
        CHECK(r.base.ranked[0].runs.median == 1.5 && r.base.choice.default_ms == 1.5);
        CHECK_EQ(r.base.states[states[i]], 1);
        CHECK_EQ(r.base.states[STATE_OK], 2);
        own_session_finish(&r);
    }
}

TEST(kernels_behind_race_when_all_finalists_are_wrong)
{
    struct own_session_result r = tune_kernel("{\"A=1\": {\"ms\": 1.4, \"final\": \"wrong\"},"
                                              " \"A=2\": {\"ms\": 1, \"final\": \"wrong\"},"
                                              " \"A=3\": {\"ms\": 3, \"final\": 3.5}}");
    CHECK(r.base.choice.raced);
    CHECK_EQ(r.base.ranked_count, 1);
    CHECK_TEXT(r.base.ranked[0].config, "A=3");
    CHECK(r.base.ranked[0].runs.median == 3.5 && r.base.choice.default_ms < 0);
    CHECK_EQ(r.base.states[STATE_WRONG], 2);
    CHECK_EQ(r.base.states[STATE_OK], 1);
    own_session_finish(&r);
}

/* Ten times slower than the best: it is timed on its own, for the gain is told against it. */
TEST(a_slow_first_configuration_has_a_median_too)
{
    struct own_session_result r = tune_kernel("{\"A=1\": {\"ms\": 20, \"final\": 15},"
                                              " \"A=2\": {\"ms\": 1}, \"A=3\": {\"ms\": 1.3}}");
    CHECK_TEXT(r.base.ranked[0].config, "A=2");
    CHECK_EQ(r.base.ranked_count, 2);
    CHECK(r.base.choice.default_ms == 15);
    own_session_finish(&r);
}

TEST(of_kernels_that_tie_the_fastest_wins)
{
    struct own_session_result r =
        tune_kernel("{\"A=1\": {\"ms\": 1.3}, \"A=2\": {\"ms\": 1, \"final\": 1.005},"
                    " \"A=3\": {\"ms\": 1.1, \"final\": 1}}");
    CHECK_TEXT(r.base.ranked[0].config, "A=3");
    CHECK_TEXT(r.base.ranked[1].config, "A=2");
    CHECK(r.base.tied == 1 && r.base.ranked[1].tied && !r.base.ranked[2].tied);
    own_session_finish(&r);
}

/* Its own noise would make A=3 a tie, and A=2, which is faster, none. */
TEST(a_noisy_kernel_ties_no_sooner_than_a_faster_one)
{
    struct own_session_result r =
        tune_kernel("{\"A=1\": {\"ms\": 1}, \"A=2\": {\"ms\": 1.1, \"final\": 1.02},"
                    " \"A=3\": {\"ms\": 1.2, \"final\": 1.03, \"noise\": 0.4}}");
    CHECK_TEXT(r.base.ranked[1].config, "A=2");
    CHECK_TEXT(r.base.ranked[2].config, "A=3");
    CHECK(r.base.ranked[2].tied <= r.base.ranked[1].tied);
    CHECK(r.base.tied == 0 && r.base.margin == 0.01);
    own_session_finish(&r);
}

TEST(the_first_configuration_stays_where_it_ties)
{
    struct own_session_result r = tune_kernel("{\"A=1\": {\"ms\": 1.3, \"final\": 1.005},"
                                              " \"A=2\": {\"ms\": 1}, \"A=3\": {\"ms\": 1.1}}");
    CHECK_TEXT(r.base.ranked[0].config, "A=1");
    CHECK_TEXT(r.base.ranked[1].config, "A=2");
    own_session_finish(&r);
}

TEST(without_a_final_of_kernels_the_search_decides)
{
    struct own_session_result r = tune_kernel("{\"A=1\": {\"ms\": 1.4, \"final\": \"crash\"},"
                                              " \"A=2\": {\"ms\": 1, \"final\": \"crash\"},"
                                              " \"A=3\": {\"ms\": 1.3, \"final\": \"crash\"}}");
    CHECK(!r.base.choice.raced);
    CHECK_EQ(r.base.ranked_count, 3);
    CHECK_TEXT(r.base.ranked[0].config, "A=2");
    CHECK(r.base.ranked[0].runs.median == 1);
    own_session_finish(&r);
}
