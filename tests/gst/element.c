/* SPDX-License-Identifier: BSD-2-Clause */
/* The GStreamer element, without other elements: frames in and out against the references of the filters. */
#include "support.h"

#include <dlfcn.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 37, HEIGHT = 21, PLANES = 4 };

struct stage {
    GstHarness *harness;
    GstElement *element;
    GstBus *bus;
    GstVideoInfo in;
    uint32_t seed;
};

/* An element of the plugin that was built, with a chain and other properties that gst_util_set_object_arg
 * reads. */
static GstElement *new_element(const char *chain, const char *property, const char *value)
{
    const char *path = support_beside_program("../gstreamer-1.0/libgsthone.so");
    g_setenv("GST_PLUGIN_SYSTEM_PATH_1_0", "", TRUE); /* no plugin of the system's is looked for */
    g_setenv("GST_REGISTRY_DISABLE", "yes", TRUE);
    gst_init(NULL, NULL);
    GstPlugin *plugin = gst_plugin_load_file(path, NULL);
    REQUIRE(plugin != NULL);
    gst_registry_add_plugin(gst_registry_get(), plugin);
    GstElement *element = gst_element_factory_make("hone", NULL);
    REQUIRE(element != NULL);
    if (property)
        gst_util_set_object_arg(G_OBJECT(element), property, value);
    if (chain)
        g_object_set(element, "chain", chain, NULL);
    return element;
}

static struct stage stage_of(GstElement *element)
{
    struct stage stage = {.element = element, .bus = gst_bus_new(), .seed = 1};
    gst_element_set_bus(stage.element, stage.bus);
    stage.harness = gst_harness_new_with_element(stage.element, "sink", "src");
    REQUIRE(stage.harness != NULL);
    return stage;
}

static struct stage open_stage(const char *chain, const char *property, const char *value)
{
    return stage_of(new_element(chain, property, value));
}

static void close_stage(struct stage *stage)
{
    gst_element_set_bus(stage->element, NULL);
    gst_harness_teardown(stage->harness);
    gst_object_unref(stage->element);
    gst_bus_set_flushing(stage->bus, TRUE);
    gst_object_unref(stage->bus);
}

static void use_format(struct stage *stage, GstVideoFormat format, int width, int height)
{
    REQUIRE(gst_video_info_set_format(&stage->in, format, width, height));
    stage->in.fps_n = 25;
    stage->in.fps_d = 1;
    gst_harness_set_src_caps(stage->harness, gst_video_info_to_caps(&stage->in));
}

/* The only message of a type so far, which the caller frees; `text` must be part of it. */
static GstMessage *take_message(struct stage *stage, GstMessageType type, const char *text)
{
    GError *error = NULL;
    char *debug = NULL;
    GstMessage *message = gst_bus_pop_filtered(stage->bus, type);
    REQUIRE(message != NULL);
    if (type == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &error, &debug);
    else
        gst_message_parse_warning(message, &error, &debug);
    CHECK_HAS(error->message, text);
    g_clear_error(&error);
    g_free(debug);
    CHECK(gst_bus_pop_filtered(stage->bus, type) == NULL);
    return message;
}

static void expect_message(struct stage *stage, GstMessageType type, const char *text)
{
    gst_message_unref(take_message(stage, type, text));
}

/* ---- Frames ---- */

struct planes {
    unsigned count;
    struct view view[PLANES];
};

/* The planes of a format as hone has them, by GStreamer's own description of the format. */
static hone_image_desc plane_desc(const GstVideoInfo *info, unsigned plane)
{
    unsigned c = 0;
    while (GST_VIDEO_INFO_COMP_PLANE(info, c) != plane)
        c++;
    const unsigned bytes = GST_VIDEO_INFO_COMP_DEPTH(info, c) > 8 ? 2 : 1;
    return (hone_image_desc){(uint32_t)GST_VIDEO_INFO_COMP_WIDTH(info, c),
                             (uint32_t)GST_VIDEO_INFO_COMP_HEIGHT(info, c), bytes == 2 ? HONE_U16 : HONE_U8,
                             (uint32_t)GST_VIDEO_INFO_COMP_PSTRIDE(info, c) / bytes, 0};
}

static unsigned depth(const GstVideoInfo *info)
{
    return GST_VIDEO_INFO_COMP_DEPTH(info, 0);
}

/* Random samples of the format's depth, where they lie in their words. */
static struct planes random_planes(const GstVideoInfo *info, uint32_t seed)
{
    struct planes planes = {.count = GST_VIDEO_INFO_N_PLANES(info)};
    for (unsigned i = 0; i < planes.count; i++) {
        const hone_image_desc desc = plane_desc(info, i);
        planes.view[i] = support_picture(desc.width, desc.height, desc.type, desc.channels, seed + i);
        uint16_t *words = planes.view[i].data;
        for (size_t n = 0; desc.type == HONE_U16 && n < hone_image_bytes(&desc) / 2; n++)
            words[n] = (uint16_t)(words[n] >> (16 - depth(info)) << info->finfo->shift[0]);
    }
    return planes;
}

