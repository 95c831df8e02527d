/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that speak to FFmpeg's libraries share. */
#pragma once

#include "base/file.h"
#include "media/video/video.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>

#include <pthread.h>

/* ---- What differs between FFmpeg's libraries, of versions 5 to 7 ---- */

#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
#define FRAME_DURATION duration
#else
#define FRAME_DURATION pkt_duration
#endif

#if LIBAVFORMAT_VERSION_MAJOR >= 61
typedef const uint8_t written_byte;
#else
typedef uint8_t written_byte;
#endif

/* The muxer of Matroska adds what a decoder drops at the beginning of sound, which its readers take off. */
#define MATROSKA_ADDS_PADDING (LIBAVFORMAT_VERSION_MAJOR >= 60)

/* MP4 and QuickTime hold Apple's box for views all around and of two eyes. */
#define WITH_VIEW_BOX AV_VERSION_INT(61, 7, 100)

/* Before a decoder is opened whose packets have numbers. */
static inline void packets_have_numbers(AVCodecContext *decoder)
{
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    decoder->flags |= AV_CODEC_FLAG_COPY_OPAQUE;
#else
    (void)decoder;
#endif
}

/* Gives a packet that is sent next its number. */
static inline void packet_number(AVCodecContext *decoder, AVPacket *packet, int64_t number)
{
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    (void)decoder;
    packet->opaque = (void *)(intptr_t)number;
#else
    (void)packet;
    decoder->reordered_opaque = number;
#endif
}

/* The number of the packet that a frame comes from. */
static inline int64_t frame_packet(const AVFrame *frame)
{
#ifdef AV_CODEC_FLAG_COPY_OPAQUE
    return (int64_t)(intptr_t)frame->opaque;
#else
    return frame->reordered_opaque;
#endif
}

/* ---- Planes ---- */

/* Where the samples of one component lie in a frame. */
struct component {
    int plane, step, offset; /* step and offset in bytes */
    int shift;               /* of the value in its sample */
    uint32_t width, height;
};

struct layout {
    enum AVPixelFormat format;
    unsigned bits, sample_bytes;
    unsigned components, filtered; /* filtered: the first so many */
    struct component component[4];
};

/* The layout of frames, with what is filtered of them; HONE_ERROR_UNSUPPORTED for formats that cannot be
 * taken. */
hone_status frame_layout_make(struct layout *layout, enum AVPixelFormat format, int width, int height,
                              bool every_plane, hone_error *error);
/* The planar format that holds the same samples; the format itself where there is none. */
enum AVPixelFormat frame_layout_planar(enum AVPixelFormat format);
/* The format without the range of its samples, which some formats (yuvj420p) say by their names. */
enum AVPixelFormat frame_layout_unranged(enum AVPixelFormat format);
/* Whether two formats differ in nothing but the bits of samples and where these lie; both can be taken. */
bool frame_layout_is_kin(enum AVPixelFormat a, enum AVPixelFormat b);

struct unit {
    struct video_unit shown; /* first: a video_unit is one of these */
    AVFrame *frame;          /* as it was decoded; NULL: a packet */
    AVPacket *packet;
    struct layout layout;
    AVBufferRef *in[VIDEO_PLANES], *out[VIDEO_PLANES]; /* in: NULL where the frame itself is read */
};

/* Buffers for planes, which are used again and again. */
struct plane_pools {
    AVBufferPool *pool[VIDEO_PLANES];
};
hone_status planes_pools_make(struct plane_pools *pools, const struct layout *layout, hone_error *error);
void planes_pools_free(struct plane_pools *pools);
/* Fills shown.planes of a unit that has its frame and layout. */
hone_status planes_prepare(struct unit *unit, const struct plane_pools *pools, hone_error *error);
/* Gives `unit`, which has its frame, layout and inputs, results of its own like those of another one. */
hone_status planes_copy(struct unit *unit, const struct unit *from, hone_error *error);
/* The frame with its filtered planes, in `format`: that of the layout, or one of its kin. Samples are rounded
 * where that has fewer bits. To be freed. */
