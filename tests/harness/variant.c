/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a variant and comparing it with its reference. */
#include "harness.h"

#include "base/mem.h"
#include "cl/selftest.h"
#include "filter/registry.h"
#include "image/pattern.h"
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_FAILURES = 12 };

void report_finish(struct report *report)
{
    text_finish(&report->text);
    text_finish(&report->refusals);
}

void report_add(struct report *report, const char *format, ...)
{
    char line[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (report->failures++ < SHOWN_FAILURES)
        text_add(&report->text, "%s\n", line);
}

void report_refuse(struct report *report, const hone_error *error)
{
    text_finish(&report->refusals);
    text_add(&report->refusals, "%s", error->message);
}

/* ---- Pictures ---- */

struct size {
    uint32_t width, height;
};

/* Smaller than windows, one line, primes, wider than any work-group's row, several bands; three channels of
 * 22, 11 and 6 pixels are a vector of 64 bytes and one or two elements of u8, u16 and f32. */
static const struct size sizes[] = {{1, 1},  {3, 2},  {2, 3},    {11, 5},  {6, 17},  {22, 33},
                                    {64, 1}, {1, 64}, {127, 13}, {257, 9}, {131, 43}};
static const struct size tiny_sizes[] = {{3, 2}, {17, 5}, {8, 9}, {131, 43}};

/* Where results depend on all before them, so that a GPU's work-groups wait for many others. */
static const struct size far_size = {1037, 1033};

/* Rows that begin where vectors may: nothing is copied aside, by copies that a simulator takes for no
 * writing. One row, where the parameters are not the first: simulated windows take seconds. */
static const struct size least_sizes[] = {{64, 3}}, row_sizes[] = {{64, 1}};

static const struct check_layout layouts[] = {{.pad = 0},    {.pad = 5, .offset = 3},
                                              {.shift = 1},  {.pad = 1},
                                              {.offset = 7}, {.pad = 16, .offset = 16, .shift = 3}};

/* Pictures of one shape, for all configurations. */
enum { MAX_PICTURES = 24 };

struct gallery {
    hone_device *device;
    struct picture pictures[MAX_PICTURES];
    size_t count;
};

bool harness_picture(struct picture *picture, hone_device *device, const struct hone_filter *filter,
                     const struct variant *variant, const struct shape *shape, uint32_t width,
                     uint32_t height, enum pattern pattern, uint32_t seed, struct report *report)
{
    struct filter_case c;
    hone_error error;
    hone_status status = shape_case(&c, filter, variant, shape, width, height, &error);
    if (status == HONE_ERROR_UNSUPPORTED || status == HONE_ERROR_USAGE) {
        /* A filter may refuse a format or size, if it says so; that it refuses all is noticed in the end. */
        report_refuse(report, &error);
        return false;
    }
    if (!status) {
        status = check_init(&picture->check, device, &c, pattern, seed, &error);
        case_finish(&c);
    }
    if (status)
        report_add(report, "%s '%s': %s", filter->name, shape->parameters, error.message);
    picture->pattern = pattern;
    return status == HONE_OK;
}

static void add_picture(struct gallery *gallery, const struct hone_filter *filter,
                        const struct variant *variant, const struct shape *shape, struct size size,
                        enum pattern pattern, unsigned turn, struct report *report)
{
    REQUIRE(gallery->count < MAX_PICTURES);
    struct picture *picture = &gallery->pictures[gallery->count];
    picture->layout = layouts[turn % COUNT_OF(layouts)];
    gallery->count += harness_picture(picture, gallery->device, filter, variant, shape, size.width,
                                      size.height, pattern, turn + 1, report);
}

/* The last and largest not where loops end before they should, nor where a simulator would take minutes. */
static const struct size *sizes_for(hone_device *device, enum effort effort, bool first, size_t *count)
{
    if (effort == EFFORT_LEAST) {
        *count = 1;
        return first ? least_sizes : row_sizes;
    }
    *count = effort <= EFFORT_TINY ? COUNT_OF(tiny_sizes) : COUNT_OF(sizes);
    *count -= effort == EFFORT_TINY || !selftest_holds(device, SELFTEST_LOOPS);
    return effort <= EFFORT_TINY ? tiny_sizes : sizes;
}

static bool wants_far(hone_device *device, const struct hone_filter *filter, enum effort effort, bool first)
{
    return first && filter->reads == READS_BEFORE && effort != EFFORT_LEAST && effort != EFFORT_TINY &&
           hone_device_get_info(device)->kind == HONE_DEVICE_GPU;
}

/* Every size with contents taking turns; NaN and infinity in every picture of floats; `first` of the
 * parameters; `thorough`: every content at one size, too. */
static void open_gallery(struct gallery *gallery, const struct hone_filter *filter,
                         const struct variant *variant, const struct shape *shape, enum effort effort,
                         bool first, bool thorough, unsigned turn, struct report *report)
{
    size_t count;
    const struct size *list = sizes_for(gallery->device, effort, first, &count);
    gallery->count = 0;
    for (size_t i = 0; i < count; i++, turn++)
        add_picture(gallery, filter, variant, shape, list[i], (enum pattern)(turn % PATTERN_COUNT),
                    effort == EFFORT_LEAST ? 0 : turn, report);
    if (wants_far(gallery->device, filter, effort, first))
        add_picture(gallery, filter, variant, shape, far_size, PATTERN_RANDOM, turn++, report);
    for (int pattern = 0; pattern < PATTERN_COUNT && effort > EFFORT_LEAST; pattern++, turn++)
        if (thorough || (pattern == PATTERN_SPECIAL && shape->type == HONE_F32))
            add_picture(gallery, filter, variant, shape, list[count / 2], (enum pattern)pattern, turn,
                        report);
    for (size_t i = 0; i < gallery->count; i++)
        gallery->pictures[i].layout.keep_scratch = effort == EFFORT_LEAST;
}

static void close_gallery(struct gallery *gallery)
{
    for (size_t i = 0; i < gallery->count; i++)
        check_finish(&gallery->pictures[i].check);
    gallery->count = 0;
}

/* ---- Running ---- */

static void explain(struct report *report, const struct picture *picture, const struct variant *variant,
                    const struct config *config, const struct check_result *result)
{
    struct text text = {0}, settings = {0}, why = {0};
    const hone_image_desc *in = &picture->check.c.in;
    case_describe(&picture->check.c, &text);
    config_print(variant, config, &settings);
    check_explain(result, &why);
    report_add(report, "%s, variant %s [%s], %ux%u %s x%u, %s, rows +%zu, offset %zu, shift %zu: %s",
               text_view(&text), variant->name, text_view(&settings), in->width, in->height,
               hone_type_name(in->type), in->channels, pattern_name(picture->pattern), picture->layout.pad,
               picture->layout.offset, picture->layout.shift, text_view(&why));
    text_finish(&text);
    text_finish(&settings);
    text_finish(&why);
}

hone_status harness_compare(const struct picture *picture, hone_device *device, const struct variant *variant,
                            const struct config *config, struct report *report)
{
    struct check_result result;
    hone_error error;
    hone_status status = config_legal(device, &picture->check.c, variant, config, &error);
    if (!status)
        status = check_run(&picture->check, device, variant, config, picture->layout, &result, &error);
    if (status == HONE_ERROR_UNSUPPORTED) {
        report_refuse(report, &error);
    } else if (status) {
        report_add(report, "%s, variant %s: %s %s", picture->check.c.filter->name, variant->name,
                   error.message, error.log);
    } else {
        report->runs++;
        if (!result.right)
            explain(report, picture, variant, config, &result);
    }
    return status;
}

/* The variant at one configuration over a gallery. False when it cannot run at all on this device. */
static bool run_config(const struct gallery *gallery, hone_device *device, const struct variant *variant,
                       const struct config *config, struct report *report)
{
    bool ran = false;
    for (size_t i = 0; i < gallery->count; i++) {
        const hone_status status = harness_compare(&gallery->pictures[i], device, variant, config, report);
        if (status && status != HONE_ERROR_UNSUPPORTED)
            return true; /* it does not build: once is enough */
        ran = ran || !status;
    }
    report->programs += ran;
    report->refused += !ran;
    return ran;
}

static bool is_usable(const struct gallery *gallery, hone_device *device, const struct variant *variant,
                      struct report *report)
{
    hone_error error;
    for (size_t i = 0; i < gallery->count; i++) {
        if (variant_usable(device, &gallery->pictures[i].check.c, variant, &error) == HONE_OK)
            return true;
        report_refuse(report, &error);
    }
    report->refused++;
    return false;
}

/* The configuration for trying formats: the default, or where the device cannot run that, the first that it
 * can. What its compiler makes may allow smaller work-groups than any configuration has. */
static const struct config *base_config(const struct gallery *gallery, hone_device *device,
                                        const struct variant *variant, const struct config *configs,
                                        size_t count, struct report *report)
{
    hone_error error;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < gallery->count; k++) {
            const struct filter_case *c = &gallery->pictures[k].check.c;
            struct instance *instance = NULL;
            if (config_legal(device, c, variant, &configs[i], NULL) != HONE_OK)
                continue;
            if (instance_create(&instance, device, c, variant, &configs[i], &error) !=
                HONE_ERROR_UNSUPPORTED) {
                instance_destroy(&instance);
                return &configs[i];
            }
            report_refuse(report, &error);
            report->needs_driver = true;
        }
    return NULL;
}

