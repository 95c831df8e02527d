/* SPDX-License-Identifier: BSD-2-Clause */
/* T4 files: what is written of records, and what is read of files of hone and of others. */
#include "tune/t4/t4.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct record_device toaster = {.name = "Toaster",
                                             .vendor = "Kitchen",
                                             .platform = "Bread",
                                             .driver = "1.0",
                                             .architecture = "slot",
                                             .vendor_id = 7,
                                             .compute_units = 4,
                                             .kind = HONE_DEVICE_GPU};
static const struct record_case box8 = {.filter = "box",
                                        .parameters = "size=8",
                                        .border = "replicate",
                                        .source = "aaaa",
                                        .type = HONE_U8,
                                        .channels = 1,
                                        .width = 640,
                                        .height = 480};

/* 2001-09-09, a second before a thousand million. */
static const int64_t when = 999999999;

static struct record_try try_of(const char *variant, const char *config, enum record_state state, double ms)
{
    struct record_try t = {
        .device = toaster, .c = box8, .state = state, .build_ms = 12.5, .time = when, .config.ms = ms};
    snprintf(t.config.variant, sizeof t.config.variant, "%s", variant);
    snprintf(t.config.config, sizeof t.config.config, "%s", config);
    if (ms > 0)
        for (int i = 0; i < 3; i++)
            t.runs[t.run_count++] = ms + 0.25 * i;
    else
        snprintf(t.note, sizeof t.note, "burnt");
    return t;
}

/* Three configurations, one of them measured twice, and one of another size. */
static const char *export_some(void)
{
    static char path[PATH_MAX];
    struct record_try tries[] = {try_of("direct", "WG_X=16 WG_Y=4", STATE_OK, 9),
                                 try_of("direct", "WG_X=16 WG_Y=4", STATE_OK, 2),
                                 try_of("direct", "WG_X=32 WG_Y=4", STATE_SLOW, 4),
                                 try_of("direct", "WG_X=64 WG_Y=4", STATE_WRONG, -1),
                                 try_of("direct", "WG_X=64 WG_Y=1", STATE_OK, 0.5)};
    tries[4].c.width = 1920;
    struct record_choice choice = {
        .device = toaster, .c = box8, .seed_count = 1, .seeds = {{"direct", "WG_X=32 WG_Y=4", 0}}};
    const struct records records = {.tries = tries, .try_count = 5, .choices = &choice, .choice_count = 1};
    hone_error error;
    snprintf(path, sizeof path, "%s", support_path(support_folder(), "box.T4.json"));
    REQUIRE_OK(t4_export(path, &records, &tries[0], &error));
    return path;
}

static const json_t *result_at(const json_t *root, size_t index)
{
    return json_array_get(json_object_get(root, "results"), index);
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

TEST(what_is_written_is_t4)
{
    json_t *root = json_load_file(export_some(), JSON_REJECT_DUPLICATES, NULL);
    const json_t *metadata = json_object_get(root, "metadata");
    REQUIRE(root);
    CHECK_TEXT(text_at(root, "schema_version"), "1.0.0");
    CHECK_TEXT(text_at(metadata, "device"), "Toaster");
    CHECK_TEXT(text_at(metadata, "timeunit"), "milliseconds");
    CHECK_TEXT(text_at(metadata, "timestamp"), "2001-09-09T01:46:39Z");
    CHECK_EQ(json_array_size(json_object_get(root, "results")), 3); /* the last word on each, of this size */
    static const char *const invalidity[] = {"correct", "correct", "correctness"};
    static const int sizes[] = {16, 32, 64};
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = result_at(root, i), *configuration = json_object_get(one, "configuration");
        CHECK_TEXT(text_at(one, "invalidity"), invalidity[i]);
        CHECK_TEXT(text_at(configuration, "variant"), "direct");
        CHECK_EQ(json_integer_value(json_object_get(configuration, "WG_X")), sizes[i]);
        CHECK_EQ(json_integer_value(json_object_get(configuration, "WG_Y")), 4);
    }
    const json_t *runs = json_object_get(json_object_get(result_at(root, 0), "times"), "runtimes");
    CHECK_EQ(json_array_size(runs), 3);
    CHECK(json_real_value(json_array_get(runs, 2)) == 2.5);
    json_decref(root);
}

TEST(what_was_written_is_a_space_to_search)
{
    struct recording recording;
    hone_error error;
    REQUIRE_OK(recording_read(&recording, export_some(), &error));
    CHECK_EQ(recording.count, 3);
    CHECK_EQ(recording.seed_count, 1);
    const struct recorded *seed = recording_find(&recording, &recording.seeds[0]);
    REQUIRE(seed);
    CHECK_EQ(seed->run_count, 3);
    CHECK(seed->ms == 4.25); /* the median of 4, 4.25 and 4.5 */
    struct point other = recording.seeds[0];
    int legal = 0;
    for (int64_t i = 0; i < space_size(&recording.space); i++) {
        const struct point point = space_at(&recording.space, i);
        legal += point_legal(&recording.space, &point);
    }
    CHECK_EQ(legal, 3); /* those that were recorded */
    other.values[SPACE_MAX_PARAMETERS - 1] = 1;
    CHECK(!recording_find(&recording, &other));
    recording_finish(&recording);
}

