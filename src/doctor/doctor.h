/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Is everything right on this machine? Looks at the OpenCL loader and its drivers, at every device, at the
 * results of filters on every device, and at hone's own folder, and tells each finding as it comes.
 */
#pragma once

#include "hone/device.h"

#include <stdbool.h>

enum doctor_state {
    DOCTOR_FINE,
    DOCTOR_NOTE,    /* worth knowing */
    DOCTOR_WARNING, /* something does not work, but hone gives right results without it */
    DOCTOR_WRONG    /* results cannot be trusted, or cannot be had */
};

enum doctor_part {
    DOCTOR_LOADER,
    DOCTOR_DRIVERS,
    DOCTOR_DEVICE,
    DOCTOR_FILTERS,
    DOCTOR_CACHE,
    DOCTOR_PART_COUNT
};

/* One finding. Strings are valid during the call alone. */
struct doctor_finding {
    enum doctor_part part;
    enum doctor_state state;
    int device;          /* its number; -1: of no device */
    const char *subject; /* "box", "pocl.icd" */
    const char *text;    /* what was found */
    const char *advice;  /* what to do about it, or NULL */
};

struct doctor_request {
    hone_device_request device; /* spec NULL: all devices, else the one that fits */
    bool thorough;              /* all formats, borders and sizes instead of one of each */
    bool again;                 /* run self-tests anew instead of trusting what is remembered */
    const char *const *filters; /* by name or path; the results of others are not looked at */
    size_t filter_count;        /* 0: all filters */
    void (*tell)(void *user, const struct doctor_finding *finding);
    /* Told before what may take long: "the self-test of device 0", "gaussian on device 0 (9 of 16)". */
    void (*begin)(void *user, const char *what);
    void *user;
};

struct doctor_result {
    unsigned devices, warnings, wrong;
};

/* HONE_OK: the examination ran to its end, `result` tells how it went. HONE_ERROR_NO_DEVICE: there is none to
 * examine; the findings say why, as far as can be known. */
hone_status doctor_run(const struct doctor_request *request, struct doctor_result *result, hone_error *error);

/* "loader", "drivers", "device", "filters", "cache"; "fine", "note", "warning", "wrong". */
const char *doctor_part_name(enum doctor_part part);
const char *doctor_state_name(enum doctor_state state);
