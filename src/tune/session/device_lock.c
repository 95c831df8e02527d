/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session/device_lock.h"

#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOOK_EVERY = 100 }; /* ms */

/* What makes devices the same for records, another driver or not. */
static void file_name(const struct record_device *device, char name[64])
{
    char both[sizeof device->name + sizeof device->platform + 1], hex[SHA256_TEXT_SIZE];
    int length = snprintf(both, sizeof both, "%s\n%s", device->name, device->platform);
    sha256_text_of(both, (size_t)length, hex);
    snprintf(name, 64, "tuning-%.16s.lock", hex);
}

static int open_file(const struct record_device *device)
{
    char path[PATH_MAX], name[64];
    int folder;
    if (file_private_folder("XDG_DATA_HOME", ".local/share", NULL, path, &folder, NULL) != HONE_OK)
        return -1;
    file_name(device, name);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    close(folder);
    return file;
}

bool device_lock_take(const struct record_device *device, const struct device_lock_wait *wait, int *lock)
{
    bool told = false;
    *lock = open_file(device);
    while (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK) {
            device_lock_release(lock);
            return true;
        }
        if (!told && wait->waiting)
            wait->waiting(wait->context);
        told = true;
        if (wait->interrupted && wait->interrupted(wait->context))
            return false;
        poll(NULL, 0, LOOK_EVERY);
    }
    return true;
}

void device_lock_release(int *lock)
{
    if (*lock >= 0)
        close(*lock);
    *lock = -1;
}
