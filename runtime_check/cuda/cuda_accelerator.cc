// A GPU, by CUDA's driver interface: the first that CUDA_VISIBLE_DEVICES leaves.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime_check/cuda/cuda_compiler.h"
#include "runtime_check/cuda/cuda_libraries.h"
#include "runtime_check/cuda/kernel_backend.h"
#include "runtime_check/cuda/open_cuda.h"

namespace planproof::runtime_check::cuda {
namespace {

constexpr int kBlock = 256;       // threads
constexpr int kBlocksEach = 8;    // on a multiprocessor, so that all of its threads have work
constexpr int kMostRows = 65535;  // of a grid

CUdeviceptr PointerOf(const void* address) { return reinterpret_cast<CUdeviceptr>(address); }

class CudaAccelerator final : public Accelerator {
 public:
  explicit CudaAccelerator(CudaDriver driver) : cu_(driver) {}

  ~CudaAccelerator() override {
    if (cublas_ != nullptr) blas_.cublasDestroy(cublas_);
    if (stream_ != nullptr) {
      cu_.cuStreamSynchronize(stream_);
      for (const CUmodule module : modules_) cu_.cuModuleUnload(module);
      cu_.cuStreamDestroy(stream_);
    }
    if (context_ != nullptr) cu_.cuDevicePrimaryCtxRelease(device_);
  }

