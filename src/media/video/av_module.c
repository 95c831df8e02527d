/* SPDX-License-Identifier: BSD-2-Clause */
/* What the module shows to the command. */
#include "hone/version.h"
#include "media/video/module.h"

extern const struct video_functions hone_video_functions;

__attribute__((visibility("default"))) const struct video_functions hone_video_functions = {
    .size = sizeof(struct video_functions),
    .version = HONE_VERSION,
    .open = video_open,
    .get_info = video_get_info,
    .read = video_read,
    .damages = video_damages,
    .unit_free = video_unit_free,
    .unit_replace = video_unit_replace,
    .close = video_close,
    .check_output = video_check_output,
    .create = video_create,
    .encoder = video_encoder,
    .write = video_write,
    .finish = video_finish,
    .output_close = video_output_close,
};
