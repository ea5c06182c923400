"""Where a broker keeps what must not be lost."""
