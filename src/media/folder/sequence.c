/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/folder/sequence.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DIGITS = 18 };

/* A pattern's number: where it stands, and with how many digits at least. */
struct place {
    size_t start, end; /* of "%04d" in the whole name */
    int digits;
};

static bool find_place(const char *name, struct place *place)
{
    const char *slash = strrchr(name, '/'), *percent = strchr(slash ? slash : name, '%');
    if (!percent || strchr(percent + 1, '%'))
        return false;
    const char *at = percent + 1;
    const size_t digits = strspn(at, "0123456789");
    *place = (struct place){.start = (size_t)(percent - name), .digits = digits ? atoi(at) : 1};
    at += digits;
    place->end = (size_t)(at + 1 - name);
    return *at == 'd' && digits <= 3 && (digits == 0 || percent[1] == '0') && place->digits >= 1 &&
           place->digits <= MAX_DIGITS;
}

bool sequence_is_pattern(const char *name)
{
    struct place place;
    struct stat info;
    return find_place(name, &place) && lstat(name, &info) != 0;
}

char *sequence_name(const char *pattern, uint64_t number)
{
    struct place place;
    struct text name = {0};
    if (!find_place(pattern, &place))
        return NULL;
    text_add_bytes(&name, pattern, place.start);
    text_add(&name, "%0*llu%s", place.digits, (unsigned long long)number, pattern + place.end);
    return text_take(&name);
}

/* ---- What there is ---- */

struct numbers {
    uint64_t *list;
    size_t count, capacity;
};

/* The number in a file's name, if the name is what the pattern makes of it. */
static bool read_number(const char *file, const char *pattern, const struct place *place, uint64_t *number)
{
    const char *slash = strrchr(pattern, '/'), *base = slash ? slash + 1 : pattern;
    const size_t before = place->start - (size_t)(base - pattern);
    if (strncmp(file, base, before) != 0)
        return false;
    const char *digits = file + before;
    const size_t count = strspn(digits, "0123456789");
    if (count < (size_t)place->digits || count > MAX_DIGITS ||
        (count > (size_t)place->digits && *digits == '0') ||
        strcmp(digits + count, pattern + place->end) != 0)
        return false;
    *number = strtoull(digits, NULL, 10);
    return true;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static hone_status list_numbers(struct numbers *numbers, DIR *folder, const char *pattern,
                                const struct place *place, hone_error *error)
{
    const struct dirent *entry;
    uint64_t number;
    for (errno = 0; (entry = readdir(folder)); errno = 0) {
        if (!read_number(entry->d_name, pattern, place, &number))
            continue;
        if (!mem_grow(&numbers->list, &numbers->capacity, numbers->count + 1, sizeof *numbers->list))
            return error_memory(error, "a sequence");
        numbers->list[numbers->count++] = number;
    }
    return errno ? error_io(error, "cannot read the folder of '%s': %s", pattern, strerror(errno)) : HONE_OK;
}

static hone_status check_gaps(const struct numbers *numbers, const char *pattern, hone_error *error)
{
    for (size_t i = 1; i < numbers->count; i++) {
        if (numbers->list[i] == numbers->list[i - 1] + 1)
            continue;
        char *missing = sequence_name(pattern, numbers->list[i - 1] + 1),
             *next = sequence_name(pattern, numbers->list[i]);
        hone_status status =
            missing && next
                ? error_io(error,
                           "'%s': '%s' is missing, and the next file is '%s'; a sequence has no gaps "
                           "(a folder as the input takes what is there)",
                           pattern, missing, next)
                : error_memory(error, "a sequence");
        free(missing);
        free(next);
        return status;
    }
    return HONE_OK;
}

static hone_status open_folder(DIR **out, const char *pattern, hone_error *error)
{
    struct text path = {0};
    const char *slash = strrchr(pattern, '/');
    if (slash)
        text_add_bytes(&path, pattern, (size_t)(slash + 1 - pattern));
    else
        text_add(&path, ".");
    *out = path.failed ? NULL : opendir(text_view(&path));
    hone_status status =
        path.failed ? error_memory(error, "a sequence")
        : *out      ? HONE_OK
                    : error_io(error, "cannot read the folder '%s': %s", text_view(&path), strerror(errno));
    text_finish(&path);
    return status;
}

hone_status sequence_find(const char *pattern, uint64_t *first, uint64_t *last, hone_error *error)
{
    struct place place;
    struct numbers numbers = {0};
    DIR *folder = NULL;
    if (!find_place(pattern, &place))
        return error_usage(error, "'%s' is no pattern with a number, such as frame%%04d.png", pattern);
    hone_status status = open_folder(&folder, pattern, error);
    THEN(status, list_numbers(&numbers, folder, pattern, &place, error));
    if (folder)
        closedir(folder);
    if (!status && numbers.count == 0)
        status = error_io(error, "'%s': there is no file with a number like that", pattern);
    if (!status) {
        qsort(numbers.list, numbers.count, sizeof *numbers.list, by_value);
        status = check_gaps(&numbers, pattern, error);
        *first = numbers.list[0];
        *last = numbers.list[numbers.count - 1];
    }
    free(numbers.list);
    return status;
}
