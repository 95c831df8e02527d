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

/* Appends and releases; false with an exception set. */
static bool append(PyObject *list, PyObject *item)
{
    const bool done = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return done;
}

static PyObject *parameters(const char *filter)
{
    PyObject *list = PyList_New(0);
    hone_parameter_info info;
    for (size_t i = 0; list && hone_filter_parameter(filter, i, &info); i++)
        if (!append(list, parameter_dict(&info)))
            Py_CLEAR(list);
    return list;
}

static PyObject *variants(const char *filter)
{
    PyObject *list = PyList_New(0);
    hone_variant_info info;
    for (size_t i = 0; list && hone_filter_variant(filter, i, &info); i++)
        if (!append(list, Py_BuildValue("{s:s,s:s,s:s,s:z}", "name", info.name, "summary", info.summary,
                                        "path", info.path, "condition", info.condition)))
            Py_CLEAR(list);
    return list;
}

static PyObject *filter_dict(const hone_filter_info *info)
{
    PyObject *all = parameters(info->name), *ways = all ? variants(info->name) : NULL;
    if (!ways) {
        Py_XDECREF(all);
        return NULL;
    }
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:I,s:O,s:N,s:N}", "name", info->name, "summary",
                         info->summary, "origin", info->origin, "types", info->types, "channels",
                         info->channels, "inputs", info->inputs, "spatial",
                         info->spatial ? Py_True : Py_False, "parameters", all, "variants", ways);
}

static PyObject *filters(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *list = PyList_New(0);
    hone_filter_info info;
    for (size_t i = 0; list && hone_filter_at(i, &info); i++)
        if (!append(list, filter_dict(&info)))
            Py_CLEAR(list);
    return list;
}

static PyObject *chain_filters(const hone_chain *chain)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hone_chain_length(chain); i++)
        if (!append(list, PyUnicode_FromString(hone_chain_filter(chain, i))))
            Py_CLEAR(list);
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
