/* SPDX-License-Identifier: BSD-2-Clause */
/* How much memory hone lets itself hold. Drivers for CPUs grant more than there is, until the system kills
 * the process; so the limit is ours. */
#include "cl/internal.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first number of a file, or `otherwise` when there is no such file or number. */
static uint64_t number_in_file(const char *path, const char *after, uint64_t otherwise)
{
    struct text text = {0};
    uint64_t value = otherwise;
    if (file_read(path, 1 << 16, &text, NULL) == HONE_OK) {
        const char *at = strstr(text_view(&text), after);
        char *end = NULL;
        unsigned long long number = at ? strtoull(at + strlen(after), &end, 10) : 0;
        if (at && end != at + strlen(after))
            value = number;
    }
    text_finish(&text);
    return value;
}

static uint64_t cgroup_limit(void)
{
    /* Version 2, then version 1. "max" is no number, which leaves the fallback. Usage of the group is ours
     * mostly. */
    uint64_t limit = number_in_file("/sys/fs/cgroup/memory.max", "", UINT64_MAX);
    return smaller(limit, number_in_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "", UINT64_MAX));
}

uint64_t budget_for(const hone_device_info *info, uint64_t limit)
{
    uint64_t least = info->global_memory ? info->global_memory : UINT64_MAX;
    if (info->unified_memory || info->kind == HONE_DEVICE_CPU) {
        uint64_t kilobytes = number_in_file("/proc/meminfo", "MemAvailable:", UINT64_MAX / 2048);
        least = smaller(least, smaller(kilobytes * 1024, cgroup_limit()));
    }
    uint64_t budget = least / 10 * 8;
    return limit ? smaller(limit, budget) : budget;
}
