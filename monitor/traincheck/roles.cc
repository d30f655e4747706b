#include "monitor/traincheck/roles.h"

namespace planproof::monitor::traincheck {
namespace {

using learned::Role;

struct RoleRule {
  std::string_view package, end;  // of the name
  Role role;
};

// The first that fits counts.
constexpr RoleRule kRoleRules[] = {
    {"torch.optim.", ".zero_grad", Role::kClear},
    {"torch.nn.modules.module.", ".zero_grad", Role::kClear},
    {"torch.nn.modules.module.", ".train", Role::kMode},
    {"torch.nn.modules.module.", ".eval", Role::kMode},
    {"torch.nn.parallel.", ".forward", Role::kSynchronise},
    {"torch.distributed.", ".all_reduce", Role::kSynchronise},
    {"torch.distributed.", ".all_gather", Role::kSynchronise},
    {"torch.distributed.", ".all_gather_into_tensor", Role::kSynchronise},
    {"torch.distributed.", ".reduce_scatter_tensor", Role::kSynchronise},
    {"torch.distributed.", ".broadcast", Role::kSynchronise},
    {"torch.distributed.", ".barrier", Role::kSynchronise},
    {"torch.distributed.", ".forward", Role::kSynchronise},
    {"torch.nn.utils.clip_grad.", "", Role::kClip},
    {"torch.optim.lr_scheduler.", ".step", Role::kSchedule},
    {"torch.optim.swa_utils.", "", Role::kOther},
    {"torch.optim.", ".step", Role::kUpdate},
    {"torch._tensor.Tensor.", ".backward", Role::kBackward},
    {"torch.autograd.", ".backward", Role::kBackward},
    {"torch.nn.functional.", "cross_entropy", Role::kLoss},
    {"torch.nn.functional.", "_loss", Role::kLoss},
    {"torch.nn.functional.", "loss_with_logits", Role::kLoss},
    {"torch.nn.modules.loss.", ".forward", Role::kLoss},
    {"torch.nn.modules.", ".forward", Role::kForward},
};

}  // namespace

FunctionTraits TraitsOf(std::string_view function) {
  FunctionTraits traits;
  const std::string_view name = function.substr(function.rfind('.') + 1);
  if (name.empty() || name[0] == '_') return traits;
  for (const RoleRule& rule : kRoleRules) {
    if (!function.starts_with(rule.package) || !function.ends_with(rule.end)) continue;
    traits.role = rule.role;
    break;
  }
  const bool of_optimizers = function.starts_with("torch.optim.");
  traits.arguments =
      of_optimizers || traits.role != Role::kOther || function.starts_with("torch.nn.functional.");
  traits.objects = of_optimizers || traits.role == Role::kClip;
  return traits;
}

std::string_view OptimizerClassOf(std::string_view function) {
  if (TraitsOf(function).role != Role::kUpdate) return {};
  return function.substr(0, function.rfind('.'));
}

}  // namespace planproof::monitor::traincheck
