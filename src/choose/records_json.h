/* SPDX-License-Identifier: BSD-2-Clause */
/* Records as JSON objects, and back. */
#pragma once

#include "choose/records.h"

#include <jansson.h>

json_t *record_device_json(const struct record_device *device);
json_t *record_case_json(const struct record_case *c);
/* What came of a configuration, without device, case and time. */
json_t *record_outcome_json(const struct record_try *record);
json_t *record_try_json(const struct record_try *record);
json_t *record_choice_json(const struct record_choice *record);
json_t *record_trust_json(const struct record_trust *record);

/* False when a field is missing, of another type, or absurd. The record is zeroed before. */
bool record_read_device(const json_t *object, struct record_device *device);
bool record_read_case(const json_t *object, struct record_case *c);
bool record_read_outcome(const json_t *object, struct record_try *record);
bool record_read_try(const json_t *object, struct record_try *record);
bool record_read_choice(const json_t *object, struct record_choice *record);
bool record_read_trust(const json_t *object, struct record_trust *record);

/* Adds the object as one line, without the newline, and releases it. NULL makes the text failed. */
struct text;
void record_json_print(json_t *object, struct text *out);
