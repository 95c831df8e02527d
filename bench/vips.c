/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times libvips at the same work, on images of random pixels in memory, with two threads: vips CASE WIDTH
 * HEIGHT ROUNDS prints "# what was called", the least milliseconds of so many rounds, then for each further
 * line of standard input (a number of rounds) again.
 */
#include <vips/vips.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static VipsImage *ones, *mask;

static int box(VipsImage *in, VipsImage **out)
{
    return vips_convsep(in, out, ones, "precision", VIPS_PRECISION_INTEGER, NULL);
}

static int convolve(VipsImage *in, VipsImage **out)
{
    return vips_conv(in, out, mask, "precision", VIPS_PRECISION_INTEGER, NULL);
}

static int sobel(VipsImage *in, VipsImage **out)
{
    return vips_sobel(in, out, NULL);
}

static int gauss2(VipsImage *in, VipsImage **out)
{
    return vips_gaussblur(in, out, 2.0, NULL);
}

static int gauss10(VipsImage *in, VipsImage **out)
{
    return vips_gaussblur(in, out, 10.0, NULL);
}

static int gauss30(VipsImage *in, VipsImage **out)
{
    return vips_gaussblur(in, out, 30.0, NULL);
}

static int transpose(VipsImage *in, VipsImage **out)
{
    VipsImage *turned = NULL;
    int status = vips_rot90(in, &turned, NULL) || vips_flip(turned, out, VIPS_DIRECTION_HORIZONTAL, NULL);
    if (turned)
        g_object_unref(turned);
    return status;
}

static int add(VipsImage *in, VipsImage **out)
{
    return vips_add(in, in, out, NULL);
}

static int histogram(VipsImage *in, VipsImage **out)
{
    return vips_hist_find(in, out, NULL);
}

static const struct {
    const char *name;
    int (*work)(VipsImage *in, VipsImage **out);
    int side;
    const char *note;
} cases[] = {{"box8", box, 8, "vips_convsep with ones"},
             {"sobel", sobel, 0, "vips_sobel"},
             {"convolve5", convolve, 5, "vips_conv with integers"},
             {"convolve7", convolve, 7, "vips_conv with integers"},
             {"convolve15", convolve, 15, "vips_conv with integers"},
             {"gauss2", gauss2, 0, "vips_gaussblur: a mask of integers, cut off at 0.2"},
             {"gauss10", gauss10, 0, "vips_gaussblur: a mask of integers, cut off at 0.2"},
             {"gauss30", gauss30, 0, "vips_gaussblur: a mask of integers, cut off at 0.2"},
             {"gauss10_f32", gauss10, 0, "vips_gaussblur: a mask of integers, cut off at 0.2"},
             {"transpose", transpose, 0, "vips_rot90 and vips_flip"},
             {"transpose_f32", transpose, 0, "vips_rot90 and vips_flip"},
             {"add", add, 0, "vips_add of an image and itself"},
             {"histogram", histogram, 0, "vips_hist_find"}};

static void fail(const char *what)
{
    fprintf(stderr, "vips: %s: %s\n", what, vips_error_buffer());
    exit(1);
}

static void make_masks(int side)
{
    ones = vips_image_new_matrix(side, 1);
    mask = vips_image_new_matrix(side, side);
    for (int i = 0; i < side; i++)
        *VIPS_MATRIX(ones, i, 0) = 1;
    for (int i = 0; i < side * side; i++)
        *VIPS_MATRIX(mask, i % side, i / side) = i * 37 % 19 - 9;
    vips_image_set_double(ones, "scale", side);
    vips_image_set_double(mask, "scale", 256);
}

static double once(VipsImage *in, int (*work)(VipsImage *in, VipsImage **out))
{
    VipsImage *out = NULL;
    size_t size = 0;
    const gint64 start = g_get_monotonic_time();
    if (work(in, &out))
        fail("the work");
    void *pixels = vips_image_write_to_memory(out, &size);
    if (!pixels)
        fail("the result");
    const double ms = (double)(g_get_monotonic_time() - start) * 1e-3;
    g_free(pixels);
    g_object_unref(out);
    return ms;
}

static void measure(VipsImage *in, int (*work)(VipsImage *in, VipsImage **out), int rounds)
{
    double least = 1e300;
    for (int i = 0; i < rounds; i++) {
        const double ms = once(in, work);
        least = ms < least ? ms : least;
    }
    printf("%.4f\n", least);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    size_t at = 0;
    int rounds;
    if (argc != 5 || VIPS_INIT(argv[0]))
        return 2;
    while (at < G_N_ELEMENTS(cases) && strcmp(cases[at].name, argv[1]) != 0)
        at++;
    if (at == G_N_ELEMENTS(cases)) {
        fprintf(stderr, "vips has nothing like %s\n", argv[1]);
        return 1;
    }
    const int width = atoi(argv[2]), height = atoi(argv[3]),
              is_float = strcmp(argv[1], "add") == 0 || strstr(argv[1], "_f32");
    const size_t count = (size_t)width * (size_t)height, size = count * (is_float ? sizeof(float) : 1);
    unsigned char *pixels = g_malloc(size);
    for (size_t i = 0; i < count; i++)
        if (is_float)
            ((float *)(void *)pixels)[i] = (float)(rand() & 255);
        else
            pixels[i] = (unsigned char)(rand() & 255);
    VipsImage *in = vips_image_new_from_memory(pixels, size, width, height, 1,
                                               is_float ? VIPS_FORMAT_FLOAT : VIPS_FORMAT_UCHAR);
    vips_concurrency_set(2);
    vips_cache_set_max(0); /* results are made again */
    make_masks(cases[at].side ? cases[at].side : 1);
    printf("# %s\n", cases[at].note);
    measure(in, cases[at].work, atoi(argv[4]));
    while (scanf("%d", &rounds) == 1)
        measure(in, cases[at].work, rounds);
    return 0;
}
