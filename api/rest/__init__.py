"""The unauthenticated REST interface under /rest/."""
