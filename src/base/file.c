/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static hone_status io_error(hone_error *error, const char *what, const char *path)
{
    return error_io(error, "%s '%s': %s", what, path, strerror(errno));
}

bool file_write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t written = write(fd, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        at += written;
        count -= (size_t)written;
    }
    return true;
}

bool file_write_at(int fd, const void *bytes, size_t count, off_t offset)
{
    return lseek(fd, offset, SEEK_SET) == offset && file_write_all(fd, bytes, count);
}

/* As many rows as go at once; the first one from `done` on. */
static ssize_t write_some(int fd, const char *rows, size_t row, size_t pitch, size_t count, size_t done)
{
    enum { MOST = 64 };
    struct iovec parts[MOST];
    const size_t some = count < MOST ? count : MOST;
    for (size_t i = 0; i < some; i++)
        parts[i] = (struct iovec){(char *)rows + i * pitch, row};
    parts[0] = (struct iovec){(char *)rows + done, row - done};
    return writev(fd, parts, (int)some);
}

bool file_write_rows(int fd, const void *rows, size_t row, size_t pitch, size_t count)
{
    const char *at = rows;
    size_t done = 0; /* of the row at `at` */
    if (pitch == row)
        return file_write_all(fd, rows, row * count);
    while (count > 0) {
        const ssize_t written = write_some(fd, at, row, pitch, count, done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        done += (size_t)written;
        at += done / row * pitch;
        count -= done / row;
        done %= row;
    }
    return true;
}

/* False where the input ends (errno 0), or the wait (ETIME). A round counts as what it may take at most,
 * however long the process was stopped in it. */
static bool wait_for_bytes(int fd, const struct file_patience *patience)
{
    const double round = 0.1;
    struct pollfd there = {.fd = fd, .events = POLLIN};
    double left = patience->seconds;
    while (!patience->stopped || !patience->stopped(patience->user)) {
        const double wait = left > 0 && left < round ? left : round;
        const int ready = poll(&there, 1, (int)ceil(wait * 1e3));
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
        left -= wait;
        if (ready == 0 && patience->seconds > 0 && left <= 0) {
            errno = ETIME;
            return false;
        }
    }
    errno = 0;
    return false;
}

ssize_t file_read_patiently(int fd, void *bytes, size_t count, const struct file_patience *patience)
{
    const bool waits = patience->seconds > 0 || patience->stopped;
    ssize_t got;
    do {
        if (waits && !wait_for_bytes(fd, patience))
            return errno ? -1 : 0;
        got = read(fd, bytes, count);
    } while (got < 0 && (errno == EINTR || (waits && errno == EAGAIN)));
    return got;
}

ssize_t file_read_at(int fd, void *bytes, size_t count, off_t offset)
{
    size_t total = 0;
    while (total < count) {
        ssize_t got = pread(fd, (char *)bytes + total, count - total, offset + (off_t)total);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        total += (size_t)got;
    }
    return (ssize_t)total;
}

static hone_status read_all(int fd, const char *path, size_t limit, struct text *out, hone_error *error)
{
    char block[65536];
    size_t total = 0;
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_error(error, "cannot read", path);
        if (got == 0)
            break;
        total += (size_t)got;
        if (total > limit)
            return error_io(error, "'%s' is larger than the limit of %zu bytes", path, limit);
        text_add_bytes(out, block, (size_t)got);
    }
    return out->failed ? error_memory(error, path) : HONE_OK;
}

hone_status file_read(const char *path, size_t limit, struct text *out, hone_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return io_error(error, "cannot open", path);
    struct stat info;
    hone_status status;
    if (fstat(fd, &info) != 0)
        status = io_error(error, "cannot examine", path);
    else if (!S_ISREG(info.st_mode))
        status = error_io(error, "'%s' is not a regular file", path);
    else
        status = read_all(fd, path, limit, out, error);
    close(fd);
    return status;
}

