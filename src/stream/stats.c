/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the time goes. */
#include "base/clock.h"
#include "base/mem.h"
#include "stream/internal.h"

void stats_add(hone_stream *stream, hone_stream_stage stage, uint64_t ns)
{
    stream->stats.seconds[stage] += (double)ns * 1e-9;
}

/* Nothing was in flight between the end of one frame and the push of the next. */
void stats_pushed(hone_stream *stream, const struct slot *slot, uint64_t now)
{
    (void)slot;
    if (stream->idle_since)
        stats_add(stream, HONE_STAGE_INPUT, now - stream->idle_since);
    stream->idle_since = 0;
}

void stats_finished(hone_stream *stream, const struct slot *slot, uint64_t now)
{
    stream->stats.failed += slot->status != HONE_OK;
    stream->stats.zero_copy += slot->status == HONE_OK && !slot->copied;
    if (stream->finished == stream->pushed)
        stream->idle_since = now;
    if (!stream->callback && stream->finished - stream->released == stream->slot_count)
        stream->full_since = now;
}

void stats_released(hone_stream *stream, uint64_t now)
{
    if (stream->full_since)
        stats_add(stream, HONE_STAGE_OUTPUT, now - stream->full_since);
    stream->full_since = 0;
}

uint64_t stats_device(const hone_stream *stream, const hone_event *event)
{
    hone_times times;
    return stream->clocked && hone_event_times(event, &times, NULL) == HONE_OK && times.ended > times.started
               ? times.ended - times.started
               : 0;
}

uint64_t stats_stage(const hone_stream *stream, const hone_event *event, uint64_t waited_from)
{
    const uint64_t measured = stats_device(stream, event);
    return measured ? measured : clock_ns() - waited_from;
}

const char *hone_stream_stage_name(hone_stream_stage stage)
{
    static const char *const names[] = {"input",    "copy in",  "upload", "kernels",
                                        "download", "copy out", "output"};
    return (unsigned)stage < COUNT_OF(names) ? names[stage] : "?";
}

void hone_stream_get_stats(const hone_stream *stream, hone_stream_stats *stats)
{
    hone_stream *s = (hone_stream *)stream; /* for the lock alone */
    if (!stats)
        return;
    *stats = (hone_stream_stats){0};
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    *stats = s->stats;
    stats->pushed = s->pushed;
    stats->finished = s->finished;
    stats->in_flight = (unsigned)(s->pushed - s->finished);
    stats->dead = s->dead;
    pthread_mutex_unlock(&s->lock);
    stats->slots = s->slot_count;
    stats->memory = s->memory;
    for (int i = 0; i < HONE_STAGE_COUNT; i++)
        if (stats->seconds[i] > stats->seconds[stats->bottleneck])
            stats->bottleneck = (hone_stream_stage)i;
}
