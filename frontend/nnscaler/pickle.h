// Decodes a Python pickle as plain data.
//
// A pickle is a program for a stack machine that builds objects by calling constructors. This
// decoder runs only the part of that program that arranges data: it never looks up a class, calls
// anything or evaluates code. What a pickle would call (REDUCE, NEWOBJ, BUILD) becomes a record: an
// object with a class name, constructor arguments and a state. Values live in one arena and refer
// to each other by 32-bit ids, so data may be cyclic; nothing here walks it recursively.
//
// Input is untrusted: every length is checked against what is left of the input, memory is bounded
// by the input's size and by PickleLimits, and an error names the byte offset and the opcode.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PICKLE_H_
#define PLANPROOF_FRONTEND_NNSCALER_PICKLE_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace planproof::frontend::nnscaler {

using ValueId = int32_t;
using Symbol = uint32_t;  // an interned string of one Pickle
inline constexpr ValueId kNoValue = -1;
inline constexpr Symbol kNoSymbol = 0xffffffff;

struct PickleLimits {
  int64_t max_bytes = int64_t{1} << 30;
  int64_t max_values = int64_t{1} << 25;
};

enum class ValueKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kBigInt,  // does not fit 64 bits; its value is not kept
  kFloat,
  kString,
  kBytes,
  kTuple,
  kList,
  kDict,  // also collections.OrderedDict and defaultdict
  kSet,
  kGlobal,  // a class or function, by module and name
  kObject,
};
const char* ValueKindName(ValueKind kind);

class Pickle {
 public:
  // Decodes protocols 0 to 5. DataLoss if the input ends early, InvalidArgument if it is no pickle
  // or damaged, ResourceExhausted over the limits, Unimplemented for out-of-band data.
  static absl::StatusOr<Pickle> Decode(std::string bytes, const PickleLimits& limits = {});
  static absl::StatusOr<Pickle> ReadFile(const std::string& path, const PickleLimits& limits = {});

  ValueId root() const { return root_; }
  int64_t value_count() const { return static_cast<int64_t>(values_.size()); }
  ValueKind kind(ValueId id) const { return values_[id].kind; }
  bool Is(ValueId id, ValueKind kind) const { return id >= 0 && values_[id].kind == kind; }

  bool Bool(ValueId id) const { return Bits(id) != 0; }
  int64_t Int(ValueId id) const { return static_cast<int64_t>(Bits(id)); }
  double Float(ValueId id) const { return std::bit_cast<double>(Bits(id)); }
  // kString, kBytes.
  std::string_view Text(ValueId id) const;
  Symbol StringSymbol(ValueId id) const { return values_[id].ref.b; }
  // kTuple, kList, kSet: the elements. kDict: key, value, key, value, ...
  absl::Span<const ValueId> Items(ValueId id) const;
  // Value of a dictionary's last entry with this string (integer) key, or kNoValue.
  ValueId Find(ValueId dict, Symbol key) const;

  // kGlobal.
  std::string_view Module(ValueId id) const { return symbols_[values_[id].ref.a]; }
  std::string_view Name(ValueId id) const { return symbols_[values_[id].ref.b]; }
  Symbol NameSymbol(ValueId id) const { return values_[id].ref.b; }

  // kObject: what it was made from. State is kNoValue unless BUILD gave one.
  ValueId Class(ValueId id) const { return static_cast<ValueId>(values_[id].ref.a); }
  ValueId Arguments(ValueId id) const { return static_cast<ValueId>(values_[id].ref.b); }
  ValueId State(ValueId id) const { return static_cast<ValueId>(values_[id].ref.c); }
  // The class's name without module, "" if the class is no global.
  std::string_view ClassName(ValueId id) const;
  Symbol ClassSymbol(ValueId id) const;
  // Attribute from the object's state (a dict, or a pair of dicts), or kNoValue.
  ValueId Attribute(ValueId object, Symbol name) const;

  // The symbol of a string that occurs in the pickle, else kNoSymbol.
  Symbol FindSymbol(std::string_view text) const;

 private:
  friend class PickleDecoder;
  // 16 bytes. Meaning of the words by kind: kString, kGlobal: symbols (a: module, b: text or name);
  // kBytes: a: offset, b: length; containers: a: first item, b: items, c: room for items;
  // kObject: a: class, b: arguments, c: state.
  struct Value {
    ValueKind kind = ValueKind::kNone;
    struct Words {
      uint32_t a, b, c;
    } ref = {0, 0, 0};
  };
  static Value MakeNumber(ValueKind kind, uint64_t bits);
  uint64_t Bits(ValueId id) const {
    return values_[id].ref.a | static_cast<uint64_t>(values_[id].ref.b) << 32;
  }

  std::unique_ptr<const std::string> bytes_;
  std::vector<std::unique_ptr<const std::string>> unescaped_;  // strings of text opcodes
  std::vector<Value> values_;
  std::vector<ValueId> items_;
  std::vector<std::string_view> symbols_;  // into bytes_ and unescaped_
  absl::flat_hash_map<std::string_view, Symbol> symbol_ids_;
  ValueId root_ = kNoValue;
};

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PICKLE_H_
