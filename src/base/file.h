/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: whole reads with a limit, outputs that appear whole or not at all, private folders. */
#pragma once

#include "base/text.h"
#include "hone/status.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Appends a whole file to `out`. A file over `limit` bytes, a folder or a device is HONE_ERROR_IO. */
hone_status file_read(const char *path, size_t limit, struct text *out, hone_error *error);

/* `path` becomes that of the first of `places` that is there, else of the first one, and false. Places are
 * relative to the folder of this program's executable; NULL ends them. */
enum { FILE_BESIDE_SIZE = PATH_MAX * 2 };
bool file_beside_program(const char *const *places, char path[FILE_BESIDE_SIZE]);

/* write(2) until all is written, EINTR survived. False with errno set on failure. */
bool file_write_all(int fd, const void *bytes, size_t count);
/* The same from a place on, behind which the descriptor stands then. */
bool file_write_at(int fd, const void *bytes, size_t count, off_t offset);
/* The same for rows of `row` bytes that lie `pitch` apart. */
bool file_write_rows(int fd, const void *rows, size_t row, size_t pitch, size_t count);

/* How long a read waits for bytes. */
struct file_patience {
    double seconds;              /* 0: any time. Time in which the process is stopped does not count */
    bool (*stopped)(void *user); /* asked ten times a second: true ends the input there; may be NULL */
    void *user;
};

/* read(2), EINTR survived, and EAGAIN where it waits; fails with ETIME when nothing has come for too long. A
 * fifo that nobody writes yet is waited for, too, if it was opened with O_NONBLOCK. */
ssize_t file_read_patiently(int fd, void *bytes, size_t count, const struct file_patience *patience);

/* pread until `count` bytes or the end of the file; the number read, or -1 with errno. */
ssize_t file_read_at(int fd, void *bytes, size_t count, off_t offset);

/**
 * An output that is written beside its target and renamed over it when complete.
 *
 * begin() creates an empty temporary file in the target's folder, readable under `temporary`; the caller
 * fills it (by name or through `fd`); commit() gives it the old target's permissions (0666 less the umask for
 * a new one), and its owner and group as far as this process may, and renames it. However the process ends,
 * the target is whole or as before; where `durable`, after a power cut, too: the file is synced before it
 * gets its name, and the folder afterwards. A symbolic link in the target's place is replaced, never
 * followed. abort() removes the temporary file and is a no-op after commit, so it can stand in every exit
 * path.
 */
struct file_output {
    char target[PATH_MAX], temporary[PATH_MAX];
    int fd; /* -1 when not begun, committed or aborted */
};

#define FILE_OUTPUT_NONE ((struct file_output){.fd = -1})

/* Whether a path leads to a pipe or a device. */
bool file_is_special(const char *path);

/* HONE_ERROR_USAGE for a pipe or a device, which would not survive it. */
hone_status file_output_begin(struct file_output *output, const char *target, hone_error *error);
hone_status file_output_commit(struct file_output *output, bool durable, hone_error *error);
void file_output_abort(struct file_output *output);

/* Whether the file system of a folder takes names that differ in case alone for one. Makes a file there and
 * removes it; false where it cannot. */
bool file_ignores_case(const char *folder);

/* HONE_ERROR_USAGE if an output, given by an option, would replace a file that the same run reads or writes:
 * under whatever path, also before the file is there. */
hone_status file_output_spares(const char *option, const char *output, const char *file, hone_error *error);

/* Removes from the target's folder the temporary files of processes that are gone: killed ones leave them. */
void file_output_sweep(const char *target);

/* Whether the process that left something under its number has ended. */
bool file_process_is_gone(long process);

/* A file without a name in the folder of `target` (NULL: in $TMPDIR, or /tmp), which ends with its last
 * descriptor. The caller closes *fd. */
hone_status file_unnamed(int *fd, const char *target, hone_error *error);

/* The whole dance for bytes in memory, durable. */
hone_status file_write(const char *target, const void *bytes, size_t count, hone_error *error);

/**
 * Opens (and makes, 0700) the private folder $VARIABLE/hone[/sub], or ~/fallback/hone[/sub] where the
 * variable is unset or relative (the XDG rule). The folder must be a real folder of the calling user that no
 * one else may write to, and so must every folder that hone made above it; folders above those must not be
 * writable by others unless sticky. Fails (HONE_ERROR_IO) for set-user-id programs and wherever one of this
 * does not hold. path gets the name (for messages only); *fd the folder, which the caller closes.
 */
hone_status file_private_folder(const char *variable, const char *fallback, const char *sub,
                                char path[PATH_MAX], int *fd, hone_error *error);

/**
 * The same for hone-USER[/sub] (the user's number) below the folder `base`; NULL: below $TMPDIR, or below
 * /tmp where the variable is unset, relative or leads nowhere. For what may be lost, when there is no private
 * folder.
 */
hone_status file_temporary_folder(const char *base, const char *sub, char path[PATH_MAX], int *fd,
                                  hone_error *error);

/* Opens the regular file `name` of folder `fd` for reading, only when it is the user's own and private. A
 * missing file is HONE_ERROR_IO too; *missing (may be NULL) tells. The caller closes *file. */
hone_status file_private_open(int fd, const char *name, int *file, bool *missing, hone_error *error);

/* Appends such a file to out, unless it is over `limit`. */
hone_status file_private_read(int fd, const char *name, size_t limit, struct text *out, bool *missing,
                              hone_error *error);

/* Opens the file `path`, which is absolute, for reading, only when it belongs to root or the user, and nobody
 * else can write to it or put another in its place. HONE_ERROR_IO, also where it is missing. The caller
 * closes *file. */
hone_status file_trusted_open(const char *path, int *file, hone_error *error);

/* Writes `name` in folder `fd` whole: temporary file 0600, sync, rename. */
hone_status file_private_write(int fd, const char *name, const void *bytes, size_t count, hone_error *error);

/* The entries of folder `name` below folder `fd`, for closedir; a link is not followed. NULL when it cannot
 * be read. "." lists fd itself, from the start and without moving it. */
DIR *file_list_folder(int fd, const char *name);

/* Adds up the bytes of regular files in `name` (a folder or a file) below folder `fd`. Links are not
 * followed, other file systems not entered. False when something could not be looked at. */
bool file_tree_bytes(int fd, const char *name, uint64_t *bytes);

/* Removes `name` with all that lies in it, by the same rules; *bytes grows by what regular files held.
 * False when something is left. */
bool file_tree_remove(int fd, const char *name, uint64_t *bytes);
