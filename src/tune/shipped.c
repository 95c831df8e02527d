/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/shipped.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"

#include <stdlib.h>

/* Generated from data/tuning/shipped.jsonl: choices, one a line. */
extern const char shipped_text[];

static hone_status make_records(hone_device *device, void **object, hone_error *error)
{
    (void)device;
    struct records *records = mem_new(1, sizeof *records);
    if (!records)
        return error_memory(error, "shipped tuning records");
    hone_status status = records_parse(records, shipped_text, READ_CHOICES, error);
    if (status) {
        records_finish(records);
        free(records);
        return status;
    }
    *object = records;
    return HONE_OK;
}

static void destroy_records(void *object)
{
    records_finish(object);
    free(object);
}

static const char shipped_key;

hone_status shipped_records(hone_device *device, const struct records **records, hone_error *error)
{
    void *object = NULL;
    hone_status status =
        device_attachment(device, &shipped_key, make_records, destroy_records, &object, error);
    *records = object;
    return status;
}
