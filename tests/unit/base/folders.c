/* SPDX-License-Identifier: BSD-2-Clause */
/* The private folder: whatever is not the user's own and private is refused, so that no foreign byte reaches
 * a driver.
 *
 * This program defines geteuid and its kin itself, so that an ordinary user can play "it belongs to someone
 * else". */
#include "base/file.h"

#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Added to the real user's number. */
static unsigned pretend_user, pretend_effective;

uid_t getuid(void)
{
    return (uid_t)syscall(SYS_getuid) + pretend_user;
}

uid_t geteuid(void)
{
    return (uid_t)syscall(SYS_geteuid) + pretend_user + pretend_effective;
}

static char base[PATH_MAX]; /* where a test plays; what XDG_CACHE_HOME is set to unless it says otherwise */

static const char *below(const char *name)
{
    return support_path(base, name);
}

static void begin(void)
{
    umask(022);
    snprintf(base, sizeof base, "%s", support_folder());
    setenv("XDG_CACHE_HOME", base, 1);
    setenv("HOME", below("home"), 1);
}

static void make_folder(const char *name, unsigned mode)
{
    REQUIRE(mkdir(below(name), 0700) == 0);
    REQUIRE(chmod(below(name), mode) == 0);
}

static unsigned mode_of(const char *path)
{
    struct stat info;
    REQUIRE(lstat(path, &info) == 0);
    return info.st_mode & 07777;
}

