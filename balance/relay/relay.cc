// SPDX-License-Identifier: MIT
#include "balance/relay/relay.h"

#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "balance/front/decide.h"
#include "balance/ground/relay_request.h"
#include "balance/ground/reply.h"
#include "balance/ground/retry.h"
#include "balance/relay/body.h"
#include "balance/relay/delivery.h"
#include "balance/relay/transfer.h"
#include "balance/table/in_flight.h"
#include "loadprobe/base/clock.h"
#include "loadprobe/base/log.h"

namespace balance {
namespace {

// One request under way.
class Errand {
 public:
  Errand(RelayJob& job, Transfers& transfers, InFlight& in_flight)
      : job_(job), transfers_(transfers), in_flight_(in_flight) {}

  void run();

 private:
  bool take_body();
  bool choose();
  // Counts what the web server tried itself before it came back. False: no other host may be tried.
  bool count_hand_off();
  void look_for_killer();
  void try_hosts();
  Delivery::Came try_host(std::size_t host);
  bool may_go_on(bool is_last) const;
  void tell_table();
  void remember_client(std::size_t host, const HostHead& head);
  bool binds(std::size_t host) const;
  void move_client(std::size_t host);
  void answer(const Reply& reply) { (void)job_.exchange.write(to_cgi(reply, job_.request.method)); }
  Reply failure() const;

  RelayJob& job_;
  Transfers& transfers_;
  InFlight& in_flight_;
  Body body_;
  Effect effect_ = Effect::possible;
  std::uint64_t fingerprint_ = 0;
  bool is_killer_ = false;
  std::vector<std::size_t> hosts_;  // to try, in order
  struct Try {
    std::size_t host;
    Relayed end;
  };
  std::vector<Try> made_;
  Tries tries_;
  std::unique_ptr<Delivery> kept_;
  std::string why_;  // of the last failure
};

bool Errand::take_body() {
  const base::Result<Body::Taken> taken = body_.take(job_.exchange, job_.raw.content_length, job_.config.relay);
  if (!taken) {
    base::log(base::Level::error, "cannot relay a body", {{"cause", taken.error().what}});
    answer(unavailable(job_.request, job_.config, "There is no room for the request's body at the moment."));
    return false;
  }
  switch (*taken) {
    case Body::Taken::whole:
      return true;
    case Body::Taken::too_long:
      answer(too_large(job_.request, job_.config));
      return false;
    case Body::Taken::cut_short:
      answer(bad_request(job_.config, format_of(job_.request),
                         "The request's body is shorter than announced, or came too slowly."));
      return false;
  }
  return false;
}

bool Errand::choose() {
  if (!job_.decision) {
    job_.decision = decide_and_dispatch(job_.request, job_.config, {job_.table, job_.clients}, base::now(), job_.draw,
                                        RelayDoor{Relaying::built_in, {}}, job_.kept);
  }
  if (!is_relay(*job_.decision)) {
    answer(job_.decision->reply);
    return false;
  }
  hosts_ = job_.decision->choice.hosts;
  return true;
}

bool Errand::count_hand_off() {
  if (!job_.request.failed) return true;
  const FailedHandOff& failed = *job_.request.failed;
  const Relayed end = relayed_of(failed);
  ++(failed.was_sent ? tries_.sent : tries_.unconnected);
  why_ = phrase_of(end);
  const auto host = std::ranges::find(job_.config.hosts, failed.host, &HostConfig::name);
  if (host != job_.config.hosts.end()) {
    made_.push_back({static_cast<std::size_t>(host - job_.config.hosts.begin()), end});
    if (end == Relayed::no_connection && job_.table != nullptr) {
      job_.table->note_end(made_.back().host, end, base::now());
    }
  }
  return may_try_again(tries_, effect_, Begun::no, is_killer_);
}

// A request that has failed two hosts goes to one of them and to no other.
void Errand::look_for_killer() {
  if (job_.table == nullptr) return;
  fingerprint_ = request_fingerprint(job_.request, body_.fingerprint());
  const auto killer = job_.table->killer(fingerprint_, base::now());
  if (!killer || killer->first >= job_.config.hosts.size()) return;
  is_killer_ = true;
  const auto is_one = [&](std::size_t host) { return host == killer->first || host == killer->second; };
  const auto known = std::ranges::find_if(hosts_, is_one);
  if (known != hosts_.end()) {
    hosts_ = {*known};
  } else if (takes_clients(killer->first, job_.config, *job_.table, base::now())) {
    hosts_ = {killer->first};
  } else {
    hosts_.resize(1);
  }
}

void Errand::run() {
  if (!take_body()) return;
  note_form(job_.request, job_.raw.content_type, body_.first());
  effect_ = effect_of(job_.request, job_.raw.content_type, body_.first(), body_.is_in_memory());
  if (count_hand_off()) {
    if (!choose()) {
      tell_table();
      return;
    }
    look_for_killer();
    if (job_.request.failed && is_killer_) hosts_.clear();  // that was its one try
  }
  try_hosts();
  tell_table();
}

bool Errand::may_go_on(bool is_last) const { return !is_last && may_try_again(tries_, effect_, Begun::no, is_killer_); }

void Errand::try_hosts() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const bool is_last = i + 1 == hosts_.size();
    if (i > 0 && !is_last && job_.table != nullptr && is_off(hosts_[i], job_.config, *job_.table, base::now()))
      continue;
    switch (try_host(i)) {
      case Delivery::Came::delivered:
      case Delivery::Came::unwanted:
        return;
      case Delivery::Came::broken:
        job_.exchange.break_off();
        return;
      case Delivery::Came::kept:
        break;
      case Delivery::Came::nothing:
        if (!may_go_on(i + 1 == hosts_.size())) i = hosts_.size() - 1;
        break;
    }
  }
  if (kept_) {
    (void)kept_->deliver();
  } else {
    answer(failure());
  }
}

