/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands for video in a build without FFmpeg's libraries. */
#include "media/video/video.h"

#ifdef HONE_HAVE_FFMPEG

bool video_is_built(void)
{
    return true;
}

#else

#include "base/error.h"

bool video_is_built(void)
{
    return false;
}

static hone_status refuse(const char *name, hone_error *error)
{
    return error_set(error, HONE_ERROR_UNSUPPORTED,
                     "'%s': this build of hone has no video because it was made without FFmpeg's libraries "
                     "(Debian: apt install libavformat-dev libavcodec-dev libavutil-dev, and build again)",
                     name);
}

hone_status video_open(struct video_input **out, const char *path, const struct video_read_options *options,
                       hone_error *error)
{
    (void)options;
    *out = NULL;
    return refuse(path, error);
}

const struct video_info *video_get_info(const struct video_input *input)
{
    (void)input;
    return NULL;
}

hone_status video_read(struct video_input *input, struct video_unit **unit, hone_error *error)
{
    (void)input;
    *unit = NULL;
    return refuse("video", error);
}

uint64_t video_damages(const struct video_input *input)
{
    (void)input;
    return 0;
}

void video_unit_free(struct video_unit **unit)
{
    *unit = NULL;
}

void video_close(struct video_input **input)
{
    *input = NULL;
}

hone_status video_check_output(const char *name, const struct video_write_options *options, hone_error *error)
{
    (void)options;
    return refuse(name, error);
}

hone_status video_create(struct video_output **out, int fd, bool seekable, const char *name,
                         const struct video_input *like, const struct video_write_options *options,
                         hone_error *error)
{
    (void)fd, (void)seekable, (void)like, (void)options;
    *out = NULL;
    return refuse(name, error);
}

const char *video_encoder(const struct video_output *output)
{
    (void)output;
    return "";
}

hone_status video_write(struct video_output *output, struct video_unit **unit, hone_error *error)
{
    (void)output;
    *unit = NULL;
    return refuse("video", error);
}

hone_status video_finish(struct video_output *output, hone_error *error)
{
    (void)output;
    return refuse("video", error);
}

void video_output_close(struct video_output **output)
{
    *output = NULL;
}

#endif
