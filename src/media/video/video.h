/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Video files through FFmpeg's libraries: frames in, frames out, everything else carried along as it is.
 *
 * A file is read as units in its own order: frames of the one video stream that is filtered, and packets of
 * all other streams, which are copied. Every byte of a file is hostile: sizes and formats are checked before
 * memory is taken, and no file can make another one be opened.
 *
 * Samples of more than 8 and less than 16 bits are handed out as u16, shifted up to its upper bits (as in
 * P010), and shifted back with rounding: what a filter leaves alone stays what it was.
 *
 * Threads: one at a time per object; an input and an output may be used at the same time.
 */
#pragma once

#include "hone/pixels.h"
#include "media/media.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VIDEO_PLANES = 3 };

/* ---- Names: known in every build ---- */

/* Whether this build has FFmpeg's libraries. Without them video_open and video_create say so. */
bool video_is_built(void);
/* Tells an encoder that writes to stderr by itself not to, by the environment: before threads begin. */
void video_silence(void);
/* Loads the module that is linked with them, which all calls but those on names need; they do so by
 * themselves. HONE_ERROR_UNSUPPORTED when there is none. Threads: safe. */
hone_status video_load(hone_error *error);
/* Whether a file of this name is a video by its suffix, be it one that is read only: video_muxer is NULL. */
bool video_is_name(const char *name);
/* Whether such a file is frames alone, so that their format has to be said to read it. */
bool video_is_raw_name(const char *name);
/* FFmpeg's name of the format that goes with the suffix of a name, or NULL. */
const char *video_muxer(const char *name);

struct video_format_info {
    const char *name, *suffixes; /* suffixes with spaces between */
    const char *muxer;           /* as FFmpeg calls it */
    const char *holds;           /* in words */
};
/* False beyond the last. */
bool video_format_at(size_t index, struct video_format_info *out);

/* ---- Reading ---- */

struct video_read_options {
    const char
        *raw; /* "nv12:1920x1080@25": the file is such frames and nothing else; NULL: it has a format */
    bool accept_damaged;         /* go on after damage, which is noted frame by frame */
    bool every_plane;            /* chroma, too */
    bool one_thread;             /* only the first frame is wanted */
    bool strip;                  /* no metadata and no chapters */
    uint64_t memory;             /* bytes that decoding may hold; 0: MEDIA_MEMORY */
    uint64_t first, last;        /* frames to read, counted from 1; 0: from the first, to the last */
    double patience;             /* seconds that a pipe may bring nothing; 0: any time */
    bool (*stopped)(void *user); /* asked while waiting for a pipe: true ends the input there; may be NULL */
    media_note_function note;
    void *user;
};

struct video_info {
    uint32_t width, height;
    unsigned bits;      /* of a sample */
    const char *codec;  /* "h264" */
    const char *pixels; /* "yuv420p10le" */
    uint64_t frames;    /* that will come, as far as the file tells; 0: unknown */
    unsigned planes;    /* to be filtered, and their shapes (pitch 0) */
    hone_image_desc plane[VIDEO_PLANES];
};

/* A frame to be filtered, or a packet that is copied. */
struct video_unit {
    bool is_frame;
    uint64_t number; /* of the frame, counted from 1 */
    struct video_plane {
        const void *in; /* rows from top to bottom */
        size_t in_pitch;
        void *out; /* for the result; separate memory */
        size_t out_pitch;
    } planes[VIDEO_PLANES];
};

struct video_input;

/**
 * Opens a video and decodes its first frame in a process of its own (media_decoders_begin), within
 * options->memory and `seconds` of processor time (as in media_read_options), so that a file which takes more
 * there, or crashes a library, does no harm to this one. HONE_OK also for what is not tried: pipes, raw
 * frames, and where there are no such processes. Threads: safe.
 */
hone_status video_try(const char *path, const struct video_read_options *options, double seconds,
                      hone_error *error);
/**
 * Opens a video ("-": standard input) and decodes up to the first frame that is wanted. HONE_ERROR_IO for
 * whatever is wrong with the file; the message names it. *out is released with video_close.
 */
hone_status video_open(struct video_input **out, const char *path, const struct video_read_options *options,
                       hone_error *error);
/* Valid until the input is closed. */
const struct video_info *video_get_info(const struct video_input *input);
/* The next unit, which the caller frees or writes; NULL at the end. */
hone_status video_read(struct video_input *input, struct video_unit **unit, hone_error *error);
/* How much damage was gone over. */
uint64_t video_damages(const struct video_input *input);
void video_unit_free(struct video_unit **unit);
/* For a frame whose memory a device may use for ever: *unit becomes another one with the same pixels and
 * results, and the old one is never freed. On failure *unit is NULL. */
hone_status video_unit_replace(struct video_unit **unit, hone_error *error);
/* Outputs made after it must be closed before. */
void video_close(struct video_input **input);

/* ---- Writing ---- */

struct video_write_options {
    const char *codec;  /* a codec ("h264") or an encoder ("libx264"); NULL: that of the input if possible */
    const char *preset; /* as the encoder calls it; NULL: its default */
    int quality;        /* 1..100; 0: the default */
    media_note_function note;
    void *user;
};

struct video_output;

/* Whether the options can be meant for a file of this name. HONE_ERROR_USAGE. */
hone_status video_check_output(const char *name, const struct video_write_options *options,
                               hone_error *error);

/**
 * Begins a file in the format that the suffix of `name` says, with all streams of `like` that the format
 * holds. Notes tell what it does not. `seekable`: fd is a file of its own; else it is only written to, from
 * here on. The caller syncs and closes fd. *out is released with video_output_close.
 */
hone_status video_create(struct video_output **out, int fd, bool seekable, const char *name,
                         const struct video_input *like, const struct video_write_options *options,
                         hone_error *error);
/* The name of the encoder, and of the format of its frames. */
const char *video_encoder(const struct video_output *output);
/* Encodes a frame whose planes are filtered, or copies a packet. *unit becomes NULL in any case. */
hone_status video_write(struct video_output *output, struct video_unit **unit, hone_error *error);
/* Encodes what is left, and completes the file. */
hone_status video_finish(struct video_output *output, hone_error *error);
void video_output_close(struct video_output **output);
