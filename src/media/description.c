/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/description.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t\r\n");
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The list of the member "shape" of a JSON object, from its bracket on; NULL: there is none. */
static const char *shape_of(const char *text)
{
    static const char name[] = "\"shape\"";
    for (const char *at = *skip_space(text) == '{' ? text : NULL; at && (at = strstr(at, name));) {
        at = skip_space(at + strlen(name));
        if (*at == ':' && *skip_space(at + 1) == '[')
            return skip_space(at + 1);
    }
    return NULL;
}

enum description_kind description_kind(const char *text)
{
    const char *at = skip_space(text);
    if (begins(at, "ImageJ="))
        return DESCRIPTION_IMAGEJ;
    if (begins(at, "<OME") || (begins(at, "<?xml") && strstr(at, "<OME")))
        return DESCRIPTION_OME;
    if (shape_of(at))
        return DESCRIPTION_SHAPED;
    return DESCRIPTION_PLAIN;
}

const char *description_name(enum description_kind kind)
{
    static const char *const names[] = {"plain text", "ImageJ", "OME-XML", "tifffile"};
    return names[kind];
}

/* ---- ImageJ: lines of name=value ---- */

/* How many pages there are, and how a hyperstack orders them. */
static bool counts_pages(const char *line)
{
    static const char *const names[] = {
        "images=", "channels=", "slices=", "frames=", "hyperstack=", "mode=", "loop="};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (begins(line, names[i]))
            return true;
    return false;
}

static bool imagej_holds(const char *text, unsigned pages)
{
    const char *images = strstr(text, "\nimages=");
    return pages > 1 && images && strtoul(images + strlen("\nimages="), NULL, 10) == pages;
}

static void imagej_of_pages(struct text *out, const char *text, unsigned pages)
{
    for (const char *line = skip_space(text); *line;) {
        const size_t length = strcspn(line, "\n");
        const bool first = begins(line, "ImageJ=");
        if (!counts_pages(line))
            text_add(out, "%.*s\n", (int)length, line);
        if (first)
            text_add(out, "images=%u\n", pages);
        if (first && pages > 1)
            text_add(out, "slices=%u\n", pages);
        line += length + (line[length] == '\n');
    }
}

/* ---- OME-XML ---- */

/* The value of an attribute, still with its entities; length 0 where there is none. */
struct value {
    const char *at;
    int length;
};

/* The first element of this name, from '<' on; *end is its '>'. NULL: there is none. */
static const char *find_element(const char *text, const char *name, const char **end)
{
    const size_t length = strlen(name);
    for (const char *at = text; (at = strchr(at, '<')); at++)
        if (strncmp(at + 1, name, length) == 0 && strchr(" \t\r\n/>", at[length + 1])) {
            *end = strchr(at, '>');
            return *end ? at : NULL;
        }
    return NULL;
}

static struct value attribute(const char *element, const char *end, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = element; at + length + 2 < end; at++) {
        if (!strchr(" \t\r\n", *at) || strncmp(at + 1, name, length) != 0 || at[length + 1] != '=')
            continue;
        const char quote = at[length + 2], *value = at + length + 3;
        const char *close =
            quote == '"' || quote == '\'' ? memchr(value, quote, (size_t)(end - value)) : NULL;
        if (close)
            return (struct value){value, (int)(close - value)};
    }
    return (struct value){"", 0};
}

static bool is_number(struct value value, uint32_t number)
{
    char text[16];
    const int length = snprintf(text, sizeof text, "%u", number);
    return value.length == length && memcmp(value.at, text, (size_t)length) == 0;
}

static const char *ome_type(hone_type type)
{
    static const char *const names[] = {[HONE_U8] = "uint8",
                                        [HONE_U16] = "uint16",
                                        [HONE_F32] = "float",
                                        [HONE_S16] = "int16",
                                        [HONE_U32] = "uint32"};
    return names[type];
}

/* How pages are ordered: channels (those of a pixel together), depth, time. */
struct order {
    unsigned long c, z, t;
};

