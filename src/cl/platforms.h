/* SPDX-License-Identifier: BSD-2-Clause */
/* The platforms that the OpenCL loader found, as reports need them: also those that do not work. */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>

struct platform_info {
    char name[128], version[256], vendor[128];
    unsigned devices;     /* that it has */
    unsigned undescribed; /* of these, that answer no questions about themselves and cannot be used */
    int code;             /* of asking it for devices; "none" is CL_SUCCESS */
    bool hangs;           /* it did not list its devices in time; without a name, not even that */
};

/* *list is freed with free(). No platform at all is HONE_OK with *count 0. */
hone_status platform_list(struct platform_info **list, size_t *count, hone_error *error);

/* How many hone_device_list numbers, asking none of them anything. */
hone_status platform_count_devices(size_t *count, hone_error *error);

/* How long a driver may take for each question while devices are listed; 0: any time. Otherwise
 * HONE_DRIVER_TIMEOUT, or 60. Those that take longer are left out from then on. */
void platform_set_patience(double seconds);
double platform_patience(void);
/* What was left out and was not told yet, as a sentence; NULL: nothing. hone_device_open logs them, too. */
const char *platform_take_warning(void);
/* Whether the loader itself hangs, in a driver that it loads: no platform can be used in this process. */
bool platform_loader_hangs(void);
/* Whether anything was left out, whose thread may hold locks. */
bool platform_any_hangs(void);

/* ---- What a device tells of itself beyond hone_device_info: for reports, not for decisions ---- */

/* A 2D image format: "RGBA", "UNORM_INT8", and what kernels may do with it. */
struct format_details {
    const char *order, *type; /* static; "0x10c0" and the like are in `number` */
    char number[2][16];       /* of an order and a type without a name here */
    bool reads, writes;
};

struct device_details {
    char profile[64];                       /* "FULL_PROFILE", "EMBEDDED_PROFILE" */
    char *extensions;                       /* all, as the driver lists them, with single spaces */
    bool profiling, out_of_order;           /* of queues of the host */
    bool device_queue, device_out_of_order; /* of queues on the device */
    unsigned device_queue_bytes;            /* the largest of these; 0: there are none */
    unsigned preferred_multiple;            /* of work-group sizes: the wave or SIMD width; 0: not known */
    unsigned native_width_char, native_width_short, native_width_int, native_width_half, native_width_float,
        native_width_double; /* elements of vectors; 0: no such type */
    bool formats_known;
    struct format_details *formats;
    size_t format_count;
};

/* Of device `index` as hone_device_list numbers them. Makes a context for the formats, if it can. On HONE_OK
 * device_details_finish is due. HONE_ERROR_NO_DEVICE where there is no such device. */
hone_status device_details(struct device_details *details, unsigned index, hone_error *error);
void device_details_finish(struct device_details *details);
