// SPDX-License-Identifier: GPL-2.0
/*
 * Network devices of Fairway's network.
 *
 * A packet that a host sends waits here, in a slot; the library decides when it arrives, at which
 * device, with which mark, or that it does not. The library is asked at each packet and when its next
 * event is due.
 */
#include <linux/bottom_half.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/init.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <net/inet_ecn.h>
#include "fairway.h"

/* IPv4 and TCP headers with all options they may have. */
#define HEADER_BYTES 120
#define NEVER (~0ULL)

static struct net_device **devices;
static unsigned int device_count;

/*
 * The packets by slot, in pages of 512: an allocation with GFP_ATOMIC has at most 4 MiB
 * (KMALLOC_MAX_SIZE), so a single table would end at 524,288 packets. Memory ends before these do.
 */
#define PAGE_SLOTS (PAGE_SIZE / sizeof(struct sk_buff *))
#define MOST_PAGES 16384
/* Pages of memory for 512 packets of 9000 bytes, and as much again: without memory, senders would wait. */
#define LEAST_MEMORY (SZ_16M >> PAGE_SHIFT)
static struct sk_buff **pages[MOST_PAGES];

/*
 * The timer expires in hard interrupts, as those of qdiscs do, and the work is done in a tasklet: a timer
 * of soft interrupts that expires runs all of them whose slack has begun, such as the one that compresses
 * acknowledgements (kernel/time/hrtimer.c, hrtimer_interrupt), so that hosts would acknowledge earlier
 * because something happened in the network.
 */
static struct hrtimer timer;
static u64 timer_at = NEVER;
static void advance(struct tasklet_struct *unused);
static DECLARE_TASKLET(work, advance);
static bool has_begun;

static void fail(void)
{
	panic("fairway: the network has failed; the file `error` of the run directory says why");
}

/* A copy that there is memory for: without it, a packet would be lost that the network has delivered. */
static struct sk_buff *whole(struct sk_buff *copy)
{
	if (!copy)
		panic("fairway: no memory for a packet; give [linux] more memory");
	return copy;
}

static void put_in(unsigned int slot, struct sk_buff *skb)
{
	unsigned int page = slot / PAGE_SLOTS;

	if (page >= MOST_PAGES)
		panic("fairway: the network holds more than %lu packets", MOST_PAGES * PAGE_SLOTS);
	if (!pages[page] && si_mem_available() > LEAST_MEMORY)
		pages[page] = (void *)get_zeroed_page(GFP_ATOMIC);
	if (!pages[page])
		panic("fairway: no memory for more than %u packets in the network; give [linux] more memory",
		      slot);
	pages[page][slot % PAGE_SLOTS] = skb;
}

/* The packet in a slot; NULL if there is none. */
static struct sk_buff *packet_in(unsigned int slot)
{
	unsigned int page = slot / PAGE_SLOTS;

	return page < MOST_PAGES && pages[page] ? pages[page][slot % PAGE_SLOTS] : NULL;
}

static struct sk_buff *take_out(unsigned int slot)
{
	struct sk_buff *skb = packet_in(slot);

	if (skb)
		put_in(slot, NULL);
	return skb;
}

/*
 * A packet arrives in a buffer of its own, as from a card. What was sent refers to pages of the sender,
 * and packets in a row would share one buffer of the receiver's memory (tcp_try_coalesce), which offers a
 * larger window then than a host whose packets came over a wire.
 */
static void deliver(struct sk_buff *sent, unsigned int target, bool is_marked)
{
	struct net_device *dev = target < device_count ? devices[target] : NULL;
	struct sk_buff *skb = NULL;

	if (dev && (dev->flags & IFF_UP))
		skb = whole(skb_copy_expand(sent, NET_SKB_PAD + ETH_HLEN, 0, GFP_ATOMIC));
	dev_kfree_skb_any(sent);
	if (!skb)
		return;
	skb_scrub_packet(skb, true);
	if (is_marked)
		IP_ECN_set_ce(ip_hdr(skb));
	skb->dev = dev;
	skb->pkt_type = PACKET_HOST;
	skb->protocol = htons(ETH_P_IP);
	if (skb->ip_summed == CHECKSUM_NONE)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	dev->stats.rx_packets++;
	dev->stats.rx_bytes += skb->len;
	netif_rx(skb);
}

