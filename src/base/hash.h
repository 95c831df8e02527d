/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 (FIPS 180-4) for content keys, and FNV-1a for hash tables. The core depends on an OpenCL loader and
 * Jansson alone, which is why the digest is here and not from a cryptography library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_TEXT_SIZE = 65 };

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

void sha256_init(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t count);
/* Adds a string with its length in front, so that ("ab","c") and ("a","bc") differ. NULL counts as "". */
void sha256_add_text(struct sha256 *hash, const char *text);
void sha256_end(struct sha256 *hash, uint8_t digest[SHA256_SIZE]);
void sha256_text(const uint8_t digest[SHA256_SIZE], char text[SHA256_TEXT_SIZE]);
void sha256_of(const void *bytes, size_t count, uint8_t digest[SHA256_SIZE]);
void sha256_text_of(const void *bytes, size_t count, char text[SHA256_TEXT_SIZE]);

uint64_t hash_fnv(const void *bytes, size_t count);
