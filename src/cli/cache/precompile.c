/* SPDX-License-Identifier: BSD-2-Clause */
/* hone cache precompile: compiles what the usual filters need, for all users of the machine. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cache/precompiled.h"
#include "cl/device.h"
#include "cli/cache/cache.h"
#include "cli/show.h"
#include "filter/registry.h"
#include "hone/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Photographs and frames of video: choices depend on the size. */
static const struct {
    uint32_t width, height;
} sizes[] = {{3264, 2448}, {1920, 1080}};
static const uint32_t channels[] = {1, 3};

struct work {
    const struct common_options *common;
    struct precompiler made;
};

/* What cannot be compiled now is left to whoever asks for it. variant: NULL: what is chosen. */
static void compile_plan(struct work *work, hone_device *device, const char *text,
                         const hone_image_desc *desc, const char *variant)
{
    hone_plan_options options = {.variant = variant};
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (!status && registry_find(hone_chain_filter(chain, 0))->inputs > 1) {
        options.second = desc;
        options.second_count = 1;
    }
    THEN(status, hone_plan_create(&plan, device, chain, desc, &options, &error));
    if (status)
        cli_note(work->common, "%s: %s", text, error.message);
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    precompiler_add(&work->made);
}

static void compile_variants(struct work *work, hone_device *device, const struct hone_filter *filter,
                             const char *text, const hone_image_desc *desc)
{
    compile_plan(work, device, text, desc, NULL);
    for (size_t i = 0; i < filter->variant_count; i++)
        if (filter->variants[i].general)
            compile_plan(work, device, text, desc, filter->variants[i].name);
}

static void compile_filter(struct work *work, hone_device *device, const struct hone_filter *filter)
{
    struct text chain = {0};
    for (size_t i = 0; filter_ahead(filter, i, &chain); i++) {
        for (size_t size = 0; size < COUNT_OF(sizes); size++)
            for (size_t c = 0; c < COUNT_OF(channels); c++) {
                const hone_image_desc desc = {.width = sizes[size].width,
                                              .height = sizes[size].height,
                                              .type = HONE_U8,
                                              .channels = channels[c]};
                if (filter_takes(filter, &desc))
                    compile_variants(work, device, filter, text_view(&chain), &desc);
            }
        text_finish(&chain);
        chain = (struct text){0};
    }
    text_finish(&chain);
}

static hone_status compile_device(struct work *work, unsigned index, hone_error *error)
{
    char spec[16];
    const hone_device_request request = {.spec = spec};
    const struct hone_filter *filter;
    hone_device *device = NULL;
    snprintf(spec, sizeof spec, "%u", index);
    hone_status status = hone_device_open(&device, &request, error);
    for (size_t i = 0; !status && (filter = registry_at(i)); i++)
        compile_filter(work, device, filter);
    hone_device_close(&device);
    return status;
}

static hone_status compile_all(struct work *work, hone_error *error)
{
    hone_device_info *list = NULL;
    size_t count = 0;
    hone_status status = hone_device_list(&list, &count, error);
    for (size_t i = 0; i < count && !status; i++)
        if (list[i].kind == HONE_DEVICE_CPU && device_info_is_pocl(&list[i]))
            status = compile_device(work, list[i].index, error);
    hone_device_list_free(&list);
    return status;
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

/* The absolute names of `file` and its folder, which is made if need be. */
static hone_status find_place(const char *file, char path[PATH_MAX], char folder[PATH_MAX], hone_error *error)
{
    char above[PATH_MAX], last[PATH_MAX];
    if (strlen(file) >= PATH_MAX)
        return error_io(error, "the name of the file is too long");
    snprintf(above, sizeof above, "%s", file);
    snprintf(last, sizeof last, "%s", file);
    const char *given = dirname(above);
    if (mkdir(given, 0755) != 0 && errno != EEXIST)
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
    hone_status status = compile_all(work, error);
    THEN(status, precompiler_write(&work->made, path, error));
    return status ? cli_fail(work->common, error) : report(work, path, (double)(clock_ns() - start) * 1e-9);
}

int cache_precompile(const struct common_options *common, const char *file)
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct work work = {.common = common};
    hone_error error;
    hone_status status = find_place(file ? file : precompiled_usual_place(), path, folder, &error);
    THEN(status, set_up(path, folder, &error));
    if (status)
        return cli_fail(common, &error);
    const int exit_status = compile_into(&work, path, &error);
    precompiler_finish(&work.made);
    clean_up(folder);
    return exit_status;
}
