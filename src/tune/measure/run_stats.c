/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/run_stats.h"

#include <math.h>
#include <string.h>

void leader_summarise(struct leader *l)
{
    double sorted[MEASURE_RUNS], distances[MEASURE_RUNS];
    memcpy(sorted, l->runs, sizeof sorted);
    l->median = measure_median(sorted, l->run_count);
    for (int i = 0; i < l->run_count; i++)
        distances[i] = fabs(l->runs[i] - l->median);
    l->deviation = measure_median(distances, l->run_count);
}

double leader_drift(const struct leader *l)
{
    double first[MEASURE_RUNS], last[MEASURE_RUNS];
    int third = l->run_count / 3;
    if (third == 0)
        return 0;
    memcpy(first, l->runs, sizeof first);
    memcpy(last, l->runs + l->run_count - third, sizeof *last * (size_t)third);
    return measure_median(last, third) / measure_median(first, third) - 1;
}

double leader_error(const struct leader *l)
{
    const double sigma = 1.4826; /* from the median absolute deviation */
    return sigma * l->deviation / sqrt(l->run_count > 0 ? l->run_count : 1);
}

double leader_margin(const struct leader *fastest, double *errors, int count)
{
    const double usual = measure_median(errors, count);
    return fmax(0.01 * fastest->median, 2 * (leader_error(fastest) + usual));
}
