/* SPDX-License-Identifier: BSD-2-Clause */
/* What is measured with: images on the device, and the way there and back. */
#include "tune/measure/state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "image/pattern.h"
#include "image/view.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_ALIGN = 64 };
static const struct wait_list no_wait;

/* ---- Images ---- */

static hone_status image_make(struct bench_image *image, hone_device *device, const hone_image_desc *desc,
                              hone_error *error)
{
    size_t row = hone_image_row_bytes(desc);
    image->pitch = (row + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    image->bytes = image->pitch * desc->height;
    return memory_create(&image->memory, device, image->bytes, HONE_MEMORY_DEVICE, error);
}

/* Noise: kernels whose speed depends on the picture must not look better than they are. Making it costs more
 * than moving it, so what lies below a first part of a large image is that part again, pushed aside further
 * every time. */
static void fill_large(struct view *view, uint32_t seed)
{
    enum { MADE = 1 << 20 }; /* elements */
    const size_t pitch = view->desc.pitch, row = hone_image_row_bytes(&view->desc),
                 pixel = row / view->desc.width;
    uint32_t rows = (uint32_t)(MADE / (row / hone_type_size(view->desc.type)) + 1),
             height = view->desc.height;
    struct view first = *view;
    first.desc.height = rows < height ? rows : height;
    pattern_fill(&first, PATTERN_STEPS, seed);
    for (uint32_t y = rows; y < height; y++) {
        const char *from = (const char *)view->data + y % rows * pitch;
        char *to = (char *)view->data + y * pitch;
        size_t aside = (size_t)y / rows * 37 % view->desc.width * pixel;
        memcpy(to, from + aside, row - aside);
        memcpy(to + row - aside, from, aside);
    }
}

void measure_fill(struct view *view, uint32_t input)
{
    fill_large(view, input + 1);
}

static hone_status image_fill(struct bench_image *image, const hone_image_desc *desc, uint32_t input,
                              hone_error *error)
{
    hone_image_desc padded = *desc;
    padded.pitch = image->pitch;
    struct view view = {padded, mem_new(image->bytes, 1)};
    if (!view.data)
        return error_memory(error, "an input to measure with");
    measure_fill(&view, input);
    const struct span span = {0, image->bytes, image->bytes, 1};
    hone_status status = memory_write(image->memory, &span, view.data, image->bytes, no_wait, NULL, error);
    view_finish(&view);
    return status;
}

struct surface measure_surface(const struct bench_image *image)
{
    return (struct surface){image->memory, 0, image->pitch};
}

hone_status measure_make_images(struct measure *m, hone_error *error)
{
    hone_status status = image_make(&m->out, m->device, &m->c.out, error);
    for (uint32_t i = 0; i < INPUTS && !status; i++) {
        status = image_make(&m->inputs[i], m->device, &m->c.in, error);
        THEN(status, image_fill(&m->inputs[i], &m->c.in, i, error));
    }
    if (!status && m->c.filter->inputs > 1) {
        status = image_make(&m->second, m->device, &m->c.second, error);
        THEN(status, image_fill(&m->second, &m->c.second, INPUTS, error));
    }
    return status;
}

/* ---- Transfers ---- */

void measure_transfers(struct measure *m, double *upload_ms, double *download_ms)
{
    const hone_device_info *info = hone_device_get_info(m->device);
    *upload_ms = *download_ms = 0;
    if (info->kind == HONE_DEVICE_CPU)
        return; /* works on the caller's memory */
    void *host = mem_new(m->inputs[0].bytes > m->out.bytes ? m->inputs[0].bytes : m->out.bytes, 1);
    const struct span in = {0, m->inputs[0].bytes, m->inputs[0].bytes, 1},
                      out = {0, m->out.bytes, m->out.bytes, 1};
    for (int i = 0; i < 2 && host; i++) { /* the first round pays for pinning and page faults */
        uint64_t start = clock_ns();
        if (memory_write(m->inputs[INPUTS - 1].memory, &in, host, in.pitch, no_wait, NULL, NULL) != HONE_OK)
            break;
        uint64_t middle = clock_ns();
        if (memory_read(m->out.memory, &out, host, out.pitch, no_wait, NULL, NULL) != HONE_OK)
            break;
        *upload_ms = (double)(middle - start) * 1e-6;
        *download_ms = (double)(clock_ns() - middle) * 1e-6;
    }
    image_fill(&m->inputs[INPUTS - 1], &m->c.in, INPUTS - 1, NULL);
    free(host);
}
