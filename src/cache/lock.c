/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock between processes that build programs. Who lets go of it to take it again, as a process does that
 * builds one program after the other, comes after those that wait already. */
#include "base/clock.h"
#include "cache/disk.h"
#include "cl/builds.h"
#include "cl/device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char next_in_line[] = "lock.next"; /* is there once a process had to wait */

/* What this process holds. */
static struct {
    pthread_mutex_t lock;
    unsigned users;                   /* who has taken it, and those who share it; 0: it is not held */
    int fd;                           /* of who has taken it; -1: it let go before the others */
    const struct hone_device *holder; /* NULL: none in particular */
    bool abandoned;                   /* by a thread that does not come back */
    dev_t device;
    ino_t node;
} ours = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* One process was waited for in vain: until it lets go, nobody else waits so long. */
static atomic_bool in_vain;

/* Under the lock: whether this is a descriptor of the file that is held. */
static bool is_ours(int fd)
{
    struct stat info;
    return ours.users && fstat(fd, &info) == 0 && info.st_dev == ours.device && info.st_ino == ours.node;
}

/* Another descriptor of the lock that this process holds for good; -1: it holds none. */
static int share_abandoned(int lock)
{
    pthread_mutex_lock(&ours.lock);
    const bool for_good = ours.abandoned && ours.fd >= 0 && is_ours(lock);
    const int shared = for_good ? fcntl(ours.fd, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_unlock(&ours.lock);
    return shared;
}

static void hold(int lock, const struct hone_device *device)
{
    struct stat info;
    pthread_mutex_lock(&ours.lock);
    if (is_ours(lock)) {
        ours.users++;
    } else if (!ours.users && fstat(lock, &info) == 0) {
        ours.users = 1;
        ours.fd = lock;
        ours.holder = device;
        ours.device = info.st_dev;
        ours.node = info.st_ino;
    }
    pthread_mutex_unlock(&ours.lock);
    atomic_store(&in_vain, false);
}

/* Until somebody else lets go of `fd`; false: errno says why. *shared: what does instead of `lock`, or -1. */
static bool wait_for(int fd, int lock, uint64_t until, int *shared)
{
    const struct timespec pause = {0, 5000000};
    *shared = -1;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        const int code = errno;
        if ((*shared = share_abandoned(lock)) >= 0)
            return true;
        if ((code != EWOULDBLOCK && code != EINTR) || clock_ns() > until) {
            errno = code;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

static int give_up(int fd)
{
    const int code = errno;
    close(fd);
    if (code == EWOULDBLOCK)
        atomic_store(&in_vain, true);
    errno = code;
    return -1;
}

/* Without a place in line it is a matter of luck, as for one that finds no room for the file. */
static int wait_in_line(int folder, int lock, uint64_t until)
{
    const int line = openat(folder, next_in_line, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int shared = -1;
    bool taken = line < 0 || wait_for(line, lock, until, &shared);
    taken = taken && (shared >= 0 || wait_for(lock, lock, until, &shared));
    const int code = errno;
    if (line >= 0)
        close(line);
    errno = code;
    if (!taken)
        return give_up(lock);
    if (shared < 0)
        return lock;
    close(lock);
    return shared;
}

/* Whether nobody holds it, and nobody waits for it. */
static bool take_at_once(int folder, int lock)
{
    const int line = openat(folder, next_in_line, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    const bool first = line < 0 || flock(line, LOCK_EX | LOCK_NB) == 0;
    const bool taken = first && flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (line >= 0)
        close(line);
    return taken;
}

int disk_wait_for_lock(int folder, struct hone_device *device)
{
    const uint64_t patience = atomic_load(&in_vain) ? 0 : 120000000000u;
    int lock = openat(folder, PROGRAM_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock >= 0 && !take_at_once(folder, lock)) {
        device_waits(device, true);
        lock = wait_in_line(folder, lock, clock_ns() + patience);
        device_waits(device, false);
    }
    if (lock >= 0)
        hold(lock, device);
    return lock;
}

/* Not by closing alone: a process that was forked meanwhile has the descriptor, too. */
void disk_let_go(int lock)
{
    if (lock < 0)
        return;
    pthread_mutex_lock(&ours.lock);
    const bool shared = is_ours(lock) && --ours.users > 0;
    if (ours.fd == lock) {
        ours.fd = -1;
        ours.abandoned = false;
    }
    if (!shared)
        flock(lock, LOCK_UN);
    close(lock);
    pthread_mutex_unlock(&ours.lock);
}

/* ---- For src/cl ---- */

int build_lock(struct hone_device *device)
{
    struct disk disk;
    if (disk_open(&disk, NULL) != HONE_OK)
        return -1;
    int lock = disk_wait_for_lock(disk.folder, device);
    disk_close(&disk);
    return lock;
}

void build_unlock(int lock)
{
    disk_let_go(lock);
}

void build_lock_abandon(const struct hone_device *device)
{
    pthread_mutex_lock(&ours.lock);
    ours.abandoned = ours.abandoned || (ours.fd >= 0 && ours.holder == device);
    pthread_mutex_unlock(&ours.lock);
}
