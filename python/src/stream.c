/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams. Results are pulled; the package orders pushes and pulls, and keeps the arrays of frames in
 * flight. */
#include "plan.h"

typedef struct stream {
    PyObject_HEAD hone_stream *made;
    PyObject *device, *bound[PLAN_SECONDS]; /* views of the second images */
    hone_image *seconds[PLAN_SECONDS];
    hone_image_desc inputs[HONE_STREAM_PLANES];
    Py_ssize_t planes;
} stream;

static bool read_planes(stream *self, PyObject *descs)
{
    self->planes = PyTuple_Size(descs);
    if (self->planes < 1 || self->planes > HONE_STREAM_PLANES) {
        errors_usage("a frame has 1 to %d planes", HONE_STREAM_PLANES);
        return false;
    }
    for (Py_ssize_t i = 0; i < self->planes; i++)
        if (!desc_parse(PyTuple_GetItem(descs, i), &self->inputs[i]))
            return false;
    return true;
}

static hone_status make(stream *self, hone_device *device, const char *text,
                        const struct plan_request *request, const hone_stream_options *options,
                        hone_error *error)
{
    hone_chain *chain = NULL;
    hone_status status = plan_request_chain(request, text, &chain, error);
    if (!status)
        status = hone_stream_create(&self->made, device, chain, self->inputs, (size_t)self->planes, options,
                                    error);
    hone_chain_destroy(&chain);
    return status;
}

static bool read_mode(const char *name, hone_stream_mode *mode)
{
    static const char *const names[] = {
        [HONE_STREAM_AUTO] = "auto", [HONE_STREAM_ZERO_COPY] = "zero-copy", [HONE_STREAM_STAGED] = "staged"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *mode = (hone_stream_mode)i;
            return true;
        }
    }
    errors_usage("mode='%.30s' must be 'auto', 'zero-copy' or 'staged'", name);
    return false;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"device", "chain", "descs",        "second", "slots",
                            "memory", "mode",  "reproducible", NULL};
    PyObject *device, *descs, *second;
    const char *text, *mode;
    unsigned long long memory;
    struct plan_request request = {.options = {.size = sizeof request.options}};
    hone_stream_options options = {.size = sizeof options, .plan = &request.options};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OsO!O!IKsp", names, &device, &text, &PyTuple_Type,
                                     &descs, &PyTuple_Type, &second, &options.slots, &memory, &mode,
                                     &request.reproducible))
        return NULL;
    options.memory = memory;
    hone_device *open = device_get(device);
    if (!open || !plan_request_seconds(second, &request) || !read_mode(mode, &options.mode))
        return NULL;
    stream *self = module_new(type);
    if (!self)
        return NULL;
    if (!read_planes(self, descs)) {
        Py_DECREF(self);
        return NULL;
    }
    hone_status status;
    hone_error error;
    self->device = device;
    Py_INCREF(device);
    Py_BEGIN_ALLOW_THREADS status = make(self, open, text, &request, &options, &error);
    Py_END_ALLOW_THREADS return module_made((PyObject *)self, status, &error);
}

static void stream_free(PyObject *object)
{
    stream *self = (stream *)object;
    Py_BEGIN_ALLOW_THREADS hone_stream_destroy(&self->made);
    for (int i = 0; i < PLAN_SECONDS; i++)
        hone_image_destroy(&self->seconds[i]);
    Py_END_ALLOW_THREADS for (int i = 0; i < PLAN_SECONDS; i++) Py_CLEAR(self->bound[i]);
    Py_CLEAR(self->device);
    module_free(object);
}

/* The planes of a frame: views of single images whose rows lie as hone takes them. */
static bool read_views(const stream *self, PyObject *views, const char *role, bool result, const view **found)
{
    if (PyTuple_Size(views) != self->planes) {
        errors_usage("%s: it has %zd planes, and the stream's frames have %zd", role, PyTuple_Size(views),
                     self->planes);
        return false;
    }
    for (Py_ssize_t i = 0; i < self->planes; i++) {
        const hone_image_desc *wanted = result ? hone_stream_output(self->made, (size_t)i) : &self->inputs[i];
        found[i] = view_of(PyTuple_GetItem(views, i));
        if (!found[i] || !view_check(found[i], role, wanted))
            return false;
        if (found[i]->planes != 1) {
            errors_usage("%s: it is a stack of %zd images, and must be one", role, found[i]->planes);
            return false;
        }
        if (!found[i]->direct) {
            errors_usage("%s: the elements of a row must lie side by side, and rows one behind the other",
                         role);
            return false;
        }
    }
    return true;
}

/* Whether what a frame uses was noted. */
static bool note_flying(PyObject *flying, PyObject *used)
{
    PyObject *none = PyObject_CallMethod(flying, "append", "(O)", used);
    Py_XDECREF(none);
    return none != NULL;
}

