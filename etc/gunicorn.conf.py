"""How gunicorn serves the API; see https://docs.gunicorn.org for every setting."""

import os

bind = os.environ.get("SHIPYARD_BIND", "127.0.0.1:9000")
worker_class = "gthread"
workers = int(os.environ.get("SHIPYARD_API_WORKERS", "2"))
threads = int(os.environ.get("SHIPYARD_API_THREADS", "8"))
# A commit validates the whole design, so a request may take its time; a client that sends nothing may not.
timeout = 300
graceful_timeout = 30
keepalive = 5
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 8190
# Two instances of one user would otherwise fight over one control socket in the home directory.
control_socket_disable = True
accesslog = None
errorlog = "-"
loglevel = "warning"
