/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans. */
#include "plan.h"

bool plan_request_seconds(PyObject *sequence, struct plan_request *request)
{
    const Py_ssize_t count = PySequence_Size(sequence);
    if (count < 0)
        return false;
    if (count > PLAN_SECONDS) {
        errors_usage("a chain may take at most %d second images here", PLAN_SECONDS);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const bool read = item && desc_parse(item, &request->seconds[i]);
        Py_XDECREF(item);
        if (!read)
            return false;
    }
    request->options.second = request->seconds;
    request->options.second_count = (size_t)count;
    return true;
}

hone_status plan_request_chain(const struct plan_request *request, const char *text, hone_chain **chain,
                               hone_error *error)
{
    hone_status status = hone_chain_parse(chain, text, error);
    if (!status && request->reproducible)
        hone_chain_make_reproducible(*chain);
    return status;
}

/* Notes which steps take a second image. */
static bool find_seconds(plan *self, const hone_chain *chain)
{
    for (size_t i = 0; i < hone_chain_length(chain); i++) {
        hone_filter_info info;
        if (!hone_filter_find(hone_chain_filter(chain, i), &info) || info.inputs < 2)
            continue;
        if (self->second_count == PLAN_SECONDS)
            return false;
        self->second_steps[self->second_count++] = i;
    }
    return true;
}

static hone_status make(plan *self, hone_device *device, const char *text, const struct plan_request *request,
                        hone_error *error)
{
    hone_chain *chain = NULL;
    hone_status status = plan_request_chain(request, text, &chain, error);
    if (!status && !find_seconds(self, chain)) {
        snprintf(error->message, sizeof error->message, "a chain may take at most %d second images here",
                 PLAN_SECONDS);
        status = HONE_ERROR_USAGE;
    }
    if (!status)
        status = hone_plan_create(&self->made, device, chain, &self->input, &request->options, error);
    hone_chain_destroy(&chain);
    return status;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"device", "chain", "desc", "second",       "variant",
                            "config", "tune",  "fuse", "reproducible", NULL};
    PyObject *device, *desc, *second = NULL;
    const char *text;
    int tune = 1, fuse = 1;
    struct plan_request request = {.options = {.size = sizeof request.options}};
    hone_status status = HONE_OK;
    hone_error error = {0};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OsO|Ozzppp", names, &device, &text, &desc, &second,
                                     &request.options.variant, &request.options.config, &tune, &fuse,
                                     &request.reproducible))
        return NULL;
    request.options.tune = tune ? HONE_TUNE_AUTO : HONE_TUNE_OFF;
    request.options.no_fuse = !fuse;
    hone_image_desc input;
    hone_device *open = device_get(device);
    if (!open || (second && !plan_request_seconds(second, &request)) || !desc_parse(desc, &input))
        return NULL;
    plan *self = module_new(type);
    if (!self)
        return NULL;
    pthread_mutex_init(&self->lock, NULL);
    self->input = input;
    self->device = device;
    Py_INCREF(device);
    Py_BEGIN_ALLOW_THREADS status = make(self, open, text, &request, &error);
    Py_END_ALLOW_THREADS return module_made((PyObject *)self, status, &error);
}

static void plan_free(PyObject *object)
{
    plan *self = (plan *)object;
    Py_BEGIN_ALLOW_THREADS hone_plan_destroy(&self->made);
    Py_END_ALLOW_THREADS pthread_mutex_destroy(&self->lock);
    Py_CLEAR(self->device);
    module_free(object);
}

static bool same_leads(const view *a, const view *b)
{
    bool same = a->leads == b->leads;
    for (int i = 0; same && i < a->leads; i++)
        same = a->memory.shape[a->lead[i]] == b->memory.shape[b->lead[i]];
    return same;
}

static bool check_planes(const char *role, const view *is, const view *in)
{
    if (same_leads(is, in))
        return true;
    errors_usage("%s: it is a stack of %zd images in %d axes; the image has %zd in %d, and theirs must be "
                 "the same lengths",
                 role, is->planes, is->leads, in->planes, in->leads);
    return false;
}

/* Whether two views may reach one byte. */
static bool meet(const view *a, const view *b)
{
    const char *first_a, *last_a, *first_b, *last_b;
    view_range(a, &first_a, &last_a);
    view_range(b, &first_b, &last_b);
    return first_a <= last_b && first_b <= last_a;
}

/* Whether plane i of both lies in the same memory, for each i. */
static bool coincide(const view *a, const view *b)
{
    if (a->planes == 1 && b->planes == 1)
        return true;
    bool same = a->memory.data == b->memory.data && a->desc.width == b->desc.width &&
                a->desc.height == b->desc.height && a->desc.channels == b->desc.channels &&
                a->memory.type == b->memory.type && same_leads(a, b);
    for (int i = 0; same && i < a->memory.ndim && i < b->memory.ndim; i++)
        same = a->memory.strides[i] == b->memory.strides[i];
    return same;
}

