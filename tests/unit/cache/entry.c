/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of a compiled program: whatever happened to it, either all of it is right or nothing of it is
 * used. */
#include "cache/entry.h"

#include "image/pattern.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const char key[] = "hone 0.1.0 program 1\nbox direct u8\nplatform\ndevice\n-DHONE_T=0\n";

enum { BINARY = 9000 };
static uint8_t binary[BINARY];

static void encode(struct text *out, const char *its_key, uint32_t seed)
{
    uint32_t state = seed;
    for (size_t i = 0; i < BINARY; i++)
        binary[i] = (uint8_t)pattern_random(&state);
    entry_encode(out, its_key, binary, BINARY);
    REQUIRE(!out->failed);
}

static bool decodes(const struct text *entry, const char *expected)
{
    const void *bytes = NULL;
    size_t count = 0;
    if (!entry_decode(entry->data, entry->length, expected, NULL, &bytes, &count))
        return false;
    CHECK_EQ(count, BINARY);
    CHECK(memcmp(bytes, binary, BINARY) == 0);
    return true;
}

TEST(round_trip)
{
    struct text entry = {0}, found = {0};
    encode(&entry, key, 1);
    CHECK(decodes(&entry, key));
    CHECK(decodes(&entry, NULL));
    CHECK(entry_decode(entry.data, entry.length, key, &found, NULL, NULL));
    CHECK_TEXT(text_view(&found), key);
    text_finish(&found);
    text_finish(&entry);
}

TEST(layout_is_as_documented)
{
    struct text entry = {0};
    uint8_t digest[SHA256_SIZE];
    encode(&entry, key, 1);
    const uint8_t *at = (const uint8_t *)entry.data;
    CHECK_EQ(entry.length, 88 + strlen(key) + BINARY);
    CHECK(memcmp(at, "HONEPRG\n", 8) == 0);
    CHECK_EQ(at[8], ENTRY_FORMAT);
    CHECK_EQ(at[12] | at[13] << 8, (int)strlen(key));
    CHECK_EQ(at[16] | at[17] << 8, BINARY);
    sha256_of(binary, BINARY, digest);
    CHECK(memcmp(at + 24, digest, sizeof digest) == 0);
    CHECK(memcmp(at + 88, key, strlen(key)) == 0);
    text_finish(&entry);
}

TEST(another_key_is_a_miss)
{
    static const char *const others[] = {"", "hone",
                                         "hone 0.1.0 program 1\nbox direct u8\nplatform\nother device\n"};
    struct text entry = {0};
    encode(&entry, key, 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!decodes(&entry, others[i]));
    text_finish(&entry);
}

static size_t somewhere(uint32_t *state, size_t size)
{
    return pattern_random(state) % size;
}

/* One kind of damage; `other` is a good entry of another program. Returns what it did, for messages. */
static const char *damage(struct text *entry, const struct text *other, int kind, uint32_t *state)
{
    size_t at = somewhere(state, entry->length), head = somewhere(state, 88), page;
    switch (kind) {
    case 0:
        entry->length = at;
        return "truncated";
    case 1:
        entry->data[at] = (char)(entry->data[at] ^ 1 << pattern_random(state) % 8);
        return "one bit flipped";
    case 2:
        entry->data[head] = (char)(entry->data[head] ^ 1 << pattern_random(state) % 8);
        return "one bit of the head";
    case 3:
        page = somewhere(state, entry->length / 512);
        memset(entry->data + page * 512, 0,
               entry->length - page * 512 < 4096 ? entry->length - page * 512 : 4096);
        return "zeroed pages";
    case 4:
        text_add(entry, "%s", "more");
        return "longer";
    case 5:
        memcpy(entry->data, other->data, 88 + somewhere(state, entry->length - 88));
        return "front of another entry";
    case 6:
        memcpy(entry->data + 88, other->data + 88, entry->length - 88);
        return "body of another entry";
    case 7:
        for (size_t i = 0; i < 64 && at + i < entry->length; i++)
            entry->data[at + i] = (char)pattern_random(state);
        return "random bytes";
    case 8:
        memset(entry->data + 12 + head % 12, 0xff, 4);
        return "huge lengths";
    default:
        entry->data[8]++;
        return "another format";
    }
}

TEST(ten_thousand_damaged_entries)
{
    struct text good = {0}, other = {0};
    uint32_t state = 20240611;
    int refused = 0;
    encode(&other, "hone 0.1.0 program 1\nbox direct u8\nplatform\ndevicf\n-DHONE_T=0\n", 2);
    encode(&good, key, 1);
    for (int round = 0; round < 10000; round++) {
        struct text entry = {0};
        text_add_bytes(&entry, good.data, good.length);
        const char *what = damage(&entry, &other, round % 10, &state);
        bool changed = entry.length != good.length || memcmp(entry.data, good.data, good.length) != 0;
        /* A copy of its exact size, so that a sanitizer sees one byte too many. */
        uint8_t *exact = malloc(entry.length ? entry.length : 1);
        REQUIRE(exact != NULL);
        memcpy(exact, entry.data, entry.length);
        bool used = entry_decode(exact, entry.length, key, NULL, NULL, NULL);
        bool listed = entry_decode(exact, entry.length, NULL, NULL, NULL, NULL);
        if (changed && (used || listed))
            test_fail(__FILE__, __LINE__, "round %d: an entry was used although it was damaged: %s", round,
                      what);
        refused += changed;
        free(exact);
        text_finish(&entry);
    }
    CHECK(refused > 9900);
    text_finish(&good);
    text_finish(&other);
}

TEST(nothing_and_little)
{
    struct text entry = {0};
    encode(&entry, key, 1);
    for (size_t length = 0; length < 200; length++)
        CHECK(!entry_decode(entry.data, length, NULL, NULL, NULL, NULL));
    text_finish(&entry);
}

TEST(empty_binary)
{
    struct text entry = {0};
    size_t count = 1;
    entry_encode(&entry, key, "", 0);
    CHECK(entry_decode(entry.data, entry.length, key, NULL, NULL, &count));
    CHECK_EQ(count, 0);
    text_finish(&entry);
}
