/* SPDX-License-Identifier: BSD-2-Clause */
/* A chain whose quotes were forgotten, `hone apply gaussian sigma=2 in.png -o out.png`, or that does not come
 * first, `hone apply in.png sobel -o out.png`. Recognised, so that the answer can be the command that was
 * meant. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_filter(const char *word)
{
    hone_filter_info info;
    return hone_filter_find(word, &info);
}

/* "name=": the length of the name, or 0. */
static size_t name_length(const char *word)
{
    size_t length = 0;
    while (isalnum((unsigned char)word[length]) || word[length] == '-')
        length++;
    return word[length] == '=' ? length : 0;
}

static bool is_parameter_of_some_filter(const char *word)
{
    hone_filter_info filter;
    hone_parameter_info parameter;
    const size_t length = name_length(word);
    for (size_t i = 0; length && hone_filter_at(i, &filter); i++)
        for (size_t k = 0; hone_filter_parameter(filter.name, k, &parameter); k++)
            if (strlen(parameter.name) == length && strncmp(parameter.name, word, length) == 0)
                return true;
    return false;
}

static bool is_input(const char *word)
{
    return strcmp(word, "-") == 0 || access(word, F_OK) == 0;
}

static bool begins_with_filter(const char *word)
{
    char *name = mem_copy_text_n(word, strcspn(word, " \t|"));
    const bool found = name && (is_filter(name) || text_ends(name, ".cl"));
    free(name);
    return found;
}

/* "in.jpg": of no chain, even if there is no such file. */
static bool is_file_name(const char *word)
{
    return strchr(word, '.') && !strpbrk(word, " \t|=");
}

/* An input stands where the chain belongs. */
static bool is_late(const struct operands *operands)
{
    const char *word = operands->items[0];
    return (is_input(word) || is_file_name(word)) && !begins_with_filter(word);
}

/* Behind inputs, a name of no filter that can be no file: "blur". */
static int mark_unknown(const struct operands *operands, bool *marks)
{
    for (int i = 1; i < operands->count; i++)
        if (!is_input(operands->items[i]) && !strpbrk(operands->items[i], "./"))
            return marks[i] = true;
    return 0;
}

/* Behind other words of the chain a parameter may be misspelt; what is there as a file is an input. */
static bool belongs_to_chain(const char *word, bool after_others)
{
    if (access(word, F_OK) == 0)
        return false;
    return strcmp(word, "|") == 0 || is_filter(word) || (after_others && name_length(word)) ||
           is_parameter_of_some_filter(word);
}

/* Marks the operands that are words of the chain; the number of them. */
static int mark_words(const struct operands *operands, bool late, bool *marks)
{
    int count = marks[0] = !late && (is_filter(operands->items[0]) || strchr(operands->items[0], ' '));
    for (int i = 1; i < operands->count && (count || late); i++) {
        const char *word = operands->items[i];
        marks[i] =
            belongs_to_chain(word, marks[i - 1]) || (late && !is_input(word) && begins_with_filter(word));
        count += marks[i];
    }
    return late && !count ? mark_unknown(operands, marks) : count;
}

/* The shell has taken the quotes of a value away. */
static void add_word(struct text *chain, const char *word)
{
    const size_t name = name_length(word);
    const char *between = !chain->length                                             ? ""
                          : is_filter(word) && chain->data[chain->length - 1] != '|' ? " | "
                                                                                     : " ";
    if (name && strpbrk(word, " \t|"))
        text_add(chain, "%s%.*s=\"%s\"", between, (int)name, word, word + name + 1);
    else
        text_add(chain, "%s%s", between, word);
}

/* -1: no operand, but an option or its value. */
static int find_operand(const struct operands *operands, const char *word)
{
    for (int i = 0; i < operands->count; i++)
        if (operands->items[i] == word)
            return i;
    return -1;
}

/* Of many inputs the first few. */
static void add_command(struct text *line, const struct apply_options *options,
                        const struct operands *operands, const bool *marks, int words, const char *chain)
{
    enum { SHOWN = 3 };
    int inputs = 0;
    text_add(line, "hone");
    for (char **word = options->asked; *word; word++) {
        const int index = find_operand(operands, *word);
        const bool shown = index >= 0 && !marks[index];
        inputs += shown;
        if (index == 0) {
            text_add(line, " ");
            text_add_shell(line, chain, true);
        }
        if (index < 0 || (shown && inputs <= SHOWN)) {
            text_add(line, " ");
            text_add_shell(line, *word, false);
        } else if (shown && inputs == SHOWN + 1)
            text_add(line, " ...");
        if (index == 0 && words == operands->count)
            text_add(line, " INPUT");
    }
    if (!options->output)
        text_add(line, " -o OUTPUT");
}

static bool is_wrong(const char *text, hone_error *error)
{
    hone_chain *chain = NULL;
    const bool wrong = hone_chain_parse(&chain, text, error) != HONE_OK;
    hone_chain_destroy(&chain);
    return wrong;
}

/* The first input that is no file, or NULL. "frame%04d.png" stands for many. */
static const char *find_missing(const struct operands *operands, const bool *marks)
{
    for (int i = 0; i < operands->count; i++)
        if (!marks[i] && !is_input(operands->items[i]) && !strchr(operands->items[i], '%'))
            return operands->items[i];
    return NULL;
}

/* A chain that is wrong itself is answered first: its command would lead to the next error. */
static void complain(const char *line, bool late, const char *chain, const char *missing, hone_error *error)
{
    if (late && *chain && is_wrong(chain, error))
        return;
    const char *rule = late ? "the chain, such as 'sobel norm=l1', comes before the inputs"
                            : "the chain is one argument and needs quotes";
    if (missing)
        error_usage(error, "%s, and there is no file '%s': %s", rule, missing, line);
    else
        error_usage(error, "%s: %s", rule, line);
}

int apply_check_quotes(const struct apply_options *options, const struct operands *operands)
{
    struct text chain = {0}, line = {0};
    hone_error error = {0};
    bool *marks = mem_new((size_t)operands->count, sizeof *marks);
    const bool late = marks && is_late(operands);
    const int words = marks ? mark_words(operands, late, marks) : 0;
    const bool wrong = late || words > 1;
    for (int i = 0; i < operands->count && wrong; i++)
        if (marks[i])
            add_word(&chain, operands->items[i]);
    if (wrong) {
        add_command(&line, options, operands, marks, words, words ? text_view(&chain) : "CHAIN");
        complain(text_view(&line), late, words ? text_view(&chain) : "", find_missing(operands, marks),
                 &error);
    }
    text_finish(&chain);
    text_finish(&line);
    free(marks);
    return wrong ? cli_fail(&options->common, &error) : EXIT_DONE;
}
