/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/profile/timeline.h"

#include "base/mem.h"
#include "lab/profile/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRACKS_MOST = 64 };

struct frame {
    const hone_device *device;
    char *image;
    uint64_t begun, ended;
    hone_command *commands;
    size_t count;
};

struct timeline {
    pthread_mutex_t lock;
    struct frame *frames;
    size_t count, room;
    bool failed;
};

struct timeline *timeline_new(void)
{
    struct timeline *timeline = mem_new(1, sizeof *timeline);
    if (timeline)
        pthread_mutex_init(&timeline->lock, NULL);
    return timeline;
}

void timeline_free(struct timeline **slot)
{
    struct timeline *timeline = *slot;
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->count; i++) {
        free(timeline->frames[i].image);
        free(timeline->frames[i].commands);
    }
    free(timeline->frames);
    pthread_mutex_destroy(&timeline->lock);
    free(timeline);
    *slot = NULL;
}

void timeline_add(struct timeline *timeline, const hone_device *device, const char *image, uint64_t begun,
                  uint64_t ended, const hone_command *commands, size_t count)
{
    struct frame frame = {device, mem_copy_text(image), begun, ended, mem_new(count, sizeof *commands),
                          count};
    for (size_t i = 0; frame.commands && i < count; i++)
        frame.commands[i] = commands[i];
    pthread_mutex_lock(&timeline->lock);
    const bool kept = frame.image && frame.commands &&
                      mem_grow(&timeline->frames, &timeline->room, timeline->count + 1, sizeof frame);
    if (kept)
        timeline->frames[timeline->count++] = frame;
    timeline->failed = timeline->failed || !kept;
    pthread_mutex_unlock(&timeline->lock);
    if (kept)
        return;
    free(frame.image);
    free(frame.commands);
}

/* ---- As a trace ---- */

/* The first track whose last span has ended; spans come in the order of their beginnings. */
static int take_track(uint64_t ends[TRACKS_MOST], int *count, uint64_t from, uint64_t to)
{
    int track = 0;
    while (track < *count && (int64_t)(ends[track] - from) > 0)
        track++;
    if (track == *count && *count < TRACKS_MOST)
        ++*count;
    track = track < *count ? track : *count - 1;
    ends[track] = to > from ? to : from;
    return track + 1;
}

static int by_begin(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;
    return (x->begun > y->begun) - (x->begun < y->begun);
}

static void add_images(struct trace *trace, const struct timeline *timeline)
{
    uint64_t ends[TRACKS_MOST];
    int count = 0;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct frame *f = &timeline->frames[i];
        const int before = count, track = take_track(ends, &count, f->begun, f->ended);
        char name[32];
        snprintf(name, sizeof name, "images %d", track);
        if (count > before)
            trace_name(trace, TRACE_HOST, track, "thread_name", name);
        trace_span(trace, TRACE_HOST, track, f->image, "image", f->begun, f->ended, NULL);
    }
}

static int by_start(const void *a, const void *b)
{
    const hone_command *x = *(const hone_command *const *)a, *y = *(const hone_command *const *)b;
    return (x->times.started > y->times.started) - (x->times.started < y->times.started);
}

/* One distance for all: commands of a clock stay as they are beside each other. */
static size_t list_commands(const struct timeline *timeline, const hone_device *device,
                            const hone_command **list, uint64_t *to_host)
{
    size_t count = 0;
    for (size_t i = 0; i < timeline->count; i++)
        for (size_t k = 0; timeline->frames[i].device == device && k < timeline->frames[i].count; k++) {
            const hone_command *c = &timeline->frames[i].commands[k];
            *to_host = trace_distance(*to_host, count == 0, c, timeline->frames[i].ended);
            list[count++] = c;
        }
    qsort(list, count, sizeof(const hone_command *), by_start);
    return count;
}

static void add_device(struct trace *trace, const struct timeline *timeline, const hone_device *device,
                       int process, const hone_command **list)
{
    const hone_device_info *info = hone_device_get_info(device);
    uint64_t ends[TRACKS_MOST], to_host = 0;
    int tracks = 0;
    const size_t count = list_commands(timeline, device, list, &to_host);
    trace_name(trace, process, 1, "process_name", info->board[0] ? info->board : info->name);
    for (size_t i = 0; i < count; i++) {
        const int before = tracks,
                  track = take_track(ends, &tracks, list[i]->times.started, list[i]->times.ended);
        if (tracks > before)
            trace_name(trace, process, track, "thread_name", track == 1 ? "queue" : "queue, beside");
        trace_command(trace, process, track, list[i], to_host);
    }
}

static bool is_first_of(const struct timeline *timeline, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (timeline->frames[i].device == timeline->frames[index].device)
            return false;
    return true;
}

struct json_t *timeline_json(struct timeline *timeline, const char *program)
{
    struct trace trace;
    size_t all = 0;
    int process = TRACE_HOST;
    for (size_t i = 0; i < timeline->count; i++)
        all += timeline->frames[i].count;
    const hone_command **list = timeline->failed ? NULL : mem_new(all, sizeof *list);
    if (!list)
        return NULL;
    qsort(timeline->frames, timeline->count, sizeof *timeline->frames, by_begin);
    trace_begin(&trace, timeline->count ? timeline->frames[0].begun : 0);
    add_images(&trace, timeline);
    for (size_t i = 0; i < timeline->count; i++)
        if (is_first_of(timeline, i))
            add_device(&trace, timeline, timeline->frames[i].device, ++process, list);
    free(list);
    return trace_end(&trace, program);
}
