/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose memory it is: the buffer protocol, __array_interface__, DLPack. */
#include "view.h"

#include <string.h>

static bool is_big_endian(void)
{
    const union {
        uint16_t number;
        uint8_t bytes[2];
    } probe = {1};
    return probe.bytes[1] == 1;
}

bool memory_type(const char *format, Py_ssize_t size, hone_type *type)
{
    const char order = *format;
    if (strchr("@=|", order) && order)
        format++;
    else if (order == '<' || order == '>' || order == '!') {
        if (size > 1 && (order == '<') == is_big_endian())
            return false;
        format++;
    }
    if (!format[0] || format[1])
        return false;
    const bool is_unsigned = strchr("BHIL", *format), is_signed = strchr("bhil", *format);
    if (is_unsigned && (size == 1 || size == 2 || size == 4))
        *type = size == 1 ? HONE_U8 : size == 2 ? HONE_U16 : HONE_U32;
    else if (is_signed && size == 2)
        *type = HONE_S16;
    else if (*format == 'f' && size == 4)
        *type = HONE_F32;
    else
        return false;
    return true;
}

static const char *advice(char kind, Py_ssize_t size)
{
    switch (kind) {
    case '?':
        return "; convert it: image.astype('uint8') (and times 255 for black and white)";
    case 'd':
    case 'e':
    case 'g':
        return "; convert it: image.astype('float32')";
    case 'b':
    case 'i':
    case 'l':
    case 'q':
    case 'Q':
    case 'L':
        return size == 1 ? "; convert it: image.astype('int16')"
                         : "; convert it to a type that holds its values";
    default:
        return "";
    }
}

static bool wrong_type(const char *role, const char *format, Py_ssize_t size)
{
    const char *kind = format;
    bool swapped = (*kind == '<' && is_big_endian()) || ((*kind == '>' || *kind == '!') && !is_big_endian());
    hone_type ignored;
    if (swapped && memory_type(format + 1, size, &ignored)) {
        errors_usage("%s: its numbers are in the other byte order; convert them: "
                     "image.astype(image.dtype.newbyteorder('='))",
                     role);
        return false;
    }
    if (*kind && strchr("@=|<>!", *kind))
        kind++;
    errors_usage("%s: elements of %zd bytes with the format '%.20s' are no pixels that hone takes; there are "
                 "uint8, uint16, "
                 "int16, float32 and (for results) uint32%s",
                 role, size, format, kind[0] && !kind[1] ? advice(*kind, size) : "");
    return false;
}

static bool too_many_axes(const char *role, Py_ssize_t ndim)
{
    errors_usage("%s: it has %zd axes; an image has 2 or 3, a stack at most %d", role, ndim, VIEW_AXES);
    return false;
}

/* Strides of memory in which the last index changes fastest. */
static void tight_strides(struct memory *memory)
{
    Py_ssize_t stride = (Py_ssize_t)hone_type_size(memory->type);
    for (int i = memory->ndim; i-- > 0; stride *= memory->shape[i])
        memory->strides[i] = stride;
}

static bool from_buffer(PyObject *object, bool writable, const char *role, struct memory *memory,
                        struct owner *owner)
{
    Py_buffer *buffer = &owner->buffer;
    if (PyObject_GetBuffer(object, buffer, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO)) {
        buffer->obj = NULL;
        if (writable && PyErr_ExceptionMatches(PyExc_BufferError)) {
            PyErr_Clear();
            errors_usage("%s: its memory is read-only", role);
        } else if (writable && PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_Clear();
            errors_usage("%s: its memory is read-only, or its type has no buffer", role);
        } else if (PyErr_ExceptionMatches(PyExc_ValueError)) { /* of NumPy, for times */
            PyErr_Clear();
            errors_usage("%s: its elements are of a type without a buffer; hone takes uint8, uint16, int16 "
                         "and float32",
                         role);
        }
        return false;
    }
    const char *format = buffer->format ? buffer->format : "B";
    if (!memory_type(format, buffer->itemsize, &memory->type))
        return wrong_type(role, format, buffer->itemsize);
    if (buffer->ndim > VIEW_AXES)
        return too_many_axes(role, buffer->ndim);
    memory->data = buffer->buf;
    memory->ndim = buffer->ndim;
    memory->readonly = buffer->readonly;
    for (int i = 0; i < buffer->ndim; i++)
        memory->shape[i] = buffer->shape[i];
    tight_strides(memory);
    for (int i = 0; buffer->strides && i < buffer->ndim; i++) /* those of ctypes give none, asked or not */
        memory->strides[i] = buffer->strides[i];
    return true;
}

static bool read_sizes(PyObject *tuple, const char *role, int *count, Py_ssize_t *sizes)
{
    const Py_ssize_t length = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (length < 0) {
        errors_usage("%s: its __array_interface__ has a shape or strides that are no tuple", role);
        return false;
    }
    if (length > VIEW_AXES)
        return too_many_axes(role, length);
    for (Py_ssize_t i = 0; i < length; i++) {
        sizes[i] = PyLong_AsSsize_t(PyTuple_GetItem(tuple, i));
        if (sizes[i] == -1 && PyErr_Occurred())
            return false;
    }
    *count = (int)length;
    return true;
}

