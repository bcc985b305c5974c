"""The daemon over HTTP: probes, metrics, status, plan, and the few things that can be changed."""
