/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats and memory that the neighbours of the element are offered. */
#include "element.h"
#include "pool.h"

#define GST_CAT_DEFAULT hone_debug

static GstBaseTransformClass *parent;

/* ---- Caps ---- */

/* Whether caps allow a format: they name it, in a list or alone, or name none. */
static gboolean allows(const GstStructure *structure, GstVideoFormat format)
{
    const GValue *value = gst_structure_get_value(structure, "format");
    GValue name = G_VALUE_INIT;
    g_value_init(&name, G_TYPE_STRING);
    g_value_set_static_string(&name, gst_video_format_to_string(format));
    const gboolean result = !value || gst_value_intersect(NULL, value, &name);
    g_value_unset(&name);
    return result;
}

static void swap_sides(GstStructure *structure)
{
    GValue width = G_VALUE_INIT, height = G_VALUE_INIT;
    int n = 0, d = 0;
    if (gst_structure_has_field(structure, "width"))
        gst_value_init_and_copy(&width, gst_structure_get_value(structure, "width"));
    if (gst_structure_has_field(structure, "height"))
        gst_value_init_and_copy(&height, gst_structure_get_value(structure, "height"));
    gst_structure_remove_fields(structure, "width", "height", NULL);
    if (G_IS_VALUE(&width))
        gst_structure_take_value(structure, "height", &width);
    if (G_IS_VALUE(&height))
        gst_structure_take_value(structure, "width", &height);
    if (gst_structure_get_fraction(structure, "pixel-aspect-ratio", &n, &d))
        gst_structure_set(structure, "pixel-aspect-ratio", GST_TYPE_FRACTION, d, n, NULL);
    else
        gst_structure_remove_field(structure, "pixel-aspect-ratio");
}

/* Caps on one side, for one format of the other side. */
static GstStructure *across(const GstStructure *structure, GstVideoFormat format, gboolean changes,
                            gboolean swaps)
{
    GstStructure *made = gst_structure_copy(structure);
    gst_structure_set(made, "format", G_TYPE_STRING, gst_video_format_to_string(format), NULL);
    if (changes)
        gst_structure_remove_fields(made, "colorimetry", "chroma-site", NULL);
    if (swaps)
        swap_sides(made);
    return made;
}

static void add_across(GstCaps *made, const GstStructure *structure, const struct video_chain *chain,
                       GstPadDirection direction)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++) {
        const GstVideoFormat in = format_at(i), out = chain ? chain->effects[i].out : in;
        if (out == GST_VIDEO_FORMAT_UNKNOWN || !allows(structure, direction == GST_PAD_SINK ? in : out))
            continue;
        gst_caps_append_structure(made, across(structure, direction == GST_PAD_SINK ? out : in, in != out,
                                               chain && chain->effects[i].swaps));
    }
}

