"""Which network addresses may be connected to on behalf of others: public ones.

A name is looked up once, every address that it has must be public, and the connection goes to the
address that was checked: a name that changes its address in between leads nowhere.
"""

from __future__ import annotations

import ipaddress
import socket

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class PrivateAddressError(OSError):
    """An address that is loopback, private, link-local or otherwise not public."""


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet; IPv4 inside IPv6 counts as what it is."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return found.ipv4_mapped is None and is_public(str(inner))
    return found.is_global and not found.is_multicast


def checked_address(host: str, port: int, private: bool = False) -> str:
    """The first address of a host; all of them must be public, unless private ones are allowed."""
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for address in found:
        if not private and not is_public(address):
            raise PrivateAddressError(
                f"{host[:100]} is {address}, which is not a public address; allow private "
                "addresses if you trust it"
            )
    return found[0]
