/* SPDX-License-Identifier: BSD-2-Clause */
/* One page of a TIFF as a file of its own. Whenever libvips opens a TIFF, it reads the directories of all
 * pages: page after page, those would take longer than the pixels. */
#include "media/vips/internal.h"

#include "base/file.h"
#include "base/mem.h"
#include "media/tiff_file.h"

#include <stdlib.h>

/* The file with other bytes in two places: the header leads to the page, and the page to no other. */
struct view {
    int fd;
    int64_t bytes, at; /* of the file; where reading goes on */
    int64_t header, next;
    size_t wide; /* of an offset */
    unsigned char place[8];
};

static void patch(unsigned char *bytes, int64_t count, int64_t at, const unsigned char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (at + (int64_t)i >= 0 && at + (int64_t)i < count)
            bytes[at + (int64_t)i] = from[i];
}

static gint64 read_view(VipsSourceCustom *source, void *buffer, gint64 length, void *user)
{
    static const unsigned char none[8];
    struct view *view = user;
    (void)source;
    const ssize_t count = file_read_at(view->fd, buffer, (size_t)length, (off_t)view->at);
    patch(buffer, count, view->header - view->at, view->place, view->wide);
    patch(buffer, count, view->next - view->at, none, view->wide);
    view->at += count > 0 ? count : 0;
    return count;
}

static gint64 seek_view(VipsSourceCustom *source, gint64 offset, int whence, void *user)
{
    struct view *view = user;
    (void)source;
    const int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? view->at : view->bytes;
    if (offset < -from || offset > INT64_MAX - from)
        return -1;
    return view->at = from + offset;
}

static void end_view(void *user, GClosure *closure)
{
    (void)closure;
    free(user);
}

static bool find_page(struct view *view, unsigned page)
{
    struct tiff_file file = {.fd = view->fd};
    uint64_t at = 0, count = 0, next = 0;
    if (!tiff_file_begin(&file, &at) || !tiff_file_page(&file, page, &at) ||
        !tiff_file_directory(&file, at, &count, &next))
        return false;
    view->wide = tiff_offset_bytes(&file);
    view->header = (int64_t)view->wide;
    view->next = (int64_t)(at + tiff_count_bytes(&file) + count * tiff_entry_bytes(&file));
    tiff_put(&file, view->place, view->wide, at);
    return true;
}

VipsSource *vips_page_source(const struct media_input *input, unsigned page)
{
    struct view *view = mem_new(1, sizeof *view);
    if (!view)
        return NULL;
    *view = (struct view){.fd = input->fd, .bytes = input->bytes};
    VipsSourceCustom *source = find_page(view, page) ? vips_source_custom_new() : NULL;
    if (!source) {
        free(view);
        return NULL;
    }
    g_signal_connect_data(source, "read", G_CALLBACK(read_view), view, end_view, 0);
    g_signal_connect(source, "seek", G_CALLBACK(seek_view), view);
    return (VipsSource *)source;
}
