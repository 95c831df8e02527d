/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of an --arg: what a kernel gets for one of its arguments. */
#include "tune/own/spec/spec.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const char forms[] =
    "in:FILE, in:TYPE:FILE, random:TYPE:COUNT, zero:TYPE:COUNT, fill:TYPE:VALUE:COUNT, out:TYPE:COUNT, "
    "inout:(any of the inputs), image:in:FILE, image:out:TYPE:CHANNELS:WIDTH:HEIGHT, sampler:KIND, "
    "local:TYPE:COUNT, or TYPE:VALUE for a number";

/* Takes "word:" off the text. */
static bool accept(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0 || (*text)[length] != ':')
        return false;
    *text += length + 1;
    return true;
}

static bool accept_type(struct own_argument *a, const char **text)
{
    size_t length = strcspn(*text, ":");
    if ((*text)[length] != ':' || !element_parse(*text, length, &a->element, &a->lanes))
        return false;
    a->typed = true;
    *text += length + 1;
    return true;
}

static hone_status need_type(struct own_argument *a, const char **text, hone_error *error)
{
    if (accept_type(a, text) && a->lanes == 1)
        return HONE_OK;
    return error_usage(
        error,
        "'%s' must begin with a type: u8 s8 u16 s16 u32 s32 u64 s64 f16 f32 f64 or OpenCL's name "
        "of it (buffers of vectors count single numbers)",
        *text);
}

/* "TYPE:COUNT" */
static hone_status parse_count(struct own_argument *a, const char *text, hone_error *error)
{
    hone_status status = need_type(a, &text, error);
    return status ? status : formula_new(&a->sizes[0], text, strlen(text), error);
}

/* "TYPE:VALUE:COUNT" */
static hone_status parse_fill(struct own_argument *a, const char *text, hone_error *error)
{
    char *end;
    TRY(need_type(a, &text, error));
    a->constant = text_number(text, &end);
    if (end == text || *end != ':')
        return error_usage(error, "'%s' must be VALUE:COUNT", text);
    return formula_new(&a->sizes[0], end + 1, strlen(end + 1), error);
}

/* "TYPE:CHANNELS:WIDTH:HEIGHT" */
static hone_status parse_shape(struct own_argument *a, const char *text, hone_error *error)
{
    hone_status status = need_type(a, &text, error);
    for (int i = 0; i < 3 && !status; i++) {
        size_t length = strcspn(text, ":");
        if ((text[length] == ':') != (i < 2))
            return error_usage(error, "an image needs TYPE:CHANNELS:WIDTH:HEIGHT");
        status = formula_new(&a->sizes[i], text, length, error);
        text += length + (i < 2);
    }
    return status;
}

static hone_status parse_file(struct own_argument *a, const char *text, const char *folder, hone_error *error)
{
    if (accept_type(a, &text) && a->lanes != 1)
        return error_usage(error, "name the type of single numbers, not of vectors");
    if (!*text)
        return error_usage(error, "the name of the file is missing");
    a->fill = FILL_FILE;
    a->file = kernel_path(folder, text);
    return a->file ? HONE_OK : error_memory(error, "an argument");
}

/* What an input holds. `bare`: only words, as files need "in:" before them there. */
static hone_status parse_input(struct own_argument *a, const char *text, const char *folder,
                               hone_error *error)
{
    bool image = a->kind == OWN_IMAGE;
    if (accept(&text, "random")) {
        a->fill = FILL_RANDOM;
        return image ? parse_shape(a, text, error) : parse_count(a, text, error);
    }
    if (accept(&text, "zero"))
        return image ? parse_shape(a, text, error) : parse_count(a, text, error);
    if (!image && accept(&text, "fill"))
        return parse_fill(a, text, error);
    return parse_file(a, text, folder, error);
}

static hone_status parse_image(struct own_argument *a, const char *text, const char *folder,
                               hone_error *error)
{
    a->kind = OWN_IMAGE;
    if (accept(&text, "out")) {
        a->role = ROLE_OUT;
        return parse_shape(a, text, error);
    }
    accept(&text, "in");
    return parse_input(a, text, folder, error);
}

