/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times NVIDIA's NPP at the same work, on images of random bytes in device memory.
 *
 *   npp CASE WIDTH HEIGHT ROUNDS
 *
 * prints "# what was called", the least milliseconds of so many rounds, then for each further line of
 * standard input (a number of rounds) again. A round is a few calls one after the other, so that what a
 * launch costs the host hides behind the call before. Where NPP has two ways to the same result, both are
 * tried and the faster one is measured.
 */
#include <cuda_runtime.h>
#include <npp.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 4, WARM_UP = 3, BINS = 256, MOST_SIDE = 15, MOST_TAPS = 181, MOST_WAYS = 2 };

struct plane {
    void *pixels;
    int step;
};

struct job {
    NppStreamContext context;
    cudaEvent_t before, after;
    int width, height;
    NppiSize size;
    struct plane in, second, between, out;
    int side, taps;
    Npp32s *int_weights;
    Npp32f *weights;
    Npp32s *bins;
    Npp8u *palette, *scratch;
};

typedef NppStatus (*way_function)(const struct job *job);

static void fail(const char *what, int code)
{
    fprintf(stderr, "npp: %s gives %d\n", what, code);
    exit(1);
}

static void check(cudaError_t code, const char *call)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "npp: %s: %s\n", call, cudaGetErrorString(code));
    exit(1);
}

static void check_npp(NppStatus status, const char *call)
{
    if (status != NPP_SUCCESS)
        fail(call, (int)status);
}

/* The ways */

static const NppiPoint origin = {0, 0};

static NppStatus box8(const struct job *j)
{
    const NppiSize window = {8, 8};
    const NppiPoint anchor = {4, 4};
    return nppiFilterBoxBorder_8u_C1R_Ctx(j->in.pixels, j->in.step, j->size, origin, j->out.pixels,
                                          j->out.step, j->size, window, anchor, NPP_BORDER_REPLICATE,
                                          j->context);
}

static NppStatus sobel(const struct job *j)
{
    return nppiGradientVectorSobelBorder_8u16s_C1R_Ctx(
        j->in.pixels, j->in.step, j->size, origin, NULL, 0, NULL, 0, j->out.pixels, j->out.step, NULL, 0,
        j->size, NPP_MASK_SIZE_3_X_3, nppiNormL1, NPP_BORDER_REPLICATE, j->context);
}

static NppStatus convolve_int(const struct job *j)
{
    const NppiSize window = {j->side, j->side};
    const NppiPoint anchor = {j->side / 2, j->side / 2};
    return nppiFilterBorder_8u_C1R_Ctx(j->in.pixels, j->in.step, j->size, origin, j->out.pixels, j->out.step,
                                       j->size, j->int_weights, window, anchor, 256, NPP_BORDER_REPLICATE,
                                       j->context);
}

static NppStatus convolve_float(const struct job *j)
{
    const NppiSize window = {j->side, j->side};
    const NppiPoint anchor = {j->side / 2, j->side / 2};
    return nppiFilterBorder32f_8u_C1R_Ctx(j->in.pixels, j->in.step, j->size, origin, j->out.pixels,
                                          j->out.step, j->size, j->weights, window, anchor,
                                          NPP_BORDER_REPLICATE, j->context);
}

static NppStatus gauss(const struct job *j)
{
    return nppiFilterGaussAdvancedBorder_8u_C1R_Ctx(j->in.pixels, j->in.step, j->size, origin, j->out.pixels,
                                                    j->out.step, j->size, j->taps, j->weights,
                                                    NPP_BORDER_REPLICATE, j->context);
}

static NppStatus gauss_passes(const struct job *j)
{
    NppStatus status = nppiFilterRowBorder32f_8u_C1R_Ctx(
        j->in.pixels, j->in.step, j->size, origin, j->between.pixels, j->between.step, j->size, j->weights,
        j->taps, j->taps / 2, NPP_BORDER_REPLICATE, j->context);
    return status != NPP_SUCCESS
               ? status
               : nppiFilterColumnBorder32f_8u_C1R_Ctx(j->between.pixels, j->between.step, j->size, origin,
                                                      j->out.pixels, j->out.step, j->size, j->weights,
                                                      j->taps, j->taps / 2, NPP_BORDER_REPLICATE, j->context);
}