/* The folder is used, and it is this one. */
static void accepted(const char *wanted)
{
    char path[PATH_MAX];
    int fd = -1;
    hone_error error;
    CHECK_STATUS(file_private_folder("XDG_CACHE_HOME", ".cache", "programs", path, &fd, &error), HONE_OK);
    if (fd < 0)
        return;
    struct stat opened, named;
    CHECK(fstat(fd, &opened) == 0 && stat(wanted, &named) == 0 && opened.st_ino == named.st_ino);
    CHECK(S_ISDIR(opened.st_mode) && (opened.st_mode & 022) == 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}

static void refused(const char *why)
{
    char path[PATH_MAX];
    int fd = -1, lowest = dup(0);
    hone_error error;
    close(lowest);
    CHECK_STATUS(file_private_folder("XDG_CACHE_HOME", ".cache", "programs", path, &fd, &error),
                 HONE_ERROR_IO);
    CHECK_HAS(error.message, why);
    int next = dup(0);
    CHECK_EQ(next, lowest); /* no descriptor is left open */
    close(next);
}

/* ---- What is fine ---- */

TEST(made_where_nothing_was)
{
    begin();
    accepted(below("hone/programs"));
    CHECK_EQ(mode_of(below("hone")), 0700);
    CHECK_EQ(mode_of(below("hone/programs")), 0700);
}

TEST(made_private_whatever_the_umask_is)
{
    begin();
    umask(0);
    accepted(below("hone/programs"));
    CHECK_EQ(mode_of(below("hone")), 0700);
}

TEST(found_where_it_was)
{
    begin();
    make_folder("hone", 0700);
    make_folder("hone/programs", 0700);
    accepted(below("hone/programs"));
}

TEST(readable_by_others_is_fine)
{
    begin();
    make_folder("hone", 0755);
    accepted(below("hone/programs"));
}

TEST(missing_parents_are_made_private)
{
    begin();
    setenv("XDG_CACHE_HOME", below("a/b/c"), 1);
    accepted(below("a/b/c/hone/programs"));
    CHECK_EQ(mode_of(below("a")), 0700);
    CHECK_EQ(mode_of(below("a/b/c")), 0700);
}

TEST(relative_variable_is_ignored)
{
    begin();
    make_folder("home", 0700);
    setenv("XDG_CACHE_HOME", "relative/folder", 1);
    accepted(below("home/.cache/hone/programs"));
    CHECK(!support_exists("relative"));
}

TEST(empty_variable_is_ignored)
{
    begin();
    setenv("XDG_CACHE_HOME", "", 1);
    accepted(below("home/.cache/hone/programs"));
}

TEST(unset_variable_means_home)
{
    begin();
    unsetenv("XDG_CACHE_HOME");
    accepted(below("home/.cache/hone/programs"));
}

TEST(sticky_folder_of_all_above_is_fine)
{
    begin();
    make_folder("shared", 01777);
    setenv("XDG_CACHE_HOME", below("shared"), 1);
    accepted(below("shared/hone/programs"));
}

TEST(link_above_is_the_users_choice)
{
    begin();
    make_folder("real", 0700);
    REQUIRE(symlink("real", below("link")) == 0);
    setenv("XDG_CACHE_HOME", below("link"), 1);
    accepted(below("real/hone/programs"));
}

TEST(slashes_and_dots_in_the_variable)
{
    begin();
    make_folder("x", 0700);
    char odd[PATH_MAX + 16];
    snprintf(odd, sizeof odd, "//%s///x/../x/./", base + 1);
    setenv("XDG_CACHE_HOME", odd, 1);
    accepted(below("x/hone/programs"));
}

/* ---- What is not ---- */

TEST(group_writable_is_refused)
{
    begin();
    make_folder("hone", 0770);
    refused("others may write to it");
}

TEST(writable_by_all_is_refused)
{
    begin();
    make_folder("hone", 0777);
    refused("others may write to it");
}

TEST(writable_by_all_and_sticky_is_refused)
{
    begin();
    make_folder("hone", 01777);
    refused("others may write to it");
}

TEST(writable_folder_inside_is_refused)
{
    begin();
    make_folder("hone", 0700);
    make_folder("hone/programs", 0702);
    refused("others may write to it");
}

TEST(link_in_our_place_is_refused)
{
    begin();
    make_folder("elsewhere", 0700);
    REQUIRE(symlink("elsewhere", below("hone")) == 0);
    refused("cannot open the folder");
    CHECK_EQ(support_count_files(below("elsewhere"), NULL), 0);
}

TEST(link_inside_is_refused)
{
    begin();
    make_folder("elsewhere", 0700);
    make_folder("hone", 0700);
    REQUIRE(symlink("../elsewhere", below("hone/programs")) == 0);
    refused("cannot open the folder");
}

TEST(dangling_link_is_refused)
{
    begin();
    REQUIRE(symlink("nowhere", below("hone")) == 0);
    refused("cannot open the folder");
    CHECK(!support_exists(below("nowhere")));
}

TEST(file_in_our_place_is_refused)
{
    begin();
    support_write(below("hone"), "x", 1);
    refused("cannot open the folder");
}

TEST(folder_of_all_above_is_refused)
{
    begin();
    make_folder("shared", 0777);
    setenv("XDG_CACHE_HOME", below("shared"), 1);
    refused("everyone may write to it");
}

TEST(link_to_a_folder_of_all_is_refused)
{
    begin();
    make_folder("shared", 0777);
    REQUIRE(symlink("shared", below("link")) == 0);
    setenv("XDG_CACHE_HOME", below("link"), 1);
    refused("everyone may write to it");
}

TEST(folder_of_another_user_is_refused)
{
    begin();
    make_folder("hone", 0700);
    chmod(base, 0755);
    pretend_user = 1; /* everything here now belongs to someone else */
    refused("it belongs to another user");
}

TEST(folder_of_another_user_above_is_refused)
{
    begin();
    make_folder("theirs", 0777);
    setenv("XDG_CACHE_HOME", below("theirs"), 1);
    pretend_user = 1;
    refused(syscall(SYS_getuid) == 0 ? "everyone may write to it" : "it belongs to another user");
}

TEST(real_folder_of_another_user_is_refused)
{
    begin();
    make_folder("hone", 0700);
    if (syscall(SYS_getuid) != 0)
        pretend_user = 1;
    else
        REQUIRE(chown(below("hone"), 12345, 12345) == 0);
    refused("it belongs to another user");
}

TEST(set_user_id_programs_get_none)
{
    begin();
    pretend_effective = 1;
    refused("set-user-id");
    CHECK(!support_exists(below("hone")));
}

TEST(nowhere_to_go)
{
    begin();
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    refused("set HOME or XDG_CACHE_HOME");
    setenv("HOME", "relative", 1);
    refused("set HOME or XDG_CACHE_HOME");
}

TEST(long_paths_are_refused)
{
    char path[PATH_MAX + 100];
    begin();
    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    setenv("XDG_CACHE_HOME", path, 1);
    refused("too long");
    for (size_t i = 100; i < sizeof path; i += 100)
        path[i] = '/';
    path[PATH_MAX - 6] = '\0'; /* fits, but not with hone/programs behind it */
    setenv("XDG_CACHE_HOME", path, 1);
    refused("too long");
}

TEST(folder_that_cannot_be_made)
{
    begin();
    make_folder("shut", 0500);
    setenv("XDG_CACHE_HOME", below("shut"), 1);
    support_obey_permissions();
    refused("cannot make the folder");
}

TEST(folder_that_cannot_be_opened)
{
    begin();
    make_folder("hone", 0000);
    support_obey_permissions();
    refused("cannot open the folder");
}

/* ---- The one for what may be lost ---- */

/* hone-USER below TMPDIR, which is made here. */
static const char *temporary(void)
{
    static char name[64];
    begin();
    make_folder("tmp", 0777);
    REQUIRE(chmod(below("tmp"), 01777) == 0);
    setenv("TMPDIR", below("tmp"), 1);
    snprintf(name, sizeof name, "tmp/hone-%lu", (unsigned long)syscall(SYS_geteuid));
    return name;
}

static hone_status open_temporary(const char *wanted, hone_error *error)
{
    char path[PATH_MAX];
    int fd = -1;
    hone_status status = file_temporary_folder(NULL, "driver", path, &fd, error);
    if (!status) {
        CHECK_TEXT(path, below(wanted));
        CHECK_EQ(mode_of(path), 0700);
        close(fd);
    }
    return status;
}

TEST(temporary_folder_is_private_and_of_the_user)
{
    char driver[80];
    hone_error error;
    const char *own = temporary();
    umask(0);
    snprintf(driver, sizeof driver, "%s/driver", own);
    CHECK_STATUS(open_temporary(driver, &error), HONE_OK);
    CHECK_STATUS(open_temporary(driver, &error), HONE_OK); /* found again */
    CHECK_EQ(mode_of(below(own)), 0700);
}

TEST(temporary_folder_that_was_laid_out_by_others_is_refused)
{
    hone_error error;
    const char *own = temporary();
    make_folder("elsewhere", 0700);
    REQUIRE(symlink(below("elsewhere"), below(own)) == 0);
    CHECK_STATUS(open_temporary(own, &error), HONE_ERROR_IO);
    CHECK_EQ(support_count_files(below("elsewhere"), NULL), 0);
    REQUIRE(unlink(below(own)) == 0);
    make_folder(own, 0770);
    CHECK_STATUS(open_temporary(own, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "chmod 700");
    REQUIRE(chmod(below(own), 0700) == 0 && chmod(below("tmp"), 0777) == 0);
    CHECK_STATUS(open_temporary(own, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "everyone may write to it");
}

TEST(temporary_folder_of_another_user_is_refused)
{
    hone_error error;
    temporary();
    pretend_user = 1;
    char name[64];
    snprintf(name, sizeof name, "tmp/hone-%lu", (unsigned long)geteuid());
    make_folder(name, 0700);
    CHECK_STATUS(open_temporary(name, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "belongs to another user");
    pretend_user = 0;
    pretend_effective = 1;
    CHECK_STATUS(open_temporary(name, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "set-user-id");
}

/* ---- Files in it ---- */

static int open_programs(void)
{
    char path[PATH_MAX];
    int fd = -1;
    hone_error error;
    REQUIRE_OK(file_private_folder("XDG_CACHE_HOME", ".cache", "programs", path, &fd, &error));
    return fd;
}

static void check_read(int fd, hone_status wanted, const char *content, bool is_missing)
{
    struct text text = {0};
    bool missing = !is_missing;
    hone_error error;
    CHECK_STATUS(file_private_read(fd, "entry", 1000, &text, &missing, &error), wanted);
    CHECK_EQ(missing, is_missing);
    CHECK_TEXT(text_view(&text), content);
    text_finish(&text);
}

TEST(entries_are_written_whole_and_private)
{
    begin();
    umask(0);
    int fd = open_programs();
    hone_error error;
    check_read(fd, HONE_ERROR_IO, "", true);
    CHECK_STATUS(file_private_write(fd, "entry", "content", 7, &error), HONE_OK);
    check_read(fd, HONE_OK, "content", false);
    CHECK_EQ(mode_of(below("hone/programs/entry")), 0600);
    CHECK_EQ(support_count_files(below("hone/programs"), NULL), 1);
    CHECK_STATUS(file_private_write(fd, "entry", "other", 5, &error), HONE_OK);
    check_read(fd, HONE_OK, "other", false);
    close(fd);
}

TEST(odd_entries_are_not_read)
{
    begin();
    int fd = open_programs();
    const char *entry = below("hone/programs/entry");
    support_write(below("secret"), "secret", 6);
    REQUIRE(symlink(below("secret"), entry) == 0);
    check_read(fd, HONE_ERROR_IO, "", false);
    REQUIRE(unlink(entry) == 0 && mkfifo(entry, 0600) == 0);
    check_read(fd, HONE_ERROR_IO, "", false);
    REQUIRE(unlink(entry) == 0 && mkdir(entry, 0700) == 0);
    check_read(fd, HONE_ERROR_IO, "", false);
    REQUIRE(rmdir(entry) == 0);
    support_write(entry, "ours", 4);
    check_read(fd, HONE_OK, "ours", false);
    REQUIRE(chmod(entry, 0620) == 0);
    check_read(fd, HONE_ERROR_IO, "", false);
    REQUIRE(chmod(entry, 0602) == 0);
    check_read(fd, HONE_ERROR_IO, "", false);
    REQUIRE(chmod(entry, 0600) == 0);
    pretend_user = 1;
    check_read(fd, HONE_ERROR_IO, "", false);
    close(fd);
}

TEST(large_entries_are_not_read)
{
    begin();
    int fd = open_programs();
    char large[1001] = {0};
    struct text text = {0};
    support_write(below("hone/programs/entry"), large, sizeof large);
    CHECK_EQ(file_private_read(fd, "entry", 1000, &text, NULL, NULL), HONE_ERROR_IO);
    text_finish(&text);
    close(fd);
}

TEST(a_link_is_replaced_by_writing)
{
    begin();
    int fd = open_programs();
    hone_error error;
    support_write(below("secret"), "secret", 6);
    REQUIRE(symlink(below("secret"), below("hone/programs/entry")) == 0);
    CHECK_STATUS(file_private_write(fd, "entry", "ours", 4, &error), HONE_OK);
    check_read(fd, HONE_OK, "ours", false);
    char *secret = support_read(below("secret"), NULL);
    CHECK_TEXT(secret, "secret");
    free(secret);
    close(fd);
}