static hone_status parse_sampler(struct own_argument *a, const char *text, hone_error *error)
{
    static const struct {
        const char *word;
        enum sampler_edge edge;
    } edges[] = {{"none", SAMPLER_EDGE_NONE},
                 {"edge", SAMPLER_EDGE_REPLICATE},
                 {"zero", SAMPLER_EDGE_ZERO},
                 {"repeat", SAMPLER_EDGE_REPEAT},
                 {"mirror", SAMPLER_EDGE_MIRROR}};
    a->kind = OWN_SAMPLER;
    a->sampler.edge = SAMPLER_EDGE_REPLICATE;
    while (*text) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < COUNT_OF(edges) &&
               !(strlen(edges[i].word) == length && strncmp(text, edges[i].word, length) == 0))
            i++;
        if (i < COUNT_OF(edges))
            a->sampler.edge = edges[i].edge;
        else if (length == 6 && strncmp(text, "linear", 6) == 0)
            a->sampler.linear = true;
        else if (length == 10 && strncmp(text, "normalized", 10) == 0)
            a->sampler.normalised = true;
        else if (!(length == 7 && strncmp(text, "nearest", 7) == 0) &&
                 !(length == 6 && strncmp(text, "pixels", 6) == 0))
            return error_usage(
                error, "a sampler is made of nearest or linear, pixels or normalized, and one of none, "
                       "edge, zero, repeat, mirror, with commas between");
        text += length + (text[length] == ',');
    }
    if (a->sampler.edge >= SAMPLER_EDGE_REPEAT && !a->sampler.normalised)
        return error_usage(error, "repeat and mirror need normalized coordinates");
    return HONE_OK;
}

/* "VALUE" or, for a vector, "VALUE,VALUE..." (or one value for all). */
static hone_status parse_scalar(struct own_argument *a, const char *text, hone_error *error)
{
    a->kind = OWN_SCALAR;
    hone_status status = HONE_OK;
    int count = 0;
    while (!status) {
        size_t length = 0;
        for (int depth = 0; text[length] && (depth > 0 || text[length] != ','); length++)
            depth += (text[length] == '(') - (text[length] == ')');
        if (count == a->lanes)
            return error_usage(error, "there are more than %d values", a->lanes);
        status = formula_new(&a->values[count++], text, length, error);
        if (!text[length])
            break;
        text += length + 1;
    }
    if (!status && count != 1 && count != a->lanes)
        status = error_usage(error, "needs 1 or %d values, not %d", a->lanes, count);
    return status;
}

static hone_status parse(struct own_argument *a, const char *text, const char *folder, hone_error *error)
{
    const char *whole = text;
    if (accept(&text, "out")) {
        a->role = ROLE_OUT;
        return parse_count(a, text, error);
    }
    if (accept(&text, "in"))
        return parse_input(a, text, folder, error);
    if (accept(&text, "inout")) {
        a->role = ROLE_INOUT;
        return parse_input(a, text, folder, error);
    }
    if (accept(&text, "local")) {
        a->kind = OWN_LOCAL;
        return parse_count(a, text, error);
    }
    if (accept(&text, "image"))
        return parse_image(a, text, folder, error);
    if (accept(&text, "unorm")) {
        a->normalised = true;
        return parse_image(a, text, folder, error);
    }
    if (accept(&text, "sampler"))
        return parse_sampler(a, text, error);
    if (strncmp(text, "random:", 7) == 0 || strncmp(text, "zero:", 5) == 0 || strncmp(text, "fill:", 5) == 0)
        return parse_input(a, text, folder, error);
    if (accept_type(a, &text))
        return parse_scalar(a, text, error);
    return error_usage(error, "'%s' is none of %s", whole, forms);
}

hone_status own_argument_parse(struct own_argument *a, const char *text, const char *folder,
                               hone_error *error)
{
    *a = (struct own_argument){.lanes = 1, .text = mem_copy_text(text)};
    return a->text ? parse(a, text, folder, error) : error_memory(error, "an argument");
}

void own_argument_finish(struct own_argument *a)
{
    for (int i = 0; i < 3; i++)
        formula_free(&a->sizes[i]);
    for (int i = 0; i < OWN_MAX_LANES; i++)
        formula_free(&a->values[i]);
    free(a->text);
    free(a->file);
    *a = (struct own_argument){0};
}