static void finish_planes(struct planes *planes)
{
    for (unsigned i = 0; i < planes->count; i++)
        view_finish(&planes->view[i]);
}

static void copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes,
                      uint32_t rows)
{
    for (uint32_t y = 0; y < rows; y++)
        memcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch, bytes);
}

/* A buffer whose rows are `padding` bytes apart, which its GstVideoMeta tells. */
static GstBuffer *make_buffer(const GstVideoInfo *info, const struct planes *planes, unsigned padding)
{
    enum { ALIGN = 63, BEFORE = 64 };
    const GstAllocationParams params = {.align = ALIGN};
    gsize offset[GST_VIDEO_MAX_PLANES] = {0}, size = padding ? BEFORE : 0;
    gint stride[GST_VIDEO_MAX_PLANES] = {0};
    GstMapInfo map;
    for (unsigned i = 0; i < planes->count; i++) {
        const size_t row = hone_image_row_bytes(&planes->view[i].desc);
        stride[i] = (gint)(padding ? row + padding : (size_t)GST_VIDEO_INFO_PLANE_STRIDE(info, i));
        offset[i] = padding ? size : GST_VIDEO_INFO_PLANE_OFFSET(info, i);
        size = offset[i] + (gsize)stride[i] * planes->view[i].desc.height;
    }
    GstBuffer *buffer =
        gst_buffer_new_allocate(NULL, MAX(size, GST_VIDEO_INFO_SIZE(info)), (GstAllocationParams *)&params);
    gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(info),
                                   (guint)GST_VIDEO_INFO_WIDTH(info), (guint)GST_VIDEO_INFO_HEIGHT(info),
                                   planes->count, offset, stride);
    REQUIRE(gst_buffer_map(buffer, &map, GST_MAP_WRITE));
    memset(map.data, 0xa5, map.size);
    for (unsigned i = 0; i < planes->count; i++)
        copy_rows(map.data + offset[i], (size_t)stride[i], planes->view[i].data,
                  hone_image_pitch(&planes->view[i].desc), hone_image_row_bytes(&planes->view[i].desc),
                  planes->view[i].desc.height);
    gst_buffer_unmap(buffer, &map);
    return buffer;
}

/* The format that the element's output has now. */
static GstVideoInfo output_info(const struct stage *stage)
{
    GstVideoInfo info;
    GstCaps *caps = gst_pad_get_current_caps(stage->harness->sinkpad);
    REQUIRE(caps && gst_video_info_from_caps(&info, caps));
    gst_caps_unref(caps);
    return info;
}

