// Checks the attributes of an operator instance against those that the operator declares.
#ifndef PLANPROOF_SDFG_OPERATOR_ATTRIBUTES_H_
#define PLANPROOF_SDFG_OPERATOR_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// The value of every declared attribute: given, or the default. InvalidArgument for an attribute
// that is not declared, that is required and missing, or whose value is of another type, or not
// among those that are listed; Unimplemented for a value that the framework has and the declaration
// has not: one beside that of `only`, an element type that is not known. An attribute is never
// silently dropped: what has no influence on the result is declared with `ignore`, and its value is
// checked all the same.
absl::StatusOr<Attributes> ResolveAttributes(const std::string& operator_name,
                                             const std::vector<AttributeDeclaration>& declared,
                                             const Attributes& given);

// The given value as one of the declared type, list and interval; errors as above.
absl::StatusOr<AttributeValue> TypedAttribute(const std::string& operator_name,
                                              const AttributeDeclaration& declared,
                                              const AttributeValue& given);

// Equal as the language sees it: 1 equals 1.0.
bool SameAttribute(const AttributeValue& a, const AttributeValue& b);

const char* AttributeTypeName(AttributeType type);  // as the language writes it
// "real in [0, 1)", "\"mean\" or \"sum\"": what a value may be.
std::string AttributeExpectation(const AttributeDeclaration& declared);
// `"mean", "sum" or none`.
std::string ListOfValues(const std::vector<AttributeValue>& values);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_OPERATOR_ATTRIBUTES_H_
