/* SPDX-License-Identifier: BSD-2-Clause */
/* hone cache: what lies on disk, is it whole, and away with it. */
#include "cl/drivercache.h"
#include "cli/cache/cache.h"
#include "cli/show.h"

#include "base/error.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"
#include "hone/cache.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct cache_run {
    struct common_options common;
    bool repair;
    const char *file; /* of precompile; NULL: the usual one */
};

/* ---- list and verify ---- */

struct totals {
    size_t driver_damaged; /* files in the driver's own cache; looked for by verify alone */
    size_t programs, damaged, crashed;
    uint64_t bytes;
};

static struct totals add_up(const hone_cache_entry *list, size_t count)
{
    struct totals totals = {0};
    for (size_t i = 0; i < count; i++) {
        totals.programs += list[i].present;
        totals.damaged += list[i].present && !list[i].valid;
        totals.crashed += list[i].crashes > 0;
        totals.bytes += list[i].bytes;
    }
    return totals;
}

static const char *state_of(const hone_cache_entry *entry)
{
    if (entry->crashes)
        return entry->crashes > 2   ? "ended four times"
               : entry->crashes > 1 ? "crashed twice"
                                    : "crashed once";
    return entry->valid ? "valid" : "damaged";
}

static void print_entry(const hone_cache_entry *entry)
{
    char size[32], age[32];
    show_bytes(entry->bytes, size, sizeof size);
    show_age(entry->used, age, sizeof age);
    printf("%-30s %10s  %-8s %-13s %s%s%s\n", entry->label[0] ? entry->label : "?", size, age,
           state_of(entry), entry->device[0] ? entry->device : entry->file,
           entry->driver[0] ? ", driver " : "", entry->driver);
}

static void print_totals(const struct totals *totals, const hone_cache_info *info)
{
    char size[32], limit[32], driver[32];
    show_bytes(totals->bytes, size, sizeof size);
    show_bytes(info->limit, limit, sizeof limit);
    show_bytes(info->driver_bytes, driver, sizeof driver);
    printf("%s, %s of at most %s; the driver's own cache: %s\n", show_count(totals->programs, "program").text,
           size, limit, driver);
    if (totals->damaged)
        printf("%zu damaged: never given to a driver, and replaced when they are needed\n", totals->damaged);
    if (totals->driver_damaged)
        printf(
            "%zu damaged in the driver's own cache, which may end the process: --repair leaves it behind\n",
            totals->driver_damaged);
    if (totals->crashed)
        printf("%s ended the process while the driver loaded or built it; left out after two times\n",
               show_count(totals->crashed, "program").text);
    printf("folder: %s\n", info->folder);
}

static json_t *entry_json(const hone_cache_entry *entry)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:I, s:I, s:b, s:b, s:i}", "label", json_text(entry->label),
                     "device", json_text(entry->device), "driver", json_text(entry->driver), "file",
                     entry->file, "bytes", (json_int_t)entry->bytes, "used", (json_int_t)entry->used,
                     "present", entry->present, "valid", entry->valid, "crashes", (int)entry->crashes);
}

static bool print_list_json(const hone_cache_entry *list, size_t count, const struct totals *totals,
                            const hone_cache_info *info, const hone_cache_removed *removed)
{
    json_t *entries = json_array();
    bool ok = entries != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = json_array_append_new(entries, entry_json(&list[i])) == 0;
    json_t *whole = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "folder", json_text(info->folder), "limit",
        (json_int_t)info->limit, "programs", (json_int_t)totals->programs, "bytes", (json_int_t)totals->bytes,
        "damaged", (json_int_t)totals->damaged, "crashed", (json_int_t)totals->crashed, "driver_bytes",
        (json_int_t)info->driver_bytes, "driver_damaged", (json_int_t)totals->driver_damaged, "removed",
        (json_int_t)(removed->programs + removed->leftovers), "entries", entries);
    if (ok)
        return cli_print_json(whole);
    json_decref(whole);
    return false;
}

static int examine(const struct cache_run *run, bool verify)
{
    hone_cache_entry *list = NULL;
    hone_cache_info info;
    hone_cache_removed removed = {0};
    size_t count = 0;
    hone_error error;
    const size_t driver_damaged = verify ? driver_cache_damaged() : 0;
    if (hone_cache_get_info(&info, &error) || hone_cache_list(&list, &count, &error) ||
        (run->repair && hone_cache_repair(&removed, &error))) {
        hone_cache_list_free(&list);
        return cli_fail(&run->common, &error);
    }
    struct totals totals = add_up(list, count);
    totals.driver_damaged = driver_damaged;
    bool ok = true;
    if (run->common.json)
        ok = print_list_json(list, count, &totals, &info, &removed);
    for (size_t i = 0; i < count && !run->common.json; i++)
        if (!verify || !list[i].valid)
            print_entry(&list[i]);
    if (!run->common.json)
        print_totals(&totals, &info);
    if (run->repair && !run->common.json)
        printf("removed: %s, %s\n", show_count(removed.programs, "program").text,
               show_count(removed.leftovers, "leftover").text);
    hone_cache_list_free(&list);
    if (!ok)
        return cli_reported(&run->common, false);
    return verify && (totals.damaged || totals.driver_damaged) ? EXIT_CHECK : EXIT_DONE;
}

