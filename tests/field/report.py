"""What a run says: a line with the time for each step."""

import time


def say(text: str) -> None:
    """One line, at once."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
