/* SPDX-License-Identifier: BSD-2-Clause */
/* How time is shared out over cases, and how much of it is left: arithmetic, no clock. */
#pragma once

/* Seconds for the next case: its share of what is left of `total`, for what others took longer is taken from
 * all that follow. A case needs a second in any case. 0 without a total: no limit. */
double budget_share(double total, double spent, int cases_left);

/* Rounds of a final that fit into so many seconds, of `most` at most: never too few for a median. */
int budget_rounds(double seconds_left, double round_ms, int most);

/* What is told of the time that is left. Zeros at first, but for `total`. */
struct budget_view {
    double total; /* seconds for everything; 0: no limit */
    double least; /* that was told so far; 0: nothing was */
};

/* Seconds that are left, with so many evaluations done and at most so many to do. With a total it is what is
 * left of that. Without one it is told from what evaluations took so far, carefully while little is known,
 * and is never more than twice what was told before. */
double budget_left(struct budget_view *view, double spent, double done, double to_do);
