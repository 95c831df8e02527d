/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* A new JSON string. Bytes that are not UTF-8 (names of files, drivers and sources may hold any) become
 * U+FFFD. JSON null for NULL; NULL when memory runs out. */
struct json_t;
struct json_t *json_text(const char *text);
