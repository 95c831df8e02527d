/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/roofs/roofs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cache/programs.h"
#include "choose/roofs.h"
#include "cl/memory.h"
#include "cl/selftest.h"
#include "tune/measure/timing.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORMAT = 4,
    TRIES = 5,
    MOST_WARM_UPS = 1000,
    LEAST_BYTES = 64 << 20, /* of a buffer */
    GPU_BYTES = 512 << 20,  /* of a GPU's: drivers tell of its first caches, not of the large last one */
    CACHES = 4,             /* and so many times the cache, where that is more */
    MOST_HOST = 128 << 20,  /* of what goes between device and host */
    TEXELS_ACROSS = 2048,
    MATH_ITEMS = 1 << 16,
    MATH_GROUP = 256, /* a driver may choose thousands, whose private memory fills its stack */
    MATH_ROUNDS = 16, /* at first, and then as many as take a while */
    MATH_MOST = 4096,
    MATH_STEPS = 16, /* multiply-adds of each element in a round */
    LOCAL_ITEMS = 1 << 16,
    LOCAL_GROUP = 64,
    LOCAL_ROUNDS = 64,
    LOCAL_LOADS = 4, /* of 16 bytes, in a round */
    READ_LOADS = 16
};

static const double while_ms = 8, warm_ms = 150; /* until clocks have risen */

static const struct {
    const char *name, *unit;
} roofs_table[ROOF_COUNT] = {
    [ROOF_COPY_BUFFER] = {"copy by buffer", "B/s"},
    [ROOF_COPY_IMAGE] = {"copy by image", "B/s"},
    [ROOF_READ_BUFFER] = {"read by buffer", "B/s"},
    [ROOF_LOCAL] = {"read local memory", "B/s"},
    [ROOF_FLOAT] = {"arithmetic, float", "op/s"},
    [ROOF_MAD] = {"arithmetic, float by mad()", "op/s"},
    [ROOF_HALF] = {"arithmetic, half", "op/s"},
    [ROOF_INT] = {"arithmetic, int", "op/s"},
    [ROOF_BYTES] = {"arithmetic, packed bytes", "op/s"},
    [ROOF_LAUNCH] = {"launch", "s"},
    [ROOF_EMPTY] = {"empty kernel", "s"},
    [ROOF_UPLOAD] = {"transfer to the device", "B/s"},
    [ROOF_DOWNLOAD] = {"transfer to the host", "B/s"},
    [ROOF_MAP] = {"map and unmap", "B/s"},
};

const char *roof_name(enum roof roof)
{
    return roofs_table[roof].name;
}

const char *roof_unit(enum roof roof)
{
    return roofs_table[roof].unit;
}

/* ---- Kernels ---- */

static const char memory_source[] =
    "__kernel void copy(__global const float4 *in, __global float4 *out)\n"
    "{ size_t i = get_global_id(0); out[i] = in[i]; }\n"
    "__kernel void read(__global const float4 *in, __global float4 *out)\n"
    "{ size_t n = get_global_size(0), i = get_global_id(0); float4 sum = 0;\n"
    "  for (int k = 0; k < 16; k++) sum += in[i + k * n];\n"
    "  if (sum.x + sum.y + sum.z + sum.w == 1.5f) out[i] = sum; }\n"
    "__kernel void read_near(__global const float4 *in, __global float4 *out)\n"
    "{ size_t n = get_local_size(0), i = get_group_id(0) * n * 16 + get_local_id(0); float4 sum = 0;\n"
    "  for (int k = 0; k < 16; k++) sum += in[i + k * n];\n"
    "  if (sum.x + sum.y + sum.z + sum.w == 1.5f) out[get_global_id(0)] = sum; }\n"
    "__kernel void read_wide(__global const float16 *in, __global float4 *out)\n"
    "{ size_t n = get_local_size(0), i = get_group_id(0) * n * 16 + get_local_id(0); float16 sum = 0;\n"
    "  for (int k = 0; k < 16; k++) sum += in[i + k * n];\n"
    "  float8 two = sum.lo + sum.hi; float4 all = two.lo + two.hi;\n"
    "  if (all.x + all.y + all.z + all.w == 1.5f) out[get_global_id(0)] = all; }\n"
    "__kernel void nothing(__global float4 *out) { if (get_global_size(0) == 0) out[0] = 0; }\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1)))\n"
    "void near(__global float4 *out, int rounds)\n"
    "{ __local float4 kept[128]; int i = get_local_id(0); float4 a = 0, b = 0, c = 0, d = 0;\n"
    "  kept[i] = (float4)(i); kept[i + 64] = (float4)(-i);\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int k = 0; k < rounds; k++) { int at = i + (k & 15);\n"
    "    a += kept[at]; b += kept[at + 16]; c += kept[at + 32]; d += kept[at + 48]; }\n"
    "  out[get_global_id(0)] = a + b + c + d; }\n";

