/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/select.h"

#include "base/mem.h"
#include "base/text.h"
#include "cl/listing/questions.h"
#include "cl/platforms.h"
#include "cl/selftest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct candidate {
    struct found_device found;
    hone_device_info info;
    unsigned index;
    double score;
};

double device_clock_mhz(const hone_device_info *info)
{
    return info->clock_mhz ? info->clock_mhz : 1000;
}

/* Without a measurement: GPUs first, then what the data sheet would call fast. */
static double score(const hone_device_info *info)
{
    static const double kinds[] = {[HONE_DEVICE_CPU] = 1e9,
                                   [HONE_DEVICE_GPU] = 3e9,
                                   [HONE_DEVICE_ACCELERATOR] = 2e9,
                                   [HONE_DEVICE_OTHER] = 0};
    return kinds[info->kind] + info->compute_units * device_clock_mhz(info);
}

static bool is_number(const char *spec, unsigned long *number)
{
    char *end = NULL;
    *number = strtoul(spec, &end, 10);
    return isdigit((unsigned char)spec[0]) && *end == '\0';
}

static bool matches(const struct candidate *candidate, const char *spec)
{
    const hone_device_info *info = &candidate->info;
    if (strcmp(spec, "auto") == 0)
        return true;
    unsigned long number = 0;
    if (is_number(spec, &number))
        return number == candidate->index;
    if (!strcasecmp(spec, "cpu") || !strcasecmp(spec, "gpu") || !strcasecmp(spec, "accelerator"))
        return strcasecmp(spec, hone_device_kind_name(info->kind)) == 0;
    return text_contains_nocase(info->name, spec) || text_contains_nocase(info->platform, spec) ||
           text_contains_nocase(info->board, spec);
}

static int by_score(const void *a, const void *b)
{
    const struct candidate *first = a, *second = b;
    if (first->score != second->score)
        return first->score < second->score ? 1 : -1;
    return (first->index > second->index) - (first->index < second->index);
}

/* `request` says where the words come from; a caller may hand the variable on. */
static hone_status nothing_found(const struct candidate *all, size_t count, const char *spec,
                                 const hone_device_request *request, hone_error *error)
{
    if (count == 0)
        return error_set(
            error, HONE_ERROR_NO_DEVICE,
            "no OpenCL device on this machine; install your GPU's OpenCL driver, or PoCL to use the CPU "
            "(Debian: apt install pocl-opencl-icd)");
    struct text names = {0};
    const char *set = getenv("HONE_DEVICE");
    const bool is_set = set && (!request->spec || strcmp(request->spec, set) == 0);
    for (size_t i = 0; i < count; i++)
        text_add(&names, "%s%u '%s' (%s)", i ? ", " : "", all[i].index, all[i].info.name,
                 hone_device_kind_name(all[i].info.kind));
    hone_status status =
        error_set(error, HONE_ERROR_NO_DEVICE, "no OpenCL device fits '%s'%s; the devices here: %s", spec,
                  is_set ? " (HONE_DEVICE)" : "", text_view(&names));
    text_finish(&names);
    return status;
}

/* Opens the best; where there is a choice, one that fails its self-test yields to the next. */
static hone_status open_best(hone_device **out, const struct candidate *list, size_t count,
                             const hone_device_request *request, hone_error *error)
{
    hone_device *failed = NULL;
    hone_status status = HONE_ERROR_NO_DEVICE;
    for (size_t i = 0; i < count; i++) {
        hone_device *device = NULL;
        status = device_open_found(&device, &list[i].found, list[i].index, request, error);
        if (status)
            continue;
        if (count == 1 || selftest_passes(device)) {
            *out = device;
            break;
        }
        device_log(device, HONE_LOG_WARNING,
                   "device '%s' failed its self-test (see `hone doctor`); trying the next",
                   list[i].info.name);
        if (failed)
            hone_device_close(&device);
        else
            failed = device;
    }
    if (!*out && failed) {
        *out = failed;
        return HONE_OK;
    }
    hone_device_close(&failed);
    return *out ? HONE_OK : status;
}

