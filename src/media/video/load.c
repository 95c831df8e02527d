/* SPDX-License-Identifier: BSD-2-Clause */
/* The command's side of its module for videos, which is loaded when a video comes. */
#include "media/video/module.h"

#include "base/error.h"
#include "media/module.h"

#include <pthread.h>

static const struct video_functions *module; /* NULL: it is not there, and `problem` says why */
static hone_error problem;

#ifdef HONE_VIDEO_MODULE

bool video_is_built(void)
{
    return true;
}

static void load(void)
{
    static const char *const places[] = {HONE_VIDEO_MODULE, "libexec/hone/video.so", NULL};
    module_load((const void **)&module, "videos", places, VIDEO_FUNCTIONS, sizeof *module, &problem);
}

#else

bool video_is_built(void)
{
    return false;
}

static void load(void)
{
    error_unsupported(&problem,
                      "this build of hone has no video because it was made without FFmpeg's libraries "
                      "(Debian: apt install libavformat-dev libavcodec-dev libavutil-dev, and build again)");
}

#endif

hone_status video_load(hone_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return module ? HONE_OK : error_pass(error, &problem);
}

static hone_status load_for(const char *name, hone_error *error)
{
    hone_status status = video_load(error);
    if (status)
        error_prefix(error, "'%s'", name);
    return status;
}

/* ---- Without an object there is no call: what takes one has its module ---- */

hone_status video_open(struct video_input **out, const char *path, const struct video_read_options *options,
                       hone_error *error)
{
    hone_status status = load_for(path, error);
    *out = NULL;
    return status ? status : module->open(out, path, options, error);
}

const struct video_info *video_get_info(const struct video_input *input)
{
    return module->get_info(input);
}

hone_status video_read(struct video_input *input, struct video_unit **unit, hone_error *error)
{
    return module->read(input, unit, error);
}

uint64_t video_damages(const struct video_input *input)
{
    return module->damages(input);
}

void video_unit_free(struct video_unit **unit)
{
    if (*unit)
        module->unit_free(unit);
}

hone_status video_unit_replace(struct video_unit **unit, hone_error *error)
{
    return module->unit_replace(unit, error);
}

void video_close(struct video_input **input)
{
    if (*input)
        module->close(input);
}

hone_status video_check_output(const char *name, const struct video_write_options *options, hone_error *error)
{
    hone_status status = load_for(name, error);
    return status ? status : module->check_output(name, options, error);
}

hone_status video_create(struct video_output **out, int fd, bool seekable, const char *name,
                         const struct video_input *like, const struct video_write_options *options,
                         hone_error *error)
{
    return module->create(out, fd, seekable, name, like, options, error);
}

const char *video_encoder(const struct video_output *output)
{
    return module->encoder(output);
}

hone_status video_write(struct video_output *output, struct video_unit **unit, hone_error *error)
{
    return module->write(output, unit, error);
}

hone_status video_finish(struct video_output *output, hone_error *error)
{
    return module->finish(output, error);
}

void video_output_close(struct video_output **output)
{
    if (*output)
        module->output_close(output);
}
