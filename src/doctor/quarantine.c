/* SPDX-License-Identifier: BSD-2-Clause */
/* Variants that gave wrong results on a device with its present driver: which, and what was wrong. */
#include "doctor/internal.h"

#include "choose/lookup.h"
#include "choose/records.h"

#include <stdio.h>
#include <string.h>

static bool same_variant(const struct record_trust *a, const struct record_trust *b)
{
    return strcmp(a->filter, b->filter) == 0 && strcmp(a->variant, b->variant) == 0;
}

/* Configurations of this variant in quarantine here; 0 when an earlier record of it told of them already. */
static size_t count_from(const struct records *records, size_t index, const struct record_device *device)
{
    size_t count = 0;
    for (size_t i = 0; i < records->wrong_count; i++) {
        bool ours = same_variant(&records->wrong[i], &records->wrong[index]) &&
                    lookup_level_of(&records->wrong[i].device, device) == LEVEL_EXACT;
        if (ours && i < index)
            return 0;
        count += ours;
    }
    return count;
}

static void tell_one(struct doctor *doctor, int device, const struct record_trust *wrong, size_t count)
{
    char subject[192], others[64] = "";
    snprintf(subject, sizeof subject, "%s, variant %s", wrong->filter, wrong->variant);
    if (count > 1)
        snprintf(others, sizeof others, "; so are %zu more of its configurations", count - 1);
    doctor_tell(doctor, DOCTOR_FILTERS, DOCTOR_WARNING, device, subject,
                "it is not used with this driver; a newer driver is checked anew",
                "in quarantine, with '%s' for '%s': %s%s", wrong->config, wrong->parameters, wrong->evidence,
                others);
}

void doctor_look_at_quarantine(struct doctor *doctor, hone_device *device)
{
    struct records records = {0};
    struct record_device here;
    int index = (int)hone_device_get_info(device)->index;
    hone_error error;
    if (doctor->request->device.no_disk_cache)
        return;
    record_device_of(device, &here);
    if (records_load(&records, READ_TRUSTS, &error))
        doctor_tell(doctor, DOCTOR_FILTERS, DOCTOR_WARNING, index, "tuning records",
                    "without them every variant is checked at its first use", "%s", error.message);
    for (size_t i = 0; i < records.wrong_count; i++) {
        bool wanted = doctor_wants_filter(doctor, records.wrong[i].filter) &&
                      lookup_level_of(&records.wrong[i].device, &here) == LEVEL_EXACT;
        size_t count = wanted ? count_from(&records, i, &here) : 0;
        if (count > 0)
            tell_one(doctor, index, &records.wrong[i], count);
    }
    records_finish(&records);
}
