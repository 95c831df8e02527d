/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a processor, told from files like those of the system. */
#include "base/starved.h"

#include "support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

static void thread_waited(const char *id, const char *line)
{
    char name[64];
    snprintf(name, sizeof name, "%s/schedstat", id);
    mkdir(support_path(folder, id), 0700);
    support_write(support_path(folder, name), line, strlen(line));
}

TEST(the_thread_that_waited_longest_counts)
{
    struct starved starved = {0};
    folder = support_folder();
    thread_waited("10", "900 1000 7\n");
    thread_waited("11", "900 50 7\n");
    CHECK_EQ(starved_since(&starved, folder, 100000), 0); /* there is nothing to compare with */
    thread_waited("10", "950 1300 8\n");
    thread_waited("11", "950 150 8\n");
    CHECK_EQ(starved_since(&starved, folder, 101000), 300);
    thread_waited("12", "1 400 1\n"); /* new since the last time */
    CHECK_EQ(starved_since(&starved, folder, 102000), 400);
    CHECK_EQ(starved_since(&starved, folder, 103000), 0);
    thread_waited("11", "950 9000 8\n");
    CHECK_EQ(starved_since(&starved, folder, 103500), 500); /* no more than the time that went by */
    starved_finish(&starved);
}

TEST(what_is_not_told_does_not_count)
{
    struct starved starved = {0};
    folder = support_folder();
    CHECK_EQ(starved_since(&starved, "/nonexistent", 1000), 0);
    CHECK_EQ(starved_since(&starved, "/nonexistent", 2000), 0);
    thread_waited("10", "");
    thread_waited("11", "nonsense\n");
    CHECK_EQ(starved_since(&starved, folder, 3000), 0);
    CHECK_EQ(starved_since(&starved, folder, 4000), 0);
    starved_finish(&starved);
}
