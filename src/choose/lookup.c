/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/lookup.h"

#include "filter/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes and channels weigh as much as makes records say most of each other: each case of the H200 with what
 * was fastest in the nearest other one reached 88 % of its best with 1 for twice the pixels and 1 for any
 * other number of channels, 92 % with these. */
static const double far_away = 3, parameter_weight = 18, other_value = 4, size_weight = 0.6;

/* A processor runs what its OpenCL makes of a kernel: of the same one under another OpenCL nothing is known.
 * Of the same instructions, caches and memory decide, which are the vendor's. PoCL gives all vendors one
 * number: names tell. */
static bool alike_processors(const struct record_device *record, const struct record_device *device)
{
    return strcmp(record->platform, device->platform) == 0 && strcmp(record->vendor, device->vendor) == 0;
}

enum lookup_level lookup_level_of(const struct record_device *record, const struct record_device *device)
{
    /* The same name may stand for a part of it, or for a larger machine. */
    bool same_device = strcmp(record->name, device->name) == 0 &&
                       strcmp(record->platform, device->platform) == 0 &&
                       record->compute_units == device->compute_units;
    if (same_device)
        return strcmp(record->driver, device->driver) == 0 ? LEVEL_EXACT : LEVEL_DRIVER;
    const bool cpu = device->kind == HONE_DEVICE_CPU;
    bool comparable = record->kind == device->kind && (!cpu || alike_processors(record, device));
    if (comparable && device->architecture[0] && strcmp(record->architecture, device->architecture) == 0)
        return LEVEL_ARCHITECTURE;
    if (comparable && !cpu && record->vendor_id == device->vendor_id)
        return LEVEL_VENDOR;
    return record->kind == device->kind ? LEVEL_KIND : LEVEL_ALL;
}

struct pair {
    const char *name, *value; /* value NULL: a word without '=' */
    size_t name_length, length;
};

/* The next "name=value" of a list; the values of known parameters hold no spaces. False: none is left. */
static bool next_pair(struct pair *pair, const char **at)
{
    const char *word = *at + strspn(*at, " ");
    const size_t all = strcspn(word, " "), name = strcspn(word, " =");
    *pair = (struct pair){word, name < all ? word + name + 1 : NULL, name, name < all ? all - name - 1 : 0};
    *at = word + all;
    return all > 0;
}

/* Texts are recorded as head:digest; 5x5 weights run as others do. */
static bool same_head(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const char *a_colon = memchr(a, ':', a_length), *b_colon = memchr(b, ':', b_length);
    return a_colon && b_colon && a_colon > a && a_colon - a == b_colon - b &&
           strncmp(a, b, (size_t)(a_colon - a)) == 0;
}

/* NULL: none of that name. */
static const struct parameter *find_parameter(const struct hone_filter *filter, const struct pair *pair)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)pair->name_length, pair->name);
    int index = filter ? filter_parameter(filter, text) : -1;
    return index >= 0 ? &filter->parameters[index] : NULL;
}

static double weighed(const struct parameter *parameter, double distance)
{
    return distance > 0 && parameter && parameter->incidental ? 0.25 : distance;
}

/* One value against another: numbers by their ratio, anything else by being the same or not. An eighth more
 * of a sigma or of a window's side is as far as a measurement reaches: beyond, another variant may be best,
 * and hand-written choices know where. */
static double value_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    char *a_end, *b_end;
    if (a_length == b_length && strncmp(a, b, a_length) == 0)
        return 0;
    if (same_head(a, a_length, b, b_length))
        return 0.5;
    double x = strtod(a, &a_end), y = strtod(b, &b_end);
    if (a_end != a + a_length || b_end != b + b_length || x <= 0 || y <= 0)
        return other_value;
    return parameter_weight * fabs(log2(x / y));
}

static bool find_value(const char *list, const char *name, size_t name_length, struct pair *found)
{
    while (next_pair(found, &list))
        if (found->value && found->name_length == name_length && strncmp(found->name, name, name_length) == 0)
            return true;
    return false;
}

/* Of what the record gives; and of what `wanted` gives of parameters without a default, and the record leaves
 * out: it was something else. */
static double parameter_distance(const struct hone_filter *filter, const char *record, const char *wanted)
{
    double distance = 0;
    struct pair pair, other;
    for (const char *at = record; next_pair(&pair, &at);) {
        const bool given = pair.value && find_value(wanted, pair.name, pair.name_length, &other);
        const double one = given ? value_distance(pair.value, pair.length, other.value, other.length) : 2;
        distance += weighed(find_parameter(filter, &pair), one);
    }
    for (const char *at = wanted; next_pair(&pair, &at);) {
        const struct parameter *parameter = find_parameter(filter, &pair);
        if (parameter && !parameter->fallback && !find_value(record, pair.name, pair.name_length, &other))
            distance += weighed(parameter, other_value);
    }
    return distance;
}

/* exact=yes admits other variants: neither says anything of the other. */
static bool is_exact(const struct record_case *c)
{
    struct pair found;
    return find_value(c->parameters, "exact", strlen("exact"), &found);
}

/* Where a border has a record of its own, it is another choice than the usual border's: a third border's is
 * more likely the usual one. */
static double border_distance(const char *record, const char *wanted)
{
    if (strcmp(record, wanted) == 0)
        return 0;
    return strcmp(record, hone_border_name(HONE_BORDER_REPLICATE)) == 0 ? 0.25 : 0.3;
}

static double size_distance(const struct record_case *record, const struct record_case *wanted)
{
    double pixels = (double)record->width * record->height,
           wanted_pixels = (double)wanted->width * wanted->height;
    return pixels > 0 && wanted_pixels > 0 ? fabs(log2(pixels / wanted_pixels)) : 0;
}

double lookup_distance(const struct record_case *record, const struct record_case *wanted)
{
    if (strcmp(record->filter, wanted->filter) != 0 || record->type != wanted->type ||
        is_exact(record) != is_exact(wanted))
        return -1;
    double distance =
        parameter_distance(registry_find(record->filter), record->parameters, wanted->parameters);
    double sizes = size_distance(record, wanted);
    if (sizes >= far_away)
        return -1;
    distance += size_weight * sizes;
    distance += fabs(log2((double)record->channels / wanted->channels));
    distance += border_distance(record->border, wanted->border);
    /* Of other kernels: a hint, no more. What comes with hone names none: it was made for those that come
     * with it. */
    distance += record->source[0] && strcmp(record->source, wanted->source) != 0 ? 2 : 0;
    return distance;
}

/* A device of 60 compute units is nearer to one of 80 than one of 8 is, where all else is equal. */
static double units_distance(const struct record_device *record, const struct record_device *device)
{
    if (record->compute_units == 0 || device->compute_units == 0)
        return 0; /* what stands for a group */
    return fabs(log2((double)record->compute_units / device->compute_units)) / 16;
}

const struct record_choice *lookup_choice(const struct records *records, const struct record_device *device,
                                          const struct record_case *wanted, enum lookup_level level)
{
    const struct record_choice *nearest = NULL;
    double best = far_away;
    for (size_t i = 0; i < records->choice_count; i++) {
        const struct record_choice *choice = &records->choices[i];
        if (choice->informs || lookup_level_of(&choice->device, device) != level)
            continue;
        double distance = lookup_distance(&choice->c, wanted);
        if (distance < 0)
            continue;
        distance += units_distance(&choice->device, device);
        /* Of equals the one that was measured last; files that were merged are in no order. */
        if (distance < best || (distance == best && (!nearest || choice->time >= nearest->time))) {
            best = distance;
            nearest = choice;
        }
    }
    return nearest;
}
