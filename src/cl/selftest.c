/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/selftest.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/builds.h"
#include "cl/internal.h"
#include "cl/program.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Generated from selftest.cl. */
extern const char selftest_source[];

enum { FORMAT = 1, ANSWERS = 4096, MAX_VERDICT_FILE = 4096 };

/* Unknown: not asked yet. Running: was being asked when the process ended, as it was before in so many
 * earlier processes as are added to it. That makes it a failure where the driver ended the process, or where
 * too many ended, nobody knows of what: a kill from outside says nothing. */
enum answer { ANSWER_UNKNOWN = 0, ANSWER_FAILS, ANSWER_HOLDS, ANSWER_RUNNING };
enum { MAX_ENDS = 4 };
static const char marks[] = "?-+!234";

struct verdict {
    struct hone_device *device;
    pthread_mutex_t lock;
    bool loaded; /* what is remembered on disk was read */
    bool warned;
    enum answer answers[SELFTEST_COUNT];
    int ends;                     /* processes that ended, unexplained, in what is to be asked */
    bool passing[SELFTEST_COUNT]; /* a failure that may be over at the next start: not remembered on disk */
};

static const struct {
    const char *name, *meaning, *without;
} items[SELFTEST_COUNT] = {
    [SELFTEST_BUILD] = {"build", "programs compile and kernels run", "nothing can run here"},
    [SELFTEST_LOOPS] = {"loops", "loops run to their end", "large windows and images may come out wrong"},
    [SELFTEST_LOCAL] = {"local", "local memory and barriers",
                        "variants that share local memory are not used"},
    [SELFTEST_INTEGERS] = {"integers", "integer arithmetic", "no result can be trusted"},
    [SELFTEST_FLOATS] = {"floats", "floating point without contraction, NaN", "f32 results can be off"},
    [SELFTEST_ATOMICS] = {"atomics", "atomic addition", "counts and sums can be off"},
    [SELFTEST_CLOCK] = {"clock", "time stamps of commands", "no device times are given"},
    [SELFTEST_IMAGES] = {"images", "integer images with clamping samplers",
                         "variants that read images are not used"},
    [SELFTEST_HALF_STORE] = {"half-store", "storing half precision", "nothing is kept in half precision"},
    [SELFTEST_HALF] = {"half", "half precision arithmetic",
                       "variants that compute in half precision are not used"},
    [SELFTEST_WIDE] = {"wide", "64-byte vectors (CPUs)", "variants with 64-byte vectors are not used"},
    [SELFTEST_PTX] = {"ptx", "inline assembly (NVIDIA)", "variants with inline PTX are not used"},
    [SELFTEST_SUBGROUPS] = {"subgroups", "subgroup functions", "variants with subgroups are not used"},
    [SELFTEST_PROGRESS] = {"progress", "work-groups that wait for earlier ones",
                           "variants in which work-groups wait are not used"},
};

const char *selftest_item_name(enum selftest_item item)
{
    return items[item].name;
}

/* One question: a program (built before), a kernel, a buffer of ANSWERS words. */
struct question {
    struct hone_device *device;
    struct program *program;
    struct memory *memory;
    uint32_t *words;
    size_t group;     /* work-items of a group when the clock is asked: nothing else is compiled for it */
    hone_error error; /* of the call that failed, where the driver refused to answer; status 0: it answered */
};

static bool question_begin(struct question *q, struct hone_device *device, const char *options)
{
    *q = (struct question){.device = device, .words = mem_new(ANSWERS, sizeof *q->words), .group = 1};
    if (!q->words) {
        error_memory(&q->error, "a self-test");
        return false;
    }
    return program_from_source(&q->program, device, selftest_source, options, &q->error) == HONE_OK &&
           memory_create(&q->memory, device, ANSWERS * sizeof *q->words, HONE_MEMORY_DEVICE, &q->error) ==
               HONE_OK;
}

static void question_end(struct question *q)
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

typedef bool (*check_function)(struct question *q, struct kernel *kernel);

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

static bool check_clock(struct question *q, struct kernel *kernel)
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

