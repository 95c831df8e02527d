/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that end tuning: it ends by itself, so that nobody takes what was under way for a crash later. */
#pragma once

#include <signal.h>
#include <stdbool.h>

enum { EXIT_INTERRUPTED = 128 + SIGINT };

/* From now on SIGINT, SIGTERM and SIGHUP are counted, and the first one is answered on standard error unless
 * that shall be silent. What nohup has ignored stays ignored. */
void tune_signals_begin(bool silent);
/* One came: what is under way is finished if that takes no longer than a few seconds. For the options of
 * sessions; the context is not used. */
bool tune_is_interrupted(void *context);
/* A second one came, or the seconds are over: nothing is waited for. */
bool tune_is_given_up(void *context);
