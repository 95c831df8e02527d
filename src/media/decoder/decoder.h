/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media/decoder: what a decoder process and the process that reads images by it say to each other.
 *
 *     hone ──control── host, forked before there are threads ── forks a decoder for whoever asks
 *       └───────────one socket for each decoder──────────┘ (the host tells how its decoder ended)
 *
 * All are the same program at the same addresses. What a decoder says is not trusted all the same. */
#pragma once

#include "media/reader.h"

enum message_kind {
    /* To the host, by the control socket. */
    MESSAGE_START, /* with a socket for the new decoder; value: 1 for a video, else 0 */
    MESSAGE_KILL,  /* value: process */

    /* To a decoder. */
    MESSAGE_OPEN,  /* with the file; data: struct wanted */
    MESSAGE_RING,  /* with memory for rows; bytes: of each of its slots */
    MESSAGE_LOAD,  /* count: rows */
    MESSAGE_TAKEN, /* a slot is free again */
    MESSAGE_CLOSE,
    MESSAGE_VIDEO, /* data: struct wanted_video */

    /* From a decoder. */
    MESSAGE_BORN,   /* value: process */
    MESSAGE_NOTE,   /* value: enum media_note; data: the line */
    MESSAGE_KEPT,   /* data: a part of what vips_kept_pack wrote */
    MESSAGE_OPENED, /* data: struct opened */
    MESSAGE_ROWS,   /* count: rows that are in the next slot */
    MESSAGE_DONE,
    MESSAGE_FAILED, /* value: status; data: the message */

    /* From the host, in the decoder's stead. */
    MESSAGE_ENDED /* value: as of waitpid; or, before it was born, -errno */
};

enum {
    MESSAGE_BYTES = 32768, /* of data */
    RING_SLOTS = 3,
    EXIT_NO_MEMORY = 75 /* of a decoder that was refused memory where it does not know how to go on */
};

struct message {
    enum message_kind kind;
    int32_t value;
    uint32_t count;
    uint64_t bytes;
    uint32_t length; /* of data */
    unsigned char data[MESSAGE_BYTES];
};

struct wanted {
    struct media_read_options options; /* without its pointers */
    bool no_path, has_note;
    char path[MESSAGE_BYTES - 256]; /* up to its NUL */
};

/* A video that is opened and decoded up to its first frame, to see whether that keeps to the limits. */
struct wanted_video {
    uint64_t memory;
    double seconds;
    bool accept_damaged, every_plane;
    char path[MESSAGE_BYTES - 256]; /* up to its NUL */
};

struct opened {
    struct media_info info; /* without its pointer */
    unsigned orientation;
    char format[32];
};

/* Sends a message with `length` bytes of data, and a descriptor, unless that is negative. False: nobody is
 * there. */
bool message_send(int socket, struct message *message, int fd);
/* One of a kind alone. */
bool message_tell(int socket, enum message_kind kind, int32_t value);
/* Waits for one. *fd (may be NULL) becomes -1 where none came. False: nobody is there any more. */
bool message_receive(int socket, struct message *message, int *fd);

/* The life of the host, which ends when the control socket is closed. */
void decoder_host(int control);
/* The life of a decoder, which ends when the socket is closed. */
void decoder_serve(int socket);

/* Reads what libvips reads by a decoder process. */
extern const struct media_reader media_reader_decoder;
/* Whether there is a host. */
bool decoder_ready(void);
