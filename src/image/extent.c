/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/extent.h"

static size_t bytes_of(const struct extent *e)
{
    return e->pitch * (e->rows - 1) + e->row;
}

/* The second one begins in row `distance / pitch` of the first, or in the gap behind it. */
static bool rows_overlap(const struct extent *first, const struct extent *second)
{
    size_t distance = second->start - first->start;
    size_t row = distance / first->pitch, column = distance % first->pitch;
    bool beside = row < first->rows && column < first->row;
    bool around = row + 1 < first->rows && column + second->row > first->pitch;
    return beside || around;
}

bool extents_overlap(const struct extent *one, const struct extent *other)
{
    const struct extent *first = one->start <= other->start ? one : other,
                        *second = first == one ? other : one;
    if (one->space != other->space || second->start - first->start >= bytes_of(first))
        return false;
    return first->pitch != second->pitch || rows_overlap(first, second);
}
