/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a user writes in an afternoon: plain loops over rows, two threads, gcc -O3 -march=native. One of the
 * peers that bench/run compares hone with; right up to the edges' rows and columns, which it leaves out where
 * that makes loops simpler.
 *
 *   plain CASE WIDTH HEIGHT ROUNDS    prints the least milliseconds of so many rounds, then for each further
 * line of standard input (a number of rounds) again
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2 };

static int width, height;
static uint8_t *source, *other, *result;
static uint16_t *wide;
static uint32_t *sums;
static float *f_source, *f_other, *f_result;
static float weights[128];
static int16_t int_weights[961];
static int radius;
static uint8_t palette[256][3];

typedef void (*band_function)(int from, int to);

struct band {
    band_function work;
    int from, to;
};

static void *run_band(void *argument)
{
    const struct band *band = argument;
    band->work(band->from, band->to);
    return NULL;
}

static void in_bands(band_function work, int from, int to)
{
    pthread_t threads[THREADS];
    struct band bands[THREADS];
    for (int i = 0; i < THREADS; i++) {
        bands[i] =
            (struct band){work, from + (to - from) * i / THREADS, from + (to - from) * (i + 1) / THREADS};
        if (i > 0)
            pthread_create(&threads[i], NULL, run_band, &bands[i]);
    }
    run_band(&bands[0]);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* Column sums that are kept from row to row, then sums of eight neighbours. */
static void box8(int from, int to)
{
    uint16_t *columns = calloc((size_t)width + 8, sizeof *columns);
    for (int j = -4; j < 4; j++)
        for (int x = 0; x < width; x++)
            columns[x] += source[(from + j) * width + x];
    for (int y = from; y < to; y++) {
        uint8_t *out = result + y * width;
        for (int x = 4; x < width - 4; x++) {
            unsigned sum = 32;
            for (int i = -4; i < 4; i++)
                sum += columns[x + i];
            out[x] = (uint8_t)(sum >> 6);
        }
        const uint8_t *enter = source + (y + 4) * width, *leave = source + (y - 4) * width;
        for (int x = 0; x < width; x++)
            columns[x] = (uint16_t)(columns[x] + enter[x] - leave[x]);
    }
    free(columns);
}

static void sobel_l1(int from, int to)
{
    for (int y = from; y < to; y++) {
        const uint8_t *a = source + (y - 1) * width, *b = a + width, *c = b + width;
        uint8_t *out = result + y * width;
        for (int x = 1; x < width - 1; x++) {
            int dx = (a[x + 1] - a[x - 1]) + 2 * (b[x + 1] - b[x - 1]) + (c[x + 1] - c[x - 1]);
            int dy = (c[x - 1] - a[x - 1]) + 2 * (c[x] - a[x]) + (c[x + 1] - a[x + 1]);
            int sum = abs(dx) + abs(dy);
            out[x] = (uint8_t)(sum < 255 ? sum : 255);
        }
    }
}

static void epsilon9(int from, int to)
{
    uint16_t *sum = malloc((size_t)width * sizeof *sum), *count = malloc((size_t)width * sizeof *count);
    for (int y = from; y < to; y++) {
        const uint8_t *centre = source + y * width;
        memset(sum, 0, (size_t)width * sizeof *sum);
        memset(count, 0, (size_t)width * sizeof *count);
        for (int j = -4; j <= 4; j++)
            for (int i = -4; i <= 4; i++) {
                const uint8_t *n = source + (y + j) * width + i;
                for (int x = 4; x < width - 4; x++) {
                    int near = abs(n[x] - centre[x]) <= 16;
                    sum[x] = (uint16_t)(sum[x] + (near ? n[x] : 0));
                    count[x] = (uint16_t)(count[x] + near);
                }
            }
        for (int x = 4; x < width - 4; x++)
            result[y * width + x] = (uint8_t)((2 * sum[x] + count[x]) / (2 * count[x]));
    }
    free(sum);
    free(count);
}

/* Integer weights over 256, row by row into an accumulator. */
static void convolve(int from, int to)
{
    int side = 2 * radius + 1;
    int32_t *sum = malloc((size_t)width * sizeof *sum);
    for (int y = from; y < to; y++) {
        for (int x = 0; x < width; x++)
            sum[x] = 128;
        for (int j = 0; j < side; j++)
            for (int i = 0; i < side; i++) {
                const uint8_t *n = source + (y + j - radius) * width + i - radius;
                int w = int_weights[j * side + i];
                for (int x = radius; x < width - radius; x++)
                    sum[x] += w * n[x];
            }
        for (int x = radius; x < width - radius; x++) {
            int v = sum[x] >> 8;
            result[y * width + x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
    }
    free(sum);
}

static void gauss_rows(int from, int to)
{
    for (int y = from; y < to; y++)
        for (int x = radius; x < width - radius; x++) {
            float sum = 0;
            for (int i = -radius; i <= radius; i++)
                sum += weights[abs(i)] * source[y * width + x + i];
            f_other[y * width + x] = sum;
        }
}

static void gauss_columns(int from, int to)
{
    for (int y = from; y < to; y++) {
        float *sum = f_result + y * width;
        memset(sum, 0, (size_t)width * sizeof *sum);
        for (int j = -radius; j <= radius; j++) {
            const float *n = f_other + (y + j) * width;
            for (int x = 0; x < width; x++)
                sum[x] += weights[abs(j)] * n[x];
        }
        for (int x = 0; x < width; x++)
            result[y * width + x] = (uint8_t)(sum[x] + 0.5f);
    }
}

static void gauss_rows_f32(int from, int to)
{
    for (int y = from; y < to; y++)
        for (int x = radius; x < width - radius; x++) {
            float sum = 0;
            for (int i = -radius; i <= radius; i++)
                sum += weights[abs(i)] * f_source[y * width + x + i];
            f_other[y * width + x] = sum;
        }
}

static void gauss_columns_f32(int from, int to)
{
    for (int y = from; y < to; y++) {
        float *sum = f_result + y * width;
        memset(sum, 0, (size_t)width * sizeof *sum);
        for (int j = -radius; j <= radius; j++) {
            const float *n = f_other + (y + j) * width;
            for (int x = 0; x < width; x++)
                sum[x] += weights[abs(j)] * n[x];
        }
    }
}

static void integral_rows(int from, int to)
{
    for (int y = from; y < to; y++) {
        uint32_t sum = 0;
        for (int x = 0; x < width; x++)
            sums[y * width + x] = sum += source[y * width + x];
    }
}

static void integral_columns(int from, int to) /* here from and to are columns */
{
    for (int y = 1; y < height; y++)
        for (int x = from; x < to; x++)
            sums[y * width + x] += sums[(y - 1) * width + x];
}

static void density31(int from, int to)
{
    uint32_t *columns = calloc((size_t)width, sizeof *columns);
    for (int j = -15; j <= 15; j++)
        for (int x = 0; x < width; x++)
            columns[x] += source[(from + j) * width + x];
    for (int y = from; y < to; y++) {
        uint32_t sum = 0;
        for (int x = 0; x < 31; x++)
            sum += columns[x];
        for (int x = 15; x < width - 16; x++) {
            wide[y * width + x] = (uint16_t)(sum >= 1 ? sum : 0);
            sum += columns[x + 16] - columns[x - 15];
        }
        for (int x = 0; x < width; x++)
            columns[x] += source[(y + 16) * width + x] - source[(y - 15) * width + x];
    }
    free(columns);
}

/* Where 100 or more of the pixels around are not 0. */
static void density31_marks(int from, int to)
{
    uint32_t *columns = calloc((size_t)width, sizeof *columns);
    for (int j = -15; j <= 15; j++)
        for (int x = 0; x < width; x++)
            columns[x] += source[(from + j) * width + x] != 0;
    for (int y = from; y < to; y++) {
        uint32_t sum = 0;
        for (int x = 0; x < 31; x++)
            sum += columns[x];
        for (int x = 15; x < width - 16; x++) {
            result[y * width + x] = (uint8_t)(sum >= 100 ? 255 : 0);
            sum += columns[x + 16] - columns[x - 15];
        }
        const uint8_t *enter = source + (y + 16) * width, *leave = source + (y - 15) * width;
        for (int x = 0; x < width; x++)
            columns[x] += (uint32_t)(enter[x] != 0) - (uint32_t)(leave[x] != 0);
    }
    free(columns);
}

/* A table per thread, added up under a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void histogram(int from, int to)
{
    uint32_t own[256] = {0};
    for (int i = from * width; i < to * width; i++)
        own[source[i]]++;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 256; i++)
        sums[i] += own[i];
    pthread_mutex_unlock(&lock);
}

static void transpose_u8(int from, int to)
{
    enum { TILE = 32 };
    for (int y0 = from; y0 < to; y0 += TILE)
        for (int x0 = 0; x0 < width; x0 += TILE)
            for (int x = x0; x < x0 + TILE && x < width; x++)
                for (int y = y0; y < y0 + TILE && y < to; y++)
                    result[x * height + y] = source[y * width + x];
}

static void transpose_f32(int from, int to)
{
    enum { TILE = 16 };
    for (int y0 = from; y0 < to; y0 += TILE)
        for (int x0 = 0; x0 < width; x0 += TILE)
            for (int x = x0; x < x0 + TILE && x < width; x++)
                for (int y = y0; y < y0 + TILE && y < to; y++)
                    f_result[x * height + y] = f_source[y * width + x];
}

static void add_f32(int from, int to)
{
    for (int i = from * width; i < to * width; i++)
        f_result[i] = f_source[i] + f_other[i];
}

/* Pairs of four-vectors: `width` of them a row. */
static void dot4(int from, int to)
{
    for (int i = from * width; i < to * width; i++)
        f_result[i] = f_source[4 * i] * f_other[4 * i] + f_source[4 * i + 1] * f_other[4 * i + 1] +
                      f_source[4 * i + 2] * f_other[4 * i + 2] + f_source[4 * i + 3] * f_other[4 * i + 3];
}

/* Three bytes of a table for each byte. */
static void colormap(int from, int to)
{
    uint8_t *out = (uint8_t *)f_result + 3 * from * width;
    for (int i = from * width; i < to * width; i++, out += 3)
        memcpy(out, palette[source[i]], 3);
}

static void set_color(uint8_t *out, int red, int green, int blue)
{
    out[0] = (uint8_t)red;
    out[1] = (uint8_t)green;
    out[2] = (uint8_t)blue;
}

/* Bilinear, red first: two rows of two kinds of pixels each; from and to are pairs of rows. */
static void demosaic(int from, int to)
{
    for (int y = 2 * from; y < 2 * to; y += 2) {
        const uint8_t *a = source + (y - 1) * width, *b = a + width, *c = b + width, *d = c + width;
        uint8_t *upper = (uint8_t *)f_result + 3 * y * width, *lower = upper + 3 * width;
        for (int x = 2; x < width - 2; x += 2) {
            int e = x + 1;
            set_color(upper + 3 * x, b[x], (a[x] + c[x] + b[x - 1] + b[e] + 2) >> 2,
                      (a[x - 1] + a[e] + c[x - 1] + c[e] + 2) >> 2);
            set_color(upper + 3 * e, (b[x] + b[x + 2] + 1) >> 1, b[e], (a[e] + c[e] + 1) >> 1);
            set_color(lower + 3 * x, (b[x] + d[x] + 1) >> 1, c[x], (c[x - 1] + c[e] + 1) >> 1);
            set_color(lower + 3 * e, (b[x] + b[x + 2] + d[x] + d[x + 2] + 2) >> 2,
                      (b[e] + d[e] + c[x] + c[x + 2] + 2) >> 2, c[e]);
        }
    }
}

static void run_box(void)
{
    in_bands(box8, 4, height - 4);
}
static void run_sobel(void)
{
    in_bands(sobel_l1, 1, height - 1);
}
static void run_epsilon(void)
{
    in_bands(epsilon9, 4, height - 4);
}
static void run_convolve(void)
{
    in_bands(convolve, radius, height - radius);
}
static void run_transpose(void)
{
    in_bands(transpose_u8, 0, height);
}
static void run_transpose_f32(void)
{
    in_bands(transpose_f32, 0, height);
}
static void run_density(void)
{
    in_bands(density31, 15, height - 16);
}
static void run_density_marks(void)
{
    in_bands(density31_marks, 15, height - 16);
}
static void run_histogram(void)
{
    memset(sums, 0, 256 * sizeof *sums);
    in_bands(histogram, 0, height);
}
static void run_add(void)
{
    in_bands(add_f32, 0, height);
}
static void run_dot(void)
{
    in_bands(dot4, 0, height);
}
static void run_colormap(void)
{
    in_bands(colormap, 0, height);
}
static void run_demosaic(void)
{
    in_bands(demosaic, 1, height / 2 - 1);
}
static void run_gauss(void)
{
    in_bands(gauss_rows, 0, height);
    in_bands(gauss_columns, radius, height - radius);
}
static void run_gauss_f32(void)
{
    in_bands(gauss_rows_f32, 0, height);
    in_bands(gauss_columns_f32, radius, height - radius);
}
static void run_integral(void)
{
    in_bands(integral_rows, 0, height);
    in_bands(integral_columns, 0, width);
}
static void run_copy(void)
{
    memcpy(result, source, (size_t)width * (size_t)height);
}

static const struct {
    const char *name;
    void (*run)(void);
    int radius;
    double sigma;
} cases[] = {{"box8", run_box, 4, 0},
             {"sobel", run_sobel, 1, 0},
             {"epsilon9", run_epsilon, 4, 0},
             {"convolve5", run_convolve, 2, 0},
             {"convolve7", run_convolve, 3, 0},
             {"convolve15", run_convolve, 7, 0},
             {"gauss2", run_gauss, 8, 2},
             {"gauss10", run_gauss, 40, 10},
             {"gauss30", run_gauss, 120, 30},
             {"gauss10_f32", run_gauss_f32, 40, 10},
             {"integral", run_integral, 0, 0},
             {"density31", run_density, 15, 0},
             {"density31_marks", run_density_marks, 15, 0},
             {"histogram", run_histogram, 0, 0},
             {"transpose", run_transpose, 0, 0},
             {"transpose_f32", run_transpose_f32, 0, 0},
             {"add", run_add, 0, 0},
             {"dot", run_dot, 0, 0},
             {"colormap", run_colormap, 0, 0},
             {"demosaic", run_demosaic, 0, 0},
             {"copy", run_copy, 0, 0}};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void fill(size_t pixels)
{
    uint32_t state = 1;
    for (size_t i = 0; i < pixels; i++) {
        state = state * 1664525u + 1013904223u;
        source[i] = (uint8_t)(state >> 24);
        other[i] = (uint8_t)(state >> 16);
    }
    for (int i = 0; i < 256; i++)
        set_color(palette[i], i, 255 - i, i ^ 85);
    for (size_t i = 0; i < pixels * 4; i++)
        f_source[i] = f_other[i] = (float)(i % 251) / 251.0f;
}

static void set_weights(int r, double sigma)
{
    double total = 0;
    radius = r;
    for (int i = 0; i < 961; i++)
        int_weights[i] = (int16_t)(i * 37 % 19 - 9);
    for (int i = -r; i <= r && sigma > 0; i++)
        total += exp(-0.5 * i * i / (sigma * sigma));
    for (int i = 0; i <= r && sigma > 0; i++)
        weights[i] = (float)(exp(-0.5 * i * i / (sigma * sigma)) / total);
}

static void measure(int number, int rounds)
{
    double least = 1e9;
    for (int i = 0; i < rounds; i++) {
        double start = now();
        cases[number].run();
        double ms = now() - start;
        least = ms < least ? ms : least;
    }
    printf("%.6f\n", least);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int number = -1, rounds = argc > 4 ? atoi(argv[4]) : 0;
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            number = (int)i;
    if (argc != 5 || number < 0 || rounds < 1)
        return fprintf(stderr, "usage: plain CASE WIDTH HEIGHT ROUNDS\n"), 2;
    width = atoi(argv[2]);
    height = atoi(argv[3]);
    size_t pixels = (size_t)width * (size_t)height;
    source = malloc(pixels);
    other = malloc(pixels);
    result = malloc(pixels);
    wide = malloc(pixels * 2);
    sums = malloc(pixels * 4);
    f_source = malloc(pixels * 16);
    f_other = malloc(pixels * 16);
    f_result = malloc(pixels * 16);
    if (!source || !other || !result || !wide || !sums || !f_source || !f_other || !f_result)
        return 1;
    fill(pixels);
    memset(result, 0, pixels);
    memset(wide, 0, pixels * 2);
    memset(f_result, 0, pixels * 4);
    set_weights(cases[number].radius, cases[number].sigma);
    measure(number, rounds);
    while (scanf("%d", &rounds) == 1 && rounds > 0)
        measure(number, rounds);
    return 0;
}
