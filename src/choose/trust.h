/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Right before fast: a program is used on a device and driver only after it has given the reference's results
 * there.
 *
 * The first use of a program (with one configuration) runs it on a small picture and compares with plain C.
 * The verdict is remembered with the tuning records: right ones are trusted from then on, wrong ones are in
 * quarantine, with the first wrong pixel as evidence, until the driver, the kernel or hone changes.
 */
#pragma once

#include "choose/records.h"
#include "filter/instance.h"

/* HONE_OK: trusted, and launched in this process by the check itself or, where the verdict is an older one,
 * on a small picture: the first run has nothing left to compile. HONE_ERROR_CHECK: in quarantine, the message
 * holds the evidence. Others: the check could not run, on no small picture (HONE_ERROR_UNSUPPORTED), say:
 * what was not checked is not trusted. */
hone_status trust_check(hone_device *device, const struct instance *instance, hone_error *error);

/* Builds what trust_check would have to, so that the time that it takes then is that of kernels alone.
 * Failures are left to trust_check. */
void trust_build(hone_device *device, const struct instance *instance);

/* Puts a program into quarantine that was found wrong elsewhere (at the tuning size, say). */
hone_status trust_quarantine(hone_device *device, const struct instance *instance, const char *evidence,
                             hone_error *error);

/* Whether the program of a variant is in quarantine already. Builds and runs nothing. */
bool trust_refuses(hone_device *device, const struct filter_case *c, const struct variant *variant,
                   const struct config *config);

/* What is known for a device: the choices and verdicts of the user's file, read once per device. Never NULL
 * on HONE_OK; a file that cannot be read is like an empty one (and said once in the device's log). */
hone_status trust_records(hone_device *device, const struct records **records, hone_error *error);
/* What comes with hone for a filter; read once per device, valid as long as that. */
hone_status trust_shipped(hone_device *device, const struct hone_filter *filter,
                          const struct records **records, hone_error *error);
/* Adds a choice that was made meanwhile; the file stays as it is. Not while another thread chooses for this
 * device. */
hone_status trust_learn(hone_device *device, const struct record_choice *choice, hone_error *error);
