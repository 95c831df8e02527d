/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/run/memory_internal.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 1024, GUARD_BYTE = 0xa5, MAX_VALUE = 16 * 8 };
static const struct wait_list no_wait;

static bool in_memory(const struct own_argument *a)
{
    return a->kind == OWN_BUFFER || a->kind == OWN_IMAGE;
}

static struct span whole(size_t bytes)
{
    return (struct span){0, bytes, bytes, 1};
}

/* ---- Sizes ---- */

static hone_status size_value(const struct formula *formula, const struct expr_scope *names, size_t *size,
                              hone_error *error)
{
    int64_t value = 0;
    hone_status status = formula_value(formula, names, "the size", &value, error);
    if (!status && (value < 1 || value > (int64_t)1 << 40))
        status = error_usage(error, "the size '%s' is %lld", formula->text, (long long)value);
    *size = (size_t)value;
    return status;
}

static hone_status size_of_file(struct piece *p, const struct own_argument *a, hone_error *error)
{
    p->channels = a->data.channels;
    p->width = a->data.width;
    p->height = a->data.height;
    p->bytes = a->data.bytes;
    p->count = a->data.bytes / element_size(a->data.element);
    return p->count ? HONE_OK : error_io(error, "the file is empty");
}

static hone_status size_piece(struct piece *p, const struct own_argument *a, const struct expr_scope *names,
                              hone_error *error)
{
    size_t sizes[3] = {1, 1, 1};
    if (a->fill == FILL_FILE)
        return size_of_file(p, a, error);
    hone_status status = HONE_OK;
    for (int i = 0; i < 3 && a->sizes[i] && !status; i++)
        status = size_value(a->sizes[i], names, &sizes[i], error);
    p->count = sizes[0];
    if (a->kind == OWN_IMAGE) {
        p->channels = sizes[0];
        p->width = sizes[1];
        p->height = sizes[2];
        p->count = mem_product(mem_product(sizes[0], sizes[1]), sizes[2]);
    }
    p->bytes = mem_product(p->count, element_size(a->element));
    return status;
}

/* ---- Content ---- */

static hone_status read_file(const struct own_argument *a, unsigned char *to, size_t bytes, hone_error *error)
{
    struct text content = {0};
    hone_status status = file_read(a->data.path, bytes, &content, error);
    if (!status && content.length != bytes)
        status = error_io(error, "its content has changed");
    if (!status)
        memcpy(to, content.data, bytes);
    text_finish(&content);
    return status;
}

static hone_status fill(struct piece *p, const struct own_argument *a, uint32_t seed, hone_error *error)
{
    p->initial = mem_new(p->bytes, 1);
    if (!p->initial)
        return error_memory(error, "an argument");
    if (a->fill == FILL_FILE)
        return read_file(a, p->initial, p->bytes, error);
    if (a->fill == FILL_RANDOM)
        element_fill_random(a->element, p->initial, p->count, seed);
    for (size_t i = 0; a->fill == FILL_CONSTANT && a->constant != 0 && i < p->count; i++)
        element_set(a->element, p->initial, i, a->constant);
    return HONE_OK;
}

static hone_status write_piece(struct piece *p, const struct own_argument *a, hone_error *error)
{
    const struct span span = whole(p->bytes);
    struct memory *to = a->kind == OWN_IMAGE ? p->staging : p->memory;
    hone_status status = memory_write(to, &span, p->initial, p->bytes, no_wait, NULL, error);
    if (!status && p->staging)
        status = memory_buffer_to_image(p->staging, 0, p->memory, p->width, p->height, no_wait, NULL, error);
    return status;
}

static hone_status guard(struct piece *p, hone_error *error)
{
    unsigned char bytes[GUARD];
    const struct span span = {p->bytes, GUARD, GUARD, 1};
    memset(bytes, GUARD_BYTE, sizeof bytes);
    return memory_write(p->memory, &span, bytes, GUARD, no_wait, NULL, error);
}

