/* SPDX-License-Identifier: BSD-2-Clause */
/* hone tune --kernel-file: images and raw files as arguments, and as the right outputs. */
#include "cli/tune/own.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/show.h"
#include "media/media.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t largest_raw = (size_t)4 << 30;

/* ---- Images ---- */

struct picture {
    hone_image_desc desc;
    enum element element;
    void *pixels;
    size_t count; /* elements */
};

static hone_status load_picture(const struct kernel_run *run, const char *path, struct picture *p,
                                hone_error *error)
{
    const struct media_read_options options = {.keep_s16 = true,
                                               .keep_u32 = true,
                                               .seconds = -1,
                                               .trust = run->trust,
                                               .memory = (uint64_t)(run->decode_memory * 1048576),
                                               .max_pixels = (uint64_t)run->max_pixels,
                                               .note = cli_media_note,
                                               .user = (void *)&run->common};
    struct media_input *input = NULL;
    int lanes;
    *p = (struct picture){0};
    TRY(media_open(&input, path, &options, error));
    p->desc = media_get_info(input)->desc;
    p->desc.pitch = 0;
    p->count = (size_t)p->desc.width * p->desc.height * p->desc.channels;
    const char *type = hone_type_name(p->desc.type);
    element_parse(type, strlen(type), &p->element, &lanes);
    p->pixels = mem_new(p->count, element_size(p->element));
    hone_status status = p->pixels ? media_load(input, p->pixels, 0, error) : error_memory(error, path);
    media_close(&input);
    return status;
}

/* Numbers stay what they are: 200 becomes 200.0. */
static hone_status convert(struct picture *p, enum element to, hone_error *error)
{
    if (to == p->element)
        return HONE_OK;
    void *converted = mem_new(p->count, element_size(to));
    if (!converted)
        return error_memory(error, "an image");
    for (size_t i = 0; i < p->count; i++)
        element_set(to, converted, i, element_get(p->element, p->pixels, i));
    free(p->pixels);
    p->pixels = converted;
    p->element = to;
    return HONE_OK;
}

/* OpenCL has no images of three channels that every device knows: an opaque fourth is added. */
static hone_status add_alpha(struct picture *p, hone_error *error)
{
    static const double full[ELEMENT_COUNT] = {
        [ELEMENT_U8] = 255, [ELEMENT_U16] = 65535, [ELEMENT_F32] = 1, [ELEMENT_S16] = 32767};
    size_t pixels = (size_t)p->desc.width * p->desc.height;
    void *wide = p->desc.channels == 3 ? mem_new(pixels * 4, element_size(p->element)) : NULL;
    if (p->desc.channels != 3)
        return HONE_OK;
    if (!wide)
        return error_memory(error, "an image");
    for (size_t i = 0; i < pixels; i++) {
        for (size_t k = 0; k < 3; k++)
            element_set(p->element, wide, i * 4 + k, element_get(p->element, p->pixels, i * 3 + k));
        element_set(p->element, wide, i * 4 + 3, full[p->element]);
    }
    free(p->pixels);
    p->pixels = wide;
    p->desc.channels = 4;
    p->count = pixels * 4;
    return HONE_OK;
}

static hone_status hold_picture(struct kernel_run *run, int i, struct picture *p, hone_error *error)
{
    struct own_argument *a = &run->spec->arguments[i];
    size_t bytes = p->count * element_size(p->element);
    hone_status status = held_file_make(&run->held[i], p->pixels, bytes, error);
    a->data = (struct own_data){.bytes = bytes,
                                .element = p->element,
                                .channels = p->desc.channels,
                                .width = p->desc.width,
                                .height = p->desc.height,
                                .identity = hash_fnv(p->pixels, bytes)};
    snprintf(a->data.path, sizeof a->data.path, "%s", run->held[i].path);
    return status;
}

