/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module hone._hone, and what its files share. */
#include "module.h"

#include <string.h>

void *module_new(PyTypeObject *type)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, 0);
}

void module_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type); /* an object of a type made at run time holds its type */
}

PyObject *module_made(PyObject *self, hone_status status, const hone_error *error)
{
    if (!status)
        return self;
    errors_raise(status, error);
    Py_DECREF(self);
    return NULL;
}

PyObject *module_list(item_function *item, const void *of)
{
    PyObject *list = PyList_New(0), *next;
    for (size_t i = 0; list && (next = item(of, i)); i++) {
        if (PyList_Append(list, next))
            Py_CLEAR(list);
        Py_DECREF(next);
    }
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

PyObject *module_add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    Py_XINCREF(type);
    if (type && PyModule_AddObject(module, strrchr(spec->name, '.') + 1, type)) {
        Py_DECREF(type);
        Py_CLEAR(type);
    }
    Py_XDECREF(type); /* the module's is the one that stays */
    return type;
}

PyObject *desc_tuple(const hone_image_desc *desc)
{
    return Py_BuildValue("(IIsI)", desc->width, desc->height, hone_type_name(desc->type), desc->channels);
}

bool desc_parse(PyObject *tuple, hone_image_desc *desc)
{
    const char *type;
    Py_ssize_t pitch = 0;
    hone_error error;
    *desc = (hone_image_desc){0};
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a description is (width, height, type, channels, pitch)");
        return false;
    }
    if (!PyArg_ParseTuple(tuple, "IIsI|n", &desc->width, &desc->height, &type, &desc->channels, &pitch))
        return false;
    desc->pitch = (size_t)pitch;
    hone_status status = hone_type_parse(&desc->type, type, &error);
    if (status)
        errors_raise(status, &error);
    return !status;
}

static void sum(hone_copies *to, const hone_copies *more)
{
    to->count += more->count;
    to->bytes += more->bytes;
}

void copies_sum(hone_copy_counts *to, const hone_copy_counts *more)
{
    sum(&to->uploads, &more->uploads);
    sum(&to->downloads, &more->downloads);
    sum(&to->moves, &more->moves);
    sum(&to->conversions, &more->conversions);
    sum(&to->maps, &more->maps);
}

PyObject *copies_dict(const hone_copy_counts *copies)
{
#define PAIR(name) #name, (unsigned long long)copies->name.count, (unsigned long long)copies->name.bytes
    return Py_BuildValue("{s:(KK),s:(KK),s:(KK),s:(KK),s:(KK)}", PAIR(uploads), PAIR(downloads), PAIR(moves),
                         PAIR(conversions), PAIR(maps));
#undef PAIR
}

PyObject *step_dict(const hone_step_info *info)
{
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:I,s:n,s:z}", "filter", info->filter, "variant", info->variant,
                         "config", info->config, "origin", info->origin, "passes", info->passes,
                         "scratch_bytes", (Py_ssize_t)info->scratch_bytes, "fused_with", info->fused_with);
}

static bool add_methods(PyObject *module)
{
    return PyModule_AddFunctions(module, registry_methods) == 0 &&
           PyModule_AddFunctions(module, device_methods) == 0 &&
           PyModule_AddFunctions(module, compare_methods) == 0 &&
           PyModule_AddStringConstant(module, "__version__", HONE_VERSION) == 0;
}

PyMODINIT_FUNC PyInit__hone(void)
{
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "hone._hone",
                                     .m_doc = "libhone for the package hone.", .m_size = -1};
    PyObject *module = PyModule_Create(&definition);
    if (module && errors_add(module) && view_add(module) && array_add(module) && device_add(module) &&
        plan_add(module) && stream_add(module) && add_methods(module))
        return module;
    Py_XDECREF(module);
    return NULL;
}
