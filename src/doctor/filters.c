/* SPDX-License-Identifier: BSD-2-Clause */
/* The doctor's last look: does every filter give on this device what its reference in plain C gives? The
 * variant asked is the one that a plan would use. */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/choose.h"
#include "doctor/internal.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "filter/check.h"
#include "filter/registry.h"

#include <string.h>

/* How one filter fared. */
struct tally {
    const struct hone_filter *filter;
    hone_device *device;
    const char *parameters; /* "size=3 border=wrap" */
    unsigned right, wrong, impossible;
    struct text trouble; /* the first */
};

struct picture {
    uint32_t width, height;
};

static const struct picture pictures[] = {{67, 45}, {1, 1}, {3, 200}, {130, 5}};

static void note_trouble(struct tally *tally, const struct filter_case *c, const char *variant,
                         const char *what)
{
    struct text *text = &tally->trouble;
    if (text->length)
        return;
    case_describe(c, text);
    text_add(text, " on %ux%u %s x%u", c->in.width, c->in.height, hone_type_name(c->in.type), c->in.channels);
    text_add(text, "%s%s: %s", variant ? ", variant " : "", variant ? variant : "", what);
}

/* The first candidate whose kernels build, as in a plan. */
static hone_status find_choice(struct tally *tally, const struct filter_case *c, struct choice *choice,
                               hone_error *error)
{
    const struct choose_request request = {0};
    struct choice choices[MAX_CHOICES];
    size_t count = 0;
    hone_status status = choose(choices, &count, tally->device, c, &request, error);
    for (size_t i = 0; i < count; i++) {
        struct instance *instance = NULL;
        status = instance_create(&instance, tally->device, c, choices[i].variant, &choices[i].config, error);
        instance_destroy(&instance);
        *choice = choices[i];
        if (!status)
            break;
    }
    return status;
}

static bool check_pattern(struct tally *tally, const struct filter_case *c, const struct choice *choice,
                          enum pattern pattern)
{
    const struct check_layout layout = {.pad = 3, .offset = 5};
    struct check check;
    struct check_result result = {0};
    hone_error error;
    hone_status status = check_init(&check, tally->device, c, pattern, 1 + (uint32_t)pattern, &error);
    if (!status) {
        status = check_run(&check, tally->device, choice->variant, &choice->config, layout, &result, &error);
        check_finish(&check);
    }
    if (!status && !result.right) {
        struct text text = {0};
        check_explain(&result, &text);
        note_trouble(tally, c, choice->variant->name, text_view(&text));
        text_finish(&text);
    } else if (status) {
        note_trouble(tally, c, choice->variant->name, error.message);
    }
    return !status && result.right;
}

static void check_case(struct tally *tally, const struct filter_case *c)
{
    static const enum pattern patterns[] = {PATTERN_RANDOM, PATTERN_STEPS, PATTERN_IMPULSE, PATTERN_SPECIAL};
    struct choice choice;
    hone_error error;
    bool right = true;
    if (find_choice(tally, c, &choice, &error)) {
        note_trouble(tally, c, NULL, error.message);
        tally->impossible++;
        return;
    }
    for (size_t i = 0; i < COUNT_OF(patterns) && right; i++)
        right = check_pattern(tally, c, &choice, patterns[i]);
    tally->right += right;
    tally->wrong += !right;
}

/* False when the parameters do not make a case: then there is nothing to check. */
static bool check_format(struct tally *tally, hone_type type, uint32_t channels, struct picture picture,
                         hone_border border)
{
    const hone_image_desc desc = {
        .width = picture.width, .height = picture.height, .type = type, .channels = channels};
    struct filter_case c;
    hone_error error;
    if (case_init(&c, tally->filter, &error))
        return false;
    c.border = border;
    hone_status status = chain_parse_parameters(&c, tally->parameters, &error);
    THEN(status, case_prepare(&c, &desc, tally->filter->inputs > 1 ? &desc : NULL, &error));
    if (!status)
        check_case(tally, &c);
    else
        text_add(&tally->trouble, "%s", tally->trouble.length ? "" : error.message);
    case_finish(&c);
    return !status;
}

