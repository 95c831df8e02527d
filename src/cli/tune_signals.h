/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that end tuning: it ends by itself, so that nobody takes what was under way for a crash later. */
#ifndef CLI_TUNE_SIGNALS_H
#define CLI_TUNE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

enum { EXIT_INTERRUPTED = 128 + SIGINT };

/* From now on SIGINT, SIGTERM and SIGHUP are counted. What nohup has ignored stays ignored. */
void tune_signals_begin(void);
/* One came: what is under way is finished. For the options of sessions; the context is not used. */
bool tune_is_interrupted(void *context);
/* A second one came: nothing is waited for. */
bool tune_is_given_up(void *context);

#endif
