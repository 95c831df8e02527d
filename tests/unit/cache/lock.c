/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock between processes that build programs: turns, waits that are told, and threads that do not come
 * back. */
#include "cache/disk.h"
#include "cl/builds.h"
#include "cl/device.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct disk begin(void)
{
    struct disk disk;
    hone_error error;
    setenv("XDG_CACHE_HOME", support_folder(), 1);
    REQUIRE_OK(disk_open(&disk, &error));
    return disk;
}

/* Until another process waits in line; false: none does for so long that none will. */
static bool wait_for_a_line(const struct disk *disk)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 30000; i++) {
        const int line = openat(disk->folder, "lock.next", O_RDWR | O_CLOEXEC);
        const bool waits = line >= 0 && flock(line, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (line >= 0)
            close(line);
        if (waits)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* A process that takes the lock, writes that into `told`, and ends. */
static pid_t start_taker(int told)
{
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct disk disk;
        const bool held = disk_open(&disk, NULL) == HONE_OK && disk_lock(&disk);
        _exit(held && write(told, "x", 1) == 1 ? 0 : 1);
    }
    return child;
}

static void wait_for_end(pid_t child)
{
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

TEST(who_takes_it_again_comes_after_who_waits)
{
    struct disk disk = begin();
    int told[2];
    char byte;
    REQUIRE(pipe2(told, O_NONBLOCK) == 0);
    REQUIRE(disk_lock(&disk));
    const pid_t child = start_taker(told[1]);
    CHECK(wait_for_a_line(&disk));
    CHECK(read(told[0], &byte, 1) < 0);
    disk_unlock(&disk);
    REQUIRE(disk_lock(&disk)); /* at once, while the other one sleeps between two tries */
    CHECK_EQ(read(told[0], &byte, 1), 1);
    wait_for_end(child);
    close(told[0]);
    close(told[1]);
    disk_close(&disk);
}

TEST(a_wait_is_told_with_its_device)
{
    struct disk disk = begin();
    hone_device *device = support_open(NULL), *other = support_open(NULL);
    int go[2];
    REQUIRE(pipe(go) == 0);
    fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct disk theirs;
        const bool held =
            disk_open(&theirs, NULL) == HONE_OK && disk_lock(&theirs) && write(go[1], "x", 1) == 1;
        _exit(held && wait_for_a_line(&theirs) ? 0 : 1);
    }
    char byte;
    REQUIRE(read(go[0], &byte, 1) == 1);
    CHECK_EQ(device_waited_ns(NULL), 0);
    disk.device = device;
    CHECK(disk_lock(&disk));
    wait_for_end(child);
    const uint64_t waited = device_waited_ns(device);
    CHECK(waited > 0);
    CHECK_EQ(device_waited_ns(device), waited);
    CHECK_EQ(device_waited_ns(NULL), waited);
    CHECK_EQ(device_waited_ns(other), 0);
    disk_close(&disk);
    close(go[0]);
    close(go[1]);
    hone_device_close(&device);
    hone_device_close(&other);
}

/* Within the two minutes for which others are waited for, which are longer than this test may take. */
TEST(others_go_on_without_a_thread_that_does_not_come_back)
{
    struct disk lost = begin(), disk;
    hone_device *device = support_open(NULL), *other = support_open(NULL);
    hone_error error;
    lost.device = device;
    REQUIRE_OK(disk_open(&disk, &error));
    disk.device = other;
    REQUIRE(disk_lock(&lost));
    build_lock_abandon(other); /* has nothing */
    build_lock_abandon(device);
    for (int i = 0; i < 2; i++) {
        REQUIRE(disk_lock(&disk));
        disk_unlock(&disk);
    }
    REQUIRE(disk_lock(&disk));
    disk_unlock(&lost); /* it came back after all */
    int told[2];
    REQUIRE(pipe(told) == 0);
    const pid_t child = start_taker(told[1]);
    CHECK(wait_for_a_line(&disk)); /* it is still ours */
    disk_unlock(&disk);
    wait_for_end(child);
    close(told[0]);
    close(told[1]);
    disk_close(&lost);
    disk_close(&disk);
    hone_device_close(&device);
    hone_device_close(&other);
}