/* The required items at once, and what else CPUs are asked before their first kernel: one program, one
 * kernel, a fifth of the time. The layout of the answers is that of selftest.cl. */
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

static bool check_core(struct question *q, struct kernel *kernel, bool wide)
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

static bool is_nvidia(const struct hone_device *device)
{
    return device_has_extension(device, "cl_nv_device_attribute_query");
}

static bool has_subgroups(const struct hone_device *device)
{
    return device->info.subgroups;
}

/* Which program and kernel answer an item by itself, and whether asking makes sense on a device at all. */
static const struct probe {
    const char *options, *kernel;
    check_function check;
    bool (*sensible)(const struct hone_device *device);
} probes[SELFTEST_COUNT] = {
    [SELFTEST_BUILD] = {"-DPART_LOOPS", "loops", check_build, NULL},
    [SELFTEST_LOOPS] = {"-DPART_LOOPS", "loops", check_loops, NULL},
    [SELFTEST_LOCAL] = {"-DPART_LOCAL", "local_sum", check_local, NULL},
    [SELFTEST_INTEGERS] = {"-DPART_INTEGERS", "integers", check_integers, NULL},
    [SELFTEST_FLOATS] = {"-DPART_FLOATS", "floats", check_floats, NULL},
    [SELFTEST_ATOMICS] = {"-DPART_ATOMICS", "atomics", check_atomics, NULL},
    [SELFTEST_CLOCK] = {"-DPART_LOOPS", "loops", check_clock, NULL},
    [SELFTEST_IMAGES] = {"-DPART_IMAGES", "image_copy", check_images, has_images},
    [SELFTEST_HALF_STORE] = {"-DPART_HALF_STORE", "half_store", check_half_store, NULL},
    [SELFTEST_HALF] = {"-DPART_HALF", "halves", check_half, may_have_half},
    [SELFTEST_WIDE] = {"-DPART_WIDE", "wide", check_wide, may_have_wide},
    [SELFTEST_PTX] = {"-DPART_PTX", "ptx", check_ptx, is_nvidia},
    [SELFTEST_SUBGROUPS] = {"-DPART_SUBGROUPS -cl-std=CL2.0", "subgroups", check_subgroups, has_subgroups},
    [SELFTEST_PROGRESS] = {"-DPART_PROGRESS", "progress", check_progress, NULL},
};

static bool is_sensible(const struct hone_device *device, enum selftest_item item)
{
    return !probes[item].sensible || probes[item].sensible(device);
}

/* Remembering: one small text file per device and driver. */

static void verdict_file_name(struct hone_device *device, char name[SHA256_TEXT_SIZE])
{
    struct text identity = {0};
    uint8_t digest[SHA256_SIZE];
    device_identity(device, &identity);
    /* A part of a device, or one whose images are not used, is asked other questions. */
    text_add(&identity, "%d %d\n%u\n%s", device->is_sub_device, device->info.images, FORMAT, selftest_source);
    sha256_of(text_view(&identity), identity.length, digest);
    sha256_text(digest, name);
    text_finish(&identity);
}

static int open_folder(const struct verdict *verdict)
{
    char path[PATH_MAX];
    int fd = -1;
    if (verdict->device->no_disk ||
        file_private_folder("XDG_CACHE_HOME", ".cache", "verdicts", path, &fd, NULL) != HONE_OK)
        return -1;
    return fd;
}

static void save(const struct verdict *verdict)
{
    char name[SHA256_TEXT_SIZE];
    int fd = open_folder(verdict);
    if (fd < 0)
        return;
    struct text text = {0};
    verdict_file_name(verdict->device, name);
    text_add(&text, "hone verdict %d\n", FORMAT);
    for (int i = 0; i < SELFTEST_COUNT; i++)
        text_add(&text, "%s %c\n", items[i].name,
                 marks[verdict->passing[i] ? ANSWER_UNKNOWN : verdict->answers[i]]);
    if (!text.failed)
        file_private_write(fd, name, text_view(&text), text.length, NULL);
    text_finish(&text);
    close(fd);
}

