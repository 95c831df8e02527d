/* SPDX-License-Identifier: BSD-2-Clause */
/* GIF: blocks, of which the last one is a mark, and what no frame covers. */
#include "media/vips/internal.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "media/gif.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 13, HEADER_FLAGS = 10, HEADER_BACKGROUND = 11 };

bool vips_is_cut_gif(const struct media_input *input)
{
    unsigned char head[HEADER];
    if (!gif_bytes(input->fd, 0, head, HEADER))
        return true;
    uint64_t at = HEADER + gif_colour_bytes(head[HEADER_FLAGS]);
    /* what follows is the end, or what a decoder has to judge */
    return !gif_pass_blocks(input->fd, &at) || !gif_bytes(input->fd, at, head, 1);
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
    unsigned char head[GIF_IMAGE];
    *frame = (struct frame){0};
    while (gif_bytes(input->fd, *at, head, DISPOSAL_AT + 1) && head[0] == '!') {
        if (head[1] == CONTROL)
            frame->disposal = head[DISPOSAL_AT] >> 2 & 7;
        *at += 2;
        if (!gif_pass_sub_blocks(input->fd, at))
            return false;
    }
    if (!gif_bytes(input->fd, *at, head, GIF_IMAGE) || head[0] != ',')
        return false;
    frame->left = (unsigned)little_endian(head + 1, 2);
    frame->top = (unsigned)little_endian(head + 3, 2);
    frame->width = (unsigned)little_endian(head + 5, 2);
    frame->height = (unsigned)little_endian(head + 7, 2);
    *at += GIF_IMAGE + gif_colour_bytes(head[GIF_IMAGE_FLAGS]) + 1;
    return gif_pass_sub_blocks(input->fd, at);
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
        (*image)->BandFmt != VIPS_FORMAT_UCHAR || !gif_bytes(input->fd, 0, head, HEADER))
        return true;
    const uint64_t begin = HEADER + gif_colour_bytes(head[HEADER_FLAGS]),
                   place = 3u * head[HEADER_BACKGROUND];
    uint64_t at = begin;
    const bool covers = next_frame(input, &at, &first) && first.left == 0 && first.top == 0 &&
                        first.width >= (unsigned)(*image)->Xsize &&
                        first.height >= (unsigned)vips_page_height(input, *image);
    if (covers || HEADER + place + 3 > begin || !gif_bytes(input->fd, HEADER + place, colour, 3))
        return true;
    return add_background(input, begin, colour, image);
}