hone_status planes_assemble(struct unit *unit, enum AVPixelFormat format, AVFrame **out, hone_error *error);

/* ---- What the libraries say ---- */

/* Where something is wrong: in a packet, in one whose frame does not come, or behind one. */
enum damage_place { DAMAGE_IN, DAMAGE_LOST, DAMAGE_BEHIND };

/* An error of a decoder or demuxer that belongs to an input. */
struct damage {
    enum damage_place place;
    int64_t packet; /* its number, counted from 1 */
    char message[160];
};

enum { MAX_DAMAGES = 64 };

struct damages {
    pthread_mutex_t lock;
    struct damage list[MAX_DAMAGES]; /* not told yet */
    unsigned count;
    int64_t lost;    /* the last packet that is */
    int64_t keys[2]; /* the first packets that begin a group of pictures; 0: not there yet */
    int64_t key_pts; /* of the first one */
    int64_t
        leading; /* the last packet of the first group that is shown before its key frame; 0: there is none */
};

/* From now on FFmpeg's messages come here, and none goes to stderr. */
void log_begin(void);
void log_forget(void);
/* What the demuxer says in this thread is said of this input; NULL: of none. */
void log_reading(struct video_input *input);
/* Adds unless a damage of that place is there already. */
void damages_add(struct damages *damages, enum damage_place place, int64_t packet, const char *message);

/* "Invalid data found", with the last message of the libraries behind it. */
void av_reason(char *to, size_t size, int code);

/* ---- Files ---- */

/* An AVIOContext over a descriptor; NULL when memory is short. io_close leaves the descriptor open. */
struct descriptor {
    int fd;
    int error;                     /* errno of what failed */
    struct file_patience patience; /* of reads */
};
AVIOContext *io_open(struct descriptor *descriptor, bool write, bool seekable);
void io_close(AVIOContext **io);

/* ---- Memory ---- */

/* A thread that ends the allocations of the libraries when the process has taken more than `most`. */
struct memory_watch {
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t ended;
    uint64_t most;
    bool ends, over;
};

/* `most`: bytes that decoding may take from here on. Without a thread nothing is watched. */
void memory_watch_begin(struct memory_watch *watch, uint64_t most);
/* Frames are like this one: as many as queues and encoders may hold are no mischief. */
void memory_watch_frames(struct memory_watch *watch, const AVFrame *frame);
/* `status`, or an error when the limit was exceeded. */
hone_status memory_watch_check(struct memory_watch *watch, const char *path, hone_status status,
                               hone_error *error);
void memory_watch_end(struct memory_watch *watch);

/* ---- Inputs, as outputs see them ---- */

struct stamp { /* a damage's packet in time */
    struct video_input *input;
    int64_t packet, pts;
    bool is_shown; /* pts is when its frame is shown, not when it is decoded */
};

enum { STAMPS = 256 };

/* A packet that the demuxer takes for damaged, and has not given out yet. */
struct mark {
    int stream;
    int64_t dts;
};

enum { MAX_MARKS = 64 };

struct marks {
    struct mark list[MAX_MARKS];
    unsigned count;
};

struct unit_list {
    struct unit **items;
    size_t first, count, capacity;
};

/* Of frames without a container. */
struct raw_shape {
    enum AVPixelFormat format;
    int width, height;
    AVRational rate;
    int bytes; /* of a frame */
};

