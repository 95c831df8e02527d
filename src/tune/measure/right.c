/* SPDX-License-Identifier: BSD-2-Clause */
/* Right at full size: what results are compared with, and where it is kept while workers come and go. */
#include "tune/measure/state.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/trust.h"
#include "cl/device.h"
#include "filter/check.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct wait_list no_wait;

/* How the file begins; pixels follow at an offset that suits every type. Written last: a process that dies
 * while it writes leaves no result behind. */
struct mark {
    uint64_t right, bytes;
};
enum { PIXELS_AT = 64 };

enum measure_right measure_right_of(int file)
{
    struct mark mark;
    if (pread(file, &mark, sizeof mark, 0) != (ssize_t)sizeof mark)
        return RIGHT_NONE;
    return mark.right == RIGHT_REFERENCE || mark.right == RIGHT_DEVICE ? (enum measure_right)mark.right
                                                                       : RIGHT_NONE;
}

hone_status measure_open_right(struct measure *m, const char *path, hone_error *error)
{
    m->held = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (path && m->held < 0)
        return error_io(error, "the file for the right result cannot be opened: %s", strerror(errno));
    return HONE_OK;
}

void measure_close_right(struct measure *m)
{
    if (m->right)
        munmap(m->right, PIXELS_AT + m->out.bytes);
    if (m->held >= 0)
        close(m->held);
    free(m->result);
}

/* Read-only: a kernel that writes where it must not ends this process rather than change what is right. */
hone_status measure_find_right(struct measure *m, bool *found, hone_error *error)
{
    struct stat about;
    *found = m->right || (m->held >= 0 && measure_right_of(m->held) != RIGHT_NONE);
    if (m->right || !*found)
        return HONE_OK;
    if (fstat(m->held, &about) != 0 || (size_t)about.st_size != PIXELS_AT + m->out.bytes)
        return error_set(error, HONE_ERROR_INTERNAL, "the right result has %lld bytes instead of %zu",
                         (long long)about.st_size, PIXELS_AT + m->out.bytes);
    void *mapped = mmap(NULL, PIXELS_AT + m->out.bytes, PROT_READ, MAP_SHARED, m->held, 0);
    if (mapped == MAP_FAILED)
        return error_set(error, HONE_ERROR_MEMORY, "the right result cannot be read: %s", strerror(errno));
    m->right = mapped;
    return HONE_OK;
}

/* Where there is no memory for it, nothing is kept. */
static void store(struct measure *m, enum measure_right right)
{
    const struct mark mark = {right, m->out.bytes};
    bool ok = m->held >= 0 && ftruncate(m->held, 0) == 0 &&
              lseek(m->held, PIXELS_AT, SEEK_SET) == PIXELS_AT &&
              file_write_all(m->held, m->result, m->out.bytes);
    if (ok && pwrite(m->held, &mark, sizeof mark, 0) == (ssize_t)sizeof mark)
        return;
    if (m->held >= 0 && ftruncate(m->held, 0) != 0)
        device_log(m->device, HONE_LOG_WARNING, "a file in memory cannot be emptied: %s", strerror(errno));
}

/* ---- By the reference in plain C ---- */

static struct view tight(const hone_image_desc *desc)
{
    hone_image_desc padded = *desc;
    padded.pitch = hone_image_row_bytes(desc);
    return view_new(&padded);
}

/* Of a machine that is busy with other work this asks no more than of an idle one. */
static double thread_ms(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec * 1e-6;
}

/* What the reference makes of the first input, or of one of another size that is like it. */
static hone_status refer(const struct filter_case *c, struct view *out, double *ms, hone_error *error)
{
    const bool two = c->filter->inputs > 1;
    struct view in = tight(&c->in), second[MAX_FUSED + 1] = {0};
    hone_status status = HONE_OK;
    if (two)
        second[0] = tight(&c->second);
    if (!in.data || !out->data || (two && !second[0].data)) {
        status = error_memory(error, "a reference");
    } else {
        measure_fill(&in, 0);
        if (two)
            measure_fill(&second[0], INPUTS);
        double start = thread_ms();
        status = case_reference(c, &in, second, out, error);
        *ms = thread_ms() - start;
    }
    view_finish(&in);
    view_finish(&second[0]);
    return status;
}

static hone_status time_piece(const struct measure *m, uint32_t width, uint32_t height, double *ms)
{
    struct filter_case c;
    hone_image_desc in = m->c.in;
    TRY(case_copy(&c, &m->c, NULL));
    in.width = width;
    in.height = height;
    in.pitch = 0;
    hone_status status = case_prepare(&c, &in, c.filter->inputs > 1 ? &in : NULL, NULL);
    if (!status) {
        struct view out = tight(&c.out);
        status = refer(&c, &out, ms, NULL);
        view_finish(&out);
    }
    case_finish(&c);
    return status;
}

