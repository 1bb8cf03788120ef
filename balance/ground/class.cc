// SPDX-License-Identifier: MIT
// Floor 1: pure functions, any thread.
#include "balance/ground/class.h"

namespace balance {

std::string_view name_of(Class c) {
  switch (c) {
    case Class::options:
      return "options";
    case Class::body:
      return "body";
    case Class::artifact:
      return "artifact";
    case Class::private_:
      return "private";
    case Class::document:
      return "document";
    case Class::long_:
      return "long";
    case Class::cors:
      return "cors";
    case Class::image:
      return "image";
    case Class::data:
      return "data";
    case Class::page:
      return "page";
  }
  return "";
}

}  // namespace balance
