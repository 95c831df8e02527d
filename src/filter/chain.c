/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/chain.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/registry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 1 << 17 }; /* the largest kernel of a convolution, with 17 digits a weight, is a fifth */

struct reader {
    const char *whole, *at;
    char *word;     /* the last word read: with room for the whole text, at most MAX_WORD bytes */
    uint32_t given; /* the parameters of this filter that were there already */
    hone_error *error;
};

static struct reader reader_of(const char *text, hone_error *error)
{
    const size_t length = strlen(text) + 1;
    char *word = mem_new(length < MAX_WORD ? length : MAX_WORD, 1);
    return (struct reader){.whole = text, .at = text, .word = word, .error = error};
}

/* As much of the text as leaves room for what is wrong with it. */
struct excerpt {
    const char *before, *start, *after;
    int length;
};

static struct excerpt excerpt_at(const struct reader *r, const char *where)
{
    enum { SHOWN = 160 };
    size_t length = strlen(r->whole), at = (size_t)(where - r->whole);
    size_t first = length <= SHOWN || at < SHOWN / 2 ? 0 : at - SHOWN / 2;
    bool cut = length - first > SHOWN;
    return (struct excerpt){first ? "..." : "", r->whole + first, cut ? "..." : "",
                            cut ? SHOWN : (int)(length - first)};
}

/* Every mistake says where it is. */
static hone_status mistake(struct reader *r, const char *where, const char *what)
{
    int column = (int)(where - r->whole) + 1;
    struct excerpt e = excerpt_at(r, where);
    error_usage(r->error, "column %d of '%s%.*s%s': %s", column, e.before, e.length, e.start, e.after, what);
    if (r->error)
        r->error->column = column;
    return HONE_ERROR_USAGE;
}

/* Puts the place before a message that something below wrote. */
static hone_status misplaced(struct reader *r, const char *where, hone_status status)
{
    int column = (int)(where - r->whole) + 1;
    struct excerpt e = excerpt_at(r, where);
    error_prefix(r->error, "column %d of '%s%.*s%s'", column, e.before, e.length, e.start, e.after);
    if (r->error)
        r->error->column = column;
    return status;
}

