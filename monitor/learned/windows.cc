#include "monitor/learned/windows.h"

#include <algorithm>

namespace planproof::monitor::learned {
namespace {
constexpr size_t kWindowCallLimit = 256;           // functions of one step
constexpr size_t kHeldLimit = size_t{1} << 17;     // tensors of one stream
constexpr size_t kReplicaLimit = size_t{1} << 20;  // contents that wait for another process
constexpr int kStreamLimit = 1 << 12;
}  // namespace

Windows::Windows(Symbols* symbols)
    : symbols_(symbols), yes_(symbols->Of("yes")), no_(symbols->Of("no")) {}

void Windows::Step(int stream, int64_t process, int64_t step) {
  if (stream < 0 || stream >= kStreamLimit) return;
  if (streams_.size() <= static_cast<size_t>(stream)) streams_.resize(stream + 1);
  Stream& s = streams_[stream];
  if (s.open && s.window.step == step && s.window.process == process) return;
  if (s.open) CloseWindow(&s, false);
  s.open = true;
  s.window.process = process;
  s.window.step = step;
  ++steps_;
}

void Windows::Call(int stream, Symbol phase, Symbol function, Role role) {
  if (static_cast<size_t>(stream) >= streams_.size() || function == kNoSymbol ||
      role == Role::kOther)
    return;
  Stream& s = streams_[stream];
  if (s.window.calls.size() >= kWindowCallLimit) return;
  const CallItem item{phase, function};
  if (s.called.insert(item).second) s.window.calls.emplace_back(item, role);
}

void Windows::Attribute(int stream, Symbol phase, Symbol subject, Symbol attribute, Symbol value,
                        ValueKind kind) {
  if (static_cast<size_t>(stream) >= streams_.size()) return;
  if (subject == kNoSymbol || attribute == kNoSymbol || value == kNoSymbol) return;
  const Window& window = streams_[stream].window;
  OnInstance({Form::kEquals, phase, subject, attribute, value, kind, window.process, window.step});
}

void Windows::Given(int stream, Symbol function, absl::Span<const Symbol> subjects) {
  if (static_cast<size_t>(stream) >= streams_.size() || function == kNoSymbol) return;
  const Window& window = streams_[stream].window;
  OnGiven(window.process, window.step, function, subjects);
}

void Windows::Content(int stream, Symbol subject, uint64_t hash, bool trained) {
  if (static_cast<size_t>(stream) >= streams_.size() || subject == kNoSymbol) return;
  Stream& s = streams_[stream];
  if (s.held.size() >= kHeldLimit && !s.held.contains(subject)) return;
  Held& held = s.held[subject];
  if (held.seen_at != s.window_number) {
    held.known_before = held.seen_at >= 0;
    held.before = held.hash;
    held.in_step = 0;
    held.trained = false;
    held.seen_at = s.window_number;
  }
  held.hash = hash;
  held.trained = held.trained || trained;
  CompareReplica(s, subject, held);
  ++held.in_step;
}

void Windows::CompareReplica(const Stream& stream, Symbol subject, const Held& held) {
  const ReplicaKey key{subject, stream.window.step, held.in_step};
  const auto found = replicas_.find(key);
  if (found == replicas_.end()) {
    if (replicas_.size() < kReplicaLimit)
      replicas_.emplace(key, Replica{stream.window.process, held.hash});
    return;
  }
  if (found->second.process == stream.window.process) {
    found->second.hash = held.hash;
    return;
  }
  const Symbol value = found->second.hash == held.hash ? yes_ : no_;
  OnInstance({Form::kReplica, kNoSymbol, subject, kNoSymbol, value, ValueKind::kCode,
              stream.window.process, stream.window.step});
}

void Windows::CompareContents(Stream* stream) {
  std::vector<std::pair<Symbol, uint64_t>> changed;
  for (const auto& [subject, held] : stream->held) {
    if (held.seen_at != stream->window_number || !held.known_before) continue;
    if (held.hash != held.before) changed.emplace_back(subject, held.hash);
    if (!held.trained) continue;
    OnInstance({Form::kChanges, kNoSymbol, subject, kNoSymbol,
                held.hash != held.before ? yes_ : no_, ValueKind::kCode, stream->window.process,
                stream->window.step});
  }
  if (changed.empty()) return;
  std::sort(changed.begin(), changed.end());
  OnContents(changed);
  for (const auto& [a, b] : Pairs()) {
    const auto at_a =
        std::lower_bound(changed.begin(), changed.end(), std::pair<Symbol, uint64_t>(a, 0));
    const auto at_b =
        std::lower_bound(changed.begin(), changed.end(), std::pair<Symbol, uint64_t>(b, 0));
    if (at_a == changed.end() || at_b == changed.end() || at_a->first != a || at_b->first != b)
      continue;
    OnInstance({Form::kSame, kNoSymbol, a, b, at_a->second == at_b->second ? yes_ : no_,
                ValueKind::kCode, stream->window.process, stream->window.step});
  }
}

void Windows::CloseWindow(Stream* stream, bool cut_off) {
  stream->window.cut_off = cut_off;
  if (!stream->held.empty()) CompareContents(stream);
  if (!stream->window.calls.empty()) {
    OnWindow(stream->window);
    stream->window.first = false;
  }
  stream->window.calls.clear();
  stream->called.clear();
  ++stream->window_number;
}

void Windows::CloseStep(int stream, bool cut_off) {
  if (static_cast<size_t>(stream) >= streams_.size() || !streams_[stream].open) return;
  CloseWindow(&streams_[stream], cut_off);
  streams_[stream].open = false;
}

void Windows::AtEnd(int64_t process, int64_t steps, Symbol attribute, Symbol value,
                    ValueKind kind) {
  if (attribute == kNoSymbol || value == kNoSymbol) return;
  OnInstance({Form::kAtEnd, kNoSymbol, symbols_->Of("end of the run"), attribute, value, kind,
              process, steps});
}

void Windows::End(int stream) {
  if (static_cast<size_t>(stream) >= streams_.size() || !streams_[stream].open) return;
  CloseWindow(&streams_[stream], true);
  streams_[stream] = Stream{};
}

}  // namespace planproof::monitor::learned
