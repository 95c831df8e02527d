/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: one chain over many images. */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "cli/apply/items.h"
#include "cli/cli.h"
#include "cli/guard.h"
#include "hone/hone.h"
#include "lab/profile/traffic.h"
#include "media/media.h"
#include "stream/pool.h"
#include "tune/energy/energy.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>

struct apply_options {
    struct common_options common;
    char **asked; /* the command as it was given, without "hone"; ends with NULL */
    const char *output, *variant, *config, *tune, *format;
    const char *background;         /* as given */
    const char *alpha;              /* NULL: auto */
    const char *pages;              /* as given */
    unsigned first_page, last_page; /* 0: all that the output can hold */
    bool force, accept_damaged, recursive, no_fuse, skip_existing, update, resume, reproducible, trust, sync;
    double quality;                                     /* 0: the default */
    const char *codec, *preset, *frames, *planes, *raw; /* of videos, as given */
    uint64_t first_frame, last_frame;                   /* of --frames, counted from 1; 0: not given */
    struct media_write_options write;                   /* what of the above concerns files */
    double timeout;          /* seconds, for each stage; 0: none; negative: by the size of the work */
    double decode_memory;    /* MiB; 0: the default */
    double jobs;             /* images at a time; 0: as many as there are processors */
    double max_pixels;       /* of an image; 0: the default */
    const char *memory_text; /* as given */
    const char *trace;       /* file; NULL: none */
    uint64_t memory;         /* bytes, most for the pixels of all images at a time; 0: the default */
};

/* Of a video. */
enum video_stage {
    VIDEO_DECODE,
    VIDEO_COPY, /* by the CPU, to and from memory that the device can access quickly */
    VIDEO_UPLOAD,
    VIDEO_KERNELS,
    VIDEO_DOWNLOAD,
    VIDEO_ENCODE,
    VIDEO_STAGES
};

struct video_outcome {
    uint64_t frames, damages; /* written; gone over */
    uint64_t zero_copy;       /* frames that the device worked on where the decoder left them */
    double seconds;
    double busy[VIDEO_STAGES]; /* seconds in which each stage did not wait for another */
    char pixels[32], codec[32], encoder[32];
};

/* What became of one input. */
struct apply_result {
    const struct item *item;
    int exit_status;
    hone_error error;        /* unless exit_status is EXIT_DONE */
    bool skipped;            /* the output is there already, or up to date */
    bool told;               /* the error was told before */
    bool settled;            /* decoding failed, and would again */
    hone_image_desc in, out; /* the images */
    const char *format;      /* of the input: "PNG" */
    bool gray_alpha;         /* the output was written as gray and alpha */
    double device_seconds;   /* 0: the device has no clock */
    double wall_seconds;     /* from handing the pixels over to having the result */
    unsigned pages;          /* of the image, that were filtered; times are those of all */
    unsigned parts;          /* of each page, as in media_info */
    uint64_t pixels;         /* of all pages, where they differ; 0: each is as `in` says */
    bool is_video;
    struct video_outcome video;
    hone_copy_counts copies;          /* of all of it, on the way to the device, there, and back */
    unsigned bands;                   /* that it was filtered in; 0: as a whole */
    uint64_t by_device[POOL_DEVICES]; /* of a video, frames whose first plane each filtered; else tiles */
    hone_copies staged; /* by the processor, into and out of memory that the device reads quickly */
    const hone_device *device;
    hone_step_info *steps; /* owned; as in pool_job */
    size_t step_count;
    struct traffic traffic; /* what devices were given for all of it, where that is told; owned */
    bool alpha_weighed;
};

struct pixels {
    void *data; /* whole pages */
    size_t bytes;
};

/* Memory for the pixels of all images under way. */
enum { KEPT_PIXELS = 16 };
struct pixel_memory {
    pthread_mutex_t lock;
    pthread_cond_t given;
    uint64_t used, kept_bytes;
    struct pixels kept[KEPT_PIXELS]; /* for the next images */
    size_t kept_count;
};

struct memory_limit {
    uint64_t bytes, held; /* held: beside, by devices that work in the same memory */
    bool is_hard;         /* more is refused; else one image may go over it, by itself */
};

/* A bound on what a device does. */
struct device_watch {
    struct shared_device *shared;
    unsigned index;
    enum pool_wait what;
    struct guard_watch guard;
};

/* A second image that the chain names. Of several pages, page by page with images of as many. */
struct second {
    size_t step;
    const char *path;
    hone_image_desc desc;  /* of a page, or of one of its channels */
    unsigned pages, parts; /* in the file, as in media_info */
    void *first, *all;     /* pixels of the first page, and of all; NULL: not read. Owned by what all share */
    void *data;            /* those that the image at hand meets */
};