bool file_beside_program(const char *const *places, char path[FILE_BESIDE_SIZE])
{
    char folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    path[0] = '\0';
    if (!slash)
        return false;
    *slash = '\0';
    for (const char *const *place = places; *place; place++) {
        const int written = snprintf(path, FILE_BESIDE_SIZE, "%s/%s", folder, *place);
        if (written > 0 && written < FILE_BESIDE_SIZE && access(path, F_OK) == 0)
            return true;
    }
    snprintf(path, FILE_BESIDE_SIZE, "%s/%s", folder, places[0]);
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Where numbers of processes are ours: on this machine, in this container. */
static unsigned own_place(void)
{
    char host[256] = "";
    struct stat names;
    gethostname(host, sizeof host - 1);
    unsigned place = stat("/proc/self/ns/pid", &names) == 0 ? (unsigned)names.st_ino : 0;
    for (const char *at = host; *at; at++)
        place = place * 31 + (unsigned char)*at;
    return place;
}

/* The extension stays last, because writers choose the format by it. */
static bool temporary_name(struct file_output *output, unsigned attempt)
{
    const char *name = base_name(output->target);
    const char *dot = strrchr(name, '.');
    int folder = (int)(name - output->target);
    unsigned tag = (unsigned)(clock_ns() >> 8) + attempt * 7919u;
    int used = snprintf(output->temporary, sizeof output->temporary, "%.*s.hone-%08x-%ld-%08x%.16s", folder,
                        output->target, own_place(), (long)getpid(), tag, dot && dot != name ? dot : "");
    return used > 0 && (size_t)used < sizeof output->temporary;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether two paths are one name in one folder, whatever bears it. */
static bool is_same_name(const char *a, const char *b)
{
    char folders[2][PATH_MAX];
    struct stat info[2];
    const bool alike = strcmp(base_name(a), base_name(b)) == 0;
    if (!alike && !text_equals_without_case(base_name(a), base_name(b)))
        return false;
    for (int i = 0; i < 2; i++) {
        const char *path = i ? b : a;
        const int length = (int)(base_name(path) - path);
        const int used = length ? snprintf(folders[i], PATH_MAX, "%.*s", length, path)
                                : snprintf(folders[i], PATH_MAX, ".");
        if (used >= PATH_MAX || stat(folders[i], &info[i]) != 0)
            return false;
    }
    return is_same_file(&info[0], &info[1]) && (alike || file_ignores_case(folders[0]));
}

hone_status file_output_spares(const char *option, const char *output, const char *file, hone_error *error)
{
    struct stat own, other;
    const bool leads_there =
        lstat(output, &own) == 0 && stat(file, &other) == 0 && is_same_file(&own, &other);
    if (!leads_there && !is_same_name(output, file))
        return HONE_OK;
    return error_usage(error, "%s '%s' would replace '%s', which belongs to this run: name another file",
                       option, output, file);
}

bool file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* What a file would replace, and nothing would bring back. The names of standard output are links, which a
 * file would replace as well. */
static bool is_no_place(const char *target)
{
    return text_starts(target, "/dev/std") || text_starts(target, "/dev/fd/") ||
           text_starts(target, "/proc/") || file_is_special(target);
}

hone_status file_output_begin(struct file_output *output, const char *target, hone_error *error)
{
    *output = FILE_OUTPUT_NONE;
    struct stat info;
    size_t length = strlen(target);
    if (length == 0 || length >= sizeof output->target)
        return error_io(error, "an output needs a name of 1 to %zu bytes", sizeof output->target - 1);
    memcpy(output->target, target, length + 1);
    if (is_no_place(target))
        return error_usage(error, "'%s' is a pipe or a device, which a file would replace: name a file",
                           target);
    if (lstat(target, &info) == 0 && S_ISDIR(info.st_mode))
        return error_io(error, "cannot write '%s': it is a folder; end it with '/' to write into it", target);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        if (!temporary_name(output, attempt))
            return error_io(error, "the name of the output is too long: '%s'", target);
        output->fd = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (output->fd >= 0)
            return HONE_OK;
        if (errno != EEXIST)
            break;
    }
    return io_error(error, "cannot write", target);
}

static void folder_of(const char *file, char folder[PATH_MAX])
{
    size_t length = (size_t)(base_name(file) - file);
    memcpy(folder, length ? file : ".", length ? length : 1);
    folder[length ? length : 1] = '\0';
}

/* A killed process keeps its number until its parent has asked how it ended, which some never do. */
static bool is_zombie(long process)
{
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(line, sizeof line, file);
    const char *state = read ? strrchr(line, ')') : NULL; /* its name, in brackets, may hold anything */
    if (file)
        fclose(file);
    return state && strncmp(state, ") Z", 3) == 0;
}

bool file_process_is_gone(long process)
{
    return kill((pid_t)process, 0) == 0 ? is_zombie(process) : errno == ESRCH;
}

static bool is_orphan(int folder, const char *name)
{
    unsigned place, tag;
    long process;
    struct stat info;
    return sscanf(name, ".hone-%8x-%ld-%8x", &place, &process, &tag) == 3 && place == own_place() &&
           process > 0 && file_process_is_gone(process) &&
           fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
}

void file_output_sweep(const char *target)
{
    char folder[PATH_MAX];
    if (strlen(target) >= sizeof folder)
        return;
    folder_of(target, folder);
    DIR *stream = opendir(folder);
    for (struct dirent *entry = stream ? readdir(stream) : NULL; entry; entry = readdir(stream))
        if (is_orphan(dirfd(stream), entry->d_name))
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}

static bool sync_folder(const char *file)
{
    char folder[PATH_MAX];
    folder_of(file, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    /* Some file systems cannot sync a folder. */
    bool ok = fsync(fd) == 0 || errno == EINVAL || errno == EROFS;
    close(fd);
    return ok;
}

/* Of the file that is replaced. Only root gives files away; others may give them to a group of theirs. What
 * has another name is not given away: somebody may have put it in the temporary file's place. */
static bool take_rights(int fd, const struct stat *old)
{
    struct stat now;
    if (fstat(fd, &now) != 0)
        return false;
    const bool ours = now.st_nlink <= 1, owner = ours && fchown(fd, old->st_uid, old->st_gid) == 0,
               group = owner || (ours && fchown(fd, (uid_t)-1, old->st_gid) == 0);
    const mode_t kept = 01777 | (owner ? S_ISUID : 0) | (group ? S_ISGID : 0);
    return fchmod(fd, old->st_mode & kept) == 0;
}

/* Writers that go by name may have replaced the file: the one that is there now counts. Network file systems
 * tell of failed writes when it is closed. */
static bool complete_file(const char *path, const struct stat *old, bool durable)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool ok = (!old || take_rights(fd, old)) && (!durable || fsync(fd) == 0);
    int saved = errno;
    ok = close(fd) == 0 && ok;
    errno = saved;
    return ok;
}

hone_status file_output_commit(struct file_output *output, bool durable, hone_error *error)
{
    struct stat old = {0};
    const bool replaces = lstat(output->target, &old) == 0 && S_ISREG(old.st_mode);
    hone_status status = HONE_OK;
    if (!complete_file(output->temporary, replaces ? &old : NULL, durable))
        status = io_error(error, "cannot write", output->target);
    else if (rename(output->temporary, output->target) != 0)
        status = io_error(error, "cannot put in place", output->target);
    if (status) {
        file_output_abort(output);
        return status;
    }
    close(output->fd);
    output->fd = -1;
    if (durable && !sync_folder(output->target))
        return error_io(error,
                        "'%s' is written, but a power cut may undo that: its folder cannot be synced: %s",
                        output->target, strerror(errno));
    return HONE_OK;
}

void file_output_abort(struct file_output *output)
{
    if (output->fd < 0)
        return;
    unlink(output->temporary);
    close(output->fd);
    output->fd = -1;
}

bool file_ignores_case(const char *folder)
{
    char other[PATH_MAX], target[PATH_MAX];
    struct file_output output;
    if (snprintf(target, sizeof target, "%s/.hone-case", folder) >= (int)sizeof target ||
        file_output_begin(&output, target, NULL) != HONE_OK)
        return false;
    memcpy(other, output.temporary, sizeof other);
    for (char *at = other + strlen(folder); *at; at++)
        *at = (char)toupper((unsigned char)*at);
    const bool ignores = access(other, F_OK) == 0;
    file_output_abort(&output);
    return ignores;
}

hone_status file_unnamed(int *fd, const char *target, hone_error *error)
{
    const char *const usual = getenv("TMPDIR");
    char folder[PATH_MAX], name[PATH_MAX];
    if (!target)
        snprintf(folder, sizeof folder, "%s", usual && *usual ? usual : "/tmp");
    else if (strlen(target) < sizeof folder)
        folder_of(target, folder);
    else
        return error_io(error, "'%.64s...' is too long for a path", target);
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0)
        return HONE_OK;
    const int used = snprintf(name, sizeof name, "%s/.hone-XXXXXX", folder);
    if (used > 0 && (size_t)used < sizeof name && (*fd = mkostemp(name, O_CLOEXEC)) >= 0) {
        unlink(name);
        return HONE_OK;
    }
    return error_io(error, "cannot make a temporary file in '%s': %s", folder, strerror(errno));
}

