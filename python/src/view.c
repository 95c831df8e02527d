/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays as images and stacks of images. */
#include "view.h"

#include <stdint.h>
#include <string.h>

static PyTypeObject *view_type;

view *view_of(PyObject *object)
{
    if (PyObject_TypeCheck(object, view_type))
        return (view *)object;
    PyErr_SetString(PyExc_TypeError, "this must be a hone._hone.View");
    return NULL;
}

/* "(50, 512, 512)" */
static const char *shape_text(const struct memory *memory, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < memory->ndim && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, i ? ", %zd" : "%zd", memory->shape[i]);
    if (length < size)
        snprintf(text + length, size - length, memory->ndim == 1 ? ",)" : ")");
    return text;
}

static bool guess_axes(view *self, const char *role)
{
    const struct memory *memory = &self->memory;
    char text[256];
    if (memory->ndim == 2)
        strcpy(self->axes, "YX");
    else if (memory->ndim == 3 && memory->shape[2] <= 4)
        strcpy(self->axes, "YXC");
    else if (memory->ndim == 3)
        errors_usage("%s: the shape %s may be a stack: say what its axes are, such as axes='ZYX' (or 'CYX' "
                     "for colour plane "
                     "by plane; an image with interleaved colours is 'YXC' and has at most 4)",
                     role, shape_text(memory, text, sizeof text));
    else if (memory->ndim < 2)
        errors_usage("%s: the shape %s is no image; give it rows and columns: image.reshape(height, width)",
                     role, shape_text(memory, text, sizeof text));
    else
        errors_usage("%s: the shape %s needs names for its axes, such as axes='%s'", role,
                     shape_text(memory, text, sizeof text), memory->ndim == 4 ? "TZYX" : "TCZYX");
    return self->axes[0];
}

static bool check_letters(const char *axes, int ndim, const char *role)
{
    const int length = (int)strlen(axes);
    for (int i = 0; i < length; i++) {
        if (axes[i] < 'A' || axes[i] > 'Z' || strchr(axes + i + 1, axes[i])) {
            errors_usage("%s: axes='%.30s' must be different capital letters", role, axes);
            return false;
        }
    }
    if (length != ndim) {
        errors_usage("%s: axes='%.30s' names %d axes, and the array has %d", role, axes, length, ndim);
        return false;
    }
    const char *y = strchr(axes, 'Y'), *x = strchr(axes, 'X');
    if (!y || !x)
        errors_usage("%s: axes='%.30s' must name Y (rows) and X (columns)", role, axes);
    else if (y > x)
        errors_usage("%s: axes='%.30s': Y must come before X; pass the transposed array", role, axes);
    return y && x && y < x;
}

/* C right behind X is interleaved colour; every other axis makes a stack. */
static bool place_axes(view *self, const char *role)
{
    self->y = (int)(strchr(self->axes, 'Y') - self->axes);
    self->x = (int)(strchr(self->axes, 'X') - self->axes);
    self->c = self->axes[self->x + 1] == 'C' ? self->x + 1 : -1;
    self->planes = 1;
    for (int i = 0; i < self->memory.ndim; i++) {
        if (i == self->y || i == self->x || i == self->c)
            continue;
        self->lead[self->leads++] = i;
        self->planes *= self->memory.shape[i];
    }
    if (self->c < 0 || (self->memory.shape[self->c] >= 1 && self->memory.shape[self->c] <= 4))
        return true;
    errors_usage("%s: its axis C has %zd channels, and an image has 1 to 4; for a stack of single channels "
                 "give the axis "
                 "another letter, such as axes='YXS'",
                 role, self->memory.shape[self->c]);
    return false;
}

static bool describe(view *self, const char *role)
{
    const struct memory *m = &self->memory;
    const Py_ssize_t height = m->shape[self->y], width = m->shape[self->x];
    const size_t element = hone_type_size(m->type);
    const Py_ssize_t channels = self->c < 0 ? 1 : m->shape[self->c], pixel = channels * (Py_ssize_t)element;
    hone_error error;
    self->desc = (hone_image_desc){.width = width > UINT32_MAX ? UINT32_MAX : (uint32_t)width,
                                   .height = height > UINT32_MAX ? UINT32_MAX : (uint32_t)height,
                                   .type = m->type,
                                   .channels = (uint32_t)channels};
    hone_status status = hone_image_desc_check(&self->desc, &error);
    if (status) {
        errors_usage("%s: %.900s", role, error.message);
        return false;
    }
    const Py_ssize_t pitch = height > 1 ? m->strides[self->y] : width * pixel;
    self->direct = (channels == 1 || m->strides[self->c] == (Py_ssize_t)element) &&
                   (width == 1 || m->strides[self->x] == pixel) && pitch >= width * pixel &&
                   pitch % (Py_ssize_t)element == 0 && (uintptr_t)m->data % element == 0;
    for (int i = 0; i < self->leads; i++)
        self->direct = self->direct && m->strides[self->lead[i]] % (Py_ssize_t)element == 0;
    if (self->direct && pitch != width * pixel)
        self->desc.pitch = (size_t)pitch;
    return true;
}

