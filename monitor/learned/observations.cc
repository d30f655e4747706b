#include "monitor/learned/observations.h"

namespace planproof::monitor::learned {
namespace {
constexpr size_t kSymbolLimit = size_t{1} << 19, kSymbolBytesLimit = size_t{48} << 20,
                 kSymbolLengthLimit = 512;
}  // namespace

Symbols::Symbols() { numbers_.reserve(4096); }

Symbol Symbols::Of(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  if (texts_.size() >= kSymbolLimit || bytes_ + text.size() > kSymbolBytesLimit ||
      text.size() > kSymbolLengthLimit) {
    ++left_out_;
    return kNoSymbol;
  }
  bytes_ += text.size();
  const Symbol number = static_cast<Symbol>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

}  // namespace planproof::monitor::learned
