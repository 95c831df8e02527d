/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/cpu_load.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_TICKS = 20 };

bool load_parse_machine(const char *text, uint64_t *busy, uint64_t *total)
{
    uint64_t user, nice, system, idle, wait, irq, soft_irq, steal;
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &user, &nice, &system, &idle, &wait, &irq, &soft_irq, &steal) != 8)
        return false;
    *busy = user + nice + system + irq + soft_irq + steal;
    *total = *busy + idle + wait;
    return true;
}

bool load_parse_process(const char *text, uint64_t *ticks)
{
    const char *behind = strrchr(text, ')'); /* the name before it may hold anything */
    uint64_t user, system, waited_user, waited_system;
    if (!behind ||
        sscanf(behind + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &user, &system, &waited_user, &waited_system) != 4)
        return false;
    *ticks = user + system + waited_user + waited_system;
    return true;
}

static bool read_start(const char *path, char text[1024])
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, 1023) : -1;
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

bool load_now(struct load *load, pid_t worker)
{
    char text[1024], path[64];
    uint64_t child = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
    if (worker > 0 && read_start(path, text)) /* else it is among those waited for */
        load_parse_process(text, &child);
    if (!read_start("/proc/self/stat", text) || !load_parse_process(text, &load->own) ||
        !read_start("/proc/stat", text) || !load_parse_machine(text, &load->busy, &load->total))
        return false;
    load->own += child;
    return true;
}

double load_of_others(const struct load *before, const struct load *after)
{
    if (after->total < before->total + LEAST_TICKS || after->busy < before->busy || after->own < before->own)
        return -1;
    uint64_t busy = after->busy - before->busy, own = after->own - before->own;
    return busy > own ? (double)(busy - own) / (double)(after->total - before->total) : 0;
}

double load_since(const struct load *before, pid_t worker)
{
    struct load after;
    return before && load_now(&after, worker) ? load_of_others(before, &after) : -1;
}
