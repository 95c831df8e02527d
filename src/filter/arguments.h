/* SPDX-License-Identifier: BSD-2-Clause */
/* The argument lists of passes: their tokens, parsed. */
#pragma once

#include "cl/memory.h"
#include "filter/filter.h"

enum argument_kind {
    ARGUMENT_SURFACE, /* pointer, offset, pitch of `surface` */
    ARGUMENT_IMAGE,   /* `surface` as image2d_t */
    ARGUMENT_SCRATCH, /* number `index` */
    ARGUMENT_SAMPLER,
    ARGUMENT_BORDER,
    ARGUMENT_TABLE,  /* number `index`, text: bytes */
    ARGUMENT_LOCAL,  /* text: bytes */
    ARGUMENT_FLOAT,  /* text: name */
    ARGUMENT_NUMBER, /* text: name; int or, for f32, float */
    ARGUMENT_INT     /* text: expression */
};

enum surface_role { SURFACE_IN, SURFACE_SECOND, SURFACE_OUT, SURFACE_COUNT };
enum image_reading { READ_UINT, READ_UNORM, READ_PACKED };

struct argument {
    enum argument_kind kind;
    enum surface_role surface;
    enum image_reading reading;
    int index;
    const char *text; /* points into the token */
    unsigned slot;    /* the kernel's first argument that it fills, of 3 for a surface, else 1 */
};

/* What a pass, or the function of a point filter, is given. */
struct argument_list {
    struct argument list[MAX_ARGUMENTS];
    unsigned count, slots; /* slots: arguments of the kernel up to the last one of the list */
};

/* From tokens that end with NULL and outlive the list; `slot` arguments of the kernel stand before them. A
 * token that means nothing is HONE_ERROR_INTERNAL: it stands in a filter's description. */
hone_status arguments_parse(struct argument_list *out, const char *const *tokens, unsigned slot,
                            hone_error *error);

/* The image that an ARGUMENT_IMAGE wants for a case; false for other kinds. */
struct image_shape {
    struct image_format format;
    size_t width, height;
};
bool argument_image_shape(const struct argument *argument, const struct filter_case *c,
                          struct image_shape *shape);
