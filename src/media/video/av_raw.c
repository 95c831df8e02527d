/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames without a container: what they are like is said by the user, as FORMAT:WIDTHxHEIGHT[@RATE]. */
#include "media/video/av.h"

#include "base/error.h"

#include <libavutil/imgutils.h>
#include <libavutil/parseutils.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 7 };

static const char usage[] =
    "--raw is FORMAT:WIDTHxHEIGHT or FORMAT:WIDTHxHEIGHT@RATE, such as nv12:1920x1080@25 or "
    "yuv420p10le:1280x720@30000/1001";

static bool take_side(const char **at, int *side)
{
    const size_t digits = strspn(*at, "0123456789");
    const bool fits = digits >= 1 && digits <= DIGITS;
    *side = fits ? atoi(*at) : 0;
    *at += digits;
    return *side > 0;
}

static hone_status parse_format(struct raw_shape *shape, const char *text, size_t length, hone_error *error)
{
    char name[32];
    if (length >= sizeof name)
        return error_usage(error, "%s; not '%s'", usage, text);
    memcpy(name, text, length);
    name[length] = '\0';
    shape->format = av_get_pix_fmt(name);
    if (shape->format == AV_PIX_FMT_NONE)
        return error_usage(
            error,
            "--raw: there is no pixel format '%s'; it is meant as in ffmpeg, whose -pix_fmts lists them",
            name);
    return HONE_OK;
}

hone_status raw_parse(struct raw_shape *shape, const char *text, hone_error *error)
{
    const char *at = strchr(text, ':');
    *shape = (struct raw_shape){.rate = {25, 1}};
    TRY(at && at > text ? parse_format(shape, text, (size_t)(at - text), error)
                        : error_usage(error, "%s; not '%s'", usage, text));
    at++;
    bool fits = take_side(&at, &shape->width) && *at++ == 'x' && take_side(&at, &shape->height);
    if (fits && *at == '@') {
        fits = av_parse_video_rate(&shape->rate, at + 1) >= 0;
        at += strlen(at);
    }
    shape->bytes = fits && *at == '\0' && shape->width <= HONE_MAX_SIDE && shape->height <= HONE_MAX_SIDE
                       ? av_image_get_buffer_size(shape->format, shape->width, shape->height, 1)
                       : 0;
    return shape->bytes > 0 ? HONE_OK : error_usage(error, "%s; not '%s'", usage, text);
}

/* Told before any frame is filtered, where the file tells. */
hone_status raw_check_file(const struct video_input *input, hone_error *error)
{
    struct stat info;
    const int fd = input->descriptor.fd;
    const off_t at = lseek(fd, 0, SEEK_CUR);
    if (input->options.accept_damaged || at < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return HONE_OK;
    const long long bytes = info.st_size - at, frames = bytes / input->raw.bytes,
                    more = bytes % input->raw.bytes;
    if (more == 0)
        return HONE_OK;
    return error_io(error,
                    "'%s' ends within frame %lld, of which it has %lld of %d bytes: is --raw %s right? "
                    "--accept-damaged leaves the rest out",
                    input->path, frames + 1, more, input->raw.bytes, input->options.raw);
}

int raw_open(struct video_input *input)
{
    AVDictionary *options = NULL;
    const struct raw_shape *shape = &input->raw;
    const AVInputFormat *raw = av_find_input_format("rawvideo");
    char size[32], rate[32];
    snprintf(size, sizeof size, "%dx%d", shape->width, shape->height);
    snprintf(rate, sizeof rate, "%d/%d", shape->rate.num, shape->rate.den);
    av_dict_set(&options, "video_size", size, 0);
    av_dict_set(&options, "pixel_format", av_get_pix_fmt_name(shape->format), 0);
    av_dict_set(&options, "framerate", rate, 0);
    const int code =
        raw ? avformat_open_input(&input->format, input->path, raw, &options) : AVERROR_DEMUXER_NOT_FOUND;
    av_dict_free(&options);
    return code;
}

/* A decoder would say less clearly what is wrong. */
bool raw_is_short(struct video_input *input, const AVPacket *packet)
{
    char what[128];
    if (!input->options.raw || packet->size >= input->raw.bytes)
        return false;
    snprintf(what, sizeof what, "the last frame has %d of %d bytes; are format and size right?", packet->size,
             input->raw.bytes);
    damage_of_demuxer(input, what);
    return true;
}
