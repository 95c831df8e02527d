/* SPDX-License-Identifier: BSD-2-Clause */
/* What FFmpeg's libraries say: errors of decoders are damage of the frame that they worked on. */
#include "media/video/av.h"

#include <stdio.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    char last[160];
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Some messages come in pieces: "mismatching checksum of plane 0 - ". */
static void tidy(char *line)
{
    size_t length = strlen(line);
    while (length > 0 && strchr("\n .-", line[length - 1]))
        line[--length] = '\0';
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

/* Whose demuxer speaks in this thread: some do it by data of their own, which know of nobody. */
static _Thread_local struct video_input *reading;

void log_reading(struct video_input *input)
{
    reading = input;
}

static struct video_input *input_of_demuxer(const AVClass *class, void *context)
{
    if (strcmp(class->class_name, "AVFormatContext") == 0)
        return ((AVFormatContext *)context)->opaque;
    return reading && reading->format && reading->format->priv_data == context ? reading : NULL;
}

/* The copies of a decoder's context that its threads work with have what it was given. */
static void attribute(void *context, const char *line)
{
    const AVClass *class = *(AVClass **)context;
    if (!class)
        return;
    if (strcmp(class->class_name, "AVCodecContext") == 0) {
        const AVCodecContext *codec = context;
        const struct stamp *stamp = codec->opaque;
        if (stamp && codec->codec && av_codec_is_decoder(codec->codec))
            damage_of_packet(stamp->input, stamp->packet, line);
    } else {
        struct video_input *input = input_of_demuxer(class, context);
        if (!input || marks_hear(input, line) || cut_is_past_gif(input))
            return;
        if (input->looking)
            damage_ahead(input, line);
        else if (input->started)
            damage_of_demuxer(input, line);
    }
}

/* What decoders make up for lost parts is no error to them. Flags of frames tell it, too, but not in time
 * where threads decode several frames at once. */
static bool is_concealment(int level, const char *format)
{
    return level == AV_LOG_INFO && strncmp(format, "concealing ", strlen("concealing ")) == 0;
}

/* What is damage to us alone: the demuxer of ASF drops frames of which parts are missing. */
static bool is_mark(int level, const char *format)
{
    const char corrupt[] = "Packet corrupt ", incomplete[] = "freeing incomplete packet ";
    return (level == AV_LOG_WARNING && strncmp(format, corrupt, strlen(corrupt)) == 0) ||
           (level == AV_LOG_INFO && strncmp(format, incomplete, strlen(incomplete)) == 0);
}

static void hear(void *context, int level, const char *format, va_list args)
{
    char line[sizeof said.last];
    if (level > AV_LOG_ERROR && !is_concealment(level, format) && !is_mark(level, format))
        return;
    vsnprintf(line, sizeof line, format, args);
    tidy(line);
    if (!line[0])
        return;
    pthread_mutex_lock(&said.lock);
    memcpy(said.last, line, sizeof line);
    pthread_mutex_unlock(&said.lock);
    if (context)
        attribute(context, line);
}

static void begin_once(void)
{
    av_log_set_callback(hear);
}

void log_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_once);
}

void log_forget(void)
{
    pthread_mutex_lock(&said.lock);
    said.last[0] = '\0';
    pthread_mutex_unlock(&said.lock);
}

/* Of all, the last error; "" when there was none since log_forget. */
static void log_last(char *to, size_t size)
{
    pthread_mutex_lock(&said.lock);
    snprintf(to, size, "%s", said.last);
    pthread_mutex_unlock(&said.lock);
}

void av_reason(char *to, size_t size, int code)
{
    char plain[AV_ERROR_MAX_STRING_SIZE] = "", more[sizeof said.last];
    av_strerror(code, plain, sizeof plain);
    tidy(plain);
    log_last(more, sizeof more);
    snprintf(to, size, "%s%s%s%s", plain, more[0] ? " (" : "", more, more[0] ? ")" : "");
}