static const char image_source[] =
    "__kernel void copy(__read_only image2d_t in, __write_only image2d_t out, sampler_t nearest)\n"
    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  write_imagef(out, at, read_imagef(in, nearest, at)); }\n";

/* x and y follow from each other, so nothing is left out; WIDE elements of them go side by side. NVIDIA has
 * halves without defining their macro. */
static const char math_source[] =
    "#ifdef __has_warning\n#if __has_warning(\"-Wpsabi\")\n" /* clang's, of float16 without AVX-512 */
    "#pragma clang diagnostic ignored \"-Wpsabi\"\n#endif\n#endif\n"
    "#if HALVES\n#ifndef cl_khr_fp16\n#define cl_khr_fp16 1\n#endif\n"
    "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n"
    "#if MATH == 0\n#define STEP(a, b) mad(b, a, b)\n#elif MATH == 1\n#define STEP(a, b) (b * a + b)\n"
    "#else\n#define STEP(a, b) (abs_diff(a, b) + b)\n#endif\n"
    "#define FOUR x = STEP(x, y); y = STEP(y, x); x = STEP(x, y); y = STEP(y, x);\n"
    "__kernel void math(__global WIDE *out, int rounds, int seed)\n"
    "{ WIDE x = (WIDE)((ONE)seed), y = (WIDE)((ONE)get_local_id(0));\n"
    "  for (int k = 0; k < rounds; k++) { FOUR FOUR FOUR FOUR }\n"
    "  out[get_global_id(0)] = x + y; }\n";

struct math {
    enum roof roof;
    const char *one;
    int step; /* MATH */
    const char *widths[3];
};
static const struct math maths[] = {
    {ROOF_MAD, "float", 0, {"float", "float4", "float16"}},
    {ROOF_FLOAT, "float", 1, {"float", "float4", "float16"}},
    {ROOF_HALF, "half", 1, {"half", "half2", "half16"}},
    {ROOF_INT, "int", 1, {"int", "int4", "int16"}},
    {ROOF_BYTES, "uchar", 2, {"uchar4", "uchar16", NULL}},
};

/* ---- Measuring ---- */

struct lab {
    hone_device *device;
    struct timing_clock clock;
    size_t bytes; /* of each buffer */
    struct memory *from, *to;
    size_t host_bytes; /* of what the host has, and of a buffer beside it */
    struct memory *beside;
    void *host;
    struct roofs_list *roofs;
};

static size_t buffer_bytes(const hone_device_info *device)
{
    const uint64_t least = device->kind == HONE_DEVICE_GPU ? GPU_BYTES : LEAST_BYTES;
    uint64_t wanted = device->global_cache * CACHES;
    wanted = wanted > least ? wanted : least;
    wanted = wanted < device->global_memory / 16 ? wanted : device->global_memory / 16;
    wanted = wanted < device->max_allocation / 4 ? wanted : device->max_allocation / 4;
    const size_t row = TEXELS_ACROSS * 16;
    return (size_t)wanted / row * row;
}

/* Seconds of the fastest of several launches; the first ones may compile, and wake clocks up. Negative: it
 * failed. */
static double time_launches(struct lab *lab, struct kernel *kernel, const struct launch *launch, int tries)
{
    double best = -1;
    for (int i = 0; i < tries; i++) {
        hone_event *done = NULL;
        const uint64_t start = clock_ns();
        if (kernel_enqueue(kernel, launch, (struct wait_list){0}, &done, NULL) ||
            hone_device_finish(lab->device, NULL)) {
            hone_event_destroy(&done);
            return -1;
        }
        const double wall = (double)(clock_ns() - start) * 1e-6;
        const double seconds = timing_between(&lab->clock, done, done, wall) * 1e-3;
        if (best < 0 || seconds < best)
            best = seconds;
        hone_event_destroy(&done);
    }
    return best;
}

