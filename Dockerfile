# Shipyard as an image, without the parts of the demo. It runs `serve`, `worker` or `db upgrade`: docs/howto/install.md.
FROM python:3.11-slim-bookworm AS build

WORKDIR /source
RUN python -m venv /opt/shipyard
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY . .
# The lock is only a constraint, because it also pins development tools, which must not get into the image.
RUN /opt/shipyard/bin/pip install --constraint requirements.lock .

FROM python:3.11-slim-bookworm

RUN useradd --system --uid 10001 --home-dir /var/lib/shipyard --create-home shipyard
COPY --from=build /opt/shipyard /opt/shipyard
ENV PATH=/opt/shipyard/bin:$PATH PYTHONUNBUFFERED=1 SHIPYARD_BIND=0.0.0.0:9000
USER shipyard
WORKDIR /var/lib/shipyard
EXPOSE 9000
ENTRYPOINT ["shipyard"]
CMD ["serve"]
