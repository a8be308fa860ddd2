/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DCM+ in integers: growth and timeout by the ratio of two round-trip times, as chapter 4 of
 * D. S. A. Khader, "Robust Dynamic Congestion Control Protocol for Mobile Networks (TCP DCM+)",
 * MSc thesis, Al-Quds University, 2020, has them, windows in segments:
 *
 *	rateCA = RTT_old / RTT_min                                     (4.3)
 *	cwnd  += 2 * rateCA                    below ssthresh          (4.2)
 *	cwnd  += 2 / (rateCA * cwnd)           from it on
 *	RTO    = RTO / rateCA                                          (4.5)
 *
 * The first two for each acknowledgement, the last for each round-trip sample. Bandwidth and
 * threshold are those of Westwood+, the filter with the thesis's 19/21 (equation 3.4).
 *
 * The ratio is never divided out: RTT_old and RTT_min stay apart, both 1 to 2^31 - 1 microseconds,
 * so a product of two is below 2^62. A part of a segment is in 2^-32nds.
 * Needs what westwood_plus_rules.h needs.
 */
#ifndef DCM_PLUS_RULES_H
#define DCM_PLUS_RULES_H

#include "westwood_plus_rules.h"

#define DCM_PLUS_MAX_RTT_US 0x7fffffffU

/* A larger ratio says nothing about a path; it is the clock's grain at a round trip near zero. */
#define DCM_PLUS_MAX_RATIO 1000000U

/* The timeout before the first division, and after it has expired: 1 s (RFC 6298 rule 2.1). */
#define DCM_PLUS_FIRST_TIMEOUT_NS 1000000000U

/* What the filter keeps: 19/21 (equation 3.4). */
#define DCM_PLUS_THESIS ((struct westwood_plus_memory) { .keep = 19, .of = 21 })

/* Round trips: the last, the one before it, the smallest. All zero is: none yet. */
struct dcm_plus_rtts {
	u32 new_us;
	u32 old_us;
	u32 min_us;
};

static inline void dcm_plus_sample(struct dcm_plus_rtts *rtts, u32 rtt_us)
{
	if (!rtt_us)
		rtt_us = 1;
	if (rtt_us > DCM_PLUS_MAX_RTT_US)
		rtt_us = DCM_PLUS_MAX_RTT_US;
	rtts->old_us = rtts->new_us ? rtts->new_us : rtt_us;
	rtts->new_us = rtt_us;
	if (!rtts->min_us || rtt_us < rtts->min_us)
		rtts->min_us = rtt_us;
}

/* Numerator and denominator of rateCA, which is 1 before the first sample. */
static inline u64 dcm_plus_old(const struct dcm_plus_rtts *rtts)
{
	u64 most = (u64)rtts->min_us * DCM_PLUS_MAX_RATIO;

	if (!rtts->min_us)
		return 1;
	return rtts->old_us < most ? rtts->old_us : most;
}

static inline u64 dcm_plus_min(const struct dcm_plus_rtts *rtts)
{
	return rtts->min_us ? rtts->min_us : 1;
}

/*
 * What one acknowledgement adds to a window of cwnd segments and fraction, in 2^-32nds of a
 * segment. cwnd is 1 to 2^31.
 */
static inline u64 dcm_plus_increment(const struct dcm_plus_rtts *rtts, u32 cwnd, u32 fraction,
				     bool is_below)
{
	u64 old = dcm_plus_old(rtts);
	u64 min = dcm_plus_min(rtts);

	if (is_below)
		return div64_u64(old << 33, min);
	return div64_u64(min << 33, old * cwnd + ((old * fraction) >> 32));
}

/* Adds it: the whole segments, at most to limit, are returned, the rest stays in *fraction. */
static inline u32 dcm_plus_grow(u32 cwnd, u32 *fraction, u64 increment, u32 limit)
{
	u64 parts = *fraction + (increment & 0xffffffffU);
	u64 grown = cwnd + (increment >> 32) + (parts >> 32);

	*fraction = (u32)parts;
	if (grown < limit)
		return (u32)grown;
	*fraction = 0;
	return cwnd > limit ? cwnd : limit;
}

/* The timeout after one more round-trip sample, ns: at most what it was, for old >= min. */
static inline u32 dcm_plus_timeout(const struct dcm_plus_rtts *rtts, u32 timeout_ns)
{
	u64 old = dcm_plus_old(rtts);

	return (u32)div64_u64(timeout_ns * dcm_plus_min(rtts) + old / 2, old);
}

#endif
