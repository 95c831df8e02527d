/* SPDX-License-Identifier: BSD-2-Clause */
/** What the files of the extension module share. Everything here needs the GIL unless it says otherwise. */
#ifndef HONE_PYTHON_MODULE_H
#define HONE_PYTHON_MODULE_H

#include "compat.h"

#include "hone/hone.h"

/** Creates the exception classes and adds them to the module. Returns false with an exception set. */
bool errors_add(PyObject *module);
/** Raises the class of a status, with the attributes of the error. Returns NULL. */
PyObject *errors_raise(hone_status status, const hone_error *error);
/** Raises UsageError with a formatted text. Returns NULL. */
PyObject *errors_usage(const char *format, ...);

/** Adds a type made from `spec`; also returned (borrowed from the module). NULL with an exception set. */
PyObject *module_add_type(PyObject *module, PyType_Spec *spec);
/** tp_new of an object of `type`, zeroed. */
void *module_new(PyTypeObject *type);
/** Frees the object after its contents: what a deallocator ends with. */
void module_free(PyObject *self);
/** What a tp_new ends with: `self`, or NULL with an exception when `status` says that making it failed. */
PyObject *module_made(PyObject *self, hone_status status, const hone_error *error);
/** Item `index` of what `of` has, a new reference; NULL without an exception behind the last. */
typedef PyObject *item_function(const void *of, size_t index);
/** The list of all items. NULL with an exception set. */
PyObject *module_list(item_function *item, const void *of);

bool view_add(PyObject *module);
bool array_add(PyObject *module);
/** A new hone.Array of tight memory; its address in *data. NULL with an exception set. */
PyObject *array_make(int ndim, const Py_ssize_t *shape, hone_type type, void **data);
bool device_add(PyObject *module);
bool plan_add(PyObject *module);
bool stream_add(PyObject *module);
/** Adds the functions that list the filters and take chains apart. */
extern PyMethodDef registry_methods[];
extern PyMethodDef device_methods[];
/** Adds the function that compares two images. */
extern PyMethodDef compare_methods[];

/** The open device of a Device object, or NULL with TypeError. */
hone_device *device_get(PyObject *object);

/** (width, height, "u8", channels) */
PyObject *desc_tuple(const hone_image_desc *desc);
/** Reads (width, height, type, channels, pitch). Returns false with an exception set. */
bool desc_parse(PyObject *tuple, hone_image_desc *desc);

/** Dictionary of the copies, with the keys "uploads" ... "maps", each (count, bytes). */
PyObject *copies_dict(const hone_copy_counts *copies);
/** Adds `more` to `sum`. Needs no GIL. */
void copies_sum(hone_copy_counts *sum, const hone_copy_counts *more);
/** Dictionary of what a step runs with. */
PyObject *step_dict(const hone_step_info *info);

#endif
