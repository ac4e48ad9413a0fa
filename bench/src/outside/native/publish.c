/*
 * publish HOST PORT CONNECTIONS MILLISECONDS EVENTS FIRST_NUMBER DIGITS_AT...: reads a request from its standard input and posts
 * it in a closed loop on each connection, until MILLISECONDS have passed or EVENTS events were sent. Writes the event's number
 * and the time at each offset DIGITS_AT of the request, and a record of each answer to its standard output; the status is 0 if
 * the connection was lost.
 */
#include "message.h"
#include <signal.h>
#include <stdint.h>

struct record {
  int32_t number, status;
  double answered_ms;
};
enum { number_digits = 8, time_digits = 14, patience_ms = 30000, reopen_ms = 20 };

static char *request;
static size_t request_length;
static int places[64], place_count;
static int next_number, last_number, pending, poll_fd;
static double end_at;
static struct addrinfo *address;

static void write_digits(char *at, int count, uint64_t value) {
  for (int n = count - 1; n >= 0; n--, value /= 10) at[n] = '0' + value % 10;
}

static void record(const struct connection *of, int status) {
  struct record record = {of->number, status, now_ms()};
  put_record(&record, sizeof record);
  pending--;
}

static int is_over(void) { return next_number >= last_number || now_ms() >= end_at; }

static void send_next(struct connection *to) {
  if (is_over()) return;
  uint64_t now_us = now_ms() * 1e3;
  to->number = next_number++;
  for (int n = 0; n < place_count; n++) {
    write_digits(request + places[n], number_digits, to->number);
    write_digits(request + places[n] + number_digits + 1, time_digits, now_us);
  }
  pending++;
  /* A blocking write, which writes all or fails. After a failure the connection ends, and the next read shows it. */
  if (write(to->fd, request, request_length) != (ssize_t)request_length) shutdown(to->fd, SHUT_RDWR);
}

/* Reads the whole request from the standard input. */
static void read_request(void) {
  for (size_t room = 0;;) {
    if (request_length == room && !(request = realloc(request, room = room ? room * 2 : 16384))) fail("realloc");
    ssize_t size = read(0, request + request_length, room - request_length);
    if (size < 0) fail("read");
    if (size == 0) return;
    request_length += size;
  }
}

static int open_connection(struct connection *one) {
  one->fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  one->have = 0;
  if (connect(one->fd, address->ai_addr, address->ai_addrlen)) {
    close(one->fd);
    one->fd = -1;
    return 0;
  }
  send_at_once(one->fd);
  /* A server that stops reading must not hold up the other connections for ever. */
  struct timeval patience = {.tv_sec = patience_ms / 1000};
  setsockopt(one->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
  epoll_ctl(poll_fd, EPOLL_CTL_ADD, one->fd, &event);
  send_next(one);
  return 1;
}

static void take_answer(struct connection *from) {
  size_t body, length;
  if (!read_more(from)) {
    close(from->fd);
    from->fd = -1;
    if (from->number >= 0) record(from, 0);
    from->number = -1;
    if (!is_over()) open_connection(from);
    return;
  }
  while ((length = message_length(from, &body))) {
    int status = atoi(from->bytes + 9);
    drop(from, length);
    if (status < 200 || from->number < 0) continue;
    record(from, status);
    from->number = -1;
    send_next(from);
  }
}

int main(int count, char **args) {
  if (count < 8) return 2;
  signal(SIGPIPE, SIG_IGN);
  int connections = atoi(args[3]);
  end_at = now_ms() + atof(args[4]);
  next_number = atoi(args[6]);
  last_number = next_number + atoi(args[5]);
  for (int n = 7; n < count && place_count < 64; n++) places[place_count++] = atoi(args[n]);
  read_request();
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  if (getaddrinfo(args[1], args[2], &hints, &address)) fail("getaddrinfo");
  poll_fd = epoll_create1(EPOLL_CLOEXEC);
  struct connection *all = calloc(connections, sizeof *all);
  for (int n = 0; n < connections; n++) {
    all[n].number = -1;
    if (!open_connection(&all[n])) all[n].fd = -1;
  }
  struct epoll_event ready[128];
  while (!is_over() || (pending > 0 && now_ms() < end_at + patience_ms)) {
    int found = epoll_wait(poll_fd, ready, 128, 10);
    for (int at = 0; at < found; at++) take_answer(ready[at].data.ptr);
    flush_if_late();
    moderate(found);
    for (int n = 0; n < connections && !found && !is_over(); n++)
      if (all[n].fd < 0 && !open_connection(&all[n])) {
        usleep(reopen_ms * 1000);
        break;
      }
  }
  for (int n = 0; n < connections; n++)
    if (all[n].number >= 0) record(&all[n], 0);
  flush_records();
  return 0;
}
