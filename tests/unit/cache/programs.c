/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiled programs in memory and on disk: what is built, what is loaded, what is refused, and that
 * everything heals. */
#include "cache/programs.h"

#include "base/file.h"
#include "cache/disk.h"
#include "hone/cache.h"
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Each test plays in a cache of its own, but all share what the driver compiled: the tests count what hone
 * asks for. */
static void use_cache(const char *folder)
{
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void begin(void)
{
    char kept[PATH_MAX];
    snprintf(kept, sizeof kept, "%s/driver", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    mkdir(kept, 0700);
    setenv("POCL_CACHE_DIR", kept, 1);
    use_cache(support_folder());
}

static const char *programs_path(void)
{
    return support_path(getenv("XDG_CACHE_HOME"), "hone/programs");
}

/* One variant, so that it is known how many programs there are. */
static const hone_plan_options direct = {.variant = "direct"};

/* What a start of hone came to. */
struct start {
    hone_device_counts counts;
    bool right;
};

/* Opens the device, applies a chain, compares with the reference, closes. */
static struct start start_with(const hone_device_request *request, const char *chain)
{
    struct view in = support_picture(19, 11, HONE_U8, 1, 5), wanted = support_expected(chain, &in);
    struct view got = view_new(&wanted.desc);
    hone_device *device = support_open(request);
    hone_error error;
    hone_plan *plan = support_plan(device, chain, &in.desc, &direct);
    REQUIRE_OK(hone_plan_apply(plan, in.data, 0, got.data, 0, &error));
    hone_plan_destroy(&plan);
    struct start start = {hone_device_get_counts(device), CHECK_SAME(&got, &wanted, 0)};
    hone_device_close(&device);
    view_finish(&in);
    view_finish(&got);
    view_finish(&wanted);
    return start;
}

static struct start start(const char *chain)
{
    return start_with(NULL, chain);
}

/* The first start also asks the self-test's questions; later ones find the verdict. */
static void warm(const char *chain)
{
    start(chain);
}

/* The path of the only entry. */
static const char *only_entry(void)
{
    static char path[PATH_MAX];
    const char *folder = programs_path();
    DIR *list = opendir(folder);
    REQUIRE(list != NULL);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(list));)
        if (strlen(entry->d_name) == SHA256_TEXT_SIZE - 1)
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(list);
    REQUIRE(path[0] != '\0');
    return path;
}

TEST(second_start_compiles_nothing)
{
    begin();
    struct start first = start("box size=3");
    CHECK(first.counts.built_from_source > 0);
    CHECK_EQ(first.counts.loaded_from_disk, 0);
    struct start second = start("box size=3");
    CHECK_EQ(second.counts.built_from_source, 0);
    CHECK_EQ(second.counts.loaded_from_disk, 1);
    CHECK(second.right);
}

TEST(memory_comes_before_disk)
{
    begin();
    warm("box");
    hone_device *device = support_open(NULL);
    const hone_image_desc desc = {16, 16, HONE_U8, 1, 0};
    hone_plan *first = support_plan(device, "box", &desc, &direct),
              *second = support_plan(device, "box size=3", &desc, &direct);
    hone_device_counts counts = hone_device_get_counts(device);
    CHECK_EQ(counts.built_from_source, 0);
    CHECK_EQ(counts.loaded_from_disk, 1);
    CHECK(counts.found_in_memory >= 1);
    hone_plan_destroy(&first);
    hone_plan_destroy(&second);
    hone_device_close(&device);
}

TEST(other_shapes_are_other_programs)
{
    begin();
    warm("box");
    CHECK_EQ(start("box border=wrap").counts.built_from_source, 1);
    CHECK_EQ(start("box border=wrap").counts.built_from_source, 0);
    CHECK_EQ(start("box size=5 border=wrap").counts.built_from_source, 0);
    CHECK_EQ(support_count_files(programs_path(), NULL), 2 + 1); /* and the lock */
}

