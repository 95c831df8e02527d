/* SPDX-License-Identifier: BSD-2-Clause */
/* hone lint: the guide's advice on kernels as rules. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "cli/show.h"
#include "lab/lint/lint.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct linting {
    struct common_options common;
    struct option_list defines, folders, includes;
    const char *standard, *target;
    bool rules;
    json_t *findings, *silenced, *failures;
    size_t found, allowed, failed;
};

/* ---- Rules ---- */

static json_t *rule_json(const struct lint_rule *rule)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "rule", rule->name, "section", rule->section, "why", rule->why,
                     "instead", rule->instead);
}

static int list_rules(const struct linting *l)
{
    json_t *list = l->common.json ? json_array() : NULL;
    for (size_t i = 0; lint_rule_at(i); i++) {
        const struct lint_rule *rule = lint_rule_at(i);
        if (list)
            json_array_append_new(list, rule_json(rule));
        else
            printf("%-17s guide %s\n    %s\n    instead: %s\n", rule->name, rule->section, rule->why,
                   rule->instead);
    }
    if (l->common.json && !cli_print_json(json_pack("{s:o}", "rules", list)))
        return EXIT_DEVICE;
    return EXIT_DONE;
}

/* ---- Findings ---- */

static json_t *finding_json(const char *path, const struct lint_finding *finding)
{
    json_t *value = rule_json(finding->rule);
    json_t *where = json_pack("{s:o, s:i, s:i, s:o, s:o}", "file", json_text(path), "line",
                              (int)finding->line, "column", (int)finding->column, "what",
                              json_text(finding->what), "reason", json_text(finding->reason));
    if (value && where)
        json_object_update(value, where);
    json_decref(where);
    return value;
}

static void print_finding(const struct linting *l, const char *path, const struct lint_finding *finding)
{
    const struct lint_rule *rule = finding->rule;
    if (finding->reason && !l->common.verbose)
        return;
    printf("%s:%u:%u: %s: %s", path, finding->line, finding->column, rule->name, finding->what);
    if (finding->reason)
        printf(" (allowed: %s)\n", finding->reason);
    else if (l->common.quiet)
        putchar('\n');
    else
        printf("\n    why: %s (guide %s)\n    instead: %s\n", rule->why, rule->section, rule->instead);
}

static hone_status lint_one(struct linting *l, const char *path, hone_error *error)
{
    const struct lint_options options = {.standard = l->standard,
                                         .target = l->target,
                                         .defines = l->defines.items,
                                         .define_count = (size_t)l->defines.count,
                                         .folders = l->folders.items,
                                         .folder_count = (size_t)l->folders.count,
                                         .includes = l->includes.items,
                                         .include_count = (size_t)l->includes.count};
    struct lint_result result;
    TRY(lint_file(&result, path, &options, error));
    for (size_t i = 0; i < result.count; i++)
        if (l->common.json)
            json_array_append_new(result.findings[i].reason ? l->silenced : l->findings,
                                  finding_json(path, &result.findings[i]));
        else
            print_finding(l, path, &result.findings[i]);
    l->found += result.count - result.silenced;
    l->allowed += result.silenced;
    lint_finish(&result);
    return HONE_OK;
}

/* ---- The command ---- */

/* All files, whatever is wrong with one of them. Gives the highest status. */
static int lint_all(struct linting *l, const struct operands *operands)
{
    int status = EXIT_DONE;
    for (int i = 0; i < operands->count; i++) {
        hone_error error = {0};
        if (lint_one(l, operands->items[i], &error) == HONE_OK)
            continue;
        struct common_options common = l->common;
        common.verbose = true; /* what the compiler says is the answer */
        cli_complain(&common, &error);
        const int its = cli_exit_status(error.status);
        if (l->common.json)
            json_array_append_new(
                l->failures, json_pack("{s:o, s:o, s:o}", "file", json_text(operands->items[i]), "message",
                                       json_text(error.message), "log", json_text(error.log)));
        status = its > status ? its : status;
        l->failed++;
    }
    return status == EXIT_DONE && l->found ? EXIT_CHECK : status;
}

