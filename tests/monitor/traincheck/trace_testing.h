// Writes small traces in TrainCheck's format.
#ifndef PLANPROOF_TESTS_MONITOR_TRAINCHECK_TRACE_TESTING_H_
#define PLANPROOF_TESTS_MONITOR_TRAINCHECK_TRACE_TESTING_H_

#include <fstream>
#include <string>
#include <vector>

namespace planproof::monitor::traincheck {

// A training run of `steps` steps of two tied tensors and a third one.
struct WrittenTrace {
  int steps = 6;
  int64_t seed = 1;  // contents and addresses depend on it
  int64_t process = 100;
  std::string prefix = "_TRAINCHECK";
  bool zero_grad = true, clip = true, tied = true, given = true, dropout_trains = true;
  std::string frozen;     // a tensor
  int faulty_from = 0;    // the first step at which a fault shows
  std::string last_line;  // after all records
};

class TraceText {
 public:
  explicit TraceText(const WrittenTrace& trace) : trace_(trace) {
    for (int step = 1; step <= trace.steps; ++step) Step(step);
    text_ += trace.last_line;
  }
  const std::string& text() const { return text_; }

 private:
  std::string Head(int step, const std::string& type) const {
    return "{\"process_id\": " + std::to_string(trace_.process) +
           ", \"thread_id\": " + std::to_string(7 * trace_.process) +
           ", \"meta_vars\": {\"step\": " + std::to_string(step) +
           ", \"stage\": \"training\"}, \"type\": \"" + type + "\"";
  }
  void Call(int step, const std::string& function, const std::string& rest) {
    const std::string identity = ", \"func_call_id\": \"" + std::to_string(++calls_) +
                                 "\", \"function\": \"" + function + "\"";
    text_ += Head(step, "function_call (pre)") + identity + rest + ", \"time\": 1}\n";
    text_ += Head(step, "function_call (post)") + identity +
             ", \"return_values\": {\"NoneType\": null}}\n";
  }
  void State(int step, const std::string& name, int64_t content) {
    text_ += Head(step, "state_change") + ", \"var_name\": \"" + name +
             "\", \"var_type\": \"torch.nn.Parameter\"" + ", \"attributes\": {\"" + trace_.prefix +
             "_data_ID\": " + std::to_string(trace_.seed * 1000 + step) +
             ", \"data\": " + std::to_string(content) +
             ", \"grad\": " + std::to_string(content + 5) +
             ", \"dtype\": \"torch.float32\", \"requires_grad\": " +
             (name == trace_.frozen ? "false" : "true") + ", \"shape\": [4]}}\n";
  }
  void Step(int step) {
    const bool healthy = step < trace_.faulty_from;
    if (trace_.zero_grad || healthy)
      Call(step, "torch.optim.optimizer.Optimizer.zero_grad", ", \"args\": {}");
    Call(step, "torch.nn.functional.dropout",
         std::string(", \"args\": {\"1\": {\"float\": 0.5}, \"2\": {\"bool\": ") +
             (trace_.dropout_trains || healthy ? "true" : "false") + "}}");
    Call(step, "torch._tensor.Tensor.backward", ", \"args\": {}");
    if (trace_.clip || healthy)
      Call(step, "torch.nn.utils.clip_grad.clip_grad_norm_", ", \"args\": {}");
    Call(step, "torch.optim.sgd.SGD.step", ", \"args\": {}");
    Call(step, "torch.optim.sgd.sgd",
         std::string(", \"proxy_obj_names\": [[\"m.a\", \"Parameter\"]") +
             (trace_.given || healthy ? ", [\"m.b\", \"Parameter\"]" : "") + "]");
    State(step, "m.a", trace_.seed * 100 + step);
    State(step, "m.b", trace_.seed * 100 + step + (trace_.tied || healthy ? 0 : 50));
    State(step, "m.c", trace_.seed * 700 + step);
  }

  const WrittenTrace trace_;
  std::string text_;
  int64_t calls_ = 0;
};

inline void WriteTrace(const std::string& directory, const std::vector<WrittenTrace>& processes) {
  for (const WrittenTrace& trace : processes) {
    std::ofstream(directory + "trace_API_" + std::to_string(trace.process) + "_1.log")
        << TraceText(trace).text();
  }
}

}  // namespace planproof::monitor::traincheck

#endif  // PLANPROOF_TESTS_MONITOR_TRAINCHECK_TRACE_TESTING_H_
