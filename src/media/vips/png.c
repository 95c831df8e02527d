/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks of PNGs: animations, whose first picture alone is what decoders give, EXIF, density,
 * colours, and text. */
#include "media/vips/internal.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIGNATURE = 8, CHUNK = 12, HEAD = 12 }; /* length, kind, and the first four bytes */

static uint32_t number(const unsigned char *bytes)
{
    return (uint32_t)big_endian(bytes, 4);
}

static void put_number(unsigned char *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* The place of a chunk of this kind before the pixels, and its head; 0: there is none. */
static off_t find_chunk(int fd, const char *kind, unsigned char head[HEAD])
{
    off_t at = SIGNATURE;
    while (file_read_at(fd, head, HEAD, at) == HEAD && memcmp(head + 4, "IDAT", 4) != 0) {
        if (memcmp(head + 4, kind, 4) == 0)
            return at;
        at += CHUNK + (off_t)number(head);
    }
    return 0;
}

unsigned vips_count_png(const struct media_input *input)
{
    const unsigned most = 1u << 30;
    unsigned char head[HEAD];
    const uint32_t count = find_chunk(input->fd, "acTL", head) ? number(head + 8) : 1;
    return count < 1 ? 1 : count < most ? count : most;
}

/* The bytes of the EXIF chunk before the pixels; 0: there is none. */
static off_t exif_bytes(int fd)
{
    unsigned char head[HEAD];
    return find_chunk(fd, "eXIf", head) ? CHUNK + (off_t)number(head) : 0;
}

int vips_drop_second_exif(int fd)
{
    unsigned char head[HEAD], last[CHUNK]; /* IEND has no bytes */
    const off_t bytes = exif_bytes(fd), end = lseek(fd, 0, SEEK_END), second = end - CHUNK - bytes;
    if (!bytes || second < SIGNATURE || file_read_at(fd, head, HEAD, second) != HEAD ||
        memcmp(head + 4, "eXIf", 4) != 0 || CHUNK + (off_t)number(head) != bytes ||
        file_read_at(fd, last, CHUNK, end - CHUNK) != CHUNK)
        return 0;
    if (!file_write_at(fd, last, CHUNK, second) || ftruncate(fd, second + CHUNK) != 0)
        return errno;
    return 0;
}

/* ---- Checks ---- */

/* Of a kind and what follows it: PNG (ISO/IEC 15948), annex D. */
static uint32_t check_of(const unsigned char *bytes, size_t count)
{
    const uint32_t polynomial = 0xedb88320;
    uint32_t check = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        check ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            check = check >> 1 ^ (check & 1 ? polynomial : 0);
    }
    return ~check;
}

static void finish_chunk(unsigned char *chunk, size_t size)
{
    put_number(chunk + size - 4, check_of(chunk + 4, size - 8));
}

/* ---- Density: pixels across and down, and the unit ---- */

enum { DENSITY = CHUNK + 9, UNIT_AT = 8 + 8 };

static off_t find_density(int fd, unsigned char chunk[DENSITY])
{
    unsigned char head[HEAD];
    const off_t at = find_chunk(fd, "pHYs", head);
    return at && file_read_at(fd, chunk, DENSITY, at) == DENSITY ? at : 0;
}

bool vips_png_has_density(int fd)
{
    unsigned char chunk[DENSITY];
    return find_density(fd, chunk) && chunk[UNIT_AT] == 1;
}

/* Of two numbers. libvips multiplies them by 1000 for each file that has been made of another one. */
static void reduce_ratio(unsigned char *numbers)
{
    const uint32_t across = number(numbers), down = number(numbers + 4);
    uint32_t common = across, rest = down;
    while (rest) {
        const uint32_t next = common % rest;
        common = rest;
        rest = next;
    }
    put_number(numbers, common ? across / common : across);
    put_number(numbers + 4, common ? down / common : down);
}

int vips_write_png_density(int fd, const double resolution[2], bool has_unit)
{
    unsigned char chunk[DENSITY];
    const off_t at = find_density(fd, chunk);
    if (!at)
        return 0;
    for (int i = 0; i < 2; i++)
        put_number(chunk + 8 + 4 * i, (uint32_t)fmin(fmax(round(resolution[i] * 1000), 0), INT32_MAX));
    chunk[UNIT_AT] = has_unit;
    if (!has_unit)
        reduce_ratio(chunk + 8);
    finish_chunk(chunk, DENSITY);
    return file_write_at(fd, chunk, DENSITY, at) ? 0 : errno;
}

/* ---- Colours ---- */

enum { CICP = CHUNK + 4 };

