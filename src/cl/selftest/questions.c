/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernels of selftest.cl: their arguments, and the answers that are right. */
#include "cl/selftest/questions.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether one of the parts that the line names is defined in the options. */
static bool wants_part(const char *line, size_t length, const char *options)
{
    static const char prefix[] = "PART_", name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *end = line + length;
    for (const char *at = strstr(line, prefix); at && at < end; at = strstr(at, prefix)) {
        char option[64];
        const int letters = (int)strspn(at, name);
        snprintf(option, sizeof option, "-D%.*s", letters, at);
        if (text_has_word(options, option))
            return true;
        at += letters;
    }
    return false;
}

void question_source(struct text *out, const char *options)
{
    int depth = 0;
    bool wanted = true;
    for (const char *line = selftest_source; *line;) {
        const size_t text = strcspn(line, "\n"), length = text + (line[text] == '\n');
        if (text_starts(line, "#if") && depth++ == 0)
            wanted = wants_part(line, length, options);
        if (wanted)
            text_add_bytes(out, line, length);
        if (text_starts(line, "#endif") && --depth == 0)
            wanted = true;
        line += length;
    }
}

bool question_begin(struct question *q, struct hone_device *device, const char *options)
{
    struct text source = {0};
    *q = (struct question){.device = device, .words = mem_new(ANSWERS, sizeof *q->words), .group = 1};
    question_source(&source, options);
    const bool ready = q->words && !source.failed;
    if (!ready)
        error_memory(&q->error, "a self-test");
    const bool ok =
        ready &&
        program_from_source(&q->program, device, text_view(&source), options, &q->error) == HONE_OK &&
        memory_create(&q->memory, device, ANSWERS * sizeof *q->words, HONE_MEMORY_DEVICE, &q->error) ==
            HONE_OK;
    text_finish(&source);
    return ok;
}

void question_end(struct question *q)
{
    memory_destroy(&q->memory);
    program_destroy(&q->program);
    free(q->words);
    *q = (struct question){0};
}

static const struct span all_words = {0, ANSWERS * 4, ANSWERS * 4, 1};

/* Runs `kernel`, whose argument 0 is the answers and whose others are set already, over q->words. */
static bool ask(struct question *q, struct kernel *kernel, size_t global, size_t local)
{
    const struct wait_list none = {0};
    const struct launch launch = {1, {global, 1, 1}, {local, 1, 1}};
    return kernel_set_memory(kernel, 0, q->memory, &q->error) == HONE_OK &&
           memory_write(q->memory, &all_words, q->words, all_words.pitch, none, NULL, &q->error) == HONE_OK &&
           kernel_enqueue(kernel, &launch, none, NULL, &q->error) == HONE_OK &&
           hone_device_finish(q->device, &q->error) == HONE_OK &&
           memory_read(q->memory, &all_words, q->words, all_words.pitch, none, NULL, &q->error) == HONE_OK;
}

static bool set_word(struct question *q, struct kernel *kernel, unsigned index, uint32_t value)
{
    return kernel_set_value(kernel, index, &value, sizeof value, &q->error) == HONE_OK;
}

static bool set_float(struct question *q, struct kernel *kernel, unsigned index, float value)
{
    return kernel_set_value(kernel, index, &value, sizeof value, &q->error) == HONE_OK;
}

enum { ROUNDS = 100002, LOOPS_SUM = ROUNDS + ROUNDS / 3 * 3 };

static bool check_build(struct question *q, struct kernel *kernel)
{
    q->words[1] = 1;
    return set_word(q, kernel, 1, 3) && ask(q, kernel, 1, 1) && q->words[0] == 3 + 0 + 1 + 2;
}

static bool check_loops(struct question *q, struct kernel *kernel)
{
    q->words[1] = 1;
    return set_word(q, kernel, 1, ROUNDS) && ask(q, kernel, 1, 1) && q->words[0] == LOOPS_SUM;
}

static bool check_local(struct question *q, struct kernel *kernel)
{
    enum { GROUP = 64 };
    return kernel_set_local(kernel, 1, GROUP * 4, &q->error) == HONE_OK && ask(q, kernel, 4 * GROUP, GROUP) &&
           q->words[0] == GROUP * (GROUP + 1) / 2 && q->words[3] == q->words[0];
}

static const uint32_t first_integer = 0xfedcba98u, second_integer = 0x89abcdefu;
static const int32_t third_integer = -1000;

static bool set_integers(struct question *q, struct kernel *kernel, unsigned index)
{
    return set_word(q, kernel, index, first_integer) && set_word(q, kernel, index + 1, second_integer) &&
           set_word(q, kernel, index + 2, (uint32_t)third_integer);
}

