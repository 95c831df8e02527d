/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/guard.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/starved.h"
#include "cl/device.h"
#include "cli/cli.h"
#include "cli/survive.h"
#include "media/media.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { CHECK_MS = 100, HOLD_SECONDS = 10, SAMPLE_NS = 1000000000, TWICE_NS = 100000000 };

/* Where a signal comes from: a terminal, another process, or the one that watches this one. */
enum origin { TYPED, SENT, PASSED_ON, ORIGINS };

static struct {
    pthread_mutex_t lock; /* the lists */
    struct guarded_output *outputs;
    struct guard_watch *watches;
    pthread_t thread;
    sigset_t signals, before;
    int signal_fd, stop_fd;
    atomic_bool ending;
    bool held, second_ends;
    double hold_seconds;
    int waiting;                 /* the signal that waits for the end of the hold; 0: none */
    uint64_t since, waits_until; /* of the wait */
    unsigned counts[ORIGINS];    /* of signals, without those at the same moment */
    uint64_t counted[ORIGINS];   /* when the last one of them came */
    uint64_t uncounted,
        sampled;            /* ns in which the process could not run; when that was found out (clock_ns) */
    struct starved starved; /* the guard's thread alone */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER, .signal_fd = -1, .stop_fd = -1};

/* ---- Ending the process ---- */

/* A file that has just been put in place is gone under its temporary name: nothing is lost by trying. */
static void remove_outputs(void)
{
    pthread_mutex_lock(&guard.lock);
    for (const struct guarded_output *output = guard.outputs; output; output = output->next)
        unlink(output->file.temporary);
}

/* By the signal itself, so that the shell knows and stops its loop. */
static void end_by(int number)
{
    sigset_t set;
    remove_outputs();
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), number);
    _exit(128 + number);
}

/* Those at the same moment are one: a terminal and a process that passes signals on both send one. A terminal
 * sends one for each time that the key is pressed. */
static void count_signal(enum origin origin, uint64_t now)
{
    const bool with_first = guard.waiting && now - guard.since <= TWICE_NS;
    const bool with_last = guard.counts[origin] && now - guard.counted[origin] <= TWICE_NS;
    if (origin != TYPED && (with_last || (with_first && guard.counts[TYPED])))
        return;
    if (origin == TYPED && with_first && !guard.counts[TYPED])
        guard.counts[SENT] = guard.counts[PASSED_ON] = 0;
    guard.counts[origin]++;
    guard.counted[origin] = now;
}

/* How often somebody asked for the end. What is sent to all processes of the run is passed on as well, which
 * may take any time on a busy machine. */
static unsigned times_asked(void)
{
    const unsigned sent = guard.counts[SENT], passed_on = guard.counts[PASSED_ON];
    return guard.counts[TYPED] + (sent > passed_on ? sent : passed_on);
}

static enum origin origin_of(const struct signalfd_siginfo *info)
{
    if (info->ssi_code == SI_KERNEL)
        return TYPED;
    return survive_is_watched() && (pid_t)info->ssi_pid == getppid() ? PASSED_ON : SENT;
}

/* The first signal waits while the process is held; the others say nothing new, or that it is to end now. */
static void take_signal(int number, enum origin origin)
{
    const uint64_t now = clock_ns();
    pthread_mutex_lock(&guard.lock);
    count_signal(origin, now);
    const bool again = times_asked() > 1;
    const bool held = guard.held && !(guard.second_ends && again);
    if (held && !guard.waiting) {
        guard.waiting = number;
        guard.since = now;
        guard.waits_until = now + (uint64_t)(guard.hold_seconds * 1e9);
    }
    pthread_mutex_unlock(&guard.lock);
    if (!held)
        end_by(number);
}

static void check_hold(void)
{
    pthread_mutex_lock(&guard.lock);
    const int number = guard.waiting && clock_ns() > guard.waits_until ? guard.waiting : 0;
    pthread_mutex_unlock(&guard.lock);
    if (number)
        end_by(number);
}

static void hold(double seconds, bool second_ends)
{
    pthread_mutex_lock(&guard.lock);
    guard.held = true;
    guard.hold_seconds = seconds;
    guard.second_ends = second_ends;
    pthread_mutex_unlock(&guard.lock);
}

void guard_hold(void)
{
    hold(HOLD_SECONDS, false);
}

