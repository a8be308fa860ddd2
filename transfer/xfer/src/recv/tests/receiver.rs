//! A receiver on a simulated disk and a simulated network, in threads of a simulation.

use std::sync::Arc;

use crate::auth::{Identity, admit};
use crate::measure::Meter;
use crate::recv::manager::{Manager, Meters};
use crate::recv::{GREETING, ReceiveOptions};
use crate::rt::spawn;
use crate::socket::Connection;
use crate::store::Store;
use crate::tests::simulated::{Simulation, network};
use crate::{Control, Event};

/// A receiver.
#[derive(Clone)]
pub(crate) struct Receiver(Arc<Manager>);

impl Receiver {
    pub(crate) fn new(options: &ReceiveOptions, store: Store, meter: &Meter) -> Self {
        let settings = options.check().unwrap();
        let meters = Meters::All(meter.clone());
        Receiver(Arc::new(Manager::new(settings, Control::new(), meters, store)))
    }

    /// Receives whatever comes, for ever.
    pub(crate) fn run(&self, simulation: &Simulation, identity: &Arc<Identity>) {
        let manager = Arc::clone(&self.0);
        spawn("monitor", move || manager.monitor()).unwrap();
        simulation.listen(network::PORT);
        loop {
            let socket = simulation.accept(network::PORT);
            let (manager, identity) = (Arc::clone(&self.0), Arc::clone(identity));
            // Instead of the acceptor, which reads all pending connections in one thread, by epoll.
            let admitted = spawn("greet", move || {
                let held = manager.control.hold(&socket).unwrap();
                let connection = Connection { socket, held };
                let security = manager.settings.security;
                if let Ok((channel, purpose)) = admit(connection, &identity, security, GREETING) {
                    manager.admit(channel, purpose);
                }
            });
            admitted.unwrap();
        }
    }

    /// What it has told.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.control.take_events()
    }

    /// Transfers that it knows of.
    pub(crate) fn sessions(&self) -> usize {
        self.0.sessions()
    }
}
