/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a User-Mode Linux kernel takes its randomness from, so that a run can be repeated.
 *
 * With FAIRWAY_SEED=<whole number> in the environment of the kernel's process, every random byte
 * that it asks its host for comes from this generator: the same seed gives the same initial
 * sequence numbers, hash keys and random drops, another seed gives others. Without it the host's
 * own getrandom() answers, as in a kernel that nobody has edited.
 *
 * Not for keeping secrets: the numbers follow from the seed, which is the point.
 *
 * Included by arch/um/os-Linux/util.c, which is compiled against the host's C library. There is one
 * processor, and one thread that asks.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

/* SplitMix64: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014, figure 17 for the increment and variant 13 of D. Stafford for the mixing.
 */
static uint64_t fairway_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* As getrandom(2), but from FAIRWAY_SEED where that is set. */
static ssize_t fairway_getrandom(void *buffer, size_t length, unsigned int flags)
{
	static uint64_t state;
	static int seeded;
	unsigned char *to = buffer;
	size_t done, piece;
	uint64_t value;

	if (!seeded) {
		const char *seed = getenv("FAIRWAY_SEED");

		if (!seed || !*seed)
			return getrandom(buffer, length, flags);
		state = strtoull(seed, NULL, 10);
		seeded = 1;
	}
	for (done = 0; done < length; done += piece) {
		value = fairway_next(&state);
		piece = length - done < sizeof(value) ? length - done : sizeof(value);
		memcpy(to + done, &value, piece);
	}
	return length;
}
