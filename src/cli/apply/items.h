/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file becomes which: the inputs of `hone apply` and the outputs that belong to them. */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>

struct item {
    char *input, *output;
    char *problem; /* why nothing is written; NULL: nothing is wrong */
    bool tell;     /* the problem, which several items may share */
};

struct items {
    struct item *list;
    size_t count, capacity;
    char **others; /* what is in the folders and no image by its name */
    size_t other_count, other_capacity;
    bool to_folder;   /* outputs go into a folder, which may be made */
    bool from_stream; /* the one input is a pipe, which may bring several images */
    bool to_stdout; /* the one output goes to standard output; its name is "-" and the suffix of its format */
};

struct items_request {
    char *const *inputs; /* files and folders */
    int count;
    const char *output; /* a file, a folder (with a '/' at its end, or there already), or "-" */
    const char *format; /* suffix of outputs that have no name, with or without its dot; NULL: in a folder
                           that of the input, on standard output ".csv" */
    bool recursive, force;
    const char *const *also_read; /* further files that must not be overwritten */
    size_t also_count;
};

/**
 * Pairs inputs with outputs, folders expanded, before anything is written. Two inputs for one output, and an
 * output that is an input (unless it is its own input and `force` is set) are problems of these items alone.
 * `items` starts zeroed and is to be finished in any case.
 */
hone_status items_make(struct items *items, const struct items_request *request, hone_error *error);
void items_finish(struct items *items);

/* Makes the folders above an output, as far as they are missing. Symbolic links are not followed below `root`
 * (the folder that the user named). */
hone_status items_make_folders(const char *output, const char *root, hone_error *error);

/* Outputs replace what is there as a whole, which a pipe or a device would not survive. HONE_ERROR_USAGE. */
hone_status items_check_kind(const char *output, hone_error *error);

/* Whether the output can be put in place as far as rights tell, so that no work is done in vain. A file that
 * is there and nobody may write is kept, unless `force` is set. */
hone_status items_check_folder(const char *output, bool to_folder, bool force, hone_error *error);
