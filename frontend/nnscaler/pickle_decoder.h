// Implements the stack machine behind Pickle::Decode; internal.
#ifndef PLANPROOF_FRONTEND_NNSCALER_PICKLE_DECODER_H_
#define PLANPROOF_FRONTEND_NNSCALER_PICKLE_DECODER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontend/nnscaler/pickle.h"
#include "frontend/nnscaler/pickle_opcodes.h"

namespace planproof::frontend::nnscaler {

class PickleDecoder {
 public:
  PickleDecoder(std::string bytes, const PickleLimits& limits);
  absl::StatusOr<Pickle> Run();

 private:
  using Value = Pickle::Value;

  // Executes one instruction; false once stopped or failed.
  bool Step();
  bool Fail(absl::StatusCode code, std::string_view what);
  bool Damaged(std::string_view what) { return Fail(absl::StatusCode::kInvalidArgument, what); }

  // Input.
  bool Have(uint64_t bytes);
  bool Number(int bytes, uint64_t* out);  // little-endian, unsigned
  bool Block(uint64_t length, std::string_view* out);
  bool SizedBlock(int length_bytes, std::string_view* out);
  bool Line(std::string_view* out);  // up to a newline, which is consumed

  // Stack.
  bool Push(const Value& value);
  bool PushId(ValueId id);
  bool Pop(ValueId* out);
  bool PopMark(size_t* height);

  // Values.
  bool PushInt(int64_t value);
  bool CheckText(std::string_view text);  // false, and an error, if it is not UTF-8
  bool PushString(std::string_view text);
  bool PushUnescaped(std::string text);
  bool PushBytes(std::string_view bytes);
  bool PushLongBytes(std::string_view little_endian);
  bool PushDecimal(std::string_view text);
  bool PushFloatText(std::string_view text);
  bool PushContainer(ValueKind kind, size_t height);  // from the stack above `height`
  bool Global(std::string_view module, std::string_view name);
  bool Extend(ValueId container, size_t height);  // with the stack above `height`, then cut there
  bool Put(uint64_t index);
  bool Get(uint64_t index);
  bool Reduce();
  bool NewObject(bool keyword_arguments);
  bool Build();
  bool MakeObject(ValueId cls, ValueId arguments);
  bool NumpyScalar(ValueId arguments);
  Symbol Intern(std::string_view text);
  bool IsGlobal(ValueId id, std::string_view module, std::string_view name) const;

  bool TextOpcode(Opcode op);
  bool ContainerOpcode(Opcode op);

  const PickleLimits limits_;
  Pickle out_;
  std::string_view in_;
  size_t pos_ = 0;
  size_t start_ = 0;  // of the current instruction
  bool stopped_ = false;
  absl::Status status_;
  std::vector<ValueId> stack_;
  std::vector<size_t> marks_;
  std::vector<ValueId> memo_;
};

}  // namespace planproof::frontend::nnscaler

#endif  // PLANPROOF_FRONTEND_NNSCALER_PICKLE_DECODER_H_
