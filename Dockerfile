# Two images: `store`, an S3-compatible store over a folder, and `proofsweep`, which holds all of our own programs.

FROM python:3.11.15-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
WORKDIR /build
COPY pyproject.toml README.md requirements.lock ./
COPY deploy/locked.py deploy/locked.py
# Install only the locked packages that an image needs, without the developers' packages. Check each hash. The extra
# `aws` would add the profiles of ~/.aws, which no container has.
RUN python deploy/locked.py build >build.lock \
    && python deploy/locked.py store >store.lock \
    && python deploy/locked.py product sandbox >product.lock


FROM build AS store-packages
RUN python -m venv --without-pip /app \
    && pip --python /app install --no-deps --require-hashes --only-binary :all: --requirement store.lock \
    && pip --python /app check


FROM build AS packages
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
# What nothing here uses: the packages' own tests and headers, Arrow's Flight, and compiled files that some wheels bring.
RUN cd /app/lib/python3.11/site-packages \
    && rm -rf numpy/tests numpy/*/tests pyarrow/tests pyarrow/include pyarrow/src pyarrow/*flight* \
    && find /app -name __pycache__ -prune -exec rm -rf {} +


FROM python:3.11.15-slim-bookworm AS base
RUN groupadd --gid 10001 proofsweep \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/proofsweep proofsweep
# Compiled files are made where they are used, once in each container, and are no part of an image.
ENV PATH=/app/bin:$PATH \
    PYTHONPYCACHEPREFIX=/tmp/compiled \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp


FROM base AS store
LABEL org.opencontainers.image.title="proofsweep-store" \
    org.opencontainers.image.description="OpenStack Swift over one folder, with its S3 API"
RUN install -d -o 10001 -g 10001 /srv/store
COPY --from=store-packages /app /app
COPY --chmod=555 deploy/with-secrets deploy/store.py /app/bin/
ENV PYTHONWARNINGS=ignore
USER 10001:10001
ENTRYPOINT ["with-secrets"]
CMD ["store.py", "/srv/store", "--listen", "0.0.0.0", "--port", "7070"]
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7070/healthcheck', timeout=3)"]


FROM base AS proofsweep
LABEL org.opencontainers.image.title="proofsweep" \
    org.opencontainers.image.description="Batch verification of credentialed audio: server, worker and sandbox"
RUN cd /var/lib \
    && install -d -o 10001 -g 10001 proofsweep proofsweep/accepted proofsweep/catalog proofsweep/ingest proofsweep/quarantine \
        sandbox prefect
COPY --from=packages /app /app
COPY --chmod=555 deploy/with-secrets deploy/register deploy/automations.py /app/bin/
COPY --chmod=444 prefect.yaml /var/lib/proofsweep/prefect.yaml
ENV PREFECT_HOME=/tmp/prefect \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    DO_NOT_TRACK=1 \
    PREFECT_LOGGING_EXTRA_LOGGERS=proofsweep
WORKDIR /var/lib/proofsweep
USER 10001:10001
ENTRYPOINT ["with-secrets"]
CMD ["python", "-m", "proofsweep_tasks.drained_worker", "prefect", "worker", "start", "--pool", "proofsweep", "--type", "process", "--with-healthcheck"]
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/health', timeout=3)"]
