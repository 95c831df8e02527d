/* SPDX-License-Identifier: BSD-2-Clause */
#include "element.h"

#include <string.h>

GST_DEBUG_CATEGORY(hone_debug);
#define GST_CAT_DEFAULT hone_debug

G_DEFINE_TYPE(GstHone, gst_hone, GST_TYPE_VIDEO_FILTER)

/* ---- Messages ---- */

static void classify(hone_status status, GQuark *domain, gint *code)
{
    *domain = GST_RESOURCE_ERROR;
    switch (status) {
    case HONE_ERROR_IO:
        *code = GST_RESOURCE_ERROR_READ;
        break;
    case HONE_ERROR_NO_DEVICE:
        *code = GST_RESOURCE_ERROR_NOT_FOUND;
        break;
    case HONE_ERROR_DEVICE:
        *code = GST_RESOURCE_ERROR_FAILED;
        break;
    case HONE_ERROR_MEMORY:
        *code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
        break;
    case HONE_ERROR_UNSUPPORTED:
        *domain = GST_STREAM_ERROR;
        *code = GST_STREAM_ERROR_FORMAT;
        break;
    default:
        *domain = GST_LIBRARY_ERROR;
        *code = status == HONE_ERROR_USAGE ? GST_LIBRARY_ERROR_SETTINGS : GST_LIBRARY_ERROR_FAILED;
    }
}

void element_post(GstHone *self, GstMessageType type, const char *what, const hone_error *error)
{
    GQuark domain;
    gint code;
    classify(error->status, &domain, &code);
    GstStructure *details =
        gst_structure_new("hone", "status", G_TYPE_STRING, hone_status_name(error->status), "column",
                          G_TYPE_INT, error->column, NULL);
    char *debug = error->log[0]
                      ? g_strdup(error->log)
                      : g_strdup_printf("%s, column %d", hone_status_name(error->status), error->column);
    gst_element_message_full_with_details(GST_ELEMENT(self), type, domain, code,
                                          g_strdup_printf("%s: %s", what, error->message), debug, __FILE__,
                                          G_STRFUNC, __LINE__, details);
}

static void log_message(void *user, hone_log_level level, const char *message)
{
    static const GstDebugLevel levels[] = {GST_LEVEL_WARNING, GST_LEVEL_INFO, GST_LEVEL_DEBUG};
    (void)user;
    GST_CAT_LEVEL_LOG(hone_debug, levels[MIN((unsigned)level, 2u)], NULL, "%s", message);
}

/* ---- The chain ---- */

struct video_chain *element_chain(GstHone *self)
{
    g_mutex_lock(&self->lock);
    struct video_chain *chain = video_chain_ref(self->chain);
    g_mutex_unlock(&self->lock);
    return chain;
}

/* Takes over `chain` and, unless it is NULL, `run`. */
static void replace(GstHone *self, struct video_chain *chain, struct run *run)
{
    g_mutex_lock(&self->lock);
    struct video_chain *old_chain = self->chain;
    struct run *old_run = run ? self->run : NULL;
    self->chain = chain;
    if (run)
        self->run = run;
    g_mutex_unlock(&self->lock);
    video_chain_unref(old_chain);
    run_free(old_run);
    run_free(self->next); /* it was for the old chain */
    self->next = NULL;
    g_clear_pointer(&self->refusal, g_free);
    g_clear_pointer(&self->refused, g_free);
}

enum { MOST_FORMER = 8 };

static void unref_chain(gpointer chain)
{
    video_chain_unref(chain);
}

static void forget_former(GstHone *self)
{
    g_slist_free_full(g_steal_pointer(&self->former), unref_chain);
    self->unsettled = FALSE;
}

/* The chain is about to be replaced. */
static void remember(GstHone *self)
{
    if (self->chain && GST_PAD_IS_ACTIVE(GST_BASE_TRANSFORM_SINK_PAD(self)))
        self->former = g_slist_prepend(self->former, video_chain_ref(self->chain));
    GSList *last = g_slist_nth(self->former, MOST_FORMER);
    if (last) {
        self->former = g_slist_remove_link(self->former, last);
        g_slist_free_full(last, unref_chain);
    }
}

