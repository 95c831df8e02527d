/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_text.h"

#include "base/text.h"

#include <jansson.h>

/* Length of the UTF-8 sequence at `at`, or 0 where there is none: overlong forms and surrogates are none
 * either. */
static size_t utf8_length(const unsigned char *at)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (at[0] < 0x80)
        return 1;
    const size_t length = at[0] >= 0xf0 && at[0] < 0xf8   ? 4
                          : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                          : at[0] >= 0xc0 && at[0] < 0xe0 ? 2
                                                          : 0;
    unsigned code = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    return length && code >= least[length] && code <= 0x10ffff && (code & 0xfffff800u) != 0xd800 ? length : 0;
}

struct json_t *json_text(const char *text)
{
    struct text clean = {0};
    if (!text)
        return json_null();
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = utf8_length(at);
        text_add_bytes(&clean, length ? (const char *)at : "\xef\xbf\xbd", length ? length : 3);
        at += length ? length : 1;
    }
    json_t *value = clean.failed ? NULL : json_string(text_view(&clean));
    text_finish(&clean);
    return value;
}
