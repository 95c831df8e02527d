/* SPDX-License-Identifier: BSD-2-Clause */
/* What the system tells of its processors, and whose time it was. */
#include "tune/measure/cpu_load.h"

#include "test.h"

#include <unistd.h>

TEST(the_machine_is_read)
{
    uint64_t busy, total;
    REQUIRE(
        load_parse_machine("cpu  100 20 30 400 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n", &busy, &total));
    CHECK_EQ(busy, 100 + 20 + 30 + 6 + 7 + 8);
    CHECK_EQ(total, busy + 400 + 50);
    CHECK(!load_parse_machine("", &busy, &total));
    CHECK(!load_parse_machine("intr 1 2 3 4 5 6 7 8 9", &busy, &total));
}

TEST(a_process_is_read_whatever_its_name)
{
    uint64_t ticks;
    REQUIRE(load_parse_process("7 (a b) 1 (c)) R 2 3 4 5 -1 4194304 101 9 8 7 40 30 20 10 20 0 1 0 1629273\n",
                               &ticks));
    CHECK_EQ(ticks, 100);
    CHECK(!load_parse_process("7 (ls) R 2 3", &ticks));
    CHECK(!load_parse_process("", &ticks));
}

TEST(others_are_what_is_left)
{
    const struct load before = {.busy = 1000, .total = 5000, .own = 100};
    const struct load quiet = {.busy = 1100, .total = 5200, .own = 200}, loaded = {1180, 5200, 200},
                      soon = {1005, 5010, 100}, odd = {1050, 5200, 200};
    CHECK(load_of_others(&before, &quiet) == 0);
    CHECK(load_of_others(&before, &loaded) == 0.4);
    CHECK(load_of_others(&before, &soon) < 0);
    CHECK(load_of_others(&before, &odd) == 0); /* ticks are counted at different moments */
}

TEST(this_system_tells)
{
    struct load first, second;
    REQUIRE(load_now(&first, 0) && load_now(&second, getppid()));
    CHECK(first.total > 0 && first.busy <= first.total && second.total >= first.total);
}
