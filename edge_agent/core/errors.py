"""The tree of deliberate failures; anything else that is raised is a bug."""


class RespireError(Exception):
    """A failure we foresaw; its text says where, what was expected and what to do."""


class BadReading(RespireError):
    """A message that is not a reading; it is counted and skipped."""


class BadEstimate(RespireError):
    """A message that is not an estimate; only consumers decode estimates."""


class BadBundle(RespireError):
    """A bundle that must not be used; the agent keeps the model it has."""


class BadSettings(RespireError):
    """Settings that cannot work; the agent does not start (exit 78)."""


class BadRecording(RespireError):
    """A recording that cannot be read as tidy data."""


class JournalUnavailable(RespireError):
    """The disk does not take what it is given; nothing is acknowledged until it does."""


class JournalUnwritable(JournalUnavailable):
    """The journal's place cannot be written at all; that is a matter of settings, not of time."""


class JournalCorrupt(RespireError):
    """The journal's file is damaged; it is set aside and a new one begun."""


class BrokerUnavailable(RespireError):
    """A broker that does not answer a single question; the agent itself never gives up on one."""
