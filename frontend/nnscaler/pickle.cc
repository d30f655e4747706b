#include "frontend/nnscaler/pickle.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planproof::frontend::nnscaler {

const char* ValueKindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "int";
    case ValueKind::kBigInt:
      return "int beyond 64 bits";
    case ValueKind::kFloat:
      return "float";
    case ValueKind::kString:
      return "str";
    case ValueKind::kBytes:
      return "bytes";
    case ValueKind::kTuple:
      return "tuple";
    case ValueKind::kList:
      return "list";
    case ValueKind::kDict:
      return "dict";
    case ValueKind::kSet:
      return "set";
    case ValueKind::kGlobal:
      return "class or function";
    case ValueKind::kObject:
      return "object";
  }
  return "?";
}

Pickle::Value Pickle::MakeNumber(ValueKind kind, uint64_t bits) {
  Value value;
  value.kind = kind;
  value.ref = {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32), 0};
  return value;
}

absl::StatusOr<Pickle> Pickle::ReadFile(const std::string& path, const PickleLimits& limits) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  struct stat info;
  std::string bytes;
  absl::Status status;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    status = absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  } else if (info.st_size > limits.max_bytes) {
    status = absl::ResourceExhaustedError(
        absl::StrCat(path, ": has ", info.st_size, " bytes, the limit is ", limits.max_bytes));
  } else {
    bytes.resize(info.st_size);
    size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t n = read(fd, bytes.data() + have, bytes.size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      have += n;
    }
    bytes.resize(have);
  }
  close(fd);
  if (!status.ok()) return status;
  absl::StatusOr<Pickle> pickle = Decode(std::move(bytes), limits);
  if (!pickle.ok()) {
    return absl::Status(pickle.status().code(),
                        absl::StrCat(path, ": ", pickle.status().message()));
  }
  return pickle;
}

std::string_view Pickle::Text(ValueId id) const {
  const Value& value = values_[id];
  if (value.kind == ValueKind::kString) return symbols_[value.ref.b];
  if (value.kind == ValueKind::kBytes) {
    return std::string_view(*bytes_).substr(value.ref.a, value.ref.b);
  }
  return {};
}

absl::Span<const ValueId> Pickle::Items(ValueId id) const {
  const Value& value = values_[id];
  return absl::MakeConstSpan(items_).subspan(value.ref.a, value.ref.b);
}

ValueId Pickle::Find(ValueId dict, Symbol key) const {
  const absl::Span<const ValueId> items = Items(dict);
  for (size_t i = items.size(); i >= 2; i -= 2) {
    const Value& k = values_[items[i - 2]];
    if (k.kind == ValueKind::kString && k.ref.b == key) return items[i - 1];
  }
  return kNoValue;
}

std::string_view Pickle::ClassName(ValueId id) const {
  const Symbol symbol = ClassSymbol(id);
  return symbol == kNoSymbol ? std::string_view() : symbols_[symbol];
}

Symbol Pickle::ClassSymbol(ValueId id) const {
  if (!Is(id, ValueKind::kObject)) return kNoSymbol;
  const ValueId cls = Class(id);
  return Is(cls, ValueKind::kGlobal) ? values_[cls].ref.b : kNoSymbol;
}

ValueId Pickle::Attribute(ValueId object, Symbol name) const {
  if (!Is(object, ValueKind::kObject) || name == kNoSymbol) return kNoValue;
  const ValueId state = State(object);
  if (state < 0) return kNoValue;
  if (values_[state].kind == ValueKind::kDict) return Find(state, name);
  if (values_[state].kind != ValueKind::kTuple) return kNoValue;
  // (dict of the instance or None, dict of its slots)
  const absl::Span<const ValueId> parts = Items(state);
  for (size_t i = parts.size(); i > 0; --i) {
    if (values_[parts[i - 1]].kind != ValueKind::kDict) continue;
    const ValueId found = Find(parts[i - 1], name);
    if (found != kNoValue) return found;
  }
  return kNoValue;
}

Symbol Pickle::FindSymbol(std::string_view text) const {
  const auto it = symbol_ids_.find(text);
  return it == symbol_ids_.end() ? kNoSymbol : it->second;
}

}  // namespace planproof::frontend::nnscaler
