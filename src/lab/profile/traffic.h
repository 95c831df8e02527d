/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What many commands moved, in sums: the frames of a video, the bands of an image, the pages of a file.
 *
 * Copies of one kind, of one step, and for one reason are one entry, so that what is kept does not grow with
 * the number of commands.
 */
#pragma once

#include "lab/profile/profile.h"

struct traffic_copies {
    struct profile_copy copy; /* its bytes are those of all */
    uint64_t count;
};

/* Begins zeroed. */
struct traffic {
    struct profile_traffic sum;
    struct traffic_copies *copies;
    size_t kinds, room; /* of `copies` */
    bool failed;        /* there was no memory for one of them */
};

/* Adds commands that one situation explains. Threads: one at a time. */
void traffic_add(struct traffic *traffic, const struct copy_situation *situation,
                 const hone_command *commands, size_t count);
/* Leaves it zeroed. */
void traffic_finish(struct traffic *traffic);
