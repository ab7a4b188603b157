"""The `penfriend` command: the only place that knows every part."""
