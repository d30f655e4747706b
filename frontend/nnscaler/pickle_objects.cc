// The instructions that make objects, and those with text operands (protocol 0).
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/nnscaler/pickle_decoder.h"

namespace planproof::frontend::nnscaler {
namespace {

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

// Resolves the numeric escapes \xHH, \uHHHH, \UHHHHHHHH and, if `quoted`, those of a character.
// Other bytes of a text that is not quoted are Latin-1 (Python's raw-unicode-escape).
bool Unescape(std::string_view text, bool quoted, std::string* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      if (quoted) {
        out->push_back(text[i]);
      } else {
        AppendUtf8(static_cast<unsigned char>(text[i]), out);
      }
      continue;
    }
    const char c = text[++i];
    const int digits = c == 'u' ? 4 : c == 'U' ? 8 : c == 'x' && quoted ? 2 : 0;
    if (digits > 0) {
      uint32_t code;
      if (text.size() - i - 1 < static_cast<size_t>(digits) ||
          !absl::SimpleHexAtoi(absl::string_view(text.data() + i + 1, digits), &code) ||
          code > 0x10ffff) {
        return false;
      }
      AppendUtf8(code, out);
      i += digits;
    } else if (quoted && c == 'n') {
      out->push_back('\n');
    } else if (quoted && c == 't') {
      out->push_back('\t');
    } else if (quoted && c == 'r') {
      out->push_back('\r');
    } else if (quoted) {
      out->push_back(c);
    } else {
      out->push_back('\\');
      out->push_back(c);
    }
  }
  return true;
}

}  // namespace

bool PickleDecoder::IsGlobal(ValueId id, std::string_view module, std::string_view name) const {
  return out_.Is(id, ValueKind::kGlobal) && out_.Name(id) == name && out_.Module(id) == module;
}

bool PickleDecoder::Global(std::string_view module, std::string_view name) {
  if (!CheckText(module) || !CheckText(name)) return false;
  Value value;
  value.kind = ValueKind::kGlobal;
  value.ref.a = Intern(module);
  value.ref.b = Intern(name);
  return Push(value);
}

bool PickleDecoder::MakeObject(ValueId cls, ValueId arguments) {
  Value value;
  value.kind = ValueKind::kObject;
  value.ref = {static_cast<uint32_t>(cls), static_cast<uint32_t>(arguments),
               static_cast<uint32_t>(kNoValue)};
  return Push(value);
}

bool PickleDecoder::Reduce() {
  ValueId arguments = kNoValue, callable = kNoValue;
  if (!Pop(&arguments) || !Pop(&callable)) return false;
  if (!out_.Is(arguments, ValueKind::kTuple)) return Damaged("its arguments are no tuple");
  if (out_.Is(callable, ValueKind::kGlobal)) {
    const absl::Span<const ValueId> items = out_.Items(arguments);
    if (IsGlobal(callable, "numpy.core.multiarray", "scalar") ||
        IsGlobal(callable, "numpy._core.multiarray", "scalar")) {
      return NumpyScalar(arguments);
    }
    if (IsGlobal(callable, "collections", "OrderedDict") ||
        IsGlobal(callable, "collections", "defaultdict")) {
      if (items.size() > 1) {
        return Fail(absl::StatusCode::kUnimplemented, "a dictionary with initial contents");
      }
      return PushContainer(ValueKind::kDict, stack_.size());
    }
    if ((IsGlobal(callable, "builtins", "set") || IsGlobal(callable, "builtins", "frozenset") ||
         IsGlobal(callable, "__builtin__", "set") ||
         IsGlobal(callable, "__builtin__", "frozenset")) &&
        items.size() == 1 && out_.Is(items[0], ValueKind::kList)) {
      Value value = out_.values_[items[0]];
      value.kind = ValueKind::kSet;
      value.ref.c = value.ref.b;  // shares the list's elements, has no room of its own
      return Push(value);
    }
    if ((IsGlobal(callable, "copyreg", "_reconstructor") ||
         IsGlobal(callable, "copy_reg", "_reconstructor") ||
         IsGlobal(callable, "copyreg", "__newobj__")) &&
        !items.empty()) {
      return MakeObject(items[0], arguments);
    }
  }
  return MakeObject(callable, arguments);
}

bool PickleDecoder::NewObject(bool keyword_arguments) {
  ValueId keywords = kNoValue, arguments = kNoValue, cls = kNoValue;
  if (keyword_arguments && !Pop(&keywords)) return false;
  if (!Pop(&arguments) || !Pop(&cls)) return false;
  if (!out_.Is(arguments, ValueKind::kTuple)) return Damaged("its arguments are no tuple");
  if (IsGlobal(cls, "collections", "OrderedDict") || IsGlobal(cls, "collections", "defaultdict")) {
    return PushContainer(ValueKind::kDict, stack_.size());
  }
  return MakeObject(cls, arguments);
}

bool PickleDecoder::Build() {
  ValueId state = kNoValue, object = kNoValue;
  if (!Pop(&state) || !Pop(&object)) return false;
  Value& value = out_.values_[object];
  if (value.kind == ValueKind::kObject) {
    if (static_cast<ValueId>(value.ref.c) != kNoValue) return Damaged("the object has a state");
    value.ref.c = static_cast<uint32_t>(state);
  } else if (value.kind != ValueKind::kDict && value.kind != ValueKind::kSet &&
             value.kind != ValueKind::kList) {
    return Damaged(absl::StrCat("a ", ValueKindName(value.kind), " has no state"));
  }
  return PushId(object);
}

