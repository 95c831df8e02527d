/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that outlive their process: what is whole is found again, and nothing else. */
#include "base/spool.h"

#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char target[] = "spool.test", file[] = ".spool.test.hone-rows", key[] = "key";
static const struct spool_shape shape = {5, 3, 4};

static enum spool_found open_spool(struct spool *spool, const char *with, const struct spool_shape *like)
{
    enum spool_found found;
    hone_error error;
    REQUIRE_OK(spool_open(spool, target, with, like, &found, &error));
    return found;
}

static void fill(char unit[5], uint64_t index)
{
    memset(unit, (int)('a' + index), 5);
}

static void add_blocks(struct spool *spool, int count)
{
    hone_error error;
    char unit[5];
    for (int i = 0; i < count; i++) {
        for (uint32_t u = 0; u < shape.units; u++) {
            fill(unit, spool->blocks * shape.units + u);
            REQUIRE_OK(spool_add(spool, unit, &error));
        }
        REQUIRE_OK(spool_end_block(spool, "end", &error));
    }
}

static void make(int blocks)
{
    struct spool spool;
    unlink(file);
    CHECK_EQ(open_spool(&spool, key, &shape), SPOOL_NEW);
    add_blocks(&spool, blocks);
    spool_close(&spool);
}

TEST(blocks_are_found_again)
{
    struct spool spool;
    hone_error error;
    char unit[5], wanted[5], extra[3];
    make(3);
    CHECK_EQ(open_spool(&spool, key, &shape), SPOOL_OURS);
    CHECK_EQ(spool.blocks, 3);
    add_blocks(&spool, 1);
    for (uint64_t i = 0; i < 4 * shape.units; i++) {
        fill(wanted, i);
        REQUIRE_OK(spool_read(&spool, i, unit, &error));
        CHECK(memcmp(unit, wanted, sizeof unit) == 0);
    }
    REQUIRE_OK(spool_read_extra(&spool, 3, extra, &error));
    CHECK(memcmp(extra, "end", sizeof extra) == 0);
    spool_close(&spool);
    CHECK_EQ(open_spool(&spool, key, &shape), SPOOL_OURS);
    CHECK_EQ(spool.blocks, 4);
    spool_close(&spool);
    spool_remove(target);
    CHECK(access(file, F_OK) != 0);
    spool_remove(target);
}

/* Cut off anywhere, or with any byte changed: the blocks before are there, and no others. */
TEST(torn_blocks_are_not)
{
    struct stat info;
    make(2);
    REQUIRE(stat(file, &info) == 0);
    const off_t block = 5 * 4 + 3 + 8, header = info.st_size - 2 * block;
    for (off_t at = header; at < info.st_size; at++)
        for (int cut = 0; cut < 2; cut++) {
            struct spool spool;
            char byte;
            make(2);
            const int fd = open(file, O_RDWR);
            REQUIRE(fd >= 0);
            CHECK_EQ(pread(fd, &byte, 1, at), 1);
            byte ^= 1;
            CHECK(cut ? ftruncate(fd, at) == 0 : pwrite(fd, &byte, 1, at) == 1);
            close(fd);
            CHECK_EQ(open_spool(&spool, key, &shape), SPOOL_OURS);
            CHECK_EQ(spool.blocks, (uint64_t)((at - header) / block));
            add_blocks(&spool, 1);
            spool_close(&spool);
            CHECK_EQ(open_spool(&spool, key, &shape), SPOOL_OURS);
            CHECK_EQ(spool.blocks, (uint64_t)((at - header) / block + 1));
            spool_close(&spool);
        }
    unlink(file);
}

TEST(blocks_of_another_key_or_shape_go)
{
    const struct spool_shape wider = {6, 3, 4};
    struct spool spool;
    make(2);
    CHECK_EQ(open_spool(&spool, "other", &shape), SPOOL_OTHERS);
    CHECK_EQ(spool.blocks, 0);
    spool_close(&spool);
    make(2);
    CHECK_EQ(open_spool(&spool, key, &wider), SPOOL_OTHERS);
    CHECK_EQ(spool.blocks, 0);
    spool_close(&spool);
    CHECK_EQ(open_spool(&spool, key, &wider), SPOOL_OURS);
    spool_close(&spool);
    CHECK_EQ(truncate(file, 10), 0);
    CHECK_EQ(open_spool(&spool, key, &wider), SPOOL_OTHERS);
    spool_close(&spool);
    unlink(file);
}

TEST(files_that_are_not_to_be_used)
{
    struct spool spool, second;
    enum spool_found found;
    hone_error error;
    make(1);
    CHECK_EQ(open_spool(&spool, key, &shape), SPOOL_OURS);
    CHECK_STATUS(spool_open(&second, target, key, &shape, &found, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "another process makes the same output");
    spool_remove(target);
    CHECK(access(file, F_OK) == 0);
    spool_close(&spool);
    CHECK_EQ(chmod(file, 0666), 0);
    CHECK_STATUS(spool_open(&spool, target, key, &shape, &found, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "remove it");
    unlink(file);
    REQUIRE(symlink("elsewhere", file) == 0);
    CHECK_STATUS(spool_open(&spool, target, key, &shape, &found, &error), HONE_ERROR_IO);
    unlink(file);
    CHECK(access("elsewhere", F_OK) != 0);
}
