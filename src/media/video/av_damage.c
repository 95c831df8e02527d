/* SPDX-License-Identifier: BSD-2-Clause */
/* Damage of inputs: which frame it is in, or between which frames. */
#include "media/video/av.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* Damages that are told one by one. */
enum { TOLD = 20 };

/* ---- What is known ---- */

static struct damage *find(struct damages *damages, enum damage_place place, int64_t packet)
{
    for (unsigned i = 0; i < damages->count; i++) {
        struct damage *damage = &damages->list[i];
        if (damage->packet == packet && (damage->place == DAMAGE_BEHIND) == (place == DAMAGE_BEHIND))
            return damage;
    }
    return NULL;
}

void damages_add(struct damages *damages, enum damage_place place, int64_t packet, const char *message)
{
    pthread_mutex_lock(&damages->lock);
    struct damage *known = find(damages, place, packet);
    if (known && place == DAMAGE_LOST)
        known->place = place;
    if (!known && damages->count < MAX_DAMAGES) {
        struct damage *damage = &damages->list[damages->count++];
        damage->place = place;
        damage->packet = packet;
        snprintf(damage->message, sizeof damage->message, "%s", message);
    }
    pthread_mutex_unlock(&damages->lock);
}

void damage_of_demuxer(struct video_input *input, const char *message)
{
    damages_add(&input->damages, DAMAGE_BEHIND, input->packets, message);
}

void damage_ahead(struct video_input *input, const char *message)
{
    damages_add(&input->early, DAMAGE_BEHIND, avio_tell(input->format->pb), message);
}

void damage_reached(struct video_input *input, int64_t at)
{
    struct damages *early = &input->early;
    unsigned kept = 0;
    for (unsigned i = 0; i < early->count; i++)
        if (early->list[i].packet <= at)
            damage_of_demuxer(input, early->list[i].message);
        else
            early->list[kept++] = early->list[i];
    early->count = kept;
}

void damage_not_passed(struct video_input *input)
{
    const int64_t at = avio_tell(input->format->pb);
    struct damages *early = &input->early;
    while (early->count > 0 && early->list[early->count - 1].packet > at)
        early->count--;
}

void damage_note_packet(struct video_input *input, int64_t packet, int64_t pts, bool is_key)
{
    struct damages *damages = &input->damages;
    pthread_mutex_lock(&damages->lock);
    if (is_key && !damages->keys[0]) {
        damages->keys[0] = packet;
        damages->key_pts = pts;
    } else if (is_key && !damages->keys[1])
        damages->keys[1] = packet;
    else if (damages->keys[0] && !damages->keys[1] && pts != AV_NOPTS_VALUE && pts < damages->key_pts)
        damages->leading = packet;
    pthread_mutex_unlock(&damages->lock);
}

/* Where a stream was cut at an open group of pictures, those shown before its key frame refer to others
 * before the cut. In H.264 the group also says which of these are no longer needed. The decoder does not find
 * them, and all that it gives is as it was. */
static bool is_of_cut(struct damages *damages, int64_t packet, const char *message)
{
    const char start[] = "mmco: unref short failure";
    pthread_mutex_lock(&damages->lock);
    const bool is_first = !damages->keys[1] || packet < damages->keys[1];
    const bool is_leading = packet > damages->keys[0] && packet <= damages->leading;
    pthread_mutex_unlock(&damages->lock);
    return is_leading || (is_first && strncmp(message, start, strlen(start)) == 0);
}

bool damage_is_of_cut(struct video_input *input, const AVFrame *frame)
{
    return frame->flags & AV_FRAME_FLAG_CORRUPT &&
           ((input->was_cut && input->frames == 0) || is_of_cut(&input->damages, frame_packet(frame), ""));
}

