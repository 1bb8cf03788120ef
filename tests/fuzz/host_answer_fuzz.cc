// SPDX-License-Identifier: MIT
// Whatever a host answers with, there is a judgement in the end, with a reason, and it does not depend on the pieces in
// which the body came: once given, it holds. And whatever a client posts, only what is known to read has no effect.
// The first line of the input is status, Content-Type, and words that say more of it; the rest is the body.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "balance/ground/host_answer.h"
#include "balance/ground/retry.h"
#include "balance/ground/xml.h"
#include "loadprobe/base/text.h"
#include "tests/fuzz/fuzz.h"

namespace {

using balance::Answered;
using balance::Judgement;
using balance::Rest;
using balance::Wanted;

void check_judgement(const Judgement& judgement) {
  fuzz::promise((judgement.answered == Answered::fine) == judgement.why.empty(), "what is not fine has a reason");
  fuzz::promise((judgement.answered == Answered::host_fault) == (judgement.relayed != balance::Relayed::fine),
                "only a host's fault counts against it");
  for (const char c : judgement.why) fuzz::promise(static_cast<unsigned char>(c) >= ' ', "a reason can be printed");
}

void check_judge(const balance::HostHead& head, std::string_view body) {
  for (const Wanted wanted : {Wanted::picture, Wanted::anything}) {
    const std::optional<Judgement> whole = judge(wanted, head, body, Rest::none);
    fuzz::promise(whole.has_value(), "a whole answer is judged");
    check_judgement(*whole);
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, body.size() / 2, body.size()}) {
      const std::optional<Judgement> early =
          judge(wanted, head, body.substr(0, std::min(size, body.size())), Rest::more_may_come);
      if (early) check_judgement(*early);
      if (size >= balance::kMostHeldBytes) fuzz::promise(early.has_value(), "what is held back is bounded");
      if (early && body.size() <= balance::kMostHeldBytes && !head.content_length) {
        fuzz::promise(early->answered == whole->answered, "a judgement holds, whatever comes after it");
      }
    }
  }
}

void check_xml(std::string_view body) {
  for (const auto type : {balance::DocumentType::refused, balance::DocumentType::skipped}) {
    const balance::Root root = xml_root(body, type);
    fuzz::promise(!(root.may_come && !root.name.empty()), "a root is there or may come");
    if (!root.name.empty()) {
      fuzz::promise(root.name.data() >= body.data() && root.name.data() + root.name.size() < body.data() + body.size(),
                    "a root's name is the document's");
    }
  }
}

void check_effect(std::string_view type, std::string_view body) {
  balance::Request request;
  request.method = balance::Method::post;
  const balance::Effect effect = effect_of(request, type, body, true);
  const std::string lower = base::lower(body);
  if (effect == balance::Effect::none) {
    const std::string_view root = xml_root(body, balance::DocumentType::refused).name;
    fuzz::promise(root != "Transaction" && root != "LockFeature" && root != "InsertSensor" && root != "Envelope",
                  "what may change something has an effect");
  }
  const balance::Effect torn = effect_of(request, "application/x-www-form-urlencoded", body, false);
  fuzz::promise(torn == balance::Effect::possible, "a form that is not whole may do anything");
  request.method = balance::Method::other;
  fuzz::promise(effect_of(request, type, body, true) == balance::Effect::possible, "unknown methods may do anything");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = fuzz::text_of(bytes, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view body = text.substr(std::min(end + 1, text.size()));
  balance::HostHead head;
  head.status = 200;
  std::string_view type;
  std::size_t at = 0;
  for (const std::string_view word : base::split(text.substr(0, end), ' ')) {
    if (at == 0)
      head.status = static_cast<int>(std::clamp<std::uint64_t>(base::whole_number(word).value_or(200), 200, 599));
    if (at == 1) type = word;
    if (word == "gzip") head.headers.emplace_back("Content-Encoding", "gzip");
    if (word == "length") head.content_length = body.size();
    ++at;
  }
  head.headers.emplace_back("Content-Type", type);
  check_judge(head, body);
  check_xml(body);
  check_effect(type, body);
  return 0;
}
