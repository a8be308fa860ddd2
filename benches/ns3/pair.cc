// The experiment of examples/pair.toml in ns-3, to compare speed with.
//
//   pair DURATION START2 PAIRS MONITOR
//
//   DURATION   seconds simulated
//   START2     when the second flow of each pair starts, seconds (the first starts at 0.1 s)
//   PAIRS      how many pairs of flows share the path
//   MONITOR    1 for a FlowMonitor, which counts each flow's packets, bytes and losses; 0 for none
//
// The path is that of benches/ns2/pair.tcl: 622 Mbit/s and 48 ms between two routers, 1555 packets
// in front of it, links of 1 Gbit/s and 1 ms to a host for each flow. BIC and CUBIC are ns-3's own.
// Debian's package is built with logging, which costs it; that of PyPI is an optimised build.
//
// On standard output: the data packets of 1000 bytes that arrived.

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint32_t kSegmentBytes = 1000;

/// Addresses of a link between two nodes; the second end's is returned.
Ipv4Address Connect(PointToPointHelper& link, Ipv4AddressHelper& addresses, Ptr<Node> a, Ptr<Node> b)
{
    auto devices = link.Install(a, b);
    auto ends = addresses.Assign(devices);
    addresses.NewNetwork();
    // A queue discipline above the device would be a second queue.
    TrafficControlHelper none;
    none.Uninstall(devices);
    return ends.GetAddress(1);
}

}  // namespace

int main(int argc, char* argv[])
{
    if (argc != 5) {
        std::cerr << "usage: pair DURATION START2 PAIRS MONITOR\n";
        return 2;
    }
    const double duration = std::atof(argv[1]);
    const double second = std::atof(argv[2]);
    const int pairs = std::atoi(argv[3]);
    const bool monitored = std::atoi(argv[4]) != 0;

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
    // As there: slow start ends at 100 packets, and 67000 packets for a pair are the window's limit.
    Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(100 * kSegmentBytes));
    const uint32_t window = 67000u / static_cast<uint32_t>(pairs) * kSegmentBytes;
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));

    auto left = CreateObject<Node>();
    auto right = CreateObject<Node>();
    NodeContainer senders;
    NodeContainer receivers;
    senders.Create(static_cast<uint32_t>(2 * pairs));
    receivers.Create(static_cast<uint32_t>(2 * pairs));
    InternetStackHelper internet;
    internet.Install(NodeContainer(left, right));
    internet.Install(senders);
    internet.Install(receivers);

    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", StringValue("622Mbps"));
    bottleneck.SetChannelAttribute("Delay", StringValue("48ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1555p"));
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    access.SetChannelAttribute("Delay", StringValue("1ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    Connect(bottleneck, addresses, left, right);
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < senders.GetN(); ++flow) {
        auto sender = senders.Get(flow);
        auto receiver = receivers.Get(flow);
        Connect(access, addresses, sender, left);
        auto address = Connect(access, addresses, right, receiver);
        auto algorithm = TypeId::LookupByName(flow % 2 == 0 ? "ns3::TcpBic" : "ns3::TcpCubic");
        sender->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(algorithm));
        InetSocketAddress end(address, 5001);
        BulkSendHelper source("ns3::TcpSocketFactory", end);
        source.SetAttribute("SendSize", UintegerValue(10 * kSegmentBytes));
        source.Install(sender).Start(Seconds(flow % 2 == 0 ? 0.1 : second));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
        sinks.Add(sink.Install(receiver));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    FlowMonitorHelper helper;
    Ptr<FlowMonitor> monitor = monitored ? helper.InstallAll() : nullptr;

    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    uint64_t bytes = 0;
    for (uint32_t flow = 0; flow < sinks.GetN(); ++flow) {
        bytes += DynamicCast<PacketSink>(sinks.Get(flow))->GetTotalRx();
    }
    std::cout << "data_packets " << bytes / kSegmentBytes << std::endl;
    Simulator::Destroy();
    return 0;
}