void guard_hold_for(double seconds)
{
    hold(seconds, true);
}

void guard_release(void)
{
    pthread_mutex_lock(&guard.lock);
    const int number = guard.waiting;
    guard.held = false;
    pthread_mutex_unlock(&guard.lock);
    if (number)
        end_by(number);
}

bool guard_is_signalled(void *context)
{
    (void)context;
    pthread_mutex_lock(&guard.lock);
    const bool waits = guard.waiting != 0;
    pthread_mutex_unlock(&guard.lock);
    return waits;
}

void guard_leave(int status)
{
    remove_outputs();
    _exit(status);
}

static void end_by_timeout(const struct guard_watch *watch)
{
    dprintf(
        STDERR_FILENO,
        "hone: %s: no answer within %g s; the process ends because what it waits for cannot be interrupted "
        "(--timeout sets the bound, 0 takes it away)\n",
        watch->what, watch->seconds);
    pthread_mutex_unlock(&guard.lock);
    guard_leave(EXIT_DEVICE);
}

/* Under the lock. */
static uint64_t counted_ns(void)
{
    return clock_ns() - guard.uncounted;
}

/* Under the lock. What was waited for other processes is added to the bound, once. */
static bool is_late(struct guard_watch *watch, uint64_t now)
{
    if (now <= watch->deadline)
        return false;
    const uint64_t waited = device_waited_ns(watch->late.device);
    watch->deadline += waited - watch->waited;
    watch->waited = waited;
    return now > watch->deadline;
}

static struct guard_watch *find_late(void)
{
    const uint64_t now = counted_ns();
    for (struct guard_watch *watch = guard.watches; watch; watch = watch->next)
        if (is_late(watch, now))
            return watch;
    return NULL;
}

/* What this thread, which sleeps for a moment only, has missed beyond that, the others have missed too: the
 * process was stopped, or the machine slept. This process and its decoders wait for each other: what both
 * missed adds up. */
static void sample(void)
{
    const uint64_t now = clock_ns(), span = now - guard.sampled, most = SAMPLE_NS + 2 * CHECK_MS * 1000000ull;
    const uint64_t both = starved_since(&guard.starved, STARVED_OWN, now) + media_starved(now);
    const uint64_t waited = both < span ? both : span;
    const uint64_t missed = guard.sampled && span > most ? span - most : 0;
    guard.uncounted += waited > missed ? waited : missed;
    guard.sampled = now;
}

/* Under the lock, which is let go meanwhile. */
static bool is_lived_with(const struct guard_watch *late)
{
    if (!late->late.ask)
        return false;
    pthread_mutex_unlock(&guard.lock);
    const bool is = late->late.ask(late->late.user, late->late.key);
    pthread_mutex_lock(&guard.lock);
    return is;
}

static void check_watches(void)
{
    pthread_mutex_lock(&guard.lock);
    if (clock_ns() - guard.sampled > SAMPLE_NS || find_late())
        sample();
    struct guard_watch *watch = find_late();
    if (watch) {
        const struct guard_watch late = *watch;
        watch->deadline = UINT64_MAX; /* one that is lived with is not asked for again */
        if (!is_lived_with(&late))
            end_by_timeout(&late);
    }
    pthread_mutex_unlock(&guard.lock);
}

static void *stand_guard(void *unused)
{
    struct pollfd fds[2] = {{.fd = guard.signal_fd, .events = POLLIN},
                            {.fd = guard.stop_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    (void)unused;
    pthread_mutex_lock(&guard.lock);
    sample();
    pthread_mutex_unlock(&guard.lock);
    for (;;) {
        poll(fds, 2, CHECK_MS);
        if (fds[0].revents & POLLIN && read(guard.signal_fd, &info, sizeof info) == sizeof info)
            take_signal((int)info.ssi_signo, origin_of(&info));
        if (atomic_load(&guard.ending))
            return NULL;
        check_watches();
        check_hold();
    }
}

/* ---- Beginning and ending ---- */

/* What the caller had ignored (nohup, a background job) stays ignored. */
static void choose_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&guard.signals);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&guard.signals, numbers[i]);
    }
}

static void close_all(void)
{
    if (guard.signal_fd >= 0)
        close(guard.signal_fd);
    if (guard.stop_fd >= 0)
        close(guard.stop_fd);
    guard.signal_fd = guard.stop_fd = -1;
    pthread_sigmask(SIG_SETMASK, &guard.before, NULL);
}

