/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing string. Running out of memory is remembered in `failed`, so that a long build-up needs
 * one check. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

struct text {
    char *data; /* "" before anything was added may be NULL: use text_view() */
    size_t length, capacity;
    bool failed;
};

void text_finish(struct text *text);
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const void *bytes, size_t count);
/* The string so far; never NULL. */
const char *text_view(const struct text *text);
/* Adds a word as a shell takes it: in quotes where it needs them, or always. */
void text_add_shell(struct text *text, const char *word, bool always);
/* Hands the string over to the caller, who frees it; NULL when building it ran out of memory. */
char *text_take(struct text *text);

/* Adds the shortest spelling of a number that reads back as the same number. */
void text_add_number(struct text *text, double number);
/* The shortest that reads back as the same float. */
void text_add_float(struct text *text, float number);
/* strtod as in the C locale, whatever the process has set: "1.5" must not depend on the user's language. */
double text_number(const char *text, char **end);
/* A size such as "512M" or "2G", of 1 MiB at least; MiB where there is no unit. Else false. */
bool text_bytes(const char *text, uint64_t *bytes);

/* The text behind the mark of UTF-8 that some editors begin a file with. */
const char *text_after_mark(const char *text);
/* True when text starts with prefix. */
bool text_starts(const char *text, const char *prefix);
/* True when text is longer than suffix and ends with it. */
bool text_ends(const char *text, const char *suffix);
/* True when needle occurs in text, letters compared without case. */
bool text_contains_nocase(const char *text, const char *needle);
/* The text's letters in upper case, ended by 0 and freed by the caller: equal for names that file systems
 * without case take for one. Bytes that are not UTF-8 stay apart. NULL: out of memory. */
wchar_t *text_without_case(const char *text);
/* True when two texts are equal so; false also without memory. */
bool text_equals_without_case(const char *a, const char *b);
/* True when word is one of the space- or comma-separated words of list. */
bool text_has_word(const char *list, const char *word);
/* Edits (insert, delete, replace, swap) from a to b, at most `limit`; for "did you mean". */
unsigned text_distance(const char *a, const char *b, unsigned limit);
/* What follows the complaint about an unknown name: "; there are a, b", or where one is near (else NULL)
 * "; did you mean 'a'? There are a, b". `verb` is "there are" or the like. */
void text_add_choices(struct text *text, const char *near, const char *verb, const char *choices);