struct video_input {
    char *path;
    struct raw_shape raw; /* where options.raw is set */
    struct descriptor descriptor;
    AVIOContext *io;
    AVFormatContext *format;
    AVCodecContext *decoder;
    AVStream *stream; /* that is filtered */
    AVPacket *packet;
    AVFrame *frame;
    int told_width, told_height; /* of frames that are over the limit, before the libraries forget it */
    struct video_read_options options;
    struct memory_watch watch;
    struct video_info info;
    char codec[32];
    struct layout layout;
    struct plane_pools pools;
    AVFrame *sample;             /* the properties of the first frame that is wanted */
    struct unit_list held;       /* units to be handed out before reading on */
    struct unit_list before_key; /* packets of a stream that was cut, until there is a key frame */
    struct unit_list waiting;    /* packets from the first frame on, until frames show that they are wanted */
    uint64_t held_bytes;         /* of all their packets */
    int64_t packets;             /* sent to the decoder */
    int64_t last_packet;         /* of which there is a frame */
    int64_t packets_end;         /* how far those that were read reach in the file; 0: unknown */
    struct stamp stamps[STAMPS];
    struct damages damages;
    struct marks marks;
    struct damages early; /* of the demuxer while streams are looked for; packet: where in the file */
    uint64_t damage_count, frames; /* frames: decoded so far */
    int64_t first_pts;             /* of the first frame in the file */
    int64_t last_pts, step;        /* of the last frame, and how long it lasts */
    int64_t shift;                 /* pts that is 0 in the output */
    int64_t late;                  /* by how much the libraries' pts are */
    int64_t end;                   /* pts where the last one ends; AV_NOPTS_VALUE: unknown yet */
    unsigned failures;             /* of the demuxer, one after the other */
    bool is_list;                  /* of other files, which were asked for */
    bool looking, started, has_begun, was_cut, read_all, sent_all, done, bumped;
};

/* Tells what has been found damaged up to a frame, number input->frames, with its time and the type that the
 * decoder gave it; NULL: in all. HONE_ERROR_IO unless damage is gone over. */
hone_status damage_settle(struct video_input *input, const AVFrame *frame, hone_error *error);
/* The error, or note, of a frame that is `what`. */
hone_status damage_tell(struct video_input *input, const char *what, const char *message, hone_error *error);
/* Notes that the decoder gave an error, or the demuxer did. */
void damage_of_decoder(struct video_input *input, int code);
void damage_of_demuxer(struct video_input *input, const char *message);
/* What a decoder says of a packet, from any of its threads. */
void damage_of_packet(struct video_input *input, int64_t packet, const char *message);
/* Notes where the first group of pictures is, before a packet is decoded. */
void damage_note_packet(struct video_input *input, int64_t packet, int64_t pts, bool is_key);
/* Whether a frame was not decoded well for want of those before the first group of pictures. */
bool damage_is_of_cut(struct video_input *input, const AVFrame *frame);
/* The demuxer has read ahead and come upon something: it is damage once reading gets there. */
void damage_ahead(struct video_input *input, const char *message);
void damage_reached(struct video_input *input, int64_t at);
/* What lies further on than that, seen while looking for how long the file is, is read once more. */
void damage_not_passed(struct video_input *input);

/* The next unit of the file, whatever is held; NULL at the end. */
hone_status input_step(struct video_input *input, struct video_unit **out, hone_error *error);
/* Adds a unit to a list, or frees it. */
hone_status input_keep(struct video_input *input, struct unit_list *list, struct unit *unit,
                       hone_error *error);
/* The packet that was read, as a unit to be copied. */
hone_status input_packet_unit(struct video_input *input, struct unit **out, hone_error *error);
/* The error of a read that failed (descriptor.error). */
hone_status input_read_error(const struct video_input *input, hone_error *error);
AVRational input_rate(const struct video_input *input);
/* The pts that players show as 0, in a stream with such a one: transport streams count from anywhere. Sound
 * that begins before 0 is what decoders drop of it, and stays there. */
