# One image, which holds all of our own programs.

FROM python:3.11.15-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1
WORKDIR /build
COPY pyproject.toml README.md requirements.lock ./
COPY deploy/locked.py deploy/locked.py
# Install only the locked packages that an image needs, without the developers' packages. Check each hash. The extra
# `aws` would add the profiles of ~/.aws, which no container has.
RUN python deploy/locked.py build >build.lock \
    && python deploy/locked.py product sandbox >product.lock


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
    && rm -rf numpy/tests numpy/*/tests pandas/tests pyarrow/tests pyarrow/include pyarrow/src pyarrow/*flight* \
    && find /app -name __pycache__ -prune -exec rm -rf {} +


FROM python:3.11.15-slim-bookworm AS proofsweep
LABEL org.opencontainers.image.title="proofsweep" \
    org.opencontainers.image.description="Batch verification of credentialed audio: server, worker and sandbox"
RUN groupadd --gid 10001 proofsweep \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/proofsweep proofsweep \
    && cd /var/lib \
    && install -d -o 10001 -g 10001 proofsweep proofsweep/accepted proofsweep/catalog proofsweep/ingest \
        proofsweep/quarantine proofsweep/results sandbox prefect
COPY --from=packages /app /app
COPY --chmod=555 deploy/with-secrets deploy/register deploy/automations.yaml /app/bin/
COPY --chmod=444 prefect.yaml /var/lib/proofsweep/prefect.yaml
# Compiled files are made where they are used, once in each container, and are no part of the image. A run has more than a
# hundred threads, and works for hours: with these two allocators, what it frees goes back to the system.
ENV PATH=/app/bin:$PATH \
    PYTHONPYCACHEPREFIX=/tmp/compiled \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    MALLOC_ARENA_MAX=2 \
    ARROW_DEFAULT_MEMORY_POOL=system \
    PREFECT_HOME=/tmp/prefect \
    PREFECT_SERVER_ANALYTICS_ENABLED=false \
    DO_NOT_TRACK=1 \
    PREFECT_LOGGING_EXTRA_LOGGERS=proofsweep \
    PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW=ignore
WORKDIR /var/lib/proofsweep
USER 10001:10001
ENTRYPOINT ["with-secrets"]
CMD ["python", "-m", "proofsweep_tasks.drained_worker", "prefect", "worker", "start", "--pool", "proofsweep", "--type", "process", "--with-healthcheck"]
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/health', timeout=3)"]
