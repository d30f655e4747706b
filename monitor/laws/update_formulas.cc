#include "monitor/laws/update_formulas.h"

#include <algorithm>
#include <cmath>

namespace planproof::monitor {
namespace {

Rounded Exactly(double value) { return {value, 0}; }

// The recorded number if there is one.
Rounded Known(const std::optional<double>& recorded, const Rounded& computed) {
  return recorded.has_value() ? Exactly(*recorded) : computed;
}

Rounded GradientWithDecay(const UpdateOptions& options, const ElementBefore& before,
                          const RoundedArithmetic& r) {
  const Rounded gradient = Exactly(options.maximize ? -before.gradient : before.gradient);
  if (options.decoupled || options.weight_decay == 0) return gradient;
  return r.Add(gradient, r.Scale(options.weight_decay, Exactly(before.parameter)));
}

ElementAfter SgdUpdate(const UpdateOptions& options, const ElementBefore& before,
                       const RecordedMoments& recorded, const RoundedArithmetic& r) {
  ElementAfter after;
  Rounded gradient = GradientWithDecay(options, before, r);
  if (options.momentum != 0) {
    Rounded buffer = gradient;
    if (before.momentum_buffer.has_value()) {
      buffer = r.Add(r.Scale(options.momentum, Exactly(*before.momentum_buffer)),
                     r.Scale(1 - options.dampening, gradient));
    }
    after.momentum_buffer = buffer;
    buffer = Known(recorded.momentum_buffer, buffer);
    gradient = options.nesterov ? r.Add(gradient, r.Scale(options.momentum, buffer)) : buffer;
  }
  after.parameter = r.Add(Exactly(before.parameter), r.Scale(-options.lr, gradient));
  return after;
}

// 1 - beta^t, in double or in the parameter's type.
Rounded Correction(const UpdateOptions& options, double beta, double count,
                   const RoundedArithmetic& r) {
  const double correction = 1 - std::pow(beta, count);
  if (!options.correction_on_device) return r.Round(correction);
  // beta itself is rounded, and raised to the power t.
  return r.Add(Exactly(1), {-(1 - correction), r.Round((1 - correction) * (count + 2)).error});
}

ElementAfter AdamUpdate(const UpdateOptions& options, const ElementBefore& before,
                        const RecordedMoments& recorded, const RoundedArithmetic& r) {
  ElementAfter after;
  const Rounded gradient = GradientWithDecay(options, before, r);
  after.exp_avg =
      r.Add(r.Scale(options.beta1, Exactly(before.exp_avg)), r.Scale(1 - options.beta1, gradient));
  // As lerp has it: m + (1 - beta1) (g - m).
  after.exp_avg->error += r.Round(before.exp_avg).error + r.Round(gradient.value).error;
  after.exp_avg_sq = r.Add(r.Scale(options.beta2, Exactly(before.exp_avg_sq)),
                           r.Scale(1 - options.beta2, r.Multiply(gradient, gradient)));
  Rounded square = Known(recorded.exp_avg_sq, *after.exp_avg_sq);
  if (options.amsgrad) {
    after.max_exp_avg_sq = Rounded{std::max(before.max_exp_avg_sq, square.value), square.error};
    square = Known(recorded.max_exp_avg_sq, *after.max_exp_avg_sq);
  }
  const Rounded mean = Known(recorded.exp_avg, *after.exp_avg);
  const Rounded correction1 = Correction(options, options.beta1, before.step_count, r);
  const Rounded correction2 = Correction(options, options.beta2, before.step_count, r);
  const Rounded denominator =
      r.Add(r.Divide(r.Root(square), r.Root(correction2)), r.Round(options.epsilon));
  const Rounded step =
      r.Divide(r.Multiply(r.Divide(r.Round(options.lr), correction1), mean), denominator);
  Rounded parameter = Exactly(before.parameter);
  if (options.decoupled && options.weight_decay != 0)
    parameter = r.Multiply(parameter, r.Round(1 - options.lr * options.weight_decay));
  after.parameter = r.Add(parameter, {-step.value, step.error});
  return after;
}

}  // namespace

ElementAfter Updated(const UpdateOptions& options, const ElementBefore& before,
                     const RecordedMoments& recorded, const RoundedArithmetic& arithmetic) {
  if (options.kind == OptimizerKind::kSgd) return SgdUpdate(options, before, recorded, arithmetic);
  return AdamUpdate(options, before, recorded, arithmetic);
}

}  // namespace planproof::monitor
