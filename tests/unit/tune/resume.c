/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session takes over from those before it. */
#include "tune/session/resume.h"

#include "test.h"

struct step {
    size_t tries_before;
    int asked;
    bool unfinished, continues;
};

static struct resume after(const struct step *steps, int count, struct record_choice choices[])
{
    struct resume resume = {0};
    for (int i = 0; i < count; i++) {
        choices[i] = (struct record_choice){.tries_before = steps[i].tries_before,
                                            .asked = steps[i].asked,
                                            .unfinished = steps[i].unfinished,
                                            .continues = steps[i].continues};
        resume_add(&resume, &choices[i]);
    }
    return resume;
}

TEST(more_evaluations_go_on)
{
    static const struct {
        struct step steps[3];
        int count, evaluations;
        bool goes_on;
        size_t from;
    } cases[] = {
        {.count = 0, .evaluations = 20, .goes_on = false, .from = 0}, /* nothing was concluded */
        {{{20, 20, false, false}}, 1, 100, true, 0},
        {{{20, 20, false, false}}, 1, 20, false, 20},
        {{{20, 20, false, false}}, 1, 10, false, 20},
        {{{20, 0, false, false}}, 1, 100, false, 20}, /* written before it was told */
        {{{12, 20, true, false}}, 1, 20, true, 0},    /* time ran out */
        {{{12, 20, true, false}}, 1, 10, false, 12},
        {{{20, 20, false, false}, {100, 100, false, true}}, 2, 500, true, 0},
        {{{20, 20, false, false}, {100, 100, false, true}}, 2, 100, false, 100},
        {{{20, 20, false, false}, {120, 100, false, false}}, 2, 500, true, 20}, /* measured anew */
        {{{20, 20, false, false}, {40, 20, false, false}, {120, 100, false, true}}, 3, 500, true, 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct record_choice choices[3];
        const struct resume resume = after(cases[i].steps, cases[i].count, choices);
        CHECK_EQ(resume_goes_on(&resume, cases[i].evaluations), cases[i].goes_on);
        CHECK_EQ(resume_from(&resume, cases[i].evaluations), cases[i].from);
    }
}
