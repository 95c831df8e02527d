/* SPDX-License-Identifier: BSD-2-Clause */
/* hone cache precompile: compiles what the usual filters need, for all users of the machine. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/precompiled.h"
#include "cl/device.h"
#include "cl/selftest.h"
#include "cli/apply/apply.h"
#include "cli/cache/cache.h"
#include "cli/show.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "filter/registry.h"
#include "hone/plan.h"
#include "image/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Photographs and frames of video: choices depend on the size. */
static const struct {
    uint32_t width, height;
} sizes[] = {{3264, 2448}, {1920, 1080}};

/* usual: of a filter's usual parameters alone. */
static const struct {
    hone_type type;
    uint32_t channels;
    bool usual;
} formats[] = {
    {HONE_U8, 1, false}, {HONE_U8, 3, false}, {HONE_U8, 4, true}, {HONE_U16, 1, true}, {HONE_U16, 3, true}};

struct work {
    const struct common_options *common;
    struct precompiler made;
    atomic_uint *next; /* in memory that all workers share: a filter of a device that nobody has taken */
    unsigned taken, passed;
};

/* What cannot be compiled now is left to whoever asks for it. variant: NULL: what is chosen. */
static void compile_plan(struct work *work, hone_device *device, const hone_chain *chain,
                         const hone_image_desc *desc, const char *variant)
{
    const bool two = registry_find(hone_chain_filter(chain, 0))->inputs > 1;
    const hone_plan_options options = {
        .variant = variant, .second = two ? desc : NULL, .second_count = two ? 1 : 0};
    hone_plan *plan = NULL;
    hone_error error;
    if (hone_plan_create(&plan, device, chain, desc, &options, &error))
        cli_note(work->common, "%s: %s", hone_chain_filter(chain, 0), error.message);
    hone_plan_destroy(&plan);
    precompiler_add(&work->made);
}

/* One by one: what is compiled together can only be taken together. */
static hone_status compile_steps(struct work *work, hone_device *device, const hone_chain *chain,
                                 const hone_image_desc *desc, hone_error *error)
{
    struct filter_case cases[3];
    if (chain->count > COUNT_OF(cases))
        return error_unsupported(error, "more steps than weighing by alpha has");
    TRY(chain_cases(cases, chain, desc, NULL, 0, error));
    hone_status status = HONE_OK;
    for (size_t i = 0; i < chain->count && !status; i++) {
        struct text text = {0};
        hone_chain *step = NULL;
        case_describe(&cases[i], &text);
        status = hone_chain_parse(&step, text_view(&text), error);
        if (!status)
            compile_plan(work, device, step, &cases[i].in, NULL);
        hone_chain_destroy(&step);
        text_finish(&text);
    }
    chain_cases_finish(cases, chain->count);
    return status;
}

/* As `hone apply` runs a filter on pictures with alpha. */
static hone_status compile_with_alpha(struct work *work, hone_device *device, const hone_chain *chain,
                                      const hone_image_desc *desc, hone_error *error)
{
    hone_chain *weighed = NULL;
    size_t moved;
    TRY(alpha_chain(&weighed, &moved, chain, ALPHA_WEIGH, desc, NULL, 0, error));
    hone_status status = compile_steps(work, device, weighed, desc, error);
    hone_chain_destroy(&weighed);
    return status;
}

static void compile_variants(struct work *work, hone_device *device, const struct hone_filter *filter,
                             const char *text, const hone_image_desc *desc)
{
    hone_chain *chain = NULL;
    hone_error error;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (!status && desc_has_alpha(desc) && filter->inputs == 1) {
        status = compile_with_alpha(work, device, chain, desc, &error);
    } else if (!status) {
        compile_plan(work, device, chain, desc, NULL);
        for (size_t i = 0; i < filter->variant_count; i++)
            if (filter->variants[i].general)
                compile_plan(work, device, chain, desc, filter->variants[i].name);
    }
    if (status)
        cli_note(work->common, "%s: %s", text, error.message);
    hone_chain_destroy(&chain);
}

static void compile_formats(struct work *work, hone_device *device, const struct hone_filter *filter,
                            const char *text, bool usual)
{
    for (size_t size = 0; size < COUNT_OF(sizes); size++)
        for (size_t i = 0; i < COUNT_OF(formats); i++) {
            const hone_image_desc desc = {.width = sizes[size].width,
                                          .height = sizes[size].height,
                                          .type = formats[i].type,
                                          .channels = formats[i].channels};
            if (filter_takes(filter, &desc) && (usual || !formats[i].usual))
                compile_variants(work, device, filter, text, &desc);
        }
}

