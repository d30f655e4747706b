#include "monitor/traincheck/adapter.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace planproof::monitor::traincheck {
namespace {

using learned::kNoSymbol;
using learned::ValueKind;

constexpr size_t kFunctionLimit = size_t{1} << 16;
constexpr size_t kCallDepthLimit = 1024;
constexpr size_t kVariableLimit = size_t{1} << 18;
constexpr size_t kThreadLimit = 4096;
constexpr size_t kValueLength = 64;  // longer texts are no decisions
constexpr std::string_view kInitStage = "init";

bool IsTensor(std::string_view type) {
  return type.ends_with("Tensor") || type.ends_with(".Parameter");
}

}  // namespace

Adapter::Thread& Adapter::ThreadOf(const Record& record) {
  const std::pair<int64_t, int64_t> key(record.process, record.thread);
  const auto found = threads_.find(key);
  if (found != threads_.end()) return found->second;
  if (threads_.size() >= kThreadLimit) return threads_.begin()->second;
  processes_.insert(record.process);
  Thread& thread = threads_[key];
  thread.stream = next_stream_++;
  return thread;
}

const Adapter::Function& Adapter::FunctionOf(std::string_view name) {
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  static const Function kUnknown;
  const Symbol symbol = symbols_->Of(name);
  if (symbol == kNoSymbol || functions_.size() >= kFunctionLimit) return kUnknown;
  Function& function = functions_[symbols_->Text(symbol)];
  function.symbol = symbol;
  function.traits = TraitsOf(name);
  const std::string_view optimizer = OptimizerClassOf(name);
  if (!optimizer.empty()) to_->Part(symbols_->Of(optimizer), true);
  return function;
}

Adapter::Symbol Adapter::StageOf(std::string_view stage) {
  if (stage != stage_text_ || stage_ == kNoSymbol) {
    stage_text_ = std::string(stage);
    stage_ = symbols_->Of(stage);
  }
  return stage_;
}

void Adapter::Take(const Record& record) {
  if (record.type == RecordType::kOther) return;
  Thread& thread = ThreadOf(record);
  to_->Step(thread.stream, record.process, record.step);
  switch (record.type) {
    case RecordType::kCall:
      TakeCall(record, &thread);
      return;
    case RecordType::kReturn:
    case RecordType::kException:
      TakeReturn(record, &thread);
      return;
    case RecordType::kState:
      TakeState(record, &thread);
      return;
    case RecordType::kOther:
      return;
  }
}

void Adapter::EndFile() {
  for (auto& [key, thread] : threads_) to_->End(thread.stream);
  threads_.clear();
}

void Adapter::TakeCall(const Record& record, Thread* thread) {
  const Function& function = FunctionOf(record.function);
  const bool outermost = thread->calls.empty();
  if (thread->calls.size() < kCallDepthLimit) thread->calls.push_back(absl::HashOf(record.call));
  if (record.stage == kInitStage) return;  // what happens once, in an order that may differ
  const Symbol stage = StageOf(record.stage);
  if (outermost) to_->Call(thread->stream, stage, function.symbol, function.traits.role);
  if (function.traits.arguments) {
    TakeArguments(record.arguments, function, stage, thread->stream);
    TakeArguments(record.keywords, function, stage, thread->stream);
  }
  if (function.traits.objects && record.objects.kind == JsonKind::kArray) {
    TakeObjects(record.objects, function, thread->stream);
  }
}

void Adapter::TakeReturn(const Record& record, Thread* thread) {
  const uint64_t call = absl::HashOf(record.call);
  for (size_t i = thread->calls.size(); i-- > 0;) {
    if (thread->calls[i] != call) continue;
    thread->calls.resize(i);
    break;
  }
}

void Adapter::TakeObjects(const JsonValue& objects, const Function& function, int stream) {
  std::vector<Symbol> given;
  JsonCursor cursor(objects);
  std::string_view unused;
  JsonValue pair, name;
  while (cursor.Next(&unused, &pair)) {
    JsonCursor members(pair);
    if (members.Next(&unused, &name) && name.kind == JsonKind::kString)
      given.push_back(symbols_->Of(name.text));
  }
  to_->Given(stream, function.symbol, given);
}

