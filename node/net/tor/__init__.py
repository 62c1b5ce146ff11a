"""An onion service by which others reach this node over Tor."""
