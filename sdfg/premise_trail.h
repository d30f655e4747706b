// Records which premises the evaluation of an element met, so that they are met again where the
// element is taken from memory.
//
// What an element met is kept as a trail: premises, and the trails of the elements that it read, in
// the order of evaluation. A trail is walked once until the arena forgets its premises, so an
// element that is taken from memory costs what is new of it.
#ifndef PLANPROOF_SDFG_PREMISE_TRAIL_H_
#define PLANPROOF_SDFG_PREMISE_TRAIL_H_

#include <cstdint>
#include <vector>

#include "solver/term.h"

namespace planproof::sdfg {

class PremiseTrails : public solver::PremiseListener {
 public:
  using Id = int32_t;
  static constexpr Id kNothing = -1;

  // Listens to the arena, which has to outlive it.
  explicit PremiseTrails(solver::Arena* arena);
  ~PremiseTrails() override;
  PremiseTrails(const PremiseTrails&) = delete;
  PremiseTrails& operator=(const PremiseTrails&) = delete;

 private:
  // A premise, or what was met on another trail.
  struct Step {
    Id trail = kNothing;
    solver::PremiseKind kind = solver::PremiseKind::kNonZero;
    solver::PolyId poly = 0;
    solver::PremiseSource source;
    friend bool operator==(const Step& a, const Step& b) {
      return a.trail == b.trail && a.kind == b.kind && a.poly == b.poly &&
             a.source.granted == b.source.granted && a.source.number == b.source.number;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Step& s) {
      return H::combine(std::move(h), s.trail, s.kind, s.poly, s.source.granted, s.source.number);
    }
  };

 public:
  // The evaluation of an element, to the end of the scope. What was met by one that has failed was
  // met by what is evaluated around it.
  class Scope {
   public:
    explicit Scope(PremiseTrails* trails);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    // The element has been evaluated: its trail, now a part of the one around it.
    Id Finish();

   private:
    friend class PremiseTrails;
    PremiseTrails& trails_;
    Scope* const around_;
    std::vector<Step> steps_;
    bool in_branch_ = false;
  };

  // An element with this trail is taken from memory.
  void MeetAgain(Id trail);
  // A premise is met in a branch that is not always taken.
  void MeetInBranch();
  // Whether one was since this was cleared, on a trail that was met again, too.
  bool in_branch() const { return in_branch_; }
  void ClearInBranch() { in_branch_ = false; }

  // Forgets all trails; none may be under way.
  void Forget() { trails_.clear(); }
  void Met(solver::PremiseKind kind, solver::PolyId poly, solver::PremiseSource source) override;

 private:
  struct Trail {
    std::vector<Step> steps;
    bool in_branch = false;
    uint64_t walked = 0;  // the arena's premises at that time hold all of it
  };
  void Walk(Id trail);

  solver::Arena& arena_;
  std::vector<Trail> trails_;
  Scope* innermost_ = nullptr;
  bool in_branch_ = false, walking_ = false;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_PREMISE_TRAIL_H_