static NppStatus gauss_f32(const struct job *j)
{
    return nppiFilterGaussAdvancedBorder_32f_C1R_Ctx(j->in.pixels, j->in.step, j->size, origin, j->out.pixels,
                                                     j->out.step, j->size, j->taps, j->weights,
                                                     NPP_BORDER_REPLICATE, j->context);
}

static NppStatus gauss_f32_passes(const struct job *j)
{
    NppStatus status = nppiFilterRowBorder_32f_C1R_Ctx(
        j->in.pixels, j->in.step, j->size, origin, j->between.pixels, j->between.step, j->size, j->weights,
        j->taps, j->taps / 2, NPP_BORDER_REPLICATE, j->context);
    return status != NPP_SUCCESS
               ? status
               : nppiFilterColumnBorder_32f_C1R_Ctx(j->between.pixels, j->between.step, j->size, origin,
                                                    j->out.pixels, j->out.step, j->size, j->weights, j->taps,
                                                    j->taps / 2, NPP_BORDER_REPLICATE, j->context);
}

static NppStatus integral(const struct job *j)
{
    return nppiIntegral_8u32s_C1R_Ctx(j->in.pixels, j->in.step, j->out.pixels, j->out.step, j->size, 0,
                                      j->context);
}

static NppStatus transpose(const struct job *j)
{
    return nppiTranspose_8u_C1R_Ctx(j->in.pixels, j->in.step, j->out.pixels, j->out.step, j->size,
                                    j->context);
}

static NppStatus transpose_f32(const struct job *j)
{
    return nppiTranspose_32f_C1R_Ctx(j->in.pixels, j->in.step, j->out.pixels, j->out.step, j->size,
                                     j->context);
}

static NppStatus add(const struct job *j)
{
    return nppiAdd_32f_C1R_Ctx(j->in.pixels, j->in.step, j->second.pixels, j->second.step, j->out.pixels,
                               j->out.step, j->size, j->context);
}

static NppStatus histogram(const struct job *j)
{
    return nppiHistogramEven_8u_C1R_Ctx(j->in.pixels, j->in.step, j->size, j->bins, BINS + 1, 0, BINS,
                                        j->scratch, j->context);
}

static NppStatus colormap(const struct job *j)
{
    return nppiLUTPalette_8u24u_C1R_Ctx(j->in.pixels, j->in.step, j->out.pixels, j->out.step, j->size,
                                        j->palette, 8, j->context);
}

static NppStatus demosaic(const struct job *j)
{
    const NppiRect whole = {0, 0, j->width, j->height};
    return nppiCFAToRGB_8u_C1C3R_Ctx(j->in.pixels, j->in.step, j->size, whole, j->out.pixels, j->out.step,
                                     NPPI_BAYER_RGGB, NPPI_INTER_UNDEFINED, j->context);
}

/* What each case takes. Bytes are those of a pixel; `side` of a window; the radius of a Gaussian is three of
 * its sigmas for bytes and four for floats, as OpenCV has it. */
#define ADVANCED  "FilterGaussAdvancedBorder"
#define PASSES    "FilterRowBorder and FilterColumnBorder"
#define PASSES_8U PASSES " with 8 bits in between"