static int list(const struct cache_run *run)
{
    int status = examine(run, false);
    if (status == EXIT_DONE && !run->common.json)
        cache_print_tuning_totals();
    return status;
}

static int tuning(const struct cache_run *run)
{
    return cache_tuning(&run->common);
}

static int verify(const struct cache_run *run)
{
    return examine(run, true);
}

/* ---- clear ---- */

static int clear(const struct cache_run *run)
{
    hone_cache_removed removed;
    hone_error error;
    char size[32];
    if (hone_cache_clear(&removed, &error))
        return cli_fail(&run->common, &error);
    show_bytes(removed.bytes, size, sizeof size);
    if (run->common.json)
        return cli_reported(
            &run->common,
            cli_print_json(
                json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "programs", (json_int_t)removed.programs,
                          "marks", (json_int_t)removed.marks, "verdicts", (json_int_t)removed.verdicts,
                          "leftovers", (json_int_t)removed.leftovers, "driver_folders",
                          (json_int_t)removed.driver_folders, "driver_folders_in_use",
                          (json_int_t)removed.driver_folders_in_use, "bytes", (json_int_t)removed.bytes)));
    if (!run->common.quiet)
        printf("removed %s, %s, %s, %s of the driver: %s\n", show_count(removed.programs, "program").text,
               show_count(removed.marks, "crash mark").text,
               show_count(removed.verdicts, "self-test verdict").text,
               show_count(removed.driver_folders, "folder").text, size);
    if (removed.driver_folders_in_use)
        cli_note(&run->common, "%s of the driver left: processes still work with them",
                 show_count(removed.driver_folders_in_use, "folder").text);
    return EXIT_DONE;
}

static int precompile(const struct cache_run *run)
{
    return cache_precompile(&run->common, run->file);
}

static const struct {
    const char *name;
    int (*run)(const struct cache_run *run);
} actions[] = {
    {"list", list}, {"tuning", tuning}, {"verify", verify}, {"clear", clear}, {"precompile", precompile}};

static int unknown_action(const char *name)
{
    const char *names[COUNT_OF(actions)];
    for (size_t i = 0; i < COUNT_OF(actions); i++)
        names[i] = actions[i].name;
    const char *near = cli_nearest(name, names, COUNT_OF(actions));
    struct text answer = {0};
    text_add_choices(&answer, near, "there are", "list, tuning, verify, clear and precompile");
    int status = cli_usage(&command_cache, "there is no '%s'%s", name, text_view(&answer));
    text_finish(&answer);
    return status;
}

static int run(int argc, char **argv)
{
    struct cache_run cache = {0};
    struct operands operands;
    const struct option options[] = {{"repair", 0, OPTION_FLAG, &cache.repair, 0, 0}, {0}};
    enum parsed parsed = cli_parse(&command_cache, argc, argv, options, &cache.common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    const char *name = operands.count ? operands.items[0] : "list";
    const int most = strcmp(name, "precompile") == 0 ? 2 : 1;
    if (operands.count > most)
        return cli_usage(&command_cache, "'%s' does not take '%s'", name, operands.items[most]);
    cache.file = operands.count > 1 ? operands.items[1] : NULL;
    if (cache.repair && strcmp(name, "verify") != 0)
        return cli_usage(&command_cache, "--repair belongs to verify");
    for (size_t i = 0; i < COUNT_OF(actions); i++)
        if (strcmp(actions[i].name, name) == 0)
            return actions[i].run(&cache);
    return unknown_action(name);
}

const struct command command_cache = {
    .name = "cache",
    .summary = "list, verify, clear or precompile programs on disk",
    .usage =
        "usage: hone cache [list|tuning|verify|clear|precompile [FILE]] [OPTION...]\n"
        "\n"
        "  list      list programs: label, size, last use, state, device and driver (default)\n"
        "  tuning    list tuned cases with their best configuration, and quarantined variants\n"
        "  verify    list only entries with a problem; exit status 1 if a file is damaged\n"
        "  clear     remove programs, crash marks, self-test verdicts and the driver's own cache; keep\n"
        "            tuning results\n"
        "  precompile [FILE]\n"
        "            compile what the usual filters need on this machine's processor (PoCL), so that no\n"
        "            user's first picture waits for it. FILE: by default, where this installation looks for\n"
        "            it, which only root may write. Packages do this when they are installed, `make`\n"
        "            when it builds. HONE_PRECOMPILED names another file to use, or none if it is empty\n"
        "\n"
        "options:\n"
        "  --repair         with verify: remove damaged programs and leftovers of unfinished writes; if the\n"
        "                   driver's own cache is damaged, give the driver a new folder\n",
    .run = run,
};
