/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs appear whole or not at all; reads are bounded. */
#include "base/file.h"

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check_content(const char *path, const char *wanted)
{
    char *got = support_read(path, NULL);
    CHECK_TEXT(got, wanted);
    free(got);
}

static unsigned mode_of(const char *path)
{
    struct stat info;
    REQUIRE(lstat(path, &info) == 0);
    return info.st_mode & 07777;
}

TEST(output_appears_at_commit)
{
    const char *folder = support_folder(), *target = support_path(folder, "out.pgm");
    struct file_output output;
    hone_error error;
    REQUIRE_OK(file_output_begin(&output, target, &error));
    CHECK(!support_exists(target));
    CHECK(support_exists(output.temporary));
    CHECK_HAS(output.temporary, ".pgm");
    REQUIRE(file_write_all(output.fd, "whole", 5));
    CHECK(!support_exists(target));
    CHECK_STATUS(file_output_commit(&output, false, &error), HONE_OK);
    check_content(target, "whole");
    CHECK_EQ(support_count_files(folder, NULL), 1);
    file_output_abort(&output);
    check_content(target, "whole");
}

/* In the place of libc's: what was synced, and whether the target was there by then. */
static struct {
    unsigned files, folders;
    const char *target;
    bool came_late;
} synced;

int fsync(int fd)
{
    struct stat info;
    REQUIRE(fstat(fd, &info) == 0);
    synced.files += S_ISREG(info.st_mode);
    synced.folders += S_ISDIR(info.st_mode);
    synced.came_late |= synced.target && S_ISDIR(info.st_mode) != support_exists(synced.target);
    return (int)syscall(SYS_fsync, fd);
}

TEST(durable_outputs_are_synced_before_they_appear)
{
    const char *folder = support_folder();
    hone_error error;
    for (int durable = 0; durable < 2; durable++) {
        struct file_output output;
        const char *target = support_path(folder, durable ? "durable" : "plain");
        synced.files = synced.folders = 0;
        synced.target = target;
        REQUIRE_OK(file_output_begin(&output, target, &error));
        REQUIRE(file_write_all(output.fd, "whole", 5));
        CHECK_STATUS(file_output_commit(&output, durable, &error), HONE_OK);
        CHECK_EQ(synced.files, durable);
        CHECK_EQ(synced.folders, durable);
        CHECK(!synced.came_late);
    }
    synced.target = NULL;
}

TEST(abort_leaves_nothing)
{
    const char *folder = support_folder(), *target = support_path(folder, "out");
    struct file_output output;
    hone_error error;
    support_write(target, "old", 3);
    REQUIRE_OK(file_output_begin(&output, target, &error));
    REQUIRE(file_write_all(output.fd, "new", 3));
    file_output_abort(&output);
    file_output_abort(&output);
    check_content(target, "old");
    CHECK_EQ(support_count_files(folder, NULL), 1);
}

TEST(a_writer_may_replace_the_temporary_file)
{
    const char *folder = support_folder(), *target = support_path(folder, "out"),
               *other = support_path(folder, "x");
    struct file_output output;
    hone_error error;
    REQUIRE_OK(file_output_begin(&output, target, &error));
    support_write(other, "by name", 7);
    REQUIRE(rename(other, output.temporary) == 0);
    CHECK_STATUS(file_output_commit(&output, false, &error), HONE_OK);
    check_content(target, "by name");
}

TEST(permissions)
{
    const char *folder = support_folder(), *old = support_path(folder, "old"),
               *new = support_path(folder, "new");
    hone_error error;
    umask(027);
    CHECK_STATUS(file_write(new, "x", 1, &error), HONE_OK);
    CHECK_EQ(mode_of(new), 0640);
    support_write(old, "y", 1);
    REQUIRE(chmod(old, 0604) == 0);
    CHECK_STATUS(file_write(old, "z", 1, &error), HONE_OK);
    CHECK_EQ(mode_of(old), 0604);
}

