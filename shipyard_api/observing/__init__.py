"""What a program says of its work: logs, traces, metrics, the request that it works for; without secrets."""
