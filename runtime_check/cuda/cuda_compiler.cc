#include "runtime_check/cuda/cuda_compiler.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime_check/cuda/cuda_libraries.h"

namespace planproof::runtime_check::cuda {
namespace {

// A text with fewer sources than these is not worth a process.
constexpr size_t kLeastSources = 4;

absl::StatusOr<std::string> Cubin(const Nvrtc& nvrtc, const std::string& text, int architecture) {
  nvrtcProgram program = nullptr;
  nvrtcResult result =
      nvrtc.nvrtcCreateProgram(&program, text.c_str(), "kernels.cu", 0, nullptr, nullptr);
  if (result != NVRTC_SUCCESS) return absl::InternalError(nvrtc.nvrtcGetErrorString(result));
  const std::string target = absl::StrCat("--gpu-architecture=sm_", architecture);
  // Products and sums are rounded each, as on the CPU. Kernels run a few times: less optimization,
  // where the compiler knows the option, halves the time of both together.
  const char* const options[] = {target.c_str(), "--fmad=false", "--std=c++17",
                                 "--Ofast-compile=min"};
  result = nvrtc.nvrtcCompileProgram(program, 4, options);
  if (result == NVRTC_ERROR_INVALID_OPTION) result = nvrtc.nvrtcCompileProgram(program, 3, options);
  std::string answer;
  size_t size = 0;
  if (result == NVRTC_SUCCESS) {
    nvrtc.nvrtcGetCUBINSize(program, &size);
    answer.resize(size);
    nvrtc.nvrtcGetCUBIN(program, answer.data());
  } else {
    nvrtc.nvrtcGetProgramLogSize(program, &size);
    answer.resize(size);
    nvrtc.nvrtcGetProgramLog(program, answer.data());
  }
  nvrtc.nvrtcDestroyProgram(&program);
  if (result == NVRTC_SUCCESS) return answer;
  return absl::InternalError(absl::StrCat("NVRTC for sm_", architecture, ": ",
                                          nvrtc.nvrtcGetErrorString(result), ": ",
                                          answer.substr(0, 2000)));
}

// A process that compiles one text; it writes a letter, whether it could, and the cubin or why not.
struct Job {
  pid_t process = -1;
  int output = -1;
};

bool WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<size_t>(written);
  }
  return true;
}

absl::StatusOr<Job> Start(const Nvrtc& nvrtc, const std::string& text, int architecture) {
  int ends[2];
  if (pipe(ends) != 0) return absl::InternalError(std::strerror(errno));
  const pid_t process = fork();
  if (process < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return absl::InternalError(std::strerror(error));
  }
  if (process == 0) {
    close(ends[0]);
    const absl::StatusOr<std::string> cubin = Cubin(nvrtc, text, architecture);
    const bool written =
        WriteAll(ends[1], cubin.ok() ? absl::StrCat("+", *cubin)
                                     : absl::StrCat("-", std::string(cubin.status().message())));
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  return Job{process, ends[0]};
}

absl::StatusOr<std::string> Finish(const Job& job) {
  std::string answer;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = read(job.output, block, sizeof(block));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(block, static_cast<size_t>(got));
  }
  close(job.output);
  int status = 0;
  while (waitpid(job.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || answer.empty())
    return absl::InternalError("a process that compiles kernels was stopped");
  if (answer[0] != '+') return absl::InternalError(answer.substr(1));
  return answer.substr(1);
}

}  // namespace

absl::StatusOr<std::vector<CompiledKernels>> CompileKernels(
    const std::vector<Accelerator::Source>& sources, int architecture, int jobs) {
  const absl::StatusOr<Nvrtc> nvrtc = LoadNvrtc();
  if (!nvrtc.ok()) return nvrtc.status();
  const size_t most = (sources.size() + kLeastSources - 1) / kLeastSources;
  std::vector<Translation> translations =
      TranslationsOf(sources, std::min(most, static_cast<size_t>(std::max(1, jobs))));
  std::vector<CompiledKernels> compiled;
  for (Translation& translation : translations)
    compiled.push_back({"", std::move(translation.kernels)});
  if (translations.size() == 1) {
    absl::StatusOr<std::string> cubin = Cubin(*nvrtc, translations[0].text, architecture);
    if (!cubin.ok()) return cubin.status();
    compiled[0].cubin = *std::move(cubin);
    return compiled;
  }
  std::vector<Job> started;
  absl::Status failed;
  for (const Translation& translation : translations) {
    const absl::StatusOr<Job> job = Start(*nvrtc, translation.text, architecture);
    if (!job.ok()) {
      failed = job.status();
      break;
    }
    started.push_back(*job);
  }
  for (size_t j = 0; j < started.size(); ++j) {
    absl::StatusOr<std::string> cubin = Finish(started[j]);
    if (cubin.ok()) {
      compiled[j].cubin = *std::move(cubin);
    } else if (failed.ok()) {
      failed = cubin.status();
    }
  }
  if (!failed.ok()) return failed;
  return compiled;
}

}  // namespace planproof::runtime_check::cuda