/* Takes over the chain, for which caps are still to be negotiated. */
static void replace_for_now(GstHone *self, struct video_chain *chain)
{
    remember(self);
    replace(self, chain, NULL);
    self->unsettled = TRUE;
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
}

static gboolean takes(const struct video_chain *chain, GstVideoFormat format)
{
    const struct effect *effect = video_chain_effect(chain, format);
    return effect && effect->out != GST_VIDEO_FORMAT_UNKNOWN;
}

void element_fall_back(GstHone *self, GstVideoFormat format)
{
    hone_error error;
    g_mutex_lock(&self->changing);
    GSList *found = self->former && !takes(self->chain, format) ? self->former : NULL;
    while (found && !takes(found->data, format))
        found = found->next;
    if (found) {
        const struct effect *effect = video_chain_effect(self->chain, format);
        refuse(&error, HONE_ERROR_UNSUPPORTED, "frames are %s: %s", gst_video_format_to_string(format),
               effect->why);
        replace(self, video_chain_ref(found->data), NULL);
    }
    g_mutex_unlock(&self->changing);
    if (found)
        element_post(self, GST_MESSAGE_WARNING, "the chain was not changed", &error);
}

static struct run *build(GstHone *self, const struct video_chain *chain, const GstVideoInfo *in,
                         const GstVideoInfo *out, hone_error *error)
{
    const struct run_options options = {.all_planes = self->all_planes, .tune = self->tune};
    return run_new(self->device, chain, in, out, &options, error);
}

static gboolean same_frames(const GstVideoInfo *a, const GstVideoInfo *b)
{
    return GST_VIDEO_INFO_FORMAT(a) == GST_VIDEO_INFO_FORMAT(b) &&
           GST_VIDEO_INFO_WIDTH(a) == GST_VIDEO_INFO_WIDTH(b) &&
           GST_VIDEO_INFO_HEIGHT(a) == GST_VIDEO_INFO_HEIGHT(b);
}

/* Builds what the chain makes of the frames that come now, and swaps it in: at once, or by a new negotiation
 * if the result has another format. Takes over the chain unless it fails. */
static hone_status adopt_while_playing(GstHone *self, struct video_chain *chain, GstCaps *in_caps,
                                       hone_error *error)
{
    GstVideoInfo out;
    GstCaps *caps = negotiation_output(chain, &self->run->in, in_caps, error);
    if (!caps)
        return error->status;
    gboolean fits = gst_video_info_from_caps(&out, caps);
    const gboolean same = fits && same_frames(&out, &self->run->out);
    if (!same)
        fits = fits && gst_pad_peer_query_accept_caps(GST_BASE_TRANSFORM_SRC_PAD(self), caps);
    char *text = fits ? NULL : gst_caps_to_string(caps);
    gst_caps_unref(caps);
    if (!fits) {
        refuse(error, HONE_ERROR_UNSUPPORTED, "the next element does not take what the chain makes: %s",
               text);
        g_free(text);
        return error->status;
    }
    struct run *run = build(self, chain, &self->run->in, &out, error);
    if (!run)
        return error->status;
    if (same) {
        remember(self);
        replace(self, chain, run);
    } else {
        replace_for_now(self, chain);
        self->next = run;
    }
    return HONE_OK;
}

/* Under `changing`. Takes over the chain unless it fails. */
static hone_status adopt(GstHone *self, struct video_chain *chain, hone_error *error)
{
    GstCaps *caps = self->run ? gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self)) : NULL;
    if (!caps) {
        replace_for_now(self, chain);
        return HONE_OK;
    }
    hone_status status = adopt_while_playing(self, chain, caps, error);
    gst_caps_unref(caps);
    return status;
}

/* Under `changing`. */
static hone_status read_chain(GstHone *self, const char *text, hone_error *error)
{
    struct video_chain *chain = video_chain_new(text, self->all_planes, self->reproducible, error);
    hone_status status = chain ? adopt(self, chain, error) : error->status;
    if (status && chain)
        video_chain_unref(chain);
    if (status && !self->chain) {
        char *old = self->refused; /* may be `text` */
        self->refused = g_strdup(text);
        g_free(old);
        g_free(self->refusal);
        self->refusal = g_memdup2(error, sizeof *error);
    }
    return status;
}

