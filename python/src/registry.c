/* SPDX-License-Identifier: BSD-2-Clause */
/* The filters and their parameters, and chains taken apart. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

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

static PyObject *filter_dict(const hone_filter_info *info)
{
    PyObject *parameters = module_list(parameter_at, info->name);
    PyObject *variants = parameters ? module_list(variant_at, info->name) : NULL;
    if (!variants) {
        Py_XDECREF(parameters);
        return NULL;
    }
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:I,s:O,s:N,s:N}", "name", info->name, "summary",
                         info->summary, "origin", info->origin, "types", info->types, "channels",
                         info->channels, "inputs", info->inputs, "spatial",
                         info->spatial ? Py_True : Py_False, "parameters", parameters, "variants", variants);
}

static PyObject *filter_at(const void *unused, size_t index)
{
    hone_filter_info info;
    (void)unused;
    return hone_filter_at(index, &info) ? filter_dict(&info) : NULL;
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

/* The parameters of a step that are not at their defaults, as a dictionary of texts. Names of files among
 * them are also added to `files`: what a text says is not all that there is to know of them. */
static PyObject *step_values(const hone_chain *chain, size_t step, PyObject *files)
{
    const char *filter = hone_chain_filter(chain, step);
    PyObject *dict = PyDict_New();
    hone_parameter_info info;
    for (size_t i = 0; dict && hone_filter_parameter(filter, i, &info); i++) {
        const char *text = hone_chain_parameter(chain, step, info.name);
        if (!text || (info.fallback && strcmp(text, info.fallback) == 0))
            continue;
        PyObject *value = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
        const bool may_be_file = strcmp(info.kind, "text") == 0;
        if (!value || PyDict_SetItemString(dict, info.name, value) ||
            (may_be_file && PyList_Append(files, value)))
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *chain_values(const hone_chain *chain, PyObject *files)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < hone_chain_length(chain); i++) {
        PyObject *dict = step_values(chain, i, files);
        if (!dict || PyList_Append(list, dict))
            Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    return list;
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
    PyObject *files = whole ? PyList_New(0) : NULL, *values = files ? chain_values(chain, files) : NULL;
    hone_chain_destroy(&chain);
    if (values)
        return Py_BuildValue("(NNNN)", whole, names, values, files);
    Py_XDECREF(names);
    Py_XDECREF(whole);
    Py_XDECREF(files);
    return NULL;
}

static const char *const reaches[] = {[HONE_REACH_WINDOW] = "window",
                                      [HONE_REACH_BEFORE] = "before",
                                      [HONE_REACH_ALL] = "all",
                                      [HONE_REACH_ELSEWHERE] = "elsewhere"};

/* What a chain needs of images in parts, and what it makes of an image. */
static PyObject *chain_needs(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *text;
    PyObject *tuple;
    hone_chain *chain;
    hone_image_desc in, out;
    hone_halo halo;
    hone_error error;
    if (!PyArg_ParseTuple(arguments, "sO", &text, &tuple) || !desc_parse(tuple, &in))
        return NULL;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (!status)
        status = hone_chain_halo(chain, &in, &halo, &error);
    if (!status)
        status = hone_chain_output(chain, &in, &out, &error);
    hone_chain_destroy(&chain);
    if (status)
        return errors_raise(status, &error);
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:O,s:s,s:N}", "left", halo.left, "right", halo.right, "top",
                         halo.top, "bottom", halo.bottom, "period", halo.period, "wraps",
                         halo.wraps ? Py_True : Py_False, "reach", reaches[halo.reach], "output",
                         desc_tuple(&out));
}

static PyObject *load_filter(PyObject *module, PyObject *arguments)
{
    (void)module;
    const char *path, *text;
    hone_filter_info info;
    hone_error error;
    if (!PyArg_ParseTuple(arguments, "sz", &path, &text))
        return NULL;
    hone_status status = hone_filter_load(path, text, &info, &error);
    return status ? errors_raise(status, &error) : filter_dict(&info);
}

PyMethodDef registry_methods[] = {
    {"chain_needs", chain_needs, METH_VARARGS,
     "chain_needs(chain, desc): halo, reach and output of a chain, a dictionary."},
    {"load_filter", load_filter, METH_VARARGS,
     "load_filter(path, text): the dictionary of a filter of one's own."},
    {"filters", filters, METH_NOARGS,
     "The filters as a list of dictionaries, with their parameters and variants."},
    {"parse_chain", parse_chain, METH_VARARGS,
     "(canonical text, names of the filters, for each a dictionary of what is not its default, texts that "
     "may name "
     "files) of a chain."},
    {0}};
