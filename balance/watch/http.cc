// SPDX-License-Identifier: MIT
// See http.h.
#include "balance/watch/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "balance/watch/sockets.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr std::size_t kMostHeaderBytes = std::size_t{64} << 10;  // libcurl keeps every header line in memory
constexpr long kReceiveBytes = 4096;      // a report has about 1 kB; libcurl's own 16 kB are a lot a host
constexpr long kConnectionSeconds = 300;  // then a name that has moved is followed

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Slot {
  std::unique_ptr<CURL, FreeEasy> easy;
  std::unique_ptr<curl_slist, FreeList> addresses;
  std::string resolve;  // what `addresses` says
  base::Seconds timeout{};
  HttpQuestion::Want want = HttpQuestion::Want::all;
  std::string body;
  std::size_t header_bytes = 0, body_bytes = 0;
  enum class Size { fits, body_too_long, headers_too_long } size = Size::fits;
  bool under_way = false;
};

// libcurl's callbacks: taking less than was offered ends the transfer.
std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* to) {
  auto* slot = static_cast<Slot*>(to);
  slot->body_bytes += count;
  if (slot->body_bytes > kMostAnswerBytes) {
    slot->size = Slot::Size::body_too_long;
    return 0;
  }
  const std::size_t most = slot->want == HttpQuestion::Want::all ? kMostAnswerBytes : kFirstBytes;
  if (slot->body.size() < most) slot->body.append(bytes, std::min(count, most - slot->body.size()));
  return count;
}

std::size_t on_header(char*, std::size_t, std::size_t count, void* to) {
  auto* slot = static_cast<Slot*>(to);
  slot->header_bytes += count;
  if (slot->header_bytes > kMostHeaderBytes) {
    slot->size = Slot::Size::headers_too_long;
    return 0;
  }
  return count;
}

// An entry of CURLOPT_RESOLVE: 'pinchot.example.org:9719:192.0.2.1,[2001:db8::7]'; "" where no name is used.
std::string resolve_entry(const HttpQuestion& question) {
  const std::string& host = question.server.host;
  if (base::parse_address(host)) return "";
  std::string line = host + ":" + std::to_string(question.server.port) + ":";
  for (const base::Address& address : question.addresses) {
    if (line.back() != ':' || &address != &question.addresses.front()) line += ",";
    const std::string text = base::to_text(address);
    line += text.find(':') == std::string::npos ? text : "[" + text + "]";
  }
  return line;
}

ProbeFailure failure_of(CURLcode code, const Slot& slot) {
  long system_error = 0;
  curl_easy_getinfo(slot.easy.get(), CURLINFO_OS_ERRNO, &system_error);
  if (slot.size == Slot::Size::body_too_long) {
    return {Failure::garbage, "answer longer than " + std::to_string(kMostAnswerBytes) + " bytes"};
  }
  if (slot.size == Slot::Size::headers_too_long) {
    return {Failure::garbage, "answer's header longer than " + std::to_string(kMostHeaderBytes) + " bytes"};
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return {Failure::timeout, "no answer within " + base::to_text(slot.timeout)};
  }
  if (code == CURLE_COULDNT_CONNECT) return connect_failure(static_cast<int>(system_error));
  if ((code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR) && (system_error == ECONNRESET || system_error == EPIPE)) {
    return {Failure::reset, "connection reset"};
  }
  if (code == CURLE_GOT_NOTHING) return {Failure::garbage, "connection closed without an answer"};
  if (code == CURLE_PARTIAL_FILE) return {Failure::garbage, "connection closed in mid-answer"};
  if (code == CURLE_PEER_FAILED_VERIFICATION) return {Failure::garbage, "its certificate cannot be verified"};
  return {Failure::garbage, "no HTTP answer: " + base::lower(std::string_view(curl_easy_strerror(code)))};
}

}  // namespace

struct HttpClient::Curl {
  // Declared first, freed last: a handle that is freed asks for its connections.
  std::unique_ptr<CURLM, FreeMulti> multi{curl_multi_init()};
  std::vector<Slot> slots;
  std::vector<curl_waitfd> waits;  // kept for its memory
  std::vector<HttpOutcome> ended;

  ~Curl() {
    for (Slot& slot : slots) {
      if (slot.under_way) curl_multi_remove_handle(multi.get(), slot.easy.get());
    }
  }
  void perform();
  bool open(Slot& slot);
  RelayConfig trust;
};

