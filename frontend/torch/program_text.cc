#include "frontend/torch/program_text.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

absl::Status Differs(const std::string& what) { return absl::InvalidArgumentError(what); }

// Whole numbers may depend on the rank; how many there are may not. What an item was is a number of
// this recording.
bool SameText(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.list.size() != b.list.size()) return false;
  for (size_t i = 0; i < a.list.size(); ++i) {
    if (!SameText(a.list[i], b.list[i])) return false;
  }
  switch (a.kind) {
    case Value::Kind::kBool:
      return a.boolean == b.boolean;
    case Value::Kind::kReal:
      return a.real == b.real;
    case Value::Kind::kInfinite:
      return a.infinity == b.infinity;
    case Value::Kind::kString:
    case Value::Kind::kDType:
      return a.text == b.text;
    case Value::Kind::kComputed:
      return a.text == b.text && a.function == b.function;
    case Value::Kind::kItem:
      return a.item == b.item;
    default:
      return true;
  }
}

bool SameText(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return SameText(x, y); });
}

bool SameText(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.in.size() == b.in.size() && a.out.size() == b.out.size() &&
         a.reduce == b.reduce && a.factor == b.factor && a.tag == b.tag &&
         a.in_splits == b.in_splits && a.out_splits == b.out_splits && a.work == b.work;
}

// What differs, or nothing.
const char* Difference(const Executed& a, const Executed& b) {
  if (a.op != b.op || a.wait != b.wait || a.collective.has_value() != b.collective.has_value())
    return "another operator";
  if (a.source != b.source || a.module != b.module || a.phase != b.phase) return "another line";
  if (a.collective && !SameText(*a.collective, *b.collective)) return "another communication";
  const bool named = std::equal(a.kwargs.begin(), a.kwargs.end(), b.kwargs.begin(), b.kwargs.end(),
                                [](const auto& x, const auto& y) {
                                  return x.first == y.first && SameText(x.second, y.second);
                                });
  if (!named || !SameText(a.args, b.args)) return "other arguments";
  // What was read of a tensor, and which indices were chosen, is of this recording.
  if (a.item != b.item || a.out.size() != b.out.size() || (!a.item && !SameText(a.out, b.out)))
    return "other results";
  return a.writes.size() == b.writes.size() ? nullptr : "other memory that it writes";
}

absl::Status SameOperators(const Trace& a, const Trace& b) {
  const size_t count = std::min(a.operators.size(), b.operators.size());
  for (size_t i = 0; i < count; ++i) {
    const char* what = Difference(a.operators[i], b.operators[i]);
    if (what == nullptr) continue;
    const std::string on_a = OperatorPlace(a, i), on_b = OperatorPlace(b, i);
    return Differs(absl::StrCat(
        "ranks ", a.rank, " and ", b.rank, " do not run one program: ", what, " in ", on_a,
        on_a == on_b ? "" : absl::StrCat(", which on rank ", b.rank, " is ", on_b)));
  }
  if (a.operators.size() == b.operators.size()) return absl::OkStatus();
  const Trace& longer = a.operators.size() > count ? a : b;
  return Differs(absl::StrCat("ranks ", a.rank, " and ", b.rank,
                              " do not run one program: ", OperatorPlace(longer, count),
                              " is there on rank ", longer.rank, " only"));
}

bool SameText(const Part& a, const Part& b) {
  const auto ranges = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
      return p.second == q.second;  // the lengths
    });
  };
  return a.whole == b.whole &&
         std::equal(a.place.begin(), a.place.end(), b.place.begin(), b.place.end(), ranges) &&
         a.flat.has_value() == b.flat.has_value() && (!a.flat || a.flat->second == b.flat->second);
}

bool SameText(const Input& a, const Input& b) {
  return a.role == b.role && a.name == b.name && SameText(a.part, b.part) && a.domain == b.domain &&
         a.nonnegative == b.nonnegative;
}

bool SameText(const TraceResult& a, const TraceResult& b) {
  return a.kind == b.kind && a.name == b.name && SameText(a.part, b.part) && a.reduce == b.reduce;
}

bool SameText(const Storage& a, const Storage& b) {
  return a.dtype == b.dtype && a.size == b.size && a.uniform == b.uniform && a.values == b.values &&
         a.minus_infinity == b.minus_infinity && a.digest == b.digest;
}

// The first operator that has the storage among its tensors.
std::string FirstUse(const Trace& trace, StorageId storage) {
  for (size_t i = 0; i < trace.operators.size(); ++i) {
    const Executed& executed = trace.operators[i];
    std::vector<TensorNumber> tensors = executed.writes;
    const auto add = [&](const std::vector<TensorNumber>& more) {
      tensors.insert(tensors.end(), more.begin(), more.end());
    };
    for (const Value& value : executed.args) add(TensorsIn(value));
    for (const auto& [name, value] : executed.kwargs) add(TensorsIn(value));
    for (const Value& value : executed.out) add(TensorsIn(value));
    if (executed.collective) {
      add(executed.collective->in);
      add(executed.collective->out);
    }
    const bool uses = std::any_of(tensors.begin(), tensors.end(), [&](TensorNumber tensor) {
      return trace.tensors[tensor].storage == storage;
    });
    if (uses) return absl::StrCat(", first used by ", OperatorPlace(trace, i));
  }
  return "";
}

// `what` of the two: inputs, results.
template <typename Entries>
absl::Status SameEntries(const Trace& a, const Trace& b, const Entries& x, const Entries& y,
                         const char* what) {
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (SameText(x[i], y[i])) continue;
    return Differs(absl::StrCat("the ", what, " ", x[i].name, " of rank ", a.rank,
                                " has another name, role or size of its part on rank ", b.rank,
                                x[i].name == y[i].name ? "" : absl::StrCat(", ", y[i].name)));
  }
  if (x.size() == y.size()) return absl::OkStatus();
  return Differs(absl::StrCat("rank ", a.rank, " has ", x.size(), " ", what, "s, rank ", b.rank,
                              " has ", y.size()));
}

}  // namespace

std::string OperatorPlace(const Trace& trace, size_t index) {
  const Executed& executed = trace.operators[index];
  return absl::StrCat("operator ", index, ", ", executed.wait ? "the wait" : executed.op,
                      executed.source.empty() ? "" : " at ", executed.source);
}

absl::Status SameText(const Trace& a, const Trace& b) {
  PLAN_RETURN_IF_ERROR(SameOperators(a, b));
  PLAN_RETURN_IF_ERROR(SameEntries(a, b, a.inputs, b.inputs, "input"));
  PLAN_RETURN_IF_ERROR(SameEntries(a, b, a.results, b.results, "result"));
  if (a.storages.size() != b.storages.size()) {
    return Differs(absl::StrCat("rank ", a.rank, " uses ", a.storages.size(),
                                " pieces of memory, rank ", b.rank, " ", b.storages.size()));
  }
  for (size_t s = 0; s < a.storages.size(); ++s) {
    if (SameText(a.storages[s], b.storages[s])) continue;
    return Differs(absl::StrCat("a constant of rank ", a.rank,
                                " has another content or size on rank ", b.rank,
                                FirstUse(a, static_cast<StorageId>(s))));
  }
  if (a.notes == b.notes) return absl::OkStatus();
  return Differs(
      absl::StrCat("the recorder's notes on rank ", a.rank, " are not those on rank ", b.rank));
}

}  // namespace planproof::frontend::torch
