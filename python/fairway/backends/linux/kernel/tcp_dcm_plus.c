// SPDX-License-Identifier: GPL-2.0
/*
 * TCP DCM+: the bandwidth estimate and back-off of Westwood+, with growth and timeout by the ratio
 * of round-trip times. The rules are in dcm_plus_rules.h; this ties them to a socket.
 *
 * Source: D. S. A. Khader, MSc thesis, Al-Quds University, 2020, chapter 4.
 *
 * Below the threshold it triples its window each round trip, and its timeout shrinks as long as
 * there is a queue: made to be studied, not to be used.
 *
 * Written for Fairway from the equations, for Linux 6.1 and later.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "dcm_plus_rules.h"

struct dcm_plus {
	struct westwood_plus_rate path;
	struct dcm_plus_rtts rtts;
	u32 fraction;	/* of a segment that the window has beyond snd_cwnd, 2^-32nds */
	u32 timeout_ns;
	u32 rto_min;	/* the socket's own smallest timeout, jiffies; 0 before init */
	u32 snd_una;	/* as of the last acknowledgement */
	u32 delivered;
};

/*
 * The timeout of the thesis is what Linux calls the smallest one: it bounds the variance that is
 * added to the smoothed round trip. A smallest timeout that rises is taken in by the stack only
 * with the variance itself, so the timeout that follows from it is set besides.
 */
static void dcm_plus_bound_rto(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct dcm_plus *ca = inet_csk_ca(sk);
	u32 least = max_t(u32, usecs_to_jiffies(ca->timeout_ns / NSEC_PER_USEC), 1);
	u32 rto = usecs_to_jiffies(tcp_sk(sk)->srtt_us >> 3) + least;

	WRITE_ONCE(icsk->icsk_rto_min, least);
	icsk->icsk_rto = clamp_t(u32, rto, icsk->icsk_rto, TCP_RTO_MAX);
}

static void dcm_plus_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dcm_plus *ca = inet_csk_ca(sk);

	*ca = (struct dcm_plus) {
		.timeout_ns = DCM_PLUS_FIRST_TIMEOUT_NS,
		.rto_min = inet_csk(sk)->icsk_rto_min,
		.snd_una = tp->snd_una,
		.delivered = tp->delivered,
	};
	dcm_plus_bound_rto(sk);
}

/* Another algorithm finds the socket as this one has found it. */
static void dcm_plus_release(struct sock *sk)
{
	const struct dcm_plus *ca = inet_csk_ca(sk);

	if (ca->rto_min)
		WRITE_ONCE(inet_csk(sk)->icsk_rto_min, ca->rto_min);
}

/* Every acknowledgement of data, before the stack looks for losses in it. */
static void dcm_plus_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dcm_plus *ca = inet_csk_ca(sk);
	u32 acked = tp->snd_una - ca->snd_una;
	u32 delivered = tp->delivered - ca->delivered;
	bool is_open = inet_csk(sk)->icsk_ca_state == TCP_CA_Open;
	u32 bytes;

	/* A client's handshake is acknowledged before init. */
	if (!ca->rto_min)
		return;

	bytes = westwood_plus_acked(&ca->path, acked, delivered, is_open, tp->mss_cache);
	westwood_plus_on_ack(&ca->path, bytes, tp->tcp_mstamp, tp->srtt_us >> 3, DCM_PLUS_THESIS);
	ca->snd_una = tp->snd_una;
	ca->delivered = tp->delivered;

	if (sample->rtt_us >= 0) {
		dcm_plus_sample(&ca->rtts, sample->rtt_us);
		ca->timeout_ns = dcm_plus_timeout(&ca->rtts, ca->timeout_ns);
		dcm_plus_bound_rto(sk);
	}
}

static void dcm_plus_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dcm_plus *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 limit = min_t(u32, tp->snd_cwnd_clamp, WESTWOOD_PLUS_MAX_SEGMENTS);
	u64 increment;

	if (!acked || !tcp_is_cwnd_limited(sk))
		return;

	increment = dcm_plus_increment(&ca->rtts, cwnd, ca->fraction, tcp_in_slow_start(tp));
	tcp_snd_cwnd_set(tp, dcm_plus_grow(cwnd, &ca->fraction, increment, limit));
}

static u32 dcm_plus_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dcm_plus *ca = inet_csk_ca(sk);

	ca->fraction = 0;
	return westwood_plus_threshold(&ca->path, ca->rtts.min_us, tp->mss_cache, tcp_snd_cwnd(tp));
}

static void dcm_plus_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dcm_plus *ca = inet_csk_ca(sk);

	/* A window falls to the threshold, and does not rise to one that is above it. */
	if (event == CA_EVENT_COMPLETE_CWR && tp->prior_cwnd)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), tp->prior_cwnd));
	else if (event == CA_EVENT_CWND_RESTART)
		ca->fraction = 0;
}

static void dcm_plus_set_state(struct sock *sk, u8 new_state)
{
	struct dcm_plus *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss || !ca->rto_min)
		return;
	ca->fraction = 0;
	ca->timeout_ns = DCM_PLUS_FIRST_TIMEOUT_NS;
	dcm_plus_bound_rto(sk);
}

/*
 * The two round trips of rateCA, which nothing else tells. Not "enabled", for with that `ss` would
 * print the last sample as the smoothed round trip.
 */
static size_t dcm_plus_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct dcm_plus *ca = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_rtt = ca->rtts.old_us,
		.tcpv_minrtt = ca->rtts.min_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

static struct tcp_congestion_ops dcm_plus __read_mostly = {
	.init		= dcm_plus_init,
	.release	= dcm_plus_release,
	.pkts_acked	= dcm_plus_pkts_acked,
	.cong_avoid	= dcm_plus_cong_avoid,
	.ssthresh	= dcm_plus_ssthresh,
	.cwnd_event	= dcm_plus_cwnd_event,
	.set_state	= dcm_plus_set_state,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= dcm_plus_get_info,
	.owner		= THIS_MODULE,
	.name		= "dcm+",
};

static int __init dcm_plus_register(void)
{
	BUILD_BUG_ON(sizeof(struct dcm_plus) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&dcm_plus);
}

static void __exit dcm_plus_unregister(void)
{
	tcp_unregister_congestion_control(&dcm_plus);
}

module_init(dcm_plus_register);
module_exit(dcm_plus_unregister);

MODULE_AUTHOR("Fairway");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP DCM+");
MODULE_ALIAS("tcp_dcm+");
