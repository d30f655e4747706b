// Tensors of a plan: one entry per id, contradictions between their descriptions.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/nnscaler/operator_functions.h"
#include "frontend/nnscaler/plan_reader.h"
#include "sdfg/element_type.h"
#include "sdfg/limit.h"

namespace planproof::frontend::nnscaler {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;
constexpr size_t kMaxDimensions = 32;
constexpr int64_t kMaxTensorElements = int64_t{1} << 60;

std::string IndexText(const std::vector<std::pair<int64_t, int64_t>>& index) {
  std::string text = "[";
  for (const auto& [start, stop] : index) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", start, ":", stop);
  }
  return text + "]";
}

}  // namespace

sdfg::Shape SubTensor::shape() const {
  sdfg::Shape shape;
  shape.reserve(index.size());
  for (const auto& [start, stop] : index) shape.push_back(stop - start);
  return shape;
}

std::string Plan::TensorName(int sub) const {
  return absl::StrCat(FullOf(sub).name, "#", subs[sub].id);
}

bool PlanReader::IsSubTensor(ValueId object) const {
  return pickle_.Is(object, ValueKind::kObject) && pickle_.ClassName(object) == "IRSubTensor";
}

sdfg::DType PlanReader::ReadDType(ValueId object) {
  const ValueId value = access_.Get(object, Field::kDtype, false);
  if (value != kNoValue && !pickle_.Is(value, ValueKind::kNone)) {
    return ReadDTypeValue(object, value);
  }
  access_.Fail(absl::UnimplementedError(absl::StrCat(
      access_.Describe(object), " has no element type, so that its arithmetic is not known")));
  return sdfg::DType::kUnknown;
}

sdfg::DType PlanReader::ReadDTypeValue(ValueId object, ValueId value) {
  const bool text = pickle_.Is(value, ValueKind::kString);
  if (!text && !pickle_.Is(value, ValueKind::kGlobal)) {
    access_.Expect(object, Field::kDtype, value, "a torch.dtype");
    return sdfg::DType::kUnknown;
  }
  const std::string name(text ? pickle_.Text(value) : pickle_.Name(value));
  const sdfg::DType complex = sdfg::DTypeFromName(name);
  if (IsComplex(complex)) return complex;
  const absl::StatusOr<sdfg::DType> type = sdfg::ElementTypeFromText(name);
  if (type.ok()) return *type;
  access_.Fail(absl::Status(
      type.status().code(),
      absl::StrCat(access_.Describe(object), ": ", std::string(type.status().message()))));
  return sdfg::DType::kUnknown;
}

sdfg::Shape PlanReader::ReadShape(ValueId object, Field field) {
  sdfg::Shape shape = access_.GetInts(object, field, 0, kMaxExtent);
  if (shape.size() > kMaxDimensions) {
    access_.Fail(sdfg::BeyondLimit(
        absl::StrCat(access_.Describe(object), ", ", FieldName(field), ": dimensions"),
        shape.size(), kMaxDimensions));
    return {};
  }
  int64_t elements = 1;
  for (int64_t extent : shape) {
    if (extent > 0 && elements > kMaxTensorElements / extent) {
      access_.Fail(sdfg::BeyondLimit(
          absl::StrCat(access_.Describe(object), ", ", FieldName(field), ": elements"),
          absl::StrCat("[", absl::StrJoin(shape, ", "), "]"), "2^60 elements"));
      return {};
    }
    elements *= std::max<int64_t>(extent, 1);
  }
  return shape;
}

int PlanReader::ReadFullTensor(ValueId object) {
  const auto [it, inserted] = fulls_.try_emplace(object, kNoIndex);
  if (!inserted) return it->second;
  if (!pickle_.Is(object, ValueKind::kObject) || pickle_.ClassName(object) != "IRFullTensor") {
    Malformed(absl::StrCat(access_.Describe(object), ": expected an IRFullTensor"));
    return kNoIndex;
  }
  FullTensor full;
  full.id = access_.GetInt(object, Field::kId, 0, kMaxExtent);
  full.name = std::string(access_.GetString(object, Field::kName));
  full.shape = ReadShape(object, Field::kShape);
  full.dtype = ReadDType(object);
  full.is_attribute = access_.GetBool(object, Field::kIsAttr);
  full.is_gradient = access_.GetBool(object, Field::kIsGrad);
  full.is_loss = access_.GetBool(object, Field::kIsLoss);
  if (!ok()) return kNoIndex;
  const auto [same, fresh] = full_ids_.try_emplace(full.id, static_cast<int>(plan_.fulls.size()));
  if (!fresh) {
    const FullTensor& other = plan_.fulls[same->second];
    if (other.name != full.name || other.shape != full.shape || other.dtype != full.dtype ||
        other.is_attribute != full.is_attribute || other.is_gradient != full.is_gradient) {
      Malformed(absl::StrCat("full tensor ", full.id, " (", full.name,
                             ") is described twice, differently; ids must be unique"));
    }
  } else {
    plan_.fulls.push_back(std::move(full));
    full_objects_.push_back(object);
  }
  return fulls_[object] = same->second;
}

