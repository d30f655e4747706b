#include "frontend/torch/aten_operators.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/torch/aten_rows.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

std::vector<std::string> Words(std::string_view text) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty());
  return {parts.begin(), parts.end()};
}

AtenTable& Table() {
  static auto* const table = [] {
    auto* made = new AtenTable;
    AddElementwise(made);
    AddActivations(made);
    AddBitwise(made);
    AddForeach(made);
    AddCreation(made);
    AddReductions(made);
    AddContractions(made);
    AddImages(made);
    AddLogistic(made);
    AddLosses(made);
    AddNeuralNetwork(made);
    AddRearrangement(made);
    AddFullySharded(made);
    AddIndexing(made);
    AddScatter(made);
    AddRouting(made);
    AddMasks(made);
    AddOptimizers(made);
    AddPooling(made);
    AddResampling(made);
    AddStatistics(made);
    AddUninterpreted(made);
    return made;
  }();
  return *table;
}

}  // namespace

std::string AtenBaseName(const std::string& op) {
  std::string base = op;
  const size_t space = base.find('.');
  if (space != std::string::npos) {
    const size_t overload = base.find('.', space + 1);
    if (overload != std::string::npos) base.resize(overload);
  }
  const bool dunder = base.size() > 2 && base.compare(base.size() - 2, 2, "__") == 0;
  if (!dunder && !base.empty() && base.back() == '_') base.pop_back();
  return base;
}

const AtenOperator* FindAtenOperator(const std::string& op) {
  const auto found = Table().operators.find(op);
  const bool known = found != Table().operators.end() && found->second.schema != nullptr;
  return known ? &found->second : nullptr;
}

std::vector<std::string> AtenOverloads() {
  std::vector<std::string> names;
  for (const auto& [name, op] : Table().operators) names.push_back(name);
  return names;
}

void ChangeAtenTable(const std::function<void(AtenTable*)>& change) { change(&Table()); }

void AtenTable::Add(std::string_view names, std::string_view overloads, std::string_view parameters,
                    const std::function<absl::Status(AtenCall&)>& run) {
  AtenOperator op{nullptr, {}, {}, run};
  for (std::string word : Words(parameters)) {
    if (word[0] == '-') op.without_meaning.insert(word.erase(0, 1));
    op.parameters.push_back(std::move(word));
  }
  for (const std::string& name : Words(names)) {
    const bool qualified = name.find('.') != std::string::npos;
    for (const std::string& overload : Words(overloads)) {
      const bool in_place = overload[0] == '_' && overload[1] == '.';
      const std::string full =
          absl::StrCat(qualified ? "" : "aten.", name, in_place ? "" : ".", overload);
      op.schema = FindAtenSchema(full);
      operators[full] = op;
    }
  }
}

void AtenTable::Declared(std::string_view names, std::string_view overloads,
                         std::string_view parameters, const std::string& declared) {
  std::vector<std::string> operands, attributes;
  std::string all;
  for (std::string word : Words(parameters)) {
    const char mark = word[0];
    if (mark == '*') word.erase(0, 1);
    if (mark == '*') attributes.push_back(word);
    if (mark != '*' && mark != '-') operands.push_back(word);
    absl::StrAppend(&all, " ", word);
  }
  const bool along = std::find(attributes.begin(), attributes.end(), "dim") != attributes.end();
  const auto run = [operands, attributes, declared, along](AtenCall& call) -> absl::Status {
    std::vector<Argument> arguments;
    for (const std::string& operand : operands) {
      if (along && call.IsTensor(operand)) {
        PLAN_ASSIGN_OR_RETURN(const sdfg::TensorId tensor, call.TensorOf(operand));
        PLAN_ASSIGN_OR_RETURN(arguments.emplace_back().tensor, AsRow(&call, tensor));
        continue;
      }
      PLAN_ASSIGN_OR_RETURN(arguments.emplace_back(), call.Operand(operand));
    }
    sdfg::Attributes given;
    for (const std::string& attribute : attributes) {
      if (!call.Has(attribute)) continue;
      PLAN_ASSIGN_OR_RETURN(given[attribute], call.Attribute(attribute));
    }
    PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> out,
                          call.Apply(declared, arguments, given));
    for (size_t i = 0; i < out.size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(Argument result, AsResult(&call, Argument::Of(out[i]), i));
      call.Return(std::move(result));
    }
    return absl::OkStatus();
  };
  Add(names, overloads, all, run);
}

std::vector<int64_t> Dimensions(std::vector<int64_t> dims, size_t rank) {
  if (dims.empty()) {
    dims.resize(rank);
    std::iota(dims.begin(), dims.end(), 0);
  }
  for (int64_t& dim : dims) {
    if (dim < 0) dim += static_cast<int64_t>(rank);
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

}  // namespace planproof::frontend::torch