/* Whether a buffer holds these planes; consumes it. */
static bool holds(const struct stage *stage, GstBuffer *buffer, const struct planes *wanted)
{
    GstVideoInfo info = output_info(stage);
    GstVideoFrame frame;
    bool same = true;
    REQUIRE(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
    CHECK_EQ(GST_VIDEO_FRAME_N_PLANES(&frame), wanted->count);
    for (unsigned i = 0; i < wanted->count && same; i++) {
        struct view got = {plane_desc(&info, i), GST_VIDEO_FRAME_PLANE_DATA(&frame, i)};
        got.desc.pitch = (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(&frame, i);
        same = CHECK_SAME(&got, &wanted->view[i], 0);
        if (!same)
            test_note("%s, plane %u", GST_VIDEO_INFO_NAME(&info), i);
    }
    gst_video_frame_unmap(&frame);
    gst_buffer_unref(buffer);
    return same;
}

/* ---- What should come out ---- */

/* What the references of filters ("a", or "a | b") make of a plane in the bits of a format. */
static struct view expected_plane(const char *chain, const struct view *in, unsigned bits, unsigned shift)
{
    const unsigned low = in->desc.type == HONE_U16 ? 16 - bits : 0;
    char **filters = g_strsplit(chain, " | ", 0);
    struct view now = view_new(&in->desc);
    REQUIRE(now.data != NULL);
    const size_t words = hone_image_bytes(&now.desc) / 2;
    memcpy(now.data, in->data, hone_image_bytes(&now.desc));
    for (size_t n = 0; low && n < words; n++)
        ((uint16_t *)now.data)[n] = (uint16_t)(((uint16_t *)now.data)[n] >> shift << low);
    for (int i = 0; filters[i]; i++) {
        struct view next = support_expected(filters[i], &now);
        view_finish(&now);
        now = next;
    }
    for (size_t n = 0; low && n < words; n++) {
        const unsigned rounded = (((uint16_t *)now.data)[n] + (1u << low >> 1)) >> low;
        ((uint16_t *)now.data)[n] = (uint16_t)(MIN(rounded, (1u << bits) - 1) << shift);
    }
    g_strfreev(filters);
    return now;
}

static struct planes expected_planes(const char *chain, const GstVideoInfo *info, const struct planes *in,
                                     bool all)
{
    struct planes out = {.count = in->count};
    for (unsigned i = 0; i < in->count; i++) {
        const bool filtered = i == 0 || all;
        out.view[i] = filtered
                          ? expected_plane(chain, &in->view[i], depth(info), (unsigned)info->finfo->shift[0])
                          : view_new(&in->view[i].desc);
        REQUIRE(out.view[i].data != NULL);
        if (!filtered)
            memcpy(out.view[i].data, in->view[i].data, hone_image_bytes(&in->view[i].desc));
    }
    return out;
}

/* Sends a random frame; `chain` says what must come out. */
static bool check_frame(struct stage *stage, const char *chain, bool all, unsigned padding)
{
    struct planes in = random_planes(&stage->in, stage->seed += 10);
    struct planes wanted = expected_planes(chain, &stage->in, &in, all);
    GstBuffer *sent = make_buffer(&stage->in, &in, padding);
    const guint64 time = stage->seed * GST_MSECOND;
    GST_BUFFER_PTS(sent) = time;
    GstFlowReturn flow = gst_harness_push(stage->harness, sent);
    CHECK_EQ(flow, GST_FLOW_OK);
    GstBuffer *got = flow ? NULL : gst_harness_try_pull(stage->harness);
    bool same = got != NULL;
    if (got) {
        CHECK_EQ(GST_BUFFER_PTS(got), time);
        same = holds(stage, got, &wanted);
    }
    finish_planes(&in);
    finish_planes(&wanted);
    return same;
}

static guint64 stat_of(const struct stage *stage, const char *name)
{
    GstStructure *stats = NULL;
    guint64 value = 0;
    g_object_get(stage->element, "stats", &stats, NULL);
    REQUIRE(stats && gst_structure_get_uint64(stats, name, &value));
    gst_structure_free(stats);
    return value;
}

/* ---- Formats ---- */

static const char *const formats[] = {"I420",      "YV12",      "NV12",      "NV21",      "Y42B",
                                      "Y444",      "I420_10LE", "I422_10LE", "Y444_10LE", "P010_10LE",
                                      "GRAY8",     "GRAY16_LE", "RGB",       "RGBA",      "RGBx",
                                      "RGBA64_LE", "BGR",       "BGRA",      "BGRx"};

/* One element takes all of them, one after the other: caps change midstream. */
static void check_formats(const char *planes)
{
    const bool all = strcmp(planes, "all") == 0;
    struct stage stage = open_stage("box size=3", "planes", planes);
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        use_format(&stage, gst_video_format_from_string(formats[i]), WIDTH, HEIGHT);
        if (!check_frame(&stage, "box size=3", all, 0) || !check_frame(&stage, "box size=3", all, 14))
            test_fail(__FILE__, __LINE__, "%s, planes=%s", formats[i], planes);
    }
    CHECK_EQ(stat_of(&stage, "frames"), 2 * G_N_ELEMENTS(formats));
    close_stage(&stage);
}

TEST(formats_and_strides_with_luma_filtered)
{
    check_formats("luma");
}

TEST(formats_and_strides_with_all_planes_filtered)
{
    check_formats("all");
}

TEST(sizes_change_midstream)
{
    static const int sizes[][2] = {{1, 1}, {2, 2}, {5, 3}, {64, 33}, {65, 2}};
    struct stage stage = open_stage("sobel", NULL, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        use_format(&stage, i % 2 ? GST_VIDEO_FORMAT_NV12 : GST_VIDEO_FORMAT_I420, sizes[i][0], sizes[i][1]);
        CHECK(check_frame(&stage, "sobel", false, 0));
    }
    close_stage(&stage);
}

TEST(a_transposed_frame_has_its_own_caps)
{
    struct stage stage = open_stage("transpose", NULL, NULL);
    REQUIRE(gst_video_info_set_format(&stage.in, GST_VIDEO_FORMAT_GRAY8, 24, 10));
    stage.in.par_n = 4;
    stage.in.par_d = 3;
    gst_harness_set_src_caps(stage.harness, gst_video_info_to_caps(&stage.in));
    CHECK(check_frame(&stage, "transpose", false, 0));
    GstVideoInfo out = output_info(&stage);
    CHECK_EQ(GST_VIDEO_INFO_WIDTH(&out), 10);
    CHECK_EQ(GST_VIDEO_INFO_HEIGHT(&out), 24);
    CHECK_EQ(GST_VIDEO_INFO_PAR_N(&out), 3);
    CHECK_EQ(GST_VIDEO_INFO_PAR_D(&out), 4);
    close_stage(&stage);
}

static void check_refused(const char *chain, const char *planes, const char *says, const char *advises)
{
    struct stage stage = open_stage(chain, "planes", planes);
    REQUIRE(gst_video_info_set_format(&stage.in, GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT));
    gst_harness_set_src_caps(stage.harness, gst_video_info_to_caps(&stage.in));
    struct planes in = random_planes(&stage.in, 1);
    CHECK_EQ(gst_harness_push(stage.harness, make_buffer(&stage.in, &in, 0)), GST_FLOW_NOT_NEGOTIATED);
    GstMessage *message = gst_bus_pop_filtered(stage.bus, GST_MESSAGE_WARNING);
    REQUIRE(message != NULL);
    GError *error = NULL;
    gst_message_parse_warning(message, &error, NULL);
    CHECK_HAS(error->message, says);
    CHECK_HAS(error->message, advises);
    g_clear_error(&error);
    gst_message_unref(message);
    finish_planes(&in);
    close_stage(&stage);
}

TEST(a_format_that_the_chain_does_not_take_is_refused_with_its_reason)
{
    check_refused("transpose", "luma", "frames are I420: the chain makes 48x64 u8",
                  "put videoconvert before for GRAY8 or RGB");
    check_refused("add image=x.png", "all", "frames are I420: a second image goes with planes=luma",
                  "GRAY8 or RGB alone");
}

TEST(an_element_that_asks_first_hears_the_reason_too)
{
    struct stage stage = open_stage("transpose", NULL, NULL);
    GstCaps *offered = gst_caps_from_string("video/x-raw,format=I420"), *taken = NULL;
    GstQuery *query = gst_query_new_caps(offered);
    REQUIRE(gst_pad_peer_query(stage.harness->srcpad, query));
    gst_query_parse_caps_result(query, &taken);
    CHECK(gst_caps_is_empty(taken));
    expect_message(&stage, GST_MESSAGE_WARNING, "frames are I420: the chain makes 48x64 u8");
    gst_query_unref(query);
    gst_caps_unref(offered);
    close_stage(&stage);
}

TEST(blue_comes_first_only_where_colours_are_alike)
{
    static const char *const chains[] = {"gray", "gray | colormap", "colormap"};
    for (size_t i = 0; i < G_N_ELEMENTS(chains); i++) {
        struct stage stage = open_stage(chains[i], NULL, NULL);
        GstCaps *caps = gst_pad_peer_query_caps(stage.harness->srcpad, NULL);
        GstCaps *reversed = gst_caps_from_string("video/x-raw,format={ BGR, BGRA, BGRx }");
        CHECK(!gst_caps_is_empty(caps) && !gst_caps_can_intersect(caps, reversed));
        gst_caps_unref(caps);
        gst_caps_unref(reversed);
        close_stage(&stage);
    }
}

/* ---- Changes ---- */

TEST(a_chain_changes_between_two_frames)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    g_object_set(stage.element, "chain", "box size=3 | sobel", NULL);
    CHECK(check_frame(&stage, "box size=3 | sobel", false, 0));
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    close_stage(&stage);
}

