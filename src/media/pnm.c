/* SPDX-License-Identifier: BSD-2-Clause */
/* PGM, PPM (binary), PAM and PFM: formats that are simple enough to be read and written here, in every build
 * alike. */
#include "media/reader.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_HEADER = 65536, MAX_TOKEN = 31, BLOCK = 1 << 20 };

struct pnm {
    off_t start;       /* of the pixels */
    uint32_t channels; /* in the file, 1 to 4 */
    uint32_t most;     /* the value that means full scale; 0 for PFM */
    bool little;       /* PFM: byte order */
    size_t row_bytes;
    unsigned char *raw, *wide; /* a row; wide: gray and alpha spread to four channels */
    bool warned;
};

static bool claims(const uint8_t *head, size_t count)
{
    return count >= 3 && head[0] == 'P' && strchr("567Ff", head[1]) && isspace(head[2]);
}

/* ---- The header ---- */

struct header {
    const char *text;
    size_t length, at;
    bool broken;
};

static int peek(struct header *h)
{
    if (h->at < h->length)
        return (unsigned char)h->text[h->at];
    h->broken = true;
    return -1;
}

static void skip_space(struct header *h)
{
    for (int c = peek(h); !h->broken && (isspace(c) || c == '#'); c = peek(h)) {
        if (c == '#')
            while (!h->broken && peek(h) != '\n')
                h->at++;
        h->at++;
    }
}

static void read_word(struct header *h, char word[MAX_TOKEN + 1])
{
    size_t length = 0;
    skip_space(h);
    for (int c = peek(h); !h->broken && !isspace(c); c = peek(h)) {
        if (length == MAX_TOKEN || c == '\0') {
            h->broken = true;
            break;
        }
        word[length++] = (char)c;
        h->at++;
    }
    word[length] = '\0';
    if (length == 0)
        h->broken = true;
}

static uint64_t number_of(struct header *h, const char *word)
{
    char *end = NULL;
    unsigned long long value = strtoull(word, &end, 10);
    if (!isdigit((unsigned char)word[0]) || *end)
        h->broken = true;
    return value;
}

static uint64_t read_number(struct header *h)
{
    char word[MAX_TOKEN + 1];
    read_word(h, word);
    return h->broken ? 0 : number_of(h, word);
}

struct fields {
    uint64_t width, height, channels, most;
};

/* "P7": lines of a name and a value, in any order. */
static void read_pam(struct header *h, struct fields *f)
{
    char word[MAX_TOKEN + 1];
    for (read_word(h, word); !h->broken && strcmp(word, "ENDHDR") != 0; read_word(h, word)) {
        if (strcmp(word, "TUPLTYPE") == 0)
            while (!h->broken && peek(h) != '\n')
                h->at++;
        else if (strcmp(word, "WIDTH") == 0)
            f->width = read_number(h);
        else if (strcmp(word, "HEIGHT") == 0)
            f->height = read_number(h);
        else if (strcmp(word, "DEPTH") == 0)
            f->channels = read_number(h);
        else if (strcmp(word, "MAXVAL") == 0)
            f->most = read_number(h);
        else
            h->broken = true;
    }
}

/* "PF", "Pf": after the size a number whose sign gives the byte order. */
static void read_byte_order(struct header *h, struct pnm *pnm)
{
    char word[MAX_TOKEN + 1], *end = NULL;
    read_word(h, word);
    double scale = text_number(word, &end);
    const bool decimal = strspn(word, "+-.0123456789eE") == strlen(word);
    if (!decimal || end == word || *end || !isfinite(scale) || scale == 0)
        h->broken = true;
    pnm->little = scale < 0;
}

