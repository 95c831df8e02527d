/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pick/blamed.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/environment.h"
#include "cl/platforms.h"
#include "cli/cli.h"
#include "doctor/drivers.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_DRIVERS = 32, MOST_SECONDS = 20, LOOK_US = 20000 };

int listing_main(const char *seconds)
{
    size_t count = 0;
    alarm((unsigned)strtoul(seconds, NULL, 10)); /* which ends the process */
    platform_set_patience(0);
    platform_count_devices(&count, NULL);
    _exit(EXIT_DONE);
}

struct suspect {
    char *path;
    pid_t process;
    bool hangs;
};

struct suspects {
    struct suspect list[MOST_DRIVERS];
    size_t count;
    char seconds[16];
};

static int spawn_quiet(pid_t *process, char *const arguments[])
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    for (int fd = STDIN_FILENO; code == 0 && fd <= STDERR_FILENO; fd++)
        code = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    if (code == 0)
        code = posix_spawn(process, "/proc/self/exe", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* One that loads this driver alone. */
static void add(void *user, enum driver_kind kind, const char *path)
{
    struct suspects *suspects = user;
    char name[] = "hone", option[] = LISTING_ARGUMENT, *arguments[] = {name, option, suspects->seconds, NULL};
    if (kind == DRIVER_NONE || suspects->count == MOST_DRIVERS)
        return;
    struct suspect *suspect = &suspects->list[suspects->count];
    *suspect = (struct suspect){.path = mem_copy_text(path)};
    if (suspect->path && environment_set("OCL_ICD_VENDORS", path) &&
        spawn_quiet(&suspect->process, arguments) == 0)
        suspects->count++;
    else
        free(suspect->path);
}

/* Those that do not end by themselves. One that cannot be killed is left behind. */
static void await(struct suspects *suspects)
{
    const long looks = (strtol(suspects->seconds, NULL, 10) + 2) * (1000000 / LOOK_US);
    size_t left = suspects->count;
    for (size_t i = 0; i < suspects->count; i++)
        suspects->list[i].hangs = true;
    for (long look = 0; left > 0 && look < looks; look++) {
        usleep(LOOK_US);
        for (size_t i = 0; i < suspects->count; i++) {
            struct suspect *suspect = &suspects->list[i];
            int status = 0;
            if (suspect->process == 0 || waitpid(suspect->process, &status, WNOHANG) != suspect->process)
                continue;
            suspect->hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
            suspect->process = 0;
            left--;
        }
    }
}

static void name_those(const struct suspects *suspects, struct text *text)
{
    const char *fine = NULL;
    size_t hang = 0;
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->list[i].hangs)
            text_add(text, "%s'%s'", hang++ ? ", " : "", suspects->list[i].path);
        else
            fine = fine ? fine : suspects->list[i].path;
    if (hang == 0)
        text_add(text, "alone, each of them loads: OCL_ICD_VENDORS=FILE.icd uses one of them");
    else if (fine)
        text_add(text, "; update or remove it, or use another one alone: OCL_ICD_VENDORS=%s", fine);
    else
        text_add(text, "; update or remove it");
}

/* The loader reads the variable once, so that this process needs it no more. */
static void find_out(struct text *text)
{
    struct suspects suspects = {.count = 0};
    const double patience = platform_patience();
    snprintf(suspects.seconds, sizeof suspects.seconds, "%d",
             patience > MOST_SECONDS ? MOST_SECONDS
             : patience < 1          ? 1
                                     : (int)patience);
    drivers_each(add, &suspects);
    await(&suspects);
    name_those(&suspects, text);
    for (size_t i = 0; i < suspects.count; i++)
        free(suspects.list[i].path);
}

void blame_driver(hone_error *error)
{
    static struct text found;
    if (!error || error->status != HONE_ERROR_DEVICE || !platform_loader_hangs())
        return;
    if (!text_view(&found)[0])
        find_out(&found);
    const hone_error why = *error;
    error_set(error, why.status, "%s: %s", why.message, text_view(&found));
}
