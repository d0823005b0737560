"""A Dask cluster as an executor. Its workers must see the same files under the same names."""

import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from edge_agent.core.errors import BadSettings, RespireError
from model_export.engine.run import Say

ANSWER_S = 15
ATTEMPTS = 4  # Dask itself waits longer and longer between two tries, so it may miss one that starts late


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Where a cluster is, and the files that prove who we are."""

    address: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def require_safe(self) -> None:
        """Refuse a connection that anybody could answer: what comes over it is executed."""
        try:
            parts = urlsplit(self.address)
            host = parts.hostname if parts.scheme in ("tcp", "tls") and parts.port else None
        except ValueError:  # of a port above 65535, or of half an IPv6 address
            host = None
        if not host:
            raise BadSettings(f"--scheduler: expected tls://HOST:PORT, got {self.address!r}")
        if parts.scheme == "tls":
            self._require_certificates()
        if parts.scheme == "tcp" and not _is_loopback(host):
            raise BadSettings(
                f"--scheduler: expected tls://{parts.netloc}, got tcp://: who reaches it may run any code; "
                "docs/fleet.md says how to make certificates"
            )

    def _require_certificates(self) -> None:
        if not (self.ca and self.cert and self.key):
            raise BadSettings(
                "--scheduler tls://…: expected --tls-ca, --tls-cert and --tls-key; docs/fleet.md"
            )
        for path in (self.ca, self.cert, self.key):
            if not path.is_file():
                raise BadSettings(f"{path}: expected a certificate or key (PEM), got no such file")
        try:
            ssl.create_default_context(cafile=str(self.ca)).load_cert_chain(self.cert, self.key)
        except OSError as error:
            names = f"{self.ca}, {self.cert}, {self.key}"
            raise BadSettings(
                f"{names}: expected the PEM files of an authority, a certificate and its key, got {error}"
            ) from error


class Tasks(Executor):
    """The executor of a client.

    Dask's own (`Client.get_executor`) leaves a future without an end if the scheduler dies while a row is on
    its way: the error is raised where nobody sees it. Then `fleet` would wait for ever.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on a worker."""
        ours: Future[Any] = Future()
        self._client.submit(fn, *args, **kwargs, pure=False).add_done_callback(lambda its: end(ours, its))
        return ours


def end(ours: Future[Any], its: Any) -> None:
    """End our future as Dask's has ended."""
    try:
        if its.status == "error":  # the task's own error
            ours.set_exception(its.exception())
        else:
            with suppress(OSError, CancelledError):
                ours.set_result(its.result())
    finally:
        if not ours.done():
            ours.set_exception(BrokenExecutor("the scheduler is gone"))


@contextmanager
def cluster(scheduler: Scheduler, say: Say) -> Iterator[Executor]:
    """The cluster's executor; what waits is dropped if the block ends with an error."""
    scheduler.require_safe()
    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError as error:
        raise RespireError(
            f"--scheduler: {error.name} is not installed; pip install -e '.[fleet]'"
        ) from error
    client = _connected(distributed, scheduler, say)
    try:
        if not client.nthreads():
            say(f"{scheduler.address}: the scheduler has no workers yet; the tasks wait for one")
        yield Tasks(client)
    except distributed.comm.CommClosedError as error:
        raise BrokenExecutor("the scheduler is gone") from error
    finally:
        client.close(timeout=ANSWER_S)


def _connected(distributed: Any, scheduler: Scheduler, say: Say, attempts: int = ATTEMPTS) -> Any:
    """A client of the scheduler, which may still be starting or be busy."""
    security = distributed.Security(
        tls_ca_file=scheduler.ca and str(scheduler.ca),
        tls_client_cert=scheduler.cert and str(scheduler.cert),
        tls_client_key=scheduler.key and str(scheduler.key),
        require_encryption=scheduler.address.startswith("tls:"),
    )
    try:
        return distributed.Client(
            scheduler.address, security=security, timeout=ANSWER_S, set_as_default=False
        )
    except (OSError, TimeoutError) as error:
        if attempts == 1:
            words = "what is done is kept, so start one and give the same line again (fleet: with --resume)"
            raise RespireError(f"{scheduler.address}: no Dask scheduler answers: {error}; {words}") from error
    left_s = (attempts - 1) * ANSWER_S
    say(f"{scheduler.address}: no Dask scheduler answers yet; trying for up to {left_s} s more")
    return _connected(distributed, scheduler, say, attempts - 1)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