TEST(nothing_is_kept_when_told_so)
{
    begin();
    const hone_device_request request = {.no_disk_cache = true};
    CHECK(start_with(&request, "box").counts.built_from_source > 0);
    CHECK(start_with(&request, "box").counts.built_from_source > 0);
    CHECK_EQ(support_count_files(programs_path(), NULL), 1); /* the lock */
}

TEST(entries_are_private)
{
    begin();
    umask(0);
    warm("box");
    struct stat info;
    REQUIRE(stat(only_entry(), &info) == 0);
    CHECK_EQ(info.st_mode & 0777, 0600);
}

/* Damages the only entry, checks that the next start builds again and the one after that loads again. */
static void check_heals(const char *what)
{
    struct start damaged = start("box");
    if (damaged.counts.built_from_source != 1 || damaged.counts.loaded_from_disk != 0 || !damaged.right)
        test_fail(__FILE__, __LINE__, "%s: built %d, loaded %d", what, (int)damaged.counts.built_from_source,
                  (int)damaged.counts.loaded_from_disk);
    struct start healed = start("box");
    if (healed.counts.built_from_source != 0 || healed.counts.loaded_from_disk != 1)
        test_fail(__FILE__, __LINE__, "%s did not heal: built %d", what,
                  (int)healed.counts.built_from_source);
}

TEST(damaged_entries_heal)
{
    begin();
    warm("box");
    size_t size = 0;
    char *good = support_read(only_entry(), &size);
    const char *entry = only_entry();
    REQUIRE(good && truncate(entry, (off_t)size / 2) == 0);
    check_heals("half of it");
    REQUIRE(truncate(entry, 0) == 0);
    check_heals("nothing of it");
    good[size - 100] ^= 4;
    support_write(entry, good, size);
    check_heals("one bit");
    good[size - 100] ^= 4;
    memset(good + size / 2, 0, 4096 < size / 2 ? 4096 : size / 2);
    support_write(entry, good, size);
    check_heals("a zeroed page");
    support_write(entry, "HONEPRG\n", 8);
    check_heals("only the magic");
    free(good);
}

TEST(odd_entries_heal)
{
    begin();
    warm("box");
    const char *entry = only_entry();
    char kept[PATH_MAX];
    snprintf(kept, sizeof kept, "%s/kept", support_folder());
    REQUIRE(rename(entry, kept) == 0 && symlink(kept, entry) == 0);
    check_heals("a link to a good one");
    REQUIRE(chmod(entry, 0622) == 0);
    check_heals("one that others may write");
    REQUIRE(unlink(entry) == 0 && mkfifo(entry, 0600) == 0);
    check_heals("a pipe");
    REQUIRE(unlink(entry) == 0 && mkdir(entry, 0700) == 0);
    /* A folder cannot be replaced by renaming a file over it: built each time. */
    struct start folder = start("box");
    CHECK_EQ(folder.counts.built_from_source, 1);
    CHECK(folder.right);
}

TEST(an_entry_under_another_name_is_a_miss)
{
    begin();
    warm("box");
    char first[PATH_MAX], copy[PATH_MAX];
    snprintf(first, sizeof first, "%s", only_entry());
    snprintf(copy, sizeof copy, "%s/copy", support_folder());
    REQUIRE(rename(first, copy) == 0);
    CHECK_EQ(start("box border=wrap").counts.built_from_source, 1);
    char second[PATH_MAX];
    snprintf(second, sizeof second, "%s", only_entry());
    REQUIRE(rename(copy, second) == 0); /* a good entry, of another program */
    struct start swapped = start("box border=wrap");
    CHECK_EQ(swapped.counts.built_from_source, 1);
    CHECK(swapped.right);
}

