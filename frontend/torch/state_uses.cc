#include "frontend/torch/state_uses.h"

#include <algorithm>
#include <map>
#include <utility>

#include "frontend/torch/memory.h"
#include "frontend/torch/strided.h"
#include "frontend/torch/wrapper_names.h"

namespace planproof::frontend::torch {
namespace {

using Range = std::pair<int64_t, int64_t>;

bool Within(const Range& a, const Range& b) { return a.first >= b.first && a.second <= b.second; }
bool Disjoint(const Range& a, const Range& b) { return a.second <= b.first || b.second <= a.first; }

// Operators in place that do not read what they overwrite.
bool Overwrites(const std::string& op) {
  static const auto* const bases = new std::set<std::string, std::less<>>{
      "aten.copy_",    "aten.fill_",   "aten.zero_", "aten.normal_",
      "aten.uniform_", "aten.random_", "aten.set_",  "aten.bernoulli_"};
  return bases->count(op.substr(0, op.rfind('.'))) != 0;
}

bool HoldsRealNumbers(const Storage& storage) {
  return sdfg::IsFloating(storage.dtype) &&
         (storage.uniform || !storage.digest.empty() || !storage.values.empty()) &&
         std::count(storage.minus_infinity.begin(), storage.minus_infinity.end(), true) == 0;
}

void ItemsIn(const Value& value, std::vector<int32_t>* items) {
  if (value.kind == Value::Kind::kItem) items->push_back(value.item);
  for (const Value& item : value.list) ItemsIn(item, items);
}

class Search {
 public:
  explicit Search(const Trace& trace) : trace_(trace), skipped_(trace.storages.size(), true) {
    for (size_t s = 0; s < trace.storages.size(); ++s) {
      skipped_[s] = !HoldsRealNumbers(trace.storages[s]);
    }
    for (size_t i = 0; i < trace.inputs.size(); ++i) {
      const Input& input = trace.inputs[i];
      const Tensor& tensor = trace.tensors[input.tensor];
      skipped_[tensor.storage] = true;
      const Range range = RangeOf(tensor);
      if (input.role == InputRole::kParameter) {
        parameters_[tensor.storage].emplace_back(range, input.name);
      } else if (input.role == InputRole::kState && range.first < range.second) {
        by_storage_[tensor.storage].push_back(regions_.size());
        regions_.push_back({tensor.storage, range.first, range.second, input.tensor,
                            static_cast<int32_t>(i), true});
      }
    }
    for (const TraceResult& result : trace.results) {
      if (result.kind != ResultKind::kGradient) continue;
      const Tensor& tensor = trace.tensors[result.tensor];
      parameters_[tensor.storage].emplace_back(RangeOf(tensor), result.name);
    }
  }

  std::vector<StateRegion> Run() {
    for (const Executed& executed : trace_.operators) {
      if (executed.wait) continue;
      Follow(executed);
    }
    std::vector<StateRegion> found;
    for (StateRegion& region : regions_) {
      if (region.input >= 0 || !skipped_[region.storage]) found.push_back(std::move(region));
    }
    return found;
  }

 private:
  struct Operand {
    TensorNumber tensor = 0;
    int32_t argument = 0;
    size_t place = 0, of = 0;  // in a list of tensors
  };

  Range RangeOf(const Tensor& tensor) const {
    const Strided view = ViewOf(tensor);
    return view.empty() ? Range{0, 0} : Range{view.offset, view.end()};
  }

  std::vector<Operand> OperandsOf(const Executed& executed) const {
    std::vector<Operand> operands;
    int32_t argument = 0;
    const auto add = [&](const Value& value) {
      const std::vector<TensorNumber> tensors = TensorsIn(value);
      for (size_t k = 0; k < tensors.size(); ++k) {
        operands.push_back({tensors[k], argument, k, tensors.size()});
      }
      ++argument;
    };
    if (executed.collective) {
      for (TensorNumber tensor : executed.collective->in) operands.push_back({tensor, 0, 0, 1});
      return operands;
    }
    for (const Value& value : executed.args) add(value);
    for (const auto& [name, value] : executed.kwargs) {
      if (name != "out") add(value);
    }
    return operands;
  }

  // Nothing is computed: the result is a view of an operand.
  bool IsView(const Executed& executed, const std::vector<Operand>& operands) const {
    if (!executed.writes.empty() || executed.collective || executed.out.empty()) return false;
    return std::all_of(executed.out.begin(), executed.out.end(), [&](const Value& out) {
      const std::vector<TensorNumber> results = TensorsIn(out);
      return !results.empty() &&
             std::all_of(results.begin(), results.end(), [&](TensorNumber result) {
               return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
                 return trace_.tensors[operand.tensor].storage == trace_.tensors[result].storage;
               });
             });
    });
  }

