#include "monitor/proved/program_file.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::monitor {
namespace {

using Kind = ProgramToken::Kind;

constexpr size_t kMostProgramRanks = 1 << 16;
constexpr size_t kMostProgramDims = 17;
constexpr size_t kMostProgramOperators = 4'000'000;
constexpr int kMostTokenDepth = 8;

constexpr MonitorWord<MemoryRole> kMemoryRoleWords[] = {{MemoryRole::kNone, ""},
                                                        {MemoryRole::kParameter, "parameter"},
                                                        {MemoryRole::kState, "state"},
                                                        {MemoryRole::kData, "data"}};
constexpr MonitorWord<OperatorKind> kOperatorKindWords[] = {
    {OperatorKind::kComputes, ""},     {OperatorKind::kCollective, "collective"},
    {OperatorKind::kCopies, "copies"}, {OperatorKind::kDraws, "draws"},
    {OperatorKind::kMakes, "makes"},   {OperatorKind::kClears, "clears"}};

class ProgramWriter {
 public:
  MonitorJson Write(const std::vector<RankProgram>& programs) {
    MonitorJson ranks = MonitorJson::array();
    for (const RankProgram& program : programs) ranks.push_back(Rank(program));
    return {{"texts", texts_}, {"ranks", std::move(ranks)}};
  }

 private:
  size_t Number(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, numbers_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }

  MonitorJson Rank(const RankProgram& program) {
    MonitorJson memory = MonitorJson::array(), tensors = MonitorJson::array(),
                operators = MonitorJson::array();
    for (const ProgramMemory& each : program.memory) {
      memory.push_back({MonitorTextOf(kMemoryRoleWords, each.role), Number(each.name)});
    }
    for (const ProgramTensor& each : program.tensors) {
      MonitorJson entry = MonitorJson::array();
      entry.push_back(each.memory);
      entry.push_back(Number(each.dtype));
      entry.push_back(each.offset);
      entry.push_back(each.shape);
      entry.push_back(each.strides);
      tensors.push_back(std::move(entry));
    }
    for (const ProgramOperator& each : program.operators) operators.push_back(Operator(each));
    return {{"rank", program.rank},          {"memory", std::move(memory)},
            {"tensors", std::move(tensors)}, {"operators", std::move(operators)},
            {"updated", program.updated},    {"sizes_by_data", program.sizes_by_data}};
  }

  MonitorJson Operator(const ProgramOperator& op) {
    MonitorJson entry = MonitorJson::array();
    entry.push_back(MonitorTextOf(kOperatorKindWords, op.kind));
    entry.push_back(Number(op.name));
    entry.push_back(Arguments(op.arguments));
    entry.push_back(op.results);
    entry.push_back(op.writes);
    entry.push_back(op.group);
    entry.push_back(Number(op.source));
    entry.push_back(Number(op.module));
    return entry;
  }

  static MonitorJson Arguments(const std::vector<ProgramToken>& tokens) {
    std::vector<MonitorJson> open = {MonitorJson::array()};
    for (const ProgramToken& token : tokens) {
      if (token.kind == Kind::kOpen) {
        open.emplace_back(MonitorJson::array());
      } else if (token.kind == Kind::kClose) {
        MonitorJson list = std::move(open.back());
        open.pop_back();
        open.back().push_back(std::move(list));
      } else {
        open.back().push_back(Token(token));
      }
    }
    return std::move(open.front());
  }

  static MonitorJson Token(const ProgramToken& token) {
    switch (token.kind) {
      case Kind::kTruth:
        return token.whole != 0;
      case Kind::kWhole:
        return token.whole;
      case Kind::kReal:
        return token.real;
      case Kind::kText:
        return token.text;
      case Kind::kTensor:
        return {{"tensor", token.whole}};
      case Kind::kNumber:
        return MonitorJson::object();
      case Kind::kNothing:
      case Kind::kOpen:
      case Kind::kClose:
        return nullptr;
    }
    return nullptr;
  }

