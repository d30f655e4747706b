#include "runtime_check/cuda/cuda_libraries.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace planproof::runtime_check::cuda {
namespace {

// Finds it as the loader does, else in the directories of CUDA's installation.
absl::StatusOr<void*> Open(const std::string& library, int version) {
  std::string missing;
  for (const char* directory :
       {"", PLANPROOF_CUDA_LIBRARY_DIRECTORY "/", "/usr/local/cuda/lib64/"}) {
    const std::string path = absl::StrCat(directory, library, ".so.", version);
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    if (missing.empty()) missing = dlerror();
  }
  return absl::UnavailableError(missing);
}

template <typename F>
void Find(void* library, const char* name, F* function, std::string* missing) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr && missing->empty()) *missing = name;
}

absl::Status Lacks(const std::string& library, const std::string& missing) {
  if (missing.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(library, " has no ", missing, ": it is too old"));
}

constexpr int kMajor = CUDA_VERSION / 1000;

// The name after cuda.h has replaced it.
#define PLANPROOF_NAME(function) #function
#define PLANPROOF_FIND(function) \
  Find(*library, PLANPROOF_NAME(function), &functions.function, &missing);

}  // namespace

absl::StatusOr<CudaDriver> LoadCudaDriver() {
  const absl::StatusOr<void*> library = Open("libcuda", 1);
  if (!library.ok()) return library.status();
  CudaDriver functions;
  std::string missing;
  PLANPROOF_CUDA_FUNCTIONS(PLANPROOF_FIND)
  if (absl::Status status = Lacks("the driver", missing); !status.ok()) return status;
  return functions;
}

absl::StatusOr<Nvrtc> LoadNvrtc() {
  const absl::StatusOr<void*> library = Open("libnvrtc", kMajor);
  if (!library.ok()) return library.status();
  Nvrtc functions;
  std::string missing;
  PLANPROOF_NVRTC_FUNCTIONS(PLANPROOF_FIND)
  if (absl::Status status = Lacks("NVRTC", missing); !status.ok()) return status;
  return functions;
}

absl::StatusOr<Cublas> LoadCublas() {
  const absl::StatusOr<void*> library = Open("libcublas", kMajor);
  if (!library.ok()) return library.status();
  Cublas functions;
  std::string missing;
  PLANPROOF_CUBLAS_FUNCTIONS(PLANPROOF_FIND)
  if (absl::Status status = Lacks("cuBLAS", missing); !status.ok()) return status;
  return functions;
}

}  // namespace planproof::runtime_check::cuda
