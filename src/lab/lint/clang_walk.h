/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that look at the syntax tree share. */
#pragma once

#include "lab/lint/clang.h"
#include "lab/lint/internal.h"

/* OpenCL's address spaces as clang_getAddressSpace tells them. */
enum { SPACE_PRIVATE, SPACE_GLOBAL, SPACE_LOCAL, SPACE_CONSTANT, SPACE_PRIVATE_TOO, SPACE_GENERIC };

struct tree {
    const struct clang *c;
    CXTranslationUnit unit;
    CXFile file; /* the one that is judged */
    struct lint_job *job;
};

/* Where in the tree. */
struct spot {
    const struct tree *tree;
    unsigned loops; /* around it, in its function */
    bool in_function;
};

struct place {
    unsigned line, column, offset;
    bool inside; /* the file that is judged */
};
struct place place_of(const struct tree *tree, CXSourceLocation location);
struct place cursor_place(const struct tree *tree, CXCursor cursor);

/* A name or a type as text, cut where it is too long. */
struct word {
    char text[128];
};
struct word name_of(const struct tree *tree, CXCursor cursor);

/* The first children, in their order; the number of all. */
enum { CHILDREN = 4 };
unsigned children_of(const struct tree *tree, CXCursor cursor, CXCursor children[CHILDREN]);

/* The operator between two operands as it stands in the source: "/", "+="; "" where a macro hides it among
 * others. */
struct word operator_of(const struct tree *tree, CXCursor left, CXCursor right);
bool is_assignment(const char *operator);

/* The address space of what an expression or declaration points to, or of what an array holds. */
unsigned space_of(const struct tree *tree, CXType type);
bool is_byte(const struct tree *tree, CXType type);

/* clang_kernel.c: parameters and attributes of a function. */
void judge_function(const struct tree *tree, CXCursor function);

/* clang_expression.c: expressions and statements. */
void judge_call(const struct spot *spot, CXCursor call);
void judge_subscript(const struct tree *tree, CXCursor subscript);
void judge_unary(const struct tree *tree, CXCursor unary);
void judge_binary(const struct tree *tree, CXCursor binary);
void judge_if(const struct tree *tree, CXCursor statement);
void judge_literal(const struct tree *tree, CXCursor literal);
