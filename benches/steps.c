/* The least a run of COUNT shell steps costs: for each, two records appended to FILE and flushed, and one `sh -c true` between them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int failed, const char *what) {
    if (failed) {
        perror(what);
        exit(1);
    }
}

static void record(int file) {
    static char line[320];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    check(write(file, line, sizeof line) != sizeof line, "write");
    check(fdatasync(file) != 0, "fdatasync");
}

static void step(void) {
    pid_t child = vfork();
    check(child < 0, "vfork");
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "true", (char *)NULL);
        _exit(127);
    }
    int status;
    check(waitpid(child, &status, 0) < 0 || status != 0, "wait");
}

int main(int argc, char **argv) {
    check(argc != 3, "usage: steps COUNT FILE");
    int file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
    check(file < 0, "open");
    for (int left = atoi(argv[1]); left > 0; left--) {
        record(file);
        step();
        record(file);
    }
    return 0;
}
