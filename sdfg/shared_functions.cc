#include "sdfg/shared_functions.h"

#include <utility>

namespace planproof::sdfg {

FunctionKey& FunctionKey::Number(int64_t number) {
  bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  return *this;
}

FunctionKey& FunctionKey::Text(std::string_view text) {
  Number(static_cast<int64_t>(text.size()));
  bytes_.append(text);
  return *this;
}

FunctionKey& FunctionKey::List(const std::vector<int64_t>& list) {
  Number(static_cast<int64_t>(list.size()));
  for (const int64_t number : list) Number(number);
  return *this;
}

FunctionKey& FunctionKey::List(const std::vector<int32_t>& list) {
  Number(static_cast<int64_t>(list.size()));
  for (const int32_t number : list) Number(number);
  return *this;
}

FunctionKey& FunctionKey::Function(const IndexFunction* function) {
  return Number(static_cast<int64_t>(reinterpret_cast<intptr_t>(function)));
}

absl::StatusOr<FunctionPointer> SharedFunctions::Get(
    std::string key, const std::function<absl::StatusOr<IndexFunction>()>& make) {
  if (const auto made = made_.find(key); made != made_.end()) return made->second;
  absl::StatusOr<IndexFunction> function = make();
  if (!function.ok()) return function.status();
  return made_[std::move(key)] = graph_.Intern(*std::move(function));
}

}  // namespace planproof::sdfg
