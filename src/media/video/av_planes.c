/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of frames: where they lie, and how they become planes to be filtered and frames to be encoded. */
#include "media/video/av.h"

#include "base/error.h"

#include <libavutil/imgutils.h>

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, ROW = 64 };

static const char suited[] =
    "planar, semi-planar or packed samples of 8 to 16 bits, such as yuv420p, yuv422p10le, "
    "gray or nv12";

static bool is_suited(const AVPixFmtDescriptor *desc)
{
    const uint64_t never = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
                           AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER;
    if (desc->flags & never || desc->nb_components < 1)
        return false;
    const int bits = desc->comp[0].depth;
    if (bits < 8 || bits > 16 || (bits > 8 && desc->flags & AV_PIX_FMT_FLAG_BE))
        return false;
    for (int i = 0; i < desc->nb_components; i++) {
        const AVComponentDescriptor *c = &desc->comp[i];
        const int bytes = bits > 8 ? 2 : 1;
        if (c->depth != bits || c->step % bytes || c->offset % bytes || c->shift + bits > 8 * bytes)
            return false;
    }
    return true;
}

static uint32_t shrunk(int side, int log2)
{
    return (uint32_t)AV_CEIL_RSHIFT(side, log2);
}

static unsigned filtered_components(const AVPixFmtDescriptor *desc, bool every_plane)
{
    const unsigned colours = desc->nb_components - (desc->flags & AV_PIX_FMT_FLAG_ALPHA ? 1 : 0);
    return every_plane || desc->flags & AV_PIX_FMT_FLAG_RGB ? colours : 1;
}

hone_status frame_layout_make(struct layout *layout, enum AVPixelFormat format, int width, int height,
                              bool every_plane, hone_error *error)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    if (!desc || !is_suited(desc))
        return error_unsupported(error, "its frames are %s, and video needs %s",
                                 desc ? desc->name : "of an unknown format", suited);
    *layout = (struct layout){.format = format,
                              .bits = (unsigned)desc->comp[0].depth,
                              .sample_bytes = desc->comp[0].depth > 8 ? 2 : 1,
                              .components = desc->nb_components,
                              .filtered = filtered_components(desc, every_plane)};
    for (int i = 0; i < desc->nb_components; i++) {
        const AVComponentDescriptor *c = &desc->comp[i];
        const bool chroma = (i == 1 || i == 2) && !(desc->flags & AV_PIX_FMT_FLAG_RGB);
        layout->component[i] = (struct component){.plane = c->plane,
                                                  .step = c->step,
                                                  .offset = c->offset,
                                                  .shift = c->shift,
                                                  .width = shrunk(width, chroma ? desc->log2_chroma_w : 0),
                                                  .height = shrunk(height, chroma ? desc->log2_chroma_h : 0)};
    }
    return HONE_OK;
}

enum AVPixelFormat frame_layout_planar(enum AVPixelFormat format)
{
    static const struct {
        enum AVPixelFormat semi, planar;
    } twins[] = {{AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P},       {AV_PIX_FMT_NV21, AV_PIX_FMT_YUV420P},
                 {AV_PIX_FMT_NV16, AV_PIX_FMT_YUV422P},       {AV_PIX_FMT_NV24, AV_PIX_FMT_YUV444P},
                 {AV_PIX_FMT_NV42, AV_PIX_FMT_YUV444P},       {AV_PIX_FMT_P010LE, AV_PIX_FMT_YUV420P10LE},
                 {AV_PIX_FMT_NV20LE, AV_PIX_FMT_YUV422P10LE}, {AV_PIX_FMT_P210LE, AV_PIX_FMT_YUV422P10LE},
                 {AV_PIX_FMT_P410LE, AV_PIX_FMT_YUV444P10LE}, {AV_PIX_FMT_P016LE, AV_PIX_FMT_YUV420P16LE},
                 {AV_PIX_FMT_YUYV422, AV_PIX_FMT_YUV422P},    {AV_PIX_FMT_UYVY422, AV_PIX_FMT_YUV422P},
                 {AV_PIX_FMT_YVYU422, AV_PIX_FMT_YUV422P},    {AV_PIX_FMT_RGB24, AV_PIX_FMT_GBRP},
                 {AV_PIX_FMT_BGR24, AV_PIX_FMT_GBRP},         {AV_PIX_FMT_RGB48LE, AV_PIX_FMT_GBRP16LE}};
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (twins[i].semi == format)
            return twins[i].planar;
    return format;
}