TEST(what_was_written_comes_back_as_records)
{
    struct records records = {0};
    hone_error error;
    size_t added = 0;
    const char *path = export_some();
    setenv("XDG_DATA_HOME", support_folder(), 1);
    REQUIRE_OK(t4_import(path, &added, &error));
    CHECK_EQ(added, 3);
    REQUIRE_OK(records_load(&records, READ_ALL, &error));
    REQUIRE(records.try_count == 3 && records.choice_count == 1);
    CHECK(memcmp(&records.tries[2].device, &toaster, sizeof toaster) == 0);
    CHECK(memcmp(&records.tries[2].c, &box8, sizeof box8) == 0);
    CHECK_EQ(records.tries[2].state, STATE_WRONG);
    CHECK_TEXT(records.tries[2].note, "burnt");
    CHECK_EQ(records.choices[0].origin, ORIGIN_IMPORT);
    CHECK_EQ(records.choices[0].count, 1); /* a slow one was not measured to the end */
    CHECK_TEXT(records.choices[0].ranked[0].config, "WG_X=16 WG_Y=4");
    CHECK(records.choices[0].ranked[0].ms == 2);
    CHECK_EQ(records.choices[0].time, when); /* when it was measured */
    records_finish(&records);
    REQUIRE_OK(t4_import(path, &added, &error));
    CHECK_EQ(added, 0);
}

static const char *write_text(const char *text)
{
    const char *path = support_path(support_folder(), "other.json");
    support_write(path, text, strlen(text));
    return path;
}

/* As other tuners write: another unit, words, no runs but a measurement, no order of values. */
TEST(files_of_others_are_read)
{
    static const char text[] =
        "{\"metadata\": {\"timeunit\": \"microseconds\"}, \"results\": ["
        " {\"configuration\": {\"T\": \"float4\", \"N\": 8}, \"objectives\": [\"time\"],"
        "  \"times\": {\"runtimes\": [3000, 1000, 2000]}, \"invalidity\": \"correct\"},"
        " {\"configuration\": {\"T\": \"float\", \"N\": 2}, \"objectives\": [\"time\"], \"times\": {},"
        "  \"measurements\": [{\"name\": \"time\", \"value\": 500, \"unit\": \"us\"}],"
        "  \"invalidity\": \"correct\"},"
        " {\"configuration\": {\"T\": \"float\", \"N\": 8}, \"times\": {\"runtimes\": [7]},"
        "  \"invalidity\": \"timeout\"}]}";
    struct recording r;
    hone_error error;
    REQUIRE_OK(recording_read(&r, write_text(text), &error));
    CHECK(r.count == 3 && r.space.count == 1 && r.space.paths[0].count == 2);
    CHECK_TEXT(r.space.paths[0].parameters[1].name, "N");
    CHECK(r.space.paths[0].parameters[1].values[0] == 2 && r.space.paths[0].parameters[1].values[1] == 8);
    CHECK_EQ(r.word_count, 2);
    double times[3], best = 0;
    for (size_t i = 0; i < 3; i++)
        times[i] = r.points[i].ms;
    for (size_t i = 0; i < 3; i++)
        best += times[i];
    CHECK(best == 2 + 0.5 - 1); /* medians in ms, and -1 for what failed, in whatever order */
    CHECK(recording_find(&r, &r.points[1].point) == &r.points[1]);
    recording_finish(&r);
}

TEST(what_is_no_t4_is_refused)
{
    static const struct {
        const char *text, *words;
        hone_status status;
    } bad[] = {{"{\"results\": ", "is no JSON", HONE_ERROR_IO},
               {"{\"metadata\": {}}", "is neither a T4 file", HONE_ERROR_IO},
               {"{\"results\": []}", "holds no results", HONE_ERROR_IO},
               {"{\"results\": [1]}", "result 1 has no configuration", HONE_ERROR_IO}};
    struct recording r;
    hone_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = write_text(bad[i].text);
        CHECK_STATUS(recording_read(&r, path, &error), bad[i].status);
        CHECK_HAS(error.message, bad[i].words);
        CHECK_HAS(error.message, path);
    }
    size_t added = 1;
    setenv("XDG_DATA_HOME", support_folder(), 1);
    CHECK_STATUS(t4_import(write_text("{\"results\": []}"), &added, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "was not exported by hone");
    CHECK_EQ(added, 0);
}

/* More values of one parameter than a space has room for. */
TEST(what_is_too_wide_is_refused)
{
    struct recording r;
    hone_error error;
    json_t *results = json_array();
    for (int i = 0; i <= SPACE_MAX_VALUES; i++)
        json_array_append_new(results, json_pack("{s:{s:i}}", "configuration", "N", i));
    json_t *root = json_pack("{s:o}", "results", results);
    char *text = json_dumps(root, 0);
    CHECK_STATUS(recording_read(&r, write_text(text), &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, "than a space may have");
    free(text);
    json_decref(root);
}
