# Shipyard as an image, with its extras and without the parts of the demo. Its entry point is `shipyard`; it runs
# `serve`, `worker` or `db upgrade`: docs/howto/run-as-services.md. `--target demo` adds the simulated peers for compose.yaml.

# By tag here, because a digest must come from the registry: ./dev release asks it and passes NAME:TAG@sha256:DIGEST.
ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/shipyard
WORKDIR /source
# A layer of its own: only a changed lock installs packages anew.
COPY requirements.lock requirements-extras.lock ./
RUN /opt/shipyard/bin/pip install --require-hashes -r requirements.lock -r requirements-extras.lock
COPY LICENSE README.md pyproject.toml setup.cfg ./
COPY docs/examples docs/examples
COPY etc etc
COPY migrations migrations
COPY schemas schemas
COPY shipyard_api shipyard_api
RUN /opt/shipyard/bin/pip install --no-deps --no-build-isolation .

FROM build AS build-demo
COPY shipyard_simulators shipyard_simulators
RUN /opt/shipyard/bin/pip install --no-deps --no-build-isolation ./shipyard_simulators

# What installs is not needed to run.
FROM build AS slim
RUN /opt/shipyard/bin/pip uninstall --yes setuptools pip

FROM ${BASE} AS base
RUN groupadd --system --gid 10001 shipyard && \
    useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/shipyard --create-home shipyard
ENV PATH=/opt/shipyard/bin:$PATH PYTHONUNBUFFERED=1 SHIPYARD_BIND=0.0.0.0:9000
# By number, so that Kubernetes sees that it is not root.
USER 10001:10001
WORKDIR /var/lib/shipyard
EXPOSE 9000
# Of `serve`. For a worker with [worker] status_port, let the health check ask that port, as in compose.yaml.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9000/health/live', timeout=4)"]
ENTRYPOINT ["shipyard"]
CMD ["serve"]
ARG BASE
ARG VERSION=unreleased
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Shipyard" \
    org.opencontainers.image.description="Takes a bare-metal site from documents to running servers" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.created="${CREATED}" \
    org.opencontainers.image.base.name="${BASE}"

FROM base AS demo
COPY --from=build-demo /opt/shipyard /opt/shipyard

FROM base AS shipyard
COPY --from=slim /opt/shipyard /opt/shipyard