static bool integers_right(const uint32_t *words)
{
    const uint32_t a = first_integer, b = second_integer;
    return words[0] == (uint32_t)((uint64_t)a * b >> 32) && words[1] == a + b && words[2] == (uint32_t)-125 &&
           words[3] == 256 * 255 && words[4] == 0xdc98abefu && words[5] == a - b;
}

static bool check_integers(struct question *q, struct kernel *kernel)
{
    return set_integers(q, kernel, 1) && ask(q, kernel, 1, 1) && integers_right(q->words);
}

static bool set_floats(struct question *q, struct kernel *kernel, unsigned index)
{
    return set_float(q, kernel, index, 1.0f + 0x1p-12f) && set_float(q, kernel, index + 1, nanf(""));
}

static bool floats_right(const uint32_t *words)
{
    const float a = 1.0f + 0x1p-12f;
    const float square = (float)((double)a * a); /* rounded once, as without contraction */
    const float rest = square - 1.0f;
    uint32_t expected;
    memcpy(&expected, &rest, sizeof expected);
    return words[0] == 1 && words[1] == 1 && words[2] == expected;
}

static bool check_floats(struct question *q, struct kernel *kernel)
{
    return set_floats(q, kernel, 1) && ask(q, kernel, 1, 1) && floats_right(q->words);
}

static bool check_atomics(struct question *q, struct kernel *kernel)
{
    return kernel_set_local(kernel, 1, 4, &q->error) == HONE_OK && ask(q, kernel, 256, 64) &&
           q->words[0] == 256 && q->words[1] == 512;
}

/* Every finite half comes back as it was: 1024 of them, from all exponents. */
static bool check_half_store(struct question *q, struct kernel *kernel)
{
    uint16_t *halves = (uint16_t *)(q->words + 1024);
    for (unsigned i = 0; i < 1024; i++)
        halves[i] = (uint16_t)(i * 31); /* 31 * 1023 = 31713 < 0x7c00: no infinity */
    return ask(q, kernel, 1024, 64) && memcmp(halves, halves + 1024, 2048) == 0;
}

static void fill_wide(uint32_t *words)
{
    uint8_t *bytes = (uint8_t *)(words + 1);
    for (unsigned i = 0; i < 192; i++)
        bytes[i] = (uint8_t)(i * 37);
}

static bool wide_right(const uint32_t *words)
{
    const uint8_t *bytes = (const uint8_t *)(words + 1);
    for (unsigned i = 0; i < 64; i++)
        if (bytes[129 + i] != (uint8_t)((bytes[1 + 63 - i] + bytes[2 + 63 - i]) >> 1))
            return false;
    return words[0] == 1;
}

static bool check_wide(struct question *q, struct kernel *kernel)
{
    fill_wide(q->words);
    return ask(q, kernel, 1, 1) && wide_right(q->words);
}

static bool check_half(struct question *q, struct kernel *kernel)
{
    /* (1.5, 3) * 2 - (1, 0.5) = (2, 5.5) */
    return set_word(q, kernel, 1, 0x42003e00u) && set_word(q, kernel, 2, 0x38003c00u) &&
           ask(q, kernel, 1, 1) && q->words[0] == 0x45804000u;
}

static bool check_ptx(struct question *q, struct kernel *kernel)
{
    bool ok =
        set_word(q, kernel, 1, 0x40302010u) && set_word(q, kernel, 2, 0x01020304u) && ask(q, kernel, 32, 32);
    ok = ok && q->words[0] == 0x02300410u && q->words[1] == 0x3f2e1d0cu &&
         q->words[2] == 7 + 0x40 * 1 + 0x30 * 2 + 0x20 * 3 + 0x10 * 4 && q->words[3] == 0x45004200u;
    for (uint32_t i = 0; ok && i < 31; i++)
        ok = q->words[4 + i] == i + 1;
    return ok;
}

static bool check_subgroups(struct question *q, struct kernel *kernel)
{
    bool ok = ask(q, kernel, 64, 64);
    for (int i = 0; ok && i < 64; i++)
        ok = q->words[i] == 1;
    return ok;
}

/* Long enough for a processor to come back to a thread that it left; on others few, for each look goes to
 * memory. */
static bool check_progress(struct question *q, struct kernel *kernel)
{
    enum { GROUPS = 256, LOOKS = 10000, LOOKS_OF_CPU = 20000000 };
    bool cpu = q->device->info.kind == HONE_DEVICE_CPU;
    return set_word(q, kernel, 1, cpu ? LOOKS_OF_CPU : LOOKS) && ask(q, kernel, GROUPS, 1) &&
           q->words[0] == GROUPS && q->words[1] == 0;
}

enum { SIDE = 8 };

