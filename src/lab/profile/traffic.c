/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/profile/traffic.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct profile_copy *a, const struct profile_copy *b)
{
    return a->step == b->step && a->avoidable == b->avoidable && strcmp(a->what, b->what) == 0 &&
           strcmp(a->why, b->why) == 0;
}

static void add_copy(struct traffic *traffic, const struct profile_copy *copy)
{
    size_t i = 0;
    while (i < traffic->kinds && !is_same(&traffic->copies[i].copy, copy))
        i++;
    if (i == traffic->kinds) {
        if (!mem_grow(&traffic->copies, &traffic->room, i + 1, sizeof *traffic->copies)) {
            traffic->failed = true;
            return;
        }
        traffic->kinds++;
        traffic->copies[i] = (struct traffic_copies){.copy = *copy};
        traffic->copies[i].copy.bytes = 0;
    }
    traffic->copies[i].count++;
    traffic->copies[i].copy.bytes += copy->bytes;
}

void traffic_add(struct traffic *traffic, const struct copy_situation *situation,
                 const hone_command *commands, size_t count)
{
    struct profile_copy copy;
    for (size_t i = 0; i < count; i++) {
        profile_add_traffic(&traffic->sum, &commands[i]);
        if (profile_explain_copy(situation, &commands[i], &copy))
            add_copy(traffic, &copy);
    }
}

void traffic_finish(struct traffic *traffic)
{
    free(traffic->copies);
    *traffic = (struct traffic){0};
}
