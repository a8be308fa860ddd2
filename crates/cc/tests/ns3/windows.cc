// Calls a congestion control of ns-3.29 as its TcpSocketBase does, event by event, and prints the windows:
//   windows CLASS EVENTS [ATTRIBUTE=VALUE ...]
// One column of windows.csv for each class; "dcm+" is Frozen with ProtocolType=WestwoodPlus. Link it with
// ns-3.29's libraries. A line of events.txt is
//   NANOSECONDS KIND LASTACKED NEXTTX HIGHTX MINRTT ...
// with offsets in the stream for sequence numbers, and then
//   ack RTT SEGMENTS_ACKED SEGMENTS_TO_GROW STATE GROWS TSVAL TSECR, loss BYTES_IN_FLIGHT,
//   timeout BYTES_IN_FLIGHT FIRST, recovered, mark
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-westwood.h"
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

using namespace ns3;
typedef TcpSocketState State;

struct Frozen : public TcpWestwood
{
  void CongestionAvoidance (Ptr<State>, uint32_t) {}
};

static const uint32_t MSS = 1440;
static Ptr<State> tcb;
static Ptr<TcpCongestionOps> ops;
static std::ifstream events;
static void Next ();

static void
Enter (State::TcpCongState_t state)
{
  ops->CongestionStateSet (tcb, state);
  tcb->m_congState = state;
}

static void
Handle (std::string line)
{
  std::istringstream in (line);
  int64_t now, minRtt;
  uint64_t lastAcked, nextTx, highTx;
  std::string kind;
  in >> now >> kind >> lastAcked >> nextTx >> highTx >> minRtt;
  tcb->m_lastAckedSeq = SequenceNumber32 (lastAcked + 1);
  tcb->m_nextTxSequence = SequenceNumber32 (nextTx + 1);
  tcb->m_highTxMark = SequenceNumber32 (highTx + 1);
  tcb->m_minRtt = minRtt ? NanoSeconds (minRtt) : Time::Max ();
  uint32_t inFlight = 0;
  if (kind == "ack")
    {
      static std::map<std::string, State::TcpCongState_t> states = {
        {"Open", State::CA_OPEN}, {"Disorder", State::CA_DISORDER}, {"Cwr", State::CA_CWR},
        {"Recovery", State::CA_RECOVERY}, {"Loss", State::CA_LOSS}};
      int64_t rtt;
      uint32_t acked, toGrow;
      std::string name;
      bool grows;
      in >> rtt >> acked >> toGrow >> name >> grows;
      in >> tcb->m_rcvTimestampValue >> tcb->m_rcvTimestampEchoReply;
      State::TcpCongState_t state = states[name];
      // DupAck comes before PktsAcked, the return to CA_OPEN after it.
      if (state != State::CA_OPEN && state != tcb->m_congState) Enter (state);
      ops->PktsAcked (tcb, acked, NanoSeconds (rtt));
      if (state != tcb->m_congState) Enter (state);
      if (grows) ops->IncreaseWindow (tcb, toGrow);
    }
  else if (kind == "loss")
    {
      in >> inFlight;
      Enter (State::CA_RECOVERY);
      tcb->m_ssThresh = ops->GetSsThresh (tcb, inFlight);
      tcb->m_cWnd = tcb->m_ssThresh;
    }
  else if (kind == "timeout")
    {
      bool first;
      in >> inFlight >> first;
      if (first) tcb->m_ssThresh = ops->GetSsThresh (tcb, inFlight);
      tcb->m_cWnd = MSS;
      Enter (State::CA_LOSS);
    }
  else if (kind == "mark")
    {
      tcb->m_cWnd = std::max (tcb->m_cWnd.Get () / 2, MSS);
      tcb->m_ssThresh = tcb->m_cWnd;
      if (tcb->m_congState == State::CA_OPEN) Enter (State::CA_CWR);
    }
  else if (tcb->m_congState != State::CA_OPEN)
    {
      Enter (State::CA_OPEN);
    }
  printf ("%u %u\n", tcb->m_cWnd.Get (), tcb->m_ssThresh.Get ());
  // Scheduled last, so that what the class scheduled for the same time runs first.
  Next ();
}

static void
Next ()
{
  std::string line;
  if (std::getline (events, line))
    {
      Simulator::Schedule (NanoSeconds (atoll (line.c_str ())) - Simulator::Now (), &Handle, line);
    }
}

int
main (int argc, char **argv)
{
  std::string name = argv[1];
  events.open (argv[2]);
  if (name == "Frozen")
    {
      ops = CreateObject<Frozen> ();
    }
  else
    {
      ObjectFactory factory ("ns3::" + name);
      ops = factory.Create<TcpCongestionOps> ();
    }
  for (int i = 3; i < argc; i++)
    {
      std::string attribute = argv[i];
      size_t equals = attribute.find ('=');
      ops->SetAttribute (attribute.substr (0, equals), StringValue (attribute.substr (equals + 1)));
    }
  tcb = CreateObject<State> ();
  tcb->m_segmentSize = MSS;
  tcb->m_cWnd = MSS;
  tcb->m_ssThresh = 0xffffffff;
  Enter (State::CA_OPEN);
  Next ();
  Simulator::Run ();
}
