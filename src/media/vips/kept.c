/* SPDX-License-Identifier: BSD-2-Clause */
/* What a result gets of the file that it was made of, beside its pixels; and the same as bytes, which a
 * decoder of its own process sends. */
#include "media/vips.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct vips_kept *vips_kept_new(void)
{
    struct vips_kept *kept = mem_new(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->metadata = vips_image_new();
    kept->loop = -1;
    return kept;
}

void vips_kept_free(struct vips_kept *kept)
{
    if (!kept)
        return;
    g_clear_object(&kept->metadata);
    free(kept->delays);
    text_finish(&kept->lost);
    free(kept);
}

VipsImage *vips_metadata_of(const struct media_input *input)
{
    return input && input->kept ? input->kept->metadata : NULL;
}

void vips_tell_lost(const struct media_input *input)
{
    if (input && input->kept && input->kept->lost.length)
        media_note(input, MEDIA_ONCE, "its TIFF tags %s are not kept", text_view(&input->kept->lost));
}

void vips_carry_animation(const struct media_input *from, VipsImage *to)
{
    const struct vips_kept *kept = from ? from->kept : NULL;
    if (!kept || from->info.page_count < 2)
        return;
    if (kept->loop >= 0)
        vips_image_set_int(to, "loop", kept->loop);
    if (kept->delays)
        vips_image_set_array_int(to, "delay", kept->delays, (int)kept->delay_count);
}

/* ---- Metadata ---- */

/* These describe the file that was read, or what is no longer true of the result. */
static const char *const file_fields[] = {"orientation",
                                          "exif-ifd0-Orientation", /* applied to the pixels */
                                          "jpeg-thumbnail-data",   /* shows the picture before the filter */
                                          "n-pages",
                                          "page-height",
                                          "loop",
                                          "delay",
                                          "background", /* of animations */
                                          "gif-palette",
                                          "gif-delay",
                                          "gif-loop", /* the same, older */
                                          "bits-per-sample",
                                          "palette",
                                          "palette-bit-depth",
                                          "interlaced", /* how it was stored */
                                          "n-subifds",
                                          "subifd",
                                          "heif-primary",
                                          "heif-compression",
                                          "heif-bitdepth",
                                          "concurrency",
                                          "jpeg-multiscan",
                                          "jpeg-chroma-subsample",
                                          "vips-loader",
                                          "vips-sequential"};

static void *carry_field(VipsImage *from, const char *name, GValue *value, void *to)
{
    /* Texts of PNGs are copied by themselves. Width, format and their kin are properties of the object and
     * listed here too. */
    if (!text_starts(name, "png-comment-") && !g_object_class_find_property(G_OBJECT_GET_CLASS(from), name))
        vips_image_set(to, name, value);
    return NULL;
}

/* Removed afterwards, not left out: setting the EXIF block unpacks it again, the orientation and the
 * thumbnail with it. */
void vips_carry_metadata(VipsImage *from, VipsImage *to)
{
    vips_image_map(from, carry_field, to);
    for (size_t i = 0; i < COUNT_OF(file_fields); i++)
        vips_image_remove(to, file_fields[i]);
}

/* ---- As bytes: numbers as they are in memory, sizes before what they are of ---- */

static void add_block(struct text *bytes, const void *data, size_t size)
{
    const uint64_t length = size;
    text_add_bytes(bytes, &length, sizeof length);
    if (size > 0)
        text_add_bytes(bytes, data, size);
}

/* What a field of metadata holds; bytes stay where they are. */
struct field {
    char kind; /* a letter; 0: of a kind that no format carries */
    const void *data;
    size_t size;
    int integer;
    double real;
};

static void look_at_array(struct field *field, const GValue *value)
{
    int count = 0;
    if (G_VALUE_HOLDS(value, VIPS_TYPE_ARRAY_INT)) {
        field->kind = 'I';
        field->data = vips_value_get_array_int(value, &count);
        field->size = (size_t)count * sizeof(int);
    } else if (G_VALUE_HOLDS(value, VIPS_TYPE_ARRAY_DOUBLE)) {
        field->kind = 'D';
        field->data = vips_value_get_array_double(value, &count);
        field->size = (size_t)count * sizeof(double);
    } else if (G_VALUE_HOLDS(value, VIPS_TYPE_BLOB)) {
        field->kind = 'b';
        field->data = vips_value_get_blob(value, &field->size);
    }
}

static void look_at_text(struct field *field, const GValue *value)
{
    const char *text =
        G_VALUE_HOLDS_STRING(value) ? g_value_get_string(value) : vips_value_get_ref_string(value, NULL);
    field->kind = 's';
    field->data = text;
    field->size = text ? strlen(text) : 0;
}

static void look_at(struct field *field, const GValue *value)
{
    *field = (struct field){0};
    if (G_VALUE_HOLDS_INT(value)) {
        field->kind = 'i';
        field->integer = g_value_get_int(value);
        field->data = &field->integer;
        field->size = sizeof field->integer;
    } else if (G_VALUE_HOLDS_DOUBLE(value)) {
        field->kind = 'd';
        field->real = g_value_get_double(value);
        field->data = &field->real;
        field->size = sizeof field->real;
    } else if (G_VALUE_HOLDS_STRING(value) || G_VALUE_HOLDS(value, VIPS_TYPE_REF_STRING)) {
        look_at_text(field, value);
    } else {
        look_at_array(field, value);
    }
}

static void *pack_field(VipsImage *from, const char *name, GValue *value, void *bytes)
{
    struct field field;
    look_at(&field, value);
    if (field.kind && !g_object_class_find_property(G_OBJECT_GET_CLASS(from), name)) {
        text_add_bytes(bytes, &field.kind, 1);
        add_block(bytes, name, strlen(name));
        add_block(bytes, field.data, field.size);
    }
    return NULL;
}

void vips_kept_pack(const struct vips_kept *kept, struct text *bytes)
{
    text_add_bytes(bytes, &kept->loop, sizeof kept->loop);
    text_add_bytes(bytes, &kept->bits, sizeof kept->bits);
    text_add_bytes(bytes, &kept->metadata->Xres, sizeof kept->metadata->Xres);
    text_add_bytes(bytes, &kept->metadata->Yres, sizeof kept->metadata->Yres);
    add_block(bytes, kept->delays, kept->delay_count * sizeof *kept->delays);
    add_block(bytes, text_view(&kept->lost), kept->lost.length);
    vips_image_map(kept->metadata, pack_field, bytes);
}

/* Bytes that are still to be read. */
struct cursor {
    const unsigned char *at;
    size_t left;
};

static bool get(struct cursor *c, void *to, size_t size)
{
    if (c->left < size)
        return false;
    memcpy(to, c->at, size);
    c->at += size;
    c->left -= size;
    return true;
}

/* A copy that ends with a NUL and is to be freed; NULL also for one that is not whole. */
static void *get_block(struct cursor *c, size_t *size)
{
    uint64_t length;
    if (!get(c, &length, sizeof length) || length > c->left)
        return NULL;
    unsigned char *block = malloc((size_t)length + sizeof(double));
    if (!block)
        return NULL;
    *size = (size_t)length;
    get(c, block, *size);
    block[*size] = '\0';
    return block;
}

static bool set_number(VipsImage *to, char kind, const char *name, const void *data, size_t size)
{
    int integer;
    double real;
    if (kind == 'i' && size == sizeof integer) {
        memcpy(&integer, data, size);
        vips_image_set_int(to, name, integer);
        return true;
    }
    if (kind == 'd' && size == sizeof real) {
        memcpy(&real, data, size);
        vips_image_set_double(to, name, real);
        return true;
    }
    return false;
}

static bool set_field(VipsImage *to, char kind, const char *name, const void *data, size_t size)
{
    if (kind == 's')
        vips_image_set_string(to, name, data);
    else if (kind == 'b')
        vips_image_set_blob_copy(to, name, data, size);
    else if (kind == 'I')
        vips_image_set_array_int(to, name, data, (int)(size / sizeof(int)));
    else if (kind == 'D')
        vips_image_set_array_double(to, name, data, (int)(size / sizeof(double)));
    else
        return set_number(to, kind, name, data, size);
    return true;
}

static bool unpack_field(VipsImage *to, struct cursor *c)
{
    char kind;
    size_t length = 0, size = 0;
    bool ok = get(c, &kind, 1);
    char *name = ok ? get_block(c, &length) : NULL;
    void *data = name ? get_block(c, &size) : NULL;
    ok = data && !g_object_class_find_property(G_OBJECT_GET_CLASS(to), name) &&
         set_field(to, kind, name, data, size);
    free(name);
    free(data);
    return ok;
}

bool vips_kept_unpack(struct vips_kept *kept, const void *bytes, size_t size, unsigned pages)
{
    struct cursor c = {bytes, size};
    size_t count = 0, length = 0;
    bool ok = get(&c, &kept->loop, sizeof kept->loop) && get(&c, &kept->bits, sizeof kept->bits) &&
              get(&c, &kept->metadata->Xres, sizeof kept->metadata->Xres) &&
              get(&c, &kept->metadata->Yres, sizeof kept->metadata->Yres) &&
              (kept->delays = get_block(&c, &count));
    ok = ok && (count == 0 || count == pages * sizeof *kept->delays);
    char *lost = ok ? get_block(&c, &length) : NULL;
    if (lost)
        text_add_bytes(&kept->lost, lost, length);
    ok = ok && lost;
    free(lost);
    kept->delay_count = (unsigned)(count / sizeof *kept->delays);
    if (kept->delay_count == 0) {
        free(kept->delays);
        kept->delays = NULL;
    }
    while (ok && c.left > 0)
        ok = unpack_field(kept->metadata, &c);
    for (size_t i = 0; i < COUNT_OF(file_fields); i++)
        vips_image_remove(kept->metadata, file_fields[i]);
    return ok;
}