TEST(a_shared_folder_is_not_used)
{
    begin();
    warm("box");
    char folder[PATH_MAX];
    struct support_log log = {""};
    const hone_device_request request = {.log = support_log, .log_user = &log};
    snprintf(folder, sizeof folder, "%s/hone", getenv("XDG_CACHE_HOME"));
    REQUIRE(chmod(folder, 0777) == 0);
    struct start shared = start_with(&request, "box");
    CHECK_EQ(shared.counts.loaded_from_disk, 0);
    CHECK(shared.counts.built_from_source > 0);
    CHECK_HAS(log.text, "compiled programs are not kept on disk");
    CHECK_HAS(log.text, "others may write to it");
}

TEST(a_folder_that_cannot_be_written)
{
    begin();
    warm("box");
    char folder[PATH_MAX];
    struct support_log log = {""};
    const hone_device_request request = {.log = support_log, .log_user = &log};
    snprintf(folder, sizeof folder, "%s/hone/programs", getenv("XDG_CACHE_HOME"));
    REQUIRE(chmod(folder, 0500) == 0);
    support_obey_permissions();
    struct start shut = start_with(&request, "box border=wrap");
    CHECK(shut.right);
    CHECK_EQ(shut.counts.built_from_source, 1);
    chmod(folder, 0700);
}

/* ---- Crashes ---- */

/* What a process leaves that ended while it was at work in a program: by the driver's doing, or nobody
 * knows. */
enum cause { UNKNOWN, DRIVER };

static void leave_busy(const char *entry, enum cause cause)
{
    char mark[PATH_MAX + 16];
    snprintf(mark, sizeof mark, "%s.77-0%s", entry, BUSY_SUFFIX);
    support_write(mark, "x", cause == DRIVER);
}

static void leave_mark(const char *entry, const char *suffix)
{
    char mark[PATH_MAX + 16];
    snprintf(mark, sizeof mark, "%s%s", entry, suffix);
    support_write(mark, "", 0);
}

/* A start in a process of its own: what a process notices of crashes, it notices at its first OpenCL call. */
static const char *probe_file;

static void start_and_write(void *user)
{
    struct start result = start("box");
    (void)user;
    support_write(probe_file, &result, sizeof result);
    exit(test_failed());
}

static struct start start_elsewhere(void)
{
    struct start result = {0};
    probe_file = support_path(support_folder(), "result");
    CHECK_EQ(support_in_child(start_and_write, NULL), 0);
    size_t size = 0;
    char *bytes = support_read(probe_file, &size);
    REQUIRE(bytes && size == sizeof result);
    memcpy(&result, bytes, sizeof result);
    free(bytes);
    return result;
}

TEST(a_crash_is_worked_around_and_forgiven)
{
    begin();
    start_elsewhere();
    char entry[PATH_MAX];
    snprintf(entry, sizeof entry, "%s", only_entry());
    leave_busy(entry, DRIVER);
    struct start after = start_elsewhere(); /* not loaded again: compiled, and kept anew */
    CHECK_EQ(after.counts.loaded_from_disk, 0);
    CHECK_EQ(after.counts.built_from_source, 1);
    CHECK(after.right);
    CHECK_EQ(support_count_files(programs_path(), ".crashed1"), 0);
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 0);
    CHECK_EQ(start_elsewhere().counts.loaded_from_disk, 1);
}

static const char *wanted_text = "ended the process twice";

static void build_box(void *user)
{
    (void)user;
    hone_device *device = support_open(NULL);
    hone_plan *plan = NULL;
    hone_chain *chain = NULL;
    const hone_image_desc desc = {16, 16, HONE_U8, 1, 0};
    hone_error error;
    REQUIRE_OK(hone_chain_parse(&chain, "box", &error));
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &desc, &direct, &error), HONE_ERROR_UNSUPPORTED);
    CHECK_HAS(error.message, wanted_text);
    CHECK_HAS(error.message, "hone cache clear");
    exit(test_failed());
}

