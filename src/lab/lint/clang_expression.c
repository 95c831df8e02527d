/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules on expressions and statements. */
#include "base/mem.h"
#include "lab/lint/clang_walk.h"

#include <ctype.h>
#include <string.h>

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* ---- Calls ---- */

static bool is_wide_access(const char *name)
{
    const bool moves = text_starts(name, "vload") || text_starts(name, "vstore");
    return moves && (strstr(name, "16") || strchr(name, '8'));
}

static void judge_math(const struct tree *tree, const char *name, const struct place *at)
{
    /* Those that have a native form; and class D of the guide's table 8-1. */
    static const char *const precise[] = {"cos",   "exp",  "exp2",  "exp10", "log",  "log2",
                                          "log10", "powr", "rsqrt", "sin",   "sqrt", "tan"};
    static const char *const slow[] = {"erf",  "erfc",  "fma", "lgamma", "lgamma_r",
                                       "pown", "rootn", "tan", "tanpi",  "tgamma"};
    if (is_among(name, precise, COUNT_OF(precise)))
        lint_add(tree->job, RULE_PRECISE_MATH, at->line, at->column, "%s() where native_%s() may do", name,
                 name);
    if (is_among(name, slow, COUNT_OF(slow)))
        lint_add(tree->job, RULE_SLOW_MATH, at->line, at->column, "%s() is emulated", name);
}

static void judge_atomic(const struct tree *tree, CXCursor call, const char *name, const struct place *at)
{
    if (tree->c->Cursor_getNumArguments(call) < 1)
        return;
    const CXType first = tree->c->getCursorType(tree->c->Cursor_getArgument(call, 0));
    if (space_of(tree, first) == SPACE_GLOBAL)
        lint_add(tree->job, RULE_GLOBAL_ATOMIC, at->line, at->column, "%.60s() on global memory", name);
}

void judge_call(const struct spot *spot, CXCursor call)
{
    static const char *const fences[] = {"mem_fence", "read_mem_fence", "write_mem_fence",
                                         "atomic_work_item_fence"};
    static const char *const barriers[] = {"barrier", "work_group_barrier"};
    const struct tree *tree = spot->tree;
    const struct place at = cursor_place(tree, call);
    const struct word name = name_of(tree, call);
    if (!at.inside || !name.text[0])
        return;
    if (is_among(name.text, barriers, COUNT_OF(barriers)) && spot->loops)
        lint_add(tree->job, RULE_BARRIER_LOOP, at.line, at.column, "a barrier inside a loop");
    if (is_among(name.text, fences, COUNT_OF(fences)))
        lint_add(tree->job, RULE_FENCE, at.line, at.column, "%s() waits for nobody", name.text);
    else if (text_starts(name.text, "atomic_") || text_starts(name.text, "atom_"))
        judge_atomic(tree, call, name.text, &at);
    if (is_wide_access(name.text))
        lint_add(tree->job, RULE_WIDE_LOAD, at.line, at.column, "%.40s() moves more than 4 elements",
                 name.text);
    if (strcmp(name.text, "printf") == 0)
        lint_add(tree->job, RULE_PRINTF, at.line, at.column, "a kernel that prints");
    judge_math(tree, name.text, &at);
}

/* ---- Access to memory ---- */

static bool is_wide(const struct tree *tree, CXCursor cursor)
{
    const CXType type = tree->c->getCanonicalType(tree->c->getCursorType(cursor));
    return (type.kind == CXType_Vector || type.kind == CXType_ExtVector) && tree->c->getNumElements(type) > 4;
}

struct search {
    const struct tree *tree;
    int depth;
    bool found;
};

/* Whether an expression depends on the work-item or on what was loaded, as far as initialisers tell. */
static enum CXChildVisitResult find_variation(CXCursor cursor, CXCursor parent, CXClientData data)
{
    enum { DEEPEST = 4 };
    struct search *search = data;
    const struct clang *c = search->tree->c;
    (void)parent;
    if (cursor.kind == CXCursor_CallExpr) {
        const struct word name = name_of(search->tree, cursor);
        search->found = search->found || strcmp(name.text, "get_global_id") == 0 ||
                        strcmp(name.text, "get_local_id") == 0 || text_starts(name.text, "vload") ||
                        text_starts(name.text, "read_image");
    }
    if (cursor.kind == CXCursor_ArraySubscriptExpr)
        search->found = true;
    const CXCursor named = cursor.kind == CXCursor_DeclRefExpr ? c->getCursorReferenced(cursor) : cursor;
    if (cursor.kind == CXCursor_DeclRefExpr && named.kind == CXCursor_VarDecl && search->depth < DEEPEST) {
        struct search deeper = {search->tree, search->depth + 1, false};
        c->visitChildren(named, find_variation, &deeper);
        search->found = search->found || deeper.found;
    }
    return search->found ? CXChildVisit_Break : CXChildVisit_Recurse;
}

static bool varies(const struct tree *tree, CXCursor expression)
{
    struct search search = {tree, 0, false};
    find_variation(expression, expression, &search);
    if (!search.found)
        tree->c->visitChildren(expression, find_variation, &search);
    return search.found;
}

/* Implicit conversions around it left out. */
static CXCursor bare(const struct tree *tree, CXCursor cursor)
{
    CXCursor children[CHILDREN];
    while (cursor.kind == CXCursor_UnexposedExpr && children_of(tree, cursor, children) == 1)
        cursor = children[0];
    return cursor;
}

