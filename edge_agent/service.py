"""The agent as a process: alone in its state directory, stopped and reloaded by signals."""

import gc
import os
import signal
import threading

from edge_agent.agent import Agent
from edge_agent.clock import Clock
from edge_agent.core.errors import JournalCorrupt
from edge_agent.log import logger
from edge_agent.settings import Settings
from edge_agent.state import only_agent


def run(settings: Settings) -> None:
    """Run an agent until it is stopped; the next start reads a damaged journal again, and replaces it."""
    clock = Clock(trusted=settings.clock == "trusted")
    with only_agent(settings.state):
        try:
            serve(Agent(settings, clock))
        except JournalCorrupt as error:
            logger().error("journal.damaged", reason=str(error))
            raise


def serve(agent: Agent) -> None:
    """Let an agent work until a signal stops it."""
    threading.excepthook = _on_thread_death
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop_soon())
    signal.signal(signal.SIGHUP, lambda *_: agent.check_bundles_soon())
    agent.start()
    gc.freeze()  # garbage is not searched for in the libraries: 3 % less CPU in a backlog
    while not agent.stopping:
        agent.step()
    agent.stop()


def _on_thread_death(death: threading.ExceptHookArgs) -> None:
    """End the process: after the network thread has died, the client looks connected for ever."""
    logger().critical("thread.died", thread=str(death.thread), exc_info=death.exc_value)
    os._exit(1)
