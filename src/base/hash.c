/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t value, int count)
{
    return value >> count | value << (32 - count);
}

static void schedule(uint32_t words[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++, block += 4)
        words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        uint32_t s0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3, s1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
        words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t words[64], v[8];
    schedule(words, block);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + round_constants[i] + words[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_init(struct sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, start, sizeof start);
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    size_t used = hash->length % 64;
    hash->length += count;
    while (count > 0) {
        size_t room = 64 - used, part = count < room ? count : room;
        memcpy(hash->block + used, at, part);
        at += part;
        count -= part;
        used = (used + part) % 64;
        if (used == 0)
            compress(hash->state, hash->block);
    }
}

void sha256_add_text(struct sha256 *hash, const char *text)
{
    uint64_t length = text ? strlen(text) : 0;
    uint8_t prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (uint8_t)(length >> 8 * i);
    sha256_add(hash, prefix, sizeof prefix);
    if (length)
        sha256_add(hash, text, length);
}

void sha256_end(struct sha256 *hash, uint8_t digest[SHA256_SIZE])
{
    uint64_t bits = hash->length * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> 8 * (7 - i));
    sha256_add(hash, "\x80", 1);
    while (hash->length % 64 != 56)
        sha256_add(hash, "", 1);
    sha256_add(hash, length, sizeof length);
    for (int i = 0; i < SHA256_SIZE; i++)
        digest[i] = (uint8_t)(hash->state[i / 4] >> 8 * (3 - i % 4));
}

void sha256_text(const uint8_t digest[SHA256_SIZE], char text[SHA256_TEXT_SIZE])
{
    for (int i = 0; i < SHA256_SIZE; i++) {
        text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    text[2 * SHA256_SIZE] = '\0';
}

void sha256_of(const void *bytes, size_t count, uint8_t digest[SHA256_SIZE])
{
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, bytes, count);
    sha256_end(&hash, digest);
}

void sha256_text_of(const void *bytes, size_t count, char text[SHA256_TEXT_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    sha256_of(bytes, count, digest);
    sha256_text(digest, text);
}

uint64_t hash_fnv(const void *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const uint8_t *at = bytes; count--; at++)
        hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}
