/* SPDX-License-Identifier: BSD-2-Clause */
/* Caches without anything of a kernel's in them: what a launch costs whose input other work has
 * pushed out. */
#pragma once

#include "hone/device.h"

struct cold;

hone_status cold_open(struct cold **out, hone_device *device, hone_error *error);
/* Reads and writes memory of twice the size of the device's caches, and waits for the end of it. */
hone_status cold_flush(struct cold *cold, hone_error *error);
/* *cold becomes NULL, NULL is fine. */
void cold_close(struct cold **cold);
