/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fused against apart: times chains in which a point filter may run in its neighbour's kernel both ways, by
 * turns.
 *
 *   fused WIDTH HEIGHT TYPE ROUNDS CHAIN...
 *
 * prints a line per chain: "fused ms, apart ms, apart/fused | variants | chain". Times are the least of the
 * rounds, from the first kernel's start to the last one's end, or by the host's clock where the device has
 * none, on the device that HONE_DEVICE names.
 */
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct side {
    hone_plan *plan;
    hone_image *out;
    double least;
};

static hone_status open_side(struct side *s, hone_device *device, const hone_chain *chain,
                             const hone_image_desc *in, bool apart, hone_error *error)
{
    const hone_plan_options options = {
        .no_fuse = apart, .second = (hone_image_desc[]){*in, *in}, .second_count = 2};
    s->least = 1e9;
    hone_status status = hone_plan_create(&s->plan, device, chain, in, &options, error);
    return status ? status
                  : hone_image_create(&s->out, device, hone_plan_output(s->plan), HONE_MEMORY_DEVICE, error);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static hone_status run_once(struct side *s, hone_image *in, hone_error *error)
{
    hone_event *done = NULL;
    hone_times times = {0};
    double start = now_ms();
    hone_status status = hone_plan_run(s->plan, in, s->out, NULL, 0, &done, error);
    if (!status)
        status = hone_event_wait(done, error);
    double ms = now_ms() - start;
    if (!status && hone_event_times(done, &times, NULL) == HONE_OK)
        ms = (double)(times.ended - times.started) * 1e-6;
    s->least = !status && ms < s->least ? ms : s->least;
    hone_event_destroy(&done);
    return status;
}

static void show(const struct side *fused, const struct side *apart, const char *chain)
{
    hone_step_info step;
    printf("%9.4f %9.4f %5.2f |", fused->least, apart->least, apart->least / fused->least);
    for (size_t i = 0; hone_plan_step(fused->plan, i, &step); i++)
        printf(" %s%s", step.variant, step.fused_with ? "(fused)" : "");
    printf(" | %s\n", chain);
    fflush(stdout);
}

static hone_status fill(hone_image *image, hone_error *error)
{
    unsigned char *pixels = NULL;
    void *mapped = NULL;
    hone_status status = hone_image_map(image, 1, &mapped, error);
    if (status)
        return status;
    unsigned state = 1;
    pixels = mapped;
    const hone_image_desc *desc = hone_image_get_desc(image);
    for (size_t i = 0; i < desc->pitch * desc->height; i++)
        pixels[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 25);
    return hone_image_unmap(image, error);
}

static hone_status compare(hone_device *device, const char *text, const hone_image_desc *in, int rounds,
                           hone_error *error)
{
    struct side fused = {0}, apart = {0};
    hone_chain *chain = NULL;
    hone_image *image = NULL, *second = NULL;
    hone_status status = hone_chain_parse(&chain, text, error);
    if (!status)
        status = open_side(&fused, device, chain, in, false, error);
    if (!status)
        status = open_side(&apart, device, chain, in, true, error);
    if (!status)
        status = hone_image_create(&image, device, in, HONE_MEMORY_DEVICE, error);
    if (!status)
        status = hone_image_create(&second, device, in, HONE_MEMORY_DEVICE, error);
    if (!status)
        status = fill(image, error);
    for (size_t step = 0; step < 2 && !status; step++) { /* an error where a step takes one image */
        hone_plan_bind(fused.plan, step, second, NULL);
        hone_plan_bind(apart.plan, step, second, NULL);
    }
    for (int i = 0; i < rounds && !status; i++) {
        status = run_once(&fused, image, error);
        if (!status)
            status = run_once(&apart, image, error);
    }
    if (!status)
        show(&fused, &apart, text);
    hone_plan_destroy(&fused.plan);
    hone_plan_destroy(&apart.plan);
    hone_image_destroy(&fused.out);
    hone_image_destroy(&apart.out);
    hone_image_destroy(&image);
    hone_image_destroy(&second);
    hone_chain_destroy(&chain);
    return status;
}

int main(int argc, char **argv)
{
    hone_error error = {0};
    hone_device *device = NULL;
    const hone_device_request request = {.profile = true};
    if (argc < 6)
        return fprintf(stderr, "usage: fused WIDTH HEIGHT TYPE ROUNDS CHAIN...\n"), 2;
    hone_image_desc in = {.width = (uint32_t)atoi(argv[1]), .height = (uint32_t)atoi(argv[2]), .channels = 1};
    if (hone_type_parse(&in.type, argv[3], &error) || hone_device_open(&device, &request, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    printf("# %s, %ux%u %s\n", hone_device_get_info(device)->name, in.width, in.height, argv[3]);
    for (int i = 5; i < argc; i++)
        if (compare(device, argv[i], &in, atoi(argv[4]), &error))
            printf("        -         -     - | %s | %s\n", error.message, argv[i]);
    hone_device_close(&device);
    return 0;
}
