/* Stands between the program and libc: has one write or flush of the process fall short, fail or be the last, whichever thread makes
   it. SHIM_CALL: write or fsync. SHIM_AT: which of them. SHIM_DOES: short, truncated, full, fail or kill. SHIM_HIT: a file that is made when
   it happens. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *call = "", *does = "", *mark = "";
static int at;
static atomic_int count, is_full;

static const char *text(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

__attribute__((constructor)) static void begin(void) {
  call = text("SHIM_CALL");
  does = text("SHIM_DOES");
  mark = text("SHIM_HIT");
  at = atoi(text("SHIM_AT"));
  /* Children are left alone. */
  unsetenv("LD_PRELOAD");
}

static int is_hit(const char *name) {
  if (strcmp(call, name) != 0 || atomic_fetch_add(&count, 1) + 1 != at) return 0;
  int file = open(mark, O_CREAT | O_WRONLY, 0600);
  if (file >= 0) close(file);
  return 1;
}

static void end(void) {
  kill(getpid(), SIGKILL);
  pause();
}

ssize_t write(int file, const void *bytes, size_t length) {
  ssize_t (*next)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  if (file <= 2) return next(file, bytes, length);
  if (is_full) {
    errno = ENOSPC;
    return -1;
  }
  if (!is_hit("write")) return next(file, bytes, length);
  ssize_t half = next(file, bytes, (length + 1) / 2);
  if (strcmp(does, "truncated") == 0) end();
  is_full = strcmp(does, "full") == 0;
  return half;
}

static int flush(const char *name, int file) {
  int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  if (!is_hit("fsync")) return next(file);
  if (strcmp(does, "kill") == 0) end();
  errno = EIO;
  return -1;
}

int fsync(int file) { return flush("fsync", file); }

int fdatasync(int file) { return flush("fdatasync", file); }