/* ---- Making ---- */

static hone_status image_type(const struct own_argument *a, hone_type *type, hone_error *error)
{
    if (a->element == ELEMENT_F32 || a->element == ELEMENT_U8 || a->element == ELEMENT_U16 ||
        a->element == ELEMENT_S16 || a->element == ELEMENT_U32)
        return hone_type_parse(type, element_name(a->element), error);
    return error_unsupported(error, "there are images of u8, u16, s16, u32 and f32");
}

static hone_status make_image(struct piece *p, hone_device *device, const struct own_argument *a,
                              hone_error *error)
{
    struct image_format format = {.channels = (uint32_t)p->channels, .normalised = a->normalised};
    TRY(image_type(a, &format.type, error));
    TRY(memory_create_image(&p->memory, device, &format, p->width, p->height, error));
    return memory_create(&p->staging, device, p->bytes, HONE_MEMORY_DEVICE, error);
}

static hone_status make_piece(struct own_memory *m, int i, const struct expr_scope *names, hone_error *error)
{
    struct piece *p = &m->pieces[i];
    const struct own_argument *a = own_memory_argument(m, i);
    hone_status status = size_piece(p, a, names, error);
    if (!status && a->kind == OWN_IMAGE)
        status = make_image(p, m->device, a, error);
    else if (!status)
        status = memory_create(&p->memory, m->device, p->bytes + (a->role != ROLE_IN ? GUARD : 0),
                               HONE_MEMORY_DEVICE, error);
    THEN(status, fill(p, a, (uint32_t)i + 1, error));
    THEN(status, write_piece(p, a, error));
    if (!status && a->role == ROLE_IN) {
        free(p->initial);
        p->initial = NULL;
    }
    if (status)
        error_prefix(error, "--arg %d '%s'", i + 1, a->text);
    m->output_bytes += a->role != ROLE_IN ? p->bytes : 0;
    return status;
}

hone_status own_memory_open(struct own_memory **out, hone_device *device, const struct own_spec *spec,
                            const struct expr_scope *names, hone_error *error)
{
    struct own_memory *m = mem_new(1, sizeof *m);
    hone_status status = m ? HONE_OK : error_memory(error, "arguments");
    *out = m;
    if (status)
        return status;
    m->device = device;
    m->spec = spec;
    for (int i = 0; i < spec->argument_count && !status; i++)
        if (in_memory(own_memory_argument(m, i)))
            status = make_piece(m, i, names, error);
    THEN(status, own_memory_reset(m, error));
    if (status)
        own_memory_close(out);
    return status;
}

void own_memory_close(struct own_memory **slot)
{
    for (int i = 0; *slot && i < OWN_MAX_ARGUMENTS; i++) {
        memory_destroy(&(*slot)->pieces[i].memory);
        memory_destroy(&(*slot)->pieces[i].staging);
        free((*slot)->pieces[i].initial);
    }
    free(*slot);
    *slot = NULL;
}

hone_status own_memory_reset(struct own_memory *m, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < m->spec->argument_count && !status; i++) {
        const struct own_argument *a = own_memory_argument(m, i);
        if (!in_memory(a) || a->role == ROLE_IN)
            continue;
        status = write_piece(&m->pieces[i], a, error);
        if (!status && a->kind == OWN_BUFFER)
            status = guard(&m->pieces[i], error);
    }
    return status;
}

/* ---- Giving a kernel its arguments ---- */

static hone_status integer_bytes(const struct own_argument *a, const struct formula *formula,
                                 const struct expr_scope *scope, unsigned char *to, hone_error *error)
{
    int64_t value = 0;
    hone_status status = formula_value(formula, scope, "the value", &value, error);
    size_t size = element_size(a->element);
    if (status)
        return status;
    memcpy(to, &value, size); /* the low bytes, which are the first on every host that hone runs on */
    if (size < 8 && element_get(a->element, to, 0) != (double)value)
        return error_usage(error, "%lld does not fit %s", (long long)value, element_c_name(a->element));
    return HONE_OK;
}