enum AVPixelFormat frame_layout_unranged(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUVJ420P:
        return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
        return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
        return AV_PIX_FMT_YUV444P;
    default:
        return format;
    }
}

bool frame_layout_is_kin(enum AVPixelFormat a, enum AVPixelFormat b)
{
    const uint64_t telling = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_ALPHA;
    const AVPixFmtDescriptor *x = av_pix_fmt_desc_get(a), *y = av_pix_fmt_desc_get(b);
    return x && y && is_suited(x) && is_suited(y) && x->nb_components == y->nb_components &&
           x->log2_chroma_w == y->log2_chroma_w && x->log2_chroma_h == y->log2_chroma_h &&
           (x->flags & telling) == (y->flags & telling);
}

/* ---- Memory ---- */

static size_t plane_pitch(const struct layout *layout, unsigned i)
{
    return ((size_t)layout->component[i].width * layout->sample_bytes + ROW - 1) / ROW * ROW;
}

static void release(void *user, uint8_t *data)
{
    (void)user;
    free(data);
}

/* Encoders read whole blocks, of fields, too: FFmpeg's own frames have a multiple of 32 rows. */
static size_t plane_bytes(const struct layout *layout, unsigned i)
{
    return plane_pitch(layout, i) * ((layout->component[i].height + 31) / 32 * 32);
}

/* Page-aligned, so that devices that share memory need no copy; encoders may read a little beyond the last
 * row. */
static AVBufferRef *new_plane(size_t size)
{
    const size_t bytes = (size + ROW + PAGE - 1) / PAGE * PAGE;
    uint8_t *data = aligned_alloc(PAGE, bytes);
    if (data)
        memset(data, 0, bytes);
    AVBufferRef *buffer = data ? av_buffer_create(data, bytes, release, NULL, 0) : NULL;
    if (!buffer)
        free(data);
    return buffer;
}

hone_status planes_pools_make(struct plane_pools *pools, const struct layout *layout, hone_error *error)
{
    for (unsigned i = 0; i < layout->filtered; i++) {
        pools->pool[i] = av_buffer_pool_init(plane_bytes(layout, i), new_plane);
        if (!pools->pool[i])
            return error_memory(error, "frames");
    }
    return HONE_OK;
}

void planes_pools_free(struct plane_pools *pools)
{
    for (int i = 0; i < VIDEO_PLANES; i++)
        av_buffer_pool_uninit(&pools->pool[i]);
}

/* ---- From frames ---- */

static uint8_t *at(const AVFrame *frame, const struct component *c, uint32_t y)
{
    return frame->data[c->plane] + (ptrdiff_t)y * frame->linesize[c->plane] + c->offset;
}

/* Whether the samples of a component are a plane as it is. */
static bool is_plain(const struct layout *layout, const struct component *c)
{
    return c->step == (int)layout->sample_bytes;
}

static unsigned up_shift(const struct layout *layout)
{
    return 8 * layout->sample_bytes - layout->bits;
}

static void gather8(uint8_t *to, const uint8_t *from, uint32_t width, int step)
{
    for (uint32_t x = 0; x < width; x++, from += step)
        to[x] = *from;
}

static void gather16(uint16_t *to, const uint8_t *from, uint32_t width, int step, int down, unsigned up)
{
    if (step == 2) {
        const uint16_t *values = (const uint16_t *)from;
        for (uint32_t x = 0; x < width; x++)
            to[x] = (uint16_t)((values[x] >> down) << up);
        return;
    }
    for (uint32_t x = 0; x < width; x++, from += step)
        to[x] = (uint16_t)((*(const uint16_t *)from >> down) << up);
}

/* Into a plane of its own, shifted up. */
static void gather(uint8_t *to, size_t pitch, const AVFrame *frame, const struct layout *layout, unsigned i)
{
    const struct component *c = &layout->component[i];
    for (uint32_t y = 0; y < c->height; y++, to += pitch)
        if (layout->sample_bytes == 1)
            gather8(to, at(frame, c, y), c->width, c->step);
        else
            gather16((uint16_t *)to, at(frame, c, y), c->width, c->step, c->shift, up_shift(layout));
}

