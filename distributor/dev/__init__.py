"""What `raquo dev` is made of: a private broker with a distributor, a flooding tenant, small ones, and workers."""
