/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 against the vectors of FIPS 180-4 (and tests/check/oracles/oracles.py against hashlib), FNV-1a
 * against its authors'. */
#include "base/hash.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static const char *digest_text(const void *bytes, size_t count)
{
    static char text[SHA256_TEXT_SIZE];
    uint8_t digest[SHA256_SIZE];
    sha256_of(bytes, count, digest);
    sha256_text(digest, text);
    return text;
}

TEST(published_vectors)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    CHECK_TEXT(digest_text("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_TEXT(digest_text("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_TEXT(digest_text(two_blocks, sizeof two_blocks - 1),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(a_million_letters)
{
    char *text = malloc(1000000);
    REQUIRE(text != NULL);
    memset(text, 'a', 1000000);
    CHECK_TEXT(digest_text(text, 1000000),
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

TEST(pieces_give_the_same_digest)
{
    char text[300];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    for (size_t piece = 1; piece < 130; piece++) {
        uint8_t whole[SHA256_SIZE], pieces[SHA256_SIZE];
        struct sha256 hash;
        sha256_init(&hash);
        for (size_t at = 0; at < sizeof text; at += piece)
            sha256_add(&hash, text + at, piece < sizeof text - at ? piece : sizeof text - at);
        sha256_end(&hash, pieces);
        sha256_of(text, sizeof text, whole);
        CHECK(memcmp(whole, pieces, sizeof whole) == 0);
    }
}

static void text_digest(const char *a, const char *b, uint8_t digest[SHA256_SIZE])
{
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add_text(&hash, a);
    sha256_add_text(&hash, b);
    sha256_end(&hash, digest);
}

TEST(texts_are_kept_apart)
{
    uint8_t first[SHA256_SIZE], second[SHA256_SIZE], empty[SHA256_SIZE], none[SHA256_SIZE];
    text_digest("ab", "c", first);
    text_digest("a", "bc", second);
    CHECK(memcmp(first, second, sizeof first) != 0);
    text_digest("", "c", empty);
    text_digest(NULL, "c", none);
    CHECK(memcmp(empty, none, sizeof empty) == 0);
}

TEST(fnv_vectors)
{
    CHECK_EQ(hash_fnv("", 0), 0xcbf29ce484222325u);
    CHECK_EQ(hash_fnv("a", 1), 0xaf63dc4c8601ec8cu);
    CHECK_EQ(hash_fnv("foobar", 6), 0x85944171f73967e8u);
}