/* A picture that is refreshed in parts becomes whole some packets behind a cut. */
static void forget_before(struct damages *damages, int64_t packet)
{
    unsigned kept = 0;
    pthread_mutex_lock(&damages->lock);
    for (unsigned i = 0; i < damages->count; i++)
        if (damages->list[i].place != DAMAGE_IN || damages->list[i].packet >= packet)
            damages->list[kept++] = damages->list[i];
    damages->count = kept;
    pthread_mutex_unlock(&damages->lock);
}

/* H.261 marks no frame as a key frame. */
static bool is_usual(const struct video_input *input, const char *message)
{
    return input->decoder->codec_id == AV_CODEC_ID_H261 &&
           strcmp(message, "warning: first frame is no keyframe") == 0;
}

void damage_of_packet(struct video_input *input, int64_t packet, const char *message)
{
    if (!is_of_cut(&input->damages, packet, message) && !is_usual(input, message))
        damages_add(&input->damages, DAMAGE_IN, packet, message);
}

/* Decoders fail in the order of packets, and say why before. */
static bool lose_next(struct damages *damages)
{
    struct damage *next = NULL;
    pthread_mutex_lock(&damages->lock);
    for (unsigned i = 0; i < damages->count; i++) {
        struct damage *damage = &damages->list[i];
        if (damage->place == DAMAGE_IN && damage->packet > damages->lost &&
            (!next || damage->packet < next->packet))
            next = damage;
    }
    if (next) {
        next->place = DAMAGE_LOST;
        damages->lost = next->packet;
    }
    pthread_mutex_unlock(&damages->lock);
    return next != NULL;
}

/* The packet that has just been sent, unless several are decoded at once. */
void damage_of_decoder(struct video_input *input, int code)
{
    const AVCodecContext *decoder = input->decoder;
    const bool is_late = decoder->active_thread_type & FF_THREAD_FRAME ||
                         decoder->codec->capabilities & AV_CODEC_CAP_OTHER_THREADS;
    char reason[AV_ERROR_MAX_STRING_SIZE] = "";
    av_strerror(code, reason, sizeof reason);
    if (!is_late)
        damages_add(&input->damages, DAMAGE_LOST, input->packets, reason);
    else if (!lose_next(&input->damages))
        damages_add(&input->damages, DAMAGE_BEHIND, input->last_packet, reason);
}

/* ---- Which frame that is ---- */

static const struct stamp *stamp_of(const struct video_input *input, int64_t packet)
{
    const struct stamp *stamp = &input->stamps[packet % STAMPS];
    return stamp->packet == packet && stamp->pts != AV_NOPTS_VALUE ? stamp : NULL;
}

/* Whether a frame that has come is shown after the one of a damage, which then does not come any more. */
static bool is_after(const struct video_input *input, const struct damage *damage, const AVFrame *frame)
{
    const struct stamp *stamp = stamp_of(input, damage->packet);
    if (damage->place != DAMAGE_BEHIND && stamp && stamp->is_shown)
        return frame->pts > stamp->pts;
    /* Without times: B frames come before the frame that they are decoded after. */
    return frame_packet(frame) > damage->packet &&
           (damage->place == DAMAGE_BEHIND || frame->pict_type != AV_PICTURE_TYPE_B);
}

static void write_time(char *to, size_t size, const struct video_input *input, int64_t pts)
{
    const double time = (double)(pts - video_zero(input, pts)) * av_q2d(input->stream->time_base);
    snprintf(to, size, "%.3f s", time);
}

/* "before frame 12, at 0.440 s" */
static void write_place(char *to, size_t size, const struct video_input *input, const AVFrame *frame,
                        bool exactly)
{
    char when[32];
    if (!frame) {
        snprintf(to, size, "after frame %llu", (unsigned long long)input->frames);
        return;
    }
    write_time(when, sizeof when, input, frame->pts);
    snprintf(to, size, "%s frame %llu, at %s", exactly ? "before" : "near", (unsigned long long)input->frames,
             when);
}

