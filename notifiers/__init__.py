"""Delivery of events to the outside. Runs in the events process; never: the chain's state."""
