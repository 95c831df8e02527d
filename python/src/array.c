/* SPDX-License-Identifier: BSD-2-Clause */
/* Results where there is no NumPy: memory with the buffer protocol. */
#include "view.h"

#include <stdlib.h>

enum { ALIGNMENT = 128 }; /* what every driver takes as a buffer of the host's */

typedef struct array {
    PyObject_HEAD char *data;
    int ndim;
    Py_ssize_t shape[VIEW_AXES], strides[VIEW_AXES], bytes;
    hone_type type;
} array;

static PyTypeObject *array_type;

/* For the struct module and memoryview. */
static char *format_of(hone_type type)
{
    static char *const formats[] = {
        [HONE_U8] = "B", [HONE_U16] = "H", [HONE_F32] = "f", [HONE_S16] = "h", [HONE_U32] = "I"};
    return formats[type];
}

static bool allocate(array *self)
{
    Py_ssize_t bytes = (Py_ssize_t)hone_type_size(self->type);
    for (int i = self->ndim; i-- > 0;) {
        self->strides[i] = bytes;
        if (self->shape[i] < 0 || __builtin_mul_overflow(bytes, self->shape[i], &bytes) ||
            bytes > PY_SSIZE_T_MAX - ALIGNMENT) {
            PyErr_NoMemory();
            return false;
        }
    }
    self->bytes = bytes;
    self->data = aligned_alloc(ALIGNMENT, (size_t)(bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    if (!self->data)
        PyErr_NoMemory();
    return self->data;
}

PyObject *array_make(int ndim, const Py_ssize_t *shape, hone_type type, void **data)
{
    array *self = module_new(array_type);
    if (!self)
        return NULL;
    self->ndim = ndim;
    self->type = type;
    for (int i = 0; i < ndim; i++)
        self->shape[i] = shape[i];
    if (allocate(self)) {
        *data = self->data;
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static PyObject *array_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"shape", "type", NULL};
    PyObject *shape;
    const char *name;
    hone_error error;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!s", names, &PyTuple_Type, &shape, &name))
        return NULL;
    array *self = module_new(type);
    if (!self)
        return NULL;
    hone_status status = hone_type_parse(&self->type, name, &error);
    self->ndim = (int)PyTuple_Size(shape);
    if (status)
        errors_raise(status, &error);
    else if (self->ndim > VIEW_AXES)
        errors_usage("an array has at most %d axes", VIEW_AXES);
    for (int i = 0; i < self->ndim && !PyErr_Occurred(); i++) {
        self->shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        if (self->shape[i] < 0 && !PyErr_Occurred())
            errors_usage("no axis of an array has %zd elements", self->shape[i]);
    }
    if (!PyErr_Occurred() && allocate(self))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void array_free(PyObject *object)
{
    free(((array *)object)->data);
    module_free(object);
}

static int array_buffer(PyObject *object, Py_buffer *buffer, int flags)
{
    array *self = (array *)object;
    *buffer = (Py_buffer){.buf = self->data,
                          .obj = object,
                          .len = self->bytes,
                          .itemsize = (Py_ssize_t)hone_type_size(self->type),
                          .ndim = self->ndim,
                          .format = flags & PyBUF_FORMAT ? format_of(self->type) : NULL,
                          .shape = flags & PyBUF_ND ? self->shape : NULL,
                          .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL};
    Py_INCREF(object);
    return 0;
}

static PyObject *get_shape(PyObject *object, void *unused)
{
    (void)unused;
    const array *self = (array *)object;
    PyObject *shape = PyTuple_New(self->ndim);
    for (int i = 0; shape && i < self->ndim; i++) {
        PyObject *length = PyLong_FromSsize_t(self->shape[i]);
        if (!length || PyTuple_SetItem(shape, i, length))
            Py_CLEAR(shape);
    }
    return shape;
}

static PyObject *get_type(PyObject *object, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(hone_type_name(((array *)object)->type));
}

static PyObject *as_list(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *memory = PyMemoryView_FromObject(object);
    PyObject *list = memory ? PyObject_CallMethod(memory, "tolist", NULL) : NULL;
    Py_XDECREF(memory);
    return list;
}

static PyObject *describe(PyObject *object)
{
    PyObject *shape = get_shape(object, NULL);
    PyObject *text =
        shape ? PyUnicode_FromFormat("<hone.Array: %R of %s>", shape, hone_type_name(((array *)object)->type))
              : NULL;
    Py_XDECREF(shape);
    return text;
}

static PyGetSetDef attributes[] = {{"shape", get_shape, NULL, "lengths of the axes", NULL},
                                   {"type", get_type, NULL, "'u8', 'u16', 's16', 'f32' or 'u32'", NULL},
                                   {0}};
static PyMethodDef methods[] = {{"tolist", as_list, METH_NOARGS, "The elements as nested lists."}, {0}};

bool array_add(PyObject *module)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, array_new},
        {Py_tp_dealloc, array_free},
        {Py_tp_getset, attributes},
        {Py_tp_methods, methods},
        {Py_tp_repr, describe},
        {Py_bf_getbuffer, array_buffer},
        {Py_tp_doc, "A result where NumPy is not installed: memoryview(array) has its elements."},
        {0, NULL}};
    static PyType_Spec spec = {"hone.Array", sizeof(array), 0, Py_TPFLAGS_DEFAULT, slots};
    array_type = (PyTypeObject *)module_add_type(module, &spec);
    return array_type;
}