/* `through`: whether the result must not be written where it belongs before all of the plane is read. */
static bool check_overlap(const struct run *run, bool *through)
{
    *through = false;
    if (!view_is_distinct(run->out)) {
        errors_usage("out: some of its elements share memory; pass an array whose elements do not");
        return false;
    }
    for (size_t i = 0; i <= run->plan->second_count; i++) {
        const view *other = i ? run->seconds[i - 1].view : run->in;
        if (!meet(other, run->out))
            continue;
        *through = true;
        if (!coincide(other, run->out)) {
            errors_usage(
                "out: it shares memory with an input, but not plane by plane; pass an array of its own");
            return false;
        }
    }
    return true;
}

static bool take_seconds(struct run *run, PyObject *seconds)
{
    const Py_ssize_t count = PyTuple_Size(seconds);
    if (count < 0)
        return false;
    if ((size_t)count != run->plan->second_count) {
        errors_usage("the chain takes %zu second image%s, and %zd %s given", run->plan->second_count,
                     run->plan->second_count == 1 ? "" : "s", count, count == 1 ? "is" : "are");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        const view *second = view_of(PyTuple_GetItem(seconds, i));
        if (!second || (second->planes != 1 && !check_planes("second image", second, run->in)))
            return false;
        run->seconds[i].view = second;
    }
    return true;
}

static PyObject *plan_apply(PyObject *object, PyObject *arguments)
{
    plan *self = (plan *)object;
    PyObject *in, *out, *seconds;
    bool through = false;
    if (!PyArg_ParseTuple(arguments, "OOO!", &in, &out, &PyTuple_Type, &seconds))
        return NULL;
    struct run run = {
        .plan = self, .device = device_get(self->device), .in = view_of(in), .out = view_of(out)};
    if (!run.device || !run.in || !run.out || !view_check(run.in, "image", &self->input) ||
        !view_check(run.out, "out", hone_plan_output(self->made)) || !check_planes("out", run.out, run.in) ||
        !take_seconds(&run, seconds) || !check_overlap(&run, &through))
        return NULL;
    const bool done = run_prepare(&run, through) && run_planes(&run);
    run_finish(&run);
    if (!done)
        return NULL;
    PyObject *copies = copies_dict(&run.copies);
    return copies ? Py_BuildValue("(NKKd)", copies, run.gathered, run.scattered, run.device_seconds) : NULL;
}

typedef hone_status change_function(hone_plan *plan, size_t step, const char *parameters, hone_error *error);

static PyObject *change(PyObject *object, PyObject *arguments, change_function *function)
{
    plan *self = (plan *)object;
    Py_ssize_t step;
    const char *text;
    hone_status status;
    hone_error error;
    if (!PyArg_ParseTuple(arguments, "ns", &step, &text))
        return NULL;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&self->lock);
    status = function(self->made, (size_t)step, text, &error);
    pthread_mutex_unlock(&self->lock);
    Py_END_ALLOW_THREADS if (status) return errors_raise(status, &error);
    Py_RETURN_NONE;
}

static PyObject *plan_set(PyObject *object, PyObject *arguments)
{
    return change(object, arguments, hone_plan_set);
}

static PyObject *plan_prepare(PyObject *object, PyObject *arguments)
{
    return change(object, arguments, hone_plan_prepare);
}

static PyObject *get_output(PyObject *object, void *unused)
{
    (void)unused;
    return desc_tuple(hone_plan_output(((plan *)object)->made));
}

static PyObject *get_device(PyObject *object, void *unused)
{
    (void)unused;
    Py_INCREF(((plan *)object)->device);
    return ((plan *)object)->device;
}

static PyObject *step_at(const void *made, size_t index)
{
    hone_step_info info;
    return hone_plan_step(made, index, &info) ? step_dict(&info) : NULL;
}

static PyObject *plan_steps(PyObject *object, PyObject *unused)
{
    (void)unused;
    return module_list(step_at, ((plan *)object)->made);
}

static PyGetSetDef attributes[] = {
    {"output", get_output, NULL, "(width, height, type, channels) of the result", NULL},
    {"device", get_device, NULL, "the device", NULL},
    {0}};

static PyMethodDef methods[] = {
    {"apply", plan_apply, METH_VARARGS,
     "apply(in, out, seconds): runs over all planes of the views; returns (copies, gathered, scattered, "
     "seconds)"},
    {"set", plan_set, METH_VARARGS, "set(step, 'name=value ...')"},
    {"prepare", plan_prepare, METH_VARARGS, "prepare(step, 'name=value ...'): builds what set would need"},
    {"steps", plan_steps, METH_NOARGS, "What each step runs with, a list of dictionaries."},
    {0}};

bool plan_add(PyObject *module)
{
    static PyType_Slot slots[] = {{Py_tp_new, plan_new},
                                  {Py_tp_dealloc, plan_free},
                                  {Py_tp_getset, attributes},
                                  {Py_tp_methods, methods},
                                  {Py_tp_doc, "A chain on a device for one format."},
                                  {0, NULL}};
    static PyType_Spec spec = {"hone._hone.Plan", sizeof(plan), 0, Py_TPFLAGS_DEFAULT, slots};
    return module_add_type(module, &spec);
}