static hone_status prepare_plane(struct unit *unit, const struct plane_pools *pools, unsigned i,
                                 hone_error *error)
{
    const struct component *c = &unit->layout.component[i];
    struct video_plane *plane = &unit->shown.planes[i];
    const size_t pitch = plane_pitch(&unit->layout, i);
    unit->out[i] = av_buffer_pool_get(pools->pool[i]);
    if (!unit->out[i])
        return error_memory(error, "a frame");
    *plane = (struct video_plane){.out = unit->out[i]->data, .out_pitch = pitch};
    const int line = unit->frame->linesize[c->plane];
    if (is_plain(&unit->layout, c) && up_shift(&unit->layout) == 0 && line > 0) {
        plane->in = at(unit->frame, c, 0);
        plane->in_pitch = (size_t)line;
        return HONE_OK;
    }
    unit->in[i] = av_buffer_pool_get(pools->pool[i]);
    if (!unit->in[i])
        return error_memory(error, "a frame");
    gather(unit->in[i]->data, pitch, unit->frame, &unit->layout, i);
    plane->in = unit->in[i]->data;
    plane->in_pitch = pitch;
    return HONE_OK;
}

hone_status planes_prepare(struct unit *unit, const struct plane_pools *pools, hone_error *error)
{
    for (unsigned i = 0; i < unit->layout.filtered; i++)
        TRY(prepare_plane(unit, pools, i, error));
    return HONE_OK;
}

hone_status planes_copy(struct unit *unit, const struct unit *from, hone_error *error)
{
    for (unsigned i = 0; i < unit->layout.filtered; i++) {
        const size_t bytes = from->shown.planes[i].out_pitch * unit->layout.component[i].height;
        unit->out[i] = new_plane(bytes);
        if (!unit->out[i])
            return error_memory(error, "a frame");
        memcpy(unit->out[i]->data, from->out[i]->data, bytes);
        unit->shown.planes[i].out = unit->out[i]->data;
    }
    return HONE_OK;
}

/* ---- To frames ---- */

static uint16_t narrow(uint16_t value, unsigned up, unsigned most)
{
    const unsigned rounded = (value + ((1u << up) >> 1)) >> up;
    return (uint16_t)(rounded > most ? most : rounded);
}

/* In place: to values of the layout's bits. */
static void narrow_plane(uint8_t *plane, size_t pitch, const struct layout *layout, unsigned i)
{
    const struct component *c = &layout->component[i];
    const unsigned up = up_shift(layout), most = (1u << layout->bits) - 1;
    for (uint32_t y = 0; y < c->height && up > 0; y++, plane += pitch) {
        uint16_t *row = (uint16_t *)plane;
        for (uint32_t x = 0; x < c->width; x++)
            row[x] = narrow(row[x], up, most);
    }
}

static void scatter_row(uint8_t *to, const uint8_t *from, const struct layout *layout,
                        const struct component *c)
{
    if (layout->sample_bytes == 1) {
        for (uint32_t x = 0; x < c->width; x++, to += c->step)
            *to = from[x];
        return;
    }
    for (uint32_t x = 0; x < c->width; x++, to += c->step)
        *(uint16_t *)to = (uint16_t)(((const uint16_t *)from)[x] << c->shift);
}

static void scatter(AVFrame *frame, const struct layout *layout, unsigned i, const uint8_t *from,
                    size_t pitch)
{
    const struct component *c = &layout->component[i];
    for (uint32_t y = 0; y < c->height; y++, from += pitch)
        scatter_row(at(frame, c, y), from, layout, c);
}

/* Whether all bits set are the upper end of a component at every depth. */
static bool is_full(const AVFrame *frame, const struct layout *layout, unsigned i)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(layout->format);
    const bool is_alpha = desc->flags & AV_PIX_FMT_FLAG_ALPHA && i + 1 == layout->components;
    return is_alpha || desc->flags & AV_PIX_FMT_FLAG_RGB || frame->color_range == AVCOL_RANGE_JPEG;
}