static PyObject *view_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"array", "axes", "writable", "role", NULL};
    PyObject *array;
    const char *axes = NULL, *role = "image";
    int writable = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|zps", names, &array, &axes, &writable, &role))
        return NULL;
    view *self = module_new(type);
    if (!self)
        return NULL;
    bool made = memory_find(array, writable, role, &self->memory, &self->owner);
    if (made && axes)
        made = check_letters(axes, self->memory.ndim, role) && strcpy(self->axes, axes);
    else if (made)
        made = guess_axes(self, role);
    if (made && place_axes(self, role) && describe(self, role))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void view_free(PyObject *object)
{
    owner_release(&((view *)object)->owner);
    module_free(object);
}

char *view_plane(const view *self, Py_ssize_t index)
{
    char *place = self->memory.data;
    for (int i = self->leads; i-- > 0;) {
        const Py_ssize_t length = self->memory.shape[self->lead[i]];
        place += index % length * self->memory.strides[self->lead[i]];
        index /= length;
    }
    return place;
}

/* Pixel by pixel between memory with strides and tight memory. */
static void move_plane(const view *self, Py_ssize_t index, char *tight, bool gather)
{
    const struct memory *m = &self->memory;
    const size_t element = hone_type_size(m->type), row_bytes = hone_image_row_bytes(&self->desc);
    char *plane = view_plane(self, index);
    for (uint32_t y = 0; y < self->desc.height; y++, tight += row_bytes) {
        char *row = plane + y * m->strides[self->y], *to = tight;
        if (self->direct) {
            memcpy(gather ? tight : row, gather ? row : tight, row_bytes);
            continue;
        }
        for (uint32_t x = 0; x < self->desc.width; x++) {
            for (uint32_t c = 0; c < self->desc.channels; c++, to += element) {
                char *place = row + x * m->strides[self->x] + (self->c < 0 ? 0 : c * m->strides[self->c]);
                memcpy(gather ? to : place, gather ? place : to, element);
            }
        }
    }
}

void view_gather(const view *self, Py_ssize_t index, void *tight)
{
    move_plane(self, index, tight, true);
}

void view_scatter(const view *self, Py_ssize_t index, const void *tight)
{
    move_plane(self, index, (char *)tight, false);
}

void view_range(const view *self, const char **first, const char **last)
{
    *first = self->memory.data;
    *last = self->memory.data + hone_type_size(self->memory.type) - 1;
    for (int i = 0; i < self->memory.ndim; i++) {
        const Py_ssize_t reach = (self->memory.shape[i] - 1) * self->memory.strides[i];
        *(reach < 0 ? first : last) += reach;
    }
}

/* What the axes of strides up to `most` reach, without axis `except`. */
static Py_ssize_t reach_below(const struct memory *memory, Py_ssize_t most, int except)
{
    Py_ssize_t reach = (Py_ssize_t)hone_type_size(memory->type);
    for (int i = 0; i < memory->ndim; i++) {
        const Py_ssize_t stride = Py_ABS(memory->strides[i]);
        if (i != except && (stride < most || (stride == most && i > except)))
            reach += (memory->shape[i] - 1) * stride;
    }
    return reach;
}

bool view_is_distinct(const view *self)
{
    const struct memory *memory = &self->memory;
    for (int i = 0; i < memory->ndim; i++) {
        const Py_ssize_t stride = Py_ABS(memory->strides[i]);
        if (memory->shape[i] > 1 && stride < reach_below(memory, stride, i))
            return false;
    }
    return true;
}

bool view_check(const view *self, const char *role, const hone_image_desc *wanted)
{
    const hone_image_desc *is = &self->desc;
    if (is->width == wanted->width && is->height == wanted->height && is->type == wanted->type &&
        is->channels == wanted->channels)
        return true;
    errors_usage("%s: it is %ux%u %s with %u channel%s, and must be %ux%u %s with %u", role, is->width,
                 is->height, hone_type_name(is->type), is->channels, is->channels == 1 ? "" : "s",
                 wanted->width, wanted->height, hone_type_name(wanted->type), wanted->channels);
    return false;
}

