/* SPDX-License-Identifier: BSD-2-Clause */
/* How far two images are apart: what `hone compare` tells of files, told of arrays. */
#include "view.h"

#include "media/compare.h"

#include <math.h>
#include <stdlib.h>

/* A plane in tight memory: the array's own, or a copy, which is *own. Needs no GIL. */
static const void *tight_plane(const view *v, Py_ssize_t index, void **own)
{
    if (v->direct && v->desc.pitch == 0)
        return view_plane(v, index);
    *own = malloc(hone_image_row_bytes(&v->desc) * v->desc.height);
    if (*own)
        view_gather(v, index, *own);
    return *own;
}

/* Needs no GIL. False when memory is short. */
static bool compare_planes(const view *a, const view *b, Py_ssize_t index, struct comparison *to)
{
    void *owned[2] = {NULL, NULL};
    hone_image_desc desc = a->desc;
    desc.pitch = 0;
    const void *first = tight_plane(a, index, &owned[0]), *second = tight_plane(b, index, &owned[1]);
    const bool there = first && second;
    if (there)
        compare_pixels(to, &desc, 0xf, first, second);
    free(owned[0]);
    free(owned[1]);
    return there;
}

/* JSON has no infinities: None stands for what is not finite, as in the command's report. */
static PyObject *real(double value)
{
    return isfinite(value) ? PyFloat_FromDouble(value) : Py_BuildValue("");
}

static PyObject *where_dict(const struct difference *d)
{
    if (!d->differing)
        return Py_BuildValue("");
    return Py_BuildValue("{s:I,s:I,s:I,s:N,s:N}", "x", d->x, "y", d->y, "channel", d->channel, "a",
                         real(d->a), "b", real(d->b));
}

static PyObject *difference_dict(const struct difference *d)
{
    return Py_BuildValue("{s:K,s:K,s:N,s:N,s:N,s:N}", "elements", (unsigned long long)d->elements,
                         "differing", (unsigned long long)d->differing, "largest", real(d->largest), "mean",
                         real(d->mean), "psnr", real(d->psnr), "where", where_dict(d));
}

struct channels {
    const struct difference *first;
    size_t count;
};

static PyObject *channel_at(const void *channels, size_t index)
{
    const struct channels *all = channels;
    return index < all->count ? difference_dict(&all->first[index]) : NULL;
}

/* difference(a, b, index): (of all channels, [of each]) of plane `index` of two views of one kind. */
static PyObject *difference(PyObject *module, PyObject *arguments)
{
    PyObject *objects[2];
    Py_ssize_t index;
    struct comparison c;
    bool done;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOn", &objects[0], &objects[1], &index))
        return NULL;
    view *a = view_of(objects[0]), *b = a ? view_of(objects[1]) : NULL;
    if (!b || !view_check(b, "b", &a->desc))
        return NULL;
    if (index < 0 || index >= a->planes || index >= b->planes)
        return errors_usage("there is no plane %zd", index);
    Py_BEGIN_ALLOW_THREADS done = compare_planes(a, b, index, &c);
    Py_END_ALLOW_THREADS if (!done) return PyErr_NoMemory();
    PyObject *channels = module_list(channel_at, &(struct channels){c.channels, a->desc.channels});
    return channels ? Py_BuildValue("(NN)", difference_dict(&c.all), channels) : NULL;
}

PyMethodDef compare_methods[] = {{"difference", difference, METH_VARARGS,
                                  "(of all channels, [of each]) of plane `index` of two Views of one kind."},
                                 {0}};