static hone_status scalar_bytes(const struct own_argument *a, const struct expr_scope *scope,
                                unsigned char bytes[MAX_VALUE], size_t *size, hone_error *error)
{
    hone_status status = HONE_OK;
    *size = element_room(a->lanes) * element_size(a->element);
    memset(bytes, 0, MAX_VALUE);
    for (int i = 0; i < a->lanes && !status; i++) {
        const struct formula *formula = a->values[i] ? a->values[i] : a->values[0];
        unsigned char *to = bytes + (size_t)i * element_size(a->element);
        double value = 0;
        if (!element_is_float(a->element)) {
            status = integer_bytes(a, formula, scope, to, error);
            continue;
        }
        status = expr_real(&formula->expr, scope, &value, error);
        element_set(a->element, to, 0, value);
    }
    return status;
}

static hone_status bind_one(struct own_memory *m, int i, struct kernel *kernel,
                            const struct expr_scope *scope, hone_error *error)
{
    const struct own_argument *a = own_memory_argument(m, i);
    unsigned char bytes[MAX_VALUE];
    size_t size = 0;
    hone_status status;
    switch (a->kind) {
    case OWN_SCALAR:
        status = scalar_bytes(a, scope, bytes, &size, error);
        return status ? status : kernel_set_value(kernel, (unsigned)i, bytes, size, error);
    case OWN_LOCAL:
        status = size_value(a->sizes[0], scope, &size, error);
        return status ? status
                      : kernel_set_local(kernel, (unsigned)i, size * element_size(a->element), error);
    case OWN_SAMPLER:
        return kernel_set_any_sampler(kernel, (unsigned)i, &a->sampler, error);
    default:
        return kernel_set_memory(kernel, (unsigned)i, m->pieces[i].memory, error);
    }
}

hone_status own_memory_bind(struct own_memory *m, struct kernel *kernel, const struct expr_scope *scope,
                            hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < m->spec->argument_count && !status; i++) {
        status = bind_one(m, i, kernel, scope, error);
        if (status)
            error_prefix(error, "--arg %d '%s'", i + 1, own_memory_argument(m, i)->text);
    }
    return status;
}

/* ---- Outputs ---- */

size_t own_memory_output_bytes(const struct own_memory *m)
{
    return m->output_bytes;
}

static hone_status read_piece(struct own_memory *m, int i, unsigned char *to, hone_error *error)
{
    struct piece *p = &m->pieces[i];
    const struct span span = whole(p->bytes);
    hone_status status = HONE_OK;
    if (p->staging)
        status = memory_image_to_buffer(p->memory, p->staging, 0, p->width, p->height, no_wait, NULL, error);
    return status
               ? status
               : memory_read(p->staging ? p->staging : p->memory, &span, to, p->bytes, no_wait, NULL, error);
}

hone_status own_memory_read(struct own_memory *m, unsigned char *outputs, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < m->spec->argument_count && !status; i++)
        if (own_memory_argument(m, i)->role != ROLE_IN) {
            status = read_piece(m, i, outputs, error);
            outputs += m->pieces[i].bytes;
        }
    return status;
}

json_t *own_memory_describe(const struct own_memory *m)
{
    json_t *outputs = json_array();
    for (int i = 0; i < m->spec->argument_count; i++)
        if (own_memory_argument(m, i)->role != ROLE_IN)
            json_array_append_new(outputs, json_pack("{s:i, s:s, s:I}", "argument", i, "type",
                                                     element_name(own_memory_argument(m, i)->element),
                                                     "count", (json_int_t)m->pieces[i].count));
    return outputs;
}

