#include "frontend/torch/rank_numbers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/torch/program_text.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

template <typename Visit>
void VisitTensors(Value* value, const Visit& visit) {
  if (value->kind == Value::Kind::kTensor) visit(&value->tensor);
  for (Value& item : value->list) VisitTensors(&item, visit);
}

// Every place of the text at which a tensor stands, in order.
void VisitTensors(Trace* trace,
                  const std::function<void(TensorNumber*, const TraceEntry&)>& visit) {
  for (size_t i = 0; i < trace->inputs.size(); ++i) {
    visit(&trace->inputs[i].tensor, {TraceList::kInputs, i});
  }
  for (size_t i = 0; i < trace->operators.size(); ++i) {
    Executed& executed = trace->operators[i];
    const auto each = [&](TensorNumber* tensor) { visit(tensor, {TraceList::kOperators, i}); };
    for (Value& value : executed.args) VisitTensors(&value, each);
    for (auto& [name, value] : executed.kwargs) VisitTensors(&value, each);
    for (Value& value : executed.out) VisitTensors(&value, each);
    for (TensorNumber& tensor : executed.writes) each(&tensor);
    if (!executed.collective) continue;
    for (TensorNumber& tensor : executed.collective->in) each(&tensor);
    for (TensorNumber& tensor : executed.collective->out) each(&tensor);
  }
  for (size_t i = 0; i < trace->results.size(); ++i) {
    visit(&trace->results[i].tensor, {TraceList::kResults, i});
  }
}

// The same of groups. Messages between two ranks are sent in one, too.
void VisitGroups(Trace* trace, const std::function<void(int32_t*, const TraceEntry&)>& visit) {
  for (size_t i = 0; i < trace->operators.size(); ++i) {
    std::optional<Collective>& collective = trace->operators[i].collective;
    if (collective) visit(&collective->group, {TraceList::kOperators, i});
  }
  for (size_t i = 0; i < trace->results.size(); ++i) {
    if (trace->results[i].reduce) visit(&trace->results[i].group, {TraceList::kResults, i});
  }
}

class NumberVisit {
 public:
  explicit NumberVisit(const std::function<int64_t(const RankNumber&)>& change) : change_(change) {}

  void Run(Trace* trace) {
    for (size_t i = 0; i < trace->tensors.size(); ++i) {
      At(TraceList::kTensors, i);
      Change(RankNumberKind::kOffset, &trace->tensors[i].offset);
    }
    for (size_t i = 0; i < trace->groups.size(); ++i) {
      At(TraceList::kGroups, i);
      for (int32_t& rank : trace->groups[i]) Change(RankNumberKind::kRank, &rank);
    }
    for (size_t i = 0; i < trace->inputs.size(); ++i) {
      At(TraceList::kInputs, i);
      Change(&trace->inputs[i].part);
    }
    for (size_t i = 0; i < trace->operators.size(); ++i) {
      At(TraceList::kOperators, i);
      Change(&trace->operators[i]);
    }
    for (size_t i = 0; i < trace->results.size(); ++i) {
      At(TraceList::kResults, i);
      Change(&trace->results[i].part);
    }
  }

 private:
  void At(TraceList list, size_t index) { entry_ = {list, index}; }

  template <typename Integer>
  void Change(RankNumberKind kind, Integer* number) {
    *number = static_cast<Integer>(change_({kind, entry_, *number}));
  }
  void Change(Value* value) {
    if (value->kind == Value::Kind::kInteger) {
      Change(RankNumberKind::kArgument, &value->integer);
      value->real = solver::Rational(value->integer);
    }
    for (Value& item : value->list) Change(&item);
  }
  void Change(Part* part) {
    for (auto& ranges : part->place) {
      for (auto& range : ranges) Change(RankNumberKind::kPlace, &range.first);
    }
    if (part->flat) Change(RankNumberKind::kPlace, &part->flat->first);
  }
  void Change(Executed* executed) {
    for (Value& value : executed->args) Change(&value);
    for (auto& [name, value] : executed->kwargs) Change(&value);
    if (!executed->item) {
      for (Value& value : executed->out) Change(&value);
    }
    if (!executed->collective) return;
    Change(RankNumberKind::kRank, &executed->collective->root);
    Change(RankNumberKind::kRank, &executed->collective->peer);
  }

  const std::function<int64_t(const RankNumber&)>& change_;
  TraceEntry entry_;
};

