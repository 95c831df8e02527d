/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/facts/compiled.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- NVIDIA ---- */

/* The number in front of `unit`, before `end`; false where there is none. */
static bool number_before(const char *from, const char *end, const char *unit, unsigned *number)
{
    const char *at = strstr(from, unit);
    if (!at || at >= end)
        return false;
    const char *digit = at;
    while (digit > from && digit[-1] >= '0' && digit[-1] <= '9')
        digit--;
    if (digit == at || at - digit > 9)
        return false;
    *number = (unsigned)strtoul(digit, NULL, 10);
    return true;
}

bool compiled_of_log(const char *log, const char *kernel, struct compiled *out)
{
    char entry[256];
    snprintf(entry, sizeof entry, "entry function '%s'", kernel);
    const char *from = strstr(log, entry);
    if (!from)
        return false;
    const char *next = strstr(from + strlen(entry), "entry function '");
    const char *end = next ? next : from + strlen(from);
    *out = (struct compiled){0};
    number_before(from, end, " bytes spill stores", &out->spills);
    return number_before(from, end, " registers", &out->registers);
}

/* ---- AMD ---- */

struct bytes {
    const uint8_t *at, *end;
};

static const uint8_t *find(struct bytes in, const char *word)
{
    return in.at < in.end ? memmem(in.at, (size_t)(in.end - in.at), word, strlen(word)) : NULL;
}

/* A MessagePack string of up to 255 bytes at `at` that is `text`. */
static bool is_string(const uint8_t *at, const uint8_t *end, const char *text)
{
    const size_t length = strlen(text);
    if (length < 32) {
        if (at >= end || *at++ != (0xa0 | length))
            return false;
    } else if (end - at < 2 || *at++ != 0xd9 || *at++ != length)
        return false;
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/* What follows such a string. */
static const uint8_t *behind_string(const uint8_t *at, const char *text)
{
    const size_t length = strlen(text);
    return at + (length < 32 ? 1 : 2) + length;
}

/* A MessagePack number that is not negative. */
static bool read_number(const uint8_t *at, const uint8_t *end, unsigned *number)
{
    if (at >= end)
        return false;
    const unsigned wide = *at == 0xcc ? 1 : *at == 0xcd ? 2 : *at == 0xce ? 4 : 0;
    if (*at < 0x80) {
        *number = *at;
        return true;
    }
    if (wide == 0 || (size_t)(end - at) <= wide)
        return false;
    *number = 0;
    for (unsigned i = 1; i <= wide; i++)
        *number = *number << 8 | at[i];
    return true;
}

static bool value_behind(struct bytes in, const char *key, unsigned *number)
{
    const uint8_t *at = find(in, key);
    return at && read_number(at + strlen(key), in.end, number);
}

/* Keys stand in alphabetical order: behind a kernel's name come its private memory and its registers, behind
 * an argument's its offset. */
bool compiled_of_binary(const void *binary, size_t bytes, const char *kernel, struct compiled *out)
{
    static const char key[] = ".name";
    struct bytes rest = {binary, (const uint8_t *)binary + bytes};
    for (const uint8_t *at; (at = find(rest, key)) != NULL;) {
        rest.at = at + strlen(key);
        if (!is_string(rest.at, rest.end, kernel) ||
            !is_string(behind_string(rest.at, kernel), rest.end, ".private_segment_fixed_size"))
            continue;
        *out = (struct compiled){0};
        value_behind(rest, ".vgpr_spill_count", &out->spills);
        return value_behind(rest, ".vgpr_count", &out->registers);
    }
    return false;
}
