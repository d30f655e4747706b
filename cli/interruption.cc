#include "cli/interruption.h"

#include <signal.h>

namespace planproof::cli {
namespace {

stages::StopRequest request;

void OnSignal(int signal_number) {
  if (request.watched && !request.requested) {
    request.requested = true;
    return;
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

}  // namespace

stages::StopRequest* StopOnSignals() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  for (const int signal_number : {SIGINT, SIGTERM}) sigaction(signal_number, &action, nullptr);
  return &request;
}

void IgnoreTermination() {
  for (const int signal_number : {SIGINT, SIGTERM}) signal(signal_number, SIG_IGN);
}

}  // namespace planproof::cli