/* Notes the frame itself: an interrupt (Ctrl-C) may come as soon as Python goes on, and what is in flight and
 * not noted would be freed too early. */
static PyObject *stream_try_push(PyObject *object, PyObject *arguments)
{
    stream *self = (stream *)object;
    PyObject *ins, *outs, *flying, *used;
    const view *in[HONE_STREAM_PLANES], *out[HONE_STREAM_PLANES];
    if (!PyArg_ParseTuple(arguments, "O!O!OO", &PyTuple_Type, &ins, &PyTuple_Type, &outs, &flying, &used) ||
        !read_views(self, ins, "frame", false, in) || !read_views(self, outs, "out", true, out))
        return NULL;
    hone_frame frame = {.size = sizeof frame};
    for (Py_ssize_t i = 0; i < self->planes; i++) {
        frame.in[i] = in[i]->memory.data;
        frame.in_pitch[i] = hone_image_pitch(&in[i]->desc);
        frame.out[i] = out[i]->memory.data;
        frame.out_pitch[i] = hone_image_pitch(&out[i]->desc);
    }
    bool taken = false;
    hone_status status;
    hone_error error;
    Py_BEGIN_ALLOW_THREADS status = hone_stream_try_push(self->made, &frame, &taken, &error);
    Py_END_ALLOW_THREADS if (status) return errors_raise(status, &error);
    return taken && !note_flying(flying, used) ? NULL : PyBool_FromLong(taken);
}

