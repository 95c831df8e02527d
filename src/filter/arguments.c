/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/arguments.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

static bool parse_surface(struct argument *argument, const char *token)
{
    static const char *const roles[] = {"in", "second", "out"};
    static const char *const readings[] = {":uint", ":unorm", ":packed"};
    for (int role = 0; role < SURFACE_COUNT; role++) {
        size_t length = strlen(roles[role]);
        if (strncmp(token, roles[role], length) != 0)
            continue;
        argument->surface = (enum surface_role)role;
        if (token[length] == '\0') {
            argument->kind = ARGUMENT_SURFACE;
            return true;
        }
        for (size_t i = 0; i < COUNT_OF(readings); i++)
            if (strcmp(token + length, readings[i]) == 0) {
                argument->kind = ARGUMENT_IMAGE;
                argument->reading = (enum image_reading)i;
                return true;
            }
    }
    return false;
}

/* "tmp3", "table0:EXPR" */
static bool parse_numbered(struct argument *argument, const char *token, const char *word,
                           enum argument_kind kind)
{
    size_t length = strlen(word);
    if (strncmp(token, word, length) != 0 || !isdigit((unsigned char)token[length]))
        return false;
    argument->kind = kind;
    argument->index = token[length] - '0';
    argument->text = token + length + 1;
    if (kind == ARGUMENT_TABLE)
        return *argument->text++ == ':';
    return *argument->text == '\0';
}

static bool parse_prefixed(struct argument *argument, const char *token, const char *word,
                           enum argument_kind kind)
{
    if (!text_starts(token, word))
        return false;
    argument->kind = kind;
    argument->text = token + strlen(word);
    return true;
}

static hone_status parse(struct argument *argument, const char *token, hone_error *error)
{
    *argument = (struct argument){.text = ""};
    if (!*token)
        return error_set(error, HONE_ERROR_INTERNAL, "an empty argument in a pass");
    if (strcmp(token, "sampler") == 0)
        argument->kind = ARGUMENT_SAMPLER;
    else if (strcmp(token, "border") == 0)
        argument->kind = ARGUMENT_BORDER;
    else if (!parse_surface(argument, token) && !parse_numbered(argument, token, "tmp", ARGUMENT_SCRATCH) &&
             !parse_numbered(argument, token, "table", ARGUMENT_TABLE) &&
             !parse_prefixed(argument, token, "local:", ARGUMENT_LOCAL) &&
             !parse_prefixed(argument, token, "float:", ARGUMENT_FLOAT) &&
             !parse_prefixed(argument, token, "number:", ARGUMENT_NUMBER)) {
        argument->kind = ARGUMENT_INT;
        argument->text = token;
    }
    return HONE_OK;
}

hone_status arguments_parse(struct argument_list *out, const char *const *tokens, unsigned slot,
                            hone_error *error)
{
    hone_status status = HONE_OK;
    out->slots = slot;
    for (out->count = 0; out->count < MAX_ARGUMENTS && tokens[out->count] && !status; out->count++) {
        struct argument *argument = &out->list[out->count];
        status = parse(argument, tokens[out->count], error);
        argument->slot = out->slots;
        out->slots += argument->kind == ARGUMENT_SURFACE ? 3 : 1;
    }
    return status;
}

bool argument_image_shape(const struct argument *argument, const struct filter_case *c,
                          struct image_shape *shape)
{
    if (argument->kind != ARGUMENT_IMAGE)
        return false;
    const hone_image_desc *desc = argument->surface == SURFACE_IN       ? &c->in
                                  : argument->surface == SURFACE_SECOND ? &c->second
                                                                        : &c->out;
    shape->format = (struct image_format){desc->type, desc->channels, argument->reading != READ_UINT};
    shape->width = desc->width;
    shape->height = desc->height;
    if (argument->reading == READ_PACKED) {
        shape->format.channels = desc->channels == 1 && desc->width % 4 == 0 ? 4 : 0; /* 0: no such image */
        shape->width = desc->width / 4;
    }
    return true;
}