static gboolean is_plain_memory(const GstCaps *caps, guint i)
{
    return gst_caps_features_is_equal(gst_caps_get_features(caps, i), GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
}

static GstCaps *caps_across(GstHone *self, GstPadDirection direction, GstCaps *caps)
{
    struct video_chain *chain = element_chain(self);
    GstCaps *made = gst_caps_new_empty();
    for (guint i = 0; i < gst_caps_get_size(caps); i++)
        if (is_plain_memory(caps, i))
            add_across(made, gst_caps_get_structure(caps, i), chain, direction);
    video_chain_unref(chain);
    return gst_caps_simplify(made);
}

/* The format of caps that name a single one; GST_VIDEO_FORMAT_UNKNOWN for others. */
static GstVideoFormat fixed_format(const GstCaps *caps)
{
    const char *name =
        gst_caps_is_fixed(caps) ? gst_structure_get_string(gst_caps_get_structure(caps, 0), "format") : NULL;
    return name ? gst_video_format_from_string(name) : GST_VIDEO_FORMAT_UNKNOWN;
}

/* Frames that are sure to come decide against a chain that was set a moment ago and does not take them. */
static GstCaps *caps_or_former(GstHone *self, GstPadDirection direction, GstCaps *caps)
{
    GstCaps *made = caps_across(self, direction, caps);
    if (direction != GST_PAD_SINK || !gst_caps_is_empty(made) ||
        fixed_format(caps) == GST_VIDEO_FORMAT_UNKNOWN)
        return made;
    gst_caps_unref(made);
    element_fall_back(self, fixed_format(caps));
    return caps_across(self, direction, caps);
}

/* Before the element starts, its chain may still change, and nobody would hear why a format is refused. */
static gboolean is_active(GstBaseTransform *base)
{
    return GST_PAD_IS_ACTIVE(base->sinkpad);
}

static GstCaps *transform_caps(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps,
                               GstCaps *filter)
{
    GstCaps *made =
        is_active(base)
            ? caps_or_former(GST_HONE(base), direction, caps)
            : gst_pad_get_pad_template_caps(direction == GST_PAD_SINK ? base->srcpad : base->sinkpad);
    if (filter) {
        GstCaps *common = gst_caps_intersect_full(filter, made, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(made);
        made = common;
    }
    GST_DEBUG_OBJECT(base, "%" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT, (void *)caps, (void *)made);
    return made;
}

GstCaps *negotiation_output(const struct video_chain *chain, const GstVideoInfo *in, GstCaps *in_caps,
                            hone_error *error)
{
    const struct effect *effect = video_chain_effect(chain, GST_VIDEO_INFO_FORMAT(in));
    if (!effect || effect->out == GST_VIDEO_FORMAT_UNKNOWN) {
        refuse(error, HONE_ERROR_UNSUPPORTED, "frames are %s: %s", GST_VIDEO_INFO_NAME(in),
               effect ? effect->why : "hone does not take that format");
        return NULL;
    }
    GstCaps *made = gst_caps_new_empty();
    gst_caps_append_structure(made, across(gst_caps_get_structure(in_caps, 0), effect->out,
                                           effect->out != GST_VIDEO_INFO_FORMAT(in), effect->swaps));
    return made;
}

/* Says why the chain takes none of the formats that the element before offers. */
static void explain(GstHone *self, const GstCaps *offered)
{
    struct video_chain *chain = element_chain(self);
    const struct effect *refusing = NULL;
    hone_error error;
    for (guint i = 0; chain && i < gst_caps_get_size(offered) && !refusing; i++)
        for (unsigned f = 0; f < FORMAT_COUNT && !refusing; f++) {
            if (!chain->effects[f].why || !allows(gst_caps_get_structure(offered, i), format_at(f)))
                continue;
            refusing = &chain->effects[f];
            refuse(&error, HONE_ERROR_UNSUPPORTED, "frames are %s: %s",
                   gst_video_format_to_string(format_at(f)), refusing->why);
        }
    video_chain_unref(chain);
    if (refusing)
        element_post(self, GST_MESSAGE_WARNING, "format refused", &error);
}

static gboolean answer(GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
    GstCaps *offered = NULL, *taken = NULL;
    if (!parent->query(base, direction, query))
        return FALSE;
    if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS || direction != GST_PAD_SINK || !is_active(base))
        return TRUE;
    gst_query_parse_caps(query, &offered);
    gst_query_parse_caps_result(query, &taken);
    if (offered && gst_caps_is_empty(taken))
        explain(GST_HONE(base), offered);
    return TRUE;
}

/* Says why, where it is the chain that does not take the format. */
static gboolean accept_caps(GstBaseTransform *base, GstPadDirection direction, GstCaps *caps)
{
    GstHone *self = GST_HONE(base);
    GstVideoInfo info;
    hone_error error;
    if (parent->accept_caps(base, direction, caps))
        return TRUE;
    struct video_chain *chain = element_chain(self);
    const gboolean known = direction == GST_PAD_SINK && chain && gst_caps_is_fixed(caps) &&
                           gst_video_info_from_caps(&info, caps);
    GstCaps *out = known ? negotiation_output(chain, &info, caps, &error) : NULL;
    video_chain_unref(chain);
    if (known && !out)
        element_post(self, GST_MESSAGE_WARNING, "format refused", &error);
    gst_clear_caps(&out);
    return FALSE;
}

/* ---- Memory ---- */

/* For the element before this one. */
static gboolean propose_allocation(GstBaseTransform *base, GstQuery *decided, GstQuery *query)
{
    GstCaps *caps = NULL;
    GstVideoInfo info;
    GstAllocationParams params;
    gboolean wants_pool = FALSE;
    (void)base;
    (void)decided;
    gst_query_parse_allocation(query, &caps, &wants_pool);
    if (!caps || !gst_video_info_from_caps(&info, caps))
        return FALSE;
    pool_allocation(&params);
    gst_query_add_allocation_param(query, NULL, &params);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    if (!wants_pool) {
        gst_query_add_allocation_pool(query, NULL, (guint)info.size, 0, 0);
        return TRUE;
    }
    GstBufferPool *pool = pool_new();
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, (guint)info.size, 0, 0);
    gst_buffer_pool_config_set_allocator(config, NULL, &params);
    const gboolean done = gst_buffer_pool_set_config(pool, config);
    if (done)
        gst_query_add_allocation_pool(query, pool, (guint)info.size, 0, 0);
    gst_object_unref(pool);
    return done;
}

