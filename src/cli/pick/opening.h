/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Opens devices each in a thread of its own, so that one whose driver hangs there holds nobody up: it is left
 * to its thread, and nobody waits for it again.
 *
 * Threads: one at a time.
 */
#pragma once

#include "cli/cli.h"

struct opening_request {
    const struct common_options *common; /* outlives the device, and the process where that hangs */
    const char *spec;                    /* its number */
    bool tests, clock; /* runs the required part of the self-test, and asks about the clock */
    bool is_only;      /* there is no other: the process ends if it hangs */
    double seconds;    /* that opening and testing may take each; 0: any */
};

/* *passes (may be NULL): all that was tested holds. HONE_ERROR_DEVICE also for one that hangs; see
 * opening_hangs. */
hone_status opening_run(hone_device **out, bool *passes, const struct opening_request *request,
                        hone_error *error);

/* Whether the device of this number was found to hang; NULL: any device. What it uses stays its own, so that
 * the process is to end without giving memory back. */
bool opening_hangs(const char *spec);
