/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/expr.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum op {
    OP_NUMBER,
    OP_NAME,
    OP_NEGATE,
    OP_NOT,
    OP_CHOOSE,
    OP_OR,
    OP_AND,
    OP_EQ,
    OP_NE,
    OP_LE,
    OP_GE,
    OP_LT,
    OP_GT,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_MIN,
    OP_MAX,
    OP_CEILDIV,
    OP_ROUNDUP,
    OP_ABS,
    OP_SQRT,
    OP_LOG2
};

enum { MAX_DEPTH = 40 };

struct parser {
    struct expr *expr;
    const char *text, *at;
    int depth;
    hone_error *error;
    bool failed;
};

/* Binary operators, longest spelling first within a level. Higher level binds tighter. */
static const struct binary {
    const char *text;
    enum op op;
    int level;
} binaries[] = {{"||", OP_OR, 1}, {"or", OP_OR, 1},  {"&&", OP_AND, 2}, {"and", OP_AND, 2},
                {"==", OP_EQ, 3}, {"!=", OP_NE, 3},  {"<=", OP_LE, 4},  {">=", OP_GE, 4},
                {"<", OP_LT, 4},  {">", OP_GT, 4},   {"+", OP_ADD, 5},  {"-", OP_SUB, 5},
                {"*", OP_MUL, 6}, {"//", OP_DIV, 6}, {"/", OP_DIV, 6},  {"%", OP_MOD, 6}};

static const struct function {
    const char *name;
    enum op op;
    int arity;
} functions[] = {{"min", OP_MIN, 2},         {"max", OP_MAX, 2}, {"ceildiv", OP_CEILDIV, 2},
                 {"roundup", OP_ROUNDUP, 2}, {"abs", OP_ABS, 1}, {"sqrt", OP_SQRT, 1},
                 {"log2", OP_LOG2, 1}};

static int fail(struct parser *p, const char *what)
{
    if (!p->failed) {
        error_usage(p->error, "expression '%s', column %d: %s", p->text, (int)(p->at - p->text) + 1, what);
        if (p->error)
            p->error->column = (int)(p->at - p->text) + 1;
    }
    p->failed = true;
    return -1;
}

static int add_node(struct parser *p, enum op op, int left, int right, int third)
{
    if (p->failed)
        return -1;
    if (p->expr->count == EXPR_MAX_NODES)
        return fail(p, "too long; split it into several");
    struct expr_node *node = &p->expr->nodes[p->expr->count];
    *node = (struct expr_node){
        .op = (int16_t)op, .left = (int16_t)left, .right = (int16_t)right, .third = (int16_t)third};
    return p->expr->count++;
}

static void skip_space(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool accept(struct parser *p, const char *token)
{
    skip_space(p);
    size_t length = strlen(token);
    if (strncmp(p->at, token, length) != 0)
        return false;
    bool word = isalpha((unsigned char)token[0]);
    if (word && (isalnum((unsigned char)p->at[length]) || p->at[length] == '_'))
        return false;
    p->at += length;
    return true;
}

static int parse_choice(struct parser *p);

static bool is_comparison(enum op op)
{
    return op >= OP_EQ && op <= OP_GT;
}

/* Digits alone are read as they are, what a double cannot hold included. Of other spellings, numbers that are
 * too large for whole ones are left to expr_real. */
static bool read_whole(const char *text, const char *end, double number, int64_t *whole)
{
    const bool digits = text + strspn(text, "0123456789") == end;
    *whole = number <= 1e18 ? (int64_t)number : 0;
    errno = 0;
    if (digits)
        *whole = strtoll(text, NULL, 10);
    return !digits || errno == 0;
}

static int parse_number(struct parser *p)
{
    char *end;
    int64_t whole;
    double number = text_number(p->at, &end);
    if (end == p->at || !isfinite(number) || !read_whole(p->at, end, number, &whole))
        return fail(p, "this is no number that fits");
    int node = add_node(p, OP_NUMBER, -1, -1, -1);
    if (node >= 0) {
        p->expr->nodes[node].number = number;
        p->expr->nodes[node].whole = whole;
    }
    p->at = end;
    return node;
}

static int parse_call(struct parser *p, const struct function *function)
{
    int arguments[2] = {-1, -1};
    for (int i = 0; i < function->arity; i++) {
        if (i > 0 && !accept(p, ","))
            return fail(p, "expected ',' and another argument");
        arguments[i] = parse_choice(p);
    }
    if (!accept(p, ")"))
        return fail(p, "expected ')'");
    return add_node(p, function->op, arguments[0], arguments[1], -1);
}

static int parse_name(struct parser *p)
{
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) || p->at[length] == '_')
        length++;
    if (length == 0)
        return fail(p, *p->at ? "expected a number, a name or '('" : "the expression ends too early");
    if (length > EXPR_MAX_NAME)
        return fail(p, "this name is too long");
    const char *name = p->at;
    p->at += length;
    if (accept(p, "(")) {
        for (size_t i = 0; i < COUNT_OF(functions); i++)
            if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
                return parse_call(p, &functions[i]);
        p->at = name;
        return fail(p, "unknown function (there are min, max, ceildiv, roundup, abs, sqrt, log2)");
    }
    int node = add_node(p, OP_NAME, -1, -1, -1);
    if (node >= 0) {
        memcpy(p->expr->nodes[node].name, name, length);
        p->expr->nodes[node].column = (int16_t)(name - p->text < INT16_MAX ? name - p->text + 1 : INT16_MAX);
    }
    return node;
}

