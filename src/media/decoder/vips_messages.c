/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/decoder/decoder.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for one descriptor, aligned as a header of it. */
union passed {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static size_t size_of(const struct message *message)
{
    return offsetof(struct message, data) + message->length;
}

bool message_send(int socket, struct message *message, int fd)
{
    union passed passed = {.header = {0}};
    struct iovec part = {message, size_of(message)};
    struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;
    if (fd >= 0) {
        all.msg_control = &passed;
        all.msg_controllen = sizeof passed;
        struct cmsghdr *header = CMSG_FIRSTHDR(&all);
        *header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    do
        sent = sendmsg(socket, &all, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)part.iov_len;
}

bool message_tell(int socket, enum message_kind kind, int32_t value)
{
    struct message message;
    memset(&message, 0, offsetof(struct message, data));
    message.kind = kind;
    message.value = value;
    return message_send(socket, &message, -1);
}

static int passed_descriptor(struct msghdr *all)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(all);
    int fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

bool message_receive(int socket, struct message *message, int *fd)
{
    union passed passed;
    struct iovec part = {message, sizeof *message};
    struct msghdr all = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed};
    ssize_t got;
    do
        got = recvmsg(socket, &all, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const int came = got > 0 ? passed_descriptor(&all) : -1;
    if (fd)
        *fd = came;
    else if (came >= 0)
        close(came);
    if (got >= (ssize_t)offsetof(struct message, data) && (size_t)got == size_of(message))
        return true;
    if (fd && came >= 0) {
        close(came);
        *fd = -1;
    }
    return false;
}
