#include "runtime_check/cuda/kernel_backend.h"

#include <algorithm>
#include <limits>
#include <set>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "runtime_check/rounding.h"

namespace planproof::runtime_check::cuda {
namespace {

using Storage = Values::Storage;

constexpr char kSymbol[] = "planproof_kernel";
constexpr double kMostCalls = 256;                  // of a product of matrices at one coordinate
constexpr int64_t kRowElements = int64_t{1} << 26;  // of rows of all threads together

size_t BytesOf(Storage storage) {
  return storage == Storage::kFloat ? sizeof(float) : sizeof(double);
}

KernelTypes TypesOf(const Backend::Application& application) {
  KernelTypes types;
  types.wide = application.arithmetic == sdfg::DType::kFloat64;
  types.integer_result = application.result == Storage::kInteger;
  for (const Storage storage : application.storages)
    types.integer_operands.push_back(storage == Storage::kInteger);
  return types;
}

const void* ElementAt(const void* base, Storage storage, int64_t element) {
  return static_cast<const char*>(base) + element * static_cast<int64_t>(BytesOf(storage));
}

}  // namespace

struct KernelBackend::DeviceBuffer final : Backend::Buffer {
  ~DeviceBuffer() override { accelerator->Free(address); }
  Accelerator* accelerator = nullptr;
  Accelerator::Address address = nullptr;
};

KernelBackend::KernelBackend(std::unique_ptr<Accelerator> accelerator, KernelBackendOptions options)
    : accelerator_(std::move(accelerator)), options_(options) {}

KernelBackend::~KernelBackend() {
  for (const Workspace* workspace : {&operands_, &reals_, &ints_, &rows_, &magnitudes_, &failed_})
    accelerator_->Free(workspace->address);
}

KernelBackend::Key KernelBackend::KeyOf(const Application& application) const {
  const KernelTypes types = TypesOf(application);
  std::string text(1, types.wide ? 'd' : 'f');
  text += types.integer_result ? 'i' : 'r';
  for (const bool integer : types.integer_operands) text += integer ? 'i' : 'r';
  return {application.tape->number, text};
}

absl::Status KernelBackend::Prepare(const std::vector<Application>& applications) {
  std::vector<std::pair<Key, Accelerator::Source>> missing;
  std::set<std::string> asked;
  std::vector<Accelerator::Source> sources;
  for (const Application& application : applications) {
    Key key = KeyOf(application);
    if (application.elements == 0 || programs_.contains(key)) continue;
    Program& program = programs_[key];
    const KernelTypes types = TypesOf(application);
    const bool integers = types.integer_result ||
                          std::find(types.integer_operands.begin(), types.integer_operands.end(),
                                    true) != types.integer_operands.end();
    if (!integers && accelerator_->Multiplies())
      program.product = AsMatrixProduct(*application.tape);
    if (program.product) {
      const std::optional<BlasProduct> blas = AsBlasProduct(*program.product);
      if (blas && program.product->Multiplications() >= options_.least_multiplications &&
          program.product->Calls() <= kMostCalls) {
        program.blas = *blas;
        continue;
      }
      program.product.reset();
    }
    program.source = SourceOf(*application.tape, types, kSymbol);
    Accelerator::Source source{program.source.text, {}};
    for (const KernelPass& pass : program.source.passes) source.kernels.push_back(pass.name);
    if (!compiled_.contains(source.text) && asked.insert(source.text).second)
      sources.push_back(source);
    missing.emplace_back(std::move(key), std::move(source));
  }
  if (!sources.empty()) {
    absl::StatusOr<std::vector<std::vector<Accelerator::Kernel>>> kernels =
        accelerator_->Compile(sources);
    if (!kernels.ok()) {
      for (const auto& [key, source] : missing) programs_.erase(key);
      return kernels.status();
    }
    for (size_t s = 0; s < sources.size(); ++s)
      compiled_[sources[s].text] = std::move((*kernels)[s]);
  }
  for (const auto& [key, source] : missing) programs_[key].kernels = compiled_[source.text];
  return absl::OkStatus();
}

absl::StatusOr<Accelerator::Address> KernelBackend::Room(Workspace* workspace, size_t bytes) {
  if (bytes <= workspace->bytes) return workspace->address;
  accelerator_->Free(workspace->address);
  *workspace = {};
  const absl::StatusOr<Accelerator::Address> address = accelerator_->Allocate(bytes);
  if (!address.ok()) return address.status();
  *workspace = {*address, bytes};
  return *address;
}

absl::StatusOr<std::unique_ptr<KernelBackend::DeviceBuffer>> KernelBackend::Allocate(
    Storage storage, int64_t elements) {
  auto buffer = std::make_unique<DeviceBuffer>();
  buffer->accelerator = accelerator_.get();
  buffer->storage = storage;
  buffer->elements = elements;
  const absl::StatusOr<Accelerator::Address> address =
      accelerator_->Allocate(std::max<size_t>(1, static_cast<size_t>(elements)) * BytesOf(storage));
  if (!address.ok()) return address.status();
  buffer->address = *address;
  return buffer;
}

absl::StatusOr<std::unique_ptr<Backend::Buffer>> KernelBackend::Upload(const Values& values) {
  absl::StatusOr<std::unique_ptr<DeviceBuffer>> buffer = Allocate(values.storage, values.size());
  if (!buffer.ok()) return buffer.status();
  const void* from =
      values.storage == Storage::kInteger  ? static_cast<const void*>(values.integers.data())
      : values.storage == Storage::kDouble ? static_cast<const void*>(values.doubles.data())
                                           : static_cast<const void*>(values.floats.data());
  absl::Status status = accelerator_->Write(
      (*buffer)->address, from, static_cast<size_t>(values.size()) * BytesOf(values.storage));
  if (!status.ok()) return status;
  return std::unique_ptr<Buffer>(*std::move(buffer));
}

absl::Status KernelBackend::Download(const Buffer& buffer, Values* values) {
  void* to = values->storage == Storage::kInteger  ? static_cast<void*>(values->integers.data())
             : values->storage == Storage::kDouble ? static_cast<void*>(values->doubles.data())
                                                   : static_cast<void*>(values->floats.data());
  return accelerator_->Read(to, static_cast<const DeviceBuffer&>(buffer).address,
                            static_cast<size_t>(buffer.elements) * BytesOf(buffer.storage));
}

absl::Status KernelBackend::Launch(const Program& program, const Application& application,
                                   Accelerator::Address output) {
  const size_t instances = static_cast<size_t>(application.instances);
  const size_t count = application.operands.size();
  KernelArguments arguments;
  arguments.output = output;
  arguments.instances = application.instances;
  std::vector<const void*> first;
  for (size_t at = 0; at < instances * count; ++at) {
    const auto& operand = static_cast<const DeviceBuffer&>(*application.operands[at % count]);
    first.push_back(ElementAt(operand.address, operand.storage, application.offsets[at]));
  }
  const auto room = [&](Workspace* workspace, size_t bytes, auto* argument) -> absl::Status {
    if (bytes == 0) return absl::OkStatus();
    const absl::StatusOr<Accelerator::Address> address = Room(workspace, bytes);
    if (!address.ok()) return address.status();
    *argument = static_cast<std::remove_pointer_t<decltype(argument)>>(*address);
    return absl::OkStatus();
  };
  const KernelSource& source = program.source;
  Accelerator::Address operands = nullptr;
  // Fewer threads where each needs much memory for rows.
  const int64_t most = source.row_elements == 0
                           ? std::numeric_limits<int64_t>::max()
                           : std::max<int64_t>(1, kRowElements / source.row_elements);
  std::vector<Accelerator::Grid> grids;
  int64_t threads = 1;
  for (const KernelPass& pass : source.passes) {
    const int64_t rows = std::min(application.instances, most);
    grids.push_back(accelerator_->GridFor(std::min(pass.positions, most / rows), rows));
    threads = std::max(threads, grids.back().threads * grids.back().rows);
  }
  absl::Status status = room(&operands_, first.size() * sizeof(first[0]), &operands);
  if (!first.empty() && status.ok())
    status = accelerator_->Write(operands, first.data(), first.size() * sizeof(first[0]));
  arguments.operands = static_cast<const void* const*>(operands);
  if (status.ok())
    status = room(&reals_, source.kept_reals * instances * sizeof(double), &arguments.reals);
  if (status.ok())
    status = room(&ints_, source.kept_ints * instances * sizeof(int64_t), &arguments.ints);
  if (status.ok())
    status = room(&rows_, source.row_elements * threads * sizeof(double), &arguments.rows);
  if (status.ok()) status = room(&failed_, source.can_fail ? sizeof(int) : 0, &arguments.failed);
  if (source.can_fail && status.ok()) status = accelerator_->Clear(arguments.failed, sizeof(int));
  for (size_t pass = 0; status.ok() && pass < source.passes.size(); ++pass) {
    status = accelerator_->Launch(program.kernels[pass], arguments, grids[pass]);
  }
  if (!status.ok() || !source.can_fail) return status;
  int failed = 0;
  status = accelerator_->Read(&failed, arguments.failed, sizeof(failed));
  if (!status.ok() || failed == 0) return status;
  const Tape& tape = *application.tape;
  return absl::InvalidArgumentError(
      absl::StrCat("operator ", tape.operator_name, " reads its operand ",
                   tape.input_names[failed - 1], " outside of the extents"));
}

absl::Status KernelBackend::Multiply(const Program& program, const Application& application,
                                     Accelerator::Address output) {
  const MatrixProduct& p = *program.product;
  const size_t count = application.operands.size();
  const bool wide = application.result == Storage::kDouble;
  // The longest loop is the batch; the others are loops here, the sums innermost.
  std::vector<MatrixProduct::Loop> loops = p.loops;
  MatrixProduct::Loop batch;
  if (!loops.empty()) {
    batch = loops.back();
    loops.pop_back();
  }
  const size_t first_sum = loops.size();
  loops.insert(loops.end(), p.sums.begin(), p.sums.end());
  const bool swapped = program.blas.first_is_right;
  sdfg::Shape extents = {application.instances};
  for (const MatrixProduct::Loop& loop : loops) extents.push_back(loop.extent);
  std::vector<int64_t> index(extents.size(), 0);
  const int64_t calls = CountOf(extents);
  for (int64_t call = 0; call < calls; ++call, Advance(extents, &index)) {
    const size_t table = static_cast<size_t>(index[0]) * count;
    int64_t left = p.left_offset + application.offsets[table + p.left_operand];
    int64_t right = p.right_offset + application.offsets[table + p.right_operand];
    int64_t result = index[0] * application.elements;
    bool adds = false;
    for (size_t l = 0; l < loops.size(); ++l) {
      left += index[l + 1] * loops[l].left;
      right += index[l + 1] * loops[l].right;
      result += index[l + 1] * loops[l].result;
      adds |= l >= first_sum && index[l + 1] > 0;
    }
    const auto element = [&](int operand, int64_t at) {
      const auto& buffer = static_cast<const DeviceBuffer&>(*application.operands[operand]);
      return ElementAt(buffer.address, buffer.storage, at);
    };
    const void* first = element(p.left_operand, left);
    const void* second = element(p.right_operand, right);
    if (swapped) std::swap(first, second);
    const absl::Status status =
        accelerator_->Multiply(program.blas,
                               {batch.extent, swapped ? batch.right : batch.left,
                                swapped ? batch.left : batch.right, batch.result},
                               wide, p.factor, adds, first, second,
                               const_cast<void*>(ElementAt(output, application.result, result)));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Backend::Buffer>> KernelBackend::Run(
    const Application& application) {
  absl::StatusOr<std::unique_ptr<DeviceBuffer>> result =
      Allocate(application.result, application.instances * application.elements);
  if (!result.ok()) return result.status();
  if ((*result)->elements > 0) {
    if (absl::Status status = Prepare({application}); !status.ok()) return status;
    const Program& program = programs_.at(KeyOf(application));
    const absl::Status status = program.product ? Multiply(program, application, (*result)->address)
                                                : Launch(program, application, (*result)->address);
    if (!status.ok()) return status;
    (program.product ? product_runs_ : kernel_runs_) += 1;
  }
  return std::unique_ptr<Buffer>(*std::move(result));
}

absl::StatusOr<std::vector<Accelerator::Kernel>*> KernelBackend::RoundingKernelsReady() {
  if (rounding_.empty()) {
    absl::StatusOr<std::vector<std::vector<Accelerator::Kernel>>> kernels =
        accelerator_->Compile({{RoundingKernels(), {kMagnitudeKernel, kRoundKernel}}});
    if (!kernels.ok()) return kernels.status();
    rounding_ = std::move((*kernels)[0]);
  }
  return &rounding_;
}

absl::Status KernelBackend::Round(Buffer* buffer, sdfg::DType dtype, int64_t local) {
  if (!IsNarrowFloat(dtype) || buffer->elements == 0 || local == 0) return absl::OkStatus();
  const absl::StatusOr<std::vector<Accelerator::Kernel>*> kernels = RoundingKernelsReady();
  if (!kernels.ok()) return kernels.status();
  const FloatFormat& format = FormatOf(dtype);
  KernelArguments arguments;
  arguments.output = static_cast<DeviceBuffer*>(buffer)->address;
  arguments.instances = buffer->elements / local;
  arguments.elements = local;
  arguments.precision = format.precision;
  arguments.least_exponent = format.least_exponent;
  arguments.largest = static_cast<float>(format.largest);
  arguments.has_infinity = format.has_infinity ? 1 : 0;
  arguments.scaled = IsScaledFloat(dtype) ? 1 : 0;
  const Accelerator::Grid grid = accelerator_->GridFor(local, arguments.instances);
  if (IsScaledFloat(dtype)) {
    const size_t bytes = static_cast<size_t>(arguments.instances) * sizeof(unsigned);
    const absl::StatusOr<Accelerator::Address> magnitudes = Room(&magnitudes_, bytes);
    if (!magnitudes.ok()) return magnitudes.status();
    arguments.largest_bits = static_cast<unsigned*>(*magnitudes);
    if (absl::Status status = accelerator_->Clear(*magnitudes, bytes); !status.ok()) return status;
    if (absl::Status status = accelerator_->Launch((**kernels)[0], arguments, grid); !status.ok())
      return status;
  }
  return accelerator_->Launch((**kernels)[1], arguments, grid);
}

}  // namespace planproof::runtime_check::cuda
