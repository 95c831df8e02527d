/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Image files: pixels in, pixels out, with the metadata carried from one to the other.
 *
 * PNM, PAM and PFM are read and written here; everything else goes through libvips where the build has it.
 * Every byte of a file is hostile: sizes are refused from the header, before memory is taken, and a file that
 * is not whole is an error unless the caller accepts damage.
 *
 * Threads: each function may run in several threads at once, on different objects.
 */
#pragma once

#include "hone/pixels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum media_note {
    MEDIA_DETAIL,  /* for those who want to know more */
    MEDIA_WARNING, /* the result holds less than the file did */
    MEDIA_ONCE     /* the same, of the kind of the file: among many such files once is enough */
};

/* Receives what a user may want to know about a file and is no error, one line each: "'path': what". */
typedef void (*media_note_function)(void *user, enum media_note kind, const char *message);

struct media_read_options {
    bool accept_damaged; /* take what can be decoded of a file that is not whole */
    bool keep_s16;       /* deliver signed 16 bits as s16, which few filters take, not as f32 */
    bool keep_u32;       /* the same for unsigned 32 bits and u32, which no filter takes */
    bool stack;          /* all pages, where they are of one size and kind; else the first */
    /* These alone, counted from 1; last_page 0: to the last one; both 0: as `stack` says. */
    unsigned first_page, last_page;
    bool apart;        /* what `stack` or these are may also differ: see media_info.apart */
    uint64_t together; /* bytes; `apart` also parts what is more; 0: any number stays together */
    /* The page comes after another one of the same file: what concerns the whole file was told then, and the
     * first page's text about all of them is none about this one. */
    bool goes_on;
    bool reopened;  /* what opening the file tells was told before; what reading rows tells was not */
    bool alone;     /* pixels alone are wanted: what pages say of themselves need not be told */
    bool split;     /* a TIFF of more than four channels comes channel by channel; else it is refused */
    bool trust;     /* also read formats whose decoders are not meant for untrusted files */
    double seconds; /* CPU time of the calling thread that opening and decoding may take; 0: any,
                            negative: by the number of pixels (media_seconds) */
    /* Of an image; 0: HONE_MAX_PIXELS, the most that fits into one image of the library's. */
    uint64_t max_pixels;
    uint64_t memory; /* bytes that a decoder may hold beside the pixels it delivers; 0: MEDIA_MEMORY */
    media_note_function note;
    void *user;
};

#define MEDIA_MEMORY ((uint64_t)2 << 30)

/* The message of a pipe that pauses for too long: its name, and the seconds that were allowed. */
#define MEDIA_STALLED "'%s': nothing came for %g s (--timeout sets how long that may be)"

/**
 * From now on what libvips decodes is decoded by processes of its own, with limits of memory (options.memory)
 * and processor time (twice options.seconds) that the system holds: one that goes over them, or crashes,
 * fails its file and nothing else. To be called once, before other threads exist and OpenCL is used, both of
 * which a fork would copy by halves. likely: such files will come, and libvips had better be started here,
 * once for all. HONE_ERROR_INTERNAL. Without libvips it does nothing.
 */
hone_status media_decoders_begin(bool likely, hone_error *error);
/* Ends them; all inputs are closed. Fine without media_decoders_begin. */
void media_decoders_end(void);
/* Ends the decoder that a thread (pthread_self) waits for in media_open or media_load, which fails there;
 * false if it waits for none. Threads: any. The first argument is not used. */
bool media_give_up(void *user, uint64_t thread);
/* How long, since the last call, a decoder that is at work waited for a processor, in ns: the longest of
 * them. `now` is clock_ns(). Threads: one at a time. */
uint64_t media_starved(uint64_t now);

/* What media_load will deliver. */
struct media_info {
    hone_image_desc desc; /* upright (the orientation in EXIF is applied); 1, 3 or 4 channels; pitch 0 */
    bool gray_alpha;      /* the file holds gray and alpha; delivered as RGBA with equal colours */
    /* channels beside gray or RGB that are no alpha: a fourth channel is one like the others */
    uint32_t extra;
    unsigned pages;      /* in the file: those of a TIFF, the frames of an animation */
    unsigned first_page; /* that is delivered, counted from 1 */
    unsigned page_count; /* that are delivered, one by each media_load (but see parts); desc is of one */
    /* 0; else the pages of a TIFF from first_page on that are wanted and differ in size or kind: one is
     * delivered, and media_next_page goes on to the next, until this is 1 */
    unsigned apart;
    /* 0; else, at the first one, how many pages are alike and come apart for their size alone */
    unsigned alike;
    /* 1; else the channels of a page, more than four, each of which is delivered as an image of one channel,
     * by a media_load of its own, before the next page */
    unsigned parts;
    const char *format; /* "PNG", "JPEG" ... for messages */
};