static bool read_line(struct verdict *verdict, const char *line)
{
    for (int i = 0; i < SELFTEST_COUNT; i++) {
        size_t length = strlen(items[i].name);
        if (strncmp(line, items[i].name, length) == 0 && line[length] == ' ') {
            const char *mark = line[length + 1] ? strchr(marks, line[length + 1]) : NULL;
            if (!mark || line[length + 2] != '\0')
                return false;
            verdict->answers[i] = (enum answer)(mark - marks);
            return true;
        }
    }
    return false;
}

static void parse(struct verdict *verdict, char *text)
{
    char header[32], *save_pointer = NULL;
    snprintf(header, sizeof header, "hone verdict %d", FORMAT);
    char *line = strtok_r(text, "\n", &save_pointer);
    bool ok = line && strcmp(line, header) == 0;
    while (ok && (line = strtok_r(NULL, "\n", &save_pointer)))
        ok = read_line(verdict, line);
    if (!ok)
        memset(verdict->answers, 0, sizeof verdict->answers);
}

/* NAME.crashed says that the driver ended a process that asked. */
static void crash_name(const char *name, char path[SHA256_TEXT_SIZE + 16])
{
    snprintf(path, SHA256_TEXT_SIZE + 16, "%s.crashed", name);
}

static bool take_crash(int folder, const char *name)
{
    char path[SHA256_TEXT_SIZE + 16];
    crash_name(name, path);
    return unlinkat(folder, path, 0) == 0;
}

/* What an item is that was being asked when its process ended. */
static enum answer after_end(struct verdict *verdict, enum answer kept, bool crashed)
{
    const int ends = (int)(kept - ANSWER_RUNNING) + 1;
    if (crashed || ends >= MAX_ENDS)
        return ANSWER_FAILS;
    verdict->ends = ends;
    return ANSWER_UNKNOWN;
}

/* Fills in what is not known yet. `alone`: nobody is asking, so that what is still being asked ended its
 * process. */
static void load(struct verdict *verdict, bool alone)
{
    char name[SHA256_TEXT_SIZE];
    struct text text = {0};
    struct verdict kept = {.device = verdict->device};
    int fd = open_folder(verdict);
    if (fd < 0)
        return;
    verdict_file_name(verdict->device, name);
    if (file_private_read(fd, name, MAX_VERDICT_FILE, &text, NULL, NULL) == HONE_OK && text.data)
        parse(&kept, text.data);
    const bool crashed = alone && take_crash(fd, name);
    for (int i = 0; i < SELFTEST_COUNT; i++)
        if (verdict->answers[i] == ANSWER_UNKNOWN && kept.answers[i] < ANSWER_RUNNING)
            verdict->answers[i] = kept.answers[i];
        else if (verdict->answers[i] == ANSWER_UNKNOWN && alone)
            verdict->answers[i] = after_end(verdict, kept.answers[i], crashed);
    text_finish(&text);
    close(fd);
}

/* Asking, with the file saying what is being asked. */

/* What a signal handler needs; the lock between processes lets one question be asked at a time. */
static struct {
    volatile sig_atomic_t set;
    int folder;
    char path[SHA256_TEXT_SIZE + 16];
} asked;

