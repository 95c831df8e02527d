/* SPDX-License-Identifier: BSD-2-Clause */
/* T4 files as spaces to search, and as records. */
#include "tune/t4/t4.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/records_json.h"
#include "tune/measure/measure.h"
#include "tune/t4/kernel_tuner.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t max_file = 64u << 20;
static const char path_key[] = "variant"; /* the parameter that names the path */

hone_status t4_load(const char *path, json_t **root, hone_error *error)
{
    struct text text = {0};
    json_error_t where;
    hone_status status = file_read(path, max_file, &text, error);
    *root = NULL;
    if (status)
        return status;
    kernel_tuner_mend(&text);
    *root = json_loadb(text_view(&text), text.length, 0, &where);
    text_finish(&text);
    if (!*root)
        return error_io(error, "'%s' is no JSON: line %d, column %d: %s", path, where.line, where.column,
                        where.text);
    if (json_is_array(json_object_get(*root, "results")))
        return HONE_OK;
    json_t *cache = *root;
    const bool known = kernel_tuner_is_cache(cache);
    *root = known ? kernel_tuner_as_t4(cache) : NULL;
    json_decref(cache);
    if (known)
        return *root ? HONE_OK : error_memory(error, "results");
    return error_io(error,
                    "'%s' is neither a T4 file (it has no list of results) nor a cache file of Kernel Tuner "
                    "(it has no tune_params with a cache)",
                    path);
}

bool t4_is_one(const char *path)
{
    json_t *root = NULL;
    bool is = t4_load(path, &root, NULL) == HONE_OK;
    json_decref(root);
    return is;
}

/* ---- The space ---- */

static struct space_path *path_named(struct recording *r, const char *name, bool add)
{
    for (int i = 0; i < r->space.count; i++)
        if (strcmp(r->space.paths[i].name, name) == 0)
            return &r->space.paths[i];
    if (!add || r->space.count == SPACE_MAX_PATHS || strlen(name) >= sizeof r->space.paths[0].name)
        return NULL;
    struct space_path *path = &r->space.paths[r->space.count++];
    snprintf(path->name, sizeof path->name, "%s", name);
    return path;
}

static struct space_parameter *parameter_named(struct space_path *path, const char *name)
{
    for (int i = 0; i < path->count; i++)
        if (strcmp(path->parameters[i].name, name) == 0)
            return &path->parameters[i];
    if (path->count == SPACE_MAX_PARAMETERS || strlen(name) >= sizeof path->parameters[0].name)
        return NULL;
    struct space_parameter *parameter = &path->parameters[path->count++];
    snprintf(parameter->name, sizeof parameter->name, "%s", name);
    return parameter;
}

static bool add_value(struct space_parameter *parameter, int64_t value)
{
    for (int i = 0; i < parameter->count; i++)
        if (parameter->values[i] == value)
            return true;
    if (parameter->count == SPACE_MAX_VALUES)
        return false;
    parameter->values[parameter->count++] = value;
    return true;
}

static const int64_t first_word = INT64_C(1) << 60; /* beyond all integers that are taken as such */

/* Integers are themselves; words and fractions are numbered. False when there are too many of them. */
static bool value_of(struct recording *r, const json_t *json, int64_t *value)
{
    char word[64];
    double number = json_number_value(json);
    if (json_is_number(json) && number == floor(number) && fabs(number) < 1e15) {
        *value = (int64_t)number;
        return true;
    }
    if (json_is_string(json))
        snprintf(word, sizeof word, "%s", json_string_value(json));
    else
        snprintf(word, sizeof word, "%.10g", json_is_boolean(json) ? json_is_true(json) : number);
    int i = 0;
    while (i < r->word_count && strcmp(r->words[i], word) != 0)
        i++;
    *value = first_word + i;
    if (i < r->word_count)
        return true;
    if (i == RECORDING_MAX_WORDS || !(r->words[i] = mem_copy_text(word)))
        return false;
    r->word_count++;
    return true;
}

const char *recording_word(const struct recording *r, int64_t value)
{
    return value >= first_word && value - first_word < r->word_count ? r->words[value - first_word] : NULL;
}

double recording_number(const struct recording *r, int64_t value)
{
    const char *word = recording_word(r, value);
    char *end;
    if (!word)
        return (double)value;
    const double number = text_number(word, &end);
    return end != word && *end == '\0' ? number : NAN;
}

