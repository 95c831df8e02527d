/* SPDX-License-Identifier: BSD-2-Clause */
/* The pictures that a chain is profiled with. */
#include "base/error.h"
#include "base/mem.h"
#include "cli/profile/profile.h"
#include "media/media.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static hone_status new_pixels(struct picture *picture, const hone_image_desc *desc, hone_error *error)
{
    picture->desc = *desc;
    picture->data = aligned_alloc(PAGE, (hone_image_bytes(desc) + PAGE - 1) / PAGE * PAGE);
    return picture->data ? HONE_OK : error_memory(error, "a picture");
}

static hone_status load(struct picture *picture, const char *path, const struct profile_arguments *arguments,
                        hone_error *error)
{
    const struct media_read_options options = {.seconds = -1,
                                               .trust = arguments->trust,
                                               .memory = (uint64_t)(arguments->decode_memory * 1048576),
                                               .max_pixels = (uint64_t)arguments->max_pixels,
                                               .note = cli_media_note,
                                               .user = (void *)&arguments->common};
    struct media_input *input = NULL;
    hone_status status = media_open(&input, path, &options, error);
    THEN(status, new_pixels(picture, &media_get_info(input)->desc, error));
    THEN(status, media_load(input, picture->data, 0, error));
    media_close(&input);
    return status;
}

static const char *image_parameter(const char *filter)
{
    hone_parameter_info info;
    for (size_t i = 0; hone_filter_parameter(filter, i, &info); i++)
        if (strcmp(info.kind, "image") == 0)
            return info.name;
    return NULL;
}

static hone_status load_second(struct pictures *pictures, const struct profile_arguments *arguments,
                               const hone_chain *chain, size_t step, hone_error *error)
{
    hone_filter_info info;
    const char *filter = hone_chain_filter(chain, step), *name = image_parameter(filter);
    if (!hone_filter_find(filter, &info) || info.inputs < 2 || !name)
        return HONE_OK;
    const char *path = hone_chain_parameter(chain, step, name);
    if (!path || !*path)
        return error_usage(error, "%s needs a second image: %s %s=FILE", filter, filter, name);
    if (pictures->second_count == PICTURES_MOST)
        return error_usage(error, "the chain names more than %d images", PICTURES_MOST);
    pictures->steps[pictures->second_count] = step;
    return load(&pictures->second[pictures->second_count++], path, arguments, error);
}

hone_status pictures_load(struct pictures *pictures, const struct profile_arguments *arguments,
                          const hone_chain *chain, hone_error *error)
{
    hone_status status = load(&pictures->in, arguments->input, arguments, error);
    for (size_t i = 0; i < hone_chain_length(chain) && !status; i++)
        status = load_second(pictures, arguments, chain, i, error);
    return status;
}

static hone_status wrap(struct picture *picture, hone_device *device, hone_error *error)
{
    return hone_image_wrap(&picture->image, device, &picture->desc, picture->data, error);
}

hone_status pictures_wrap(struct pictures *pictures, hone_device *device, hone_plan *plan, hone_error *error)
{
    hone_status status = new_pixels(&pictures->out, hone_plan_output(plan), error);
    THEN(status, wrap(&pictures->in, device, error));
    THEN(status, wrap(&pictures->out, device, error));
    for (size_t i = 0; i < pictures->second_count && !status; i++) {
        status = wrap(&pictures->second[i], device, error);
        THEN(status, hone_plan_bind(plan, pictures->steps[i], pictures->second[i].image, error));
    }
    return status;
}

hone_image_desc *pictures_seconds(const struct pictures *pictures, hone_error *error)
{
    hone_image_desc *descs = mem_new(pictures->second_count, sizeof *descs);
    if (!descs)
        error_memory(error, "a plan");
    for (size_t i = 0; descs && i < pictures->second_count; i++)
        descs[i] = pictures->second[i].desc;
    return descs;
}

static void finish(struct picture *picture)
{
    hone_image_destroy(&picture->image);
    free(picture->data);
}

void pictures_finish(struct pictures *pictures)
{
    finish(&pictures->in);
    finish(&pictures->out);
    for (size_t i = 0; i < pictures->second_count; i++)
        finish(&pictures->second[i]);
    *pictures = (struct pictures){0};
}
