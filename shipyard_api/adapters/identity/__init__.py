"""Who a caller is, established by ourselves: by our own tokens, or by where the request comes from."""
