/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pick/pick_device.h"

#include "base/error.h"
#include "base/mem.h"
#include "choose/lookup.h"
#include "choose/roofs.h"
#include "choose/shipped.h"
#include "filter/chain.h"
#include "filter/variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How far a good kernel stays below the roofs: tuned kernels of hone's filters reach between a quarter and
 * all of them. */
static const double below_roof = 3;

struct estimate {
    double kernels, transfers; /* seconds */
    size_t measured;           /* filters whose time was measured on such a device */
};

/* The least that any variant costs, whether it runs on this device or not. */
static double roof_seconds(const struct filter_case *c, const struct roofs *roofs)
{
    const double pixels = (double)c->out.width * c->out.height;
    double best = INFINITY;
    for (size_t i = 0; i < c->filter->variant_count; i++) {
        const struct variant *variant = &c->filter->variants[i];
        struct config config;
        struct cost_values cost;
        config_default(variant, &config);
        if (variant_allowed(c, variant, NULL) || variant_cost(c, variant, &config, &cost, NULL))
            continue;
        const double memory = cost.bytes / roofs->copy, arithmetic = cost.operations / roofs->operations;
        const double seconds = pixels * (memory > arithmetic ? memory : arithmetic);
        best = seconds < best ? seconds : best;
    }
    return isfinite(best) ? best * below_roof : pixels / roofs->operations;
}

/* What was measured for another size counts by its pixels, on another device of the architecture by its
 * compute units. */
static bool seconds_among(const struct records *records, const struct record_device *device,
                          const struct record_case *wanted, double *seconds)
{
    for (enum lookup_level level = LEVEL_EXACT; level <= LEVEL_ARCHITECTURE; level++) {
        const struct record_choice *choice = lookup_choice(records, device, wanted, level);
        if (!choice || choice->count == 0 || choice->ranked[0].ms <= 0)
            continue;
        const double there = (double)choice->c.width * choice->c.height,
                     here = (double)wanted->width * wanted->height;
        const double units = device->compute_units && level == LEVEL_ARCHITECTURE
                                 ? (double)choice->device.compute_units / device->compute_units
                                 : 1;
        *seconds = choice->ranked[0].ms * 1e-3 * here / there * units;
        return true;
    }
    return false;
}

/* The user's own measurements, then those that come with hone. */
static bool measured_seconds(const struct records *own, const struct record_device *device,
                             const struct filter_case *c, double *seconds)
{
    struct record_case wanted;
    struct records shipped;
    record_case_of(c, &wanted);
    if (seconds_among(own, device, &wanted, seconds))
        return true;
    if (shipped_records(c->filter->name, &shipped, NULL) != HONE_OK)
        return false;
    const bool found = seconds_among(&shipped, device, &wanted, seconds);
    records_finish(&shipped);
    return found;
}

static struct estimate estimate(const struct filter_case *cases, size_t count, const struct records *records,
                                const struct record_device *device, const struct roofs *roofs)
{
    struct estimate e = {.kernels = roofs->launch};
    for (size_t i = 0; i < count; i++) {
        double seconds;
        const bool measured = measured_seconds(records, device, &cases[i], &seconds);
        e.kernels += measured ? seconds : roof_seconds(&cases[i], roofs);
        e.measured += measured;
    }
    if (roofs->upload > 0)
        e.transfers += (double)hone_image_bytes(&cases[0].in) / roofs->upload;
    if (roofs->download > 0)
        e.transfers += (double)hone_image_bytes(&cases[count - 1].out) / roofs->download;
    return e;
}

static hone_status measure_roofs(const struct pick_request *request, const hone_device_info *info,
                                 struct roofs *roofs, hone_error *error)
{
    char spec[16];
    hone_device *device = NULL;
    hone_device_request open = request->device;
    snprintf(spec, sizeof spec, "%u", info->index);
    open.spec = spec;
    hone_status status = hone_device_open(&device, &open, error);
    THEN(status, roofs_measure(device, roofs, error));
    hone_device_close(&device);
    return status;
}