static void carry_out(void)
{
	struct fairway_outcome outcome;
	struct sk_buff *skb;

	while (fairway_take_outcome(&outcome)) {
		switch (outcome.kind) {
		case FAIRWAY_ARRIVED:
			skb = take_out(outcome.slot);
			if (skb)
				deliver(skb, outcome.target, outcome.is_marked);
			break;
		case FAIRWAY_GONE:
			dev_kfree_skb_any(take_out(outcome.slot));
			break;
		case FAIRWAY_LEFT:
			skb = packet_in(outcome.slot);
			if (skb)
				skb_orphan(skb);
			break;
		case FAIRWAY_DOUBLED:
			skb = packet_in(outcome.slot);
			if (skb)
				put_in(outcome.target, whole(skb_copy(skb, GFP_ATOMIC)));
			break;
		}
	}
	if (!fairway_is_well())
		fail();
}

static void wake_at(u64 next)
{
	if (next < timer_at) {
		timer_at = next;
		hrtimer_start(&timer, ns_to_ktime(next), HRTIMER_MODE_ABS_HARD);
	}
}

static enum hrtimer_restart wake(struct hrtimer *unused)
{
	tasklet_hi_schedule(&work);
	return HRTIMER_NORESTART;
}

static void advance(struct tasklet_struct *unused)
{
	u64 next;

	if (!has_begun)
		return;
	timer_at = NEVER;
	next = fairway_advance(ktime_get_ns());
	carry_out();
	wake_at(next);
}

static netdev_tx_t fairway_xmit(struct sk_buff *skb, struct net_device *dev)
{
	u8 header[HEADER_BYTES];
	unsigned int length = min_t(unsigned int, skb->len, sizeof(header));
	s64 slot = FAIRWAY_NO_PATH;

	dev->stats.tx_packets++;
	dev->stats.tx_bytes += skb->len;
	if (has_begun && !skb_copy_bits(skb, 0, header, length))
		slot = fairway_send(ktime_get_ns(), header, length);
	if (slot == FAIRWAY_FAILED)
		fail();
	if (slot == FAIRWAY_NO_PATH) {
		dev->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	if (!(slot & FAIRWAY_HELD))
		skb_orphan(skb);
	put_in((unsigned int)slot, skb);
	carry_out();
	wake_at(fairway_next());
	return NETDEV_TX_OK;
}

static const struct net_device_ops device_ops = {
	.ndo_start_xmit = fairway_xmit,
};

static void fairway_device(struct net_device *dev)
{
	dev->netdev_ops = &device_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->mtu = ETH_DATA_LEN;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = ETH_MAX_MTU;
	dev->features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features = dev->features | NETIF_F_ALL_TSO;
	dev->needs_free_netdev = true;
}

/* "begin <ns>": the run begins at a time of CLOCK_MONOTONIC. "finish": it is over. */
static ssize_t fairway_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char text[64];
	u64 begin_ns;
	int is_done;

	if (size >= sizeof(text) || copy_from_user(text, from, size))
		return -EINVAL;
	text[size] = '\0';
	if (sscanf(text, "begin %llu", &begin_ns) == 1 && !has_begun) {
		local_bh_disable();
		has_begun = true;
		wake_at(fairway_begin(begin_ns));
		local_bh_enable();
		return size;
	}
	if (!strncmp(text, "finish", 6) && has_begun) {
		hrtimer_cancel(&timer);
		tasklet_kill(&work);
		local_bh_disable();
		has_begun = false;
		is_done = fairway_finish(ktime_get_ns());
		local_bh_enable();
		return is_done ? size : -EIO;
	}
	return -EINVAL;
}

static const struct proc_ops control_ops = {
	.proc_write = fairway_write,
};

static int __init fairway_init(void)
{
	unsigned int i;
	int error;

	device_count = fairway_devices();
	if (!device_count)
		return 0;
	devices = kcalloc(device_count, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		return -ENOMEM;
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	timer.function = wake;
	for (i = 0; i < device_count; i++) {
		devices[i] = alloc_netdev(0, "fairway%d", NET_NAME_ENUM, fairway_device);
		if (!devices[i])
			return -ENOMEM;
		error = register_netdev(devices[i]);
		if (error)
			return error;
	}
	return proc_create("fairway", 0200, NULL, &control_ops) ? 0 : -ENOMEM;
}
late_initcall(fairway_init);