/* Whether programs are the same: only what is given at a launch differs. */
static bool differs_in_launch(const struct variant *variant, const struct config *a, const struct config *b)
{
    for (size_t i = 0; i < variant_tunable_count(variant); i++)
        if (a->values[i] != b->values[i] && variant->tunables[i].kind != TUNABLE_LAUNCH)
            return false;
    return true;
}

/* Configurations beside `base`, from number `turn` on: one, or by default all that need no other program, or
 * where that may take long, any one. */
static void run_turns(const struct gallery *gallery, hone_device *device, const struct variant *variant,
                      enum effort effort, const struct config *base, const struct config *configs,
                      size_t count, size_t turn, struct report *report)
{
    for (size_t k = 0; k < count; k++) {
        const struct config *config = &configs[(turn + k) % count];
        if (config == base || (effort < EFFORT_ALL && !differs_in_launch(variant, config, base)))
            continue;
        run_config(gallery, device, variant, config, report);
        if (effort != EFFORT_DEFAULT)
            return;
    }
}

static void run_shapes(const struct hone_filter *filter, const struct variant *variant, hone_device *device,
                       enum effort effort, const struct shape *shapes, size_t shape_count,
                       const struct config *configs, size_t config_count, struct report *report)
{
    struct gallery gallery = {.device = device};
    bool configured = false;
    const struct config *base = NULL;
    for (size_t i = 0; i < shape_count; i++) {
        open_gallery(&gallery, filter, variant, &shapes[i], effort,
                     shapes[i].parameters == shapes[0].parameters, i == 0 || effort == EFFORT_ALL,
                     (unsigned)i, report);
        if (is_usable(&gallery, device, variant, report)) {
            if (!base)
                base = base_config(&gallery, device, variant, configs, config_count, report);
            bool ran = base && run_config(&gallery, device, variant, base, report);
            /* All configurations at the first shape that runs, and at its last pictures only. */
            for (size_t k = 0; ran && !configured && k < config_count; k++)
                if (&configs[k] != base)
                    run_config(&gallery, device, variant, &configs[k], report);
            if (ran && configured && effort > EFFORT_LEAST)
                run_turns(&gallery, device, variant, effort, base, configs, config_count, i, report);
            configured = configured || ran;
        }
        close_gallery(&gallery);
        if (report->failures > 100)
            return; /* thoroughly broken */
    }
}

