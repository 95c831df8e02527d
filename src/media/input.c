/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening image files: what every format has in common. */
#include "media/decoder/decoder.h"
#include "media/reader.h"
#include "media/video/video.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Decoders in processes of their own ---- */

#ifndef HONE_HAVE_VIPS /* what is read here is plain numbers */
hone_status media_decoders_begin(bool likely, hone_error *error)
{
    (void)likely, (void)error;
    return HONE_OK;
}

void media_decoders_end(void) {}

bool media_give_up(void *user, uint64_t thread)
{
    (void)user, (void)thread;
    return false;
}

uint64_t media_starved(uint64_t now)
{
    (void)now;
    return 0;
}

bool decoder_ready(void)
{
    return false;
}

hone_status video_try(const char *path, const struct video_read_options *options, double seconds,
                      hone_error *error)
{
    (void)path, (void)options, (void)seconds, (void)error;
    return HONE_OK;
}
#endif

/* ---- Messages ---- */

static const struct media_reader *const readers[] = {
    &media_reader_pnm,
#ifdef HONE_HAVE_VIPS
    &media_reader_vips,
#endif
};

hone_status media_bad(const struct media_input *input, hone_error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_io(error, "'%s'%s%s", input->path, message[0] == ' ' ? "" : ": ", message);
}

void media_note(const struct media_input *input, enum media_note kind, const char *format, ...)
{
    char message[512];
    struct text line = {0};
    if (!input->options.note || (input->options.reopened && !input->opened))
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    text_add(&line, "'%s'%s%s", input->path, message[0] == ' ' ? "" : ": ", message);
    input->options.note(input->options.user, kind, text_view(&line));
    text_finish(&line);
}

hone_status media_check_size(const struct media_input *input, uint64_t width, uint64_t height,
                             hone_error *error)
{
    if (width < 1 || height < 1)
        return media_bad(input, error, "the header says %llux%llu pixels; an image has at least one",
                         (unsigned long long)width, (unsigned long long)height);
    if (width > HONE_MAX_SIDE || height > HONE_MAX_SIDE)
        return media_bad(input, error, "the header says %llux%llu pixels; each side may have at most %d",
                         (unsigned long long)width, (unsigned long long)height, HONE_MAX_SIDE);
    const uint64_t most = input->options.max_pixels;
    if (width * height > (most ? most : HONE_MAX_PIXELS))
        return most ? media_bad(input, error,
                                "the header says %llux%llu pixels, which is over the limit of %llu "
                                "(--max-pixels or a policy sets it)",
                                (unsigned long long)width, (unsigned long long)height,
                                (unsigned long long)most)
                    : media_bad(input, error,
                                "the header says %llux%llu pixels, which is over the limit of 2^30",
                                (unsigned long long)width, (unsigned long long)height);
    return HONE_OK;
}

/* ---- Time ---- */

double media_seconds(const hone_image_desc *desc)
{
    const double least = 60, per_megapixel = 1;
    return least + per_megapixel * desc->width * desc->height * 1e-6;
}

hone_status media_check_time(struct media_input *input, hone_error *error)
{
    const double wanted = input->options.seconds;
    const double most = wanted < 0 ? media_seconds(&input->info.desc) : wanted;
    const double spent = (double)(input->spent + clock_thread_ns() - input->since) * 1e-9;
    if (wanted == 0 || spent <= most)
        return HONE_OK;
    input->settled = true;
    return media_bad(
        input, error,
        "decoding has taken %.3g s of processor time, and %.3g s are the limit (--timeout sets it)", spent,
        most);
}

bool media_is_settled(const struct media_input *input)
{
    return input ? input->settled : decoder_ready();
}

static hone_status check_kind(const struct media_input *input, const struct stat *info, hone_error *error)
{
    if (S_ISDIR(info->st_mode))
        return media_bad(input, error, " is a folder, not an image");
    if (!S_ISREG(info->st_mode))
        return media_bad(input, error,
                         S_ISFIFO(info->st_mode) || S_ISSOCK(info->st_mode)
                             ? " is a pipe, which hone apply reads as its only input"
                             : " is not a regular file: devices cannot be read");
    if (info->st_size == 0)
        return media_bad(input, error, "the file is empty");
    return HONE_OK;
}

