/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules on kernels as a whole: attributes, and what is said of their parameters. */
#include "lab/lint/clang_walk.h"

#include <string.h>

/* ---- Whether a parameter is only read through ---- */

struct use {
    const struct tree *tree;
    CXCursor parameter;
    bool reads;  /* what is below is only read through */
    bool stores; /* what is below is stored to */
    bool written;
};

static enum CXChildVisitResult follow(CXCursor cursor, CXCursor parent, CXClientData data);

static void follow_with(struct use *use, CXCursor cursor, bool reads, bool stores)
{
    struct use inner = {use->tree, use->parameter, reads, stores, false};
    follow(cursor, cursor, &inner);
    use->written = use->written || inner.written;
}

/* Whether an expression is a pointer to what is const: nothing is written by it. */
static bool points_to_const(const struct tree *tree, CXCursor cursor)
{
    const CXType pointee = tree->c->getPointeeType(tree->c->getCanonicalType(tree->c->getCursorType(cursor)));
    return pointee.kind != CXType_Invalid && tree->c->isConstQualifiedType(pointee);
}

static char letter_at(const struct tree *tree, CXCursor cursor)
{
    const struct place at = cursor_place(tree, cursor);
    return at.inside ? text_view(&tree->job->source)[at.offset] : '\0';
}

static void follow_unary(struct use *use, CXCursor cursor, CXCursor operand)
{
    if (letter_at(use->tree, cursor) == '*')
        follow_with(use, operand, !use->stores, false);
    else
        follow_with(use, operand, false, true);
}

static void follow_binary(struct use *use, const CXCursor sides[CHILDREN])
{
    const struct word operator= operator_of(use->tree, sides[0], sides[1]);
    const bool assigns = is_assignment(operator.text) || !operator.text[0];
    const bool moves = strcmp(operator.text, "+") == 0 || strcmp(operator.text, "-") == 0;
    follow_with(use, sides[0], moves && use->reads, assigns);
    follow_with(use, sides[1], moves && use->reads, false);
}

static enum CXChildVisitResult follow(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct use *use = data;
    CXCursor parts[CHILDREN];
    const unsigned count = children_of(use->tree, cursor, parts);
    (void)parent;
    if (cursor.kind == CXCursor_DeclRefExpr) {
        const bool is_it =
            use->tree->c->equalCursors(use->tree->c->getCursorReferenced(cursor), use->parameter);
        use->written = use->written || (is_it && !use->reads);
    } else if (cursor.kind == CXCursor_ArraySubscriptExpr && count == 2) {
        follow_with(use, parts[0], !use->stores, false);
        follow_with(use, parts[1], false, false);
    } else if (cursor.kind == CXCursor_UnaryOperator && count == 1) {
        follow_unary(use, cursor, parts[0]);
    } else if ((cursor.kind == CXCursor_BinaryOperator || cursor.kind == CXCursor_CompoundAssignOperator) &&
               count == 2) {
        follow_binary(use, parts);
    } else {
        const bool passes = cursor.kind == CXCursor_UnexposedExpr || cursor.kind == CXCursor_ParenExpr ||
                            cursor.kind == CXCursor_CStyleCastExpr || cursor.kind == CXCursor_MemberRefExpr;
        struct use inner = {use->tree, use->parameter,
                            (passes && use->reads) || points_to_const(use->tree, cursor),
                            passes && use->stores, false};
        use->tree->c->visitChildren(cursor, follow, &inner);
        use->written = use->written || inner.written;
    }
    return CXChildVisit_Continue;
}

static bool is_written(const struct tree *tree, CXCursor body, CXCursor parameter)
{
    struct use use = {.tree = tree, .parameter = parameter};
    follow(body, body, &use);
    return use.written;
}

/* ---- Parameters ---- */

static bool has_word(const char *from, const char *to, const char *word)
{
    for (const char *at = strstr(from, word); at && at < to; at = strstr(at + 1, word))
        return true;
    return false;
}

static void judge_pointer(const struct tree *tree, CXCursor body, CXCursor parameter, bool alone)
{
    const struct clang *c = tree->c;
    const CXType type = c->getCursorType(parameter), pointee = c->getPointeeType(type);
    const struct place at = cursor_place(tree, parameter);
    const struct place from = place_of(tree, c->getRangeStart(c->getCursorExtent(parameter)));
    const unsigned space = space_of(tree, type);
    const struct word name = name_of(tree, parameter);
    if (!at.inside || pointee.kind == CXType_Invalid)
        return;
    const char *source = text_view(&tree->job->source), *end = source + at.offset;
    end += strcspn(end, ",{"); /* attributes stand behind the name */
    if (space == SPACE_CONSTANT && is_byte(tree, pointee))
        lint_add(tree->job, RULE_CONSTANT_BYTES, at.line, at.column, "'%.60s' is a constant array of bytes",
                 name.text);
    if (space == SPACE_CONSTANT &&
        !has_word(source + (from.inside ? from.offset : at.offset), end, "max_constant_size"))
        lint_add(tree->job, RULE_CONSTANT_SIZE, at.line, at.column, "'%.60s' has no max_constant_size",
                 name.text);
    if (space != SPACE_GLOBAL)
        return;
    if (!alone && !c->isRestrictQualifiedType(type))
        lint_add(tree->job, RULE_RESTRICT, at.line, at.column, "'%.60s' is not restrict", name.text);
    if (!c->isConstQualifiedType(pointee) && !is_written(tree, body, parameter))
        lint_add(tree->job, RULE_CONST, at.line, at.column, "'%.60s' is only read", name.text);
}

static unsigned count_global(const struct tree *tree, CXCursor function)
{
    unsigned count = 0;
    for (int i = 0; i < tree->c->Cursor_getNumArguments(function); i++) {
        const CXType type = tree->c->getCursorType(tree->c->Cursor_getArgument(function, (unsigned)i));
        count += tree->c->getPointeeType(type).kind != CXType_Invalid && space_of(tree, type) == SPACE_GLOBAL;
    }
    return count;
}

/* ---- The function ---- */

struct body {
    CXCursor cursor;
    bool found;
};

static enum CXChildVisitResult find_body(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct body *body = data;
    (void)parent;
    if (cursor.kind != CXCursor_CompoundStmt)
        return CXChildVisit_Continue;
    body->cursor = cursor;
    body->found = true;
    return CXChildVisit_Break;
}

/* Where the text before a function's name begins: behind what came before it. */
static const char *head_of(const char *source, const char *name)
{
    while (name > source && name[-1] != ';' && name[-1] != '}')
        name--;
    return name;
}

void judge_function(const struct tree *tree, CXCursor function)
{
    const char *source = text_view(&tree->job->source);
    const struct place at = cursor_place(tree, function);
    struct body body = {.found = false};
    tree->c->visitChildren(function, find_body, &body);
    if (!at.inside || !body.found)
        return;
    const char *name = source + at.offset, *head = head_of(source, name), *end = name + strcspn(name, "{");
    if (!has_word(head, name, "kernel "))
        return;
    if (has_word(head, end, "reqd_work_group_size") || has_word(head, end, "work_group_size_hint"))
        lint_add(tree->job, RULE_GROUP_SIZE, at.line, at.column, "'%.60s' fixes its work-group size",
                 name_of(tree, function).text);
    const bool alone = count_global(tree, function) < 2;
    for (int i = 0; i < tree->c->Cursor_getNumArguments(function); i++)
        judge_pointer(tree, body.cursor, tree->c->Cursor_getArgument(function, (unsigned)i), alone);
}
