// Applications of operators, to run in one way and another.
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

// Those for which the operator tests have reference results.
std::vector<OperatorCase> OperatorCases();

// Operands of the function: positive numbers, ids below the range, truth values.
std::vector<Values> OperandsOf(const sdfg::IndexFunction& function, sdfg::DType arithmetic,
                               int64_t id_range, uint64_t seed);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_TESTS_RUNTIME_CHECK_OPERATOR_CASES_H_