static void compile_texts(struct work *work, hone_device *device, const struct hone_filter *filter,
                          bool (*next)(const struct hone_filter *, size_t, struct text *), bool usual)
{
    struct text chain = {0};
    for (size_t i = 0; next(filter, i, &chain); i++) {
        compile_formats(work, device, filter, text_view(&chain), usual);
        text_finish(&chain);
        chain = (struct text){0};
    }
    text_finish(&chain);
}

static void compile_filter(struct work *work, hone_device *device, const struct hone_filter *filter)
{
    compile_texts(work, device, filter, filter_usual, true);
    compile_texts(work, device, filter, filter_ahead, false);
}

/* All workers pass the filters of all devices in the same order. */
static bool is_mine(struct work *work)
{
    const bool mine = work->passed++ == work->taken;
    if (mine)
        work->taken = atomic_fetch_add(work->next, 1);
    return mine;
}

/* Its programs belong to no filter, whichever a worker begins with: the verdict is what is kept of it. */
static void pass_selftest(struct work *work, hone_device *device)
{
    for (int i = 0; i < SELFTEST_COUNT; i++)
        selftest_holds(device, (enum selftest_item)i);
    precompiler_add(&work->made);
}

static hone_status compile_device(struct work *work, unsigned index, hone_error *error)
{
    char spec[16];
    const hone_device_request request = {.spec = spec};
    const struct hone_filter *filter;
    hone_device *device = NULL;
    snprintf(spec, sizeof spec, "%u", index);
    hone_status status = hone_device_open(&device, &request, error);
    if (!status)
        pass_selftest(work, device);
    for (size_t i = 0; !status && (filter = registry_at(i)); i++)
        if (is_mine(work))
            compile_filter(work, device, filter);
    hone_device_close(&device);
    return status;
}

static hone_status compile_all(struct work *work, hone_error *error)
{
    hone_device_info *list = NULL;
    size_t count = 0;
    hone_status status = hone_device_list(&list, &count, error);
    work->taken = atomic_fetch_add(work->next, 1);
    for (size_t i = 0; i < count && !status; i++)
        if (list[i].kind == HONE_DEVICE_CPU && device_info_is_pocl(&list[i]))
            status = compile_device(work, list[i].index, error);
    hone_device_list_free(&list);
    return status;
}

/* ---- Workers: PoCL compiles one program at a time in a process ---- */

enum { MOST_WORKERS = 8 };

static bool part_name(char path[PATH_MAX], unsigned number, const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    return snprintf(path, PATH_MAX, "%s/%u%s", cache, number, name) < PATH_MAX;
}

/* In a process of its own, with a cache of its own. */
static int work_apart(struct work *work, unsigned number)
{
    char cache[PATH_MAX], part[PATH_MAX];
    hone_error error;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!part_name(part, number, ".part") || !part_name(cache, number, "") || mkdir(cache, 0700) != 0)
        return EXIT_IO;
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("XDG_DATA_HOME", cache, 1);
    hone_status status = compile_all(work, &error);
    THEN(status, precompiler_write(&work->made, part, &error));
    return status ? cli_fail(work->common, &error) : EXIT_DONE;
}

/* Of what a worker left undone, whoever needs it compiles it. */
static void collect(struct work *work, unsigned number, pid_t pid, unsigned *done)
{
    char part[PATH_MAX];
    hone_error error = {0};
    int ended = 0;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        ;
    const bool merged = ended == 0 && part_name(part, number, ".part") &&
                        precompiler_merge(&work->made, part, &error) == HONE_OK;
    *done += merged;
    if (!merged)
        cli_warn(work->common, "a process that compiles has failed%s%s", error.message[0] ? ": " : "",
                 error.message);
}

static unsigned worker_count(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors < MOST_WORKERS ? (unsigned)processors : MOST_WORKERS;
}

static hone_status compile_by_workers(struct work *work, hone_error *error)
{
    pid_t workers[MOST_WORKERS];
    unsigned count = 0, done = 0;
    work->next = mmap(NULL, sizeof *work->next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work->next == MAP_FAILED)
        return error_memory(error, "what processes share");
    for (const unsigned wanted = worker_count(); count < wanted; count++) {
        workers[count] = fork();
        if (workers[count] == 0)
            _exit(work_apart(work, count));
        if (workers[count] < 0)
            break;
    }
    for (unsigned i = 0; i < count; i++)
        collect(work, i, workers[i], &done);
    munmap(work->next, sizeof *work->next);
    return done > 0 ? HONE_OK : error_io(error, "nothing could be compiled");
}