TEST(a_chain_may_change_the_format_of_the_result)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, 20, 12);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    g_object_set(stage.element, "chain", "transpose", NULL);
    CHECK(check_frame(&stage, "transpose", false, 0));
    CHECK_EQ(output_info(&stage).width, 12);
    g_object_set(stage.element, "chain", "colormap", NULL);
    CHECK(check_frame(&stage, "colormap", false, 0));
    CHECK_EQ(output_info(&stage).finfo->format, GST_VIDEO_FORMAT_RGB);
    g_object_set(stage.element, "chain", "sobel", NULL);
    CHECK(check_frame(&stage, "sobel", false, 0));
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    close_stage(&stage);
}

static void check_chain_text(const struct stage *stage, const char *wanted)
{
    char *text = NULL;
    g_object_get(stage->element, "chain", &text, NULL);
    CHECK_TEXT(text, wanted);
    g_free(text);
}

TEST(a_chain_with_a_mistake_leaves_the_old_one)
{
    static const struct {
        const char *chain, *says;
        int column;
    } wrong[] = {{"box size=3 | sobbel", "sobbel", 14},
                 {"box size=3 | gaussian sigma=-1", "sigma", 29},
                 {"", "", 1},
                 {"histogram", "video keeps its size", 0},
                 {"add", "image=FILE", 0},
                 {"add image=x.png", "the second image 'x.png' cannot be read: no element", 0},
                 {"colormap", "frames are I420", 0},
                 {"sobel output=dx", "s16", 0}};
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        const GstStructure *details = NULL;
        gint column = -1;
        g_object_set(stage.element, "chain", wrong[i].chain, NULL);
        GstMessage *message = take_message(&stage, GST_MESSAGE_WARNING, wrong[i].says);
        gst_message_parse_warning_details(message, &details);
        CHECK(details && gst_structure_get_int(details, "column", &column));
        if (wrong[i].column && column != wrong[i].column)
            test_fail(__FILE__, __LINE__, "'%s': column %d", wrong[i].chain, column);
        gst_message_unref(message);
        check_chain_text(&stage, "box size=3");
    }
    CHECK(check_frame(&stage, "box size=3", false, 0));
    close_stage(&stage);
}

