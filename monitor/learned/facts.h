// Holds learned facts, as a file has them: what all reference runs have in common, and how far that
// can be relied on.
#ifndef PLANPROOF_MONITOR_LEARNED_FACTS_H_
#define PLANPROOF_MONITOR_LEARNED_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "monitor/learned/observations.h"

namespace planproof::monitor::learned {

// The order is that of alarms of one step, after that of roles.
enum class Form : uint8_t {
  kWithin,   // other is called in each step in which subject is
  kEquals,   // attribute `other` of subject is value
  kGiven,    // each call of subject is given the object `other`
  kSame,     // subject and other have one content
  kReplica,  // all processes hold the same content of subject
  kBefore,   // in a step, subject is called before other
  kAtEnd,    // attribute `other` of the run's end is value
  kChanges,  // subject's content is another one after each step that trains it
};
inline constexpr int kForms = 8;

// Whether a fact of this form has a value of its own; the others hold or do not.
constexpr bool HasValue(Form form) { return form == Form::kEquals || form == Form::kAtEnd; }

// As files and reports have it. ParseForm: false if there is no such form.
const char* FormName(Form form);
bool ParseForm(const std::string& name, Form* form);
const char* RoleName(Role role);
bool ParseRole(const std::string& name, Role* role);

struct Fact {
  Form form{};
  std::string phase;  // of subject; empty: in every phase that references have
  std::string subject;
  std::string other_phase;   // kWithin, kBefore
  std::string other;         // see Form; empty where the form has none
  bool after_first = false;  // kWithin: in each step but a process's first
  std::string value;         // kEquals, kAtEnd
  ValueKind kind = ValueKind::kCode;
  Role role = Role::kOther;  // of what is missing
  int64_t support = 0;       // how often it held in the references
  int windows = 1;  // steps in a row without it that make an alarm; 0: a difference, never an alarm
};

// Hypotheses of one form about one package: they are contradicted together, or not at all.
struct Stratum {
  Form form{};
  std::string package;
  int64_t facts = 0;         // that no reference contradicts
  int64_t contradicted = 0;  // by a single reference, while the others hold them
  int64_t observations = 0;
};

enum class SourceKind : uint8_t { kTrace, kJournal };

struct FactSet {
  SourceKind source{};
  int references = 0;
  int64_t steps = 0;                           // of all references
  std::vector<std::string> program;            // sorted: parameters with shapes
  std::vector<std::string> optimizers;         // sorted: classes
  std::vector<std::string> phases, functions;  // sorted: all that the references have
  std::vector<Stratum> strata;
  std::vector<Fact> facts;
  // By Good and Turing's estimate, and the budget of facts that need several steps in a row.
  double expected_false_alarms = 0;
};

// The first two components of a dotted name (`torch.nn`); "tensors" for names of tensors.
std::string PackageOf(Form form, const std::string& subject);

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_FACTS_H_
