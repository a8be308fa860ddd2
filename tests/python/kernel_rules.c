/* The rules of the kernel modules in user space, with names that a test can call. */
#include <stdbool.h>

typedef unsigned int u32;
typedef unsigned long long u64;

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#include "dcm_plus_rules.h"

static struct westwood_plus_memory memory_of(bool is_dcm)
{
	return is_dcm ? DCM_PLUS_THESIS : WESTWOOD_PLUS_PAPER;
}

u32 acked(struct westwood_plus_rate *path, u32 acked, u32 segments, bool is_open, u32 mss)
{
	return westwood_plus_acked(path, acked, segments, is_open, mss);
}

u64 filter(u64 rate, u64 sample, bool is_dcm)
{
	return westwood_plus_filter(rate, sample, memory_of(is_dcm));
}

void on_ack(struct westwood_plus_rate *path, u32 bytes, u64 now_us, u32 srtt_us, bool is_dcm)
{
	westwood_plus_on_ack(path, bytes, now_us, srtt_us, memory_of(is_dcm));
}

u32 pipe_segments(u64 rate, u32 min_rtt_us, u32 mss)
{
	return westwood_plus_pipe(rate, min_rtt_us, mss);
}

u32 threshold(const struct westwood_plus_rate *path, u32 min_rtt_us, u32 mss, u32 cwnd)
{
	return westwood_plus_threshold(path, min_rtt_us, mss, cwnd);
}

void sample(struct dcm_plus_rtts *rtts, u32 rtt_us)
{
	dcm_plus_sample(rtts, rtt_us);
}

u64 increment(const struct dcm_plus_rtts *rtts, u32 cwnd, u32 fraction, bool is_below)
{
	return dcm_plus_increment(rtts, cwnd, fraction, is_below);
}

u32 grow(u32 cwnd, u32 *fraction, u64 increment, u32 limit)
{
	return dcm_plus_grow(cwnd, fraction, increment, limit);
}

u32 timeout_ns(const struct dcm_plus_rtts *rtts, u32 timeout_ns)
{
	return dcm_plus_timeout(rtts, timeout_ns);
}