/* .precompile-PID is the cache of a process that is at work. */
static const char prefix[] = ".precompile-";

/* Removes those of processes that were killed, and this one's. */
static void clean_up(const char *folder)
{
    uint64_t bytes = 0;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? file_list_folder(fd, ".") : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        const long process = text_starts(entry->d_name, prefix) ? atol(entry->d_name + sizeof prefix - 1) : 0;
        if (process > 0 && (process == getpid() || file_process_is_gone(process)))
            file_tree_remove(fd, entry->d_name, &bytes);
    }
    if (list)
        closedir(list);
    if (fd >= 0)
        close(fd);
}

/* A cache of its own beside the file, which takes what an older file holds; nothing of the user is in it. */
static hone_status set_up(const char *file, const char *folder, hone_error *error)
{
    char cache[PATH_MAX];
    clean_up(folder);
    if (snprintf(cache, sizeof cache, "%s/%s%ld", folder, prefix, (long)getpid()) >= (int)sizeof cache)
        return error_io(error, "the name of the file is too long");
    if (mkdir(cache, 0700) != 0)
        return error_io(error, "cannot make a folder in '%s': %s", folder, strerror(errno));
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("XDG_DATA_HOME", cache, 1);
    setenv("HONE_PRECOMPILED", file, 1);
    unsetenv("POCL_CACHE_DIR");
    unsetenv("POCL_KERNEL_CACHE");
    unsetenv("HONE_KEEP_ENVIRONMENT");
    umask(022); /* all users read the file */
    return HONE_OK;
}

/* With those above it, as below a prefix where nothing else has put files. False: errno says why. */
static bool make_folders(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* The absolute names of `file` and its folder, which is made if need be. */
static hone_status find_place(const char *file, char path[PATH_MAX], char folder[PATH_MAX], hone_error *error)
{
    char above[PATH_MAX], last[PATH_MAX];
    if (strlen(file) >= PATH_MAX)
        return error_io(error, "the name of the file is too long");
    snprintf(above, sizeof above, "%s", file);
    snprintf(last, sizeof last, "%s", file);
    const char *given = dirname(above);
    if (!make_folders(given))
        return error_io(error, "cannot make the folder '%s': %s", given, strerror(errno));
    if (!realpath(given, folder))
        return error_io(error, "cannot use the folder '%s': %s", given, strerror(errno));
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, basename(last));
    return length < PATH_MAX ? HONE_OK : error_io(error, "the name of the file is too long");
}

static int report(const struct work *work, const char *path, double seconds)
{
    char size[32];
    const uint64_t bytes = work->made.index.length + work->made.body.length;
    if (work->common->json)
        return cli_reported(work->common,
                            cli_print_json(json_pack("{s:s, s:I, s:I, s:f}", "file", path, "programs",
                                                     (json_int_t)work->made.programs, "bytes",
                                                     (json_int_t)bytes, "seconds", seconds)));
    show_bytes(bytes, size, sizeof size);
    if (!work->common->quiet)
        printf("%s, %s, in %.1f s: %s\n", show_count(work->made.programs, "program").text, size, seconds,
               path);
    return EXIT_DONE;
}

static int compile_into(struct work *work, const char *path, hone_error *error)
{
    const uint64_t start = clock_ns();
    hone_status status = compile_by_workers(work, error);
    THEN(status, precompiler_write(&work->made, path, error));
    return status ? cli_fail(work->common, error) : report(work, path, (double)(clock_ns() - start) * 1e-9);
}

int cache_precompile(const struct common_options *common, const char *file)
{
    char path[PATH_MAX], folder[PATH_MAX], usual[FILE_BESIDE_SIZE];
    struct work work = {.common = common};
    hone_error error;
    precompiled_usual_place(usual);
    hone_status status = find_place(file ? file : usual, path, folder, &error);
    THEN(status, set_up(path, folder, &error));
    if (status)
        return cli_fail(common, &error);
    const int exit_status = compile_into(&work, path, &error);
    precompiler_finish(&work.made);
    clean_up(folder);
    return exit_status;
}