static PyObject *get_desc(PyObject *object, void *unused)
{
    (void)unused;
    const hone_image_desc *desc = &((view *)object)->desc;
    return Py_BuildValue("(IIsIn)", desc->width, desc->height, hone_type_name(desc->type), desc->channels,
                         (Py_ssize_t)desc->pitch);
}

static PyObject *get_axes(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((view *)object)->axes);
}

static PyObject *get_shape(PyObject *object, void *unused)
{
    (void)unused;
    const struct memory *memory = &((view *)object)->memory;
    PyObject *shape = PyTuple_New(memory->ndim);
    for (int i = 0; shape && i < memory->ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(memory->shape[i]);
        if (!length || PyTuple_SetItem(shape, i, length))
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *get_planes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(((view *)object)->planes);
}

static PyObject *get_direct(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((view *)object)->direct);
}

static PyObject *get_address(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(((view *)object)->memory.data);
}

/* The axes and the shape that a result has: as here, with `channels` interleaved ones behind X. */
static PyObject *result_layout(PyObject *object, PyObject *arguments)
{
    const view *self = (view *)object;
    unsigned width, height, channels;
    if (!PyArg_ParseTuple(arguments, "III", &width, &height, &channels))
        return NULL;
    /* One channel needs no axis, unless the image has one for its single channel. */
    const bool keep = self->c >= 0 && (channels > 1 || self->memory.shape[self->c] == 1);
    const bool add = self->c < 0 && channels > 1;
    char axes[VIEW_AXES + 2];
    PyObject *sizes = PyList_New(0);
    int count = 0;
    for (int i = 0; sizes && i < self->memory.ndim; i++) {
        Py_ssize_t length = i == self->y   ? height
                            : i == self->x ? width
                            : i == self->c ? channels
                                           : self->memory.shape[i];
        for (int part = 0; part < 2; part++) {
            if (part ? i != self->x || !add : i == self->c && !keep)
                continue;
            PyObject *number = PyLong_FromSsize_t(part ? channels : length);
            axes[count++] = part ? 'C' : self->axes[i];
            if (!number || PyList_Append(sizes, number))
                Py_CLEAR(sizes);
            Py_XDECREF(number);
            if (!sizes)
                return NULL;
        }
    }
    axes[count] = 0;
    PyObject *shape = sizes ? PyList_AsTuple(sizes) : NULL;
    Py_XDECREF(sizes);
    return shape ? Py_BuildValue("(sN)", axes, shape) : NULL;
}

/* The pixels of a single image in an array of their own. */
static PyObject *copy_tight(PyObject *object, PyObject *unused)
{
    (void)unused;
    const view *self = (view *)object;
    void *data;
    if (self->planes != 1)
        return errors_usage("a stack is no single image");
    PyObject *copy = array_make(self->memory.ndim, self->memory.shape, self->memory.type, &data);
    if (copy)
        view_gather(self, 0, data);
    return copy;
}

static PyGetSetDef attributes[] = {
    {"desc", get_desc, NULL,
     "(width, height, type, channels, pitch) of one plane; pitch 0: tight, or gathered", NULL},
    {"axes", get_axes, NULL, "letters of the axes", NULL},
    {"shape", get_shape, NULL, "lengths of the axes", NULL},
    {"planes", get_planes, NULL, "how many images the stack has", NULL},
    {"direct", get_direct, NULL, "whether hone can work on the memory as it lies", NULL},
    {"address", get_address, NULL, "of the first element", NULL},
    {0}};

static PyMethodDef methods[] = {
    {"result_layout", result_layout, METH_VARARGS,
     "(axes, shape) of a result of (width, height, channels) per plane"},
    {"copy", copy_tight, METH_NOARGS, "The pixels of a single image in a hone.Array."},
    {0}};

bool view_add(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, view_new},
        {Py_tp_dealloc, view_free},
        {Py_tp_getset, attributes},
        {Py_tp_methods, methods},
        {Py_tp_doc, "Somebody's array, seen as an image or a stack; it keeps the array alive."},
        {0, NULL}};
    static PyType_Spec spec = {"hone._hone.View", sizeof(view), 0, Py_TPFLAGS_DEFAULT, slots};
    view_type = (PyTypeObject *)module_add_type(module, &spec);
    return view_type != NULL;
}
