# Two images: `store`, an S3 gateway over a folder, and `proofsweep`, which holds all of our own programs.

# The gateway's own image, with a folder that it can write to without being root.
FROM ghcr.io/versity/versitygw:v1.8.0@sha256:30292fc2eeacc67a36993b01f7a7a5e3361a19cced0e80c1d71cfa2a4b0a2499 AS store
USER root
RUN mkdir -p /srv/store && chown 10001:10001 /srv/store
COPY --chmod=555 deploy/with-secrets /usr/local/bin/with-secrets
USER 10001:10001
ENTRYPOINT ["with-secrets", "/usr/local/bin/versitygw"]
CMD ["--port", ":7070", "--health", "/health", "posix", "/srv/store"]
HEALTHCHECK CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:7070/health"]


FROM python:3.11.15-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY pyproject.toml README.md requirements.lock ./
COPY deploy/locked.py deploy/locked.py
# Install only the locked packages that the product needs, without the developers' packages. Check each hash.
RUN python deploy/locked.py build >build.lock && python deploy/locked.py product aws azure gcp sandbox >product.lock
RUN pip install --no-deps --require-hashes --requirement build.lock
RUN python -m venv --without-pip /app \
    && pip --python /app install --no-deps --require-hashes --only-binary :all: --requirement product.lock
COPY cli cli
COPY configs configs
COPY flows flows
COPY proofsweep proofsweep
COPY sandbox sandbox
COPY tasks tasks
RUN pip wheel --no-index --no-deps --no-build-isolation --wheel-dir wheels . \
    && pip --python /app install --no-index --no-deps wheels/proofsweep-*.whl \
    && pip --python /app check


FROM python:3.11.15-slim-bookworm AS proofsweep
LABEL org.opencontainers.image.title="proofsweep" \
    org.opencontainers.image.description="Batch verification of credentialed audio: server, worker and sandbox"
RUN groupadd --gid 10001 proofsweep \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/proofsweep proofsweep \
    && install -d -o 10001 -g 10001 /var/lib/proofsweep /var/lib/proofsweep/catalog /var/lib/proofsweep/ingest \
        /var/lib/sandbox /var/lib/prefect
COPY --from=build /app /app
COPY --chmod=555 deploy/with-secrets deploy/register deploy/automations.py /app/bin/
COPY --chmod=444 prefect.yaml /var/lib/proofsweep/prefect.yaml
ENV PATH=/app/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    PREFECT_HOME=/tmp/prefect \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    DO_NOT_TRACK=1 \
    PREFECT_LOGGING_EXTRA_LOGGERS=proofsweep
WORKDIR /var/lib/proofsweep
USER 10001:10001
ENTRYPOINT ["with-secrets"]
CMD ["prefect", "worker", "start", "--pool", "proofsweep", "--type", "process", "--with-healthcheck"]
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/health', timeout=3)"]
