"""Cases for single checks, without the lag scan that most checks do not need."""

from model_export.doctor.case import Case
from model_export.doctor.dead import dead
from model_export.doctor.prepare import law_of
from model_export.recordings.dataset import Dataset, windows
from model_export.recordings.recording import Recording

NO_RECORDING = Recording("made-up", "5A2D", (), {}, {}, ())


def of_windows(means: Dataset, recording: Recording = NO_RECORDING) -> Case:
    """A case of some windows."""
    return Case(recording.sensor, "T-W", recording, None, (None, None), 0, means, dead(means), law_of(means))


def without_scan(recording: Recording) -> Case:
    """A case of a recording whose stuck values and whose clock are left as they are."""
    return of_windows(windows(recording, "ppm"), recording)
