/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/duel.h"

/* Of the time that the plan's own takes: less gain is not worth another program, nor the risk. */
static const double clearly = 0.97;

static void take_least(double *least, double ms)
{
    if (*least <= 0 || ms < *least)
        *least = ms;
}

void duel_own(struct duel *duel, double ms)
{
    duel->last_ms = ms;
    take_least(&duel->own_ms, ms);
}

void duel_other(struct duel *duel, double ms)
{
    if (duel->last_ms <= 0)
        return;
    duel->rounds++;
    duel->wins += ms < duel->last_ms;
    duel->last_ms = 0;
    take_least(&duel->other_ms, ms);
}

void duel_lost(struct duel *duel)
{
    duel->rounds++;
    duel->last_ms = 0;
}

bool duel_over(const struct duel *duel)
{
    return duel->rounds >= DUEL_ROUNDS || duel->rounds - duel->wins > DUEL_ROUNDS - DUEL_WINS;
}

bool duel_won(const struct duel *duel)
{
    return duel->rounds >= DUEL_ROUNDS && duel->wins >= DUEL_WINS && duel->other_ms < duel->own_ms * clearly;
}