void Adapter::TakeArguments(const JsonValue& arguments, const Function& function, Symbol stage,
                            int stream) {
  JsonCursor cursor(arguments);
  std::string_view key;
  JsonValue typed;
  while (cursor.Next(&key, &typed))
    TakeArgument(typed, absl::StrCat("argument ", std::string(key)), function, stage, stream);
}

void Adapter::TakeArgument(const JsonValue& typed, const std::string& name,
                           const Function& function, Symbol stage, int stream) {
  if (typed.kind != JsonKind::kObject) return;
  JsonCursor cursor(typed);
  std::string_view type;
  JsonValue value;
  if (!cursor.Next(&type, &value)) return;
  if (value.kind == JsonKind::kObject) {
    TakeMembers(value, name, IsTensor(type), function.symbol, stage, stream);
  } else {
    TakeScalar(value, name, function.symbol, stage, stream);
  }
}

void Adapter::TakeMembers(const JsonValue& members, const std::string& name, bool tensor,
                          Symbol subject, Symbol stage, int stream) {
  JsonCursor cursor(members);
  std::string_view key;
  JsonValue value;
  while (cursor.Next(&key, &value)) {
    if (tensor && key != "requires_grad" && key != "dtype") continue;
    if (value.kind == JsonKind::kObject || value.kind == JsonKind::kArray ||
        value.kind == JsonKind::kNull)
      continue;
    TakeScalar(value, absl::StrCat(name, ".", std::string(key)), subject, stage, stream);
  }
}

void Adapter::TakeScalar(const JsonValue& value, const std::string& name, Symbol subject,
                         Symbol stage, int stream) {
  if (value.kind == JsonKind::kObject || value.kind == JsonKind::kArray ||
      value.text.size() > kValueLength)
    return;
  const ValueKind kind = value.kind == JsonKind::kNumber ? ValueKind::kNumber : ValueKind::kCode;
  to_->Attribute(stream, stage, subject, symbols_->Of(name), symbols_->Of(value.text), kind);
}

void Adapter::TakeState(const Record& record, Thread* thread) {
  const Symbol variable = symbols_->Of(record.variable);
  if (variable == kNoSymbol || record.attributes.kind != JsonKind::kObject) return;
  const Symbol stage = StageOf(record.stage);
  JsonCursor cursor(record.attributes);
  std::string_view key;
  JsonValue value, shape, data, gradient;
  while (cursor.Next(&key, &value)) {
    if (key == "requires_grad" || key == "dtype") {
      to_->Attribute(thread->stream, stage, variable, symbols_->Of(key), symbols_->Of(value.text),
                     ValueKind::kCode);
    } else if (key == "shape") {
      shape = value;
    } else if (key == "data") {
      data = value;
    } else if (key == "grad") {
      gradient = value;
    }
  }
  to_->Part(symbols_->Of(absl::StrCat(std::string(record.variable), " ", std::string(shape.text))),
            false);
  int64_t hash = 0, gradient_hash = 0;
  const bool has_gradient = ReadInteger(gradient, &gradient_hash);
  const std::pair<int64_t, Symbol> owner(record.process, variable);
  bool trained = false;
  if (variables_.size() < kVariableLimit || variables_.contains(owner)) {
    Variable& known = variables_[owner];
    trained = has_gradient && known.has_gradient &&
              known.gradient != static_cast<uint64_t>(gradient_hash);
    if (has_gradient) known = {static_cast<uint64_t>(gradient_hash), true};
  }
  if (gradient.kind != JsonKind::kNone) {
    const std::string name = absl::StrCat(
        "gradient at ", record.place.empty() ? "each record" : std::string(record.place));
    to_->Attribute(thread->stream, stage, variable, symbols_->Of(name),
                   symbols_->Of(has_gradient ? "present" : "None"), ValueKind::kCode);
  }
  // Matrices are hashed by their first row alone: that it stays says nothing of the whole.
  const bool hashed_in_full = shape.text.find(',') == std::string_view::npos;
  if (ReadInteger(data, &hash)) {
    to_->Content(thread->stream, variable, static_cast<uint64_t>(hash), trained && hashed_in_full);
  }
}

}  // namespace planproof::monitor::traincheck
