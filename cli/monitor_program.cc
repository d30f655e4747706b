#include "cli/monitor_program.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/torch/trace.h"
#include "sdfg/status_macros.h"
#include "sdfg/types.h"

namespace planproof::cli {
namespace {

using frontend::torch::Collective;
using frontend::torch::Executed;
using frontend::torch::Trace;
using frontend::torch::Value;
using monitor::OperatorKind;
using monitor::ProgramToken;
using Kind = ProgramToken::Kind;

constexpr char kPhaseBetween[] = "between";
constexpr char kAuditSuffix[] = ".trace";
// A directory that was written to a moment ago may be again, within the resolution of its time.
constexpr auto kSettled = std::chrono::seconds(1);

struct OperatorWord {
  const char* name;
  OperatorKind kind;
};
// Their results' sizes depend on elements.
constexpr const char* kSizedByData[] = {
    "aten.nonzero.default",      "aten.masked_select.default",    "aten.unique_dim.default",
    "aten._unique2.default",     "aten.repeat_interleave.Tensor", "aten.unique_consecutive.default",
    "aten.nonzero_numpy.default"};
constexpr OperatorWord kOperatorWords[] = {
    {"aten.clone.default", OperatorKind::kCopies},
    {"aten.copy_.default", OperatorKind::kCopies},
    {"aten.lift_fresh_copy.default", OperatorKind::kCopies},
    {"aten.contiguous.default", OperatorKind::kCopies},
    {"aten.bernoulli.default", OperatorKind::kDraws},
    {"aten.bernoulli.p", OperatorKind::kDraws},
    {"aten.bernoulli_.float", OperatorKind::kDraws},
    {"aten.rand.default", OperatorKind::kDraws},
    {"aten.rand.generator", OperatorKind::kDraws},
    {"aten.rand_like.default", OperatorKind::kDraws},
    {"aten.randn.default", OperatorKind::kDraws},
    {"aten.randn.generator", OperatorKind::kDraws},
    {"aten.randn_like.default", OperatorKind::kDraws},
    {"aten.randint.default", OperatorKind::kDraws},
    {"aten.randint.low", OperatorKind::kDraws},
    {"aten.randint.low_generator", OperatorKind::kDraws},
    {"aten.randint_like.default", OperatorKind::kDraws},
    {"aten.randperm.default", OperatorKind::kDraws},
    {"aten.uniform_.default", OperatorKind::kDraws},
    {"aten.normal_.default", OperatorKind::kDraws},
    {"aten.exponential_.default", OperatorKind::kDraws},
    {"aten.empty.memory_format", OperatorKind::kMakes},
    {"aten.empty_like.default", OperatorKind::kMakes},
    {"aten.empty_strided.default", OperatorKind::kMakes},
    {"aten.new_empty.default", OperatorKind::kMakes},
    {"aten.new_empty_strided.default", OperatorKind::kMakes},
    {"aten.zero_.default", OperatorKind::kClears},
};

OperatorKind OperatorKindOf(const std::string& name) {
  for (const OperatorWord& word : kOperatorWords) {
    if (name == word.name) return word.kind;
  }
  return OperatorKind::kComputes;
}

class ProgramOfOneTrace {
 public:
  explicit ProgramOfOneTrace(const Trace& trace) : trace_(trace) {}

  monitor::RankProgram Make() {
    program_.rank = trace_.rank;
    program_.memory.resize(trace_.storages.size());
    for (const frontend::torch::Tensor& tensor : trace_.tensors) {
      std::string dtype = sdfg::DTypeName(tensor.dtype);
      if (tensor.complex) absl::StrAppend(&dtype, " complex");
      if (tensor.conjugate) absl::StrAppend(&dtype, " conjugate");
      if (tensor.negative) absl::StrAppend(&dtype, " negative");
      program_.tensors.push_back(
          {tensor.storage, std::move(dtype), tensor.offset, tensor.shape, tensor.strides});
    }
    for (const frontend::torch::Input& input : trace_.inputs) Name(input);
    for (const frontend::torch::TraceResult& result : trace_.results) {
      if (result.kind != frontend::torch::ResultKind::kUpdated) continue;
      program_.updated.push_back(trace_.tensors[result.tensor].storage);
    }
    for (const Executed& executed : trace_.operators) {
      if (!executed.wait) Add(executed);
    }
    return std::move(program_);
  }