  absl::Status Open() {
    int count = 0;
    absl::Status status = Check(cu_.cuInit(0), "cuInit");
    if (status.ok()) status = Check(cu_.cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (status.ok() && count == 0) return absl::UnavailableError("there is no GPU");
    if (status.ok()) status = Check(cu_.cuDeviceGet(&device_, 0), "cuDeviceGet");
    char name[256] = "";
    if (status.ok()) status = Check(cu_.cuDeviceGetName(name, sizeof(name), device_), "its name");
    name_ = name;
    int major = 0, minor = 0;
    for (const auto& [attribute, value] :
         {std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
          std::pair{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
          std::pair{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors_}}) {
      if (!status.ok()) break;
      status = Check(cu_.cuDeviceGetAttribute(value, attribute, device_), "its attributes");
    }
    architecture_ = 10 * major + minor;
    if (status.ok())
      status = Check(cu_.cuDevicePrimaryCtxRetain(&context_, device_), "its context");
    if (status.ok()) status = Check(cu_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    if (status.ok())
      status = Check(cu_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    if (status.ok()) status = KeepMemory();
    if (!status.ok()) return absl::UnavailableError(std::string(status.message()));
    return OpenLibraries();
  }

  std::string Name() const override { return name_; }

  absl::StatusOr<Address> Allocate(size_t bytes) override {
    CUdeviceptr pointer = 0;
    const CUresult result = cu_.cuMemAllocAsync(&pointer, std::max<size_t>(bytes, 1), stream_);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      return absl::ResourceExhaustedError(
          absl::StrCat(name_, " has no ", bytes, " bytes left: replay a smaller plan"));
    }
    if (absl::Status status = Check(result, "cuMemAllocAsync"); !status.ok()) return status;
    return reinterpret_cast<Address>(pointer);
  }

  void Free(Address address) override {
    if (address != nullptr) cu_.cuMemFreeAsync(PointerOf(address), stream_);
  }

  absl::Status Write(Address to, const void* from, size_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    return Check(cu_.cuMemcpyHtoDAsync(PointerOf(to), from, bytes, stream_), "copying to it");
  }

  absl::Status Read(void* to, Address from, size_t bytes) override {
    if (bytes == 0) return absl::OkStatus();
    absl::Status status =
        Check(cu_.cuMemcpyDtoHAsync(to, PointerOf(from), bytes, stream_), "copying from it");
    return status.ok() ? Check(cu_.cuStreamSynchronize(stream_), "what ran before") : status;
  }

  absl::Status Clear(Address address, size_t bytes) override {
    return Check(cu_.cuMemsetD8Async(PointerOf(address), 0, bytes, stream_), "clearing memory");
  }

  absl::StatusOr<std::vector<std::vector<Kernel>>> Compile(
      const std::vector<Source>& sources) override {
    const auto jobs = static_cast<int>(std::thread::hardware_concurrency());
    const absl::StatusOr<std::vector<CompiledKernels>> compiled =
        CompileKernels(sources, architecture_, jobs);
    if (!compiled.ok()) return compiled.status();
    std::vector<std::vector<Kernel>> kernels;
    for (const CompiledKernels& part : *compiled) {
      CUmodule module = nullptr;
      absl::Status status =
          Check(cu_.cuModuleLoadData(&module, part.cubin.data()), "loading kernels");
      if (!status.ok()) return status;
      modules_.push_back(module);
      for (const std::vector<std::string>& names : part.kernels) {
        kernels.emplace_back();
        for (const std::string& name : names) {
          CUfunction function = nullptr;
          status = Check(cu_.cuModuleGetFunction(&function, module, name.c_str()), name.c_str());
          if (!status.ok()) return status;
          kernels.back().push_back(function);
        }
      }
    }
    return kernels;
  }

  Grid GridFor(int64_t positions, int64_t instances) const override {
    const int64_t rows = std::clamp<int64_t>(instances, 1, kMostRows);
    const int64_t most = std::max<int64_t>(1, int64_t{multiprocessors_} * kBlocksEach / rows);
    const int64_t blocks = std::clamp<int64_t>((positions + kBlock - 1) / kBlock, 1, most);
    return {blocks * kBlock, rows};
  }

  absl::Status Launch(Kernel kernel, const KernelArguments& arguments, const Grid& grid) override {
    KernelArguments copy = arguments;
    void* parameters[] = {&copy};
    return Check(cu_.cuLaunchKernel(static_cast<CUfunction>(kernel),
                                    static_cast<unsigned>(grid.threads / kBlock),
                                    static_cast<unsigned>(grid.rows), 1, kBlock, 1, 1, 0, stream_,
                                    parameters, nullptr),
                 "starting a kernel");
  }

  bool Multiplies() const override { return cublas_ != nullptr; }

  absl::Status Multiply(const BlasProduct& product, const Batch& batch, bool wide, double factor,
                        bool adds, const void* first, const void* second, void* result) override {
    const auto factor32 = static_cast<float>(factor), kept32 = adds ? 1.0f : 0.0f;
    const double kept64 = adds ? 1 : 0;
    const cudaDataType_t type = wide ? CUDA_R_64F : CUDA_R_32F;
    const auto transposed = [](bool is) { return is ? CUBLAS_OP_T : CUBLAS_OP_N; };
    // Not CUBLAS_COMPUTE_32F_FAST_TF32: 32 bits throughout.
    const cublasStatus_t status = blas_.cublasGemmStridedBatchedEx_64(
        cublas_, transposed(product.transpose_first), transposed(product.transpose_second),
        product.m, product.n, product.k,
        wide ? static_cast<const void*>(&factor) : static_cast<const void*>(&factor32), first, type,
        product.first_leading, batch.first, second, type, product.second_leading, batch.second,
        wide ? static_cast<const void*>(&kept64) : static_cast<const void*>(&kept32), result, type,
        product.result_leading, batch.result, batch.count,
        wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(name_, ": cuBLAS: ", blas_.cublasGetStatusString(status)));
  }

 private:
  absl::Status Check(CUresult result, const char* what) const {
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    const char* text = nullptr;
    cu_.cuGetErrorString(result, &text);
    return absl::InternalError(absl::StrCat(name_.empty() ? "the GPU" : name_, ": ", what, ": ",
                                            text == nullptr ? "unknown error" : text));
  }

  // What is freed is kept for what is allocated next.
  absl::Status KeepMemory() {
    CUmemoryPool pool = nullptr;
    absl::Status status = Check(cu_.cuDeviceGetDefaultMemPool(&pool, device_), "its memory pool");
    cuuint64_t threshold = ~cuuint64_t{0};
    if (!status.ok()) return status;
    return Check(cu_.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                 "its memory pool");
  }

  // Without cuBLAS kernels multiply; without NVRTC there are none.
  absl::Status OpenLibraries() {
    if (const absl::StatusOr<Nvrtc> nvrtc = LoadNvrtc(); !nvrtc.ok()) return nvrtc.status();
    const absl::StatusOr<Cublas> blas = LoadCublas();
    if (!blas.ok()) return absl::OkStatus();
    blas_ = *blas;
    if (blas_.cublasCreate(&cublas_) != CUBLAS_STATUS_SUCCESS) cublas_ = nullptr;
    if (cublas_ != nullptr && blas_.cublasSetStream(cublas_, stream_) != CUBLAS_STATUS_SUCCESS) {
      blas_.cublasDestroy(cublas_);
      cublas_ = nullptr;
    }
    return absl::OkStatus();
  }

  const CudaDriver cu_;
  Cublas blas_;
  std::string name_;
  CUdevice device_ = 0;
  int architecture_ = 0, multiprocessors_ = 1;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  std::vector<CUmodule> modules_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Accelerator>> OpenCudaAccelerator() {
  const absl::StatusOr<CudaDriver> driver = LoadCudaDriver();
  if (!driver.ok()) return driver.status();
  auto accelerator = std::make_unique<CudaAccelerator>(*driver);
  if (absl::Status status = accelerator->Open(); !status.ok()) return status;
  return std::unique_ptr<Accelerator>(std::move(accelerator));
}

absl::StatusOr<std::unique_ptr<Backend>> OpenCuda() {
  absl::StatusOr<std::unique_ptr<Accelerator>> accelerator = OpenCudaAccelerator();
  if (!accelerator.ok()) return accelerator.status();
  return std::unique_ptr<Backend>(std::make_unique<KernelBackend>(*std::move(accelerator)));
}

}  // namespace planproof::runtime_check::cuda