static bool read_space(struct recording *r, const json_t *paths)
{
    for (size_t i = 0; i < json_array_size(paths); i++) {
        const json_t *from = json_array_get(paths, i), *parameters = json_object_get(from, "parameters");
        const char *name = json_string_value(json_object_get(from, "name"));
        struct space_path *path = name ? path_named(r, name, true) : NULL;
        for (size_t k = 0; path && k < json_array_size(parameters); k++) {
            const json_t *one = json_array_get(parameters, k), *values = json_object_get(one, "values");
            const char *parameter_name = json_string_value(json_object_get(one, "name"));
            struct space_parameter *parameter = parameter_name ? parameter_named(path, parameter_name) : NULL;
            if (!parameter)
                return false;
            parameter->launch_only = json_is_true(json_object_get(one, "launch"));
            for (size_t v = 0; v < json_array_size(values); v++) {
                int64_t value;
                if (!value_of(r, json_array_get(values, v), &value) || !add_value(parameter, value))
                    return false;
            }
        }
        if (!path)
            return false;
    }
    return true;
}

/* Adds what the configuration has that the space lacks, and says where it is. */
static bool read_point(struct recording *r, const json_t *configuration, struct point *point)
{
    const char *name = json_string_value(json_object_get(configuration, path_key)), *key;
    struct space_path *path = path_named(r, name ? name : "all", true);
    json_t *json;
    *point = (struct point){.path = path ? (int)(path - r->space.paths) : 0};
    if (!path)
        return false;
    json_object_foreach((json_t *)configuration, key, json)
    {
        int64_t value = 0;
        if (name && strcmp(key, path_key) == 0)
            continue;
        struct space_parameter *parameter = parameter_named(path, key);
        if (!parameter || !value_of(r, json, &value) || !add_value(parameter, value))
            return false;
        point->values[parameter - path->parameters] = value;
    }
    return true;
}

/* ---- Times ---- */

/* Milliseconds of one unit of the file. */
static double unit_of(const json_t *root)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"nanoseconds", 1e-6},
                 {"microseconds", 1e-3},
                 {"milliseconds", 1},
                 {"miliseconds", 1},
                 {"seconds", 1e3}};
    const char *name = json_string_value(json_object_get(json_object_get(root, "metadata"), "timeunit"));
    for (size_t i = 0; name && i < COUNT_OF(units); i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].ms;
    return 1;
}

static double measurement(const json_t *result)
{
    const json_t *list = json_object_get(result, "measurements");
    const char *wanted = json_string_value(json_array_get(json_object_get(result, "objectives"), 0));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *value = json_object_get(one, "value");
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strcmp(name, wanted ? wanted : "time") == 0 && json_is_number(value))
            return json_number_value(value);
    }
    return -1;
}

static void read_times(struct recorded *to, const json_t *result, double unit)
{
    const json_t *runs = json_object_get(json_object_get(result, "times"), "runtimes");
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    double sorted[RECORD_MAX_RUNS], single = measurement(result);
    to->run_count = 0;
    to->ms = to->cost = -1;
    if (!invalidity || strcmp(invalidity, "correct") != 0)
        return;
    for (size_t i = 0; i < json_array_size(runs) && to->run_count < RECORD_MAX_RUNS; i++)
        if (json_number_value(json_array_get(runs, i)) > 0)
            to->runs[to->run_count++] = json_number_value(json_array_get(runs, i)) * unit;
    if (to->run_count == 0 && single > 0)
        to->runs[to->run_count++] = single * unit;
    memcpy(sorted, to->runs, sizeof sorted);
    to->ms = measure_median(sorted, to->run_count);
    to->cost = to->ms;
}

/* ---- Figures ---- */

/* As metrics can name it: "GFLOP/s" is GFLOP_s. False where that is too long, or empty. */
static bool figure_name(const char *from, char to[EXPR_MAX_NAME + 1])
{
    size_t length = strlen(from);
    if (length < 1 || length > EXPR_MAX_NAME || isdigit((unsigned char)from[0]))
        return false;
    for (size_t i = 0; i <= length; i++)
        to[i] = (char)(from[i] == '\0' || isalnum((unsigned char)from[i]) ? from[i] : '_');
    return true;
}

/* Names beyond the first ones are left out. */
static int figure_named(struct recording *r, const char *name)
{
    int i = 0;
    while (i < r->figure_count && strcmp(r->figures[i], name) != 0)
        i++;
    if (i == r->figure_count && i < RECORDING_MAX_FIGURES)
        snprintf(r->figures[r->figure_count++], sizeof r->figures[0], "%s", name);
    return i;
}

