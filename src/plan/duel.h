/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether another configuration is to take the place of a plan's own, by runs of both in turns. Times of real
 * work differ by up to two times, by what else uses caches and memory, so the least of few runs of each says
 * little. In turns, what happens meanwhile happens to both, and the plan keeps its own unless the other one
 * is clearly faster.
 */
#pragma once

#include <stdbool.h>

enum {
    DUEL_ROUNDS = 12,
    DUEL_WINS = 9 /* of two that are equally fast, the other one gets there in 7 of 100 duels */
};

struct duel {
    double own_ms, other_ms; /* the least so far; not known: 0 */
    double last_ms;          /* of the plan's own run before the other one's next */
    int rounds, wins;
};

/* A run of the plan's own configuration. */
void duel_own(struct duel *duel, double ms);

/* A run of the other one: it ends a round where one of the plan's own came before it. */
void duel_other(struct duel *duel, double ms);

/* A run of the other one that failed, or of which no time is known: a round that it lost. */
void duel_lost(struct duel *duel);

/* No more rounds can change the outcome. */
bool duel_over(const struct duel *duel);

/* The other one is faster in most rounds, and at its best. */
bool duel_won(const struct duel *duel);