hone_status file_write(const char *target, const void *bytes, size_t count, hone_error *error)
{
    struct file_output output;
    hone_status status = file_output_begin(&output, target, error);
    if (status)
        return status;
    if (!file_write_all(output.fd, bytes, count))
        status = io_error(error, "cannot write", target);
    else
        status = file_output_commit(&output, true, error);
    file_output_abort(&output);
    return status;
}

/* Folders: the checks that keep other people's bytes away from the driver. */

static hone_status refuse(hone_error *error, const char *path, const char *why)
{
    return error_io(error, "the private folder '%s' is not used: %s", path, why);
}

static hone_status check_folder(int fd, const char *path, bool ours, hone_error *error)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return io_error(error, "cannot examine", path);
    if (info.st_uid != geteuid() && (ours || info.st_uid != 0))
        return refuse(error, path, "it belongs to another user");
    if (ours && (info.st_mode & 022))
        return refuse(error, path, "others may write to it (make it private: chmod 700)");
    if ((info.st_mode & 002) && !(info.st_mode & S_ISVTX))
        return refuse(error, path, "everyone may write to it");
    return HONE_OK;
}

/* Opens `name` below *fd, making it if need be, and moves *fd there. */
static hone_status enter_folder(int *fd, const char *name, const char *path, bool ours, hone_error *error)
{
    bool made = mkdirat(*fd, name, 0700) == 0;
    if (!made && errno != EEXIST)
        return io_error(error, "cannot make the folder", path);
    int next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (ours || made ? O_NOFOLLOW : 0));
    if (next < 0)
        return io_error(error, "cannot open the folder", path);
    close(*fd);
    *fd = next;
    return check_folder(next, path, ours || made, error);
}