/* False while the damage concerns a frame that is still to come. */
static bool name_damage(const struct video_input *input, const struct damage *damage, const AVFrame *frame,
                        char *what, size_t size)
{
    const struct stamp *stamp = damage->place == DAMAGE_BEHIND ? NULL : stamp_of(input, damage->packet);
    char when[32] = "", place[80];
    /* What is stored behind the damage may be shown before what is lost. */
    write_place(place, sizeof place, input, frame, stamp || input->decoder->has_b_frames == 0);
    if (stamp)
        write_time(when, sizeof when, input, stamp->pts);
    if (frame && damage->place != DAMAGE_BEHIND && damage->packet == frame_packet(frame)) {
        write_time(when, sizeof when, input, frame->pts);
        snprintf(what, size, "frame %llu, at %s, is damaged", (unsigned long long)input->frames, when);
        return true;
    }
    if (frame && !is_after(input, damage, frame))
        return false;
    if (stamp && stamp->is_shown && damage->place == DAMAGE_LOST)
        snprintf(what, size, "the frame at %s is missing, %s", when, place);
    else
        snprintf(what, size, "the file is damaged %s", place);
    return true;
}

static bool take_damage(struct video_input *input, const AVFrame *frame, char *what, size_t size,
                        struct damage *damage)
{
    struct damages *damages = &input->damages;
    bool found = false;
    pthread_mutex_lock(&damages->lock);
    for (unsigned i = 0; i < damages->count && !found; i++) {
        *damage = damages->list[i];
        found = name_damage(input, damage, frame, what, size);
        if (found)
            memmove(&damages->list[i], &damages->list[i + 1], (--damages->count - i) * sizeof *damages->list);
    }
    pthread_mutex_unlock(&damages->lock);
    return found;
}

hone_status damage_tell(struct video_input *input, const char *what, const char *message, hone_error *error)
{
    const struct video_read_options *o = &input->options;
    if (o->first > 1 && input->frames < o->first)
        return HONE_OK;
    if (!o->accept_damaged)
        return error_io(error, "'%s': %s (%s); --accept-damaged goes on", input->path, what, message);
    if (++input->damage_count <= TOLD)
        video_note(o->note, o->user, MEDIA_WARNING, "'%s': %s (%s)%s", input->path, what, message,
                   input->damage_count == TOLD ? "; further damage is counted only" : "");
    return HONE_OK;
}

/* A packet of AV1 has one frame that is shown, and dav1d passes over what it does not know as nothing. `end`:
 * the first packet that has had time to. */
static void find_lost(struct video_input *input, int64_t end)
{
    const bool is_one_each = strcmp(input->decoder->codec->name, "libdav1d") == 0;
    struct damages *damages = &input->damages;
    pthread_mutex_lock(&damages->lock);
    const bool is_known = find(damages, DAMAGE_BEHIND, input->last_packet) != NULL;
    pthread_mutex_unlock(&damages->lock);
    if (!is_one_each || is_known || input->last_packet == 0 || input->end != AV_NOPTS_VALUE)
        return;
    for (int64_t packet = input->last_packet + 1; packet < end; packet++)
        damages_add(damages, DAMAGE_LOST, packet, "there is nothing to be shown in its packet");
}

hone_status damage_settle(struct video_input *input, const AVFrame *frame, hone_error *error)
{
    char what[160];
    struct damage damage;
    hone_status status = HONE_OK;
    if (frame && input->was_cut && input->frames == 1)
        forget_before(&input->damages, frame_packet(frame));
    if (frame && (frame->flags & AV_FRAME_FLAG_CORRUPT || frame->decode_error_flags))
        damages_add(&input->damages, DAMAGE_IN, frame_packet(frame), "parts are missing");
    find_lost(input, frame ? frame_packet(frame) : input->packets + 1);
    while (!status && take_damage(input, frame, what, sizeof what, &damage))
        status = damage_tell(input, what, damage.message, error);
    if (frame && frame_packet(frame) > input->last_packet)
        input->last_packet = frame_packet(frame);
    return status;
}
