/* SPDX-License-Identifier: BSD-2-Clause */
/* A decoder process: opens one file after the other and puts its rows into shared memory, within limits that
 * end it alone. */
#include "media/decoder/decoder.h"
#include "media/video/video.h"
#include "media/vips.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct server {
    int socket;
    struct media_input *input;
    unsigned char *ring;
    size_t slot_bytes;
    unsigned slot, under_way; /* the next one; those that are not taken yet */
    struct message message;   /* the last one that came, or is going */
};

/* ---- Limits ---- */

/* Of writable memory that is not shared: what RLIMIT_DATA counts. */
static uint64_t data_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    const bool ok = file && fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) == 1;
    if (file)
        fclose(file);
    return ok ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void limit(int what, uint64_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) != 0)
        return;
    now.rlim_cur = now.rlim_max == RLIM_INFINITY || most < now.rlim_max ? most : now.rlim_max;
    setrlimit(what, &now);
}

/* Beside what the decoder holds of the picture: strips, and stacks of the threads that it may start. */
static void limit_memory(const struct media_input *input)
{
    const uint64_t most = input->options.memory ? input->options.memory : MEDIA_MEMORY;
    const uint64_t strips = UINT64_C(128) << 20, stack = UINT64_C(8) << 20;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    limit(RLIMIT_DATA, data_bytes() + most + strips + stack * (uint64_t)(processors > 1 ? processors : 1));
}

/* A little more than the time that is checked between rows, where it is said better. */
static void limit_time(const struct media_input *input)
{
    const double wanted = input->options.seconds;
    const double most = wanted < 0 ? media_seconds(&input->info.desc) : wanted;
    struct timespec spent = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    limit(RLIMIT_CPU,
          wanted == 0 || most > 1e8 ? RLIM_INFINITY : (uint64_t)((double)spent.tv_sec + 2 + most));
}

/* GLib ends a process that it cannot give memory to. */
static void on_fatal(const gchar *domain, GLogLevelFlags level, const gchar *text, gpointer user)
{
    (void)domain, (void)level, (void)user;
    if (strstr(text, "allocate"))
        _exit(EXIT_NO_MEMORY);
}

/* ---- Answers ---- */

static void answer(struct server *s, enum message_kind kind, const void *data, size_t length)
{
    s->message.kind = kind;
    s->message.length = (uint32_t)(length < MESSAGE_BYTES ? length : MESSAGE_BYTES);
    if (s->message.length > 0)
        memcpy(s->message.data, data, s->message.length);
    if (!message_send(s->socket, &s->message, -1))
        _exit(0); /* nobody wants it any more */
}

static void send_failure(struct server *s, hone_status status, const hone_error *error)
{
    s->message.value = status;
    answer(s, MESSAGE_FAILED, error->message, strlen(error->message) + 1);
}

static void forward_note(void *user, enum media_note kind, const char *line)
{
    struct server *s = user;
    s->message.value = (int32_t)kind;
    answer(s, MESSAGE_NOTE, line, strlen(line) + 1);
}

static hone_status send_kept(struct server *s, hone_error *error)
{
    struct text bytes = {0};
    vips_kept_pack(s->input->kept, &bytes);
    const bool whole = !bytes.failed;
    for (size_t at = 0; whole && at < bytes.length; at += MESSAGE_BYTES)
        answer(s, MESSAGE_KEPT, bytes.data + at, bytes.length - at);
    text_finish(&bytes);
    return whole ? HONE_OK : error_memory(error, "the metadata of an image");
}

static void send_opened(struct server *s)
{
    struct opened opened = {.info = s->input->info, .orientation = s->input->orientation};
    snprintf(opened.format, sizeof opened.format, "%s", s->input->info.format ? s->input->info.format : "");
    opened.info.format = NULL;
    answer(s, MESSAGE_OPENED, &opened, sizeof opened);
}

/* ---- Requests ---- */

/* Videos need no libvips, which brings GLib. */
static void watch_glib(void)
{
    static bool watching;
    if (watching || vips_load(NULL))
        return;
    watching = true;
    g_log_set_handler("GLib", G_LOG_LEVEL_ERROR | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION, on_fatal, NULL);
}

static hone_status open_file(struct server *s, const struct wanted *wanted, int fd, hone_error *error)
{
    struct media_read_options options = wanted->options;
    options.note = wanted->has_note ? forward_note : NULL;
    options.user = s;
    struct media_input *input = s->input = media_new_input(wanted->path, &options, error);
    struct stat info;
    watch_glib();
    if (!input || fstat(fd, &info) != 0) {
        close(fd);
        return input ? media_bad(input, error, " cannot be looked at") : HONE_ERROR_MEMORY;
    }
    input->fd = fd;
    input->bytes = info.st_size;
    input->no_path = wanted->no_path;
    input->reader = &media_reader_vips;
    limit_memory(input);
    limit_time(input);
    const hone_status status = input->reader->open(input, error);
    input->opened = true;
    return status;
}

