/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/spool.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 192 };

/* ---- Checks ---- */

/* Every bit of a unit decides on it, and the place of the unit among those before. */
static uint64_t add_to_check(uint64_t check, const void *bytes, size_t count)
{
    const uint64_t prime = 0x9e3779b97f4a7c15u;
    const unsigned char *at = bytes;
    for (; count > 0; count -= count < 8 ? count : 8, at += 8) {
        uint64_t word = 0;
        memcpy(&word, at, count < 8 ? count : 8);
        check = (check ^ word) * prime;
        check ^= check >> 29;
    }
    return check;
}

static uint64_t first_check(uint64_t block)
{
    return add_to_check(1, &block, sizeof block);
}

/* ---- Places ---- */

static uint64_t block_bytes(const struct spool_shape *shape)
{
    return (uint64_t)shape->unit * shape->units + shape->extra + sizeof(uint64_t);
}

static off_t place_of(const struct spool *spool, uint64_t block, uint32_t unit)
{
    return (off_t)(HEADER + block * block_bytes(&spool->shape) + (uint64_t)unit * spool->shape.unit);
}

static bool find_path(char path[PATH_MAX], const char *target)
{
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    const int used = snprintf(path, PATH_MAX, "%.*s.%s.hone-rows", (int)(name - target), target, name);
    return used > 0 && used < PATH_MAX;
}

static hone_status failed(const struct spool *spool, const char *what, hone_error *error)
{
    return error_io(error, "cannot %s '%s': %s", what, spool->path,
                    errno ? strerror(errno) : "it has become shorter");
}

static bool read_at(const struct spool *spool, void *to, size_t count, off_t at)
{
    errno = 0;
    return file_read_at(spool->fd, to, count, at) == (ssize_t)count;
}

/* ---- What is there ---- */

/* Whether block `index` is whole. */
static bool is_whole(const struct spool *spool, uint64_t index, unsigned char *unit)
{
    const struct spool_shape *shape = &spool->shape;
    const off_t extra = place_of(spool, index, shape->units);
    uint64_t check = first_check(index), wanted;
    for (uint32_t i = 0; i < shape->units; i++) {
        if (!read_at(spool, unit, shape->unit, place_of(spool, index, i)))
            return false;
        check = add_to_check(check, unit, shape->unit);
    }
    if (!read_at(spool, unit, shape->extra, extra))
        return false;
    check = add_to_check(check, unit, shape->extra);
    return read_at(spool, &wanted, sizeof wanted, extra + (off_t)shape->extra) && wanted == check;
}

/* Goes on behind the last whole block. */
static hone_status find_end(struct spool *spool, hone_error *error)
{
    const struct spool_shape *shape = &spool->shape;
    unsigned char *unit = mem_new(shape->unit > shape->extra ? shape->unit : shape->extra, 1);
    if (!unit)
        return error_memory(error, "kept rows");
    while (is_whole(spool, spool->blocks, unit))
        spool->blocks++;
    free(unit);
    const off_t end = place_of(spool, spool->blocks, 0);
    if (ftruncate(spool->fd, end) != 0 || lseek(spool->fd, end, SEEK_SET) < 0)
        return failed(spool, "write", error);
    spool->check = first_check(spool->blocks);
    return HONE_OK;
}

static void print_header(char header[HEADER], const char *key, const struct spool_shape *shape)
{
    const uint16_t order = 1; /* of bytes in numbers */
    char text[HEADER + 1] = {0};
    snprintf(text, sizeof text, "hone rows 1 %d %.100s %zu %u %zu\n", *(const char *)&order, key, shape->unit,
             shape->units, shape->extra);
    memcpy(header, text, HEADER);
}

static hone_status take_over(struct spool *spool, const char *key, enum spool_found *found, hone_error *error)
{
    char wanted[HEADER], there[HEADER];
    print_header(wanted, key, &spool->shape);
    const ssize_t got = file_read_at(spool->fd, there, HEADER, 0);
    if (got < 0)
        return failed(spool, "read", error);
    *found = got == 0                                              ? SPOOL_NEW
             : got == HEADER && memcmp(there, wanted, HEADER) == 0 ? SPOOL_OURS
                                                                   : SPOOL_OTHERS;
    if (*found != SPOOL_OURS && (ftruncate(spool->fd, 0) != 0 || lseek(spool->fd, 0, SEEK_SET) < 0 ||
                                 !file_write_all(spool->fd, wanted, HEADER)))
        return failed(spool, "write", error);
    return find_end(spool, error);
}

static hone_status open_file(struct spool *spool, hone_error *error)
{
    struct stat file;
    spool->fd = open(spool->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (spool->fd < 0 || fstat(spool->fd, &file) != 0)
        return failed(spool, "open", error);
    if (!S_ISREG(file.st_mode) || file.st_uid != geteuid() || (file.st_mode & (S_IWGRP | S_IWOTH)))
        return error_io(error, "'%s' is no file of yours that you alone may write to: remove it",
                        spool->path);
    if (flock(spool->fd, LOCK_EX | LOCK_NB) != 0)
        return error_io(error, "'%s' is in use: another process makes the same output", spool->path);
    return HONE_OK;
}

hone_status spool_open(struct spool *spool, const char *target, const char *key,
                       const struct spool_shape *shape, enum spool_found *found, hone_error *error)
{
    *spool = SPOOL_NONE;
    spool->shape = *shape;
    *found = SPOOL_NEW;
    if (!find_path(spool->path, target))
        return error_io(error, "the name of the output is too long: '%s'", target);
    hone_status status = open_file(spool, error);
    THEN(status, take_over(spool, key, found, error));
    if (status)
        spool_close(spool);
    return status;
}

/* ---- Adding and reading ---- */

static hone_status add(struct spool *spool, const void *bytes, size_t count, hone_error *error)
{
    spool->check = add_to_check(spool->check, bytes, count);
    return file_write_all(spool->fd, bytes, count) ? HONE_OK : failed(spool, "write", error);
}

hone_status spool_add(struct spool *spool, const void *unit, hone_error *error)
{
    return add(spool, unit, spool->shape.unit, error);
}

hone_status spool_end_block(struct spool *spool, const void *extra, hone_error *error)
{
    TRY(add(spool, extra, spool->shape.extra, error));
    const uint64_t check = spool->check;
    if (!file_write_all(spool->fd, &check, sizeof check))
        return failed(spool, "write", error);
    spool->check = first_check(++spool->blocks);
    return HONE_OK;
}

hone_status spool_read(const struct spool *spool, uint64_t index, void *unit, hone_error *error)
{
    const uint32_t units = spool->shape.units;
    return read_at(spool, unit, spool->shape.unit, place_of(spool, index / units, (uint32_t)(index % units)))
               ? HONE_OK
               : failed(spool, "read", error);
}

hone_status spool_read_extra(const struct spool *spool, uint64_t block, void *extra, hone_error *error)
{
    return read_at(spool, extra, spool->shape.extra, place_of(spool, block, spool->shape.units))
               ? HONE_OK
               : failed(spool, "read", error);
}

void spool_close(struct spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

void spool_remove(const char *target)
{
    struct spool spool = SPOOL_NONE;
    if (!find_path(spool.path, target))
        return;
    spool.fd = open(spool.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (spool.fd >= 0 && flock(spool.fd, LOCK_EX | LOCK_NB) == 0)
        unlink(spool.path);
    spool_close(&spool);
}
