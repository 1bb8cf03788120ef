// SPDX-License-Identifier: MIT
// Each handle is an easy one in a multi of its own: that is where libcurl keeps connections, and where a wait can have
// a deadline to the millisecond and look at the client too (curl_easy_perform looks about once a second).
#include "balance/relay/transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "loadprobe/base/clock.h"
#include "loadprobe/base/text.h"

namespace balance {
namespace {

constexpr long kReceiveBytes = 64 * 1024 - 16;
constexpr long kIdleSeconds = 60;       // web servers close kept connections after 5 s to 75 s
constexpr std::size_t kMostIdle = 128;  // handles

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// The system's folder of authorities, if they can be found there by their hashes; "" if not. libcurl would read the
// system's file instead, whole, for every connection: 36 ms of CPU and half a megabyte each with Debian's.
std::string hashed_authorities() {
  const char* const folder = curl_version_info(CURLVERSION_NOW)->capath;
  std::error_code fault;
  for (std::filesystem::directory_iterator at(folder != nullptr ? folder : "", fault), end; !fault && at != end;
       at.increment(fault)) {
    if (at->path().extension() == ".0") return folder;
  }
  return "";
}

// 'http://10.0.0.12:8080' and '/cgi-bin/mapserv?map=WORLD'.
std::pair<std::string_view, std::string_view> split_url(std::string_view url) {
  const std::size_t path = std::min(url.find('/', url.find("://") + 3), url.size());
  return {url.substr(0, path), url.substr(path)};
}

}  // namespace

struct Transfers::Handle {
  // Declared first, freed last: a handle that is freed asks for its connections.
  std::unique_ptr<CURLM, FreeMulti> multi{curl_multi_init()};
  std::unique_ptr<CURL, FreeEasy> easy{curl_easy_init()};
  std::string server;   // the only one that it is connected to
  std::string ca_file;  // a handle cannot go back to the system's once it was told another
};

namespace {

// What the callbacks of one transfer know.
struct Course {
  Course(const Body& sent, Taker& receiver, const RelayConfig& configured)
      : body(sent), taker(receiver), config(configured) {}

  const Body& body;
  Taker& taker;
  const RelayConfig& config;
  std::uint64_t body_offset = 0;
  bool was_sent = false;   // a connection stood and the request went out
  bool has_begun = false;  // something of an answer came
  bool has_body = false;   // ... and something of its body: what comes by the line then are trailers
  bool has_moved = false;  // something came since the last pause
  bool stopped = false;
  base::Instant last_progress = base::kNever;

  base::Seconds left(base::Instant now) const {
    if (!was_sent) return config.connect_timeout + base::Seconds{1};  // libcurl keeps that deadline itself
    return (has_begun ? config.stall_timeout : config.response_timeout) - (now - last_progress);
  }
};

// libcurl's callbacks: taking less than was offered ends the transfer.

int on_sending(void* to, char*, char*, int, int) {
  auto* course = static_cast<Course*>(to);
  course->was_sent = true;
  course->last_progress = base::now();
  return CURL_PREREQFUNC_OK;
}

std::size_t on_read(char* bytes, std::size_t, std::size_t count, void* to) {
  auto* course = static_cast<Course*>(to);
  const base::Result<std::size_t> got = course->body.read(course->body_offset, {bytes, count});
  if (!got) return CURL_READFUNC_ABORT;
  course->body_offset += *got;
  course->last_progress = base::now();
  return *got;
}

int on_seek(void* to, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<Course*>(to)->body_offset = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t taken(Course& course, Taker::Then then, std::size_t count) {
  if (then == Taker::Then::go_on) return count;
  course.stopped = true;
  return 0;
}

std::size_t on_header(char* bytes, std::size_t, std::size_t count, void* to) {
  auto* course = static_cast<Course*>(to);
  course->has_begun = course->has_moved = true;
  if (course->has_body) return count;
  return taken(*course, course->taker.take_line({bytes, count}), count);
}

std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* to) {
  auto* course = static_cast<Course*>(to);
  course->has_body = course->has_moved = true;
  return taken(*course, course->taker.take_body({bytes, count}), count);
}

void set_once(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBytes);
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
  curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
}

void set_course(CURL* easy, Course& course) {
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, &course);
  curl_easy_setopt(easy, CURLOPT_READDATA, &course);
  curl_easy_setopt(easy, CURLOPT_SEEKDATA, &course);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &course);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &course);
}

void set_method(CURL* easy, const RelayRequest& request, const Body& body) {
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, nullptr);  // which makes it a POST
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  if (request.has_body || request.method == "POST") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    if (body.is_in_memory()) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.first().data());
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void set_limits(CURL* easy, Effect effect, const RelayConfig& config) {
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, long{base::milliseconds(config.connect_timeout, 1)});
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, effect == Effect::possible ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, config.verify ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, config.verify ? 2L : 0L);
}

// The request's headers and nothing that libcurl would add of its own.
std::unique_ptr<curl_slist, FreeList> header_list(const RelayRequest& request) {
  std::unique_ptr<curl_slist, FreeList> list;
  const auto add = [&list](const std::string& line) {
    if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
      (void)list.release();
      list.reset(longer);
    }
  };
  bool has_accept = false, has_type = false;
  for (const auto& [name, value] : request.headers) {
    std::string line(name);
    add(value.empty() ? line.append(";") : line.append(": ").append(value));
    has_accept = has_accept || base::same_ignoring_case(name, "Accept");
    has_type = has_type || base::same_ignoring_case(name, "Content-Type");
  }
  add("Expect:");
  if (!has_accept) add("Accept:");
  if (!has_type) add("Content-Type:");
  return list;
}