TEST(the_next_element_may_refuse_what_a_new_chain_makes)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    gst_harness_set_sink_caps_str(stage.harness, "video/x-raw,format=GRAY8,width=37");
    g_object_set(stage.element, "chain", "colormap", NULL);
    expect_message(&stage, GST_MESSAGE_WARNING, "next element does not take");
    CHECK(check_frame(&stage, "box size=3", false, 0));
    close_stage(&stage);
}

TEST(parameters_change_between_two_frames)
{
    struct stage stage = open_stage("epsilon radius=1 threshold=9 | box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "epsilon radius=1 threshold=9 | box size=3", false, 0));
    g_object_set(stage.element, "set", "epsilon.threshold=60 epsilon.radius=2", NULL);
    check_chain_text(&stage, "epsilon radius=2 threshold=60 | box size=3");
    CHECK(check_frame(&stage, "epsilon radius=2 threshold=60 | box size=3", false, 0));
    g_object_set(stage.element, "set", "1.size=4 0.radius=1", NULL);
    CHECK(check_frame(&stage, "epsilon radius=1 threshold=60 | box size=4", false, 0));
    g_object_set(stage.element, "set", "box.border=constant", NULL);
    CHECK(check_frame(&stage, "epsilon radius=1 threshold=60 | box size=4 border=constant", false, 0));
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    close_stage(&stage);
}

TEST(parameters_with_mistakes_change_nothing)
{
    static const char *const wrong[][2] = {{"gaussian.sigma=3", "no filter 'gaussian'"},
                                           {"size=3", "needs the filter's name"},
                                           {"box.size", "FILTER.NAME=VALUE"},
                                           {"", "nothing is set"},
                                           {"box.size=0", "size"},
                                           {"box.sigma=2", "sigma"},
                                           {"epsilon.radius=2 box.size=0", "size"},
                                           {"2.size=4", "no filter '2'"},
                                           {"epsilon.radius=2 | sobel", "FILTER.NAME=VALUE"},
                                           {"epsilon.border='constant", ""}};
    struct stage stage = open_stage("epsilon radius=1 threshold=9 | box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_object_set(stage.element, "set", wrong[i][0], NULL);
        expect_message(&stage, GST_MESSAGE_WARNING, wrong[i][1]);
        check_chain_text(&stage, "epsilon radius=1 threshold=9 | box size=3");
    }
    CHECK(check_frame(&stage, "epsilon radius=1 threshold=9 | box size=3", false, 0));
    close_stage(&stage);
}

/* The element before has settled on a format with the first chain when the second one is set. */
TEST(a_chain_that_comes_too_late_for_a_format_is_not_taken)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    g_object_set(stage.element, "chain", "colormap", NULL);
    use_format(&stage, GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
    expect_message(&stage, GST_MESSAGE_WARNING, "the chain was not changed: frames are I420: ");
    check_chain_text(&stage, "box size=3");
    CHECK(check_frame(&stage, "box size=3", false, 0));
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    g_object_set(stage.element, "chain", "transpose", NULL); /* between two formats */
    use_format(&stage, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT);
    expect_message(&stage, GST_MESSAGE_WARNING, "the chain was not changed: frames are NV12: ");
    CHECK(check_frame(&stage, "box size=3", false, 0));
    g_object_set(stage.element, "chain", "sobel", NULL);
    CHECK(check_frame(&stage, "sobel", false, 0));
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    close_stage(&stage);
}

TEST(a_chain_that_comes_before_its_format_is_taken)
{
    struct stage stage = open_stage("gray", NULL, NULL);
    g_object_set(stage.element, "chain", "box size=3", NULL);
    g_object_set(stage.element, "chain", "colormap", NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "colormap", false, 0));
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    close_stage(&stage);
}

/* The chain becomes another one while caps are negotiated for the first: by whoever is asked for them. */
struct changer {
    GstElement *element;
    const char *chain; /* NULL: none any more */
};