static bool is_set_user_id(void)
{
    return geteuid() != getuid() || getegid() != getgid() || getauxval(AT_SECURE);
}

static hone_status private_base(const char *variable, const char *fallback, char path[PATH_MAX],
                                hone_error *error)
{
    const char *set = getenv(variable), *home = getenv("HOME");
    int used = -1;
    if (set && set[0] == '/')
        used = snprintf(path, PATH_MAX, "%s", set);
    else if (home && home[0] == '/')
        used = snprintf(path, PATH_MAX, "%s/%s", home, fallback);
    else
        return error_io(error, "no private folder: set HOME or %s to an absolute path", variable);
    if (used < 0 || used >= PATH_MAX)
        return error_io(error, "the path in %s or HOME is too long", variable);
    return HONE_OK;
}

/* Walks an absolute path, part by part, making what is missing. */
static hone_status walk(int *fd, char *path, hone_error *error)
{
    char whole[PATH_MAX], *save = NULL;
    memcpy(whole, path, strlen(path) + 1);
    for (char *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save))
        TRY(enter_folder(fd, part, whole, false, error));
    memcpy(path, whole, strlen(whole) + 1);
    return HONE_OK;
}

/* Opens name[/sub] below the folder `path`, and puts the whole path there. */
static hone_status open_own_folder(char path[PATH_MAX], const char *name, const char *sub, int *fd,
                                   hone_error *error)
{
    char own[PATH_MAX], *save = NULL;
    hone_status status;
    if (is_set_user_id())
        return error_io(error, "no private folder is used in a set-user-id program");
    if (snprintf(own, sizeof own, "%s/%s", name, sub ? sub : "") >= (int)sizeof own ||
        strlen(path) + strlen(own) + 2 > PATH_MAX)
        return error_io(error, "the path of the private folder is too long");
    int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return io_error(error, "cannot open", "/");
    status = walk(&at, path, error);
    for (char *part = strtok_r(own, "/", &save); part && !status; part = strtok_r(NULL, "/", &save)) {
        strcat(strcat(path, "/"), part);
        status = enter_folder(&at, part, path, true, error);
    }
    if (status) {
        close(at);
        return status;
    }
    *fd = at;
    return HONE_OK;
}

