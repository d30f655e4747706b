// Attributes of an operator instance against those that the operator declares.
#ifndef PLANPROOF_SDFG_OPERATOR_ATTRIBUTES_H_
#define PLANPROOF_SDFG_OPERATOR_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// The value of every declared attribute: given, or the default. InvalidArgument for an attribute
// that is not declared, that is required and missing, has the wrong type, or may have one value
// only and has another. An attribute is never silently dropped: what has no influence on the result
// is declared with `ignore`.
absl::StatusOr<Attributes> ResolveAttributes(const std::string& operator_name,
                                             const std::vector<AttributeDeclaration>& declared,
                                             const Attributes& given);

// Equal as the language sees it: 1 equals 1.0.
bool SameAttribute(const AttributeValue& a, const AttributeValue& b);

const char* AttributeTypeName(AttributeType type);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_OPERATOR_ATTRIBUTES_H_