void judge_subscript(const struct tree *tree, CXCursor subscript)
{
    CXCursor parts[CHILDREN];
    const struct place at = cursor_place(tree, subscript);
    if (!at.inside || children_of(tree, subscript, parts) != 2)
        return;
    const CXType index = tree->c->getCanonicalType(tree->c->getCursorType(bare(tree, parts[1])));
    const CXType base = tree->c->getCursorType(bare(tree, parts[0]));
    if (index.kind == CXType_ULong || index.kind == CXType_Long)
        lint_add(tree->job, RULE_INDEX_64, at.line, at.column, "an index of 64 bits");
    if (space_of(tree, base) == SPACE_CONSTANT && varies(tree, parts[1]))
        lint_add(tree->job, RULE_CONSTANT_SCATTER, at.line, at.column,
                 "constant memory at an index that differs between work-items");
    if (is_wide(tree, subscript))
        lint_add(tree->job, RULE_WIDE_LOAD, at.line, at.column, "access to a vector of more than 4 elements");
}

void judge_unary(const struct tree *tree, CXCursor unary)
{
    const struct place at = cursor_place(tree, unary);
    if (at.inside && text_view(&tree->job->source)[at.offset] == '*' && is_wide(tree, unary))
        lint_add(tree->job, RULE_WIDE_LOAD, at.line, at.column, "access to a vector of more than 4 elements");
}

/* ---- Arithmetic ---- */

static bool is_integer(const struct tree *tree, CXCursor cursor)
{
    CXType type = tree->c->getCanonicalType(tree->c->getCursorType(cursor));
    if (type.kind == CXType_Vector || type.kind == CXType_ExtVector)
        type = tree->c->getCanonicalType(tree->c->getElementType(type));
    return type.kind >= CXType_Bool && type.kind <= CXType_Int128;
}

static bool is_constant(const struct tree *tree, CXCursor expression)
{
    CXEvalResult value = tree->c->Cursor_Evaluate(expression);
    if (!value)
        return false;
    const CXEvalResultKind kind = tree->c->EvalResult_getKind(value);
    tree->c->EvalResult_dispose(value);
    return kind == CXEval_Int || kind == CXEval_Float;
}

void judge_binary(const struct tree *tree, CXCursor binary)
{
    CXCursor sides[CHILDREN];
    const struct place at = cursor_place(tree, binary);
    if (!at.inside || children_of(tree, binary, sides) != 2 || !is_integer(tree, binary))
        return;
    const struct word operator= operator_of(tree, sides[0], sides[1]);
    const bool divides = operator.text[0] == '/', rests = operator.text[0] == '%';
    if ((!divides && !rests) || is_constant(tree, sides[1]) || is_constant(tree, binary))
        return;
    lint_add(tree->job, divides ? RULE_DIVISION : RULE_MODULO, at.line, at.column,
             divides ? "integer division by what is no constant" : "a remainder by what is no constant");
}

void judge_literal(const struct tree *tree, CXCursor literal)
{
    const struct place at = cursor_place(tree, literal);
    if (!at.inside)
        return;
    const char *text = text_view(&tree->job->source) + at.offset;
    size_t length = strspn(text, "0123456789.");
    if (length == 0 || text_starts(text, "0x") || text_starts(text, "0X"))
        return; /* a macro's, or hexadecimal */
    if ((text[length] | 32) == 'e')
        length += 1 + strspn(text + length + 1, "+-0123456789");
    if (!isalnum((unsigned char)text[length]))
        lint_add(tree->job, RULE_DOUBLE, at.line, at.column, "%.*s is a double",
                 (int)(length < 40 ? length : 40), text);
}

/* ---- Branches ---- */

/* What costs more than a register, or does something. */
static enum CXChildVisitResult find_costly(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct search *search = data;
    (void)parent;
    search->found = search->found || cursor.kind == CXCursor_CallExpr ||
                    cursor.kind == CXCursor_ArraySubscriptExpr || cursor.kind == CXCursor_UnaryOperator ||
                    cursor.kind == CXCursor_CompoundAssignOperator;
    return search->found ? CXChildVisit_Break : CXChildVisit_Recurse;
}

/* The variable that a branch does nothing but set to something cheap; a null cursor for other branches. */
static CXCursor only_set(const struct tree *tree, CXCursor branch)
{
    CXCursor parts[CHILDREN] = {{0}};
    const CXCursor nothing = tree->c->getCursorReferenced(tree->c->getTranslationUnitCursor(tree->unit));
    if (branch.kind == CXCursor_CompoundStmt) {
        if (children_of(tree, branch, parts) != 1)
            return nothing;
        branch = parts[0];
    }
    struct search costly = {tree, 0, false};
    if (branch.kind != CXCursor_BinaryOperator || children_of(tree, branch, parts) != 2 ||
        parts[0].kind != CXCursor_DeclRefExpr || strcmp(operator_of(tree, parts[0], parts[1]).text, "=") != 0)
        return nothing;
    find_costly(parts[1], branch, &costly);
    if (!costly.found)
        tree->c->visitChildren(parts[1], find_costly, &costly);
    return costly.found ? nothing : tree->c->getCursorReferenced(parts[0]);
}

void judge_if(const struct tree *tree, CXCursor statement)
{
    CXCursor parts[CHILDREN];
    const struct place at = cursor_place(tree, statement);
    const unsigned count = children_of(tree, statement, parts);
    if (!at.inside || count < 2 || count > 3)
        return;
    const CXCursor set = only_set(tree, parts[1]);
    if (tree->c->Cursor_isNull(set))
        return;
    if (count == 3 && !tree->c->equalCursors(set, only_set(tree, parts[2])))
        return;
    lint_add(tree->job, RULE_BRANCH, at.line, at.column, "a branch that only chooses a value of '%.60s'",
             name_of(tree, set).text);
}
