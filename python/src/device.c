/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices. */
#include "module.h"

#include <stddef.h>

typedef struct device {
    PyObject_HEAD hone_device *open;
} device;

static PyTypeObject *device_type;

hone_device *device_get(PyObject *object)
{
    if (PyObject_TypeCheck(object, device_type))
        return ((device *)object)->open;
    PyErr_SetString(PyExc_TypeError, "this must be a hone.Device");
    return NULL;
}

static PyObject *truth(bool value)
{
    return PyBool_FromLong(value);
}

static bool set(PyObject *dict, const char *name, PyObject *value)
{
    const bool done = value && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return done;
}

static PyObject *text(const char *bytes)
{
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
}

static bool set_texts(PyObject *dict, const hone_device_info *info)
{
    return set(dict, "kind", text(hone_device_kind_name(info->kind))) &&
           set(dict, "name", text(info->name)) && set(dict, "board", text(info->board)) &&
           set(dict, "vendor", text(info->vendor)) && set(dict, "architecture", text(info->architecture)) &&
           set(dict, "platform", text(info->platform)) &&
           set(dict, "platform_version", text(info->platform_version)) &&
           set(dict, "driver_version", text(info->driver_version)) &&
           set(dict, "device_version", text(info->device_version)) &&
           set(dict, "c_version", text(info->c_version)) &&
           set(dict, "used_extensions", text(info->used_extensions));
}

static bool set_numbers(PyObject *dict, const hone_device_info *info)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"index", info->index},
        {"version", info->version},
        {"compute_units", info->compute_units},
        {"clock_mhz", info->clock_mhz},
        {"vendor_id", info->vendor_id},
        {"simd_width", info->simd_width},
        {"global_memory", info->global_memory},
        {"max_allocation", info->max_allocation},
        {"global_cache", info->global_cache},
        {"local_memory", info->local_memory},
        {"max_work_group", info->max_work_group},
        {"base_align", info->base_align},
        {"max_sub_devices", info->max_sub_devices},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!set(dict, numbers[i].name, PyLong_FromUnsignedLongLong(numbers[i].value)))
            return false;
    return set(dict, "unified_memory", truth(info->unified_memory)) &&
           set(dict, "images", truth(info->images)) && set(dict, "fp16", truth(info->fp16)) &&
           set(dict, "fp64", truth(info->fp64)) && set(dict, "out_of_order", truth(info->out_of_order));
}

static PyObject *info_dict(const hone_device_info *info)
{
    PyObject *dict = PyDict_New();
    if (dict && !(set_numbers(dict, info) && set_texts(dict, info)))
        Py_CLEAR(dict);
    return dict;
}

/* With the GIL: the first call sets an environment variable, and whoever uses Python's environment holds
 * it. */
static PyObject *list_devices(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    hone_device_info *list;
    size_t count;
    hone_error error;
    hone_status status = hone_device_list(&list, &count, &error);
    if (status)
        return errors_raise(status, &error);
    PyObject *result = PyList_New(0);
    for (size_t i = 0; result && i < count; i++) {
        PyObject *dict = info_dict(&list[i]);
        if (!dict || PyList_Append(result, dict))
            Py_CLEAR(result);
        Py_XDECREF(dict);
    }
    hone_device_list_free(&list);
    return result;
}

PyMethodDef device_methods[] = {
    {"devices", list_devices, METH_NOARGS,
     "The OpenCL devices of this machine: a list of dictionaries, sorted by index."},
    {0}};

static PyObject *open_device(PyTypeObject *type, const hone_device_request *request)
{
    PyObject *all = list_devices(NULL, NULL); /* sets the environment, with the GIL held */
    if (!all)
        return NULL;
    Py_DECREF(all);
    device *self = module_new(type);
    hone_status status = HONE_OK;
    hone_error error;
    if (!self)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = hone_device_open(&self->open, request, &error);
    Py_END_ALLOW_THREADS if (!status) return (PyObject *)self;
    self->open = NULL;
    Py_DECREF(self);
    return errors_raise(status, &error);
}

/* A specification as UTF-8, a new reference: a number from hone.devices() is one, too. */
static PyObject *spec_bytes(PyObject *spec)
{
    if (PyUnicode_Check(spec))
        return PyUnicode_AsUTF8String(spec);
    PyObject *number = PyBool_Check(spec) ? NULL : PyNumber_Index(spec);
    PyObject *words = number ? PyObject_Str(number) : NULL;
    PyObject *bytes = words ? PyUnicode_AsUTF8String(words) : NULL;
    if (!number) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError, "spec: it must be a text, such as 'cpu', a number, or None");
    }
    Py_XDECREF(words);
    Py_XDECREF(number);
    return bytes;
}

