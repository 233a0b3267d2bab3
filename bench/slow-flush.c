/* Makes every flush of a process take longer by SLOW_US microseconds, for a disk that this machine has not: preloaded, it stands before the C
 * library's fsync and fdatasync, calls them, and then waits. Changes nothing else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_longer(void) {
  const char *given = getenv("SLOW_US");
  long microseconds = given ? atol(given) : 0;
  struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  while (nanosleep(&time, &time) != 0) {
  }
}

int fsync(int file) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  int result = real(file);
  wait_longer();
  return result;
}

int fdatasync(int file) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  int result = real(file);
  wait_longer();
  return result;
}
