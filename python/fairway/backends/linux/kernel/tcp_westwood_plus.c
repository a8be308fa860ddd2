// SPDX-License-Identifier: GPL-2.0
/*
 * Westwood+ as its paper has it: grows as Reno does and backs off to the bandwidth that was
 * measured over round trips, times the smallest round trip. For losses that are no congestion.
 *
 * Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
 * and Vegas TCP congestion control", ACM CCR 34(2), 2004.
 *
 * Linux's own module "westwood" is another variant of it: two filters of 7/8 one behind the
 * other, samples of 50 ms at least, and a threshold that is set when recovery ends.
 *
 * Written for Fairway from the paper, for Linux 6.1 and later.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "westwood_plus_rules.h"

struct westwood_plus {
	struct westwood_plus_rate path;
	u32 snd_una;	/* as of the last acknowledgement */
	u32 delivered;
};

static void westwood_plus_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood_plus *ca = inet_csk_ca(sk);

	*ca = (struct westwood_plus) { .snd_una = tp->snd_una, .delivered = tp->delivered };
}

/* Every acknowledgement of data, before the stack looks for losses in it. */
static void westwood_plus_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood_plus *ca = inet_csk_ca(sk);
	u32 acked = tp->snd_una - ca->snd_una;
	u32 delivered = tp->delivered - ca->delivered;
	bool is_open = inet_csk(sk)->icsk_ca_state == TCP_CA_Open;
	u32 bytes = westwood_plus_acked(&ca->path, acked, delivered, is_open, tp->mss_cache);

	westwood_plus_on_ack(&ca->path, bytes, tp->tcp_mstamp, tp->srtt_us >> 3,
			     WESTWOOD_PLUS_PAPER);
	ca->snd_una = tp->snd_una;
	ca->delivered = tp->delivered;
}

static u32 westwood_plus_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct westwood_plus *ca = inet_csk_ca(sk);

	return westwood_plus_threshold(&ca->path, tcp_min_rtt(tp), tp->mss_cache, tcp_snd_cwnd(tp));
}

static void westwood_plus_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);

	/* A window falls to the threshold, and does not rise to one that is above it. */
	if (event == CA_EVENT_COMPLETE_CWR && tp->prior_cwnd)
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), tp->prior_cwnd));
}

static struct tcp_congestion_ops westwood_plus __read_mostly = {
	.init		= westwood_plus_init,
	.pkts_acked	= westwood_plus_pkts_acked,
	.cong_avoid	= tcp_reno_cong_avoid,
	.ssthresh	= westwood_plus_ssthresh,
	.cwnd_event	= westwood_plus_cwnd_event,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "westwood+",
};

static int __init westwood_plus_register(void)
{
	BUILD_BUG_ON(sizeof(struct westwood_plus) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&westwood_plus);
}

static void __exit westwood_plus_unregister(void)
{
	tcp_unregister_congestion_control(&westwood_plus);
}

module_init(westwood_plus_register);
module_exit(westwood_plus_unregister);

MODULE_AUTHOR("Fairway");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood+ as its paper has it");
MODULE_ALIAS("tcp_westwood+");
