#include "monitor/proved/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace planproof::monitor {
namespace {

using Kind = ProgramToken::Kind;

class ProgramReduction {
 public:
  explicit ProgramReduction(const RankProgram& program)
      : program_(program),
        roles_(program.memory.size()),
        written_(program.memory.size(), false),
        fresh_(program.memory.size(), false) {
    for (size_t k = 0; k < program.memory.size(); ++k) roles_[k] = program.memory[k].role;
  }

  RankProgram Make() {
    const std::vector<bool> live = Live();
    for (size_t k = 0; k < live.size(); ++k) {
      if (live[k]) Take(program_.operators[k]);
    }
    return Renumbered();
  }

 private:
  int32_t MemoryOf(int64_t tensor) const { return program_.tensors[tensor].memory; }

  // Which operators' results reach what is updated. What is written in part stays wanted.
  std::vector<bool> Live() const {
    std::vector<bool> live(program_.operators.size(), false);
    std::vector<bool> wanted(program_.memory.size(), false);
    for (const int32_t memory : program_.updated) wanted[memory] = true;
    for (size_t k = live.size(); k-- > 0;) {
      const ProgramOperator& op = program_.operators[k];
      const auto is_wanted = [&](int32_t tensor) { return wanted[MemoryOf(tensor)]; };
      const bool gives_others = op.kind == OperatorKind::kCollective && op.results.empty();
      live[k] = gives_others || std::any_of(op.results.begin(), op.results.end(), is_wanted) ||
                std::any_of(op.writes.begin(), op.writes.end(), is_wanted);
      if (!live[k]) continue;
      std::set<int32_t> in_place;
      for (const int32_t tensor : op.writes) in_place.insert(MemoryOf(tensor));
      for (const int32_t tensor : op.results) {
        if (!in_place.contains(MemoryOf(tensor))) wanted[MemoryOf(tensor)] = false;
      }
      for (const ProgramToken& token : op.arguments) {
        if (token.kind == Kind::kTensor) wanted[MemoryOf(token.whole)] = true;
      }
    }
    return live;
  }

  // Memory that nothing has written yet and that has no name is data of the iteration: what a
  // constant is and what the batch is differs between a recording and a run.
  bool IsData(int32_t memory) const {
    return roles_[memory] == MemoryRole::kData ||
           (roles_[memory] == MemoryRole::kNone && !written_[memory]);
  }

  bool ReadsDataAlone(const ProgramOperator& op) const {
    return std::all_of(op.arguments.begin(), op.arguments.end(), [&](const ProgramToken& token) {
      return token.kind != Kind::kTensor || IsData(MemoryOf(token.whole)) ||
             fresh_[MemoryOf(token.whole)];
    });
  }

  void Write(const ProgramOperator& op, MemoryRole role, bool fresh) {
    for (const std::vector<int32_t>* list : {&op.results, &op.writes}) {
      for (const int32_t tensor : *list) {
        const int32_t memory = MemoryOf(tensor);
        written_[memory] = true;
        fresh_[memory] = fresh;
        if (roles_[memory] == MemoryRole::kNone || roles_[memory] == MemoryRole::kData) {
          roles_[memory] = role;
        }
      }
    }
  }

  // Draws may be copied from an input in a recording, where a run draws.
  bool CopiesData(const ProgramOperator& op) const {
    std::vector<int32_t> read;
    for (const ProgramToken& token : op.arguments) {
      if (token.kind == Kind::kTensor) read.push_back(MemoryOf(token.whole));
    }
    if (read.empty()) return false;
    const bool in_place = !op.writes.empty();
    if (in_place && read.size() != 2) return false;
    const bool into_new = !in_place || fresh_[read[0]] || IsData(read[0]);
    return into_new && IsData(read.back());
  }

  void Take(const ProgramOperator& op) {
    switch (op.kind) {
      case OperatorKind::kMakes:
        Write(op, MemoryRole::kNone, true);
        return;
      case OperatorKind::kDraws:
        if (ReadsDataAlone(op)) {
          Write(op, MemoryRole::kData, false);
          return;
        }
        break;
      case OperatorKind::kCopies:
        if (CopiesData(op)) {
          Write(op, MemoryRole::kData, false);
          return;
        }
        break;
      case OperatorKind::kClears:
        if (!op.writes.empty() && !written_[MemoryOf(op.writes[0])]) {
          Write(op, MemoryRole::kNone, false);
          return;
        }
        break;
      case OperatorKind::kComputes:
      case OperatorKind::kCollective:
        break;
    }
    const bool data = ReadsDataAlone(op) && op.kind != OperatorKind::kCollective;
    const bool prepares = kept_.empty() && op.module.empty() && data;
    Write(op, data ? MemoryRole::kData : MemoryRole::kNone, false);
    if (!prepares) kept_.push_back(op);
  }

  // Memory and tensors of the operators that are kept alone.
  RankProgram Renumbered() {
    RankProgram own;
    own.rank = program_.rank;
    own.sizes_by_data = program_.sizes_by_data;
    std::map<int32_t, int32_t> memory, tensors;
    const auto memory_number = [&](int32_t number) {
      const auto [at, is_new] = memory.try_emplace(number, own.memory.size());
      if (is_new) own.memory.push_back({roles_[number], program_.memory[number].name});
      return at->second;
    };
    const auto tensor_number = [&](int64_t number) {
      const auto [at, is_new] = tensors.try_emplace(number, own.tensors.size());
      if (is_new) {
        own.tensors.push_back(program_.tensors[number]);
        const int32_t of = memory_number(own.tensors.back().memory);
        own.tensors.back().memory = of;
      }
      return at->second;
    };
    for (ProgramOperator& op : kept_) {
      for (ProgramToken& token : op.arguments) {
        if (token.kind == Kind::kTensor) token.whole = tensor_number(token.whole);
      }
      for (int32_t& tensor : op.results) tensor = tensor_number(tensor);
      for (int32_t& tensor : op.writes) tensor = tensor_number(tensor);
    }
    for (const int32_t number : program_.updated) {
      if (memory.contains(number)) own.updated.push_back(memory[number]);
    }
    own.operators = std::move(kept_);
    return own;
  }

  const RankProgram& program_;
  std::vector<MemoryRole> roles_;  // as the iteration goes on
  std::vector<bool> written_;
  std::vector<bool> fresh_;  // made, and nothing in it yet
  std::vector<ProgramOperator> kept_;
};

}  // namespace

RankProgram RelevantPart(const RankProgram& program) { return ProgramReduction(program).Make(); }

}  // namespace planproof::monitor
