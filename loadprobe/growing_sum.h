// SPDX-License-Identifier: MIT
// A counter made of sums that may fall: the CPU time of a tree of processes, of which some leave it with what they
// used. Floor 1: a value.
#pragma once

namespace loadprobe {

// Only grows. A sum is taken process by process, so one that ends meanwhile can be missing from it once, and is in its
// parent's the next time: such a dip is waited out, and what comes back is not counted twice. A sum that stays lower
// has lost a process for good, and counting goes on from there.
class GrowingSum {
 public:
  // The counter after this sum.
  double after(double sum) {
    if (sum + offset_ >= total_) {
      total_ = sum + offset_;
      dips_ = 0;
    } else if (++dips_ > kMostDips) {
      offset_ = total_ - sum;
      dips_ = 0;
    }
    return total_;
  }

 private:
  static constexpr int kMostDips = 2;
  double total_ = 0;
  double offset_ = 0;
  int dips_ = 0;
};

}  // namespace loadprobe