 private:
  void Name(const frontend::torch::Input& input) {
    monitor::ProgramMemory& memory = program_.memory[trace_.tensors[input.tensor].storage];
    switch (input.role) {
      case frontend::torch::InputRole::kParameter:
      case frontend::torch::InputRole::kBuffer:
        memory.role = monitor::MemoryRole::kParameter;
        break;
      case frontend::torch::InputRole::kState:
        memory.role = monitor::MemoryRole::kState;
        break;
      case frontend::torch::InputRole::kInput:
        memory.role = monitor::MemoryRole::kData;
        return;
    }
    if (memory.name.empty()) memory.name = input.name;
  }

  void Add(const Executed& executed) {
    monitor::ProgramOperator& op = program_.operators.emplace_back();
    op.source = executed.source;
    op.module = executed.module;
    op.between = executed.phase == kPhaseBetween;
    if (executed.collective) {
      AddCollective(*executed.collective, &op);
      return;
    }
    op.name = executed.op;
    op.kind = OperatorKindOf(executed.op);
    program_.sizes_by_data = program_.sizes_by_data ||
                             std::any_of(std::begin(kSizedByData), std::end(kSizedByData),
                                         [&](const char* word) { return executed.op == word; }) ||
                             IndexesByTruth(executed);
    for (const Value& value : executed.args) AddTokens(value, &op.arguments);
    for (const auto& [key, value] : executed.kwargs) {
      if (value.kind == Value::Kind::kOther) continue;
      AddText(key, &op.arguments);
      AddTokens(value, &op.arguments);
    }
    for (const Value& value : executed.out) {
      const std::vector<frontend::torch::TensorNumber> tensors = frontend::torch::TensorsIn(value);
      op.results.insert(op.results.end(), tensors.begin(), tensors.end());
    }
    op.writes = executed.writes;
  }

  // `index` with a mask gives as many elements as the mask chooses.
  bool IndexesByTruth(const Executed& executed) const {
    if (executed.op != "aten.index.Tensor" || executed.args.size() < 2) return false;
    const std::vector<frontend::torch::TensorNumber> indices =
        frontend::torch::TensorsIn(executed.args[1]);
    return std::any_of(indices.begin(), indices.end(), [&](frontend::torch::TensorNumber index) {
      return trace_.tensors[index].dtype == sdfg::DType::kBool;
    });
  }

  void AddCollective(const Collective& collective, monitor::ProgramOperator* op) {
    static constexpr std::array<const char*, 4> kReductions = {"sum", "avg", "max", "min"};
    op->name = frontend::torch::CollectiveName(collective.kind);
    op->kind = OperatorKind::kCollective;
    op->group = trace_.groups[collective.group];
    program_.sizes_by_data =
        program_.sizes_by_data || !collective.in_splits.empty() || !collective.out_splits.empty();
    AddText(kReductions.at(static_cast<size_t>(collective.reduce)), &op->arguments);
    if (collective.factor) AddReal(collective.factor->ToDouble(), &op->arguments);
    for (const int64_t number : {int64_t{collective.root}, int64_t{collective.peer}}) {
      op->arguments.push_back({.kind = Kind::kWhole, .whole = number});
    }
    for (const frontend::torch::TensorNumber tensor : collective.in)
      op->arguments.push_back({.kind = Kind::kTensor, .whole = tensor});
    op->results = collective.out;
    const auto is_read = [&](int32_t tensor) {
      return std::find(collective.in.begin(), collective.in.end(), tensor) != collective.in.end();
    };
    std::copy_if(op->results.begin(), op->results.end(), std::back_inserter(op->writes), is_read);
  }

  static void AddText(std::string text, std::vector<ProgramToken>* tokens) {
    tokens->push_back({.kind = Kind::kText, .text = std::move(text)});
  }

  static void AddReal(double number, std::vector<ProgramToken>* tokens) {
    tokens->push_back({.kind = Kind::kReal, .real = number});
  }

