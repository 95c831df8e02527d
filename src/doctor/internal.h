/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the parts of the doctor. */
#pragma once

#include "doctor/doctor.h"

struct doctor {
    const struct doctor_request *request;
    struct doctor_result result;
};

/* Tells a finding and counts it. advice may be NULL. */
void doctor_tell(struct doctor *doctor, enum doctor_part part, enum doctor_state state, int device,
                 const char *subject, const char *advice, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Tells what begins. */
void doctor_begin(struct doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether the results of this filter are to be looked at. */
bool doctor_wants_filter(const struct doctor *doctor, const char *name);

/* setup.c: the loader, the drivers registered with it, the platforms that came of them. */
hone_status doctor_look_at_setup(struct doctor *doctor, hone_error *error);
/* What to install on this machine, when there is no device. */
void doctor_advise_install(struct doctor *doctor);

/* filters.c: each filter against its reference. */
void doctor_look_at_filters(struct doctor *doctor, hone_device *device);

/* quarantine.c: variants that were found wrong with this driver. */
void doctor_look_at_quarantine(struct doctor *doctor, hone_device *device);
