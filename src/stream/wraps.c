/* SPDX-License-Identifier: BSD-2-Clause */
/* The caller's memory as images. Callers use a ring of buffers, too: an address that comes again finds its
 * image. */
#include "base/error.h"
#include "base/mem.h"
#include "image/view.h"
#include "plan/plan.h"
#include "stream/internal.h"

#include <stdint.h>
#include <stdlib.h>

bool wraps_suit(const hone_stream *stream, size_t plane, bool of_result, const void *pixels, size_t pitch)
{
    hone_image_desc desc = of_result ? stream->outputs[plane] : stream->inputs[plane];
    const size_t align = plan_alignment(stream->plans[plane], of_result);
    desc.pitch = pitch;
    return stream->shared && (uintptr_t)pixels % align == 0 && pitch % align == 0 &&
           memory_can_wrap(stream->device, pixels, hone_image_bytes(&desc));
}

static bool is_same(const struct wrap *wrap, const hone_image_desc *desc, const void *pixels)
{
    const hone_image_desc *its = wrap->image ? &wrap->image->desc : NULL;
    return its && wrap->image->host == pixels && desc_same(its, desc) && its->pitch == desc->pitch;
}

static bool is_older(const struct wrap *wrap, const struct wrap *other)
{
    return !other || (other->image && (!wrap->image || wrap->used < other->used));
}

/* The one with these pixels; else a free one, or the one that was not used for longest. */
static struct wrap *find(hone_stream *stream, const hone_image_desc *desc, const void *pixels)
{
    struct wrap *oldest = NULL;
    for (size_t i = 0; i < stream->wrap_count; i++) {
        struct wrap *wrap = &stream->wraps[i];
        if (is_same(wrap, desc, pixels))
            return wrap;
        if (atomic_load(&wrap->users) == 0 && is_older(wrap, oldest))
            oldest = wrap;
    }
    return oldest;
}

/* The host may have it mapped still. Its pixels are the same for host and device, so nobody has to wait for
 * the end of that. */
void wraps_forget(struct wrap *wrap)
{
    if (wrap->image && memory_is_mapped(wrap->image->memory))
        memory_unmap(wrap->image->memory, (struct wait_list){0}, NULL, NULL);
    hone_event_destroy(&wrap->back);
    hone_image_destroy(&wrap->image);
}

hone_status wraps_take(struct wrap **out, hone_stream *stream, const hone_image_desc *desc, void *pixels,
                       hone_error *error)
{
    struct wrap *wrap = find(stream, desc, pixels);
    hone_status status = HONE_OK;
    if (!is_same(wrap, desc, pixels)) {
        wraps_forget(wrap);
        status = image_around(&wrap->image, stream->device, desc, pixels, error);
    }
    *out = status ? NULL : wrap;
    if (!status) {
        wrap->used = stream->wraps_used++;
        atomic_fetch_add(&wrap->users, 1);
    }
    return status;
}

void wraps_give_back(struct wrap **wrap)
{
    if (*wrap)
        atomic_fetch_sub(&(*wrap)->users, 1);
    *wrap = NULL;
}

hone_status wraps_create(hone_stream *stream, hone_error *error)
{
    /* Those in flight; one more is looked for. */
    const size_t most = (size_t)stream->slot_count * stream->plane_count * 2;
    stream->wrap_count = most < LEAST_WRAPS ? LEAST_WRAPS : most + 1;
    stream->wraps = mem_new(stream->wrap_count, sizeof *stream->wraps);
    return stream->wraps ? HONE_OK : error_memory(error, "a stream");
}

void wraps_destroy(hone_stream *stream)
{
    for (size_t i = 0; stream->wraps && i < stream->wrap_count; i++)
        wraps_forget(&stream->wraps[i]);
    free(stream->wraps);
}
