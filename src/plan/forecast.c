/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/forecast.h"

#include "base/error.h"
#include "choose/trust.h"
#include "filter/case.h"
#include "filter/chain.h"

/* The first that a plan would try. Where all are in quarantine, that of the first is the plan's error. */
static hone_status take_first(struct forecast *out, hone_device *device, const struct filter_case *c,
                              const struct choice *choices, size_t count, hone_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct choice *choice = &choices[i];
        if ((i > 0 && variant_usable(device, c, choice->variant, NULL) != HONE_OK) ||
            trust_refuses(device, c, choice->variant, &choice->config))
            continue;
        *out = (struct forecast){choice->variant, choice->config, choice->origin, 0};
        return variant_scratch_bytes(device, c, choice->variant, &choice->config, &out->scratch_bytes, error);
    }
    return error_set(error, HONE_ERROR_CHECK,
                     "all variants of %s give wrong results with this driver and are in quarantine",
                     c->filter->name);
}

hone_status plan_forecast(struct forecast *out, hone_device *device, const char *filter,
                          const hone_image_desc *desc, hone_error *error)
{
    struct filter_case c;
    struct choice choices[MAX_CHOICES];
    const struct choose_request request = {0};
    size_t count = 0;
    TRY(chain_parse_case(&c, filter, error));
    hone_status status = case_prepare(&c, desc, c.filter->inputs > 1 ? desc : NULL, error);
    THEN(status, choose(choices, &count, device, &c, &request, error));
    THEN(status, take_first(out, device, &c, choices, count, error));
    case_finish(&c);
    return status;
}
