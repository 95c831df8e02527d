/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TUNE_OWN_FINAL_H
#define TUNE_OWN_FINAL_H

#include "tune/own/session_internal.h"

/* Measures the fastest tries again, by turns, and ranks them by their medians; of those that cannot be told
 * from the fastest, the one with the earliest values wins. Those that fail drop out, and their tries are
 * failures. Without a final the search's scores decide. `beside` as in race_by_turns. */
void own_final(struct own_session *s, double beside);

#endif
