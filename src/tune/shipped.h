/* SPDX-License-Identifier: BSD-2-Clause */
/* What was measured on other machines and ships with hone. */
#ifndef TUNE_SHIPPED_H
#define TUNE_SHIPPED_H

#include "tune/records.h"

/* The shipped choices, parsed once per device. */
hone_status shipped_records(hone_device *device, const struct records **records, hone_error *error);

#endif