/* Builds a kernel and gives it the two memory objects that it begins with; NULL: it cannot be. */
static struct kernel *kernel_of(struct lab *lab, const char *text, const char *options, const char *name,
                                const struct memory *first, const struct memory *second)
{
    const struct program_unit unit = {"roofs", text, options};
    struct kernel *kernel = NULL;
    if (programs_kernel(&kernel, lab->device, &unit, name, NULL))
        return NULL;
    if (kernel_set_memory(kernel, 0, first, NULL) || (second && kernel_set_memory(kernel, 1, second, NULL)))
        kernel_destroy(&kernel);
    return kernel;
}

/* `amount` per second of a kernel over so many work-items; 0: it cannot be told. Releases the kernel. */
static double rate(struct lab *lab, struct kernel *kernel, const struct launch *launch, double amount)
{
    const double seconds = kernel ? time_launches(lab, kernel, launch, TRIES) : -1;
    kernel_destroy(&kernel);
    return seconds > 0 ? amount / seconds : 0;
}

/* The same of a kernel whose second argument is how often it does `amount`: so often that it takes a
 * while. */
static double rate_of_rounds(struct lab *lab, struct kernel *kernel, const struct launch *launch, int rounds,
                             double amount)
{
    if (!kernel || kernel_set_value(kernel, 1, &rounds, sizeof rounds, NULL)) {
        kernel_destroy(&kernel);
        return 0;
    }
    const double once = time_launches(lab, kernel, launch, 2) * 1e3;
    const double more = once > 0 ? while_ms / once * rounds : rounds;
    rounds = more > MATH_MOST ? MATH_MOST : more > rounds ? (int)more : rounds;
    if (kernel_set_value(kernel, 1, &rounds, sizeof rounds, NULL))
        kernel_destroy(&kernel);
    return rate(lab, kernel, launch, amount * rounds);
}

static struct kernel *memory_kernel(struct lab *lab, const char *name)
{
    return kernel_of(lab, memory_source, "", name, lab->from, lab->to);
}

static void warm_up(struct lab *lab)
{
    const struct launch all = {.dimensions = 1, .global = {lab->bytes / 16}};
    struct kernel *kernel = memory_kernel(lab, "copy");
    const uint64_t start = clock_ns();
    for (int i = 0; kernel && i < MOST_WARM_UPS && (double)(clock_ns() - start) * 1e-6 < warm_ms; i++)
        if (time_launches(lab, kernel, &all, 1) < 0)
            break;
    kernel_destroy(&kernel);
}

/* Reads in two orders and of two widths, of which devices like one or the other. */
static void measure_memory(struct lab *lab)
{
    const double bytes = (double)lab->bytes;
    const struct launch all = {.dimensions = 1, .global = {lab->bytes / 16}},
                        few = {.dimensions = 1, .global = {lab->bytes / 16 / READ_LOADS}},
                        wide = {.dimensions = 1, .global = {lab->bytes / 64 / READ_LOADS}};
    double *values = lab->roofs->values;
    values[ROOF_COPY_BUFFER] = rate(lab, memory_kernel(lab, "copy"), &all, 2 * bytes);
    const double apart = rate(lab, memory_kernel(lab, "read"), &few, bytes),
                 near = rate(lab, memory_kernel(lab, "read_near"), &few, bytes);
    values[ROOF_READ_BUFFER] =
        fmax(fmax(apart, near), rate(lab, memory_kernel(lab, "read_wide"), &wide, bytes));
}

static void measure_images(struct lab *lab)
{
    const struct image_format texels = {HONE_F32, 4, false};
    const size_t rows = lab->bytes / 16 / TEXELS_ACROSS;
    const struct launch launch = {.dimensions = 2, .global = {TEXELS_ACROSS, rows}};
    struct memory *from = NULL, *to = NULL;
    if (selftest_holds(lab->device, SELFTEST_IMAGES) &&
        memory_image_possible(lab->device, &texels, TEXELS_ACROSS, rows) &&
        memory_create_image(&from, lab->device, &texels, TEXELS_ACROSS, rows, NULL) == HONE_OK &&
        memory_create_image(&to, lab->device, &texels, TEXELS_ACROSS, rows, NULL) == HONE_OK) {
        struct kernel *kernel = kernel_of(lab, image_source, "", "copy", from, to);
        if (kernel && kernel_set_sampler(kernel, 2, HONE_BORDER_REPLICATE, NULL))
            kernel_destroy(&kernel);
        lab->roofs->values[ROOF_COPY_IMAGE] = rate(lab, kernel, &launch, 2.0 * (double)lab->bytes);
    }
    memory_destroy(&from);
    memory_destroy(&to);
}