hone_status file_private_folder(const char *variable, const char *fallback, const char *sub,
                                char path[PATH_MAX], int *fd, hone_error *error)
{
    hone_status status = private_base(variable, fallback, path, error);
    return status ? status : open_own_folder(path, "hone", sub, fd, error);
}

hone_status file_temporary_folder(const char *base, const char *sub, char path[PATH_MAX], int *fd,
                                  hone_error *error)
{
    const char *set = base ? base : getenv("TMPDIR");
    struct stat info;
    char name[32];
    snprintf(name, sizeof name, "hone-%lu", (unsigned long)geteuid());
    const bool usable = set && set[0] == '/' && strlen(set) < PATH_MAX && stat(set, &info) == 0 &&
                        S_ISDIR(info.st_mode) && access(set, W_OK | X_OK) == 0;
    snprintf(path, PATH_MAX, "%s", usable ? set : "/tmp");
    return open_own_folder(path, name, sub, fd, error);
}

hone_status file_private_open(int fd, const char *name, int *file, bool *missing, hone_error *error)
{
    struct stat info;
    hone_status status = HONE_OK;
    *file = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (missing)
        *missing = *file < 0 && errno == ENOENT;
    if (*file < 0 && errno == ELOOP)
        return error_io(error, "'%s' is not used: it is a symbolic link; put the file itself there", name);
    if (*file < 0)
        return io_error(error, "cannot open", name);
    if (fstat(*file, &info) != 0)
        status = io_error(error, "cannot examine", name);
    else if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022))
        status = error_io(error,
                          "'%s' is not used: it is no plain file of this user that nobody else may write to "
                          "(chmod 600)",
                          name);
    if (status) {
        close(*file);
        *file = -1;
    }
    return status;
}

hone_status file_private_read(int fd, const char *name, size_t limit, struct text *out, bool *missing,
                              hone_error *error)
{
    int file;
    TRY(file_private_open(fd, name, &file, missing, error));
    hone_status status = read_all(file, name, limit, out, error);
    close(file);
    return status;
}

