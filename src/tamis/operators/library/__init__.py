"""Operators that come with Tamis; each needs what the extra ``operators`` installs."""