void PlanReader::ReadFullGradients() {
  // The list grows while gradients are met; a gradient has none of its own.
  for (size_t i = 0; i < full_objects_.size() && ok(); ++i) {
    const ValueId gradient = access_.Get(full_objects_[i], Field::kGrad, false);
    if (gradient == kNoValue || pickle_.Is(gradient, ValueKind::kNone)) continue;
    const int full = ReadFullTensor(gradient);
    plan_.fulls[i].gradient = full;
    if (full != kNoIndex && !plan_.fulls[full].is_gradient) {
      Malformed(absl::StrCat("full tensor ", plan_.fulls[i].name, ": its _grad, ",
                             plan_.fulls[full].name, ", is not marked as a gradient"));
    }
  }
}

int PlanReader::ReadSubTensor(ValueId object) {
  const auto [it, inserted] = subs_.try_emplace(object, kNoIndex);
  if (!inserted) return it->second;
  SubTensor sub;
  sub.id = access_.GetInt(object, Field::kId, 0, kMaxExtent);
  sub.full = ReadFullTensor(access_.GetObject(object, Field::kFullTensor));
  sub.dtype = ReadDType(object);
  const ValueId index_map = access_.GetObject(object, Field::kIndmap);
  const ValueId value_map = access_.GetObject(object, Field::kValmap);
  if (!ok()) return kNoIndex;
  const sdfg::Shape& full_shape = plan_.fulls[sub.full].shape;
  const absl::Span<const ValueId> ranges = access_.GetSequence(index_map, Field::kIndices);
  std::vector<int64_t> pair;
  const auto what = [&] {
    return absl::StrCat("tensor ", sub.id, " (", plan_.fulls[sub.full].name, ")");
  };
  if (ok() && ranges.size() != full_shape.size()) {
    Malformed(absl::StrCat(what(), ": its index map has ", ranges.size(),
                           " dimensions, its parent ", full_shape.size()));
  }
  for (size_t d = 0; d < ranges.size() && ok(); ++d) {
    if (!access_.Ints(ranges[d], 0, kMaxExtent, &pair) || pair.size() != 2 || pair[0] > pair[1] ||
        pair[1] > full_shape[d]) {
      Malformed(absl::StrCat(what(), ": dimension ", d,
                             " of its index map is no pair start <= stop <= ", full_shape[d]));
      break;
    }
    sub.index.emplace_back(pair[0], pair[1]);
  }
  const std::vector<int64_t> weight = access_.GetInts(value_map, Field::kWeight, 0, kMaxExtent);
  if (!ok()) return kNoIndex;
  if (weight.size() != 2 || weight[0] >= weight[1]) {
    Malformed(absl::StrCat(what(), ": its value map is no pair (i, n) with i < n"));
    return kNoIndex;
  }
  sub.term = weight[0];
  sub.terms = weight[1];
  const auto [same, fresh] = sub_ids_.try_emplace(sub.id, static_cast<int>(plan_.subs.size()));
  if (!fresh) {
    const SubTensor& other = plan_.subs[same->second];
    if (other.full != sub.full || other.index != sub.index || other.dtype != sub.dtype) {
      Malformed(absl::StrCat(what(), " has two index maps: ", IndexText(other.index), " of ",
                             plan_.fulls[other.full].name, " and ", IndexText(sub.index), " of ",
                             plan_.fulls[sub.full].name, "; one id must be one piece"));
    } else if (other.term != sub.term || other.terms != sub.terms) {
      Malformed(absl::StrCat(what(), " has two value maps: (", other.term, ", ", other.terms,
                             ") and (", sub.term, ", ", sub.terms, "); one id must be one term"));
    }
  } else {
    plan_.subs.push_back(std::move(sub));
  }
  return subs_[object] = same->second;
}

}  // namespace planproof::frontend::nnscaler
