// SPDX-License-Identifier: MIT
// Expected failure as a value: an Error says where, what was found and what was wanted, in one finished
// sentence; whoever adds context prefixes it, whoever handles it logs it once.
// Floor 1: plain values, any thread.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace base {

enum class Fault {
  usage,        // bad command line or configuration: exit status 2
  input,        // what somebody sent cannot be understood
  io,           // the system refused
  unavailable,  // nothing is broken, but there is nobody to ask now
};

struct Error {
  Fault fault = Fault::io;
  std::string what;

  // The same error, with the place in front of the sentence.
  Error at(const std::string& place) && { return Error{fault, place + ": " + what}; }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return held_.index() == 0; }

  // REQUIRES: *this holds a value.
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }

  // REQUIRES: *this holds an error.
  const Error& error() const& { return std::get<1>(held_); }
  Error&& error() && { return std::get<1>(std::move(held_)); }

 private:
  std::variant<T, Error> held_;
};

struct Done {};
using Status = Result<Done>;  // success carries nothing
inline Status ok() { return Done{}; }

}  // namespace base