bool PickleDecoder::NumpyScalar(ValueId arguments) {
  const absl::Span<const ValueId> items = out_.Items(arguments);
  if (items.size() != 2 || !out_.Is(items[0], ValueKind::kObject) ||
      !out_.Is(items[1], ValueKind::kBytes)) {
    return MakeObject(kNoValue, arguments);  // of objects or strings: kept as a record
  }
  const ValueId dtype = items[0];
  const std::string_view bytes = out_.Text(items[1]);
  std::string_view code;
  if (out_.Is(out_.Arguments(dtype), ValueKind::kTuple)) {
    const absl::Span<const ValueId> made_from = out_.Items(out_.Arguments(dtype));
    if (!made_from.empty() && out_.Is(made_from[0], ValueKind::kString)) {
      code = out_.Text(made_from[0]);
    }
  }
  if (out_.Is(out_.State(dtype), ValueKind::kTuple)) {
    const absl::Span<const ValueId> state = out_.Items(out_.State(dtype));
    if (state.size() > 1 && out_.Is(state[1], ValueKind::kString) && out_.Text(state[1]) == ">") {
      return Fail(absl::StatusCode::kUnimplemented, "a big-endian number");
    }
  }
  if (!code.empty() && (code[0] == '<' || code[0] == '|' || code[0] == '=')) code.remove_prefix(1);
  int64_t size;
  if (code.size() < 2 ||
      !absl::SimpleAtoi(absl::string_view(code.data() + 1, code.size() - 1), &size) || size < 1 ||
      static_cast<uint64_t>(size) != bytes.size()) {
    return Damaged("a numpy scalar whose size does not fit its type");
  }
  if (code[0] == 'b') return PushId(bytes[0] != 0 ? 2 : 1);
  if (code[0] == 'i' && size <= 8) return PushLongBytes(bytes);
  if (code[0] == 'u' && size <= 8) {
    if (size == 8 && static_cast<int8_t>(bytes.back()) < 0) {
      return Push(Pickle::MakeNumber(ValueKind::kBigInt, 0));
    }
    uint64_t value = 0;
    for (size_t i = bytes.size(); i > 0; --i)
      value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
    return PushInt(static_cast<int64_t>(value));
  }
  if (code == "f8" || code == "f4") {
    double value;
    if (size == 8) {
      std::memcpy(&value, bytes.data(), 8);
    } else {
      float single;
      std::memcpy(&single, bytes.data(), 4);
      value = single;
    }
    return Push(Pickle::MakeNumber(ValueKind::kFloat, std::bit_cast<uint64_t>(value)));
  }
  return MakeObject(kNoValue, arguments);
}

bool PickleDecoder::PushDecimal(std::string_view text) {
  if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
  int64_t value;
  if (absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &value)) return PushInt(value);
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == '-') digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return Damaged("its operand is no integer");
  }
  return Push(Pickle::MakeNumber(ValueKind::kBigInt, 0));
}

bool PickleDecoder::PushFloatText(std::string_view text) {
  double value;
  if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &value)) {
    return Damaged("its operand is no number");
  }
  return Push(Pickle::MakeNumber(ValueKind::kFloat, std::bit_cast<uint64_t>(value)));
}

bool PickleDecoder::TextOpcode(Opcode op) {
  std::string_view line, second;
  if (!Line(&line)) return false;
  switch (op) {
    case Opcode::kINT:
      if (line == "00" || line == "01") return PushId(line == "01" ? 2 : 1);
      return PushDecimal(line);
    case Opcode::kLONG:
      return PushDecimal(line);
    case Opcode::kFLOAT:
      return PushFloatText(line);
    case Opcode::kGET:
    case Opcode::kPUT: {
      uint64_t index;
      if (!absl::SimpleAtoi(absl::string_view(line.data(), line.size()), &index)) {
        return Damaged("its operand is no memo entry");
      }
      return op == Opcode::kGET ? Get(index) : Put(index);
    }
    case Opcode::kSTRING:
    case Opcode::kUNICODE: {
      const bool quoted = op == Opcode::kSTRING;
      if (quoted) {
        if (line.size() < 2 || (line[0] != '\'' && line[0] != '"') || line.back() != line[0]) {
          return Damaged("its operand has no quotes");
        }
        line = line.substr(1, line.size() - 2);
      }
      const bool plain = std::all_of(line.begin(), line.end(),
                                     [](unsigned char c) { return c < 0x80 && c != '\\'; });
      if (plain) return PushString(line);
      std::string text;
      if (!Unescape(line, quoted, &text)) return Damaged("a bad escape");
      return PushUnescaped(std::move(text));
    }
    case Opcode::kGLOBAL:
      return Line(&second) && Global(line, second);
    case Opcode::kINST: {
      size_t height = 0;
      ValueId arguments = kNoValue, cls = kNoValue;
      return Line(&second) && PopMark(&height) && PushContainer(ValueKind::kTuple, height) &&
             Pop(&arguments) && Global(line, second) && Pop(&cls) && MakeObject(cls, arguments);
    }
    default:
      return Damaged("no instruction of the pickle machine");
  }
}

}  // namespace planproof::frontend::nnscaler
