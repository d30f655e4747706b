#include "cli/confirmation.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "report/text_layout.h"
#include "runtime_check/cuda/open_cuda.h"
#include "runtime_check/full_inputs.h"
#include "runtime_check/replay.h"
#include "witness/witness_file.h"

namespace planproof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

std::string ElementText(const sdfg::Graph& graph, sdfg::TensorId tensor,
                        const std::vector<int64_t>& index) {
  return absl::StrCat(report::OneLine(graph.tensors[tensor].name, 100), "[",
                      absl::StrJoin(index, ","), "]");
}

double Finite(double value) {
  return value < std::numeric_limits<double>::max() ? value : std::numeric_limits<double>::max();
}

// Replays of one witness in one type: whole, then by stage, then in float64 on the type's inputs.
class WitnessReplays {
 public:
  WitnessReplays(const lineage::Problem& problem, const witness::Witness& witness,
                 const std::string& dtype, runtime_check::Backend* backend)
      : problem_(problem), witness_(witness) {
    confirmation_.device = backend == nullptr ? "cpu" : backend->Name();
    confirmation_.dtype = dtype;
    where_ =
        absl::StrCat("on ", backend == nullptr ? "the CPU" : confirmation_.device, " in ", dtype);
    options_.arithmetic = sdfg::DTypeFromName(dtype);
    options_.perturbation = runtime_check::Perturbation::kByValue;
    options_.backend = backend;
  }

  stages::Confirmation Run() && {
    const absl::Status status = Tried();
    if (!status.ok())
      confirmation_.text = absl::StrCat("not confirmed ", where_, ": ", status.message());
    return std::move(confirmation_);
  }

 private:
  absl::Status Tried() {
    if (absl::Status limits = runtime_check::CheckLimits(problem_, options_, &programs_);
        !limits.ok())
      return limits;
    absl::StatusOr<runtime_check::Inputs> inputs =
        runtime_check::InputsOf(witness_, problem_, options_.arithmetic);
    if (!inputs.ok()) return inputs.status();
    inputs_ = *std::move(inputs);
    if (absl::Status status = TryType(/*by_stage=*/false); !status.ok() || confirmation_.confirmed)
      return status;
    if (absl::Status status = TryType(/*by_stage=*/true); !status.ok() || confirmation_.confirmed)
      return status;
    return TryFloat64();
  }

  absl::Status TryType(bool by_stage) {
    options_.by_stage = by_stage;
    const absl::StatusOr<runtime_check::ReplayReport> replay =
        runtime_check::Replay(problem_, inputs_, options_, &programs_);
    if (!replay.ok()) return replay.status();
    if (replay->first < 0) return absl::OkStatus();
    confirmation_.confirmed = true;
    // By stage, the first that alarms is where the fault is.
    const runtime_check::TensorReport& tensor =
        by_stage ? replay->tensors[replay->first] : Speaker(*replay);
    confirmation_.text =
        absl::StrCat("confirmed ", where_, by_stage ? ", each stage on the model's operands" : "",
                     ": ", Said(tensor));
    return absl::OkStatus();
  }

  // What rounding to the type hides.
  absl::Status TryFloat64() {
    const absl::Status nothing =
        absl::NotFoundError("no tensor differs by more than rounding explains");
    if (options_.arithmetic == sdfg::DType::kFloat64) return nothing;
    options_.by_stage = false;
    options_.arithmetic = sdfg::DType::kFloat64;
    inputs_ = InFloat64(inputs_);
    const absl::StatusOr<runtime_check::ReplayReport> replay =
        runtime_check::Replay(problem_, inputs_, options_, &programs_);
    if (!replay.ok()) return replay.status();
    if (replay->first < 0) return nothing;
    return absl::NotFoundError(absl::StrCat("rounding hides it; in float64, on the same inputs, ",
                                            Said(Speaker(*replay))));
  }

  // The tensor that speaks for a whole replay: a required one that differs, else the first that
  // alarms.
  static const runtime_check::TensorReport& Speaker(const runtime_check::ReplayReport& replay) {
    for (const runtime_check::TensorReport& tensor : replay.tensors) {
      if (!tensor.required.empty() && tensor.finding == runtime_check::Finding::kDiffers)
        return tensor;
    }
    return replay.tensors[replay.first];
  }

