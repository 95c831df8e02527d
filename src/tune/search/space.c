/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/search/space.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool point_equal(const struct point *a, const struct point *b)
{
    return a->path == b->path && memcmp(a->values, b->values, sizeof a->values) == 0;
}

struct point point_default(const struct space *space, int path)
{
    struct point point = {.path = path};
    const struct space_path *p = &space->paths[path];
    for (int i = 0; i < p->count; i++)
        point.values[i] = p->parameters[i].values[0];
    return point;
}

bool point_legal(const struct space *space, const struct point *point)
{
    return !space->legal || space->legal(space->context, point->path, point->values);
}

static bool is_listed(const struct space_parameter *parameter, int64_t value)
{
    for (int i = 0; i < parameter->count; i++)
        if (parameter->values[i] == value)
            return true;
    return false;
}

bool point_listed(const struct space *space, const struct point *point)
{
    const struct space_path *path = &space->paths[point->path];
    bool listed = true;
    for (int i = 0; i < path->count && listed; i++)
        listed = is_listed(&path->parameters[i], point->values[i]);
    return listed;
}

static int64_t path_size(const struct space_path *path)
{
    int64_t size = 1;
    for (int i = 0; i < path->count; i++)
        if (__builtin_mul_overflow(size, path->parameters[i].count, &size))
            return INT64_MAX;
    return size;
}

int64_t space_size(const struct space *space)
{
    int64_t total = 0;
    for (int i = 0; i < space->count; i++)
        if (__builtin_add_overflow(total, path_size(&space->paths[i]), &total))
            return INT64_MAX;
    return total;
}

/* Mixed radix, the last parameter fastest: neighbours in the index share a program where launch parameters
 * come last. */
struct point space_at(const struct space *space, int64_t index)
{
    struct point point = {0};
    while (point.path + 1 < space->count && index >= path_size(&space->paths[point.path]))
        index -= path_size(&space->paths[point.path++]);
    const struct space_path *path = &space->paths[point.path];
    for (int i = path->count; i-- > 0;) {
        point.values[i] = path->parameters[i].values[index % path->parameters[i].count];
        index /= path->parameters[i].count;
    }
    return point;
}

uint32_t *space_list_legal(const struct space *space, int64_t *count)
{
    int64_t size = space_size(space);
    uint32_t *list = NULL;
    size_t capacity = 0;
    *count = -1;
    if (size > SPACE_MAX_LISTED)
        return NULL;
    *count = 0;
    for (int64_t i = 0; i < size; i++) {
        const struct point point = space_at(space, i);
        if (!point_legal(space, &point))
            continue;
        if (!mem_grow(&list, &capacity, (size_t)*count + 1, sizeof *list)) {
            free(list);
            *count = -1;
            return NULL;
        }
        list[(*count)++] = (uint32_t)i;
    }
    return list;
}