  static void AddTokens(const Value& value, std::vector<ProgramToken>* tokens) {
    switch (value.kind) {
      case Value::Kind::kNone:
        tokens->push_back({.kind = Kind::kNothing});
        return;
      case Value::Kind::kBool:
        tokens->push_back({.kind = Kind::kTruth, .whole = value.boolean ? 1 : 0});
        return;
      case Value::Kind::kInteger:
        tokens->push_back({.kind = Kind::kWhole, .whole = value.integer});
        return;
      case Value::Kind::kReal:
        AddReal(value.real.ToDouble(), tokens);
        return;
      case Value::Kind::kInfinite:
        AddText(value.infinity == 0 ? "nan" : value.infinity > 0 ? "inf" : "-inf", tokens);
        return;
      case Value::Kind::kString:
        AddText(value.text, tokens);
        return;
      case Value::Kind::kList:
      case Value::Kind::kComplex:
        tokens->push_back({.kind = Kind::kOpen});
        for (const Value& each : value.list) AddTokens(each, tokens);
        tokens->push_back({.kind = Kind::kClose});
        return;
      case Value::Kind::kTensor:
        tokens->push_back({.kind = Kind::kTensor, .whole = value.tensor});
        return;
      case Value::Kind::kDType:
        AddText(sdfg::DTypeName(value.dtype), tokens);
        return;
      case Value::Kind::kItem:
      case Value::Kind::kComputed:
      case Value::Kind::kMayBe:
        tokens->push_back({.kind = Kind::kNumber});
        return;
      case Value::Kind::kOther:
        tokens->push_back({.kind = Kind::kNothing});
        return;
    }
  }

  const Trace& trace_;
  monitor::RankProgram program_;
};

// rank00003.step000000000012.trace
bool ReadAuditName(const std::string& name, int* rank, int64_t* step) {
  if (!absl::StartsWith(name, "rank") || !absl::EndsWith(name, kAuditSuffix)) return false;
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  return parts.size() == 3 && absl::StartsWith(parts[1], "step") &&
         absl::SimpleAtoi(parts[0].substr(4), rank) && absl::SimpleAtoi(parts[1].substr(4), step) &&
         *rank >= 0 && *step >= 0;
}

class AuditsInDirectory : public monitor::AuditSource {
 public:
  AuditsInDirectory(std::string directory, size_t most_audits)
      : directory_(std::move(directory)), most_audits_(most_audits) {}

  std::vector<std::pair<int64_t, int>> Steps() override {
    std::error_code error;
    const auto changed = std::filesystem::last_write_time(directory_, error);
    if (!error && changed == changed_) return steps_;
    const bool settled = std::filesystem::file_time_type::clock::now() - changed > kSettled;
    changed_ = settled ? changed : std::filesystem::file_time_type::min();
    steps_.clear();
    for (std::filesystem::directory_iterator at(directory_, error), end; !error && at != end;
         at.increment(error)) {
      int rank = 0;
      int64_t step = 0;
      if (ReadAuditName(at->path().filename().string(), &rank, &step) &&
          steps_.size() < most_audits_) {
        steps_.emplace_back(step, rank);
      }
    }
    std::sort(steps_.begin(), steps_.end());
    return steps_;
  }

  absl::StatusOr<monitor::RankProgram> Read(int64_t step, int rank) override {
    const auto padded = [](int64_t number, size_t width) {
      std::string text = absl::StrCat(number);
      return std::string(width - std::min(width, text.size()), '0') + text;
    };
    return ProgramOfTrace(absl::StrCat(directory_, "/rank", padded(rank, 5), ".step",
                                       padded(step, 12), kAuditSuffix));
  }

 private:
  const std::string directory_;
  const size_t most_audits_;
  std::filesystem::file_time_type changed_ = std::filesystem::file_time_type::min();
  std::vector<std::pair<int64_t, int>> steps_;
};

}  // namespace

absl::StatusOr<monitor::RankProgram> ProgramOfTrace(const std::string& path) {
  PLAN_ASSIGN_OR_RETURN(const Trace trace, frontend::torch::ReadTrace(path));
  return ProgramOfOneTrace(trace).Make();
}

absl::StatusOr<std::vector<monitor::RankProgram>> ProgramsOf(const frontend::Recording& recording) {
  std::vector<monitor::RankProgram> programs;
  for (const frontend::RecordedProgram& rank : recording.ranks) {
    if (!rank.given) return std::vector<monitor::RankProgram>();
    PLAN_ASSIGN_OR_RETURN(const monitor::RankProgram whole, ProgramOfTrace(rank.path));
    programs.push_back(monitor::RelevantPart(whole));
  }
  return programs;
}

std::unique_ptr<monitor::AuditSource> AuditsOfRun(const std::string& directory,
                                                  size_t most_audits) {
  return std::make_unique<AuditsInDirectory>(directory, most_audits);
}

}  // namespace planproof::cli
