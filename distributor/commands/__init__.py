"""The commands of `raquo`, one file each."""