static void measure_local(struct lab *lab)
{
    const struct launch launch = {.dimensions = 1, .global = {LOCAL_ITEMS}, .local = {LOCAL_GROUP}};
    lab->roofs->values[ROOF_LOCAL] =
        rate_of_rounds(lab, kernel_of(lab, memory_source, "", "near", lab->to, NULL), &launch, LOCAL_ROUNDS,
                       16.0 * LOCAL_LOADS * LOCAL_ITEMS);
}

static unsigned lanes(const char *vector)
{
    unsigned count = 1;
    while (*vector && (*vector < '0' || *vector > '9'))
        vector++;
    return sscanf(vector, "%u", &count) == 1 ? count : 1;
}

/* Two operations for each step and element. */
static double math_rate(struct lab *lab, const struct math *math, const char *wide)
{
    char options[256];
    const int seed = 3;
    const struct launch launch = {.dimensions = 1, .global = {MATH_ITEMS}, .local = {MATH_GROUP}};
    snprintf(options, sizeof options, "-DONE=%s -DWIDE=%s -DMATH=%d -DHALVES=%d", math->one, wide, math->step,
             math->roof == ROOF_HALF);
    struct kernel *kernel = kernel_of(lab, math_source, options, "math", lab->to, NULL);
    if (kernel && kernel_set_value(kernel, 2, &seed, sizeof seed, NULL))
        kernel_destroy(&kernel);
    return rate_of_rounds(lab, kernel, &launch, MATH_ROUNDS, 2.0 * lanes(wide) * MATH_STEPS * MATH_ITEMS);
}

/* The fastest width counts: some devices compute element by element, others whole vectors. */
static void measure_math(struct lab *lab)
{
    for (size_t i = 0; i < COUNT_OF(maths); i++) {
        double *best = &lab->roofs->values[maths[i].roof];
        if (maths[i].roof == ROOF_HALF && !selftest_holds(lab->device, SELFTEST_HALF))
            continue;
        for (size_t w = 0; w < COUNT_OF(maths[i].widths) && maths[i].widths[w]; w++) {
            const double now = math_rate(lab, &maths[i], maths[i].widths[w]);
            *best = now > *best ? now : *best;
        }
    }
    double *values = lab->roofs->values;
    values[ROOF_FLOAT] = values[ROOF_MAD] > values[ROOF_FLOAT] ? values[ROOF_MAD] : values[ROOF_FLOAT];
}

/* ---- What the host sees ---- */

static hone_status launch_nothing(struct lab *lab, struct kernel *kernel)
{
    const struct launch launch = {.dimensions = 1, .global = {1}};
    hone_status status = kernel_enqueue(kernel, &launch, (struct wait_list){0}, NULL, NULL);
    return status ? status : hone_device_finish(lab->device, NULL);
}

static hone_status upload(struct lab *lab, struct kernel *kernel)
{
    const struct span whole = {0, lab->host_bytes, lab->host_bytes, 1};
    (void)kernel;
    return memory_write(lab->beside, &whole, lab->host, lab->host_bytes, (struct wait_list){0}, NULL, NULL);
}

static hone_status download(struct lab *lab, struct kernel *kernel)
{
    const struct span whole = {0, lab->host_bytes, lab->host_bytes, 1};
    (void)kernel;
    return memory_read(lab->beside, &whole, lab->host, lab->host_bytes, (struct wait_list){0}, NULL, NULL);
}

static hone_status map(struct lab *lab, struct kernel *kernel)
{
    void *pointer = NULL;
    (void)kernel;
    TRY(memory_map(lab->beside, false, &pointer, (struct wait_list){0}, NULL, NULL));
    TRY(memory_unmap(lab->beside, (struct wait_list){0}, NULL, NULL));
    return hone_device_finish(lab->device, NULL);
}

/* Seconds of the fastest, by the host's clock; 0: it failed. */
static double best_of(struct lab *lab, hone_status (*run)(struct lab *lab, struct kernel *kernel),
                      struct kernel *kernel)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t start = clock_ns();
        if (run(lab, kernel))
            return 0;
        const double spent = (double)(clock_ns() - start) * 1e-9;
        if (best == 0 || spent < best)
            best = spent;
    }
    return best;
}

