/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters of one's own that the command line names: by the path of their file, or by a name in the user's
 * folder of filters. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/registry.h"
#include "hone/filter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20 };

/* $XDG_DATA_HOME/hone/filters, if the user has it and nobody else may write to it. */
static hone_status open_folder(char path[PATH_MAX], int *fd, hone_error *error)
{
    return file_private_folder("XDG_DATA_HOME", ".local/share", "filters", path, fd, error);
}

/* Whether the user has put `file` there, although this folder or the one above, `refused`, is not private. */
static bool is_kept_out(const char *refused, const char *file)
{
    struct text path = {0};
    text_add(&path, "%s%s/%s", refused, text_ends(refused, "/filters") ? "" : "/filters", file);
    const bool there = access(text_view(&path), F_OK) == 0;
    text_finish(&path);
    return there;
}

/* A file of this folder; one that is missing is no error. */
static hone_status load_private(int fd, const char *folder, const char *file, hone_error *error)
{
    struct text text = {0}, path = {0};
    bool missing = false;
    hone_status status = file_private_read(fd, file, MAX_TEXT, &text, &missing, error);
    text_add(&path, "%s/%s", folder, file);
    THEN(status, hone_filter_load(text_view(&path), text_view(&text), NULL, error));
    text_finish(&text);
    text_finish(&path);
    return missing ? HONE_OK : status;
}

static hone_status load_by_name(const char *name, hone_error *error)
{
    char folder[PATH_MAX] = "", file[80];
    int fd = -1;
    snprintf(file, sizeof file, "%s.cl", name);
    hone_status status = open_folder(folder, &fd, error);
    if (status)
        return is_kept_out(folder, file) ? status : HONE_OK;
    status = load_private(fd, folder, file, error);
    close(fd);
    return status;
}

static int is_filter(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && text_ends(entry->d_name, ".cl");
}

void cli_load_own(const struct common_options *common)
{
    char folder[PATH_MAX] = "";
    struct dirent **list = NULL;
    hone_error error;
    int fd = -1;
    if (open_folder(folder, &fd, &error)) {
        if (is_kept_out(folder, ""))
            cli_warn(common, "%s", error.message);
        return;
    }
    const int count = scandirat(fd, ".", &list, is_filter, alphasort);
    for (int i = 0; i < count; i++) {
        if (load_private(fd, folder, list[i]->d_name, &error))
            cli_warn(common, "%s", error.message);
        free(list[i]);
    }
    free(list);
    close(fd);
}

hone_status cli_load_filter(const char *word, hone_error *error)
{
    if (registry_find(word))
        return HONE_OK;
    if (text_ends(word, ".cl"))
        return hone_filter_load(word, NULL, NULL, error);
    return isalpha((unsigned char)*word) && strlen(word) < 32 ? load_by_name(word, error) : HONE_OK;
}

/* The first word of a step; quotes keep the spaces of a path. */
static char *first_word(const char *at)
{
    const char quote[] = {*at, '\0'};
    return *at == '\'' || *at == '"' ? mem_copy_text_n(at + 1, strcspn(at + 1, quote))
                                     : mem_copy_text_n(at, strcspn(at, " \t\n|"));
}

/* Behind the bar that ends a filter; bars in quotes are none. */
static const char *next_step(const char *at)
{
    for (char quote = '\0'; *at; at++) {
        if (quote ? *at == quote : strchr("'\"", *at) != NULL)
            quote = quote ? '\0' : *at;
        else if (!quote && *at == '|')
            return at + 1;
    }
    return at;
}

hone_status cli_load_filters(const char *chain, hone_error *error)
{
    hone_status status = HONE_OK;
    for (const char *at = chain; *at && !status; at = next_step(at)) {
        at += strspn(at, " \t\n");
        char *word = first_word(at);
        status = word ? cli_load_filter(word, error) : error_memory(error, "a chain");
        free(word);
    }
    return status;
}

hone_status cli_load_all(const struct operands *operands, hone_error *error)
{
    for (int i = 0; i < operands->count; i++)
        TRY(cli_load_filters(operands->items[i], error));
    return HONE_OK;
}
