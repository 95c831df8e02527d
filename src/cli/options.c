/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char common_help[] =
    "\n"
    "common options:\n"
    "  --device SPEC    a number from 'hone devices', cpu, gpu, accelerator, part of a name, or a\n"
    "                   comma-separated list of these in order of preference; default: the environment\n"
    "                   variable HONE_DEVICE, else auto: for 'apply' the device expected to finish\n"
    "                   first, for other commands GPUs before CPUs; 'apply' shares images, frames and\n"
    "                   tiles among several devices with 'all' or a list of numbers, such as 0,1\n"
    "  --no-cache       do not read or write compiled programs on disk\n"
    "  --json           print the report as JSON to standard output\n"
    "  -q, --quiet      print errors only\n"
    "  -v, --verbose    print more\n"
    "  -h, --help       print this help\n";

enum { MAX_OPTIONS = 64, MAX_COMMON = 5 };

struct parser {
    const struct command *command;
    struct option options[MAX_OPTIONS];
    size_t count;
    int argc, next; /* next argument to look at */
    char **argv;
    bool help;
};

/* The common options behind the command's own, so that one table holds all. */
static void fill_table(struct parser *p, const struct option *own, struct common_options *common)
{
    const struct option shared[MAX_COMMON] = {{"device", 0, OPTION_TEXT, &common->device, 0, 0},
                                              {"no-cache", 0, OPTION_FLAG, &common->no_cache, 0, 0},
                                              {"json", 0, OPTION_FLAG, &common->json, 0, 0},
                                              {"quiet", 'q', OPTION_FLAG, &common->quiet, 0, 0},
                                              {"verbose", 'v', OPTION_FLAG, &common->verbose, 0, 0}};
    for (; own && own->name && p->count < MAX_OPTIONS - MAX_COMMON - 1; own++)
        p->options[p->count++] = *own;
    for (size_t i = 0; i < MAX_COMMON; i++)
        p->options[p->count++] = shared[i];
    p->options[p->count++] = (struct option){"help", 'h', OPTION_FLAG, &p->help, 0, 0};
}

static const struct option *find_long(const struct parser *p, const char *name, size_t length)
{
    for (size_t i = 0; i < p->count; i++)
        if (strlen(p->options[i].name) == length && strncmp(p->options[i].name, name, length) == 0)
            return &p->options[i];
    return NULL;
}

static const struct option *find_short(const struct parser *p, char letter)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->options[i].letter == letter)
            return &p->options[i];
    return NULL;
}

static int unknown_option(const struct parser *p, const char *name, size_t length)
{
    const char *names[MAX_OPTIONS];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
    for (size_t i = 0; i < p->count; i++)
        names[i] = p->options[i].name;
    const char *near = cli_nearest(word, names, p->count);
    if (near)
        return cli_usage(p->command, "there is no option '--%s'; did you mean '--%s'?", word, near);
    return cli_usage(p->command, "there is no option '--%s'", word);
}

static int take_number(const struct parser *p, const struct option *option, const char *value)
{
    char *end = NULL;
    double number = strtod(value, &end);
    if (end == value || *end || !isfinite(number))
        return cli_usage(p->command, "--%s needs a number, not '%s'", option->name, value);
    if (number < option->least || number > option->most)
        return cli_usage(p->command, "--%s is %s; it must be %.10g to %.10g", option->name, value,
                         option->least, option->most);
    if (option->kind == OPTION_WHOLE && number != trunc(number))
        return cli_usage(p->command, "--%s is %s; it must be a whole number from %.10g to %.10g",
                         option->name, value, option->least, option->most);
    *(double *)option->target = number;
    return EXIT_DONE;
}

static int add_to_list(const struct parser *p, const struct option *option, const char *value)
{
    struct option_list *list = option->target;
    if (list->count == OPTION_LIST_MOST)
        return cli_usage(p->command, "--%s is given more than %d times", option->name, OPTION_LIST_MOST);
    list->items[list->count++] = value;
    return EXIT_DONE;
}

/* `value` is what stands after '=' or behind the letter, or NULL: then the next argument is the value. */
static int take_option(struct parser *p, const struct option *option, const char *value)
{
    if (option->kind == OPTION_ELSEWHERE)
        return cli_usage(p->command, "--%s %s", option->name, (const char *)option->target);
    if (option->kind == OPTION_FLAG) {
        if (value)
            return cli_usage(p->command, "--%s takes no value", option->name);
        *(bool *)option->target = true;
        return EXIT_DONE;
    }
    if (!value && p->next < p->argc)
        value = p->argv[p->next++];
    if (!value)
        return cli_usage(p->command, "--%s needs a value", option->name);
    if (option->kind == OPTION_REAL || option->kind == OPTION_WHOLE)
        return take_number(p, option, value);
    if (option->kind == OPTION_LIST)
        return add_to_list(p, option, value);
    *(const char **)option->target = value;
    return EXIT_DONE;
}

static int take_long(struct parser *p, const char *name)
{
    size_t length = strcspn(name, "=");
    const struct option *option = find_long(p, name, length);
    if (!option)
        return unknown_option(p, name, length);
    return take_option(p, option, name[length] ? name + length + 1 : NULL);
}

/* "-qv" is "-q -v", "-oFILE" is "-o FILE". */
static int take_letters(struct parser *p, const char *letters)
{
    int status = EXIT_DONE;
    for (; *letters && status == EXIT_DONE; letters++) {
        const struct option *option = find_short(p, *letters);
        if (!option)
            return cli_usage(p->command, "there is no option '-%c'", *letters);
        if (option->kind != OPTION_FLAG)
            return take_option(p, option, letters[1] ? letters + 1 : NULL);
        status = take_option(p, option, NULL);
    }
    return status;
}

enum parsed cli_parse(const struct command *command, int argc, char **argv, const struct option *own,
                      struct common_options *common, struct operands *operands)
{
    struct parser p = {.command = command, .argc = argc, .argv = argv, .next = 1};
    int kept = 1, status = EXIT_DONE;
    bool over = false;
    *common = (struct common_options){0};
    fill_table(&p, own, common);
    while (p.next < argc && status == EXIT_DONE) {
        char *word = argv[p.next++];
        if (over || word[0] != '-' || !word[1])
            argv[kept++] = word;
        else if (strcmp(word, "--") == 0)
            over = true;
        else
            status = word[1] == '-' ? take_long(&p, word + 2) : take_letters(&p, word + 1);
    }
    *operands = (struct operands){argv + 1, kept - 1};
    if (status != EXIT_DONE)
        return PARSED_BAD;
    if (p.help) {
        fputs(command->usage, stdout);
        fputs(common_help, stdout);
        return PARSED_END;
    }
    return PARSED_GO;
}

hone_status cli_parse_size(const char *option, const char *text, hone_image_desc *in, hone_error *error)
{
    char rest;
    if (sscanf(text, "%ux%u%c", &in->width, &in->height, &rest) != 2)
        return error_usage(error, "%s takes WIDTHxHEIGHT, such as 1920x1080, not '%s'", option, text);
    return hone_image_desc_check(in, error);
}

const char *cli_nearest(const char *word, const char *const *names, size_t count)
{
    unsigned limit = strlen(word) < 4 ? 2 : 3, best = limit;
    const char *near = NULL;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = text_distance(word, names[i], limit);
        if (distance < best) {
            best = distance;
            near = names[i];
        }
    }
    return near;
}
