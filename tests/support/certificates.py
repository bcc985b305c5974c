"""A throw-away certificate authority with a server's and a client's certificate."""

from dataclasses import dataclass
from pathlib import Path

import trustme

from raquo.broker.local import ServerCertificate


@dataclass(frozen=True)
class Certificates:
    """Files of one authority, for both ends of a connection."""

    ca: Path
    server: ServerCertificate
    client_cert: Path
    client_key: Path


def make_certificates(folder: Path) -> Certificates:
    """Write a new authority's files into a folder; the server's is for 127.0.0.1 and no other name."""
    authority = trustme.CA()
    ca = folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca))
    cert, key = _issue(authority, folder, "server", "127.0.0.1")
    client_cert, client_key = _issue(authority, folder, "client", "client.test")
    return Certificates(ca, ServerCertificate(ca, cert, key), client_cert, client_key)


def _issue(authority: trustme.CA, folder: Path, name: str, *identities: str) -> tuple[Path, Path]:
    issued = authority.issue_cert(*identities, common_name=identities[0])
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    issued.cert_chain_pems[0].write_to_path(str(cert))
    issued.private_key_pem.write_to_path(str(key))
    return cert, key
