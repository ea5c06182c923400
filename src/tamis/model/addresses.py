"""Which network addresses may be connected to on behalf of others: public ones.

A name is looked up once, every address that it has must be public, and the connection goes to an
address that was checked: a name that changes its address in between leads nowhere.
"""

from __future__ import annotations

import ipaddress
import socket

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""What of IPv6 was given to the public internet; the rest has ways to write private addresses of
IPv4, such as ``::127.0.0.1``."""
_RESERVED = [ipaddress.ip_network(each) for each in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")]
"""For protocols and for examples; some versions of Python call them global."""


class PrivateAddressError(OSError):
    """An address that is loopback, private, link-local or otherwise not public."""


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet; IPv4 inside IPv6 counts as what it is."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found in _NAT64:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        if found not in _UNICAST:
            return False
        if found.sixtofour is not None:
            return is_public(str(found.sixtofour))
    is_reserved = any(found in each for each in _RESERVED)
    return found.is_global and not found.is_multicast and not is_reserved


def checked_address(host: str, port: int, private: bool = False) -> str:
    """The first address of a host; all of them must be public, unless private ones are allowed."""
    return checked_addresses(host, port, private)[0]


def checked_addresses(host: str, port: int, private: bool = False) -> list[str]:
    """The addresses of a host, best first; all must be public, unless private ones are allowed."""
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for address in found:
        if not private and not is_public(address):
            raise PrivateAddressError(
                f"{host[:100]} is {address}, which is not a public address; allow private "
                "addresses if you trust it"
            )
    return found