static int parse_unary(struct parser *p)
{
    if (++p->depth > MAX_DEPTH)
        return fail(p, "nested too deeply");
    skip_space(p);
    int node;
    if (accept(p, "-")) {
        node = add_node(p, OP_NEGATE, parse_unary(p), -1, -1);
    } else if (p->at[0] == '!' || accept(p, "not")) {
        if (p->at[0] == '!')
            p->at++;
        node = add_node(p, OP_NOT, parse_unary(p), -1, -1);
    } else if (accept(p, "(")) {
        node = parse_choice(p);
        if (!accept(p, ")"))
            node = fail(p, "expected ')'");
    } else if (isdigit((unsigned char)*p->at) || *p->at == '.') {
        node = parse_number(p);
    } else {
        node = parse_name(p);
    }
    p->depth--;
    return node;
}

static const struct binary *accept_binary(struct parser *p, int level)
{
    for (size_t i = 0; i < COUNT_OF(binaries); i++)
        if (binaries[i].level >= level && accept(p, binaries[i].text))
            return &binaries[i];
    return NULL;
}

/* `a < b < c` means what it does in mathematics and in Python: b is compared with both. */
static int parse_binary(struct parser *p, int level)
{
    int left = parse_unary(p), middle = -1, compared_at = 0;
    const struct binary *binary;
    while (!p->failed && (binary = accept_binary(p, level))) {
        int right = parse_binary(p, binary->level + 1);
        if (is_comparison(binary->op) && binary->level == compared_at)
            left = add_node(p, OP_AND, left, add_node(p, binary->op, middle, right, -1), -1);
        else
            left = add_node(p, binary->op, left, right, -1);
        middle = right;
        compared_at = is_comparison(binary->op) ? binary->level : 0;
    }
    return left;
}

static int parse_choice(struct parser *p)
{
    if (++p->depth > MAX_DEPTH)
        return fail(p, "nested too deeply");
    int node = parse_binary(p, 1);
    if (!p->failed && accept(p, "?")) {
        int yes = parse_choice(p);
        if (!accept(p, ":"))
            return fail(p, "expected ':'");
        int no = parse_choice(p);
        node = add_node(p, OP_CHOOSE, node, yes, no);
    }
    p->depth--;
    return node;
}

hone_status expr_parse(struct expr *expr, const char *text, hone_error *error)
{
    struct parser parser = {.expr = expr, .text = text, .at = text, .error = error};
    expr->count = 0;
    expr->root = parse_choice(&parser);
    skip_space(&parser);
    if (!parser.failed && *parser.at)
        fail(&parser, "expected an operator");
    return parser.failed ? HONE_ERROR_USAGE : HONE_OK;
}

