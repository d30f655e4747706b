// Loads parts of the program only when they are needed, so that every other run starts fast and a
// build without their libraries works.
#ifndef PLANPROOF_SOLVER_SHARED_MODULE_H_
#define PLANPROOF_SOLVER_SHARED_MODULE_H_

#include <string>

namespace planproof::solver {

// A library that a module is linked with, as it is found when programs run.
struct ModuleLibrary {
  std::string name;     // "libz3"
  std::string file;     // "libz3.so.4"; empty: not known
  std::string package;  // "libz3-4", by which Debian and Ubuntu install it
};

struct ModuleName {
  std::string file;             // "libplanproof_z3.so"
  std::string variable;         // of the environment, names another file (empty: none), for tests
  std::string directory;        // where it lies in a build tree
  std::string what;             // "Z3"
  std::string package;          // "libz3-dev", without which the module is not built
  ModuleLibrary library;        // without which the module does not load
  bool offers_symbols = false;  // to libraries that are loaded later (plug-ins of Open MPI)
};

struct SharedModule {
  void* handle = nullptr;
  std::string missing;  // not empty: why there is none, and what to do

  // Sets `missing` where the module lacks the symbol.
  void* Find(const char* symbol);
};

// Looks beside the program, in its build tree and in the library directory of its installation.
// Once loaded, a module stays.
SharedModule LoadSharedModule(const ModuleName& name);

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_SHARED_MODULE_H_
