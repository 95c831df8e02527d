/* SPDX-License-Identifier: BSD-2-Clause */
#include "support.h"

#include "filter/case.h"
#include "filter/chain.h"
#include "filter/check.h"
#include "image/pattern.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

const char *support_folder(void)
{
    static char folders[8][PATH_MAX];
    static unsigned next;
    const char *base = getenv("TMPDIR");
    char *folder = folders[next++ % 8];
    snprintf(folder, PATH_MAX, "%s/hone-XXXXXX", base ? base : "/tmp");
    REQUIRE(mkdtemp(folder) != NULL);
    return folder;
}

const char *support_path(const char *folder, const char *name)
{
    static char paths[16][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 16];
    REQUIRE(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
    return path;
}

void support_write(const char *path, const void *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE(write(fd, bytes, count) == (ssize_t)count);
    REQUIRE(close(fd) == 0);
}

char *support_read(const char *path, size_t *count)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    REQUIRE(fstat(fd, &info) == 0);
    char *bytes = malloc((size_t)info.st_size + 1);
    REQUIRE(bytes && read(fd, bytes, (size_t)info.st_size) == info.st_size);
    bytes[info.st_size] = '\0';
    close(fd);
    if (count)
        *count = (size_t)info.st_size;
    return bytes;
}

bool support_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

size_t support_count_files(const char *folder, const char *part)
{
    size_t count = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            count += !part || strstr(entry->d_name, part);
    if (list)
        closedir(list);
    return count;
}

void support_obey_permissions(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    REQUIRE(syscall(SYS_capget, &header, sets) == 0);
    sets[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER);
    REQUIRE(syscall(SYS_capset, &header, sets) == 0);
}

int support_in_child(void (*function)(void *user), void *user)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        function(user);
        exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

hone_device *support_open(const hone_device_request *request)
{
    hone_device *device = NULL;
    hone_error error;
    REQUIRE_OK(hone_device_open(&device, request, &error));
    return device;
}

bool support_is_pocl(const hone_device *device)
{
    return strcmp(hone_device_get_info(device)->platform, "Portable Computing Language") == 0;
}

hone_device *support_open_quick(void)
{
    hone_device *device = support_open(NULL);
    if (support_is_pocl(device)) {
        hone_device_close(&device);
        device = support_open(&(hone_device_request){.no_disk_cache = true});
    }
    return device;
}

const char *support_kernel_folder(const char *filter, const char *from)
{
    char command[4 * PATH_MAX];
    const char *folder = support_folder();
    snprintf(command, sizeof command,
             "mkdir -p %s/filter %s/filters/%s && cp src/filter/*.clh %s/filter && "
             "cp src/filters/*.clh %s/filters && cp %s/*.cl* %s/filters/%s",
             folder, folder, filter, folder, folder, from, folder, filter);
    REQUIRE(system(command) == 0);
    return folder;
}

const char *support_beside_program(const char *name)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    REQUIRE(length > 0);
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    return support_path(program, name);
}

hone_plan *support_plan(hone_device *device, const char *text, const hone_image_desc *input,
                        const hone_plan_options *options)
{
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    REQUIRE_OK(hone_plan_create(&plan, device, chain, input, options, &error));
    hone_chain_destroy(&chain);
    return plan;
}

struct view support_expected(const char *text, const struct view *in)
{
    hone_chain *chain = NULL;
    hone_error error;
    struct filter_case c;
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    REQUIRE_OK(case_copy(&c, &chain->steps[0].c, &error));
    REQUIRE_OK(case_prepare(&c, &in->desc, NULL, &error));
    struct view out = view_new(&c.out);
    REQUIRE(out.data != NULL);
    c.filter->reference(&c, in, NULL, &out);
    case_finish(&c);
    hone_chain_destroy(&chain);
    return out;
}

struct view support_picture(uint32_t width, uint32_t height, hone_type type, uint32_t channels, uint32_t seed)
{
    const hone_image_desc desc = {width, height, type, channels, 0};
    struct view view = view_new(&desc);
    REQUIRE(view.data != NULL);
    pattern_fill(&view, PATTERN_RANDOM, seed);
    return view;
}

bool support_same(const char *file, int line, const struct view *got, const struct view *wanted, double bound)
{
    struct check_result result = {0};
    check_compare(got, wanted, bound, &result);
    if (result.wrong)
        test_fail(file, line, "pixel (%lld,%lld) channel %u is %.9g, should be %.9g; %llu elements are wrong",
                  (long long)result.x, (long long)result.y, result.channel, result.got, result.wanted,
                  (unsigned long long)result.wrong);
    return result.wrong == 0;
}

void support_log(void *user, hone_log_level level, const char *message)
{
    struct support_log *log = user;
    size_t used = strlen(log->text);
    (void)level;
    snprintf(log->text + used, sizeof log->text - used, "%s\n", message);
}
