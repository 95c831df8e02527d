/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/t4/kernel_tuner.h"

#include "base/mem.h"

#include <string.h>

static const double failed_time = 1e19; /* old versions write 1e20 for what failed */

/* ---- Text ---- */

/* Overwrites a number that is no JSON by an empty string; returns its length, or 0. */
static size_t blank_number(char *bytes, size_t at, size_t length)
{
    static const char *const words[] = {"NaN", "Infinity"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const size_t word = strlen(words[i]);
        if (length - at < word || memcmp(bytes + at, words[i], word) != 0)
            continue;
        memset(bytes + at, ' ', word);
        bytes[at] = bytes[at + 1] = '"';
        if (at > 0 && bytes[at - 1] == '-')
            bytes[at - 1] = ' ';
        return word;
    }
    return 0;
}

struct scan {
    int depth;
    bool in_string;
    size_t cut; /* behind the last whole entry */
};

static struct scan scan_text(char *bytes, size_t length, size_t entries)
{
    struct scan s = {0};
    for (size_t i = 0; i < length; i++) {
        const char c = bytes[i];
        if (s.in_string) {
            i += c == '\\';
            s.in_string = c != '"';
        } else if (c == '"') {
            s.in_string = true;
        } else if (c == '{' || c == '[') {
            s.depth++;
        } else if (c == '}' || c == ']') {
            s.depth--;
            if (s.depth == 2 && c == '}' && i > entries)
                s.cut = i + 1;
        } else if (c == 'N' || c == 'I') {
            const size_t skipped = blank_number(bytes, i, length);
            i += skipped ? skipped - 1 : 0;
        }
    }
    return s;
}

void kernel_tuner_mend(struct text *file)
{
    static const char entries[] = "\"cache\"", parameters[] = "\"tune_params\"";
    const char *at = file->data ? memmem(file->data, file->length, entries, sizeof entries - 1) : NULL;
    if (!at || !memmem(file->data, file->length, parameters, sizeof parameters - 1))
        return;
    const struct scan s = scan_text(file->data, file->length, (size_t)(at - file->data));
    if (s.depth == 0 && !s.in_string)
        return;
    if (s.cut > 0)
        file->length = s.cut;
    text_add(file, "}}");
}

/* ---- JSON ---- */

bool kernel_tuner_is_cache(const json_t *root)
{
    return json_is_object(json_object_get(root, "cache")) &&
           json_is_object(json_object_get(root, "tune_params"));
}

static const char *invalidity_of(const json_t *time)
{
    const char *word = json_string_value(time);
    if (word && strncmp(word, "Compilation", strlen("Compilation")) == 0)
        return "compile";
    if (word)
        return strcmp(word, "InvalidConfig") == 0 ? "constraints" : "runtime";
    return json_number_value(time) > 0 && json_number_value(time) < failed_time ? "correct" : "runtime";
}

/* What was measured beside the time: numbers that are no parameters. */
static json_t *measurements_of(const json_t *parameters, const json_t *entry)
{
    json_t *all = json_array(), *value;
    const char *name;
    json_object_foreach((json_t *)entry, name,
                        value) if (json_is_number(value) && !json_object_get(parameters, name))
        json_array_append_new(all, json_pack("{s:s, s:O}", "name", name, "value", value));
    return all;
}

static json_t *result_of(const json_t *parameters, const json_t *entry)
{
    json_t *configuration = json_object(), *runs = json_array(), *value;
    const json_t *time = json_object_get(entry, "time"), *times = json_object_get(entry, "times");
    const char *name;
    json_object_foreach((json_t *)parameters, name, value) if (json_object_get(entry, name))
        json_object_set(configuration, name, json_object_get(entry, name));
    for (size_t i = 0; i < json_array_size(times); i++)
        if (json_is_number(json_array_get(times, i)))
            json_array_append(runs, json_array_get(times, i));
    if (json_array_size(runs) == 0 && json_is_number(time))
        json_array_append(runs, (json_t *)time);
    return json_pack("{s:o, s:{s:o}, s:s, s:o}", "configuration", configuration, "times", "runtimes", runs,
                     "invalidity", invalidity_of(time), "measurements", measurements_of(parameters, entry));
}

static json_t *space_of(const json_t *parameters)
{
    json_t *all = json_array(), *values;
    const char *name;
    json_object_foreach((json_t *)parameters, name, values)
        json_array_append_new(all, json_pack("{s:s, s:O}", "name", name, "values", values));
    return json_pack("[{s:s, s:o}]", "name", "all", "parameters", all);
}

static const char *text_of(const json_t *root, const char *key)
{
    const char *text = json_string_value(json_object_get(root, key));
    return text ? text : "";
}

json_t *kernel_tuner_as_t4(const json_t *root)
{
    const json_t *parameters = json_object_get(root, "tune_params");
    json_t *results = json_array(), *entry;
    const char *key;
    json_object_foreach(json_object_get(root, "cache"), key, entry) if (json_is_object(entry))
        json_array_append_new(results, result_of(parameters, entry));
    return json_pack("{s:{s:s, s:{s:o}, s:{s:s, s:s}}, s:o}", "metadata", "timeunit", "milliseconds",
                     "x_hone", "space", space_of(parameters), "kernel_tuner", "device",
                     text_of(root, "device_name"), "kernel", text_of(root, "kernel_name"), "results",
                     results);
}
