"""The errors that we raise on purpose; any other exception is a bug."""


class RespireError(Exception):
    """An expected failure; its text says where, what was expected and what to do."""


class BadReading(RespireError):
    """A message that is not a reading; it is counted and skipped. `kind` is one of a few words."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


class BadEstimate(RespireError):
    """A message that is not an estimate; only consumers decode estimates."""


class BadBundle(RespireError):
    """A bundle that must not be used; the agent keeps the model it has."""


class BadSettings(RespireError):
    """Settings that cannot work; the agent does not start (exit 78)."""


class BadRecording(RespireError):
    """A recording that cannot be read as tidy data."""


class JournalUnavailable(RespireError):
    """The disk refuses writes; nothing is acknowledged until it accepts them."""


class JournalCorrupt(RespireError):
    """The journal's file is damaged; it is set aside and replaced."""


class BrokerUnavailable(RespireError):
    """A broker did not answer `status --broker`; the agent itself retries for ever."""


class BadRequest(RespireError):
    """A request for history that cannot be answered; its `id` says to whom to answer that."""

    def __init__(self, id_: str, reason: str) -> None:
        super().__init__(reason)
        self.id = id_
