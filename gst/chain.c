/* SPDX-License-Identifier: BSD-2-Clause */
#include "chain.h"

#include <stdarg.h>
#include <string.h>

/* Chains are tried on frames of this size; a result of another one can only be a transposed one. */
enum { PROBE_WIDTH = 64, PROBE_HEIGHT = 48 };

hone_status refuse(hone_error *error, hone_status status, const char *format, ...)
{
    va_list arguments;
    if (error) {
        *error = (hone_error){.status = status};
        va_start(arguments, format);
        g_vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

static hone_status refuse_result(const hone_image_desc *in, const hone_image_desc *out, const char *what,
                                 hone_error *error)
{
    return refuse(error, HONE_ERROR_UNSUPPORTED,
                  "the chain makes %ux%u %s with %u channel%s of %ux%u %s with %u channel%s; %s", out->width,
                  out->height, hone_type_name(out->type), out->channels, out->channels == 1 ? "" : "s",
                  in->width, in->height, hone_type_name(in->type), in->channels, in->channels == 1 ? "" : "s",
                  what);
}

static gboolean is_swapped(const hone_image_desc *in, const hone_image_desc *out)
{
    return out->width == in->height && out->height == in->width;
}

/* One plane that is the whole frame may become another format. */
static hone_status judge_whole(struct effect *effect, GstVideoFormat format, const hone_image_desc *in,
                               const hone_image_desc *out, hone_error *error)
{
    effect->swaps = is_swapped(in, out);
    if (!effect->swaps && (out->width != in->width || out->height != in->height))
        return refuse_result(in, out, "video keeps its size, or width and height change places", error);
    effect->out = out->type == in->type && out->channels == in->channels ? format : format_of(out);
    if (effect->out == GST_VIDEO_FORMAT_UNKNOWN)
        return refuse_result(in, out, "GStreamer has no raw video like that", error);
    return HONE_OK;
}

/* Whether red and blue may change places around a chain. hone's own filters that tell colours apart change
 * the number of channels, and none makes four; what loaded ones do is not known. */
static gboolean treats_colours_alike(const hone_chain *chain)
{
    const hone_image_desc in = {.width = PROBE_WIDTH, .height = PROBE_HEIGHT, .type = HONE_U8, .channels = 4};
    hone_image_desc out;
    hone_filter_info info;
    for (size_t i = 0; i < hone_chain_length(chain); i++)
        if (!hone_filter_find(hone_chain_filter(chain, i), &info) || info.loaded)
            return FALSE;
    return hone_chain_output(chain, &in, &out, NULL) == HONE_OK && out.channels == in.channels;
}

/* The name of a filter's parameter for its second image, or NULL. */
static const char *image_parameter(const char *filter)
{
    hone_parameter_info parameter;
    hone_filter_info info;
    if (!hone_filter_find(filter, &info) || info.inputs < 2)
        return NULL;
    for (size_t i = 0; hone_filter_parameter(filter, i, &parameter); i++)
        if (strcmp(parameter.kind, "image") == 0)
            return parameter.name;
    return NULL;
}

const char *chain_second(const hone_chain *chain, size_t step)
{
    const char *name = image_parameter(hone_chain_filter(chain, step));
    return name ? hone_chain_parameter(chain, step, name) : NULL;
}

static gboolean has_second(const hone_chain *chain)
{
    gboolean has = FALSE;
    for (size_t i = 0; i < hone_chain_length(chain) && !has; i++)
        has = chain_second(chain, i) != NULL;
    return has;
}

static hone_status judge(struct effect *effect, const hone_chain *chain, GstVideoFormat format, gboolean all,
                         hone_error *error)
{
    struct plane planes[HONE_STREAM_PLANES];
    hone_image_desc out;
    GstVideoInfo info;
    if (!gst_video_info_set_format(&info, format, PROBE_WIDTH, PROBE_HEIGHT))
        return refuse(error, HONE_ERROR_INTERNAL, "GStreamer does not know its format %d", (int)format);
    if (format_is_reversed(format) && !treats_colours_alike(chain))
        return refuse(error, HONE_ERROR_UNSUPPORTED,
                      "the chain may tell colours apart: put videoconvert before for RGB or RGBA");
    const unsigned count = format_planes(&info, all, planes);
    if (count > 1 && has_second(chain))
        return refuse(error, HONE_ERROR_UNSUPPORTED,
                      "a second image goes with planes=luma, GRAY8 or RGB alone");
    for (unsigned i = 0; i < count; i++) {
        const hone_image_desc *in = &planes[i].desc;
        hone_status status = hone_chain_output(chain, in, &out, error);
        if (status)
            return status;
        if (!GST_VIDEO_INFO_IS_YUV(&info))
            return judge_whole(effect, format, in, &out, error);
        if (out.width != in->width || out.height != in->height || out.type != in->type ||
            out.channels != in->channels)
            return refuse_result(
                in, &out, "planes of YUV keep their format: put videoconvert before for GRAY8 or RGB", error);
    }
    effect->out = format;
    return HONE_OK;
}

static hone_status check_inputs(const hone_chain *chain, hone_error *error)
{
    for (size_t i = 0; i < hone_chain_length(chain); i++) {
        const char *filter = hone_chain_filter(chain, i), *name = image_parameter(filter);
        const char *path = chain_second(chain, i);
        if (name && (!path || !*path))
            return refuse(error, HONE_ERROR_USAGE, "%s needs a second image: %s %s=FILE", filter, filter,
                          name);
    }
    return HONE_OK;
}

/* Judges all formats. If the chain takes none, the error says what is wrong with GRAY8. */
static hone_status judge_all(struct video_chain *chain, gboolean all, hone_error *error)
{
    gboolean any = FALSE;
    for (unsigned i = 0; i < FORMAT_COUNT; i++) {
        struct effect *effect = &chain->effects[i];
        hone_error reason;
        if (judge(effect, chain->chain, format_at(i), all, &reason) == HONE_OK) {
            any = TRUE;
            continue;
        }
        if (format_at(i) == GST_VIDEO_FORMAT_GRAY8 && error)
            *error = reason;
        effect->out = GST_VIDEO_FORMAT_UNKNOWN;
        effect->why = g_strdup(reason.message);
    }
    return any ? HONE_OK : error ? error->status : HONE_ERROR_UNSUPPORTED;
}

struct video_chain *video_chain_new(const char *text, gboolean all_planes, gboolean reproducible,
                                    hone_error *error)
{
    struct video_chain *made = g_new0(struct video_chain, 1);
    made->references = 1;
    made->text = g_strdup(text);
    hone_status status = hone_chain_parse(&made->chain, text, error);
    if (!status && reproducible)
        hone_chain_make_reproducible(made->chain);
    if (!status)
        status = check_inputs(made->chain, error);
    if (!status)
        status = judge_all(made, all_planes, error);
    if (!status)
        return made;
    video_chain_unref(made);
    return NULL;
}

struct video_chain *video_chain_ref(struct video_chain *chain)
{
    if (chain)
        g_atomic_int_inc(&chain->references);
    return chain;
}

void video_chain_unref(struct video_chain *chain)
{
    if (!chain || !g_atomic_int_dec_and_test(&chain->references))
        return;
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        g_free(chain->effects[i].why);
    hone_chain_destroy(&chain->chain);
    g_free(chain->text);
    g_free(chain);
}

const struct effect *video_chain_effect(const struct video_chain *chain, GstVideoFormat format)
{
    const unsigned index = format_index(format);
    return index < FORMAT_COUNT ? &chain->effects[index] : NULL;
}

/* ---- Changes ---- */

/* The next word of a chain or of changes, or NULL: a bar, or what stands up to a blank or bar outside of
 * quotes. */
static char *next_word(const char **at)
{
    const char *start = *at + strspn(*at, " \t\n"), *end = start;
    char quote = 0;
    if (*start == '|')
        end++;
    else
        for (; *end && (quote || !strchr(" \t\n|", *end)); end++) {
            if (quote ? *end == quote : *end == '"' || *end == '\'')
                quote = quote ? 0 : *end;
        }
    *at = end;
    return end > start ? g_strndup(start, (gsize)(end - start)) : NULL;
}

static char *canonical(const hone_chain *chain)
{
    const size_t length = hone_chain_text(chain, NULL, 0);
    char *text = g_malloc(length + 1);
    hone_chain_text(chain, text, length + 1);
    return text;
}

hone_status chain_before(const hone_chain *chain, size_t step, const hone_image_desc *in,
                         hone_image_desc *out, hone_error *error)
{
    hone_chain *before = NULL;
    char *text = canonical(chain);
    const char *at = text;
    size_t bars = 0;
    *out = *in;
    while (bars < step) {
        char *word = next_word(&at);
        bars += strcmp(word, "|") == 0;
        g_free(word);
    }
    if (step)
        text[at - text - 1] = '\0';
    hone_status status = step ? hone_chain_parse(&before, text, error) : HONE_OK;
    if (!status && step)
        status = hone_chain_output(before, in, out, error);
    hone_chain_destroy(&before);
    g_free(text);
    return status;
}

/* The text of a chain where the step's parameter, `length` bytes of `assignment`, has the value after it. */
static char *with_value(const char *chain, size_t step, const char *assignment, size_t length)
{
    GString *made = g_string_new(NULL);
    gboolean found = FALSE;
    size_t at_step = 0;
    for (char *word = next_word(&chain);; word = next_word(&chain)) {
        const gboolean ends = !word || strcmp(word, "|") == 0;
        if (ends && at_step++ == step && !found)
            g_string_append_printf(made, " %s", assignment);
        if (!word)
            return g_string_free(made, FALSE);
        const gboolean same = !ends && at_step == step && strncmp(word, assignment, length + 1) == 0;
        found = found || same;
        g_string_append_printf(made, "%s%s", made->len ? " " : "", same ? assignment : word);
        g_free(word);
    }
}

static hone_status find_step(size_t *step, const hone_chain *chain, const char *name, size_t length,
                             hone_error *error)
{
    size_t found = 0;
    for (size_t i = 0; i < hone_chain_length(chain); i++) {
        char number[24];
        g_snprintf(number, sizeof number, "%zu", i);
        const char *filter = hone_chain_filter(chain, i);
        if ((strlen(filter) == length && strncmp(filter, name, length) == 0) ||
            (strlen(number) == length && strncmp(number, name, length) == 0)) {
            *step = i;
            found++;
        }
    }
    if (found > 1)
        return refuse(error, HONE_ERROR_USAGE,
                      "the chain has %.*s %zu times; write the number of the step, from 0: %zu.NAME=VALUE",
                      (int)length, name, found, *step);
    return found ? HONE_OK
                 : refuse(error, HONE_ERROR_USAGE,
                          "the chain has no filter '%.*s'; FILTER.NAME=VALUE takes its filters", (int)length,
                          name);
}

/* Reads one "FILTER.NAME=VALUE" and notes it. */
static hone_status read_one(struct change *change, const hone_chain *chain, const char *word,
                            hone_error *error)
{
    const char *equals = strchr(word, '='), *dot = strchr(word, '.');
    size_t step = 0;
    if (!equals || equals == word)
        return refuse(error, HONE_ERROR_USAGE, "'%s' is no FILTER.NAME=VALUE, such as gaussian.sigma=4",
                      word);
    if (dot && dot < equals) {
        hone_status status = find_step(&step, chain, word, (size_t)(dot - word), error);
        if (status)
            return status;
        word = dot + 1;
    } else if (hone_chain_length(chain) > 1)
        return refuse(error, HONE_ERROR_USAGE,
                      "the chain has several filters, so '%s' needs the filter's name: FILTER.%s", word,
                      word);
    char *text = with_value(change->text, step, word, (size_t)(equals - word));
    char *parameters = change->parameters ? g_strconcat(change->parameters, " ", word, NULL) : g_strdup(word);
    change->one_step = !change->parameters || (change->one_step && step == change->step);
    change->step = step;
    g_free(change->text);
    g_free(change->parameters);
    change->text = text;
    change->parameters = parameters;
    return HONE_OK;
}

hone_status change_read(struct change *change, const struct video_chain *chain, const char *text,
                        hone_error *error)
{
    hone_status status = HONE_OK;
    *change = (struct change){.text = canonical(chain->chain)};
    for (char *word; !status && (word = next_word(&text)); g_free(word))
        status = read_one(change, chain->chain, word, error);
    if (!status && !change->parameters)
        status = refuse(error, HONE_ERROR_USAGE,
                        "nothing is set: write FILTER.NAME=VALUE, such as gaussian.sigma=4");
    if (status)
        change_finish(change);
    return status;
}

void change_finish(struct change *change)
{
    g_free(change->text);
    g_free(change->parameters);
    *change = (struct change){0};
}
