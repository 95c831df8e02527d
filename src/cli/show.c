/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/show.h"

#include "base/mem.h"
#include "base/text.h"
#include "choose/records.h"
#include "hone/pixels.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void show_bytes(uint64_t bytes, char *to, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < COUNT_OF(units); unit++)
        value /= 1024;
    snprintf(to, size, "%.*f %s", value < 100 && value != (double)(uint64_t)value ? 1 : 0, value,
             units[unit]);
}

struct counted show_count(size_t count, const char *noun)
{
    struct counted counted;
    snprintf(counted.text, sizeof counted.text, "%zu %s%s", count, noun, count == 1 ? "" : "s");
    return counted;
}

void show_row(const char *label, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (text[0])
        printf("   %-18s %s\n", label, text);
}

void show_age(int64_t then, char *to, size_t size)
{
    int64_t age = (int64_t)time(NULL) - then;
    if (age < 0)
        age = 0;
    if (age < 120)
        snprintf(to, size, "%" PRId64 " s", age);
    else if (age < 120 * 60)
        snprintf(to, size, "%" PRId64 " min", age / 60);
    else if (age < 48 * 3600)
        snprintf(to, size, "%" PRId64 " h", age / 3600);
    else
        snprintf(to, size, "%" PRId64 " days", age / 86400);
}

void show_tuned(const struct record_case *c, struct text *out)
{
    text_add(out, "%s%s%s", c->filter, c->parameters[0] ? " " : "", c->parameters);
    if (c->border[0] && strcmp(c->border, hone_border_name(HONE_BORDER_REPLICATE)) != 0)
        text_add(out, " border=%s", c->border);
    text_add(out, ", %s x%u, %ux%u", hone_type_name(c->type), c->channels, c->width, c->height);
}
