/* SPDX-License-Identifier: BSD-2-Clause */
/* A class of exceptions for each kind of status. */
#include "module.h"

#include <stdarg.h>

static PyObject *base, *kinds[HONE_ERROR_INTERNAL + 1];

struct kind {
    hone_status status;
    const char *name, *doc;
    PyObject **also; /* a class of Python's that it is, too */
};

static const struct kind table[] = {
    {HONE_ERROR_USAGE, "hone.UsageError",
     "An argument, chain or array is wrong; the message says what would be right.", &PyExc_ValueError},
    {HONE_ERROR_IO, "hone.FileError", "A file could not be read or written.", &PyExc_OSError},
    {HONE_ERROR_NO_DEVICE, "hone.NoDeviceError", "No OpenCL device matches the request.",
     &PyExc_RuntimeError},
    {HONE_ERROR_DEVICE, "hone.DeviceError",
     "An OpenCL call failed; `cl_code` and `cl_name` say which error it gave.", &PyExc_RuntimeError},
    {HONE_ERROR_MEMORY, "hone.OutOfMemoryError", "Out of host memory, or over the memory budget of a device.",
     &PyExc_MemoryError},
    {HONE_ERROR_UNSUPPORTED, "hone.UnsupportedError",
     "Valid, but not possible with this device, format or build.", &PyExc_RuntimeError},
    {HONE_ERROR_CHECK, "hone.CheckError", "A comparison or self-test failed.", &PyExc_RuntimeError},
    {HONE_ERROR_INTERNAL, "hone.InternalError", "A bug in hone: please report it.", &PyExc_RuntimeError},
};

static PyObject *new_class(PyObject *module, const char *name, const char *doc, PyObject *bases)
{
    PyObject *class = PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
    Py_XINCREF(class); /* one for the module, one for this file */
    if (class && PyModule_AddObject(module, strchr(name, '.') + 1, class)) {
        Py_DECREF(class);
        Py_CLEAR(class);
    }
    return class;
}

bool errors_add(PyObject *module)
{
    base = new_class(
        module, "hone.Error",
        "What all errors of hone are. Attributes: status (\"HONE_ERROR_USAGE\" ...), cl_code and cl_name (0 "
        "and\n"
        "\"\" if OpenCL was not involved), column (of the chain, from 1, or 0), log (of the compiler).",
        NULL);
    for (size_t i = 0; base && i < sizeof table / sizeof *table; i++) {
        PyObject *bases = PyTuple_Pack(2, base, *table[i].also);
        if (!bases)
            return false;
        kinds[table[i].status] = new_class(module, table[i].name, table[i].doc, bases);
        Py_DECREF(bases);
        if (!kinds[table[i].status])
            return false;
    }
    return base != NULL;
}

static bool set_attribute(PyObject *exception, const char *name, PyObject *value)
{
    bool set = value && PyObject_SetAttrString(exception, name, value) == 0;
    Py_XDECREF(value);
    return set;
}

PyObject *errors_raise(hone_status status, const hone_error *error)
{
    PyObject *class =
        status > HONE_OK && status <= HONE_ERROR_INTERNAL ? kinds[status] : kinds[HONE_ERROR_INTERNAL];
    const char *name = error->cl_code ? hone_cl_error_name(error->cl_code) : "";
    /* What a driver says need not be UTF-8. */
    PyObject *message = PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace");
    PyObject *exception = message ? PyObject_CallFunctionObjArgs(class, message, NULL) : NULL;
    Py_XDECREF(message);
    if (exception && set_attribute(exception, "status", PyUnicode_FromString(hone_status_name(status))) &&
        set_attribute(exception, "cl_code", PyLong_FromLong(error->cl_code)) &&
        set_attribute(exception, "cl_name", PyUnicode_FromString(name)) &&
        set_attribute(exception, "column", PyLong_FromLong(error->column)) &&
        set_attribute(exception, "log",
                      PyUnicode_DecodeUTF8(error->log, (Py_ssize_t)strlen(error->log), "replace")))
        PyErr_SetObject(class, exception);
    Py_XDECREF(exception);
    return NULL;
}

PyObject *errors_usage(const char *format, ...)
{
    hone_error error = {.status = HONE_ERROR_USAGE};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    return errors_raise(HONE_ERROR_USAGE, &error);
}
