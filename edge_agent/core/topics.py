"""Where one agent publishes: everything lies under its root, so that a broker's ACL needs one line for it."""

from dataclasses import dataclass

from edge_agent.core.derived import SEPARATOR

ROOT = "respire/{agent}"
CONSENSUS = "consensus/co"  # the series, and its topic below the root


@dataclass(frozen=True, slots=True)
class OwnTopics:
    """The topics of one agent.

    >>> topics = OwnTopics("respire/van-1")
    >>> topics.status, topics.latest("5A2D"), topics.response("q7")
    ('respire/van-1/status', 'respire/van-1/calibrated/5A2D/co/latest', 'respire/van-1/response/q7')
    """

    root: str

    @property
    def status(self) -> str:
        """Whether the agent is connected."""
        return f"{self.root}/status"

    @property
    def health(self) -> str:
        """How the agent works."""
        return f"{self.root}/health"

    @property
    def position(self) -> str:
        """Where the agent is."""
        return f"{self.root}/position"

    @property
    def request(self) -> str:
        """Requests for history."""
        return f"{self.root}/request"

    def response(self, request: str) -> str:
        """The answers to one request."""
        return f"{self.root}/response/{request}"

    def estimate(self, sensor: str) -> str:
        """The estimates of a sensor."""
        return f"{self.root}/calibrated/{sensor}/co"

    def series(self, name: str) -> str:
        """The topic of what the journal has under a name: a sensor, its means, or the consensus."""
        if name == CONSENSUS:
            return f"{self.root}/{CONSENSUS}"
        sensor, _, every = name.partition(SEPARATOR)
        return f"{self.estimate(sensor)}/{every}" if every else self.estimate(sensor)

    def latest(self, name: str) -> str:
        """The newest estimate of a sensor, or the newest consensus."""
        return f"{self.series(name)}/latest"

    def alert(self, sensor: str, name: str) -> str:
        """The state of one limit at one sensor."""
        return f"{self.root}/alert/{sensor}/{name}"

    def score(self, sensor: str) -> str:
        """The agreement of a sensor with a reference beside the van."""
        return f"{self.estimate(sensor)}/score"

    def model(self, sensor: str) -> str:
        """The card of a sensor's model."""
        return f"{self.root}/calibrated/{sensor}/model"
