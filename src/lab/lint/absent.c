/* SPDX-License-Identifier: BSD-2-Clause */
/* In builds without libclang. */
#ifndef HONE_HAVE_CLANG
#include "base/error.h"
#include "lab/lint/internal.h"

hone_status lint_tree(struct lint_job *job, const struct lint_options *options, struct lint_head *head,
                      hone_error *error)
{
    (void)job;
    (void)options;
    (void)head;
    return error_unsupported(error,
                             "this hone was built without libclang, which reads kernels (Debian: apt install "
                             "libclang-dev, then build it again)");
}
#endif
