/* SPDX-License-Identifier: BSD-2-Clause */
/* The questions, and the arms of those about kernels. */
#include "lab/experiments/internal.h"
#include "lab/experiments/transfers.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

#define ARMS(list)   .arms = list, .arm_count = COUNT_OF(list)
#define PIXELS(name) .passes = {{name, REGION_PIXELS}}
#define ARM(called, what, ...)                                                                               \
    {                                                                                                        \
        .name = called, .title = what, __VA_ARGS__                                                           \
    }

static const char lost[] = "a pixel beyond the work-group's is taken from its other side";

static const struct arm local_memory[] = {
    ARM("global", "every pixel from global memory", PIXELS("from_global")),
    ARM("local", "16x16 pixels in local memory, the rest from global", PIXELS("cached"),
        .options = "-DTESTS -DBARRIER"),
    ARM("local, no tests", "without the four comparisons", PIXELS("cached"), .options = "-DBARRIER",
        .differs = lost),
    ARM("local, no barrier", "without the barrier", PIXELS("cached"), .options = "-DTESTS",
        .differs = "it may read what no work-item has written yet"),
    ARM("local, neither", "without both", PIXELS("cached"), .differs = lost),
    ARM("global + tests", "from global memory, after the same comparisons", PIXELS("from_global"),
        .options = "-DTESTS"),
    ARM("global + barrier", "from global memory, after a barrier", PIXELS("from_global"),
        .options = "-DBARRIER"),
    ARM("local with margins", "20x20 pixels in local memory, no tests", PIXELS("with_halo")),
    ARM("global, cold", "with caches emptied before", PIXELS("from_global"), .cold = true),
    ARM("local, cold", "with caches emptied before", PIXELS("cached"), .options = "-DTESTS -DBARRIER",
        .cold = true),
};

static const struct arm recursion_rows[] = {
    ARM("scalar", "rgH as written: one pixel at a time", .passes = {{"rows", REGION_ROWS}}),
    ARM("float4 loads", "four pixels loaded and stored at once", .passes = {{"rows_loads", REGION_ROWS}}),
    ARM("float4 and dot", "the reader's proposal: and dot products", .passes = {{"rows_dot", REGION_ROWS}}),
};

static const struct arm recursion_columns[] = {
    ARM("scalar", "rgV as written: a work-item for a column", .passes = {{"columns", REGION_COLUMNS}}),
    ARM("float4", "a work-item for four neighbouring columns", .passes = {{"columns_vector", REGION_COLUMNS}},
        .across = 4),
};

static const struct arm corners[] = {
    ARM("expression", "a4 + a1 - a2 - a3 in one expression", PIXELS("corners"), .options = "-DFORM=0",
        .across = 8),
    ARM("sum -= sum", "as the write-up solves it", PIXELS("corners"), .options = "-DFORM=1", .across = 8),
    ARM("sum = 0", "the same from a zero", PIXELS("corners"), .options = "-DFORM=2", .across = 8),
    ARM("statements", "four statements, the first an assignment", PIXELS("corners"), .options = "-DFORM=3",
        .across = 8),
};

static const char rough[] = "its precision is lower, or up to the device";

static const struct arm maths[] = {
    ARM("standard", "exp, log, sin, sqrt, pow and a division", PIXELS("curve"), .options = "-DFORM=0"),
    ARM("fast", "the same with -cl-fast-relaxed-math", PIXELS("curve"),
        .options = "-DFORM=0 -cl-fast-relaxed-math", .differs = rough),
    ARM("native", "native_exp, native_log ...", PIXELS("curve"), .options = "-DFORM=1", .differs = rough),
    ARM("half", "half_exp, half_log ...", PIXELS("curve"), .options = "-DFORM=2", .differs = rough),
};

static const struct arm options[] = {
    ARM("none", "no option", PIXELS("sums")),
    ARM("mad", "-cl-mad-enable", PIXELS("sums"), .options = "-cl-mad-enable"),
    ARM("no signed zeros", "-cl-no-signed-zeros", PIXELS("sums"), .options = "-cl-no-signed-zeros"),
    ARM("flush to zero", "-cl-denorms-are-zero", PIXELS("sums"), .options = "-cl-denorms-are-zero"),
    ARM("finite", "-cl-finite-math-only", PIXELS("sums"), .options = "-cl-finite-math-only"),
    ARM("unsafe", "-cl-unsafe-math-optimizations", PIXELS("sums"),
        .options = "-cl-unsafe-math-optimizations"),
    ARM("fast", "-cl-fast-relaxed-math", PIXELS("sums"), .options = "-cl-fast-relaxed-math"),
    ARM("not optimised", "-cl-opt-disable", PIXELS("sums"), .options = "-cl-opt-disable"),
};

