/* SPDX-License-Identifier: BSD-2-Clause */
/** Views: the memory of somebody's array, seen as one image or a stack of images. */
#ifndef HONE_PYTHON_VIEW_H
#define HONE_PYTHON_VIEW_H

#include "module.h"

#include "dlpack.h"

enum { VIEW_AXES = 16 };

/** Where the pixels are, whoever owns them: as the protocols tell. */
struct memory {
    char *data;
    int ndim;
    Py_ssize_t shape[VIEW_AXES], strides[VIEW_AXES]; /* strides in bytes */
    hone_type type;
    bool readonly;
};

/** What keeps the memory alive. */
struct owner {
    Py_buffer buffer; /* held if buffer.obj is not NULL */
    PyObject *object;
    struct dlpack_managed *tensor;
};

/** Lets go of the memory. */
void owner_release(struct owner *owner);
/** Finds the memory of an object through the protocols that it has. Returns false with an exception set;
 *  `role` ("image", "out") begins its message. */
bool memory_find(PyObject *object, bool writable, const char *role, struct memory *memory,
                 struct owner *owner);

/** The element type of a format of the struct module, or of `kind` and bits: false if hone has no such
 *  type. */
bool memory_type(const char *format, Py_ssize_t size, hone_type *type);

typedef struct view {
    PyObject_HEAD struct owner owner;
    struct memory memory;
    char axes[VIEW_AXES + 1];
    int y, x, c;                /* places of the axes; c: -1 without channels */
    int lead[VIEW_AXES], leads; /* the other axes */
    Py_ssize_t planes;
    hone_image_desc desc; /* of one plane in place; pitch 0 if it has to be gathered */
    bool direct;          /* hone can work on the memory as it lies */
} view;

/** A View object as a view, or NULL with TypeError. */
view *view_of(PyObject *object);
/** Whether the planes of a view are what is wanted: size, type, channels. Returns false with an exception
 *  set. */
bool view_check(const view *self, const char *role, const hone_image_desc *wanted);
/** The first pixel of plane `index`. Needs no GIL. */
char *view_plane(const view *self, Py_ssize_t index);
/** Copies plane `index` to tight memory, or from there. Needs no GIL. */
void view_gather(const view *self, Py_ssize_t index, void *tight);
void view_scatter(const view *self, Py_ssize_t index, const void *tight);
/** Whether no byte belongs to two elements, as far as strides tell: none may be less than what the axes of
 *  smaller strides reach. */
bool view_is_distinct(const view *self);
/** The first and the last byte of what the view can reach. */
void view_range(const view *self, const char **first, const char **last);

#endif
