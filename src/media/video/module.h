/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the command and its module video.so, which alone is linked with FFmpeg's libraries: their
 * relocations take longer than many runs of hone, so they are loaded when a video comes. */
#pragma once

#include "media/video/video.h"

/* Exported by the module. The first two members tell whether command and module were built together. */
struct video_functions {
    size_t size;
    const char *version;
    hone_status (*open)(struct video_input **, const char *, const struct video_read_options *, hone_error *);
    const struct video_info *(*get_info)(const struct video_input *);
    hone_status (*read)(struct video_input *, struct video_unit **, hone_error *);
    uint64_t (*damages)(const struct video_input *);
    void (*unit_free)(struct video_unit **);
    hone_status (*unit_replace)(struct video_unit **, hone_error *);
    void (*close)(struct video_input **);
    hone_status (*check_output)(const char *, const struct video_write_options *, hone_error *);
    hone_status (*create)(struct video_output **, int, bool, const char *, const struct video_input *,
                          const struct video_write_options *, hone_error *);
    const char *(*encoder)(const struct video_output *);
    hone_status (*write)(struct video_output *, struct video_unit **, hone_error *);
    hone_status (*finish)(struct video_output *, hone_error *);
    void (*output_close)(struct video_output **);
};

#define VIDEO_FUNCTIONS "hone_video_functions"