static unsigned long number_of(struct value value)
{
    char text[16] = "";
    if (value.length > 0 && value.length < (int)sizeof text)
        memcpy(text, value.at, (size_t)value.length);
    return strtoul(text, NULL, 10);
}

/* What the text says, where that is as many pages as there are; else a pile of them. */
static struct order ome_order(const char *text, const hone_image_desc *desc, unsigned pages, bool *told)
{
    const unsigned long most = 1 << 20, wanted = (unsigned long)pages * desc->channels;
    const char *end = "", *pixels = find_element(text, "Pixels", &end);
    const bool one = pixels && !find_element(end, "Pixels", &(const char *){NULL});
    const struct order order = one ? (struct order){number_of(attribute(pixels, end, "SizeC")),
                                                    number_of(attribute(pixels, end, "SizeZ")),
                                                    number_of(attribute(pixels, end, "SizeT"))}
                                   : (struct order){0};
    *told = order.c && order.c <= most && order.z <= most && order.t <= most &&
            order.c % desc->channels == 0 && order.c * order.z <= wanted &&
            order.c * order.z * order.t == wanted && attribute(pixels, end, "DimensionOrder").length == 5 &&
            !strstr(text, "FileName");
    return *told ? order : (struct order){desc->channels, pages, 1};
}

/* The size of a pixel: the same attributes of both directions, in pairs. */
static const char *const sides[][2] = {{"PhysicalSizeX", "PhysicalSizeY"},
                                       {"PhysicalSizeXUnit", "PhysicalSizeYUnit"}};

static bool is_square(const char *pixels, const char *end)
{
    bool same = true;
    for (size_t i = 0; i < COUNT_OF(sides); i++) {
        const struct value x = attribute(pixels, end, sides[i][0]), y = attribute(pixels, end, sides[i][1]);
        same = same && x.length == y.length && memcmp(x.at, y.at, (size_t)x.length) == 0;
    }
    return same;
}

static bool ome_holds(const char *text, const hone_image_desc *desc, unsigned pages, bool turned)
{
    bool told;
    const char *end = "", *pixels = find_element(text, "Pixels", &end);
    ome_order(text, desc, pages, &told);
    if (!told || (turned && !is_square(pixels, end)))
        return false;
    const struct value type = attribute(pixels, end, "Type");
    const char *own = ome_type(desc->type);
    return is_number(attribute(pixels, end, "SizeX"), desc->width) &&
           is_number(attribute(pixels, end, "SizeY"), desc->height) && (size_t)type.length == strlen(own) &&
           memcmp(type.at, own, strlen(own)) == 0;
}

/* The value of an attribute, as that of another name. */
static void rename_attribute(struct text *out, const char *element, const char *end, const char *from,
                             const char *name)
{
    const struct value value = element ? attribute(element, end, from) : (struct value){"", 0};
    if (value.length > 0 && !memchr(value.at, '<', (size_t)value.length) &&
        !memchr(value.at, '"', (size_t)value.length))
        text_add(out, " %s=\"%.*s\"", name, value.length, value.at);
}

static void keep_attribute(struct text *out, const char *element, const char *end, const char *name)
{
    rename_attribute(out, element, end, name, name);
}

/* A channel of one sample for each page; those of a pixel belong together. Names stay where they fit. */
static void ome_channels(struct text *out, const char *text, const hone_image_desc *desc,
                         unsigned long channels)
{
    const char *end = text, *channel = text;
    for (unsigned long i = 0; i < channels / desc->channels; i++) {
        channel = channel ? find_element(end, "Channel", &end) : NULL;
        text_add(out, "%s<Channel ID=\"Channel:0:%lu\" SamplesPerPixel=\"%u\"", i ? "" : ">", i,
                 desc->channels);
        keep_attribute(out, channel, end, "Name");
        text_add(out, "/>");
    }
}

