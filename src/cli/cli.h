/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the subcommands of `hone` share: exit status, options, messages, opening the device.
 *
 * One file cmd_NAME.c per subcommand; it defines `const struct command command_NAME` and main.c lists it.
 */
#pragma once

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/pixels.h"
#include "hone/status.h"
#include "media/media.h"

#include <stdbool.h>
#include <stddef.h>

/* Documented in `hone --help`; scripts depend on them. */
enum exit_status {
    EXIT_DONE = 0,
    EXIT_CHECK = 1,     /* a comparison or check failed */
    EXIT_USAGE = 2,     /* bad usage */
    EXIT_IO = 3,        /* input or output */
    EXIT_NO_DEVICE = 4, /* no usable device */
    EXIT_DEVICE = 5     /* the device failed, or memory ran out */
};

struct command {
    const char *name;
    const char *summary; /* one line of `hone --help`, small first letter, no full stop */
    /* what `hone NAME --help` prints before the common options: lines that end with a newline */
    const char *usage;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; gives an exit status */
};

extern const struct command command_devices, command_filters, command_formats, command_cache, command_doctor;

/* The options that every subcommand takes. All zero is the default. */
struct common_options {
    const char *device; /* NULL: HONE_DEVICE or automatic */
    bool no_cache, quiet, verbose, json;
    const char *perf_hint; /* of commands that take --perf-hint; NULL: none */
};

extern const struct command command_apply, command_bench, command_compare, command_lint, command_profile,
    command_tune;

enum option_kind {
    OPTION_FLAG,     /* target: bool, becomes true */
    OPTION_TEXT,     /* target: const char * */
    OPTION_REAL,     /* target: double, within least .. most */
    OPTION_WHOLE,    /* the same, and a whole number */
    OPTION_LIST,     /* target: struct option_list; may be given again and again */
    OPTION_ELSEWHERE /* target: char[], what to say of it: it belongs to another use of the command */
};

enum { OPTION_LIST_MOST = 64 };
struct option_list {
    const char *items[OPTION_LIST_MOST];
    int count;
};

/* An option of one subcommand. A table of them ends with an entry whose name is NULL. */
struct option {
    const char *name; /* without the dashes */
    char letter;      /* the short form, or 0 */
    enum option_kind kind;
    void *target;
    double least, most; /* OPTION_REAL, OPTION_WHOLE */
};

/* "1920x1080" into width and height of a description, checked with what else that has; `option` is named in
 * the error. */
hone_status cli_parse_size(const char *option, const char *text, hone_image_desc *in, hone_error *error);

/* What is left of argv when the options are gone. */
struct operands {
    char **items; /* inside argv */
    int count;
};

enum parsed {
    PARSED_GO,  /* go on */
    PARSED_END, /* --help was printed: exit with EXIT_DONE */
    PARSED_BAD  /* a message was printed: exit with EXIT_USAGE */
};

/**
 * Takes the options out of argv (whose order changes). `--x=y`, `--x y`, `-o y`, `-oy`; `--` ends the
 * options; `-` is an operand. `own` may be NULL.
 */
enum parsed cli_parse(const struct command *command, int argc, char **argv, const struct option *own,
                      struct common_options *common, struct operands *operands);

/* Whether --json was given, known before the other options are understood. */
extern bool cli_wants_json;

/* The exit status that goes with a status of the library. */
int cli_exit_status(hone_status status);

/* Prints "hone: message" to stderr, with the compiler's log under -v. */
void cli_complain(const struct common_options *common, const hone_error *error);
/* What --json says of a failure: "status": "failed", exit_status, error, message and, in a chain, the
 * column. */
struct json_t *cli_failure_json(const hone_error *error);

/* cli_complain, under --json with cli_failure_json where there is no report yet; gives the exit status of
 * error->status. */
int cli_fail(const struct common_options *common, const hone_error *error);

/* EXIT_DONE if the report was printed; else says that memory ran out for it, and gives that exit status. */
int cli_reported(const struct common_options *common, bool printed);

