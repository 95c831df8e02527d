/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters that are broken on purpose: each fault must be found, and by the check that is there for it. */
#include "harness/harness.h"

#include "base/mem.h"
#include "filter/registry.h"
#include "support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The play filter ---- */

static double mean_of_three(const struct filter_case *c, const struct view *in, int64_t x, int64_t y,
                            uint32_t channel)
{
    double sum = 0;
    for (int64_t i = x - 1; i <= x + 1; i++)
        sum += view_border_get(in, c->border, c->border_value, i, y, channel);
    return c->in.type == HONE_F32 ? sum / 3 : floor((2 * sum + 3) / 6);
}

static void reference(const struct filter_case *c, const struct view *in, const struct view *second,
                      struct view *out)
{
    (void)second;
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++) {
                double value = mean_of_three(c, in, x, y, channel);
                if (c->border == HONE_BORDER_ZERO_OUTSIDE && view_window_leaves(&c->in, x, y, 1, 1, 0, 0))
                    value = 0;
                bool copied = channel == 3 && case_copies_alpha(c);
                view_set(out, x, y, channel, copied ? view_get(in, x, y, 3) : value);
            }
}

#define COMMON(name_)                                                                                        \
    .name = #name_, .summary = "for tests", .path = "buffer", .cost = {"2*C*BITS/8", "3*C", "3*C"}
