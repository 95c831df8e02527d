/* SPDX-License-Identifier: BSD-2-Clause */
/* What hone_plan_create leaves for the first run: no compilation, not even the driver's own, and no
 * object. */
#include "hone/plan.h"
#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A process of its own: with empty caches, but the verdicts of the one before. */
struct process {
    const char *cache, *data, *report;
    int runs;
    bool odd; /* rows of the caller's that do not suit the variants, told when the plan is made */
};

static int binaries;

static int count_binary(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)place;
    size_t length = strlen(path);
    binaries += kind == FTW_F && length > 3 && strcmp(path + length - 3, ".so") == 0;
    return 0;
}

/* What PoCL has compiled for a work-group. */
static int binaries_below(const char *folder)
{
    binaries = 0;
    nftw(folder, count_binary, 16, FTW_PHYS);
    return binaries;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The caller's own memory where its rows are given, or tight. */
static hone_image *make_image(hone_device *device, const hone_image_desc *desc)
{
    static char pixels[3][96 * 256];
    static int used;
    hone_image *image = NULL;
    hone_error error;
    if (desc->width % 64 == 0)
        REQUIRE_OK(hone_image_create(&image, device, desc, HONE_MEMORY_DEVICE, &error));
    else
        REQUIRE_OK(hone_image_wrap(&image, device, desc, pixels[used++ % 3], &error));
    return image;
}

static void work(void *user)
{
    const struct process *p = user;
    const hone_image_desc desc = {p->odd ? 191 : 192, 96, HONE_U8, 1, p->odd ? 197 : 0};
    const hone_plan_options options = {.variant = p->odd ? "box:strips,add:wide16" : NULL,
                                       .no_fuse = p->odd,
                                       .second = &desc,
                                       .second_count = 1};
    hone_error error;
    double times[8] = {0};
    setenv("XDG_CACHE_HOME", p->cache, 1);
    setenv("XDG_DATA_HOME", p->data, 1);
    setenv("OPENCL_LAYERS", support_beside_program("layer.so"), 1);
    setenv("LAYER_REPORT", p->report, 1);
    unsetenv("POCL_CACHE_DIR");
    hone_device *device = support_open(NULL);
    double start = seconds();
    hone_plan *plan = support_plan(device, "box size=3 | add image=x", &desc, &options);
    const double creating = seconds() - start;
    hone_image *in = make_image(device, &desc), *out = make_image(device, hone_plan_output(plan));
    hone_image *second = make_image(device, &desc);
    REQUIRE_OK(hone_plan_bind(plan, 1, second, &error));
    const int before = binaries_below(p->cache);
    for (int i = 0; i < p->runs; i++) {
        start = seconds();
        REQUIRE_OK(hone_plan_run(plan, in, out, NULL, 0, NULL, &error));
        REQUIRE_OK(hone_device_finish(device, &error));
        times[i] = seconds() - start;
    }
    if (support_is_pocl(device))
        REQUIRE(before > 0 && binaries_below(p->cache) == before);
    /* Compiling is most of creating; a first run that compiles takes about half as long. */
    REQUIRE(p->runs == 0 || times[0] < creating / 5 + 5 * times[1] || times[0] < 0.05);
    hone_image_destroy(&in);
    hone_image_destroy(&out);
    hone_image_destroy(&second);
    hone_plan_destroy(&plan);
    hone_device_close(&device);
}

/* Calls that make objects or programs, in a report of the layer. */
static long made_in(const char *report)
{
    size_t length = 0;
    char *text = support_read(report, &length), name[128];
    long all = 0, number = 0;
    REQUIRE(text);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (sscanf(line, "site %127s %*s %ld", name, &number) == 2 &&
            (strncmp(name, "clCreate", 8) == 0 || strcmp(name, "clBuildProgram") == 0 ||
             strcmp(name, "clSVMAlloc") == 0))
            all += number;
    free(text);
    return all;
}

static long made_by(const char *data, int runs, bool odd)
{
    char cache[PATH_MAX], report[PATH_MAX + 8];
    snprintf(cache, sizeof cache, "%s", support_folder());
    snprintf(report, sizeof report, "%s/report", cache);
    struct process p = {cache, data, report, runs, odd};
    CHECK_EQ(support_in_child(work, &p), 0);
    return made_in(report);
}

static void check_first_run(bool odd)
{
    char data[PATH_MAX];
    snprintf(data, sizeof data, "%s", support_folder());
    made_by(data, 1, odd); /* the program is checked here; from now on its verdict is on file */
    long without = made_by(data, 0, odd), with = made_by(data, 3, odd);
    CHECK(without > 0);
    CHECK_EQ(with, without);
}

TEST(the_first_run_makes_nothing)
{
    check_first_run(false);
}

TEST(nor_for_rows_that_lie_as_was_told)
{
    check_first_run(true);
}