bool HttpClient::Curl::open(Slot& slot) {
  slot.easy.reset(curl_easy_init());
  CURL* easy = slot.easy.get();
  if (easy == nullptr) return false;
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "poolwatch");
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, kConnectionSeconds);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, trust.verify ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, trust.verify ? 2L : 0L);
  if (!trust.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, trust.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);  // nobody else is to vouch for a host
  }
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &slot);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &slot);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &slot);
  return true;
}

HttpClient::HttpClient(std::unique_ptr<Curl> curl) : curl_(std::move(curl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

base::Result<HttpClient> HttpClient::create(std::size_t slots, const RelayConfig& trust) {
  auto curl = std::make_unique<Curl>();
  if (!curl->multi) return base::Error{base::Fault::io, "libcurl does not start: no memory"};
  // Its default is four connections for each handle under way: with most of them idle it would close the kept ones.
  curl_multi_setopt(curl->multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(slots + 1));
  curl_multi_setopt(curl->multi.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl->slots.resize(slots);
  curl->trust = trust;
  return HttpClient(std::move(curl));
}

base::Status HttpClient::start(std::size_t index, const HttpQuestion& question) {
  Slot& slot = curl_->slots.at(index);
  if (!slot.easy && !curl_->open(slot)) return base::Error{base::Fault::io, "libcurl does not start: no memory"};
  CURL* easy = slot.easy.get();
  Url server = question.server;
  server.path.clear();
  curl_easy_setopt(easy, CURLOPT_URL, (to_text(server) + question.target).c_str());
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, long{base::milliseconds(question.timeout, 1)});
  // libcurl keeps the entry for all handles until another one replaces it.
  if (std::string resolve = resolve_entry(question); resolve != slot.resolve) {
    curl_easy_setopt(easy, CURLOPT_RESOLVE, nullptr);
    slot.addresses.reset(resolve.empty() ? nullptr : curl_slist_append(nullptr, resolve.c_str()));
    slot.resolve = std::move(resolve);
    curl_easy_setopt(easy, CURLOPT_RESOLVE, slot.addresses.get());
  }
  slot.timeout = question.timeout;
  slot.body.clear();
  slot.want = question.want;
  slot.header_bytes = slot.body_bytes = 0;
  slot.size = Slot::Size::fits;
  const CURLMcode code = curl_multi_add_handle(curl_->multi.get(), easy);
  if (code != CURLM_OK) {
    return base::Error{base::Fault::io, std::string("libcurl takes no question: ") + curl_multi_strerror(code)};
  }
  slot.under_way = true;
  return base::ok();
}

void HttpClient::wait(std::vector<pollfd>& others, base::Seconds most) {
  curl_->perform();
  if (!curl_->ended.empty()) most = base::Seconds{0};
  curl_->waits.clear();
  for (const pollfd& other : others) {
    curl_waitfd wait{};
    wait.fd = other.fd;
    if ((other.events & POLLIN) != 0) wait.events |= CURL_WAIT_POLLIN;
    if ((other.events & POLLOUT) != 0) wait.events |= CURL_WAIT_POLLOUT;
    curl_->waits.push_back(wait);
  }
  const int timeout = static_cast<int>(std::ceil(std::clamp(most.count(), 0.0, 60.0) * 1000));
  curl_multi_poll(curl_->multi.get(), curl_->waits.data(), static_cast<unsigned>(curl_->waits.size()), timeout,
                  nullptr);
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i].revents = static_cast<short>(((curl_->waits[i].revents & CURL_WAIT_POLLIN) != 0 ? POLLIN : 0) |
                                           ((curl_->waits[i].revents & CURL_WAIT_POLLOUT) != 0 ? POLLOUT : 0));
  }
  curl_->perform();
}

void HttpClient::Curl::perform() {
  int running = 0;
  curl_multi_perform(multi.get(), &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    void* found = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &found);
    auto* slot = static_cast<Slot*>(found);
    HttpOutcome outcome{static_cast<std::size_t>(slot - slots.data()), ProbeFailure{}};
    const bool enough = slot->want == HttpQuestion::Want::beginning && slot->size == Slot::Size::body_too_long;
    if (code == CURLE_OK || enough) {
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      const char* type = nullptr;
      curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
      outcome.what = HttpAnswer{static_cast<unsigned>(status), type != nullptr ? type : "", std::move(slot->body)};
    } else {
      outcome.what = failure_of(code, *slot);
    }
    curl_multi_remove_handle(multi.get(), easy);
    slot->under_way = false;
    ended.push_back(std::move(outcome));
  }
}

std::vector<HttpOutcome> HttpClient::take() { return std::exchange(curl_->ended, {}); }

}  // namespace balance
