/* Lets the k-th call that writes below a folder fail, whoever makes it: preload it and arm it.
 *
 * Counted are open for writing, write, pwrite, writev, fwrite, fflush, fclose, fsync, fdatasync,
 * ftruncate, rename and mkdir, on files below the watched folder; unlink, close and reads never
 * fail, as on a full disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, FULL, BROKEN, SHORT, SHORT_THEN_FULL };

static char folder[PATH_MAX];
static size_t folder_length;
static int kind;
static long call, failing, failed;

/* What the tests call through ctypes. */
void faults_arm(const char *watched, int what, long k) {
    strncpy(folder, watched, sizeof folder - 1);
    folder_length = strlen(folder);
    kind = what;
    failing = k;
    call = failed = 0;
}
void faults_disarm(void) { folder_length = 0; }
long faults_calls(void) { return call; }
long faults_failed(void) { return failed; }

static int watches_path(const char *path) {
    return folder_length && path && strncmp(path, folder, folder_length) == 0;
}

static int watches(int fd) {
    char link[64], path[PATH_MAX];
    if (!folder_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return watches_path(path);
}

/* 0: do it; 1: fail with errno set; 2: do half of it. */
static int verdict(int can_be_short) {
    call++;
    if (kind == COUNT || call < failing) return 0;
    int first = call == failing, halves = kind == SHORT || kind == SHORT_THEN_FULL;
    if (first && halves && can_be_short) {
        failed++;
        return 2;
    }
    if (kind == SHORT || (kind == BROKEN && !first)) return 0;
    failed++;
    errno = kind == BROKEN ? EIO : ENOSPC;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define HALF(n) ((n) / 2 ? (n) / 2 : (n))

ssize_t write(int fd, const void *data, size_t n) {
    if (watches(fd)) {
        int what = verdict(n > 1);
        if (what == 1) return -1;
        if (what == 2) n = HALF(n);
    }
    return REAL(write)(fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    if (watches(fd)) {
        int what = verdict(n > 1);
        if (what == 1) return -1;
        if (what == 2) n = HALF(n);
    }
    return REAL(pwrite)(fd, data, n, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { return pwrite(fd, data, n, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (watches(fd)) {
        int what = verdict(count > 1);
        if (what == 1) return -1;
        if (what == 2) count = HALF(count);
    }
    return REAL(writev)(fd, parts, count);
}

size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
    if (watches(fileno(file))) {
        int what = verdict(n > 1);
        if (what == 1) return 0;
        if (what == 2) {
            errno = ENOSPC;
            return REAL(fwrite)(data, size, HALF(n), file);
        }
    }
    return REAL(fwrite)(data, size, n, file);
}

int fflush(FILE *file) {
    if (file && watches(fileno(file)) && verdict(0) == 1) return EOF;
    return REAL(fflush)(file);
}

int fclose(FILE *file) {
    if (watches(fileno(file)) && verdict(0) == 1) {
        int why = errno;
        REAL(fclose)(file);
        errno = why;
        return EOF;
    }
    return REAL(fclose)(file);
}

#define ON_HANDLE(name)                                   \
    int name(int fd) {                                    \
        if (watches(fd) && verdict(0) == 1) return -1;    \
        return REAL(name)(fd);                            \
    }
ON_HANDLE(fsync)
ON_HANDLE(fdatasync)

int ftruncate(int fd, off_t length) {
    if (watches(fd) && verdict(0) == 1) return -1;
    return REAL(ftruncate)(fd, length);
}

int rename(const char *from, const char *to) {
    if (watches_path(to) && verdict(0) == 1) return -1;
    return REAL(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    if (watches_path(path) && verdict(0) == 1) return -1;
    return REAL(mkdir)(path, mode);
}

#define ON_OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                   \
        va_list more;                                                              \
        va_start(more, flags);                                                     \
        mode_t mode = va_arg(more, mode_t);                                        \
        va_end(more);                                                              \
        int writes = flags & (O_WRONLY | O_RDWR | O_CREAT);                        \
        if (writes && watches_path(path) && verdict(0) == 1) return -1;            \
        return REAL(name)(path, flags, mode);                                      \
    }
ON_OPEN(open)
ON_OPEN(open64)

FILE *fopen(const char *path, const char *mode) {
    if (watches_path(path) && !strchr(mode, 'r') && verdict(0) == 1) return NULL;
    return REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }
