/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that list things share. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct record_case;
struct text;

/* "32 KiB", "1.5 GiB", "17 bytes". */
void show_bytes(uint64_t bytes, char *to, size_t size);

/* "1 program", "3 programs". */
struct counted {
    char text[64];
};
struct counted show_count(size_t count, const char *noun);

/* "box size=8 border=wrap, u8 x1, 640x480": what was tuned. The usual border is not told. */
void show_tuned(const struct record_case *c, struct text *out);

/* A row "   label              text": the text in one column for all rows, nothing at all when it is
 * empty. */
void show_row(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "5 s", "3 min", "2 h", "9 days": how long before now. */
void show_age(int64_t seconds_since_1970, char *to, size_t size);