TEST(owner_and_group)
{
    const char *old = support_path(support_folder(), "old");
    struct stat info = {0};
    hone_error error;
    const bool may = geteuid() == 0; /* others keep what is theirs */
    const uid_t user = may ? 65534 : geteuid();
    const gid_t group = may ? 65533 : getegid();
    support_write(old, "y", 1);
    REQUIRE(chown(old, user, group) == 0 && chmod(old, 0640) == 0);
    CHECK_STATUS(file_write(old, "z", 1, &error), HONE_OK);
    CHECK(stat(old, &info) == 0 && info.st_uid == user && info.st_gid == group);
    CHECK_EQ(mode_of(old), 0640);
}

TEST(a_file_with_another_name_is_not_given_away)
{
    const char *folder = support_folder(), *target = support_path(folder, "target"),
               *other = support_path(folder, "other");
    struct file_output output;
    struct stat info = {0};
    hone_error error;
    const bool may = geteuid() == 0;
    support_write(target, "y", 1);
    support_write(other, "mine", 4);
    REQUIRE(chown(target, may ? 65534 : geteuid(), getegid()) == 0);
    REQUIRE(file_output_begin(&output, target, &error) == HONE_OK);
    REQUIRE(unlink(output.temporary) == 0 && link(other, output.temporary) == 0);
    CHECK_STATUS(file_output_commit(&output, false, &error), HONE_OK);
    CHECK(stat(other, &info) == 0 && info.st_uid == geteuid());
}

TEST(a_link_is_replaced_not_followed)
{
    const char *folder = support_folder(), *victim = support_path(folder, "victim"),
               *link = support_path(folder, "out");
    hone_error error;
    support_write(victim, "precious", 8);
    REQUIRE(symlink("victim", link) == 0);
    CHECK_STATUS(file_write(link, "result", 6, &error), HONE_OK);
    check_content(victim, "precious");
    check_content(link, "result");
    CHECK_EQ(mode_of(victim), 0600);
    struct stat info;
    REQUIRE(lstat(link, &info) == 0);
    CHECK(S_ISREG(info.st_mode));
}

TEST(a_dangling_link_is_replaced)
{
    const char *folder = support_folder(), *link = support_path(folder, "out");
    hone_error error;
    REQUIRE(symlink("nowhere", link) == 0);
    CHECK_STATUS(file_write(link, "result", 6, &error), HONE_OK);
    check_content(link, "result");
    CHECK(!support_exists(support_path(folder, "nowhere")));
}