static void serve_open(struct server *s, int fd)
{
    struct wanted *wanted = mem_new(1, sizeof *wanted);
    hone_error error;
    if (!wanted)
        _exit(EXIT_NO_MEMORY);
    memcpy(wanted, s->message.data, s->message.length);
    media_close(&s->input);
    hone_status status = open_file(s, wanted, fd, &error);
    free(wanted);
    THEN(status, send_kept(s, &error));
    if (status) {
        send_failure(s, status, &error);
        media_close(&s->input);
        return;
    }
    send_opened(s);
    s->input->orientation = 1; /* rows go as they come: who asked turns them */
    media_turn_upright(s->input);
    s->input->spent = clock_thread_ns() - s->input->since;
    limit_time(s->input);
}

static void take_ring(struct server *s, int fd)
{
    if (s->ring)
        munmap(s->ring, RING_SLOTS * s->slot_bytes);
    s->slot_bytes = s->message.bytes;
    s->ring = mmap(NULL, RING_SLOTS * s->slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (s->ring == MAP_FAILED)
        _exit(EXIT_NO_MEMORY);
}

/* Waits until a slot is free. */
static void wait_for_slot(struct server *s)
{
    while (s->under_way == RING_SLOTS) {
        if (!message_receive(s->socket, &s->message, NULL))
            _exit(0);
        s->under_way -= s->message.kind == MESSAGE_TAKEN;
    }
}

static void serve_load(struct server *s)
{
    const size_t row = s->input->place.width * s->input->place.pixel_bytes;
    uint32_t left = s->message.count;
    const uint32_t rows = (uint32_t)(s->slot_bytes / row);
    hone_status status = HONE_OK;
    hone_error error;
    s->slot = s->under_way = 0;
    while (left > 0 && !status) {
        const uint32_t some = left < rows ? left : rows;
        wait_for_slot(s);
        status = media_load_rows(s->input, some, s->ring + s->slot * s->slot_bytes, row, &error);
        if (status)
            break;
        s->message.count = some;
        answer(s, MESSAGE_ROWS, NULL, 0);
        s->slot = (s->slot + 1) % RING_SLOTS;
        s->under_way++;
        left -= some;
    }
    if (status)
        send_failure(s, status, &error);
    else
        answer(s, MESSAGE_DONE, NULL, 0);
}

/* ---- Videos ---- */

static hone_status try_video(struct server *s, const struct wanted_video *wanted, hone_error *error)
{
    const struct media_read_options limits = {.memory = wanted->memory, .seconds = wanted->seconds};
    const struct video_read_options options = {.accept_damaged = wanted->accept_damaged,
                                               .every_plane = wanted->every_plane,
                                               .one_thread = true,
                                               .memory = wanted->memory};
    struct video_input *video = NULL;
    hone_status status = video_load(error);
    media_close(&s->input);
    if (status)
        return status;
    s->input = media_new_input(wanted->path, &limits, error);
    if (!s->input)
        return HONE_ERROR_MEMORY;
    limit_memory(s->input);
    limit_time(s->input);
    status = video_open(&video, wanted->path, &options, error);
    video_close(&video);
    if (status == HONE_ERROR_MEMORY)
        return media_bad(s->input, error,
                         "decoding takes more memory than the limit (--decode-memory sets it)");
    return status;
}

static void serve_video(struct server *s)
{
    struct wanted_video *wanted = mem_new(1, sizeof *wanted);
    hone_error error;
    if (!wanted)
        _exit(EXIT_NO_MEMORY);
    memcpy(wanted, s->message.data, s->message.length);
    hone_status status = try_video(s, wanted, &error);
    free(wanted);
    if (status)
        send_failure(s, status, &error);
    else
        answer(s, MESSAGE_DONE, NULL, 0);
}

void decoder_serve(int socket)
{
    struct server *s = mem_new(1, sizeof *s);
    int fd;
    if (!s)
        _exit(EXIT_NO_MEMORY);
    s->socket = socket;
    message_tell(socket, MESSAGE_BORN, getpid());
    while (message_receive(socket, &s->message, &fd)) {
        if (s->message.kind == MESSAGE_OPEN && fd >= 0)
            serve_open(s, fd);
        else if (s->message.kind == MESSAGE_RING && fd >= 0)
            take_ring(s, fd);
        else if (s->message.kind == MESSAGE_LOAD)
            serve_load(s);
        else if (s->message.kind == MESSAGE_CLOSE)
            media_close(&s->input);
        else if (s->message.kind == MESSAGE_VIDEO)
            serve_video(s);
    }
}