static void skip_space(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static hone_status read_name(struct reader *r, const char *what)
{
    const char *start = r->at;
    size_t length = 0;
    while (isalnum((unsigned char)*r->at) || *r->at == '-' || *r->at == '_' || *r->at == '.')
        if (length < 63)
            r->word[length++] = *r->at++;
        else
            return mistake(r, start, "this name is too long");
    r->word[length] = '\0';
    if (length == 0)
        return mistake(r, start, what);
    return HONE_OK;
}

/* A value ends at a space or a bar; quotes keep both. */
static hone_status read_value(struct reader *r)
{
    const char *start = r->at;
    char quote = *r->at == '\'' || *r->at == '"' ? *r->at++ : '\0';
    size_t length = 0;
    while (*r->at && (quote ? *r->at != quote : !isspace((unsigned char)*r->at) && *r->at != '|')) {
        if (length == MAX_WORD - 1)
            return mistake(r, start, "this value is too long; put it into a file");
        r->word[length++] = *r->at++;
    }
    r->word[length] = '\0';
    if (quote && *r->at != quote)
        return mistake(r, start, "the quote is not closed");
    r->at += quote != '\0';
    if (quote && *r->at && !isspace((unsigned char)*r->at) && *r->at != '|')
        return mistake(r, r->at, "expected a space or '|' after the closing quote");
    if (length == 0)
        return mistake(r, start, "expected a value after '='");
    return HONE_OK;
}

/* A bit for each parameter that a filter takes; 0 for what is none. */
static uint32_t bit_of_parameter(const struct hone_filter *filter, const char *name)
{
    const struct parameter *common;
    const int own = filter_parameter(filter, name);
    if (own >= 0)
        return 1u << own;
    for (size_t i = 0; (common = case_common_parameter(filter, i)); i++)
        if (strcmp(common->name, name) == 0)
            return 1u << (MAX_PARAMETERS + i);
    return 0;
}

/* One of the two would be lost without a word. */
static hone_status check_single(struct reader *r, const char *where, const struct hone_filter *filter,
                                const char *name)
{
    char what[160];
    const uint32_t bit = bit_of_parameter(filter, name);
    const bool again = r->given & bit;
    r->given |= bit;
    if (!again)
        return HONE_OK;
    snprintf(what, sizeof what, "%s is given a second time; write it once, or '|' and another filter", name);
    return mistake(r, where, what);
}

static hone_status no_value(struct reader *r, const struct hone_filter *filter, const char *name)
{
    char what[320], such[160] = "";
    const struct parameter *first = &filter->parameters[0];
    if (registry_find(name) && !bit_of_parameter(filter, name)) {
        snprintf(what, sizeof what, "%s is another filter, and needs a '|' before it", name);
        return mistake(r, r->at - strlen(name), what);
    }
    if (first->name && first->fallback && strlen(first->fallback) < 16)
        snprintf(such, sizeof such, ", such as %s=%s", first->name, first->fallback);
    snprintf(what, sizeof what, "expected '=' and a value after '%s': parameters are name=value%s", name,
             such);
    return mistake(r, r->at, what);
}

static hone_status read_parameter(struct reader *r, struct filter_case *c)
{
    char name[64];
    const char *start = r->at;
    TRY(read_name(r, "expected a parameter (name=value) or '|' and another filter"));
    snprintf(name, sizeof name, "%s", r->word);
    if (*r->at != '=')
        return no_value(r, c->filter, name);
    hone_status status = check_single(r, start, c->filter, name);
    const char *value = ++r->at;
    THEN(status, read_value(r));
    if (status)
        return status;
    hone_error inner = {0};
    status = case_set(c, name, r->word, &inner);
    if (status && r->error)
        *r->error = inner;
    return status ? misplaced(r, inner.column == 2 ? value : start, status) : HONE_OK;
}

static hone_status read_parameters(struct reader *r, struct filter_case *c)
{
    hone_status status = HONE_OK;
    r->given = 0;
    for (skip_space(r); !status && *r->at && *r->at != '|'; skip_space(r))
        status = read_parameter(r, c);
    return status;
}

/* A name, or the path of a filter of one's own: in quotes if it holds spaces or bars. */
static hone_status read_filter(struct reader *r)
{
    const char *start = r->at;
    if ((*start == '\'' || *start == '"') && start[1] != *start) {
        TRY(read_value(r));
        return text_ends(r->word, ".cl")
                   ? HONE_OK
                   : mistake(r, start,
                             "expected the name of a filter; in quotes, the path of a file NAME.cl");
    }
    const size_t length = strcspn(r->at, " \t\r\n|");
    if (length < 3 || memcmp(r->at + length - 3, ".cl", 3) != 0)
        return read_name(r, "expected the name of a filter");
    if (length >= MAX_WORD)
        return mistake(r, r->at, "this path is too long");
    memcpy(r->word, r->at, length);
    r->word[length] = '\0';
    r->at += length;
    return HONE_OK;
}

static hone_status unknown_filter(struct reader *r, const char *where)
{
    if (text_ends(r->word, ".cl"))
        return mistake(r, where,
                       "no filter was loaded from this file, and chains load none: hone_filter_load() does, "
                       "in Python hone.load(), in GStreamer the property 'filters'");
    struct text message = {0};
    registry_answer_unknown(r->word, &message);
    hone_status status = mistake(r, where, text_view(&message));
    text_finish(&message);
    return status;
}

static hone_status read_step(struct reader *r, hone_chain *chain)
{
    skip_space(r);
    const char *start = r->at;
    TRY(read_filter(r));
    const struct hone_filter *filter = registry_find(r->word);
    if (!filter)
        return unknown_filter(r, start);
    if (chain->count == MAX_STEPS)
        return mistake(r, start, "a chain has at most 32 filters");
    struct chain_step *step = &chain->steps[chain->count];
    TRY(case_init(&step->c, filter, r->error));
    step->column = (int)(start - r->whole) + 1;
    chain->count++;
    if (*r->at && !isspace((unsigned char)*r->at) && *r->at != '|')
        return mistake(
            r, r->at, "expected a space or '|' after the name of a filter, as in 'gaussian sigma=2 | sobel'");
    return read_parameters(r, &step->c);
}

static hone_status read_chain(struct reader *r, hone_chain *chain)
{
    hone_status status = read_step(r, chain);
    while (!status && *r->at == '|') {
        r->at++;
        status = read_step(r, chain);
    }
    return status;
}

hone_status hone_chain_parse(hone_chain **out, const char *text, hone_error *error)
{
    if (!out || !text)
        return error_usage(error, "hone_chain_parse needs a text and a place for the chain");
    *out = NULL;
    hone_chain *chain = mem_new(1, sizeof *chain);
    struct reader reader = reader_of(text, error);
    hone_status status = HONE_OK;
    if (!chain || !reader.word || !(chain->text = mem_copy_text(text)))
        status = error_memory(error, "a chain");
    THEN(status, read_chain(&reader, chain));
    free(reader.word);
    if (status)
        hone_chain_destroy(&chain);
    *out = chain;
    return status;
}

hone_status chain_parse_case(struct filter_case *c, const char *text, hone_error *error)
{
    hone_chain *chain = NULL;
    hone_status status = hone_chain_parse(&chain, text, error);
    if (status)
        return status;
    if (chain->count == 1)
        status = case_copy(c, &chain->steps[0].c, error);
    else
        status = error_usage(error, "'%s' is a chain; expected a single filter", text);
    hone_chain_destroy(&chain);
    return status;
}

hone_status chain_parse_parameters(struct filter_case *c, const char *text, hone_error *error)
{
    struct reader reader = reader_of(text, error);
    if (!reader.word)
        return error_memory(error, "parameters");
    hone_status status = read_parameters(&reader, c);
    if (!status && *reader.at)
        status = mistake(&reader, reader.at, "expected parameters of one filter, not a chain");
    free(reader.word);
    return status;
}

void hone_chain_make_reproducible(hone_chain *chain)
{
    for (size_t i = 0; chain && i < chain->count; i++)
        chain->steps[i].c.exact = true;
}

void hone_chain_destroy(hone_chain **chain)
{
    if (!chain || !*chain)
        return;
    for (size_t i = 0; i < (*chain)->count; i++)
        case_finish(&(*chain)->steps[i].c);
    free((*chain)->text);
    free(*chain);
    *chain = NULL;
}

size_t hone_chain_length(const hone_chain *chain)
{
    return chain ? chain->count : 0;
}

const char *hone_chain_filter(const hone_chain *chain, size_t step)
{
    return chain && step < chain->count ? chain->steps[step].c.filter->name : NULL;
}

const char *hone_chain_parameter(const hone_chain *chain, size_t step, const char *name)
{
    return chain && name && step < chain->count ? case_text(&chain->steps[step].c, name) : NULL;
}

size_t hone_chain_text(const hone_chain *chain, char *text, size_t size)
{
    struct text out = {0};
    for (size_t i = 0; i < hone_chain_length(chain); i++) {
        text_add(&out, "%s", i ? " | " : "");
        case_describe(&chain->steps[i].c, &out);
    }
    if (text && size)
        snprintf(text, size, "%s", text_view(&out));
    size_t length = out.length;
    text_finish(&out);
    return length;
}

/* ---- On an image ---- */

static hone_status prepare_step(struct filter_case *c, const struct filter_case *wanted,
                                const hone_image_desc *in, const hone_image_desc *second, hone_error *error)
{
    TRY(case_copy(c, wanted, error));
    hone_status status = case_prepare(c, in, second, error);
    if (status)
        case_finish(c);
    return status;
}

hone_status chain_cases(struct filter_case *cases, const hone_chain *chain, const hone_image_desc *input,
                        const hone_image_desc *second, size_t second_count, hone_error *error)
{
    hone_image_desc in = *input;
    hone_status status = HONE_OK;
    size_t done = 0, used = 0;
    for (in.pitch = 0; done < chain->count; done++) {
        const struct filter_case *wanted = &chain->steps[done].c;
        const bool two = wanted->filter->inputs > 1;
        if (two && used == second_count)
            status = error_usage(error, "%s needs a second image", wanted->filter->name);
        else
            status = prepare_step(&cases[done], wanted, &in, two ? &second[used++] : NULL, error);
        if (status)
            break;
        in = cases[done].out;
    }
    if (status)
        chain_cases_finish(cases, done);
    return status;
}

/* ---- Halo ---- */

static hone_status window_side(const char *text, const struct expr_scope *scope, uint32_t *side,
                               hone_error *error)
{
    int64_t value = 0;
    hone_status status = expr_text_value(text, scope, 0, &value, error);
    *side = value < 0 ? 0 : value > HONE_MAX_SIDE ? HONE_MAX_SIDE : (uint32_t)value;
    return status;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

hone_status case_halo(const struct filter_case *c, struct hone_halo *halo, hone_error *error)
{
    const struct window *window = &c->filter->window;
    struct case_scope names;
    const bool resized = c->out.width != c->in.width || c->out.height != c->in.height;
    const enum reads reads = c->filter->reads;
    case_scope_init(&names, c, NULL);
    *halo = (hone_halo){.period = larger(c->filter->period, 1),
                        .reach = (hone_reach)(resized && reads == READS_WINDOW ? READS_ELSEWHERE : reads)};
    hone_status status = window_side(window->left, &names.scope, &halo->left, error);
    THEN(status, window_side(window->right, &names.scope, &halo->right, error));
    THEN(status, window_side(window->top, &names.scope, &halo->top, error));
    THEN(status, window_side(window->bottom, &names.scope, &halo->bottom, error));
    if (c->border == HONE_BORDER_REFLECT || c->border == HONE_BORDER_REFLECT101) {
        halo->left = halo->right = larger(halo->left, halo->right);
        halo->top = halo->bottom = larger(halo->top, halo->bottom);
    }
    halo->wraps = c->border == HONE_BORDER_WRAP && (halo->left || halo->right || halo->top || halo->bottom);
    return status;
}

static void widen(uint32_t *side, uint32_t by)
{
    *side = *side + by > HONE_MAX_SIDE ? HONE_MAX_SIDE : *side + by;
}

static void join_halo(hone_halo *all, const hone_halo *one, size_t step)
{
    widen(&all->left, one->left);
    widen(&all->right, one->right);
    widen(&all->top, one->top);
    widen(&all->bottom, one->bottom);
    all->period = larger(all->period, one->period); /* 1 and 2 are all that there are */
    all->wraps = all->wraps || one->wraps;
    if (all->reach == HONE_REACH_WINDOW && one->reach != HONE_REACH_WINDOW) {
        all->reach = one->reach;
        all->step = step;
    }
}

/* Each step on the result of the one before; second images are like the first. *image becomes that of the
 * result, and *halo, unless NULL, gets those of all steps. */
static hone_status walk(const hone_chain *chain, hone_image_desc *image, hone_halo *halo, hone_error *error)
{
    hone_status status = HONE_OK;
    image->pitch = 0;
    for (size_t i = 0; i < chain->count && !status; i++) {
        struct filter_case c;
        hone_halo one;
        const struct filter_case *wanted = &chain->steps[i].c;
        status = prepare_step(&c, wanted, image, wanted->filter->inputs > 1 ? image : NULL, error);
        if (status)
            break;
        if (halo && !(status = case_halo(&c, &one, error)))
            join_halo(halo, &one, i);
        *image = c.out;
        case_finish(&c);
    }
    return status;
}

hone_status hone_chain_halo(const hone_chain *chain, const hone_image_desc *input, hone_halo *out,
                            hone_error *error)
{
    if (!chain || !input || !out)
        return error_usage(
            error, "hone_chain_halo needs a chain, the description of an image and a place for the halo");
    hone_image_desc image = *input;
    hone_halo all = {.period = 1};
    image.width = image.height = 1;
    hone_status status = walk(chain, &image, &all, error);
    if (!status)
        *out = all;
    return status;
}

hone_status hone_chain_output(const hone_chain *chain, const hone_image_desc *input, hone_image_desc *out,
                              hone_error *error)
{
    if (!chain || !input || !out)
        return error_usage(
            error, "hone_chain_output needs a chain, the description of an image and a place for that "
                   "of its result");
    hone_image_desc image = *input;
    hone_status status = walk(chain, &image, NULL, error);
    if (!status)
        *out = image;
    return status;
}

void chain_cases_finish(struct filter_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        case_finish(&cases[i]);
}

bool chain_turns(const hone_chain *chain)
{
    bool turns = false;
    for (size_t i = 0; i < chain->count; i++)
        turns ^= chain->steps[i].c.filter->turns;
    return turns;
}