  // What was found wrong with the tensor, in words and in the confirmation.
  std::string Said(const runtime_check::TensorReport& tensor) {
    const runtime_check::Measure& measure = tensor.measure;
    stages::Confirmation& c = confirmation_;
    c.error = Finite(measure.error);
    c.tolerance = Finite(measure.bound * measure.expectation);
    if (tensor.finding != runtime_check::Finding::kDiffers) {
      if (tensor.finding != runtime_check::Finding::kOmitted)
        c.error = Finite(tensor.ratio * measure.expectation);
      c.logical = ElementText(problem_.logical, tensor.logical, tensor.index);
      return absl::StrCat(tensor.finding == runtime_check::Finding::kOmitted
                              ? "no device holds "
                              : "devices hold different values of ",
                          c.logical);
    }
    c.parallel = ElementText(problem_.parallel, tensor.parallel, measure.parallel_index);
    c.logical = ElementText(problem_.logical, tensor.logical, measure.logical_index);
    c.parallel_value = absl::StrFormat("%.9g", measure.parallel_value);
    c.logical_value = absl::StrFormat("%.9g", measure.logical_value);
    return absl::StrFormat("%s is %.6g, the model's %s %.6g; error %.2g, rounding explains %.2g",
                           c.parallel, measure.parallel_value, c.logical, measure.logical_value,
                           measure.error, c.tolerance);
  }

  const lineage::Problem& problem_;
  const witness::Witness& witness_;
  std::string where_;
  runtime_check::ReplayOptions options_;
  runtime_check::Programs programs_;
  runtime_check::Inputs inputs_;
  stages::Confirmation confirmation_;
};

json ToJson(const stages::Confirmation& c) {
  return {c.confirmed,      c.device,        c.dtype, c.parallel,  c.logical,
          c.parallel_value, c.logical_value, c.error, c.tolerance, c.text};
}

bool FromJson(const std::string& line, stages::Confirmation* c) {
  const json list = json::parse(line, nullptr, false);
  if (!list.is_array() || list.size() != 10) return false;
  *c = {list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7], list[8], list[9]};
  return true;
}

void Say(int output, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(output, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += static_cast<size_t>(written);
  }
}

// In the process of its own: a line for each type, and before them one if there is no GPU.
void ReplayAll(const ConfirmationArguments& arguments, const lineage::Problem& problem,
               const witness::Witness& witness, int output) {
  std::unique_ptr<runtime_check::Backend> backend;
  std::string remark;
  if (arguments.device != "cpu") {
    auto opened = runtime_check::cuda::OpenCuda();
    if (opened.ok()) {
      backend = *std::move(opened);
    } else if (absl::IsUnimplemented(opened.status())) {
      remark = absl::StrCat("; ", std::string(opened.status().message()));
    } else {
      remark = absl::StrCat("; no CUDA device: ", std::string(opened.status().message()));
    }
  }
  for (const std::string& dtype : arguments.dtypes) {
    stages::Confirmation c = WitnessReplays(problem, witness, dtype, backend.get()).Run();
    c.text += remark;
    Say(output, ToJson(c).dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
}

// Appends all that comes to `text`. Whether the other end was closed before the time was over: a
// process that may still run must be stopped before it is waited for.
bool ListenUntil(int input, Clock::time_point end, std::string* text) {
  char block[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd polled = {input, POLLIN, 0};
    const int ready = poll(&polled, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t got = read(input, block, sizeof(block));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    text->append(block, static_cast<size_t>(got));
  }
}

}  // namespace

void AddConfirmationOptions(CLI::App* command, ConfirmationArguments* arguments) {
  command
      ->add_option("--confirm", arguments->device,
                   "Run the counterexample, if there is one, on numbers: on the cpu, or on a GPU"
                   " (cuda)")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command
      ->add_option("--confirm-dtype", arguments->dtypes,
                   "Types in which --confirm does so, as replay's --dtype")
      ->check(CLI::IsMember(
          {"float64", "float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2"}))
      ->allow_extra_args(false)  // files may follow
      ->delimiter(',')
      ->capture_default_str();
}

void Confirm(const ConfirmationArguments& arguments, const lineage::Problem& problem,
             double seconds, stages::Result* result) {
  if (result->witness == nullptr) return;
  int ends[2];
  if (pipe(ends) != 0) return;
  std::string failure, answer;
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    ReplayAll(arguments, problem, *result->witness, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  if (process < 0) {
    failure = std::strerror(errno);
  } else {
    const Clock::time_point end =
        Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds));
    if (!ListenUntil(ends[0], end, &answer)) {
      failure = absl::StrFormat("it was stopped after %.0f s", seconds);
      kill(process, SIGKILL);
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    if (failure.empty() && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
      failure = "the process that ran it was stopped";
  }
  close(ends[0]);
  size_t line = 0;
  for (const std::string& dtype : arguments.dtypes) {
    const size_t end = answer.find('\n', line);
    stages::Confirmation confirmation;
    if (end == std::string::npos || !FromJson(answer.substr(line, end - line), &confirmation)) {
      confirmation.device = arguments.device;
      confirmation.dtype = dtype;
      confirmation.text =
          absl::StrCat("not confirmed on ", arguments.device, " in ", dtype, ": ", failure);
    } else {
      line = end + 1;
    }
    result->confirmations.push_back(std::move(confirmation));
  }
}

}  // namespace planproof::cli
