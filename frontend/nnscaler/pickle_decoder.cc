#include "frontend/nnscaler/pickle_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::frontend::nnscaler {
namespace {

// Without overlong forms, surrogates and what lies beyond U+10FFFF. Names go into reports and plan
// files, which hold Unicode.
bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (more > 0 && (first < 0xc2 || first > 0xf4)) return false;
    if (text.size() - i <= static_cast<size_t>(more)) return false;
    for (int k = 1; k <= more; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + k]);
      const int lowest = k > 1 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
      const int highest = k > 1 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
      if (byte < lowest || byte > highest) return false;
    }
    i += more + 1;
  }
  return true;
}

constexpr ValueId kNoneId = 0, kFalseId = 1, kTrueId = 2, kSmallIntBase = 3;
constexpr int64_t kSmallInts = 256;

}  // namespace

PickleDecoder::PickleDecoder(std::string bytes, const PickleLimits& limits) : limits_(limits) {
  out_.bytes_ = std::make_unique<const std::string>(std::move(bytes));
  in_ = *out_.bytes_;
  out_.values_.resize(kSmallIntBase + kSmallInts);
  out_.values_[kFalseId] = Pickle::MakeNumber(ValueKind::kBool, 0);
  out_.values_[kTrueId] = Pickle::MakeNumber(ValueKind::kBool, 1);
  for (int64_t i = 0; i < kSmallInts; ++i) {
    out_.values_[kSmallIntBase + i] = Pickle::MakeNumber(ValueKind::kInt, i);
  }
}

absl::StatusOr<Pickle> PickleDecoder::Run() {
  if (static_cast<int64_t>(in_.size()) > limits_.max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("pickle of ", in_.size(), " bytes, the limit is ", limits_.max_bytes));
  }
  if (in_.empty()) return absl::DataLossError("empty file where a pickle is expected");
  while (Step()) {
  }
  if (!status_.ok()) return status_;
  return std::move(out_);
}

bool PickleDecoder::Fail(absl::StatusCode code, std::string_view what) {
  const uint8_t byte = start_ < in_.size() ? static_cast<uint8_t>(in_[start_]) : 0;
  const char* name = start_ < in_.size() ? OpcodeName(byte) : "end of file";
  const char* remedy = code == absl::StatusCode::kResourceExhausted
                           ? ""
                           : "; the file is damaged or no pickle: write it again";
  if (code == absl::StatusCode::kUnimplemented) remedy = "; pickle the plan without it";
  status_ = absl::Status(
      code, absl::StrCat("pickle, byte ", start_, ", opcode ",
                         name != nullptr ? std::string(name)
                                         : absl::StrCat("0x", absl::Hex(byte, absl::kZeroPad2)),
                         ": ", absl::string_view(what.data(), what.size()), remedy));
  return false;
}

bool PickleDecoder::Have(uint64_t bytes) {
  if (bytes <= in_.size() - pos_) return true;
  return Fail(absl::StatusCode::kDataLoss,
              absl::StrCat("needs ", bytes, " more bytes, the file has ", in_.size() - pos_));
}

bool PickleDecoder::Number(int bytes, uint64_t* out) {
  if (!Have(bytes)) return false;
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(in_[pos_ + i])) << (8 * i);
  }
  pos_ += bytes;
  *out = value;
  return true;
}

bool PickleDecoder::Block(uint64_t length, std::string_view* out) {
  if (!Have(length)) return false;
  *out = in_.substr(pos_, length);
  pos_ += length;
  return true;
}

bool PickleDecoder::SizedBlock(int length_bytes, std::string_view* out) {
  uint64_t length;
  return Number(length_bytes, &length) && Block(length, out);
}

bool PickleDecoder::Line(std::string_view* out) {
  const size_t end = in_.find('\n', pos_);
  if (end == std::string_view::npos) {
    return Fail(absl::StatusCode::kDataLoss, "the line it needs does not end");
  }
  *out = in_.substr(pos_, end - pos_);
  pos_ = end + 1;
  return true;
}

bool PickleDecoder::PushId(ValueId id) {
  stack_.push_back(id);
  return true;
}

bool PickleDecoder::Push(const Value& value) {
  if (static_cast<int64_t>(out_.values_.size()) >= limits_.max_values) {
    return Fail(absl::StatusCode::kResourceExhausted,
                absl::StrCat("more than ", limits_.max_values, " values"));
  }
  out_.values_.push_back(value);
  return PushId(static_cast<ValueId>(out_.values_.size() - 1));
}

