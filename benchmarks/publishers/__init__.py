"""The two ways to publish that are compared."""