static struct fields read_fields(struct header *h, struct pnm *pnm)
{
    const char kind = h->text[1];
    struct fields f = {.channels = kind == '6' || kind == 'F' ? 3 : 1};
    h->at = 2;
    if (kind == '7') {
        read_pam(h, &f);
    } else {
        f.width = read_number(h);
        f.height = read_number(h);
        if (kind == '5' || kind == '6')
            f.most = read_number(h);
        else
            read_byte_order(h, pnm);
    }
    peek(h);
    h->at++; /* one space ends the header */
    return f;
}

static hone_type type_of(const struct fields *f, char kind)
{
    return kind == 'F' || kind == 'f' ? HONE_F32 : f->most > 255 ? HONE_U16 : HONE_U8;
}

static hone_status check_fields(const struct media_input *input, const struct fields *f, bool is_float,
                                hone_error *error)
{
    TRY(media_check_size(input, f->width, f->height, error));
    if (f->channels < 1 || f->channels > 4)
        return media_bad(input, error, " has %llu channels; 1 to 4 can be read",
                         (unsigned long long)f->channels);
    if (!is_float && (f->most < 1 || f->most > 65535))
        return media_bad(input, error, "the header says a largest value of %llu; it must be 1 to 65535",
                         (unsigned long long)f->most);
    return HONE_OK;
}

static hone_status check_length(const struct media_input *input, const struct pnm *pnm, uint32_t rows,
                                hone_error *error)
{
    const off_t wanted = (off_t)(pnm->row_bytes * rows), there = input->bytes - pnm->start;
    if (there > wanted)
        media_note(input, MEDIA_DETAIL, "%lld bytes after the image are not used",
                   (long long)(there - wanted));
    if (there >= wanted || input->options.accept_damaged)
        return HONE_OK;
    return media_bad(
        input, error,
        "the file is cut off: %lld of %lld bytes of pixels are there (--accept-damaged reads them)",
        (long long)(there > 0 ? there : 0), (long long)wanted);
}

uint64_t media_pnm_bytes(const char *text, size_t length)
{
    struct header h = {.text = text, .length = length};
    struct pnm pnm = {0};
    const struct fields f = read_fields(&h, &pnm);
    if (h.broken || f.width > HONE_MAX_SIDE || f.height > HONE_MAX_SIDE || f.channels > 4)
        return 0;
    return h.at + f.width * f.height * f.channels * hone_type_size(type_of(&f, text[1]));
}

static void describe(struct media_input *input, struct pnm *pnm, const struct fields *f, char kind)
{
    static const char *const names[] = {
        ['5'] = "PGM", ['6'] = "PPM", ['7'] = "PAM", ['F'] = "PFM", ['f'] = "PFM"};
    const hone_type type = type_of(f, kind);
    pnm->channels = (uint32_t)f->channels;
    pnm->most = (uint32_t)f->most;
    pnm->row_bytes = (size_t)f->width * f->channels * hone_type_size(type);
    input->info = (struct media_info){.desc = {(uint32_t)f->width, (uint32_t)f->height, type,
                                               f->channels == 2 ? 4 : (uint32_t)f->channels, 0},
                                      .gray_alpha = f->channels == 2,
                                      .pages = 1,
                                      .format = names[(int)kind]};
    if (type != HONE_F32 && f->most != 255 && f->most != 65535)
        media_note(input, MEDIA_DETAIL, "values of 0 to %u are scaled to the full range of %s", pnm->most,
                   hone_type_name(type));
}

static hone_status broken_header(const struct media_input *input, char kind, hone_error *error)
{
    return media_bad(input, error, "the header of a P%c file is damaged or longer than %d bytes", kind,
                     MAX_HEADER);
}

static hone_status parse(struct media_input *input, struct pnm *pnm, const char *text, size_t length,
                         hone_error *error)
{
    struct header h = {.text = text, .length = length};
    const struct fields f = read_fields(&h, pnm);
    const char kind = text[1];
    if (h.broken)
        return broken_header(input, kind, error);
    TRY(check_fields(input, &f, kind == 'F' || kind == 'f', error));
    pnm->start = (off_t)h.at;
    describe(input, pnm, &f, kind);
    return check_length(input, pnm, input->info.desc.height, error);
}

