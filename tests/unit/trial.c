/* SPDX-License-Identifier: BSD-2-Clause */
/* When other configurations are worth building while a plan runs. */
#include "plan/trial.h"

#include "support.h"

/* Two programs of 400 ms each, for kernels of 10 ms: half of what was spent by then is 800 ms after 160 runs. */
TEST(building_pays_when_half_of_the_time_so_far_would_have_paid_for_it)
{
    CHECK(!trial_pays(159, 10, 2, 400));
    CHECK(trial_pays(160, 10, 2, 400));
    CHECK(trial_pays(16, 100, 2, 400));
    CHECK(!trial_pays(160, 10, 3, 400));
}

/* Thirty photographs of a few milliseconds each compile nothing. */
TEST(a_small_folder_compiles_nothing)
{
    CHECK(!trial_pays(30, 5, 4, 400));
    CHECK(!trial_pays(30, 5, 1, -1));
}

/* Compiling goes on for two seconds at most, however many programs there are. */
TEST(a_video_pays_for_any_number)
{
    CHECK(!trial_pays(399, 10, 100, 1000));
    CHECK(trial_pays(400, 10, 100, 1000));
}

TEST(what_is_not_known_pays_nothing)
{
    CHECK(!trial_pays(1000000, -1, 1, 1));
    CHECK(!trial_pays(1000000, -1, 1, -1));
    CHECK(trial_pays(100, 10, 1, -1));
    CHECK(!trial_pays(99, 10, 1, -1));
}