static PyObject *device_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"spec", "profile", "compute_units", "memory_limit", "disk_cache", NULL};
    PyObject *spec = Py_None;
    int profile = 0, disk_cache = 1, compute_units = 0;
    long long memory_limit = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$piLp", names, &spec, &profile, &compute_units,
                                     &memory_limit, &disk_cache))
        return NULL;
    if (compute_units < 0 || memory_limit < 0)
        return errors_usage("%s must not be negative", compute_units < 0 ? "compute_units" : "memory_limit");
    PyObject *bytes = spec == Py_None ? NULL : spec_bytes(spec);
    char *text_of_spec = NULL;
    if (spec != Py_None && (!bytes || PyBytes_AsStringAndSize(bytes, &text_of_spec, NULL))) {
        Py_XDECREF(bytes);
        return NULL;
    }
    const hone_device_request request = {.size = sizeof request,
                                         .spec = text_of_spec,
                                         .profile = profile,
                                         .compute_units = (unsigned)compute_units,
                                         .memory_limit = (uint64_t)memory_limit,
                                         .no_disk_cache = !disk_cache};
    PyObject *made = open_device(type, &request);
    Py_XDECREF(bytes);
    return made;
}

static void device_free(PyObject *object)
{
    device *self = (device *)object;
    Py_BEGIN_ALLOW_THREADS hone_device_close(&self->open);
    Py_END_ALLOW_THREADS module_free(object);
}

static PyObject *get_info(PyObject *object, void *unused)
{
    (void)unused;
    return info_dict(hone_device_get_info(((device *)object)->open));
}

static PyObject *get_memory(PyObject *object, void *unused)
{
    (void)unused;
    uint64_t held, budget;
    hone_device_memory(((device *)object)->open, &held, &budget);
    return Py_BuildValue("(KK)", (unsigned long long)held, (unsigned long long)budget);
}

static PyObject *get_counts(PyObject *object, void *unused)
{
    (void)unused;
    const hone_device_counts counts = hone_device_get_counts(((device *)object)->open);
    PyObject *copies = copies_dict(&counts.copies);
    return copies ? Py_BuildValue("{s:K,s:K,s:K,s:N}", "built_from_source",
                                  (unsigned long long)counts.built_from_source, "loaded_from_disk",
                                  (unsigned long long)counts.loaded_from_disk, "found_in_memory",
                                  (unsigned long long)counts.found_in_memory, "copies", copies)
                  : NULL;
}

static PyObject *get_features(PyObject *object, void *unused)
{
    (void)unused;
    PyObject *list = PyList_New(0);
    hone_feature_info info;
    for (size_t i = 0; list; i++) {
        bool more;
        Py_BEGIN_ALLOW_THREADS more = hone_device_feature(((device *)object)->open, i, &info);
        Py_END_ALLOW_THREADS if (!more) break;
        PyObject *dict = Py_BuildValue(
            "{s:s,s:s,s:s,s:O,s:O}", "name", info.name, "meaning", info.meaning, "without", info.without,
            "required", info.required ? Py_True : Py_False, "holds", info.holds ? Py_True : Py_False);
        if (!dict || PyList_Append(list, dict))
            Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    return list;
}

static PyObject *represent(PyObject *object)
{
    const hone_device_info *info = hone_device_get_info(((device *)object)->open);
    return PyUnicode_FromFormat("<hone.Device %u: %s>", info->index,
                                info->board[0] ? info->board : info->name);
}

static PyGetSetDef attributes[] = {
    {"info", get_info, NULL, "Its properties, as hone.devices() lists them.", NULL},
    {"memory", get_memory, NULL, "(bytes of device memory that hone holds, the most that it may hold)", NULL},
    {"counts", get_counts, NULL, "Programs built and loaded, and copies, since it was opened.", NULL},
    {"features", get_features, NULL, "The results of the self-test, a list of dictionaries.", NULL},
    {0}};

bool device_add(PyObject *module)
{
    static const char doc[] =
        "Device(spec=None, *, profile=False, compute_units=0, memory_limit=0, disk_cache=True)\n--\n\n"
        "An open OpenCL device.\n\n"
        "spec: a number from hone.devices(), 'cpu', 'gpu', 'accelerator', part of a name, or several of "
        "these with commas,\n"
        "tried from left to right; None: the environment variable HONE_DEVICE, else the best one. profile: "
        "record times\n"
        "(Report.seconds), and let plans that run often try other configurations. compute_units: use only so "
        "many.\n"
        "memory_limit: bytes of device memory to hold at most. disk_cache: keep compiled programs on disk.\n"
        "Any number of threads may use one device. It belongs to the process that opened it: use the start "
        "method 'spawn'\n"
        "or 'forkserver' of multiprocessing, not 'fork'.";
    static PyType_Slot slots[] = {{Py_tp_new, device_new},    {Py_tp_dealloc, device_free},
                                  {Py_tp_getset, attributes}, {Py_tp_repr, represent},
                                  {Py_tp_doc, (void *)doc},   {0, NULL}};
    static PyType_Spec spec = {"hone.Device", sizeof(device), 0, Py_TPFLAGS_DEFAULT, slots};
    device_type = (PyTypeObject *)module_add_type(module, &spec);
    return device_type != NULL;
}