/* The alignment that the next element wants, or hone's if that is more. */
static GstAllocator *choose_allocator(GstQuery *query, GstAllocationParams *params)
{
    GstAllocator *allocator = NULL;
    GstAllocationParams wanted;
    const gboolean given = gst_query_get_n_allocation_params(query) > 0;
    pool_allocation(params);
    if (given) {
        gst_query_parse_nth_allocation_param(query, 0, &allocator, &wanted);
        wanted.align |= params->align;
        *params = wanted;
        gst_query_set_nth_allocation_param(query, 0, allocator, params);
    } else
        gst_query_add_allocation_param(query, NULL, params);
    return allocator;
}

static gboolean configure(GstBufferPool *pool, GstCaps *caps, guint size, guint least, guint most,
                          gboolean metas, GstAllocator *allocator, const GstAllocationParams *params)
{
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, size, least, most);
    gst_buffer_pool_config_set_allocator(config, allocator, params);
    if (metas) {
        gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
        pool_pad(pool, config);
    }
    return gst_buffer_pool_set_config(pool, config);
}

/* For the results: the next element's pool if it has one, else one of our own. */
static gboolean decide_allocation(GstBaseTransform *base, GstQuery *query)
{
    GstCaps *caps = NULL;
    GstVideoInfo info;
    GstBufferPool *pool = NULL;
    GstAllocationParams params;
    guint size = 0, least = 0, most = 0;
    (void)base;
    gst_query_parse_allocation(query, &caps, NULL);
    if (!caps || !gst_video_info_from_caps(&info, caps))
        return FALSE;
    const gboolean given = gst_query_get_n_allocation_pools(query) > 0;
    if (given)
        gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &least, &most);
    size = MAX(size, (guint)info.size);
    GstAllocator *allocator = choose_allocator(query, &params);
    const gboolean metas = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    gboolean done = pool && configure(pool, caps, size, least, most, metas, allocator, &params);
    if (!done) {
        gst_clear_object(&pool);
        pool = pool_new();
        done = configure(pool, caps, size, least, most, metas, allocator, &params);
    }
    if (given)
        gst_query_set_nth_allocation_pool(query, 0, pool, size, least, most);
    else
        gst_query_add_allocation_pool(query, pool, size, least, most);
    gst_object_unref(pool);
    if (allocator)
        gst_object_unref(allocator);
    return done;
}

void negotiation_install(GstBaseTransformClass *class)
{
    parent = g_type_class_peek_parent(class);
    class->transform_caps = transform_caps;
    class->accept_caps = accept_caps;
    class->query = answer;
    class->propose_allocation = propose_allocation;
    class->decide_allocation = decide_allocation;
}
