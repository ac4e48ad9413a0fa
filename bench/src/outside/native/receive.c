/*
 * receive HOST PORT RUN: answers each request with 200, except on paths that begin with /hang, which it never answers. Writes to
 * its standard output first a record that says it listens, then a record of each request on /hang, and of each request whose body
 * contains the id of an event of the run.
 */
#include "message.h"
#include <stdint.h>
#include <signal.h>

struct record {
  uint32_t path; /* a hash of the path */
  int32_t number; /* the number of the event, or one of the two values below */
  double sent_ms, arrived_ms;
};
enum { listening = -2, hanging = -1 };
enum { number_digits = 8, time_digits = 14, most = 65536 };

static const char ok[] = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
static struct connection *connections[most];

static double digits(const char *from, int count) {
  double value = 0;
  for (int at = 0; at < count; at++) value = value * 10 + from[at] - '0';
  return value;
}

static void answer(struct connection *to, size_t body, size_t length, const char *mark) {
  const char *path = memchr(to->bytes, ' ', body);
  struct record record = {2166136261u, hanging, 0, now_ms()};
  if (!path) return;
  if (!strncmp(path + 1, "/hang", 5)) {
    put_record(&record, sizeof record);
    return;
  }
  if (write(to->fd, ok, sizeof ok - 1) < 0) return;
  for (const char *at = path + 1; *at != ' ' && *at != '\r'; at++)
    record.path = (record.path ^ (unsigned char)*at) * 16777619u;
  size_t marked = strlen(mark);
  const char *id = memmem(to->bytes + body, length - body, mark, marked);
  if (!id || id + marked + number_digits + 1 + time_digits > to->bytes + length) return;
  record.number = digits(id + marked, number_digits);
  record.sent_ms = digits(id + marked + number_digits + 1, time_digits) / 1e3;
  put_record(&record, sizeof record);
}

static int listen_at(const char *host, const char *port) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
  if (getaddrinfo(host, port, &hints, &found)) fail("getaddrinfo");
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 1024)) fail("listen");
  return fd;
}

static void accept_from(int listener, int poll) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (fd >= most) {
    close(fd);
    return;
  }
  send_at_once(fd);
  connections[fd] = calloc(1, sizeof(struct connection));
  connections[fd]->fd = fd;
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

int main(int count, char **args) {
  if (count != 4) return 2;
  signal(SIGPIPE, SIG_IGN);
  char mark[128];
  snprintf(mark, sizeof mark, "%s-", args[3]);
  int listener = listen_at(args[1], args[2]), poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[128];
  epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
  struct record first = {0, listening, 0, 0};
  put_record(&first, sizeof first);
  flush_records();
  for (;;) {
    int found = epoll_wait(poll, ready, 128, recorded ? 10 : -1);
    for (int at = 0; at < found; at++) {
      if (ready[at].data.fd == listener) {
        accept_from(listener, poll);
        continue;
      }
      struct connection *from = connections[ready[at].data.fd];
      if (!read_more(from)) {
        close(from->fd);
        free(from->bytes);
        free(from);
        continue;
      }
      size_t body, length;
      while ((length = message_length(from, &body))) {
        answer(from, body, length, mark);
        drop(from, length);
      }
    }
    flush_if_late();
    moderate(found);
  }
}