/* The exception of a frame that failed, as an object; NULL with another one set. */
static PyObject *frame_error(const hone_stream_result *result)
{
    PyObject *type, *value, *trace;
    errors_raise(result->status, result->error);
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

typedef hone_status pull_function(hone_stream *stream, hone_stream_result *result, bool *got,
                                  hone_error *error);

/* Takes the frame from those in flight itself: were it there when an interrupt comes, one would wait for it
 * for ever. */
static PyObject *pull(PyObject *object, PyObject *flying, pull_function *function)
{
    hone_stream_result result;
    bool got = false;
    hone_status status;
    hone_error error;
    Py_BEGIN_ALLOW_THREADS status = function(((stream *)object)->made, &result, &got, &error);
    Py_END_ALLOW_THREADS if (status) return errors_raise(status, &error);
    if (!got)
        Py_RETURN_NONE;
    PyObject *used = PyObject_CallMethod(flying, "popleft", NULL);
    PyObject *failure = used && result.status ? frame_error(&result) : NULL;
    PyObject *pair =
        used && (failure || !result.status) ? PyTuple_Pack(2, used, failure ? failure : Py_None) : NULL;
    Py_XDECREF(used);
    Py_XDECREF(failure);
    return pair;
}

static PyObject *stream_pull(PyObject *object, PyObject *flying)
{
    return pull(object, flying, hone_stream_pull);
}

static PyObject *stream_try_pull(PyObject *object, PyObject *flying)
{
    return pull(object, flying, hone_stream_try_pull);
}

static PyObject *stream_flush(PyObject *object, PyObject *unused)
{
    (void)unused;
    hone_status status;
    hone_error error;
    Py_BEGIN_ALLOW_THREADS status = hone_stream_flush(((stream *)object)->made, &error);
    Py_END_ALLOW_THREADS if (status) return errors_raise(status, &error);
    Py_RETURN_NONE;
}

static PyObject *stream_set(PyObject *object, PyObject *arguments)
{
    Py_ssize_t step;
    const char *text;
    hone_status status;
    hone_error error;
    if (!PyArg_ParseTuple(arguments, "ns", &step, &text))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = hone_stream_set(((stream *)object)->made, (size_t)step, text, &error);
    Py_END_ALLOW_THREADS if (status) return errors_raise(status, &error);
    Py_RETURN_NONE;
}

/* Waits for the frames in flight, which may use the image that goes. */
static hone_status bind_image(stream *self, Py_ssize_t place, Py_ssize_t step, const view *second,
                              hone_error *error)
{
    hone_image *image = NULL;
    hone_status status = hone_stream_flush(self->made, error);
    if (!status)
        status = hone_image_wrap(&image, device_get(self->device), &second->desc, second->memory.data, error);
    if (!status)
        status = hone_image_upload(image, NULL, 0, NULL, 0, NULL, error);
    if (!status)
        status = hone_stream_bind(self->made, (size_t)step, image, error);
    if (status) {
        hone_image_destroy(&image);
        return status;
    }
    hone_image_destroy(&self->seconds[place]);
    self->seconds[place] = image;
    return HONE_OK;
}

static PyObject *stream_bind(PyObject *object, PyObject *arguments)
{
    stream *self = (stream *)object;
    Py_ssize_t place, step;
    PyObject *second;
    hone_error error;
    if (!PyArg_ParseTuple(arguments, "nnO", &place, &step, &second))
        return NULL;
    const view *image = view_of(second);
    if (!image)
        return NULL;
    if (place < 0 || place >= PLAN_SECONDS || !image->direct || image->planes != 1)
        return errors_usage("second image: it must be a single image whose rows lie one behind the other");
    hone_status status = bind_image(self, place, step, image, &error);
    if (status)
        return errors_raise(status, &error);
    Py_XDECREF(self->bound[place]);
    self->bound[place] = second;
    Py_INCREF(second);
    Py_RETURN_NONE;
}

static PyObject *stream_outputs(PyObject *object, PyObject *unused)
{
    (void)unused;
    const stream *self = (stream *)object;
    PyObject *tuple = PyTuple_New(self->planes);
    for (Py_ssize_t i = 0; tuple && i < self->planes; i++) {
        PyObject *desc = desc_tuple(hone_stream_output(self->made, (size_t)i));
        if (!desc || PyTuple_SetItem(tuple, i, desc))
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *step_at(const void *made, size_t index)
{
    hone_step_info info;
    return hone_stream_step(made, 0, index, &info) ? step_dict(&info) : NULL;
}

static PyObject *stream_steps(PyObject *object, PyObject *unused)
{
    (void)unused;
    return module_list(step_at, ((stream *)object)->made);
}

static PyObject *stage_seconds(const hone_stream_stats *stats)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < HONE_STAGE_COUNT; i++) {
        PyObject *seconds = PyFloat_FromDouble(stats->seconds[i]);
        if (!seconds || PyDict_SetItemString(dict, hone_stream_stage_name((hone_stream_stage)i), seconds))
            Py_CLEAR(dict);
        Py_XDECREF(seconds);
    }
    return dict;
}

static PyObject *stream_stats(PyObject *object, PyObject *unused)
{
    (void)unused;
    hone_stream_stats stats;
    hone_stream_get_stats(((stream *)object)->made, &stats);
    PyObject *copies = copies_dict(&stats.copies), *seconds = copies ? stage_seconds(&stats) : NULL;
    if (!seconds) {
        Py_XDECREF(copies);
        return NULL;
    }
    return Py_BuildValue("{s:K,s:K,s:K,s:I,s:I,s:K,s:K,s:N,s:(KK),s:(KK),s:N,s:s,s:O}", "pushed",
                         (unsigned long long)stats.pushed, "finished", (unsigned long long)stats.finished,
                         "failed", (unsigned long long)stats.failed, "slots", stats.slots, "in_flight",
                         stats.in_flight, "memory", (unsigned long long)stats.memory, "zero_copy",
                         (unsigned long long)stats.zero_copy, "copies", copies, "copies_in",
                         (unsigned long long)stats.copies_in.count, (unsigned long long)stats.copies_in.bytes,
                         "copies_out", (unsigned long long)stats.copies_out.count,
                         (unsigned long long)stats.copies_out.bytes, "seconds", seconds, "bottleneck",
                         hone_stream_stage_name(stats.bottleneck), "dead", stats.dead ? Py_True : Py_False);
}

bool stream_add(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"try_push", stream_try_push, METH_VARARGS,
         "try_push(ins, outs, flying, used): whether there was a free slot; then flying.append(used)"},
        {"pull", stream_pull, METH_O,
         "pull(flying): waits for the oldest frame: (flying.popleft(), None or the exception that it failed "
         "with)"},
        {"try_pull", stream_try_pull, METH_O, "As pull; None if the oldest frame is not finished yet."},
        {"flush", stream_flush, METH_NOARGS, "Waits until all frames are finished."},
        {"set", stream_set, METH_VARARGS, "set(step, 'name=value ...')"},
        {"bind", stream_bind, METH_VARARGS, "bind(place, step, view): the second image of a step"},
        {"outputs", stream_outputs, METH_NOARGS, "(width, height, type, channels) of each plane of a result"},
        {"steps", stream_steps, METH_NOARGS, "What each step runs with, a list of dictionaries."},
        {"stats", stream_stats, METH_NOARGS, "What the stream has done, a dictionary."},
        {0}};
    static PyType_Slot slots[] = {{Py_tp_new, stream_new},
                                  {Py_tp_dealloc, stream_free},
                                  {Py_tp_methods, methods},
                                  {Py_tp_doc, "A chain over many frames."},
                                  {0, NULL}};
    static PyType_Spec spec = {"hone._hone.Stream", sizeof(stream), 0, Py_TPFLAGS_DEFAULT, slots};
    return module_add_type(module, &spec);
}
