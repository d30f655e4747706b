// Says what frameworks do with the memory of operands. Values do not depend on it.
#ifndef PLANPROOF_SDFG_OPERATOR_MEMORY_H_
#define PLANPROOF_SDFG_OPERATOR_MEMORY_H_

#include <string>

#include "sdfg/index_function.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// The attributes ask for the result to be written over the first operand: "inplace" has another
// value than false, 0 or none.
bool ComputesInPlace(const Attributes& attributes);

// Some framework may return the operand's own memory as the result: the operator `name` with this
// function only says which of one operand's elements stand where, and is none that always copies.
bool MayBeView(const std::string& name, const IndexFunction& function);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_OPERATOR_MEMORY_H_
