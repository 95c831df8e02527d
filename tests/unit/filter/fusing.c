/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters that run in the kernel of another: every variant that lets them, against the references one after
 * the other; and plans with and without. */
#include "base/text.h"
#include "filter/case.h"
#include "filter/check.h"
#include "filter/registry.h"
#include "hone/plan.h"
#include "support.h"

#include <string.h>

static hone_device *device;

/* ---- Every variant ---- */

static void prepare(struct filter_case *c, const char *filter, const char *name, const char *value,
                    const hone_image_desc *in)
{
    hone_error error;
    CHECK_STATUS(case_init(c, registry_find(filter), &error), HONE_OK);
    if (name)
        CHECK_STATUS(case_set(c, name, value, &error), HONE_OK);
    CHECK_STATUS(case_prepare(c, in, c->filter->inputs > 1 ? in : NULL, &error), HONE_OK);
}

/* `before` times add, the filter, `after` times add, and colormap where one channel of u8 or u16
 * comes out. */
static hone_status fuse(struct filter_case *c, const struct hone_filter *filter, const hone_image_desc *in,
                        unsigned before, unsigned after, hone_border border)
{
    struct filter_case points[MAX_FUSED];
    unsigned count = 0;
    hone_error error;
    for (unsigned i = 0; i < before; i++)
        prepare(&points[count++], "add", NULL, NULL, in);
    prepare(c, filter->name, filter->spatial ? "border" : NULL, hone_border_name(border), in);
    const hone_image_desc out = c->out;
    for (unsigned i = 0; i < after; i++)
        prepare(&points[count++], "add", NULL, NULL, &out);
    if (after && out.channels == 1 && out.type <= HONE_U16)
        prepare(&points[count++], "colormap", NULL, NULL, &out);
    hone_status status = case_fuse(c, points, before, count, &error);
    for (unsigned i = 0; i < count; i++)
        case_finish(&points[i]);
    return status;
}

static unsigned check_variant(const struct hone_filter *filter, const struct variant *variant,
                              const hone_image_desc *in, hone_border border, unsigned before, unsigned after)
{
    struct filter_case c;
    struct config config;
    struct check check;
    struct check_result result = {0};
    struct text why = {0};
    hone_error error;
    const struct check_layout layout = {.pad = 3, .offset = 5};
    config_default(variant, &config);
    CHECK_STATUS(fuse(&c, filter, in, before, after, border), HONE_OK);
    CHECK_STATUS(check_init(&check, device, &c, PATTERN_RANDOM, 7, &error), HONE_OK);
    hone_status status = check_run(&check, device, variant, &config, layout, &result, &error);
    if (status != HONE_ERROR_UNSUPPORTED) {
        CHECK_STATUS(status, HONE_OK);
        check_explain(&result, &why);
        if (!result.right)
            test_fail(__FILE__, __LINE__, "%s %s, %u before, %u after, %s x%u, %s: %s", filter->name,
                      variant->name, before, after, hone_type_name(in->type), in->channels,
                      hone_border_name(border), text_view(&why));
    }
    text_finish(&why);
    check_finish(&check);
    case_finish(&c);
    return status == HONE_OK;
}

static unsigned check_formats(const struct hone_filter *filter, const struct variant *variant,
                              unsigned before, unsigned after)
{
    static const hone_image_desc formats[] = {
        {131, 19, HONE_U8, 1, 0}, {37, 19, HONE_U16, 3, 0}, {131, 11, HONE_F32, 1, 0}};
    unsigned ran = 0;
    for (unsigned i = 0; i < 3; i++)
        if (filter->types & 1u << formats[i].type && filter->channels & 1u << formats[i].channels)
            ran += check_variant(filter, variant, &formats[i], (hone_border)((2 * i + after) % 6), before,
                                 after);
    return ran;
}

static void check_filter(const struct hone_filter *filter)
{
    for (size_t v = 0; v < filter->variant_count; v++) {
        const struct variant *variant = &filter->variants[v];
        unsigned ran = 0;
        if (variant->fuses == (FUSES_BEFORE | FUSES_AFTER))
            ran += check_formats(filter, variant, 2, 1);
        else if (variant->fuses & FUSES_BEFORE)
            ran += check_formats(filter, variant, 2, 0);
        else if (variant->fuses & FUSES_AFTER)
            ran += check_formats(filter, variant, 0, 2);
        if (variant->fuses)
            test_note("%s %s: %u comparisons", filter->name, variant->name, ran);
        CHECK(ran > 0 || !variant->fuses || variant->needs & (NEEDS_WIDE | NEEDS_HALF));
    }
}