TEST(a_second_crash_refuses_until_cleared)
{
    begin();
    start_elsewhere();
    char entry[PATH_MAX];
    hone_cache_removed removed;
    hone_error error;
    snprintf(entry, sizeof entry, "%s", only_entry());
    leave_mark(entry, ".crashed1");
    leave_busy(entry, DRIVER);
    CHECK_EQ(support_in_child(build_box, NULL), 0);
    CHECK_EQ(support_in_child(build_box, NULL), 0);
    CHECK_EQ(support_count_files(programs_path(), ".crashed2"), 1);
    CHECK_STATUS(hone_cache_clear(&removed, &error), HONE_OK);
    CHECK_EQ(support_count_files(programs_path(), ".crashed"), 0);
    struct start cleared = start_elsewhere();
    CHECK(cleared.right);
    CHECK_EQ(start_elsewhere().counts.loaded_from_disk, 1);
}

TEST(ends_of_unknown_cause_count_when_there_are_four_today)
{
    static const char *const names[] = {".ended1", ".ended2", ".ended3"};
    begin();
    start_elsewhere();
    char entry[PATH_MAX], last[PATH_MAX + 16];
    snprintf(entry, sizeof entry, "%s", only_entry());
    for (int i = 0; i < 2; i++) {
        leave_busy(entry, UNKNOWN);
        CHECK(start_elsewhere().right); /* which forgets it */
        CHECK_EQ(support_count_files(programs_path(), ".ended1"), 0);
    }
    for (int i = 0; i < 3; i++)
        leave_mark(entry, names[i]);
    CHECK(start_elsewhere().right);
    for (int i = 0; i < 3; i++)
        leave_mark(entry, names[i]);
    leave_busy(entry, UNKNOWN);
    wanted_text = "four processes";
    CHECK_EQ(support_in_child(build_box, NULL), 0);
    wanted_text = "ended the process twice";
    const struct timespec yesterday[2] = {{time(NULL) - 90000, 0}, {time(NULL) - 90000, 0}};
    snprintf(last, sizeof last, "%s.ended4", entry);
    REQUIRE(utimensat(AT_FDCWD, last, yesterday, 0) == 0);
    CHECK(start_elsewhere().right);
    CHECK_EQ(support_count_files(programs_path(), ".ended4"), 0);
}

TEST(a_process_at_work_is_no_crash)
{
    begin();
    start_elsewhere();
    struct disk disk;
    hone_error error;
    REQUIRE_OK(disk_open(&disk, &error));
    struct disk_busy busy = disk_set_busy(&disk, strrchr(only_entry(), '/') + 1);
    CHECK_EQ(start_elsewhere().counts.loaded_from_disk, 1);
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 1);
    CHECK_EQ(support_count_files(programs_path(), ".ended1"), 0);
    disk_clear_busy(&busy);
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 0);
    disk_close(&disk);
}

TEST(a_program_is_marked_until_it_has_run)
{
    begin();
    hone_device *device = support_open(NULL);
    const hone_image_desc desc = {16, 16, HONE_U8, 1, 0};
    uint8_t in[256] = {0}, out[256];
    hone_error error;
    hone_plan *plan = support_plan(device, "box", &desc, &direct);
    REQUIRE_OK(hone_plan_apply(plan, in, 0, out, 0, &error));
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 0);
    hone_plan_destroy(&plan);
    hone_device_close(&device);
    device = support_open(NULL);
    const struct program_unit unit = {"probe", "__kernel void probe(__global int *a) { a[0] = 1; }", ""};
    struct kernel *kernel = NULL;
    REQUIRE_OK(programs_kernel(&kernel, device, &unit, "probe", &error));
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 1);
    REQUIRE_OK(hone_device_finish(device, &error));
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 0);
    kernel_destroy(&kernel);
    hone_device_close(&device);
}