static void measure_host(struct lab *lab)
{
    const struct launch one = {.dimensions = 1, .global = {1}};
    const double bytes = (double)lab->host_bytes;
    double *values = lab->roofs->values;
    struct kernel *nothing = kernel_of(lab, memory_source, "", "nothing", lab->to, NULL);
    const double up = best_of(lab, upload, NULL), down = best_of(lab, download, NULL),
                 mapped = best_of(lab, map, NULL);
    values[ROOF_LAUNCH] = nothing ? best_of(lab, launch_nothing, nothing) : 0;
    values[ROOF_EMPTY] = nothing ? fmax(time_launches(lab, nothing, &one, TRIES), 0) : 0;
    values[ROOF_UPLOAD] = up > 0 ? bytes / up : 0;
    values[ROOF_DOWNLOAD] = down > 0 ? bytes / down : 0;
    values[ROOF_MAP] = mapped > 0 ? bytes / mapped : 0;
    kernel_destroy(&nothing);
}

/* Pages that nobody wrote may all be the same one. */
static hone_status make_buffers(struct lab *lab, hone_error *error)
{
    const uint32_t zero = 0;
    lab->host_bytes = lab->bytes < MOST_HOST ? lab->bytes : MOST_HOST;
    lab->host = mem_new(lab->host_bytes, 1);
    if (!lab->host)
        return error_memory(error, "measuring roofs");
    memset(lab->host, 1, lab->host_bytes);
    hone_status status = memory_create(&lab->from, lab->device, lab->bytes, HONE_MEMORY_DEVICE, error);
    THEN(status, memory_create(&lab->to, lab->device, lab->bytes, HONE_MEMORY_DEVICE, error));
    THEN(status, memory_create(&lab->beside, lab->device, lab->host_bytes, HONE_MEMORY_DEVICE, error));
    THEN(status, memory_fill(lab->from, &zero, sizeof zero, lab->bytes, (struct wait_list){0}, NULL, error));
    THEN(status,
         upload(lab, NULL) ? error_set(error, HONE_ERROR_DEVICE, "the device refuses data") : HONE_OK);
    return status;
}

static hone_status measure(struct lab *lab, hone_error *error)
{
    hone_status status = make_buffers(lab, error);
    if (status)
        return status;
    warm_up(lab);
    measure_memory(lab);
    measure_images(lab);
    measure_local(lab);
    measure_math(lab);
    measure_host(lab);
    lab->roofs->by_host = !lab->clock.believed;
    return HONE_OK;
}

/* ---- Remembering ---- */

bool roofs_recall_all(struct roofs_list *roofs, const hone_device_info *device)
{
    json_t *detail = roofs_recall_detail(device);
    const bool known = json_integer_value(json_object_get(detail, "format")) == FORMAT;
    for (int i = 0; i < ROOF_COUNT && known; i++) {
        const double value = json_number_value(json_object_get(detail, roofs_table[i].name));
        roofs->values[i] = value > 0 ? value : 0;
    }
    roofs->by_host = json_is_true(json_object_get(detail, "by host"));
    json_decref(detail);
    return known && roofs->values[ROOF_COPY_BUFFER] > 0;
}

static void remember(const struct roofs_list *roofs, const hone_device_info *device)
{
    json_t *detail = json_pack("{s:i, s:b}", "format", FORMAT, "by host", roofs->by_host);
    for (int i = 0; i < ROOF_COUNT; i++)
        json_object_set_new(detail, roofs_table[i].name, json_real(roofs->values[i]));
    roofs_remember_detail(device, detail);
    json_decref(detail);
}

hone_status roofs_know(struct roofs_list *roofs, hone_device *device, bool anew, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(device);
    *roofs = (struct roofs_list){0};
    if (!anew && roofs_recall_all(roofs, info))
        return HONE_OK;
    struct lab lab = {
        .device = device, .clock = timing_clock_of(device), .bytes = buffer_bytes(info), .roofs = roofs};
    hone_status status = measure(&lab, error);
    memory_destroy(&lab.from);
    memory_destroy(&lab.to);
    memory_destroy(&lab.beside);
    free(lab.host);
    if (!status)
        remember(roofs, info);
    return status;
}
