// What the tests of derivatives share: functions of one input, and comparison with finite
// differences.
#ifndef PLANPROOF_TESTS_SDFG_DIFFERENTIATE_TESTING_H_
#define PLANPROOF_TESTS_SDFG_DIFFERENTIATE_TESTING_H_

#include <functional>
#include <string>
#include <vector>

#include "sdfg/dense_evaluator.h"
#include "sdfg/differentiate.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {

constexpr DType kReal = DType::kFloat64;

IndexFunction FinishedFunction(IndexFunctionBuilder* builder);

// Checks the gradients of all real inputs against central differences of the weighted sum of all
// outputs. Inputs are random in (0.3, 1.7), integer inputs are given.
void ExpectGradients(const IndexFunction& f, std::vector<DenseTensor> inputs = {});

// The text of the derivative by all real inputs.
std::string Derivative(const IndexFunction& f);

// y[out...] = body(indices of the output), one input x.
using OneInputBody = std::function<ExprId(IndexFunctionBuilder&, const std::vector<ExprId>&)>;
IndexFunction OneInput(const Shape& in, const Shape& out, const OneInputBody& body);

// y = x read at the indices that `map` gives.
using IndicesOf =
    std::function<std::vector<ExprId>(IndexFunctionBuilder&, const std::vector<ExprId>&)>;
IndexFunction Movement(const Shape& in, const Shape& out, const IndicesOf& map);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_TESTS_SDFG_DIFFERENTIATE_TESTING_H_
