/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session/budget.h"

#include <math.h>

enum { LEAST_ROUNDS = 3, LINE_UP = 2 /* runs of each before the first round */ };
static const double least_seconds = 1;
/* What evaluations are taken to need before there were some: as if so many had taken so long. */
static const double prior_evaluations = 20, prior_seconds = 3;

double budget_share(double total, double spent, int cases_left)
{
    if (total <= 0)
        return 0;
    return fmax(least_seconds, (total - spent) / (cases_left > 0 ? cases_left : 1));
}

int budget_rounds(double seconds_left, double round_ms, int most)
{
    double fit = round_ms > 0 ? seconds_left * 1e3 / round_ms - LINE_UP : most;
    return fit >= most ? most : fit > LEAST_ROUNDS ? (int)fit : LEAST_ROUNDS;
}

double budget_left(struct budget_view *view, double spent, double done, double to_do)
{
    if (view->total > 0)
        return fmax(0, view->total - spent);
    double each = (spent + prior_evaluations * prior_seconds) / (done + prior_evaluations);
    double left = each * to_do;
    if (view->least > 0)
        left = fmin(left, 2 * view->least);
    view->least = view->least > 0 ? fmin(view->least, left) : left;
    return left;
}
