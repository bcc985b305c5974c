"""What publishes during a measurement; each runs in a process of its own."""