/* Whether a condition speaks of the device, so that another device may keep it. */
static bool speaks_of_device(const char *condition)
{
    static const char *const names[] = {"CPU",     "GPU",    "CU",   "MAXWG", "LMEM", "VENDOR", "WARP",
                                        "UNIFIED", "IMAGES", "HALF", "WIDE",  "PTX",  "SM",     "SUBGROUPS"};
    struct expr expr;
    if (!condition || expr_parse(&expr, condition, NULL) != HONE_OK)
        return false;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (expr_mentions(&expr, names[i]))
            return true;
    return false;
}

static bool lacks_a_need(const struct variant *variant, hone_device *device)
{
    static const struct {
        unsigned need;
        enum selftest_item item;
    } needs[] = {{NEEDS_IMAGES, SELFTEST_IMAGES},       {NEEDS_HALF, SELFTEST_HALF},
                 {NEEDS_WIDE, SELFTEST_WIDE},           {NEEDS_PTX, SELFTEST_PTX},
                 {NEEDS_SUBGROUPS, SELFTEST_SUBGROUPS}, {NEEDS_LOCAL, SELFTEST_LOCAL},
                 {NEEDS_PROGRESS, SELFTEST_PROGRESS}};
    for (size_t i = 0; i < COUNT_OF(needs); i++)
        if ((variant->needs & needs[i].need) && !selftest_holds(device, needs[i].item))
            return true;
    return (variant->needs & NEEDS_DOUBLE) && !hone_device_get_info(device)->fp64;
}

void harness_variant(const struct hone_filter *filter, const struct variant *variant, hone_device *device,
                     enum effort effort, struct report *report)
{
    static char texts[MAX_TRIALS][MAX_TRIAL_TEXT];
    struct shape *shapes = NULL;
    struct config *configs = NULL;
    size_t text_count = harness_trials(filter, texts);
    size_t shape_count = harness_shapes(filter, effort, texts, text_count, &shapes);
    size_t config_count = harness_configs(filter, variant, effort, &configs);
    /* Oclgrind 21.10 takes what is copied from a buffer to an image for uninitialised. */
    bool blind = effort == EFFORT_LEAST && (variant->needs & NEEDS_IMAGES);
    if (blind)
        text_add(&report->refusals, "the simulator does not follow copies to images");
    else
        run_shapes(filter, variant, device, effort, shapes, shape_count, configs, config_count, report);
    report->needs_driver = report->needs_driver || blind || lacks_a_need(variant, device) ||
                           speaks_of_device(variant->condition);
    if (report->runs == 0 && !report->needs_driver && report->failures == 0)
        report_add(report, "variant %s of %s never ran: %s", variant->name, filter->name,
                   text_view(&report->refusals));
    free(shapes);
    free(configs);
}