static bool check_image_pixels(struct question *q, struct kernel *kernel, struct memory *from,
                               struct memory *to)
{
    const struct wait_list none = {0};
    const struct launch launch = {2, {SIDE, SIDE, 1}, {SIDE, SIDE, 1}};
    uint8_t *pixels = (uint8_t *)q->words, *copy = pixels + SIDE * SIDE;
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        pixels[i] = (uint8_t)(i * 3 + 1);
    bool ok =
        kernel_set_memory(kernel, 0, from, &q->error) == HONE_OK &&
        kernel_set_memory(kernel, 1, to, &q->error) == HONE_OK &&
        kernel_set_sampler(kernel, 2, HONE_BORDER_REPLICATE, &q->error) == HONE_OK &&
        memory_write(q->memory, &all_words, q->words, all_words.pitch, none, NULL, &q->error) == HONE_OK &&
        memory_buffer_to_image(q->memory, 0, from, SIDE, SIDE, none, NULL, &q->error) == HONE_OK &&
        kernel_enqueue(kernel, &launch, none, NULL, &q->error) == HONE_OK &&
        memory_image_to_buffer(to, q->memory, SIDE * SIDE, SIDE, SIDE, none, NULL, &q->error) == HONE_OK &&
        memory_read(q->memory, &all_words, q->words, all_words.pitch, none, NULL, &q->error) == HONE_OK;
    for (int y = 0; ok && y < SIDE; y++)
        for (int x = 0; ok && x < SIDE; x++)
            ok = copy[y * SIDE + x] == pixels[(y ? y - 1 : 0) * SIDE + (x ? x - 1 : 0)];
    return ok;
}

static bool check_images(struct question *q, struct kernel *kernel)
{
    const struct image_format format = {HONE_U8, 1, false};
    struct memory *from = NULL, *to = NULL;
    bool ok = memory_create_image(&from, q->device, &format, SIDE, SIDE, &q->error) == HONE_OK &&
              memory_create_image(&to, q->device, &format, SIDE, SIDE, &q->error) == HONE_OK &&
              check_image_pixels(q, kernel, from, to);
    memory_destroy(&from);
    memory_destroy(&to);
    return ok;
}

/* The host writes and reads without mapping; the kernel tells at which address it found the bytes. */
static bool runs_in_place(struct question *q, struct kernel *kernel, struct memory *wrapped)
{
    const struct launch launch = {1, {q->group, 1, 1}, {q->group, 1, 1}};
    memset(q->words, 0, ANSWERS * sizeof *q->words);
    q->words[1] = 1;
    return kernel_set_memory(kernel, 0, wrapped, &q->error) == HONE_OK && set_word(q, kernel, 1, ROUNDS) &&
           kernel_enqueue(kernel, &launch, (struct wait_list){0}, NULL, &q->error) == HONE_OK &&
           hone_device_finish(q->device, &q->error) == HONE_OK && q->words[0] == LOOPS_SUM &&
           ((uint64_t)q->words[21] << 32 | q->words[20]) == (uintptr_t)q->words;
}

bool question_in_place(struct question *q, struct kernel *kernel)
{
    struct memory *wrapped = NULL;
    const bool ok =
        memory_wrap(&wrapped, q->device, q->words, ANSWERS * sizeof *q->words, &q->error) == HONE_OK &&
        runs_in_place(q, kernel, wrapped);
    memory_destroy(&wrapped);
    return ok;
}

/* A queue of its own, since the device's may be without profiling. */
static bool time_a_kernel(struct question *q, cl_kernel kernel, cl_command_queue queue)
{
    cl_event event = NULL;
    cl_ulong start = 0, end = 0;
    uint64_t before = clock_ns();
    cl_int code = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &q->group, &q->group, 0, NULL, &event);
    if (code == CL_SUCCESS)
        code = clFinish(queue);
    uint64_t wall = clock_ns() - before;
    if (code == CL_SUCCESS)
        code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    if (code == CL_SUCCESS)
        code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    if (event)
        clReleaseEvent(event);
    if (code != CL_SUCCESS) {
        cl_failed(&q->error, code, "timing a kernel");
        return false;
    }
    /* Short against the wall is normal (launching takes time); longer, still or backwards is not, and nothing
     * that goes through a queue is over in nanoseconds (rusticl 22.3: stamps of 1 and 2). */
    const cl_ulong least = 100;
    return end >= start + least && end - start <= 2 * wall + 1000000;
}