static void read_figures(struct recording *r, struct recorded *to, const json_t *result)
{
    const json_t *list = json_object_get(result, "measurements");
    for (int i = 0; i < RECORDING_MAX_FIGURES; i++)
        to->figures[i] = NAN;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *value = json_object_get(one, "value");
        const char *given = json_string_value(json_object_get(one, "name"));
        char name[EXPR_MAX_NAME + 1];
        if (!given || !json_is_number(value) || !figure_name(given, name) || strcmp(name, "time") == 0 ||
            strcmp(name, "ms") == 0)
            continue;
        const int figure = figure_named(r, name);
        if (figure < RECORDING_MAX_FIGURES)
            to->figures[figure] = json_number_value(value);
    }
}

/* ---- The recording ---- */

static int by_point(const void *a, const void *b)
{
    const struct recorded *x = a, *y = b;
    if (x->point.path != y->point.path)
        return x->point.path < y->point.path ? -1 : 1;
    return memcmp(x->point.values, y->point.values, sizeof x->point.values);
}

const struct recorded *recording_find(const struct recording *r, const struct point *point)
{
    const struct recorded key = {.point = *point};
    return bsearch(&key, r->points, r->count, sizeof *r->points, by_point);
}

static bool legal(const void *context, int path, const int64_t *values)
{
    struct point point = {.path = path};
    memcpy(point.values, values, sizeof point.values);
    return recording_find(context, &point) != NULL;
}

static hone_status too_wide(const char *path, hone_error *error)
{
    return error_unsupported(
        error, "'%s' has more variants (%d), parameters (%d) or values of one (%d) than a space may have",
        path, SPACE_MAX_PATHS, SPACE_MAX_PARAMETERS, SPACE_MAX_VALUES);
}

static hone_status read_results(struct recording *r, const json_t *root, const char *path, hone_error *error)
{
    const json_t *results = json_object_get(root, "results");
    double unit = unit_of(root);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i),
                     *configuration = json_object_get(result, "configuration");
        if (!json_is_object(configuration))
            return error_io(error, "'%s': result %zu has no configuration", path, i + 1);
        if (!mem_grow(&r->points, &r->capacity, r->count + 1, sizeof *r->points))
            return error_memory(error, "a recording");
        struct recorded *to = &r->points[r->count++];
        memset(to, 0, sizeof *to);
        if (!read_point(r, configuration, &to->point))
            return too_wide(path, error);
        read_times(to, result, unit);
        read_figures(r, to, result);
    }
    return HONE_OK;
}

static void read_seeds(struct recording *r, const json_t *seeds)
{
    for (size_t i = 0; i < json_array_size(seeds) && r->seed_count < RECORD_MAX_RANKED; i++)
        if (read_point(r, json_array_get(seeds, i), &r->seeds[r->seed_count]))
            r->seed_count++;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Without a table the order in which values come says nothing. */
static void sort_values(struct space *space)
{
    for (int i = 0; i < space->count; i++)
        for (int k = 0; k < space->paths[i].count; k++)
            qsort(space->paths[i].parameters[k].values, (size_t)space->paths[i].parameters[k].count,
                  sizeof(int64_t), by_value);
}

hone_status recording_read(struct recording *r, const char *path, hone_error *error)
{
    json_t *root = NULL;
    *r = (struct recording){0};
    hone_status status = t4_load(path, &root, error);
    if (status)
        return status;
    const json_t *own = json_object_get(json_object_get(root, "metadata"), "x_hone");
    if (!read_space(r, json_object_get(own, "space")))
        status = too_wide(path, error);
    THEN(status, read_results(r, root, path, error));
    if (!status && r->count == 0)
        status = error_io(error, "'%s' holds no results", path);
    if (status) {
        recording_finish(r);
    } else {
        read_seeds(r, json_object_get(own, "seeds"));
        if (!own)
            sort_values(&r->space);
        qsort(r->points, r->count, sizeof *r->points, by_point);
        r->space.legal = legal;
        r->space.context = r;
    }
    json_decref(root);
    return status;
}

void recording_finish(struct recording *r)
{
    free(r->points);
    for (int i = 0; i < r->word_count; i++)
        free(r->words[i]);
    *r = (struct recording){0};
}