static GstPadProbeReturn change_chain(GstPad *pad, GstPadProbeInfo *info, gpointer user)
{
    struct changer *changer = user;
    (void)pad;
    if (changer->chain && GST_QUERY_TYPE(gst_pad_probe_info_get_query(info)) == GST_QUERY_ACCEPT_CAPS) {
        const char *chain = changer->chain;
        changer->chain = NULL;
        g_object_set(changer->element, "chain", chain, NULL);
    }
    return GST_PAD_PROBE_OK;
}

/* For RGB both chains make RGB, for RGBA not. */
TEST(a_chain_may_change_within_a_negotiation)
{
    struct stage stage = open_stage("gray | colormap", NULL, NULL);
    struct changer changer = {stage.element, NULL};
    gst_pad_add_probe(stage.harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, change_chain, &changer,
                      NULL);
    use_format(&stage, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "gray | colormap", false, 0));
    changer.chain = "box size=3";
    use_format(&stage, GST_VIDEO_FORMAT_RGBA, WIDTH, HEIGHT);
    CHECK(changer.chain == NULL);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    CHECK_EQ(output_info(&stage).finfo->format, GST_VIDEO_FORMAT_RGBA);
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    close_stage(&stage);
}

TEST(parameters_may_be_set_before_there_are_frames)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    g_object_set(stage.element, "set", "size=5", NULL);
    check_chain_text(&stage, "box size=5");
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=5", false, 0));
    close_stage(&stage);
}

/* As gst-launch sets them. */
TEST(mistakes_before_there_is_a_bus_are_told_at_the_start)
{
    GstElement *element = new_element("box size=3", "set", "size=5"); /* `set` comes first */
    struct stage stage = stage_of(element);
    expect_message(&stage, GST_MESSAGE_WARNING, "there is no chain yet");
    close_stage(&stage);
    element = new_element("box size=3", NULL, NULL);
    g_object_set(element, "set", "siz=5", NULL);
    stage = stage_of(element);
    expect_message(&stage, GST_MESSAGE_WARNING, "siz");
    check_chain_text(&stage, "box size=3");
    close_stage(&stage);
}

static gpointer turn_knobs(gpointer user)
{
    GstElement *element = user;
    for (int i = 0; i < 20; i++) {
        if (i % 5 == 4)
            g_object_set(element, "chain", i % 2 ? "box size=3" : "box size=5", NULL);
        else
            g_object_set(element, "set", i % 2 ? "box.size=3" : "box.size=5", NULL);
    }
    return NULL;
}

/* Every frame is wholly of one chain or the other. */
TEST(another_thread_may_turn_the_knobs)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    struct planes in = random_planes(&stage.in, 3);
    struct planes a = expected_planes("box size=3", &stage.in, &in, false);
    struct planes b = expected_planes("box size=5", &stage.in, &in, false);
    GThread *thread = g_thread_new("knobs", turn_knobs, stage.element);
    for (int i = 0; i < 60; i++) {
        GstMapInfo map;
        CHECK_EQ(gst_harness_push(stage.harness, make_buffer(&stage.in, &in, 0)), GST_FLOW_OK);
        GstBuffer *got = gst_harness_pull(stage.harness);
        REQUIRE(got && gst_buffer_map(got, &map, GST_MAP_READ));
        const GstVideoMeta *meta = gst_buffer_get_video_meta(got);
        const size_t pitch = (size_t)(meta ? meta->stride[0] : GST_VIDEO_INFO_PLANE_STRIDE(&stage.in, 0));
        bool is_a = true, is_b = true;
        for (int y = 0; y < HEIGHT; y++) {
            is_a =
                is_a && memcmp(map.data + (size_t)y * pitch, (char *)a.view[0].data + y * WIDTH, WIDTH) == 0;
            is_b =
                is_b && memcmp(map.data + (size_t)y * pitch, (char *)b.view[0].data + y * WIDTH, WIDTH) == 0;
        }
        CHECK(is_a || is_b);
        gst_buffer_unmap(got, &map);
        gst_buffer_unref(got);
    }
    g_thread_join(thread);
    CHECK(gst_bus_pop_filtered(stage.bus, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING) == NULL);
    finish_planes(&in);
    finish_planes(&a);
    finish_planes(&b);
    close_stage(&stage);
}

/* ---- Filters of one's own ---- */

/* A filter that moves the picture, in a file of the test's own. */
static char *write_filter(int dx)
{
    char *path = g_build_filename(g_get_tmp_dir(), "gst_move.cl", NULL);
    char *text = g_strdup_printf("//@filter window 2\nhone_pixel { return hone_in(%d, 0); }\n", dx);
    REQUIRE(g_file_set_contents(path, text, -1, NULL));
    g_free(text);
    return path;
}