static hone_status take_picture(struct kernel_run *run, int i, hone_error *error)
{
    struct own_argument *a = &run->spec->arguments[i];
    struct picture p;
    hone_status status = load_picture(run, a->file, &p, error);
    hone_image_desc desc = p.desc;
    if (!status && a->typed)
        status = convert(&p, a->element, error);
    if (!status && a->kind == OWN_IMAGE)
        status = add_alpha(&p, error);
    THEN(status, hold_picture(run, i, &p, error));
    if (!status && run->first_picture.width == 0)
        run->first_picture = desc;
    free(p.pixels);
    return status;
}

/* ---- Raw files ---- */

static hone_status take_raw(struct kernel_run *run, int i, hone_error *error)
{
    struct own_argument *a = &run->spec->arguments[i];
    struct text content = {0};
    if (a->kind == OWN_IMAGE)
        return error_usage(error, "--arg %d '%s': an image2d_t needs an image file", i + 1, a->text);
    if (!a->typed)
        return error_usage(error,
                           "--arg %d '%s': '%s' is no image by its name; a raw file needs a type: in:u8:%s",
                           i + 1, a->text, a->file, a->file);
    hone_status status = file_read(a->file, largest_raw, &content, error);
    if (!status && (content.length == 0 || content.length % element_size(a->element) != 0))
        status = error_io(error, "'%s' has %s: no whole number of %s", a->file,
                          show_count(content.length, "byte").text, element_name(a->element));
    THEN(status, held_file_make(&run->held[i], content.data, content.length, error));
    a->data = (struct own_data){.bytes = content.length,
                                .element = a->element,
                                .identity = status ? 0 : hash_fnv(content.data, content.length)};
    snprintf(a->data.path, sizeof a->data.path, "%s", run->held[i].path);
    text_finish(&content);
    return status;
}

hone_status tune_kernel_files(struct kernel_run *run, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < run->spec->argument_count && !status; i++)
        if (run->spec->arguments[i].fill == FILL_FILE)
            status = media_is_image_name(run->spec->arguments[i].file) ? take_picture(run, i, error)
                                                                       : take_raw(run, i, error);
    const hone_image_desc *first = &run->first_picture;
    if (!status && first->width)
        status = own_spec_set_size(run->spec, first->width, first->height, first->channels, error);
    return status;
}

/* ---- The right outputs ---- */

static hone_status right_picture(const struct kernel_run *run, const char *path, enum element element,
                                 size_t count, void *to, hone_error *error)
{
    struct picture p;
    hone_status status = load_picture(run, path, &p, error);
    if (!status && p.desc.channels == 3 && count == p.count / 3 * 4)
        status = add_alpha(&p, error);
    if (!status && p.count != count)
        status = error_usage(error, "--check '%s' holds %s (%ux%u, %s), the output %zu", path,
                             show_count(p.count, "number").text, p.desc.width, p.desc.height,
                             show_count(p.desc.channels, "channel").text, count);
    THEN(status, convert(&p, element, error));
    if (!status)
        memcpy(to, p.pixels, count * element_size(element));
    free(p.pixels);
    return status;
}

static hone_status right_raw(const char *path, enum element element, size_t count, void *to,
                             hone_error *error)
{
    struct text content = {0};
    size_t bytes = count * element_size(element);
    hone_status status = file_read(path, largest_raw, &content, error);
    if (!status && content.length != bytes)
        status = error_usage(error, "--check '%s' has %s, the output %zu (%zu of %s)", path,
                             show_count(content.length, "byte").text, bytes, count, element_name(element));
    if (!status)
        memcpy(to, content.data, bytes);
    text_finish(&content);
    return status;
}

hone_status tune_kernel_right(void *context, int index, enum element element, size_t count, void *to,
                              hone_error *error)
{
    const struct kernel_run *run = context;
    const char *path = run->spec->checks[index];
    return media_is_image_name(path) ? right_picture(run, path, element, count, to, error)
                                     : right_raw(path, element, count, to, error);
}