/* *text is to be freed, in any case. */
static hone_status read_header(const struct media_input *input, char **text, size_t *length,
                               hone_error *error)
{
    *length = 0;
    *text = mem_new(MAX_HEADER, 1);
    if (!*text)
        return error_memory(error, "the header of an image");
    const ssize_t count = file_read_at(input->fd, *text, MAX_HEADER, 0);
    if (count > 0)
        *length = (size_t)count;
    return count < 0 ? error_io(error, "cannot read '%s': %s", input->path, strerror(errno)) : HONE_OK;
}

static hone_status open_pnm(struct media_input *input, hone_error *error)
{
    struct pnm *pnm = input->state = mem_new(1, sizeof *pnm);
    char *text = NULL;
    size_t length;
    if (!pnm)
        return error_memory(error, "the header of an image");
    hone_status status = read_header(input, &text, &length, error);
    THEN(status, parse(input, pnm, text, length, error));
    free(text);
    return status;
}

hone_status media_check_plain_pnm(const struct media_input *input, const uint8_t *head, size_t count,
                                  hone_error *error)
{
    char *text = NULL;
    size_t length;
    if (count < 3 || head[0] != 'P' || !memchr("1234", head[1], 4))
        return HONE_OK;
    hone_status status = read_header(input, &text, &length, error);
    if (!status) {
        struct header h = {.text = text, .length = length, .at = 2};
        const int numbers = head[1] == '1' || head[1] == '4' ? 2 : 3;
        for (int i = 0; i < numbers; i++)
            read_number(&h);
        if (h.broken)
            status = broken_header(input, (char)head[1], error);
    }
    free(text);
    return status;
}

/* ---- Pixels ---- */

static void swap_bytes(unsigned char *bytes, size_t count, size_t size)
{
    for (unsigned char *at = bytes; count > 0; count--, at += size)
        for (size_t i = 0; i < size / 2; i++) {
            unsigned char byte = at[i];
            at[i] = at[size - 1 - i];
            at[size - 1 - i] = byte;
        }
}

static bool host_is_little(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* To full scale, rounded half up. False when a value is over the largest one that the header allows. */
static bool rescale_u8(uint8_t *values, size_t count, uint32_t most)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        ok = ok && values[i] <= most;
        values[i] = (uint8_t)(values[i] >= most ? 255 : (values[i] * 255u + most / 2) / most);
    }
    return ok;
}

static bool rescale_u16(uint16_t *values, size_t count, uint32_t most)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        ok = ok && values[i] <= most;
        values[i] = (uint16_t)(values[i] >= most ? 65535 : (values[i] * 65535u + most / 2) / most);
    }
    return ok;
}

static bool to_host(const struct media_input *input, void *row, size_t count)
{
    const struct pnm *pnm = input->state;
    const hone_type type = input->info.desc.type;
    const bool little = type == HONE_F32 && pnm->little;
    if (type != HONE_U8 && little != host_is_little())
        swap_bytes(row, count, hone_type_size(type));
    if (type == HONE_U8 && pnm->most != 255)
        return rescale_u8(row, count, pnm->most);
    if (type == HONE_U16 && pnm->most != 65535)
        return rescale_u16(row, count, pnm->most);
    return true;
}

static hone_status damaged(struct media_input *input, uint32_t y, const char *what, hone_error *error)
{
    struct pnm *pnm = input->state;
    if (!input->options.accept_damaged)
        return media_bad(input, error, "row %u %s (--accept-damaged reads the file nevertheless)", y, what);
    if (!pnm->warned)
        media_note(input, MEDIA_WARNING, "damaged: row %u %s", y, what);
    pnm->warned = true;
    return HONE_OK;
}