TEST(bad_targets)
{
    const char *folder = support_folder();
    char name[5000];
    hone_error error;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_STATUS(file_write(folder, "x", 1, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "it is a folder");
    CHECK_STATUS(file_write("", "x", 1, &error), HONE_ERROR_IO);
    CHECK_STATUS(file_write(name, "x", 1, &error), HONE_ERROR_IO);
    CHECK_STATUS(file_write(support_path(folder, "no/such/folder"), "x", 1, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "No such file");
    CHECK_EQ(support_count_files(folder, NULL), 0);
}

TEST(long_names_work_up_to_the_limit_of_the_file_system)
{
    const char *folder = support_folder();
    char name[NAME_MAX + 1];
    hone_error error;
    memset(name, 'n', sizeof name - 1);
    name[NAME_MAX] = '\0';
    CHECK_STATUS(file_write(support_path(folder, name), "x", 1, &error), HONE_OK);
    CHECK_EQ(support_count_files(folder, NULL), 1);
}

TEST(read_only_folder)
{
    const char *folder = support_folder(), *target = support_path(folder, "out");
    hone_error error;
    support_write(target, "old", 3);
    REQUIRE(chmod(folder, 0555) == 0);
    support_obey_permissions();
    CHECK_STATUS(file_write(target, "new", 3, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "denied");
    CHECK_EQ(support_count_files(folder, NULL), 1);
    chmod(folder, 0700);
    check_content(target, "old");
    CHECK_STATUS(file_write(target, "new", 3, &error), HONE_OK);
}

static bool write_line(const char *path, const char *format, unsigned id)
{
    char line[64];
    int fd = open(path, O_WRONLY | O_CLOEXEC), length = snprintf(line, sizeof line, format, id);
    bool ok = fd >= 0 && write(fd, line, (size_t)length) == length;
    close(fd);
    return ok;
}

/* The rights to mount: root's, or those of the root of a user namespace. */
static bool enter_namespace(void)
{
    unsigned user = getuid(), group = getgid();
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_line("/proc/self/uid_map", "0 %u 1\n", user) &&
           write_line("/proc/self/setgroups", "deny\n", 0) &&
           write_line("/proc/self/gid_map", "0 %u 1\n", group);
}

/* A small file system of its own. */
static bool mount_small(const char *folder)
{
    if (!enter_namespace())
        return false;
    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("tmpfs", folder, "tmpfs", 0, "size=64k") == 0;
}

enum { LARGE = 1 << 20 };

/* Where no file system can be mounted, a limit on the size of files makes writes fail half-way, too. */
static void make_writes_fail(const char *folder)
{
    if (mount_small(folder)) {
        test_note("full disk: tmpfs");
        return;
    }
    test_note("full disk: RLIMIT_FSIZE");
    const struct rlimit limit = {40000, 40000};
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

TEST(full_disk_keeps_the_old_file)
{
    const char *folder = support_folder(), *target = support_path(folder, "out");
    hone_error error;
    char *content = calloc(LARGE, 1);
    REQUIRE(content != NULL);
    make_writes_fail(folder);
    support_write(target, "old", 3);
    for (size_t size = 41000; size <= LARGE; size += 97531) {
        hone_status status = file_write(target, content, size, &error);
        if (status == HONE_OK) { /* it fitted: put the old one back */
            support_write(target, "old", 3);
            continue;
        }
        CHECK_STATUS(status, HONE_ERROR_IO);
        CHECK_HAS(error.message, "cannot write");
        check_content(target, "old");
        CHECK_EQ(support_count_files(folder, NULL), 1);
    }
    CHECK_STATUS(file_write(target, content, LARGE, &error), HONE_ERROR_IO);
    free(content);
}

struct writer {
    const char *target;
    size_t size;
};

static void write_for_ever(void *user)
{
    const struct writer *writer = user;
    char *content = malloc(writer->size);
    for (int letter = 'a'; content; letter = letter == 'z' ? 'a' : letter + 1) {
        memset(content, letter, writer->size);
        file_write(writer->target, content, writer->size, NULL);
    }
}

/* The file is there, has its full size and one letter throughout. */
static bool is_whole(const char *path, size_t size)
{
    size_t count = 0;
    char *content = support_read(path, &count);
    bool whole = content && count == size;
    for (size_t i = 1; whole && i < count; i++)
        whole = content[i] == content[0];
    free(content);
    return whole;
}

TEST(killed_writers_leave_whole_files)
{
    const char *folder = support_folder(), *target = support_path(folder, "out");
    const struct writer writer = {target, 300000};
    char *content = calloc(writer.size, 1);
    uint32_t state = 7;
    REQUIRE(content != NULL);
    hone_error error;
    REQUIRE_OK(file_write(target, content, writer.size, &error));
    for (int round = 0; round < 60; round++) {
        fflush(NULL);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            write_for_ever((void *)&writer);
        state = state * 1664525u + 1013904223u;
        const struct timespec moment = {0, 500000 + (state >> 8) % 12000000};
        nanosleep(&moment, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        CHECK(is_whole(target, writer.size));
    }
    free(content);
}

TEST(what_a_killed_writer_left_is_swept_before_its_parent_waits)
{
    const char *folder = support_folder(), *target = support_path(folder, "out");
    struct file_output output, own;
    siginfo_t info;
    hone_error error;
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        file_output_begin(&output, target, &error);
        raise(SIGKILL);
    }
    REQUIRE(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    REQUIRE_OK(file_output_begin(&own, target, &error));
    CHECK_EQ(support_count_files(folder, NULL), 2);
    file_output_sweep(target);
    CHECK_EQ(support_count_files(folder, NULL), 1);
    CHECK(access(own.temporary, F_OK) == 0);
    file_output_abort(&own);
    waitpid(child, NULL, 0);
}

static hone_status read_into(struct text *text, const char *path, size_t limit, hone_error *error)
{
    text_finish(text);
    return file_read(path, limit, text, error);
}

enum { ROWS = 150, ROW = 7, PITCH = 16 }; /* more rows than go at once */

static void write_rows(const char *path, size_t pitch, bool all)
{
    char rows[ROWS * PITCH + 1] = {0};
    char wanted[ROWS * ROW + 1] = {0};
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    for (size_t i = 0; i < sizeof rows - 1; i++)
        rows[i] = (char)('!' + i % 90);
    for (size_t y = 0; y < ROWS; y++)
        memcpy(wanted + y * ROW, rows + y * pitch, ROW);
    CHECK(file_write_rows(fd, rows, ROW, pitch, ROWS) == all);
    CHECK(all || errno == EFBIG);
    if (!all)
        wanted[lseek(fd, 0, SEEK_END)] = '\0';
    close(fd);
    check_content(path, wanted);
}

TEST(rows_that_lie_apart)
{
    const char *path = support_path(support_folder(), "rows");
    const struct rlimit most = {ROW * 100 + 3, RLIM_INFINITY}; /* within a row */
    struct rlimit before;
    write_rows(path, ROW, true);
    write_rows(path, PITCH, true);
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0 && setrlimit(RLIMIT_FSIZE, &most) == 0);
    write_rows(path, PITCH, false);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    struct stat info;
    CHECK(stat(path, &info) == 0 && info.st_size == ROW * 100 + 3);
}

TEST(reading)
{
    const char *folder = support_folder(), *path = support_path(folder, "in"),
               *pipe = support_path(folder, "pipe");
    struct text text = {0};
    hone_error error;
    char *large = calloc(200001, 1);
    REQUIRE(large != NULL);
    support_write(path, large, 200001);
    REQUIRE(mkfifo(pipe, 0600) == 0);
    CHECK_STATUS(read_into(&text, path, 200001, &error), HONE_OK);
    CHECK_EQ(text.length, 200001);
    CHECK_STATUS(read_into(&text, path, 200000, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "larger than the limit of 200000");
    CHECK_STATUS(read_into(&text, folder, 100, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "not a regular file");
    CHECK_STATUS(read_into(&text, pipe, 100, &error), HONE_ERROR_IO); /* without waiting for a writer */
    CHECK_STATUS(read_into(&text, support_path(folder, "none"), 100, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "No such file");
    text_finish(&text);
    free(large);
}

static bool is_stopped(void *user)
{
    return *(bool *)user;
}

TEST(reading_waits_no_longer_than_it_may)
{
    bool stop = false;
    const struct file_patience some = {.seconds = 0.15}, none = {0},
                               until = {.stopped = is_stopped, .user = &stop};
    int fds[2];
    char bytes[4];
    REQUIRE(pipe2(fds, O_NONBLOCK) == 0);
    CHECK(file_read_patiently(fds[0], bytes, 4, &some) == -1 && errno == ETIME);
    CHECK(file_read_patiently(fds[0], bytes, 4, &none) == -1 && errno == EAGAIN); /* as read does */
    REQUIRE(write(fds[1], "abc", 3) == 3);
    CHECK_EQ(file_read_patiently(fds[0], bytes, 2, &some), 2);
    CHECK_EQ(file_read_patiently(fds[0], bytes, 4, &until), 1);
    stop = true;
    REQUIRE(write(fds[1], "d", 1) == 1);
    CHECK_EQ(file_read_patiently(fds[0], bytes, 4, &until), 0);
    CHECK_EQ(file_read_patiently(fds[0], bytes, 4, &some), 1);
    close(fds[1]);
    CHECK_EQ(file_read_patiently(fds[0], bytes, 4, &some), 0);
    close(fds[0]);
    CHECK(file_read_patiently(fds[0], bytes, 4, &some) == -1 && errno == EBADF);
}
