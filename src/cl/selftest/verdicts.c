/* SPDX-License-Identifier: BSD-2-Clause */
/* What devices answered: asked when needed, remembered on disk. */
#include "cl/selftest.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/builds.h"
#include "cl/internal.h"
#include "cl/program.h"
#include "cl/selftest/questions.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT = 1, MAX_VERDICT_FILE = 4096 };

/* Unknown: not asked yet. Running: was being asked when the process ended, as it was before in so many
 * earlier processes as are added to it. That makes it a failure where the driver ended the process. Where too
 * many ended, nobody knows of what, it is one until the marks are old: kills from outside say nothing. */
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
    bool often[SELFTEST_COUNT];   /* too many ended in it: the marks stay on disk, not a failure */
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
    [SELFTEST_IN_PLACE] = {"in-place", "kernels work at the host's addresses (CPUs)",
                           "wrapped memory is mapped and unmapped"},
};

const char *selftest_item_name(enum selftest_item item)
{
    return items[item].name;
}

/* Remembering: one small text file per device and driver. */

static void verdict_file_name(struct hone_device *device, char name[SHA256_TEXT_SIZE])
{
    struct text identity = {0};
    device_identity(device, &identity);
    /* A part of a device, or one whose images are not used, is asked other questions. */
    text_add(&identity, "%d %d\n%u\n%s", device->is_sub_device, device->info.images, FORMAT, selftest_source);
    sha256_text_of(text_view(&identity), identity.length, name);
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
                 marks[verdict->often[i]     ? ANSWER_RUNNING + MAX_ENDS - 1
                       : verdict->passing[i] ? ANSWER_UNKNOWN
                                             : verdict->answers[i]]);
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

static bool is_recent(int folder, const char *name)
{
    struct stat info;
    return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && clock_is_recent(info.st_mtime);
}

/* What an item is that was being asked when its process ended: so many did, `ends`. */
static enum answer after_end(struct verdict *verdict, int item, int ends, bool crashed)
{
    verdict->often[item] = !crashed && ends >= MAX_ENDS;
    if (crashed || ends >= MAX_ENDS)
        return ANSWER_FAILS;
    verdict->ends = ends;
    return ANSWER_UNKNOWN;
}

/* What is remembered, or was found at hone's installation, which is remembered from now on. */
static void read_verdict(struct verdict *kept, int folder, const char *name)
{
    struct text text = {0};
    if (file_private_read(folder, name, MAX_VERDICT_FILE, &text, NULL, NULL) != HONE_OK &&
        build_precompiled_verdict(name, &text))
        file_private_write(folder, name, text_view(&text), text.length, NULL);
    if (text.data)
        parse(kept, text.data);
    text_finish(&text);
}

/* Fills in what is not known yet. `alone`: nobody is asking, so that what is still being asked ended its
 * process. */