  std::vector<std::string> texts_;
  std::map<std::string, size_t> numbers_;
};

class ProgramReader {
 public:
  absl::Status ReadTexts(const MonitorValue& value) {
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, value.List());
    for (const MonitorValue& text : list) {
      PLAN_ASSIGN_OR_RETURN(texts_.emplace_back(), text.Text());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RankProgram> ReadRank(const MonitorValue& value) {
    PLAN_RETURN_IF_ERROR(
        value.Allow({"rank", "memory", "tensors", "operators", "updated", "sizes_by_data"}));
    RankProgram program;
    PLAN_ASSIGN_OR_RETURN(const MonitorValue rank, value.At("rank"));
    PLAN_ASSIGN_OR_RETURN(program.rank, rank.Whole(0, kMostProgramRanks));
    PLAN_RETURN_IF_ERROR(ReadMemory(value, &program));
    PLAN_RETURN_IF_ERROR(ReadTensors(value, &program));
    PLAN_ASSIGN_OR_RETURN(const MonitorValue operators, value.At("operators"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list,
                          operators.List(kMostProgramOperators));
    for (const MonitorValue& each : list) {
      PLAN_ASSIGN_OR_RETURN(program.operators.emplace_back(), ReadOperator(each, program));
    }
    PLAN_ASSIGN_OR_RETURN(const MonitorValue updated, value.At("updated"));
    PLAN_ASSIGN_OR_RETURN(program.updated, Positions(updated, program.memory.size()));
    PLAN_ASSIGN_OR_RETURN(const MonitorValue by_data, value.At("sizes_by_data"));
    PLAN_ASSIGN_OR_RETURN(program.sizes_by_data, by_data.Truth());
    return program;
  }

 private:
  static absl::StatusOr<std::vector<int32_t>> Positions(const MonitorValue& value, size_t count) {
    return value.Numbers<int32_t>(static_cast<int64_t>(count) - 1, kMostMonitorEntries);
  }

  absl::StatusOr<std::string> TextAt(const MonitorValue& value) const {
    PLAN_ASSIGN_OR_RETURN(const int64_t number,
                          value.Whole(0, static_cast<int64_t>(texts_.size()) - 1));
    return texts_[number];
  }

  static absl::StatusOr<std::vector<MonitorValue>> Entry(const MonitorValue& value, size_t size) {
    PLAN_ASSIGN_OR_RETURN(std::vector<MonitorValue> list, value.List(size));
    if (list.size() != size) return value.Error(absl::StrCat("has not ", size, " entries"));
    return list;
  }

  absl::Status ReadMemory(const MonitorValue& value, RankProgram* program) const {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue memory, value.At("memory"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, memory.List());
    for (const MonitorValue& each : list) {
      PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> pair, Entry(each, 2));
      ProgramMemory& own = program->memory.emplace_back();
      PLAN_ASSIGN_OR_RETURN(own.role, pair[0].OneOf(kMemoryRoleWords));
      PLAN_ASSIGN_OR_RETURN(own.name, TextAt(pair[1]));
    }
    return absl::OkStatus();
  }

  absl::Status ReadTensors(const MonitorValue& value, RankProgram* program) const {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue tensors, value.At("tensors"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, tensors.List());
    for (const MonitorValue& each : list) {
      PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> entry, Entry(each, 5));
      ProgramTensor& own = program->tensors.emplace_back();
      PLAN_ASSIGN_OR_RETURN(own.memory,
                            entry[0].Whole(0, static_cast<int64_t>(program->memory.size()) - 1));
      PLAN_ASSIGN_OR_RETURN(own.dtype, TextAt(entry[1]));
      PLAN_ASSIGN_OR_RETURN(own.offset, entry[2].Whole(0, kMostMonitorNumber));
      PLAN_ASSIGN_OR_RETURN(own.shape,
                            entry[3].Numbers<int64_t>(kMostMonitorNumber, kMostProgramDims));
      PLAN_ASSIGN_OR_RETURN(own.strides,
                            entry[4].Numbers<int64_t>(kMostMonitorNumber, kMostProgramDims));
      if (own.shape.size() != own.strides.size())
        return each.Error("has not a stride per dimension");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ProgramOperator> ReadOperator(const MonitorValue& value,
                                               const RankProgram& program) const {
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> entry, Entry(value, 8));
    ProgramOperator op;
    PLAN_ASSIGN_OR_RETURN(op.kind, entry[0].OneOf(kOperatorKindWords));
    PLAN_ASSIGN_OR_RETURN(op.name, TextAt(entry[1]));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> arguments, entry[2].List());
    for (const MonitorValue& argument : arguments) {
      PLAN_RETURN_IF_ERROR(ReadToken(argument, program, 0, &op.arguments));
    }
    const size_t tensors = program.tensors.size();
    PLAN_ASSIGN_OR_RETURN(op.results, Positions(entry[3], tensors));
    PLAN_ASSIGN_OR_RETURN(op.writes, Positions(entry[4], tensors));
    PLAN_ASSIGN_OR_RETURN(op.group, Positions(entry[5], kMostProgramRanks));
    PLAN_ASSIGN_OR_RETURN(op.source, TextAt(entry[6]));
    PLAN_ASSIGN_OR_RETURN(op.module, TextAt(entry[7]));
    return op;
  }

