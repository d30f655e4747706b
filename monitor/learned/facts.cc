#include "monitor/learned/facts.h"

#include <iterator>

namespace planproof::monitor::learned {
namespace {

constexpr const char* kFormNames[] = {"within",  "equals", "given",  "same",
                                      "replica", "before", "at_end", "changes"};
constexpr const char* kRoleNames[] = {"clear",    "mode",     "synchronise", "clip",    "update",
                                      "schedule", "backward", "loss",        "forward", "other"};

}  // namespace

const char* FormName(Form form) { return kFormNames[static_cast<int>(form)]; }

bool ParseForm(const std::string& name, Form* form) {
  for (size_t i = 0; i < std::size(kFormNames); ++i) {
    if (name != kFormNames[i]) continue;
    *form = static_cast<Form>(i);
    return true;
  }
  return false;
}

const char* RoleName(Role role) { return kRoleNames[static_cast<int>(role)]; }

bool ParseRole(const std::string& name, Role* role) {
  for (size_t i = 0; i < std::size(kRoleNames); ++i) {
    if (name != kRoleNames[i]) continue;
    *role = static_cast<Role>(i);
    return true;
  }
  return false;
}

std::string PackageOf(Form form, const std::string& subject) {
  if (form == Form::kSame || form == Form::kReplica || form == Form::kChanges) return "tensors";
  const size_t first = subject.find('.');
  if (first == std::string::npos) return subject;
  return subject.substr(0, subject.find('.', first + 1));
}

}  // namespace planproof::monitor::learned