TEST(a_crash_gives_the_driver_a_fresh_cache)
{
    begin();
    unsetenv("POCL_CACHE_DIR");
    start_elsewhere();
    char driver[PATH_MAX];
    snprintf(driver, sizeof driver, "%s/hone/driver/0", getenv("XDG_CACHE_HOME"));
    CHECK(support_exists(driver));
    leave_busy(only_entry(), UNKNOWN);
    start_elsewhere();
    snprintf(driver, sizeof driver, "%s/hone/driver/1", getenv("XDG_CACHE_HOME"));
    CHECK(support_exists(driver));
}

static bool is_pocl_here(void)
{
    hone_device *device = support_open(NULL);
    const bool is = support_is_pocl(device);
    hone_device_close(&device);
    return is;
}

static void exit_with_is_pocl(void *user)
{
    (void)user;
    exit(is_pocl_here());
}

/* Hone's own folder for the driver: what PoCL keeps there is not kept a second time. With another folder,
 * such an entry means nothing. */
TEST(what_the_driver_keeps_is_kept_once)
{
    begin();
    if (WEXITSTATUS(support_in_child(exit_with_is_pocl, NULL)) != 1)
        return;
    char users[PATH_MAX];
    struct stat slim, whole;
    snprintf(users, sizeof users, "%s", getenv("POCL_CACHE_DIR"));
    unsetenv("POCL_CACHE_DIR");
    CHECK(start_elsewhere().counts.built_from_source > 0);
    REQUIRE(stat(only_entry(), &slim) == 0);
    struct start second = start_elsewhere();
    CHECK_EQ(second.counts.built_from_source, 0);
    CHECK_EQ(second.counts.loaded_from_disk, 1);
    CHECK(second.right);
    setenv("POCL_CACHE_DIR", users, 1);
    struct start other = start_elsewhere();
    CHECK_EQ(other.counts.built_from_source, 1);
    CHECK(other.right);
    REQUIRE(stat(only_entry(), &whole) == 0);
    CHECK(slim.st_size < 2048 && whole.st_size > 8192);
    CHECK_EQ(start_elsewhere().counts.loaded_from_disk, 1);
}

TEST(the_users_driver_cache_is_left_alone)
{
    begin();
    char driver[PATH_MAX];
    snprintf(driver, sizeof driver, "%s", getenv("POCL_CACHE_DIR"));
    start_elsewhere();
    CHECK_TEXT(getenv("POCL_CACHE_DIR"), driver);
    snprintf(driver, sizeof driver, "%s/hone/driver/0", getenv("XDG_CACHE_HOME"));
    CHECK(!support_exists(driver));
}

static void build_and_die(void *user)
{
    (void)user;
    struct disk disk;
    hone_error error;
    REQUIRE_OK(disk_open(&disk, &error));
    REQUIRE(disk_lock(&disk));
    disk_set_busy(&disk, "0123");
    raise(SIGKILL);
}

TEST(a_killed_builder_leaves_its_mark_and_frees_the_lock)
{
    begin();
    struct disk disk;
    hone_error error;
    CHECK(WIFSIGNALED(support_in_child(build_and_die, NULL)));
    REQUIRE_OK(disk_open(&disk, &error));
    CHECK(disk_lock(&disk));
    CHECK_EQ(support_count_files(programs_path(), ".busy"), 1);
    disk_close(&disk);
}

/* ---- Listing, clearing, trimming ---- */

TEST(listing)
{
    begin();
    start("box");
    start("sobel");
    hone_cache_entry *list = NULL;
    size_t count = 0, valid = 0;
    hone_error error;
    CHECK_STATUS(hone_cache_list(&list, &count, &error), HONE_OK);
    CHECK_EQ(count, 2);
    hone_device *device = support_open(NULL);
    for (size_t i = 0; i < count; i++) {
        valid += list[i].valid;
        CHECK(list[i].bytes > 88);
        CHECK_TEXT(list[i].device, hone_device_get_info(device)->name);
        CHECK_TEXT(list[i].driver, hone_device_get_info(device)->driver_version);
        CHECK_EQ(list[i].crashes, 0);
        CHECK(list[i].present);
    }
    CHECK_EQ(valid, 2);
    CHECK(strstr(list[0].label, "u8") && (strstr(list[0].label, "box") || strstr(list[1].label, "box")));
    hone_device_close(&device);
    hone_cache_list_free(&list);
}