/* What an engine has at hand of a file, for the second images to be those of the same page. */
struct place {
    const char *path;     /* NULL: it is no file of pages */
    unsigned page, pages; /* counted from 0, of those in the file */
    unsigned part, parts; /* the same of channels that come apart */
    bool several;         /* pages are filtered */
};

struct timeline;

/* Joules of a run, counted when they are asked for. */
struct energy_run {
    bool asked;
    uint64_t start; /* clock_ns */
    struct energy_meter meter;
};

/* What is done about devices before the first image needs them, in a thread. */
struct early_device {
    bool begun, runs; /* runs: it must be waited for */
    pthread_t thread;
    hone_device *device; /* the one that will be used, if that is known and it opens; else NULL */
};

/* What all engines share: the devices, opened when the first image needs them, and second images, read
 * then. */
struct shared_device {
    const struct apply_options *options;
    const hone_chain *chain; /* the user's */
    const char *chain_text;
    pthread_mutex_t lock; /* over all that follows */
    bool often;           /* nobody knows how often plans will run: videos, and images from a pipe */
    struct early_device early;
    hone_device *devices[POOL_DEVICES];
    size_t count;
    struct pool *pool;
    struct device_watch watches[POOL_DEVICES][POOL_WAITS]; /* under the pool's lock */
    struct second *seconds;
    size_t second_count;
    hone_type depth; /* of the first image of the run, where depth_seen */
    bool depth_seen, depth_said;
    struct timeline *timeline; /* for --trace; NULL: none */
    struct energy_run energy;  /* under the lock of reports */
    pthread_rwlock_t tuning;   /* exclusive: a device is measured; shared: it filters images */
    struct pixel_memory memory;
    struct apply_course *course;
};

/* What becomes of the fourth channel under filters that look at neighbours. */
enum alpha_rule {
    ALPHA_COPY,  /* it stays, as in the library */
    ALPHA_PLAIN, /* it is no alpha, and filtered like the others */
    ALPHA_WEIGH  /* means are those of colours multiplied by alpha, and of alpha */
};

/* By what, and of what, an output is made. */
struct made {
    bool known;
    char key[SHA256_TEXT_SIZE];
};

/* What a thread needs for one image after the other. Threads: one at a time. */
struct engine {
    const struct apply_options *options;
    struct made made;        /* of the item at hand */
    const hone_chain *chain; /* as it runs: the user's, or `own` */
    const hone_chain *given; /* the user's */
    hone_chain *own;         /* written for the channels of the images */
    size_t *moved;           /* the user's steps in it */
    struct shared_device *shared;
    struct media_stream *stream; /* where the input is a pipe: it has the image to filter; owned */
    char *chain_text;
    hone_device *device;           /* the first one, once it is open */
    hone_image_desc input, output; /* of the chain, for the image at hand */
    struct pool_shape *shape;      /* for it */
    char *range;                   /* parameters of the last step for it alone; NULL: none */
    bool wants_edges;              /* the output is a table of counts */
    double *edges;                 /* of their bins */
    size_t edge_count;
    enum alpha_rule rule;  /* what its fourth channel is */
    hone_image_desc tuned; /* the last input that the chain was tuned for */
    struct pixels in, out;
    struct second *seconds;
    struct pool_second *bound; /* the same for the pool */
    size_t second_count;
    unsigned char *stack; /* results of all pages of an image, one after the other; NULL: of one */
    unsigned pages;       /* how many */
    unsigned page;        /* at hand, of an image whose pages are written one by one; 0: of another */
    struct place place;
};

/* In the order of the steps that take them; to be freed. */
hone_image_desc *engine_seconds(const struct engine *engine, hone_error *error);
/* Reads what the image at hand (engine.place) meets of second images, and opens devices, once for all
 * engines. */
hone_status engine_open(struct engine *engine, const hone_image_desc *input, hone_error *error);
/* The devices alone; second images are taken to be like the first. */
hone_status engine_open_devices(struct engine *engine, const hone_image_desc *input, hone_error *error);
/* What is told of an image that is opened; not what was told before. */
enum notes { NOTES_ALL, NOTES_OF_ROWS, NOTES_NONE };
/* Opens second image `index` without reading it. */
hone_status engine_open_second(const struct engine *engine, size_t index, const hone_image_desc *first,
                               uint64_t max_pixels, enum notes notes, struct media_input **out,
                               hone_error *error);