bool expr_lookup(const struct expr_scope *scope, const char *name, int64_t *value)
{
    for (; scope; scope = scope->outer) {
        for (int i = 0; i < scope->count; i++)
            if (strcmp(scope->names[i], name) == 0) {
                *value = scope->values[i];
                return true;
            }
        if (scope->find && scope->find(scope->context, name, value))
            return true;
    }
    return false;
}

/* Whole numbers first, scope by scope. */
static bool lookup_real(const struct expr_scope *scope, const char *name, double *value)
{
    for (int64_t whole; scope; scope = scope->outer) {
        struct expr_scope alone = *scope;
        alone.outer = NULL;
        if (expr_lookup(&alone, name, &whole)) {
            *value = (double)whole;
            return true;
        }
        if (scope->real && scope->real(scope->context, name, value))
            return true;
    }
    return false;
}

bool expr_mentions(const struct expr *expr, const char *name)
{
    for (int i = 0; i < expr->count; i++)
        if (expr->nodes[i].op == OP_NAME && strcmp(expr->nodes[i].name, name) == 0)
            return true;
    return false;
}

const char *expr_unknown(const struct expr *expr, const struct expr_scope *scope, int *column)
{
    double value;
    for (int i = 0; i < expr->count; i++)
        if (expr->nodes[i].op == OP_NAME && !lookup_real(scope, expr->nodes[i].name, &value)) {
            if (column)
                *column = expr->nodes[i].column;
            return expr->nodes[i].name;
        }
    return NULL;
}

struct evaluation {
    const struct expr *expr;
    const struct expr_scope *scope;
    hone_error *error;
    bool failed;
};

static void evaluation_fails(struct evaluation *e, const char *what, const char *name)
{
    if (!e->failed)
        error_usage(e->error, "%s%s", what, name);
    e->failed = true;
}

static int64_t divide(struct evaluation *e, int64_t a, int64_t b, enum op op)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        evaluation_fails(e, "division by zero in an expression", "");
        return 0;
    }
    if (op == OP_DIV)
        return a / b;
    if (op == OP_MOD)
        return a % b;
    int64_t up = a / b + (a % b != 0 && (a < 0) == (b < 0)), result = up;
    if (op == OP_ROUNDUP && __builtin_mul_overflow(up, b, &result))
        evaluation_fails(e, "an expression overflows 64 bits", "");
    return result;
}

static int64_t arithmetic(struct evaluation *e, enum op op, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool overflow = false;
    switch (op) {
    case OP_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case OP_SUB:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case OP_MUL:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case OP_NEGATE:
        overflow = __builtin_sub_overflow(0, a, &result);
        break;
    case OP_ABS:
        overflow = a == INT64_MIN;
        result = a < 0 && !overflow ? -a : a;
        break;
    case OP_SQRT:
        result = a > 0 ? (int64_t)sqrt((double)a) : 0;
        break;
    case OP_LOG2:
        result = a > 0 ? 63 - __builtin_clzll((unsigned long long)a) : 0;
        break;
    default:
        return divide(e, a, b, op);
    }
    if (overflow)
        evaluation_fails(e, "an expression overflows 64 bits", "");
    return result;
}

static int compare(enum op op, double a, double b)
{
    switch (op) {
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_LE:
        return a <= b;
    case OP_GE:
        return a >= b;
    case OP_LT:
        return a < b;
    default:
        return a > b;
    }
}

static int compare_integers(enum op op, int64_t a, int64_t b)
{
    return compare(op, (a > b) - (a < b), 0);
}

