// SPDX-License-Identifier: MIT
// balance: the CGI and FastCGI front. Floor 4.
#include <netdb.h>

#include "balance/front/program.h"

// libfcgi's side for web servers (OS_FcgiConnect) looks up names and is linked with the rest. We never call it; this
// keeps the C library's name service, which cannot be linked statically, out of the program.
extern "C" hostent* gethostbyname(const char*) { return nullptr; }

int main(int, char** argv) { return balance::run({.name = "balance", .make_relayer = nullptr}, argv); }
