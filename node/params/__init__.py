"""Chain parameters of the five networks, as frozen values. Pure."""