/* A frame comes out with every row moved to the left by `dx`, its last pixel repeated. */
static void check_moved(struct stage *stage, int dx)
{
    struct planes in = random_planes(&stage->in, 5), wanted = {.count = 1};
    wanted.view[0] = view_new(&in.view[0].desc);
    REQUIRE(wanted.view[0].data != NULL);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            ((uint8_t *)wanted.view[0].data)[y * WIDTH + x] =
                ((uint8_t *)in.view[0].data)[y * WIDTH + MIN(x + dx, WIDTH - 1)];
    CHECK_EQ(gst_harness_push(stage->harness, make_buffer(&stage->in, &in, 0)), GST_FLOW_OK);
    GstBuffer *got = gst_harness_try_pull(stage->harness);
    REQUIRE(got != NULL);
    CHECK(holds(stage, got, &wanted));
    finish_planes(&in);
    finish_planes(&wanted);
}

/* The chain is set first, and waits for its filter. */
TEST(a_filter_of_ones_own_is_loaded_and_may_change)
{
    char *path = write_filter(1);
    GstElement *element = new_element(path, NULL, NULL);
    g_object_set(element, "filters", path, NULL);
    struct stage stage = stage_of(element);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    check_moved(&stage, 1);
    g_free(write_filter(2));
    g_object_set(stage.element, "filters", path, NULL);
    check_moved(&stage, 2);
    GstCaps *reversed = gst_caps_from_string("video/x-raw,format={ BGR, BGRA, BGRx }");
    GstCaps *caps = gst_pad_peer_query_caps(stage.harness->srcpad, NULL);
    CHECK(!gst_caps_can_intersect(caps, reversed));
    gst_caps_unref(caps);
    gst_caps_unref(reversed);
    close_stage(&stage);
    CHECK_EQ(remove(path), 0);
    g_free(path);
}

/* ---- Starting, ending, and what lies between ---- */

static void check_start_fails(const char *chain, const char *property, const char *value, const char *says)
{
    GstElement *element = new_element(chain, property, value);
    struct stage stage = {.element = element, .bus = gst_bus_new()};
    gst_element_set_bus(element, stage.bus);
    CHECK_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    expect_message(&stage, GST_MESSAGE_ERROR, says);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_element_set_bus(element, NULL);
    gst_object_unref(element);
    gst_object_unref(stage.bus);
}

TEST(an_unknown_device_is_an_error)
{
    check_start_fails("sobel", "device", "no such device", "no such device");
}

TEST(a_filter_that_cannot_be_loaded_is_an_error)
{
    check_start_fails("sobel", "filters", "/there/is/no.cl", "cannot open '/there/is/no.cl'");
    check_start_fails("/there/is/no.cl", NULL, NULL, "no filter was loaded from this file");
}

TEST(a_chain_has_to_be_set)
{
    check_start_fails(NULL, NULL, NULL, "set the property chain");
}

TEST(a_chain_that_never_was_valid_is_an_error)
{
    check_start_fails("blurr", NULL, NULL, "blurr");
}

TEST(frames_come_after_a_flush_and_before_the_end)
{
    struct stage stage = open_stage("sobel", NULL, NULL);
    GstSegment segment;
    use_format(&stage, GST_VIDEO_FORMAT_I420, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "sobel", false, 0));
    CHECK(gst_harness_push_event(stage.harness, gst_event_new_flush_start()));
    CHECK(gst_harness_push_event(stage.harness, gst_event_new_flush_stop(TRUE)));
    gst_segment_init(&segment, GST_FORMAT_TIME);
    CHECK(gst_harness_push_event(stage.harness, gst_event_new_segment(&segment)));
    CHECK(check_frame(&stage, "sobel", false, 0));
    CHECK(gst_harness_push_event(stage.harness, gst_event_new_eos()));
    GstEvent *event = NULL;
    bool ended = false;
    while ((event = gst_harness_try_pull_event(stage.harness))) {
        ended = ended || GST_EVENT_TYPE(event) == GST_EVENT_EOS;
        gst_event_unref(event);
    }
    CHECK(ended);
    CHECK_EQ(gst_harness_buffers_in_queue(stage.harness), 0);
    close_stage(&stage);
}

TEST(an_element_can_be_started_again)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_NV12, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    CHECK_EQ(gst_element_set_state(stage.element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    g_object_set(stage.element, "chain", "sobel", NULL);
    gst_harness_play(stage.harness);
    gst_harness_push_event(stage.harness, gst_event_new_stream_start("again"));
    use_format(&stage, GST_VIDEO_FORMAT_I420, HEIGHT, WIDTH);
    CHECK(check_frame(&stage, "sobel", false, 0));
    CHECK_EQ(stat_of(&stage, "frames"), 1);
    close_stage(&stage);
}

TEST(late_frames_are_left_out)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    gst_harness_push_upstream_event(
        stage.harness, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 0.5, GST_SECOND, 10 * GST_SECOND));
    struct planes in = random_planes(&stage.in, 1);
    GstBuffer *late = make_buffer(&stage.in, &in, 0);
    GST_BUFFER_PTS(late) = 2 * GST_SECOND;
    CHECK_EQ(gst_harness_push(stage.harness, late), GST_FLOW_OK);
    CHECK(gst_harness_try_pull(stage.harness) == NULL);
    CHECK_EQ(stat_of(&stage, "frames"), 1);
    GstMessage *message = gst_bus_pop_filtered(stage.bus, GST_MESSAGE_QOS);
    CHECK(message != NULL);
    gst_clear_message(&message);
    finish_planes(&in);
    close_stage(&stage);
}