/* "<u2", "|u1", "<f4": the letter says the kind, the number the bytes. */
static bool interface_type(const char *text, const char *role, hone_type *type)
{
    const Py_ssize_t size = text[0] && text[1] ? atoi(text + 2) : 0;
    char format[3] = {text[0] ? text[0] : '|', '?', 0};
    switch (text[0] ? text[1] : 0) {
    case 'u':
        format[1] = size == 1 ? 'B' : size == 2 ? 'H' : size == 4 ? 'I' : 'Q';
        break;
    case 'i':
        format[1] = size == 1 ? 'b' : size == 2 ? 'h' : size == 4 ? 'i' : 'q';
        break;
    case 'f':
        format[1] = size == 2 ? 'e' : size == 4 ? 'f' : 'd';
        break;
    default:
        break;
    }
    return memory_type(format, size, type) || wrong_type(role, format, size);
}

/* The data of an interface: an address, or an object with a buffer. */
static bool interface_data(PyObject *data, bool writable, const char *role, struct memory *memory,
                           struct owner *owner)
{
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2) {
        memory->data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
        memory->readonly = PyObject_IsTrue(PyTuple_GetItem(data, 1)) != 0;
        return !PyErr_Occurred();
    }
    if (!data || !PyObject_CheckBuffer(data)) {
        errors_usage("%s: its __array_interface__ has no data that hone could read", role);
        return false;
    }
    if (PyObject_GetBuffer(data, &owner->buffer, writable ? PyBUF_WRITABLE : 0)) {
        owner->buffer.obj = NULL;
        return false;
    }
    memory->data = owner->buffer.buf;
    memory->readonly = owner->buffer.readonly;
    return true;
}

/* Whether all elements lie in the buffer that stands for the data, if one does. */
static bool interface_fits(const struct memory *memory, const struct owner *owner, Py_ssize_t offset,
                           const char *role)
{
    Py_ssize_t first = offset, last = offset, reach = 0;
    bool fits = true;
    if (!owner->buffer.obj)
        return true;
    for (int i = 0; i < memory->ndim && fits; i++) {
        const Py_ssize_t steps = memory->shape[i] > 0 ? memory->shape[i] - 1 : 0;
        fits = memory->shape[i] >= 0 && !__builtin_mul_overflow(steps, memory->strides[i], &reach);
        Py_ssize_t *end = reach < 0 ? &first : &last;
        fits = fits && !__builtin_add_overflow(*end, reach, end);
    }
    if (fits && first >= 0 && last <= owner->buffer.len - (Py_ssize_t)hone_type_size(memory->type))
        return true;
    errors_usage("%s: its __array_interface__ gives %zd bytes for a shape that takes more", role,
                 owner->buffer.len);
    return false;
}

/* Where the first element lies in the buffer that stands for the data. */
static bool interface_offset(PyObject *interface, const struct owner *owner, Py_ssize_t *offset)
{
    PyObject *number = PyDict_GetItemString(interface, "offset");
    *offset = number && owner->buffer.obj ? PyLong_AsSsize_t(number) : 0;
    return !PyErr_Occurred();
}

/* The attribute as a new reference, or NULL, also for any reason not to have one. */
static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (!value)
        PyErr_Clear();
    return value;
}

/* Pillow's images whose pixels are numbers of colours, so that means of them would be other colours; or four
 * inks, of which black would pass for alpha. */
static bool has_other_colours(PyObject *object, const char *role)
{
    PyObject *mode = attribute(object, "mode");
    PyObject *letters = mode && PyUnicode_Check(mode) ? PyUnicode_AsUTF8String(mode) : NULL;
    const char *text = letters ? PyBytes_AsString(letters) : "";
    const bool palette = !strcmp(text, "P") || !strcmp(text, "PA"), inks = !strcmp(text, "CMYK");
    Py_XDECREF(letters);
    Py_XDECREF(mode);
    PyErr_Clear();
    if (palette)
        errors_usage("%s: its pixels are indices of a palette; pass their colours: image.convert('RGB'), or "
                     "'RGBA' with transparency",
                     role);
    else if (inks)
        errors_usage("%s: its pixels are inks (CMYK), and black is no alpha; pass image.convert('RGB')",
                     role);
    return palette || inks;
}

