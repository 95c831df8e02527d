/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/page/gnuplot.h"

#include "base/error.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_BYTES = 16 << 20 };

/* Standard input, output and messages of gnuplot, in files that nobody else sees. */
struct pipes {
    FILE *files[3];
};

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 3; i++)
        if (pipes->files[i])
            fclose(pipes->files[i]);
}

static hone_status open_pipes(struct pipes *pipes, const char *script, hone_error *error)
{
    bool opened = true;
    for (int i = 0; i < 3; i++)
        opened = (pipes->files[i] = tmpfile()) != NULL && opened;
    if (opened && fputs(script, pipes->files[0]) >= 0 && fflush(pipes->files[0]) == 0 &&
        lseek(fileno(pipes->files[0]), 0, SEEK_SET) == 0)
        return HONE_OK;
    return error_io(error, "a temporary file cannot be written: %s", strerror(errno));
}

static int spawn(const struct pipes *pipes, pid_t *pid)
{
    char *arguments[] = {(char[]){"gnuplot"}, (char[]){"-d"}, NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code)
        return code;
    for (int i = 0; i < 3 && !code; i++)
        code = posix_spawn_file_actions_adddup2(&actions, fileno(pipes->files[i]), i);
    if (!code)
        code = posix_spawnp(pid, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static hone_status read_back(FILE *file, struct text *out, hone_error *error)
{
    char block[4096];
    size_t count, all = 0;
    rewind(file);
    while ((count = fread(block, 1, sizeof block, file)) > 0 && all < MOST_BYTES) {
        text_add_bytes(out, block, count);
        all += count;
    }
    return ferror(file) || all >= MOST_BYTES ? error_io(error, "what gnuplot has written cannot be read")
                                             : HONE_OK;
}

static hone_status explain(const struct pipes *pipes, int code, hone_error *error)
{
    struct text said = {0};
    read_back(pipes->files[2], &said, NULL);
    error_unsupported(error, "gnuplot failed (status %d): %.300s", code, text_view(&said));
    text_finish(&said);
    return HONE_ERROR_UNSUPPORTED;
}

static hone_status run(const char *script, struct text *out, hone_error *error)
{
    struct pipes pipes = {{NULL}};
    pid_t pid;
    int how = 0;
    hone_status status = open_pipes(&pipes, script, error);
    const int code = status ? 0 : spawn(&pipes, &pid);
    if (code)
        status = error_unsupported(
            error, "gnuplot, which draws the plots, cannot be run: %s (Debian: apt install gnuplot-nox)",
            strerror(code));
    if (!status) {
        while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
            ;
        status = how ? explain(&pipes, WIFEXITED(how) ? WEXITSTATUS(how) : -1, error)
                     : read_back(pipes.files[1], out, error);
    }
    close_pipes(&pipes);
    return status;
}

hone_status gnuplot_check(hone_error *error)
{
    struct text nothing = {0};
    hone_status status = run("exit\n", &nothing, error);
    text_finish(&nothing);
    return status;
}

/* gnuplot's names of marks and filters are the same in every picture: each gets `name` before it. */
static void add_with_names(struct text *out, const char *svg, const char *name)
{
    static const char *const names[] = {"gpPt", "gpDot", "textbox", "greybox", "gnuplot_canvas"};
    while (*svg) {
        size_t plain = strcspn(svg, "gt"), known = 0;
        text_add_bytes(out, svg, plain);
        svg += plain;
        for (size_t i = 0; i < sizeof names / sizeof *names && !known; i++)
            known = text_starts(svg, names[i]) ? strlen(names[i]) : 0;
        if (known)
            text_add(out, "%s", name);
        known = known ? known : *svg != '\0';
        text_add_bytes(out, svg, known);
        svg += known;
    }
}

hone_status gnuplot_svg(const char *script, const char *name, struct text *out, hone_error *error)
{
    struct text whole = {0}, svg = {0};
    text_add(&whole,
             "set terminal svg dynamic size 560,360 font 'sans-serif,13' name '%s' noenhanced\n"
             "set encoding utf8\n%s",
             name, script);
    hone_status status = run(text_view(&whole), &svg, error);
    const char *begins = status ? NULL : strstr(text_view(&svg), "<svg");
    if (!status && !begins)
        status = error_unsupported(error, "gnuplot has drawn nothing");
    if (begins)
        add_with_names(out, begins, name);
    text_finish(&whole);
    text_finish(&svg);
    return status;
}

void gnuplot_add_string(struct text *script, const char *string)
{
    text_add(script, "\"");
    for (; *string; string++)
        if (*string != '"' && *string != '\\' && *string != '`' && (unsigned char)*string >= ' ')
            text_add_bytes(script, string, 1);
    text_add(script, "\"");
}
