/* SPDX-License-Identifier: BSD-2-Clause */
/* One plan over every plane of a stack. */
#include "plan.h"

#include <stdlib.h>
#include <time.h>

enum { ALIGNMENT = 128 };                  /* what every driver takes as a buffer of the host's */
static const double between_signals = 0.1; /* seconds of work before a look for Ctrl-C */

static void *tight_memory(const view *images)
{
    hone_image_desc desc = images->desc;
    desc.pitch = 0;
    return aligned_alloc(ALIGNMENT, (hone_image_bytes(&desc) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

bool run_prepare(struct run *run, bool through)
{
    bool enough = true;
    if (!run->in->direct)
        enough = (run->in_tight = tight_memory(run->in));
    if (enough && (through || !run->out->direct))
        enough = (run->out_tight = tight_memory(run->out));
    for (size_t i = 0; i < run->plan->second_count && enough; i++) {
        struct second *second = &run->seconds[i];
        second->plane = -1;
        if (!second->view->direct)
            enough = (second->tight = tight_memory(second->view));
    }
    if (!enough)
        PyErr_NoMemory();
    return enough;
}

void run_finish(struct run *run)
{
    free(run->in_tight);
    free(run->out_tight);
    for (size_t i = 0; i < run->plan->second_count; i++) {
        hone_image_destroy(&run->seconds[i].image);
        free(run->seconds[i].tight);
    }
}

static hone_status wrap_second(struct run *run, struct second *second, void *pixels, hone_error *error)
{
    hone_image_desc desc = second->view->desc;
    hone_status status = hone_image_wrap(&second->image, run->device, &desc, pixels, error);
    if (!status)
        status = hone_image_upload(second->image, NULL, 0, NULL, 0, NULL, error);
    if (!status && !hone_image_is_zero_copy(second->image)) {
        const hone_copy_counts upload = {.uploads = {1, hone_image_row_bytes(&desc) * desc.height}};
        copies_sum(&run->copies, &upload);
    }
    return status;
}

/* The second images of plane `index`; a single one serves all planes. */
static hone_status bind_seconds(struct run *run, Py_ssize_t index, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < run->plan->second_count && !status; i++) {
        struct second *second = &run->seconds[i];
        const Py_ssize_t plane = second->view->planes == 1 ? 0 : index;
        if (second->plane != plane) {
            void *pixels = second->tight ? second->tight : view_plane(second->view, plane);
            hone_image_destroy(&second->image);
            if (second->tight) {
                view_gather(second->view, plane, pixels);
                run->gathered += hone_image_row_bytes(&second->view->desc) * second->view->desc.height;
            }
            status = wrap_second(run, second, pixels, error);
            second->plane = plane;
        }
        if (!status)
            status = hone_plan_bind(run->plan->made, run->plan->second_steps[i], second->image, error);
    }
    return status;
}

static hone_status run_plane(struct run *run, Py_ssize_t index, hone_error *error)
{
    const void *in = run->in_tight ? run->in_tight : view_plane(run->in, index);
    void *out = run->out_tight ? run->out_tight : view_plane(run->out, index);
    hone_status status = bind_seconds(run, index, error);
    if (status)
        return status;
    if (run->in_tight) {
        view_gather(run->in, index, run->in_tight);
        run->gathered += hone_image_row_bytes(&run->in->desc) * run->in->desc.height;
    }
    status = hone_plan_apply(run->plan->made, in, run->in_tight ? 0 : run->in->desc.pitch, out,
                             run->out_tight ? 0 : run->out->desc.pitch, error);
    const hone_copy_counts copies = hone_plan_copies(run->plan->made);
    copies_sum(&run->copies, &copies);
    run->device_seconds += hone_plan_seconds(run->plan->made);
    if (!status && run->out_tight) {
        view_scatter(run->out, index, run->out_tight);
        run->scattered += hone_image_row_bytes(&run->out->desc) * run->out->desc.height;
    }
    return status;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Whether a signal handler raised: Ctrl-C in the middle of a long stack. */
static bool interrupted(struct run *run, double *looked)
{
    if (now() - *looked < between_signals)
        return false;
    PyEval_RestoreThread(run->state);
    const bool raised = PyErr_CheckSignals() != 0;
    run->state = PyEval_SaveThread();
    *looked = now();
    return raised;
}

bool run_planes(struct run *run)
{
    hone_status status = HONE_OK;
    hone_error error;
    bool stopped = false;
    run->state = PyEval_SaveThread();
    pthread_mutex_lock(&run->plan->lock);
    double looked = now();
    for (Py_ssize_t i = 0; i < run->in->planes && !status && !stopped; i++) {
        status = run_plane(run, i, &error);
        stopped = !status && interrupted(run, &looked);
    }
    pthread_mutex_unlock(&run->plan->lock);
    PyEval_RestoreThread(run->state);
    if (status)
        errors_raise(status, &error);
    return !status && !stopped;
}