/* What a decoder may take for an image or a frame like this before it is given up; 0: any time. A decoder is
 * asked between rows whether its time is over, and has a limit of processor time that the system holds; both
 * fail one image. One that sleeps beyond twice the time is given up. */
double engine_decoder_seconds(const struct engine *engine, const hone_image_desc *desc);
/* Watches a decoder: when it is late, its process is ended, or this one ("WHAT 'path': no answer within N
 * s"), where it has none of its own. */
void engine_watch_decoder(const struct engine *engine, struct guard_watch *watch, const hone_image_desc *desc,
                          const char *what, const char *path);
/* Decodes into memory, bounded in time. */
hone_status engine_load(const struct engine *engine, struct media_input *input, const char *path,
                        void *pixels, hone_error *error);
/* media_next_page, bounded in time. */
hone_status engine_next_page(struct engine *engine, struct media_input *input, const char *path,
                             hone_error *error);
/* Opens the image of an item, or engine->page of it. */
hone_status engine_open_input(const struct engine *engine, const struct item *item, struct media_input **out,
                              enum notes notes, hone_error *error);
/* A way out that concerns all outputs without names of their own, behind the message. */
hone_status engine_suggest(const struct engine *engine, hone_status status, const char *root,
                           hone_error *error);

/* Finds the second images that the chain names, without reading them. engine_end is due in any case. */
hone_status engine_begin(struct engine *engine, const struct apply_options *options, const hone_chain *chain,
                         struct shared_device *shared, hone_error *error);
/* Leaves it zeroed, so that it may come twice. */
void engine_end(struct engine *engine);

/* A frame of the engine's input to its output: `shape` from one place of memory to another. Either may be
 * replaced. */
hone_status engine_run(struct engine *engine, struct pool_shape *shape, struct pixels *in, struct pixels *out,
                       const char *parameters, struct apply_result *result, hone_error *error);

/* Filters what the input is at: all channels of a page, or of all pages of a stack. The result is at hand. */
hone_status engine_filter(struct engine *engine, const struct item *item, const char *root,
                          struct media_input *input, struct apply_result *result, hone_error *error);
/* The bound on writing the result at hand, in seconds; 0: none. */
double engine_write_bound(const struct engine *engine);

/* Pages of different sizes: one after the other, each written before the next one is read. */
hone_status apply_apart(struct engine *engine, const struct item *item, const char *root,
                        struct media_input *input, struct apply_result *result, hone_error *error);

/* One input to one output; `result` says what came of it. */
void engine_apply(struct engine *engine, const struct item *item, const char *root,
                  struct apply_result *result);

/* Finds what the chain makes of such images, once devices are open, and tunes it where that was asked for.
 * *shape is released before. output: the name of the result, which may change the chain; NULL: none. ring:
 * see pool_shape. */
hone_status engine_find_shape(struct engine *engine, struct pool_shape **shape, const hone_image_desc *desc,
                              const char *output, const struct pool_ring *ring, hone_error *error);

/* The bound on work with such an image, in seconds; 0: none. */
double engine_bound(const struct engine *engine, const hone_image_desc *desc);

/* An image that does not fit into memory as a whole, or should not: false where it does. Else it goes through
 * the device in bands, and *status says what came of it. pages: what it is the next page of; NULL: the output
 * is this image. */
bool giant_apply(struct engine *engine, const struct item *item, const char *root, struct media_input *input,
                 struct media_pages *pages, struct apply_result *result, hone_status *status,
                 hone_error *error);
/* Bytes that images may take. */
uint64_t giant_memory(const struct apply_options *options);
/* How many pixels an image may have. */
uint64_t giant_max_pixels(const struct apply_options *options);

/* EXIT_USAGE, with the command that was meant, where a chain without quotes has become several operands or an
 * input stands in its place. */
int apply_check_quotes(const struct apply_options *options, const struct operands *operands);

/* Whether the result goes to standard output (-o -). */
bool apply_to_stdout(const struct apply_options *options);
/* Seconds that a pipe may bring nothing; 0: any time, unless the user has said how long. */
static inline double apply_patience(const struct apply_options *options)
{
    return options->timeout > 0 ? options->timeout : 0;
}
/* Copies a file there, from its start. False with errno. */
bool apply_copy_to_stdout(int fd);
/* ---- What outputs were made of ---- */

/* Of one that this chain and these options make of an input as it is now; false where that is no file. To be
 * asked before the input is read. */
