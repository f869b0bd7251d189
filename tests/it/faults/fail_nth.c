/* Loaded before the C library: the FAIL_AT-th call that has to do with files fails (EIO). With FAIL_COUNT,
 * how many such calls there were is written into that file in the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static int fails(void) {
    const char *at = getenv("FAIL_AT");
    return atomic_fetch_add(&calls, 1) + 1 == (at ? atol(at) : 0);
}

__attribute__((destructor)) static void count(void) {
    const char *into = getenv("FAIL_COUNT");
    FILE *file = into ? fopen(into, "w") : NULL;
    if (file) {
        fprintf(file, "%ld", atomic_load(&calls));
        fclose(file);
    }
}

#define WRAP(type, name, bad, params, args)                      \
    type name params {                                           \
        type(*real) params = (type(*) params)dlsym(RTLD_NEXT, #name); \
        if (fails()) {                                           \
            errno = EIO;                                         \
            return bad;                                          \
        }                                                        \
        return real args;                                        \
    }

struct dirent64;
typedef struct __dirstream DIR;

WRAP(ssize_t, read, -1, (int fd, void *to, size_t size), (fd, to, size))
WRAP(ssize_t, readv, -1, (int fd, const struct iovec *to, int count), (fd, to, count))
WRAP(ssize_t, write, -1, (int fd, const void *from, size_t size), (fd, from, size))
WRAP(ssize_t, writev, -1, (int fd, const struct iovec *from, int count), (fd, from, count))
WRAP(int, rename, -1, (const char *from, const char *to), (from, to))
WRAP(int, unlink, -1, (const char *path), (path))
WRAP(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, stat64, -1, (const char *path, struct stat64 *to), (path, to))
WRAP(int, lstat64, -1, (const char *path, struct stat64 *to), (path, to))
WRAP(int, fstat64, -1, (int fd, struct stat64 *to), (fd, to))
WRAP(int, statx, -1, (int at, const char *path, int flags, unsigned mask, struct statx *to), (at, path, flags, mask, to))
WRAP(char *, realpath, NULL, (const char *path, char *to), (path, to))
WRAP(char *, getcwd, NULL, (char *to, size_t size), (to, size))
WRAP(ssize_t, readlink, -1, (const char *path, char *to, size_t size), (path, to, size))
WRAP(DIR *, opendir, NULL, (const char *path), (path))
WRAP(DIR *, fdopendir, NULL, (int fd), (fd))
WRAP(struct dirent64 *, readdir64, NULL, (DIR *dir), (dir))

int open64(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (fails()) {
        errno = EIO;
        return -1;
    }
    return real(path, flags, mode);
}
