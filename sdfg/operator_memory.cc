#include "sdfg/operator_memory.h"

#include <algorithm>
#include <iterator>
#include <variant>

namespace planproof::sdfg {
namespace {

// torch.Tensor: these return a new tensor, whatever their operand is.
constexpr const char* kCopies[] = {
    "cat", "clone", "concat", "flip", "pad", "repeat", "repeat_interleave", "roll", "stack"};

}  // namespace

bool ComputesInPlace(const Attributes& attributes) {
  const auto at = attributes.find("inplace");
  if (at == attributes.end()) return false;
  const AttributeValue& value = at->second;
  if (std::holds_alternative<std::monostate>(value)) return false;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return *number != 0;
  return true;
}

bool MayBeView(const std::string& name, const IndexFunction& function) {
  return OperatorLibrary::IsDataMovement(function) &&
         std::none_of(std::begin(kCopies), std::end(kCopies),
                      [&name](const char* copy) { return name == copy; });
}

}  // namespace planproof::sdfg