int64_t video_zero(const struct video_input *input, int64_t pts);
void video_note(media_note_function note, void *user, enum media_note kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Marks of demuxers ---- */

/* Whether a line of a demuxer is about such a packet: it is damage once that is reached. */
bool marks_hear(struct video_input *input, const char *line);
/* A packet of the stream that is filtered, with the flags that it has. */
void marks_note_flag(struct video_input *input, const AVPacket *packet);
/* What is marked of a stream up to this time is damage, unless the stream was cut and is left out so far. */
void marks_reached(struct video_input *input, int stream, int64_t dts);

/* ---- Streams that were cut ---- */

/* Whether files of this format begin and end anywhere. */
bool cut_is_usual(const struct video_input *input);
/* Keeps the packet that was read, of the stream that is filtered, while no key frame has come. */
hone_status cut_hold(struct video_input *input, bool *is_held, hone_error *error);
/* From now on packets are decoded: those that are kept first. */
void cut_stop_holding(struct video_input *input);
/* Whether input->packet is now such a one. */
bool cut_next(struct video_input *input);
/* Whether a file of Ogg ends within one of its pages. */
bool cut_is_within_page(const struct video_input *input);
/* Whether a file of GIF, all of whose packets have come, ends within an image. */
bool cut_is_within_gif(const struct video_input *input);
/* Whether its packets have come, and its end. */
bool cut_is_past_gif(const struct video_input *input);
/* Whether a file of ASF lacks packets that its header lists. */
bool cut_lacks_packets(const struct video_input *input);

/* ---- Frames without a container ---- */

/* HONE_ERROR_USAGE. */
hone_status raw_parse(struct raw_shape *shape, const char *text, hone_error *error);
/* Whether an open file can hold such frames. */
hone_status raw_check_file(const struct video_input *input, hone_error *error);
/* Opens input->format, and gives a code of the libraries. */
int raw_open(struct video_input *input);
/* Whether a packet is less than a frame, which is damage then. */
bool raw_is_short(struct video_input *input, const AVPacket *packet);

/* ---- Formats ---- */

/* Whether a format holds streams of a codec so that they can be read again. */
bool muxer_holds(const AVOutputFormat *muxer, enum AVCodecID id);
/* Whether it also holds them with such frames. */
bool muxer_holds_frames(const AVOutputFormat *muxer, enum AVCodecID id, enum AVPixelFormat format);
/* Whether transport streams in files of this name have stamps before their packets. */
bool muxer_is_blu_ray(const AVOutputFormat *muxer, const char *name);
/* Whether it takes a stream of another file as it is, in a file of this name. */
bool muxer_copies(const AVOutputFormat *muxer, const char *name, const AVStream *stream);
/* Transport streams tell in each packet what Matroska wants in its header, which a pipe gets only once.
 * 0, or a code of the libraries. */
int muxer_complete(const AVOutputFormat *muxer, bool seekable, AVCodecParameters *parameters);
/* Suffixes of the formats that take a stream, as it is or as other text; "" if there is none. */
void muxer_list_holders(char *to, size_t size, const AVStream *stream);
/* Whether only what is built on FFmpeg's libraries reads such a file. */
bool muxer_is_unusual(const AVOutputFormat *muxer, enum AVCodecID id);
/* How far a format may go beyond what the libraries take for standard (FF_COMPLIANCE_...). */
int muxer_compliance(const AVOutputFormat *muxer);
/* Y4M takes frames as they are, but only planar ones. */
bool muxer_is_y4m(const AVOutputFormat *muxer);
/* Of the encoder: as av_interleaved_write_frame. */
int muxer_write(AVFormatContext *output, AVPacket *packet);

/* ---- Time codes ---- */

bool timecode_is_track(const AVStream *stream);
/* Whether a format keeps what the metadata of a video say. */
bool timecode_is_held(const AVOutputFormat *muxer);
/* Of a frame that comes so many frames later, in metadata that may have one. */
void timecode_move(AVDictionary **metadata, AVRational rate, uint64_t frames);
/* The libraries know a track of chapters by another track that refers to it. In a file with a time code and
 * no sound, their muxer refers to that instead: what repeats the chapters is marked as they do it. */
void timecode_find_chapters(AVFormatContext *format);

/* ---- Attachments ---- */

/* Whether a format holds a stream as a file: an attachment, or a cover. */
bool attach_is_file(const AVOutputFormat *muxer, const AVStream *stream);
/* Gives such a file its name and type, whatever other metadata there is, and its bytes. 0, or a code of the
 * libraries. */
int attach_name(AVStream *to, const AVStream *from);
int attach_content(AVCodecParameters *to, const AVStream *from);

/* ---- Subtitles ---- */

/* Text subtitles on their way to another codec. Functions that give an int give an AVERROR below 0. */
struct subtitles;
/* Whether a stream is text that can be written to a format. */
bool subtitles_fit(const AVOutputFormat *muxer, const AVStream *from);
/* AVERROR_DECODER_NOT_FOUND where `from` is no text, AVERROR_ENCODER_NOT_FOUND where the format holds none.
 * *out is to be closed after an error, too. */
int subtitles_open(struct subtitles **out, const AVOutputFormat *muxer, const AVStream *from);
int subtitles_parameters(const struct subtitles *subtitles, AVCodecParameters *to);
/* Replaces a packet, whose stamps are then of time base `to`. 0: it shows nothing, and is as it was. */
int subtitles_convert(struct subtitles *subtitles, AVPacket *packet, AVRational to);
void subtitles_close(struct subtitles **subtitles);

/* ---- Times of an output ---- */

enum { TIMES = 1024 }; /* more frames than an encoder holds back */

struct times {
    AVRational input, encoder; /* time bases */
    AVRational frame;          /* how long one is shown, if all are alike */
    bool rounded;              /* they are, and the input says so in units in which that is no whole number */
    AVRational stream;         /* that which the output should have, if its format lets it */
    bool drops;                /* the format has no times: it plays frames at the encoder's rate */
    struct shown {
        int64_t number;        /* counted from 0, which is the encoder's time */
        int64_t pts, duration; /* in the time of the input */
    } shown[TIMES], first;
    int64_t frames, delay; /* delay: frames by which decoding is ahead */
};

void times_choose(struct times *times, const struct video_input *input, const AVCodec *codec,
                  const AVOutputFormat *muxer);
/* Gives a frame the encoder's time. Its number, from 0. */
int64_t times_give(struct times *times, AVFrame *frame);
/* Gives a packet of the encoder its own time, in time base `to`. */
void times_restore(struct times *times, AVPacket *packet, AVRational to);

/* ---- Encoders ---- */

struct encoder_request {
    const char *name; /* of the file */
    const struct video_input *like;
    const struct video_write_options *options;
    const AVOutputFormat *muxer;
};

/* What encodes, and the format in which it takes the frames. */
struct encoder_choice {
    const AVCodec *codec;
    enum AVPixelFormat format;
};

/* Whether each frame is one field, of half the height, as HEVC codes what is interlaced. */
bool encoder_is_given_fields(const struct video_input *input);
/* Whether the options can be meant. HONE_ERROR_USAGE. */
hone_status encoder_check(const struct video_write_options *options, hone_error *error);
hone_status encoder_check_settings(const AVCodec *codec, const struct video_write_options *options,
                                   hone_error *error);
hone_status encoder_choose(struct encoder_choice *choice, const struct encoder_request *request,
                           hone_error *error);
/* Whether a codec comes in unusual company, and nobody wanted it. */
bool encoder_is_stopgap(const struct encoder_request *request, enum AVCodecID id);
/* The codec that would keep every bit of the frames; AV_CODEC_ID_NONE where there is none. */
enum AVCodecID encoder_exact(const struct encoder_request *request);
/* Chooses and opens; *out is freed by avcodec_free_context. */
hone_status encoder_open(AVCodecContext **out, struct times *times, const struct encoder_request *request,
                         hone_error *error);

/* ---- Losses ---- */

/* Gives the stream of an output what only the frames of its input say, and what will be read as it was. 0, or
 * a code of the libraries. */
int losses_avoid(AVStream *to, const AVOutputFormat *muxer, const AVFrame *frame);
/* Warns of what an output that has begun does not hold. */
void losses_tell(const struct encoder_request *request, const AVCodecContext *encoder,
                 const AVStream *stream);
