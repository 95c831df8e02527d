/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to names of filters that there are not. */
#include "filter/registry.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>

/* What people call filters elsewhere, and what does such a thing here, or where else it is done. */
static const struct hint {
    const char *words, *answer;
} hints[] = {
    {"blur smooth soften gauss gblur gaussblur gaussianblur", "'gaussian' and 'box' blur"},
    {"mean average boxblur", "'box' takes the mean of a window"},
    {"sharpen unsharp usm unsharp-mask", "'convolve' sharpens with its default kernel"},
    {"median despeckle denoise bilateral nlmeans nlm selective-blur surface-blur",
     "'epsilon' smooths and keeps edges"},
    {"edge edges canny laplace laplacian prewitt scharr roberts gradient",
     "'sobel' finds edges, and 'convolve' takes the kernel of any other mask"},
    {"emboss kernel filter conv conv2d correlate correlation convolution filter2d",
     "'convolve' takes any kernel"},
    {"hist counts", "'histogram' counts values"},
    {"sat cumsum summed-area", "'integral' sums all pixels up to each one"},
    {"debayer bayer raw", "'demosaic' makes colours of a Bayer pattern"},
    {"blend composite sum plus", "'add' sums two images"},
    {"lut palette falsecolor falsecolour pseudocolor heatmap jet", "'colormap' shows intensity as colour"},
    {"rotate rot flip flop mirror turn",
     "'transpose' exchanges rows and columns; 'vips rot' and 'vips flip' do the rest"},
    {"resize scale shrink thumbnail enlarge zoom crop extract trim",
     "hone keeps the size of images; 'vips resize' and 'vips crop' change it"},
    {"levels curves gamma contrast brightness normalize normalise equalize equalise invert negate linear",
     "hone does not change tones; 'vips gamma', 'vips linear' and 'vips invert' do"},
    {"grey grayscale greyscale luma luminance desaturate monochrome", "'gray' makes one channel of colours"},
    {"hsv lab saturation colorspace colourspace",
     "'gray' makes one channel of colours; 'vips colourspace' converts others"},
    {"erode dilate morphology open close",
     "hone has no morphology; 'vips morph' and ImageMagick's -morphology do"},
};

static const char *hint_for(const char *name)
{
    char small[64];
    size_t length = 0;
    for (; name[length] && length + 1 < sizeof small; length++)
        small[length] = name[length] == '_' ? '-' : (char)tolower((unsigned char)name[length]);
    small[length] = '\0';
    for (size_t i = 0; i < COUNT_OF(hints); i++)
        if (length && text_has_word(hints[i].words, small))
            return hints[i].answer;
    return NULL;
}

void registry_answer_unknown(const char *name, struct text *message)
{
    const char *hint = hint_for(name);
    const struct hone_filter *near = hint ? NULL : registry_nearest(name);
    struct text all = {0};
    for (size_t i = 0; registry_at(i); i++)
        text_add(&all, "%s%s", i ? ", " : "", registry_at(i)->name);
    text_add(message, "there is no filter '%s'", name);
    if (hint)
        text_add(message, "; %s. There are %s", hint, text_view(&all));
    else
        text_add_choices(message, near ? near->name : NULL, "there are", text_view(&all));
    text_finish(&all);
}
