/* SPDX-License-Identifier: BSD-2-Clause */
/* The filters and their parameters, and chains taken apart. */
#include "module.h"

#include <stdlib.h>

static PyObject *parameter_dict(const hone_parameter_info *info)
{
    const bool number = info->kind[0] == 'i' || info->kind[0] == 'r';
    PyObject *dict = Py_BuildValue("{s:s,s:s,s:s,s:z,s:z,s:z,s:O}", "name", info->name, "help", info->help,
                                   "kind", info->kind, "unit", info->unit, "default", info->fallback,
                                   "choices", info->choices, "common", info->common ? Py_True : Py_False);
    PyObject *range = number ? Py_BuildValue("(dd)", info->min, info->max) : Py_BuildValue("");
    if (!dict || !range || PyDict_SetItemString(dict, "range", range))
        Py_CLEAR(dict);
    Py_XDECREF(range);
    return dict;
}

static PyObject *parameter_at(const void *filter, size_t index)
{
    hone_parameter_info info;
    return hone_filter_parameter(filter, index, &info) ? parameter_dict(&info) : NULL;
}

static PyObject *variant_at(const void *filter, size_t index)
{
    hone_variant_info info;
    if (!hone_filter_variant(filter, index, &info))
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:s,s:z}", "name", info.name, "summary", info.summary, "path", info.path,
                         "condition", info.condition);
}

static PyObject *filter_at(const void *unused, size_t index)
{
    hone_filter_info info;
    (void)unused;
    if (!hone_filter_at(index, &info))
        return NULL;
    PyObject *parameters = module_list(parameter_at, info.name);
    PyObject *variants = parameters ? module_list(variant_at, info.name) : NULL;
    if (!variants) {
        Py_XDECREF(parameters);
        return NULL;
    }
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:I,s:O,s:N,s:N}", "name", info.name, "summary", info.summary,
                         "origin", info.origin, "types", info.types, "channels", info.channels, "inputs",
                         info.inputs, "spatial", info.spatial ? Py_True : Py_False, "parameters", parameters,
                         "variants", variants);
}

static PyObject *filters(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return module_list(filter_at, NULL);
}

static PyObject *name_at(const void *chain, size_t index)
{
    return index < hone_chain_length(chain) ? PyUnicode_FromString(hone_chain_filter(chain, index)) : NULL;
}

static PyObject *chain_filters(const hone_chain *chain)
{
    PyObject *list = module_list(name_at, chain);
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *canonical(const hone_chain *chain)
{
    const size_t length = hone_chain_text(chain, NULL, 0);
    char *text = malloc(length + 1);
    if (!text)
        return PyErr_NoMemory();
    hone_chain_text(chain, text, length + 1);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    free(text);
    return result;
}

static PyObject *parse_chain(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *text;
    hone_chain *chain;
    hone_error error;
    if (!PyArg_ParseTuple(arguments, "s", &text))
        return NULL;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (status)
        return errors_raise(status, &error);
    PyObject *names = chain_filters(chain), *whole = names ? canonical(chain) : NULL;
    hone_chain_destroy(&chain);
    if (!whole) {
        Py_XDECREF(names);
        return NULL;
    }
    return Py_BuildValue("(NN)", whole, names);
}

PyMethodDef registry_methods[] = {
    {"filters", filters, METH_NOARGS,
     "The filters as a list of dictionaries, with their parameters and variants."},
    {"parse_chain", parse_chain, METH_VARARGS, "(canonical text, names of the filters) of a chain."},
    {0}};
