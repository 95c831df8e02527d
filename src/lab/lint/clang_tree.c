/* SPDX-License-Identifier: BSD-2-Clause */
/* The syntax tree of a file, and what is shared in looking at it. */
#include "base/error.h"
#include "base/mem.h"
#include "lab/lint/clang_walk.h"

#include <stdio.h>
#include <string.h>

/* ---- Looking ---- */

struct place place_of(const struct tree *tree, CXSourceLocation location)
{
    struct place place = {0};
    CXFile file = NULL;
    tree->c->getFileLocation(location, &file, &place.line, &place.column, &place.offset);
    place.inside = file && tree->c->File_isEqual(file, tree->file) && place.offset < tree->job->source.length;
    return place;
}

struct place cursor_place(const struct tree *tree, CXCursor cursor)
{
    return place_of(tree, tree->c->getCursorLocation(cursor));
}

static struct word word_of(const struct tree *tree, CXString string)
{
    struct word word;
    const char *text = tree->c->getCString(string);
    snprintf(word.text, sizeof word.text, "%s", text ? text : "");
    tree->c->disposeString(string);
    return word;
}

struct word name_of(const struct tree *tree, CXCursor cursor)
{
    return word_of(tree, tree->c->getCursorSpelling(cursor));
}

static struct word type_of(const struct tree *tree, CXCursor cursor)
{
    return word_of(tree, tree->c->getTypeSpelling(tree->c->getCursorType(cursor)));
}

struct list {
    CXCursor *children;
    unsigned count;
};

static enum CXChildVisitResult take_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct list *list = data;
    (void)parent;
    if (list->count < CHILDREN)
        list->children[list->count] = cursor;
    list->count++;
    return CXChildVisit_Continue;
}

unsigned children_of(const struct tree *tree, CXCursor cursor, CXCursor children[CHILDREN])
{
    struct list list = {children, 0};
    tree->c->visitChildren(cursor, take_child, &list);
    return list.count;
}

static const char *skip_blanks_and_comments(const char *at)
{
    for (;;) {
        const char *before = at;
        at += strspn(at, " \t\r\n\\");
        if (at[0] == '/' && at[1] == '/')
            at += strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            at = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
        if (at == before)
            return at;
    }
}

static const char operators[] = "+-*/%<>=!&|^";

/* The body of a macro that the file defines, behind its name and parameters; NULL: it does not. */
static const char *macro_body(const char *source, const char *name, size_t length)
{
    static const char define[] = "#define ";
    const char *at = source;
    while ((at = strstr(at, define))) {
        at += strlen(define);
        if (strncmp(at, name, length) == 0 && at[length] == '(')
            return at + length + strcspn(at + length, ")\n");
    }
    return NULL;
}

/* Of a macro with a single one. Where in it an expression stands libclang does not tell. */
static struct word operator_in_macro(const struct tree *tree, const struct place *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *source = text_view(&tree->job->source), *name = source + at->offset;
    const size_t length = strspn(name, letters);
    const char *body = length ? macro_body(source, name, length) : NULL;
    struct word word = {""};
    if (!body)
        return word;
    const char *end = body + strcspn(body, "\n"), *first = body + strcspn(body, operators);
    const size_t size = first < end ? strspn(first, operators) : 0;
    if (size > 0 && size <= 3 && first + size + strcspn(first + size, operators) >= end)
        memcpy(word.text, first, size);
    return word;
}

struct word operator_of(const struct tree *tree, CXCursor left, CXCursor right)
{
    struct word word = {""};
    const struct place from = place_of(tree, tree->c->getRangeEnd(tree->c->getCursorExtent(left)));
    const struct place to = place_of(tree, tree->c->getRangeStart(tree->c->getCursorExtent(right)));
    if (!from.inside || !to.inside)
        return word;
    if (to.offset <= from.offset)
        return operator_in_macro(tree, &to);
    const char *at = skip_blanks_and_comments(text_view(&tree->job->source) + from.offset);
    const size_t length = strspn(at, operators);
    if (length > 0 && length <= 3)
        memcpy(word.text, at, length);
    return word;
}

bool is_assignment(const char *operator)
{
    const size_t length = strlen(operator);
    const bool compares = strcmp(operator, "==") == 0 || strcmp(operator, "!=") == 0 ||
                          strcmp(operator, "<=") == 0 || strcmp(operator, ">=") == 0;
    return length > 0 && operator[length - 1] == '=' && !compares;
}

unsigned space_of(const struct tree *tree, CXType type)
{
    const CXType pointee = tree->c->getPointeeType(type);
    if (pointee.kind != CXType_Invalid)
        return tree->c->getAddressSpace(pointee);
    const char *words[] = {
        [SPACE_GLOBAL] = "__global", [SPACE_LOCAL] = "__local", [SPACE_CONSTANT] = "__constant"};
    const struct word word = word_of(tree, tree->c->getTypeSpelling(type));
    for (unsigned space = SPACE_GLOBAL; space <= SPACE_CONSTANT; space++)
        if (strstr(word.text, words[space]))
            return space;
    return SPACE_PRIVATE;
}

