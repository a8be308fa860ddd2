"""Makes the captures of this folder, and `tshark.tsv`, which is what tshark reads in them.

    sudo python3 tests/captures/make.py

Needs Linux, tcpdump, tshark, editcap and iproute2. Real transfers are captured in a network
namespace of their own; what no tool writes (the other byte order, rare blocks and link layers) is
made here from those, byte by byte, by the formats' specifications.
"""

import gzip
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = [
    "frame.number",
    "frame.time_epoch",
    "frame.len",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "ip.ttl",
    "ipv6.hlim",
    "tcp.srcport",
    "tcp.dstport",
    "udp.srcport",
    "udp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.checksum.status",
    "udp.length",
]


def sh(command, **rest):
    return subprocess.run(command, shell=True, check=True, cwd=HERE, **rest)


def tshark(name):
    """What tshark reads in a capture: a line for each TCP or UDP packet."""
    fields = " ".join(f"-e {field}" for field in FIELDS)
    options = (
        "-o tcp.check_checksum:TRUE -o ip.defragment:TRUE -o tcp.relative_sequence_numbers:FALSE"
    )
    return sh(
        f"TZ=UTC tshark -n -r {name} {options} -Y '(tcp or udp) and not icmp' -T fields {fields}",
        capture_output=True,
        text=True,
    ).stdout.splitlines()


def expectations():
    """Writes tshark's readings of all captures as one table."""
    lines = ["\t".join(["capture", *FIELDS])]
    for path in sorted([*HERE.glob("*.pcap"), *HERE.glob("*.pcapng"), *HERE.glob("*.gz")]):
        lines += [f"{path.name}\t{packet}" for packet in tshark(path.name)]
    (HERE / "tshark.tsv").write_text("\n".join(lines) + "\n")


# --- captures of real transfers, in a namespace ---


def capture(command, action):
    tcpdump = subprocess.Popen(
        f"exec tcpdump -Z root -U {command}",
        shell=True,
        cwd=HERE,
        stderr=subprocess.PIPE,
        text=True,
    )
    tcpdump.stderr.readline()
    time.sleep(1)
    action()
    time.sleep(1)
    tcpdump.terminate()
    tcpdump.wait()


