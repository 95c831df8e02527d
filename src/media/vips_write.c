/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing PNG, JPEG, TIFF and WebP through libvips, into a descriptor of ours so that every failed write is
 * seen. */
#include "media/vips.h"

#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Classic TIFF ends at 4 GB; the rest is room for tags and profiles. */
#define BIG_TIFF_BYTES (UINT64_C(4000) << 20)

/* ---- The target: libvips writes, we keep the reason of the first failure ---- */

struct sink {
    int fd, code; /* errno */
};

static gint64 sink_write(VipsTargetCustom *target, const void *bytes, gint64 count, void *user)
{
    struct sink *sink = user;
    (void)target;
    if (sink->code == 0 && !file_write_all(sink->fd, bytes, (size_t)count))
        sink->code = errno;
    return sink->code ? -1 : count;
}

static gint64 sink_read(VipsTargetCustom *target, void *bytes, gint64 count, void *user)
{
    struct sink *sink = user;
    (void)target;
    ssize_t got = read(sink->fd, bytes, (size_t)count);
    if (got < 0 && sink->code == 0)
        sink->code = errno;
    return got;
}

static gint64 sink_seek(VipsTargetCustom *target, gint64 offset, int whence, void *user)
{
    struct sink *sink = user;
    (void)target;
    off_t at = lseek(sink->fd, offset, whence);
    if (at < 0 && sink->code == 0)
        sink->code = errno;
    return at;
}

static VipsTarget *new_target(struct sink *sink)
{
    VipsTargetCustom *target = vips_target_custom_new();
    g_signal_connect(target, "write", G_CALLBACK(sink_write), sink);
    g_signal_connect(target, "read", G_CALLBACK(sink_read), sink);
    g_signal_connect(target, "seek", G_CALLBACK(sink_seek), sink);
    return VIPS_TARGET(target);
}

/* ---- The image ---- */

static VipsBandFormat band_format(hone_type type)
{
    switch (type) {
    case HONE_U8:
        return VIPS_FORMAT_UCHAR;
    case HONE_U16:
        return VIPS_FORMAT_USHORT;
    case HONE_S16:
        return VIPS_FORMAT_SHORT;
    case HONE_U32:
        return VIPS_FORMAT_UINT;
    case HONE_F32:
        break;
    }
    return VIPS_FORMAT_FLOAT;
}

static VipsInterpretation interpretation(const hone_image_desc *desc)
{
    const bool gray = desc->channels < 3;
    if (desc->type == HONE_U8)
        return gray ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB;
    if (desc->type == HONE_U16)
        return gray ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16;
    return gray ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_scRGB;
}

/* A profile names its colour space in bytes 16 to 19. One for gray on a coloured result, or the other way
 * round, would be refused or worse. */
static void drop_foreign_profile(VipsImage *image, const hone_image_desc *desc)
{
    enum { SPACE_AT = 16, SPACE_LENGTH = 4 };
    const void *profile = NULL;
    size_t bytes = 0;
    if (vips_image_get_typeof(image, VIPS_META_ICC_NAME) == 0 ||
        vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &bytes) != 0)
        return;
    const char *space = desc->channels < 3 ? "GRAY" : "RGB ";
    if (bytes < SPACE_AT + SPACE_LENGTH || memcmp((const char *)profile + SPACE_AT, space, SPACE_LENGTH) != 0)
        vips_image_remove(image, VIPS_META_ICC_NAME);
}

/* The pixels stay where they are. */
static VipsImage *make_image(const struct media_output *output)
{
    const hone_image_desc *desc = &output->desc;
    VipsImage *metadata = vips_metadata_of(output->like), *image = NULL;
    VipsImage *pixels =
        vips_image_new_from_memory(output->pixels, hone_image_bytes(desc), (int)desc->width,
                                   (int)desc->height, (int)desc->channels, band_format(desc->type));
    if (!pixels)
        return NULL;
    if (vips_copy(pixels, &image, "interpretation", interpretation(desc), "xres",
                  metadata ? metadata->Xres : 1.0, "yres", metadata ? metadata->Yres : 1.0, NULL) == 0 &&
        metadata) {
        vips_carry_metadata(metadata, image);
        drop_foreign_profile(image, desc);
    }
    g_object_unref(pixels);
    return image;
}

/* ---- Saving ---- */

static int save(const struct media_output *output, VipsImage *image, VipsTarget *target)
{
    const char *suffix = output->suffix;
    if (strcmp(suffix, ".png") == 0)
        return vips_pngsave_target(image, target, NULL);
    if (suffix[1] == 't')
        return vips_tiffsave_target(image, target, "bigtiff",
                                    hone_image_bytes(&output->desc) > BIG_TIFF_BYTES, NULL);
    if (suffix[1] == 'w')
        return vips_webpsave_target(image, target, "Q", output->quality, NULL);
    return vips_jpegsave_target(image, target, "Q", output->quality, NULL);
}

hone_status media_write_vips(const struct media_output *output, hone_error *error)
{
    struct sink sink = {output->fd, 0};
    hone_status status = vips_begin(error);
    if (status)
        return status;
    VipsImage *image = make_image(output);
    VipsTarget *target = image ? new_target(&sink) : NULL;
    bool ok = target && save(output, image, target) == 0;
    if (sink.code) {
        vips_error_clear();
        status = media_cannot_write(output, sink.code, error);
    } else if (!ok) {
        char said[512];
        vips_said(said, sizeof said);
        status = error_set(error, HONE_ERROR_IO, "cannot write '%s': %s", output->name, said);
    }
    if (target)
        g_object_unref(target);
    if (image)
        g_object_unref(image);
    return status;
}