bool PickleDecoder::Pop(ValueId* out) {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) return Damaged("the stack has no value for it");
  *out = stack_.back();
  stack_.pop_back();
  return true;
}

bool PickleDecoder::PopMark(size_t* height) {
  if (marks_.empty()) return Damaged("no MARK precedes it");
  *height = marks_.back();
  marks_.pop_back();
  return true;
}

bool PickleDecoder::PushInt(int64_t value) {
  if (value >= 0 && value < kSmallInts) return PushId(static_cast<ValueId>(kSmallIntBase + value));
  return Push(Pickle::MakeNumber(ValueKind::kInt, static_cast<uint64_t>(value)));
}

Symbol PickleDecoder::Intern(std::string_view text) {
  const auto [it, inserted] =
      out_.symbol_ids_.try_emplace(text, static_cast<Symbol>(out_.symbols_.size()));
  if (inserted) out_.symbols_.push_back(text);
  return it->second;
}

bool PickleDecoder::CheckText(std::string_view text) {
  return IsUtf8(text) || Damaged("a text that is not UTF-8");
}

bool PickleDecoder::PushString(std::string_view text) {
  if (!CheckText(text)) return false;
  Value value;
  value.kind = ValueKind::kString;
  value.ref.b = Intern(text);
  return Push(value);
}

bool PickleDecoder::PushUnescaped(std::string text) {
  out_.unescaped_.push_back(std::make_unique<const std::string>(std::move(text)));
  return PushString(*out_.unescaped_.back());
}

bool PickleDecoder::PushBytes(std::string_view bytes) {
  Value value;
  value.kind = ValueKind::kBytes;
  value.ref.a = static_cast<uint32_t>(bytes.data() - in_.data());
  value.ref.b = static_cast<uint32_t>(bytes.size());
  return Push(value);
}

bool PickleDecoder::PushLongBytes(std::string_view bytes) {
  if (bytes.empty()) return PushInt(0);
  if (bytes.size() > 8) return Push(Pickle::MakeNumber(ValueKind::kBigInt, 0));
  uint64_t value = static_cast<int8_t>(bytes.back()) < 0 ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  }
  return PushInt(static_cast<int64_t>(value));
}

bool PickleDecoder::PushContainer(ValueKind kind, size_t height) {
  Value value;
  value.kind = kind;
  const size_t count = stack_.size() - height;
  if (kind == ValueKind::kDict && count % 2 != 0) return Damaged("a key without a value");
  value.ref.a = static_cast<uint32_t>(out_.items_.size());
  value.ref.b = value.ref.c = static_cast<uint32_t>(count);
  if (out_.items_.size() + count > 0x7fffffff) {
    return Fail(absl::StatusCode::kResourceExhausted, "too many container elements");
  }
  out_.items_.insert(out_.items_.end(), stack_.begin() + height, stack_.end());
  stack_.resize(height);
  return Push(value);
}

bool PickleDecoder::Extend(ValueId id, size_t height) {
  Value& value = out_.values_[id];
  const uint32_t more = static_cast<uint32_t>(stack_.size() - height);
  switch (value.kind) {
    case ValueKind::kList:
    case ValueKind::kSet:
      break;
    case ValueKind::kDict:
      if (more % 2 != 0) return Damaged("a key without a value");
      break;
    case ValueKind::kObject:  // a subclass of a container: its elements are not kept
      stack_.resize(height);
      return true;
    default:
      return Damaged(absl::StrCat("cannot add elements to a ", ValueKindName(value.kind)));
  }
  const uint64_t count = uint64_t{value.ref.b} + more;
  std::vector<ValueId>& items = out_.items_;
  if (count > value.ref.c) {
    const bool at_end = value.ref.a + uint64_t{value.ref.c} == items.size();
    const uint64_t room = at_end || value.ref.b == 0 ? count : 2 * count;
    const uint64_t start = at_end ? value.ref.a : items.size();
    if (start + room > 0x7fffffff) {
      return Fail(absl::StatusCode::kResourceExhausted, "too many container elements");
    }
    items.resize(start + room, kNoValue);
    if (!at_end) {
      std::copy(items.begin() + value.ref.a, items.begin() + value.ref.a + value.ref.b,
                items.begin() + start);
    }
    value.ref.a = static_cast<uint32_t>(start);
    value.ref.c = static_cast<uint32_t>(room);
  }
  std::copy(stack_.begin() + height, stack_.end(), items.begin() + value.ref.a + value.ref.b);
  value.ref.b = static_cast<uint32_t>(count);
  stack_.resize(height);
  return true;
}

