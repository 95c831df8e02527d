/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoders in processes of their own: one that dies, or does not answer, fails its file alone. */
#include "media/media.h"

#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HONE_HAVE_VIPS

enum { WIDTH = 700, HEIGHT = 900 };

static unsigned char wanted[HEIGHT][WIDTH][3], got[HEIGHT][WIDTH][3];

static void write_to(void *path)
{
    const hone_image_desc desc = {.width = WIDTH, .height = HEIGHT, .type = HONE_U8, .channels = 3};
    static unsigned char copy[sizeof wanted];
    hone_error error;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    memcpy(copy, wanted, sizeof copy);
    _exit(fd < 0 || media_write(fd, path, &desc, copy, NULL, NULL, &error) != HONE_OK);
}

/* In a process of its own: libvips writes with threads, which must not be there when the host is forked. */
static const char *write_picture(void)
{
    const char *path = support_path(support_folder(), "picture.png");
    for (size_t i = 0; i < sizeof wanted; i++)
        (&wanted[0][0][0])[i] = (unsigned char)(i * 2654435761u >> 24);
    REQUIRE(support_in_child(write_to, (void *)path) == 0);
    return path;
}

static struct media_input *open_picture(const char *path)
{
    struct media_input *input = NULL;
    hone_error error;
    REQUIRE_OK(media_open(&input, path, NULL, &error));
    CHECK_EQ(media_get_info(input)->desc.width, WIDTH);
    CHECK_TEXT(media_get_info(input)->format, "PNG");
    return input;
}

static void check_load(const char *path)
{
    struct media_input *input = open_picture(path);
    hone_error error;
    memset(got, 0, sizeof got);
    CHECK_STATUS(media_load(input, got, 0, &error), HONE_OK);
    CHECK(memcmp(got, wanted, sizeof got) == 0);
    media_close(&input);
}

/* The parent of a process as /proc tells; 0: there is no such process. */
static pid_t parent_of(pid_t pid)
{
    char name[64], text[512];
    int parent = 0;
    snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0;
    if (!fgets(text, sizeof text, file) || !strrchr(text, ')') ||
        sscanf(strrchr(text, ')'), ") %*c %d", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

/* Sends a signal to all grandchildren: the decoders, whose parent is a child. Returns how many there are. */
static int signal_decoders(int number)
{
    DIR *all = opendir("/proc");
    int count = 0;
    REQUIRE(all);
    for (const struct dirent *entry = readdir(all); entry; entry = readdir(all)) {
        const pid_t pid = (pid_t)atol(entry->d_name), parent = pid > 0 ? parent_of(pid) : 0;
        if (parent > 1 && parent != getpid() && parent_of(parent) == getpid()) {
            count++;
            CHECK_EQ(kill(pid, number), 0);
        }
    }
    closedir(all);
    return count;
}

static void begin(void)
{
    hone_error error;
    REQUIRE_OK(media_decoders_begin(true, &error));
}

TEST(one_decoder_reads_file_after_file)
{
    const char *path = write_picture();
    begin();
    for (int i = 0; i < 3; i++)
        check_load(path);
    CHECK_EQ(signal_decoders(0), 1);
    struct media_input *a = open_picture(path), *b = open_picture(path);
    CHECK_EQ(signal_decoders(0), 2);
    media_close(&a);
    media_close(&b);
    media_decoders_end();
    CHECK_EQ(signal_decoders(0), 0);
}

TEST(rows_come_in_parts)
{
    const char *path = write_picture();
    begin();
    struct media_input *input = open_picture(path);
    hone_error error;
    for (uint32_t y = 0; y < HEIGHT; y += 300) {
        CHECK_STATUS(media_load_rows(input, 300, got, 0, &error), HONE_OK);
        CHECK(memcmp(got, wanted[y], sizeof wanted[0] * 300) == 0);
    }
    media_close(&input);
    media_decoders_end();
}

TEST(a_decoder_that_dies_fails_its_file_alone)
{
    const char *path = write_picture();
    hone_error error;
    begin();
    struct media_input *input = open_picture(path);
    CHECK_EQ(signal_decoders(SIGSEGV), 1);
    CHECK_STATUS(media_load(input, got, 0, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "crashed");
    CHECK_HAS(error.message, path);
    CHECK(media_is_settled(input));
    CHECK_STATUS(media_load(input, got, 0, &error), HONE_ERROR_IO);
    media_close(&input);
    check_load(path);
    media_decoders_end();
}

struct loading {
    struct media_input *input;
    hone_status status;
    hone_error error;
};

static void *load(void *user)
{
    struct loading *l = user;
    l->status = media_load(l->input, got, 0, &l->error);
    return NULL;
}

TEST(a_decoder_that_does_not_answer_is_given_up)
{
    const char *path = write_picture();
    struct loading l = {.status = HONE_OK};
    pthread_t thread;
    begin();
    CHECK(!media_give_up(NULL, (uint64_t)pthread_self()));
    l.input = open_picture(path);
    CHECK_EQ(signal_decoders(SIGSTOP), 1);
    REQUIRE(pthread_create(&thread, NULL, load, &l) == 0);
    while (!media_give_up(NULL, (uint64_t)thread))
        usleep(1000);
    pthread_join(thread, NULL);
    CHECK_EQ(l.status, HONE_ERROR_IO);
    CHECK_HAS(l.error.message, "does not answer");
    media_close(&l.input);
    check_load(path);
    media_decoders_end();
}

TEST(without_the_host_there_is_an_error)
{
    const char *path = write_picture();
    struct media_input *input = NULL;
    hone_error error;
    begin();
    DIR *all = opendir("/proc");
    REQUIRE(all);
    for (const struct dirent *entry = readdir(all); entry; entry = readdir(all))
        if (atol(entry->d_name) > 0 && parent_of((pid_t)atol(entry->d_name)) == getpid())
            CHECK_EQ(kill((pid_t)atol(entry->d_name), SIGKILL), 0);
    closedir(all);
    CHECK_STATUS(media_open(&input, path, NULL, &error), HONE_ERROR_INTERNAL);
    CHECK_HAS(error.message, "process");
    CHECK(!input);
    media_decoders_end();
}

#endif