bool made_key(struct made *made, const struct engine *engine, const char *input);
bool made_is(const struct made *made, const char *output);
/* Whether there is an output, by whatever it was made; what a power cut left empty or short is none. */
bool made_is_there(const char *output);
/* Tells it of a complete output, before that is in its place. */
void made_mark(const struct engine *engine, const struct made *made, int fd, const char *output);

/* Encodes the result at hand into an open file. */
hone_status apply_encode(const struct engine *engine, const struct item *item, int fd,
                         const struct media_input *input, hone_error *error);
/* Where an output goes: a file that appears whole or not at all, or memory that is copied to standard
 * output. */
struct store {
    struct guarded_output output;
    int fd;
};
#define STORE_NONE ((struct store){GUARDED_OUTPUT_NONE, -1})
hone_status store_begin(struct store *store, const struct engine *engine, const struct item *item,
                        const char *root, hone_error *error);
hone_status store_commit(struct store *store, const struct engine *engine, const struct item *item,
                         hone_error *error);
/* Does nothing after commit, or for STORE_NONE. */
void store_abort(struct store *store);
/* Writes the result at hand, `input` being the image that it was made of. */
hone_status apply_store(const struct engine *engine, const struct item *item, const char *root,
                        const struct media_input *input, hone_error *error);

/* "A-B", "A-", "-B" or "A", counted from 1; an end that is not given is 0. */
bool apply_parse_range(const char *text, uint64_t *first, uint64_t *last);
/* "3" or "2-5", counted from 1. */
bool apply_parse_pages(const char *text, unsigned *first, unsigned *last);
/* Keeps result `index` of an image until it is stored: page by page, and of each page part by part, which go
 * together again. */
hone_status apply_keep_page(struct engine *engine, unsigned index, const struct media_info *info,
                            hone_error *error);
void apply_forget_pages(struct engine *engine);

/* Whether alpha weighs colours somewhere in the chain, unless it is full everywhere. */
hone_status alpha_weighs(bool *weighs, const hone_chain *chain, const hone_image_desc *input,
                         const hone_image_desc *second, size_t second_count, hone_error *error);
/* Whether alpha is full in all pixels of four channels, rows one after the other. */
bool alpha_is_full(const void *pixels, const hone_image_desc *desc);
/* The chain that does to images like `input` what the user's is meant to; moved[i] is the place of its step
 * i.
 */
hone_status alpha_chain(hone_chain **out, size_t *moved, const hone_chain *chain, enum alpha_rule rule,
                        const hone_image_desc *input, const hone_image_desc *second, size_t second_count,
                        hone_error *error);

/* Of a chain that ends in counts: makes of it what outputs of this name need. */
hone_status bins_shape(struct engine *engine, const char *output, hone_error *error);
/* Once the pixels are there: the range to count in, and its edges. */
hone_status bins_range(struct engine *engine, hone_error *error);

struct bins;
struct filter_case;
/* The least and the greatest of the finite numbers of pixels: of colours, where their fourth channel is
 * alpha. */
struct bins_range {
    double least, most;
};
#define BINS_RANGE_NONE                                                                                      \
    (struct bins_range)                                                                                      \
    {                                                                                                        \
        INFINITY, -INFINITY                                                                                  \
    }
void bins_add(struct bins_range *range, const hone_image_desc *desc, enum alpha_rule rule,
              const void *pixels);
/* Whether a prepared case takes its range of the pixels. */
bool bins_wants_range(const struct filter_case *c);
/* The parameters that set such a range, but for the ends that are given (NULL: not). To be freed; NULL where
 * there is no memory. */
char *bins_parameters(const struct bins *bins, struct bins_range found, const char *least, const char *most);

/* Warns once in a run where a number of levels of the chain meets formats in which it means something else: a
 * number up to 255 is taken to be meant for u8, a larger one for u16. */
void depths_warn(struct engine *engine, hone_type type);
/* The same of a video whose samples have this many bits, which filters see as 16. */
void depths_warn_video(const struct engine *engine, const char *name, unsigned bits);

/* What --device or HONE_DEVICE says; NULL: nothing, or "auto". */
const char *apply_device_spec(const struct common_options *common);
/* Loads the drivers, and opens the device if it is known which, while a video is opened. Any number of times,
 * from one thread. Fine if it fails: then apply_open_device says why. */
void apply_open_early(struct shared_device *shared);
/* Waits for that. Fine without it. */
void apply_await_early(struct shared_device *shared);
/* Opens the device that the options name, or the one that is expected to finish first. */
hone_status apply_open_device(const struct engine *engine, const hone_image_desc *input,
                              const hone_image_desc *second, hone_device **out, hone_error *error);
