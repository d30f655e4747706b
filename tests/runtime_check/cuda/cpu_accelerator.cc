#include "tests/runtime_check/cuda/cpu_accelerator.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime_check/cuda/translation.h"
#include "tests/temporary_directory.h"

namespace planproof::runtime_check::cuda {
namespace {

size_t live = 0;

template <typename T>
void MultiplyDirectly(const BlasProduct& p, T factor, bool adds, const T* first, const T* second,
                      T* result) {
  for (int64_t column = 0; column < p.n; ++column) {
    for (int64_t row = 0; row < p.m; ++row) {
      T sum = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        sum += first[p.transpose_first ? row * p.first_leading + k : k * p.first_leading + row] *
               second[p.transpose_second ? k * p.second_leading + column
                                         : column * p.second_leading + k];
      }
      T& element = result[column * p.result_leading + row];
      element = (adds ? element : 0) + factor * sum;
    }
  }
}

}  // namespace

size_t CpuAccelerator::allocations() { return live; }

absl::StatusOr<Accelerator::Address> CpuAccelerator::Allocate(size_t bytes) {
  ++live;
  void* address = std::malloc(bytes);
  std::memset(address, 0xa5, bytes);  // nothing may rely on it
  return address;
}

void CpuAccelerator::Free(Address address) {
  if (address == nullptr) return;
  --live;
  std::free(address);
}

absl::Status CpuAccelerator::Write(Address to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status CpuAccelerator::Read(void* to, Address from, size_t bytes) {
  return Write(to, from, bytes);
}

absl::Status CpuAccelerator::Clear(Address address, size_t bytes) {
  std::memset(address, 0, bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<Accelerator::Kernel>>> CpuAccelerator::Compile(
    const std::vector<Source>& sources) {
  const std::vector<Translation> translations =
      TranslationsOf(sources, (sources.size() + 149) / 150);
  // A library that was loaded is not loaded again by the same path.
  static int compilations = 0;
  const TemporaryDirectory directory(absl::StrCat("kernels", compilations++));
  std::vector<std::thread> compilers;
  std::vector<int> results(translations.size(), 1);
  for (size_t t = 0; t < translations.size(); ++t) {
    const std::string stem = absl::StrCat(directory.path(), "kernels", t);
    std::ofstream(stem + ".cc") << translations[t].text;
    compilers.emplace_back([stem, &result = results[t]] {
      result = std::system(absl::StrCat(PLANPROOF_CXX_COMPILER,
                                        " -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off ", stem,
                                        ".cc -o ", stem, ".so")
                               .c_str());
    });
  }
  for (std::thread& compiler : compilers) compiler.join();
  std::vector<std::vector<Kernel>> kernels;
  for (size_t t = 0; t < translations.size(); ++t) {
    const std::string library = absl::StrCat(directory.path(), "kernels", t, ".so");
    void* module = results[t] == 0 ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (module == nullptr) return absl::InternalError("kernels do not compile as C++");
    for (const std::vector<std::string>& names : translations[t].kernels) {
      kernels.emplace_back();
      for (const std::string& name : names) {
        kernels.back().push_back(dlsym(module, name.c_str()));
        threads_[kernels.back().back()] =
            static_cast<long long*>(dlsym(module, "planproof_thread"));
      }
    }
  }
  return kernels;
}

// Few threads, so that each has several elements.
Accelerator::Grid CpuAccelerator::GridFor(int64_t positions, int64_t instances) const {
  return {std::clamp<int64_t>(positions, 1, 3), std::clamp<int64_t>(instances, 1, 2)};
}

absl::Status CpuAccelerator::Launch(Kernel kernel, const KernelArguments& arguments,
                                    const Grid& grid) {
  long long* thread = threads_.at(kernel);
  thread[1] = grid.threads;
  thread[3] = grid.rows;
  for (thread[2] = 0; thread[2] < grid.rows; ++thread[2]) {
    for (thread[0] = 0; thread[0] < grid.threads; ++thread[0])
      reinterpret_cast<void (*)(KernelArguments)>(kernel)(arguments);
  }
  return absl::OkStatus();
}

absl::Status CpuAccelerator::Multiply(const BlasProduct& product, const Batch& batch, bool wide,
                                      double factor, bool adds, const void* first,
                                      const void* second, void* result) {
  for (int64_t b = 0; b < batch.count; ++b) {
    if (wide) {
      MultiplyDirectly<double>(product, factor, adds,
                               static_cast<const double*>(first) + b * batch.first,
                               static_cast<const double*>(second) + b * batch.second,
                               static_cast<double*>(result) + b * batch.result);
    } else {
      MultiplyDirectly<float>(product, static_cast<float>(factor), adds,
                              static_cast<const float*>(first) + b * batch.first,
                              static_cast<const float*>(second) + b * batch.second,
                              static_cast<float*>(result) + b * batch.result);
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::runtime_check::cuda
