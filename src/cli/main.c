/* SPDX-License-Identifier: BSD-2-Clause */
/* The hone command: finds the subcommand and leaves the rest to it. */
#include "cli/cli.h"

#include "base/mem.h"
#include "cl/platforms.h"
#include "cli/blame.h"
#include "cli/pick/blamed.h"
#include "filter/registry.h"
#include "tune/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order in which `hone --help` shows them. */
static const struct command *const commands[] = {
    /* Working on images. */
    &command_apply,
    &command_compare,
    &command_tune,
    &command_bench,
    &command_profile,
    &command_lint,

    /* Looking at what there is. */
    &command_devices,
    &command_filters,
    &command_formats,
    &command_cache,
    &command_doctor,

    NULL,
};

enum { COMMAND_COUNT = COUNT_OF(commands) - 1 };

static void print_help(void)
{
    puts("usage: hone COMMAND [OPTION...] [ARGUMENT...]\n"
         "       hone help [COMMAND]\n"
         "       hone --version [--json]\n"
         "\n"
         "Image filters for any OpenCL device.\n"
         "\n"
         "commands:");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    puts("\n"
         "exit status:\n"
         "  0  done\n"
         "  1  a comparison or a check failed\n"
         "  2  bad usage: an option, a chain, a parameter\n"
         "  3  input or output: a file could not be read or written\n"
         "  4  no usable device\n"
         "  5  the device failed, or memory ran out\n"
         "With several inputs, it is the highest status of any input. If killed by signal N: 128 + N.");
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    enum { OTHERS = 3 };
    const char *names[COUNT_OF(commands) + OTHERS] = {"help", "--help", "--version"};
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[OTHERS + i] = commands[i]->name;
    const char *near = cli_nearest(name, names, OTHERS + COMMAND_COUNT);
    const char *what = name[0] == '-' ? "option" : "command";
    if (registry_find(name))
        return cli_usage(
            NULL,
            "there is no command '%s', but a filter: hone apply '%s' IN -o OUT runs it, and hone "
            "filters %s describes it",
            name, name, name);
    return near ? cli_usage(NULL, "there is no %s '%s'; did you mean '%s'?", what, name, near)
                : cli_usage(NULL, "there is no %s '%s'", what, name);
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help_with(const struct command *command)
{
    char name[16], option[] = "--help", *words[] = {name, option, NULL};
    snprintf(name, sizeof name, "%s", command->name);
    return command->run(2, words);
}

static bool has_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

static int dispatch(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--tune-worker") == 0) /* by `hone tune`: see tune/worker/worker.h */
        return worker_main(WORKER_IN, WORKER_OUT);
    if (argc == 3 && strcmp(argv[1], LISTING_ARGUMENT) == 0) /* by hone: see cli/pick/blamed.h */
        return listing_main(argv[2]);
    if (argc < 2)
        return cli_usage(NULL, "a command is missing");
    cli_wants_json = has_json(argc, argv);
    const struct command *command = find_command(argv[1]);
    if (command && argc == 3 && strcmp(argv[2], "help") == 0)
        return help_with(command);
    if (command)
        return command->run(argc - 1, argv + 1);
    if (is_help(argv[1]) && argc > 2 && !is_help(argv[2]))
        return find_command(argv[2]) ? help_with(find_command(argv[2])) : unknown_command(argv[2]);
    if (is_help(argv[1]))
        print_help();
    else if (strcmp(argv[1], "--version") == 0)
        return cli_version(argc - 1, argv + 1);
    else
        return unknown_command(argv[1]);
    return EXIT_DONE;
}

/* Closed standard descriptors would be taken by the next files that are opened, and messages go into those.
 * Only for reading: what is written to one that was closed is an error as before. */
static bool hold_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    return true;
}

/* A driver that hangs may hold what exit() waits for: the lock of the dynamic linker, or its own. */
static void leave_if_held(int status)
{
    if (!platform_any_hangs())
        return;
    fflush(NULL);
    _exit(status);
}

int main(int argc, char **argv)
{
    if (!hold_standard_descriptors()) {
        fprintf(stderr, "hone: a standard descriptor is closed, and /dev/null cannot take its place: %s\n",
                strerror(errno));
        return EXIT_IO;
    }
    blame_begin();
    int status = dispatch(argc, argv);
    /* A report that did not reach its file is a failure too. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_DONE) {
        fprintf(stderr, "hone: cannot write to standard output: %s\n", strerror(errno));
        status = EXIT_IO;
    }
    blame_end();
    leave_if_held(status);
    return status;
}
