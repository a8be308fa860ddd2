/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Westwood+ in integers: the rate at which the path delivers, and what the path holds.
 *
 * Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
 * and Vegas TCP congestion control", ACM CCR 34(2), 2004.
 *
 * Nothing here touches a socket and nothing is included, so that the same text is tried in user
 * space: whoever includes it has defined u32, u64, bool, true, false, div_u64() and div64_u64()
 * (in a kernel <linux/types.h> and <linux/math64.h>).
 *
 * Times are microseconds. A rate is in 2^-24ths of a byte per microsecond, 0.06 byte/s each: a
 * sample of 32-bit bytes is then below 2^56, and nothing in the filter overflows 64 bits.
 */
#ifndef WESTWOOD_PLUS_RULES_H
#define WESTWOOD_PLUS_RULES_H

#define WESTWOOD_PLUS_RATE_SHIFT 24

/* A TCP window is less than 2^30 bytes (RFC 7323 section 2.3), and so are its segments. */
#define WESTWOOD_PLUS_MAX_SEGMENTS (1U << 30)

/* RFC 5681 equation 4: a threshold is two segments or more. */
#define WESTWOOD_PLUS_MIN_SSTHRESH 2U

/* What is measured. All zero is: nothing yet. */
struct westwood_plus_rate {
	u64 rate;		/* the estimate; 0 before the first sample */
	u64 round_start_us;	/* 0 before the first acknowledgement */
	u32 round_bytes;	/* acknowledged since then */
	u32 ahead_bytes;	/* counted for duplicates, not acknowledged cumulatively yet */
};

/* How much of the old estimate a sample leaves: keep/of. */
struct westwood_plus_memory {
	u32 keep;
	u32 of;
};

/* alpha = 0.9 (section 2). */
#define WESTWOOD_PLUS_PAPER ((struct westwood_plus_memory) { .keep = 9, .of = 10 })

/*
 * The bytes that one acknowledgement stands for. A duplicate says that segments have arrived, one
 * in the paper, several where the receiver compresses its SACKs; the acknowledgement that closes
 * the gap must not count them a second time. While nothing is missing (is_open) there is nothing
 * to subtract.
 */
static inline u32 westwood_plus_acked(struct westwood_plus_rate *path, u32 acked,
				      u32 sacked_segments, bool is_open, u32 mss)
{
	u32 counted;

	if (!acked) {
		path->ahead_bytes += sacked_segments * mss;
		return sacked_segments * mss;
	}
	if (acked <= mss || is_open)
		return acked;
	if (path->ahead_bytes >= acked) {
		path->ahead_bytes -= acked;
		return mss;
	}
	counted = acked - path->ahead_bytes;
	path->ahead_bytes = 0;
	return counted;
}

/* One sample through the low-pass filter; the first is taken whole. Rounded to the nearest. */
static inline u64 westwood_plus_filter(u64 rate, u64 sample, struct westwood_plus_memory memory)
{
	if (!rate)
		return sample;
	return div_u64(memory.keep * rate + (memory.of - memory.keep) * sample + memory.of / 2,
		       memory.of);
}

/*
 * An acknowledgement of so many bytes at now_us. A round ends with the first one that comes a
 * smoothed round trip or more after its start, and is one sample. The very first
 * acknowledgement starts the first round, and its bytes belong to none.
 */
static inline void westwood_plus_on_ack(struct westwood_plus_rate *path, u32 bytes, u64 now_us,
					u32 srtt_us, struct westwood_plus_memory memory)
{
	u64 elapsed_us = now_us - path->round_start_us;
	u64 sample;

	if (!path->round_start_us) {
		path->round_start_us = now_us;
		return;
	}
	path->round_bytes += bytes;
	if (path->round_bytes < bytes)
		path->round_bytes = ~0U;
	if (!elapsed_us || !srtt_us || elapsed_us < srtt_us)
		return;
	sample = div64_u64((u64)path->round_bytes << WESTWOOD_PLUS_RATE_SHIFT, elapsed_us);
	path->rate = westwood_plus_filter(path->rate, sample, memory);
	path->round_bytes = 0;
	path->round_start_us = now_us;
}

/*
 * Whole segments under way at this rate when no queue stands, BWE * RTTmin. The roundings before
 * this one make less than a byte in round trips of up to two seconds; a byte more keeps them from
 * costing a segment.
 */
static inline u32 westwood_plus_pipe(u64 rate, u32 min_rtt_us, u32 mss)
{
	u64 segments;

	if (!min_rtt_us || !mss)
		return 0;
	if (rate > div_u64(~0ULL, min_rtt_us))
		return WESTWOOD_PLUS_MAX_SEGMENTS;
	segments = div_u64(((rate * min_rtt_us) >> WESTWOOD_PLUS_RATE_SHIFT) + 1, mss);
	return segments < WESTWOOD_PLUS_MAX_SEGMENTS ? segments : WESTWOOD_PLUS_MAX_SEGMENTS;
}

/* The threshold after a loss. The papers do not say what to do before the first sample: half. */
static inline u32 westwood_plus_threshold(const struct westwood_plus_rate *path, u32 min_rtt_us,
					  u32 mss, u32 cwnd)
{
	u32 segments = path->rate ? westwood_plus_pipe(path->rate, min_rtt_us, mss) : cwnd / 2;

	return segments > WESTWOOD_PLUS_MIN_SSTHRESH ? segments : WESTWOOD_PLUS_MIN_SSTHRESH;
}

#endif
