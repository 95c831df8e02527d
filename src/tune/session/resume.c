/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session/resume.h"

void resume_add(struct resume *resume, const struct record_choice *choice)
{
    if (resume->last && !choice->continues)
        resume->from = resume->last->tries_before;
    resume->last = choice;
}

/* Records of before do not say how many were asked for. */
bool resume_goes_on(const struct resume *resume, int evaluations)
{
    const struct record_choice *last = resume->last;
    return last && last->asked > 0 &&
           (evaluations > last->asked || (last->unfinished && evaluations == last->asked));
}

size_t resume_from(const struct resume *resume, int evaluations)
{
    if (!resume->last || resume_goes_on(resume, evaluations))
        return resume->from;
    return resume->last->tries_before;
}
