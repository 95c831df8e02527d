/* SPDX-License-Identifier: BSD-2-Clause */
/* GIF: blocks, of which the last one is a mark, and what no frame covers. */
#include "media/vips/internal.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 13, HEADER_FLAGS = 10, HEADER_BACKGROUND = 11, IMAGE = 10, IMAGE_FLAGS = 9 };

static bool get_bytes(const struct media_input *input, uint64_t at, void *bytes, size_t count)
{
    return file_read_at(input->fd, bytes, count, (off_t)at) == (ssize_t)count;
}

/* Bytes of a table of colours that follows these flags. */
static unsigned colour_bytes(unsigned flags)
{
    return flags & 0x80 ? 3u << ((flags & 7) + 1) : 0;
}

/* From the first of some sub-blocks to what follows the empty one that ends them. */
static bool pass_sub_blocks(const struct media_input *input, uint64_t *at)
{
    unsigned char length;
    do {
        if (!get_bytes(input, *at, &length, 1))
            return false;
        *at += 1u + length;
    } while (length);
    return true;
}

bool vips_is_cut_gif(const struct media_input *input)
{
    unsigned char head[HEADER];
    if (!get_bytes(input, 0, head, HEADER))
        return true;
    for (uint64_t at = HEADER + colour_bytes(head[HEADER_FLAGS]);;) {
        if (!get_bytes(input, at, head, 1))
            return true;
        if (head[0] != '!' && head[0] != ',')
            return false; /* the end, or what a decoder has to judge */
        if (head[0] == ',' && !get_bytes(input, at, head, IMAGE))
            return true;
        /* a picture's data begin with the length of their codes, an extension's with its kind */
        at += head[0] == ',' ? IMAGE + colour_bytes(head[IMAGE_FLAGS]) + 1 : 2;
        if (!pass_sub_blocks(input, &at))
            return true;
    }
}

/* ---- The background ---- */

enum { RESTORE = 3 }; /* what was there before a frame comes back after it */

struct frame {
    unsigned left, top, width, height, disposal;
};

/* The next one from *at on. */
static bool next_frame(const struct media_input *input, uint64_t *at, struct frame *frame)
{
    enum { CONTROL = 0xf9, DISPOSAL_AT = 3 };
    unsigned char head[IMAGE];
    *frame = (struct frame){0};
    while (get_bytes(input, *at, head, DISPOSAL_AT + 1) && head[0] == '!') {
        if (head[1] == CONTROL)
            frame->disposal = head[DISPOSAL_AT] >> 2 & 7;
        *at += 2;
        if (!pass_sub_blocks(input, at))
            return false;
    }
    if (!get_bytes(input, *at, head, IMAGE) || head[0] != ',')
        return false;
    frame->left = (unsigned)little_endian(head + 1, 2);
    frame->top = (unsigned)little_endian(head + 3, 2);
    frame->width = (unsigned)little_endian(head + 5, 2);
    frame->height = (unsigned)little_endian(head + 7, 2);
    *at += IMAGE + colour_bytes(head[IMAGE_FLAGS]) + 1;
    return pass_sub_blocks(input, at);
}

/* What is still to be filled of the canvas; 0: it is covered. */
struct canvas {
    unsigned width, height;
    unsigned char *open, *before;
};

static void cover(struct canvas *canvas, const struct frame *frame)
{
    const unsigned left = VIPS_MIN(frame->left, canvas->width);
    const unsigned width = VIPS_MIN(frame->width, canvas->width - left);
    const unsigned end = VIPS_MIN(frame->top + frame->height, canvas->height);
    for (unsigned y = frame->top; y < end; y++)
        memset(canvas->open + (size_t)y * canvas->width + left, 0, width);
}

/* Of pages from the first that is wanted on: the colour where nothing covers, else black. */
static void fill(const struct media_input *input, uint64_t at, struct canvas *canvas,
                 const unsigned char *colour, unsigned char *to)
{
    const struct media_info *info = &input->info;
    const size_t pixels = (size_t)canvas->width * canvas->height;
    struct frame frame;
    memset(canvas->open, 1, pixels);
    for (unsigned page = 1; page < info->first_page + info->page_count && next_frame(input, &at, &frame);
         page++) {
        memcpy(canvas->before, canvas->open, pixels);
        cover(canvas, &frame);
        for (size_t i = 0; i < pixels && page >= info->first_page; i++, to += 3)
            if (canvas->open[i])
                memcpy(to, colour, 3);
        if (frame.disposal == RESTORE)
            memcpy(canvas->open, canvas->before, pixels);
    }
}

static bool add_background(const struct media_input *input, uint64_t at, const unsigned char *colour,
                           VipsImage **image)
{
    const unsigned pages = input->info.page_count;
    struct canvas canvas = {.width = (unsigned)(*image)->Xsize, .height = (unsigned)(*image)->Ysize / pages};
    const size_t pixels = (size_t)canvas.width * canvas.height, bytes = VIPS_IMAGE_SIZEOF_IMAGE(*image);
    unsigned char *colours = mem_new(bytes, 1);
    VipsImage *background = NULL, *made = NULL;
    canvas.open = mem_new(pixels, 1);
    canvas.before = mem_new(pixels, 1);
    if (colours && canvas.open && canvas.before) {
        fill(input, at, &canvas, colour, colours);
        background = vips_image_new_from_memory_copy(colours, bytes, (*image)->Xsize, (*image)->Ysize, 3,
                                                     VIPS_FORMAT_UCHAR);
    } else {
        vips_error("GIF", "there is too little memory");
    }
    free(canvas.before);
    free(canvas.open);
    free(colours);
    const bool ok = background && vips_orimage(*image, background, &made, NULL) == 0;
    g_clear_object(&background);
    if (ok) {
        g_object_unref(*image);
        *image = made;
    }
    return ok;
}

/* Nothing is transparent, so that libvips leaves out alpha, and black stays where it had nothing. */
bool vips_fill_gif(const struct media_input *input, VipsImage **image)
{
    unsigned char head[HEADER], colour[3];
    struct frame first;
    if (strcmp(input->info.format, "GIF") != 0 || (*image)->Bands != 3 ||
        (*image)->BandFmt != VIPS_FORMAT_UCHAR || !get_bytes(input, 0, head, HEADER))
        return true;
    const uint64_t begin = HEADER + colour_bytes(head[HEADER_FLAGS]), place = 3u * head[HEADER_BACKGROUND];
    uint64_t at = begin;
    const bool covers = next_frame(input, &at, &first) && first.left == 0 && first.top == 0 &&
                        first.width >= (unsigned)(*image)->Xsize &&
                        first.height >= (unsigned)vips_page_height(input, *image);
    if (covers || HEADER + place + 3 > begin || !get_bytes(input, HEADER + place, colour, 3))
        return true;
    return add_background(input, begin, colour, image);
}