bool vips_png_cicp(int fd, struct vips_cicp *cicp)
{
    unsigned char head[HEAD];
    if (!find_chunk(fd, "cICP", head) || number(head) != CICP - CHUNK)
        return false;
    cicp->primaries = head[8];
    cicp->transfer = head[9];
    return true;
}

int vips_write_png_cicp(int fd, const struct vips_cicp *cicp)
{
    const unsigned char rgb = 0, full = 1;
    unsigned char chunk[CICP] = {0,
                                 0,
                                 0,
                                 CICP - CHUNK,
                                 'c',
                                 'I',
                                 'C',
                                 'P',
                                 (unsigned char)cicp->primaries,
                                 (unsigned char)cicp->transfer,
                                 rgb,
                                 full};
    finish_chunk(chunk, sizeof chunk);
    return file_write_all(fd, chunk, sizeof chunk) ? 0 : errno;
}

enum { GAMMA = CHUNK + 4, PRIMARIES = 8, CHROMA = CHUNK + 4 * PRIMARIES, PARTS = 100000 };

static bool is_near(uint32_t value, uint32_t usual, uint32_t tolerance)
{
    return value + tolerance >= usual && value <= usual + tolerance;
}

bool vips_png_looks_other(int fd, bool gray)
{
    /* White, red, green and blue of sRGB, which programs take for granted where nothing is said. */
    static const uint32_t usual[PRIMARIES] = {31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000};
    const uint32_t srgb = PARTS * 5 / 11, little = srgb / 20, nearly = PARTS / 100; /* as libpng has them */
    unsigned char head[HEAD], chunk[CHROMA];
    if (find_chunk(fd, "cICP", head) || find_chunk(fd, "iCCP", head) || find_chunk(fd, "sRGB", head))
        return false;
    if (find_chunk(fd, "gAMA", head) && number(head) == GAMMA - CHUNK && number(head + 8) < UINT32_MAX / 2 &&
        !is_near(number(head + 8), srgb, little))
        return true;
    const off_t at = gray ? 0 : find_chunk(fd, "cHRM", head);
    if (!at || number(head) != CHROMA - CHUNK || file_read_at(fd, chunk, CHROMA, at) != CHROMA)
        return false;
    for (int i = 0; i < PRIMARIES; i++)
        if (!is_near(number(chunk + 8 + 4 * i), usual[i], nearly))
            return true;
    return false;
}

/* ---- What stays as it is ---- */

/* libvips writes XMP itself. */
static bool is_sound(const unsigned char *chunk, size_t size)
{
    static const char xmp[] = "XML:com.adobe.xmp";
    const size_t text = size - CHUNK;
    const bool is_xmp = text >= sizeof xmp && memcmp(chunk + 8, xmp, sizeof xmp) == 0;
    return !is_xmp && check_of(chunk + 4, text + 4) == number(chunk + size - 4);
}

static bool is_text(const unsigned char *head)
{
    return memcmp(head + 4, "tEXt", 4) == 0 || memcmp(head + 4, "zTXt", 4) == 0 ||
           memcmp(head + 4, "iTXt", 4) == 0;
}

/* 0 or an errno. What is cut off or damaged is left out. */
static int copy_chunk(int from, off_t at, size_t size, int to)
{
    unsigned char *chunk = mem_new(size, 1);
    int code = chunk ? 0 : ENOMEM;
    if (chunk && file_read_at(from, chunk, size, at) == (ssize_t)size && is_sound(chunk, size) &&
        !file_write_all(to, chunk, size))
        code = errno;
    free(chunk);
    return code;
}

/* Gamma and primaries, by which programs show colours where there is no profile. */
static bool is_colour(const unsigned char *head)
{
    return memcmp(head + 4, "gAMA", 4) == 0 || memcmp(head + 4, "cHRM", 4) == 0 ||
           memcmp(head + 4, "sRGB", 4) == 0;
}

int vips_copy_png_chunks(const struct vips_png_chunks *wanted, int to)
{
    const int from = wanted->from;
    unsigned char head[8];
    size_t left = 8 << 20;
    int code = 0;
    for (off_t at = SIGNATURE; !code && file_read_at(from, head, sizeof head, at) == (ssize_t)sizeof head &&
                               memcmp(head + 4, "IEND", 4) != 0;) {
        const size_t size = CHUNK + (size_t)number(head);
        if (((wanted->texts && is_text(head)) || (wanted->colours && is_colour(head))) && size <= left) {
            left -= size;
            code = copy_chunk(from, at, size, to);
        }
        at += (off_t)size;
    }
    return code;
}