TEST(clearing_the_invalid_ones)
{
    begin();
    warm("box");
    char entry[PATH_MAX];
    size_t count = 0;
    hone_cache_removed removed;
    hone_cache_entry *list = NULL;
    hone_error error;
    snprintf(entry, sizeof entry, "%s", only_entry());
    CHECK_STATUS(hone_cache_repair(&removed, &error), HONE_OK);
    CHECK_EQ(removed.programs, 0);
    REQUIRE(truncate(entry, 100) == 0);
    CHECK_STATUS(hone_cache_list(&list, &count, &error), HONE_OK);
    CHECK_EQ(count, 1);
    CHECK(count == 1 && !list[0].valid);
    hone_cache_list_free(&list);
    CHECK_STATUS(hone_cache_repair(&removed, &error), HONE_OK);
    CHECK_EQ(removed.programs, 1);
    CHECK(!support_exists(entry));
}

TEST(a_lock_that_cannot_be_taken_is_told)
{
    begin();
    warm("box");
    char lock[PATH_MAX];
    hone_error error;
    snprintf(lock, sizeof lock, "%s/lock", programs_path());
    REQUIRE(unlink(lock) == 0 && mkdir(lock, 0700) == 0);
    CHECK_STATUS(hone_cache_clear(NULL, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "cannot be taken: Is a directory");
    REQUIRE(rmdir(lock) == 0);
    CHECK_STATUS(hone_cache_clear(NULL, &error), HONE_OK);
}

TEST(an_empty_cache_is_an_empty_list)
{
    begin();
    hone_cache_entry *list = NULL;
    size_t count = 9;
    hone_cache_removed removed;
    hone_cache_info info;
    hone_error error;
    CHECK_STATUS(hone_cache_list(&list, &count, &error), HONE_OK);
    CHECK_EQ(count, 0);
    CHECK_STATUS(hone_cache_clear(&removed, &error), HONE_OK);
    CHECK_EQ(removed.programs, 0);
    CHECK_STATUS(hone_cache_get_info(&info, &error), HONE_OK);
    CHECK_HAS(info.folder, "/hone");
}

static void add_entry(const struct disk *disk, int number, time_t used)
{
    char name[SHA256_TEXT_SIZE];
    struct text bytes = {0};
    hone_error error;
    snprintf(name, sizeof name, "%064d", number);
    for (int i = 0; i < 100; i++)
        text_add(&bytes, "0123456789");
    REQUIRE_OK(disk_write(disk, name, &bytes, &error));
    const struct timespec times[2] = {{used, 0}, {used, 0}};
    REQUIRE(utimensat(disk->folder, name, times, 0) == 0);
    text_finish(&bytes);
}

TEST(trimming_removes_what_was_not_used_for_longest)
{
    begin();
    struct disk disk;
    struct text bytes = {0};
    char name[SHA256_TEXT_SIZE];
    hone_error error;
    REQUIRE_OK(disk_open(&disk, &error));
    for (int i = 0; i < 10; i++)
        add_entry(&disk, i, 1000000 + i * 100);
    snprintf(name, sizeof name, "%064d", 0);
    CHECK(disk_read(&disk, name, &bytes)); /* used just now */
    disk_trim(&disk, 4500);
    CHECK_EQ(support_count_files(programs_path(), "0000"), 4);
    snprintf(name, sizeof name, "%064d", 0);
    CHECK(disk_read(&disk, name, &bytes));
    snprintf(name, sizeof name, "%064d", 9);
    CHECK(disk_read(&disk, name, &bytes));
    snprintf(name, sizeof name, "%064d", 6);
    CHECK(!disk_read(&disk, name, &bytes));
    text_finish(&bytes);
    disk_close(&disk);
}