Transfer ended(CURLcode code, const Course& course) {
  using End = Transfer::End;
  if (code == CURLE_OK) return {};
  if (course.stopped) return {End::stopped, ""};
  const std::string why = base::lower(std::string_view(curl_easy_strerror(code)));
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return {End::no_connection, why};
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
      return {course.was_sent ? End::broke_off : End::no_connection, why};
    default:
      return {course.was_sent ? End::garbage : End::no_connection, why};
  }
}

// Drives one handle to its end.
Transfer drive(CURLM* multi, Course& course) {
  bool is_watching = true;
  for (;;) {
    int running = 0, left = 0;
    curl_multi_perform(multi, &running);
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) return ended(message->data.result, course);
    }
    if (std::exchange(course.has_moved, false)) {
      if (taken(course, course.taker.take_pause(), 1) == 0) return {Transfer::End::stopped, ""};
      course.last_progress = base::now();  // after the client has its part: a slow one is no slow host
    }
    const base::Seconds patience = course.left(base::now());
    if (patience <= base::Seconds{0}) {
      return {Transfer::End::timed_out, course.has_begun ? "the answer stalled" : "no answer in time"};
    }
    curl_waitfd client{is_watching ? course.taker.watched() : -1, CURL_WAIT_POLLIN, 0};
    const int wait_ms = std::min(60'000, base::milliseconds(patience, 1));
    curl_multi_poll(multi, client.fd < 0 ? nullptr : &client, client.fd < 0 ? 0 : 1, wait_ms, nullptr);
    if (client.revents == 0) continue;
    if (course.taker.is_abandoned()) return {Transfer::End::abandoned, ""};
    is_watching = false;  // it has sent something more, which would wake us again and again
  }
}

}  // namespace

Transfers::Transfers(std::string authorities) : authorities_(std::move(authorities)) {}
Transfers::~Transfers() = default;

base::Result<std::unique_ptr<Transfers>> Transfers::create() {
  const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) {
    return base::Error{base::Fault::io, std::string("libcurl does not start: ") + curl_easy_strerror(code)};
  }
  return std::unique_ptr<Transfers>(new Transfers(hashed_authorities()));
}

std::unique_ptr<Transfers::Handle> Transfers::take(std::string_view server, const std::string& ca_file) {
  {
    const std::lock_guard lock(mutex_);
    for (auto found = idle_.rbegin(); found != idle_.rend(); ++found) {
      if ((*found)->server != server || (*found)->ca_file != ca_file) continue;
      std::unique_ptr<Handle> handle = std::move(*found);
      idle_.erase(std::next(found).base());
      return handle;
    }
  }
  auto handle = std::make_unique<Handle>();
  if (!handle->multi || !handle->easy) return nullptr;
  curl_multi_setopt(handle->multi.get(), CURLMOPT_MAXCONNECTS, 1L);
  set_once(handle->easy.get());
  handle->server = server;
  handle->ca_file = ca_file;
  if (!ca_file.empty()) {
    curl_easy_setopt(handle->easy.get(), CURLOPT_CAINFO, ca_file.c_str());
    curl_easy_setopt(handle->easy.get(), CURLOPT_CAPATH, nullptr);  // nobody else is to vouch for a host
  } else if (!authorities_.empty()) {
    curl_easy_setopt(handle->easy.get(), CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(handle->easy.get(), CURLOPT_CAPATH, authorities_.c_str());
  }
  return handle;
}

void Transfers::put_back(std::unique_ptr<Handle> handle) {
  std::unique_ptr<Handle> oldest;  // its connections are closed outside the lock
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(handle));
  if (idle_.size() <= kMostIdle) return;
  oldest = std::move(idle_.front());
  idle_.erase(idle_.begin());
}

Transfer Transfers::run(const RelayRequest& request, const Body& body, Effect effect, const RelayConfig& config,
                        Taker& taker) {
  const auto [server, target] = split_url(request.url);
  std::unique_ptr<Handle> handle = take(server, config.ca_file);
  if (!handle) return {Transfer::End::no_connection, "no memory for a connection"};
  CURL* easy = handle->easy.get();
  Course course(body, taker, config);
  const std::unique_ptr<curl_slist, FreeList> headers = header_list(request);
  curl_easy_setopt(easy, CURLOPT_URL, handle->server.c_str());
  curl_easy_setopt(easy, CURLOPT_REQUEST_TARGET, std::string(target).c_str());  // byte for byte
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  set_course(easy, course);
  set_method(easy, request, body);
  set_limits(easy, effect, config);
  if (curl_multi_add_handle(handle->multi.get(), easy) != CURLM_OK) {
    return {Transfer::End::no_connection, "no memory for a connection"};
  }
  Transfer transfer = drive(handle->multi.get(), course);
  curl_multi_remove_handle(handle->multi.get(), easy);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
  put_back(std::move(handle));
  return transfer;
}

}  // namespace balance
