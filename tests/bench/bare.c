/* SPDX-License-Identifier: MIT
 * What `balance` is measured by: the least that a CGI or FastCGI program with libfcgi can do. Answers every request with
 * one redirect; as FastCGI (argument: path of a UNIX socket) with as many threads as the second argument says. */
#include <fcgiapp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ANSWER                                                                                             \
  "Status: 302 Found\r\nLocation: http://127.0.0.11:8080/cgi-bin/mapserv?map=WORLD&mode=map\r\n"           \
  "Cache-Control: no-store\r\nX-Balance-Host: pinchot\r\nContent-Type: text/plain\r\n\r\nGo there.\r\n"

static int listener;

static void *serve(void *unused) {
  FCGX_Request request;
  FCGX_InitRequest(&request, listener, 0);
  while (FCGX_Accept_r(&request) == 0) {
    FCGX_PutS(ANSWER, request.out);
    FCGX_Finish_r(&request);
  }
  return unused;
}

int main(int argc, char **argv) {
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  pthread_t thread;
  if (argc < 2) {
    if (!FCGX_IsCGI()) return 2;
    fputs(ANSWER, stdout);
    return 0;
  }
  FCGX_Init();
  listener = FCGX_OpenSocket(argv[1], 128);
  if (listener < 0) return 1;
  chmod(argv[1], 0666);
  for (; threads > 1; --threads) pthread_create(&thread, NULL, serve, NULL);
  serve(NULL);
  return 0;
}