/* ---- Memory ---- */

TEST(aligned_frames_are_not_copied)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, 128, 9);
    gst_harness_add_propose_allocation_meta(stage.harness, GST_VIDEO_META_API_TYPE, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(check_frame(&stage, "box size=3", false, 0));
    CHECK_EQ(stat_of(&stage, "zero-copy-frames"), 3);
    CHECK_EQ(stat_of(&stage, "staged") + stat_of(&stage, "passed") + stat_of(&stage, "shifted"), 0);
    CHECK(check_frame(&stage, "box size=3", false, 13)); /* rows that suit few kernels */
    CHECK_EQ(stat_of(&stage, "zero-copy-frames") == 4, stat_of(&stage, "staged") == 0);
    close_stage(&stage);
}

TEST(what_is_copied_is_told)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_NV12, 128, 10);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    CHECK_EQ(stat_of(&stage, "passed"), 128 * 5);
    CHECK_EQ(stat_of(&stage, "staged"), 0);
    CHECK_EQ(stat_of(&stage, "zero-copy-frames"), 0);
    use_format(&stage, gst_video_format_from_string("I420_10LE"), 128, 10);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    CHECK_EQ(stat_of(&stage, "shifted"), 128 * 10 * 2);
    close_stage(&stage);
}

/* A pool for the element before has pages, and rows that need no copy if that element heeds strides. */
TEST(the_element_before_is_offered_memory_that_needs_no_copy)
{
    struct stage stage = open_stage("box size=3", NULL, NULL);
    GstBufferPool *pool = NULL;
    GstAllocationParams params;
    GstBuffer *buffer = NULL;
    guint size = 0;
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    GstCaps *caps = gst_video_info_to_caps(&stage.in);
    GstQuery *query = gst_query_new_allocation(caps, TRUE);
    REQUIRE(gst_pad_peer_query(stage.harness->srcpad, query));
    CHECK(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL));
    gst_query_parse_nth_allocation_param(query, 0, NULL, &params);
    CHECK_EQ(params.align, 4095);
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, NULL, NULL);
    REQUIRE(pool != NULL);
    for (int heeds = 0; heeds < 2; heeds++) {
        GstStructure *config = gst_buffer_pool_get_config(pool);
        gst_buffer_pool_config_set_params(config, caps, size, 0, 0);
        if (heeds)
            gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
        REQUIRE(gst_buffer_pool_set_config(pool, config) && gst_buffer_pool_set_active(pool, TRUE));
        REQUIRE(gst_buffer_pool_acquire_buffer(pool, &buffer, NULL) == GST_FLOW_OK);
        const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
        CHECK_EQ(meta != NULL, heeds);
        CHECK_EQ(meta ? meta->stride[0] : GST_VIDEO_INFO_PLANE_STRIDE(&stage.in, 0), heeds ? 64 : 40);
        gst_clear_buffer(&buffer);
        gst_buffer_pool_set_active(pool, FALSE);
    }
    gst_object_unref(pool);
    gst_query_unref(query);
    gst_caps_unref(caps);
    close_stage(&stage);
}

/* ---- Failures ---- */

TEST(a_device_that_fails_is_an_error_of_the_element)
{
    void (*fail)(const char *names, long number, bool sticky) = NULL;
    const char *path = support_beside_program("layer.so");
    setenv("OPENCL_LAYERS", path, 1);
    struct stage stage = open_stage("box size=3", NULL, NULL);
    use_format(&stage, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
    CHECK(check_frame(&stage, "box size=3", false, 0));
    void *layer = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(layer != NULL);
    *(void **)&fail = dlsym(layer, "layer_fail");
    REQUIRE(fail != NULL);
    fail("clEnqueueNDRangeKernel", 1, true);
    struct planes in = random_planes(&stage.in, 1);
    CHECK_EQ(gst_harness_push(stage.harness, make_buffer(&stage.in, &in, 0)), GST_FLOW_ERROR);
    expect_message(&stage, GST_MESSAGE_ERROR, "a frame could not be filtered");
    fail(NULL, 0, false);
    finish_planes(&in);
    close_stage(&stage);
}