bool is_byte(const struct tree *tree, CXType type)
{
    const enum CXTypeKind kind = tree->c->getCanonicalType(type).kind;
    return kind == CXType_Char_S || kind == CXType_Char_U || kind == CXType_SChar || kind == CXType_UChar;
}

static bool is_loop(enum CXCursorKind kind)
{
    return kind == CXCursor_ForStmt || kind == CXCursor_WhileStmt || kind == CXCursor_DoStmt;
}

/* ---- Declarations ---- */

static enum CXChildVisitResult find_name(CXCursor cursor, CXCursor parent, CXClientData data)
{
    bool *found = data;
    (void)parent;
    *found = *found || cursor.kind == CXCursor_DeclRefExpr || cursor.kind == CXCursor_CallExpr;
    return *found ? CXChildVisit_Break : CXChildVisit_Recurse;
}

/* Made of literals alone. */
static bool is_table(const struct tree *tree, CXCursor variable, CXType element)
{
    bool named = false;
    tree->c->visitChildren(variable, find_name, &named);
    return tree->c->isConstQualifiedType(element) && !named;
}

static void judge_array(const struct spot *spot, CXCursor variable, CXType type, const struct place *at)
{
    const struct tree *tree = spot->tree;
    CXType element = tree->c->getElementType(type);
    while (element.kind == CXType_ConstantArray)
        element = tree->c->getElementType(element);
    const unsigned space = space_of(tree, type);
    const struct word name = name_of(tree, variable);
    if (space == SPACE_CONSTANT && is_byte(tree, element))
        lint_add(tree->job, RULE_CONSTANT_BYTES, at->line, at->column, "'%.60s' is a constant array of bytes",
                 name.text);
    if (space != SPACE_PRIVATE || !spot->in_function)
        return;
    if (is_table(tree, variable, element))
        lint_add(tree->job, RULE_TABLE, at->line, at->column, "'%.60s' is a table inside a function",
                 name.text);
    else
        lint_add(tree->job, RULE_PRIVATE_ARRAY, at->line, at->column, "'%.60s' is a private array",
                 name.text);
}

static bool is_size_t(const struct tree *tree, CXCursor cursor)
{
    const struct word word = type_of(tree, cursor);
    const char *at = strstr(word.text, "size_t");
    return at && !strchr(word.text, '(') && (at == word.text || at[-1] == ' ');
}

static void judge_variable(const struct spot *spot, CXCursor variable)
{
    const struct tree *tree = spot->tree;
    const struct place at = cursor_place(tree, variable);
    const CXType type = tree->c->getCursorType(variable);
    const struct word name = name_of(tree, variable);
    if (!at.inside || !text_starts(text_view(&tree->job->source) + at.offset, name.text)) /* a macro's */
        return;
    if (is_size_t(tree, variable))
        lint_add(tree->job, RULE_SIZE_T, at.line, at.column, "'%.60s' is a size_t", name.text);
    if (type.kind == CXType_ConstantArray && variable.kind == CXCursor_VarDecl) /* a parameter is a pointer */
        judge_array(spot, variable, type, &at);
    if (tree->c->getCanonicalType(type).kind == CXType_Pointer && space_of(tree, type) == SPACE_GENERIC)
        lint_add(tree->job, RULE_GENERIC, at.line, at.column, "'%.60s' may point to any memory", name.text);
}

static void judge_cast(const struct tree *tree, CXCursor cast)
{
    const struct place at = cursor_place(tree, cast);
    if (at.inside && is_size_t(tree, cast))
        lint_add(tree->job, RULE_SIZE_T, at.line, at.column, "a conversion to size_t");
}

/* ---- All of it ---- */

static void judge(const struct spot *spot, CXCursor cursor)
{
    const struct tree *tree = spot->tree;
    switch ((int)cursor.kind) {
    case CXCursor_FunctionDecl:
        judge_function(tree, cursor);
        break;
    case CXCursor_VarDecl:
    case CXCursor_ParmDecl:
        judge_variable(spot, cursor);
        break;
    case CXCursor_CStyleCastExpr:
        judge_cast(tree, cursor);
        break;
    case CXCursor_CallExpr:
        judge_call(spot, cursor);
        break;
    case CXCursor_ArraySubscriptExpr:
        judge_subscript(tree, cursor);
        break;
    case CXCursor_UnaryOperator:
        judge_unary(tree, cursor);
        break;
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator:
        judge_binary(tree, cursor);
        break;
    case CXCursor_IfStmt:
        judge_if(tree, cursor);
        break;
    case CXCursor_FloatingLiteral:
        judge_literal(tree, cursor);
        break;
    default:
        break;
    }
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct spot inner = *(const struct spot *)data;
    (void)parent;
    if (!inner.in_function && !cursor_place(inner.tree, cursor).inside)
        return CXChildVisit_Continue;
    judge(&inner, cursor);
    inner.loops += is_loop(cursor.kind);
    inner.in_function = inner.in_function || cursor.kind == CXCursor_FunctionDecl;
    inner.tree->c->visitChildren(cursor, visit, &inner);
    return CXChildVisit_Continue;
}

