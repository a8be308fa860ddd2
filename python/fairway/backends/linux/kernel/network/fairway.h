/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fairway's network under User-Mode Linux: what the device (fairway_kern.c, kernel headers) asks of
 * the library that the process has loaded (fairway_user.c, the host's headers).
 */
#ifndef FAIRWAY_H
#define FAIRWAY_H

/* Version of the library's functions and structures (`VERSION` of crates/emulator/src/abi.rs). */
#define FAIRWAY_VERSION 1

/* What became of a packet (`COutcome` of crates/emulator/src/abi.rs). */
struct fairway_outcome {
	unsigned int kind;
	unsigned int slot;
	unsigned int target;
	unsigned int is_marked;
};

enum {
	FAIRWAY_ARRIVED = 1,
	FAIRWAY_GONE = 2,
	FAIRWAY_LEFT = 3,
	FAIRWAY_DOUBLED = 4,
};

/* Answers of fairway_send: a slot, with FAIRWAY_HELD if the sender's buffer holds the packet. */
#define FAIRWAY_NO_PATH (-1LL)
#define FAIRWAY_FAILED (-2LL)
#define FAIRWAY_HELD (1LL << 32)

/* Devices of the network; 0 if the process was started without one. */
unsigned int fairway_devices(void);
unsigned long long fairway_begin(unsigned long long begin_ns);
long long fairway_send(unsigned long long now_ns, const unsigned char *bytes, unsigned int length);
unsigned long long fairway_advance(unsigned long long now_ns);
unsigned long long fairway_next(void);
int fairway_is_well(void);
int fairway_take_outcome(struct fairway_outcome *outcome);
int fairway_finish(unsigned long long now_ns);

#endif
