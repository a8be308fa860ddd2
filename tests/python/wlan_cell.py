"""One access point, a download and an upload, frame by frame: an oracle without the simulator.

Stations back off as IEEE 802.11-2016 10.3.4 has it. What they wait after a collision can be made
the same for all, which is what the model of TCP through an access point takes it to be.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

AP, DOWN, UP = range(3)
CW_MAX = 1023


@dataclass(frozen=True)
class Timing:
    """Times in microseconds: 802.11-2016 tables 16-4 and 18-5, frames of 1500 and 40 bytes."""

    slot: int
    sifs: int
    difs: int
    eifs: int
    timeout: int
    data: int
    tcp_ack: int
    ack: int
    cw_min: int


TIMINGS = {
    "802.11b": Timing(20, 10, 50, 364, 222, 1310, 248, 248, 31),
    "802.11g": Timing(9, 10, 28, 88, 39, 254, 38, 34, 15),
}


class Cell:
    """Where the packets of both windows are, and each node's back-off."""

    def __init__(self, windows: tuple[int, int], timing: Timing, seed: int):
        self.timing = timing
        self.draws = random.Random(seed)
        tokens = [DOWN] * windows[0] + [UP] * windows[1]
        self.draws.shuffle(tokens)
        self.queues: list[deque[int]] = [deque(tokens), deque(), deque()]
        self.contention = [timing.cw_min] * 3
        self.backoff: list[int | None] = [self.draw(AP), None, None]
        self.counts_from = [0.0] * 3

    def draw(self, node: int) -> int:
        return self.draws.randint(0, self.contention[node])

    def next_access(self) -> tuple[list[int], dict[int, float]]:
        """Who transmits next, and when each of them ends; the others' back-offs stand still."""
        slot = self.timing.slot
        busy = [node for node in (AP, DOWN, UP) if self.queues[node]]
        at = {node: self.counts_from[node] + slot * (self.backoff[node] or 0) for node in busy}
        begins = min(at.values())
        senders = [node for node in busy if at[node] < begins + slot]
        for node in (AP, DOWN, UP):
            slots = self.backoff[node]
            if node in senders or slots is None or self.counts_from[node] > begins:
                continue
            left = max(slots - int((begins - self.counts_from[node]) // slot), 0)
            self.backoff[node] = left if left or self.queues[node] else None
        return senders, {node: at[node] + self.airtime(node) for node in senders}

    def airtime(self, node: int) -> int:
        is_data = node == UP or (node == AP and self.queues[AP][0] == DOWN)
        return self.timing.data if is_data else self.timing.tcp_ack

    def collide(self, ends: dict[int, float], *, equal_waits: bool) -> None:
        """Who transmitted waits for an acknowledgement in vain, and the others for EIFS."""
        now = max(ends.values())
        self.counts_from = [now + self.timing.eifs] * 3
        for node, end in ends.items():
            if not equal_waits:
                self.counts_from[node] = max(end + self.timing.timeout, now) + self.timing.difs
            self.contention[node] = min(2 * self.contention[node] + 1, CW_MAX)
            self.backoff[node] = self.draw(node)

    def succeed(self, node: int, end: float) -> int:
        """A frame arrives; the flow that it is of."""
        flow = self.queues[node].popleft()
        to = flow if node == AP else AP
        self.queues[to].append(flow)
        if self.backoff[to] is None:
            self.backoff[to] = self.draw(to)
        timing = self.timing
        self.counts_from = [end + timing.sifs + timing.ack + timing.difs] * 3
        self.contention[node] = timing.cw_min
        self.backoff[node] = self.draw(node)
        return flow


def download_share(
    windows: tuple[int, int],
    standard: str,
    *,
    equal_waits: bool = False,
    successes: int = 200_000,
    seed: int = 1,
) -> float:
    """Share of the packets of data that is the download's, a tenth left out at the start."""
    cell = Cell(windows, TIMINGS[standard], seed)
    counts = {DOWN: 0, UP: 0}
    done = 0
    while done < successes:
        senders, ends = cell.next_access()
        if len(senders) > 1:
            cell.collide(ends, equal_waits=equal_waits)
            continue
        (node,) = senders
        flow = cell.succeed(node, ends[node])
        done += 1
        # Data of a download comes of the access point, of an upload from its station.
        if done > successes // 10 and node == (AP if flow == DOWN else UP):
            counts[flow] += 1
    return counts[DOWN] / (counts[DOWN] + counts[UP])
