// Shares the classes of a run among processes on several machines.
//
// Every process reads the same files and cuts the same claims; that costs each of them what it
// costs one, and what travels is a class's number one way and its outcome back. (Sending claims
// instead would mean sending the graphs around each of them, which are most of the plan.) Before a
// process is given work, its fingerprint of all classes and of the program's version is compared.
//
// Each process has its own workers (stages/workers/worker_pool.h), so that a claim that crashes or
// runs out of time costs a worker. A process that is silent for too long is lost: its classes are
// given to others.
#ifndef PLANPROOF_CLUSTER_SHARED_EXECUTOR_H_
#define PLANPROOF_CLUSTER_SHARED_EXECUTOR_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cluster/message_port.h"
#include "stages/workers/executor.h"

namespace planproof::cluster {

namespace wire {
class Message;
}

struct SharingOptions {
  double beat_s = 0.5;    // a process that serves says so often that it lives
  double silence_s = 15;  // after which it is lost
  double goodbye_s = 60;  // so long goodbyes are waited for; others may still be reading the plan
};

class SharedExecutor : public stages::Executor {
 public:
  explicit SharedExecutor(std::unique_ptr<MessagePort> port, SharingOptions options = {})
      : port_(std::move(port)), options_(options) {}
  // Ends the connection. It ends orderly if every process says goodbye; otherwise each just leaves.
  // Whatever is to be said is better said before.
  ~SharedExecutor() override;

  stages::PoolUsage Run(const stages::TaskSet& tasks, const stages::WorkerLimits& limits) override;
  bool Leads() const override { return port_->rank() == 0; }

  // What people should know: processes that were lost or could not be used.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void DismissServers();
  bool AllSayGoodbye();
  void WaitForDismissal();
  bool WaitForEnd();
  bool Receive(int* from, wire::Message* message, std::chrono::steady_clock::time_point until);
  stages::PoolUsage Lead(const stages::TaskSet& tasks, const stages::WorkerLimits& limits);
  stages::PoolUsage Serve(const stages::TaskSet& tasks, const stages::WorkerLimits& limits);

  std::unique_ptr<MessagePort> port_;
  SharingOptions options_;
  bool dismissed_ = false;  // those that serve were told, or this one was, that all is done
  bool broken_ = false;     // some process is lost: an orderly end would wait for it
  std::vector<std::string> warnings_;
};

}  // namespace planproof::cluster

#endif  // PLANPROOF_CLUSTER_SHARED_EXECUTOR_H_
