/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/starved.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct starved_thread {
    long id;
    uint64_t waited;
};

/* "RAN WAITED SLICES", in ns. */
static bool read_waited(int folder, const char *name, uint64_t *waited)
{
    char path[NAME_MAX + 16], text[96];
    snprintf(path, sizeof path, "%s/schedstat", name);
    const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return sscanf(text, "%*u %" SCNu64, waited) == 1;
}

/* 0 for a thread that is new, whose time all belongs to this span. */
static uint64_t waited_before(const struct starved *starved, long id)
{
    for (size_t i = 0; i < starved->count; i++)
        if (starved->threads[i].id == id)
            return starved->threads[i].waited;
    return 0;
}

static void note(struct starved *starved, long id, uint64_t waited)
{
    if (mem_grow(&starved->threads, &starved->capacity, starved->count + 1, sizeof *starved->threads))
        starved->threads[starved->count++] = (struct starved_thread){id, waited};
}

uint64_t starved_since(struct starved *starved, const char *folder, uint64_t now)
{
    struct starved next = {.at = now};
    uint64_t most = 0, waited;
    const uint64_t span = starved->at && now > starved->at ? now - starved->at : 0;
    DIR *threads = opendir(folder);
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        const long id = strtol(entry->d_name, NULL, 10);
        if (id <= 0 || !read_waited(dirfd(threads), entry->d_name, &waited))
            continue;
        const uint64_t before = waited_before(starved, id), grown = waited > before ? waited - before : 0;
        most = grown > most ? grown : most;
        note(&next, id, waited);
    }
    if (threads)
        closedir(threads);
    starved_finish(starved);
    *starved = next;
    return most < span ? most : span;
}

void starved_finish(struct starved *starved)
{
    free(starved->threads);
    *starved = (struct starved){0};
}