/* Seconds for the whole picture, by a piece that takes long enough to be timed. */
static double predict(const struct measure *m)
{
    const double long_enough = 10; /* ms */
    const uint32_t most[2] = {m->c.in.width, m->c.in.height};
    uint32_t width = most[0] < 128 ? most[0] : 128, height = most[1] < 32 ? most[1] : 32;
    for (;;) {
        double ms = 0;
        bool whole = width == most[0] && height == most[1];
        hone_status status = time_piece(m, width, height, &ms); /* a filter may not do with a small picture */
        if (!status && (ms >= long_enough || whole))
            return ms * 1e-3 * ((double)most[0] * most[1]) / ((double)width * height);
        if (whole)
            return INFINITY;
        width = width > most[0] / 2 ? most[0] : 2 * width;
        height = height > most[1] / 2 ? most[1] : 2 * height;
    }
}

static bool large(const struct measure *m)
{
    /* Bytes of the pictures that the reference needs beside the device's. */
    const size_t most = (size_t)1 << 29;
    return m->inputs[0].bytes + m->second.bytes + m->out.bytes > most;
}

static hone_status need_result(struct measure *m, hone_error *error)
{
    if (!m->result) /* kept from one reading to the next: fresh pages of a large result cost more than the
                       rest */
        m->result = mem_new(m->out.bytes, 1);
    return m->result ? HONE_OK : error_memory(error, "a result");
}

static struct view view_of(const struct measure *m, void *bytes)
{
    struct view view = {m->c.out, bytes};
    view.desc.pitch = m->out.pitch;
    return view;
}

hone_status measure_refer(struct measure *m, double seconds, hone_error *error)
{
    double ms;
    if (m->held < 0 || !m->c.filter->reference || large(m) || predict(m) > seconds)
        return HONE_OK;
    TRY(need_result(m, error));
    struct view out = view_of(m, m->result);
    hone_status status = refer(&m->c, &out, &ms, error);
    if (!status)
        store(m, RIGHT_REFERENCE);
    return status;
}

/* ---- Comparing ---- */

hone_status measure_poison(struct measure *m, hone_error *error)
{
    unsigned char poison[4];
    memset(poison, m->c.out.type == HONE_F32 ? 0xff : 0xa5, sizeof poison); /* NaN; no value of masks */
    return memory_fill(m->out.memory, poison, sizeof poison, m->out.bytes, no_wait, NULL, error);
}

hone_status measure_make_result(struct measure *m, struct instance *instance, hone_error *error)
{
    hone_status status = measure_poison(m, error);
    for (int i = INPUTS - 1; i >= 0 && !status; i--) {
        const struct surfaces surfaces = {.in = measure_surface(&m->inputs[i]),
                                          .second = measure_surface(&m->second),
                                          .out = measure_surface(&m->out)};
        status = instance_enqueue(instance, &surfaces, no_wait, NULL, error);
    }
    hone_status finished = hone_device_finish(m->device, status ? NULL : error);
    return status ? status : finished;
}

static hone_status read_result(struct measure *m, hone_error *error)
{
    const struct span span = {0, m->out.bytes, m->out.bytes, 1};
    hone_status status = need_result(m, error);
    return status ? status : memory_read(m->out.memory, &span, m->result, m->out.bytes, no_wait, NULL, error);
}

hone_status measure_keep_result(struct measure *m, hone_error *error)
{
    hone_status status = read_result(m, error);
    if (!status)
        store(m, RIGHT_DEVICE);
    return status;
}

static void say_wrong(struct measure *m, struct instance *instance, const struct check_result *found,
                      struct measured *r)
{
    struct text evidence = {0};
    hone_error error;
    check_explain(found, &evidence);
    r->state = STATE_WRONG;
    r->ms = -1;
    snprintf(r->note, sizeof r->note, "at %ux%u: %.400s", m->c.in.width, m->c.in.height,
             text_view(&evidence));
    text_finish(&evidence);
    if (trust_quarantine(m->device, instance, r->note, &error) != HONE_OK)
        device_log(m->device, HONE_LOG_WARNING, "a verdict is not remembered: %s", error.message);
}

/* Two results of one bound may lie on both sides of the truth: the bound is twice as wide where the right one
 * is a kernel's, too. */
void measure_compare(struct measure *m, struct instance *instance, struct measured *r)
{
    struct check_result found = {0};
    hone_error error = {0};
    if (read_result(m, &error) != HONE_OK) {
        r->state = STATE_RUN;
        r->ms = -1;
        snprintf(r->note, sizeof r->note, "the result cannot be read: %.450s", error.message);
        return;
    }
    struct view got = view_of(m, m->result), wanted = view_of(m, (char *)m->right + PIXELS_AT);
    double bound = case_bound(&m->c, instance_variant(instance), type_full_scale(m->c.in.type));
    check_compare(&got, &wanted, measure_right_of(m->held) == RIGHT_DEVICE ? 2 * bound : bound, &found);
    if (found.wrong)
        say_wrong(m, instance, &found, r);
}