/* Tunes the chain for images like `input` on a device where that has not been done. */
hone_status apply_tune(const struct engine *engine, hone_device *device, const hone_image_desc *input,
                       const hone_image_desc *second, hone_error *error);

/* Opens the devices that the options name, once. Under the lock. */
hone_status share_open(struct shared_device *shared, const struct engine *engine,
                       const hone_image_desc *input, const hone_image_desc *second, hone_error *error);
/* False: the process is to end at once: a device hangs, may still be at work, or was opened early for
 * nothing. */
bool share_close(struct shared_device *shared);
/* Seconds that work on so many pixels may take; 0: any. */
double share_bound(const struct shared_device *shared, double pixels);
/* The same for writing a result, which cannot be interrupted without ending the process: never less than
 * where no --timeout was given. */
double share_write_bound(const struct shared_device *shared, double pixels);
/* Of the pixels of all images. */
void share_limit(const struct shared_device *shared, struct memory_limit *limit);

/* Takes memory for an image and its result; waits while others have too much of it. */
hone_status memory_take(struct shared_device *shared, const hone_image_desc *in_desc,
                        const hone_image_desc *out_desc, struct pixels *in, struct pixels *out,
                        hone_error *error);
void memory_give(struct pixel_memory *memory, struct pixels *in, struct pixels *out);
/* Memory that a device uses for ever is not to be freed. */
void memory_lose(struct pixel_memory *memory, struct pixels *pixels);
void memory_finish(struct pixel_memory *memory);

/* Reports one result of `count`: messages to stderr, one line on a terminal, or JSON. */
void apply_report(const struct engine *engine, struct apply_result *result, size_t count);
/* How far a run is. */
struct apply_tally {
    size_t begun, count; /* inputs */
    size_t written, failed, skipped;
    uint64_t start; /* clock_ns */
};
/* How far a run is that several processes may do, one after the other. */
struct apply_course {
    struct apply_tally tally;
    size_t turn;   /* the item to report */
    int worst;     /* exit status so far */
    bool in_video; /* that item is a video under way */
    double hung;   /* seconds after which its decoder was given up, with the process; 0: it was not */
};
/* All items from course->turn on, several at a time, reported in their order. ended: NULL, or what ended the
 * process that had the first of them in hand, which is not tried again. Gives the largest exit status. */
int apply_items(const struct apply_options *options, const hone_chain *chain, const struct items *items,
                struct apply_course *course, const char *ended);

/* Shows on a terminal how far the work is, and how long it may take. */
void apply_progress(const struct apply_options *options, const struct apply_tally *tally);
/* Adds what a job moved, which made of an image like `in` one like `out`. */
void apply_add_traffic(struct apply_result *result, const hone_device *device, const hone_image_desc *in,
                       const hone_image_desc *out, const struct pool_job *job);
/* Why commands copy that make of an image like `in` one like `out`. */
struct copy_situation apply_situation(const struct apply_result *result, const hone_device *device,
                                      const hone_image_desc *in, const hone_image_desc *out);
/* Whether commands are to be told of. */
bool apply_tells_commands(const struct apply_options *options);
/* Of -v: the copies of a result in words, and a line with what it moved, unless the device has no clock. */
void apply_tell_copies(const struct apply_result *result, struct text *text);
void apply_note_traffic(const struct common_options *common, const struct apply_result *result);
/* Which device did how much: a line for each of several, and a list. what: "frames". */
void apply_note_devices(const struct engine *engine, const struct apply_result *result, const char *what);
struct json_t *apply_devices_json(const struct engine *engine, const struct apply_result *result,
                                  const char *what);
/* Parts of lines: columns of the terminal behind a descriptor; a line of UTF-8 cut so that the cursor stays
 * on it; a time to go; the filters with their variants. */
size_t apply_columns(int fd);
void apply_fit_line(char *line, size_t columns);
void apply_show_time(double seconds, char *to, size_t size);
void apply_name_steps(const struct apply_result *result, struct text *text);
/* Of the whole run, all counters that the machine has: with -v told at its end, in JSON with each result, for
 * the run so far. The end is due after each beginning. */
void apply_energy_begin(struct energy_run *run, const struct common_options *common);
void apply_energy_end(struct energy_run *run, const struct common_options *common);
struct json_t *apply_energy_json(struct energy_run *run);
/* Before the work: inputs that would overwrite each other, and files that are no images. */
void apply_report_items(const struct apply_options *options, const struct items *items);
/* After it, where there were several inputs: "43 written, 5 failed, 2 skipped in 8.4 s". */
void apply_summary(const struct apply_options *options, const struct items *items,
                   const struct apply_tally *tally);