void element_set_chain(GstHone *self, const char *text)
{
    hone_error error;
    g_mutex_lock(&self->changing);
    hone_status status = read_chain(self, text ? text : "", &error);
    g_mutex_unlock(&self->changing);
    if (status)
        element_post(self, GST_MESSAGE_WARNING, "the chain was not changed", &error);
}

void element_read_chain_again(GstHone *self)
{
    struct video_chain *chain = element_chain(self);
    if (chain)
        element_set_chain(self, chain->text);
    video_chain_unref(chain);
}

/* Under `changing`. */
static hone_status load_filters(GstHone *self, hone_error *error)
{
    hone_status status = HONE_OK;
    char **paths = g_strsplit(self->filters ? self->filters : "", G_SEARCHPATH_SEPARATOR_S, 0);
    for (char **path = paths; *path && !status; path++)
        if (**path)
            status = hone_filter_load(*path, NULL, NULL, error);
    g_strfreev(paths);
    g_free(self->unloaded);
    self->unloaded = status ? g_memdup2(error, sizeof *error) : NULL;
    return status;
}

void element_load_filters(GstHone *self, const char *paths)
{
    hone_error error;
    g_mutex_lock(&self->changing);
    g_free(self->filters);
    self->filters = g_strdup(paths);
    hone_status status = load_filters(self, &error);
    char *text = g_strdup(self->chain ? self->chain->text : self->refused);
    g_mutex_unlock(&self->changing);
    if (status)
        element_post(self, GST_MESSAGE_WARNING, "a filter was not loaded", &error);
    else if (text)
        element_set_chain(self, text);
    g_free(text);
}

/* Changes parameters between two frames, if the result keeps its format. Under `changing`. */
static hone_status change_parameters(GstHone *self, const struct change *change, struct video_chain *chain,
                                     hone_error *error)
{
    g_mutex_lock(&self->lock);
    hone_status status = hone_stream_set(self->run->stream, change->step, change->parameters, error);
    g_mutex_unlock(&self->lock);
    if (!status)
        replace(self, chain, NULL);
    return status;
}

static hone_status apply_change(GstHone *self, const struct change *change, hone_error *error)
{
    struct video_chain *chain = video_chain_new(change->text, self->all_planes, self->reproducible, error);
    if (!chain)
        return error->status;
    hone_status status = HONE_ERROR_UNSUPPORTED;
    if (self->run && !self->next && change->one_step && !chain_second(chain->chain, change->step))
        status = change_parameters(self, change, chain, error);
    if (status) /* there are no frames yet, or it takes more than that */
        status = adopt(self, chain, error);
    if (status)
        video_chain_unref(chain);
    return status;
}

/* gst-launch sets properties before the element has a bus: what is wrong is told when it starts. */
static void post_unset(GstHone *self, const hone_error *error)
{
    GstBus *bus = gst_element_get_bus(GST_ELEMENT(self));
    if (bus) {
        gst_object_unref(bus);
        element_post(self, GST_MESSAGE_WARNING, "no parameter was changed", error);
        return;
    }
    g_mutex_lock(&self->changing);
    g_free(self->unset);
    self->unset = g_memdup2(error, sizeof *error);
    g_mutex_unlock(&self->changing);
}

void element_set_parameters(GstHone *self, const char *text)
{
    struct change change;
    hone_error error;
    hone_status status = HONE_OK;
    g_mutex_lock(&self->changing);
    if (!self->chain)
        status = refuse(&error, HONE_ERROR_USAGE, "there is no chain yet: set the property chain first");
    else if (!(status = change_read(&change, self->chain, text ? text : "", &error))) {
        status = apply_change(self, &change, &error);
        change_finish(&change);
    }
    g_mutex_unlock(&self->changing);
    if (status)
        post_unset(self, &error);
}

/* ---- Playing ---- */

static hone_status open_device(GstHone *self, hone_error *error)
{
    const hone_device_request request = {
        .size = sizeof request, .spec = self->device_spec, .log = log_message};
    const hone_error *wrong = self->unloaded ? self->unloaded : self->refusal;
    if (wrong) {
        *error = *wrong;
        return wrong->status;
    }
    if (!self->chain)
        return refuse(error, HONE_ERROR_USAGE,
                      "there is no chain: set the property chain, such as chain=\"gaussian sigma=2\"");
    return hone_device_open(&self->device, &request, error);
}