static const struct test {
    const char *name;
    size_t in_bytes, out_bytes;
    int side, radius;
    double sigma;
    struct {
        way_function run;
        const char *note;
    } ways[MOST_WAYS];
} tests[] = {
    {"box8", 1, 1, 0, 0, 0, {{box8, "FilterBoxBorder"}}},
    {"sobel", 1, 2, 0, 0, 0, {{sobel, "GradientVectorSobelBorder: sums of 16 bits, not limited to 255"}}},
    {"convolve5", 1, 1, 5, 0, 0, {{convolve_int, "FilterBorder"}, {convolve_float, "FilterBorder32f"}}},
    {"convolve7", 1, 1, 7, 0, 0, {{convolve_int, "FilterBorder"}, {convolve_float, "FilterBorder32f"}}},
    {"convolve15", 1, 1, 15, 0, 0, {{convolve_int, "FilterBorder"}, {convolve_float, "FilterBorder32f"}}},
    {"gauss2", 1, 1, 0, 6, 2, {{gauss, ADVANCED}, {gauss_passes, PASSES_8U}}},
    {"gauss10", 1, 1, 0, 30, 10, {{gauss, ADVANCED}, {gauss_passes, PASSES_8U}}},
    {"gauss30", 1, 1, 0, 90, 30, {{gauss, ADVANCED}, {gauss_passes, PASSES_8U}}},
    {"gauss10_f32", 4, 4, 0, 40, 10, {{gauss_f32, ADVANCED}, {gauss_f32_passes, PASSES}}},
    {"integral", 1, 4, 0, 0, 0, {{integral, "Integral: a row and a column more, sums of 32 bits"}}},
    {"transpose", 1, 1, 0, 0, 0, {{transpose, "Transpose"}}},
    {"transpose_f32", 4, 4, 0, 0, 0, {{transpose_f32, "Transpose"}}},
    {"add", 4, 4, 0, 0, 0, {{add, "Add"}}},
    {"histogram", 1, 1, 0, 0, 0, {{histogram, "HistogramEven"}}},
    {"colormap", 1, 3, 0, 0, 0, {{colormap, "LUTPalette of 24 bits"}}},
    {"demosaic", 1, 3, 0, 0, 0, {{demosaic, "CFAToRGB"}}},
};

static const struct test *find_test(const char *name)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(tests[i].name, name) == 0)
            return &tests[i];
    return NULL;
}

/* Memory */