/* A file that is open for reading. Threads: one at a time. */
struct media_input;

/**
 * Opens an image and reads its header. options may be NULL. A folder, a pipe or a device is refused without
 * waiting for it, and so is what cannot hold the pixels that the header promises, or would take a decoder
 * over the limits of the options. HONE_ERROR_IO for whatever is wrong with the file; the message names it.
 * *out is released with media_close.
 */
hone_status media_open(struct media_input **out, const char *path, const struct media_read_options *options,
                       hone_error *error);

/* Valid until the input is closed. */
const struct media_info *media_get_info(const struct media_input *input);

/* The bound on CPU time for an image of this size where options.seconds is negative: a decoder that is not
 * done by then would not be in any time that somebody waits. */
double media_seconds(const hone_image_desc *desc);

/* Whether an error would be the same the next time: the time of options.seconds was over, or the decoder has
 * a process of its own, so that no other file had to do with it. NULL: of an input that was not opened. */
bool media_is_settled(const struct media_input *input);

/* Decodes into `pixels`, whose rows are `pitch` bytes apart (0: tight). Once for each page, in their order.
 * On an error the content of `pixels` is undefined. */
hone_status media_load(struct media_input *input, void *pixels, size_t pitch, hone_error *error);

/* Goes on to the next page where media_info.apart is above 1, whether or not this one was loaded: what the
 * input delivers is then that page, with its own size, kind and metadata. After an error it can only be
 * closed. */
hone_status media_next_page(struct media_input *input, hone_error *error);

/* Whether rows of the file are rows of the image, in the same order: EXIF may turn it. */
bool media_loads_rows(const struct media_input *input);

/* media_load in parts: the next `count` rows of a page, where media_loads_rows. The decoder keeps what it
 * needs between the calls. */
hone_status media_load_rows(struct media_input *input, uint32_t count, void *pixels, size_t pitch,
                            hone_error *error);

/* *input becomes NULL, NULL is fine. */
void media_close(struct media_input **input);

/* ---- Pipes ---- */

/**
 * Images that come one after the other through standard input, a fifo or a socket. PNM, PAM, PFM, PNG, JPEG
 * and WebP say where they end, and several may follow each other; anything else lasts until the stream ends.
 * Threads: one at a time.
 */
struct media_stream;

/* Whether a path is read as a stream: "-" (standard input), a fifo, a socket, and whatever leads to one. */
bool media_is_stream(const char *path);

/* Waits until somebody writes into a fifo. One image may have `memory` bytes as a file (0: MEDIA_MEMORY).
 * What comes may pause for `seconds` (0: for ever): the image that is due then fails, and none follows.
 * HONE_ERROR_IO. *out is released with media_stream_close. */
hone_status media_stream_open(struct media_stream **out, const char *path, uint64_t memory, double seconds,
                              hone_error *error);

/* Whether an image follows, or a failure to be told instead; waits for its first bytes. Before the first one
 * always true. */
bool media_stream_more(struct media_stream *stream);

/* Whether nothing at all follows; waits for a byte. */
bool media_stream_is_over(struct media_stream *stream);

/* Reads the next image into memory, however long it takes to come. False: nothing follows. What is wrong with
 * it, also that it is none, media_stream_image tells. */
bool media_stream_take(struct media_stream *stream);

/* media_open for the image that was taken last, once. It may outlive the stream. */
hone_status media_stream_image(struct media_stream *stream, struct media_input **out,
                               const struct media_read_options *options, hone_error *error);

/* *stream becomes NULL, NULL is fine. */
void media_stream_close(struct media_stream **stream);

/* ---- Names ---- */

/* Whether a file of this name is taken for an image when a folder is searched: by its suffix alone. */
bool media_is_image_name(const char *name);

/* Whether a file of this name is read or written through libvips: by its suffix alone; false for an unknown
 * one. */
bool media_needs_libvips(const char *name);

/* ---- Writing ---- */

struct media_write_options {
    int quality; /* 1..100 where media_takes() says so; 0: MEDIA_QUALITY, and lossless from WebP to WebP */
    /* One of media_compressions, where media_takes_compression() says so: there it outweighs the quality.
     * NULL, and elsewhere: that of a TIFF input, else none. */
    const char *compression;
    bool strip;           /* of the metadata only the colour profile stays */
    bool turned;          /* rows of the input are columns of the image */
    bool flatten;         /* alpha is laid over the background */
    double background[3]; /* red, green, blue: 0 to 1 of the full scale */
    /* Of counts that go to CSV or JSON: the edges of the bins, one more than there are bins. The pixels are a
     * row of counts and three more: of what is below the first edge, above the last, and NaN. NULL: no
     * counts. */
    const double *edges;
    size_t edge_count;
    /* Images that lie one after the other, each as `desc` says; 0: 1. Where media_takes() says so. */
    unsigned pages;
};