bool question_clock(struct question *q, struct kernel *kernel)
{
    cl_int code = CL_SUCCESS;
    cl_command_queue queue =
        clCreateCommandQueue(q->device->context, q->device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS) {
        cl_failed(&q->error, code, "clCreateCommandQueue");
        return false;
    }
    bool ok = set_word(q, kernel, 1, 50000) && kernel_set_memory(kernel, 0, q->memory, &q->error) == HONE_OK;
    for (int i = 0; i < 3 && ok; i++)
        ok = time_a_kernel(q, kernel_cl(kernel), queue);
    clReleaseCommandQueue(queue);
    return ok;
}

/* The layout of the answers is that of selftest.cl. */
enum { CORE_GROUP = 64, CORE_GROUPS = 4, CORE_WIDE = 64 };

static bool core_right(const uint32_t *words, bool wide)
{
    enum { ITEMS = CORE_GROUP * CORE_GROUPS, SUM = CORE_GROUP * (CORE_GROUP + 1) / 2 };
    bool ok = words[0] == LOOPS_SUM && integers_right(words + 2) && floats_right(words + 8) &&
              words[11] == ITEMS && words[12] == 2 * ITEMS;
    for (int i = 0; ok && i < CORE_GROUPS; i++)
        ok = words[16 + i] == SUM;
    return ok && (!wide || wide_right(words + CORE_WIDE));
}

bool question_core(struct question *q, struct kernel *kernel, bool wide)
{
    q->words[1] = 1;
    q->group = CORE_GROUP;
    if (wide)
        fill_wide(q->words + CORE_WIDE);
    return set_word(q, kernel, 1, ROUNDS) &&
           kernel_set_local(kernel, 2, (CORE_GROUP + 1) * 4, &q->error) == HONE_OK &&
           set_integers(q, kernel, 3) && set_floats(q, kernel, 6) &&
           ask(q, kernel, CORE_GROUPS * CORE_GROUP, CORE_GROUP) && core_right(q->words, wide);
}

static bool has_images(const struct hone_device *device)
{
    return device->info.images;
}

static bool may_have_half(const struct hone_device *device)
{
    return device->info.fp16 || device_has_extension(device, "cl_nv_device_attribute_query");
}

/* Only compilers that take OpenCL C straight to machine code know vectors of 64. Mesa's way through SPIR-V
 * ends the process with "LLVM ERROR: Unsupported vector type" (rusticl 22.3), which no error code can tell.
 */
static bool may_have_wide(const struct hone_device *device)
{
    return device->info.kind == HONE_DEVICE_CPU && !text_contains_nocase(device->info.platform, "rusticl") &&
           !text_contains_nocase(device->info.platform, "clover");
}

static bool may_be_in_place(const struct hone_device *device)
{
    return device->info.kind == HONE_DEVICE_CPU && memory_is_shared(device);
}

static bool is_nvidia(const struct hone_device *device)
{
    return device_has_extension(device, "cl_nv_device_attribute_query");
}

static bool has_subgroups(const struct hone_device *device)
{
    return device->info.subgroups;
}

const struct question_probe question_probes[SELFTEST_COUNT] = {
    [SELFTEST_BUILD] = {"-DPART_LOOPS", "loops", check_build, NULL},
    [SELFTEST_LOOPS] = {"-DPART_LOOPS", "loops", check_loops, NULL},
    [SELFTEST_LOCAL] = {"-DPART_LOCAL", "local_sum", check_local, NULL},
    [SELFTEST_INTEGERS] = {"-DPART_INTEGERS", "integers", check_integers, NULL},
    [SELFTEST_FLOATS] = {"-DPART_FLOATS", "floats", check_floats, NULL},
    [SELFTEST_ATOMICS] = {"-DPART_ATOMICS", "atomics", check_atomics, NULL},
    [SELFTEST_CLOCK] = {"-DPART_LOOPS", "loops", question_clock, NULL},
    [SELFTEST_IMAGES] = {"-DPART_IMAGES", "image_copy", check_images, has_images},
    [SELFTEST_HALF_STORE] = {"-DPART_HALF_STORE", "half_store", check_half_store, NULL},
    [SELFTEST_HALF] = {"-DPART_HALF", "halves", check_half, may_have_half},
    [SELFTEST_WIDE] = {"-DPART_WIDE", "wide", check_wide, may_have_wide},
    [SELFTEST_PTX] = {"-DPART_PTX", "ptx", check_ptx, is_nvidia},
    [SELFTEST_SUBGROUPS] = {"-DPART_SUBGROUPS -cl-std=CL2.0", "subgroups", check_subgroups, has_subgroups},
    [SELFTEST_PROGRESS] = {"-DPART_PROGRESS", "progress", check_progress, NULL},
    [SELFTEST_IN_PLACE] = {"-DPART_LOOPS", "loops", question_in_place, may_be_in_place},
};

bool question_is_sensible(const struct hone_device *device, enum selftest_item item)
{
    return !question_probes[item].sensible || question_probes[item].sensible(device);
}
