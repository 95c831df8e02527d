/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Python's header under the limited API of 3.9, and the buffer protocol beside it.
 *
 * The buffer protocol joined the limited API in 3.11, with the functions, the slots and the struct that every
 * CPython since 3.3 has. They are declared here so that one binary serves 3.9 and 3.10 as well.
 */
#ifndef HONE_PYTHON_COMPAT_H
#define HONE_PYTHON_COMPAT_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#ifndef PyBUF_MAX_NDIM
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *object);
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);

#define PyBUF_WRITABLE      0x0001
#define PyBUF_FORMAT        0x0004
#define PyBUF_ND            0x0008
#define PyBUF_STRIDES       (0x0010 | PyBUF_ND)
#define PyBUF_RECORDS       (PyBUF_STRIDES | PyBUF_WRITABLE | PyBUF_FORMAT)
#define PyBUF_RECORDS_RO    (PyBUF_STRIDES | PyBUF_FORMAT)

#define Py_bf_getbuffer     1
#define Py_bf_releasebuffer 2
#endif

#endif