/* Prints "hone: COMMAND: message" and where to find help, under --json with cli_failure_json; gives
 * EXIT_USAGE. `command` is NULL where none was understood. */
int cli_usage(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Loads the filters of one's own that a chain of the command line names by their path (which ends with .cl)
 * or that are in $XDG_DATA_HOME/hone/filters. Filters that do not exist are left to the parser of chains. */
hone_status cli_load_filters(const char *chain, hone_error *error);
/* The same for a single name or path, without quotes. */
hone_status cli_load_filter(const char *word, hone_error *error);
/* Loads all of $XDG_DATA_HOME/hone/filters, by name; warns of those that cannot be loaded. */
void cli_load_own(const struct common_options *common);
/* cli_load_filters for all operands, which are chains. */
hone_status cli_load_all(const struct operands *operands, hone_error *error);

/* The names in a chain that may be those of files, from 0: second images, filters of one's own, and texts, of
 * which a kernel is one and weights are none. NULL past the last. */
const char *cli_chain_file(const hone_chain *chain, size_t index);
/* HONE_ERROR_USAGE if a file that an option writes would replace one that a chain names. */
hone_status cli_spare_chain(const char *option, const char *output, const hone_chain *chain,
                            hone_error *error);
/* The same for all operands that are chains. */
hone_status cli_spare_operands(const char *option, const char *output, const struct operands *operands,
                               hone_error *error);
/* The same for the tuning records. */
hone_status cli_spare_records(const char *option, const char *output, hone_error *error);

/* cli_usage, with the filters that there are or the nearest to `name`. */
int cli_unknown_filter(const struct command *command, const char *name);

/* A line to stderr, "hone: message": warnings are silent under -q, notes appear under -v alone. Threads:
 * safe. */
void cli_warn(const struct common_options *common, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cli_note(const struct common_options *common, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether stderr is a terminal on which a line can be written over: one of TERM=dumb has no cursor. */
bool cli_on_terminal(void);
/* That processes of a worker could not be killed; nothing where there are none. */
void cli_warn_of_stuck(const struct common_options *common, int count);
/* That another process tunes the device: said once in a process, unless --quiet. */
void cli_say_waiting(const struct common_options *common);

/* Replaces control characters by spaces: a file's name may hold what a terminal takes for a command. */
void cli_make_one_line(char *text);

/* A media_note_function whose user is the common options. */
void cli_media_note(void *user, enum media_note kind, const char *message);

/* Fills a request from the options, with a log function that prints through cli_warn and cli_note.
 * `common` must outlive the device. */
hone_device_request cli_device_request(const struct common_options *common);

/* hone_device_list; warns of what is left out because it hangs, and says which driver does if it is the
 * loader. */
hone_status cli_list_devices(hone_device_info **list, size_t *count, const struct common_options *common,
                             hone_error *error);
void cli_warn_of_hanging(const struct common_options *common);

/* Opens the device `spec` (of the options: common->device), with time stamps, and says under -v which it is.
 * `common` must outlive the device, which logs by it; `spec` need not. */
hone_status cli_open_device(hone_device **out, const struct common_options *common, const char *spec,
                            hone_error *error);

/* What people call it: the board, where the driver knows that. */
const char *cli_device_name(const hone_device *device);

/* hone --version [--json]; argv[0] is "--version". Returns the exit status. */
int cli_version(int argc, char **argv);

/* Of `names` (count of them) the one most like `word`, or NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *names, size_t count);

/* ---- JSON ---- */

struct json_t;

/* A number; null where it is not finite, which JSON cannot say. */
struct json_t *cli_json_real(double value);

/* ", best 1.5 ms" for a line of progress; "" while nothing works (negative). */
void cli_best(char to[32], double ms);

/* Prints a JSON value and a newline to stdout, and releases it: over several lines, or as one where a command
 * prints one object after the other. False when memory ran out. `value` may be NULL. */
bool cli_print_json(struct json_t *value);
bool cli_print_json_line(struct json_t *value);