/* PFM stores the lowest row first. */
static hone_status load_row(struct media_input *input, uint32_t y, hone_error *error)
{
    const struct pnm *pnm = input->state;
    const bool upwards = input->info.desc.type == HONE_F32;
    const uint32_t width = input->place.width, stored = upwards ? input->place.height - 1 - y : y;
    const off_t offset = pnm->start + (off_t)(pnm->row_bytes * stored);
    hone_status status = HONE_OK;
    ssize_t got = file_read_at(input->fd, pnm->raw, pnm->row_bytes, offset);
    if (got < 0)
        return error_io(error, "cannot read '%s': %s", input->path, strerror(errno));
    if ((size_t)got < pnm->row_bytes) {
        memset(pnm->raw + got, 0, pnm->row_bytes - (size_t)got);
        status = damaged(input, y, "is cut off", error);
    }
    if (!status && !to_host(input, pnm->raw, (size_t)width * pnm->channels))
        status = damaged(input, y, "has a value over the largest one of the header", error);
    if (status)
        return status;
    if (pnm->wide)
        media_spread_gray_alpha(pnm->wide, pnm->raw, width, hone_type_size(input->info.desc.type));
    media_put_row(&input->place, y, pnm->wide ? pnm->wide : pnm->raw);
    return HONE_OK;
}

static hone_status reserve_row(const struct media_input *input, struct pnm *pnm, hone_error *error)
{
    if (!pnm->raw)
        pnm->raw = mem_new(pnm->row_bytes, 1);
    if (!pnm->wide && input->info.gray_alpha)
        pnm->wide = mem_new(pnm->row_bytes, 2);
    return pnm->raw && (pnm->wide || !input->info.gray_alpha) ? HONE_OK
                                                              : error_memory(error, "a row of an image");
}

/* Rows that lie one behind the other in the file and in the image alike. */
static bool is_straight(const struct media_input *input)
{
    const struct pnm *pnm = input->state;
    return input->place.orientation <= 1 && input->place.pitch == pnm->row_bytes && !input->info.gray_alpha &&
           input->info.desc.type != HONE_F32;
}

/* Many at a time, without a copy. False where something is wrong with one of them. */
static bool load_straight(struct media_input *input, uint32_t y, uint32_t count)
{
    const struct pnm *pnm = input->state;
    const size_t bytes = pnm->row_bytes * count;
    unsigned char *to = input->place.pixels + (y - input->place.first) * pnm->row_bytes;
    const ssize_t got = file_read_at(input->fd, to, bytes, pnm->start + (off_t)(pnm->row_bytes * y));
    return got == (ssize_t)bytes && to_host(input, to, (size_t)input->place.width * pnm->channels * count);
}

static uint32_t rows_at_once(size_t row_bytes, uint32_t most)
{
    const size_t rows = row_bytes < BLOCK ? BLOCK / row_bytes : 1;
    return rows < most ? (uint32_t)rows : most;
}

static hone_status load_pnm(struct media_input *input, uint32_t first, uint32_t count, hone_error *error)
{
    const struct pnm *pnm = input->state;
    const uint32_t end = first + count;
    hone_status status = reserve_row(input, input->state, error);
    const bool straight = !status && is_straight(input);
    for (uint32_t y = first, some; y < end && !status; y += some) {
        some = straight ? rows_at_once(pnm->row_bytes, end - y) : 1;
        if (!straight || !load_straight(input, y, some))
            for (uint32_t i = 0; i < some && !status; i++)
                status = load_row(input, y + i, error);
        THEN(status, media_check_time(input, error));
    }
    return status;
}

static void close_pnm(struct media_input *input)
{
    struct pnm *pnm = input->state;
    if (pnm) {
        free(pnm->raw);
        free(pnm->wide);
    }
    free(pnm);
    input->state = NULL;
}

const struct media_reader media_reader_pnm = {claims, open_pnm, load_pnm, close_pnm};

/* ---- Writing ---- */

