// All declared operators, as the operator tests apply them.
#ifndef PLANPROOF_TESTS_RUNTIME_CHECK_OPERATOR_CASES_H_
#define PLANPROOF_TESTS_RUNTIME_CHECK_OPERATOR_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime_check/values.h"
#include "sdfg/index_function.h"

namespace planproof::runtime_check {

struct OperatorCase {
  std::string name;
  sdfg::IndexFunction function;
  int64_t id_range = 1;  // ids of the reference inputs lie below
};

// The applications of operators for which the operator tests have reference results.
std::vector<OperatorCase> OperatorCases();
// Their derivatives, where they are declared.
std::vector<OperatorCase> DerivativesOf(const std::vector<OperatorCase>& cases);

// Positive numbers, or with `hostile` of both signs, among them infinities and NaN; and ids that
// lie within what they index.
std::vector<Values> RandomOperands(const sdfg::IndexFunction& function, int64_t id_range,
                                   sdfg::DType arithmetic, uint64_t seed, bool hostile = false);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_TESTS_RUNTIME_CHECK_OPERATOR_CASES_H_