static gboolean start(GstBaseTransform *base)
{
    GstHone *self = GST_HONE(base);
    hone_error error;
    g_mutex_lock(&self->changing);
    self->tally = (struct tally){0};
    hone_status status = open_device(self, &error);
    hone_error *unset = g_steal_pointer(&self->unset);
    g_mutex_unlock(&self->changing);
    if (unset)
        post_unset(self, unset);
    g_free(unset);
    if (status)
        element_post(self, GST_MESSAGE_ERROR, "hone cannot start", &error);
    return status == HONE_OK;
}

static gboolean stop(GstBaseTransform *base)
{
    GstHone *self = GST_HONE(base);
    g_mutex_lock(&self->changing);
    g_mutex_lock(&self->lock);
    struct run *run = self->run;
    self->run = NULL;
    g_mutex_unlock(&self->lock);
    run_free(run);
    run_free(self->next);
    self->next = NULL;
    forget_former(self);
    hone_device_close(&self->device);
    g_mutex_unlock(&self->changing);
    return TRUE;
}

static gboolean makes(const struct video_chain *chain, const GstVideoInfo *in, const GstVideoInfo *out)
{
    const struct effect *effect = video_chain_effect(chain, GST_VIDEO_INFO_FORMAT(in));
    const int width = GST_VIDEO_INFO_WIDTH(in), height = GST_VIDEO_INFO_HEIGHT(in);
    return effect && effect->out == GST_VIDEO_INFO_FORMAT(out) &&
           GST_VIDEO_INFO_WIDTH(out) == (effect->swaps ? height : width) &&
           GST_VIDEO_INFO_HEIGHT(out) == (effect->swaps ? width : height);
}

/* The chain that these caps were negotiated for: one before if it has changed meanwhile, until they are
 * negotiated again, before the next frame. NULL: none. */
static struct video_chain *chain_for(GstHone *self, const GstVideoInfo *in, const GstVideoInfo *out)
{
    GSList *former = self->former;
    if (makes(self->chain, in, out))
        return self->chain;
    while (former && !makes(former->data, in, out))
        former = former->next;
    return former ? former->data : NULL;
}

/* Under `changing`. */
static hone_status make_run(GstHone *self, const GstVideoInfo *in, const GstVideoInfo *out, hone_error *error)
{
    struct video_chain *chain = chain_for(self, in, out);
    if (!chain)
        return HONE_OK;
    const gboolean is_new = chain == self->chain;
    struct run *run = is_new ? g_steal_pointer(&self->next) : NULL;
    if (run && (!same_frames(&run->in, in) || !same_frames(&run->out, out))) {
        run_free(run);
        run = NULL;
    }
    if (!run)
        run = build(self, chain, in, out, error);
    if (!run)
        return error->status;
    g_mutex_lock(&self->lock);
    struct run *old = self->run;
    self->run = run;
    g_mutex_unlock(&self->lock);
    run_free(old);
    if (is_new)
        forget_former(self);
    else
        gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(self));
    return HONE_OK;
}

static gboolean set_info(GstVideoFilter *filter, GstCaps *in_caps, GstVideoInfo *in, GstCaps *out_caps,
                         GstVideoInfo *out)
{
    GstHone *self = GST_HONE(filter);
    hone_error error;
    (void)in_caps;
    (void)out_caps;
    g_mutex_lock(&self->changing);
    hone_status status = make_run(self, in, out, &error);
    g_mutex_unlock(&self->changing);
    if (status)
        element_post(self, GST_MESSAGE_ERROR, "the chain cannot be prepared", &error);
    return status == HONE_OK;
}

/* Whether a frame, whose buffer may have told its own size, has the negotiated one in it. */
static gboolean has(const GstVideoInfo *frame, const GstVideoInfo *negotiated)
{
    return GST_VIDEO_INFO_FORMAT(frame) == GST_VIDEO_INFO_FORMAT(negotiated) &&
           GST_VIDEO_INFO_WIDTH(frame) >= GST_VIDEO_INFO_WIDTH(negotiated) &&
           GST_VIDEO_INFO_HEIGHT(frame) >= GST_VIDEO_INFO_HEIGHT(negotiated);
}