static int report(struct linting *l, const struct operands *operands)
{
    l->findings = json_array();
    l->silenced = json_array();
    l->failures = json_array();
    const int status = lint_all(l, operands);
    if (l->common.json) {
        json_t *whole = json_pack("{s:s, s:i, s:O, s:O, s:O}", "status",
                                  status > EXIT_CHECK ? "failed" : "done", "exit_status", status, "findings",
                                  l->findings, "allowed", l->silenced, "failures", l->failures);
        if (!cli_print_json(whole))
            return EXIT_DEVICE;
    } else if (!l->common.quiet) {
        printf("%zu found, %zu allowed with a reason", l->found, l->allowed);
        if (l->failed)
            printf(", %zu of %s not judged", l->failed, show_count((size_t)operands->count, "file").text);
        printf("\n");
    }
    json_decref(l->findings);
    json_decref(l->silenced);
    json_decref(l->failures);
    return status;
}

static bool is_standard(const char *name)
{
    static const char *const names[] = {"CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int run(int argc, char **argv)
{
    struct linting l = {.standard = NULL};
    struct operands operands;
    const struct option own[] = {{"rules", 0, OPTION_FLAG, &l.rules, 0, 0},
                                 {"define", 'D', OPTION_LIST, &l.defines, 0, 0},
                                 {"folder", 'I', OPTION_LIST, &l.folders, 0, 0},
                                 {"include", 0, OPTION_LIST, &l.includes, 0, 0},
                                 {"std", 0, OPTION_TEXT, &l.standard, 0, 0},
                                 {"target", 0, OPTION_TEXT, &l.target, 0, 0},
                                 {NULL, 0, OPTION_FLAG, NULL, 0, 0}};
    const enum parsed parsed = cli_parse(&command_lint, argc, argv, own, &l.common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    if (l.rules && operands.count == 0)
        return list_rules(&l);
    if (l.standard && !is_standard(l.standard))
        return cli_usage(&command_lint, "--std is CL1.0, CL1.1, CL1.2, CL2.0 or CL3.0, not '%s'", l.standard);
    if (operands.count == 0)
        return cli_usage(&command_lint, "a file with kernels is missing; --rules lists what is looked for");
    return report(&l, &operands);
}

const struct command command_lint = {
    .name = "lint",
    .summary = "find what Qualcomm's guide advises against in kernels",
    .usage =
        "usage: hone lint FILE.cl... [-D NAME=VALUE] [-I FOLDER]\n"
        "       hone lint --rules\n"
        "\n"
        "Reads OpenCL C through libclang and reports what Qualcomm's OpenCL guide advises against: rule,\n"
        "place, why (with the section of the guide), and what to write instead. Only the files themselves\n"
        "are judged, not what they include. A file may also be a filter of your own. No device is opened.\n"
        "These are hints: measure before and after.\n"
        "\n"
        "A comment on the same line, or on a line of its own before it, allows something with a reason;\n"
        "allow-file does so for the whole file:\n"
        "  // hone-lint: allow division: the divisor is a power of two\n"
        "So does a line 'FILE RULE: reason' of a file .hone-lint in the folder or the one above.\n"
        "\n"
        "Exit status: 0 if nothing is found, 1 if something is, 3 if a file cannot be read or does not\n"
        "compile (the compiler's output is shown).\n"
        "\n"
        "options:\n"
        "  --rules              list the rules\n"
        "  -D, --define NAME=VALUE  define a macro\n"
        "  -I, --folder FOLDER  look for included files there\n"
        "  --include FILE       include a file before the first line\n"
        "  --std VERSION        version of OpenCL C: CL1.2 (default), CL2.0, CL3.0\n"
        "  --target TRIPLE      what to compile for (default spir64)\n",
    .run = run,
};