def transfer(address, sizes=(20_000, 300), port=5201):
    """A connection over which both ends send."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                left = sizes[0]
                while left:
                    left -= len(connection.recv(left))
                connection.sendall(bytes(sizes[1]))

        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection((address, port)) as client:
            client.sendall(bytes(sizes[0]))
            while client.recv(1000):
                pass
        thread.join()


def datagrams(address, port=5202):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with (
        socket.socket(family, socket.SOCK_DGRAM) as client,
        socket.socket(family, socket.SOCK_DGRAM) as server,
    ):
        server.bind((address, port))
        for length in (0, 1, 100):
            client.sendto(bytes(length), (address, port))


def traffic():
    for address in ("127.0.0.1", "::1"):
        transfer(address)
        datagrams(address)


def in_namespace():
    sh("ip link set lo mtu 1500; ip link set lo gso_max_size 1500; ip link set lo up; sleep 1")
    capture("-i lo -s 128 -w ethernet.pcap", traffic)
    capture("-i lo -s 128 --nano -w ethernet-ns.pcap", lambda: transfer("127.0.0.1", (5000, 0)))
    capture("-i lo -w whole.pcap", lambda: transfer("127.0.0.1", (4000, 10)))
    capture("-i any -y LINUX_SLL -s 128 -w sll.pcap", lambda: transfer("::1", (5000, 0)))
    capture("-i any -y LINUX_SLL2 -s 128 -w sll2.pcap", lambda: transfer("127.0.0.1", (5000, 0)))
    sh("ip link set lo mtu 65536; ip link set lo gso_max_size 65536")
    capture("-i lo -s 96 -w offloaded.pcap", lambda: transfer("127.0.0.1", (200_000, 0)))


def in_two_namespaces():
    """A path that is narrower than a datagram, so that IP cuts it up."""
    far = subprocess.Popen(["unshare", "-n", "sleep", "100"])
    time.sleep(1)
    inside = f"nsenter -n -t {far.pid}"
    sh("ip link add name near type veth peer name far")
    sh(f"ip link set far netns {far.pid}")
    for end, host, enter in (("near", 1, ""), ("far", 2, inside)):
        sh(f"{enter} ip link set {end} up")
        sh(f"{enter} ip address add 10.0.0.{host}/24 dev {end}")
    time.sleep(2)

    def fragmented():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER: never, so may be cut up
            udp.sendto(bytes(4000), ("10.0.0.2", 5202))

    capture("-i near -w fragments-udp.pcap udp", fragmented)
    far.terminate()

    # --- made from those ---


def records(name):
    """The packets of a little-endian classic capture: seconds, fraction, length, bytes."""
    data = (HERE / name).read_bytes()
    at, all_ = 24, []
    while at < len(data):
        s, fraction, captured, wire = struct.unpack_from("<IIII", data, at)
        all_.append((s, fraction, wire, data[at + 16 : at + 16 + captured]))
        at += 16 + captured
    return all_


def classic(name, packets, link_type=1, order="<", magic=0xA1B2C3D4, snap=128):
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link_type)
    for s, fraction, wire, frame in packets:
        data += struct.pack(order + "IIII", s, fraction, len(frame), wire) + frame
    (HERE / name).write_bytes(data)


def block(order, kind, body):
    body += b"\0" * (-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def section(
    order, packets, options=b"", unit=1_000_000, offset_s=0, kinds=(6,), comments=None, snap=128
):
    """A section of one interface; `unit` is ticks of the clock in a second."""
    data = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    data += block(order, 1, struct.pack(order + "HHI", 1, 0, snap) + options)
    for index, (s, us, wire, frame) in enumerate(packets):
        ticks = (s - offset_s) * unit + us * unit // 1_000_000
        time_ = struct.pack(order + "II", ticks >> 32, ticks & 0xFFFFFFFF)
        lengths = struct.pack(order + "II", len(frame), wire)
        padded = frame + b"\0" * (-len(frame) % 4)
        kind = kinds[index % len(kinds)]
        if kind == 6:
            comment = (comments or {}).get(index)
            more = option(order, 1, comment) + option(order, 0, b"") if comment else b""
            data += block(order, 6, struct.pack(order + "I", 0) + time_ + lengths + padded + more)
        elif kind == 2:
            data += block(order, 2, struct.pack(order + "HH", 0, 0xFFFF) + time_ + lengths + padded)
        else:
            data += block(order, 3, struct.pack(order + "I", wire) + padded)
    return data


def formats():
    packets = records("ethernet.pcap")[:24]
    swap = {"order": ">"}
    classic("us-big.pcap", packets, **swap)
    nano = [(s, us * 1000 + 7, wire, frame) for s, us, wire, frame in packets]
    classic("ns-big.pcap", nano, magic=0xA1B23C4D, **swap)
    sh("editcap -F modpcap ethernet.pcap kuznetzov.pcap 1-24")
    sh("editcap -F pcapng ethernet-ns.pcap ng-ns.pcapng")

    def write(name, data):
        return (HERE / name).write_bytes(data)

    def resolution(order, value):
        return option(order, 9, bytes([value]))

    write("ng-us-little.pcapng", section("<", packets))
    write("ng-us-big.pcapng", section(">", packets))
    write("ng-binary.pcapng", section(">", packets, resolution(">", 0x80 | 30), unit=1 << 30))
    write("ng-fine.pcapng", section("<", packets[:9], resolution("<", 10), unit=10**10))
    # 1,700,000,000 s are added to what the time stamps say.
    offset = option("<", 14, struct.pack("<q", 1_700_000_000)) + resolution("<", 9)
    write("ng-offset.pcapng", section("<", packets, offset, unit=10**9, offset_s=1_700_000_000))
    sections = section("<", packets[:8]) + section(
        ">", packets[8:16], resolution(">", 9), unit=10**9
    )
    write("ng-sections.pcapng", sections + section("<", packets[16:]))
    write("ng-blocks.pcapng", section(">", packets, kinds=(6, 2)))
    write("ng-simple.pcapng", section("<", packets, kinds=(6, 3)))
    comments = {
        3: b"fairway: dropped at queue",
        4: b"fairway: lost",
        5: b"somebody else's words",
        6: b"fairway: corrupted",
    }
    write("ng-comments.pcapng", section("<", packets[:9], comments=comments))


def links():
    packets = [packet for packet in records("ethernet.pcap") if packet[3][12:14] == b"\x08\x00"][
        :12
    ]
    packets += [packet for packet in records("ethernet.pcap") if packet[3][12:14] == b"\x86\xdd"][
        :12
    ]

    def is_v4(frame):
        return frame[12:14] == b"\x08\x00"

    def family(frame):
        return 2 if is_v4(frame) else 30

    def with_head(head):
        return [
            (s, us, wire - 14 + len(head(frame)), head(frame) + frame[14:])
            for s, us, wire, frame in packets
        ]

    classic("null-little.pcap", with_head(lambda frame: struct.pack("<I", family(frame))), 0)
    classic("loop.pcap", with_head(lambda frame: struct.pack(">I", family(frame))), 108)
    classic("raw.pcap", with_head(lambda _: b""), 101)
    classic("ppp.pcap", with_head(lambda frame: b"\0\x21" if is_v4(frame) else b"\0\x57"), 9)

    def hdlc(frame):
        return b"\xff\3\0\x21" if is_v4(frame) else b"\xff\3\0\x57"

    classic("ppp-hdlc.pcap", with_head(hdlc), 50)

    def cisco(frame):
        return b"\x0f\0" + frame[12:14]

    classic("cisco-hdlc.pcap", with_head(cisco), 104)

    def pppoe(frame):
        return (
            frame[:12]
            + b"\x88\x64\x11\0\0\5"
            + struct.pack(">H", 2 + pppoe_bytes(frame))
            + (b"\0\x21" if is_v4(frame) else b"\0\x57")
        )

    classic("pppoe.pcap", with_head(pppoe), 1)

    def vlan(frame):
        return frame[:12] + bytes.fromhex("81000005") + frame[12:14]

    classic("vlan.pcap", with_head(vlan), 1)

    def qinq(frame):
        return frame[:12] + bytes.fromhex("88a8000781000009") + frame[12:14]

    classic("qinq.pcap", with_head(qinq), 1)

    def mpls(frame):
        return frame[:12] + b"\x88\x47" + b"\0\0\x10\x40" + b"\0\0\x21\x40"

    classic("mpls.pcap", with_head(mpls), 1)


def pppoe_bytes(frame):
    if frame[12:14] == b"\x08\x00":
        return struct.unpack_from(">H", frame, 16)[0]
    return 40 + struct.unpack_from(">H", frame, 18)[0]


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def tcp_v6(payload, seq, source, destination):
    head = struct.pack(">HHIIBBHHH", 40000, 80, seq, 77, 0x50, 0x18, 512, 0, 0)
    pseudo = source + destination + struct.pack(">II", len(head) + len(payload), 6)
    value = checksum(pseudo + head + payload)
    return head[:16] + struct.pack(">H", value) + head[18:] + payload


def v6_extensions():
    source, destination = (
        socket.inet_pton(socket.AF_INET6, text) for text in ("2001:db8::1", "2001:db8::2")
    )

    def hop(following):
        return bytes([following, 0, 1, 4, 0, 0, 0, 0])

    def long_destination(following):
        return bytes([following, 1, 1, 12]) + bytes(12)

    def fragment(following, offset, more, id_):
        return struct.pack(">BBHI", following, 0, offset | more, id_)

    def authentication(following):
        return bytes([following, 4, 0, 0]) + bytes(20)

    segment = tcp_v6(bytes(range(100)), 1000, source, destination)
    second = tcp_v6(bytes(1200), 1100, source, destination)
    bodies = [
        (6, segment),
        (0, hop(6) + segment),
        (0, hop(60) + long_destination(6) + segment),
        (51, authentication(6) + segment),
        (44, fragment(6, 0, 0, 1) + segment),
        (0, hop(44) + fragment(6, 0, 1, 2) + second[:600]),
        (44, fragment(6, 600, 0, 2) + second[600:]),
        # The parts of a packet in the other order.
        (44, fragment(6, 608, 0, 3) + second[608:]),
        (44, fragment(6, 0, 1, 3) + second[:608]),
        # A part is missing.
        (44, fragment(6, 0, 1, 4) + second[:608]),
        (59, b"nothing"),
        (6, segment),
    ]
    packets = []
    for index, (following, body) in enumerate(bodies):
        head = (
            struct.pack(">IHBB", 6 << 28 | 0x2E << 20, len(body), following, 64)
            + source
            + destination
        )
        frame = bytes(12) + b"\x86\xdd" + head + body
        packets.append((1_700_000_000, index, len(frame), frame))
    classic("v6-extensions.pcap", packets, snap=65535)


def cut(frame, pieces):
    """Fragments of a frame's IPv4 packet: from, to, in bytes of what it carries."""
    header, body = bytearray(frame[14:34]), frame[34:]
    for begin, end in pieces:
        more = 0x2000 if end < len(body) else 0
        struct.pack_into(">HHH", header, 2, 20 + len(body[begin:end]), 0x1234, more | begin // 8)
        header[10:12] = b"\0\0"
        struct.pack_into(">H", header, 10, checksum(bytes(header)))
        yield frame[:14] + bytes(header) + body[begin:end]


def fragments_tcp():
    data = [frame for *_, frame in records("whole.pcap") if len(frame) > 1000]
    whole = fix(bytearray(data[0]))
    end = len(whole) - 34
    orders = [
        [(0, 400), (400, 800), (800, end)],
        [(800, end), (0, 400), (400, 800)],
        # The same part twice, and one that says again what others say.
        [(0, 400), (0, 400), (240, 800), (800, end)],
        # One is missing.
        [(0, 400), (800, end)],
    ]
    frames = []
    for index, pieces in enumerate(orders):
        # Packets apart from one another by their identification.
        for part in cut(bytes(whole), pieces):
            frame = bytearray(part)
            frame[19] = index
            frame[24:26] = b"\0\0"
            frame[24:26] = struct.pack(">H", checksum(bytes(frame[14:34])))
            frames.append(bytes(frame))
    packets = [(1_700_000_000, us, len(frame), frame) for us, frame in enumerate(frames)]
    classic("fragments-tcp.pcap", packets, snap=65535)


def odd_lengths():
    """Padding of Ethernet, packets whose length is 0, and checksums that are wrong."""
    packets = []
    for s, us, wire, frame in records("whole.pcap"):
        packets.append((s, us, wire, frame))
    # What a network lacks for 60 bytes is padding; as in captures of a receiver.
    small = bytearray(packets[2][3])
    small[46] = 0x50  # a TCP header without options
    small[16:18] = struct.pack(">H", 40)
    padded = bytes(fix(small[:54])) + b"\0" * 6
    zero = bytearray(packets[3][3])
    zero[16:18] = b"\0\0"
    wrong = bytearray(packets[3][3])
    wrong[-1] ^= 0x40
    right = fix(bytearray(packets[3][3]))
    damaged = bytearray(right)
    damaged[-1] ^= 0x40
    all_ = packets[:4] + [
        (packets[3][0], packets[3][1] + step, len(frame), bytes(frame))
        for step, frame in enumerate((padded, zero, right, damaged), 1)
    ]
    classic("lengths.pcap", all_, snap=65535)


def fix(frame):
    """The TCP checksum as the card would write it."""
    frame[50:52] = b"\0\0"
    segment = bytes(frame[34:])
    pseudo = bytes(frame[26:34]) + struct.pack(">HH", 6, len(segment))
    frame[50:52] = struct.pack(">H", checksum(pseudo + segment))
    return frame


def texts():
    for name, options in {
        "tt": "-n -tt",
        "tt-absolute": "-n -S -tt",
        "clock": "-n",
        "date": "-n -tttt",
        "delta": "-n -ttt",
        "first": "-n -ttttt",
        "verbose": "-n -v -tt -c 20",
        "link": "-n -e -tt",
        "hex": "-n -tt -x -c 20",
        "names": "-tt",
    }.items():
        out = sh(f"TZ=UTC tcpdump {options} -r ethernet.pcap", capture_output=True).stdout
        (HERE / f"text-{name}.txt").write_bytes(out)


def packed():
    data = (HERE / "ethernet.pcap").read_bytes()
    half = len(data) // 2
    members = gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0)
    (HERE / "packed.pcap.gz").write_bytes(members)


def main():
    if sys.argv[1:] == ["in", "one"]:
        in_namespace()
    elif sys.argv[1:] == ["in", "two"]:
        in_two_namespaces()
    else:
        for part in sys.argv[1:] or ("one", "two"):
            subprocess.run(["unshare", "-n", sys.executable, __file__, "in", part], check=True)
        formats()
        links()
        v6_extensions()
        fragments_tcp()
        odd_lengths()
        texts()
        packed()
        expectations()


if __name__ == "__main__":
    os.umask(0o022)
    main()