static void load(struct verdict *verdict, bool alone)
{
    char name[SHA256_TEXT_SIZE];
    struct verdict kept = {.device = verdict->device};
    int fd = open_folder(verdict);
    if (fd < 0)
        return;
    verdict_file_name(verdict->device, name);
    read_verdict(&kept, fd, name);
    const bool crashed = alone && take_crash(fd, name), recent = is_recent(fd, name);
    for (int i = 0; i < SELFTEST_COUNT; i++)
        if (verdict->answers[i] == ANSWER_UNKNOWN && kept.answers[i] < ANSWER_RUNNING)
            verdict->answers[i] = kept.answers[i];
        else if (verdict->answers[i] == ANSWER_UNKNOWN && alone)
            verdict->answers[i] =
                after_end(verdict, i, recent ? (int)(kept.answers[i] - ANSWER_RUNNING) + 1 : 0, crashed);
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

static bool answer_is_right(struct question *q, enum selftest_item item)
{
    const struct question_probe *probe = &question_probes[item];
    struct kernel *kernel = NULL;
    const bool ok =
        kernel_create(&kernel, q->program, probe->kernel, &q->error) == HONE_OK && probe->check(q, kernel);
    kernel_destroy(&kernel);
    return ok;
}

static void ask_alone(struct verdict *verdict, enum selftest_item item)
{
    struct question q;
    verdict->answers[item] = running(verdict);
    begin_asking(verdict);
    const bool ok =
        question_begin(&q, verdict->device, question_probes[item].options) && answer_is_right(&q, item);
    note(verdict, &q, item, ok);
    question_end(&q);
    end_asking();
}

static void set_core(struct verdict *verdict, enum answer answer)
{
    for (int i = 0; i < SELFTEST_CLOCK; i++)
        verdict->answers[i] = answer;
}

/* What a kind of device is asked before its first kernel, too: CPUs wide vectors, NVIDIA PTX. SELFTEST_COUNT:
 * nothing that is not known. */
static enum selftest_item companion(const struct verdict *verdict)
{
    static const enum selftest_item beside[] = {SELFTEST_WIDE, SELFTEST_PTX};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (verdict->answers[beside[i]] == ANSWER_UNKNOWN && question_is_sensible(verdict->device, beside[i]))
            return beside[i];
    return SELFTEST_COUNT;
}

/* GPUs compile this one with the core: a program of its own takes them four times as long. */
static bool has_progress(const struct verdict *verdict)
{
    return verdict->device->info.kind == HONE_DEVICE_GPU &&
           verdict->answers[SELFTEST_PROGRESS] == ANSWER_UNKNOWN;
}

static void core_options(char *options, size_t size, enum selftest_item beside, bool progress)
{
    const bool some = beside < SELFTEST_COUNT;
    snprintf(options, size, "-DPART_CORE%s%s%s%s", some ? " " : "",
             some ? question_probes[beside].options : "", progress ? " " : "",
             progress ? question_probes[SELFTEST_PROGRESS].options : "");
}

/* It alone is suspected if it ends the process. */
static void ask_progress(struct verdict *verdict, struct question *q)
{
    end_asking();
    verdict->answers[SELFTEST_PROGRESS] = running(verdict);
    begin_asking(verdict);
    memset(q->words, 0, ANSWERS * sizeof *q->words);
    note(verdict, q, SELFTEST_PROGRESS, answer_is_right(q, SELFTEST_PROGRESS));
}

/* Where the program also has what only some devices are asked, that alone is suspected of ending the process.
 * Anything but right answers leaves the items unknown: each is then asked by itself. */
static void ask_core(struct verdict *verdict)
{
    struct question q;
    struct kernel *kernel = NULL;
    char options[64];
    const enum selftest_item beside = companion(verdict);
    const bool progress = has_progress(verdict);
    if (beside < SELFTEST_COUNT)
        verdict->answers[beside] = running(verdict);
    else
        set_core(verdict, running(verdict));
    begin_asking(verdict);
    core_options(options, sizeof options, beside, progress);
    const bool ok = question_begin(&q, verdict->device, options) &&
                    kernel_create(&kernel, q.program, "core", &q.error) == HONE_OK &&
                    question_core(&q, kernel, beside == SELFTEST_WIDE) &&
                    (beside != SELFTEST_PTX || answer_is_right(&q, SELFTEST_PTX));
    set_core(verdict, ok ? ANSWER_HOLDS : ANSWER_UNKNOWN);
    if (beside < SELFTEST_COUNT)
        verdict->answers[beside] = ok ? ANSWER_HOLDS : ANSWER_UNKNOWN;
    if (ok && verdict->answers[SELFTEST_CLOCK] == ANSWER_UNKNOWN)
        note(verdict, &q, SELFTEST_CLOCK, question_clock(&q, kernel));
    if (ok && verdict->answers[SELFTEST_IN_PLACE] == ANSWER_UNKNOWN &&
        question_is_sensible(verdict->device, SELFTEST_IN_PLACE))
        note(verdict, &q, SELFTEST_IN_PLACE, question_in_place(&q, kernel));
    if (ok && progress)
        ask_progress(verdict, &q);
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
    if (verdict->answers[item] == ANSWER_UNKNOWN && !question_is_sensible(verdict->device, item))
        verdict->answers[item] = ANSWER_FAILS;
    if (verdict->answers[item] != ANSWER_UNKNOWN)
        return;
    const bool beside_core =
        item <= SELFTEST_CLOCK || item == SELFTEST_IN_PLACE || item == companion(verdict);
    if (beside_core && core_is_unknown(verdict))
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
    if (verdict->answers[item] != ANSWER_UNKNOWN || !question_is_sensible(verdict->device, item))
        return;
    int lock = build_lock(verdict->device);
    load(verdict, true); /* with the lock in hand */
    find_answer(verdict, item);
    build_unlock(lock);
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

void selftest_assume(hone_device *device, enum selftest_item item, bool holds)
{
    struct verdict *verdict = verdict_of(device);
    if (!verdict)
        return;
    pthread_mutex_lock(&verdict->lock);
    if (!verdict->loaded)
        load(verdict, false);
    verdict->loaded = true;
    verdict->answers[item] = holds ? ANSWER_HOLDS : ANSWER_FAILS;
    pthread_mutex_unlock(&verdict->lock);
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
    if (!selftest_holds(device, SELFTEST_BUILD) && program_check_room(device, false, NULL))
        return; /* a full disk says nothing of the device, and what is built next fails with a word on it */
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
    int lock = build_lock(verdict->device);
    uint64_t start = clock_ns();
    memset(verdict->answers, 0, sizeof verdict->answers);
    memset(verdict->passing, 0, sizeof verdict->passing);
    memset(verdict->often, 0, sizeof verdict->often);
    verdict->loaded = true;
    for (int i = 0; i < SELFTEST_COUNT; i++)
        find_answer(verdict, (enum selftest_item)i);
    save(verdict);
    if (milliseconds)
        *milliseconds = (double)(clock_ns() - start) * 1e-6;
    build_unlock(lock);
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
