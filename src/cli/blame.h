/* SPDX-License-Identifier: BSD-2-Clause */
/* Who ended the process: a driver that crashed, or a kill from outside. */
#pragma once

/* From here on a fatal signal that arises in the process, and an exit from within a driver, are noted in the
 * marks of the programs at work: see cache/programs.h. */
void blame_begin(void);
/* The process comes to its own end. */
void blame_end(void);