static void *device_copy(const void *content, size_t bytes)
{
    void *memory = NULL;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    check(cudaMemcpy(memory, content, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

static struct plane new_plane(size_t row_bytes, size_t rows)
{
    struct plane plane = {NULL, 0};
    size_t pitch = 0;
    check(cudaMallocPitch(&plane.pixels, &pitch, row_bytes, rows), "cudaMallocPitch");
    plane.step = (int)pitch;
    check(cudaMemset2D(plane.pixels, pitch, 0, row_bytes, rows), "cudaMemset2D");
    return plane;
}

static void fill(void *pixels, size_t count, size_t pixel_bytes, unsigned state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        if (pixel_bytes == 4)
            ((float *)pixels)[i] = (float)(state >> 8) * 0x1p-24f;
        else
            ((unsigned char *)pixels)[i] = (unsigned char)(state >> 24);
    }
}

static struct plane random_plane(const struct job *j, size_t pixel_bytes, unsigned seed)
{
    size_t row = (size_t)j->width * pixel_bytes, rows = (size_t)j->height;
    struct plane plane = new_plane(row, rows);
    void *pixels = malloc(row * rows);
    if (!pixels)
        fail("malloc", 0);
    fill(pixels, (size_t)j->width * rows, pixel_bytes, seed);
    check(cudaMemcpy2D(plane.pixels, (size_t)plane.step, pixels, row, row, rows, cudaMemcpyHostToDevice),
          "cudaMemcpy2D");
    free(pixels);
    return plane;
}

/* The weights of the other peers, in both of NPP's types. */
static void make_window(struct job *j, int side)
{
    Npp32s whole[MOST_SIDE * MOST_SIDE];
    Npp32f real[MOST_SIDE * MOST_SIDE];
    int count = side * side;
    for (int i = 0; i < count; i++) { /* NPP wants them from the last to the first */
        whole[count - 1 - i] = i * 37 % 19 - 9;
        real[count - 1 - i] = (float)(i * 37 % 19 - 9) / 256;
    }
    j->side = side;
    j->int_weights = device_copy(whole, (size_t)count * sizeof *whole);
    j->weights = device_copy(real, (size_t)count * sizeof *real);
}

static void make_gaussian(struct job *j, int radius, double sigma)
{
    Npp32f taps[MOST_TAPS];
    double total = 0;
    for (int i = -radius; i <= radius; i++)
        total += exp(-0.5 * i * i / (sigma * sigma));
    for (int i = -radius; i <= radius; i++)
        taps[i + radius] = (float)(exp(-0.5 * i * i / (sigma * sigma)) / total);
    j->taps = 2 * radius + 1;
    j->weights = device_copy(taps, (size_t)j->taps * sizeof *taps);
}

/* Sums over all of an image, hence the memory that NPP asks for. */
static void make_bins(struct job *j)
{
    size_t bytes = 0;
    check_npp(nppiHistogramEvenGetBufferSize_8u_C1R_Ctx(j->size, BINS + 1, &bytes, j->context),
              "nppiHistogramEvenGetBufferSize");
    check(cudaMalloc((void **)&j->scratch, bytes), "cudaMalloc");
    check(cudaMalloc((void **)&j->bins, BINS * sizeof *j->bins), "cudaMalloc");
}

static void make_palette(struct job *j)
{
    Npp8u colours[BINS][3];
    for (int i = 0; i < BINS; i++) {
        colours[i][0] = (Npp8u)i;
        colours[i][1] = (Npp8u)(255 - i);
        colours[i][2] = (Npp8u)(i ^ 85);
    }
    j->palette = device_copy(colours, sizeof colours);
}

static void make_images(struct job *j, const struct test *test)
{
    /* Room for turned images, and for the row and the column that an integral image has more. */
    size_t longest = (size_t)(j->width > j->height ? j->width : j->height) + 1;
    int turned = strncmp(test->name, "transpose", 9) == 0;
    j->in = random_plane(j, test->in_bytes, 1);
    j->second = random_plane(j, test->in_bytes, 2);
    j->between = new_plane((size_t)j->width * test->in_bytes, (size_t)j->height);
    j->out = turned ? new_plane((size_t)j->height * test->out_bytes, (size_t)j->width)
                    : new_plane(((size_t)j->width + 1) * test->out_bytes, longest);
}

static void prepare(struct job *j, const struct test *test)
{
    make_images(j, test);
    make_bins(j);
    make_palette(j);
    if (test->side)
        make_window(j, test->side);
    if (test->radius)
        make_gaussian(j, test->radius, test->sigma);
}

/* The device */

static int attribute(enum cudaDeviceAttr which, int device)
{
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

static void open_device(struct job *j)
{
    NppStreamContext *c = &j->context;
    check(cudaGetDevice(&c->nCudaDeviceId), "cudaGetDevice");
    check(cudaStreamCreateWithFlags(&c->hStream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaStreamGetFlags(c->hStream, &c->nStreamFlags), "cudaStreamGetFlags");
    c->nMultiProcessorCount = attribute(cudaDevAttrMultiProcessorCount, c->nCudaDeviceId);
    c->nMaxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, c->nCudaDeviceId);
    c->nMaxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock, c->nCudaDeviceId);
    c->nSharedMemPerBlock = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlock, c->nCudaDeviceId);
    c->nCudaDevAttrComputeCapabilityMajor = attribute(cudaDevAttrComputeCapabilityMajor, c->nCudaDeviceId);
    c->nCudaDevAttrComputeCapabilityMinor = attribute(cudaDevAttrComputeCapabilityMinor, c->nCudaDeviceId);
    check(cudaEventCreate(&j->before), "cudaEventCreate");
    check(cudaEventCreate(&j->after), "cudaEventCreate");
}

static void close_device(struct job *j)
{
    void *memory[] = {j->in.pixels, j->second.pixels, j->between.pixels, j->out.pixels, j->int_weights,
                      j->weights,   j->bins,          j->palette,        j->scratch};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        check(cudaFree(memory[i]), "cudaFree");
    check(cudaEventDestroy(j->before), "cudaEventDestroy");
    check(cudaEventDestroy(j->after), "cudaEventDestroy");
    check(cudaStreamDestroy(j->context.hStream), "cudaStreamDestroy");
}

/* Time */

static double one(const struct job *j, way_function run, NppStatus *status)
{
    float ms = 0;
    check(cudaEventRecord(j->before, j->context.hStream), "cudaEventRecord");
    for (int i = 0; i < CALLS && *status == NPP_SUCCESS; i++)
        *status = run(j);
    check(cudaEventRecord(j->after, j->context.hStream), "cudaEventRecord");
    check(cudaEventSynchronize(j->after), "cudaEventSynchronize");
    check(cudaEventElapsedTime(&ms, j->before, j->after), "cudaEventElapsedTime");
    return ms / CALLS;
}

static double least_of(const struct job *j, way_function run, int rounds, NppStatus *status)
{
    double least = 1e9;
    for (int i = 0; i < rounds && *status == NPP_SUCCESS; i++) {
        double ms = one(j, run, status);
        least = ms < least ? ms : least;
    }
    return least;
}

/* The number of the faster way that works. */
static int choose(const struct job *j, const struct test *test)
{
    double least = 1e9;
    int best = -1;
    for (int i = 0; i < MOST_WAYS && test->ways[i].run; i++) {
        NppStatus status = NPP_SUCCESS;
        least_of(j, test->ways[i].run, 1, &status); /* loads the kernels */
        double ms = least_of(j, test->ways[i].run, WARM_UP, &status);
        if (status != NPP_SUCCESS)
            fprintf(stderr, "npp: %s gives %d\n", test->ways[i].note, (int)status);
        else if (ms < least)
            best = i, least = ms;
    }
    return best;
}

static void measure(const struct job *j, way_function run, int rounds)
{
    NppStatus status = NPP_SUCCESS;
    double ms = least_of(j, run, rounds, &status);
    check_npp(status, "the call");
    printf("%.6f\n", ms);
    fflush(stdout);
}

/* Each pixel is in one bin. */
static int all_counted(const struct job *j)
{
    Npp32s bins[BINS];
    long long sum = 0;
    check(cudaMemcpy(bins, j->bins, sizeof bins, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int i = 0; i < BINS; i++)
        sum += bins[i];
    return sum == (long long)j->width * j->height;
}

/* Some of a row in the middle, which was 0 before, is no longer. */
static int something_written(const struct job *j)
{
    unsigned char pixels[64] = {0};
    int middle = (j->width < j->height ? j->width : j->height) / 2;
    size_t count = (size_t)middle < sizeof pixels ? (size_t)middle : sizeof pixels;
    check(cudaMemcpy(pixels, (char *)j->out.pixels + (size_t)middle * (size_t)j->out.step, count,
                     cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    for (size_t i = 0; i < count; i++)
        if (pixels[i])
            return 1;
    return 0;
}

/* A call that does nothing would be fast indeed. */
static void verify(const struct job *j, const struct test *test)
{
    if (test->ways[0].run == histogram ? all_counted(j) : something_written(j))
        return;
    fprintf(stderr, "npp: %s did not do its work\n", test->name);
    exit(1);
}

static void introduce(const struct job *j, const char *note)
{
    if (j->taps)
        printf("# %s, %d taps\n", note, j->taps);
    else
        printf("# %s\n", note);
}

int main(int argc, char **argv)
{
    if (argc != 5 || atoi(argv[2]) < 1 || atoi(argv[3]) < 1 || atoi(argv[4]) < 1)
        return fprintf(stderr, "usage: npp CASE WIDTH HEIGHT ROUNDS\n"), 2;
    const struct test *test = find_test(argv[1]);
    if (!test)
        return fprintf(stderr, "NPP has nothing like %s\n", argv[1]), 1;
    struct job j = {.width = atoi(argv[2]), .height = atoi(argv[3])};
    j.size = (NppiSize){j.width, j.height};
    open_device(&j);
    prepare(&j, test);
    int way = choose(&j, test), rounds = atoi(argv[4]);
    if (way < 0)
        return 1;
    verify(&j, test);
    introduce(&j, test->ways[way].note);
    measure(&j, test->ways[way].run, rounds);
    while (scanf("%d", &rounds) == 1 && rounds > 0)
        measure(&j, test->ways[way].run, rounds);
    close_device(&j);
    return 0;
}