static const struct arm indices[] = {
    ARM("size_t", "all indices size_t", PIXELS("indexed"), .options = "-DINDEX=size_t"),
    ARM("long", "long", PIXELS("indexed"), .options = "-DINDEX=long"),
    ARM("int", "int", PIXELS("indexed"), .options = "-DINDEX=int"),
    ARM("uint", "uint", PIXELS("indexed"), .options = "-DINDEX=uint"),
};

static const struct arm loops[] = {
    ARM("not known", "rounds are an argument of the kernel", PIXELS("looping"), .options = "-DUNROLL=0"),
    ARM("unroll 1", "5 rounds, #pragma unroll 1", PIXELS("looping"), .options = "-DUNROLL=1"),
    ARM("compiler", "5 rounds, the compiler decides", PIXELS("looping"), .options = "-DUNROLL=2"),
    ARM("unroll", "5 rounds, #pragma unroll", PIXELS("looping"), .options = "-DUNROLL=3"),
    ARM("hint", "5 rounds, opencl_unroll_hint (OpenCL C 2.0)", PIXELS("looping"),
        .options = "-cl-std=CL2.0 -DUNROLL=4"),
    ARM("by hand", "written out", PIXELS("by_hand"), .options = "-DUNROLL=2"),
};

static const struct arm borders[] = {
    ARM("clamped", "every index is clamped", PIXELS("clamping")),
    ARM("branch", "clamped where the window leaves the picture", PIXELS("branching")),
    ARM("padded", "a padded copy of the picture is made first",
        .passes = {{"pad", REGION_PADDED}, {"padded", REGION_PIXELS}}),
    ARM("padded before", "the picture comes padded", .passes = {{"padded", REGION_PIXELS}}),
    ARM("image", "an image, whose sampler clamps", PIXELS("sampled"), .image = true),
    ARM("two kernels", "one for the inside, one for the border",
        .passes = {{"inside", REGION_INSIDE}, {"edge", REGION_EDGE}}),
};

#define GROUP(x, y) ARM(#x "x" #y, "", PIXELS("clamping"), .local = {x, y})
static const struct arm groups[] = {
    ARM("driver's", "the driver chooses", PIXELS("clamping"), .any_group = true),
    GROUP(8, 8),
    GROUP(16, 8),
    GROUP(16, 16),
    GROUP(32, 1),
    GROUP(32, 4),
    GROUP(32, 8),
    GROUP(64, 1),
    GROUP(64, 4),
    GROUP(128, 1),
    GROUP(128, 2),
    GROUP(256, 1),
    GROUP(1, 64),
    GROUP(4, 32),
};

static const struct arm splits[] = {
    ARM("whole", "one launch", PIXELS("rounds")),
    ARM("10 ms", "launches of 10 ms", PIXELS("rounds"), .parts = true, .split_ms = 10),
    ARM("4 ms", "launches of 4 ms", PIXELS("rounds"), .parts = true, .split_ms = 4),
};

#define TEXT(...) .text = {__VA_ARGS__}
#define PICTURE   .width = 2048, .height = 1536
#define KERNELS(text, from, to, count)                                                                       \
    .run = run_kernels, PICTURE, .file = text, .in = from, .out = to, .channels = count
#define WINDOWS                                                                                              \
    KERNELS("windows.cl", HONE_U8, HONE_U8, 1), .local = {32, 4}, .parameter = 5, .right = right_windows