/* ---- Compiling ---- */

struct arguments {
    const char *list[512]; /* three lists of options, a flag before each value */
    int count;
    char standard[32];
};

static void argument(struct arguments *arguments, const char *flag, const char *value)
{
    if (flag)
        arguments->list[arguments->count++] = flag;
    if (value)
        arguments->list[arguments->count++] = value;
}

static void each(struct arguments *arguments, const char *flag, const char *const *values, size_t count)
{
    for (size_t i = 0; i < count && arguments->count + 2 < (int)COUNT_OF(arguments->list); i++)
        argument(arguments, flag, values[i]);
}

/* The words of a text, which become strings of their own. */
static void words(struct arguments *arguments, char *text)
{
    char *rest = NULL;
    for (char *word = text ? strtok_r(text, " ", &rest) : NULL; word; word = strtok_r(NULL, " ", &rest))
        each(arguments, NULL, (const char *const[]){word}, 1);
}

/* What stands for a file that is included first. */
static const char head_name[] = "/hone/head.clh";

static void fill_arguments(struct arguments *arguments, const struct lint_options *options,
                           const struct lint_head *head)
{
    static const char *const fixed[] = {
        "-x", "cl", "-w", "-Xclang", "-finclude-default-header", "-Xclang", "-fdeclare-opencl-builtins"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        argument(arguments, fixed[i], NULL);
    snprintf(arguments->standard, sizeof arguments->standard, "-cl-std=%.20s",
             options->standard ? options->standard : "CL1.2");
    argument(arguments, arguments->standard, NULL);
    argument(arguments, "-target", options->target ? options->target : "spir64");
    words(arguments, head->options.data);
    each(arguments, "-D", options->defines, options->define_count);
    each(arguments, "-I", options->folders, options->folder_count);
    if (head->text.length)
        argument(arguments, "-include", head_name);
    each(arguments, "-include", options->includes, options->include_count);
}

/* What the compiler says, from errors on. */
static bool is_broken(const struct clang *c, CXTranslationUnit unit, struct text *log)
{
    bool broken = false;
    for (unsigned i = 0; i < c->getNumDiagnostics(unit); i++) {
        CXDiagnostic diagnostic = c->getDiagnostic(unit, i);
        if (c->getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
            CXString line = c->formatDiagnostic(diagnostic, CXDiagnostic_DisplaySourceLocation |
                                                                CXDiagnostic_DisplayColumn);
            text_add(log, "%s\n", c->getCString(line));
            c->disposeString(line);
            broken = true;
        }
        c->disposeDiagnostic(diagnostic);
    }
    return broken;
}

static hone_status look(struct tree *tree, hone_error *error)
{
    struct text log = {0};
    const struct spot top = {.tree = tree};
    hone_status status = HONE_OK;
    if (is_broken(tree->c, tree->unit, &log)) {
        status = error_io(error, "'%s' does not compile", tree->job->path);
        if (error)
            snprintf(error->log, sizeof error->log, "%s", text_view(&log));
    } else {
        tree->file = tree->c->getFile(tree->unit, tree->job->path);
        tree->c->visitChildren(tree->c->getTranslationUnitCursor(tree->unit), visit, (void *)&top);
    }
    text_finish(&log);
    return status;
}

hone_status lint_tree(struct lint_job *job, const struct lint_options *options, struct lint_head *head,
                      hone_error *error)
{
    struct tree tree = {.c = clang_load(), .job = job};
    struct arguments arguments = {.count = 0};
    struct CXUnsavedFile files[] = {{job->path, text_view(&job->source), (unsigned long)job->source.length},
                                    {head_name, text_view(&head->text), (unsigned long)head->text.length}};
    if (!tree.c)
        return error_unsupported(
            error, "libclang, which reads kernels, cannot be loaded (Debian: apt install libclang-dev)");
    fill_arguments(&arguments, options, head);
    CXIndex index = tree.c->createIndex(0, 0);
    enum CXErrorCode code =
        tree.c->parseTranslationUnit2(index, job->path, arguments.list, arguments.count, files,
                                      COUNT_OF(files), CXTranslationUnit_None, &tree.unit);
    hone_status status = code == CXError_Success
                             ? look(&tree, error)
                             : error_io(error, "'%s' cannot be read by libclang", job->path);
    if (tree.unit)
        tree.c->disposeTranslationUnit(tree.unit);
    tree.c->disposeIndex(index);
    return status;
}
