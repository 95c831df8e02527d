/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding what was measured for a case, here or on a device like this one. */
#pragma once

#include "choose/records.h"

/* How near the device of a record is; smaller is nearer. */
enum lookup_level {
    LEVEL_EXACT,        /* this device, this driver */
    LEVEL_DRIVER,       /* this device, another driver */
    LEVEL_ARCHITECTURE, /* same architecture; of CPUs, by the same platform and vendor */
    LEVEL_VENDOR,       /* same vendor and kind of device; not of CPUs */
    LEVEL_KIND,         /* same kind: CPU, GPU ... */
    LEVEL_ALL,
    LEVEL_COUNT
};

enum lookup_level lookup_level_of(const struct record_device *record, const struct record_device *device);

/* How far a recorded case is from the wanted one: 0 the same, 1 twice the channels, 0.6 twice the pixels,
 * 3 (too far) an eighth more of a parameter; negative: not comparable (another filter or type, 8 times the
 * pixels). */
double lookup_distance(const struct record_case *record, const struct record_case *wanted);

/* The nearest choice of exactly this level; NULL when there is none near enough. */
const struct record_choice *lookup_choice(const struct records *records, const struct record_device *device,
                                          const struct record_case *wanted, enum lookup_level level);