static void ome_of_pages(struct text *out, const char *text, const hone_image_desc *desc, unsigned pages,
                         bool turned)
{
    static const char *const kept[] = {"PhysicalSizeZ", "PhysicalSizeZUnit", "TimeIncrement",
                                       "TimeIncrementUnit"};
    const char *image_end = "", *pixels_end = "";
    const char *image = find_element(text, "Image", &image_end);
    const char *pixels = find_element(text, "Pixels", &pixels_end);
    bool told;
    const struct order order = ome_order(text, desc, pages, &told);
    const struct value axes =
        told ? attribute(pixels, pixels_end, "DimensionOrder") : (struct value){"XYCZT", 5};
    text_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                  "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
                  "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                  "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
                  "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\">"
                  "<Image ID=\"Image:0\"");
    keep_attribute(out, image, image_end, "Name");
    text_add(out,
             "><Pixels ID=\"Pixels:0\" DimensionOrder=\"%.*s\" Type=\"%s\" SizeX=\"%u\" SizeY=\"%u\" "
             "SizeC=\"%lu\" SizeZ=\"%lu\" SizeT=\"%lu\"%s",
             axes.length, axes.at, ome_type(desc->type), desc->width, desc->height, order.c, order.z, order.t,
             desc->channels > 1 || pages == 1 ? " Interleaved=\"true\"" : "");
    for (size_t i = 0; i < 2 * COUNT_OF(sides); i++)
        rename_attribute(out, pixels, pixels_end, sides[i / 2][i % 2 ^ turned], sides[i / 2][i % 2]);
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        keep_attribute(out, pixels, pixels_end, kept[i]);
    ome_channels(out, text, desc, order.c);
    text_add(out, "<TiffData IFD=\"0\" PlaneCount=\"%u\"/></Pixels></Image></OME>", pages);
}

/* ---- tifffile ---- */

/* Whether the numbers are those of the pages: rows, columns and channels last, before them anything whose
 * product is the number of pages. */
static bool shaped_holds(const char *text, const hone_image_desc *desc, unsigned pages)
{
    enum { MOST = 16 };
    unsigned long sizes[MOST], product = 1;
    size_t count = 0;
    const char *at = shape_of(text);
    const size_t own = desc->channels > 1 ? 3 : 2;
    for (char *end; at && *at != ']' && count < MOST; at = end) {
        at += strspn(at, "[, ");
        sizes[count] = strtoul(at, &end, 10);
        if (end == at || !sizes[count])
            return false;
        count++;
    }
    if (!at || *at != ']' || count < own + (pages > 1) || (own == 3 && sizes[count - 1] != desc->channels) ||
        sizes[count - own] != desc->height || sizes[count - own + 1] != desc->width)
        return false;
    for (size_t i = 0; i + own < count; i++)
        product = product > pages ? product : product * sizes[i];
    return product == pages;
}

static void shaped_of_pages(struct text *out, const hone_image_desc *desc, unsigned pages)
{
    text_add(out, "{\"shape\": [");
    if (pages > 1)
        text_add(out, "%u, ", pages);
    text_add(out, "%u, %u", desc->height, desc->width);
    if (desc->channels > 1)
        text_add(out, ", %u", desc->channels);
    text_add(out, "]}");
}

char *description_of_pages(const char *text, const hone_image_desc *desc, unsigned pages, bool turned)
{
    const enum description_kind kind = description_kind(text);
    struct text out = {0};
    if (kind == DESCRIPTION_PLAIN || (kind == DESCRIPTION_IMAGEJ && imagej_holds(text, pages)) ||
        (kind == DESCRIPTION_OME && ome_holds(text, desc, pages, turned)) ||
        (kind == DESCRIPTION_SHAPED && shaped_holds(text, desc, pages)))
        return mem_copy_text(text);
    if (kind == DESCRIPTION_IMAGEJ)
        imagej_of_pages(&out, text, pages);
    else if (kind == DESCRIPTION_OME)
        ome_of_pages(&out, text, desc, pages, turned);
    else
        shaped_of_pages(&out, desc, pages);
    char *result = text_take(&out);
    text_finish(&out);
    return result;
}