#define ARGUMENTS "in", "out", "W", "H", "border"
#define PLAIN(name_)                                                                                         \
    {                                                                                                        \
        COMMON(name_), .passes = {                                                                           \
            {.kernel = "blur3_" #name_, .local = {"16", "2"}, .arguments = {ARGUMENTS}}                      \
        }                                                                                                    \
    }
#define LOCAL(name_)                                                                                         \
    {                                                                                                        \
        COMMON(name_), .passes = {                                                                           \
            {.kernel = "blur3_" #name_, .local = {"16", "1"}, .arguments = {ARGUMENTS, "local:64"}}          \
        }                                                                                                    \
    }

static const struct variant variants[] = {
    PLAIN(right),
    PLAIN(border),
    PLAIN(column),
    PLAIN(unwritten),
    {COMMON(stale), .scratch = {{.bytes = "4*W*H"}},
     .passes = {{.kernel = "blur3_stale", .local = {"16", "2"}, .arguments = {ARGUMENTS, "tmp0"}}}},
    PLAIN(overrun),
    PLAIN(read_before),
    PLAIN(read_behind),
    PLAIN(write_behind),
    PLAIN(write_slack),
    PLAIN(aligned),
    LOCAL(race),
    LOCAL(uninitialised),
    LOCAL(divergent),
    PLAIN(nan),
    PLAIN(rounding),
    {COMMON(half_covered), .passes = {{.kernel = "blur3_half_covered",
                                       .block = {"2", "1"},
                                       .local = {"16", "2"},
                                       .arguments = {ARGUMENTS}}}},
    {COMMON(arguments), .passes = {{.kernel = "blur3_arguments", .arguments = {ARGUMENTS, "W*H"}}}},
    PLAIN(kinds),
    {COMMON(defaults), .tunables = {{"ROWS", TUNABLE_DEFINE, "1 4", "rows"}},
     .passes = {{.kernel = "blur3_defaults", .arguments = {ARGUMENTS}}}},
    {COMMON(unguarded), .tunables = {{"LINES", TUNABLE_DEFINE, "1 2", "lines"}},
     .passes = {{.kernel = "blur3_unguarded", .arguments = {ARGUMENTS}}}},
    {COMMON(compiled_in), .defines = {"WEIGHT=weight"},
     .passes = {{.kernel = "blur3_compiled_in", .arguments = {ARGUMENTS}}}},
    {COMMON(syntax), .source = "syntax.cl", .passes = {{.kernel = "blur3_syntax", .arguments = {ARGUMENTS}}}},
    {COMMON(missing_kernel), .passes = {{.kernel = "blur3_nowhere", .arguments = {ARGUMENTS}}}},
};

static const char *const trials[] = {"", "weight=3", NULL};

static const struct hone_filter blur3 = {
    .name = "blur3",
    .summary = "mean of three pixels in a row",
    .origin = "tests",
    .types = TYPES_ALL,
    .channels = CHANNELS_ALL,
    .inputs = 1,
    .spatial = true,
    .window = {"1", "1"},
    .parameters = {{.name = "weight",
                    .kind = PARAMETER_INTEGER,
                    .fallback = "2",
                    .min = 1,
                    .max = 9,
                    .help = "changes nothing"}},
    .examples = {{"softer", "'blur3' in.png -o out.png"}, {"the same", "'blur3 weight=3' in.png -o out.png"}},
    .reference = reference,
    .bounds = {0, 0, 1e-6},
    .variants = variants,
    .variant_count = COUNT_OF(variants),
    .trials = trials,
};

static hone_device *open_with_kernels(void)
{
    static char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", support_kernel_folder("blur3", "tests/broken"));
    const hone_device_request request = {.kernel_folder = folder, .no_disk_cache = true};
    return support_open(&request);
}

/* ---- Checkers ---- */

static const struct variant *find(const char *name)
{
    const struct variant *variant = filter_variant(&blur3, name);
    REQUIRE(variant != NULL);
    return variant;
}

/* The harness's comparison with the reference finds it, and its message has this part. */
static void found_by_comparison(const char *name, const char *part)
{
    struct report report = {0};
    hone_device *device = open_with_kernels();
    harness_variant(&blur3, find(name), device, EFFORT_TINY, &report);
    CHECK(report.failures > 0);
    CHECK_HAS(text_view(&report.text), part);
    report_finish(&report);
    hone_device_close(&device);
}

/* One variant alone, as a filter of its own. */
static void found_by_description(const struct hone_filter *filter, const char *part)
{
    struct report report = {0};
    hone_device *device = open_with_kernels();
    harness_describe(filter, device, EFFORT_DEFAULT, &report);
    CHECK(report.failures > 0);
    CHECK_HAS(text_view(&report.text), part);
    report_finish(&report);
    hone_device_close(&device);
}

static struct hone_filter alone(const char *name)
{
    struct hone_filter filter = blur3;
    filter.variants = find(name);
    filter.variant_count = 1;
    return filter;
}

static void run_tiny(void *user)
{
    struct report report = {0};
    hone_device *device = open_with_kernels();
    harness_variant(&blur3, find(user), device, EFFORT_TINY, &report);
    int failed = report.failures > 0 || report.runs == 0;
    if (failed)
        test_note("%s %s", text_view(&report.text), text_view(&report.refusals));
    report_finish(&report);
    hone_device_close(&device);
    exit(failed ? 3 : 0);
}

static void load_layer(const char *guard)
{
    setenv("OPENCL_LAYERS", support_beside_program("layer.so"), 1);
    setenv("LAYER_GUARD", guard, 1);
    setenv("LAYER_REPORT", support_path(support_folder(), "report"), 1);
}

/* It looks right without guard pages, and ends the process with them. */
static void found_by_guard_pages(const char *name, const char *guard)
{
    load_layer(guard);
    int status = support_in_child(run_tiny, (void *)name);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void use_oclgrind(char log[PATH_MAX])
{
    snprintf(log, PATH_MAX, "%s/log", support_folder());
    setenv("OCL_ICD_VENDORS", "/usr/lib/oclgrind/liboclgrind-rt-icd.so", 1);
    setenv("OCLGRIND_DATA_RACES", "1", 1);
    setenv("OCLGRIND_UNINITIALIZED", "1", 1);
    setenv("OCLGRIND_CHECK_API", "1", 1);
    setenv("OCLGRIND_MAX_ERRORS", "20", 1);
    setenv("OCLGRIND_LOG", log, 1);
}

/* The comparison finds nothing, Oclgrind's log does. */
static void found_by_oclgrind(const char *name, const char *part)
{
    char log[PATH_MAX];
    use_oclgrind(log);
    support_in_child(run_tiny, (void *)name);
    char *text = support_read(log, NULL);
    CHECK_HAS(text, part);
    CHECK_HAS(text, name);
    free(text);
}

/* ---- The right one passes everywhere ---- */

TEST(right_passes_comparison)
{
    struct report report = {0};
    hone_device *device = open_with_kernels();
    harness_variant(&blur3, find("right"), device, EFFORT_DEFAULT, &report);
    CHECK_TEXT(text_view(&report.text), "");
    CHECK(report.runs > 100);
    report_finish(&report);
    hone_device_close(&device);
}

TEST(right_passes_description)
{
    const struct hone_filter filter = alone("right");
    struct report report = {0};
    hone_device *device = open_with_kernels();
    harness_describe(&filter, device, EFFORT_DEFAULT, &report);
    CHECK_TEXT(text_view(&report.text), "");
    report_finish(&report);
    hone_device_close(&device);
}

TEST(right_passes_guard_pages)
{
    static const char *const guards[] = {"begin", "end"};
    for (int i = 0; i < 2; i++) {
        load_layer(guards[i]);
        CHECK_EQ(support_in_child(run_tiny, "right"), 0);
        char *report = support_read(getenv("LAYER_REPORT"), NULL);
        CHECK_HAS(report, "calls "); /* the layer was there */
        CHECK(!report || !strstr(report, "damage"));
        free(report);
    }
}

TEST(right_passes_oclgrind)
{
    char log[PATH_MAX];
    use_oclgrind(log);
    CHECK_EQ(support_in_child(run_tiny, "right"), 0);
    char *text = support_read(log, NULL);
    CHECK_TEXT(text ? text : "", "");
    free(text);
}

/* ---- Found by comparing with the reference ---- */

TEST(wrong_border)
{
    found_by_comparison("border", "should be");
}

TEST(wrong_last_column)
{
    found_by_comparison("column", "should be");
}

TEST(unwritten_pixels)
{
    found_by_comparison("unwritten", "pixel (16,");
    found_by_comparison("unwritten", "5 elements are never written");
}

TEST(scratch_memory_that_was_never_written)
{
    found_by_comparison("stale", "differ from run to run");
}

TEST(write_outside_of_rows)
{
    found_by_comparison("overrun", "bytes outside the result were changed");
}

TEST(wrong_at_nan)
{
    found_by_comparison("nan", "should be nan");
}

TEST(wrong_rounding)
{
    found_by_comparison("rounding", "should be");
}

TEST(half_covered)
{
    found_by_comparison("half_covered", "should be");
}

/* ---- Found by comparing description and kernel ---- */

TEST(one_argument_too_many)
{
    const struct hone_filter filter = alone("arguments");
    found_by_description(&filter, "has 9 arguments; its description fills 10");
    found_by_comparison("arguments", "has 9 arguments; its description fills 10");
}

TEST(another_kind_of_argument)
{
    const struct hone_filter filter = alone("kinds");
    found_by_description(&filter, "argument 7 'height_as_float' is a 'float'");
}

TEST(another_default)
{
    const struct hone_filter filter = alone("defaults");
    found_by_description(&filter, "ROWS is 2 ");
}

TEST(no_default)
{
    const struct hone_filter filter = alone("unguarded");
    found_by_description(&filter, "no '#ifndef LINES'");
}

TEST(a_parameter_that_is_compiled_in)
{
    const struct hone_filter filter = alone("compiled_in");
    found_by_description(&filter, "'weight=3' compiles again");
}

TEST(does_not_compile)
{
    const struct hone_filter filter = alone("syntax");
    found_by_description(&filter, "filters/blur3/syntax.cl:6:");
    found_by_comparison("syntax", "no_such_name");
}

TEST(kernel_that_does_not_exist)
{
    const struct hone_filter filter = alone("missing_kernel");
    found_by_description(&filter, "kernel blur3_nowhere is not in kernel.cl");
}

TEST(missing_parts_of_a_description)
{
    struct hone_filter filter = alone("right");
    struct variant variant = *filter.variants;
    filter.variants = &variant;
    filter.reference = NULL;
    found_by_description(&filter, "the reference is missing");
    filter.reference = reference;
    filter.summary = "";
    found_by_description(&filter, "the summary is missing");
    filter.summary = blur3.summary;
    filter.bounds[2] = NAN;
    found_by_description(&filter, "bound 2 is nan");
    filter.bounds[2] = 0;
    variant.cost.loads = NULL;
    found_by_description(&filter, "the cost in loads is missing");
    variant.cost.loads = "NONSENSE + 1";
    found_by_description(&filter, "unknown name in an expression: NONSENSE");
    variant.cost.loads = "1";
    variant.summary = NULL;
    found_by_description(&filter, "the summary is missing");
    variant.summary = "x";
    variant.relaxed = true;
    found_by_description(&filter, "bounds of its own");
}

static void forget_zero_outside(const struct filter_case *c, const struct view *in, const struct view *second,
                                struct view *out)
{
    struct filter_case other = *c;
    if (c->border == HONE_BORDER_ZERO_OUTSIDE)
        other.border = HONE_BORDER_REPLICATE;
    reference(&other, in, second, out);
}

static void overwrite_alpha(const struct filter_case *c, const struct view *in, const struct view *second,
                            struct view *out)
{
    reference(c, in, second, out);
    for (int64_t y = 0; y < c->in.height && c->in.channels == 4; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            view_set(out, x, y, 3, type_full_scale(c->in.type));
}

TEST(a_reference_that_forgets_a_border)
{
    struct hone_filter filter = alone("right");
    filter.reference = forget_zero_outside;
    found_by_description(&filter, "the reference ignores border=zero-outside ('', u8): pixel (0,0)");
}

TEST(a_reference_that_overwrites_alpha)
{
    struct hone_filter filter = alone("right");
    filter.reference = overwrite_alpha;
    found_by_description(&filter, "the reference changes alpha ('', u8)");
}

TEST(a_number_that_is_never_tried)
{
    struct hone_filter filter = alone("right");
    static const char *const others[] = {"", NULL};
    filter.trials = NULL;
    found_by_description(&filter, "no text of .trials sets the parameter weight");
    filter.trials = others;
    found_by_description(&filter, "no text of .trials sets the parameter weight");
}

TEST(seeds_and_rungs_that_name_nothing)
{
    static const struct seed seeds[] = {
        {NULL, "nowhere", ""}, {"1 +", "right", "NOTHING=1"}, {"!W && !W*H >= 9", "right", ""}};
    static const struct rung rungs[] = {{"1", "first", "nowhere", "", "here"},
                                        {"1", "again", "right", "", ""}};
    struct hone_filter filter = alone("right");
    filter.seeds = seeds;
    filter.seed_count = 3;
    filter.rungs = rungs;
    filter.rung_count = 2;
    found_by_description(&filter, "seed 0 names the variant 'nowhere'");
    found_by_description(&filter, "has no tunable 'NOTHING'");
    found_by_description(&filter, "seed 1: expression '1 +'");
    found_by_description(&filter, "seed 2 negates a name alone: '!W*H >= 9'");
    found_by_description(&filter, "rung 1 names the variant 'nowhere'");
    found_by_description(&filter, "there are two rungs '1'");
    found_by_description(&filter, "the source of a rung is missing");
}

/* ---- Found by guard pages ---- */

TEST(read_before_the_buffer)
{
    found_by_guard_pages("read_before", "begin");
}

TEST(read_behind_the_buffer)
{
    found_by_guard_pages("read_behind", "end");
}

TEST(write_behind_the_buffer)
{
    found_by_guard_pages("write_behind", "end");
}

TEST(write_directly_behind_the_buffer)
{
    load_layer("end");
    support_in_child(run_tiny, "write_slack");
    char *report = support_read(getenv("LAYER_REPORT"), NULL);
    CHECK_HAS(report, "damage ");
    free(report);
}

/* Neither guards nor poison are needed: memory that begins anywhere is enough, on CPUs that fault. */
TEST(aligned_reads_of_unaligned_memory)
{
    int status = support_in_child(run_tiny, "aligned");
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* ---- Found by Oclgrind ---- */

TEST(race_in_local_memory)
{
    found_by_oclgrind("race", "data race");
}

TEST(uninitialised_read)
{
    found_by_oclgrind("uninitialised", "ninitialized");
}

TEST(barrier_that_not_all_reach)
{
    found_by_oclgrind("divergent", "ivergence");
}

TEST(read_outside_seen_by_oclgrind)
{
    found_by_oclgrind("read_behind", "Invalid read");
}