bool SameButForOffset(const Tensor& a, const Tensor& b) {
  return a.storage == b.storage && a.dtype == b.dtype && a.complex == b.complex &&
         a.shape == b.shape && a.strides == b.strides && a.conjugate == b.conjugate &&
         a.negative == b.negative;
}

// The numbers that places of the text have in all traces, by place.
template <typename Number, typename Visit>
std::vector<std::vector<Number>> Columns(const std::vector<Trace*>& traces, const Visit& visit) {
  std::vector<std::vector<Number>> columns;
  for (Trace* trace : traces) {
    size_t at = 0;
    visit(trace, [&](Number* number, const TraceEntry&) {
      if (at == columns.size()) columns.emplace_back();
      columns[at++].push_back(*number);
    });
  }
  return columns;
}

// Gives each column an entry of its own in the tables of all traces.
template <typename Entry, typename Number, typename Visit>
void Align(const std::vector<Trace*>& traces, const Visit& visit,
           std::vector<Entry> Trace::*table) {
  const std::vector<std::vector<Number>> columns = Columns<Number>(traces, visit);
  std::map<std::vector<Number>, Number> numbers;
  std::vector<std::vector<Number>> kept;
  for (const std::vector<Number>& column : columns) {
    if (numbers.emplace(column, static_cast<Number>(kept.size())).second) kept.push_back(column);
  }
  for (size_t t = 0; t < traces.size(); ++t) {
    std::vector<Entry> entries;
    entries.reserve(kept.size());
    for (const std::vector<Number>& column : kept) {
      entries.push_back((traces[t]->*table)[column[t]]);
    }
    traces[t]->*table = std::move(entries);
    size_t at = 0;
    visit(traces[t], [&](Number* number, const TraceEntry&) { *number = numbers[columns[at++]]; });
  }
}

}  // namespace

std::string PlaceOf(const Trace& trace, const TraceEntry& entry) {
  switch (entry.list) {
    case TraceList::kInputs:
      return absl::StrCat("the input ", trace.inputs[entry.index].name);
    case TraceList::kResults:
      return absl::StrCat("the result ", trace.results[entry.index].name);
    case TraceList::kOperators:
      return OperatorPlace(trace, entry.index);
    default:
      break;
  }
  Trace copy = trace;
  std::string place = "nothing";
  const auto find = [&](const int32_t* number, const TraceEntry& user) {
    if (place == "nothing" && *number == static_cast<int32_t>(entry.index)) {
      place = PlaceOf(trace, user);
    }
  };
  if (entry.list == TraceList::kTensors) {
    VisitTensors(&copy, find);
  } else {
    VisitGroups(&copy, find);
  }
  return place;
}

std::vector<RankNumber> RankNumbersOf(Trace* trace) {
  std::vector<RankNumber> numbers;
  ChangeRankNumbers(trace, [&](const RankNumber& number) {
    numbers.push_back(number);
    return number.value;
  });
  return numbers;
}

void ChangeRankNumbers(Trace* trace, const std::function<int64_t(const RankNumber&)>& change) {
  NumberVisit(change).Run(trace);
}

absl::Status AlignTables(const std::vector<Trace*>& traces) {
  for (const Trace* trace : traces) {
    const std::set<std::vector<int32_t>> different(trace->groups.begin(), trace->groups.end());
    if (different.size() == trace->groups.size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", trace->rank, " has two groups of the same ranks"));
  }
  Align<Tensor, TensorNumber>(
      traces, [](Trace* trace, const auto& visit) { VisitTensors(trace, visit); }, &Trace::tensors);
  Align<std::vector<int32_t>, int32_t>(
      traces, [](Trace* trace, const auto& visit) { VisitGroups(trace, visit); }, &Trace::groups);
  const Trace& first = *traces[0];
  for (const Trace* trace : traces) {
    for (size_t i = 0; i < first.tensors.size(); ++i) {
      if (SameButForOffset(first.tensors[i], trace->tensors[i])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(PlaceOf(first, {TraceList::kTensors, i}), " of rank ", first.rank,
                       " has a tensor of another shape, type or memory on rank ", trace->rank));
    }
    for (size_t i = 0; i < first.groups.size(); ++i) {
      if (first.groups[i].size() == trace->groups[i].size()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(PlaceOf(first, {TraceList::kGroups, i}), ": the group of rank ", first.rank,
                       " has ", first.groups[i].size(), " ranks, that of rank ", trace->rank, " ",
                       trace->groups[i].size()));
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::frontend::torch