/* A frame has come through: the element before will ask again before it sends another format. A change that
 * is being made may hold the lock for long, and then the next frame does this. */
static void settle(GstHone *self)
{
    if (!g_mutex_trylock(&self->changing))
        return;
    if (!self->unsettled)
        forget_former(self);
    g_mutex_unlock(&self->changing);
}

static GstFlowReturn transform_frame(GstVideoFilter *filter, GstVideoFrame *in, GstVideoFrame *out)
{
    GstHone *self = GST_HONE(filter);
    hone_error error;
    g_mutex_lock(&self->lock);
    const gboolean fits = self->run && has(&in->info, &self->run->in) && has(&out->info, &self->run->out);
    hone_status status =
        fits ? run_frame(self->run, in, out, &self->tally, &error)
             : refuse(&error, HONE_ERROR_USAGE, "the frame is %s of %dx%d, and other caps were negotiated",
                      GST_VIDEO_INFO_NAME(&in->info), GST_VIDEO_INFO_WIDTH(&in->info),
                      GST_VIDEO_INFO_HEIGHT(&in->info));
    g_mutex_unlock(&self->lock);
    settle(self);
    if (status)
        element_post(self, GST_MESSAGE_ERROR, "a frame could not be filtered", &error);
    return status ? GST_FLOW_ERROR : GST_FLOW_OK;
}

/* What tells places in a frame is wrong in a transposed one. */
static gboolean transform_meta(GstBaseTransform *base, GstBuffer *out, GstMeta *meta, GstBuffer *in)
{
    GstHone *self = GST_HONE(base);
    const GType api = meta->info->api;
    g_mutex_lock(&self->lock);
    const struct effect *effect =
        self->run ? video_chain_effect(self->chain, GST_VIDEO_INFO_FORMAT(&self->run->in)) : NULL;
    const gboolean swaps = effect && effect->swaps;
    g_mutex_unlock(&self->lock);
    if (swaps &&
        (gst_meta_api_type_has_tag(api, g_quark_from_static_string(GST_META_TAG_VIDEO_SIZE_STR)) ||
         gst_meta_api_type_has_tag(api, g_quark_from_static_string(GST_META_TAG_VIDEO_ORIENTATION_STR))))
        return FALSE;
    return GST_BASE_TRANSFORM_CLASS(gst_hone_parent_class)->transform_meta(base, out, meta, in);
}

/* ---- The class ---- */

static void finalize(GObject *object)
{
    GstHone *self = GST_HONE(object);
    video_chain_unref(self->chain);
    forget_former(self);
    g_free(self->device_spec);
    g_free(self->filters);
    g_free(self->refusal);
    g_free(self->refused);
    g_free(self->unloaded);
    g_free(self->unset);
    g_mutex_clear(&self->changing);
    g_mutex_clear(&self->lock);
    G_OBJECT_CLASS(gst_hone_parent_class)->finalize(object);
}

static void gst_hone_init(GstHone *self)
{
    g_mutex_init(&self->changing);
    g_mutex_init(&self->lock);
}

static void gst_hone_class_init(GstHoneClass *class)
{
    static GstStaticPadTemplate sink = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
                                                               GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(FORMATS)));
    static GstStaticPadTemplate source = GST_STATIC_PAD_TEMPLATE(
        "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(FORMATS)));
    GstElementClass *element = GST_ELEMENT_CLASS(class);
    GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
    GST_DEBUG_CATEGORY_INIT(hone_debug, "hone", 0, "image filters on OpenCL devices");
    gst_element_class_add_static_pad_template(element, &sink);
    gst_element_class_add_static_pad_template(element, &source);
    gst_element_class_set_static_metadata(
        element, "Image filters on any OpenCL device", "Filter/Effect/Video",
        "Filters video by a chain such as 'gaussian sigma=3 | sobel' on an OpenCL device",
        "the hone authors");
    G_OBJECT_CLASS(class)->finalize = finalize;
    properties_install(G_OBJECT_CLASS(class));
    negotiation_install(base);
    base->start = start;
    base->stop = stop;
    base->transform_meta = transform_meta;
    GST_VIDEO_FILTER_CLASS(class)->set_info = set_info;
    GST_VIDEO_FILTER_CLASS(class)->transform_frame = transform_frame;
}
