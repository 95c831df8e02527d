/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases of which some run in the kernel of another (guide 8.1). */
#include "base/error.h"
#include "base/mem.h"
#include "filter/case.h"
#include "image/view.h"

#include <stdlib.h>

struct filter_case *case_member(const struct filter_case *c, unsigned index)
{
    if (index == c->before)
        return (struct filter_case *)c;
    return c->fused[index < c->before ? index : index - 1];
}

const hone_image_desc *case_input(const struct filter_case *c)
{
    return c->before ? &c->fused[0]->in : &c->in;
}

const hone_image_desc *case_result(const struct filter_case *c)
{
    return c->fused_count > c->before ? &c->fused[c->fused_count - 1]->out : &c->out;
}

hone_status case_prepare(struct filter_case *c, const hone_image_desc *in, const hone_image_desc *second,
                         hone_error *error)
{
    hone_image_desc at = *in;
    hone_status status = HONE_OK;
    for (unsigned i = 0; i <= c->fused_count && !status; i++) {
        struct filter_case *member = case_member(c, i);
        const hone_image_desc *other = member->filter->inputs > 1 ? &at : NULL;
        status = case_prepare_alone(member, &at, member == c ? second : other, error);
        at = member->out;
    }
    return status;
}

/* A stage in between gives one element for one; the last one may give more. */
static bool fits(const struct filter_case *c, unsigned index)
{
    const struct filter_case *point = c->fused[index];
    bool last = index + 1 == c->fused_count && index >= c->before;
    uint32_t in = point->in.channels, out = point->out.channels;
    return point->filter->point && point->fused_count == 0 && point->in.width == point->out.width &&
           point->in.height == point->out.height && (last ? out % in == 0 : out == in);
}

static bool all_fit(const struct filter_case *c)
{
    for (unsigned i = 0; i < c->fused_count; i++)
        if (!fits(c, i))
            return false;
    for (unsigned i = 0; i < c->fused_count; i++)
        if (!desc_same(&case_member(c, i)->out, &case_member(c, i + 1)->in))
            return false;
    return true;
}

hone_status case_fuse(struct filter_case *c, const struct filter_case *points, unsigned before,
                      unsigned count, hone_error *error)
{
    if (c->fused_count || count > MAX_FUSED)
        return error_unsupported(error, "too many filters to run in one kernel");
    for (unsigned i = 0; i < count; i++) {
        struct filter_case *copy = mem_new(1, sizeof *copy);
        if (!copy)
            return error_memory(error, "a filter's parameters");
        hone_status status = case_copy(copy, &points[i], error);
        if (status) {
            free(copy);
            return status;
        }
        c->fused[c->fused_count++] = copy;
    }
    c->before = before;
    if (!all_fit(c))
        return error_unsupported(error, "%s and its neighbours cannot run in one kernel", c->filter->name);
    return HONE_OK;
}

/* Pictures on the way from one filter to the next. */
struct way {
    struct view made[2];
    unsigned turn;
};

static struct view *way_next(struct way *way, const hone_image_desc *desc)
{
    hone_image_desc tight = *desc;
    tight.pitch = 0;
    struct view *next = &way->made[way->turn++ % 2];
    view_finish(next);
    *next = view_new(&tight);
    return next;
}

hone_status case_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                           struct view *out, hone_error *error)
{
    struct way way = {0};
    hone_status status = HONE_OK;
    for (unsigned i = 0; i <= c->fused_count && !status; i++) {
        const struct filter_case *member = case_member(c, i);
        struct view *to = i == c->fused_count ? out : way_next(&way, &member->out);
        if (!to->data)
            status = error_memory(error, "a check");
        else
            member->filter->reference(member, in, second[i].data ? &second[i] : NULL, to);
        in = to;
    }
    view_finish(&way.made[0]);
    view_finish(&way.made[1]);
    return status;
}
