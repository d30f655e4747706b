// libFuzzer target: any bytes are parsed as declarations and, if accepted, instantiated.
// Seeds: sdfg/operators/*.op.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sdfg/operator_library.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace planproof::sdfg;
  OperatorLibrary library;
  if (!library.AddDeclarations(std::string(reinterpret_cast<const char*>(data), size), "fuzz")
           .ok()) {
    return 0;
  }
  Operand real;
  real.shape = {2, 6};
  real.dtype = DType::kFloat32;
  Operand integers = real;
  integers.dtype = DType::kInt64;
  for (const std::string& name : library.Names()) {
    (void)library.Page(name);
    (void)library.Instantiate(name, {real}, {}).ok();
    (void)library.Instantiate(name, {real, integers, real}, {}).ok();
  }
  return 0;
}