bool PickleDecoder::Put(uint64_t index) {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) return Damaged("the stack has no value for it");
  if (index >= in_.size()) {
    return Damaged(absl::StrCat("memo entry ", index, " of a file of ", in_.size(), " bytes"));
  }
  if (index >= memo_.size()) memo_.resize(index + 1, kNoValue);
  memo_[index] = stack_.back();
  return true;
}

bool PickleDecoder::Get(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kNoValue) {
    return Damaged(absl::StrCat("memo entry ", index, " was never stored"));
  }
  return PushId(memo_[index]);
}

bool PickleDecoder::Step() {
  start_ = pos_;
  if (pos_ >= in_.size()) {
    return Fail(absl::StatusCode::kDataLoss, "the pickle ends without STOP");
  }
  const Opcode op = static_cast<Opcode>(in_[pos_++]);
  uint64_t n = 0;
  std::string_view block;
  ValueId id = kNoValue;
  switch (op) {
    case Opcode::kBINGET:
      return Number(1, &n) && Get(n);
    case Opcode::kLONG_BINGET:
      return Number(4, &n) && Get(n);
    case Opcode::kMEMOIZE:
      return Put(memo_.size());
    case Opcode::kBINPUT:
      return Number(1, &n) && Put(n);
    case Opcode::kLONG_BINPUT:
      return Number(4, &n) && Put(n);
    case Opcode::kMARK:
      marks_.push_back(stack_.size());
      return true;
    case Opcode::kNONE:
      return PushId(kNoneId);
    case Opcode::kNEWTRUE:
      return PushId(kTrueId);
    case Opcode::kNEWFALSE:
      return PushId(kFalseId);
    case Opcode::kBININT:
      return Number(4, &n) && PushInt(static_cast<int32_t>(n));
    case Opcode::kBININT1:
      return Number(1, &n) && PushInt(static_cast<int64_t>(n));
    case Opcode::kBININT2:
      return Number(2, &n) && PushInt(static_cast<int64_t>(n));
    case Opcode::kLONG1:
      return SizedBlock(1, &block) && PushLongBytes(block);
    case Opcode::kLONG4:
      return SizedBlock(4, &block) && PushLongBytes(block);
    case Opcode::kBINFLOAT: {
      if (!Block(8, &block)) return false;
      uint64_t bits = 0;
      for (char c : block) bits = bits << 8 | static_cast<uint8_t>(c);
      return Push(Pickle::MakeNumber(ValueKind::kFloat, bits));
    }
    case Opcode::kSHORT_BINUNICODE:
    case Opcode::kSHORT_BINSTRING:
      return SizedBlock(1, &block) && PushString(block);
    case Opcode::kBINUNICODE:
    case Opcode::kBINSTRING:
      return SizedBlock(4, &block) && PushString(block);
    case Opcode::kBINUNICODE8:
      return SizedBlock(8, &block) && PushString(block);
    case Opcode::kSHORT_BINBYTES:
      return SizedBlock(1, &block) && PushBytes(block);
    case Opcode::kBINBYTES:
      return SizedBlock(4, &block) && PushBytes(block);
    case Opcode::kBINBYTES8:
    case Opcode::kBYTEARRAY8:
      return SizedBlock(8, &block) && PushBytes(block);
    case Opcode::kPROTO:
      if (!Number(1, &n)) return false;
      return n <= 5 || Fail(absl::StatusCode::kUnimplemented, absl::StrCat("protocol ", n));
    case Opcode::kFRAME:
      return Number(8, &n);  // framing only helps buffered readers
    case Opcode::kPOP:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return true;
      }
      return Pop(&id);
    case Opcode::kSTOP:
      if (!marks_.empty()) return Damaged("an open MARK at the end");
      if (stack_.size() != 1) {
        return Damaged(absl::StrCat("the stack has ", stack_.size(), " values, not 1, at the end"));
      }
      out_.root_ = stack_.back();
      stopped_ = true;
      return false;
    case Opcode::kREDUCE:
      return Reduce();
    case Opcode::kNEWOBJ:
      return NewObject(false);
    case Opcode::kNEWOBJ_EX:
      return NewObject(true);
    case Opcode::kBUILD:
      return Build();
    case Opcode::kPERSID:
    case Opcode::kBINPERSID:
    case Opcode::kEXT1:
    case Opcode::kEXT2:
    case Opcode::kEXT4:
    case Opcode::kNEXT_BUFFER:
    case Opcode::kREADONLY_BUFFER:
      return Fail(absl::StatusCode::kUnimplemented, "refers to data outside of the file");
    case Opcode::kINT:
    case Opcode::kLONG:
    case Opcode::kFLOAT:
    case Opcode::kSTRING:
    case Opcode::kUNICODE:
    case Opcode::kGET:
    case Opcode::kPUT:
    case Opcode::kGLOBAL:
    case Opcode::kINST:
      return TextOpcode(op);
    default:
      return ContainerOpcode(op);
  }
}

