#include "frontend/plan/adjustable_call.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using solver::Rational;

struct AdjustableCalls::Shared {
  sdfg::OperatorLibrary library;  // a copy: it outlives the reader's
  RoundedLiterals literals;
  std::vector<sdfg::Axis> axes;
};

class AdjustableCalls::Call : public sdfg::AdjustableOperator {
 public:
  Call(Operator op, CallSite site, std::shared_ptr<const Shared> shared)
      : op_(std::move(op)), site_(std::move(site)), shared_(std::move(shared)) {}

  const std::vector<int32_t>& axes() const override { return site_.special; }

  std::vector<Number> Numbers() const override {
    std::vector<sdfg::Attributes> at;
    for (const std::vector<int64_t>& point : Points(site_)) {
      absl::StatusOr<sdfg::Attributes> attributes =
          ResolveAttributes(op_, shared_->literals, Resolver(site_, point));
      if (!attributes.ok()) return {};
      at.push_back(*std::move(attributes));
    }
    std::vector<Number> numbers;
    for (const auto& declared : shared_->library.NumericAttributes(op_.op(), at[0])) {
      Number number{declared.name, declared.whole, {}};
      for (const sdfg::Attributes& attributes : at) {
        std::optional<Rational> value = declared.fallback;
        if (const auto given = attributes.find(declared.name); given != attributes.end()) {
          value = NumberOf(given->second);
        }
        if (value.has_value()) number.values.push_back(*value);
      }
      if (number.values.size() == at.size()) numbers.push_back(std::move(number));
    }
    return numbers;
  }

  absl::StatusOr<Adjusted> With(const std::string& attribute, const Affine& value) const override {
    if (value.axis < 0) return WithValue(attribute, value.start, site_);
    const bool varies = std::binary_search(site_.output_axes.begin(), site_.output_axes.end(),
                                           static_cast<sdfg::AxisId>(value.axis));
    int64_t start = 0;
    if (!varies || !value.start.ToInt64(&start)) {
      return absl::InvalidArgumentError("no expression of a coordinate over which results vary");
    }
    CallSite site = site_;
    const std::string& axis = shared_->axes[value.axis].name;
    if (std::find(site.special.begin(), site.special.end(), value.axis) == site.special.end()) {
      site.special.push_back(value.axis);
      std::sort(site.special.begin(), site.special.end());
      site.varying.emplace_back(axis, value.axis);
    }
    AttributeValue expression;
    expression.set_expression(absl::StrCat(value.slope, " * ", axis, " + ", start));
    return WithValue(attribute, std::move(expression), site);
  }

 private:
  static std::optional<Rational> NumberOf(const sdfg::AttributeValue& value) {
    if (const auto* integer = std::get_if<int64_t>(&value)) return Rational(*integer);
    if (const auto* real = std::get_if<Rational>(&value)) return *real;
    return std::nullopt;
  }

  absl::StatusOr<Adjusted> WithValue(const std::string& attribute, const Rational& number,
                                     const CallSite& site) const {
    AttributeValue value;
    if (int64_t whole; number.ToInt64(&whole)) {
      value.set_integer(whole);
    } else {
      value.set_real(number.ToString());
    }
    return WithValue(attribute, std::move(value), site);
  }

  absl::StatusOr<Adjusted> WithValue(const std::string& attribute, AttributeValue value,
                                     const CallSite& site) const {
    Operator changed = op_;
    Attribute* to = nullptr;
    for (Attribute& given : *changed.mutable_attributes()) {
      if (given.name() == attribute) to = &given;
    }
    if (to == nullptr) {
      to = changed.add_attributes();
      to->set_name(attribute);
    }
    *to->mutable_value() = std::move(value);
    std::vector<sdfg::IndexFunction> variants;
    for (const std::vector<int64_t>& point : Points(site)) {
      PLAN_ASSIGN_OR_RETURN(sdfg::IndexFunction variant,
                            Instantiate(shared_->library, changed, site.shapes, site.dtypes,
                                        shared_->literals, Resolver(site, point)));
      variants.push_back(std::move(variant));
    }
    if (site.special.empty()) return Adjusted{std::move(variants[0]), true};
    PLAN_ASSIGN_OR_RETURN(
        sdfg::IndexFunction combined,
        sdfg::CombineByCoordinate(variants, shared_->axes, site.special, site.input_axes,
                                  site.output_axes,
                                  sdfg::OperatorLibrary::IsDataMovement(variants[0])));
    return Adjusted{std::move(combined), false};
  }

  // The coordinates of `special`, row-major.
  std::vector<std::vector<int64_t>> Points(const CallSite& site) const {
    std::vector<std::vector<int64_t>> points = {{}};
    for (const sdfg::AxisId axis : site.special) {
      std::vector<std::vector<int64_t>> longer;
      for (const std::vector<int64_t>& point : points) {
        for (int64_t c = 0; c < shared_->axes[axis].extent; ++c) {
          longer.push_back(point);
          longer.back().push_back(c);
        }
      }
      points = std::move(longer);
    }
    return points;
  }

  static NameResolver Resolver(const CallSite& site, const std::vector<int64_t>& point) {
    return [&site, point](const std::string& name) -> std::optional<NameMeaning> {
      for (const auto& [fixed, value] : site.fixed) {
        if (fixed == name) return NameMeaning{value, -1};
      }
      for (const auto& [varying, axis] : site.varying) {
        if (varying != name) continue;
        const auto at = std::find(site.special.begin(), site.special.end(), axis);
        return NameMeaning{point[at - site.special.begin()], -1};
      }
      return std::nullopt;
    };
  }

  const Operator op_;  // without names and places
  const CallSite site_;
  const std::shared_ptr<const Shared> shared_;
};

AdjustableCalls::AdjustableCalls(const sdfg::OperatorLibrary& library, RoundedLiterals literals)
    : shared_(std::make_shared<Shared>(Shared{library.Copy(), std::move(literals), {}})) {}
AdjustableCalls::~AdjustableCalls() = default;

std::shared_ptr<const sdfg::AdjustableOperator> AdjustableCalls::Of(
    const Operator& op, CallSite site, const std::vector<sdfg::Axis>& axes) {
  if (shared_->axes.empty()) shared_->axes = axes;
  Operator stripped;
  stripped.set_op(op.op());
  *stripped.mutable_attributes() = op.attributes();
  for (const Operand& operand : op.inputs()) {
    Operand* added = stripped.add_inputs();
    if (operand.kind_case() == Operand::kTensor) {
      added->set_tensor("");
    } else {
      *added = operand;
    }
  }
  std::string key = stripped.SerializeAsString();
  for (const sdfg::Shape& shape : site.shapes) {
    absl::StrAppend(&key, "|", absl::StrJoin(shape, ","));
  }
  for (const sdfg::DType dtype : site.dtypes) absl::StrAppend(&key, "|", static_cast<int>(dtype));
  for (const auto& [name, value] : site.fixed) absl::StrAppend(&key, "|", name, "=", value);
  for (const auto& [name, axis] : site.varying) absl::StrAppend(&key, "|", name, "@", axis);
  for (const AxisList& list : site.input_axes) absl::StrAppend(&key, "/", absl::StrJoin(list, ","));
  absl::StrAppend(&key, ">", absl::StrJoin(site.output_axes, ","));
  auto [at, added] = calls_.try_emplace(std::move(key));
  if (added) {
    auto call = std::make_shared<const Call>(std::move(stripped), std::move(site), shared_);
    if (!call->Numbers().empty()) at->second = std::move(call);
  }
  return at->second;
}

}  // namespace planproof::plan