// What is told to the table at once is a failed connection: others are to know before they fail too.
Delivery::Came Errand::try_host(std::size_t i) {
  const std::size_t host = hosts_[i];
  const HostConfig& there = job_.config.hosts[host];
  if (i > 0 && job_.table != nullptr) dispatch_to(host, job_.config, *job_.table, base::now());
  const RelayRequest request = relay_request(job_.raw, job_.request, there, job_.config);
  // A good answer to nothing but the last request: one more would be sent.
  Tries after = tries_;
  ++after.sent;
  const bool is_last = i + 1 == hosts_.size() || !may_try_again(after, effect_, Begun::no, is_killer_);
  auto delivery = std::make_unique<Delivery>(
      Delivery::Asked{job_.exchange, job_.request, there, job_.config,
                      is_last ? Delivery::Elsewhere::is_no_choice : Delivery::Elsewhere::may_be_tried,
                      request.drop_body, binds(host) ? std::optional(host) : std::nullopt});
  InFlight::Count count = in_flight_.begin(host);
  const Transfer transfer = transfers_.run(request, body_, effect_, job_.config.relay, *delivery);
  count.end();
  const Delivery::Came came = delivery->end(transfer);
  if (came == Delivery::Came::unwanted) return came;
  made_.push_back({host, delivery->relayed()});
  if (delivery->relayed() == Relayed::no_connection) {
    ++tries_.unconnected;
    if (job_.table != nullptr) job_.table->note_end(host, Relayed::no_connection, base::now());
  } else if (!may_look_elsewhere(job_.request, delivery->head().status)) {
    ++tries_.sent;
  }
  if (came == Delivery::Came::delivered) remember_client(host, delivery->head());
  if (came == Delivery::Came::delivered && delivery->relayed() == Relayed::fine) move_client(host);
  why_ = delivery->why();
  if (came == Delivery::Came::kept) kept_ = std::move(delivery);
  return came;
}

// A host that failed a sticky client has lost it to the one that did not.
bool Errand::binds(std::size_t host) const {
  if (!job_.decision->binds) return false;
  return host == *job_.decision->host ||
         std::ranges::any_of(made_, [](const Try& made) { return made.end != Relayed::fine; });
}

void Errand::move_client(std::size_t host) {
  const std::size_t before = *job_.decision->host;
  if (host == before || !binds(host) || !is_by_address(job_.config.sticky.kind) || !job_.request.client) return;
  if (job_.table != nullptr && !takes_clients(host, job_.config, *job_.table, base::now())) return;
  bind_client(job_.request, job_.config, {job_.table, job_.clients}, host, before, base::now());
}

void Errand::remember_client(std::size_t host, const HostHead& head) {
  if (job_.table == nullptr || !job_.request.client) return;
  if (!takes_clients(host, job_.config, *job_.table, base::now())) return;
  if (!binds_client(job_.request, head.find("Content-Type"))) return;
  job_.table->remember_client(client_key(*job_.request.client), host, base::now());
}

Reply Errand::failure() const {
  const bool timed_out = !made_.empty() && made_.back().end == Relayed::timed_out;
  const std::string reason = "The map host did not answer: " + why_ + ".";
  return timed_out ? gateway_timeout(job_.request, job_.config, reason)
                   : bad_gateway(job_.request, job_.config, reason);
}

void Errand::tell_table() {
  if (job_.table == nullptr) return;
  std::vector<Relayed> ends;
  for (const Try& made : made_) ends.push_back(made.end);
  const base::Instant now = base::now();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] == Relayed::no_connection || !counts_against_host(ends, i, is_killer_)) continue;
    job_.table->note_end(made_[i].host, ends[i], now);
  }
  if (is_killer_ && !ends.empty() && ends.back() == Relayed::fine) job_.table->forget_killer(fingerprint_);
  if (!is_now_killer(ends)) return;
  std::vector<std::size_t> failed;
  for (const Try& made : made_) {
    if (made.end != Relayed::fine && made.end != Relayed::no_connection) failed.push_back(made.host);
  }
  if (failed.size() >= 2) job_.table->note_killer(fingerprint_, {failed[0], failed[1]}, now);
}

class Relay : public Relayer {
 public:
  explicit Relay(std::unique_ptr<Transfers> transfers) : transfers_(std::move(transfers)) {}

  void relay(RelayJob job) override { Errand(job, *transfers_, in_flight_).run(); }

  void use_table(const std::string& path, const TableShape& shape) override {
    if (base::Status used = in_flight_.use(path, shape); !used) {
      base::log(base::Level::warning, "relayed requests are not counted", {{"cause", used.error().what}});
    }
  }

 private:
  const std::unique_ptr<Transfers> transfers_;
  InFlight in_flight_;
};

}  // namespace

base::Result<std::unique_ptr<Relayer>> make_relay() {
  base::Result<std::unique_ptr<Transfers>> transfers = Transfers::create();
  if (!transfers) return transfers.error();
  return std::unique_ptr<Relayer>(std::make_unique<Relay>(*std::move(transfers)));
}

}  // namespace balance
