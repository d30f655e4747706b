// Says what a function of torch is for, by its full name.
#ifndef PLANPROOF_MONITOR_TRAINCHECK_ROLES_H_
#define PLANPROOF_MONITOR_TRAINCHECK_ROLES_H_

#include <string_view>

#include "monitor/learned/observations.h"

namespace planproof::monitor::traincheck {

struct FunctionTraits {
  learned::Role role = learned::Role::kOther;
  bool arguments = false;  // its flags and types are decisions of the program
  bool objects = false;    // that it gets a tensor is a decision of the program
};

// Functions with a name that begins with an underscore belong to torch: they have no traits.
FunctionTraits TraitsOf(std::string_view function);

// The class whose method `step` is `function`: an optimizer's. Empty for other functions.
std::string_view OptimizerClassOf(std::string_view function);

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_MONITOR_TRAINCHECK_ROLES_H_