static int print_header(const struct media_output *output, char *text, size_t size)
{
    static const char *const tuples[] = {"", "GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"};
    const hone_image_desc *desc = &output->desc;
    const unsigned most = desc->type == HONE_U8 ? 255 : 65535;
    if (strcmp(output->suffix, ".pam") == 0)
        return snprintf(text, size, "P7\nWIDTH %u\nHEIGHT %u\nDEPTH %u\nMAXVAL %u\nTUPLTYPE %s\nENDHDR\n",
                        desc->width, desc->height, desc->channels, most, tuples[desc->channels]);
    if (desc->type == HONE_F32)
        return snprintf(text, size, "P%c\n%u %u\n-1.0\n", desc->channels == 3 ? 'F' : 'f', desc->width,
                        desc->height);
    return snprintf(text, size, "P%c\n%u %u\n%u\n", desc->channels == 3 ? '6' : '5', desc->width,
                    desc->height, most);
}

/* PFM begins with the lowest row. */
static bool seek_row(const struct media_output *output, uint32_t y, int header)
{
    const off_t below = (off_t)(output->desc.height - 1 - y);
    return output->desc.type != HONE_F32 ||
           lseek(output->fd, header + below * (off_t)hone_image_row_bytes(&output->desc), SEEK_SET) >= 0;
}

static bool swaps_bytes(const struct media_output *output)
{
    return output->desc.type != HONE_U8 && (output->desc.type == HONE_F32) != host_is_little();
}

/* From where they are, as many as are there at once. */
static hone_status write_lent(const struct media_output *output, uint32_t *count, hone_error *error)
{
    struct media_rows lent;
    TRY(media_lend_rows(output, *count, &lent)); /* whose source tells why not */
    *count = lent.count;
    return file_write_rows(output->fd, lent.pixels, hone_image_row_bytes(&output->desc), lent.pitch,
                           lent.count)
               ? HONE_OK
               : media_cannot_write(output, errno, error);
}

/* Rows in the byte order of the format: big for integers, little for PFM as its header says. */
static hone_status write_rows(const struct media_output *output, uint32_t y, uint32_t count, int header,
                              unsigned char *block, hone_error *error)
{
    const size_t row = hone_image_row_bytes(&output->desc), bytes = row * count,
                 size = hone_type_size(output->desc.type);
    const bool swaps = swaps_bytes(output);
    const unsigned char *rows = output->rows ? block : (const unsigned char *)output->pixels + row * y;
    TRY(output->rows ? media_next_rows(output, count, block) : HONE_OK); /* whose source tells why not */
    if (swaps && !output->rows)
        rows = memcpy(block, rows, bytes);
    if (swaps)
        swap_bytes(block, bytes / size, size);
    return seek_row(output, y, header) && file_write_all(output->fd, rows, bytes)
               ? HONE_OK
               : media_cannot_write(output, errno, error);
}

hone_status media_write_pnm(const struct media_output *output, hone_error *error)
{
    const hone_image_desc *desc = &output->desc;
    char header[160];
    const uint32_t most = desc->type == HONE_F32 ? 1 : rows_at_once(hone_image_row_bytes(desc), desc->height);
    unsigned char *block = mem_new(hone_image_row_bytes(desc), most);
    if (!block)
        return error_memory(error, "rows of an image");
    const int length = print_header(output, header, sizeof header);
    hone_status status = file_write_all(output->fd, header, (size_t)length)
                             ? HONE_OK
                             : media_cannot_write(output, errno, error);
    const bool lent = media_lends_rows(output) && desc->type != HONE_F32 && !swaps_bytes(output);
    for (uint32_t y = 0, some; y < desc->height && !status; y += some) {
        some = desc->height - y < most ? desc->height - y : most;
        status = lent ? write_lent(output, &some, error) : write_rows(output, y, some, length, block, error);
    }
    free(block);
    return status;
}