/* False when the device is out of the question; *why says so. */
static bool find_roofs(const struct pick_request *request, const hone_device_info *info, struct roofs *roofs,
                       hone_error *why)
{
    const enum roofs_known known = roofs_recall(info, roofs);
    if (known == ROOFS_UNFINISHED)
        error_set(why, HONE_ERROR_DEVICE,
                  "its driver did not survive being measured; --device %u uses it all the same", info->index);
    return known == ROOFS_KNOWN ||
           (known == ROOFS_UNKNOWN && measure_roofs(request, info, roofs, why) == HONE_OK);
}

static void tell(const struct pick_request *request, const hone_device_info *info, const struct estimate *e,
                 size_t count, const char *trouble)
{
    char sentence[640];
    if (!request->tell)
        return;
    if (trouble)
        snprintf(sentence, sizeof sentence, "device %u (%.200s) is left out: %.380s", info->index, info->name,
                 trouble);
    else
        snprintf(
            sentence, sizeof sentence,
            "device %u (%.200s): %.3g ms expected, %.3g of them for transfers; %zu of %zu filter%s measured",
            info->index, info->name, (e->kernels + e->transfers) * 1e3, e->transfers * 1e3, e->measured,
            count, count == 1 ? "" : "s");
    request->tell(request->context, sentence);
}

/* Records that cannot be read are none: the same images come out without them. */
static void load_own(const struct pick_request *request, struct records *records)
{
    hone_error why = {0};
    char sentence[640];
    if (records_load(records, READ_CHOICES, &why) == HONE_OK)
        return;
    snprintf(sentence, sizeof sentence, "what was measured here is not known: %.560s", why.message);
    if (request->tell)
        request->tell(request->context, sentence);
}

static hone_status pick(unsigned *index, const struct pick_request *request, const struct filter_case *cases,
                        const hone_device_info *devices, size_t count, hone_error *error)
{
    struct records records = {0};
    double best = INFINITY;
    load_own(request, &records);
    for (size_t i = 0; i < count; i++) {
        hone_error why = {0};
        struct roofs roofs;
        struct record_device device;
        const bool usable = find_roofs(request, &devices[i], &roofs, &why);
        struct estimate e = {0};
        if (usable) {
            record_device_of_info(&devices[i], &device);
            e = estimate(cases, request->chain->count, &records, &device, &roofs);
        }
        tell(request, &devices[i], &e, request->chain->count, usable ? NULL : why.message);
        if (usable && e.kernels + e.transfers < best) {
            best = e.kernels + e.transfers;
            *index = devices[i].index;
        }
    }
    records_finish(&records);
    if (isfinite(best))
        return HONE_OK;
    return error_set(error, HONE_ERROR_NO_DEVICE,
                     "no device of this machine can be used; `hone doctor` says why");
}

hone_status pick_device_among(unsigned *index, const struct pick_request *request,
                              const hone_device_info *devices, size_t count, hone_error *error)
{
    struct filter_case *cases = mem_new(request->chain->count, sizeof *cases);
    if (!cases)
        return error_memory(error, "a chain");
    hone_status status =
        chain_cases(cases, request->chain, request->input, request->second, request->second_count, error);
    if (!status) {
        status = pick(index, request, cases, devices, count, error);
        chain_cases_finish(cases, request->chain->count);
    }
    free(cases);
    return status;
}

hone_status pick_device(unsigned *index, const struct pick_request *request, hone_error *error)
{
    hone_device_info *devices = NULL;
    size_t count = 0;
    *index = 0;
    hone_status status = hone_device_list(&devices, &count, error);
    if (!status && count == 1)
        *index = devices[0].index; /* not 0 where others are left out */
    if (!status && count > 1)
        status = pick_device_among(index, request, devices, count, error);
    hone_device_list_free(&devices);
    return status;
}