enum { MEDIA_QUALITY = 90 };
extern const char media_compressions[]; /* separated by bars */

/* What an option would do for the format of a name. */
enum media_option {
    MEDIA_OPTION_QUALITY,
    MEDIA_OPTION_SEQUENCE, /* several may follow each other in one stream */
    MEDIA_OPTION_PAGES,    /* one file holds several */
    MEDIA_OPTION_APART     /* and they may be of different sizes and kinds: see media_pages */
};
bool media_takes(const char *name, enum media_option option);

/* Whether the format of a name can be compressed so; `word` is one of media_compressions. NULL: false. */
bool media_takes_compression(const char *name, const char *word);

/* The formats of this build, readable ones and writable ones; false beyond the last. */
struct media_format_info {
    const char *name, *suffixes; /* suffixes with spaces between */
    bool reads, writes;
    bool trust;                   /* is read with media_read_options.trust only */
    const char *depth, *channels; /* what is written, in words; NULL where nothing is */
};
bool media_format_at(size_t index, struct media_format_info *out);

/* The version of libvips that runs, such as "8.14.1"; NULL in a build without. */
const char *media_vips_version(void);

/* Whether anything can be written under this name: its suffix is known and this build has a writer for it.
 * HONE_ERROR_USAGE says which suffixes there are. */
hone_status media_check_name(const char *name, hone_error *error);

/* Whether what is written under this name is text, a table of numbers. */
bool media_is_table(const char *name);

/* Whether an image like this can be written under this name: type, channels, size. HONE_ERROR_USAGE says what
 * the format holds, what the image is, and which suffix would do. `like` is the input that it was made of;
 * `options` may be NULL. */
hone_status media_check_output(const char *name, const hone_image_desc *desc, const struct media_info *like,
                               const struct media_write_options *options, hone_error *error);

/**
 * Encodes tight pixels into the open file `fd` (empty, positioned at its start, readable and writable); the
 * format goes by the suffix of `name`, which messages quote too. `like` (may be NULL) is the input whose
 * metadata the output gets as far as its format holds it; a gray_alpha input whose result has four channels
 * is written as gray and alpha again. Results of an input in parts have one channel in *desc, and in `pixels`
 * as many as there are parts, interleaved. The pixels may be changed. The caller syncs and closes.
 */
hone_status media_write(int fd, const char *name, const hone_image_desc *desc, void *pixels,
                        const struct media_input *like, const struct media_write_options *options,
                        hone_error *error);

struct media_rows {
    const void *pixels;
    size_t pitch;
    uint32_t count;
};

/* Rows of an image from the top: each call fills `rows` with the next `count` of them, tight. May be called
 * on another thread than media_write_rows, but not on two at a time. */
struct media_source {
    hone_status (*next)(void *user, uint32_t count, void *rows, hone_error *error);
    /* Instead, where rows are in memory anyway: lends 1 to `most` of the next ones, until the next call.
     * NULL: it does not. */
    hone_status (*lend)(void *user, uint32_t most, struct media_rows *lent, hone_error *error);
    void *user;
    /* Of a gray_alpha input: the three colours of the result are still the same everywhere. */
    bool gray;
};

/* media_write for one image that is never in memory as a whole; *desc may have any number of pixels. Formats
 * whose encoders want all pixels at once (WebP, GIF, AVIF, HEIC) take the memory for that. PNM, PNG, TIFF and
 * JPEG do not. */
hone_status media_write_rows(int fd, const char *name, const hone_image_desc *desc,
                             const struct media_source *source, const struct media_input *like,
                             const struct media_write_options *options, hone_error *error);

/* ---- Pages of different sizes in one file ---- */

/* A TIFF that gets its pages one after the other, so that no more than one is in memory. Threads: one at a
 * time. */
struct media_pages;

/* Into the open file `fd`, as for media_write; `name` is for messages. The page at hand lies in a file
 * without a name beside the file `beside` (NULL: in $TMPDIR). A file of more than `classic_bytes` (0: as many
 * as there can be) becomes a BigTIFF. *out is released with media_pages_free. */
hone_status media_pages_begin(struct media_pages **out, int fd, const char *name, const char *beside,
                              uint64_t classic_bytes, hone_error *error);
/* The empty file that the next page is to be written to by media_write or media_write_rows. Not owned. */
int media_pages_file(const struct media_pages *pages);
/* Takes what was written there as the next page, made of `like` (may be NULL). */
hone_status media_pages_add(struct media_pages *pages, const struct media_input *like, hone_error *error);
/* After the last one; without it the file is none. The caller syncs and closes. */
hone_status media_pages_end(struct media_pages *pages, hone_error *error);
/* *pages becomes NULL, NULL is fine. */
void media_pages_free(struct media_pages **pages);
