/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache/entry.h"

#include <stdint.h>
#include <string.h>

static const char magic[8] = {'H', 'O', 'N', 'E', 'P', 'R', 'G', '\n'};

enum {
    AT_FORMAT = 8,
    AT_KEY_LENGTH = 12,
    AT_BINARY_LENGTH = 16,
    AT_BINARY_HASH = 24,
    AT_HEAD_HASH = 56,
    HEAD = 88
};

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void hash_head(const uint8_t *head, const char *key, size_t key_length, uint8_t digest[SHA256_SIZE])
{
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, head, AT_HEAD_HASH);
    sha256_add(&hash, key, key_length);
    sha256_end(&hash, digest);
}

void entry_encode(struct text *out, const char *key, const void *binary, size_t count)
{
    uint8_t head[HEAD];
    size_t key_length = strlen(key);
    memcpy(head, magic, sizeof magic);
    put(head + AT_FORMAT, ENTRY_FORMAT, 4);
    put(head + AT_KEY_LENGTH, key_length, 4);
    put(head + AT_BINARY_LENGTH, count, 8);
    sha256_of(binary, count, head + AT_BINARY_HASH);
    hash_head(head, key, key_length, head + AT_HEAD_HASH);
    text_add_bytes(out, head, sizeof head);
    text_add_bytes(out, key, key_length);
    text_add_bytes(out, binary, count);
}

bool entry_decode(const void *bytes, size_t count, const char *expected_key, struct text *key,
                  const void **binary, size_t *binary_count)
{
    const uint8_t *head = bytes;
    uint8_t digest[SHA256_SIZE];
    if (count < HEAD || memcmp(head, magic, sizeof magic) != 0 || get(head + AT_FORMAT, 4) != ENTRY_FORMAT)
        return false;
    uint64_t key_length = get(head + AT_KEY_LENGTH, 4), length = get(head + AT_BINARY_LENGTH, 8);
    if (key_length > ENTRY_MAX_KEY || length > ENTRY_MAX_BYTES || HEAD + key_length + length != count)
        return false;
    const char *key_at = (const char *)head + HEAD;
    hash_head(head, key_at, key_length, digest);
    if (memcmp(digest, head + AT_HEAD_HASH, sizeof digest) != 0)
        return false;
    if (expected_key && (strlen(expected_key) != key_length || memcmp(expected_key, key_at, key_length) != 0))
        return false;
    sha256_of(key_at + key_length, length, digest);
    if (memcmp(digest, head + AT_BINARY_HASH, sizeof digest) != 0)
        return false;
    if (key)
        text_add_bytes(key, key_at, key_length);
    if (binary)
        *binary = key_at + key_length;
    if (binary_count)
        *binary_count = length;
    return true;
}
