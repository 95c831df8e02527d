/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether outputs of a kernel are what they should be. */
#include "tune/own/run/memory_internal.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

struct bounds {
    double absolute, relative;
};

/* What is usual where the user names no tolerance: sums in another order, not other results. */
static struct bounds bounds_of(const struct own_spec *spec, enum element element)
{
    if (spec->has_tolerance)
        return (struct bounds){spec->tolerance, spec->relative};
    if (!element_is_float(element))
        return (struct bounds){0, 0};
    return element == ELEMENT_F16   ? (struct bounds){1e-3, 1e-2}
           : element == ELEMENT_F32 ? (struct bounds){1e-5, 1e-4}
                                    : (struct bounds){1e-12, 1e-10};
}

static double distance(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : INFINITY;
    return a == b ? 0 : fabs(a - b); /* infinities of one sign are equal */
}

struct mistakes {
    size_t count, first;
    double largest, sum;
};

static struct mistakes count_mistakes(const struct own_spec *spec, enum element element, size_t count,
                                      const unsigned char *got, const unsigned char *right)
{
    const struct bounds bounds = bounds_of(spec, element);
    struct mistakes found = {0};
    for (size_t i = 0; i < count; i++) {
        double wanted = element_get(element, right, i);
        double d = distance(element_get(element, got, i), wanted);
        double bound = bounds.absolute + (bounds.relative > 0 ? bounds.relative * fabs(wanted) : 0);
        found.largest = fmax(found.largest, d);
        found.sum += d;
        if (!spec->summed && !(d <= bound) && found.count++ == 0)
            found.first = i;
    }
    return found;
}

static hone_status compare_piece(const struct own_memory *m, int i, const unsigned char *got,
                                 const unsigned char *right, hone_error *error)
{
    const struct piece *p = &m->pieces[i];
    enum element element = own_memory_argument(m, i)->element;
    if (memcmp(got, right, p->bytes) == 0)
        return HONE_OK;
    const struct mistakes found = count_mistakes(m->spec, element, p->count, got, right);
    if (m->spec->summed && found.sum > m->spec->tolerance)
        return error_set(error, HONE_ERROR_CHECK, "argument %d '%s': differences add up to %.6g", i + 1,
                         own_memory_argument(m, i)->text, found.sum);
    if (found.count == 0)
        return HONE_OK;
    return error_set(
        error, HONE_ERROR_CHECK,
        "argument %d '%s': %zu of %zu elements are wrong, the first is element %zu: %.9g, right is "
        "%.9g; the largest difference is %.6g",
        i + 1, own_memory_argument(m, i)->text, found.count, p->count, found.first,
        element_get(element, got, found.first), element_get(element, right, found.first), found.largest);
}

hone_status own_memory_compare(const struct own_memory *m, const unsigned char *outputs,
                               const unsigned char *right, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < m->spec->argument_count && !status; i++)
        if (own_memory_argument(m, i)->role != ROLE_IN) {
            status = compare_piece(m, i, outputs, right, error);
            outputs += m->pieces[i].bytes;
            right += m->pieces[i].bytes;
        }
    return status;
}
