/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the devices a request means. */
#pragma once

#include "hone/device.h"

struct found_device;

/* Where the driver does not tell the clock, as slow devices have it. */
double device_clock_mhz(const hone_device_info *info);

/* Finds, orders and opens. */
hone_status select_device(hone_device **out, const hone_device_request *request, hone_error *error);

/* In device.c: opens one found device. */
hone_status device_open_found(hone_device **out, const struct found_device *found, unsigned index,
                              const hone_device_request *request, hone_error *error);
