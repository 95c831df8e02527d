/* SPDX-License-Identifier: BSD-2-Clause */
/* libclang's functions, looked up when they are first needed. */
#pragma once

#include <clang-c/Index.h>
#include <stdbool.h>
#include <stddef.h>

#define CLANG_CALLS(X)                                                                                       \
    X(createIndex)                                                                                           \
    X(disposeIndex)                                                                                          \
    X(parseTranslationUnit2)                                                                                 \
    X(disposeTranslationUnit)                                                                                \
    X(getNumDiagnostics)                                                                                     \
    X(getDiagnostic)                                                                                         \
    X(disposeDiagnostic)                                                                                     \
    X(getDiagnosticSeverity)                                                                                 \
    X(formatDiagnostic)                                                                                      \
    X(getCString)                                                                                            \
    X(disposeString)                                                                                         \
    X(getTranslationUnitCursor)                                                                              \
    X(visitChildren)                                                                                         \
    X(getCursorLocation)                                                                                     \
    X(getCursorExtent)                                                                                       \
    X(getRangeStart)                                                                                         \
    X(getRangeEnd)                                                                                           \
    X(getFileLocation)                                                                                       \
    X(getFile)                                                                                               \
    X(File_isEqual)                                                                                          \
    X(getCursorType)                                                                                         \
    X(getCanonicalType)                                                                                      \
    X(getTypeSpelling)                                                                                       \
    X(getCursorSpelling)                                                                                     \
    X(getCursorReferenced)                                                                                   \
    X(getPointeeType)                                                                                        \
    X(getElementType)                                                                                        \
    X(getNumElements)                                                                                        \
    X(isConstQualifiedType)                                                                                  \
    X(isRestrictQualifiedType)                                                                               \
    X(getAddressSpace)                                                                                       \
    X(Type_getSizeOf)                                                                                        \
    X(Cursor_isNull)                                                                                         \
    X(equalCursors)                                                                                          \
    X(Cursor_getNumArguments)                                                                                \
    X(Cursor_getArgument)                                                                                    \
    X(Cursor_Evaluate)                                                                                       \
    X(EvalResult_getKind)                                                                                    \
    X(EvalResult_dispose)

#define CLANG_MEMBER(name) __typeof__(&clang_##name) name;
struct clang {
    void *library;
    CLANG_CALLS(CLANG_MEMBER)
};

/* NULL where there is no libclang. Stays loaded. Threads: one at a time. */
const struct clang *clang_load(void);