hone_status own_memory_check_ends(struct own_memory *m, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < m->spec->argument_count && !status; i++) {
        const struct own_argument *a = own_memory_argument(m, i);
        unsigned char bytes[GUARD];
        const struct span span = {m->pieces[i].bytes, GUARD, GUARD, 1};
        if (a->kind != OWN_BUFFER || a->role == ROLE_IN)
            continue;
        status = memory_read(m->pieces[i].memory, &span, bytes, GUARD, no_wait, NULL, error);
        for (size_t k = 0; k < GUARD && !status; k++)
            if (bytes[k] != GUARD_BYTE)
                status = error_set(error, HONE_ERROR_CHECK,
                                   "wrote behind the end of argument %d '%s': byte %zu of %zu", i + 1,
                                   a->text, m->pieces[i].bytes + k, m->pieces[i].bytes);
    }
    return status;
}

/* ---- A function of the user's own ---- */

typedef int reference_function(void *const arguments[], const size_t bytes[], int count);

static hone_status find_function(const char *text, void **library, reference_function **function,
                                 hone_error *error)
{
    char path[4096];
    const char *colon = strrchr(text, ':');
    *library = NULL;
    if (!colon || (size_t)(colon - text) >= sizeof path - 3)
        return error_usage(error, "--check '%s' is no LIBRARY.so:FUNCTION", text);
    /* A name without a slash would be looked for in the system's folders. */
    snprintf(path, sizeof path, "%s%.*s", memchr(text, '/', (size_t)(colon - text)) ? "" : "./",
             (int)(colon - text), text);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        return error_io(error, "--check: %s", dlerror());
    void *symbol = dlsym(*library, colon + 1);
    if (!symbol)
        return error_io(error, "--check: '%s' has no function '%s'", path, colon + 1);
    memcpy(function, &symbol, sizeof symbol);
    return HONE_OK;
}

static hone_status take_argument(struct own_memory *m, int i, const struct expr_scope *scope, void **pointer,
                                 size_t *bytes, hone_error *error)
{
    const struct own_argument *a = own_memory_argument(m, i);
    *bytes = in_memory(a) ? m->pieces[i].bytes : MAX_VALUE;
    if (a->kind == OWN_LOCAL || a->kind == OWN_SAMPLER)
        return *bytes = 0, HONE_OK;
    *pointer = mem_new(*bytes, 1);
    if (!*pointer)
        return error_memory(error, "an argument of the reference");
    return in_memory(a) ? read_piece(m, i, *pointer, error) : scalar_bytes(a, scope, *pointer, bytes, error);
}

static void copy_outputs(const struct own_memory *m, void *const *pointers, unsigned char *outputs)
{
    for (int i = 0; i < m->spec->argument_count; i++)
        if (own_memory_argument(m, i)->role != ROLE_IN) {
            memcpy(outputs, pointers[i], m->pieces[i].bytes);
            outputs += m->pieces[i].bytes;
        }
}

hone_status own_memory_refer(struct own_memory *m, const struct expr_scope *scope, unsigned char *outputs,
                             hone_error *error)
{
    void *pointers[OWN_MAX_ARGUMENTS] = {0}, *library = NULL;
    size_t bytes[OWN_MAX_ARGUMENTS] = {0};
    reference_function *function = NULL;
    hone_status status = find_function(m->spec->checks[0], &library, &function, error);
    THEN(status, own_memory_reset(m, error));
    for (int i = 0; i < m->spec->argument_count && !status; i++)
        status = take_argument(m, i, scope, &pointers[i], &bytes[i], error);
    int answer = status ? 0 : function(pointers, bytes, m->spec->argument_count);
    if (answer != 0)
        status = error_set(error, HONE_ERROR_CHECK, "--check: '%s' returned %d", m->spec->checks[0], answer);
    if (!status)
        copy_outputs(m, pointers, outputs);
    for (int i = 0; i < OWN_MAX_ARGUMENTS; i++)
        free(pointers[i]);
    if (library)
        dlclose(library);
    return status;
}
