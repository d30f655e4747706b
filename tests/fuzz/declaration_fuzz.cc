// libFuzzer target: any bytes are parsed as declarations and, if accepted, instantiated, printed
// and differentiated. Seeds: sdfg/operators/*.op.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sdfg/differentiate.h"
#include "sdfg/operator_library.h"

namespace {

using namespace planproof::sdfg;

Operand Tensor(const Shape& shape, DType dtype) {
  Operand operand;
  operand.shape = shape;
  operand.dtype = dtype;
  return operand;
}

Operand Number() {
  Operand operand;
  operand.kind = Operand::Kind::kLiteral;
  operand.literal = planproof::solver::Rational(3);
  return operand;
}

void Derive(const IndexFunction& function) {
  for (size_t input = 0; input < function.inputs.size() && input < 3; ++input) {
    for (size_t output = 0; output < function.outputs.size() && output < 2; ++output) {
      (void)Differentiate(function, {static_cast<int>(input)}, {static_cast<int>(output)}).ok();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  OperatorLibrary library;
  if (!library.AddDeclarations(std::string(reinterpret_cast<const char*>(data), size), "fuzz")
           .ok()) {
    return 0;
  }
  const Operand matrix = Tensor({2, 6}, DType::kFloat32);
  const Operand square = Tensor({6, 6}, DType::kFloat32);
  const Operand row = Tensor({6}, DType::kFloat32);
  const Operand ids = Tensor({2, 6}, DType::kInt64);
  const Operand cube = Tensor({2, 4, 6}, DType::kFloat32);
  const std::vector<std::vector<Operand>> calls = {{matrix},
                                                   {cube},
                                                   {row},
                                                   {matrix, matrix},
                                                   {matrix, Number()},
                                                   {matrix, row},
                                                   {matrix, square},
                                                   {matrix, ids, matrix},
                                                   {cube, square, row},
                                                   {cube, row, row},
                                                   {ids, square}};
  int names = 0;
  for (const std::string& name : library.Names()) {
    if (++names > 8) break;
    (void)library.Page(name);
    for (const std::vector<Operand>& operands : calls) {
      const auto function = library.Instantiate(name, operands, {});
      if (function.ok()) Derive(*function);
    }
    (void)library.Instantiate(name, {matrix}, {{"dim", int64_t{1}}, {"heads", int64_t{2}}}).ok();
  }
  return 0;
}
