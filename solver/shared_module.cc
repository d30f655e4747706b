#include "solver/shared_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::solver {
namespace {

std::vector<std::string> Candidates(const ModuleName& name) {
  if (const char* path = getenv(name.variable.c_str())) return {path};
  std::vector<std::string> out;
  char self[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (n <= 0) return out;
  std::string dir(self, static_cast<size_t>(n));
  for (int up = 0; up < 4; ++up) {
    const size_t slash = dir.rfind('/');
    if (slash == std::string::npos || slash == 0) break;
    dir.resize(slash);
    if (up == 0) out.push_back(absl::StrCat(dir, "/", name.file));
    if (up > 0) out.push_back(absl::StrCat(dir, "/", name.directory, "/", name.file));
#ifdef PLANPROOF_LIBRARY_DIRECTORY
    if (up == 1) out.push_back(absl::StrCat(dir, "/" PLANPROOF_LIBRARY_DIRECTORY "/", name.file));
#endif
  }
  return out;
}

std::string IsMissing(const ModuleName& name) {
  return absl::StrCat("the ", name.what, " module (", name.file, ") is missing: install ",
                      name.package, " and build again");
}

// Why the module is there and does not load, given what the loader said about it.
std::string DoesNotLoad(const ModuleName& name, const std::string& loader) {
  const ModuleLibrary& library = name.library;
  if (!library.file.empty() && dlopen(library.file.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    return absl::StrCat(library.name, " is not installed: apt-get install ", library.package, " (",
                        dlerror(), ")");
  }
  return absl::StrCat("the ", name.what, " module does not load: ", loader);
}

}  // namespace

void* SharedModule::Find(const char* symbol) {
  void* found = handle == nullptr ? nullptr : dlsym(handle, symbol);
  if (found == nullptr && missing.empty()) missing = absl::StrCat("the module lacks ", symbol);
  return found;
}

SharedModule LoadSharedModule(const ModuleName& name) {
  SharedModule module;
  for (const std::string& path : Candidates(name)) {
    if (access(path.c_str(), R_OK) != 0) continue;
    module.handle =
        dlopen(path.c_str(), RTLD_NOW | (name.offers_symbols ? RTLD_GLOBAL : RTLD_LOCAL));
    if (module.handle != nullptr) {
      module.missing.clear();
      return module;
    }
    module.missing = DoesNotLoad(name, dlerror());
  }
  if (module.missing.empty()) module.missing = IsMissing(name);
  return module;
}

}  // namespace planproof::solver
