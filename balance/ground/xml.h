// SPDX-License-Identifier: MIT
// As much of XML as it takes to tell what a document is by its first bytes. Floor 1: pure functions, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace balance {

enum class DocumentType : std::uint8_t {
  refused,  // a document that has one is not looked into: what comes from clients
  skipped,  // as long as it has no internal subset: mapserv's WMS 1.1 exceptions have one
};

struct Root {
  std::string_view name;  // local: 'GetFeature' of '<?xml ...?><wfs:GetFeature ...'; "" where there is none
  bool may_come = false;  // so far nothing speaks against it, but the text ends too soon
};
Root xml_root(std::string_view text, DocumentType document_type);

}  // namespace balance