void selftest_blame(void)
{
    if (asked.set)
        close(openat(asked.folder, asked.path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

static void begin_asking(const struct verdict *verdict)
{
    char name[SHA256_TEXT_SIZE];
    save(verdict);
    asked.folder = open_folder(verdict);
    verdict_file_name(verdict->device, name);
    crash_name(name, asked.path);
    asked.set = asked.folder >= 0;
}

static void end_asking(void)
{
    const bool was_set = asked.set;
    asked.set = 0;
    if (was_set)
        close(asked.folder);
}

/* The mark of an item that is being asked. */
static enum answer running(const struct verdict *verdict)
{
    return (enum answer)(ANSWER_RUNNING + verdict->ends);
}

/* A wrong answer stays wrong. But a driver that was short of something may have it next time, and no device
 * shall be condemned for ever because one call of a required item failed. */
static bool may_pass(const struct question *q, enum selftest_item item)
{
    return q->error.status && (item < SELFTEST_CLOCK || q->error.status == HONE_ERROR_MEMORY ||
                               q->error.cl_code == CL_OUT_OF_RESOURCES);
}

static void note(struct verdict *verdict, const struct question *q, enum selftest_item item, bool holds)
{
    verdict->answers[item] = holds ? ANSWER_HOLDS : ANSWER_FAILS;
    verdict->passing[item] = !holds && may_pass(q, item);
}

static void ask_alone(struct verdict *verdict, enum selftest_item item)
{
    const struct probe *probe = &probes[item];
    struct question q;
    struct kernel *kernel = NULL;
    verdict->answers[item] = running(verdict);
    begin_asking(verdict);
    bool ok = question_begin(&q, verdict->device, probe->options) &&
              kernel_create(&kernel, q.program, probe->kernel, &q.error) == HONE_OK &&
              probe->check(&q, kernel);
    kernel_destroy(&kernel);
    note(verdict, &q, item, ok);
    question_end(&q);
    end_asking();
}

static void set_core(struct verdict *verdict, enum answer answer)
{
    for (int i = 0; i < SELFTEST_CLOCK; i++)
        verdict->answers[i] = answer;
}

/* Where the kernel also tries wide vectors, these alone are suspected of ending the process. Anything but
 * right answers leaves the items unknown: each is then asked by itself. */
static void ask_core(struct verdict *verdict)
{
    struct question q;
    struct kernel *kernel = NULL;
    const bool wide =
        verdict->answers[SELFTEST_WIDE] == ANSWER_UNKNOWN && is_sensible(verdict->device, SELFTEST_WIDE);
    if (wide)
        verdict->answers[SELFTEST_WIDE] = running(verdict);
    else
        set_core(verdict, running(verdict));
    begin_asking(verdict);
    bool ok = question_begin(&q, verdict->device, wide ? "-DPART_CORE -DPART_WIDE" : "-DPART_CORE") &&
              kernel_create(&kernel, q.program, "core", &q.error) == HONE_OK && check_core(&q, kernel, wide);
    set_core(verdict, ok ? ANSWER_HOLDS : ANSWER_UNKNOWN);
    if (wide)
        verdict->answers[SELFTEST_WIDE] = ok ? ANSWER_HOLDS : ANSWER_UNKNOWN;
    if (ok && verdict->answers[SELFTEST_CLOCK] == ANSWER_UNKNOWN)
        note(verdict, &q, SELFTEST_CLOCK, check_clock(&q, kernel));
    kernel_destroy(&kernel);
    question_end(&q);
    end_asking();
}

static bool core_is_unknown(const struct verdict *verdict)
{
    for (int i = 0; i < SELFTEST_CLOCK; i++)
        if (verdict->answers[i] != ANSWER_UNKNOWN)
            return false;
    return true;
}

static void find_answer(struct verdict *verdict, enum selftest_item item)
{
    const bool in_core = item <= SELFTEST_CLOCK || item == SELFTEST_WIDE;
    if (verdict->answers[item] == ANSWER_UNKNOWN && !is_sensible(verdict->device, item))
        verdict->answers[item] = ANSWER_FAILS;
    if (verdict->answers[item] != ANSWER_UNKNOWN)
        return;
    if (in_core && core_is_unknown(verdict))
        ask_core(verdict);
    if (verdict->answers[item] == ANSWER_UNKNOWN)
        ask_alone(verdict, item);
    verdict->ends = 0;
    save(verdict);
}

static void load_or_ask(struct verdict *verdict, enum selftest_item item)
{
    if (!verdict->loaded)
        load(verdict, false);
    verdict->loaded = true;
    if (verdict->answers[item] != ANSWER_UNKNOWN || !is_sensible(verdict->device, item))
        return;
    int lock = build_lock();
    load(verdict, true); /* with the lock in hand */
    find_answer(verdict, item);
    if (lock >= 0)
        close(lock);
}

static hone_status make_verdict(struct hone_device *device, void **object, hone_error *error)
{
    struct verdict *verdict = mem_new(1, sizeof *verdict);
    if (!verdict)
        return error_memory(error, "a self-test");
    verdict->device = device;
    pthread_mutex_init(&verdict->lock, NULL);
    *object = verdict;
    return HONE_OK;
}

static void destroy_verdict(void *object)
{
    struct verdict *verdict = object;
    pthread_mutex_destroy(&verdict->lock);
    free(verdict);
}

static const char verdict_key;

static struct verdict *verdict_of(hone_device *device)
{
    void *object = NULL;
    return device_attachment(device, &verdict_key, make_verdict, destroy_verdict, &object, NULL) == HONE_OK
               ? object
               : NULL;
}

bool selftest_holds(hone_device *device, enum selftest_item item)
{
    struct verdict *verdict = verdict_of(device);
    if (!verdict)
        return false;
    pthread_mutex_lock(&verdict->lock);
    load_or_ask(verdict, item);
    bool holds = verdict->answers[item] == ANSWER_HOLDS;
    pthread_mutex_unlock(&verdict->lock);
    return holds;
}

bool selftest_passes(hone_device *device)
{
    for (int i = 0; i < SELFTEST_CLOCK; i++)
        if (!selftest_holds(device, (enum selftest_item)i))
            return false;
    return true;
}

/* True for the first caller. */
static bool take_warning(struct verdict *verdict)
{
    pthread_mutex_lock(&verdict->lock);
    bool first = !verdict->warned;
    verdict->warned = true;
    pthread_mutex_unlock(&verdict->lock);
    return first;
}

void selftest_warn(hone_device *device)
{
    struct verdict *verdict = verdict_of(device);
    if (!verdict || !take_warning(verdict))
        return;
    for (int i = 0; i < SELFTEST_CLOCK; i++)
        if (!selftest_holds(device, (enum selftest_item)i))
            device_log(device, HONE_LOG_WARNING,
                       "device '%s' fails the '%s' check of its self-test (%s): %s; see `hone doctor`",
                       device->info.name, items[i].name, items[i].meaning, items[i].without);
}

hone_status selftest_run(hone_device *device, double *milliseconds, hone_error *error)
{
    struct verdict *verdict = verdict_of(device);
    if (!verdict)
        return error_memory(error, "a self-test");
    pthread_mutex_lock(&verdict->lock);
    int lock = build_lock();
    uint64_t start = clock_ns();
    memset(verdict->answers, 0, sizeof verdict->answers);
    memset(verdict->passing, 0, sizeof verdict->passing);
    verdict->loaded = true;
    for (int i = 0; i < SELFTEST_COUNT; i++)
        find_answer(verdict, (enum selftest_item)i);
    save(verdict);
    if (milliseconds)
        *milliseconds = (double)(clock_ns() - start) * 1e-6;
    if (lock >= 0)
        close(lock);
    pthread_mutex_unlock(&verdict->lock);
    return HONE_OK;
}

void selftest_forget(size_t *files, uint64_t *bytes)
{
    char path[PATH_MAX];
    int fd = -1;
    if (file_private_folder("XDG_CACHE_HOME", ".cache", "verdicts", path, &fd, NULL) != HONE_OK)
        return;
    DIR *list = fdopendir(fd);
    if (!list)
        close(fd);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            file_tree_remove(dirfd(list), entry->d_name, bytes))
            ++*files;
    if (list)
        closedir(list);
}

bool hone_device_feature(hone_device *device, size_t index, hone_feature_info *out)
{
    if (index >= SELFTEST_COUNT || !out || device_check(device, "hone_device_feature", NULL) != HONE_OK)
        return false;
    enum selftest_item item = (enum selftest_item)index;
    *out = (hone_feature_info){items[item].name, items[item].meaning, items[item].without,
                               item < SELFTEST_CLOCK, selftest_holds(device, item)};
    return true;
}

hone_status hone_device_self_test(hone_device *device, double *milliseconds, hone_error *error)
{
    hone_status status = device_check(device, "hone_device_self_test", error);
    return status ? status : selftest_run(device, milliseconds, error);
}