bool PickleDecoder::ContainerOpcode(Opcode op) {
  size_t height = 0;
  ValueId id = kNoValue, container = kNoValue;
  switch (op) {
    case Opcode::kEMPTY_TUPLE:
      return PushContainer(ValueKind::kTuple, stack_.size());
    case Opcode::kEMPTY_LIST:
      return PushContainer(ValueKind::kList, stack_.size());
    case Opcode::kEMPTY_DICT:
      return PushContainer(ValueKind::kDict, stack_.size());
    case Opcode::kEMPTY_SET:
      return PushContainer(ValueKind::kSet, stack_.size());
    case Opcode::kTUPLE:
      return PopMark(&height) && PushContainer(ValueKind::kTuple, height);
    case Opcode::kLIST:
      return PopMark(&height) && PushContainer(ValueKind::kList, height);
    case Opcode::kDICT:
      return PopMark(&height) && PushContainer(ValueKind::kDict, height);
    case Opcode::kFROZENSET:
      return PopMark(&height) && PushContainer(ValueKind::kSet, height);
    case Opcode::kTUPLE1:
    case Opcode::kTUPLE2:
    case Opcode::kTUPLE3: {
      const size_t count = static_cast<uint8_t>(op) - static_cast<uint8_t>(Opcode::kTUPLE1) + 1;
      const size_t floor = marks_.empty() ? 0 : marks_.back();
      if (stack_.size() < floor + count) return Damaged("the stack has no value for it");
      return PushContainer(ValueKind::kTuple, stack_.size() - count);
    }
    case Opcode::kAPPENDS:
    case Opcode::kSETITEMS:
    case Opcode::kADDITEMS: {
      if (!PopMark(&height)) return false;
      const size_t floor = marks_.empty() ? 0 : marks_.back();
      if (height <= floor) return Damaged("no container precedes the MARK");
      return Extend(stack_[height - 1], height);
    }
    case Opcode::kAPPEND:
    case Opcode::kSETITEM: {
      const size_t count = op == Opcode::kAPPEND ? 1 : 2;
      const size_t floor = marks_.empty() ? 0 : marks_.back();
      if (stack_.size() < floor + count + 1) return Damaged("the stack has no value for it");
      height = stack_.size() - count;
      return Extend(stack_[height - 1], height);
    }
    case Opcode::kPOP_MARK:
      if (!PopMark(&height)) return false;
      stack_.resize(height);
      return true;
    case Opcode::kDUP:
      return Pop(&id) && PushId(id) && PushId(id);
    case Opcode::kOBJ:
      if (!PopMark(&height)) return false;
      if (stack_.size() <= height) return Damaged("no class follows the MARK");
      id = stack_[height];
      stack_.erase(stack_.begin() + height);
      return PushContainer(ValueKind::kTuple, height) && Pop(&container) &&
             MakeObject(id, container);
    case Opcode::kSTACK_GLOBAL:
      if (!Pop(&id) || !Pop(&container)) return false;
      if (!out_.Is(id, ValueKind::kString) || !out_.Is(container, ValueKind::kString)) {
        return Damaged("module and name must be strings");
      }
      return Global(out_.Text(container), out_.Text(id));
    default:
      return Damaged("no instruction of the pickle machine");
  }
}

absl::StatusOr<Pickle> Pickle::Decode(std::string bytes, const PickleLimits& limits) {
  return PickleDecoder(std::move(bytes), limits).Run();
}

}  // namespace planproof::frontend::nnscaler