/* In place: to fewer bits, end to end. */
static void scale_plane(uint8_t *plane, size_t pitch, const struct layout *from, unsigned bits, unsigned i)
{
    const struct component *c = &from->component[i];
    const uint32_t end = ((1u << from->bits) - 1) << up_shift(from), most = (1u << bits) - 1;
    for (uint32_t y = 0; y < c->height; y++, plane += pitch) {
        uint16_t *row = (uint16_t *)plane;
        for (uint32_t x = 0; x < c->width; x++) {
            const uint32_t scaled = (row[x] * most + end / 2) / end;
            row[x] = (uint16_t)(scaled > most ? most : scaled);
        }
    }
}

/* In place: a plane of the unit's layout, shifted up, in the bits of another one. */
static void finish_plane(uint8_t *plane, const struct unit *unit, const struct layout *to, unsigned i)
{
    const size_t pitch = plane_pitch(&unit->layout, i);
    if (to->bits < unit->layout.bits && is_full(unit->frame, &unit->layout, i))
        scale_plane(plane, pitch, &unit->layout, to->bits, i);
    else
        narrow_plane(plane, pitch, to, i);
}

/* The buffer itself becomes the plane. */
static void replace_plane(AVFrame *frame, struct unit *unit, unsigned i)
{
    const struct component *c = &unit->layout.component[i];
    int slot = 0;
    while (slot < AV_NUM_DATA_POINTERS - 1 && frame->buf[slot])
        slot++;
    frame->buf[slot] = unit->out[i];
    frame->data[c->plane] = unit->out[i]->data;
    frame->linesize[c->plane] = (int)plane_pitch(&unit->layout, i);
    unit->out[i] = NULL;
}

static bool is_replaced(const struct layout *layout, unsigned i)
{
    return is_plain(layout, &layout->component[i]) && layout->component[i].shift == 0;
}

static int assemble_alike(struct unit *unit, AVFrame *frame)
{
    const struct layout *layout = &unit->layout;
    int code = av_frame_ref(frame, unit->frame);
    bool copied = false;
    for (unsigned i = 0; i < layout->filtered && code >= 0; i++)
        if (!is_replaced(layout, i) && !copied) {
            code = av_frame_make_writable(frame);
            copied = true;
        }
    for (unsigned i = 0; i < layout->filtered && code >= 0; i++) {
        finish_plane(unit->out[i]->data, unit, layout, i);
        if (is_replaced(layout, i))
            replace_plane(frame, unit, i);
        else
            scatter(frame, layout, i, unit->out[i]->data, plane_pitch(layout, i));
    }
    return code;
}

static int assemble_other(struct unit *unit, const struct layout *to, AVFrame *frame)
{
    const struct layout *layout = &unit->layout;
    frame->format = to->format;
    frame->width = unit->frame->width;
    frame->height = unit->frame->height;
    int code = av_frame_get_buffer(frame, 0);
    if (code >= 0)
        code = av_frame_copy_props(frame, unit->frame);
    for (unsigned i = 0; i < layout->components && code >= 0; i++) {
        const size_t pitch = plane_pitch(layout, i);
        AVBufferRef *kept = i < layout->filtered ? NULL : new_plane(plane_bytes(layout, i));
        if (i >= layout->filtered && !kept)
            return AVERROR(ENOMEM);
        if (kept)
            gather(kept->data, pitch, unit->frame, layout, i);
        uint8_t *plane = kept ? kept->data : unit->out[i]->data;
        finish_plane(plane, unit, to, i);
        scatter(frame, to, i, plane, pitch);
        av_buffer_unref(&kept);
    }
    return code;
}

hone_status planes_assemble(struct unit *unit, enum AVPixelFormat format, AVFrame **out, hone_error *error)
{
    struct layout to = unit->layout;
    int code = 0;
    hone_status status = HONE_OK;
    *out = av_frame_alloc();
    if (!*out)
        return error_memory(error, "a frame");
    if (format == unit->layout.format)
        code = assemble_alike(unit, *out);
    else if (!(status =
                   frame_layout_make(&to, format, unit->frame->width, unit->frame->height, false, error)))
        code = assemble_other(unit, &to, *out);
    if (code < 0)
        status = error_memory(error, "a frame");
    if (status)
        av_frame_free(out);
    return status;
}