static const struct experiment experiments_table[] = {
    {TEXT("local-memory", "why local memory lost", "write-up in Russian; guide 7.1.1",
          "A convolution from local memory took 2.7-2.8 ms, from global memory 2.2-2.3 ms. Were it the "
          "comparisons, the barrier, or the cache?"),
     KERNELS("local_memory.cl", HONE_U8, HONE_U8, 3), .local = {16, 16}, .right = right_convolution,
     ARMS(local_memory)},
    {TEXT("recursion-rows", "float4 and dot in the recursion along rows",
          "write-up in Japanese, its comments",
          "A reader proposes float4 and dot products, for 'at most four times' the speed."),
     KERNELS("recursion.cl", HONE_F32, HONE_F32, 1), .local = {64, 1}, .bound = 1e-4, .right = right_rows,
     ARMS(recursion_rows)},
    {TEXT("recursion-columns", "float4 in the recursion along columns", "write-up in Japanese, its comments",
          "The same where neighbours do not depend on each other."),
     KERNELS("recursion.cl", HONE_F32, HONE_F32, 1), .local = {64, 1}, .bound = 1e-4, .right = right_columns,
     ARMS(recursion_columns)},
    {TEXT("registers", "what sum -= sum does to registers", "write-up in Chinese on registers",
          "Four statements that begin with sum -= sum took 6 vector registers where one expression took 41."),
     KERNELS("corners.cl", HONE_U16, HONE_U16, 1), .local = {64, 1}, .right = right_corners, ARMS(corners)},
    {TEXT("bayer", "from which size Bayer data pay", "write-up in Japanese, its comments; guide 5.3",
          "Colours from a camera's mosaic came out slower by OpenCL than by the processor."),
     .run = run_bayer, .width = 4096, .height = 4096,
     .file = "demosaic pattern=rggb method=bilinear border=reflect101"},
    {TEXT("rainbow", "from which size a rainbow pays", "write-up in Japanese, its comments; guide 5.3",
          "Intensities shown as a rainbow came out slower by OpenCL than by the processor."),
     .run = run_rainbow, .width = 4096, .height = 4096, .file = "colormap map=rainbow"},
    {TEXT("maths", "standard, fast and native functions", "guide 8.3",
          "How much faster are functions of less precision, and how far off?"),
     KERNELS("maths.cl", HONE_F32, HONE_F32, 1), .local = {32, 4}, .bound = 1e-5, .right = right_curve,
     ARMS(maths)},
    {TEXT("build-options", "what build options gain", "guide 8.2",
          "Which of the compiler's options make a kernel of floats faster?"),
     KERNELS("options.cl", HONE_F32, HONE_F32, 1), .local = {32, 4}, .bound = 1e-4, .right = right_quotients,
     ARMS(options)},
    {TEXT("indices", "size_t against int", "guide 8.7 and 8.8", "What do indices of 64 bits cost?"), WINDOWS,
     ARMS(indices)},
    {TEXT("unrolling", "unrolled or not", "guide 8.4",
          "Who unrolls a loop best: the compiler, a hint, or a programmer?"),
     WINDOWS, ARMS(loops)},
    {TEXT("borders", "ways over the border", "guide 8.6",
          "Clamped indices, a padded copy, a sampler, or a kernel of its own for the border?"),
     WINDOWS, ARMS(borders)},
    {TEXT("work-groups", "the driver's work-group against others", "guide 6.5",
          "How good is the size that the driver chooses?"),
     WINDOWS, ARMS(groups)},
    {TEXT("splitting", "launches of 10 ms", "guide 3.4.2",
          "Kernels are to take 10 ms at most, for the sake of the user interface. What does splitting "
          "one of 100 ms cost?"),
     KERNELS("long.cl", HONE_U8, HONE_U32, 1), .local = {64, 1}, .parameter = 16, .aim_ms = 100,
     .right = right_rounds, ARMS(splits)},
    {TEXT("svm", "shared virtual memory against buffers", "guide 7.7",
          "What does memory with the same address on both sides gain?"),
     .run = run_transfers, PICTURE, .file = "invert.cl",
     .parameter = 1 << TRANSFER_COPY | 1 << TRANSFER_SHARE},
    {TEXT("zero-copy", "mapping against copying", "guide 7.4",
          "What does a picture cost that is made where the device reads it?"),
     .run = run_transfers, PICTURE, .file = "invert.cl",
     .parameter = 1 << TRANSFER_COPY | 1 << TRANSFER_MAP | 1 << TRANSFER_WRAP},
};

size_t experiments_count(void)
{
    return COUNT_OF(experiments_table);
}

const struct experiment *experiments_at(size_t index)
{
    return &experiments_table[index];
}

const struct experiment *experiments_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(experiments_table); i++)
        if (strcmp(experiments_table[i].text.name, name) == 0)
            return &experiments_table[i];
    return NULL;
}

struct experiment_text experiment_describe(const struct experiment *e)
{
    return e->text;
}

const char *experiment_file_text(const char *file)
{
    const struct experiment_file *f = experiment_files;
    while (f->name && strcmp(f->name, file) != 0)
        f++;
    return f->text;
}

hone_status experiment_run(const struct experiment *e, hone_device *device, uint32_t width, uint32_t height,
                           struct experiment_result *result, hone_error *error)
{
    *result =
        (struct experiment_result){.width = width ? width : e->width, .height = height ? height : e->height};
    if (result->width % EXPERIMENT_UNIT || result->height % EXPERIMENT_UNIT)
        return error_usage(error, "sizes of experiments are multiples of %d, not %ux%u", EXPERIMENT_UNIT,
                           result->width, result->height);
    return e->run(e, device, result, error);
}