TEST(every_variant_that_fuses)
{
    device = support_open_quick();
    for (size_t i = 0; registry_at(i); i++)
        check_filter(registry_at(i));
    hone_device_close(&device);
}

TEST(what_does_not_fit)
{
    const hone_image_desc gray = {8, 8, HONE_U8, 1, 0}, color = {8, 8, HONE_U8, 3, 0};
    struct filter_case c, point;
    hone_error error;
    prepare(&point, "colormap", NULL, NULL, &gray);
    prepare(&c, "sobel", NULL, NULL, &color);
    CHECK_STATUS(case_fuse(&c, &point, 1, 1, &error), HONE_ERROR_UNSUPPORTED); /* one element becomes three */
    case_finish(&c);
    prepare(&c, "sobel", NULL, NULL, &color);
    CHECK_STATUS(case_fuse(&c, &point, 0, 1, &error),
                 HONE_ERROR_UNSUPPORTED); /* takes one channel, gets three */
    case_finish(&c);
    case_finish(&point);
    prepare(&point, "box", NULL, NULL, &gray);
    prepare(&c, "sobel", NULL, NULL, &gray);
    CHECK_STATUS(case_fuse(&c, &point, 0, 1, &error), HONE_ERROR_UNSUPPORTED); /* looks at neighbours */
    case_finish(&c);
    case_finish(&point);
}

/* ---- Plans ---- */

static hone_image *image_of(const struct view *view)
{
    hone_image *image = NULL;
    hone_error error;
    CHECK_STATUS(hone_image_create(&image, device, &view->desc, HONE_MEMORY_DEVICE, &error), HONE_OK);
    CHECK_STATUS(hone_image_upload(image, view->data, 0, NULL, 0, NULL, &error), HONE_OK);
    return image;
}

/* What a chain makes of a picture, with `second` for every filter that takes two. */
static struct view result_of(const char *text, const struct view *in, hone_image *second, bool no_fuse,
                             const char *change, unsigned *fused)
{
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_error error;
    const hone_image_desc seconds[2] = {in->desc, in->desc};
    const hone_plan_options options = {.no_fuse = no_fuse, .second = seconds, .second_count = 2};
    hone_step_info info;
    CHECK_STATUS(hone_chain_parse(&chain, text, &error), HONE_OK);
    CHECK_STATUS(hone_plan_create(&plan, device, chain, &in->desc, &options, &error), HONE_OK);
    *fused = 0;
    for (size_t i = 0; hone_plan_step(plan, i, &info); i++) {
        *fused += info.fused_with != NULL;
        if (strcmp(info.filter, "add") == 0)
            CHECK_STATUS(hone_plan_bind(plan, i, second, &error), HONE_OK);
        if (change && strcmp(info.filter, "colormap") == 0)
            CHECK_STATUS(hone_plan_set(plan, i, change, &error), HONE_OK);
    }
    struct view out = view_new(hone_plan_output(plan));
    CHECK_STATUS(hone_plan_apply(plan, in->data, 0, out.data, 0, &error), HONE_OK);
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    return out;
}

static void compare(const char *chain, hone_type type, uint32_t channels, const char *change,
                    unsigned expected)
{
    struct view in = support_picture(141, 67, type, channels, 3),
                other = support_picture(141, 67, type, channels, 4);
    hone_image *second = image_of(&other);
    unsigned fused = 0, none = 0;
    struct view together = result_of(chain, &in, second, false, change, &fused);
    struct view apart = result_of(chain, &in, second, true, change, &none);
    CHECK_SAME(&together, &apart, 0);
    CHECK(none == 0);
    if (fused != expected)
        test_fail(__FILE__, __LINE__, "%s: %u filters run in another's kernel, not %u", chain, fused,
                  expected);
    view_finish(&together);
    view_finish(&apart);
    hone_image_destroy(&second);
    view_finish(&in);
    view_finish(&other);
}

TEST(plans_give_the_same_with_and_without)
{
    device = support_open_quick();
    /* The variants for CPUs do not fuse: as vectors of rows that the caches hold, filters are faster
     * apart. */
    bool wide = strstr(hone_device_get_info(device)->platform, "Portable") != NULL;
    compare("sobel | colormap", HONE_U8, 1, NULL, !wide);
    compare("add | box size=4 | add", HONE_U16, 4, NULL, 0);
    compare("add | sobel norm=l1 | add | box size=3 | colormap", HONE_U8, 1, "map=gray", !wide);
    compare("add | add | colormap", HONE_U8, 1, NULL, 0);
    compare("add | transpose", HONE_U8, 1, NULL, 0);
    compare("box | colormap", HONE_F32, 1, NULL, 0); /* a rounding error must not decide a colour */
    hone_device_close(&device);
}
