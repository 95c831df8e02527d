/* SPDX-License-Identifier: BSD-2-Clause */
/* The process that forks decoders: it has one thread, no device, and nothing but libvips, ready to work. */
#include "media/decoder/decoder.h"
#include "media/vips.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct born {
    pid_t pid;
    int socket; /* the decoder's, to say there how it ended */
};

struct host {
    int control, ends; /* requests; a signalfd for ends of decoders */
    struct born *born;
    size_t count, capacity;
};

/* In the new decoder, which must keep no other's socket open. */
static void become_decoder(const struct host *host, int socket)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < host->count; i++)
        close(host->born[i].socket);
    close(host->control);
    close(host->ends);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    decoder_serve(socket);
    _exit(0);
}

static void start(struct host *host, int socket, bool video)
{
    const bool room = mem_grow(&host->born, &host->capacity, host->count + 1, sizeof *host->born);
    if (!video)
        vips_begin(NULL); /* a decoder that misses it will say why */
    const pid_t pid = room ? fork() : -1;
    if (pid == 0)
        become_decoder(host, socket);
    if (pid > 0) {
        host->born[host->count++] = (struct born){pid, socket};
        return;
    }
    message_tell(socket, MESSAGE_ENDED, room ? -errno : -ENOMEM);
    close(socket);
}

static void reap(struct host *host)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;
    if (read(host->ends, &info, sizeof info) < 0 && errno != EAGAIN)
        return;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < host->count; i++)
            if (host->born[i].pid == pid) {
                message_tell(host->born[i].socket, MESSAGE_ENDED, status);
                close(host->born[i].socket);
                host->born[i] = host->born[--host->count];
                break;
            }
}

static void kill_one(const struct host *host, pid_t pid)
{
    for (size_t i = 0; i < host->count; i++)
        if (host->born[i].pid == pid)
            kill(pid, SIGKILL);
}

/* False: it is over. */
static bool obey(struct host *host)
{
    static struct message message;
    int socket = -1;
    if (!message_receive(host->control, &message, &socket))
        return false;
    if (message.kind == MESSAGE_START && socket >= 0)
        start(host, socket, message.value == 1);
    else if (message.kind == MESSAGE_KILL)
        kill_one(host, message.value);
    return true;
}

/* Standard output may be a pipe, whose reader waits until nobody holds it. A terminal's signals are for the
 * process that people see; it ends this one. */
static void settle(struct host *host)
{
    static const int others[] = {SIGINT, SIGQUIT, SIGHUP, SIGPIPE};
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t set;
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        dup2(nothing, STDOUT_FILENO);
        close(nothing);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        signal(others[i], SIG_IGN);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* one for each hostile file would fill a disk */
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    host->ends = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void decoder_host(int control)
{
    struct host host = {.control = control};
    settle(&host);
    struct pollfd fds[2] = {{.fd = control, .events = POLLIN}, {.fd = host.ends, .events = POLLIN}};
    while (host.ends >= 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents)
            reap(&host);
        if (fds[0].revents && !obey(&host))
            break;
    }
    for (size_t i = 0; i < host.count; i++) {
        kill(host.born[i].pid, SIGKILL);
        waitpid(host.born[i].pid, NULL, 0);
    }
}