hone_status guard_begin(hone_error *error)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is then a failed write */
    choose_signals();
    pthread_sigmask(SIG_BLOCK, &guard.signals, &guard.before);
    atomic_store(&guard.ending, false);
    guard.signal_fd = signalfd(-1, &guard.signals, SFD_CLOEXEC | SFD_NONBLOCK);
    guard.stop_fd = eventfd(0, EFD_CLOEXEC);
    int code = guard.signal_fd < 0 || guard.stop_fd < 0
                   ? errno
                   : pthread_create(&guard.thread, NULL, stand_guard, NULL);
    if (code == 0)
        return HONE_OK;
    close_all();
    return error_set(error, HONE_ERROR_MEMORY,
                     "cannot start the thread that watches over drivers and signals: %s", strerror(code));
}

void guard_end(void)
{
    const uint64_t one = 1;
    atomic_store(&guard.ending, true);
    const ssize_t told = write(guard.stop_fd, &one, sizeof one);
    (void)told; /* untold, the guard sees `ending` within CHECK_MS */
    pthread_join(guard.thread, NULL);
    starved_finish(&guard.starved);
    close_all();
}

/* ---- Outputs ---- */

/* Once for outputs that follow each other in one folder. */
static void sweep(const char *target)
{
    static char last[PATH_MAX];
    const char *slash = strrchr(target, '/');
    const size_t length = slash ? (size_t)(slash - target) + 1 : 0;
    static bool any;
    if (length >= sizeof last || (any && strlen(last) == length && strncmp(last, target, length) == 0))
        return;
    any = true;
    memcpy(last, target, length);
    last[length] = '\0';
    file_output_sweep(target);
}

hone_status guard_output_begin(struct guarded_output *output, const char *target, hone_error *error)
{
    pthread_mutex_lock(&guard.lock); /* no signal can come between making the file and knowing it */
    sweep(target);
    hone_status status = file_output_begin(&output->file, target, error);
    if (!status) {
        output->next = guard.outputs;
        guard.outputs = output;
    }
    pthread_mutex_unlock(&guard.lock);
    return status;
}

static void forget(const struct guarded_output *output)
{
    pthread_mutex_lock(&guard.lock);
    for (struct guarded_output **at = &guard.outputs; *at; at = &(*at)->next)
        if (*at == output) {
            *at = output->next;
            break;
        }
    pthread_mutex_unlock(&guard.lock);
}

hone_status guard_output_commit(struct guarded_output *output, bool durable, hone_error *error)
{
    hone_status status = file_output_commit(&output->file, durable, error);
    forget(output);
    return status;
}

void guard_output_abort(struct guarded_output *output)
{
    if (output->file.fd < 0)
        return;
    file_output_abort(&output->file);
    forget(output);
}

/* ---- Bounds ---- */

static void begin_watch(struct guard_watch *watch)
{
    pthread_mutex_lock(&guard.lock);
    watch->deadline = counted_ns() + (uint64_t)(watch->seconds * 1e9);
    watch->waited = device_waited_ns(watch->late.device);
    watch->next = guard.watches;
    guard.watches = watch;
    pthread_mutex_unlock(&guard.lock);
}

static void watch_with(struct guard_watch *watch, const char *format, va_list args)
{
    if (!(watch->seconds > 0))
        return;
    vsnprintf(watch->what, sizeof watch->what, format, args);
    begin_watch(watch);
}

void guard_watch(struct guard_watch *watch, double seconds, const char *format, ...)
{
    va_list args;
    *watch = (struct guard_watch){.seconds = seconds};
    va_start(args, format);
    watch_with(watch, format, args);
    va_end(args);
}

void guard_watch_or(struct guard_watch *watch, double seconds, const struct guard_late *late,
                    const char *format, ...)
{
    va_list args;
    *watch = (struct guard_watch){.seconds = seconds, .late = *late};
    va_start(args, format);
    watch_with(watch, format, args);
    va_end(args);
}

void guard_unwatch(struct guard_watch *watch)
{
    pthread_mutex_lock(&guard.lock);
    for (struct guard_watch **at = &guard.watches; *at; at = &(*at)->next)
        if (*at == watch) {
            *at = watch->next;
            break;
        }
    pthread_mutex_unlock(&guard.lock);
}
