/* SPDX-License-Identifier: BSD-2-Clause */
#include "element.h"

#include "hone/version.h"

enum {
    PROPERTY_CHAIN = 1,
    PROPERTY_SET,
    PROPERTY_FILTERS,
    PROPERTY_PLANES,
    PROPERTY_DEVICE,
    PROPERTY_TUNE,
    PROPERTY_REPRODUCIBLE,
    PROPERTY_STATS
};

static GType planes_type(void)
{
    static const GEnumValue values[] = {
        {FALSE, "Of YUV the luma alone", "luma"}, {TRUE, "All planes", "all"}, {0, NULL, NULL}};
    static gsize type;
    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("GstHonePlanes", values));
    return type;
}

static GType tune_type(void)
{
    static const GEnumValue values[] = {{HONE_TUNE_AUTO, "What was measured on the device before", "auto"},
                                        {HONE_TUNE_OFF, "Hand-written defaults", "off"},
                                        {0, NULL, NULL}};
    static gsize type;
    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("GstHoneTune", values));
    return type;
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
    GstHone *self = GST_HONE(object);
    switch (id) {
    case PROPERTY_CHAIN:
        element_set_chain(self, g_value_get_string(value));
        break;
    case PROPERTY_SET:
        element_set_parameters(self, g_value_get_string(value));
        break;
    case PROPERTY_FILTERS:
        element_load_filters(self, g_value_get_string(value));
        break;
    case PROPERTY_PLANES:
        self->all_planes = g_value_get_enum(value);
        element_read_chain_again(self);
        break;
    case PROPERTY_DEVICE:
        g_free(self->device_spec);
        self->device_spec = g_value_dup_string(value);
        break;
    case PROPERTY_TUNE:
        self->tune = (hone_tune)g_value_get_enum(value);
        break;
    case PROPERTY_REPRODUCIBLE:
        self->reproducible = g_value_get_boolean(value);
        element_read_chain_again(self);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
}

static char *device_name(GstHone *self)
{
    g_mutex_lock(&self->changing);
    char *name = g_strdup(self->device ? hone_device_get_info(self->device)->name : "");
    g_mutex_unlock(&self->changing);
    return name;
}

static GstStructure *describe(GstHone *self)
{
    char *name = device_name(self);
    g_mutex_lock(&self->lock);
    const struct tally tally = self->tally;
    char *variants = self->run ? run_variants(self->run) : g_strdup("");
    g_mutex_unlock(&self->lock);
    GstStructure *made = gst_structure_new(
        "hone-stats", "version", G_TYPE_STRING, HONE_VERSION, "device", G_TYPE_STRING, name, "variants",
        G_TYPE_STRING, variants, "frames", G_TYPE_UINT64, tally.frames, "zero-copy-frames", G_TYPE_UINT64,
        tally.zero_copy_frames, "uploaded", G_TYPE_UINT64, tally.uploaded, "downloaded", G_TYPE_UINT64,
        tally.downloaded, "rearranged", G_TYPE_UINT64, tally.rearranged, "staged", G_TYPE_UINT64,
        tally.staged, "passed", G_TYPE_UINT64, tally.passed, "shifted", G_TYPE_UINT64, tally.shifted, NULL);
    g_free(variants);
    g_free(name);
    return made;
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    GstHone *self = GST_HONE(object);
    struct video_chain *chain = NULL;
    switch (id) {
    case PROPERTY_CHAIN:
        chain = element_chain(self);
        g_value_set_string(value, chain ? chain->text : NULL);
        video_chain_unref(chain);
        break;
    case PROPERTY_FILTERS:
        g_mutex_lock(&self->changing);
        g_value_set_string(value, self->filters);
        g_mutex_unlock(&self->changing);
        break;
    case PROPERTY_PLANES:
        g_value_set_enum(value, self->all_planes);
        break;
    case PROPERTY_DEVICE:
        g_value_set_string(value, self->device_spec);
        break;
    case PROPERTY_TUNE:
        g_value_set_enum(value, (gint)self->tune);
        break;
    case PROPERTY_REPRODUCIBLE:
        g_value_set_boolean(value, self->reproducible);
        break;
    case PROPERTY_STATS:
        g_value_take_boxed(value, describe(self));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
}

void properties_install(GObjectClass *class)
{
    const GParamFlags both = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS;
    const GParamFlags ready = both | GST_PARAM_MUTABLE_READY, playing = GST_PARAM_MUTABLE_PLAYING;
    class->set_property = set_property;
    class->get_property = get_property;
    g_object_class_install_property(
        class, PROPERTY_CHAIN,
        g_param_spec_string("chain", "Chain",
                            "Filters: 'NAME PARAMETER=VALUE ... | NAME ...'. A chain that is not valid is a "
                            "warning, and the old one stays",
                            NULL, both | playing));
    g_object_class_install_property(
        class, PROPERTY_SET,
        g_param_spec_string(
            "set", "Set",
            "Changes parameters of the chain: 'gaussian.sigma=4'. Instead of the filter's name its "
            "number can be given, from 0",
            NULL, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS | playing));
    g_object_class_install_property(
        class, PROPERTY_FILTERS,
        g_param_spec_string(
            "filters", "Filters",
            "Files with filters of your own, for the chain; colons between them. They are code: "
            "name only what you trust",
            NULL, both | playing));
    g_object_class_install_property(
        class, PROPERTY_PLANES,
        g_param_spec_enum("planes", "Planes", "What is filtered of YUV video", planes_type(), FALSE, ready));
    g_object_class_install_property(
        class, PROPERTY_DEVICE,
        g_param_spec_string("device", "Device",
                            "A number of `hone devices`, cpu, gpu, or part of a name; alternatives are "
                            "separated by commas",
                            NULL, ready));
    g_object_class_install_property(class, PROPERTY_TUNE,
                                    g_param_spec_enum("tune", "Tune",
                                                      "Where the choice of kernels comes from", tune_type(),
                                                      HONE_TUNE_AUTO, ready));
    g_object_class_install_property(class, PROPERTY_REPRODUCIBLE,
                                    g_param_spec_boolean("reproducible", "Reproducible",
                                                         "The same result on every device, to the last bit",
                                                         FALSE, ready));
    g_object_class_install_property(
        class, PROPERTY_STATS,
        g_param_spec_boxed("stats", "Statistics",
                           "Device, kernels, number of frames, and the bytes that were copied for them",
                           GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}