/* Moves *fd along the folders of `path`, up to its last part, which is returned. */
static hone_status follow(int *fd, char *path, const char **last, hone_error *error)
{
    char whole[PATH_MAX], *part = path;
    memcpy(whole, path, strlen(path) + 1);
    for (char *slash; (slash = strchr(part, '/')); part = slash + 1) {
        *slash = '\0';
        int next = *part ? openat(*fd, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : dup(*fd);
        if (next < 0)
            return io_error(error, "cannot open", whole);
        close(*fd);
        *fd = next;
        TRY(check_folder(next, whole, false, error));
    }
    *last = part;
    return HONE_OK;
}

hone_status file_trusted_open(const char *path, int *file, hone_error *error)
{
    char parts[PATH_MAX];
    const char *last = NULL;
    struct stat info;
    *file = -1;
    if (path[0] != '/' || strlen(path) >= sizeof parts)
        return error_io(error, "'%.64s' is no absolute path", path);
    memcpy(parts, path, strlen(path) + 1);
    int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hone_status status = at < 0 ? io_error(error, "cannot open", "/") : follow(&at, parts, &last, error);
    const int fd = status ? -1 : openat(at, last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (!status && (fd < 0 || fstat(fd, &info) != 0))
        status = io_error(error, "cannot open", path);
    else if (!status && (!S_ISREG(info.st_mode) || (info.st_uid != 0 && info.st_uid != geteuid()) ||
                         (info.st_mode & 022)))
        status = error_io(error,
                          "'%s' is not used: it is no plain file of root or of this user that nobody else "
                          "may write to",
                          path);
    if (at >= 0)
        close(at);
    if (status && fd >= 0)
        close(fd);
    else if (!status)
        *file = fd;
    return status;
}

hone_status file_private_write(int fd, const char *name, const void *bytes, size_t count, hone_error *error)
{
    char temporary[NAME_MAX + 1];
    int used = snprintf(temporary, sizeof temporary, ".%.150s.%ld.%08x", name, (long)getpid(),
                        (unsigned)(clock_ns() >> 4));
    if (used < 0 || (size_t)used >= sizeof temporary)
        return error_io(error, "the name '%s' is too long", name);
    int file = openat(fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return io_error(error, "cannot write", name);
    bool ok = file_write_all(file, bytes, count) && fsync(file) == 0;
    int saved = errno;
    if (close(file) != 0 && ok) {
        ok = false;
        saved = errno;
    }
    errno = saved;
    if (ok && renameat(fd, temporary, fd, name) == 0)
        return HONE_OK;
    hone_status status = io_error(error, "cannot write", name);
    unlinkat(fd, temporary, 0);
    return status;
}

/* Trees. By descriptors from folder to folder, so that a name which is swapped for a link meanwhile leads
 * nowhere. */

enum { MAX_TREE_DEPTH = 32 }; /* one open descriptor each */

struct tree_walk {
    bool remove;
    dev_t device;
    uint64_t bytes;
};

static bool visit(struct tree_walk *walk, int parent, const char *name, unsigned depth);

DIR *file_list_folder(int fd, const char *name)
{
    int folder = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = folder >= 0 ? fdopendir(folder) : NULL;
    if (!list && folder >= 0)
        close(folder);
    return list;
}

/* One pass over the entries; false when one of them failed. */
static bool visit_entries(struct tree_walk *walk, DIR *list, unsigned depth)
{
    bool ok = true;
    for (struct dirent *entry; (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = visit(walk, dirfd(list), entry->d_name, depth) && ok;
    return ok;
}

static bool visit_folder(struct tree_walk *walk, int parent, const char *name, unsigned depth)
{
    DIR *list = depth < MAX_TREE_DEPTH ? file_list_folder(parent, name) : NULL;
    if (!list)
        return false;
    bool ok = visit_entries(walk, list, depth + 1);
    /* Some file systems skip entries while others are being removed: once more before giving up. */
    if (walk->remove && unlinkat(parent, name, AT_REMOVEDIR) != 0) {
        rewinddir(list);
        ok = visit_entries(walk, list, depth + 1) && unlinkat(parent, name, AT_REMOVEDIR) == 0;
    }
    closedir(list);
    return ok;
}

static bool visit(struct tree_walk *walk, int parent, const char *name, unsigned depth)
{
    struct stat info;
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    if (depth == 0)
        walk->device = info.st_dev;
    if (info.st_dev != walk->device)
        return false;
    if (S_ISDIR(info.st_mode))
        return visit_folder(walk, parent, name, depth);
    if (walk->remove && unlinkat(parent, name, 0) != 0)
        return errno == ENOENT;
    if (S_ISREG(info.st_mode))
        walk->bytes += (uint64_t)info.st_size;
    return true;
}

static bool walk_tree(int fd, const char *name, bool remove, uint64_t *bytes)
{
    struct tree_walk walk = {.remove = remove};
    bool ok = visit(&walk, fd, name, 0);
    *bytes += walk.bytes;
    return ok;
}

bool file_tree_bytes(int fd, const char *name, uint64_t *bytes)
{
    return walk_tree(fd, name, false, bytes);
}

bool file_tree_remove(int fd, const char *name, uint64_t *bytes)
{
    return walk_tree(fd, name, true, bytes);
}