static void check_all(struct tally *tally)
{
    hone_border last = tally->filter->spatial ? HONE_BORDER_ZERO_OUTSIDE : HONE_BORDER_REPLICATE;
    for (int type = HONE_U8; type <= HONE_S16; type++)
        for (uint32_t channels = 1; channels <= 4; channels++)
            for (size_t i = 0; i < COUNT_OF(pictures); i++)
                for (int border = HONE_BORDER_REPLICATE; border <= (int)last; border++)
                    if ((tally->filter->types & 1u << type) && (tally->filter->channels & 1u << channels) &&
                        !check_format(tally, (hone_type)type, channels, pictures[i], (hone_border)border))
                        return;
}

/* In the format that is met most often, of those that the filter takes: compiling for each takes a while. */
static void check_one(struct tally *tally)
{
    static const struct {
        hone_type type;
        uint32_t channels;
    } formats[] = {{HONE_U8, 3}, {HONE_U8, 1}, {HONE_F32, 1}, {HONE_F32, 4}};
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if ((tally->filter->types & 1u << formats[i].type) &&
            (tally->filter->channels & 1u << formats[i].channels)) {
            check_format(tally, formats[i].type, formats[i].channels, pictures[0], HONE_BORDER_REPLICATE);
            return;
        }
}

static void tell_tally(struct doctor *doctor, const struct tally *t)
{
    int index = (int)hone_device_get_info(t->device)->index;
    const char *name = t->filter->name;
    unsigned cases = t->right + t->wrong + t->impossible;
    if (t->wrong)
        doctor_tell(doctor, DOCTOR_FILTERS, DOCTOR_WRONG, index, name,
                    "do not use this filter on this device, and please report it",
                    "wrong in %u of %u cases: %s", t->wrong, cases, text_view(&t->trouble));
    else if (t->impossible)
        doctor_tell(doctor, DOCTOR_FILTERS, DOCTOR_WRONG, index, name, "use another device for it",
                    "cannot run in %u of %u cases: %s", t->impossible, cases, text_view(&t->trouble));
    else if (cases == 0)
        doctor_tell(doctor, DOCTOR_FILTERS, DOCTOR_NOTE, index, name, NULL, "not checked: %s",
                    t->trouble.length ? text_view(&t->trouble) : "it takes none of the formats tried");
    else
        doctor_tell(doctor, DOCTOR_FILTERS, DOCTOR_FINE, index, name, NULL, "right in %u case%s", cases,
                    cases == 1 ? "" : "s");
}

/* The first of the parameters that tests try, in a thorough examination all of them. */
static void check_filter(struct tally *tally, bool thorough)
{
    static const char *const defaults[] = {"", NULL};
    const char *const *trials = tally->filter->trials ? tally->filter->trials : defaults;
    for (size_t i = 0; trials[i] && (i == 0 || thorough); i++) {
        tally->parameters = trials[i];
        if (thorough)
            check_all(tally);
        else
            check_one(tally);
    }
}

bool doctor_wants_filter(const struct doctor *doctor, const char *name)
{
    const struct doctor_request *request = doctor->request;
    for (size_t i = 0; i < request->filter_count; i++) {
        const struct hone_filter *asked = registry_find(request->filters[i]);
        if (asked && strcmp(asked->name, name) == 0)
            return true;
    }
    return request->filter_count == 0;
}

static size_t count_wanted(const struct doctor *doctor)
{
    const struct hone_filter *filter;
    size_t count = 0;
    for (size_t i = 0; (filter = registry_any_at(i)); i++)
        count += doctor_wants_filter(doctor, filter->name);
    return count;
}

void doctor_look_at_filters(struct doctor *doctor, hone_device *device)
{
    const struct hone_filter *filter;
    const size_t count = count_wanted(doctor);
    size_t number = 0;
    for (size_t i = 0; (filter = registry_any_at(i)); i++) {
        if (!doctor_wants_filter(doctor, filter->name))
            continue;
        struct tally tally = {.filter = filter, .device = device};
        doctor_begin(doctor, "%s on device %u (%zu of %zu)", filter->name,
                     hone_device_get_info(device)->index, ++number, count);
        check_filter(&tally, doctor->request->thorough);
        tell_tally(doctor, &tally);
        text_finish(&tally.trouble);
    }
}