static hone_status open_matching(hone_device **out, const struct candidate *all, size_t count,
                                 const char *spec, const hone_device_request *request, hone_error *error)
{
    struct candidate *list = mem_new(count, sizeof *list);
    if (!list)
        return error_memory(error, "the list of devices");
    size_t fitting = 0;
    for (size_t i = 0; i < count; i++)
        if (matches(&all[i], spec))
            list[fitting++] = all[i];
    qsort(list, fitting, sizeof *list, by_score);
    hone_status status = fitting ? open_best(out, list, fitting, request, error)
                                 : nothing_found(all, count, spec, request, error);
    free(list);
    return status;
}

/* A comma-separated list is tried from left to right; the error is that of the last try. */
static hone_status try_specs(hone_device **out, const struct candidate *all, size_t count, const char *specs,
                             const hone_device_request *request, hone_error *error)
{
    char *copy = mem_copy_text(specs), *save = NULL;
    if (!copy)
        return error_memory(error, "a device spec");
    hone_status status = HONE_ERROR_USAGE;
    bool any = false;
    for (char *spec = strtok_r(copy, ",", &save); spec && !*out; spec = strtok_r(NULL, ",", &save)) {
        spec += strspn(spec, " ");
        if (!*spec)
            continue;
        status = open_matching(out, all, count, spec, request, error);
        any = true;
    }
    free(copy);
    return any ? status
               : error_usage(error, "an empty device spec; use a number, cpu, gpu or part of a name");
}

/* Those that were found, from `first` to before `end`. */
struct range {
    size_t first, end;
    bool is_number; /* the caller wants this one and no other: there is nothing to leave it out for */
};

/* Fills `all`, which has room for them, with those that describe themselves; `why` is the error of the first
 * that does not. */
static size_t describe(struct candidate *all, const struct found_device *found, struct range range,
                       hone_error *why)
{
    size_t described = 0;
    for (size_t i = range.first; i < range.end; i++) {
        char *extensions = NULL;
        hone_error error;
        struct candidate *candidate = &all[described];
        candidate->found = found[i];
        candidate->index = (unsigned)i;
        const hone_status status =
            range.is_number
                ? platform_describe(found[i].platform, found[i].id, &candidate->info, &extensions, &error)
                : question_describe(&found[i], range.end - i, &candidate->info, &extensions, &error);
        if (!status) {
            candidate->info.index = (unsigned)i;
            candidate->score = score(&candidate->info);
            described++;
        } else if (!why->status)
            *why = error;
        free(extensions);
    }
    return described;
}

/* Who is named by its number does not depend on the others, which may hang. */
static struct range range_of(const char *spec, size_t count)
{
    unsigned long number = 0;
    return is_number(spec, &number) && number < count ? (struct range){number, number + 1, true}
                                                      : (struct range){0, count, false};
}

/* A device that does not describe itself may be the one that is missed. */
static hone_status blame_undescribed(bool is_only, const hone_error *why, hone_error *error)
{
    if (is_only)
        return error_pass(error, why);
    const hone_error found = error ? *error : (hone_error){.message = ""};
    return error_set(error, HONE_ERROR_NO_DEVICE, "%s; another one cannot be used: %s", found.message,
                     why->message);
}

/* What hangs. */
static void log_left_out(const hone_device_request *request)
{
    for (const char *warning; request->log && (warning = platform_take_warning());)
        request->log(request->log_user, HONE_LOG_WARNING, warning);
}

hone_status select_device(hone_device **out, const hone_device_request *request, hone_error *error)
{
    const char *given = request->spec ? request->spec : getenv("HONE_DEVICE"),
               *spec = given && *given ? given : "auto";
    struct found_device *found = NULL;
    size_t count = 0;
    hone_error why = {.status = HONE_OK};
    hone_status status = platform_find_devices(&found, &count, error);
    log_left_out(request);
    if (status)
        return status;
    struct candidate *all = mem_new(count, sizeof *all);
    const size_t described = all ? describe(all, found, range_of(spec, count), &why) : 0;
    log_left_out(request);
    status = all ? try_specs(out, all, described, spec, request, error)
                 : error_memory(error, "the list of devices");
    if (status == HONE_ERROR_NO_DEVICE && why.status)
        status = blame_undescribed(described == 0, &why, error);
    free(all);
    free(found);
    return status;
}