  static absl::Status ReadToken(const MonitorValue& value, const RankProgram& program, int depth,
                                std::vector<ProgramToken>* tokens) {
    const MonitorJson& json = value.json();
    if (json.is_array()) {
      if (depth >= kMostTokenDepth) return value.Error("is nested too deep");
      PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, value.List());
      tokens->push_back({.kind = Kind::kOpen});
      for (const MonitorValue& each : list) {
        PLAN_RETURN_IF_ERROR(ReadToken(each, program, depth + 1, tokens));
      }
      tokens->push_back({.kind = Kind::kClose});
      return absl::OkStatus();
    }
    ProgramToken& token = tokens->emplace_back();
    if (json.is_null()) return absl::OkStatus();
    if (json.is_boolean()) {
      token.kind = Kind::kTruth;
      token.whole = json.get<bool>() ? 1 : 0;
    } else if (json.is_number_integer()) {
      token.kind = Kind::kWhole;
      token.whole = json.get<int64_t>();
    } else if (json.is_number()) {
      token.kind = Kind::kReal;
      token.real = json.get<double>();
    } else if (json.is_string()) {
      token.kind = Kind::kText;
      PLAN_ASSIGN_OR_RETURN(token.text, value.Text());
    } else {
      return ReadTensorToken(value, program, &token);
    }
    return absl::OkStatus();
  }

  static absl::Status ReadTensorToken(const MonitorValue& value, const RankProgram& program,
                                      ProgramToken* token) {
    PLAN_RETURN_IF_ERROR(value.Allow({"tensor"}));
    token->kind = Kind::kNumber;
    if (!value.Has("tensor")) return absl::OkStatus();
    token->kind = Kind::kTensor;
    PLAN_ASSIGN_OR_RETURN(const MonitorValue tensor, value.At("tensor"));
    PLAN_ASSIGN_OR_RETURN(token->whole,
                          tensor.Whole(0, static_cast<int64_t>(program.tensors.size()) - 1));
    return absl::OkStatus();
  }

  std::vector<std::string> texts_;
};

}  // namespace

std::string ProgramsToText(const std::vector<RankProgram>& programs) {
  return ProgramWriter().Write(programs).dump(-1, ' ', false,
                                              MonitorJson::error_handler_t::replace);
}

absl::StatusOr<std::vector<RankProgram>> ReadPrograms(const MonitorValue& value) {
  PLAN_RETURN_IF_ERROR(value.Allow({"texts", "ranks"}));
  ProgramReader reader;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue texts, value.At("texts"));
  PLAN_RETURN_IF_ERROR(reader.ReadTexts(texts));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue ranks, value.At("ranks"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, ranks.List(kMostProgramRanks));
  std::vector<RankProgram> programs;
  for (const MonitorValue& each : list) {
    PLAN_ASSIGN_OR_RETURN(programs.emplace_back(), reader.ReadRank(each));
    if (programs.back().rank != static_cast<int32_t>(programs.size()) - 1) {
      return each.Error("is not the program of its rank");
    }
  }
  return programs;
}

}  // namespace planproof::monitor
