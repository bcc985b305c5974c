"""Watches staging queues, and moves a fair share of each into its target.

So far the arithmetic is here: policies, which turn what waits and what fits into grants.
"""