static bool from_interface(PyObject *interface, PyObject *object, bool writable, const char *role,
                           struct memory *memory, struct owner *owner)
{
    PyObject *shape = PyDict_GetItemString(interface, "shape");
    PyObject *strides = PyDict_GetItemString(interface, "strides");
    PyObject *text = PyDict_GetItemString(interface, "typestr");
    if (has_other_colours(object, role))
        return false;
    PyObject *letters = text ? PyUnicode_AsUTF8String(text) : NULL;
    if (!shape || !letters) {
        Py_XDECREF(letters);
        PyErr_Clear();
        errors_usage("%s: its __array_interface__ lacks a shape or a typestr", role);
        return false;
    }
    const bool known = interface_type(PyBytes_AsString(letters), role, &memory->type);
    Py_DECREF(letters);
    if (!known || !read_sizes(shape, role, &memory->ndim, memory->shape) ||
        !interface_data(PyDict_GetItemString(interface, "data"), writable, role, memory, owner))
        return false;
    owner->object = object;
    Py_INCREF(object);
    int count = memory->ndim;
    Py_ssize_t offset;
    if (!interface_offset(interface, owner, &offset))
        return false;
    if (!strides || strides == Py_None)
        tight_strides(memory);
    else if (!read_sizes(strides, role, &count, memory->strides) || count != memory->ndim)
        return PyErr_Occurred() ? false
                                : (errors_usage("%s: as many strides as axes are needed", role), false);
    if (!interface_fits(memory, owner, offset, role))
        return false;
    memory->data += offset;
    return true;
}

/* Whether the tensor is where the CPU can read it; asked before the capsule, which may copy. */
static bool on_host(PyObject *object, const char *role)
{
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    long type = -1, number = 0;
    const bool told = device && PyArg_ParseTuple(device, "ll", &type, &number);
    Py_XDECREF(device);
    if (told && type != DLPACK_CPU && type != DLPACK_CUDA_HOST)
        errors_usage(
            "%s: it is in the memory of another device (DLPack's number %ld); move it to the CPU first: "
            "image.cpu()",
            role, type);
    return told && !PyErr_Occurred();
}

static bool tensor_type(const struct dlpack_tensor *tensor, const char *role, hone_type *type)
{
    const char letter = tensor->code == DLPACK_UINT ? 'u' : tensor->code == DLPACK_INT ? 'i' : 'f';
    char text[8];
    const bool other_float = tensor->code == DLPACK_FLOAT && tensor->bits != 32;
    if (tensor->code > DLPACK_FLOAT || other_float || tensor->lanes != 1 || tensor->bits % 8) {
        errors_usage(
            "%s: DLPack's type %u with %u bits and %u lanes is none of uint8, uint16, int16, float32; "
            "convert it: image.float()",
            role, tensor->code, tensor->bits, tensor->lanes);
        return false;
    }
    snprintf(text, sizeof text, "=%c%u", letter, tensor->bits / 8u);
    return interface_type(text, role, type);
}

static bool from_tensor(const struct dlpack_tensor *tensor, const char *role, struct memory *memory)
{
    if (!tensor_type(tensor, role, &memory->type))
        return false;
    if (tensor->ndim > VIEW_AXES)
        return too_many_axes(role, tensor->ndim);
    memory->data = (char *)tensor->data + tensor->byte_offset;
    memory->ndim = tensor->ndim;
    memory->readonly = false;
    for (int i = 0; i < tensor->ndim; i++)
        memory->shape[i] = (Py_ssize_t)tensor->shape[i];
    tight_strides(memory);
    for (int i = 0; tensor->strides && i < tensor->ndim; i++)
        memory->strides[i] = (Py_ssize_t)tensor->strides[i] * (Py_ssize_t)hone_type_size(memory->type);
    return true;
}

static bool from_dlpack(PyObject *object, const char *role, struct memory *memory, struct owner *owner)
{
    if (!on_host(object, role))
        return false;
    PyObject *capsule = PyObject_CallMethod(object, "__dlpack__", NULL);
    if (!capsule)
        return false;
    owner->tensor = PyCapsule_GetPointer(capsule, "dltensor");
    if (owner->tensor)
        PyCapsule_SetName(capsule, "used_dltensor");
    Py_DECREF(capsule);
    return owner->tensor && from_tensor(&owner->tensor->tensor, role, memory);
}

bool memory_find(PyObject *object, bool writable, const char *role, struct memory *memory,
                 struct owner *owner)
{
    if (PyObject_CheckBuffer(object))
        return from_buffer(object, writable, role, memory, owner);
    PyObject *found = attribute(object, "__array_interface__");
    bool done = false;
    if (found && PyDict_Check(found))
        done = from_interface(found, object, writable, role, memory, owner);
    else if (PyObject_HasAttrString(object, "__dlpack__"))
        done = from_dlpack(object, role, memory, owner);
    else
        PyErr_Format(
            PyExc_TypeError,
            "%s: %R has neither a buffer nor __array_interface__ nor __dlpack__; pass an array, such as "
            "numpy.asarray(...) gives",
            role, (PyObject *)Py_TYPE(object));
    Py_XDECREF(found);
    if (done && writable && memory->readonly) {
        errors_usage("%s: its memory is read-only", role);
        return false;
    }
    return done;
}

void owner_release(struct owner *owner)
{
    if (owner->buffer.obj)
        PyBuffer_Release(&owner->buffer);
    if (owner->tensor && owner->tensor->deleter)
        owner->tensor->deleter(owner->tensor);
    Py_CLEAR(owner->object);
    owner->tensor = NULL;
}
