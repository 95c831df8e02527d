/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading by decoder processes: each has one file at a time, and is kept for the next. One that dies fails
 * its file alone. */
#include "media/decoder/decoder.h"
#include "media/video/video.h"
#include "media/vips.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/starved.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOT_BYTES = 1 << 20, MOST_KEPT = 64 << 20 };

struct decoder {
    int socket;
    pid_t pid;
    unsigned char *ring;
    size_t slot_bytes;
    bool dead, given_up; /* the latter under the lock */
    pthread_t user;      /* the thread that waits for it, while `waits` */
    bool waits;
    struct starved starved; /* under the lock */
    struct message message; /* the last one that came, or is going */
    struct decoder *next;   /* of those at work, or of the idle */
};

static struct {
    pthread_mutex_t lock;
    int control;
    pid_t host;
    struct decoder *idle, *busy;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .control = -1};

/* ---- The host ---- */

/* In the child. */
static void become_host(int control, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        decoder_host(control);
    _exit(0);
}

hone_status media_decoders_begin(bool likely, hone_error *error)
{
    int ends[2];
    const pid_t parent = getpid();
    if (likely && vips_begin(error)) /* once for all of them, and for what is written here */
        return HONE_ERROR_INTERNAL;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_set(error, HONE_ERROR_INTERNAL, "cannot start a process to decode in: %s",
                         strerror(errno));
    all.host = fork();
    if (all.host == 0) {
        close(ends[0]);
        become_host(ends[1], parent);
    }
    const int code = errno;
    close(ends[1]);
    if (all.host > 0) {
        all.control = ends[0];
        return HONE_OK;
    }
    close(ends[0]);
    return error_set(error, HONE_ERROR_INTERNAL, "cannot start a process to decode in: %s", strerror(code));
}

bool decoder_ready(void)
{
    return all.control >= 0;
}

static void drop_ring(struct decoder *d)
{
    if (d->ring)
        munmap(d->ring, RING_SLOTS * d->slot_bytes);
    d->ring = NULL;
}

static void destroy(struct decoder *d)
{
    drop_ring(d);
    if (d->socket >= 0)
        close(d->socket);
    starved_finish(&d->starved);
    free(d);
}