/* Looked at before it is opened, because opening a device can do things; and again after, because it may have
 * been swapped. O_NONBLOCK: a pipe must not hold us up. */
static hone_status open_file(struct media_input *input, hone_error *error)
{
    struct stat info;
    if (stat(input->path, &info) != 0)
        return error_io(error, "cannot open '%s': %s", input->path, strerror(errno));
    TRY(check_kind(input, &info, error));
    input->fd = open(input->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (input->fd < 0 || fstat(input->fd, &info) != 0)
        return error_io(error, "cannot open '%s': %s", input->path, strerror(errno));
    input->bytes = info.st_size;
    return check_kind(input, &info, error);
}

static hone_status no_reader(const struct media_input *input, hone_error *error)
{
#ifdef HONE_HAVE_VIPS
    return media_bad(input, error, " is not an image of a known format");
#else
    return media_bad(
        input, error,
        " is not a PGM, PPM, PAM or PFM file, and this build of hone reads no other format because it was "
        "made without libvips");
#endif
}

static hone_status find_reader(struct media_input *input, hone_error *error)
{
    uint8_t head[MEDIA_HEAD];
    ssize_t count = file_read_at(input->fd, head, sizeof head, 0);
    if (count < 0)
        return error_io(error, "cannot read '%s': %s", input->path, strerror(errno));
    TRY(media_check_plain_pnm(input, head, (size_t)count, error));
    for (size_t i = 0; i < COUNT_OF(readers) && !input->reader; i++)
        if (readers[i]->claims(head, (size_t)count))
            input->reader = readers[i];
#ifdef HONE_HAVE_VIPS
    if (input->reader == &media_reader_vips && decoder_ready())
        input->reader = &media_reader_decoder;
#endif
    return input->reader ? HONE_OK : no_reader(input, error);
}

/* Readers speak of the file; callers of the upright image. */
void media_turn_upright(struct media_input *input)
{
    hone_image_desc *desc = &input->info.desc;
    input->place = (struct placement){.width = desc->width,
                                      .height = desc->height,
                                      .pixel_bytes = desc->channels * hone_type_size(desc->type),
                                      .orientation = input->orientation};
    if (input->orientation >= 5) {
        desc->width = input->place.height;
        desc->height = input->place.width;
    }
}

struct media_input *media_new_input(const char *name, const struct media_read_options *options,
                                    hone_error *error)
{
    struct media_input *input = mem_new(1, sizeof *input);
    if (!input || !(input->path = mem_copy_text(name))) {
        free(input);
        error_memory(error, "an image file");
        return NULL;
    }
    input->fd = -1;
    input->orientation = 1;
    if (options)
        input->options = *options;
    input->since = clock_thread_ns();
    return input;
}

hone_status media_check_pages(const struct media_input *input, unsigned pages, hone_error *error)
{
    const struct media_read_options *o = &input->options;
    const unsigned last = o->last_page ? o->last_page : o->first_page;
    return last <= pages ? HONE_OK
                         : media_bad(input, error, " holds %u image%s: there is no page %u", pages,
                                     pages == 1 ? "" : "s", last);
}

/* Of formats that hold one. */
static hone_status choose_pages(struct media_input *input, hone_error *error)
{
    input->info.first_page = input->info.page_count = 1;
    return media_check_pages(input, 1, error);
}

/* How many pixels there may be has been checked. */
static hone_status check_description(const hone_image_desc *desc, hone_error *error)
{
    hone_image_desc row = *desc;
    row.height = 1;
    return hone_image_desc_check(&row, error);
}

/* The page or pages that the options ask for. */
static hone_status open_pages(struct media_input *input, hone_error *error)
{
    TRY(input->reader->open(input, error));
    TRY(check_description(&input->info.desc, error));
    TRY(input->info.page_count ? HONE_OK : choose_pages(input, error));
    if (!input->info.parts)
        input->info.parts = 1;
    media_turn_upright(input);
    input->spent = clock_thread_ns() - input->since;
    return HONE_OK;
}

/* Of an input whose file is open; takes it over. */
static hone_status open_image(struct media_input **out, struct media_input *input, hone_error *error)
{
    const unsigned most_counted = 4096; /* by libvips, in a GIF */
    hone_status status = find_reader(input, error);
    THEN(status, open_pages(input, error));
    if (status == HONE_ERROR_IO && !input->no_path && video_is_name(input->path))
        status = media_bad(input, error, " is a video by its name, and an image is needed here");
    if (status) {
        media_close(&input);
        return status;
    }
    if (input->info.pages > 1 && input->info.page_count == 1 && !input->options.first_page &&
        !input->info.apart)
        media_note(input, MEDIA_WARNING, " holds %s%u images; the first is used",
                   input->info.pages > most_counted ? "at least " : "", input->info.pages);
    input->opened = true;
    *out = input;
    return HONE_OK;
}

hone_status media_open(struct media_input **out, const char *path, const struct media_read_options *options,
                       hone_error *error)
{
    struct media_input *input = media_new_input(path, options, error);
    *out = NULL;
    if (!input)
        return HONE_ERROR_MEMORY;
    hone_status status = open_file(input, error);
    if (!status)
        return open_image(out, input, error);
    media_close(&input);
    return status;
}

hone_status media_open_descriptor(struct media_input **out, int fd, const char *name,
                                  const struct media_read_options *options, hone_error *error)
{
    struct media_input *input = media_new_input(name, options, error);
    struct stat info;
    *out = NULL;
    if (!input) {
        close(fd);
        return HONE_ERROR_MEMORY;
    }
    input->fd = fd;
    input->no_path = true;
    hone_status status = fstat(fd, &info) == 0
                             ? check_kind(input, &info, error)
                             : error_io(error, "cannot open '%s': %s", name, strerror(errno));
    if (status) {
        media_close(&input);
        return status;
    }
    input->bytes = info.st_size;
    return open_image(out, input, error);
}

const struct media_info *media_get_info(const struct media_input *input)
{
    return &input->info;
}

/* `count` rows of the file, from the one where the last call ended. */
static hone_status load(struct media_input *input, uint32_t count, void *pixels, size_t pitch,
                        hone_error *error)
{
    input->place.pixels = pixels;
    input->place.pitch = pitch ? pitch : hone_image_row_bytes(&input->info.desc);
    input->since = clock_thread_ns();
    hone_status status = input->reader->load(input, input->rows, count, error);
    if (!status)
        input->rows += count;
    if (input->rows == input->place.height) {
        input->loaded++;
        input->rows = 0;
    }
    return status;
}

hone_status media_load(struct media_input *input, void *pixels, size_t pitch, hone_error *error)
{
    input->place.first = 0;
    return load(input, input->place.height, pixels, pitch, error);
}

hone_status media_next_page(struct media_input *input, hone_error *error)
{
    const struct media_info before = input->info;
    if (before.apart < 2)
        return error_set(error, HONE_ERROR_INTERNAL, "'%s': there is no further page", input->path);
    input->reader->close(input);
    input->info = (struct media_info){0};
    input->orientation = 1;
    input->loaded = input->rows = 0;
    input->settled = false;
    input->spent = 0;
    input->since = clock_thread_ns();
    input->options.first_page = input->options.last_page = before.first_page + 1;
    input->options.goes_on = true;
    hone_status status = open_pages(input, error);
    input->info.pages = before.pages;
    input->info.apart = before.apart - 1;
    return status;
}

bool media_loads_rows(const struct media_input *input)
{
    const unsigned mirrored = 2; /* left to right */
    return input->orientation <= mirrored;
}

hone_status media_load_rows(struct media_input *input, uint32_t count, void *pixels, size_t pitch,
                            hone_error *error)
{
    if (!media_loads_rows(input) || count > input->place.height - input->rows)
        return error_set(error, HONE_ERROR_INTERNAL, "'%s': there are no such rows to load", input->path);
    input->place.first = input->rows;
    hone_status status = load(input, count, pixels, pitch, error);
    input->spent += clock_thread_ns() - input->since;
    return status;
}

void media_close(struct media_input **slot)
{
    struct media_input *input = *slot;
    if (!input)
        return;
    if (input->reader)
        input->reader->close(input);
    if (input->fd >= 0)
        close(input->fd);
    free(input->path);
    free(input);
    *slot = NULL;
}