static int64_t integer_value(struct evaluation *e, int index)
{
    const struct expr_node *node = &e->expr->nodes[index];
    enum op op = (enum op)node->op;
    int64_t value = 0;
    if (e->failed)
        return 0;
    if (op == OP_NUMBER && node->whole == 0 && node->number >= 1)
        evaluation_fails(e, "a number in an expression is too large for a whole one", "");
    if (op == OP_NUMBER)
        return node->whole;
    if (op == OP_NAME) {
        if (!expr_lookup(e->scope, node->name, &value))
            evaluation_fails(e, "unknown name in an expression: ", node->name);
        return value;
    }
    int64_t a = integer_value(e, node->left);
    if (op == OP_NOT)
        return !a;
    if (op == OP_CHOOSE)
        return integer_value(e, a ? node->right : node->third);
    if (op == OP_AND || op == OP_OR) /* only what decides is evaluated: `N != 0 && X/N > 2` is fine */
        return (op == OP_AND) == !a ? !!a : !!integer_value(e, node->right);
    int64_t b = node->right >= 0 ? integer_value(e, node->right) : 0;
    if (op == OP_MIN || op == OP_MAX)
        return (op == OP_MIN) == (a < b) ? a : b;
    return is_comparison(op) ? compare_integers(op, a, b) : arithmetic(e, op, a, b);
}

static double real_arithmetic(struct evaluation *e, enum op op, double a, double b)
{
    if (b == 0 && (op == OP_DIV || op == OP_MOD || op == OP_CEILDIV || op == OP_ROUNDUP))
        evaluation_fails(e, "division by zero in an expression", "");
    switch (op) {
    case OP_ADD:
        return a + b;
    case OP_SUB:
        return a - b;
    case OP_MUL:
        return a * b;
    case OP_NEGATE:
        return -a;
    case OP_ABS:
        return fabs(a);
    case OP_SQRT:
        return a > 0 ? sqrt(a) : 0;
    case OP_LOG2:
        return a > 0 ? log2(a) : 0;
    case OP_MIN:
        return a < b ? a : b;
    case OP_MAX:
        return a > b ? a : b;
    case OP_MOD:
        return fmod(a, b);
    case OP_CEILDIV:
        return ceil(a / b);
    case OP_ROUNDUP:
        return ceil(a / b) * b;
    default:
        return a / b;
    }
}

static double real_value(struct evaluation *e, int index)
{
    const struct expr_node *node = &e->expr->nodes[index];
    enum op op = (enum op)node->op;
    double value = 0;
    if (e->failed)
        return 0;
    if (op == OP_NUMBER)
        return node->number;
    if (op == OP_NAME) {
        if (!lookup_real(e->scope, node->name, &value))
            evaluation_fails(e, "unknown name in an expression: ", node->name);
        return value;
    }
    double a = real_value(e, node->left);
    if (op == OP_NOT)
        return a == 0;
    if (op == OP_CHOOSE)
        return real_value(e, a != 0 ? node->right : node->third);
    if (op == OP_AND || op == OP_OR)
        return (op == OP_AND) == (a == 0) ? a != 0 : real_value(e, node->right) != 0;
    double b = node->right >= 0 ? real_value(e, node->right) : 0;
    return is_comparison(op) ? compare(op, a, b) : real_arithmetic(e, op, a, b);
}

hone_status expr_value(const struct expr *expr, const struct expr_scope *scope, int64_t *value,
                       hone_error *error)
{
    struct evaluation e = {expr, scope, error, false};
    int64_t result = integer_value(&e, expr->root);
    if (e.failed)
        return HONE_ERROR_USAGE;
    *value = result;
    return HONE_OK;
}

hone_status expr_real(const struct expr *expr, const struct expr_scope *scope, double *value,
                      hone_error *error)
{
    struct evaluation e = {expr, scope, error, false};
    double result = real_value(&e, expr->root);
    if (e.failed)
        return HONE_ERROR_USAGE;
    *value = result;
    return HONE_OK;
}

hone_status expr_text_value(const char *text, const struct expr_scope *scope, int64_t otherwise,
                            int64_t *value, hone_error *error)
{
    struct expr expr;
    *value = otherwise;
    if (!text || !*text)
        return HONE_OK;
    hone_status status = expr_parse(&expr, text, error);
    return status ? status : expr_value(&expr, scope, value, error);
}

hone_status expr_text_real(const char *text, const struct expr_scope *scope, double otherwise, double *value,
                           hone_error *error)
{
    struct expr expr;
    *value = otherwise;
    if (!text || !*text)
        return HONE_OK;
    hone_status status = expr_parse(&expr, text, error);
    return status ? status : expr_real(&expr, scope, value, error);
}