void media_decoders_end(void)
{
    while (all.idle) {
        struct decoder *next = all.idle->next;
        destroy(all.idle);
        all.idle = next;
    }
    if (all.control < 0)
        return;
    close(all.control);
    all.control = -1;
    while (waitpid(all.host, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- Decoders ---- */

static hone_status no_decoder(const struct media_input *input, int code, hone_error *error)
{
    return error_set(error, HONE_ERROR_INTERNAL, "'%s': cannot start a process to decode in: %s", input->path,
                     code ? strerror(code) : "the one that starts them has ended");
}

/* Asks the host for it; returns an errno, or -1 if the host is gone. */
static int start(struct decoder *d, bool video)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    d->socket = ends[0];
    d->message.kind = MESSAGE_START;
    d->message.value = video;
    const bool asked = message_send(all.control, &d->message, ends[1]);
    close(ends[1]);
    if (!asked || !message_receive(d->socket, &d->message, NULL))
        return -1;
    d->pid = d->message.value;
    return d->message.kind == MESSAGE_BORN ? 0 : d->message.value < 0 ? -d->message.value : -1;
}

static struct decoder *take_idle(void)
{
    pthread_mutex_lock(&all.lock);
    struct decoder *d = all.idle;
    if (d)
        all.idle = d->next;
    pthread_mutex_unlock(&all.lock);
    return d;
}

static struct decoder *new_decoder(const struct media_input *input, bool video, hone_error *error)
{
    struct decoder *d = mem_new(1, sizeof *d);
    if (!d) {
        error_memory(error, "a decoder");
        return NULL;
    }
    d->socket = -1;
    const int code = start(d, video);
    if (!code)
        return d;
    no_decoder(input, code > 0 ? code : 0, error);
    destroy(d);
    return NULL;
}

/* Under the lock. */
static uint64_t starved(struct decoder *d, uint64_t now)
{
    char folder[32];
    snprintf(folder, sizeof folder, "/proc/%ld/task", (long)d->pid);
    return starved_since(&d->starved, folder, now);
}

uint64_t media_starved(uint64_t now)
{
    uint64_t most = 0;
    pthread_mutex_lock(&all.lock);
    for (struct decoder *d = all.busy; d; d = d->next) {
        const uint64_t waited = starved(d, now);
        most = waited > most ? waited : most;
    }
    pthread_mutex_unlock(&all.lock);
    return most;
}

/* One for a video is never an idle one, and ends with it. */
static struct decoder *take_decoder(const struct media_input *input, bool video, hone_error *error)
{
    struct decoder *d = video ? NULL : take_idle();
    if (!d)
        d = new_decoder(input, video, error);
    if (!d)
        return NULL;
    pthread_mutex_lock(&all.lock);
    d->given_up = d->waits = false;
    starved(d, clock_ns());
    d->next = all.busy;
    all.busy = d;
    pthread_mutex_unlock(&all.lock);
    return d;
}

static void give_decoder(struct decoder *d)
{
    pthread_mutex_lock(&all.lock);
    for (struct decoder **at = &all.busy; *at; at = &(*at)->next)
        if (*at == d) {
            *at = d->next;
            break;
        }
    if (!d->dead) {
        d->next = all.idle;
        all.idle = d;
    }
    pthread_mutex_unlock(&all.lock);
    if (d->dead)
        destroy(d);
}

bool media_give_up(void *unused, uint64_t thread)
{
    bool found = false;
    (void)unused;
    pthread_mutex_lock(&all.lock);
    for (struct decoder *d = all.busy; d; d = d->next)
        if (d->waits && (uint64_t)d->user == thread) {
            d->given_up = found = true;
            message_tell(all.control, MESSAGE_KILL, d->pid);
        }
    pthread_mutex_unlock(&all.lock);
    return found;
}

static void set_waits(struct decoder *d, bool waits)
{
    pthread_mutex_lock(&all.lock);
    d->waits = waits;
    d->user = pthread_self();
    pthread_mutex_unlock(&all.lock);
}

/* ---- What it says ---- */

static hone_status tell_death(struct media_input *input, struct decoder *d, bool known, hone_error *error)
{
    const int how = known ? d->message.value : 0, number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    const uint64_t most = input->options.memory ? input->options.memory : MEDIA_MEMORY;
    d->dead = true;
    input->settled = true;
    if (d->given_up)
        return media_bad(input, error,
                         "its decoder does not answer, and was ended (--timeout sets how long it may take)");
    if (number == SIGXCPU)
        return media_bad(
            input, error,
            "decoding takes more processor time than it may, and was ended (--timeout sets the limit)");
    if (WIFEXITED(how) && WEXITSTATUS(how) == EXIT_NO_MEMORY)
        return media_bad(
            input, error,
            "decoding takes more memory than the %llu MiB that are the limit (--decode-memory sets it)",
            (unsigned long long)(most >> 20));
    if (number == SIGKILL)
        return media_bad(input, error, "its decoder was killed from outside, perhaps because memory ran out");
    return media_bad(input, error,
                     "its decoder crashed (%s): the file is damaged, or decoding takes more memory than the "
                     "%llu MiB that are the limit (--decode-memory sets it)",
                     number ? strsignal(number) : "it is gone", (unsigned long long)(most >> 20));
}

static hone_status tell_failure(struct media_input *input, struct decoder *d, hone_error *error)
{
    struct message *m = &d->message;
    m->data[m->length > 0 ? m->length - 1 : 0] = '\0';
    const bool sound = m->value > HONE_OK && m->value <= HONE_ERROR_INTERNAL;
    input->settled = m->value != HONE_ERROR_MEMORY; /* which others may have had */
    return error_set(error, sound ? (hone_status)m->value : HONE_ERROR_IO, "%s", (const char *)m->data);
}

static void forward_note(const struct media_input *input, struct message *m)
{
    m->data[m->length > 0 ? m->length - 1 : 0] = '\0';
    if (input->options.note && m->value >= MEDIA_DETAIL && m->value <= MEDIA_ONCE)
        input->options.note(input->options.user, (enum media_note)m->value, (const char *)m->data);
}

/* The next message that is of consequence; HONE_OK for those that are no failure. */
static hone_status listen_to(struct media_input *input, hone_error *error)
{
    struct decoder *d = input->state;
    set_waits(d, true);
    bool there = message_receive(d->socket, &d->message, NULL);
    while (there && d->message.kind == MESSAGE_NOTE) {
        forward_note(input, &d->message);
        there = message_receive(d->socket, &d->message, NULL);
    }
    set_waits(d, false);
    if (!there || d->message.kind == MESSAGE_ENDED)
        return tell_death(input, d, there, error);
    return d->message.kind == MESSAGE_FAILED ? tell_failure(input, d, error) : HONE_OK;
}

/* A decoder that does not keep to what was agreed is not listened to any longer. */
static hone_status nonsense(struct media_input *input, hone_error *error)
{
    struct decoder *d = input->state;
    d->dead = true;
    message_tell(all.control, MESSAGE_KILL, d->pid);
    return media_bad(input, error, "its decoder is out of order: the file is damaged");
}

/* ---- Opening ---- */

static bool claims(const uint8_t *head, size_t count)
{
    (void)head;
    return count > 0;
}

static bool ask_to_open(struct decoder *d, const struct media_input *input)
{
    _Static_assert(sizeof(struct wanted) <= MESSAGE_BYTES, "a request is one message");
    struct wanted *wanted = mem_new(1, sizeof *wanted);
    const size_t length = strlen(input->path);
    bool sent = false;
    if (wanted && length < sizeof wanted->path) {
        wanted->options = input->options;
        wanted->has_note = input->options.note != NULL;
        wanted->options.note = NULL;
        wanted->options.user = NULL;
        wanted->no_path = input->no_path;
        memcpy(wanted->path, input->path, length + 1);
        d->message.kind = MESSAGE_OPEN;
        d->message.length = (uint32_t)(offsetof(struct wanted, path) + length + 1);
        memcpy(d->message.data, wanted, d->message.length);
        sent = message_send(d->socket, &d->message, input->fd);
    }
    free(wanted);
    return sent;
}

static hone_status take_opened(struct media_input *input, const struct text *kept, hone_error *error)
{
    const struct decoder *d = input->state;
    struct opened opened;
    const bool whole = d->message.kind == MESSAGE_OPENED && d->message.length == sizeof opened;
    if (!whole)
        return nonsense(input, error);
    memcpy(&opened, d->message.data, sizeof opened);
    opened.format[sizeof opened.format - 1] = '\0';
    input->info = opened.info;
    input->info.format = vips_format_called(opened.format);
    input->orientation = opened.orientation;
    const struct media_info *info = &input->info;
    const bool sound = info->page_count > 0 && info->first_page > 0 &&
                       (!info->apart || (info->apart <= info->pages && info->page_count == 1)) &&
                       (!info->alike || info->alike == info->apart) && input->orientation >= 1 &&
                       input->orientation <= 8 && info->desc.channels <= 4 && info->desc.pitch == 0;
    if (!sound || !vips_kept_unpack(input->kept, kept->data, kept->length, info->page_count))
        return nonsense(input, error);
    return media_check_size(input, info->desc.width, info->desc.height, error);
}

static hone_status hear_opened(struct media_input *input, hone_error *error)
{
    const struct decoder *d = input->state;
    struct text kept = {0};
    hone_status status = listen_to(input, error);
    while (!status && d->message.kind == MESSAGE_KEPT && kept.length < MOST_KEPT) {
        text_add_bytes(&kept, d->message.data, d->message.length);
        status = listen_to(input, error);
    }
    if (!status && kept.failed)
        status = error_memory(error, "the metadata of an image");
    THEN(status, take_opened(input, &kept, error));
    text_finish(&kept);
    return status;
}

static hone_status open_remote(struct media_input *input, hone_error *error)
{
    hone_status status = vips_begin(error); /* which keeps metadata */
    if (status)
        return status;
    input->kept = vips_kept_new();
    if (!input->kept)
        return error_memory(error, "an image file");
    struct decoder *d = input->state = take_decoder(input, false, error);
    if (!d)
        return error ? error->status : HONE_ERROR_INTERNAL;
    if (ask_to_open(d, input))
        return hear_opened(input, error);
    d->message.value = 0;
    return tell_death(input, d, false, error);
}

/* ---- Pixels ---- */

/* Memory whose size nobody can change any more: a decoder could not make it shorter under our hands. */
static bool make_ring(struct decoder *d, size_t slot_bytes)
{
    const size_t bytes = RING_SLOTS * slot_bytes;
    drop_ring(d);
    const int fd = memfd_create("hone-rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return false;
    bool ok = ftruncate(fd, (off_t)bytes) == 0 &&
              fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    void *ring = ok ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    ok = ring != MAP_FAILED;
    if (ok) {
        d->ring = ring;
        d->slot_bytes = slot_bytes;
        d->message.kind = MESSAGE_RING;
        d->message.length = 0;
        d->message.bytes = slot_bytes;
        message_send(d->socket, &d->message, fd); /* that it is gone is heard */
    }
    close(fd);
    return ok;
}

/* Rows of the next slot, of `left`. */
static bool take_rows(struct media_input *input, unsigned slot, uint32_t y, uint32_t left)
{
    const struct decoder *d = input->state;
    const size_t row = input->place.width * input->place.pixel_bytes;
    const unsigned char *from = d->ring + slot * d->slot_bytes;
    const uint32_t count = d->message.count;
    if (d->message.kind != MESSAGE_ROWS || count < 1 || count > left || count > d->slot_bytes / row)
        return false;
    for (uint32_t i = 0; i < count; i++)
        media_put_row(&input->place, y + i, from + i * row);
    message_tell(d->socket, MESSAGE_TAKEN, 0); /* that it is gone is heard */
    return true;
}

static hone_status take_all(struct media_input *input, uint32_t first, uint32_t count, hone_error *error)
{
    const struct decoder *d = input->state;
    unsigned slot = 0;
    for (;;) {
        hone_status status = listen_to(input, error);
        if (status || (d->message.kind == MESSAGE_DONE && count == 0))
            return status;
        if (!take_rows(input, slot, first, count))
            return nonsense(input, error);
        first += d->message.count;
        count -= d->message.count;
        slot = (slot + 1) % RING_SLOTS;
    }
}

static hone_status load_remote(struct media_input *input, uint32_t first, uint32_t count, hone_error *error)
{
    struct decoder *d = input->state;
    const size_t row = input->place.width * input->place.pixel_bytes;
    const size_t wanted = row > SLOT_BYTES ? row : SLOT_BYTES;
    if (d->dead)
        return media_bad(input, error, "its decoder has ended");
    if ((!d->ring || d->slot_bytes < wanted) && !make_ring(d, wanted))
        return error_memory(error, "rows of an image");
    d->message.kind = MESSAGE_LOAD;
    d->message.length = 0;
    d->message.count = count;
    message_send(d->socket, &d->message, -1); /* that it is gone is heard */
    return take_all(input, first, count, error);
}

static void close_remote(struct media_input *input)
{
    struct decoder *d = input->state;
    input->state = NULL;
    vips_kept_free(input->kept);
    input->kept = NULL;
    if (!d)
        return;
    if (!d->dead)
        message_tell(d->socket, MESSAGE_CLOSE, 0);
    give_decoder(d);
}

const struct media_reader media_reader_decoder = {claims, open_remote, load_remote, close_remote};

/* ---- Videos ---- */

static bool ask_for_video(struct decoder *d, const struct media_input *input,
                          const struct video_read_options *options)
{
    _Static_assert(sizeof(struct wanted_video) <= MESSAGE_BYTES, "a request is one message");
    struct wanted_video *wanted = mem_new(1, sizeof *wanted);
    const size_t length = strlen(input->path);
    if (!wanted)
        return false;
    wanted->memory = options->memory;
    wanted->seconds = input->options.seconds;
    wanted->accept_damaged = options->accept_damaged;
    wanted->every_plane = options->every_plane;
    memcpy(wanted->path, input->path, length + 1);
    d->message.kind = MESSAGE_VIDEO;
    d->message.length = (uint32_t)(offsetof(struct wanted_video, path) + length + 1);
    memcpy(d->message.data, wanted, d->message.length);
    free(wanted);
    return message_send(d->socket, &d->message, -1);
}

static hone_status try_by(struct media_input *input, const struct video_read_options *options,
                          hone_error *error)
{
    struct decoder *d = input->state = take_decoder(input, true, error);
    hone_status status = HONE_OK;
    if (!d)
        return error ? error->status : HONE_ERROR_INTERNAL;
    if (ask_for_video(d, input, options)) {
        status = listen_to(input, error);
    } else {
        d->message.value = 0;
        status = tell_death(input, d, false, error);
    }
    if (!status && d->message.kind != MESSAGE_DONE)
        status = nonsense(input, error);
    input->state = NULL;
    d->dead = true;
    give_decoder(d);
    return status;
}

hone_status video_try(const char *path, const struct video_read_options *options, double seconds,
                      hone_error *error)
{
    const struct media_read_options limits = {.memory = options->memory, .seconds = seconds};
    struct wanted_video *wanted = NULL;
    struct stat info;
    if (!decoder_ready() || options->raw || strlen(path) >= sizeof wanted->path || stat(path, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return HONE_OK;
    struct media_input *input = media_new_input(path, &limits, error);
    if (!input)
        return HONE_ERROR_MEMORY;
    hone_status status = try_by(input, options, error);
    media_close(&input);
    return status;
}
