/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that FFmpeg's libraries take in many blocks. av_max_alloc() limits each of them alone, and the
 * process that tries a file sees no more than its first frame. So a thread looks at what this process has
 * taken since, and where that is too much, no further allocation of the libraries succeeds: they fail as they
 * do where memory is short. */
#include "media/video/av.h"

#include "base/error.h"

#include <libavutil/imgutils.h>
#include <libavutil/mem.h>

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* For what is not of the libraries: drivers and their compilers. */
static const uint64_t others = UINT64_C(1) << 30;
/* In queues, and in encoders that look ahead. */
enum { FRAMES = 64 };

/* Resident memory that belongs to no file and is not shared; 0 where the system does not tell. */
static uint64_t private_bytes(void)
{
    unsigned long resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    const bool ok = file && fscanf(file, "%*u %lu %lu", &resident, &shared) == 2 && resident > shared;
    if (file)
        fclose(file);
    return ok ? (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* True when the watch is to end. Under its lock. */
static bool wait_a_little(struct memory_watch *watch)
{
    const long pause = 20000000, second = 1000000000;
    struct timespec until;
    int code = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += pause;
    until.tv_sec += until.tv_nsec / second;
    until.tv_nsec %= second;
    while (!watch->ends && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&watch->ended, &watch->lock, &until);
    return watch->ends;
}

static void *look(void *user)
{
    struct memory_watch *watch = user;
    pthread_mutex_lock(&watch->lock);
    while (!watch->over && !wait_a_little(watch)) {
        watch->over = private_bytes() > watch->most;
        if (watch->over)
            av_max_alloc(1);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

void memory_watch_begin(struct memory_watch *watch, uint64_t most)
{
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->ended, NULL);
    watch->most = private_bytes() + most + others;
    watch->runs = pthread_create(&watch->thread, NULL, look, watch) == 0;
}

void memory_watch_frames(struct memory_watch *watch, const AVFrame *frame)
{
    const int bytes = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
    if (!watch->runs)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->most += FRAMES * (uint64_t)(bytes > 0 ? bytes : 0);
    pthread_mutex_unlock(&watch->lock);
}

hone_status memory_watch_check(struct memory_watch *watch, const char *path, hone_status status,
                               hone_error *error)
{
    if (!watch->runs)
        return status;
    pthread_mutex_lock(&watch->lock);
    const bool over = watch->over;
    pthread_mutex_unlock(&watch->lock);
    return over ? error_io(error, "'%s': decoding takes more memory than the limit (--decode-memory sets it)",
                           path)
                : status;
}

void memory_watch_end(struct memory_watch *watch)
{
    if (!watch->runs)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->ends = true;
    pthread_cond_signal(&watch->ended);
    pthread_mutex_unlock(&watch->lock);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->ended);
    pthread_mutex_destroy(&watch->lock);
    watch->runs = false;
}
