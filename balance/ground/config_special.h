// SPDX-License-Identifier: MIT
// Readers of the keys of balance.conf whose values are like no other's. They say what is wrong as those of
// config_values.h do; a list may then have been taken in part. For config_keys.cc alone. Floor 1: pure functions, any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "balance/ground/class.h"
#include "balance/ground/config_draft.h"

namespace balance {

std::string read_public_url(Draft& draft, std::string_view value);
std::string read_local(Draft& draft, std::string_view value);
// A secret: what is wrong with it is said without it.
std::string read_sticky_key(Draft& draft, std::string_view value);
std::string read_panic(Draft& draft, std::string_view value);
std::string read_trusted_proxies(Draft& draft, std::string_view value);
// Replaces the default list; 'none' alone empties it.
std::string read_private_cookies(Draft& draft, std::string_view value);
std::string read_artifact_prefixes(Draft& draft, std::string_view value);
std::string read_cors_origin(Draft& draft, std::string_view value);
std::string read_web_path(Draft& draft, std::string_view value);
// What requests of the class get.
std::string read_answer(Draft& draft, Class c, std::string_view value);

}  // namespace balance