  void Follow(const Executed& executed) {
    const std::vector<Operand> operands = OperandsOf(executed);
    if (IsView(executed, operands)) return;
    const bool overwrites = Overwrites(executed.op);
    for (const Operand& operand : operands) {
      if (overwrites && operand.argument == 0) continue;
      StateRegion* region = Read(operand.tensor);
      if (region == nullptr) continue;
      Use(executed, operand.argument, region);
      for (const Operand& other : operands) {
        if (other.argument == operand.argument) continue;
        if (other.of == operand.of && other.place != operand.place) continue;
        NoteBeside(other.tensor, region);
      }
      if (executed.item) of_items_[*executed.item] = region - regions_.data();
    }
    UseItems(executed, operands);
    if (executed.collective) {
      for (TensorNumber tensor : executed.collective->out) Write(tensor);
      return;
    }
    for (TensorNumber tensor : executed.writes) Write(tensor);
    for (const Value& value : executed.out) {
      for (TensorNumber tensor : TensorsIn(value)) Write(tensor);
    }
  }

  // Operators that have a number which Python read from a state.
  void UseItems(const Executed& executed, const std::vector<Operand>& operands) {
    std::vector<int32_t> items;
    for (const Value& value : executed.args) ItemsIn(value, &items);
    for (const auto& [name, value] : executed.kwargs) ItemsIn(value, &items);
    for (int32_t item : items) {
      const auto found = of_items_.find(item);
      if (found == of_items_.end()) continue;
      StateRegion* region = &regions_[found->second];
      Use(executed, -1, region);
      for (const Operand& operand : operands) NoteBeside(operand.tensor, region);
    }
  }

  static void Use(const Executed& executed, int32_t argument, StateRegion* region) {
    region->uses.push_back(
        {executed.op, executed.source, WithoutWrappers(executed.module), argument});
  }

  void NoteBeside(TensorNumber number, StateRegion* region) const {
    const Tensor& tensor = trace_.tensors[number];
    const auto found = parameters_.find(tensor.storage);
    if (found == parameters_.end()) return;
    const Range range = RangeOf(tensor);
    for (const auto& [of, name] : found->second) {
      if (range.first < range.second && Within(range, of)) region->beside.insert(name);
    }
  }

  // The region that is read; nullptr if there is none.
  StateRegion* Read(TensorNumber number) {
    const Tensor& tensor = trace_.tensors[number];
    const Range range = RangeOf(tensor);
    if (range.first == range.second) return nullptr;
    if (skipped_[tensor.storage] && by_storage_.count(tensor.storage) == 0) return nullptr;
    for (size_t r : by_storage_[tensor.storage]) {
      StateRegion& region = regions_[r];
      const Range known = {region.begin, region.end};
      if (Within(range, known)) return &region;
      if (!Disjoint(range, known)) skipped_[tensor.storage] = true;
    }
    if (skipped_[tensor.storage]) return nullptr;
    for (const Range& written : written_[tensor.storage]) {
      if (Within(range, written)) return nullptr;
      if (!Disjoint(range, written)) skipped_[tensor.storage] = true;
    }
    if (skipped_[tensor.storage] || !IsDense(ViewOf(tensor))) {
      skipped_[tensor.storage] = true;
      return nullptr;
    }
    by_storage_[tensor.storage].push_back(regions_.size());
    regions_.push_back({tensor.storage, range.first, range.second, number});
    return &regions_.back();
  }

  void Write(TensorNumber number) {
    const Tensor& tensor = trace_.tensors[number];
    if (skipped_[tensor.storage] && by_storage_.count(tensor.storage) == 0) return;
    const Range range = RangeOf(tensor);
    bool known = false;
    for (size_t r : by_storage_[tensor.storage]) {
      StateRegion& region = regions_[r];
      const Range of = {region.begin, region.end};
      if (Disjoint(range, of)) continue;
      known = true;
      region.written = true;
      if (!Within(range, of) && !Within(of, range)) skipped_[tensor.storage] = true;
    }
    if (!known && range.first < range.second) written_[tensor.storage].push_back(range);
  }

  const Trace& trace_;
  std::vector<bool> skipped_;  // by storage: nothing without a name is looked for
  std::vector<StateRegion> regions_;
  std::map<StorageId, std::vector<size_t>> by_storage_;
  std::map<StorageId, std::vector<Range>> written_;  // before it was read
  std::map<StorageId, std::vector<std::pair<Range, std::string>>> parameters_;
  std::map<int32_t, size_t> of_items_;
};

}  // namespace

std::vector<StateRegion> StateRegionsOf(const Trace& trace) { return Search(trace).Run(); }

}  // namespace planproof::frontend::torch
