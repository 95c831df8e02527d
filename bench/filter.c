/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times a chain of hone's on the device, over memory of the caller's: its kernels, and apart from them what
 * copies around them take (a 2D image made from a buffer).
 *
 *   filter CHAIN WIDTH HEIGHT TYPE CHANNELS ROUNDS [VARIANT [CONFIG]]
 *
 * prints the least milliseconds of so many rounds, kernels and copies, then for each further line of standard
 * input (a number of rounds) again. The first line says what was chosen: "# variant config | device, driver |
 * bytes", the last being those of all images that go in or come out, which no filter can help to read or
 * write once.
 */
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const hone_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

static void fill(void *pixels, const hone_image_desc *desc)
{
    size_t count = hone_image_bytes(desc);
    unsigned state = 1;
    if (desc->type == HONE_F32)
        for (size_t i = 0; i < count / 4; i++)
            ((float *)pixels)[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
    else
        for (size_t i = 0; i < count; i++)
            ((unsigned char *)pixels)[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24);
}

static void *pages(size_t bytes)
{
    return aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
}

struct bench {
    hone_device *device;
    hone_plan *plan;
    hone_image *in, *out, *second;
};

/* Milliseconds in kernels, and in copies around them. */
struct took {
    double kernels, copies;
};

static hone_status one(const struct bench *b, struct took *took, hone_error *error)
{
    hone_event *done = NULL;
    hone_durations durations;
    hone_status status = hone_plan_run(b->plan, b->in, b->out, NULL, 0, &done, error);
    if (!status)
        status = hone_event_wait(done, error);
    if (!status)
        status = hone_event_durations(done, &durations, error);
    if (!status)
        *took = (struct took){(double)durations.kernels * 1e-6, (double)durations.copies * 1e-6};
    hone_event_destroy(&done);
    return status;
}

static hone_status measure(const struct bench *b, int rounds, hone_error *error)
{
    struct took least = {1e9, 1e9}, took = {0};
    for (int i = 0; i < rounds; i++) {
        hone_status status = one(b, &took, error);
        if (status)
            return status;
        least.kernels = took.kernels < least.kernels ? took.kernels : least.kernels;
        least.copies = took.copies < least.copies ? took.copies : least.copies;
    }
    printf("%.6f %.6f\n", least.kernels, least.copies);
    fflush(stdout);
    return HONE_OK;
}

/* An image of noise, in memory that a device that shares ours works in; others get a copy now, so that no
 * measurement waits for it. */
static hone_status open_image(hone_image **image, const struct bench *b, const hone_image_desc *desc,
                              hone_error *error)
{
    void *memory = pages(hone_image_bytes(desc));
    if (!memory)
        return HONE_ERROR_MEMORY;
    fill(memory, desc);
    hone_status status = hone_image_wrap(image, b->device, desc, memory, error);
    return status ? status : hone_image_upload(*image, NULL, 0, NULL, 0, NULL, error);
}

static hone_status open_images(struct bench *b, const hone_image_desc *in, hone_error *error)
{
    hone_status status = open_image(&b->in, b, in, error);
    if (!status)
        status = open_image(&b->out, b, hone_plan_output(b->plan), error);
    if (!status)
        status = open_image(&b->second, b, in, error);
    if (!status && hone_plan_bind(b->plan, 0, b->second, NULL) != HONE_OK)
        hone_image_destroy(&b->second); /* a filter of one image */
    return status;
}

static void introduce(const struct bench *b, const hone_image_desc *in)
{
    const hone_device_info *device = hone_device_get_info(b->device);
    hone_step_info step = {0};
    hone_plan_step(b->plan, 0, &step);
    printf("# %s %s | %s, driver %s | %zu\n", step.variant, step.config, device->name, device->driver_version,
           hone_image_bytes(in) * (b->second ? 2 : 1) + hone_image_bytes(hone_plan_output(b->plan)));
}

int main(int argc, char **argv)
{
    hone_error error = {0};
    hone_chain *chain = NULL;
    struct bench b = {0};
    const hone_device_request request = {.size = sizeof request, .profile = true, .profile_ends = true};
    int rounds = argc > 6 ? atoi(argv[6]) : 0;
    if (argc < 7 || rounds < 1)
        return fprintf(stderr, "usage: filter CHAIN WIDTH HEIGHT TYPE CHANNELS ROUNDS [VARIANT [CONFIG]]\n"),
               2;
    hone_image_desc in = {.width = (uint32_t)atoi(argv[2]),
                          .height = (uint32_t)atoi(argv[3]),
                          .channels = (uint32_t)atoi(argv[5])};
    const hone_plan_options options = {.variant = argc > 7 && argv[7][0] ? argv[7] : NULL,
                                       .config = argc > 8 ? argv[8] : NULL,
                                       .second = &in,
                                       .second_count = 1};
    if (hone_type_parse(&in.type, argv[4], &error) || hone_device_open(&b.device, &request, &error) ||
        hone_chain_parse(&chain, argv[1], &error) ||
        hone_plan_create(&b.plan, b.device, chain, &in, &options, &error) || open_images(&b, &in, &error))
        return fail(&error);
    introduce(&b, &in);
    if (measure(&b, 2, &error) || measure(&b, rounds, &error)) /* the first line is the warm-up */
        return fail(&error);
    while (scanf("%d", &rounds) == 1 && rounds > 0)
        if (measure(&b, rounds, &error))
            return fail(&error);
    hone_plan_destroy(&b.plan);
    hone_image_destroy(&b.in);
    hone_image_destroy(&b.out);
    hone_image_destroy(&b.second);
    hone_chain_destroy(&chain);
    hone_device_close(&b.device);
    return 0;
}
