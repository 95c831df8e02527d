/* SPDX-License-Identifier: BSD-2-Clause */
/* When frames are shown. Encoders write their time base into the stream, where it is read as the frame rate,
 * and some know a few rates only. So they count frames, and packets get their times back. */
#include "media/video/av.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* Rates that differ less are the same: containers round times. */
static const double same_rate = 0.005;

static bool is_constant(const struct video_input *input)
{
    const AVRational mean = input->stream->avg_frame_rate;
    return mean.num <= 0 || mean.den <= 0 || fabs(av_q2d(input_rate(input)) / av_q2d(mean) - 1) < same_rate;
}

/* MPEG-4 has 16 bits for its units. MPEG-1's encoder lists rates of 5 to 15, too, which are not standard, and
 * does not start with these. */
static AVRational nearest_rate(const AVCodec *codec, AVRational rate)
{
    const AVRational film = {24000, 1001};
    if (codec->id == AV_CODEC_ID_MPEG1VIDEO && av_cmp_q(rate, film) < 0)
        return film;
    if (codec->supported_framerates)
        return codec->supported_framerates[av_find_nearest_q_idx(rate, codec->supported_framerates)];
    if (codec->id == AV_CODEC_ID_MPEG4)
        av_reduce(&rate.num, &rate.den, rate.num, rate.den, UINT16_MAX);
    return rate;
}

void times_choose(struct times *times, const struct video_input *input, const AVCodec *codec,
                  const AVOutputFormat *muxer)
{
    const AVRational rate = input_rate(input);
    const bool constant = is_constant(input);
    times->input = input->stream->time_base;
    times->frame = av_inv_q(rate);
    times->encoder = av_inv_q(nearest_rate(codec, rate));
    times->drops = muxer_is_y4m(muxer) || muxer->flags & AVFMT_NOTIMESTAMPS;
    times->rounded = constant && av_div_q(times->frame, times->input).den != 1;
    /* Ogg numbers frames, and AVI has something for each unit of time. */
    const bool is_numbered = times->drops || text_has_word(constant ? "ogg avi" : "ogg", muxer->name);
    times->stream = is_numbered ? times->encoder : times->rounded ? times->frame : times->input;
    for (int i = 0; i < TIMES; i++)
        times->shown[i].number = AV_NOPTS_VALUE;
}

int64_t times_give(struct times *times, AVFrame *frame)
{
    const struct shown shown = {times->frames, frame->pts, frame->FRAME_DURATION};
    times->shown[shown.number % TIMES] = shown;
    if (shown.number == 0)
        times->first = shown;
    frame->pts = shown.number;
    frame->FRAME_DURATION = 1;
    return times->frames++;
}

static const struct shown *find(const struct times *times, int64_t number)
{
    const struct shown *shown = &times->shown[number < 0 ? 0 : number % TIMES];
    return shown->number == number ? shown : NULL;
}

/* When the decoder takes a packet: as many frames before it is shown as the encoder says of the first one. */
static int64_t decoded(const struct times *times, int64_t number)
{
    const struct shown *first = &times->first, *shown = find(times, number);
    if (shown)
        return shown->pts;
    const struct shown *later = find(times, number + times->delay), *start = find(times, times->delay);
    return later && start ? later->pts - (start->pts - first->pts) : first->pts + number * first->duration;
}

/* Into an output's time. Matroska and FLV round to milliseconds, which a finer output need not keep. */
static int64_t convert(const struct times *times, int64_t pts, AVRational to)
{
    const int64_t first = times->first.pts;
    const int64_t number = av_rescale_q(pts - first, times->input, times->frame);
    const int64_t moved = av_rescale_q(number, times->frame, times->input) + first - pts;
    if (!times->rounded || llabs(moved) > 1 || av_cmp_q(to, times->input) >= 0)
        return av_rescale_q(pts, times->input, to);
    return av_rescale_q(first, times->input, to) + av_rescale_q(number, times->frame, to);
}

void times_restore(struct times *times, AVPacket *packet, AVRational to)
{
    const struct shown *shown = find(times, packet->pts);
    if (!shown || times->drops) {
        av_packet_rescale_ts(packet, times->encoder, to);
        return;
    }
    if (packet->dts != AV_NOPTS_VALUE && -packet->dts > times->delay)
        times->delay = -packet->dts;
    packet->dts =
        convert(times, packet->dts == AV_NOPTS_VALUE ? shown->pts : decoded(times, packet->dts), to);
    packet->pts = convert(times, shown->pts, to);
    packet->duration = convert(times, shown->pts + shown->duration, to) - packet->pts;
}
