/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of one compiled program: laid out, written and verified here; nothing else reads its bytes. */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "hone/status.h"

#include <stdbool.h>

enum { ENTRY_FORMAT = 1, ENTRY_MAX_BYTES = 256 << 20, ENTRY_MAX_KEY = 1 << 16 };

/*
 *   8  magic
 *   4  format          little endian, like all numbers
 *   4  length of key
 *   8  length of binary
 *  32  SHA-256 of binary
 *  32  SHA-256 of all the above and the key
 *   .  key (text)
 *   .  binary, up to the end of the file
 */
void entry_encode(struct text *out, const char *key, const void *binary, size_t count);

/* True when bytes are a whole and undamaged entry. key and binary then point into bytes. `expected_key` may
 * be NULL. */
bool entry_decode(const void *bytes, size_t count, const char *expected_key, struct text *key,
                  const void **binary, size_t *binary_count);
