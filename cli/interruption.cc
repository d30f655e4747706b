#include "cli/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

namespace planproof::cli {
namespace {

constexpr unsigned kPatienceSeconds = 2;
// Who ends a process and then its group (timeout) sends the signal twice.
constexpr int64_t kSameSignalMilliseconds = 300;

stages::StopRequest request;
pid_t owner = 0;
std::unique_ptr<WordsInTime> kept;
std::atomic<const WordsInTime*> last_words = nullptr;
std::atomic<int64_t> requested_at = 0;  // milliseconds

// Everything below runs in signal handlers: async-signal-safe calls only.

void WriteAll(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

void SayLastWords() {
  const WordsInTime* both = last_words;
  if (both == nullptr) return;
  const LastWords* words = request.out_of_time ? &both->out_of_time : &both->interrupted;
  for (const auto& [path, content] : words->files) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) WriteAll(file, content);
  }
  WriteAll(STDOUT_FILENO, words->output);
  _exit(words->exit_code);  // workers end with their parent
}

int64_t Milliseconds() {
  struct timespec now {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void OnSignal(int signal_number) {
  if (getpid() != owner) return;
  const int64_t now = Milliseconds();
  if (request.requested && now - requested_at < kSameSignalMilliseconds) return;
  if (request.requested || last_words == nullptr) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    return;
  }
  requested_at = now;
  request.requested = true;
  if (!request.watched) SayLastWords();
  alarm(kPatienceSeconds);
}

void OnTimeOut(int) {
  if (getpid() != owner || request.requested || last_words == nullptr) return;
  request.out_of_time = true;
  requested_at = Milliseconds();
  request.requested = true;
  if (!request.watched) SayLastWords();
  alarm(kPatienceSeconds);
}

void OnAlarm(int) {
  if (getpid() == owner) SayLastWords();
}

void Install(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

stages::StopRequest* StopOnSignals(WordsInTime words) {
  owner = getpid();
  SetLastWords(std::move(words));
  Install(SIGALRM, OnAlarm);
  for (const int signal_number : {SIGINT, SIGTERM}) Install(signal_number, OnSignal);
  return &request;
}

void StopAfter(double seconds) {
  const int signal_number = SIGRTMIN;
  Install(signal_number, OnTimeOut);
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal_number;
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;  // no more timers: no limit
  struct itimerspec when {};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  timer_settime(timer, 0, &when, nullptr);
}

void SetLastWords(WordsInTime words) {
  auto next = std::make_unique<WordsInTime>(std::move(words));
  last_words = next.get();
  kept = std::move(next);  // the old ones are not said any more
}

void ForgetLastWords() {
  last_words = nullptr;
  alarm(0);
}

void IgnoreTermination() {
  for (const int signal_number : {SIGINT, SIGTERM}) signal(signal_number, SIG_IGN);
}

}  // namespace planproof::cli
